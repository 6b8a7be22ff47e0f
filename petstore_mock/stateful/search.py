"""The search: directed scenarios, then drawn ones. Each bug is shrunk, and played again before it is reported.

How this works: :meth:`Search._explore` plays a scenario until no check fails that did not fail before. The first
failure of a group (:attr:`Finding.group`) is shrunk and reported; later ones of the group no longer count. A bug must
show again in a new run, without the state that the client keeps in its classes and modules. If it does not,
:class:`_Confirmation` looks for a longer scenario that brings about this state.
"""

from __future__ import annotations

from petstore_mock.interface.gaps import GAPS
from petstore_mock.strategies.scenarios import Blocks, check_arguments, scenarios  # needs Hypothesis

# isort: split
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final
from unittest import SkipTest

from hypothesis import Phase, find
from hypothesis import settings as Settings  # noqa: N812  # as Hypothesis itself calls it
from hypothesis.errors import NoSuchExample

from petstore_mock.checks.calling import Player
from petstore_mock.checks.reading import is_distrust
from petstore_mock.checks.requests import LATE
from petstore_mock.checks.results import HELD
from petstore_mock.checks.scenario import Act, Scenario
from petstore_mock.common.real import monotonic
from petstore_mock.common.refusing import refuse, require
from petstore_mock.stateful import complete, directed
from petstore_mock.stateful.example import Example
from petstore_mock.stateful.replay import passes_alone
from petstore_mock.stateful.report import (
    BY_CHANCE,
    FIXED_CHANCE,
    NOT_ALWAYS,
    NOT_EACH_TIME,
    NOT_REPLAYED,
    Bug,
    explain,
)
from petstore_mock.stateful.run import CheckReport, Run
from petstore_mock.stateful.shrinking import Shrinker
from petstore_mock.strategies.plans import is_quick

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.checks.check import Group
    from petstore_mock.checks.scenario import PlannedFault
    from petstore_mock.stateful.pristine import StateOfClient
    from petstore_mock.stateful.run import Options

_EXAMPLES: Final = 200
_ENDLESS: Final = 10**9
_LONGEST_SHRINKING: Final = 6.0  # seconds of Hypothesis
_LEAST_PLAYS: Final = 60  # of Hypothesis, after the first failure, however busy the computer is
_MOST_BUGS: Final = 10
_LONGEST_AFTERWARDS: Final = 30.0  # seconds after the first bug
_TIMES: Final = 3  # plays of a simpler scenario with two calls at once; it counts only if every play fails
_AGAIN: Final = 8  # plays of the final scenario, if not every play fails
_FEW_AGAIN: Final = 3
# A busy computer, another thread, or the first use of a library may cause one of these once.
_SHOW_EACH_TIME: Final = frozenset(
    {
        HELD,
        LATE,
        "threads or tasks left",
        "temporary files left",
        "descriptors left",
        "client left alive",
        "memory grows",
        "error lost",
        "coroutine not awaited",
    }
)
_QUICK: Final = 0.3  # seconds: limits of a call while a bug is shrunk that waits


class _TimeIsOver(SkipTest):
    """Ends a search at once, because Hypothesis re-raises SkipTest."""


class _Drawn:
    """A drawn value with a short ``repr``. Hypothesis warns of a long one."""

    def __init__(self, value: Any) -> None:  # noqa: ANN401  # any value can be drawn
        self.value = value


class Search:
    """The search for the bugs of one client."""

    def __init__(self, run: Run) -> None:
        options = run.options
        given = options.settings
        is_right = given is None or isinstance(given, Settings)
        require(is_right, "settings= as an instance of hypothesis.settings", settings=given)
        check_arguments(options.strategies)
        self._run = run
        self._options = options
        self._simplest = {name: _simplest(strategy) for name, strategy in options.strategies.items()}
        self._pristine = options.state_of_client()
        self._bugs: list[Bug] = []
        self._history: list[Scenario] = []
        self._singles: list[PlannedFault] = []
        self._pairs: list[PlannedFault] = []
        self._plays = 0
        self._began = monotonic()
        self._found_at: float | None = None

    def find(self) -> list[Bug]:
        report = self._run.report
        try:
            for phase, scenario in self._directed():
                self._run.phase = phase
                self._explore(scenario)
                was_never_made = bool(self._bugs) and not self._run.operations
                if was_never_made or self.is_over():
                    return self._bugs
            self._run.phase = "drawn scenarios"
            self._draw()
            return self._bugs
        finally:
            if self._bugs:
                self._pristine.restore()
            self._run.progress.end()
            self._run.report = report
            self._note_coverage()
            report.seconds = round(monotonic() - self._began, 3)

    def is_over(self) -> bool:
        options = self._options
        now = monotonic()
        if options.max_seconds is not None and now - self._began >= options.max_seconds:
            return True
        if self._found_at is None:
            return False
        is_enough = options.first or len(self._bugs) >= _MOST_BUGS
        return is_enough or now - self._found_at >= _LONGEST_AFTERWARDS

    # Directed scenarios

    def _directed(self) -> Iterator[tuple[str, Scenario]]:
        options = self._options
        yield "a plain client", Scenario(odd_key=False)
        blocks = Blocks(self._run.operations)
        if options.tls:
            self._refuse_distrust(blocks)
        for family in directed.FAMILIES:
            scenarios = family.scenarios(blocks, options)
            if family.takes_time:
                scenarios = self._failed_waits(scenarios)
            for scenario in scenarios:
                yield family.name, scenario
        self._singles = complete.single_faults(blocks, options)
        if options.complete:
            self._pairs = complete.pairs(self._singles, self._run.report.requests, options)
            for scenario in complete.scenarios(self._pairs):
                yield "pairs of faults", scenario

    def _note_coverage(self) -> None:
        report = self._run.report
        singles = self._singles or complete.single_faults(Blocks(self._run.operations), self._options)
        report.coverage = [complete.coverage("every single fault", singles, report.requests)]
        if self._options.complete:
            report.coverage.append(complete.coverage("pairs of faults in one call", self._pairs, report.requests))

    def _refuse_distrust(self, blocks: Blocks) -> None:
        """Refuse a client that does not trust the mock: that is a mistake of the test."""
        scenario = self._with_arguments(Scenario(steps=(blocks.plain[0],), odd_key=False))
        found = self.example(scenario).play().found
        if found is None or found.outcome is None:
            return
        if is_distrust(found.outcome.error):
            refuse(
                f"expected a client that trusts the mock; got {str(found).rstrip('.')}: use "
                "petstore.tls.client_context() or petstore.tls.ca_path in make_client"
            )

    def _failed_waits(self, waits: Iterable[Scenario]) -> Iterator[Scenario]:
        """Play the slow scenarios side by side, and yield those that failed, to be played alone."""
        if not self._options.plays_side_by_side:
            yield from waits
            return
        examples = [self.example(self._with_arguments(scenario), alone=False) for scenario in waits]
        if not self.is_over():
            self._play_side_by_side(examples)
        for example in examples:
            if example.left == "stopped":
                # Another call of the process computed.
                yield replace(example.scenario, odd_key=False)
            elif example.found is not None:
                yield from self._while_unknown(example.scenario, example.found.finding.group)

    def _play_side_by_side(self, examples: Sequence[Example]) -> None:
        began = monotonic()
        self._run.phase = "waits"
        players = [Player() for _ in examples]  # daemon threads, so that Ctrl-C waits for no scenario
        played = [player.play(example.play) for player, example in zip(players, examples, strict=True)]
        for player in players:
            player.end()
        for future in played:
            future.result()
        self._run.report.waited = round(monotonic() - began, 3)

    def _while_unknown(self, scenario: Scenario, group: Group) -> Iterator[Scenario]:
        """Yield a scenario until its bug is known. A bug that depends on chance may need several plays."""
        plain = replace(scenario, odd_key=False)
        for other in (plain, plain, scenario, plain):
            if group not in self._run.known:
                yield other

    def _with_arguments(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the simplest of the arguments that the caller passed."""
        return scenario.replaced(lambda call: self._simplest.get(call.operation, call.arguments))

    # Playing

    def example(self, scenario: Scenario, *, alone: bool = True) -> Example:
        self._plays += 1
        return Example(self._run, scenario, alone=alone, chance=self._plays)

    def _explore(self, scenario: Scenario) -> None:
        """Play a scenario, again after each bug, and after a call that never ended without the steps before it."""
        left: Scenario | None = self._with_arguments(scenario)
        while left is not None and not self.is_over():
            example = self.example(left).play()
            bug = explain(example)
            if bug is None and not example.left:
                break
            if bug is not None and not self._report(bug):
                break
            if example.left or example.waited:
                left = _rest(left, example.taken)
        self._history.append(scenario)

    def _report(self, bug: Bug) -> bool:
        """Shrink and keep a bug. Returns False for a bug that is already known."""
        group = bug.finding.group
        if group in self._run.known:
            return False
        began = monotonic()
        phase = self._run.phase
        self._run.phase = "shrinking"
        report = self._run.report
        self._run.report = CheckReport()
        try:
            confirmed = _Confirmation(self._run, self._pristine, self._history, bug).confirmed()
        finally:
            self._run.report = report
            self._run.phase = phase
        self._run.known.add(group)
        # A finding that does not show again leaves the rest of the run its time.
        if confirmed is not None:
            self._found_at = self._found_at or began
            self._bugs.append(confirmed)
            self._run.known.add(confirmed.finding.group)
        return True

    # Drawn scenarios

    def _draw(self) -> None:
        """Draw scenarios, again after each bug."""
        while not self.is_over():
            bug = _Drawing(self, self._run).bug()
            if bug is None or not self._report(bug):
                return


class _Drawing:
    """One search of Hypothesis."""

    def __init__(self, search: Search, run: Run) -> None:
        self._search = search
        self._run = run
        self._failing: dict[str, Bug] = {}
        self._deadline: float | None = None

    def bug(self) -> Bug | None:
        """Return the bug of the simplest drawn scenario that fails."""
        options = self._run.options
        make = options.make_client
        faults = options.chosen_faults
        if faults is not None:
            faults = list(filter(is_quick, faults))
        drawn = scenarios(
            operations=self._run.operations,
            vary=[name for name in options.gaps if not GAPS[name].makes_wait],
            faults=faults,
            arguments=options.strategies,
            concurrent=options.concurrent,
            steps=[*self._run.steps],
        )
        # The database stores the failing scenarios of each client.
        key = f"{getattr(make, '__module__', '')}.{getattr(make, '__qualname__', '')}"
        report = self._run.report
        with suppress(_TimeIsOver, NoSuchExample):
            find(
                drawn.map(_Drawn),
                self._fails,
                settings=_settings(options),
                random=options.chance(),
                database_key=key.encode(),
            )
        self._run.report = report
        return min(self._failing.values(), key=attrgetter("size"), default=None)

    def _fails(self, drawn: _Drawn) -> bool:
        """Play a drawn scenario. A failed scenario stays failed, since shrinking needs a stable result."""
        scenario = drawn.value
        name = repr(scenario)
        if self._deadline is None:
            is_over = self._search.is_over()
        else:
            # The report was begun anew at the first failure.
            is_over = monotonic() > self._deadline and self._run.report.examples >= _LEAST_PLAYS
        if is_over:
            raise _TimeIsOver("the run or its shrinking is out of time")
        if name in self._failing:
            return True
        bug = self._bug(scenario)
        if bug is not None:
            self._failing[name] = bug
            if self._deadline is None:
                self._deadline = monotonic() + _LONGEST_SHRINKING
                self._run.report = CheckReport()  # the report does not count shrinking
        return bug is not None

    def _bug(self, scenario: Scenario) -> Bug | None:
        """Return the bug of a scenario, if it is the same as before. Two calls at once must fail several times."""
        bug: Bug | None = None
        times = 1
        if scenario.has_races and self._failing:
            times = _TIMES
        for _ in range(times):
            bug = explain(self._search.example(scenario).play())
            if bug is None or bug.waited:
                break
        for known in self._failing.values():
            if bug is not None and bug.finding.group != known.finding.group:
                return None
        return bug


def _settings(options: Options) -> Settings:
    """Return Hypothesis's settings without a deadline. ``find()`` itself makes no health checks."""
    chosen = options.settings or Settings()
    usual = _EXAMPLES if options.max_seconds is None else _ENDLESS
    return Settings(
        chosen,
        deadline=None,
        # An explanation would be about the machine's code, not the client's.
        phases={*chosen.phases} - {Phase.explain},
        max_examples=options.max_examples or usual,
    )


class _Confirmation:
    """Shrinks one bug, and plays it again before it is reported."""

    def __init__(self, run: Run, pristine: StateOfClient, history: list[Scenario], bug: Bug) -> None:
        self._run = run
        self._pristine = pristine
        self._history = history
        self._bug = bug
        self._group: Group | None = bug.finding.group

    def confirmed(self) -> Bug | None:
        """Return the simplest bug that shows in a new run, with a sentence if it does not always show."""
        first = self._bug
        if not self._run.operations:
            # No client was made, so no step can be left out.
            return first
        # Two calls at once may show a bug only now and then.
        if first.scenario.has_races or self._play(first.scenario) is not None:
            steady = self._steady(self._shrunk(first))
            if steady is not None:
                return steady
        self._pristine.suspect()
        for scenario in self._longer(first.scenario):
            self._group = None
            longer = self._play(scenario)
            if longer is not None:
                self._group = longer.finding.group
                steady = self._steady(self._shrunk(longer))
                if steady is not None:
                    return steady
        # On a busy computer, a short timeout may end any call, and a client may use a connection that just closes.
        if first.was_lost or first.finding.rule in _SHOW_EACH_TIME:
            return None
        return first.with_words(NOT_ALWAYS)

    def _longer(self, first: Scenario) -> Iterator[Scenario]:
        """Yield scenarios in which another client, or the same calls, come before: they bring about a state."""
        last = first.steps[-1:]
        yield replace(first, steps=(Act("seed"), *last, Act("switch"), *last))
        yield replace(first, steps=(Act("seed"), *first.steps, Act("switch"), *first.steps))
        for former in (*self._history[:2], *self._history[-3:]):
            yield replace(first, steps=(*former.steps, Act("switch"), *first.steps))

    def _shrunk(self, bug: Bug) -> Bug:
        kept = self._run.options.strategies
        limits = self._run.limits
        if bug.waited:
            self._run.limits = replace(limits, patience=_QUICK, standstill=_QUICK)
            try:
                quick = Shrinker(self._play, kept).shrunk(bug)
            finally:
                self._run.limits = limits
            # A client with a short timeout seems to have none, if the machine is less patient.
            again = self._play(quick.scenario)
            if again is not None:
                return again
        return Shrinker(self._play, kept).shrunk(bug)

    def _play(self, scenario: Scenario) -> Bug | None:
        """Return the bug of a scenario if it is the same. Two calls at once must fail in each of several plays."""
        bug: Bug | None = None
        times = 1
        if scenario.has_races:
            times = _TIMES
        for _ in range(times):
            self._pristine.restore()
            bug = self._same(explain(Example(self._run, scenario, chance=self._bug.chance).play()))
            if bug is None or bug.waited:
                break
        return bug

    def _same(self, bug: Bug | None) -> Bug | None:
        """Return the bug unless it belongs to another group. Without a group, any bug counts."""
        if bug is not None and self._group in {None, bug.finding.group}:
            return bug
        return None

    def _anew(self, scenario: Scenario, chance: int | None, *, fixes_chance: bool = False) -> Bug | None:
        """Play a scenario in a new run, without the connections and the state of earlier plays."""
        self._pristine.renew()
        with Run(self._run.options) as other:
            other.limits = self._run.limits
            other.known = self._run.known
            example = Example(other, scenario, chance=chance).play()
            return self._same(explain(example, fixes_chance=fixes_chance))

    def _steady(self, bug: Bug) -> Bug | None:
        """Return the bug as it shows in new runs, or None if it does not show at all."""
        if bug.scenario.odd_key:
            # A plain key, if the bug shows without the connections of earlier plays.
            bug = self._anew(replace(bug.scenario, odd_key=False), bug.chance) or bug
        scenario = bug.scenario
        if bug.waited:
            return self._replayed(self._anew(scenario, bug.chance))
        if scenario.has_races:
            shown = self._shown(scenario, range(_AGAIN))
            if len(shown) == _AGAIN:
                return bug
            return bug.with_words(NOT_EACH_TIME)
        shown = self._shown(scenario, range(_FEW_AGAIN))
        if len(shown) == _FEW_AGAIN:
            return self._replayed(shown[0])
        if bug.finding.rule in _SHOW_EACH_TIME:
            return None
        return self._by_chance(bug, shown)

    def _shown(self, scenario: Scenario, chances: Iterable[int]) -> list[Bug]:
        """Play a scenario in new runs, once with each chance, and return the bugs that it shows."""
        return list(filter(None, (self._anew(scenario, chance) for chance in chances)))

    def _by_chance(self, bug: Bug, shown: list[Bug]) -> Bug | None:
        """Return a bug that shows in some plays only; the state of ``random`` may decide about it."""
        shown = [*shown, *self._shown(bug.scenario, range(_FEW_AGAIN, _AGAIN))]
        words = BY_CHANCE.format(shown=len(shown), plays=_AGAIN)
        first = shown[0] if shown else bug
        fixed: Bug | None = first
        for _ in range(2):
            fixed = fixed and self._anew(bug.scenario, first.chance, fixes_chance=True)
        if fixed is not None:
            return fixed.with_words(f"{words} {FIXED_CHANCE}")
        return first.with_words(words) if shown else None

    def _replayed(self, bug: Bug | None) -> Bug | None:
        """Play the printed test in a new process, if it can import everything."""
        if bug is not None and bug.importable and passes_alone(bug.test):
            return bug.with_words(NOT_REPLAYED)
        return bug


def _rest(scenario: Scenario, taken: int) -> Scenario | None:
    """Return the scenario without its first steps, or None if none is left."""
    rest = scenario.steps[taken:]
    return replace(scenario, steps=(directed.SEVERAL, *rest)) if rest else None


def _simplest(strategy: SearchStrategy[Any]) -> Any:  # noqa: ANN401  # any value can be drawn
    # The caller's settings may leave out the phase that shrinks.
    settings = Settings(database=None, deadline=None)
    return find(strategy.map(_Drawn), lambda _: True, settings=settings).value
