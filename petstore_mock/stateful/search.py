"""The search: directed scenarios first, then the drawn ones; what fails is made simpler."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final
from unittest import SkipTest

from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as Settings  # noqa: N812  # as Hypothesis itself calls it

from petstore_mock.checks.attending import Player
from petstore_mock.common.real import monotonic
from petstore_mock.common.refusing import refuse
from petstore_mock.interface.gaps import GAPS
from petstore_mock.stateful import plan
from petstore_mock.stateful.example import Example
from petstore_mock.stateful.exposure import CheckReport
from petstore_mock.stateful.report import NOT_ALWAYS, NOT_EACH_TIME, ClientBugError, explain
from petstore_mock.stateful.run import Run
from petstore_mock.strategies.plans import is_quick
from petstore_mock.strategies.scenario import Act, Scenario, Switch, Together
from petstore_mock.strategies.scenarios import Blocks, scenarios

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What makes one test another to Hypothesis's database, beside its source: here that is the same for every client.
_DIGEST: Final = "_hypothesis_internal_add_digest"
_LONGEST_SHRINKING: Final = 6.0  # seconds
_LONGEST_REDUCING: Final = 4.0
_TIMES: Final = 3  # that two calls at once must fail while they are made simpler, ...
_AGAIN: Final = 8  # ... and at the end


class _Failed(Exception):  # noqa: N818  # Hypothesis tells failures apart by where they are raised: here that is one line
    """An example failed."""


class _TimeIsOver(SkipTest):
    """Ends a search: Hypothesis lets it pass at once."""


class Search:
    """Looks for a bug of one client."""

    def __init__(self, run: Run) -> None:
        self._run, self._chosen = run, run.options
        self._began = monotonic()
        self._deadline: float | None = None  # of shrinking
        self._failing: dict[str, ClientBugError] = {}
        self._times = 1  # that two calls at once must fail

    def find(self, settings: Settings) -> ClientBugError | None:
        """Return the bug that the client shows, or None."""
        report = self._run.report
        try:
            return self._first([Scenario(odd_key=False)]) or self._directed() or self._drawn(settings)
        finally:
            self._run.report = report
            report.seconds = round(monotonic() - self._began, 3)

    # Playing

    def _bug(self, scenario: Scenario) -> ClientBugError | None:
        """Play a scenario; one with two calls at once must fail each time once it is known to fail."""
        bug = None
        for _ in range(self._times if _has_races(scenario) else 1):
            bug = explain(Example(self._run, scenario).play())
            if bug is None or bug.waited:
                return bug
        return bug

    def _is_over(self) -> bool:
        return self._chosen.max_seconds is not None and monotonic() - self._began >= self._chosen.max_seconds

    # Directed scenarios

    def _directed(self) -> ClientBugError | None:
        run, chosen = self._run, self._chosen
        blocks = Blocks(run.operations)
        if chosen.tls and (bug := self._of_tls(blocks)) is not None:
            return bug
        return (
            self._first(plan.known(blocks, chosen))
            or self._waiting(plan.waits(blocks, chosen))
            or self._first(plan.shown_once(blocks, chosen))
        )

    def _first(self, directed: Iterable[Scenario]) -> ClientBugError | None:
        for scenario in directed:
            bug = None if self._is_over() else self._bug(scenario)
            if bug is not None:
                return self._reduced(bug)
        return None

    def _of_tls(self, blocks: Blocks) -> ClientBugError | None:
        trusting = self._bug(Scenario(steps=(blocks.plain[0],)))
        if trusting is not None and "CERTIFICATE_VERIFY_FAILED" in str(trusting):
            refuse(
                "expected make_client to make a client that trusts the mock, by petstore.tls.client_context() or "
                f"petstore.tls.ca_path; got {trusting.sentence}"
            )
        return self._first(plan.flawed(blocks))

    def _waiting(self, waits: Iterable[Scenario]) -> ClientBugError | None:
        """Play the scenarios that take real time side by side; what fails counts once it fails alone."""
        began = monotonic()
        examples = [Example(self._run, scenario, alone=False) for scenario in waits if not self._is_over()]
        players = [Player() for _ in examples]
        played = [player.play(example.play) for player, example in zip(players, examples, strict=True)]
        for player, one in zip(players, played, strict=True):
            player.end()
            one.result()
        self._run.report.waited = round(monotonic() - began, 3)
        failed = [one.scenario for one in examples if one.found is not None]
        alone = chain.from_iterable((replace(scenario, odd_key=False), scenario) for scenario in failed)
        return next((bug for scenario in alone if (bug := self._bug(scenario)) is not None), None)

    # Drawn scenarios

    def _drawn(self, settings: Settings) -> ClientBugError | None:
        run, chosen = self._run, self._chosen
        drawn = scenarios(
            operations=run.operations,
            vary=[name for name in chosen.vary if name != "rate_limit"],
            faults=None if chosen.faults is None else [one for one in chosen.faults if is_quick(one)],
            arguments=chosen.arguments,
            concurrent=chosen.concurrent,
            steps=tuple(run.options.steps),
        )

        def example(scenario: Scenario) -> None:
            self._show(scenario)

        make = run.options.make_client
        maker = f"{getattr(make, '__module__', '')}.{getattr(make, '__qualname__', '')}"
        setattr(example, _DIGEST, maker.encode())
        with suppress(_TimeIsOver, _Failed):
            settings(given(drawn)(example))()
        return self._reduced(min(self._failing.values(), key=_size)) if self._failing else None

    def _show(self, scenario: Scenario) -> None:
        """Play a drawn scenario; the same one gets the same verdict throughout, so that shrinking can rely on it."""
        name = repr(scenario)
        if not self._failing and self._is_over():
            raise _TimeIsOver("max_seconds")
        if self._deadline is not None and monotonic() > self._deadline:
            raise _TimeIsOver("shrinking")  # Hypothesis would go on for minutes
        if name not in self._failing:
            bug = self._bug(scenario)
            if bug is not None:
                self._failing[name] = bug
        if self._failing and self._deadline is None:
            self._deadline, self._times = monotonic() + _LONGEST_SHRINKING, _TIMES
            self._run.report = CheckReport()  # shrinking does not count
        if name in self._failing:
            raise _Failed

    # Afterwards

    def _reduced(self, bug: ClientBugError) -> ClientBugError:
        """Return the bug of the simplest scenario that still fails, without anything that does not matter."""
        deadline, tried, found = monotonic() + _LONGEST_REDUCING, [bug.scenario], bug
        self._run.report, self._times = CheckReport(), _TIMES
        again = True
        while again:
            again = False
            for simpler in _simpler(found.scenario):
                if monotonic() > deadline or simpler in tried:
                    continue
                tried.append(simpler)
                other = self._bug(simpler)
                if other is not None:
                    found, again = other, True
                    break
        return self._repeated(found)

    def _repeated(self, bug: ClientBugError) -> ClientBugError:
        """Play the scenario for a service that the client has not met; say so if the bug does not come again."""
        scenario = bug.scenario
        if _has_races(scenario) and not bug.waited:
            always = all(self._anew(scenario) is not None for _ in range(_AGAIN))
            return bug if always else bug.with_words(NOT_EACH_TIME)
        twice = (Act("seed"), *scenario.steps, Switch(), *scenario.steps)  # for what a class remembers
        return self._anew(scenario) or self._anew(replace(scenario, steps=twice)) or bug.with_words(NOT_ALWAYS)

    def _anew(self, scenario: Scenario) -> ClientBugError | None:
        with Run(self._run.options) as other:
            other.limits = self._run.limits
            return explain(Example(other, scenario).play())


def _size(bug: ClientBugError) -> tuple[int, int, int]:
    scenario = bug.scenario
    return len(scenario.steps), len(scenario.behaviour.differences()), len(repr(scenario))


def _has_races(scenario: Scenario) -> bool:
    return any(isinstance(step, Together) for step in scenario.steps)


def _simpler(scenario: Scenario) -> Iterator[Scenario]:
    yield replace(scenario, odd_key=False)
    yield replace(scenario, environment=None)
    yield replace(scenario, hours_ahead=0)
    for name in scenario.behaviour.differences():
        yield replace(scenario, behaviour=scenario.behaviour.replace({name: GAPS[name].default}))
    if _has_races(scenario):
        *before, last = scenario.steps
        yield replace(scenario, steps=(*(step for step in before if not isinstance(step, Together)), last))
    size = len(scenario.steps) // 2
    while size:
        for start in range(0, len(scenario.steps), size):
            yield replace(scenario, steps=scenario.steps[:start] + scenario.steps[start + size :])
        size //= 2


def machine_settings(given_settings: Settings | None, max_examples: int) -> Settings:
    """Return Hypothesis's settings as the machine needs them: no deadline, no health check."""
    chosen = given_settings or Settings()
    every: Any = list(HealthCheck)
    return Settings(
        chosen,
        deadline=None,
        suppress_health_check=every,
        report_multiple_bugs=False,
        phases=[phase for phase in chosen.phases if phase is not Phase.explain],  # it explains our lines
        max_examples=max_examples,
    )
