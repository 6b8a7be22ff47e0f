"""What our installed, unused entry point costs a pytest run."""

from __future__ import annotations

import resource
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.timing import ENVIRONMENT

__all__ = ["measure"]

_REACH: Final = 3.0  # ms
_OURS: Final = "petstore_mock"
_THEIRS: Final = "pytest_httpserver"
_FORBIDDEN: Final = frozenset({"werkzeug", "jsonschema", "hypothesis", "asyncio"})
_PATIENCE: Final = 60.0
_CONFTEST: Final = """
import sys

def pytest_unconfigure():
    print("MODULES", *sorted(name for name in sys.modules if "." not in name))
"""


def _run(folder: Path, allowed: set[str]) -> tuple[float, float, set[str]]:
    """Run one empty test with the entry points ``allowed``; return wall and processor seconds, and what is imported."""
    names = {point.name for point in entry_points(group="pytest11")}
    blocked = [f"-pno:{name}" for name in sorted(names - allowed)]
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-pno:cacheprovider", *blocked, str(folder)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = perf_counter()
    done = subprocess.run(  # our own interpreter
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=_PATIENCE, check=False
    )
    wall = perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"pytest failed: {done.stdout[-300:]}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    line = next(line for line in done.stdout.splitlines() if "MODULES " in line)
    return wall, used, set(line.split()[1:])


def measure(plan: Plan) -> Result:
    """Run pytest with and without, in turns, and compare each pair."""
    rounds = plan.pick(60, 6)
    contestants = {"none": set[str](), _OURS: {_OURS}, _THEIRS: {_THEIRS}}
    wall: dict[str, list[float]] = {name: [] for name in contestants}
    used: dict[str, list[float]] = {name: [] for name in contestants}
    modules: dict[str, set[str]] = {}
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "conftest.py").write_text(_CONFTEST)
        (folder / "test_empty.py").write_text("def test_nothing():\n    pass\n")
        for turn in range(rounds + 1):
            for contestant, allowed in contestants.items():
                seconds, processor, modules[contestant] = _run(folder, allowed)
                if turn:  # the first compiles
                    wall[contestant].append(seconds * 1000)
                    used[contestant].append(processor * 1000)
    imported = modules[_OURS] - modules["none"]
    heavy = sorted(imported & _FORBIDDEN)
    # Of pairs, not of medians: two runs beside each other meet the same machine.
    costs = {
        contestant: (
            median([mine - none for mine, none in zip(values, wall["none"], strict=True)]),
            median([mine - none for mine, none in zip(used[contestant], used["none"], strict=True)]),
        )
        for contestant, values in wall.items()
    }
    cost, processor = costs[_OURS]
    result = Result()
    result.figures["plugin"] = Figure(
        f"{cost:.1f} ms ({processor:.1f} ms of the processor), imports {', '.join(heavy) or 'none of them'}",
        cost <= _REACH and not heavy,
    )
    rows = [
        [name, f"{median(wall[name]):.1f}", f"{min(wall[name]):.1f}", f"{costs[name][0]:.1f}", f"{costs[name][1]:.1f}"]
        for name in contestants
    ]
    head = ["entry point", "run, median ms", "least ms", "over none ms", "of the processor ms"]
    result.tables.append(Table("One empty test, with one entry point each", head, rows))
    result.notes.append(
        f"{rounds} rounds in turns; the cost is the median difference between neighbouring runs. "
        f"Imported by ours, beyond pytest's own: {', '.join(sorted(imported))}. "
        "pytest-httpserver, on which we depend, brings an entry point of its own: -p no:pytest_httpserver saves it."
    )
    return result
