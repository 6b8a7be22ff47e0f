"""The duration of a whole run of the machine, with clients that have no bug."""

from __future__ import annotations

from statistics import median
from time import perf_counter, process_time
from typing import Final

from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.processes import isolated

__all__ = ["measure", "verdict"]

_MOST: Final = {"http.client": 5.0, "requests": 7.0, "httpx": 7.0}  # seconds, by library


def verdict(*, library: str, examples: int) -> dict[str, float]:
    """Check the suite's correct client with ``library``. Return calls and seconds. Call this in a new process."""
    from petstore_mock.stateful import check_client  # noqa: PLC0415  # other measurements do not need it
    from tests.clients.correct import make_correct  # noqa: PLC0415

    began, spent = perf_counter(), process_time()
    report = check_client(make_correct(library), max_examples=examples)
    return {"calls": report.calls, "seconds": perf_counter() - began, "spent": process_time() - spent}


def measure(plan: Plan) -> Result:
    """Measure the run with three libraries."""
    examples, rounds = plan.pick(200, 20), plan.pick(3, 1)
    rows, words, met = [], [], True
    for library, most in _MOST.items():
        found = [isolated("verdict:verdict", library=library, examples=examples) for _ in range(rounds)]
        calls, seconds, spent = (median(one[name] for one in found) for name in ("calls", "seconds", "spent"))
        rows.append([library, f"{calls:,.0f}", f"{seconds:.1f}", f"{spent:.1f}"])
        words.append(f"{library} {seconds:.1f} s")
        met = met and seconds <= most
    result = Result(figures={"verdict": Figure(", ".join(words), met)})
    head = ["client on", "calls", "seconds", "processor seconds"]
    result.tables.append(Table(f"{examples} examples on a correct client, median of {rounds}", head, rows))
    return result
