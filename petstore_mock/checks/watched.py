"""A client whose calls are checked one by one: for the machine, for pasted tests, and for people's own."""

from __future__ import annotations

from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary, WeakSet

from petstore_mock.checks import process, requests, results
from petstore_mock.checks.adapting import AdaptedClient
from petstore_mock.checks.attending import Limits, Player, UnderWay, attend, client_threads
from petstore_mock.checks.check import Call, Check, Finding, Kept, Observation, Outcome, Process, attempt
from petstore_mock.checks.process import MOST_CONNECTIONS, Watch, settled
from petstore_mock.checks.reading import classify_exception, read_pet
from petstore_mock.checks.together import halves, meet
from petstore_mock.common.real import monotonic
from petstore_mock.interface.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.checks.adapting import Methods
    from petstore_mock.checks.reading import Kind, ReadPet
    from petstore_mock.faults import Fault
    from petstore_mock.mock.face import PetStore

CHECKS: Final[dict[str, Check]] = {
    name: one for room in (requests, results, process) for name, one in vars(room).items() if isinstance(one, Check)
}
"""Every check of the package by its name, in the order in which they are tried."""

_UNDER_WAY: Final = 0.05  # seconds that a request, or the end of a connection, may be under way
_STANDSTILL: Final = 5.0  # seconds that a call may take without a request
_KEPT: Final = 2  # results that are compared with their copies
_open: Final[WeakSet[WatchedClient]] = WeakSet()
_looked_at: Final[WeakKeyDictionary[Any, int]] = WeakKeyDictionary()  # requests of other mocks, by mock


class Checked:
    """A client whose calls are values, each held against the checks.

    A subclass makes the ``client``. It may override how to wait for a call (``attempt``), what else there is to know
    (``facts``, ``observed``), and what a finding raises (``fail``).
    """

    client: AdaptedClient

    def __init__(
        self,
        petstore: PetStore,
        checks: Iterable[Check],
        classify: Callable[[BaseException], Kind],
        read_pet: ReadPet,
        limits: Limits,
    ) -> None:
        self.petstore: Any = petstore
        self.limits = limits
        self.seen = len(petstore.journal)  # requests that were looked at
        self._checks, self._classify, self._read_pet = tuple(checks), classify, read_pet
        self._keys = [petstore.api_key]
        self._results: list[Kept] = []

    def attempt(self, function: Callable[[], Any]) -> Outcome:
        return attempt(function, self._classify)

    def facts(self) -> Process | None:
        """Return what the process shows; None where nobody looks."""

    def fail(self, finding: Finding, _: Outcome | None) -> None:
        __tracebackhide__ = True
        raise AssertionError(str(finding))

    def observed(self, **given: Any) -> Observation:  # noqa: ANN401  # of an observation
        """Return what happened since the last look."""
        petstore, journal, before = self.petstore, self.petstore.journal, self.seen
        exchanges = journal[before:]
        self.seen += len(exchanges)
        seen = Observation(exchanges, earlier=journal[:before], keys=self._keys, read_pet=self._read_pet, **given)
        seen.url = petstore.url if any(one.connection for one in exchanges) else ""
        seen.lags, seen.patience = petstore.behaviour.visibility == "delayed", self.limits.patience
        return seen

    def judge(self, seen: Observation) -> None:
        """Fail with the first finding of the checks."""
        __tracebackhide__ = True
        for one in self._checks:
            found = one.find(seen)
            if found is not None:
                self.fail(found, seen.outcome)

    def call(self, call: Call) -> Outcome:
        """Make a call, and check it."""
        __tracebackhide__ = True
        outcome = self.attempt(partial(self.client.call, call))
        if outcome.error is not None:
            settled(lambda: len(self.petstore.journal) > self.seen, _UNDER_WAY)
        self.judge(self.observed(call=call, outcome=outcome, earlier_results=self._results, process=self.facts()))
        if outcome.error is None:
            self._results = [*self._results[1 - _KEPT :], Kept(call, outcome.value, self._read_pet)]
        return outcome

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
        whole = self.attempt(partial(meet, self.client, calls, hold, then, self._classify))
        outcomes = [whole, whole] if whole.value is None else whole.value
        if any(outcome.error is not None for outcome in outcomes):
            settled(lambda: len(self.petstore.journal) > self.seen + 1, _UNDER_WAY)
        for seen in halves(self.observed(process=self.facts()), calls, outcomes):
            self.judge(seen)
        for outcome in outcomes:
            outcome.error = None


class WatchedClient(Checked):
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
        limits = Limits(patience, longest_wait, _STANDSTILL)
        super().__init__(petstore, CHECKS.values() if checks is None else checks, classify, read_pet, limits)
        self._quiet, self._others, self._before = quiet, tuple(others), open_connections(petstore)
        _looked_at.update((other, len(other.journal)) for other in self._others)
        self._player, self._watch = Player(), Watch()
        try:
            self.client = AdaptedClient(make_client, petstore, methods=methods)
            self.judge(self.observed(doing="make_client", process=self.facts()))
        except BaseException:
            self._player.end()
            self._watch.end()
            raise
        _open.add(self)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # a method of the interface
        row = next((row for row in OPERATIONS.values() if row.client_method == name), None)
        if row is None or row.name not in self.client.operations:
            message = f"the client has no method {name}"
            raise AttributeError(message)

        def method(*positional: Any, **given: Any) -> Any:  # noqa: ANN401
            __tracebackhide__ = True
            for kept in self._results:
                kept.renew()  # their caller may have changed them since
            outcome = self.call(Call.of(row, positional, given))
            error, outcome.error = outcome.error, None  # its traceback holds the outcome, and a connection perhaps
            if error is not None and not self._quiet:
                raise error
            return outcome.value

        return method

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        __tracebackhide__ = True
        self.close()

    def attempt(self, function: Callable[[], Any]) -> Outcome:
        """Call the client in a thread, so that a call that never ends does not hang the test."""
        player, context, began, threads = self._player, copy_context(), monotonic(), client_threads()
        handshake = _flaw(self.petstore) is not None
        player.under_way = under_way = UnderWay(self.petstore.journal, self.limits, handshake=handshake)
        future = player.play(lambda: context.run(attempt, function, self._classify))
        attend([player])
        if player.lost is not None:
            return Outcome(seconds=monotonic() - began, ended="hung" if under_way.ended == "hung" else "stood still")
        settled(lambda: client_threads() <= threads, _UNDER_WAY)  # threads may send requests of the call, too
        outcome: Outcome = future.result()
        return outcome

    def close(self) -> None:
        """Close the client.

        Raises:
            AssertionError: the close failed, or left something behind.
        """
        __tracebackhide__ = True
        _open.discard(self)
        if self._player.lost is not None:
            self._watch.end()
            return
        self._player.end()
        closed = self.client.closing is not None
        outcome = attempt(self.client.close, self._classify)
        most = self._before + MOST_CONNECTIONS * len(_open)  # of other clients, on the same listener
        facts = Process(shown=self._watch.take(), allowed_connections=most, tasks=self.client.tasks_left)
        self._results.clear()
        facts.threads = self._watch.threads_left(partial(vars(self).pop, "client"), closed=closed)
        settled(lambda: open_connections(self.petstore) <= most)
        facts.connections, facts.settings = open_connections(self.petstore), self._watch.end()
        self.judge(self.observed(doing="close()", outcome=outcome, process=facts))

    def facts(self) -> Process:
        most = self._before + MOST_CONNECTIONS * max(1, len(_open))
        settled(lambda: open_connections(self.petstore) <= most, _UNDER_WAY)
        return Process(self.client.client, self._watch.take(), open_connections(self.petstore), most)

    def observed(self, **given: Any) -> Observation:  # noqa: ANN401
        seen = super().observed(**given)
        seen.pets, seen.flaw = {pet["id"]: pet for pet in self.petstore.pets}, _flaw(self.petstore)
        seen.foreign = [one for other in self._others for one in other.journal[_looked_at[other] :]]
        _looked_at.update((other, len(other.journal)) for other in self._others)
        return seen


watched = WatchedClient


# Facts about a mock. One in another process has no service here.


def open_connections(petstore: Any) -> int:  # noqa: ANN401
    """Return how many connections are open to the listener of a mock; 0 where it has none here."""
    service = getattr(petstore, "service", None)
    return service.server.open_connections if service is not None and service.is_listening else 0


def _flaw(petstore: Any) -> Fault | None:  # noqa: ANN401
    """Return the flaw of certificates that the test planned and that a connection met."""
    world = getattr(petstore, "world", None)
    met: list[Fault] = [] if world is None else [one.fault for one in world.plan.in_force if one.hits]
    return next((one for one in met if one.row.meets_handshakes and "certificate" in one.row.sentence), None)
