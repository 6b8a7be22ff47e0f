"""A client that checks each of its calls. The machine, its pasted tests and your own tests use it."""

from __future__ import annotations

from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary, WeakSet

from petstore_mock.checks import process, requests, results
from petstore_mock.checks.adapting import AdaptedClient
from petstore_mock.checks.calling import Limits, Player, at_once, halves
from petstore_mock.checks.check import Call, Check, Kept, Observation, Outcome, Process, attempt
from petstore_mock.checks.process import Watch, settled
from petstore_mock.checks.reading import classify_exception, copied, read_pet
from petstore_mock.common.guards import is_array
from petstore_mock.interface.table import OPERATIONS, Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.checks.adapting import Methods
    from petstore_mock.checks.reading import Kind, ReadPet
    from petstore_mock.mock.face import PetStore

CHECKS: Final[dict[str, Check]] = {
    name: one for room in (requests, results, process) for name, one in vars(room).items() if isinstance(one, Check)
}
"""Every check of the package by its name, in the order in which a watched client runs them."""

_MOST_CONNECTIONS: Final = 5  # of one client: a call needs one connection, and a pool may keep some more
_UNDER_WAY: Final = 0.05  # seconds that a request, or the end of a connection, may take to reach the mock
_CLOSES: Final = 0.002  # seconds that the service takes to close a broken connection
_STANDSTILL: Final = 5.0  # seconds that a call may take without a request
_KEPT: Final = 2  # earlier results that are checked after each call
_open: Final[WeakSet[WatchedClient]] = WeakSet()
_looked_at: Final[WeakKeyDictionary[Any, int]] = WeakKeyDictionary()  # the number of checked requests, by mock


class Found(AssertionError):  # noqa: N818  # it reports a bug of the client, not an error of the package
    """A check failed."""

    def __init__(self, sentence: str, outcome: Outcome | None) -> None:
        super().__init__(sentence)
        self.outcome = outcome


class WatchedClient:
    """A client with the methods of the interface (``list_pets``, ``create_pet``, ``get_pet``) that checks each call.

    ``close()``, or the end of a ``with`` block, closes the client, and checks that no thread or connection remains.

    Args:
        make_client: a function that takes ``petstore`` and returns a client.
        petstore: the mock to which the client sends requests.
        checks: the checks; all of ``CHECKS`` by default.
        classify: a function that returns the meaning of a client's exception.
        read_pet: a function that returns the fields of an animal that the client returned.
        methods: the client's own names of the methods, such as ``{"list_pets": "pets.all"}``.
        quiet: whether a call returns None instead of raising an error that the checks allow, as in a pasted test.
        patience: how long a call may wait for a response that never comes, in seconds.
        longest_wait: the longest ``Retry-After`` that the client waits for, in seconds; None for any.
        others: mocks of other services. The client may send requests there only after a redirection, and never its key.

    Raises:
        PetStoreMockError: an argument has a wrong value.
        AssertionError: a check failed while the client was made. Each call raises this error for its own checks.
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
        self.petstore: Any = petstore  # a PetStoreMock, or a mock in another process
        self.quiet, self.others, self.player = quiet, [*others], Player()
        self.limits = Limits(patience, longest_wait, _STANDSTILL)
        self.calls = 0
        self.raised: BaseException | None = None  # the latest error that a call raised; quiet calls raise none
        self._checks = tuple(CHECKS.values() if checks is None else checks)
        self._classify, self._read_pet = classify, read_pet
        self._results: list[Kept] = []
        self._keys = [petstore.api_key]
        self._before = open_connections(petstore)
        self._look()
        self._watch = Watch() if any("process" in one.needs for one in self._checks) else None
        try:
            self._make(partial(AdaptedClient, make_client, petstore, methods))
        except BaseException:
            self.player.end()
            self._end_watch()
            raise
        _open.add(self)

    def _make(self, make: Callable[[], AdaptedClient]) -> None:
        __tracebackhide__ = True
        context = copy_context()
        outcome: Outcome = self.player.play(lambda: context.run(attempt, make, self._classify)).result()
        if isinstance(outcome.error, ValueError) and "main thread" in str(outcome.error):  # from signal.signal()
            outcome = attempt(make, self._classify)
        if outcome.error is not None:
            raise outcome.error
        self.client: AdaptedClient = outcome.value
        if self._watch is not None:
            self._watch.excuse_environment()  # a test may set variables in make_client
        self._find(self._observed(doing="make_client", process=self._facts()))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # a method of the interface
        row = next((row for row in OPERATIONS.values() if row.client_method == name), None)
        if row is None or row.name not in self.client.operations:
            message = f"the client has no method {name}"
            raise AttributeError(message)
        return partial(self._call, row)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        __tracebackhide__ = True
        self.close()

    def at_once(self, first: Call, second: Call, *, hold: int = 1, then: int | None = None) -> None:
        """Make two calls at once, in two threads or as two tasks of an ``async`` client, and check both.

        The method counts the executed lines of the client's own code, without those of the standard library and of
        HTTP libraries. If the checks allow the error of a call, the method does not raise it. If the second call waits
        for the first, for example for its lock, the first call goes on.

        Args:
            first: the call that stops until the second call ends or stops.
            second: the other call.
            hold: the number of the line before which the first call stops, from 1.
            then: the number of the line before which the second call stops until the first ends; None for no stop.

        Raises:
            AssertionError: a check of one of the calls failed.
        """
        __tracebackhide__ = True
        self._skip()
        self.calls += 2
        whole = self._attempt(partial(at_once, self.client, (first, second), hold, then, self._classify))
        outcomes = [whole, whole] if whole.value is None else whole.value
        for seen in halves(self._observed(process=self._facts()), (first, second), outcomes):
            self._find(seen)
        for outcome in outcomes:
            outcome.error = None

    def spoil(self) -> None:
        """Change the latest result, as its caller may do. No later call may return the changed object."""
        result: Any = self._results[-1].value if self._results else None
        with suppress(Exception):  # an immutable result can't be changed
            whole, first = result, result[0] if is_array(result) else result
            if isinstance(first, dict):
                first["name"] = "spoilt"
            else:
                first.name = "spoilt"
            whole.clear()

    def _call(self, row: Operation, *positional: Any, **given: Any) -> Any:  # noqa: ANN401
        __tracebackhide__ = True
        call, read = Call.of(row, positional, given), self._read_pet
        # The caller may change its results between two calls.
        self._results = [kept._replace(copy=copied(kept.value, read)) for kept in self._results[-_KEPT:]]
        self._skip()
        self.calls += 1
        outcome = self._attempt(partial(self.client.call, call))
        self._find(self._observed(call=call, outcome=outcome, earlier_results=self._results, process=self._facts()))
        error, outcome.error = outcome.error, None  # the traceback references the outcome, and perhaps a connection
        if error is None:
            self._results.append(Kept(call, outcome.value, None))
        elif not self.quiet:
            self.raised = error
            raise error
        return outcome.value

    def _skip(self) -> None:
        """Skip the requests that the client sent between two calls. They can't be attributed to a call."""
        self.limits.sends_by_itself |= len(self.petstore.journal) > _looked_at[self.petstore]
        _looked_at[self.petstore] = len(self.petstore.journal)

    def _look(self) -> None:
        _looked_at.update((one, len(one.journal)) for one in (self.petstore, *self.others))

    def _attempt(self, function: Callable[[], Any]) -> Outcome:
        """Call the client in a thread, so that an endless call does not hang the test."""
        journal, connections = self.petstore.journal, open_connections(self.petstore)
        sent, context = len(journal), copy_context()
        handshake = any(one.fault.row.meets_handshakes for one in _planned(self.petstore))
        outcome = self.player.attend(
            lambda: context.run(attempt, function, self._classify), journal, self.limits, handshake=handshake
        )
        if outcome.error is not None and settled(lambda: len(journal) > sent, _UNDER_WAY):
            fault = journal[-1].fault
            if fault is not None and fault.row.needs_socket:  # a kept connection is about to close
                settled(lambda: open_connections(self.petstore) < max(connections, 1), _CLOSES)
        watch, limits = self._watch, self.limits
        if watch is not None and not limits.sends_by_itself and outcome.ended is None:
            # A thread that the call started may send one more request, which belongs to the call. If the thread works
            # for longer, its requests can't be attributed to a call.
            limits.sends_by_itself = not settled(lambda: not watch.threads_work(), _UNDER_WAY)
        return outcome

    def close(self) -> None:
        """Close the client. A second call does nothing.

        Raises:
            AssertionError: the close failed, or a thread, task, connection or changed setting remains.
        """
        __tracebackhide__ = True
        if self not in _open:
            return
        _open.discard(self)
        if self.player.is_lost:
            self._end_watch()
            return
        self._skip()
        closed = self.client.closing is not None
        outcome = self._attempt(self.client.close)
        self.player.end()
        self._results.clear()
        self._find(self._observed(doing="close()", outcome=outcome, process=self._left_behind(closed=closed)))

    def _left_behind(self, *, closed: bool) -> Process | None:
        watch, left = self._watch, self.client.tasks_left
        if watch is None:
            return None
        shown = watch.take()
        left = [*left, *watch.threads_left(partial(vars(self).pop, "client"), closed=closed)]
        # Other watched clients may use the same listener.
        connections = self._too_many(self._before + _MOST_CONNECTIONS * len(_open))
        return Process(shown=shown, connections=connections, left=left, settings=self._end_watch())

    def _end_watch(self) -> list[str]:
        return [] if self._watch is None else self._watch.end()

    def _facts(self) -> Process | None:
        """Return the facts about the process, or None if no check needs them."""
        if self._watch is None:
            return None
        most = self._before + _MOST_CONNECTIONS * max(1, len(_open))
        return Process(self.client.client, self._watch.take(), self._too_many(most, _UNDER_WAY))

    def _too_many(self, most: int, seconds: float = 1.0) -> int:
        """Return the number of open connections if it stays above ``most``, else 0."""
        fits = settled(lambda: open_connections(self.petstore) <= most, seconds)
        return 0 if fits else open_connections(self.petstore)

    def _observed(self, **given: Any) -> Observation:  # noqa: ANN401  # fields of an observation
        """Return the observation of everything since the last one."""
        petstore, journal, before = self.petstore, self.petstore.journal, _looked_at[self.petstore]
        exchanges = journal[before:]
        seen = Observation(exchanges, earlier=journal[:before], keys=self._keys, read_pet=self._read_pet, **given)
        seen.url = petstore.url if any(one.connection for one in exchanges) else ""
        seen.lags, seen.patience = petstore.behaviour.visibility == "delayed", self.limits.patience
        seen.pets = {pet["id"]: pet for pet in petstore.pets}
        seen.shared = self.limits.sends_by_itself or ("client" in vars(self) and self.client.tasks_go_on)
        seen.foreign = [one for other in self.others for one in other.journal[_looked_at[other] :]]
        self._look()
        met = [one.fault for one in _planned(petstore) if one.hits]
        seen.flaw = next((one for one in met if one.row.meets_handshakes), None)
        if exchanges and seen.flaw is not None and "certificate" not in seen.flaw.row.sentence:
            seen.flaw = None  # a later connection was sound
        return seen

    def _find(self, seen: Observation) -> None:
        __tracebackhide__ = True
        for one in self._checks:
            found = one.find(seen)
            if found is not None:
                raise Found(found, seen.outcome)


watched = WatchedClient


# Facts about a mock. For a mock in another process, they are not known here.


def open_connections(petstore: Any) -> int:  # noqa: ANN401
    """Return the number of open connections to the mock's listener, or 0 if it is in another process."""
    service = getattr(petstore, "service", None)
    return service.server.open_connections if service is not None and service.server.is_alive else 0


def _planned(petstore: Any) -> list[Any]:  # noqa: ANN401
    """Return the handles of the planned faults."""
    world = getattr(petstore, "world", None)
    return [] if world is None else list(world.plan.in_force)
