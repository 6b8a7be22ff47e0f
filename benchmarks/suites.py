"""What the fixture, the plugin and the variants add to a run of pytest. Each run is a new process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.processes import ENVIRONMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["EMPTY", "FIXTURE", "Run", "Suite", "fixture_cost", "plugin_cost", "run", "variants", "write"]

_FIXTURE_REACH: Final = 150e-6  # seconds
_PLUGIN_REACH: Final = 20e-3
_VARIANTS_REACH: Final = 1e-3
_PATIENCE: Final = 300.0
_US: Final = 1e6
_MS: Final = 1e3
_VARIANTS: Final = 20  # of each test
_HEAVY: Final = frozenset({"werkzeug", "hypothesis", "asyncio"})
_OURS: Final = "petstore_mock.pytest_plugin"
_THEIRS: Final = "pytest_httpserver.pytest_plugin"

# Leaves out the first test, which includes the session's setup, and the last, which includes its teardown.
_CONFTEST: Final = """
import json
import sys
from statistics import median
from time import perf_counter, process_time

ended = []

def pytest_runtest_logfinish():
    ended.append((perf_counter(), process_time()))

def pytest_unconfigure():
    tests = [(after[0] - before[0], after[1] - before[1]) for before, after in zip(ended, ended[1:-1])] or [(0, 0)]
    elapsed, processor = zip(*tests)
    modules = sorted(name for name in sys.modules if "." not in name)
    print("RESULT", json.dumps([len(ended), sum(elapsed) / len(tests), median(elapsed), median(processor), modules]))
"""


class Suite(NamedTuple):
    """A suite of equal tests.

    Attributes:
        name: the name in the tables.
        test: the arguments and the body of each test.
        head: the imports.
        plugins: the plugins that pytest loads.
        options: more arguments of pytest.
        decorator: the line before each test.
    """

    name: str
    test: str
    head: str = ""
    plugins: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    decorator: str = ""


class Run(NamedTuple):
    """A run of a suite. The last four describe its tests without the first and the last one.

    Attributes:
        elapsed: the seconds of the whole process.
        processor: its CPU time.
        tests: the number of tests.
        mean: the seconds of a test.
        median: the same, which other programs disturb less.
        processor_of_a_test: the median CPU time of a test.
        modules: the imported modules.
    """

    elapsed: float
    processor: float
    tests: int
    mean: float
    median: float
    processor_of_a_test: float
    modules: list[str]


_GET: Final = "requests.get(petstore.url + '/pets', headers=petstore.headers)"
_STUBBED: Final = "expect_request('/pets').respond_with_json([]); requests.get(httpserver.url_for('/pets'))"
EMPTY: Final = Suite("empty test", "(): pass")
FIXTURE: Final = Suite("petstore", "(petstore): pass", plugins=(_OURS,))
_FIXTURES: Final = (
    EMPTY,
    FIXTURE,
    Suite("petstore, 1 requests.get", f"(petstore): {_GET}", "import requests", (_OURS,)),
    Suite("pytest-httpserver", "(httpserver): pass", plugins=(_THEIRS,)),
    Suite(
        "pytest-httpserver, 1 expectation, 1 requests.get",
        f"(httpserver): httpserver.{_STUBBED}",
        "import requests",
        (_THEIRS,),
    ),
    Suite("responses", "(): pass", "import responses", decorator="@responses.activate"),
    Suite(
        "responses, 1 expectation, 1 requests.get",
        "(): responses.get('http://x/pets', json=[]); requests.get('http://x/pets')",
        "import requests, responses",
        decorator="@responses.activate",
    ),
)
_PLUGINS: Final = (
    EMPTY,
    EMPTY._replace(name="petstore_mock", plugins=(_OURS,)),
    EMPTY._replace(name="pytest_httpserver", plugins=(_THEIRS,)),
)
_LISTING: Final = Suite(
    "unchanged",
    """(petstore):
    connection = http.client.HTTPConnection(petstore.httpserver.host, petstore.httpserver.port)
    connection.request("GET", "/v1/pets", headers=petstore.headers)
    connection.getresponse().read()
    connection.close()""",
    "import http.client",
    (_OURS,),
    ("-W", "ignore"),
)
_VARIED: Final = (
    _LISTING,
    _LISTING._replace(name="exploration", options=(f"--petstore-explore={_VARIANTS}", *_LISTING.options)),
    _LISTING._replace(name="mutants", options=(f"--petstore-mutants={_VARIANTS}", *_LISTING.options)),
)


def write(folder: Path, suite: Suite, tests: int) -> None:
    """Write a suite with this number of tests into a new folder."""
    folder.mkdir()
    lines = [suite.head]
    for number in range(tests):
        lines += [suite.decorator, f"def test_{number}{suite.test}"]
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(_CONFTEST)
    (folder / "test_suite.py").write_text("\n".join(lines))


def run(folder: Path, suite: Suite, tree: Path | None = None) -> Run:
    """Run a written suite.

    Args:
        folder: the folder of the suite.
        suite: the suite in the folder; pytest loads its plugins only.
        tree: a folder with the package to use instead of the installed one.
    """
    environment = {**ENVIRONMENT, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    if tree is not None:
        environment["PYTHONPATH"] = str(tree)
    plugins = [part for plugin in suite.plugins for part in ("-p", plugin)]
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *plugins, *suite.options]
    began, before = perf_counter(), _processor_seconds()
    done = subprocess.run(
        [*command, str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    elapsed, processor = perf_counter() - began, _processor_seconds() - before
    if done.returncode:
        raise RuntimeError(f"the suite {suite.name!r} failed: {(done.stdout + done.stderr)[-300:]}")
    result = done.stdout.rpartition("RESULT ")[2].splitlines()[0]
    return Run(elapsed, processor, *json.loads(result))


def _processor_seconds() -> float:
    """Return the CPU time of the ended child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _runs(suites: Iterable[Suite], tests: int, rounds: int) -> dict[str, list[Run]]:
    """Run each suite once in each round, after a first one that compiles the modules."""
    taken: dict[str, list[Run]] = {}
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        folders = {suite: Path(name, suite.name) for suite in suites}
        for suite, folder in folders.items():
            write(folder, suite, tests)
            run(folder, suite)
        for _ in range(rounds):
            for suite, folder in folders.items():
                taken.setdefault(suite.name, []).append(run(folder, suite))
    return taken


def _added(taken: Mapping[str, list[Run]], attribute: str) -> dict[str, float]:
    """Return what each suite adds to the first suite: the median difference of the runs of one round.

    The load of the computer is about the same for two runs of one round.
    """
    columns = {name: [getattr(each, attribute) for each in runs] for name, runs in taken.items()}
    first = next(iter(columns.values()))
    return {
        name: median([value - base for value, base in zip(values, first, strict=True)])
        for name, values in columns.items()
    }


def fixture_cost(plan: Plan) -> Result:
    """Measure what a fixture adds to an empty test."""
    tests, rounds = plan.pick(500, 100), plan.pick(15, 2)
    taken = _runs(_FIXTURES, tests, rounds)
    added = _added(taken, "mean")
    ours, theirs = added[FIXTURE.name], added["pytest-httpserver"]
    rows = []
    for name, runs in taken.items():
        means = [each.mean * _US for each in runs]
        rows.append([name, f"{median(means):.0f}", f"{added[name] * _US:.0f}", f"{min(means):.0f}"])
    figure = Figure(f"{ours * _US:.0f} µs (pytest-httpserver {theirs * _US:.0f} µs)", ours <= _FIXTURE_REACH)
    result = Result(figures={"fixture": figure})
    head = ["each test uses", "median", "added", "min"]
    result.tables.append(Table(f"Microseconds per test, in suites of {tests} tests", head, rows))
    result.notes.append(
        f"{rounds} rounds with one run of each suite. A run loads only the suite's own plugins. The cost is the median "
        "difference from the empty tests of the same round. The set-up of the session and the imports are left out."
    )
    return result


def plugin_cost(plan: Plan) -> Result:
    """Measure what a plugin adds to a run of pytest that does not use it."""
    rounds = plan.pick(60, 3)
    taken = _runs(_PLUGINS, 1, rounds)
    elapsed, processor = _added(taken, "elapsed"), _added(taken, "processor")
    none, ours = (set(taken[name][0].modules) for name in (EMPTY.name, "petstore_mock"))
    heavy = sorted((ours - none) & _HEAVY)
    cost = elapsed["petstore_mock"]
    words = f"{cost * _MS:.1f} ms ({processor['petstore_mock'] * _MS:.1f} ms processor)"
    figure = Figure(f"{words}, imports {', '.join(heavy) or 'none of them'}", cost <= _PLUGIN_REACH and not heavy)
    result = Result(figures={"plugin": figure})
    rows = []
    for name, runs in taken.items():
        whole = median(each.elapsed for each in runs)
        rows.append([name, *(f"{seconds * _MS:.1f}" for seconds in (whole, elapsed[name], processor[name]))])
    head = ["plugin", "run, median ms", "added ms", "added processor ms"]
    result.tables.append(Table("A pytest run of one empty test, with at most one plugin", head, rows))
    result.notes.append(
        f"{rounds} rounds with one run per plugin, each in a new process. The cost is the median difference from the "
        "run without a plugin in the same round. Beyond pytest's own modules, our plugin imports "
        f"{', '.join(sorted(ours - none))}. Our dependency pytest-httpserver has its own plugin. "
        "-p no:pytest_httpserver switches it off."
    )
    return result


def variants(plan: Plan) -> Result:
    """Measure what each run under a variant or a mutant costs beyond the test itself, collection included."""
    taken = _runs(_VARIED, plan.pick(100, 20), plan.pick(7, 1))
    plain = taken[_LISTING.name][0]
    a_test = median(each.processor_of_a_test for each in taken[_LISTING.name])
    cost, rows = {}, []
    for name, added in _added(taken, "processor").items():
        runs = taken[name]
        more = runs[0].tests - plain.tests
        if more:
            cost[name] = added / more - a_test
        row = [name, f"{runs[0].tests:,}", f"{median(each.processor for each in runs):.2f}"]
        row.append(f"{median(each.elapsed for each in runs):.2f}")
        rows.append([*row, f"{cost[name] * _MS:.2f}" if more else "-"])
    words = ", ".join(f"{name} {seconds * _MS:.2f} ms" for name, seconds in cost.items())
    result = Result(figures={"variants": Figure(words, max(cost.values()) <= _VARIANTS_REACH)})
    head = ["suite", "tests run", "processor s", "elapsed s", "added processor ms/test"]
    result.tables.append(Table(f"A test of {a_test * _MS:.2f} ms, which lists once", head, rows))
    return result
