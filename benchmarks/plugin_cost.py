"""The cost of our installed, unused entry point for a pytest run."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Final

from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.timing import ENVIRONMENT, isolated

__all__ = ["forked_runs", "measure"]

_REACH: Final = 20.0  # ms
_NONE: Final = "none"
_OURS: Final = "petstore_mock"
_THEIRS: Final = "pytest_httpserver"
_FORBIDDEN: Final = frozenset({"werkzeug", "hypothesis", "asyncio"})
_PATIENCE: Final = 60.0
_CONFTEST: Final = """
import sys

def pytest_unconfigure():
    print("MODULES", *sorted(name for name in sys.modules if "." not in name))
"""


def _arguments(folder: Path, allowed: str) -> list[str]:
    """Return pytest's arguments for a run of one empty test with no other entry point than ``allowed``."""
    names = {point.name for point in entry_points(group="pytest11")}
    return ["-q", "-s", "-pno:cacheprovider", *(f"-pno:{name}" for name in sorted(names - {allowed})), str(folder)]


def _whole_run(folder: Path, allowed: str) -> tuple[float, set[str]]:
    """Run pytest in a new process; return its seconds, and the modules that it imported."""
    start = perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *_arguments(folder, allowed)],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    seconds = perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"pytest failed: {done.stdout[-300:]}")
    line = next(line for line in done.stdout.splitlines() if "MODULES " in line)
    return seconds, set(line.split()[1:])


def forked_runs(*, folder: str, contestants: list[str], rounds: int) -> dict[str, list[list[float]]]:
    """Run pytest in forks of a process that has run it before; return wall and processor seconds of each run.

    pytest's own modules are loaded then and cost nothing. In a new process, loading them would take several times as
    long as our goal, and the noise of that time alone exceeds the goal. Call this function in a new process.
    """
    import pytest  # noqa: PLC0415  # other measurements do not need it

    arguments = {name: _arguments(Path(folder), name) for name in contestants}
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123  # the descriptor that the tests print to
        kept = os.dup(1)
        os.dup2(nowhere.fileno(), 1)
        pytest.main(arguments[_NONE])
        os.dup2(kept, 1)
    gc.collect()
    gc.freeze()
    taken: dict[str, list[list[float]]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name in contestants:
            taken[name].append(_forked_run(arguments[name]))
    return taken


def _forked_run(arguments: list[str]) -> list[float]:
    import pytest  # noqa: PLC0415  # as above

    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        start, used = perf_counter(), process_time()
        status = pytest.main(arguments)
        times = [perf_counter() - start, process_time() - used]
        os.write(writing, json.dumps([int(status), *times]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        status, *times = json.loads(answer.read())
    os.waitpid(child, 0)
    if status:
        raise RuntimeError(f"pytest failed with status {status}")
    return [float(value) for value in times]


def measure(plan: Plan) -> Result:
    """Run pytest with and without the entry point, alternately, and compare each pair."""
    rounds = plan.pick(300, 10)
    contestants = [_NONE, _OURS, _THEIRS]
    result = Result()
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "conftest.py").write_text(_CONFTEST)
        (folder / "test_empty.py").write_text("def test_nothing():\n    pass\n")
        for contestant in contestants:
            _whole_run(folder, contestant)  # compiles
        whole = {contestant: _whole_run(folder, contestant) for contestant in contestants}
        taken = isolated("plugin_cost:forked_runs", folder=name, contestants=contestants, rounds=rounds)
    imported = whole[_OURS][1] - whole[_NONE][1]
    heavy = sorted(imported & _FORBIDDEN)
    milliseconds = {
        contestant: [[value * 1000 for value in values] for values in zip(*runs, strict=True)]
        for contestant, runs in taken.items()
    }
    # Compare pairs, not medians: the load of the machine is about the same for two runs of one round.
    costs = {
        contestant: [
            median([mine - none for mine, none in zip(values, without, strict=True)])
            for values, without in zip(columns, milliseconds[_NONE], strict=True)
        ]
        for contestant, columns in milliseconds.items()
    }
    wall, processor = costs[_OURS]
    result.figures["plugin"] = Figure(
        f"{wall:.1f} ms ({processor:.1f} ms processor), imports {', '.join(heavy) or 'none of them'}",
        wall <= _REACH and not heavy,
    )
    rows = [
        [
            contestant,
            f"{median(milliseconds[contestant][0]):.1f}",
            *(f"{cost:.1f}" for cost in costs[contestant]),
            f"{whole[contestant][0] * 1000:.0f}",
        ]
        for contestant in contestants
    ]
    head = ["entry point", "run, median ms", "added ms", "added processor ms", "one run in a new process, ms"]
    result.tables.append(Table("A pytest run of one empty test, with at most one entry point", head, rows))
    result.notes.append(
        f"{rounds} rounds with one run per entry point, in forks of a process that has loaded pytest. The cost is the "
        "median difference from the run without an entry point in the same round. Beyond pytest's own modules, our "
        f"entry point imports {', '.join(sorted(imported))}. Our dependency pytest-httpserver has its own entry point. "
        "-p no:pytest_httpserver switches it off."
    )
    return result
