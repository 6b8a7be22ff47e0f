"""Puts answers on the wire: how one is framed, and how one is held back or corrupted on purpose.

An answer that goes out whole and at once never comes here but for its framing. Every other one is a
:class:`DeferredDelivery`: it waits by timers of the loop, so it costs no thread and delays nobody else.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from petstore_mock.messages.deferred import DeferredResponse
from petstore_mock.messages.response import UNSIZED_STATUSES

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse, Delivery
    from petstore_mock.transport.request_parsing import RequestHead

__all__ = ["Connection", "DeferredDelivery", "frame"]

_CHUNKS: Final = 3  # enough that a client which reads one chunk only is found out
_TICK: Final = 0.01  # seconds between two pieces of a dribbled body, at least


def _in_lower_case(wire: bytes) -> bytes:
    """Write the field names of ``wire``, a status line with field lines, in lower case."""
    status, _, lines = wire.partition(b"\r\n")
    fields = (line.partition(b":") for line in lines.split(b"\r\n"))
    return status + b"\r\n" + b"\r\n".join(name.lower() + colon + value for name, colon, value in fields)


def _in_chunks(body: bytes) -> bytes:
    size = len(body) // _CHUNKS + 1
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (*pieces, b""))


def frame(
    head: RequestHead, response: ApiResponse, *, closing: bool, chunked: bool | None = None
) -> tuple[bytes, bytes]:
    """Return the head and the body of ``response`` as they go out in answer to ``head``.

    Args:
        head: the request; it decides on chunks (not in HTTP/1.0) and on the body (none for HEAD).
        response: the answer.
        closing: the connection ends after it.
        chunked: overrides what ``response.wire_format`` says.
    """
    body = response.body
    lines = [response.head.wire, b"Date: ", response.date, b"\r\n"]
    if response.head.status in UNSIZED_STATUSES:
        body = b""
    elif (response.wire_format.chunked if chunked is None else chunked) and head.modern and not head.bodiless:
        lines.append(b"Transfer-Encoding: chunked\r\n")
        body = _in_chunks(body)
    else:
        lines.append(b"Content-Length: %d\r\n" % len(body))
    if closing:
        lines.append(b"Connection: close\r\n")
    elif not head.modern:
        lines.append(b"Connection: keep-alive\r\n")
    lines.append(b"\r\n")
    wire = b"".join(lines)
    return _in_lower_case(wire) if response.wire_format.lower_case else wire, b"" if head.bodiless else body


class Connection(Protocol):
    """What a deferred delivery needs of its connection."""

    loop: asyncio.AbstractEventLoop
    send: Callable[[bytes], None]

    def send_whole(self, head: RequestHead, response: ApiResponse) -> None:
        """Send ``response`` whole, and go on with the next request or close, as it says."""

    def finish(self) -> None:
        """End the connection so that the client reads all that was sent."""

    def proceed(self) -> None:
        """Go on with the next request."""

    def reset(self) -> None:
        """End the connection with a RST."""

    def ignore_input(self) -> None:
        """Drop whatever the client still sends."""

    def failed(self, error: BaseException, request: ApiRequest) -> ApiResponse:
        """Answer for an exception inside the core."""


class DeferredDelivery:
    """One answer that is late, or that a fault delivers; it ends exactly once."""

    __slots__ = ("_connection", "_deferred", "_ended", "_hangs", "_head", "_payload", "_request", "_sent", "_timer")

    _deferred: DeferredResponse

    def __init__(self, connection: Connection, head: RequestHead, request: ApiRequest) -> None:
        self._connection = connection
        self._head = head
        self._request = request
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False
        self._hangs = False
        self._payload = b""
        self._sent = -1  # bytes of the body; less than none until the head has gone out

    def begin(self, deferred: DeferredResponse) -> None:
        """Wait as long as the response says, then let it happen."""
        self._deferred = deferred
        deferred.pending.add(self.release)
        if deferred.delay > 0:
            self._timer = self._connection.loop.call_later(deferred.delay, self._due)
        else:
            self._due()

    def gone(self) -> None:
        """Learn that the client has closed the connection."""
        if not self._ended:
            self._give_up("client gone")

    def release(self) -> None:
        """End the waiting and the connection with it; any thread may call this, at any time."""
        with contextlib.suppress(RuntimeError):  # the loop is closed, and every connection with it
            self._connection.loop.call_soon_threadsafe(self.released)

    def released(self) -> None:
        """End the waiting now; for the loop's own thread."""
        if not self._ended:
            self._give_up("reset")
            self._connection.reset()

    def _end(self, outcome: str, *, sent: bool) -> None:
        """Stop waiting, and complete the journal's entry before the client can see the end."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None  # which holds on to this
        self._deferred.pending.discard(self.release)
        self._deferred.completion.complete(outcome, sent=sent)

    def _give_up(self, outcome: str) -> None:
        self._end("hang" if self._hangs else outcome, sent=self._sent >= 0)

    def _due(self) -> None:
        self._timer = None
        deferred = self._deferred
        try:
            response = deferred.resume()
        except Exception as error:  # noqa: BLE001  # a bug in the core: answered 500 and reported
            response = self._connection.failed(error, self._request)
        if isinstance(response, DeferredResponse):
            deferred.pending.discard(self.release)
            self.begin(response)
        elif deferred.delivery is None:
            self._end("delayed", sent=True)
            self._connection.send_whole(self._head, response)
        else:
            self._deliver(deferred.delivery, response)

    def _deliver(self, delivery: Delivery, response: ApiResponse) -> None:
        """Do what the fault says."""
        connection = self._connection
        match delivery.kind:
            case "hang":
                self._hangs = True
                self._deferred.completion.complete("hang", sent=False)
                connection.ignore_input()
            case "reset":
                self._end("reset", sent=False)
                connection.reset()
            case "empty_reply":
                self._end("empty reply", sent=False)
                connection.finish()
            case "truncate":
                self._end("truncated", sent=True)
                self._truncate(response, delivery.value)
            case "malformed_chunk":
                self._end("malformed chunk", sent=True)
                self._malform(response)
            case _:  # dribble
                self._begin_dribble(response, delivery.value)

    def _truncate(self, response: ApiResponse, fraction: float) -> None:
        wire, body = frame(self._head, response, closing=False, chunked=False)
        kept = max(0, min(int(len(body) * fraction), len(body) - 1))
        self._connection.send(wire + body[:kept])
        self._connection.finish()

    def _malform(self, response: ApiResponse) -> None:
        wire, body = frame(self._head, response, closing=False, chunked=True)
        self._connection.send(wire + b"no-chunk-size\r\n" + body if body else wire)
        self._connection.finish()

    def _begin_dribble(self, response: ApiResponse, rate: float) -> None:
        closing = response.wire_format.close or not self._head.keep_alive
        wire, self._payload = frame(self._head, response, closing=closing)
        self._connection.send(wire)
        self._sent = 0
        self._dribble(rate, self._connection.loop.time(), closing=closing)

    def _dribble(self, rate: float, since: float, *, closing: bool) -> None:
        """Send as much of the body as is due by now, and come again."""
        connection = self._connection
        due = min(int((connection.loop.time() - since) * rate), len(self._payload))
        piece = self._payload[self._sent : due]
        self._sent = due
        if self._sent < len(self._payload):
            if piece:
                connection.send(piece)
            again = partial(self._dribble, rate, since, closing=closing)
            self._timer = connection.loop.call_later(max(_TICK, 1 / rate), again)
            return
        self._timer = None
        self._end("dribbled", sent=True)
        if piece:
            connection.send(piece)
        if closing:
            connection.finish()
        else:
            connection.proceed()
