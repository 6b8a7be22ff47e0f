"""A model-checking machine for clients of the pet store service (the ``hypothesis`` extra).

Hand it a client of three methods::

    from petstore_mock.stateful import check_client

    def test_client():
        check_client(lambda petstore: MyClient(petstore.url, petstore.api_key))

It plays every world that the interface allows: all that the interface leaves open varies, answers get lost before and
after the commit, other actors change things, keys are revoked, connections close. What it finds it shrinks, and tells
as one sentence, a test to paste, and what went over the wire.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

import petstore_mock.strategies  # noqa: F401  # first, to say what is missing

# isort: split
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as Settings  # noqa: N812  # as Hypothesis itself calls it
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import initialize, rule

from petstore_mock.contract.gaps import GAPS
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful.bug_report import ClientBugError
from petstore_mock.stateful.machine import ClientMachine
from petstore_mock.stateful.model.call import PetClient
from petstore_mock.stateful.model.error_classification import Kind, UnknownErrorError, classify_exception
from petstore_mock.stateful.run import Run
from petstore_mock.stateful.shrinking import simplest
from petstore_mock.stateful.step_table import NUMBERS
from petstore_mock.strategies.plans import varied_gaps

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from unittest import TestCase

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.faults import Fault
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.shrinking import Course

__all__ = [
    "ClientBugError",
    "Kind",
    "PetClient",
    "UnknownErrorError",
    "check_client",
    "classify_exception",
    "client_machine",
]


def client_machine(
    make_client: Callable[[PetStoreMock], PetClient],
    *,
    classify: Callable[[BaseException], Kind] | None = None,
    vary: Collection[str] | None = None,
    faults: SearchStrategy[Fault] | None = None,
    patience: float = 2.0,
) -> type[ClientMachine]:
    """Return a Hypothesis state machine that checks a client; its ``TestCase`` is for pytest and unittest.

    Args:
        make_client: makes a client that talks to ``petstore.url`` with ``petstore.api_key``; called once or twice an
            example. A client that has a ``close()`` is closed.
        classify: says what an exception of the client means: an HTTP status, "transport", "timeout" or "protocol". One
            that it does not know (it raises) is a bug of the client. The default knows the usual libraries.
        vary: the gaps that vary; all of them unless given.
        faults: draws the faults; ``st.nothing()`` for none.
        patience: seconds after which a client that waits for an answer has no timeout.

    Raises:
        PetStoreMockError: an argument can't be right.
    """
    if not _takes_one(make_client):
        raise PetStoreMockError(
            f"expected make_client to be a function of a PetStoreMock; got make_client={make_client!r}"
        )
    if classify is not None and not callable(classify):
        raise PetStoreMockError(f"expected classify to be a function of an exception; got classify={classify!r}")
    if not _is_positive(patience):
        raise PetStoreMockError(f"expected patience to be seconds, more than 0; got patience={patience!r}")
    varied = _differences(vary)
    if faults is not None and not isinstance(faults, st.SearchStrategy):
        raise PetStoreMockError(f"expected faults to be a strategy; got faults={faults!r}: pass st.just(...)")

    drawn: SearchStrategy[list[Fault] | None] = st.none() if faults is None else st.just([])
    if faults is not None and not faults.is_empty:
        drawn = st.lists(faults, min_size=1, max_size=3)

    class Machine(ClientMachine):
        run = Run(make_client, classify or classify_exception, patience)
        differences = varied
        drawn_faults = drawn
        any_fault = faults is None

        @initialize(number=NUMBERS, faults=drawn)
        def story(self, number: int, faults: Sequence[Fault] | None) -> None:
            super().story(number, faults)

        @rule()
        def go_on(self) -> None:
            super().go_on()

    Machine.__name__ = Machine.__qualname__ = "ClientMachine"
    Machine.TestCase = _closing(Machine)  # type: ignore[assignment]  # a property of the class
    return Machine


def _closing(machine: type[ClientMachine]) -> type[TestCase]:
    """Return a test case that stops listening when it has run, and shrinks as :func:`check_client` does."""
    base: Any = machine.TestCase

    class ClientTestCase(base):  # type: ignore[misc]  # made by Hypothesis
        settings = machine_settings()

        def runTest(self) -> None:  # noqa: N802  # unittest's name
            __tracebackhide__ = True
            found = find_bug(machine, machine_settings(self.settings))
            if found is not None:
                raise found.with_traceback(None)

        runTest.is_hypothesis_test = True  # type: ignore[attr-defined]  # as Hypothesis marks its own

    return ClientTestCase


def _differences(vary: Collection[str] | None) -> list[tuple[str, str]]:
    """Return the gaps that vary, each with every alternative but its default."""
    varied = varied_gaps(vary, GAPS)
    return [(name, other) for name in varied for other in GAPS[name].alternatives if other != GAPS[name].default]


def _takes_one(function: object) -> bool:
    """Say whether it can be called with one argument, as far as can be known."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # written in C
        return True
    return True


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def machine_settings(given: Settings | None = None, max_examples: int | None = None) -> Settings:
    """Return Hypothesis's settings as the machine needs them."""
    usual = Settings()
    chosen = usual if given is None else given
    # A story; each further one is of as many steps in the same world. What nobody has chosen is meant for single steps.
    stories = chosen.stateful_step_count if chosen.stateful_step_count != usual.stateful_step_count else 1
    base = Settings(
        chosen,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        phases=[phase for phase in chosen.phases if phase is not Phase.explain],  # of our lines, not the client's
        stateful_step_count=stories,
    )
    return base if max_examples is None else Settings(base, max_examples=max_examples)


def check_client(
    make_client: Callable[[PetStoreMock], PetClient],
    *,
    classify: Callable[[BaseException], Kind] | None = None,
    vary: Collection[str] | None = None,
    faults: SearchStrategy[Fault] | None = None,
    patience: float = 2.0,
    max_examples: int = 200,
    settings: Settings | None = None,
) -> None:
    """Check a client, and raise when it has a bug.

    Args:
        make_client: as for :func:`client_machine`, as are ``classify``, ``vary``, ``faults`` and ``patience``.
        classify: says what an exception of the client means.
        vary: the gaps that vary.
        faults: draws the faults.
        patience: seconds after which a client that waits for an answer has no timeout.
        max_examples: how many examples are tried.
        settings: Hypothesis's settings, instead of the current profile's; ``max_examples`` wins, and there is neither
            a deadline nor a health check.

    Raises:
        ClientBugError: the client has a bug; tells it in one sentence, as a test to paste, and as it went on the wire.
        PetStoreMockError: an argument can't be right, or ``make_client`` returns no client of three methods.
    """
    __tracebackhide__ = True
    machine = client_machine(make_client, classify=classify, vary=vary, faults=faults, patience=patience)
    found = find_bug(machine, machine_settings(settings, max_examples))
    if found is not None:
        raise found.with_traceback(None)


def find_bug(machine: type[ClientMachine], settings: Settings) -> ClientBugError | None:
    """Run a machine, and return what it found, shrunk."""
    run = machine.run
    with run:
        try:
            run.try_client()
        except ClientBugError as error:
            return error
        found, flaky = _search(machine, settings)
        if found is None:
            return None
        shrunk = found
        if run.latest_course is not None:
            with run.without_hurry():
                shrunk = _shrunk(machine, run.latest_course, found)
        if flaky is not None and shrunk is found:
            shrunk = found.not_always(flaky)
    shrunk.__notes__ = []  # Hypothesis's own account of the steps: the test to paste says it better
    return shrunk


def _shrunk(machine: type[ClientMachine], course: Course, found: ClientBugError) -> ClientBugError:
    """Return how the simplest course that fails is told; it fails with full patience too.

    What is known to hang is ended soon, before a timeout of the client's own would end it: a course may fail for that
    alone, and lack what makes the client wait for ever.
    """
    watchdog = machine.run.watchdog
    shrunk = simplest(course, found, machine.replay)
    if not watchdog.never_times_out or machine.run.latest_course is None:
        return shrunk

    def play(course: Course) -> ClientBugError | None:
        watchdog.never_times_out.clear()
        return machine.replay(course)

    return play(machine.run.latest_course) or simplest(course, found, play)


# Where Hypothesis's decorators @seed and @reproduce_failure leave what they say, on a function or on a class.
_DECORATED: Final = ("_hypothesis_internal_use_seed", "_hypothesis_internal_use_reproduce_failure")


def _search(machine: type[ClientMachine], settings: Settings) -> tuple[ClientBugError | None, Flaky | None]:
    """Return what a run finds, and what Hypothesis says when that did not come again.

    Hypothesis's own runner of state machines would choose rules, of which there is one, and look for steps to repeat:
    that took a fifth of the time, and more.
    """
    without_shrinking = [phase for phase in settings.phases if phase is not Phase.shrink]

    @Settings(settings, phases=without_shrinking)
    @given(number=NUMBERS, faults=machine.drawn_faults)
    def story(number: int, faults: Sequence[Fault] | None) -> None:
        machine.play(number, faults, stories=settings.stateful_step_count)

    for name in _DECORATED:
        if hasattr(machine, name):
            setattr(story, name, getattr(machine, name))
    try:
        story()
    except ClientBugError as error:
        return error, None
    except Flaky as error:
        found = machine.run.latest_failure
        if not isinstance(found, ClientBugError):
            raise
        return found, error
    return None, None
