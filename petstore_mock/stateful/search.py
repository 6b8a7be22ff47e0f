"""The search: directed scenarios, then drawn ones, then simpler forms of the scenario that failed."""

from __future__ import annotations

from petstore_mock.strategies.scenarios import PLACES, TWO_PETS, Blocks, check_arguments, scenarios  # needs Hypothesis

# isort: split
from contextlib import suppress
from dataclasses import replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Final
from unittest import SkipTest

from hypothesis import HealthCheck, Phase, find
from hypothesis import settings as Settings  # noqa: N812  # as Hypothesis itself calls it
from hypothesis.errors import NoSuchExample

from petstore_mock import faults as kinds
from petstore_mock.checks.calling import Player
from petstore_mock.checks.check import Call
from petstore_mock.checks.scenario import Act, PlannedFault, Scenario, Together
from petstore_mock.common.real import monotonic
from petstore_mock.common.refusing import refuse, require
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.gaps import GAPS
from petstore_mock.stateful.environments import is_there
from petstore_mock.stateful.example import Example
from petstore_mock.stateful.report import NOT_ALWAYS, NOT_EACH_TIME, ClientBugError, explain
from petstore_mock.stateful.run import CheckReport, Run
from petstore_mock.strategies.plans import QUICK_FAULTS, SLOW_FAULTS, is_quick

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.checks.scenario import Step
    from petstore_mock.stateful.run import Options
    from petstore_mock.strategies.scenarios import Block

# Waits that are longer than a usual longest_wait=.
_LONG: Final = (
    kinds.rate_limited(86_400),
    kinds.respond(503, headers={"Retry-After": "1000000000"}),
    kinds.rate_limited("2999-12-31"),
    kinds.rate_limited(10**12),  # beyond the last date of most clocks
)
_NO_WAITS: Final = (kinds.rate_limited("2020-01-01"), kinds.rate_limited(0))
_FLAWS: Final = (kinds.tls.wrong_host(), kinds.tls.expired(), kinds.tls.untrusted_root(), kinds.tls.handshake_hang())
_ROUNDS: Final = 4  # of calls: enough to retire a key with the gap key_rotation
_SEVERAL: Final = Act("seed_many", {"count": 3})
_MANY: Final = Act("seed_many", {"count": 25})  # more than a page
_LIMITED: Final = 7  # calls: more than the rate limit allows

_EXAMPLES: Final = 200
_ENDLESS: Final = 10**9
_LONGEST_SHRINKING: Final = 6.0  # seconds
_LONGEST_REDUCING: Final = 4.0
_TIMES: Final = 3  # plays of a simpler scenario with two calls at once; it counts only if every play fails
_AGAIN: Final = 8  # plays of the final scenario with two calls at once; if not every play fails, the report says so


class _TimeIsOver(SkipTest):
    """Ends a search at once, because Hypothesis re-raises SkipTest."""


class _Drawn:
    """A drawn value with a short ``repr``. Hypothesis warns of a long one."""

    def __init__(self, value: Any) -> None:  # noqa: ANN401  # any value can be drawn
        self.value = value


class Search:
    """The search for a bug of one client."""

    def __init__(self, run: Run) -> None:
        self._run, self._chosen = run, run.options
        given = run.options.settings
        is_right = given is None or isinstance(given, Settings)
        require(is_right, "settings= as an instance of hypothesis.settings", settings=given)
        self._began = monotonic()
        self._deadline: float | None = None  # of shrinking
        self._failing: dict[str, ClientBugError] = {}
        self._times = 1  # plays of a scenario with two calls at once; every play must fail
        check_arguments(run.options.arguments)
        self._simplest = {name: _simplest(strategy) for name, strategy in run.options.arguments.items()}

    def find(self) -> ClientBugError | None:
        report = self._run.report
        try:
            return self._first([Scenario(odd_key=False)]) or self._directed() or self._drawn()
        finally:
            self._run.report = report
            report.seconds = round(monotonic() - self._began, 3)

    def _bug(self, scenario: Scenario) -> ClientBugError | None:
        """Play a scenario and return its bug. Two calls at once must fail in each of several plays."""
        bug = None
        for _ in range(self._times if scenario.has_races else 1):
            bug = explain(Example(self._run, scenario).play())
            if bug is None or bug.waited:
                return bug
        return bug

    def _is_over(self) -> bool:
        return self._chosen.max_seconds is not None and monotonic() - self._began >= self._chosen.max_seconds

    # Directed scenarios

    def _with_arguments(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the simplest of the arguments that the caller passed."""
        return scenario.replaced(lambda call: self._simplest.get(call.operation, call.arguments))

    def _directed(self) -> ClientBugError | None:
        blocks, chosen = Blocks(self._run.operations), self._chosen
        return (
            (self._of_tls(blocks) if chosen.tls else None)
            or self._first(_known(blocks, chosen))
            or self._waiting(_waits(blocks, chosen))
            or self._first(_shown_once(blocks, chosen))
        )

    def _first(self, directed: Iterable[Scenario]) -> ClientBugError | None:
        for scenario in map(self._with_arguments, directed):
            bug = None if self._is_over() else self._bug(scenario)
            if bug is not None:
                return self._reduced(bug)
        return None

    def _of_tls(self, blocks: Blocks) -> ClientBugError | None:
        call = blocks.plain[0]
        trusting = self._bug(self._with_arguments(Scenario(steps=(call,), odd_key=False)))
        if trusting is not None and "CERTIFICATE_VERIFY_FAILED" in str(trusting):
            refuse(
                f"expected a client that trusts the mock; got {trusting.sentence.rstrip('.')}: use "
                "petstore.tls.client_context() or petstore.tls.ca_path in make_client"
            )
        return self._first(Scenario(steps=(PlannedFault(fault=flaw, times=12), call)) for flaw in _FLAWS)

    def _waiting(self, waits: Iterable[Scenario]) -> ClientBugError | None:
        """Play the slow scenarios side by side. A failed one counts only if it fails again alone."""
        began = monotonic()
        own = map(self._with_arguments, waits)
        examples = [Example(self._run, scenario, alone=False) for scenario in own if not self._is_over()]
        players = [Player() for _ in examples]  # daemon threads, so that Ctrl-C waits for no scenario
        played = [player.play(example.play) for player, example in zip(players, examples, strict=True)]
        for player in players:
            player.end()
        for one in played:
            one.result()
        self._run.report.waited = round(monotonic() - began, 3)
        failed = [one.scenario for one in examples if one.found is not None]
        alone = chain.from_iterable((replace(scenario, odd_key=False), scenario) for scenario in failed)
        bug = next((bug for scenario in alone if (bug := self._bug(scenario)) is not None), None)
        return None if bug is None else self._reduced(bug)

    # Drawn scenarios

    def _drawn(self) -> ClientBugError | None:
        chosen, make = self._chosen, self._chosen.make_client
        drawn = scenarios(
            operations=self._run.operations,
            vary=[name for name in chosen.vary if name != "rate_limit"],
            faults=None if chosen.faults is None else [one for one in chosen.faults if is_quick(one)],
            arguments=chosen.arguments,
            concurrent=chosen.concurrent,
            steps=[*self._run.steps],
        )
        # The database stores the failing scenarios of each client.
        key = f"{getattr(make, '__module__', '')}.{getattr(make, '__qualname__', '')}"
        with suppress(_TimeIsOver, NoSuchExample):
            find(drawn.map(_Drawn), self._fails, settings=self._settings(), database_key=key.encode())
        return self._reduced(min(self._failing.values(), key=_size)) if self._failing else None

    def _settings(self) -> Settings:
        """Return Hypothesis's settings without a deadline and health checks."""
        chosen, every = self._chosen.settings or Settings(), list[Any](HealthCheck)
        return Settings(
            chosen,
            deadline=None,
            suppress_health_check=every,
            report_multiple_bugs=False,
            # An explanation would be about the machine's code, not the client's.
            phases=[phase for phase in chosen.phases if phase is not Phase.explain],
            max_examples=self._chosen.max_examples or (_EXAMPLES if self._chosen.max_seconds is None else _ENDLESS),
        )

    def _fails(self, drawn: _Drawn) -> bool:
        """Play a drawn scenario. A failed scenario stays failed, since shrinking needs a stable result."""
        scenario, name = drawn.value, repr(drawn.value)
        if self._is_over() if self._deadline is None else monotonic() > self._deadline:
            raise _TimeIsOver("the run or its shrinking is out of time")
        bug = None if name in self._failing else self._bug(scenario)
        if bug is not None:
            self._failing[name] = bug
        if self._failing and self._deadline is None:
            self._deadline, self._times = monotonic() + _LONGEST_SHRINKING, _TIMES
            self._run.report = CheckReport()  # the report does not count shrinking
        return name in self._failing

    # Afterwards

    def _reduced(self, bug: ClientBugError) -> ClientBugError:
        """Return the bug of the simplest scenario that still fails."""
        deadline, tried, found = monotonic() + _LONGEST_REDUCING, [bug.scenario], bug
        self._run.report, self._times = CheckReport(), _TIMES
        left = _simpler(bug.scenario)
        while (simpler := next(left, None)) is not None and monotonic() < deadline:
            if simpler not in tried:
                tried.append(simpler)
                other = self._bug(simpler)
                if other is not None:
                    found, left = other, _simpler(other.scenario)
        return self._repeated(found)

    def _repeated(self, bug: ClientBugError) -> ClientBugError:
        """Play the scenario in a new run, and add a sentence if the bug does not show again."""
        if bug.scenario.odd_key:  # without the connections of earlier plays, a plain key may also show the bug
            bug = self._anew(replace(bug.scenario, odd_key=False)) or bug
        scenario = bug.scenario
        if scenario.has_races and not bug.waited:
            always = all(self._anew(scenario) is not None for _ in range(_AGAIN))
            return bug if always else bug.with_words(NOT_EACH_TIME)
        twice = (Act("seed"), *scenario.steps, Act("switch"), *scenario.steps)  # for state in the client's class
        return self._anew(scenario) or self._anew(replace(scenario, steps=twice)) or bug.with_words(NOT_ALWAYS)

    def _anew(self, scenario: Scenario) -> ClientBugError | None:
        with Run(self._run.options) as other:
            other.limits = self._run.limits
            return explain(Example(other, scenario).play())


def _simplest(strategy: SearchStrategy[Any]) -> Any:  # noqa: ANN401  # any value can be drawn
    settings = Settings(database=None, deadline=None, suppress_health_check=list[Any](HealthCheck))
    return find(strategy.map(_Drawn), lambda _: True, settings=settings).value


# The directed scenarios


def _flat(blocks: Iterable[Block]) -> list[Step]:
    return [step for block in blocks for step in block]


def _known(blocks: Blocks, options: Options) -> Iterator[Scenario]:
    """Yield the scenarios with each sample argument, and with each act of another actor."""
    for kind in (blocks.values(options.arguments), *blocks.others()):
        yield Scenario(steps=(_SEVERAL, *_flat(kind)))


def _waits(blocks: Blocks, options: Options) -> Iterator[Scenario]:
    """Yield a scenario for each slow fault, operation and commit point, and for each alternative of the rate limit."""
    is_long = options.longest_wait is not None
    own = (*SLOW_FAULTS, *(_LONG if is_long else ()))
    chosen = own if options.faults is None else [fault for fault in options.faults if not is_quick(fault)]
    for fault, ask in blocks.meetings(chosen):
        yield Scenario(steps=(Act("seed"), ask, fault, ask, ask))
    limits = list(GAPS["rate_limit"].alternatives)[1:] if "rate_limit" in options.vary else []
    clocks = [(), *((Act("clock.advance", {"hours": hours}),) for hours in (1, -1) if is_long)]
    for limit, clock, ask in product(limits, clocks, blocks.plain):
        behaviour = Behaviour().replace({"rate_limit": limit})
        yield Scenario(behaviour, (*clock, Act("seed"), *[ask] * _LIMITED))


def _shown_once(blocks: Blocks, options: Options) -> Iterator[Scenario]:
    """Yield the scenarios with environments, quick faults, redirections, gaps, and two calls at once."""
    is_own = options.faults is None
    quick = QUICK_FAULTS if options.faults is None else [one for one in options.faults if is_quick(one)]
    asks = [step for step in _flat(blocks.values(options.arguments)) if isinstance(step, Call)]
    numbers = [ask for ask in asks if not any(isinstance(value, str) for value in ask.arguments.values())]
    steps: Block = (_SEVERAL, *blocks.plain, *blocks.plain)
    for name in options.environment:
        if is_there(name) and not (name == "ipv6" and options.tls):
            dated = name == "time_zone" and is_own
            limit = {"rate_limit": "retry_after_date"} if dated else {}
            met = blocks.meetings(_NO_WAITS) if dated else ()
            yield Scenario(Behaviour().replace(limit), (*steps, *numbers, *_flat(met)), environment=name)
    lost = _flat(blocks.meetings([kinds.reset()] if is_own else []))
    yield Scenario(steps=(_MANY, *_flat(blocks.meetings(quick)), *lost))  # last, so close() meets a lost connection
    yield Scenario(steps=(_SEVERAL, *_flat(blocks.redirections() if is_own else ())))
    # After a lost response, a client may look for the animal. With some alternatives, it does not find the animal.
    steps = (*lost, _MANY, *blocks.plain * _ROUNDS, *blocks.removal)
    for name in options.vary:
        for alternative in list(GAPS[name].alternatives)[1:] if name != "rate_limit" else ():
            yield Scenario(Behaviour().replace({name: alternative}), steps)
    # Two steps for each line at which the first call stops: the second call does not stop, or stops later.
    places = [(hold, then) for hold in range(1, PLACES) for then in (None, hold + 3)]
    for first, second in blocks.pairs() if options.concurrent else ():
        yield Scenario(steps=(TWO_PETS, *blocks.plain, *(Together(first, second, *held) for held in places)))


# Simpler ones


def _size(bug: ClientBugError) -> tuple[int, int, int]:
    scenario = bug.scenario
    return len(scenario.steps), len(scenario.behaviour.differences()), len(repr(scenario))


def _simpler(scenario: Scenario) -> Iterator[Scenario]:
    yield replace(scenario, odd_key=False)
    yield replace(scenario, environment=None)
    for name in scenario.behaviour.differences():
        yield replace(scenario, behaviour=scenario.behaviour.replace({name: GAPS[name].default}))
    size = len(scenario.steps) // 2
    while size:
        for start in range(0, len(scenario.steps), size):
            yield replace(scenario, steps=scenario.steps[:start] + scenario.steps[start + size :])
        size //= 2
