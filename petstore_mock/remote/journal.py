"""The journal of a world elsewhere: what came is fetched at each question, and the question is answered here."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.masking import mask_field
from petstore_mock.common.real_time import RealTime
from petstore_mock.journal.journal import Journal
from petstore_mock.journal.record import entry_of, update_entry
from petstore_mock.journal.waiting import running_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.contract.interface import OperationName
    from petstore_mock.journal.entry import Entry
    from petstore_mock.messages.handshake import Handshake

__all__ = ["RemoteJournal"]

_PAGE: Final = 1000  # requests: as many as the door gives at once
_LONGEST_WAIT: Final = 20.0  # seconds of one question; the door takes 25


class RemoteJournal(Journal):
    """A journal that asks the door for what is new before it answers.

    Entries stay what they are once their answers are complete; those that are held back are told anew.

    Args:
        ask: sends a request to the world's door: method, path, and the keywords of ``Door.ask``.
        keys: gives the keys to be masked.
        handshakes: fetches the TLS handshakes.

    Attributes:
        their_clears: how often the numbers began anew, as the door counts; None if nothing was asked yet.
    """

    def __init__(
        self,
        ask: Callable[..., Any],
        keys: Callable[[], Iterable[str]],
        handshakes: Callable[[], tuple[Handshake, ...]],
    ) -> None:
        self._ask = ask
        self._fetch_handshakes = handshakes
        self._pulling = threading.RLock()
        self._busy = True  # while the base sets up
        self._over = False
        self._complete = 0  # the number of the last entry before the first that may still change
        self.their_clears: int | None = None
        super().__init__(keys=keys)
        self._busy = False

    @property
    def total(self) -> int:
        """The number of the latest entry."""
        self.pull()
        return self._total

    @total.setter
    def total(self, total: int) -> None:
        self._total = total

    @property
    def handshakes(self) -> tuple[Handshake, ...]:
        """The TLS handshakes of the connections that were opened since the reset, in order; of the default world alone.

        As at home: see :attr:`Journal.handshakes`. Once the world is over there are none.

        Raises:
            PetStoreMockError: the world has an address of its own (``/w/NAME``): a handshake names no world.
        """
        return () if self._over else self._fetch_handshakes()

    def _kept(self) -> tuple[Entry, ...]:
        self.pull()
        return super()._kept()

    def begin_anew(self) -> None:
        """Forget what came: the world was made, or reset."""
        with self._pulling:
            self._forget()
            self._over = False

    def end(self) -> None:
        """Ask no more: the world is over."""
        self._over = True

    def _forget(self) -> None:
        super().clear()
        self._complete = 0
        self.their_clears = None

    def pull(self) -> None:
        """Fetch what is new.

        Raises:
            PetStoreMockError: nobody answers, or the world is gone.
        """
        with self._pulling:
            if self._busy or self._over:
                return
            self._busy = True
            try:
                self._fetch()
            finally:
                self._busy = False

    def _fetch(self) -> None:
        after = self._complete
        while True:
            page = self._ask("GET", "requests", query={"after": after, "limit": _PAGE, "record": "true"})
            if self.their_clears is not None and self._began_anew(page):
                self._forget()
                if after:  # what was asked for stood behind numbers of before
                    after = 0
                    continue
            self.their_clears = page["clears"]
            self._take([one["record"] for one in page["requests"]])
            if len(page["requests"]) < _PAGE:
                break
            after = page["requests"][-1]["number"]
        pending = (entry.number for entry in self._entries if _is_pending(entry))
        self._complete = min(pending, default=self._total + 1) - 1

    def _began_anew(self, page: dict[str, Any]) -> bool:
        """Say whether somebody else has reset the world, or made it anew, since the last look."""
        return bool(page["clears"] != self.their_clears or page["total"] < self._total)

    def _take(self, records: list[dict[str, Any]]) -> None:
        known = {entry.number: entry for entry in self._entries}
        for record in records:
            entry = known.get(record["number"])
            if entry is not None:
                update_entry(entry, record)
                continue
            if record["number"] > self._total + 1:
                self._skip_to(record["number"])
            self.add(entry_of(record))

    def _skip_to(self, number: int) -> None:
        """Go on behind requests that are gone before they were seen; violations among them are counted as lost."""
        self._gone_violations = tuple(self.violations)
        self._entries.clear()
        self.size = 0
        self._total = number - 1
        broken = self._ask("GET", "requests", query={"violations": "true"})["requests"]
        there = sum(one["number"] >= number for one in broken)
        self._lost_violations = max(0, self._ask("GET", "world")["violations"] - there - len(self._gone_violations))

    def assert_called(
        self,
        operation: OperationName | None = None,
        times: int | None = None,
        **criteria: Any,  # noqa: ANN401  # as the base's
    ) -> list[Entry]:
        """Assert that requests for ``operation`` came that meet all the ``criteria``, and return them.

        As at home: see :meth:`Journal.assert_called`. A key in ``headers`` is compared as it is shown, by its end.
        """
        __tracebackhide__ = True
        headers: object = criteria.get("headers")
        if isinstance(headers, Mapping):
            keys = tuple(self._keys())
            criteria["headers"] = {
                name: mask_field(name, value, keys) if isinstance(value, str) else value
                for name, value in headers.items()
            }
        return super().assert_called(operation, times, **criteria)

    # Waiting: the door waits, so that nobody asks again and again

    async def _wait_async(self, done: Callable[[], bool], operation: str | None, times: int, timeout: float) -> None:  # noqa: ASYNC109
        if running_loop() == "trio":
            import trio  # noqa: PLC0415  # the user's own

            await trio.to_thread.run_sync(self._wait, done, operation, times, timeout, abandon_on_cancel=True)
        else:
            import asyncio  # noqa: PLC0415  # as above

            await asyncio.to_thread(self._wait, done, operation, times, timeout)

    def _wait(self, done: Callable[[], bool], operation: str | None, times: int, timeout: float) -> None:
        deadline = RealTime.monotonic() + timeout
        while not done():
            left = deadline - RealTime.monotonic()
            if left <= 0 or self._over:
                return
            asked = {"operation": operation, "count": times, "timeout": min(left, _LONGEST_WAIT)}
            self._ask("POST", "requests/wait", asked, patience=_LONGEST_WAIT)


def _is_pending(entry: Entry) -> bool:
    """Say whether an entry may still change: its answer is held back, or on its way."""
    if entry.outcome == "delayed" or entry.response is None:
        return True
    return entry.outcome is None and entry.fault is not None and entry.fault.delivery is not None
