"""Requests per second: eight kept connections for each operation, and the contestants take turns."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks import wrk
from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.rates import OPERATIONS, OURS, Rates, ask, figure_of
from benchmarks.servers import ASYNCIO, FAKE, FAKE_FAST, FAKE_LOGGING, LIMIT, SERVERS, Server, running

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchmarks.processes import Running

__all__ = ["measure"]

# The goals without an extra and with the extra `fast`. A triple has the numbers for list, get and create.
_AGAINST_LIMIT: Final = {FAKE: 0.7, FAKE_FAST: 0.9}
_AGAINST_FLOOR: Final = {FAKE: (2.3, 2.3, 3.3), FAKE_FAST: (1.8, 1.8, 2.5)}  # at most x times asyncio's CPU time
_AGAINST_MOCKS: Final = {FAKE: (3.0, 3.0, 2.0), FAKE_FAST: (4.0, 4.0, 2.5)}  # the mocks take at least x times ours
_LOG_LINE: Final = 1.5
_MIB: Final = 1 << 20


class _Contest(Rates):
    """Measures the contestants that can run, after a warm-up."""

    def __init__(self, servers: Iterable[Server], plan: Plan) -> None:
        super().__init__()
        self.seconds = plan.pick(2, 1)
        self.rounds = plan.pick(3, 1)
        self.rounds_of_judged = plan.pick(7, 1)
        self.warm_up = plan.pick(2, 1)
        self.processor: dict[tuple[Server, str], list[float]] = {}  # seconds a request
        self.resident: dict[Server, tuple[float, float]] = {}
        self._servers = list(servers)

    def run(self) -> None:
        """Run all contestants in each round. Each round restarts those that keep animals."""
        with ExitStack() as lasting:
            processes = {}
            for server in self._servers:
                problem = server.missing()
                if not problem and not server.stores:
                    try:
                        processes[server] = lasting.enter_context(running(server))
                        self._warm(server, processes[server])
                    except RuntimeError as error:
                        problem = str(error)
                if problem:
                    self.notes.append(f"{server.name} left out: {problem}.")
                else:
                    self.loads[server] = {operation: [] for operation in OPERATIONS}
            for _ in range(self.rounds):
                self._round(processes, list(self.loads))
            judged = self._judged()  # medians of three give unreliable ratios on a noisy machine
            for _ in range(self.rounds, self.rounds_of_judged):
                self._round(processes, judged)

    def _judged(self) -> list[Server]:
        """Return the contestants that the goals are about: ours, the limit and the fastest mock servers."""
        judged = {*OURS, FAKE_LOGGING, LIMIT, ASYNCIO, *self.fastest_mocks().values()}
        return [server for server in self.loads if server in judged]

    def _round(self, lasting: dict[Server, Running], contestants: list[Server]) -> None:
        with ExitStack() as stack:
            processes = {server: process for server, process in lasting.items() if server in contestants}
            for server in [server for server in contestants if server.stores and server in self.loads]:
                try:
                    processes[server] = stack.enter_context(running(server))
                    self._warm(server, processes[server], ("list",))  # adds no animals
                except RuntimeError as error:
                    self.notes.append(f"{server.name} left out: {error}.")
                    del self.loads[server]
            resident = {server: process.resident_bytes() for server, process in processes.items()}
            for operation in OPERATIONS:
                for server in [server for server in contestants if server in self.loads]:
                    before = processes[server].processor_seconds()
                    try:
                        load = ask(server, processes[server], operation, self.seconds)
                    except RuntimeError as error:
                        self.notes.append(f"{server.name}, {operation}: {error}.")
                        continue
                    used = processes[server].processor_seconds() - before
                    self.loads[server][operation].append(load)
                    self.processor.setdefault((server, operation), []).append(used / load.requests)
            for server, process in processes.items():
                self.resident.setdefault(server, (resident[server] / _MIB, 0.0))
                self.resident[server] = (self.resident[server][0], process.resident_bytes() / _MIB)

    def _warm(self, server: Server, process: Running, operations: Iterable[str] = OPERATIONS) -> None:
        for operation in operations:
            with suppress(RuntimeError):  # a cold JVM may need over a second to respond
                ask(server, process, operation, self.warm_up)

    def microseconds(self, server: Server, operation: str) -> float:
        """Return the median CPU time of a request, of all cores, or 0 if there is none."""
        return median(self.processor.get((server, operation)) or [0.0]) * 1e6


def measure(plan: Plan) -> Result:
    """Measure requests per second, and latency under load."""
    result = Result()
    if problem := wrk.missing():
        result.notes.append(f"{problem}: no figure for load.")
        return result
    contest = _Contest(SERVERS, plan)
    contest.run()
    result.notes += contest.notes
    result.notes.append(
        f"wrk -t1 -c{wrk.CONNECTIONS} -d{contest.seconds}s, median of {contest.rounds} rounds "
        f"({contest.rounds_of_judged} for servers in the goals). The servers take turns in each round. wrk keeps a "
        "connection if the server does. wrk also uses a core. Refused: error responses (4xx and 5xx) and socket errors."
    )
    _judge_limit(contest, result)
    _judge_processor(contest, result)
    if not all(figure.met for figure in result.figures.values()):
        result.notes.append(_why_short(contest))
    result.tables += [_rates(contest), _processor_times(contest), _latencies(contest)]
    return result


def _judge_limit(contest: _Contest, result: Result) -> None:
    limits = {operation: contest.rate(LIMIT, operation) for operation in OPERATIONS}
    if all(limits.values()):
        reached = {}
        words = []
        for ours, name in contest.ours():
            ratios = {operation: contest.rate(ours, operation) / limits[operation] for operation in OPERATIONS}
            words.append(f"{name}: {', '.join(f'{operation} {ratio:.2f}' for operation, ratio in ratios.items())}")
            reached[name] = ratios["list"] >= _AGAINST_LIMIT[ours]
        result.figures["limit"] = figure_of(words, reached)


def _judge_processor(contest: _Contest, result: Result) -> None:
    """Judge our CPU time per request against that of mock servers and a bare server. Judge the cost of a log line."""
    mocks, words, reached = contest.fastest_mocks(), [], {}
    for ours, name in contest.ours() if mocks else ():
        less = _ratios(contest, mocks, dict.fromkeys(OPERATIONS, ours))
        told = (f"{operation} {ratio:.1f} ({mocks[operation].name})" for operation, ratio in less.items())
        words.append(f"{name}: {', '.join(told)}")
        reached[name] = all(ratio >= least for ratio, least in zip(less.values(), _AGAINST_MOCKS[ours], strict=True))
    if mocks:
        result.figures["processor_peers"] = figure_of(words, reached)
    words, reached = [], {}
    for ours, name in contest.ours():
        times = _ratios(contest, dict.fromkeys(OPERATIONS, ours), dict.fromkeys(OPERATIONS, ASYNCIO))
        words.append(f"{name}: {', '.join(f'{operation} {ratio:.2f}' for operation, ratio in times.items())}")
        reached[name] = all(ratio <= most for ratio, most in zip(times.values(), _AGAINST_FLOOR[ours], strict=True))
    result.figures["processor_floor"] = figure_of(words, reached)
    lines = _ratios(contest, dict.fromkeys(OPERATIONS, FAKE_LOGGING), dict.fromkeys(OPERATIONS, FAKE))
    words = [f"{operation} {ratio:.2f}" for operation, ratio in lines.items()]
    result.figures["log_line"] = Figure(", ".join(words), all(ratio <= _LOG_LINE for ratio in lines.values()))


def _ratios(contest: _Contest, those: Mapping[str, Server], others: Mapping[str, Server]) -> dict[str, float]:
    """Return the CPU time of a request to ``those``, divided by that of a request to ``others``, by operation."""
    return {
        operation: contest.microseconds(those[operation], operation)
        / max(0.001, contest.microseconds(others[operation], operation))
        for operation in OPERATIONS
    }


def _rates(contest: _Contest) -> Table:
    rows = []
    for server, loads in contest.loads.items():
        cells = [server.name, server.version()]
        for operation in OPERATIONS:
            limit = contest.rate(LIMIT, operation)
            rate = contest.rate(server, operation)
            cells += [f"{rate:,.0f}", f"{rate / limit:.2f}" if limit else "-"]
        refused = sum(load.refused for runs in loads.values() for load in runs)
        before, after = contest.resident.get(server, (0.0, 0.0))
        rows.append([*cells, f"{refused:,}", f"{before:.0f}", f"{after:.0f}"])
    head = ["server", "version", "list /s", "of nginx", "get /s", "of nginx", "create /s", "of nginx", "refused"]
    return Table("Requests per second", [*head, "MiB before", "MiB after"], rows)


def _why_short(contest: _Contest) -> str:
    """Return the reason why we miss goals, with our CPU times and those of asyncio."""

    def all_of(server: Server) -> str:
        return ", ".join(f"{contest.microseconds(server, operation):.0f}" for operation in OPERATIONS)

    ours = " and ".join(f"{all_of(server)} µs {name}" for server, name in contest.ours())
    limit = contest.rate(LIMIT, "list")
    share = f"; its rate of lists is {contest.rate(ASYNCIO, 'list') / limit:.2f} of that of nginx" if limit else ""
    return (
        f"Why we miss goals: Python uses one core. A list, a get and a create take {ours}. asyncio alone takes "
        f"{all_of(ASYNCIO)} µs for the same bodies, without a key, a rule, a store or a journal{share}."
    )


def _processor_times(contest: _Contest) -> Table:
    rows = [
        [server.name, *(f"{contest.microseconds(server, operation):,.0f}" for operation in OPERATIONS)]
        for server in contest.loads
    ]
    return Table("Processor time per request, of all cores, microseconds", ["server", *OPERATIONS], rows)


def _latencies(contest: _Contest) -> Table:
    rows = []
    for server, loads in contest.loads.items():
        cells = [server.name]
        for operation in OPERATIONS:
            runs = loads[operation]
            cells += [f"{median([getattr(run, part) for run in runs] or [0.0]):,.0f}" for part in ("median", "p99")]
        rows.append(cells)
    head = [part for operation in OPERATIONS for part in (f"{operation} p50", "p99")]
    return Table("Latency under that load, microseconds", ["server", *head], rows)
