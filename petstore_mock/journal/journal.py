"""The request journal: every request in order, with what was decided about it.

Entries are added under the world's lock, mostly in the listener's thread, while a test reads in its own. Readers take
no lock: ``tuple(deque)`` copies within one call into C, and the rare copy that meets an append is made again. What was
answered before a read is in it, since an entry is added before its answer goes out.
"""

from __future__ import annotations

import math
import threading
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any, Final, overload

from petstore_mock.common.masking import mask_text
from petstore_mock.common.paths import write_text
from petstore_mock.common.wording import counted
from petstore_mock.contract.interface import require_operation
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.journal.criteria import Criteria
from petstore_mock.journal.har import write_har
from petstore_mock.journal.rendering import render_line
from petstore_mock.journal.waiting import running_loop, wait_async, wait_blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from petstore_mock.contract.interface import OperationName
    from petstore_mock.contract.schemas import Schemas
    from petstore_mock.journal.entry import Entry
    from petstore_mock.messages.handshake import Handshake

__all__ = ["EvictedError", "Journal"]

# A test that looks back further than this has lost sight of it; and a million requests must not fill the memory.
FIXTURE_LIMIT: Final = 10_000
BYTES_LIMIT: Final = 32 * 1024 * 1024

# Of what is gone, the violations stay: a test answers for them however many requests came since.
KEPT_VIOLATIONS: Final = 1_000
_KEPT_VIOLATIONS_BYTES: Final = 4 * 1024 * 1024

_LONGEST_WAIT: Final = 86400.0  # seconds: the operating system can't wait for any number of them
_SHOWN: Final = 5  # requests that a failing assertion lists: what is meant is among the nearest, or in none


class EvictedError(PetStoreMockError):
    """What is asked depends on requests that are gone."""


class Journal:
    """Every request of one world in order: ``journal[0]`` is the first since the reset, ``len`` counts all of them.

    A request is in it from the moment at which the fake has decided, before its answer goes out; one whose answer is
    held back has the status None until then. Keys are masked.

    The number of entries is bounded, the oldest go first. A test is never told half the truth: a question whose answer
    could depend on entries that are gone raises ``PetStoreMockError``. With ``ring`` what is gone is gone.

    Args:
        limit: how many entries are kept.
        ring: whether old entries may go silently, as in a stub that runs for days.
        keys: gives the keys to be masked wherever an entry shows them.
        schemas: say which arguments the operations have; those that ship unless given.
    """

    __slots__ = (
        "_entries",
        "_gone_by_operation",
        "_gone_violations",
        "_gone_violations_size",
        "_handshakes",
        "_keys",
        "_limit",
        "_listening",
        "_lost_violations",
        "_ring",
        "_schemas",
        "clears",
        "listeners",
        "secure",
        "size",
        "total",
    )

    def __init__(
        self,
        limit: int = FIXTURE_LIMIT,
        *,
        ring: bool = False,
        keys: Callable[[], Iterable[str]] = tuple,
        schemas: Schemas | None = None,
    ) -> None:
        self._entries: deque[Entry] = deque()
        self._limit = limit
        self._ring = ring
        self._keys = keys
        self._schemas = schemas
        self.size = 0  # about how many bytes the entries hold on to
        self._gone_by_operation: defaultdict[str | None, int] = defaultdict(int)
        self._gone_violations: tuple[Entry, ...] = ()  # replaced, never changed: readers take no lock
        self._gone_violations_size = 0
        self._lost_violations = 0
        # Replaced, never changed: `add` reads it without a lock.
        self.listeners: tuple[Callable[[Entry], object], ...] = ()
        self._listening = threading.Lock()
        self.total = 0  # the number of the latest entry
        self.clears = 0  # how often the numbers began anew
        self.secure = False  # whether requests came over TLS
        self._handshakes: deque[Handshake] = deque(maxlen=limit)

    def __repr__(self) -> str:
        return f"<Journal of {counted(self.total, 'request')}>"

    # Recording

    def add(self, entry: Entry) -> None:
        """Append an entry; its number is the next one. The world's lock is held."""
        # Another number than it was made with if a `when` has reset the world.
        entry.number = number = self.total + 1
        entry.keys = self._keys
        if self.secure:
            entry.secure = True
        entry.weight = weight = entry.weigh()
        self.size += weight
        entries = self._entries
        entries.append(entry)
        self.total = number  # last: who reads without the lock finds as many as are counted
        if len(entries) > self._limit or self.size > BYTES_LIMIT:
            self._evict()
        for listener in self.listeners:
            listener(entry)

    def add_handshake(self, handshake: Handshake) -> None:
        """Append a TLS handshake that has begun. The world's lock is held."""
        self._handshakes.append(handshake)

    def weigh_again(self, entry: Entry) -> None:
        """Count what ``entry`` has come to hold: its answer was held back and is there. The world's lock is held."""
        entries = self._entries
        at = entry.number - entries[0].number if entries else -1
        if not 0 <= at < len(entries) or entries[at] is not entry:
            return  # gone meanwhile
        weight = entry.weigh()
        self.size += weight - entry.weight
        entry.weight = weight
        self._evict()

    def _evict(self) -> None:
        entries, limit = self._entries, self._limit
        while (len(entries) > limit or self.size > BYTES_LIMIT) and len(entries) > 1:
            gone = entries.popleft()
            self.size -= gone.weight
            self._gone_by_operation[gone.request.operation] += 1
            if gone.condition is not None and gone.is_violation:
                self._evict_violation(gone)

    def _evict_violation(self, gone: Entry) -> None:
        weight = self._gone_violations_size + gone.weight
        if len(self._gone_violations) < KEPT_VIOLATIONS and weight <= _KEPT_VIOLATIONS_BYTES:
            self._gone_violations = (*self._gone_violations, gone)
            self._gone_violations_size = weight
        else:
            self._lost_violations += 1

    def clear(self) -> None:
        """Forget every entry; numbers begin at 1 again. The world's lock is held."""
        self._entries.clear()
        self._handshakes.clear()
        self.size = 0
        self._gone_by_operation.clear()
        self._gone_violations = ()
        self._gone_violations_size = self._lost_violations = 0
        self.total = 0
        self.clears += 1

    def listen(self, listener: Callable[[Entry], object]) -> None:
        """Call ``listener`` with each new entry, in the thread that adds it; it must be quick and must not raise."""
        with self._listening:
            self.listeners = (*self.listeners, listener)

    def unlisten(self, listener: Callable[[Entry], object]) -> None:
        """Call ``listener`` no more."""
        with self._listening:
            self.listeners = tuple(other for other in self.listeners if other != listener)

    # Reading

    @property
    def handshakes(self) -> tuple[Handshake, ...]:
        """The TLS handshakes of the connections that were opened since the reset, in order; the latest, of too many.

        Each has ``connection``, ``outcome``, ``alert`` and ``flaw``, what a fault did to it.
        """
        return tuple(self._handshakes)

    def _kept(self) -> tuple[Entry, ...]:
        """Return the entries that are still here, as of one moment."""
        while True:
            try:
                return tuple(self._entries)
            except RuntimeError:  # an append came between; the next copy meets none, or the one after
                continue

    @property
    def kept(self) -> list[Entry]:
        """The entries that are still here, the oldest first, whatever is gone; for who shows and asserts nothing."""
        return list(self._kept())

    def _gone(self, kept: Sequence[Entry]) -> int:
        """Return how many entries came before ``kept``, as far as that can make an answer wrong."""
        return 0 if self._ring or not kept else kept[0].number - 1

    def _all(self) -> tuple[Entry, ...]:
        """Return every entry since the reset.

        Raises:
            PetStoreMockError: some of them are gone.
        """
        kept = self._kept()
        if self._gone(kept):
            raise self._lost(kept)
        return kept

    def _lost(self, kept: Sequence[Entry]) -> PetStoreMockError:
        return PetStoreMockError(
            f"expected a question that the latest {len(kept)} requests can answer; the journal keeps {self._limit} "
            f"requests or {BYTES_LIMIT >> 20} MiB, and {kept[0].number - 1} earlier ones are gone: "
            "ask sooner, or reset() in between"
        )

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        """Return the entry at ``index``, from 0, or the entries of a slice.

        Raises:
            IndexError: there was no such request.
            PetStoreMockError: it is gone.
        """
        kept = self._kept()
        total = kept[-1].number if kept else 0
        first = kept[0].number - 1 if kept else 0
        if isinstance(index, slice):
            wanted = range(total)[index]
            if not self._ring and wanted and min(wanted[0], wanted[-1]) < first:
                raise self._lost(kept)
            return [kept[at - first] for at in wanted if at >= first]
        at = index + total if index < 0 else index
        if not 0 <= at < total:
            raise IndexError(f"expected an index of one of {counted(total, 'request')}; got {index}")
        if at < first:
            raise IndexError(f"request {at + 1} is gone: a ring keeps the latest") if self._ring else self._lost(kept)
        return kept[at - first]

    @property
    def last(self) -> Entry:
        """The latest entry.

        Raises:
            PetStoreMockError: no request came yet.
        """
        if not self.total:
            raise PetStoreMockError("expected a request before journal.last; none came yet")
        return self[-1]

    @property
    def violations(self) -> list[Entry]:
        """The entries in which the client broke the contract.

        Raises:
            PetStoreMockError: some of them are gone.
        """
        kept = self._kept()
        if self._lost_violations and self._gone(kept):
            raise self._lost(kept)
        first = kept[0].number if kept else math.inf  # one may have gone between the two looks
        gone = [entry for entry in self._gone_violations if entry.number < first]
        return [*gone, *(entry for entry in kept if entry.is_violation)]

    @property
    def violation_count(self) -> int:
        """How many requests broke the contract, those that are gone included."""
        kept = sum(entry.is_violation for entry in self._kept())
        return kept + len(self._gone_violations) + self._lost_violations

    def count(self, operation: str | None = None) -> int:
        """Return how many requests came for ``operation``, those that are gone included; None for all.

        Raises:
            PetStoreMockError: the interface has no such operation (suggests the nearest).
        """
        if operation is None:
            return self.total
        name = require_operation(operation).name
        kept = sum(entry.operation == name for entry in self._kept())
        return kept + self._gone_by_operation.get(name, 0)

    def for_operation(self, operation: OperationName) -> list[Entry]:
        """Return the entries of the requests that the route led to ``operation``, refused ones included.

        Raises:
            PetStoreMockError: the interface has no such operation (suggests the nearest), or entries are gone.
        """
        name = require_operation(operation).name
        return [entry for entry in self._all() if entry.operation == name]

    # Asserting

    def assert_called(
        self,
        operation: OperationName | None = None,
        times: int | None = None,
        **criteria: Any,  # noqa: ANN401  # each criterion checks its own value
    ) -> list[Entry]:
        """Assert that requests for ``operation`` came that meet all the ``criteria``, and return them.

        Args:
            operation: the operation; any request unless given.
            times: how many exactly; None for one or more.
            criteria: ``status`` (an int is the HTTP status, text is the argument), ``json``, ``body``, ``query``,
                ``headers`` (those named, letter case of names aside), ``method``, ``path``, ``fault`` (its kind),
                ``condition`` (why it was refused), and any argument by the interface's own name: ``name``,
                ``categoryId``, ``limit``, ``petId``; None means that it was not sent.

        Raises:
            VerificationError: they did not; lists the nearest requests and why each differs.
            PetStoreMockError: no such operation or criterion, or the answer depends on entries that are gone.
        """
        __tracebackhide__ = True
        if times is not None:
            _check_count(times, 0)
        asked = Criteria(operation, criteria, self._schemas)
        kept = self._kept()
        found = [entry for entry in kept if asked.matches(entry)]
        if self._gone(kept) and (not found if times is None else len(found) <= times):
            raise self._lost(kept)
        if found if times is None else len(found) == times:
            return found
        claim = f"expected {asked.claim('at least once' if times is None else _times(times))}"
        too_few = times is None or len(found) < times
        raise VerificationError(self._mask(_failure(claim, kept, found, asked if too_few else None)))

    def check(self, operation: str | None, times: int | None, where: Mapping[str, Any]) -> tuple[bool, str]:
        """Say whether what :meth:`assert_called` asserts is so, and in words what came; counts what is gone, too.

        Args:
            operation: the operation; None for any request.
            times: how many exactly; None for one or more.
            where: the criteria.

        Raises:
            EvictedError: the criteria would have to be held against requests that are gone.
            PetStoreMockError: no such operation or criterion.
        """
        asked = Criteria(operation, where, self._schemas)
        kept = self._kept()
        gone = self.total - len(kept)
        if where and gone:
            raise EvictedError(
                f"expected criteria for requests that are still here; {gone} of {self.total} are gone: "
                "assert sooner, keep more requests, or make a world a test"
            )
        found = [entry for entry in kept if asked.matches(entry)]
        count = len(found) if where else self.count(asked.operation)
        passed = count > 0 if times is None else count == times
        claim = asked.claim("at least once" if times is None else _times(times))
        if passed:
            return True, f"expected {claim}; it came {_times(count)}"
        too_few = times is None or count < times
        return False, self._mask(_failure(f"expected {claim}", kept, found, asked if too_few else None))

    def assert_not_called(self, operation: OperationName | None = None) -> None:
        """Assert that no request for ``operation`` came; without one, no request at all.

        Raises:
            VerificationError: one came; lists those that did.
            PetStoreMockError: no such operation, or the answer depends on entries that are gone.
        """
        __tracebackhide__ = True
        asked = Criteria(operation, {})
        kept = self._kept()
        found = [entry for entry in kept if asked.matches(entry)]
        if found:
            claim = f"expected no {operation or 'request'}"
            raise VerificationError(self._mask(_failure(claim, kept, found, None)))
        if self._gone(kept):
            raise self._lost(kept)

    def _mask(self, text: str) -> str:
        return mask_text(text, self._keys())

    # Waiting

    def wait_for(self, operation: OperationName | None = None, times: int = 1, timeout: float = 1.0) -> list[Entry]:
        """Wait until ``times`` requests for ``operation`` have come since the reset, and return them.

        A request has come once the fake has decided about it, even if its answer is still held back.

        Args:
            operation: the operation; None for any request.
            times: how many, at least.
            timeout: seconds to wait.

        Raises:
            VerificationError: fewer came in time.
            PetStoreMockError: an argument can't be right, entries are gone, or an event loop runs in this thread.
        """
        __tracebackhide__ = True
        loop = running_loop()
        if loop is not None:
            raise PetStoreMockError(
                f"expected wait_for() outside of an event loop, which it would block; {loop} runs in this thread: "
                "await journal.wait_for_async(...) instead"
            )
        done, result = self._waiting_for(operation, times, timeout)
        self._wait(done, operation, times, timeout)
        return result()

    async def wait_for_async(
        self,
        operation: OperationName | None = None,
        times: int = 1,
        timeout: float = 1.0,  # noqa: ASYNC109  # the blocking one's twin
    ) -> list[Entry]:
        """Wait as :meth:`wait_for` does, under asyncio or trio."""
        __tracebackhide__ = True
        done, result = self._waiting_for(operation, times, timeout)
        await self._wait_async(done, operation, times, timeout)
        return result()

    # A journal of a stub elsewhere waits otherwise, and asks for what it waits for.

    def _wait(self, done: Callable[[], bool], _operation: str | None, _times: int, timeout: float) -> None:
        wait_blocking(self, done, timeout)

    async def _wait_async(self, done: Callable[[], bool], _operation: str | None, _times: int, timeout: float) -> None:  # noqa: ASYNC109
        await wait_async(self, done, timeout)

    def _waiting_for(
        self, operation: OperationName | None, times: int, timeout: float
    ) -> tuple[Callable[[], bool], Callable[[], list[Entry]]]:
        """Return what says whether a wait is over, and what returns its entries or raises."""
        _check_count(times, 1)
        _check_timeout(timeout)
        asked = Criteria(operation, {})

        def done() -> bool:
            return self.total >= times and sum(map(asked.matches, self._kept())) >= times

        def result() -> list[Entry]:
            __tracebackhide__ = True
            kept = self._kept()
            found = [entry for entry in kept if asked.matches(entry)]
            if len(found) >= times:
                return found
            if self._gone(kept):
                raise self._lost(kept)
            claim = f"expected {asked.claim(_times(times))} within {timeout:g} s"
            raise VerificationError(self._mask(_failure(claim, kept, found, asked)))

        return done, result

    # Handing on

    def to_har(self, path: str | PathLike[str], *, base_url: str | None = None) -> None:
        """Write the entries as an HTTP Archive (HAR 1.2), which browsers' developer tools open.

        Args:
            path: the file; an existing one is replaced.
            base_url: scheme and host of the URLs; by default each request's own ``Host``.

        Raises:
            PetStoreMockError: entries are gone, or the file can't be written.
        """
        write_har(path, self._all(), base_url=base_url)

    def to_svg(self, path: str | PathLike[str] | None = None, *, last: int = 50) -> str:
        """Draw the exchange of client and service: requests, answers, commits, faults, retries and time.

        Args:
            path: a file to write it to as well; an existing one is replaced.
            last: draw so many requests, the latest; earlier ones are counted.

        Returns:
            The picture, as the text of an SVG file.

        Raises:
            PetStoreMockError: ``last`` is no count, or the file can't be written.
        """
        from petstore_mock.journal.exchange_svg import exchange_svg  # noqa: PLC0415  # few tests draw

        _check_count(last, 1, "last")
        svg = exchange_svg(self._kept()[-last:])
        if path is not None:
            write_text(path, svg)
        return svg


def _check_count(count: Any, least: int, name: str = "times") -> None:  # noqa: ANN401  # checks whatever a test passes
    if isinstance(count, bool) or not isinstance(count, int) or count < least:
        raise PetStoreMockError(
            f"expected {name} as a whole number of at least {least}; got {name}={count!r} ({type(count).__name__})"
        )


def _check_timeout(timeout: Any) -> None:  # noqa: ANN401
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 <= timeout <= _LONGEST_WAIT:
        raise PetStoreMockError(
            f"expected timeout in seconds, 0 to {_LONGEST_WAIT:g}; got timeout={timeout!r} ({type(timeout).__name__})"
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _failure(claim: str, kept: Sequence[Entry], found: Sequence[Entry], nearest: Criteria | None) -> str:
    """Say what came instead: the requests that match, and, with ``nearest``, the misses that come nearest to it."""
    if found:
        came = f"it came {_times(len(found))}, among {counted(len(kept), 'request')}"
    else:
        came = f"it never came, but {counted(len(kept), 'other request')} did" if kept else "no request came"
    lines = [f"{claim}; {came}"]
    if found:
        lines.append("these came:")
        lines += [f"  {render_line(entry, numbered=True)}" for entry in found[-2 * _SHOWN :]]
    if nearest is not None:
        lines += _misses(nearest, kept, bool(found))
    return "\n".join(lines)


def _misses(asked: Criteria, kept: Sequence[Entry], some_matched: bool) -> list[str]:  # noqa: FBT001  # private
    """Return a line for each of the nearest misses, with the reasons why it differs."""
    missed = [(asked.differences(entry), entry) for entry in kept]
    missed = [(differences, entry) for differences, entry in missed if differences]
    # Another operation is worth a line only if the right one was never called.
    right = [miss for miss in missed if asked.operation in {None, miss[1].operation}]
    missed = right if right or some_matched else missed
    missed.sort(key=lambda miss: (len(miss[0]), -miss[1].number))
    lines = [
        f"  {render_line(entry, numbered=True, reason=False)}: {'; '.join(differences)}"
        for differences, entry in missed[:_SHOWN]
    ]
    more = [f"  and {len(missed) - _SHOWN} more"] if len(missed) > _SHOWN else []
    title = "the nearest others:" if some_matched else "the nearest:"
    return [title, *lines, *more] if lines else []
