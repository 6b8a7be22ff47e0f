"""A client whose calls are checked one by one: for pasted tests, and for people's own."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary, WeakSet

from petstore_mock.checks import process, requests, results
from petstore_mock.checks.adapting import AdaptedClient
from petstore_mock.checks.attending import PLAYER_THREAD, Job, Limits, Player, UnderWay, attend, client_threads
from petstore_mock.checks.check import Check
from petstore_mock.checks.classify import classify_exception
from petstore_mock.checks.observation import Call, Kept, Observation, Outcome, Process, attempt
from petstore_mock.checks.process import MOST_CONNECTIONS, Watch, settled
from petstore_mock.checks.reading import read_pet
from petstore_mock.checks.together import halves, meet
from petstore_mock.common.real import monotonic
from petstore_mock.common.refusing import refuse
from petstore_mock.interface.table import OPERATIONS, Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.checks.adapting import Methods
    from petstore_mock.checks.classify import Kind
    from petstore_mock.checks.reading import ReadPet
    from petstore_mock.mock.face import PetStore

CHECKS: Final[dict[str, Check]] = {
    name: one for room in (requests, results, process) for name, one in vars(room).items() if isinstance(one, Check)
}
"""Every check of the package by its name, in the order in which they are tried."""

_UNDER_WAY: Final = 0.05  # seconds that a request, or the end of a connection, may be under way
_STANDSTILL: Final = 5.0  # seconds that a call may take without a request
_MOST_LASTING: Final = 3  # times that threads outlast their call, until it is known that they do
_open: Final[WeakSet[WatchedClient]] = WeakSet()
_looked_at: Final[WeakKeyDictionary[Any, int]] = WeakKeyDictionary()  # how many requests, by mock
_KEPT: Final = 2  # results that are compared with their copies


class Found(AssertionError):  # noqa: N818  # it says what it is
    """A check failed."""

    def __init__(self, sentence: str, outcome: Outcome | None) -> None:
        super().__init__(sentence)
        self.outcome = outcome


class WatchedClient:
    """A client with the methods of the interface (``list_pets``, ``create_pet``, ``get_pet``), each call checked.

    ``close()``, or the end of a ``with`` block, closes the client and checks what it leaves behind.

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
        others: mocks of other services, to which the client sends nothing but what it is redirected to.

    Raises:
        PetStoreMockError: an argument does not fit.
        AssertionError: the client did wrong while it was made. Each call raises one for what it did.
    """

    def __init__(
        self,
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
    ) -> None:
        __tracebackhide__ = True
        self._petstore, self._classify, self._read_pet = petstore, classify, read_pet
        self._quiet, self._limits, self._keys = quiet, Limits(patience, longest_wait, _STANDSTILL), [petstore.api_key]
        self._others = tuple(others)
        _looked_at.update((one, len(one.journal)) for one in (petstore, *self._others))
        self._checks = tuple(CHECKS.values() if checks is None else checks)
        self._results: list[Kept] = []
        self._before = open_connections(petstore)
        self._job = Job(Player(asyncio.new_event_loop()))
        is_watched = any("process" in one.needs for one in self._checks)
        self._watch = Watch([PLAYER_THREAD]) if is_watched else None
        try:
            self._client = self._made(partial(AdaptedClient, make_client, petstore, methods=methods))
        except BaseException:
            self._end_watch()
            raise
        _open.add(self)

    def _made(self, make: Callable[[], AdaptedClient]) -> AdaptedClient:
        __tracebackhide__ = True
        outcome = self._attempt(make)
        if isinstance(outcome.error, ValueError) and "main thread" in str(outcome.error):  # signals are set in no other
            outcome = attempt(make, self._classify)
        if outcome.error is not None:
            raise outcome.error
        if self._watch is not None:
            self._watch.excuse_environment()  # a test may set variables in make_client
        client: AdaptedClient | None = outcome.value  # None where it never ended
        if client is None:
            self._judge(doing="make_client", outcome=outcome)
            refuse("expected make_client to end; got a client that was never made")
        self._judge(doing="make_client", process=self._process(client))
        return client

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
        for kept in self._results:
            kept.renew()  # their caller may have changed them since
        self._skip()
        outcome = self._attempt(partial(self._client.call, call))
        self._judge(call=call, outcome=outcome, earlier_results=self._results, process=self._process())
        error, outcome.error = outcome.error, None  # its traceback holds the outcome, and an open connection perhaps
        if error is None:
            self._results = [*self._results[1 - _KEPT :], Kept(call, outcome.value, self._read_pet)]
        elif not self._quiet:
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
        calls = (first, second)
        self._skip()
        whole = self._attempt(partial(meet, self._client, calls, hold, then, self._classify))
        outcomes = [whole, whole] if whole.value is None else whole.value
        both = self._observed(process=self._process())
        for seen in halves(both, calls, outcomes):
            self._find(seen)
        for outcome in outcomes:
            outcome.error = None

    def _skip(self) -> None:
        """Leave out what the client sent between two calls: nobody knows what for."""
        sent = len(self._petstore.journal)
        self._limits.sends_by_itself |= sent > _looked_at[self._petstore]
        _looked_at[self._petstore] = sent

    def _attempt(self, function: Callable[[], Any]) -> Outcome:
        """Call the client in a thread, so that a call that never ends does not hang the test."""
        journal, job, context, began = self._petstore.journal, self._job, copy_context(), monotonic()
        threads, sent, limits = client_threads(), len(journal), self._limits
        handshake = any(one.fault.row.meets_handshakes for one in _planned(self._petstore))
        job.under_way = under_way = UnderWay(journal, limits, handshake=handshake)
        job.future = job.player.play(lambda: context.run(attempt, function, self._classify))
        attend([job])
        job.under_way = None
        if job.lost is not None:
            ended = "stood still" if under_way.ended == "ran away" else under_way.ended
            return Outcome(seconds=monotonic() - began, ended=ended)
        outcome: Outcome = job.future.result()
        if client_threads() > threads and limits.lasting_threads < _MOST_LASTING:  # they may send requests, too
            limits.lasting_threads += not settled(lambda: client_threads() <= threads, _UNDER_WAY)
        if outcome.error is not None:
            settled(lambda: len(journal) > sent, _UNDER_WAY)
        return outcome

    def close(self) -> None:
        """Close the client; a second time does nothing.

        Raises:
            AssertionError: the close failed, or left something behind.
        """
        __tracebackhide__ = True
        if self not in _open:
            return
        _open.discard(self)
        if self._job.lost is not None:
            self._end_watch()
            return
        closed = self._client.closing is not None
        outcome = self._attempt(self._client.close)
        self._job.player.end()
        self._results.clear()
        self._judge(doing="close()", outcome=outcome, process=self._left_behind(closed=closed))

    def _left_behind(self, *, closed: bool) -> Process | None:
        watch, tasks = self._watch, self._client.tasks_left
        if watch is None:
            return None
        most = self._before + MOST_CONNECTIONS * len(_open)  # of other clients, on the same listener
        facts = Process(shown=watch.take(), allowed_connections=most, tasks=tasks)
        facts.threads = watch.threads_left(partial(vars(self).pop, "_client"), closed=closed)
        settled(lambda: open_connections(self._petstore) <= most)
        facts.connections = open_connections(self._petstore)
        facts.settings = self._end_watch()
        return facts

    def _end_watch(self) -> list[str]:
        return [] if self._watch is None else self._watch.end()

    def _process(self, client: AdaptedClient | None = None) -> Process | None:
        if self._watch is None:
            return None
        most = self._before + MOST_CONNECTIONS * max(1, len(_open))
        settled(lambda: open_connections(self._petstore) <= most, _UNDER_WAY)
        watched = (client or self._client).client
        return Process(watched, self._watch.take(), open_connections(self._petstore), most)

    def _judge(self, **given: Any) -> None:  # noqa: ANN401  # of an observation
        """Look with every check at what happened since the last look."""
        __tracebackhide__ = True
        self._find(self._observed(**given))

    def _observed(self, **given: Any) -> Observation:  # noqa: ANN401
        petstore, journal, before = self._petstore, self._petstore.journal, _looked_at[self._petstore]
        seen = Observation(journal[before:], earlier=journal[:before], keys=self._keys, **given)
        seen.foreign = [one for other in self._others for one in other.journal[_looked_at[other] :]]
        _looked_at.update((one, len(one.journal)) for one in (petstore, *self._others))
        seen.shared = self._limits.sends_by_itself or (hasattr(self, "_client") and self._client.tasks_go_on)
        seen.url = _url(petstore)
        met = [one.fault for one in _planned(petstore) if one.hits]
        seen.flaw = next((one for one in met if one.row.meets_handshakes), None)
        if seen.exchanges and seen.flaw is not None and "certificate" not in seen.flaw.row.sentence:
            seen.flaw = None  # a later connection was sound
        seen.pets = {pet["id"]: pet for pet in petstore.pets}
        seen.unsettled = seen.pets if petstore.behaviour.visibility == "delayed" else ()
        seen.patience, seen.longest_wait, seen.read_pet = (
            self._limits.patience,
            self._limits.longest_wait,
            self._read_pet,
        )
        return seen

    def _find(self, seen: Observation) -> None:
        __tracebackhide__ = True
        for one in self._checks:
            found = one.find(seen)
            if found is not None:
                raise Found(str(found), seen.outcome)


watched = WatchedClient


# Facts about a mock. One in another process has no service here.


def open_connections(petstore: Any) -> int:  # noqa: ANN401
    """Return how many connections are open to the listener of a mock; 0 where it has none here."""
    service = getattr(petstore, "service", None)
    return service.server.open_connections if service is not None and service.is_listening else 0


def _url(petstore: Any) -> str:  # noqa: ANN401
    service = getattr(petstore, "service", None)
    return petstore.url if service is None or service.is_listening else ""


def _planned(petstore: Any) -> list[Any]:  # noqa: ANN401
    """Return the handles of the planned faults."""
    world = getattr(petstore, "world", None)
    return [] if world is None else list(world.plan.in_force)
