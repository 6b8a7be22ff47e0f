"""A client that checks each of its calls. The machine, its pasted tests and your own tests use it."""

from __future__ import annotations

import signal
import weakref
from collections import Counter
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from threading import get_ident
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary

from petstore_mock.checks import process, requests, results
from petstore_mock.checks.adapting import AdaptedClient
from petstore_mock.checks.calling import Limits, Player, at_once, halves
from petstore_mock.checks.check import Call, Check, Finding, Kept, Observation, Outcome, Process, Source, attempt
from petstore_mock.checks.holding import Growth, hidden_holders, holders
from petstore_mock.checks.process import Shown
from petstore_mock.checks.reading import classify_exception, copied, read_pet
from petstore_mock.checks.watch import Watch, settled
from petstore_mock.common.guards import items_of
from petstore_mock.common.real import sleep
from petstore_mock.common.refusing import one_of, require
from petstore_mock.common.suggesting import guided
from petstore_mock.errors import ReportedError
from petstore_mock.interface.table import BY_METHOD, OPERATIONS, Operation

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence
    from contextvars import Context

    from petstore_mock.checks.adapting import MakeClient, Methods
    from petstore_mock.checks.check import Ended, Exchanges, Group, Thunk
    from petstore_mock.checks.reading import Classify, ReadPet
    from petstore_mock.faults import Fault
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.mock.face import PetStore

__tracebackhide__ = True  # pytest shows the line of the test

CHECKS: Final[dict[str, Check]] = {
    name: check
    for room in (requests, results, process)
    for name, check in vars(room).items()
    if isinstance(check, Check)
}
"""Every check of the package by its name, in the order in which a watched client runs them."""

_MOST_CONNECTIONS: Final = 5  # of one client: a call needs one connection, and a pool may keep some more
_UNDER_WAY: Final = 0.05  # seconds that a request, or the end of a connection, may take to reach the mock
_CLOSES: Final = 0.002  # seconds that the service takes to close a broken connection
_STANDSTILL: Final = 5.0  # seconds that a call may take without a request
_MAKES: Final = 10.0  # seconds that make_client may take without a request
_INTERRUPTS: Final = 12  # more than a usual pool has connections
_KEPT: Final = 2  # earlier results that are checked after each call
_open: Final[WeakKeyDictionary[WatchedClient, None]] = WeakKeyDictionary()  # the clients that are not closed
_looked_at: Final[WeakKeyDictionary[Any, int]] = WeakKeyDictionary()  # the number of checked requests, by mock


class Found(ReportedError):  # noqa: N818  # it reports a bug of the client, not an error of the package
    """A check failed."""

    def __init__(self, finding: Finding, outcome: Outcome | None) -> None:
        super().__init__(str(finding))
        self.finding = finding
        self.outcome = outcome
        self.ended = None if outcome is None else outcome.ended


class BlockError(Exception):
    """Raised in the ``with`` block of a client."""


class LeftError(Exception):
    """Raised for a call that goes on when the test can wait no longer. No check that counts has failed."""

    def __init__(self, ended: Ended, pause: float) -> None:
        super().__init__(
            f"expected calls that end, or pause for at most {pause:g} s after a failure; got a call that goes on: let "
            "the client of this test pause for a shorter time"
        )
        self.ended = ended


def _clients_here() -> list[WatchedClient]:
    """Return the open clients that this thread made."""
    return [client for client in _open_clients() if client.made_in == get_ident()]


def _open_clients() -> list[WatchedClient]:
    # Another thread may close a client meanwhile.
    return list(filter(None, (reference() for reference in _open.keyrefs())))


def _player_here() -> Player:
    """Return the player of another open client of this thread: a program may use two clients in one thread."""
    for client in _clients_here():
        if not client.player.is_lost:
            return client.player
    return Player()


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
        longest_wait: the longest pause of the client after a failure, in seconds; None for any.
        others: mocks of other services. The client may send requests there only after a redirection, and never its key.
        ignore: the names of checks, or of single rules, that do not count.

    Raises:
        PetStoreMockError: an argument has a wrong value.
        AssertionError: a check failed while the client was made. Each call raises this error for its own checks.
    """

    @guided
    def __init__(
        self,
        make_client: MakeClient,
        petstore: PetStore,
        *,
        checks: Iterable[Check] | None = None,
        classify: Classify = classify_exception,
        read_pet: ReadPet = read_pet,
        methods: Methods | None = None,
        quiet: bool = False,
        patience: float = 2.0,
        longest_wait: float | None = None,
        others: Iterable[PetStore] = (),
        ignore: Iterable[str] = (),
    ) -> None:
        self.petstore: Any = petstore  # a PetStoreMock, or a mock in another process
        self.quiet = quiet
        self.others = [*others]
        self.made_in = get_ident()
        self.player = _player_here()
        self.limits = Limits(patience, longest_wait, _STANDSTILL)
        self.calls = 0
        self.unclear = 0  # the calls whose requests could not be told from those that the client sends by itself
        self.raised: BaseException | None = None  # the latest error that a call raised; quiet calls raise none
        self.ignored: Counter[str] = Counter()  # the findings that did not count, by rule
        self.known: Container[Group] = ()  # the groups of findings that do not count any more
        self._context = copy_context()  # of all calls, so a client may keep a token of a context variable
        self._checks = tuple(CHECKS.values() if checks is None else checks)
        self._ignore = checked_rules(ignore, self._checks)
        self._classify = classify
        self._read_pet = read_pet
        self._results: list[Kept] = []
        self._errors: list[Thunk] = []  # weak references to the latest exceptions
        self._keys = [petstore.api_key]
        self._before = open_connections(petstore)
        self._others_work = self._do_others_work()
        self._was_cut_off = False  # whether the latest call failed or was interrupted
        self._may_lose_coroutines = False  # whether a call has failed or was interrupted, or the client was closed
        self._look()
        self._test = str(getattr(getattr(make_client, "func", make_client), "__module__", ""))
        self._looks_closely = False  # for what keeps the client in memory
        needs = frozenset[str]().union(*(one.needs for one in self._checks))
        self._watch = Watch() if "process" in needs else None
        try:
            self._make(partial(AdaptedClient, make_client, petstore, methods))
        except BaseException:
            self._leave_player()
            self._end_watch()
            raise
        _open[self] = None

    def _make(self, make: Thunk) -> None:
        outcome = self._guarded(make, replace(self.limits, standstill=_MAKES))
        if _needs_main_thread(outcome.error):
            outcome = attempt(make, self._classify)
        error = outcome.error
        if isinstance(error, Exception):
            # An error of the test, not of the client: make_client belongs to the test.
            raise error
        if outcome.ended is not None or error is not None:
            finding = results.call_ends.find(self._observed(doing="make_client", outcome=outcome))
            raise Found(finding or unmade(outcome, "make_client returns a client, or raises an Exception"), outcome)
        self.client: AdaptedClient = outcome.value
        self._growth = Growth(self.client.client, self._test)
        if self._watch is not None:
            # A test may set variables in make_client.
            self._watch.excuse_environment()
        self._find(self._observed(doing="make_client", process=self._facts()))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # a method of the interface
        row = BY_METHOD.get(name)
        if row is None or row.name not in self.client.operations:
            message = f"the client has no method {name}"
            raise AttributeError(message)
        return partial(self._call, row)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
        self._skip()
        self.calls += 2
        whole = self._attempt(partial(at_once, self.client, (first, second), hold, then, self._classify))
        outcomes = [whole, whole] if whole.value is None else whole.value
        for seen in halves(self._observed(process=self._facts()), (first, second), outcomes):
            self._find(seen)
        for outcome in outcomes:
            outcome.error = None
        self._leave(whole)

    def interrupt(self, call: Call, *, at: int = 1) -> None:
        """Make a call again and again, and interrupt it. Later calls must not notice this.

        The task of an ``async`` client is cancelled. Another client gets a KeyboardInterrupt, as from Ctrl-C.

        Args:
            call: the call.
            at: the await, or the read from the connection, at which the interrupt comes, from 1. A task is also
                cancelled in ``asyncio.sleep()``, where a client waits before it sends a request again.

        Raises:
            AssertionError: the call did not raise what interrupted it.
        """
        self._skip()
        self.calls += 1
        by_itself = self.limits.sends_by_itself
        whole, outcome = self._interrupted(call, at)
        sleep(_UNDER_WAY)  # a request may still be under way
        self.limits.sends_by_itself = by_itself
        self._was_cut_off = self._may_lose_coroutines = True
        # httpx itself loses a connection if it is cancelled while it connects (encode/httpcore#1093).
        self._before = max(self._before, open_connections(self.petstore))
        seen = self._observed(doing=str(call), outcome=outcome, process=self._facts())
        # A client may leave an interrupted request in any state.
        seen.exchanges = ()
        self._find(seen)
        outcome.error = None
        self._leave(whole)

    def _interrupted(self, call: Call, at: int) -> tuple[Outcome, Outcome]:
        """Return the outcome of the last attempt, and that of the call in it."""
        whole = outcome = Outcome()
        for _ in range(_INTERRUPTS):
            whole = self._attempt(partial(self.client.interrupted, call, at))
            outcome = whole if whole.value is None else whole.value
            if outcome.interrupt is None or not isinstance(outcome.error, outcome.interrupt):
                break
        was_not_interrupted = whole.value is not None and outcome.interrupt is None
        return whole, Outcome() if was_not_interrupted else outcome

    def leave(self) -> None:
        """Leave the client's ``with`` block with an error, if it has one. The error must come out of the block."""
        self._skip()
        if self.client.leaving is not None:
            outcome = self._attempt(partial(self.client.leave, BlockError("raised in the with block")))
            outcome.interrupt = BlockError
            self._find(self._observed(doing="the with block", outcome=outcome))

    def reuse(self) -> None:
        """Close the client, make a call, and close it again. The call may raise an error, and nothing may stay open."""
        self._skip()
        self._looks_closely = True
        self._close()
        reads = [name for name in self.client.operations if OPERATIONS[name].shows_many]
        if not reads or self.client.closing is None:
            return
        call = Call(reads[0])
        outcome = self._attempt(partial(self.client.call, call))
        self._find(self._observed(call=call, outcome=outcome))
        self._leave(outcome)
        self._close()

    def _close(self) -> None:
        outcome = self._attempt(self.client.close)
        self._find(self._observed(doing="close()", outcome=outcome, process=Process(shown=self._shown())))
        self._may_lose_coroutines = True

    def spoil(self) -> None:
        """Change the latest result, as its caller may do. No later call may return the changed object."""
        if self._results:
            self._guarded(partial(_spoil, self._results[-1].value), self.limits)

    def _call(self, row: Operation, *positional: Any, **given: Any) -> Any:  # noqa: ANN401
        call = Call.of(row, positional, given)
        self._skip()
        self.calls += 1
        outcome = self._attempt(partial(self._begin, call))
        process = self._facts()
        has_read = outcome.error is None and not row.commits
        if process is not None and has_read:
            process.remains = {"memory grows": self._growth.note(call)}
        seen = self._observed(call=call, outcome=outcome, earlier_results=self._results, process=process)
        self.unclear += seen.shared
        seen.is_same_error = any(one() is outcome.error for one in self._errors if outcome.error is not None)
        self._find(seen)
        self._leave(outcome)
        # The traceback references the outcome, and perhaps a connection.
        error = outcome.error
        outcome.error = None
        if error is None:
            # Reading a result for which the client has sent nothing may send a request in the middle of a later call.
            if seen.exchanges:
                self._results.append(Kept(call, outcome.value, None))
            return outcome.value
        self._errors = [*self._errors[-_KEPT:], _reference(error)]
        if not self.quiet:
            self.raised = error
            raise error
        return None

    def _begin(self, call: Call) -> Any:  # noqa: ANN401  # a client returns any object
        # The caller may have changed its results since the call before.
        self._results = [kept._replace(copy=copied(kept.value, self._read_pet)) for kept in self._results[-_KEPT:]]
        return self.client.call(call)

    def _leave(self, outcome: Outcome) -> None:
        """Raise LeftError for a call that goes on, although no check that counts has failed."""
        if outcome.ended is not None:
            raise LeftError(outcome.ended, self.limits.pause)

    def _skip(self) -> None:
        """Skip the requests that the client sent between two calls. They can't be attributed to a call."""
        came = len(self.petstore.journal) > _looked_at[self.petstore]
        # On a busy computer, the request of a call that was cut off arrives after the end of the call.
        self.limits.sends_by_itself |= came and not self._was_cut_off
        _looked_at[self.petstore] = len(self.petstore.journal)
        self._others_work = self._do_others_work()

    def _do_others_work(self) -> bool:
        """Whether threads or tasks of other clients may send requests meanwhile."""
        others = [client for client in _open_clients() if client.petstore in self.others]
        return any(client.works for client in others)

    @property
    def works(self) -> bool:
        """Whether threads or tasks of the client may send requests at any time."""
        if self._tasks_go_on:
            return True
        return self._watch is not None and self._watch.threads_work()

    @property
    def _tasks_go_on(self) -> bool:
        return "client" in vars(self) and self.client.tasks_go_on

    def _look(self) -> None:
        _looked_at.update((one, len(one.journal)) for one in (self.petstore, *self.others))

    def _guarded(self, function: Thunk, limits: Limits, client: AdaptedClient | None = None) -> Outcome:
        """Call code of the client in a thread, because it may never end, or end the thread."""
        handshake = any(planned.fault.row.meets_handshakes for planned in _planned(self.petstore))
        player = self.player
        journal: Exchanges = self.petstore.journal
        context = self._context
        if player.is_lost:
            # The call that did not end may still send requests.
            player = Player()
            journal = ()
            context = context.copy()
        caller = copy_context()
        outcome = player.attend(
            lambda: context.run(_attempt_for, caller, function, self._classify),
            journal,
            limits,
            handshake=handshake,
            client=client,
            look=None if self._watch is None else self._watch.look,
        )
        if player is not self.player:
            player.end()
        return outcome

    def _attempt(self, function: Thunk) -> Outcome:
        """Make a call of the client, and wait for what it still sends."""
        journal = self.petstore.journal
        connections = open_connections(self.petstore)
        sent = len(journal)
        outcome = self._guarded(function, self.limits, self.client)
        has_sent = outcome.error is not None and settled(lambda: len(journal) > sent, _UNDER_WAY)
        fault = journal[-1].fault if has_sent else None
        if fault is not None and fault.row.needs_socket:
            # A kept connection is about to close.
            settled(lambda: open_connections(self.petstore) < max(connections, 1), _CLOSES)
        watch = self._watch
        limits = self.limits
        may_go_on = outcome.ended is None and not limits.sends_by_itself
        if watch is not None and may_go_on:
            # A thread that the call started may send one more request, which belongs to the call. If the thread works
            # for longer, its requests can't be attributed to a call.
            limits.sends_by_itself = not settled(lambda: not watch.threads_work(), _UNDER_WAY)
        self._was_cut_off = outcome.error is not None or outcome.ended is not None
        self._may_lose_coroutines |= self._was_cut_off
        return outcome

    def close(self) -> None:
        """Close the client. A second call does nothing.

        Raises:
            AssertionError: the close failed, or a thread, task, connection or changed setting remains.
        """
        if self not in _open:
            return
        del _open[self]
        if self.player.is_lost:
            self.client.elsewhere.abandon()
            self._end_watch()
            return
        self._skip()
        closed = self.client.closing is not None or self.client.leaving is not None
        self._results.clear()
        try:
            self._end(closed=closed)
        finally:
            self._leave_player()

    def _leave_player(self) -> None:
        if all(other.player is not self.player for other in _clients_here()):
            self.player.end()

    def _end(self, *, closed: bool) -> None:
        try:
            self._close()
            if self.client.closing is not None:
                # A second time.
                self._close()
        finally:
            if not self.player.is_lost:
                self._attempt(self.client.end)
            seen = self._observed(doing="close()", process=self._left_behind(closed=closed))
        self._find(seen)

    def _left_behind(self, *, closed: bool) -> Process | None:
        watch = self._watch
        client = self.client
        if watch is None:
            return None
        reference = _reference(client.client)
        held = holders(client.client, self._test)
        running = client.tasks_left
        lost = client.lost
        changed = client.changed
        sent = len(self.petstore.journal)
        # Threads of other clients can't be told from threads of this one.
        alone = closed and not _clients_here()
        closely = alone and self._looks_closely
        shown = [*self._shown(), *watch.files()]
        kept = max(self._before, client.elsewhere.pooled)
        is_here = client.is_here
        # Python closes some files when it collects the client.
        left = watch.files_left() if closed else None
        del client, self._growth
        running += watch.threads_left(partial(vars(self).pop, "client"), closed=alone, closely=closely)
        files, opened = left or watch.files_left()
        if is_here and alone:
            running += watch.children_left()
        remains = {"temporary files left": files}
        if is_here:
            remains["descriptors left"] = opened
        if closed:
            remains["client left alive"] = held
        if closely:
            self._look_closely(remains, reference, sent)
        # Other watched clients may use the same listener.
        connections = self._too_many(kept + _MOST_CONNECTIONS * len(_open))
        settings = [*changed, *self._end_watch()]
        return Process(None, shown, connections, running, settings, remains, [*lost, *watch.lost])

    def _look_closely(self, remains: dict[str, Sequence[str]], reference: Thunk, sent: int) -> None:
        """Add the requests after the close, and what else keeps the client in memory."""
        remains["request after the close"] = [one.request_line for one in self.petstore.journal[sent:]]
        if not settled(lambda: reference() is None, _UNDER_WAY):
            remains["client left alive"] = [*remains["client left alive"], *hidden_holders(reference())]

    def _shown(self) -> list[Shown]:
        """Return the texts that the client has shown since the last look."""
        texts = [] if self._watch is None else self._watch.take()
        return [*texts, Shown(self.client.elsewhere.shown(), "standard error")]

    def _end_watch(self) -> list[str]:
        return [] if self._watch is None else self._watch.end()

    def _facts(self) -> Process | None:
        """Return the facts about the process, or None if no check needs them."""
        watch = self._watch
        if watch is None:
            return None
        shown = self._shown()
        most = self._before + _MOST_CONNECTIONS * max(1, len(_open))
        return Process(self.client.client, shown, self._too_many(most, _UNDER_WAY), unformatted=watch.unformatted)

    def _too_many(self, most: int, seconds: float = 1.0) -> int:
        """Return the number of open connections if it stays above ``most``, else 0."""
        fits = settled(lambda: open_connections(self.petstore) <= most, seconds)
        return 0 if fits else open_connections(self.petstore)

    def _observed(self, **given: Any) -> Observation:  # fields of an observation
        """Return the observation of everything since the last one."""
        petstore = self.petstore
        journal = petstore.journal
        before = _looked_at[petstore]
        exchanges = [*journal[before:]]
        foreign = list[Any]()
        seen = Observation(exchanges, earlier=journal[:before], keys=self._keys, read_pet=self._read_pet, **given)
        has_socket = any(exchange.connection for exchange in exchanges)
        seen.url = petstore.url if has_socket else ""
        seen.lags = petstore.behaviour.visibility == "delayed"
        seen.patience = self.limits.patience
        seen.longest_wait = self.limits.longest_wait
        seen.pets = {pet["id"]: pet for pet in petstore.pets}
        seen.closed = self._looks_closely  # since reuse() closed it
        seen.may_lose_coroutines = self._may_lose_coroutines
        seen.shared = self.limits.sends_by_itself or self._tasks_go_on
        for other in self.others:
            for exchange in other.journal[_looked_at[other] :]:
                is_own = self._is_stray(exchange, other)
                (exchanges if is_own else foreign).append(exchange)
        seen.foreign = foreign
        seen.others_work = self._others_work
        self._look()
        seen.flaw = self._flaw(has_sent=bool(exchanges))
        return seen

    def _is_stray(self, exchange: Exchange, other: PetStore) -> bool:
        """Whether a request of this client reached the newest world of its service, because it shows no valid key."""
        is_same_service = getattr(other, "service", None) is getattr(self.petstore, "service", self)
        return is_same_service and {self.petstore.api_key}.issuperset(exchange.request.credentials)

    def _flaw(self, *, has_sent: bool) -> Fault | None:
        """Return the fault of the TLS handshake that the client met."""
        for planned in _planned(self.petstore):
            row = planned.fault.row
            if planned.hits and row.meets_handshakes:
                # If the certificate was right, a later connection was sound.
                is_met = row.breaks_certificate or not has_sent
                return planned.fault if is_met else None
        return None

    def _find(self, seen: Observation) -> None:
        outcome = self._guarded(partial(self._findings, seen), self.limits)
        if isinstance(outcome.error, Exception):
            # An error of a check or of another function of the test.
            raise outcome.error
        findings: list[Finding] = outcome.value or []
        if outcome.error is not None or outcome.ended is not None:
            findings = [_unreadable(seen, outcome)]
            seen.outcome = outcome
        for finding in findings:
            if self._ignore & {finding.check, finding.rule}:
                self.ignored[finding.rule] += 1
            elif finding.group not in self.known:
                raise Found(finding, seen.outcome)

    def _findings(self, seen: Observation) -> list[Finding]:
        found = (check.find(seen) for check in self._checks)
        return [finding for finding in found if finding is not None]


def _attempt_for(caller: Context, function: Thunk, classify: Classify) -> Outcome:
    """Call code of the client with the context variables of its caller."""
    for variable, value in caller.items():
        variable.set(value)
    return attempt(function, classify)


def unmade(outcome: Outcome, words: str) -> Finding:
    """Return the finding about a client that could not be made. ``words`` are the broken rule."""
    return Finding("make_client", "failed make_client", "make_client", str(outcome), Source("", words))


def checked_rules(ignore: Iterable[str], checks: Iterable[Check]) -> frozenset[str]:
    """Return the names of checks and rules in ``ignore``; refuse other names."""
    require(not isinstance(ignore, str), "ignore= as a list of names", ignore=ignore)
    known: list[str] = []
    for check in checks:
        known += [check.name, *check.rules]
    return frozenset(one_of(name, known, "rule or check") for name in ignore)


def _unreadable(seen: Observation, outcome: Outcome) -> Finding:
    """Return the finding about a result or an exception that could not be read."""
    says = str(outcome) if outcome.ended is None else f"did not end for {outcome.seconds:.1f} s"
    source = Source("", "results, exceptions and their texts can be read")
    return Finding("readable", "unreadable object", seen.subject, f"{says} when its outcome was read", source)


def _needs_main_thread(error: BaseException | None) -> bool:
    """Whether an exception is of ``signal.signal()``, which works in the main thread only."""
    if not isinstance(error, ValueError):
        return False
    rooms = [frame.f_globals.get("__name__") for frame, _ in walk_tb(error.__traceback__)]
    return rooms[-1:] == [signal.__name__]


def _spoil(result: Any) -> None:  # noqa: ANN401  # a client returns any object
    first: Any = items_of(result)[0]
    if isinstance(first, dict):
        first["name"] = "spoilt"
    else:
        first.name = "spoilt"
    result.clear()


def _reference(value: object) -> Thunk:
    """Return a weak reference to an object of a client; some objects have none."""
    with suppress(TypeError):
        return weakref.ref(value)
    return lambda: None


watched = WatchedClient


# Facts about a mock. For a mock in another process, they are not known here.


def open_connections(petstore: Any) -> int:  # noqa: ANN401
    """Return the number of open connections to the mock's listener, or 0 if it is in another process."""
    service = getattr(petstore, "service", None)
    if service is None:
        return 0
    return service.server.open_connections if service.server.is_alive else 0


def _planned(petstore: Any) -> list[Any]:  # noqa: ANN401
    """Return the handles of the planned faults."""
    world = getattr(petstore, "world", None)
    return [] if world is None else list(world.plan.in_force)
