"""Steps a second of the state machine, over a socket, with clients that make no mistake."""

from __future__ import annotations

import os
from time import perf_counter
from typing import Final

from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.timing import isolated

__all__ = ["measure", "steps"]

_REACH: Final = 1000.0
_JUDGED: Final = ("http.client", "urllib3")
_REPORTED: Final = ("requests", "httpx")


def steps(*, library: str, examples: int, one_core: bool = False) -> dict[str, float]:
    """Run the machine on the suite's correct client; return steps, seconds and those spent waiting on purpose.

    To be run in a process of its own.

    Args:
        library: what the client is built on.
        examples: how many are played.
        one_core: keep client and service to one core, as ``taskset`` does.
    """
    if one_core:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from hypothesis import Phase, settings  # noqa: PLC0415  # the others do without

    from petstore_mock.stateful import check_client  # noqa: PLC0415
    from tests.clients.correct import make_correct  # noqa: PLC0415

    def run(count: int) -> dict[str, float]:
        chosen = settings(derandomize=True, database=None, phases=[Phase.generate])
        start = perf_counter()
        report = check_client(make_correct(library), max_examples=count, settings=chosen)
        seconds = perf_counter() - start
        return {"steps": report.calls, "seconds": seconds, "waited": report.waited}

    run(5)  # imports, and code that is compiled once
    return run(examples)


def measure(plan: Plan) -> Result:
    """Measure the machine on four HTTP libraries."""
    result = Result()
    rows: list[list[str]] = []
    free = {library: _rate(rows, plan, library) for library in (*_JUDGED, *_REPORTED)}
    words = [", ".join(f"{library} {rate:,.0f}" for library, rate in free.items())]
    best, best_pinned = max(free[library] for library in _JUDGED), 0.0
    if hasattr(os, "sched_setaffinity"):
        pinned = {library: _rate(rows, plan, library, one_core=True) for library in _JUDGED}
        words.append(f"on one core {', '.join(f'{library} {rate:,.0f}' for library, rate in pinned.items())}")
        best_pinned = max(pinned.values())
    met_by = "on one core" if best_pinned >= _REACH else ""
    result.figures["machine"] = Figure("; ".join(words), best >= _REACH, met_by)
    head = ["client on", "steps", "seconds", "of them waited", "steps a second without"]
    result.tables.append(Table("The machine on a correct client, all gaps and faults varying", head, rows))
    result.notes.append(
        "On one core: client and service take turns, and a second core only has to be woken for each of them, which "
        "is dear on a virtual machine."
    )
    return result


def _rate(rows: list[list[str]], plan: Plan, library: str, *, one_core: bool = False) -> float:
    """Measure one library, add its row, and return the steps a second."""
    found = isolated("machine_steps:steps", library=library, examples=plan.pick(150, 20), one_core=one_core)
    rate: float = found["steps"] / (found["seconds"] - found["waited"])
    name = f"{library}, on one core" if one_core else library
    rows.append([name, f"{found['steps']:,.0f}", f"{found['seconds']:.1f}", f"{found['waited']:.1f}", f"{rate:,.0f}"])
    return rate
