"""A machine that finds bugs in clients of the pet store service.

Pass a function that makes your client. Its methods may have any names and return objects of any shape::

    from petstore_mock.stateful import check_client

    def test_client():
        check_client(lambda petstore: MyClient(petstore.url, petstore.api_key))

The machine varies everything that the interface leaves open. Responses get lost before and after the commit, other
actors change animals, keys are revoked, connections close. The machine shrinks each bug, and reports it as one
sentence, a test to paste, and the requests and responses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from petstore_mock.checks import UnknownErrorError, read_pet
from petstore_mock.checks.results import READ_IT
from petstore_mock.stateful.environments import DEFAULT_ENVIRONMENTS, environment
from petstore_mock.stateful.report import ClientBugError
from petstore_mock.stateful.run import CheckReport, Options, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from hypothesis import settings as Settings  # noqa: N812  # as Hypothesis itself calls it
    from hypothesis.strategies import SearchStrategy

    from petstore_mock.checks import Check, Kind
    from petstore_mock.checks.adapting import Methods
    from petstore_mock.faults import Fault
    from petstore_mock.mock.petstore import PetStoreMock

_NONE_IS_DEFAULT: Final = {"classify", "vary", "arguments"}

__all__ = ["CheckReport", "ClientBugError", "check_client", "environment"]
__dir__ = __all__.copy  # editors and consoles complete these names


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
    """Return a report of the run, or raise ClientBugError if the client has a bug.

    Args:
        make_client: a function that takes the mock and returns a client of ``petstore.url`` with ``petstore.api_key``.
            The machine calls it once or twice per example. Methods of the client may be ``async def``. The machine
            enters a client that is a context manager, and closes a client that has ``close()``. If the client lacks a
            method, the report lists its operation as left out.
        classify: a function that returns the meaning of a client's exception: an HTTP status, ``"transport"``,
            ``"timeout"`` or ``"protocol"``. It raises an error for an unknown exception. The default knows the usual
            libraries.
        read_pet: a function that returns the fields of an animal that the client returned, by the interface's names.
            The default reads mappings and objects with attributes, also with ``category_id``.
        methods: the client's names of ``list_pets``, ``create_pet`` and ``get_pet``, such as ``pets.all``,
            or functions that take the client and the arguments.
        vary: the gaps that vary; all gaps by default.
        faults: the faults that requests may meet; the machine's own faults by default, ``()`` for none.
        patience: the seconds after which a call that waits for a response is reported as having no timeout.
        max_examples: the number of drawn examples. The default is 200, or no limit with ``max_seconds``.
        max_seconds: the seconds after which no further example begins. Shrinking may take longer. The default is no
            limit.
        settings: Hypothesis's settings; those of the current profile by default. Their ``max_examples`` is
            ignored, and the machine switches deadlines and health checks off.
        tls: whether the service speaks TLS. Then the client must verify certificates and host names, and
            ``make_client`` must make it trust ``petstore.tls``.
        concurrent: whether threads may share the client, or tasks if it is asynchronous. Then some steps make two calls
            at once.
        environment: the environments of the process, one example each. ``"ipv6"`` is an address with colons. In
            ``"proxies"``, HTTP_PROXY names a proxy and NO_PROXY excludes the service. ``"time_zone"`` is a zone other
            than UTC. ``"locale"`` is an installed locale other than English. In ``"netrc"``, a netrc file has an entry
            for the host of the service. The default is all of them except ``"netrc"``.
        longest_wait: the longest ``Retry-After`` that the client waits for, in seconds. With this argument, some
            responses tell the client to wait for days, or have dates of a clock that is an hour fast or slow. Without
            it, no response tells the client to wait for more than a second, because the interface shows no rate limits.
        checks: your own checks (see ``petstore_mock.checks.check``), in addition to those of ``petstore_mock.checks``.
        steps: your own steps, which are functions of the client and its mock. The client has the methods of the
            interface, and each of its calls is checked. An AssertionError of a step is a bug.
        arguments: strategies for the arguments of calls, by operation. Each draws a dict with the interface's names:
            ``{"createPet": st.fixed_dictionaries({"name": st.just("Rex"), "categoryId": st.just(1)})}``.

    Returns:
        A report of examples, responses by operation, gaps, faults and left out operations.

    Raises:
        ClientBugError: the client has a bug. The error has a sentence, a test to paste, the requests and the responses.
        UnknownErrorError: ``classify`` does not know an exception, so the machine can't tell whether it is a bug.
        PetStoreMockError: an argument has a wrong value, or ``make_client`` returns no client.
    """
    given: dict[str, Any] = {**locals()}
    __tracebackhide__ = True
    for name in _NONE_IS_DEFAULT:
        if given[name] is None:
            del given[name]
    options = Options(**given)
    from petstore_mock.stateful.search import Search  # noqa: PLC0415  # needs Hypothesis, unlike a pasted test

    with Run(options) as run:
        bug = Search(run).find()
        if bug is not None and READ_IT in bug.sentence:
            raise UnknownErrorError(f"This is a bug, or classify= must read the exception: {bug}") from bug
        if bug is not None:
            raise bug
        return run.report
