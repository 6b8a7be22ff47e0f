"""Repeats, medians and percentiles. Contestants take turns, so that a busy moment affects all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import thread_time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["ENVIRONMENT", "ROOT", "in_turns", "isolated", "percentile"]

ROOT: Final = Path(__file__).parents[1]

# The environment of every started process. It leaves out the options of our suite, and the variable that
# makes Python compile each module again. Python never does so for an installed package.
ENVIRONMENT: Final = {
    name: value
    for name, value in os.environ.items()
    if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith(("PYTEST", "COV", "HYPOTHESIS"))
}
_PATIENCE: Final = 240.0  # seconds for one isolated measurement


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` (0 to 1) of ``values`` lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def in_turns(functions: Mapping[str, Callable[[], object]], *, rounds: int, seconds: float = 0.05) -> dict[str, float]:
    """Return the seconds that one call of each function takes: the median over rounds in which all take turns.

    It is the CPU time of the thread, which other programs do not change. So the functions must not wait.

    Args:
        functions: the functions to compare, by name.
        rounds: the number of turns of each function.
        seconds: the approximate length of a turn. The calls of a turn are timed together.
    """
    calls = {name: _calls_within(function, seconds) for name, function in functions.items()}
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            count = calls[name]
            start = thread_time()
            for _ in range(count):
                function()
            taken[name].append((thread_time() - start) / count)
    return {name: median(values) for name, values in taken.items()}


def _calls_within(function: Callable[[], object], seconds: float) -> int:
    """Return how many calls take about ``seconds``. This is also the warm-up."""
    count = 1
    while True:
        start = thread_time()
        for _ in range(count):
            function()
        taken = thread_time() - start
        if taken >= seconds / 4:
            return max(1, int(count * seconds / taken))
        count *= 4


def isolated(name: str, *, tree: Path | None = None, **arguments: Any) -> Any:  # noqa: ANN401  # a JSON value
    """Call ``module:function`` of this package in a new Python process, and return its result.

    A measurement then has its own memory and imports, and slows no other measurement.

    Args:
        name: the module and the function.
        tree: a folder whose ``petstore_mock`` is measured instead of this checkout's.
        arguments: those of the function, as JSON values.

    Raises:
        RuntimeError: the process failed; its traceback is on standard error.
    """
    program = (
        "import importlib, json, sys\n"
        "sys.path.insert(0, sys.argv[3])\n"
        "import petstore_mock\n"
        "assert petstore_mock.__file__.startswith(sys.argv[3]), petstore_mock.__file__\n"
        "del sys.path[0]\n"  # `benchmarks` comes from this checkout
        "module, name = sys.argv[1].split(':')\n"
        "function = getattr(importlib.import_module(f'benchmarks.{module}'), name)\n"
        "print(json.dumps(function(**json.loads(sys.argv[2]))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, name, json.dumps(arguments), str(tree or ROOT)],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        timeout=_PATIENCE,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{name} ended with exit code {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])
