"""A client whose calls are checked one by one: for pasted tests, and for people's own."""

from __future__ import annotations

from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakSet

from petstore_mock.checks import process, requests, results
from petstore_mock.checks.adapting import AdaptedClient
from petstore_mock.checks.attending import PLAYER_THREAD, Job, Limits, Player, UnderWay, attend
from petstore_mock.checks.check import Check
from petstore_mock.checks.classify import classify_exception
from petstore_mock.checks.observation import Call, Kept, Observation, Outcome, Process, attempt
from petstore_mock.checks.process import MOST_CONNECTIONS, Watch, settled
from petstore_mock.checks.reading import read_pet
from petstore_mock.checks.together import halves, meet
from petstore_mock.common.real import monotonic
from petstore_mock.interface.table import OPERATIONS, Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.checks.adapting import Methods
    from petstore_mock.checks.classify import Kind
    from petstore_mock.checks.reading import ReadPet
    from petstore_mock.faults import Fault
    from petstore_mock.mock.face import PetStore

CHECKS: Final[dict[str, Check]] = {
    name: one for room in (requests, results, process) for name, one in vars(room).items() if isinstance(one, Check)
}
"""Every check of the package by its name, in the order in which they are tried."""

_UNDER_WAY: Final = 0.05  # seconds that a request, or the end of a connection, may be under way
_STANDSTILL: Final = 5.0  # seconds without a request
_open: Final[WeakSet[WatchedClient]] = WeakSet()
_KEPT: Final = 2  # results that are compared with their copies


@dataclass(frozen=True)
class _Options:
    checks: tuple[Check, ...]
    classify: Callable[[BaseException], Kind]
    read_pet: ReadPet
    quiet: bool
    limits: Limits
    others: tuple[PetStore, ...]
    key: str
    connections: int  # that were open before


class WatchedClient:
    """A client with the methods of the interface (``list_pets``, ``create_pet``, ``get_pet``), each call checked.

    :func:`watched` makes it. ``close()``, or the end of a ``with`` block, checks what the client leaves behind.
    """

    def __init__(
        self, make_client: Callable[[Any], Any], petstore: PetStore, methods: Methods | None, options: _Options
    ) -> None:
        self._petstore, self._options = petstore, options
        self._seen = len(petstore.journal)
        self._results: list[Kept] = []
        self._seen_elsewhere = [len(other.journal) for other in options.others]
        self._job = Job(Player())
        self._watch = Watch([PLAYER_THREAD])
        try:
            self._client = AdaptedClient(make_client, petstore, methods=methods)
            self._judge(self._facts(), doing="make_client")
        except BaseException:
            self._watch.end()
            raise
        _open.add(self)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # a method of the interface
        row = next((row for row in OPERATIONS.values() if row.client_method == name), None)
        if row is None or row.name not in self._client.operations:
            message = f"the client has no method {name}"
            raise AttributeError(message)
        return partial(self._call, row)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        __tracebackhide__ = True
        self.close()

    def _call(self, row: Operation, *positional: Any, **given: Any) -> Any:  # noqa: ANN401
        __tracebackhide__ = True
        call = Call.of(row, positional, given)
        outcome = self._attempt(partial(self._client.call, call))
        self._judge(self._facts(), call=call, outcome=outcome, earlier_results=self._results)
        error, outcome.error = outcome.error, None  # its traceback holds the outcome, and an open connection perhaps
        if error is None:
            self._results = [*self._results[1 - _KEPT :], Kept(call, outcome.value, self._options.read_pet)]
        elif not self._options.quiet:
            raise error
        return outcome.value

    def at_once(self, first: Call, second: Call, *, hold: int = 1, then: int | None = None) -> None:
        """Make two calls at once, as ``stateful.at_once`` does, and check both; their errors are not raised.

        Args:
            first: a call.
            second: another call.
            hold: the line of the client's own code before which the first call is held.
            then: the line before which the second call is held; None for none.

        Raises:
            AssertionError: one of the calls did wrong.
        """
        __tracebackhide__ = True
        calls, classify = (first, second), self._options.classify
        whole = self._attempt(partial(meet, self._client, calls, hold, then, classify))
        outcomes = [whole, whole] if whole.value is None else whole.value
        both = self._observed(self._facts())
        for seen in halves(both, calls, outcomes):
            self._find(seen)
        for outcome in outcomes:
            outcome.error = None

    def _attempt(self, function: Callable[[], Any]) -> Outcome:
        """Call the client in a thread, so that a call that never ends does not hang the test."""
        journal, job = self._petstore.journal, self._job
        under_way = UnderWay(journal, self._options.limits, handshake=_flaw(self._petstore) is not None)
        job.under_way = under_way
        context = copy_context()
        job.future = job.player.play(lambda: context.run(attempt, function, self._options.classify))
        began = monotonic()
        attend([job])
        job.under_way = None
        if job.is_lost:
            ended = "stood still" if under_way.ended == "ran away" else under_way.ended
            return Outcome(seconds=monotonic() - began, ended=ended)
        outcome: Outcome = job.future.result()
        if outcome.error is not None:
            settled(lambda: len(journal) > self._seen, _UNDER_WAY)
        return outcome

    def close(self) -> None:
        """Close the client.

        Raises:
            AssertionError: the close failed, or left something behind.
        """
        __tracebackhide__ = True
        _open.discard(self)
        if self._job.is_lost:
            self._watch.end()
            return
        self._job.player.end()
        closed = self._client.can_be_closed
        outcome = attempt(self._client.close, self._options.classify)
        facts = Process(shown=self._watch.take(), tasks=self._client.tasks_left)
        self._results.clear()
        facts.threads = self._watch.threads_left(partial(vars(self).pop, "_client"), closed=closed)
        facts.allowed_connections = most = self._options.connections + MOST_CONNECTIONS * len(_open)
        settled(lambda: open_connections(self._petstore) <= most)
        facts.connections = open_connections(self._petstore)
        facts.settings = self._watch.end()
        self._judge(facts, doing="close()", outcome=outcome)

    def _facts(self) -> Process:
        most = self._options.connections + MOST_CONNECTIONS * max(1, len(_open))
        settled(lambda: open_connections(self._petstore) <= most, _UNDER_WAY)
        return Process(self._client.client, self._watch.take(), open_connections(self._petstore), most)

    def _judge(self, facts: Process, **given: Any) -> None:  # noqa: ANN401  # of an observation
        """Look with every check at what happened since the last look."""
        __tracebackhide__ = True
        self._find(self._observed(facts, **given))

    def _observed(self, facts: Process, **given: Any) -> Observation:  # noqa: ANN401
        journal, before = self._petstore.journal, self._seen
        self._seen = len(journal)
        pets = {pet["id"]: pet for pet in self._petstore.pets}
        foreign = [
            one
            for other, seen in zip(self._options.others, self._seen_elsewhere, strict=True)
            for one in other.journal[seen:]
        ]
        self._seen_elsewhere = [len(other.journal) for other in self._options.others]
        return Observation(
            journal[before:],
            process=facts,
            earlier=journal[:before],
            foreign=foreign,
            url=_url(self._petstore),
            keys=[self._options.key],
            pets=pets,
            unsettled=pets if self._petstore.behaviour.visibility == "delayed" else (),
            flaw=_flaw(self._petstore),
            patience=self._options.limits.patience,
            longest_wait=self._options.limits.longest_wait,
            read_pet=self._options.read_pet,
            **given,
        )

    def _find(self, seen: Observation) -> None:
        __tracebackhide__ = True
        for one in self._options.checks:
            found = one.find(seen)
            if found is not None:
                raise AssertionError(str(found))


def watched(
    make_client: Callable[[Any], Any],
    petstore: PetStore,
    *,
    checks: Iterable[Check] | None = None,
    classify: Callable[[BaseException], Kind] = classify_exception,
    read_pet: ReadPet = read_pet,
    methods: Methods | None = None,
    quiet: bool = False,
    patience: float = 2.0,
    longest_wait: float | None = None,
    others: Iterable[PetStore] = (),
) -> WatchedClient:
    """Return a client that checks each of its calls: the requests, the result or the exception, output, connections.

    Args:
        make_client: makes a client of ``petstore``.
        petstore: the mock that the client talks to.
        checks: the checks; all of ``CHECKS`` unless given.
        classify: says what an exception of the client means.
        read_pet: reads an animal that the client returned.
        methods: the client's own names of the methods, such as ``{"list_pets": "pets.all"}``.
        quiet: whether a call returns None instead of raising an error that the checks allow, as in a pasted test.
        patience: the seconds that a call may wait for a response that never comes.
        longest_wait: the longest wait that the client grants a ``Retry-After``, in seconds; None for any.
        others: mocks that the client must send nothing to: other services, and worlds of other clients.

    Raises:
        PetStoreMockError: an argument does not fit.
        AssertionError: the client did wrong while it was made. Each call of it raises one for what it did.
    """
    __tracebackhide__ = True
    chosen = tuple(CHECKS.values() if checks is None else checks)
    limits = Limits(patience, longest_wait, _STANDSTILL)
    key, connections = petstore.api_key, open_connections(petstore)
    options = _Options(chosen, classify, read_pet, quiet, limits, tuple(others), key, connections)
    return WatchedClient(make_client, petstore, methods, options)


def open_connections(petstore: Any) -> int:  # noqa: ANN401  # a mock; 0 in process, and for a mock elsewhere
    """Return how many connections are open to the listener of a mock."""
    service = getattr(petstore, "service", None)
    return service.server.open_connections if service is not None and service.is_listening else 0


def _url(petstore: Any) -> str:  # noqa: ANN401
    service = getattr(petstore, "service", None)
    return "" if service is not None and not service.is_listening else str(petstore.url)


def _flaw(petstore: Any) -> Fault | None:  # noqa: ANN401
    """Return the flaw of certificates that the test planned for every connection, and that one met."""
    world = getattr(petstore, "world", None)
    handles = [] if world is None else world.plan.in_force
    met = [one.fault for one in handles if one.hits and one.fault.row.meets_handshakes]
    return next((fault for fault in met if "certificate" in fault.row.sentence), None)
