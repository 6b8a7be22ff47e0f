"""Records a streamed response of ``httpserver`` in its exchange while it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.common.real import Event
from petstore_mock.http.response import Response, StreamError
from petstore_mock.journal.exchange import KEPT_BODY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.http.handler import Pending
    from petstore_mock.http.response import Head
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.transport.listener import Parts


class RecordedParts:
    """The parts of a streamed body. The exchange keeps the first 64 KiB of them, and is complete when they end.

    A reset or a stop ends a stream that still goes on; so does a client that leaves.
    """

    def __init__(self, parts: Parts, head: Head, date: bytes, exchange: Exchange, pending: Pending) -> None:
        self._parts = parts
        self._head = head
        self._date = date
        self._exchange = exchange
        self._pending = pending
        self._released = Event()
        self._kept = bytearray()
        self._size = 0
        self._is_recorded = False
        pending.add(self._released.set)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._released.is_set():
            self._record("reset")
            raise StreamError
        try:
            part = next(self._parts)
        except StopIteration:
            self._record(None)
            raise
        except StreamError:
            self._record("truncated")
            raise
        self._size += len(part)
        self._kept += part[: KEPT_BODY - len(self._kept)]
        return part

    def close(self) -> None:
        """Release the code that makes the parts. A stream that has not ended was left by its client."""
        self._record("client gone")
        self._pending.discard(self._released.set)
        self._parts.close()

    def _record(self, outcome: str | None) -> None:
        if self._is_recorded:
            return
        self._is_recorded = True
        exchange = self._exchange
        exchange.response = Response(self._head, bytes(self._kept), self._date)
        exchange.cut_response = self._size - len(self._kept)
        exchange.complete(outcome, sent=True)
