"""Requests per second over eight kept connections: of warm servers, and of servers right after their start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from statistics import median
from typing import Final

from benchmarks import wrk
from benchmarks.bodies import NEW_PET
from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.processes import Running
from benchmarks.servers import ASYNCIO, FAKE, FAKE_FAST, LIMIT, SERVERS, Server

OPERATIONS: Final = ("list", "get", "create")
OURS: Final = {FAKE: "without an extra", FAKE_FAST: "with the extra fast"}

# The goals without an extra and with the extra `fast`. A triple has the numbers for list, get and create.
_AGAINST_LIMIT: Final = {FAKE: (0.7, 0.0, 0.0), FAKE_FAST: (0.9, 0.0, 0.0)}
_AGAINST_FLOOR: Final = {FAKE: (2.3, 2.3, 3.3), FAKE_FAST: (1.8, 1.8, 2.5)}  # at most x times asyncio's CPU time
_AGAINST_MOCKS: Final = {FAKE: (3.0, 3.0, 2.0), FAKE_FAST: (4.0, 4.0, 2.5)}  # the mocks take at least x times ours
_AGAINST_STARTED: Final = {FAKE: (5.0, 4.0, 2.0), FAKE_FAST: (5.0, 4.0, 2.0)}
_US: Final = 1e6


class Contest:
    """The loads of the contestants, which take turns.

    Attributes:
        loads: the runs of each contestant that takes part, by operation.
        notes: the contestants that do not take part, with the reason.
    """

    def __init__(self, servers: Sequence[Server]) -> None:
        self.loads: dict[Server, dict[str, list[wrk.Load]]] = {}
        self.notes: list[str] = []
        self._processor: dict[tuple[Server, str], list[float]] = {}  # seconds a request
        for server in servers:
            problem = server.missing() or wrk.missing()
            if problem:
                self.notes.append(f"{server.name} left out: {problem}.")
            else:
                self.loads[server] = {operation: [] for operation in OPERATIONS}

    def run(self, *, rounds: int, seconds: int, warm_up: int) -> None:
        """Start each server in each round, and load each operation for ``seconds``, after ``warm_up`` seconds.

        A server takes no part if an operation has no load.
        """
        for _ in range(rounds):
            for server in self.loads:
                try:
                    with server.running() as process:
                        self._load(server, process, seconds=seconds, warm_up=warm_up)
                except RuntimeError as error:
                    self.notes.append(f"{server.name}: {error}.")
        self.loads = {server: loads for server, loads in self.loads.items() if all(loads.values())}

    def _load(self, server: Server, process: Running, *, seconds: int, warm_up: int) -> None:
        warming = ("list",) if server.stores else OPERATIONS  # adds no animals
        for operation in warming if warm_up else ():
            with suppress(RuntimeError):  # a cold JVM may need over a second to respond
                _ask(server, process, operation, warm_up)
        for operation in OPERATIONS:
            before = process.processor_seconds()
            load = _ask(server, process, operation, seconds)
            used = process.processor_seconds() - before
            self.loads[server][operation].append(load)
            self._processor.setdefault((server, operation), []).append(used / load.requests)

    def rate(self, server: Server, operation: str) -> float:
        """Return the median of the requests per second, or 0 if there is none."""
        loads = self.loads.get(server, {}).get(operation)
        return median(load.rate for load in loads) if loads else 0.0

    def microseconds(self, server: Server, operation: str) -> float:
        """Return the median CPU time of a request, of all cores, or 0 if there is none."""
        return median(self._processor.get((server, operation)) or [0.0]) * _US

    def rate_on_a_core(self, server: Server, operation: str) -> float:
        """Return the requests per second of CPU time, or 0 if there is none."""
        microseconds = self.microseconds(server, operation)
        return _US / microseconds if microseconds else 0.0

    def fastest_mocks(self) -> dict[str, Server]:
        """Return the mock server with the most requests per second, by operation."""
        mocks = [server for server in self.loads if server.is_mock]
        fastest: dict[str, Server] = {}
        for operation in OPERATIONS:
            for server in mocks:
                best = fastest.setdefault(operation, server)
                if self.rate(server, operation) > self.rate(best, operation):
                    fastest[operation] = server
        return fastest


def _ask(server: Server, process: Running, operation: str, seconds: int) -> wrk.Load:
    """Send requests of one operation for ``seconds``. Raises RuntimeError if no response arrives."""
    pets = f"{server.root}/pets"
    if operation == "create":
        return wrk.load(process.port, pets, seconds=seconds, method="POST", body=NEW_PET)
    return wrk.load(process.port, pets if operation == "list" else f"{pets}/1", seconds=seconds)


def measure(plan: Plan) -> Result:
    """Measure requests per second of warm servers."""
    rounds, seconds, warm_up = plan.pick(5, 1), plan.pick(2, 1), plan.pick(2, 1)
    contest = Contest(SERVERS)
    contest.run(rounds=rounds, seconds=seconds, warm_up=warm_up)
    result = Result(notes=contest.notes)
    result.notes.append(
        f"wrk -t1 -c{wrk.CONNECTIONS} -d{seconds}s, after {warm_up} s of warm-up; median of {rounds} rounds, in which "
        "the servers take turns. wrk keeps a connection if the server does. wrk also uses a core. Refused: error "
        "responses (4xx and 5xx) and socket errors."
    )
    limits, floors = dict.fromkeys(OPERATIONS, LIMIT), dict.fromkeys(OPERATIONS, ASYNCIO)
    mocks = contest.fastest_mocks()
    result.figures |= _judged("limit", contest, Contest.rate, limits, _AGAINST_LIMIT)
    result.figures |= _judged("processor_peers", contest, Contest.rate_on_a_core, mocks, _AGAINST_MOCKS)
    result.figures |= _judged("processor_floor", contest, Contest.microseconds, floors, _AGAINST_FLOOR, is_at_most=True)
    result.tables += [_rates(contest), _processor_times(contest)]
    return result


def first_seconds(plan: Plan) -> Result:
    """Measure requests per second in the first seconds after a start, as in a test run."""
    rounds, seconds = plan.pick(3, 1), plan.pick(4, 1)
    contest = Contest([server for server in SERVERS if server in OURS or server is LIMIT or server.is_mock])
    contest.run(rounds=rounds, seconds=seconds, warm_up=0)
    result = Result(notes=contest.notes)
    result.notes.append(
        f"wrk -t1 -c{wrk.CONNECTIONS} -d{seconds}s for each operation in turn, from the first 200 on; median of "
        f"{rounds} starts. The JVM still compiles then."
    )
    result.figures |= _judged("peers_started", contest, Contest.rate, contest.fastest_mocks(), _AGAINST_STARTED)
    rows = [
        [server.name, *(f"{contest.rate(server, operation):,.0f}" for operation in OPERATIONS)]
        for server in contest.loads
    ]
    result.tables.append(Table("Requests per second", ["server", *(f"{name} /s" for name in OPERATIONS)], rows))
    return result


def _judged(
    goal: str,
    contest: Contest,
    figure_of: Callable[[Contest, Server, str], float],
    others: Mapping[str, Server],
    limits: Mapping[Server, Sequence[float]],
    *,
    is_at_most: bool = False,
) -> dict[str, Figure]:
    """Judge a figure of each of our servers, divided by that of the other server, by operation.

    Returns:
        The figure by its goal, or nothing if one of the other servers has no figure.
    """
    their = [figure_of(contest, other, operation) for operation, other in others.items()]
    if not their or not all(their):
        return {}
    words, is_met = [], True
    for ours in [server for server in OURS if server in contest.loads]:
        ratios = []
        for operation, theirs, limit in zip(others, their, limits[ours], strict=True):
            ratio = figure_of(contest, ours, operation) / theirs
            ratios.append(f"{operation} {ratio:.2f}")
            is_met = is_met and (ratio <= limit if is_at_most else ratio >= limit)
        words.append(f"{OURS[ours]}: {', '.join(ratios)}")
    rivals = ", ".join(dict.fromkeys(other.name for other in others.values()))
    return {goal: Figure(f"{'; '.join(words)} (beside {rivals})", is_met)}


# The tables


def _rates(contest: Contest) -> Table:
    rows = []
    for server, loads in contest.loads.items():
        row = [server.name, server.version()]
        for operation in OPERATIONS:
            rate, limit = contest.rate(server, operation), contest.rate(LIMIT, operation)
            row += [f"{rate:,.0f}", f"{rate / limit:.2f}" if limit else "-"]
        refused = sum(load.refused for runs in loads.values() for load in runs)
        rows.append([*row, f"{refused:,}"])
    head = ["server", "version", "list /s", "of nginx", "get /s", "of nginx", "create /s", "of nginx", "refused"]
    return Table("Requests per second", head, rows)


def _processor_times(contest: Contest) -> Table:
    rows = [
        [server.name, *(f"{contest.microseconds(server, operation):,.0f}" for operation in OPERATIONS)]
        for server in contest.loads
    ]
    return Table("Processor time per request, of all cores, microseconds", ["server", *OPERATIONS], rows)
