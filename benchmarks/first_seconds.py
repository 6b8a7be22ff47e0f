"""Requests per second of servers right after their start, without a warm-up, as in a test run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks import wrk
from benchmarks.goals import Plan, Result, Table
from benchmarks.rates import OPERATIONS, OURS, Rates, ask
from benchmarks.servers import LIMIT, SERVERS, Server, running

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["measure"]

_CONTESTANTS: Final = tuple(server for server in SERVERS if server in OURS or server is LIMIT or server.is_mock)


class _Starts(Rates):
    """The rates of servers right after their start."""

    def run(self, contestants: Iterable[Server], *, starts: int, seconds: int) -> None:
        """Start each server ``starts`` times, alternately, and load each operation right after the start."""
        there = []
        for server in contestants:
            if problem := server.missing():
                self.notes.append(f"{server.name} left out: {problem}.")
            else:
                there.append(server)
        for _ in range(starts):
            for server in there:
                try:
                    with running(server) as process:
                        for operation in OPERATIONS:
                            load = ask(server, process, operation, seconds)
                            self.loads.setdefault(server, {}).setdefault(operation, []).append(load)
                except RuntimeError as error:
                    self.notes.append(f"{server.name}: {error}.")


def measure(plan: Plan) -> Result:
    """Measure requests per second in the first seconds after a start."""
    result = Result()
    if problem := wrk.missing():
        result.notes.append(f"{problem}: no figure for load.")
        return result
    seconds, starts = plan.pick(4, 1), plan.pick(3, 1)
    contest = _Starts()
    contest.run(_CONTESTANTS, starts=starts, seconds=seconds)
    figure = contest.against_mocks()
    if figure is not None:
        result.figures["peers_started"] = figure
    result.notes += contest.notes
    result.notes.append(
        f"wrk -t1 -c{wrk.CONNECTIONS} -d{seconds}s for each operation in turn, from the first 200 on; median of "
        f"{starts} starts. The JVM still compiles then."
    )
    rows = [
        [server.name, *(f"{contest.rate(server, operation):,.0f}" for operation in OPERATIONS)]
        for server in contest.loads
    ]
    result.tables.append(Table("Requests per second", ["server", *(f"{one} /s" for one in OPERATIONS)], rows))
    return result
