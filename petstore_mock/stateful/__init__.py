"""A model-checking machine for clients of the pet store service (the ``hypothesis`` extra).

Hand it a client, whatever its methods are called and return::

    from petstore_mock.stateful import check_client

    def test_client():
        check_client(lambda petstore: MyClient(petstore.url, petstore.api_key))

It varies everything that the interface leaves open. Responses get lost before and after the commit, other actors change
animals, keys are revoked, connections close. It shrinks each bug, and reports it as one sentence, a test to paste, and
the requests and responses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from petstore_mock.checks import Check, UnknownErrorError, classify_exception, read_pet
from petstore_mock.checks.adapting import checked_methods
from petstore_mock.checks.results import READ_IT
from petstore_mock.common.refusing import one_of, require
from petstore_mock.common.values import is_integer, is_number
from petstore_mock.faults.fault import coerce
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.stateful.environments import DEFAULT_ENVIRONMENTS, ENVIRONMENTS, environment
from petstore_mock.stateful.report import ClientBugError
from petstore_mock.stateful.run import CheckReport, Options, Run
from petstore_mock.stateful.search import Search, machine_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from hypothesis import settings as Settings  # noqa: N812  # as Hypothesis itself calls it
    from hypothesis.strategies import SearchStrategy

    from petstore_mock.checks import Kind
    from petstore_mock.checks.adapting import Methods
    from petstore_mock.faults import Fault
    from petstore_mock.mock.petstore import PetStoreMock

__all__ = ["CheckReport", "ClientBugError", "check_client", "environment"]
__dir__ = __all__.copy  # what editors and consoles complete

_EXAMPLES: Final = 200
_ENDLESS: Final = 10**9


def check_client(
    make_client: Callable[[PetStoreMock], Any],
    *,
    classify: Callable[[BaseException], Kind] | None = None,
    read_pet: Callable[[Any], Mapping[str, Any]] = read_pet,
    methods: Methods | None = None,
    vary: Collection[str] | None = None,
    faults: Collection[int | Fault] | None = None,
    patience: float = 2.0,
    max_examples: int | None = None,
    max_seconds: float | None = None,
    settings: Settings | None = None,
    tls: bool = False,
    concurrent: bool = False,
    environment: Collection[str] = DEFAULT_ENVIRONMENTS,
    longest_wait: float | None = None,
    checks: Collection[Check] = (),
    steps: Collection[Callable[[Any, PetStoreMock], object]] = (),
    arguments: Mapping[str, SearchStrategy[Mapping[str, Any]]] | None = None,
) -> CheckReport:
    """Check a client, and raise when it has a bug.

    Args:
        make_client: makes a client that talks to ``petstore.url`` with ``petstore.api_key``; called once or twice an
            example. Its methods may be ``async def``; a context manager is entered, a client with ``close()`` closed.
            It may lack methods: the report says which operations were left out.
        classify: says what an exception of the client means: an HTTP status, ``"transport"``, ``"timeout"`` or
            ``"protocol"``. It raises for an exception that it does not know. The default knows the usual libraries.
        read_pet: returns the fields of an animal that the client returned, by the interface's names. The default reads
            mappings and objects with attributes, also with ``category_id``.
        methods: the client's own names of ``list_pets``, ``create_pet`` and ``get_pet``, dotted ones too, or functions
            of the client and the arguments.
        vary: the gaps that vary; all of them unless given.
        faults: the faults that requests may meet; ``()`` for none. The machine has its own unless given.
        patience: seconds after which a client that waits for a response has no timeout.
        max_examples: how many examples are drawn: 200, or as many as ``max_seconds`` allow.
        max_seconds: seconds after which no further example begins; shrinking comes after them.
        settings: Hypothesis's settings, instead of the current profile's; ``max_examples`` wins, and there is neither
            a deadline nor a health check.
        tls: whether the service speaks TLS. Then the client must verify certificates and host names; ``make_client``
            lets it trust ``petstore.tls``.
        concurrent: whether threads may share the client, or tasks if it is asynchronous: then two calls are made at
            once now and then.
        environment: the environments of the process that the client meets, one example each: ``"ipv6"``, an address
            with colons; ``"proxies"``, where HTTP_PROXY names a proxy and NO_PROXY excepts the service;
            ``"time_zone"``, another zone than UTC; ``"locale"``, an installed locale other than English; and
            ``"netrc"``, where a netrc file has an entry for the host of the service. The last one only if you name it.
        longest_wait: seconds after which a call ends although ``Retry-After`` tells it to wait for longer. Then the
            client is told to wait for days, and by a clock that is not its own. Without it, no client is told to wait
            for more than a second: the interface shows no rate limits.
        checks: checks of your own (``petstore_mock.checks.check``), beside those of ``petstore_mock.checks``.
        steps: steps of your own: functions of the client and its mock. The client has the methods of the interface,
            and each call of them is checked. An AssertionError of a step is a bug.
        arguments: strategies of the arguments of calls by the interface's names, by operation:
            ``{"createPet": st.fixed_dictionaries({"name": st.just("Rex"), "categoryId": st.just(1)})}``.

    Returns:
        A report of examples, responses by operation, gaps, faults, operations that were left out.

    Raises:
        ClientBugError: the client has a bug; the error has one sentence, a test to paste, and the wire.
        UnknownErrorError: an exception says neither a status nor what went wrong, as ``classify`` reads it.
        PetStoreMockError: an argument can't be right, or ``make_client`` returns no client.
    """
    __tracebackhide__ = True
    for function in (make_client, classify or classify_exception, read_pet, *steps):
        require(callable(function), "functions as make_client, classify, read_pet and steps", function=function)
    for name, seconds in (("patience", patience), ("max_seconds", max_seconds), ("longest_wait", longest_wait)):
        holds = (is_number(seconds) and seconds > 0) or (seconds is None and name != "patience")
        require(holds, f"{name} to be seconds, more than 0", **{name: seconds})
    is_count = max_examples is None or (is_integer(max_examples) and max_examples > 0)
    require(is_count, "max_examples to be a whole number of at least 1", max_examples=max_examples)
    for one in checks:
        require(isinstance(one, Check), "checks as petstore_mock.checks.check makes them", check=one)
    options = Options(
        make_client=make_client,
        classify=classify or classify_exception,
        read_pet=read_pet,
        methods=checked_methods(methods) or None,
        vary=_names(GAPS if vary is None else vary, GAPS, "gap", "vary"),
        faults=None if faults is None else [coerce(fault) for fault in faults],
        patience=patience,
        max_seconds=max_seconds,
        tls=tls,
        concurrent=concurrent,
        environments=_names(environment, ENVIRONMENTS, "environment", "environment"),
        longest_wait=longest_wait,
        checks=list(checks),
        steps={getattr(step, "__name__", ""): step for step in steps},
        arguments={one_of(name, OPERATIONS, "operation"): drawn for name, drawn in (arguments or {}).items()},
    )
    if max_examples is None:
        max_examples = _EXAMPLES if max_seconds is None else _ENDLESS
    with Run(options) as run:
        bug = Search(run).find(machine_settings(settings, max_examples))
        if bug is not None and READ_IT in bug.sentence:
            raise UnknownErrorError(f"This may be a bug, or an exception that classify= must read: {bug}") from bug
        if bug is not None:
            raise bug
        return run.report


def _names(given: Collection[str], known: Collection[str], kind: str, argument: str) -> list[str]:
    require(not isinstance(given, str), f"{argument} to be a collection of names", **{argument: given})
    return [one_of(name, known, kind) for name in dict.fromkeys(given)]
