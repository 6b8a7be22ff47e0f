"""What a fixture costs each test, over an empty test: whole pytest runs, timed between the first test and the last."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.timing import ENVIRONMENT

__all__ = ["measure"]

_REACH: Final = 150.0  # µs
_PATIENCE: Final = 120.0
_US: Final = 1e6

# The first test pays for what is set up once a session, the last for its end; the clock runs in between.
_CONFTEST: Final = """
from time import perf_counter

ended = []

def pytest_runtest_logfinish():
    ended.append(perf_counter())

def pytest_unconfigure():
    print("SECONDS", (ended[-2] - ended[0]) / (len(ended) - 2))
"""


@dataclass(frozen=True, slots=True)
class _Suite:
    """A suite of equal tests."""

    name: str
    arguments: str
    body: str
    head: str = ""
    plugins: tuple[str, ...] = ()
    decorator: str = ""

    def text(self, tests: int) -> str:
        lines = [self.head]
        for number in range(tests):
            lines += [self.decorator, f"def test_{number}({self.arguments}):", f"    {self.body}"]
        return "\n".join(lines)


_EMPTY: Final = "empty test"
_OURS: Final = "petstore"
_GET: Final = "requests.get(petstore.url + '/pets', headers=petstore.headers)"
_SUITES: Final = (
    _Suite(_EMPTY, "", "pass"),
    _Suite(_OURS, "petstore", "pass", plugins=("petstore_mock.pytest_plugin",)),
    _Suite("petstore, 1 requests.get", "petstore", _GET, "import requests", ("petstore_mock.pytest_plugin",)),
    _Suite("pytest-httpserver", "httpserver", "pass", plugins=("pytest_httpserver.pytest_plugin",)),
    _Suite(
        "pytest-httpserver, 1 expectation, 1 requests.get",
        "httpserver",
        "httpserver.expect_request('/pets').respond_with_json([]); requests.get(httpserver.url_for('/pets'))",
        "import requests",
        ("pytest_httpserver.pytest_plugin",),
    ),
    _Suite("responses", "", "pass", "import responses", decorator="@responses.activate"),
    _Suite(
        "responses, 1 expectation, 1 requests.get",
        "",
        "responses.get('http://x/pets', json=[]); requests.get('http://x/pets')",
        "import requests, responses",
        decorator="@responses.activate",
    ),
)


def _seconds_a_test(folder: Path, suite: _Suite) -> float:
    environment = {**ENVIRONMENT, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    plugins = [part for plugin in suite.plugins for part in ("-p", plugin)]
    done = subprocess.run(  # our own interpreter
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
    return float(done.stdout.rpartition("SECONDS ")[2].split()[0])


def measure(plan: Plan) -> Result:
    """Run each suite several times, in turns."""
    tests, rounds = plan.pick(500, 100), plan.pick(15, 2)
    result = Result()
    taken: dict[str, list[float]] = {}
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        folders = {}
        for number, suite in enumerate(_SUITES):
            if "responses" in suite.name and find_spec("responses") is None:
                result.notes.append(f"{suite.name} left out: not installed.")
                continue
            folder = folders[suite] = Path(name) / str(number)
            folder.mkdir()
            (folder / "pytest.ini").write_text("[pytest]\n")
            (folder / "conftest.py").write_text(_CONFTEST)
            (folder / "test_suite.py").write_text(suite.text(tests))
        for _ in range(rounds):
            for suite, folder in folders.items():
                taken.setdefault(suite.name, []).append(_seconds_a_test(folder, suite) * _US)
    middle = {name: median(values) for name, values in taken.items()}
    # Of pairs, not of medians: two runs of one round meet the same machine, more or less.
    over = {
        name: median([mine - empty for mine, empty in zip(values, taken[_EMPTY], strict=True)])
        for name, values in taken.items()
    }
    httpserver = over["pytest-httpserver"]
    result.figures["fixture"] = Figure(
        f"{over[_OURS]:.0f} µs (pytest-httpserver {httpserver:.0f} µs)", over[_OURS] <= _REACH
    )
    rows = [[name, f"{middle[name]:.0f}", f"{over[name]:.0f}", f"{min(taken[name]):.0f}"] for name in taken]
    result.tables.append(
        Table(f"A test, microseconds, in suites of {tests}", ["each test uses", "median", "over empty", "least"], rows)
    )
    result.notes.append(
        f"{rounds} rounds in turns, each run with no other plugin than the one in question; the cost is the median "
        "difference from the empty tests of the same round. Set-up once a session, imports included, is left out."
    )
    return result
