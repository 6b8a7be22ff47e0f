"""Checks a client through its adapter, and plays recorded scenarios again."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.adapter.process import EndedError, UnendedError
from petstore_mock.adapter.protocol import BrokenAdapterError, classify
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
from petstore_mock.stateful.shrinking import Shrinker

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from petstore_mock.adapter.program import AdapterProgram
    from petstore_mock.checks.check import Said
    from petstore_mock.stateful.run import CheckReport

#: The environments that a process inherits by its variables. A locale belongs to the process that sets it.
_ENVIRONMENTS: Final = ("ipv6", "proxies", "time_zone")
_STANDSTILL: Final = 3.0  # times the patience, after which a call stands still that waits for nothing
_PLAYS: Final = 8  # of a recorded scenario with two calls at once


@check(
    section="",
    words="a client neither ends the program that uses it, nor keeps it alive after its close",
    needs=("outcome",),
    rules={
        EndedError.rule: "ended the process of the client, which {how}",
        UnendedError.rule: "left a process that {how}",
    },
)
def program_goes_on(seen: Observation) -> Mistake | None:
    error = seen.ending.error
    if isinstance(error, EndedError):
        return Mistake(error.rule, how=error.how)
    return None


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
        run.callback(in_any_language.reset, in_any_language.set(True))
        options.program.learn_pool(run.mock())
        run.limits = replace(run.limits, standstill=_STANDSTILL * options.patience)
        yield run


def bugs_of(options: AdapterOptions) -> tuple[CheckReport, list[Bug]]:
    """Check the client of an adapter. Return the report of the run and the bugs, the shortest first."""
    from petstore_mock.stateful.search import Search  # needs Hypothesis, unlike a replay

    with run_of(options) as run:
        bugs = Search(run).find()
        end = _EndOfProgram(options.program, run)
        of_end = end.bug(_endings(run, bugs), bugs)
        if of_end is not None:
            # A timer of a closed client may have ended the process in a call of another client.
            bugs = [*(bug for bug in bugs if bug.finding.rule != of_end.finding.rule), end.shrunk(of_end)]
        return run.report, sorted(bugs, key=lambda bug: bug.size)


def replayed(options: AdapterOptions, scenarios: Sequence[Scenario]) -> list[Bug]:
    """Play recorded scenarios again, and return the bugs that they show."""
    with run_of(options) as run:
        bugs = [*filter(None, (_played(run, scenario) for scenario in scenarios))]
        of_end = _EndOfProgram(options.program, run).bug(scenarios, bugs)
        return [*bugs, *filter(None, [of_end])]


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


class _EndOfProgram:
    """Ends the program of an adapter, and finds the bug of a client whose process does not end with 0."""

    def __init__(self, program: AdapterProgram, run: Run) -> None:
        self._program = program
        self._run = run

    def bug(self, played: Iterable[Scenario], found: Sequence[Bug]) -> Bug | None:
        """End the program. If it does not end with 0, play scenarios in new processes, and return a bug that one shows.

        A busy computer may delay an end, so the first end alone is no bug.

        Args:
            played: the scenarios to play, each in a process of its own.
            found: the bugs that the run has found. If the process ended in a call, its cause may show at the end.
        """
        ended = self._program.end()
        has_ended = EndedError.rule in {bug.finding.rule for bug in found}
        if ended is None and not has_ended:
            return None
        self._program.require_end()
        bug = next(filter(None, map(self._play, played)), None)
        if bug is not None or found or isinstance(ended, UnendedError):
            return bug
        if self._run.ignore.isdisjoint((program_goes_on.name, EndedError.rule)):
            raise BrokenAdapterError(f"the adapter {ended}")
        return None

    def shrunk(self, bug: Bug) -> Bug:
        """Return the bug of the shortest scenario. First, leave out the steps after the one that causes the bug."""
        steps = bug.scenario.steps
        starts = [replace(bug.scenario, steps=steps[:count]) for count in range(len(steps))]
        bug = next(filter(None, map(self._play, starts)), bug)
        return Shrinker(self._play, self._run.options.strategies).shrunk(bug)

    def _play(self, scenario: Scenario) -> Bug | None:
        example = Example(self._run, scenario).play()
        outcome = Outcome(error=self._program.end())
        finding = program_goes_on.find(Observation([], outcome=outcome, doing="the closed client"))
        if finding is None or self._run.ignore & {finding.check, finding.rule}:
            return None
        example.keep(Found(finding, outcome))
        return explain(example)
