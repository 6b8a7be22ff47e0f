"""The request journal: every request of one world in order, and assertions about them.

The listener's thread adds exchanges under the world's lock while a test reads in its own thread. Readers take no lock:
they work on a copy of the list.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, overload

from petstore_mock.common.masking import mask_text
from petstore_mock.common.real import Event, monotonic
from petstore_mock.common.refusing import Stays, refuse, require
from petstore_mock.common.suggesting import helpful
from petstore_mock.common.values import counted, is_integer, is_number, write_text
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.interface.table import require_operation
from petstore_mock.journal.criteria import Criteria
from petstore_mock.journal.exchange import Exchange, is_unexpected
from petstore_mock.journal.har import har_parts
from petstore_mock.journal.text import request_lines
from petstore_mock.journal.waiting import Watch, alarms, refuse_in_a_task, signal_of_this_task

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from petstore_mock.interface.static import OperationName

KEPT: Final = 10_000  # requests; the limit keeps an endless test from filling the memory
_KEPT_BYTES: Final = 16 * 1024  # of memory for each of these requests, on average
_LEAST_BYTES: Final = 16 * 1024 * 1024  # of memory that any journal may take
_LONGEST_WAIT: Final = 86_400.0  # seconds: one day
_LOOK: Final = 0.5  # seconds between two looks of a wait that nothing wakes
_SHOWN: Final = 5  # requests in the message of a failed assertion


class EvictedError(PetStoreMockError):
    """The result depends on requests that the journal no longer keeps."""

    status = 409  # of the control door's response


@helpful(last=Exchange)
class Journal(Stays):
    """Every request of one world in order: ``journal[0]`` is the first since the reset, ``len`` counts all.

    A request is in the journal before its response goes out; while the response is held back, its status is None. The
    journal keeps only the newest requests. A call that needs dropped requests raises :class:`EvictedError`.
    """

    def __init__(self, limit: int = KEPT, keys: Callable[[], Iterable[str]] = tuple) -> None:
        self.limit = limit  # how many requests are kept
        self._most_bytes = max(limit * _KEPT_BYTES, _LEAST_BYTES)
        self._bytes = 0  # about the memory that the kept requests take
        self.total = 0  # the number of the newest request
        self.clears = 0  # how often clear() was called
        self.counts: Counter[str | None] = Counter()  # of all requests, by operation
        self.violation_count = 0  # of all requests
        self.notes: list[str] = []  # events without a request, such as failed handshakes; never changed in place
        self._keys = keys  # the world's keys, to mask
        self._exchanges: list[Exchange] = []
        self._first: Exchange | None = None  # the first evicted violation that the test did not expect
        self._listeners: dict[Callable[[Exchange], object], None] = {}
        self._watches: dict[Watch, None] = {}  # of the waits

    def __repr__(self) -> str:
        return f"<Journal of {counted(len(self), 'request')}>"

    # Recording

    def add(self, exchange: Exchange) -> None:
        """Append an exchange and give it the next number. The caller holds the world's lock."""
        exchange.number = number = self.total + 1  # a `when=` function may have reset the world meanwhile
        exchange.keys = self._keys
        exchange.changed = self._note_change
        exchange.trim()
        self.counts[exchange.operation] += 1
        self._exchanges.append(exchange)
        self._bytes += exchange.weight
        self.violation_count += exchange.is_violation
        self.total = number  # last, because readers without the lock must find all counted requests
        if len(self._exchanges) > self.limit:
            self._drop_oldest()
        while self._bytes > self._most_bytes and len(self._exchanges) > 1:
            self._drop_oldest()
        self._notify(exchange)

    def _drop_oldest(self) -> None:
        gone = self._exchanges.pop(0)
        gone.changed = None
        self._bytes -= gone.weight
        if is_unexpected(gone):
            self._first = self._first or gone

    def _note_change(self, exchange: Exchange) -> None:
        """Count the bytes of a late response, and pass the exchange on."""
        self._bytes -= exchange.weight
        exchange.trim()
        self._bytes += exchange.weight
        self._notify(exchange)

    def _notify(self, exchange: Exchange) -> None:
        for listener in tuple(self._listeners):
            listener(exchange)
        for watch in tuple(self._watches):
            watch.notify(exchange)

    def clear(self) -> None:
        """Drop every exchange; numbers begin at 1 again. The caller holds the world's lock."""
        for exchange in self._exchanges:
            exchange.changed = None
        self._exchanges = []
        self._bytes = 0
        self.counts.clear()
        self.notes = []
        self.violation_count = self.total = 0
        self._first = None
        self.clears += 1
        self.wake()

    def wake(self) -> None:
        """Wake the waits: the journal was cleared, or its world ended."""
        for watch in tuple(self._watches):
            watch.notify(None)

    def listen(self, listener: Callable[[Exchange], object]) -> None:
        """Call ``listener``, in any thread, for each new exchange and late response. The listener must not raise."""
        self._listeners[listener] = None

    # Reading

    @property
    def kept(self) -> list[Exchange]:
        """The exchanges that are still kept, oldest first."""
        return self._exchanges[:]

    @property
    def evicted(self) -> int:
        """How many requests are no longer kept."""
        kept = self.kept
        return kept[0].number - 1 if kept else 0

    def _all(self) -> list[Exchange]:
        kept = self.kept
        if kept and kept[0].number > 1:
            raise self.lost()
        return kept

    def lost(self) -> EvictedError:
        """Return the error of a call that needs dropped requests."""
        kept = self.kept
        return EvictedError(
            f"expected a call that needs only the newest {len(kept)} requests; the journal dropped {self.evicted} of "
            f"{self.total}: call earlier, reset in between, or raise serve --keep-requests"
        )

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> Exchange: ...
    @overload
    def __getitem__(self, index: slice) -> list[Exchange]: ...
    def __getitem__(self, index: int | slice) -> Exchange | list[Exchange]:
        """Return the exchange at ``index``, from 0, or those of a slice.

        Raises:
            IndexError: no such request arrived.
            EvictedError: the journal dropped some requests; use a negative index for the newest ones.
        """
        kept = self.kept
        is_newest = isinstance(index, int) and -len(kept) <= index < 0
        if is_newest:
            return kept[index]
        return self._all()[index]

    @property
    def last(self) -> Exchange:
        """The newest exchange.

        Raises:
            PetStoreMockError: no request arrived yet.
        """
        kept = self.kept
        if not kept:
            refuse("expected a request before journal.last; none arrived yet")
        return kept[-1]

    @property
    def violations(self) -> list[Exchange]:
        """The exchanges in which the client broke the contract.

        Raises:
            EvictedError: the journal no longer keeps some of them.
        """
        while True:
            clears, count = self.clears, self.violation_count  # read first: a new request may extend the list
            violations = [exchange for exchange in self.kept if exchange.is_violation]
            if self._first is not None:
                violations.insert(0, self._first)
            if len(violations) >= count:
                return violations
            if clears == self.clears:  # else another thread has cleared the journal in between
                raise self.lost()

    def for_operation(self, operation: OperationName) -> list[Exchange]:
        """Return the exchanges of ``operation``, including refused requests.

        Raises:
            PetStoreMockError: the interface has no such operation.
            EvictedError: the journal dropped some requests.
        """
        name = require_operation(operation).name
        return [exchange for exchange in self._all() if exchange.operation == name]

    def expect(self, exchanges: list[Exchange]) -> None:
        """Mark the violations of these exchanges as expected."""
        for exchange in exchanges:
            exchange.expected = True

    # Asserting

    def assert_called(
        self,
        operation: OperationName | None = None,
        times: int | None = None,
        **criteria: Any,  # each criterion checks its own value
    ) -> list[Exchange]:
        """Assert that requests for ``operation`` met all ``criteria``, and return these requests.

        Args:
            operation: the operation; None for any request.
            times: the exact number of such requests; None for one or more.
            criteria: ``status`` (an int is the HTTP status, text is the argument), ``json``, ``body``, ``query``,
                ``headers`` (only those named; letter case of names does not count), ``method``, ``path``, ``fault``
                (its kind), ``condition`` (why the fake refused it), and any argument by the interface's own name:
                ``name``, ``categoryId``, ``limit``, ``petId``. None means that the client did not send it.

        Raises:
            VerificationError: the number is wrong; if too small, the message lists near misses and why each differs.
            PetStoreMockError: there is no such operation or criterion.
            EvictedError: you passed criteria, and the journal dropped some requests.
        """
        __tracebackhide__ = True
        if times is not None:
            _check_count(times, 0)
        passed, message, matching = self.judge(Criteria(criteria, operation), times)
        if not passed:
            raise VerificationError(message)
        return matching

    def assert_not_called(
        self,
        operation: OperationName | None = None,
        **criteria: Any,  # each criterion checks its own value
    ) -> None:
        """Assert that no request for ``operation`` met all ``criteria``; for None, no request at all.

        Raises:
            VerificationError: such a request arrived; the message lists the newest.
            PetStoreMockError: there is no such operation or criterion.
        """
        __tracebackhide__ = True
        self.assert_called(operation, 0, **criteria)

    def judge(self, asked: Criteria, times: int | None) -> tuple[bool, str, list[Exchange]]:
        """Return whether an assertion holds, its message, and the matching requests that the journal keeps."""
        if asked.asked and self.evicted:
            raise self.lost()
        matching = self._matching(asked)
        count = self.count_of(asked)
        claim = "at least once"
        wanted = max(count, 1)
        if times is not None:
            claim = _times(times)
            wanted = times
        shown = [] if count == wanted else matching
        message = self._message(asked.claim_of(claim), count, shown, asked, nearest=count < wanted)
        return count == wanted, message, matching

    def _message(self, claim: str, count: int, shown: Sequence[Exchange], asked: Criteria, *, nearest: bool) -> str:
        """Return the message of an assertion: the claim, the requests that match, and the near misses."""
        lines = [f"{claim}; matching requests: {count} of {self.total}"]
        if shown:
            title = "the journal keeps these:" if self.evicted else "these match:"
            lines += [title, *(f"  {text}" for text in request_lines(shown[-2 * _SHOWN :]))]
        if nearest:
            lines += self._near_misses(asked, has_matches=count > 0)
        return mask_text("\n".join(lines), self._keys())

    def _near_misses(self, asked: Criteria, *, has_matches: bool) -> list[str]:
        """Return lines about the requests that differ least from the criteria, and how they differ."""
        differences = {exchange: asked.differences(exchange) for exchange in self.kept}
        misses = [*filter(differences.__getitem__, reversed(differences))]
        of_operation = [*filter(asked.concerns, misses)]
        if of_operation or has_matches:
            misses = of_operation
        if not misses:
            return []
        # Of requests with as many differences, the newest comes first.
        misses.sort(key=lambda exchange: len(differences[exchange]))
        del misses[_SHOWN:]
        texts = zip(request_lines(misses), misses, strict=True)
        return ["near misses:", *(f"  {text}: {'; '.join(differences[exchange])}" for text, exchange in texts)]

    # Waiting

    def wait_for(
        self,
        operation: OperationName | None = None,
        times: int = 1,
        timeout: float = 1.0,
        **criteria: Any,
    ) -> list[Exchange]:
        """Wait until at least ``times`` requests for ``operation`` have arrived since the reset, and return them.

        A request counts once the fake has decided about it, even if its response is held back. With an HTTP status
        as a criterion, a request counts once its response has gone out.

        Args:
            operation: the operation; None for any request.
            times: the minimum number of requests.
            timeout: seconds to wait.
            criteria: the criteria of :meth:`assert_called`.

        Raises:
            VerificationError: fewer requests arrived before the timeout.
            PetStoreMockError: an argument is invalid, or an event loop runs in this thread.
            EvictedError: the result depends on requests that the journal dropped.
        """
        __tracebackhide__ = True
        refuse_in_a_task()
        asked = _checked(operation, times, timeout, criteria)
        self._wait(asked, times, timeout)
        return self._waited(asked, times, timeout)

    async def wait_for_async(
        self,
        operation: OperationName | None = None,
        times: int = 1,
        timeout: float = 1.0,  # as wait_for() has it
        **criteria: Any,
    ) -> list[Exchange]:
        """Wait as :meth:`wait_for` does, in a task of asyncio, trio or anyio. Other tasks run meanwhile."""
        __tracebackhide__ = True
        asked = _checked(operation, times, timeout, criteria)
        return await self._waited_async(asked, times, timeout)

    async def _waited_async(self, asked: Criteria, times: int, timeout: float) -> list[Exchange]:
        """Wait in this task; the remote journal overrides this and lets a thread ask the door."""
        __tracebackhide__ = True
        signal = signal_of_this_task()
        deadline = monotonic() + timeout
        with self._watching(asked, signal.set) as watch:
            alarms.add(watch, deadline, signal.set)
            try:
                while not self._is_decided(watch, asked, times) and monotonic() < deadline:
                    await signal.wait()
            finally:
                alarms.remove(watch)
        return self._waited(asked, times, timeout)

    def _waited(self, asked: Criteria, times: int, timeout: float) -> list[Exchange]:
        """Return the result of a wait that has ended."""
        __tracebackhide__ = True
        matching = self._matching(asked)
        if len(matching) >= times:
            return matching
        if self.evicted:
            raise self.lost()
        claim = f"{asked.claim_of(_times(times))} within {timeout:g} s"
        raise VerificationError(self._message(claim, len(matching), matching, asked, nearest=True))

    def _wait(self, asked: Criteria, times: int, timeout: float) -> None:
        """Wait in this thread; the remote journal overrides this and waits at the door."""
        self.wait_until(asked, times, timeout)

    def wait_until(
        self, asked: Criteria, times: int, timeout: float, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        """Block until the number of requests is known, at most ``timeout`` seconds, or until ``is_over()`` is true.

        Nothing announces that ``is_over()`` has become true, so this looks now and then.
        """
        happened = Event()
        deadline = monotonic() + timeout
        with self._watching(asked, happened.set) as watch:
            while not is_over() and not self._is_decided(watch, asked, times):
                left = deadline - monotonic()
                if left <= 0:
                    return
                happened.wait(min(left, _LOOK))
                happened.clear()

    def _is_decided(self, watch: Watch, asked: Criteria, times: int) -> bool:
        """Whether enough requests match, or the result depends on dropped requests."""
        count = watch.count()
        if not asked.asked:
            return self.count_of(asked) >= times
        return count >= times or self.evicted > 0

    @contextmanager
    def _watching(self, asked: Criteria, wake: Callable[[], object]) -> Generator[Watch]:
        """Count the requests that arrived and that arrive during a block."""
        watch = Watch(asked, wake)
        self._watches[watch] = None
        try:
            clears = None
            # The first look may find requests that another thread clears in the meantime.
            while clears != self.clears:
                clears = self.clears
                watch.notify(None)
                for exchange in self.kept:
                    watch.notify(exchange)
            yield watch
        finally:
            del self._watches[watch]

    def _matching(self, asked: Criteria) -> list[Exchange]:
        return [*filter(asked.matches, self.kept)]

    def count_of(self, asked: Criteria) -> int:
        """Return the number of matching requests. Without criteria, dropped requests count as well."""
        if asked.asked:
            return len(self._matching(asked))
        if asked.operation is None:
            return self.total
        return self.counts[asked.operation]

    # Export

    def to_har(self, path: str | PathLike[str]) -> None:
        """Write the exchanges to the file ``path`` as an HTTP Archive (HAR 1.2).

        The developer tools of browsers open such files.

        Raises:
            EvictedError: the journal dropped some requests.
            PetStoreMockError: the file can't be written.
        """
        write_text(path, har_parts(self._all(), indent=2))


def _checked(operation: str | None, times: int, timeout: float, criteria: Mapping[str, object]) -> Criteria:
    """Return the criteria of a wait, after a check of its other arguments."""
    _check_count(times, 1)
    in_range = is_number(timeout) and 0 <= timeout <= _LONGEST_WAIT
    require(in_range, f"timeout in seconds, 0 to {_LONGEST_WAIT:g}", timeout=timeout)
    return Criteria(criteria, operation)


def _check_count(times: object, least: int) -> None:
    require(is_integer(times) and times >= least, f"times as a whole number of at least {least}", times=times)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
