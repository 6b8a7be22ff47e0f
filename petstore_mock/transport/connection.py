"""One client's connection: reads requests, has them answered in order, and ends cleanly."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from ssl import SSLError
from typing import TYPE_CHECKING, Final

from petstore_mock.common.real import perf_counter
from petstore_mock.http.deferred import Deferred
from petstore_mock.http.framing import frame
from petstore_mock.http.request import UNASKED_BODY, ApiRequest
from petstore_mock.http.response import PLAIN, UNSIZED_STATUSES, Response
from petstore_mock.transport.delivery import BlockingCall, Line, Waiting
from petstore_mock.transport.reading import Head, Reader, RequestError
from petstore_mock.transport.tls import words_of

if TYPE_CHECKING:
    import asyncio

    from petstore_mock.http.handler import Handler

_INPUT_LIMIT: Final = 64 * 1024  # bytes that are read ahead while a response is held or not taken
_LINGER_BYTES: Final = 256 * 1024 * 1024  # a client that sends its whole body first can still read its refusal
_KNOWN: Final = 4096  # requests that are remembered ...
_KNOWN_SIZE: Final = 2048  # ... and the longest of them, in bytes
_VERSIONS: Final = ("HTTP/1.0", "HTTP/1.1")
_KEPT_WIRE: Final = 16 * 1024  # bytes of a response that is kept as one write


@dataclass
class Limits:
    """Seconds: for a whole head, for more of a body, for an idle client, and for a client to close after we have."""

    head: float = 10.0
    body: float = 10.0
    idle: float = 75.0
    linger: float = 2.0


@dataclass
class Shared:
    """What the connections of one server have in common. ``known`` has the whole requests that came before."""

    handler: Handler
    limits: Limits
    over_tls: bool
    connections: set[Connection] = field(default_factory=set["Connection"])
    known: dict[bytes, tuple[Head, bytes]] = field(default_factory=dict[bytes, "tuple[Head, bytes]"])


class Connection(Line):
    """One client's connection, on which HTTP is spoken; a ``refusal`` is for all that the client sends.

    At any time it waits for a request or the rest of one, or its response is held (``_held``), or it is over, and
    further input is dropped (``draining``).
    """

    def __init__(self, shared: Shared, loop: asyncio.AbstractEventLoop, number: int, refusal: str = "") -> None:
        super().__init__(loop)
        self.number = number
        self._shared = shared
        self._known = shared.known
        self._handle = shared.handler.handle
        self._refusal = refusal
        self._reader = Reader(over_tls=shared.over_tls)
        self._incoming: ApiRequest | None = None  # whose body is still to come
        self._limit: float | None = None  # of that body; None until it is asked for
        self._held: Waiting | BlockingCall | None = None
        self._idle = not refusal  # the next byte begins a request that may be served at once
        self._last = False  # the connection ends with the next response
        self._exchange = 0
        self._unsent: int = 0  # bytes that the client had not taken at the last sweep
        self._drained = 0  # bytes that were dropped
        self._started = self.touched
        self._generation: object = None  # when the incomplete head began

    # asyncio calls these

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._shared.connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self._idle:
            self._started = self.touched = perf_counter()
            if known := self._known.get(data):
                head, body = known
                self._dispatch(head, self._request(head, body))
                return
        if self.draining:
            self._drained += len(data)
            if self._drained > _LINGER_BYTES:
                self.transport.abort()
            return
        whole = data if self._idle and len(data) <= _KNOWN_SIZE else b""
        self._idle = False
        self._reader.buffer += data
        if self._refusal:
            self._refuse("malformed_request", self._refusal)
        else:
            self._serve(whole)

    def eof_received(self) -> bool | None:
        self._eof = True
        if isinstance(self._held, Waiting):  # a half-closed client can't be told from one that has gone
            self._held.gone()
            self._held = None
        elif self._held is not None:
            if self._held.streams:  # such a client waits for nothing
                self.transport.abort()
            return not self._shared.over_tls  # TLS has no half-closed connections
        elif self._blocked and self._reader.buffer:
            return True
        elif (self._reader.in_head or self._incoming) and not self.draining:
            part = "body" if self._incoming else "head"
            self._refuse("malformed_request", f"the connection ended before the {part} did")
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        self._shared.connections.discard(self)
        self.draining, self._idle = True, False
        if self._held is not None:
            self._held.gone()
        if isinstance(exc, SSLError) and not self._exchange:  # under TLS 1.3 a client refuses a certificate only now
            self._shared.handler.handshake_failed(words_of(exc))

    def pause_writing(self) -> None:
        self._blocked, self._idle = True, False
        if isinstance(self._held, BlockingCall):
            self._held.writable.clear()

    def resume_writing(self) -> None:
        self._blocked = False
        if isinstance(self._held, BlockingCall):
            self._held.writable.set()
        self.loop.call_soon(self._serve)  # a turn later, because asyncio calls this from inside its own write

    # Reading

    def _is_ready(self) -> bool:
        return self._held is None and not (self.draining or self._blocked or self.transport.is_closing())

    def _serve(self, whole: bytes = b"") -> None:
        """Serve the requests that have come whole, in order; remember ``whole`` if it is exactly one of them."""
        try:
            while self._reader.buffer and self._is_ready():
                taken = self._take()
                if taken is None:
                    break
                head, request = taken
                if whole and head.plain and not (self._reader.buffer or request.oversized):
                    if len(self._known) >= _KNOWN:  # cheaper than to drop the oldest of thousands each time
                        self._known.clear()
                    self._known[whole] = head, request.body
                whole = b""
                self._dispatch(head, request)
                self._started = perf_counter()
        except RequestError as error:
            self._refuse(error.condition, error.detail)
        ready = self._is_ready()
        self._idle = ready and not self._reader.buffer and self._incoming is None
        self.throttle(wanted=len(self._reader.buffer) > _INPUT_LIMIT and not ready and not self.draining)
        if self._eof and ready:
            self.finish()

    def _take(self) -> tuple[Head, ApiRequest] | None:
        """Take the next whole request, or one whose body is not worth reading."""
        reader, handler = self._reader, self._shared.handler
        if reader.head is not None and self._incoming is not None:
            return self._take_body(reader.head, self._incoming)
        head = reader.take_head()
        if head is None:
            if reader.in_head and self._generation is None:
                self._generation = handler.generation()
            return None
        request, self._generation = self._request(head, b""), None
        if not head.length:
            return head, request
        self._incoming, self._limit = request, None
        if head.length > UNASKED_BODY and not self._fits(request, head.length):
            return self._without_body(head, request, oversized=True)
        if head.expects and not reader.buffer:  # RFC 9110 §10.1.1
            if not handler.admits(request, head.length if head.length > 0 else None):
                return self._without_body(head, request, oversized=False)
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return self._take_body(head, request)

    def _take_body(self, head: Head, request: ApiRequest) -> tuple[Head, ApiRequest] | None:
        self.touched = perf_counter()
        body, size = self._reader.take_body(), self._reader.body.size
        if head.length < 0 and size > UNASKED_BODY and not self._fits(request, size):
            return self._without_body(head, request, oversized=True)
        if body is None:
            return None
        request.body, self._incoming = body, None
        return head, request

    def _request(self, head: Head, body: bytes) -> ApiRequest:
        self._exchange = exchange = self._exchange + 1
        return ApiRequest(
            head.method, head.target, head.fields, body, self.number, exchange, self._started, _VERSIONS[head.modern]
        )

    def _fits(self, request: ApiRequest, size: int) -> bool:
        if self._limit is None:
            limit = self._shared.handler.body_limit(request)
            self._limit = math.inf if limit is None else limit
        return size <= self._limit

    def _without_body(self, head: Head, request: ApiRequest, *, oversized: bool) -> tuple[Head, ApiRequest]:
        """Respond without the body, then close, which drains it, so that the client reads the response."""
        self._incoming, self._last, request.oversized = None, True, oversized
        return head, request

    # Responding

    def _dispatch(self, head: Head, request: ApiRequest) -> None:
        self.touched = request.started
        try:
            response = self._handle(request)
        except Exception as error:  # noqa: BLE001  # a bug of the fake fails the test
            response = self._shared.handler.failed(error, request)
        if isinstance(response, Response):
            if head.plain and not self._last and (wire := response.wire or _plain_wire(response)):
                self.send(wire)
            else:
                self._send(head, response)
            return
        self._idle = False
        failed = partial(self._shared.handler.failed, request=request)
        if isinstance(response, Deferred):
            self._held = Waiting(self, head, response, failed)
        else:
            self._held = BlockingCall(self, head, response, failed)

    def _send(self, head: Head, response: Response) -> None:
        closing = self._last or response.wire_format.close or not head.keep_alive
        self.send(b"".join(frame(response, modern=head.modern, bodiless=head.bodiless, closing=closing)))
        if closing:
            self.finish()

    def respond(self, head: Head, response: Response) -> None:
        self._held = None
        if not self.transport.is_closing():
            self._send(head, response)
            self.proceed()

    def proceed(self) -> None:
        self._held, self.touched = None, perf_counter()
        self._started = self.touched
        self._serve()

    def _refuse(self, condition: str, detail: str) -> None:
        """Respond to bytes that never became a request, then close."""
        head = self._reader.beginning()
        request = self._incoming or self._request(head, b"")
        self._incoming, self._last = None, True
        self._send(head, self._shared.handler.refuse(condition, detail, request, self._generation))

    # Ending

    def finish(self) -> None:
        self._held = None
        super().finish()

    def drain(self) -> None:
        self._idle = False
        self._reader.buffer.clear()
        super().drain()

    def shut(self) -> None:
        """End the connection at once: the server stops."""
        if isinstance(self._held, Waiting):
            self._held.shut()
        self.transport.abort()

    def close_if_idle(self) -> None:
        """Close as a service closes a kept connection that is not used: without a word."""
        if self._is_ready() and not (self._reader.in_head or self._incoming or self.transport.get_write_buffer_size()):
            self.transport.close()

    def retire(self) -> None:
        """Close now, or after the next response."""
        self._last = True
        self.close_if_idle()

    def sweep(self, now: float, stood_still: float) -> None:
        """End the connection if the client is too slow, seconds in which this process stood still apart."""
        self.touched = min(now, self.touched + stood_still)
        limits = self._shared.limits
        if self._held is not None:
            return
        if self._incoming:
            self._time_out(now, limits.body, "no more of the body")
        elif self._reader.in_head and self._is_ready():
            self._time_out(now, limits.head, "no whole head")
        else:
            unsent: int = self.transport.get_write_buffer_size()
            if unsent != self._unsent:  # the client reads, however slowly
                self._unsent, self.touched = unsent, now
            if now - self.touched > (limits.linger if self.draining and not unsent else limits.idle):
                self.transport.abort()

    def _time_out(self, now: float, patience: float, words: str) -> None:
        if now - self.touched > patience:
            self._refuse("request_timeout", f"{words} in {patience:g} s")


def _plain_wire(response: Response) -> bytes:
    """Return a response as it goes out in one write to a plain request; empty if it can't."""
    head, body = response.head, response.body
    if response.wire_format is not PLAIN or head.status in UNSIZED_STATUSES:
        return b""
    wire = b"%bDate: %b\r\nContent-Length: %d\r\n\r\n%b" % (head.wire, response.date, len(body), body)
    if len(wire) <= _KEPT_WIRE:
        response.wire = wire
    return wire
