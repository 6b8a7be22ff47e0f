"""The cost of a run under a variant or a mutant, beyond the test itself. The collection is included."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.timing import ENVIRONMENT

__all__ = ["measure"]

_REACH: Final = 1.0  # ms
_PATIENCE: Final = 300.0
_VARIANTS: Final = 20  # of each test

# The time of a test is the CPU time since the end of the previous test. The whole run is measured in CPU time too.
_CONFTEST: Final = """
from time import process_time

ended = []

def pytest_runtest_logfinish():
    ended.append(process_time())

def pytest_unconfigure():
    if len(ended) > 2:
        print("SECONDS", (ended[-2] - ended[0]) / (len(ended) - 2), len(ended))
"""
_SUITE: Final = """
import http.client
import pytest

@pytest.mark.parametrize("number", range({tests}))
def test_list(petstore, number):
    connection = http.client.HTTPConnection(petstore.httpserver.host, petstore.httpserver.port)
    for _ in range({lists}):
        connection.request("GET", "/v1/pets", headers=petstore.headers)
        connection.getresponse().read()
    connection.close()
"""
_LISTS_OF_A_LONG_TEST: Final = 100  # in a short test, xdist's messages are most of the work
_RUNS: Final = {
    "exploration": (f"--petstore-explore={_VARIANTS}",),
    "mutants": (f"--petstore-mutants={_VARIANTS}",),
}


def _run(folder: Path, arguments: tuple[str, ...], workers: int = 0) -> tuple[float, float, float, int]:
    """Return the CPU time and the duration of a run, the CPU time of a test, and the number of tests."""
    distributed = ("-p", "xdist", "-n", str(workers)) if workers else ()
    plugins = ("-p", "no:cacheprovider", "-p", "petstore_mock.pytest_plugin", *distributed)
    began, before = perf_counter(), _processor_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-W", "ignore", *plugins, *arguments, str(folder)],
        cwd=folder,
        env={**ENVIRONMENT, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    taken, spent = perf_counter() - began, _processor_seconds() - before
    if done.returncode:
        raise RuntimeError(f"the suite failed under {' '.join(arguments)}: {(done.stdout + done.stderr)[-300:]}")
    each, count = done.stdout.rpartition("SECONDS ")[2].split()[:2]
    return spent, taken, float(each), int(count)


def _processor_seconds() -> float:
    """Return the CPU time of the ended child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(plan: Plan) -> Result:
    """Run a suite without variants, with variants and with mutants, alternately."""
    result = Result()
    whole: dict[str, list[tuple[float, float]]] = {}
    over: dict[str, list[float]] = {}
    each: list[float] = []
    counts: dict[str, int] = {}
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "conftest.py").write_text(_CONFTEST)
        (folder / "test_suite.py").write_text(_SUITE.format(tests=plan.pick(100, 20), lists=1))
        for _ in range(plan.pick(7, 1)):
            plain, taken, a_test, tests = _run(folder, ())
            each.append(a_test)
            whole.setdefault("unchanged", []).append((plain, taken))
            counts["unchanged"] = tests
            for kind, arguments in _RUNS.items():
                spent, taken, _, counts[kind] = _run(folder, arguments)
                whole.setdefault(kind, []).append((spent, taken))
                over.setdefault(kind, []).append((spent - plain) / (counts[kind] - tests) - a_test)
    cost = {kind: median(values) * 1000 for kind, values in over.items()}
    result.figures["variants"] = Figure(
        ", ".join(f"{kind} {value:.2f} ms" for kind, value in cost.items()), max(cost.values()) <= _REACH
    )
    rows = [
        [
            kind,
            f"{counts[kind]:,}" if kind in counts else "-",
            f"{median(spent for spent, _ in values):.2f}",
            f"{median(taken for _, taken in values):.2f}",
            f"{cost[kind]:.2f}" if kind in cost else "-",
        ]
        for kind, values in whole.items()
    ]
    head = ["suite", "tests run", "processor s", "elapsed s", "added processor ms/test"]
    result.tables.append(Table(f"A test of {median(each) * 1000:.2f} ms, which lists once", head, rows))
    if find_spec("xdist") is not None:
        result.tables.append(_on_several_cores(plan))
    return result


def _on_several_cores(plan: Plan) -> Table:
    """Run a suite of longer tests alternately in one process and in one pytest-xdist worker per core."""
    workers = os.cpu_count() or 1
    seconds: dict[tuple[str, int], list[float]] = {}
    each: list[float] = []
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "conftest.py").write_text(_CONFTEST)
        (folder / "test_suite.py").write_text(_SUITE.format(tests=plan.pick(40, 4), lists=_LISTS_OF_A_LONG_TEST))
        for _ in range(plan.pick(3, 1)):
            for kind, arguments in _RUNS.items():
                for number in (0, workers):
                    _, taken, a_test, _ = _run(folder, arguments, workers=number)
                    seconds.setdefault((kind, number), []).append(taken)
                    if not number:
                        each.append(a_test)
    rows = [
        [kind, f"{alone:.2f}", f"{shared:.2f}", f"{alone / shared:.2f}"]
        for kind in _RUNS
        for alone, shared in [(median(seconds[kind, 0]), median(seconds[kind, workers]))]
    ]
    head = ["suite", "elapsed s", f"with {workers} workers of xdist", "speed-up"]
    return Table(f"A test of {median(each) * 1000:.0f} ms, which lists {_LISTS_OF_A_LONG_TEST} times", head, rows)
