"""The cost of a fixture per test, beyond an empty test: pytest runs, timed from the first test to the last."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.timing import ENVIRONMENT

__all__ = ["EMPTY", "OURS", "Cost", "Suite", "measure", "seconds_a_test", "write"]

_REACH: Final = 150.0  # µs
_PATIENCE: Final = 120.0
_US: Final = 1e6

# Counts neither the first test, which includes the session's setup, nor the last, which includes its teardown.
_CONFTEST: Final = """
from statistics import median
from time import perf_counter

ended = []

def pytest_runtest_logfinish():
    ended.append(perf_counter())

def pytest_unconfigure():
    tests = [after - before for before, after in zip(ended, ended[1:-1])]
    print("SECONDS", sum(tests) / len(tests), median(tests))
"""


class Cost(NamedTuple):
    """The seconds of a test: the mean of a run, and the median, which other programs disturb less."""

    mean: float
    median: float


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite of equal tests.

    Attributes:
        name: the name in the tables.
        arguments: the parameters of each test.
        body: the statement of each test.
        head: the imports.
        plugins: the plugins that pytest loads.
        decorator: the line before each test.
    """

    name: str
    arguments: str
    body: str
    head: str = ""
    plugins: tuple[str, ...] = ()
    decorator: str = ""

    def text(self, tests: int) -> str:
        """Return the source of a module with this number of tests."""
        lines = [self.head]
        for number in range(tests):
            lines += [self.decorator, f"def test_{number}({self.arguments}):", f"    {self.body}"]
        return "\n".join(lines)


_GET: Final = "requests.get(petstore.url + '/pets', headers=petstore.headers)"
EMPTY: Final = Suite("empty test", "", "pass")
OURS: Final = Suite("petstore", "petstore", "pass", plugins=("petstore_mock.pytest_plugin",))
_SUITES: Final = (
    EMPTY,
    OURS,
    Suite("petstore, 1 requests.get", "petstore", _GET, "import requests", ("petstore_mock.pytest_plugin",)),
    Suite("pytest-httpserver", "httpserver", "pass", plugins=("pytest_httpserver.pytest_plugin",)),
    Suite(
        "pytest-httpserver, 1 expectation, 1 requests.get",
        "httpserver",
        "httpserver.expect_request('/pets').respond_with_json([]); requests.get(httpserver.url_for('/pets'))",
        "import requests",
        ("pytest_httpserver.pytest_plugin",),
    ),
    Suite("responses", "", "pass", "import responses", decorator="@responses.activate"),
    Suite(
        "responses, 1 expectation, 1 requests.get",
        "",
        "responses.get('http://x/pets', json=[]); requests.get('http://x/pets')",
        "import requests, responses",
        decorator="@responses.activate",
    ),
)


def write(folder: Path, suite: Suite, tests: int) -> None:
    """Write a suite with this number of tests into a new folder."""
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(_CONFTEST)
    (folder / "test_suite.py").write_text(suite.text(tests))


def seconds_a_test(folder: Path, suite: Suite, tree: Path | None = None) -> Cost:
    """Run a written suite and return the cost of a test.

    Args:
        folder: the folder of the suite.
        suite: the suite in the folder; pytest loads its plugins.
        tree: a folder with the package to use instead of the installed one.
    """
    environment = {**ENVIRONMENT, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    if tree is not None:
        environment["PYTHONPATH"] = str(tree)
    plugins = [part for plugin in suite.plugins for part in ("-p", plugin)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *plugins, str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the suite {suite.name!r} failed: {done.stdout[-300:]}")
    mean, middle = done.stdout.rpartition("SECONDS ")[2].split()[:2]
    return Cost(float(mean), float(middle))


def measure(plan: Plan) -> Result:
    """Run each suite once in each of several rounds."""
    tests, rounds = plan.pick(500, 100), plan.pick(15, 2)
    result = Result()
    taken: dict[str, list[float]] = {}
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        folders = {}
        for number, suite in enumerate(_SUITES):
            if "responses" in suite.name and find_spec("responses") is None:
                result.notes.append(f"{suite.name} left out: not installed.")
                continue
            folders[suite] = Path(name) / str(number)
            write(folders[suite], suite, tests)
        for _ in range(rounds):
            for suite, folder in folders.items():
                taken.setdefault(suite.name, []).append(seconds_a_test(folder, suite).mean * _US)
    middle = {name: median(values) for name, values in taken.items()}
    # Compare pairs, not medians: the load of the machine is about the same for two runs of one round.
    over = {
        name: median([mine - empty for mine, empty in zip(values, taken[EMPTY.name], strict=True)])
        for name, values in taken.items()
    }
    httpserver = over["pytest-httpserver"]
    result.figures["fixture"] = Figure(
        f"{over[OURS.name]:.0f} µs (pytest-httpserver {httpserver:.0f} µs)", over[OURS.name] <= _REACH
    )
    rows = [[name, f"{middle[name]:.0f}", f"{over[name]:.0f}", f"{min(taken[name]):.0f}"] for name in taken]
    result.tables.append(
        Table(f"Microseconds per test, in suites of {tests} tests", ["each test uses", "median", "added", "min"], rows)
    )
    result.notes.append(
        f"{rounds} rounds with one run of each suite. A run loads only the suite's own plugins. The cost is the median "
        "difference from the empty tests of the same round. The set-up of the session and the imports are left out."
    )
    return result
