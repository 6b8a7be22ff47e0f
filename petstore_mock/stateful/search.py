"""The search for a bug: examples that Hypothesis draws, and then ever simpler scenarios that fail alike."""

from __future__ import annotations

import copy
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final
from unittest import SkipTest

from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as Settings  # noqa: N812  # as Hypothesis itself calls it
from hypothesis.errors import Flaky, HypothesisException
from hypothesis.stateful import run_state_machine_as_test

from petstore_mock.common.real_time import RealTime
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful.bug_report import ClientBugError, explain_rule
from petstore_mock.stateful.exposure import CheckReport, ProgressLine
from petstore_mock.stateful.scenario import LONGEST_SHRINKING, Play, Restrictions, Scenario, necessary, simplest
from petstore_mock.stateful.step_generator import NUMBERS, STEPS

if TYPE_CHECKING:
    from petstore_mock.journal.entry import Entry
    from petstore_mock.stateful.machine import ClientMachine
    from petstore_mock.stateful.run import CheckRun

__all__ = ["ClientQuestionWarning", "SearchResult", "find_bug", "machine_settings", "shrink"]

# What makes one test another to Hypothesis's database, beside its source: here it is the same for every client.
_DIGEST: Final = "_hypothesis_internal_add_digest"
_TIMES: Final = 3  # that what may be a matter of moments has to fail while it is made simpler,
_AGAIN: Final = 8  # and once more at the end
_LONGEST_RACE: Final = 6.0  # seconds to make it simpler
_LONGEST: Final = 9.0  # seconds, with all that comes after
_REPRODUCE: Final = "@reproduce_failure"
# Where Hypothesis's decorators @seed and @reproduce_failure leave what they say, on a function or on a class.
_DECORATED: Final = ("_hypothesis_internal_use_seed", "_hypothesis_internal_use_reproduce_failure")


@dataclass(frozen=True)
class SearchResult:
    """What came of a search.

    Attributes:
        bug: the bug that was found, shrunk; or None.
        report: what the client was shown, the failing example included and shrinking left out.
    """

    bug: ClientBugError | None
    report: CheckReport

    def tell(self) -> CheckReport:
        """Raise the bug, or ask the questions and return what the client was shown."""
        __tracebackhide__ = True
        if self.bug is not None:
            raise self.bug.with_traceback(None)
        for question in self.report.questions:
            warnings.warn(question, ClientQuestionWarning, stacklevel=3)
        return self.report


class ClientQuestionWarning(UserWarning):
    """Asks whether a client means what it does, where the interface leaves it open."""

    __module__ = "petstore_mock.stateful"  # where people find it


class _TimeIsOver(SkipTest):
    """Ends a search: what Hypothesis hands on at once, without a word."""


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


def find_bug(machine: type[ClientMachine], settings: Settings) -> SearchResult:
    """Run a machine, and return what it found, shrunk."""
    run = machine.run
    with run:
        try:
            run.try_client()
            if run.tls:
                run.try_certificates()
        except ClientBugError as error:
            run.report.examples = 1
            return SearchResult(error, _copied(run))
        if machine.is_extended:
            return SearchResult(_native(machine, settings), _copied(run))
        first, last, flaky = _search(machine, settings)
        found = last.bug
        if found is None or found.scenario is None:
            return last
        with run.waiting.unlimited():
            shrunk = shrink(machine, found.scenario, found)
        if flaky is not None and shrunk is found:
            shrunk = found.not_always(flaky)
    # Of Hypothesis's own account only how to have the example again: the test to paste says the steps better.
    shrunk.__notes__ = [note for note in getattr(found, "__notes__", ()) if _REPRODUCE in note]
    return replace(first, bug=shrunk)


def _copied(run: CheckRun) -> CheckReport:
    return replace(copy.deepcopy(run.report), waited=run.waiting.spent)


def _search(machine: type[ClientMachine], settings: Settings) -> tuple[SearchResult, SearchResult, Flaky | None]:
    """Return what a run finds, when that failed first and last, and what Hypothesis says when it did not fail always.

    Hypothesis's own runner of state machines would choose rules, of which there is one, and look for steps to repeat:
    that took a fifth of the time, and more.
    """
    run = machine.run
    without_shrinking = [phase for phase in settings.phases if phase is not Phase.shrink]
    verdicts: list[SearchResult] = []  # an example that fails is played again
    progress = ProgressLine(run.report)
    began = RealTime.monotonic()

    def example(number: int, restrictions: Restrictions) -> None:
        run.report.seconds = RealTime.monotonic() - began
        if not verdicts and machine.max_seconds is not None and run.report.seconds >= machine.max_seconds:
            raise _TimeIsOver("max_seconds")
        progress.update()
        try:
            machine.play(number, restrictions, rounds=settings.stateful_step_count)
        except ClientBugError as error:
            verdicts.append(SearchResult(error, _copied(run)))
            raise

    maker = f"{getattr(run.make_client, '__module__', '')}.{getattr(run.make_client, '__qualname__', '')}"
    setattr(example, _DIGEST, maker.encode())
    drawing = Settings(settings, phases=without_shrinking)(
        given(number=NUMBERS, restrictions=machine.restrictions)(example)
    )
    for name in _DECORATED:
        if hasattr(machine, name):
            setattr(drawing, name, getattr(machine, name))
    flaky = None
    try:
        with suppress(ClientBugError, _TimeIsOver):
            drawing()
    except Flaky as error:
        if not verdicts:
            raise
        flaky = error
    finally:
        progress.clear()
    if not verdicts:
        verdicts.append(SearchResult(None, _copied(run)))
    return verdicts[0], verdicts[-1], flaky


def _native(machine: type[ClientMachine], settings: Settings) -> ClientBugError | None:
    """Run a machine to which a subclass has added rules: by Hypothesis's own runner, which shrinks them as well."""
    journals: list[dict[str, list[Entry]]] = []

    def teardown(self: ClientMachine) -> None:
        if self.example is not None:
            journals[:] = [self.example.scene.journals()]
        machine.teardown(self)

    recording = type(machine.__name__, (machine,), {"teardown": teardown, "__module__": machine.__module__})
    try:
        steps = settings.stateful_step_count * STEPS
        run_state_machine_as_test(recording, settings=Settings(settings, stateful_step_count=steps))
    except (HypothesisException, PetStoreMockError, SkipTest):
        raise
    except Exception as error:  # noqa: BLE001  # whatever a rule or an invariant raises
        reproduce = [note for note in getattr(error, "__notes__", ()) if _REPRODUCE in note]
        bug = explain_rule(error, machine, journals[0] if journals else {})
        bug.__notes__ = reproduce
        return bug
    return None


def shrink(machine: type[ClientMachine], scenario: Scenario, found: ClientBugError) -> ClientBugError:
    """Return how the simplest scenario that fails is told; it fails with full patience too.

    What is known to hang is ended soon, before a timeout of the client's own would end it: a scenario may fail for that
    alone, and lack what makes the client wait for ever.
    """
    watchdog = machine.run.watchdog
    began = RealTime.monotonic()
    deadline = began + LONGEST_SHRINKING
    if scenario.has_races:
        return _shrunk_race(machine, scenario, found, began)
    shrunk = simplest(scenario, found, machine.replay, deadline=deadline)
    if watchdog.never_times_out and shrunk.scenario is not None:

        def play(scenario: Scenario) -> ClientBugError | None:
            watchdog.never_times_out.clear()
            return machine.replay(scenario)

        return play(shrunk.scenario) or simplest(scenario, found, play)
    return shrunk if shrunk.scenario is None else necessary(shrunk.scenario, shrunk, machine.replay, began=began)


def _shrunk_race(
    machine: type[ClientMachine], scenario: Scenario, found: ClientBugError, began: float
) -> ClientBugError:
    """Return how the simplest scenario is told that fails again and again, in which something is a matter of moments.

    What has failed a few times while it was made simpler may have been lucky: it is tried anew, and where it does not
    come again the one before it stands, which was a little longer.
    """
    trail = [found]

    def recorded(scenario: Scenario, play: Play) -> ClientBugError | None:
        error = play(scenario)
        if error is not None:
            trail.append(error)
        return error

    always = partial(recorded, play=partial(_always_fails, machine))
    shrunk = simplest(scenario, found, always, deadline=began + _LONGEST_RACE)
    if shrunk is found:
        shrunk = simplest(scenario, found, partial(recorded, play=machine.replay), deadline=began + _LONGEST_RACE)
    if shrunk.scenario is not None:
        necessary(shrunk.scenario, shrunk, always, began=began)
    best, most, is_rare = trail[-1], -1, False
    for error in reversed(trail):
        count, missed = _times_it_fails(machine, error, began + _LONGEST)
        if count > most:
            best, most, is_rare = error, count, missed
        if count == _AGAIN or RealTime.monotonic() > began + _LONGEST:
            break
    return best.not_each_time() if is_rare else best


def _times_it_fails(machine: type[ClientMachine], error: ClientBugError, deadline: float) -> tuple[int, bool]:
    """Return how often in a row a scenario fails once more, at most as often as is asked for, and if then it did not.

    Where the time was over first, nothing is known of the next time.
    """
    if error.waited or error.scenario is None or not error.scenario.has_races:  # no matter of moments
        return _AGAIN, False
    for count in range(_AGAIN):
        if RealTime.monotonic() >= deadline:
            return count, False
        if machine.replay(error.scenario) is None:
            return count, True
    return _AGAIN, False


def _always_fails(machine: type[ClientMachine], scenario: Scenario) -> ClientBugError | None:
    """Play a scenario in which something is a matter of moments; return its bug if it shows each time."""
    found = None
    for _ in range(_TIMES if scenario.has_races else 1):
        found = machine.replay(scenario)
        if found is None or found.waited:  # which took its time, and was no matter of moments
            break
    return found
