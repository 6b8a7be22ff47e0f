"""From the start of a process to its first 200."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.servers import FAKE, RAW, SERVERS, running

if TYPE_CHECKING:
    from benchmarks.servers import Server

__all__ = ["measure"]

_REACH: Final = 0.2  # seconds


def measure(plan: Plan) -> Result:
    """Start every server several times, alternately, and send requests until the first 200."""
    rounds = plan.pick(9, 1)
    result = Result()
    taken: dict[Server, list[float]] = {}
    slow: set[Server] = set()
    for turn in range(rounds):
        for server in (*SERVERS, RAW):
            if server in slow and turn % 2:  # such a start takes about a second, so half the rounds are enough
                continue
            if problem := server.missing():
                if not turn:
                    result.notes.append(f"{server.name} left out: {problem}.")
                continue
            try:
                with running(server) as process:
                    taken.setdefault(server, []).append(process.ready_after)
            except RuntimeError as error:
                result.notes.append(f"{server.name}: {error}.")
                continue
            if process.ready_after > 3 * _REACH:
                slow.add(server)
    middle = {server: median(values) for server, values in taken.items()}
    if FAKE in middle:
        ours = middle[FAKE]
        rivals = {server: value for server, value in middle.items() if server.validates}
        best = min(rivals, key=rivals.__getitem__, default=None)
        beside = "no peer that validates could run" if best is None else f"{best.name} {middle[best] * 1000:.0f} ms"
        result.figures["boot"] = Figure(
            f"{ours * 1000:.0f} ms ({beside})", ours <= _REACH and all(ours < value for value in rivals.values())
        )
    rows = [
        [
            server.name,
            "yes" if server.validates or server.name.startswith("petstore_mock") else "no",
            f"{middle[server] * 1000:,.0f}",
            f"{min(values) * 1000:,.0f}",
            str(len(values)),
        ]
        for server, values in taken.items()
    ]
    result.tables.append(
        Table("Start of the process to its first 200", ["server", "validates", "median ms", "min ms", "starts"], rows)
    )
    return result
