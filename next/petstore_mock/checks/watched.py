"""A client whose calls are checked one by one: for pasted tests, and for people's own."""

from __future__ import annotations

from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Self

from petstore_mock.checks import process, requests, results
from petstore_mock.checks.adapting import AdaptedClient
from petstore_mock.checks.check import Check
from petstore_mock.checks.classify import classify_exception
from petstore_mock.checks.observation import Call, Kept, Observation, Outcome, Process, attempt
from petstore_mock.checks.process import MOST_CONNECTIONS, Watch, settled
from petstore_mock.checks.reading import read_pet
from petstore_mock.common.real import Thread, monotonic
from petstore_mock.interface.table import FIELDS, OPERATIONS, Operation

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
_STANDSTILL: Final = 5.0  # seconds that a call may take beyond its patience
_LOOK: Final = 0.1  # seconds between two looks at a call that goes on
_KEPT: Final = 2  # results that are compared with their copies


@dataclass(frozen=True)
class _Options:
    checks: tuple[Check, ...]
    classify: Callable[[BaseException], Kind]
    read_pet: ReadPet
    quiet: bool
    patience: float
    key: str
    connections: int  # that were open before


class _Worker:
    """A thread that makes the calls of a client, so that a call that never ends does not hang the test."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[Callable[[], Outcome] | None] = SimpleQueue()
        self._done: SimpleQueue[Outcome] = SimpleQueue()
        self.is_stuck = False
        Thread(target=self._work, name="petstore-mock-watched", daemon=True).start()

    def _work(self) -> None:
        while (function := self._asked.get()) is not None:
            self._done.put(function())

    def stop(self) -> None:
        self._asked.put(None)

    def run(self, function: Callable[[], Outcome], ended: Callable[[float], Outcome | None]) -> Outcome:
        """Return the outcome of ``function``, or the first that ``ended`` returns while it runs."""
        began = monotonic()
        self._asked.put(partial(copy_context().run, function))
        while True:
            try:
                return self._done.get(timeout=_LOOK)
            except Empty:
                outcome = ended(monotonic() - began)
                if outcome is not None:
                    self.is_stuck = True
                    return outcome


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
        self._worker = _Worker()
        self._watch = Watch()
        try:
            self._client = AdaptedClient(make_client, petstore, methods=methods)
            self._judge(self._facts(), doing="make_client")
        except BaseException:
            self._watch.end()
            raise

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
        names = {field.python: field.name for field in FIELDS.values()}
        names |= {parameter.python: parameter.name for parameter in row.parameters}
        arguments = {names.get(name, name): value for name, value in given.items() if value is not None}
        if row.path_parameter is not None and positional:
            arguments[row.path_parameter.name] = positional[0]
        call = Call(row.name, arguments)
        outcome = self._worker.run(
            partial(attempt, partial(self._client.call, call), self._options.classify), self._ended
        )
        if outcome.error is not None:
            settled(lambda: len(self._petstore.journal) > self._seen, _UNDER_WAY)
        self._judge(self._facts(), call=call, outcome=outcome, earlier_results=self._results)
        error, outcome.error = outcome.error, None  # its traceback holds the outcome, and an open connection perhaps
        if error is None:
            self._results = [*self._results[1 - _KEPT :], Kept(call, outcome.value, self._options.read_pet)]
        elif not self._options.quiet:
            raise error
        return outcome.value

    def _ended(self, seconds: float) -> Outcome | None:
        """Return the outcome of a call that has run for so long and does not end; None while it may go on."""
        journal = self._petstore.journal
        if len(journal) > self._seen and journal.last.outcome == "hang" and seconds > self._options.patience:
            return Outcome(seconds=seconds, ended="hung")
        return Outcome(seconds=seconds, ended="stood still") if seconds > _STANDSTILL + self._options.patience else None

    def close(self) -> None:
        """Close the client.

        Raises:
            AssertionError: the close failed, or left something behind.
        """
        __tracebackhide__ = True
        self._worker.stop()
        if self._worker.is_stuck:
            self._watch.end()
            return
        closed = self._client.can_be_closed
        outcome = attempt(self._client.close, self._options.classify)
        facts = Process(shown=self._watch.take(), tasks=self._client.tasks_left)
        self._results.clear()
        facts.threads = self._watch.threads_left(partial(vars(self).pop, "_client"), closed=closed)
        facts.allowed_connections = before = self._options.connections
        settled(lambda: open_connections(self._petstore) <= before)
        facts.connections = open_connections(self._petstore)
        facts.settings = self._watch.end()
        self._judge(facts, doing="close()", outcome=outcome)

    def _facts(self) -> Process:
        most = self._options.connections + MOST_CONNECTIONS
        settled(lambda: open_connections(self._petstore) <= most, _UNDER_WAY)
        return Process(self._client.client, self._watch.take(), open_connections(self._petstore), most)

    def _judge(self, facts: Process, **given: Any) -> None:  # noqa: ANN401  # of an observation
        """Look with every check at what happened since the last look."""
        __tracebackhide__ = True
        journal, before = self._petstore.journal, self._seen
        self._seen = len(journal)
        pets = {pet["id"]: pet for pet in self._petstore.pets}
        seen = Observation(
            journal[before:],
            process=facts,
            earlier=journal[:before],
            url=_url(self._petstore),
            keys=[self._options.key],
            pets=pets,
            unsettled=pets if self._petstore.behaviour.visibility == "delayed" else (),
            flaw=_flaw(self._petstore),
            patience=self._options.patience,
            read_pet=self._options.read_pet,
            **given,
        )
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

    Raises:
        PetStoreMockError: an argument does not fit.
        AssertionError: the client did wrong while it was made. Each call of it raises one for what it did.
    """
    __tracebackhide__ = True
    chosen = tuple(CHECKS.values() if checks is None else checks)
    options = _Options(chosen, classify, read_pet, quiet, patience, petstore.api_key, open_connections(petstore))
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
