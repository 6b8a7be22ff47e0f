"""What the fixture adds to a test. Each run of a suite is a new process."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.processes import ENVIRONMENT

_REACH: Final = 150.0  # µs
_PATIENCE: Final = 300.0
_US: Final = 1e6
_OURS: Final = "petstore_mock.pytest_plugin"

# Leaves out the first test, which includes the session's setup, and the last, which includes its teardown.
_CONFTEST: Final = """
from statistics import median
from time import perf_counter

ended = []

def pytest_runtest_logfinish():
    ended.append(perf_counter())

def pytest_unconfigure():
    tests = [after - before for before, after in zip(ended, ended[1:-1])] or [0]
    print("RESULT", sum(tests) / len(tests), median(tests))
"""


class Suite(NamedTuple):
    """A suite of equal tests.

    Attributes:
        name: the name in the tables.
        test: the arguments and the body of each test.
        plugins: the plugins that pytest loads.
        head: the imports.
    """

    name: str
    test: str
    plugins: tuple[str, ...] = ()
    head: str = ""


class Run(NamedTuple):
    """The seconds of a run of a suite."""

    processor: float  # CPU time of the whole process
    mean: float  # of a test
    median: float  # of a test; other programs disturb it less


_GET: Final = "requests.get(petstore.url + '/pets', headers=petstore.headers)"
EMPTY: Final = Suite("empty test", "(): pass")
FIXTURE: Final = Suite("petstore", "(petstore): pass", (_OURS,))
PLUGIN: Final = Suite("petstore_mock", "(): pass", (_OURS,))
_SUITES: Final = (
    EMPTY,
    FIXTURE,
    Suite("petstore, 1 requests.get", f"(petstore): {_GET}", (_OURS,), "import requests"),
    Suite("pytest-httpserver", "(httpserver): pass", ("pytest_httpserver.pytest_plugin",)),
)


def write(folder: Path, suite: Suite, tests: int) -> None:
    """Write a suite with this number of tests into a new folder."""
    folder.mkdir()
    lines = [suite.head, *(f"def test_{number}{suite.test}" for number in range(tests))]
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(_CONFTEST)
    (folder / "test_suite.py").write_text("\n".join(lines))


def run(folder: Path, suite: Suite, tree: Path | None = None) -> Run:
    """Run a written suite, only with its plugins; with ``tree``, by the package in that folder."""
    environment = {**ENVIRONMENT, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    if tree is not None:
        environment["PYTHONPATH"] = str(tree)
    plugins = [part for plugin in suite.plugins for part in ("-p", plugin)]
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *plugins]
    before = _processor_seconds()
    done = subprocess.run(
        [*command, str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    processor = _processor_seconds() - before
    if done.returncode:
        raise RuntimeError(f"the suite {suite.name!r} failed: {(done.stdout + done.stderr)[-300:]}")
    mean, middle = done.stdout.rpartition("RESULT ")[2].split()[:2]
    return Run(processor, float(mean), float(middle))


def _processor_seconds() -> float:
    """Return the CPU time of the ended child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(plan: Plan) -> Result:
    """Run each suite once in each of several rounds."""
    tests, rounds = plan.pick(500, 100), plan.pick(15, 2)
    taken: dict[str, list[float]] = {suite.name: [] for suite in _SUITES}
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        for suite in _SUITES:
            write(Path(name, suite.name), suite, tests)
        for _ in range(rounds):
            for suite in _SUITES:
                taken[suite.name].append(run(Path(name, suite.name), suite).mean * _US)
    added, rows = {}, []
    for name, values in taken.items():
        # Compare pairs, not medians: the load of the machine is about the same for two runs of one round.
        added[name] = median(value - empty for value, empty in zip(values, taken[EMPTY.name], strict=True))
        rows.append([name, *(f"{microseconds:.0f}" for microseconds in (median(values), added[name], min(values)))])
    words = f"{added[FIXTURE.name]:.0f} µs (pytest-httpserver {added['pytest-httpserver']:.0f} µs)"
    result = Result(figures={"fixture": Figure(words, added[FIXTURE.name] <= _REACH)})
    head = ["each test uses", "median", "added", "min"]
    result.tables.append(Table(f"Microseconds per test, in suites of {tests} tests", head, rows))
    result.notes.append(
        f"{rounds} rounds with one run of each suite. A run loads only the suite's own plugins. The cost is the median "
        "difference from the empty tests of the same round. The set-up of the session and the imports are left out."
    )
    return result
