"""Checks a client through its adapter, and plays recorded scenarios again."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.adapter.process import EndedError
from petstore_mock.adapter.protocol import classify
from petstore_mock.checks import (
    Check,
    Observation,
    Outcome,
    check,
    event_loop_is_free,
    nothing_runs_on,
    program_unchanged,
)
from petstore_mock.checks.check import Mistake
from petstore_mock.checks.reading import in_any_language
from petstore_mock.checks.scenario import Scenario
from petstore_mock.checks.watched import Found
from petstore_mock.stateful.example import Example
from petstore_mock.stateful.pristine import StateOfClient
from petstore_mock.stateful.report import Bug, explain
from petstore_mock.stateful.run import Options, Run

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from petstore_mock.adapter.program import AdapterProgram
    from petstore_mock.checks.check import Said
    from petstore_mock.stateful.run import CheckReport

#: The environments that a process inherits by its variables. A locale belongs to the process that sets it.
_ENVIRONMENTS: Final = ("ipv6", "proxies", "time_zone")
_STANDSTILL: Final = 3.0  # times the patience, after which a call stands still that waits for nothing
_PLAYS: Final = 8  # of a recorded scenario with two calls at once
_STAYS: Final = "process kept alive"


@check(
    section="",
    words="a client neither ends the program that uses it, nor keeps it alive after its close",
    needs=("outcome",),
    rules={"process ended": "ended the process of the client, which {how}", _STAYS: "{how}"},
)
def program_goes_on(seen: Observation) -> Mistake | None:
    error = seen.ending.error
    if isinstance(error, EndedError):
        return Mistake("process ended", how=error.how)
    return Mistake(_STAYS, how=str(error)) if isinstance(error, _UnendedError) else None


class _UnendedError(Exception):
    """A process did not end as a program ends. Its text says what the process did instead."""


def _unless_dead(rule: Check) -> Check:
    """Return a check that ignores calls of a dead process. Only :data:`program_goes_on` reports its end."""

    def look(seen: Observation) -> Said:
        return None if isinstance(seen.ending.error, EndedError) else rule.look(seen)

    return replace(rule, look=look)


#: Checks that look into the process of the machine, where a client of an adapter is not.
NOT_APPLIED: Final = (nothing_runs_on, program_unchanged, event_loop_is_free)


class AdapterOptions(Options):
    """The options of a run over an adapter."""

    def __init__(self, program: AdapterProgram, *, seed: int = 0, **options: Any) -> None:  # of Options
        self.program = program
        self._seed = seed
        super().__init__(program.make_client, classify=classify, environment=_ENVIRONMENTS, **options)

    @property
    def every_check(self) -> Sequence[Check]:
        return [program_goes_on, *(_unless_dead(rule) for rule in super().every_check if rule not in NOT_APPLIED)]

    @property
    def plays_side_by_side(self) -> bool:
        return self.program.hello.concurrent

    def state_of_client(self) -> StateOfClient:
        return _StateOfProcess(self.program)

    def chance(self) -> Random:
        return Random(self._seed)


class _StateOfProcess(StateOfClient):
    """The state of the process, which ends with it. Starting a process takes time."""

    def __init__(self, program: AdapterProgram) -> None:
        self._program = program
        self._is_suspected = False

    def suspect(self) -> None:
        self._is_suspected = True

    def renew(self) -> None:
        self._program.renew()

    def restore(self) -> None:
        if self._is_suspected:
            self.renew()


@contextmanager
def run_of(options: AdapterOptions) -> Generator[Run]:
    """Begin and end a run. Its sentences are those of any language."""
    with Run(options) as run:
        token = in_any_language.set(True)
        try:
            options.program.learn_pool(run.mock())
            run.limits = replace(run.limits, standstill=_STANDSTILL * options.patience)
            yield run
        finally:
            in_any_language.reset(token)


def bugs_of(options: AdapterOptions) -> tuple[CheckReport, list[Bug]]:
    """Check the client of an adapter. Return the report of the run and the bugs, the shortest first."""
    from petstore_mock.stateful.search import Search  # needs Hypothesis, unlike a replay

    with run_of(options) as run:
        found = Search(run).find()
        bugs = [*found, *_bugs_of_end(options, run, _endings(run, found))]
        return run.report, sorted(bugs, key=lambda bug: bug.size)


def replayed(options: AdapterOptions, scenarios: Sequence[Scenario]) -> list[Bug]:
    """Play recorded scenarios again, and return the bugs that they show."""
    with run_of(options) as run:
        bugs = filter(None, [_played(run, scenario) for scenario in scenarios])
        return [*bugs, *_bugs_of_end(options, run, scenarios)]


def _played(run: Run, scenario: Scenario) -> Bug | None:
    plays = _PLAYS if scenario.has_races else 1
    played = (Example(run, scenario).play() for _ in range(plays))
    return next(filter(None, map(explain, played)), None)


def _endings(run: Run, bugs: Iterable[Bug]) -> Iterator[Scenario]:
    """Yield the scenarios after which the process may stay alive, the plain ones first."""
    from petstore_mock.stateful import directed  # needs Hypothesis
    from petstore_mock.strategies.scenarios import Blocks  # as above

    blocks = Blocks(run.operations)
    for ask in blocks.plain:
        yield Scenario(steps=(ask,), odd_key=False)
    yield from (bug.scenario for bug in bugs)
    yield from directed.quick_faults(blocks, run.options)


def _bugs_of_end(options: AdapterOptions, run: Run, played: Iterable[Scenario]) -> Iterator[Bug]:
    """End the program, and yield the bug of a client that keeps its process alive.

    A busy computer may delay the end of a process, so one of the played scenarios must show the bug in a new process.
    """
    if options.program.end() is None:
        return
    options.program.require_end()
    for scenario in played:
        example = Example(run, scenario).play()
        how = options.program.end()
        if how is None:
            continue
        outcome = Outcome(error=_UnendedError(how))
        finding = program_goes_on.find(Observation([], outcome=outcome, doing="the process"))
        if finding is None or run.ignore & {finding.check, finding.rule}:
            return
        example.found = Found(finding, outcome)
        yield from filter(None, [explain(example)])
        return
