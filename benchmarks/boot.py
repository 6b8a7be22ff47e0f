"""From the start of a process to its first 200."""

from __future__ import annotations

from statistics import median
from typing import Final

from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.servers import FAKE, FAKE_FAST, SERVERS, Server

_REACH: Final = 0.2  # seconds


def measure(plan: Plan) -> Result:
    """Start every server several times, alternately, and send requests until the first 200."""
    result = Result()
    taken: dict[Server, list[float]] = {}
    for server in SERVERS:
        problem = server.missing()
        if problem:
            result.notes.append(f"{server.name} left out: {problem}.")
        else:
            taken[server] = []
    for _ in range(plan.pick(7, 1)):
        for server, seconds in taken.items():
            with server.running() as process:
                seconds.append(process.ready_after)
    middle = {server: median(seconds) for server, seconds in taken.items()}
    rivals = [server for server in middle if server.validates]
    best = min(rivals, key=middle.__getitem__)
    result.figures["boot"] = Figure(
        f"{middle[FAKE] * 1000:.0f} ms ({best.name} {middle[best] * 1000:.0f} ms)",
        middle[FAKE] <= min(_REACH, middle[best]),
    )
    rows = []
    for server, seconds in taken.items():
        validates = "yes" if server.validates or server in {FAKE, FAKE_FAST} else "no"
        figures = [f"{middle[server] * 1000:,.0f}", f"{min(seconds) * 1000:,.0f}", str(len(seconds))]
        rows.append([server.name, validates, *figures])
    head = ["server", "validates", "median ms", "min ms", "starts"]
    result.tables.append(Table("Start of the process to its first 200", head, rows))
    return result
