"""One client's connection: reads requests, sends the responses in order, and closes cleanly.

How this works: everything here runs in the thread of the loop, in calls of asyncio. A connection is in one of three
states:

- It *reads*: bytes go to the ``Reader``, and each complete request to the handler. Most responses are sent at once, so
  a request needs one call of asyncio, one read and one write.
- It *holds* a response (``_held``) that is late, damaged or made in a thread; see ``delivery.py``. Later requests stay
  in the reader's buffer. ``respond`` or ``proceed`` leads back to reading.
- It *drains* (``_draining``): the last response is out, and further input is dropped until the client closes.

A client that does not read pauses the first state (``writable``). A timer of the server calls ``sweep``, which ends
connections that make no progress.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from ssl import SSLError
from typing import TYPE_CHECKING, Any, Final, Protocol

from petstore_mock.common.real import Event, perf_counter
from petstore_mock.common.sized import SizedCache
from petstore_mock.http.request import UNASKED_BODY, ApiRequest
from petstore_mock.http.response import PLAIN, Response, frame
from petstore_mock.transport.chunks import RequestError
from petstore_mock.transport.reading import Reader, RequestHead
from petstore_mock.transport.tls import words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.http.handler import Blocking, Deferred, Handler

# Timeouts in seconds: for a whole head, the next piece of a body, an idle client, and the client's close after ours.
_HEAD_TIMEOUT: Final = 10.0
_BODY_TIMEOUT: Final = 10.0
_IDLE_TIMEOUT: Final = 75.0
_LINGER_TIMEOUT: Final = 2.0
# Bytes of one read.
_READ_SIZE: Final = 64 * 1024
# Bytes to read ahead while a response is held or the client does not read.
_INPUT_LIMIT: Final = 64 * 1024
# Bytes of memory for the cache of requests.
_KNOWN: Final = 4 * 1024 * 1024
# Bytes of the longest request in the cache.
_KNOWN_SIZE: Final = 2048
# Bytes that an entry takes besides its fields and its text.
_KNOWN_WEIGHT: Final = 1024
# Bytes of the longest response whose wire form is cached.
_KEPT_WIRE: Final = 16 * 1024
# SO_LINGER with a timeout of 0 makes close() send a RST. On Windows, the struct has two 16-bit members.
_RST_ON_CLOSE: Final = struct.pack("HH" if os.name == "nt" else "ii", 1, 0)


def reset_on_close(sock: socket.socket) -> None:
    """Make the close of a socket send a RST; without this, ``abort`` sends a FIN."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST_ON_CLOSE)


def call_in_loop(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *arguments: object) -> None:
    """Call a function in the loop's thread. A closed loop has no connections, so the call is dropped."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *arguments)


class Held(Protocol):
    """A response that is sent late, in parts, or never."""

    def gone(self) -> None:
        """End the response, because the connection has ended."""

    def outlives_input(self) -> bool:
        """Return whether the response goes on after the client has ended its side. If not, end it."""
        return True


def _new_cache() -> SizedCache[bytes, tuple[RequestHead, bytes]]:
    return SizedCache(_KNOWN, _KNOWN)


@dataclass
class Shared:
    """State that the connections of one server share. ``known`` caches complete requests by their bytes."""

    handler: Handler
    hold: Callable[[Connection, RequestHead, Deferred | Blocking], Held]
    over_tls: bool
    connections: set[Connection] = field(default_factory=set["Connection"])
    known: SizedCache[bytes, tuple[RequestHead, bytes]] = field(default_factory=_new_cache)


class Connection(asyncio.Protocol):
    """One client's HTTP connection; a ``refusal`` is the reason to refuse every request.

    The connection reads a request, or holds a response (``_held``), or ends and drops further input (``_draining``).
    """

    # asyncio.Transport, or uvloop's.
    transport: Any

    def __init__(
        self,
        shared: Shared,
        loop: asyncio.AbstractEventLoop,
        number: int,
        sock: socket.socket,
        refusal: str = "",
    ) -> None:
        self.loop = loop
        self.number = number
        self._socket = sock
        self._resets = False
        self.writable = Event()
        self.writable.set()
        self._shared = shared
        self._handle = shared.handler.handle
        # A request that is known already would be answered without a look at the refusal.
        self._known = _new_cache() if refusal else shared.known
        self._reader = Reader(over_tls=shared.over_tls, refusal=refusal)
        # A request whose body is incomplete, without that body.
        self._incoming: ApiRequest | None = None
        self._held: Held | None = None
        self._draining = self._paused = self._probed = False
        # Whether the client has ended its side of the connection.
        self.input_ended = False
        # The next response closes the connection.
        self._last = False
        self._exchange = 0
        # Seconds without progress.
        self._waited = 0.0
        # Bytes in the write buffer at the last sweep.
        self._unsent: int = 0
        # When the current request began.
        self._started = 0.0
        # The handler's generation when the incomplete head began.
        self._generation: object = None

    # asyncio calls these

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.send: Callable[[bytes | memoryview], None] = self.transport.write
        # asyncio's buffer of 256 KiB for each read costs more than the rest of a request.
        if hasattr(transport, "max_size"):
            self.transport.max_size = _READ_SIZE
        self._shared.connections.add(self)

    def data_received(self, data: bytes) -> None:
        # The data, if it can be exactly one request.
        whole = b""
        begins = not self._reader.buffer and self._incoming is None
        if begins and self._is_ready():
            self._started = perf_counter()
            self._waited = 0.0
            known = self._known.get(data)
            if known is not None:
                head, body = known
                self._exchange += 1
                self._dispatch(head, self._request(head, body))
                return
            if len(data) <= _KNOWN_SIZE:
                whole = data
        if not self._draining:
            self._reader.buffer += data
            self._serve(whole)

    def eof_received(self) -> bool:
        self.input_ended = True
        # asyncio can't half-close a TLS connection.
        can_stay = not self._shared.over_tls
        if self._held is not None:
            return self._held.outlives_input() and can_stay
        has_further_requests = self._reader.buffer and not self.writable.is_set()
        if has_further_requests:
            return can_stay
        is_within_request = self._reader.in_head or self._incoming is not None
        if is_within_request and not self._draining:
            part = "head" if self._incoming is None else "body"
            self._refuse("malformed_request", f"the connection ended before the {part} was complete")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._shared.connections.discard(self)
        if not self._resets:
            # A close alone would not reach the client while a forked process holds a copy of the socket.
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        if self._held is not None:
            self._held.gone()
        # A client may reject the certificate only after the handshake.
        if isinstance(exc, SSLError) and not self._exchange:
            self._shared.handler.handshake_failed(words_of(exc))

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()
        # Serve in the loop's next turn, because asyncio calls this method inside its write.
        self.loop.call_soon(self._serve)

    # Reading

    def _is_ready(self) -> bool:
        if self._held is not None or self._draining:
            return False
        return self.writable.is_set() and not self.transport.is_closing()

    def _serve(self, whole: bytes = b"") -> None:
        """Serve the complete requests in order; cache ``whole`` if it is exactly one request."""
        try:
            self._serve_complete(whole)
        except RequestError as error:
            self._refuse(*error.args)
        is_ready = self._is_ready()
        is_full = len(self._reader.buffer) > _INPUT_LIMIT
        must_wait = not is_ready and not self._draining
        self._throttle(wanted=is_full and must_wait)
        if self.input_ended and is_ready:
            self.finish()

    def _serve_complete(self, whole: bytes) -> None:
        while self._reader.buffer and self._is_ready():
            taken = self._take()
            if taken is None:
                return
            head, request = taken
            if whole:
                self._keep(whole, head, request)
            whole = b""
            self._dispatch(head, request)
            self._started = perf_counter()

    def _keep(self, whole: bytes, head: RequestHead, request: ApiRequest) -> None:
        """Cache ``whole`` if it is this request and no more, and the connection goes on after it."""
        is_alone = not self._reader.buffer and not self._last
        if is_alone and head.plain:
            weight = 2 * len(whole) + head.fields.weight + _KNOWN_WEIGHT
            self._known.keep(whole, (head, request.body), weight)

    def _take(self) -> tuple[RequestHead, ApiRequest] | None:
        """Return the next request if it is complete, or if its body must stay unread; else None."""
        head = self._reader.head or self._reader.take_head()
        if head is None:
            self._note_generation()
            return None
        begins = self._incoming is None
        if begins:
            self._exchange += 1
            self._generation = None
        self._waited = 0.0
        request = self._take_request(head, begins=begins)
        if request is None:
            return None
        self._incoming = None
        return head, request

    def _take_request(self, head: RequestHead, *, begins: bool) -> ApiRequest | None:
        body = self._reader.take_body()
        # RFC 9110 §10.1.1: a client that has sent more does not wait.
        has_only_head = begins and body is None and not self._reader.buffer
        waits = head.expects and has_only_head
        # A client that waits for 100 Continue may declare a short body.
        is_long = max(head.length, self._reader.size) > UNASKED_BODY
        must_ask = is_long or waits
        if must_ask and self._must_stay_unread(head):
            # Closing the connection drains the body.
            self._last = True
            return self._request(head, b"", oversized=is_long)
        if body is not None:
            return self._request(head, body)
        self._incoming = self._incoming or self._request(head, b"")
        if waits:
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return None

    def _note_generation(self) -> None:
        """Ask the handler for its token when an incomplete head begins."""
        if self._reader.in_head and self._generation is None:
            self._generation = self._shared.handler.generation()

    def _must_stay_unread(self, head: RequestHead) -> bool:
        """Return whether the body is too long, or the head is refused."""
        limit = self._shared.handler.body_limit(self._incoming or self._request(head, b""))
        if limit is None:
            return False
        return limit == 0 or max(head.length, self._reader.size) > limit

    def _request(self, head: RequestHead, body: bytes, *, oversized: bool = False) -> ApiRequest:
        """Return the request with the current number."""
        version = "HTTP/1.1" if head.modern else "HTTP/1.0"
        return ApiRequest(
            head.method,
            head.target,
            head.fields,
            body,
            self.number,
            self._exchange,
            self._started,
            version,
            oversized=oversized,
        )

    # Responding

    def _dispatch(self, head: RequestHead, request: ApiRequest) -> None:
        try:
            response = self._handle(request)
        except Exception as error:  # a bug in the fake fails the test
            response = self._shared.handler.failed(error, request)
        if isinstance(response, Response):
            self._send(head, response)
        else:
            self._held = self._shared.hold(self, head, response)

    def _send(self, head: RequestHead, response: Response) -> None:
        is_plain = head.plain and response.wire_format is PLAIN and not self._last
        if is_plain and response.wire:
            self.send(response.wire)
            return
        closing = self.closes(head, response)
        wire = b"".join(frame(response, modern=head.modern, bodiless=head.bodiless, closing=closing))
        if is_plain and len(wire) <= _KEPT_WIRE:
            response.wire = wire
        self.send(wire)
        if closing:
            self.finish()

    def closes(self, head: RequestHead, response: Response) -> bool:
        form = response.wire_format
        ends = form.close or form.until_close
        return self._last or ends or not head.keep_alive

    def respond(self, head: RequestHead, response: Response) -> None:
        """Send a response that was held, and serve the next request."""
        if not self.transport.is_closing():
            self._send(head, response)
            self.proceed()

    def proceed(self) -> None:
        """Serve the next request after a held response. Close the connection if that was its last one."""
        if self._last:
            self.finish()
            return
        self._held = None
        self._waited = 0.0
        self._started = perf_counter()
        self._serve()

    def _refuse(self, condition: str, detail: str) -> None:
        """Refuse bytes that are not a valid request, then close."""
        if self._reader.head is None:
            # It has no number yet.
            self._exchange += 1
        head = self._reader.beginning()
        request = self._incoming or self._request(head, b"")
        self._incoming = None
        self._last = True
        self._send(head, self._shared.handler.refuse(condition, detail, request, self._generation))

    # Ending

    def drain(self) -> None:
        """Drop further input until the connection ends."""
        self._draining = True
        self._reader.buffer.clear()
        self._throttle(wanted=False)

    def finish(self) -> None:
        """End the connection so that the client reads everything that was sent.

        Closing a socket with unread input sends a RST, which discards bytes that the client has not read yet. So this
        sends a FIN, and drops input until the client closes (RFC 9112 §9.6).
        """
        self._held = None
        self.drain()
        self._waited = 0.0
        if self.input_ended or not self.transport.can_write_eof():
            self.transport.close()
            return
        try:
            self.transport.write_eof()
        except OSError:
            # The client has already sent a RST.
            self.transport.abort()

    def reset(self) -> None:
        """End the connection with a RST."""
        self._resets = True
        reset_on_close(self._socket)
        self.transport.abort()

    def has_left(self) -> bool:
        """Return whether a client that has ended its side has closed the connection, and not only half of it.

        Both send a FIN. The difference shows only after a further byte: a closed socket responds to it with a RST. The
        byte is urgent data, which is not part of what a client reads.
        """
        try:
            if not self._probed:
                self._probed = True
                self._socket.send(b"\0", socket.MSG_OOB)
            return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _throttle(self, *, wanted: bool) -> None:
        if wanted is self._paused or self.transport.is_closing():
            return
        self._paused = wanted
        if wanted:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def close(self, *, busy: bool) -> None:
        """Close the connection if it is idle; with ``busy``, close a busy one after its next response."""
        self._last |= busy
        is_within_request = self._reader.in_head or self._incoming is not None
        is_within_response = not self._is_ready() or self.transport.get_write_buffer_size()
        if not (is_within_request or is_within_response):
            self.transport.close()

    def sweep(self, interval: float) -> None:
        """End the connection if the client is too slow.

        It counts sweeps instead of reading a clock: a suspended or overloaded machine stops the clients as well as the
        fake.
        """
        self._waited += interval
        unsent = self.transport.get_write_buffer_size()
        if unsent != self._unsent:
            # The client reads, however slowly.
            self._unsent = unsent
            self._waited = 0.0
        if self._held is not None:
            self._sweep_held(unsent)
        elif self._incoming is not None:
            self._time_out(_BODY_TIMEOUT, "no further byte of the body arrived")
        elif self._reader.in_head and self._is_ready():
            self._time_out(_HEAD_TIMEOUT, "no complete head arrived")
        else:
            is_lingering = self._draining and not unsent
            limit = _LINGER_TIMEOUT if is_lingering else _IDLE_TIMEOUT
            if self._waited > limit:
                self.transport.abort()

    def _sweep_held(self, unsent: int) -> None:
        """End the connection of a held response whose client does not read. A response that is not due may wait."""
        if not unsent:
            self._waited = 0.0
        elif self._waited > _IDLE_TIMEOUT:
            self.transport.abort()

    def _time_out(self, limit: float, words: str) -> None:
        if self._waited > limit:
            self._refuse("request_timeout", f"{words} in {limit:g} s")
