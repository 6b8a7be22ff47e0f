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
from typing import TYPE_CHECKING, Any, Final

import petstore_mock.strategies  # noqa: F401  # first, to say what is missing

# isort: split
from hypothesis import settings as Settings  # noqa: N812  # as Hypothesis itself calls it
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from petstore_mock.common.numbers import is_number
from petstore_mock.contract.gaps import GAPS
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful.at_once import at_once
from petstore_mock.stateful.bug_report import ClientBugError
from petstore_mock.stateful.checks.program import program_unchanged
from petstore_mock.stateful.exposure import CheckReport
from petstore_mock.stateful.machine import ClientMachine
from petstore_mock.stateful.model.adapter import adapted, check_methods
from petstore_mock.stateful.model.call import PetClient
from petstore_mock.stateful.model.error_classification import Kind, UnknownErrorError, classify_exception
from petstore_mock.stateful.model.key_forms import holds_key
from petstore_mock.stateful.model.reading import read_pet
from petstore_mock.stateful.run import CheckRun
from petstore_mock.stateful.scenario import Restrictions
from petstore_mock.stateful.search import ClientQuestionWarning, find_bug, machine_settings
from petstore_mock.stateful.step_generator import any_step
from petstore_mock.stateful.surroundings import DEFAULT_ENVIRONMENTS, ENVIRONMENTS, check_environments, environment
from petstore_mock.stateful.time_zones import time_zone
from petstore_mock.strategies.plans import behaviours, varied_gaps

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.faults import Fault
    from petstore_mock.mock.petstore import PetStoreMock

__all__ = [
    "CheckReport",
    "ClientBugError",
    "ClientMachine",
    "ClientQuestionWarning",
    "Kind",
    "PetClient",
    "UnknownErrorError",
    "adapted",
    "at_once",
    "check_client",
    "classify_exception",
    "client_machine",
    "environment",
    "holds_key",
    "program_unchanged",
    "read_pet",
    "time_zone",
]


_EXAMPLES: Final = 200
_ENDLESS: Final = 10**9


def client_machine(
    make_client: Callable[[PetStoreMock], Any],
    *,
    classify: Callable[[BaseException], Kind] | None = None,
    read_pet: Callable[[Any], Mapping[str, Any]] = read_pet,
    methods: Mapping[str, str | Callable[..., Any]] | None = None,
    vary: Collection[str] | None = None,
    faults: SearchStrategy[Fault] | None = None,
    patience: float = 2.0,
    max_seconds: float | None = None,
    tls: bool = False,
    concurrent: bool = False,
    environment: Collection[str] = DEFAULT_ENVIRONMENTS,
    longest_wait: float | None = None,
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
        max_seconds: seconds after which no further example begins.
        tls: whether the service speaks TLS (the extra ``tls``), and the client is asked first whether it checks
            certificates and host names; ``make_client`` lets it trust ``petstore.tls``.
        concurrent: whether the client may be shared by threads, or by tasks if it is asynchronous, and is asked for
            two things at once now and then. Many a good client is not made for that: it says so of its own.
        environment: what the client may meet in the process: ``"ipv6"``, an address with colons; ``"proxies"``, where
            HTTP_PROXY names one and NO_PROXY excepts the service; ``"time_zone"``, another than UTC; ``"locale"``, one
            that is installed and not English; and ``"netrc"``, where a netrc file has an entry for the service's host,
            as none has unless somebody means it.
        longest_wait: seconds after which a call has come to an end although ``Retry-After`` told it to wait for longer:
            then hints are drawn of a day, of a thousand million seconds and beyond, and dates by a clock that is not
            the client's. Not without it: the interface shows no rate limits, and a client may wait for as long as it is
            told.

    Raises:
        PetStoreMockError: an argument can't be right.
    """
    if not _takes_one(make_client):
        raise PetStoreMockError(
            f"expected make_client to be a function of a PetStoreMock; got make_client={make_client!r}: pass "
            "a function such as lambda petstore: Client(petstore.url, petstore.api_key)"
        )
    if classify is not None and not callable(classify):
        raise PetStoreMockError(f"expected classify to be a function of an exception; got classify={classify!r}")
    if not _is_positive(patience):
        raise PetStoreMockError(f"expected patience to be seconds, more than 0; got patience={patience!r}")
    if not callable(read_pet):
        raise PetStoreMockError(f"expected read_pet to be a function of a result; got read_pet={read_pet!r}")
    check_methods(methods)
    for name, seconds in (("max_seconds", max_seconds), ("longest_wait", longest_wait)):
        if seconds is not None and not _is_positive(seconds):
            raise PetStoreMockError(f"expected {name} to be seconds, more than 0; got {name}={seconds!r}")
    varied = _differences(vary)
    chosen = st.builds(Restrictions, faults=_some(faults))
    seconds = max_seconds  # within the class the name is taken
    environments = check_environments(environment)
    run_of_all = CheckRun(
        make_client,
        classify or classify_exception,
        patience,
        methods=methods,
        read_pet=read_pet,
        tls=tls,
        concurrent=concurrent,
        environments=environments,
        longest_wait=longest_wait,
    )

    class Machine(ClientMachine):
        run = run_of_all
        differences = varied
        restrictions = chosen
        max_seconds = seconds

        begin = initialize(
            behaviour=behaviours(vary=[name for name, _ in varied]),
            restrictions=chosen,
            odd_keys=st.booleans(),
            where=st.sampled_from((None, *(name for name in ENVIRONMENTS if name in run_of_all.environments))),
            hours_ahead=st.sampled_from((0, 1, -1) if run_of_all.draws_long_hints else (0,)),
        )(ClientMachine.begin)
        take = rule(step=any_step(faults, concurrent=concurrent, long_hints=run_of_all.draws_long_hints))(
            ClientMachine.take
        )

    Machine.__name__ = Machine.__qualname__ = "ClientMachine"
    return Machine


def _some(faults: SearchStrategy[Fault] | None) -> SearchStrategy[tuple[Fault, ...] | None]:
    """Return what draws some of the faults that a strategy draws; None without one."""
    if faults is None:
        return st.none()
    if not isinstance(faults, st.SearchStrategy):
        raise PetStoreMockError(f"expected faults to be a strategy; got faults={faults!r}: pass st.just(...)")
    return st.just(()) if faults.is_empty else st.lists(faults, min_size=1, max_size=3).map(tuple)


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
    return is_number(value) and value > 0


def check_client(
    make_client: Callable[[PetStoreMock], Any],
    *,
    classify: Callable[[BaseException], Kind] | None = None,
    read_pet: Callable[[Any], Mapping[str, Any]] = read_pet,
    methods: Mapping[str, str | Callable[..., Any]] | None = None,
    vary: Collection[str] | None = None,
    faults: SearchStrategy[Fault] | None = None,
    patience: float = 2.0,
    max_examples: int | None = None,
    max_seconds: float | None = None,
    settings: Settings | None = None,
    tls: bool = False,
    concurrent: bool = False,
    environment: Collection[str] = DEFAULT_ENVIRONMENTS,
    longest_wait: float | None = None,
) -> CheckReport:
    """Check a client, and raise when it has a bug.

    On a terminal a line tells how far it is. What the interface leaves open and the client decides by itself, such as
    a name that it refuses without asking the service, is told as a ``ClientQuestionWarning`` at the end.

    Args:
        make_client: as for :func:`client_machine`, as is all that is not told of here.
        classify: says what an exception of the client means.
        read_pet: reads an animal that the client returned.
        methods: the client's own names of the three methods.
        vary: the gaps that vary.
        faults: draws the faults.
        patience: seconds after which a client that waits for an answer has no timeout.
        max_examples: how many examples are tried: 200, or as many as ``max_seconds`` allow.
        max_seconds: seconds after which no further example begins; shrinking comes after them.
        settings: Hypothesis's settings, instead of the current profile's; ``max_examples`` wins, and there is neither
            a deadline nor a health check.
        tls: whether the service speaks TLS, and the client is asked whether it checks certificates and host names.
        concurrent: whether the client may be shared by threads or tasks, and is asked twice at once.
        environment: what the client may meet in the process; ``"netrc"`` comes only if it is named.
        longest_wait: seconds after which a call has come to an end, however long ``Retry-After`` told it to wait;
            without it, no client is told to wait for more than a second.

    Returns:
        What the client was shown, with its examples, answers by operation, gaps and faults.

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
        max_seconds=max_seconds,
        tls=tls,
        concurrent=concurrent,
        environment=environment,
        longest_wait=longest_wait,
    )
    if max_examples is not None and not (_is_positive(max_examples) and isinstance(max_examples, int)):
        raise PetStoreMockError(
            f"expected max_examples to be a number of at least 1; got max_examples={max_examples!r}"
        )
    if max_examples is None:
        max_examples = _EXAMPLES if max_seconds is None else _ENDLESS
    return find_bug(machine, machine_settings(settings, max_examples)).tell()
