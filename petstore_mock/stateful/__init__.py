"""A model-checking machine for clients of the pet store service (the ``hypothesis`` extra).

Hand it a client of three methods, whatever they are called and return::

    from petstore_mock.stateful import check_client

    def test_client():
        check_client(lambda petstore: MyClient(petstore.url, petstore.api_key))

It plays every world that the interface allows: all that the interface leaves open varies, answers get lost before and
after the commit, other actors change things, keys are revoked, connections close. What it finds it shrinks, and tells
as one sentence, a test to paste, and what went over the wire.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import petstore_mock.strategies  # noqa: F401  # first, to say what is missing

# isort: split
from hypothesis import settings as Settings  # noqa: N812  # as Hypothesis itself calls it
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from petstore_mock.contract.gaps import GAPS
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful.bug_report import ClientBugError
from petstore_mock.stateful.machine import ClientMachine
from petstore_mock.stateful.model.adapter import adapted, check_methods
from petstore_mock.stateful.model.call import PetClient
from petstore_mock.stateful.model.error_classification import Kind, UnknownErrorError, classify_exception
from petstore_mock.stateful.model.reading import read_pet
from petstore_mock.stateful.run import CheckRun
from petstore_mock.stateful.search import find_bug, machine_settings
from petstore_mock.stateful.step_generator import NUMBERS
from petstore_mock.strategies.plans import varied_gaps

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from unittest import TestCase

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.faults import Fault
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.search import Verdict

__all__ = [
    "ClientBugError",
    "Kind",
    "PetClient",
    "UnknownErrorError",
    "adapted",
    "check_client",
    "classify_exception",
    "client_machine",
    "read_pet",
]


def client_machine(
    make_client: Callable[[PetStoreMock], Any],
    *,
    classify: Callable[[BaseException], Kind] | None = None,
    read_pet: Callable[[Any], Mapping[str, Any]] = read_pet,
    methods: Mapping[str, str | Callable[..., Any]] | None = None,
    vary: Collection[str] | None = None,
    faults: SearchStrategy[Fault] | None = None,
    patience: float = 2.0,
) -> type[ClientMachine]:
    """Return a Hypothesis state machine that checks a client; its ``TestCase`` is for pytest and unittest.

    Args:
        make_client: makes a client that talks to ``petstore.url`` with ``petstore.api_key``; called once or twice an
            example. Its methods may be ``async def``; a context manager is entered, a client with ``close()`` closed.
        classify: says what an exception of the client means: an HTTP status, "transport", "timeout" or "protocol". One
            that it does not know (it raises) is a bug of the client. The default knows the usual libraries.
        read_pet: returns the fields of an animal that the client returned, by the interface's names. The default reads
            mappings and objects with attributes, also with ``category_id``.
        methods: the client's own names of ``list_pets``, ``create_pet`` and ``get_pet``, dotted ones too, or functions
            of the client and the arguments.
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
    if not callable(read_pet):
        raise PetStoreMockError(f"expected read_pet to be a function of a result; got read_pet={read_pet!r}")
    check_methods(methods)
    varied = _differences(vary)
    if faults is not None and not isinstance(faults, st.SearchStrategy):
        raise PetStoreMockError(f"expected faults to be a strategy; got faults={faults!r}: pass st.just(...)")

    drawn: SearchStrategy[list[Fault] | None] = st.none() if faults is None else st.just([])
    if faults is not None and not faults.is_empty:
        drawn = st.lists(faults, min_size=1, max_size=3)

    class Machine(ClientMachine):
        run = CheckRun(make_client, classify or classify_exception, patience, methods=methods, read_pet=read_pet)
        differences = varied
        drawn_faults = drawn
        any_fault = faults is None

        @initialize(number=NUMBERS, faults=drawn)
        def begin(self, number: int, faults: Sequence[Fault] | None) -> None:
            super().begin(number, faults)

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
            _raise_bug(find_bug(machine, machine_settings(self.settings)))

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


def check_client(
    make_client: Callable[[PetStoreMock], Any],
    *,
    classify: Callable[[BaseException], Kind] | None = None,
    read_pet: Callable[[Any], Mapping[str, Any]] = read_pet,
    methods: Mapping[str, str | Callable[..., Any]] | None = None,
    vary: Collection[str] | None = None,
    faults: SearchStrategy[Fault] | None = None,
    patience: float = 2.0,
    max_examples: int = 200,
    settings: Settings | None = None,
) -> None:
    """Check a client, and raise when it has a bug.

    Args:
        make_client: as for :func:`client_machine`, as is all that is not told of here.
        classify: says what an exception of the client means.
        read_pet: reads an animal that the client returned.
        methods: the client's own names of the three methods.
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
    machine = client_machine(
        make_client,
        classify=classify,
        read_pet=read_pet,
        methods=methods,
        vary=vary,
        faults=faults,
        patience=patience,
    )
    _raise_bug(find_bug(machine, machine_settings(settings, max_examples)))


def _raise_bug(verdict: Verdict) -> None:
    __tracebackhide__ = True
    if verdict.bug is not None:
        raise verdict.bug.with_traceback(None)
