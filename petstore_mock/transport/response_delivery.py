"""Puts answers on the wire: how one is framed, and how one is held back or spoilt on purpose.

An answer that goes out whole and at once never comes here but for its framing. Every other one is a :class:`Held`:
it waits by timers of the loop, so it costs no thread and delays nobody else.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, Protocol

from petstore_mock.common.real_time import RealTime
from petstore_mock.messages.content_coding import coded
from petstore_mock.messages.response import UNSIZED_STATUSES

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse, Delivery, Waits
    from petstore_mock.transport.request_parsing import RequestHead

__all__ = ["Carrier", "Held", "frame"]

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
        chunked: overrides what ``response.dress`` says.
    """
    coding, body = coded(head.fields, response)
    lines = [response.head.wire, *(f"{name}: {value}\r\n".encode() for name, value in coding)]
    lines += (b"Date: ", response.date, b"\r\n")
    if response.head.status in UNSIZED_STATUSES:
        body = b""
    elif (response.dress.chunked if chunked is None else chunked) and head.modern and not head.bodiless:
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
    return _in_lower_case(wire) if response.dress.lower_case else wire, b"" if head.bodiless else body


class Carrier(Protocol):
    """What a held answer needs of its connection."""

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


class Held:
    """One answer that is held back, or that a fault delivers; it ends exactly once."""

    __slots__ = (
        "_carrier",
        "_ended",
        "_head",
        "_outcome",
        "_payload",
        "_request",
        "_response",
        "_sent",
        "_since",
        "_timer",
        "_waits",
    )

    def __init__(self, carrier: Carrier, head: RequestHead, request: ApiRequest, response: ApiResponse) -> None:
        self._carrier = carrier
        self._head = head
        self._request = request
        self._response = response
        self._timer: asyncio.TimerHandle | None = None
        self._waits: Waits | None = None
        self._ended = False
        self._outcome: str | None = None
        self._payload = b""
        self._sent = 0
        self._since = 0.0

    def begin(self) -> None:
        """Wait as long as the answer says, then let it happen."""
        self._register(self._response.waits)
        if self._response.delay > 0:
            self._outcome = "delayed"
            self._timer = self._carrier.loop.call_later(self._response.delay, self._due)
        else:
            self._due()

    def gone(self) -> None:
        """Learn that the client has closed the connection."""
        if not self._ended:
            self._give_up("client gone")

    def release(self) -> None:
        """End the waiting and the connection with it; any thread may call this, at any time."""
        with contextlib.suppress(RuntimeError):  # the loop is closed, and every connection with it
            self._carrier.loop.call_soon_threadsafe(self.released)

    def released(self) -> None:
        """End the waiting now; for the loop's own thread."""
        if not self._ended:
            self._give_up("reset")
            self._carrier.reset()

    def _register(self, waits: Waits | None) -> None:
        if waits is not self._waits:
            if self._waits is not None:
                self._waits.discard(self.release)
            self._waits = waits
            if waits is not None:
                waits.add(self.release)

    def _end(self, outcome: str | None) -> None:
        """Stop waiting, and complete the journal's entry before the client can see the end."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        self._register(None)
        self._record(outcome)

    def _give_up(self, outcome: str) -> None:
        self._end("hang" if self._outcome == "hang" else outcome)

    def _record(self, outcome: str | None) -> None:
        self._outcome = outcome
        entry = self._response.entry
        if entry is not None:
            entry.outcome = outcome
            entry.duration = RealTime.perf_counter() - self._request.started

    def _due(self) -> None:
        response = self._response
        if response.resume is not None:
            try:
                self._response = response.resume()
            except Exception as error:  # noqa: BLE001  # a bug in the core: answered 500 and reported
                self._response = self._carrier.failed(error, self._request)
            self.begin()
        elif response.delivery is None:
            self._end(self._outcome)
            self._carrier.send_whole(self._head, response)
        else:
            self._deliver(response.delivery)

    def _deliver(self, delivery: Delivery) -> None:
        """Do what the fault says."""
        carrier = self._carrier
        match delivery.kind:
            case "hang":
                self._record("hang")
                carrier.ignore_input()
            case "reset":
                self._end("reset")
                carrier.reset()
            case "empty_reply":
                self._end("empty reply")
                carrier.finish()
            case "truncate":
                self._end("truncated")
                self._truncate(delivery.value)
            case "malformed_chunk":
                self._end("malformed chunk")
                self._malform()
            case _:  # dribble
                self._begin_dribble(delivery.value)

    def _truncate(self, fraction: float) -> None:
        wire, body = frame(self._head, self._response, closing=False, chunked=False)
        kept = max(0, min(int(len(body) * fraction), len(body) - 1))
        self._carrier.send(wire + body[:kept])
        self._carrier.finish()

    def _malform(self) -> None:
        wire, body = frame(self._head, self._response, closing=False, chunked=True)
        self._carrier.send(wire + b"no-chunk-size\r\n" + body if body else wire)
        self._carrier.finish()

    def _begin_dribble(self, rate: float) -> None:
        closing = self._response.dress.close or not self._head.keep_alive
        wire, self._payload = frame(self._head, self._response, closing=closing)
        self._since = self._carrier.loop.time()
        self._carrier.send(wire)
        self._dribble(rate)

    def _dribble(self, rate: float) -> None:
        """Send as much of the body as is due by now, and come again."""
        carrier = self._carrier
        due = min(int((carrier.loop.time() - self._since) * rate), len(self._payload))
        piece = self._payload[self._sent : due]
        self._sent = due
        if self._sent < len(self._payload):
            if piece:
                carrier.send(piece)
            self._timer = carrier.loop.call_later(max(_TICK, 1 / rate), self._dribble, rate)
            return
        self._end("dribbled")
        if piece:
            carrier.send(piece)
        if self._response.dress.close or not self._head.keep_alive:
            carrier.finish()
        else:
            carrier.proceed()
