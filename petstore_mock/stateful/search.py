"""The search for a bug: examples that Hypothesis draws, and then ever simpler scenarios that fail alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as Settings  # noqa: N812  # as Hypothesis itself calls it
from hypothesis.errors import Flaky

from petstore_mock.stateful.bug_report import ClientBugError
from petstore_mock.stateful.scenario import simplest
from petstore_mock.stateful.step_generator import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.faults import Fault
    from petstore_mock.stateful.machine import ClientMachine
    from petstore_mock.stateful.scenario import Scenario

__all__ = ["Verdict", "find_bug", "machine_settings", "shrink"]

# Where Hypothesis's decorators @seed and @reproduce_failure leave what they say, on a function or on a class.
_DECORATED: Final = ("_hypothesis_internal_use_seed", "_hypothesis_internal_use_reproduce_failure")


@dataclass(frozen=True)
class Verdict:
    """What came of a search.

    Attributes:
        bug: the bug that was found, shrunk; or None.
        examples: how many examples there were, the failing one included and shrinking left out.
        steps: how many calls the client made in them.
    """

    bug: ClientBugError | None
    examples: int
    steps: int


def machine_settings(given: Settings | None = None, max_examples: int | None = None) -> Settings:
    """Return Hypothesis's settings as the machine needs them."""
    usual = Settings()
    chosen = usual if given is None else given
    # Rounds of an example, each of as many steps. What nobody has chosen is meant for single steps.
    rounds = chosen.stateful_step_count if chosen.stateful_step_count != usual.stateful_step_count else 1
    base = Settings(
        chosen,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        phases=[phase for phase in chosen.phases if phase is not Phase.explain],  # of our lines, not the client's
        stateful_step_count=rounds,
    )
    return base if max_examples is None else Settings(base, max_examples=max_examples)


def find_bug(machine: type[ClientMachine], settings: Settings) -> Verdict:
    """Run a machine, and return what it found, shrunk."""
    run = machine.run
    with run:
        try:
            run.try_client()
        except ClientBugError as error:
            return Verdict(error, 1, 0)
        first, last, flaky = _search(machine, settings)
        found = last.bug
        if found is None or found.scenario is None:
            return last
        with run.waiting.unlimited():
            shrunk = shrink(machine, found.scenario, found)
        if flaky is not None and shrunk is found:
            shrunk = found.not_always(flaky)
    shrunk.__notes__ = []  # Hypothesis's own account of the steps: the test to paste says it better
    return replace(first, bug=shrunk)


def _search(machine: type[ClientMachine], settings: Settings) -> tuple[Verdict, Verdict, Flaky | None]:
    """Return what a run finds, when that failed first and last, and what Hypothesis says when it did not fail always.

    Hypothesis's own runner of state machines would choose rules, of which there is one, and look for steps to repeat:
    that took a fifth of the time, and more.
    """
    run = machine.run
    without_shrinking = [phase for phase in settings.phases if phase is not Phase.shrink]
    verdicts: list[Verdict] = []  # an example that fails is played again

    @Settings(settings, phases=without_shrinking)
    @given(number=NUMBERS, faults=machine.drawn_faults)
    def example(number: int, faults: Sequence[Fault] | None) -> None:
        try:
            machine.play(number, faults, rounds=settings.stateful_step_count)
        except ClientBugError as error:
            verdicts.append(Verdict(error, run.examples, run.steps))
            raise

    for name in _DECORATED:
        if hasattr(machine, name):
            setattr(example, name, getattr(machine, name))
    flaky = None
    try:
        example()
    except ClientBugError:
        pass
    except Flaky as error:
        if not verdicts:
            raise
        flaky = error
    else:
        verdicts.append(Verdict(None, run.examples, run.steps))
    return verdicts[0], verdicts[-1], flaky


def shrink(machine: type[ClientMachine], scenario: Scenario, found: ClientBugError) -> ClientBugError:
    """Return how the simplest scenario that fails is told; it fails with full patience too.

    What is known to hang is ended soon, before a timeout of the client's own would end it: a scenario may fail for that
    alone, and lack what makes the client wait for ever.
    """
    watchdog = machine.run.watchdog
    shrunk = simplest(scenario, found, machine.replay)
    if not watchdog.never_times_out or shrunk.scenario is None:
        return shrunk

    def play(scenario: Scenario) -> ClientBugError | None:
        watchdog.never_times_out.clear()
        return machine.replay(scenario)

    return play(shrunk.scenario) or simplest(scenario, found, play)
