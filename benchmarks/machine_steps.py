"""Steps a second of the state machine, over a socket, with clients that make no mistake."""

from __future__ import annotations

from time import perf_counter
from typing import Final

from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.timing import isolated

__all__ = ["measure", "steps"]

_REACH: Final = 1000.0
_JUDGED: Final = ("http.client", "urllib3")
_REPORTED: Final = ("requests", "httpx")


def steps(*, library: str, examples: int) -> dict[str, float]:
    """Run the machine on the suite's correct client; return steps, seconds and those spent waiting on purpose.

    To be run in a process of its own.
    """
    from hypothesis import Phase, settings  # noqa: PLC0415  # the others do without

    from petstore_mock.stateful import client_machine, find_bug, machine_settings  # noqa: PLC0415
    from tests.clients.correct import make_correct  # noqa: PLC0415

    def run(count: int) -> dict[str, float]:
        machine = client_machine(make_correct(library))
        chosen = settings(
            machine_settings(max_examples=count),  # as users run it: with examples of as many steps
            derandomize=True,
            database=None,
            phases=[Phase.generate],
        )
        start = perf_counter()
        found = find_bug(machine, chosen)
        seconds = perf_counter() - start
        if found is not None:
            raise found
        return {"steps": machine.run.steps, "seconds": seconds, "waited": machine.run.waited}

    run(5)  # imports, and what is compiled once
    return run(examples)


def measure(plan: Plan) -> Result:
    """Measure the machine on four HTTP libraries."""
    result = Result()
    rows, rates = [], {}
    for library in (*_JUDGED, *_REPORTED):
        found = isolated("machine_steps:steps", library=library, examples=plan.pick(150, 20))
        rates[library] = found["steps"] / (found["seconds"] - found["waited"])
        counts = [f"{found['steps']:,.0f}", f"{found['seconds']:.1f}", f"{found['waited']:.1f}"]
        rows.append([library, *counts, f"{rates[library]:,.0f}"])
    best = max(rates[library] for library in _JUDGED)
    words = ", ".join(f"{library} {rates[library]:,.0f}" for library in rates)
    result.figures["machine"] = Figure(words, best >= _REACH)
    head = ["client on", "steps", "seconds", "of them waited", "steps a second without"]
    result.tables.append(Table("The machine on a correct client, all gaps and faults varying", head, rows))
    return result
