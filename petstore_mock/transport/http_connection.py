"""One client's connection: reads requests, has them answered in order, and ends cleanly.

What HTTP allows is validated in :mod:`petstore_mock.transport.request_parsing`, how an answer goes out is written in
:mod:`petstore_mock.transport.response_delivery`; here the two meet.
"""

from __future__ import annotations

import contextlib
import math
import re
import threading
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.real_time import RealTime
from petstore_mock.messages.deferred import DeferredResponse
from petstore_mock.messages.request import NO_FIELDS, UNASKED_BODY, ApiRequest
from petstore_mock.messages.response import PLAIN, UNSIZED_STATUSES, ApiResponse
from petstore_mock.transport.environ import environ_of
from petstore_mock.transport.mounted import MountedCall
from petstore_mock.transport.request_parsing import ChunkedBody, RequestError, RequestHead, probe, read_beginning
from petstore_mock.transport.response_delivery import DeferredDelivery, frame
from petstore_mock.transport.server_state import KNOWN_HEAD_SIZE
from petstore_mock.transport.tcp_connection import TcpConnection

if TYPE_CHECKING:
    import asyncio

    from petstore_mock.transport.server_state import ServerState

__all__ = ["HttpConnection"]

EXPECTATION_BODY: Final = 64 * 1024 * 1024  # what is kept when an expectation, which has no limit, may match
INPUT_LIMIT: Final = 64 * 1024  # bytes that are read ahead while an answer is held or not taken

_EMPTY_LINES: Final = re.compile(rb"(?:\r\n)+")  # RFC 9112 §2.2: ignored before a request line
_CR: Final = 13
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_UNKNOWN: Final = RequestHead("-", "-", NO_FIELDS, modern=True)  # what a refusal answers when no request line was read


def _plain_wire(response: ApiResponse) -> bytes:
    """Return ``response`` as it goes out in one write to a plain request; nothing if it can't go out so."""
    head, body = response.head, response.body
    if response.wire_format is not PLAIN or head.status in UNSIZED_STATUSES:
        return b""
    wire = b"%bDate: %b\r\nContent-Length: %d\r\n\r\n%b" % (head.wire, response.date, len(body), body)
    if response.wire is not None:
        response.wire = wire
    return wire


class _Incoming:
    """A request whose head has come and whose body has not, or not all of it."""

    __slots__ = ("chunked", "head", "limit", "request")

    def __init__(self, head: RequestHead, request: ApiRequest) -> None:
        self.head = head
        self.request = request
        self.chunked = ChunkedBody() if head.length < 0 else None
        self.limit: float | None = None  # not asked for yet


class HttpConnection(TcpConnection):
    """One client's connection, on which HTTP is spoken.

    Args:
        state: what all connections have in common.
        loop: the loop that runs them.
        connections: where it enters itself while it is open.
        number: which connection it is.
    """

    __slots__ = (
        "_advancing",
        "_awaiting",
        "_call",
        "_connections",
        "_deferred",
        "_epoch",
        "_exchange",
        "_expected",
        "_handle",
        "_incoming",
        "_known",
        "_latest",
        "_parts",
        "_scanned",
        "_since",
        "_state",
        "number",
    )

    def __init__(self, state: ServerState, loop: asyncio.AbstractEventLoop, connections: set[Any], number: int) -> None:
        super().__init__(loop)
        self._connections = connections
        self._state = state
        self._handle = state.handler.handle
        self._expected = state.expectations.expected
        self._known = state.known
        self.number = number
        self._exchange = 0
        self._latest = b""  # the latest short request that came whole: a client may repeat itself
        self._parts = _UNKNOWN, b""  # the head and the body that it consisted of
        self._scanned = 0  # how much of it was found to hold no whole head
        self._incoming: _Incoming | None = None
        self._deferred: DeferredDelivery | None = None  # of the answer that does not go out at once
        self._awaiting = False  # an answer is being made in a thread
        self._call: MountedCall | None = None  # in which the mounted application makes it
        self._advancing = False
        self._since = 0.0  # when the incomplete head began, or its body last grew
        self._epoch: object = None  # the core's token of when the incomplete head began

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        super().connection_made(transport)
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Serve what came: at once what is a head and its whole body, as most requests come."""
        if self._idle:
            parts = self._parts if data == self._latest else self._take_apart(data)
            if parts is not None:
                head, body = parts
                self._dispatch(head, self._request(head, body, RealTime.perf_counter()))
                return
        if self._discarding:
            self._discard(len(data), bounded=self._deferred is None)
            return
        self._buffer += data
        self._advance()

    def _take_apart(self, data: bytes) -> tuple[RequestHead, bytes] | None:
        """Return the head and the body of a whole request, kept for the next if they are short; None of any other."""
        head, body = self._known.get(data), b""
        if head is None and (end := data.find(b"\r\n\r\n") + 4) > 3:
            raw, body = data[:end], data[end:]
            try:
                head = self._known.get(raw) or self._state.read(raw)
            except RequestError:
                return None  # it is read once more, and refused
        if head is None or not head.length == len(body) <= UNASKED_BODY:
            return None
        parts = head, body
        if len(data) <= KNOWN_HEAD_SIZE:
            self._latest, self._parts = data, parts
        return parts

    def eof_received(self) -> bool | None:
        """Learn that the client sends no more: it has closed, or half of it has. True keeps our half open."""
        self._eof = True
        if self._deferred is not None:  # a half-closed client can't be told from one that has gone
            self._deferred.gone()
            self._deferred = None  # closing may take as long as others get for it, while the client does not read
        elif self._call is not None and self._call.streams:  # who reads no more waits for nothing
            self._transport.abort()
        elif self._awaiting or (self._blocked and self._buffer):
            return True
        elif (self._buffer or self._incoming is not None) and not self._discarding:
            what = "head" if self._incoming is None else "body"
            self._refuse_incomplete("malformed_request", f"the connection ended before the {what} did")
            return self._awaiting  # the mounted application's answer is yet to come
        return None

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio's signature
        """Forget the connection."""
        self._connections.discard(self)
        self._discarding, self._idle = True, False
        self._buffer.clear()
        if self._deferred is not None:
            self._deferred.gone()
            self._deferred = None
        if self._call is not None:
            self._call.gone()
            self._call = None

    def pause_writing(self) -> None:
        """Serve no further request, and take no more of a stream, until the client has read."""
        super().pause_writing()
        if self._call is not None:
            self._call.pause()

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        if self._call is not None:
            self._call.resume()
        super().resume_writing()

    # Reading

    def _advance(self) -> None:
        """Serve what has come whole, in order."""
        if self._advancing:
            return  # an answer made below called us: the loop goes on by itself
        self._advancing = True
        try:
            while self._buffer and self._may_serve():
                if not (self._take_head() if self._incoming is None else self._take_body(self._incoming)):
                    break
        except RequestError as refused:
            self._refuse(refused)
        finally:
            self._advancing = False
        may_serve = self._may_serve()
        self._idle = may_serve and not self._buffer and self._incoming is None
        self._throttle(wanted=len(self._buffer) > INPUT_LIMIT and not may_serve)
        if self._eof and may_serve:
            self.finish()

    def _may_serve(self) -> bool:
        if self._deferred is not None or self._awaiting or self._blocked or self._discarding:
            return False
        return not self._transport.is_closing()

    def _take_head(self) -> bool:
        """Take the next head out of the buffer and act on it; say whether there was a whole one."""
        buffer = self._buffer
        if not self._scanned and buffer[0] == _CR:
            if empty := _EMPTY_LINES.match(buffer):
                del buffer[: empty.end()]
            if not buffer or buffer == b"\r":
                self._epoch = self._state.handler.epoch() if buffer else None
                return False
        end = buffer.find(b"\r\n\r\n", max(0, self._scanned - 3))
        if end < 0:
            if not self._scanned:
                self._since = RealTime.perf_counter()
                self._epoch = self._state.handler.epoch()
            probe(buffer, self._scanned)
            self._scanned = len(buffer)
            return False
        started = self._since if self._scanned else RealTime.perf_counter()
        self._scanned = 0
        raw = bytes(buffer[: end + 4])
        del buffer[: end + 4]
        head = self._state.read(raw)
        self._epoch = None  # not before: the head may be refused
        if head.length:
            self._expect_body(head, started)
        else:
            self._dispatch(head, self._request(head, b"", started))
        return True

    def _request(self, head: RequestHead, body: bytes, started: float) -> ApiRequest:
        self._exchange = exchange = self._exchange + 1
        return ApiRequest(head.method, head.target, head.fields, body, self.number, exchange, started, head.version)

    def _expect_body(self, head: RequestHead, started: float) -> None:
        """Decide from the head whether the body is worth reading."""
        self._since = RealTime.perf_counter()
        self._incoming = incoming = _Incoming(head, self._request(head, b"", started))
        if head.length > UNASKED_BODY and not self._keeps(incoming, head.length):
            self._refuse_body(incoming, oversized=True)
        elif head.expects and not self._buffer:  # RFC 9110 §10.1.1
            length = head.length if head.length > 0 else None
            if head.mounted or self._expected() or self._state.handler.admits(incoming.request, length):
                self.send(_CONTINUE)
            else:
                self._refuse_body(incoming, oversized=False)

    def _keeps(self, incoming: _Incoming, size: int) -> bool:
        """Say whether a body of ``size`` bytes is within the limit."""
        mounted = self._state.mounted
        if incoming.limit is None and incoming.head.mounted and mounted is not None:
            admitted = mounted.admits(environ_of(incoming.request, *self._address()))
            incoming.limit = mounted.body_limit if admitted else UNASKED_BODY
        elif incoming.limit is None:
            limit = self._state.handler.body_limit(incoming.request)
            incoming.limit = math.inf if limit is None else limit
            if self._expected():
                incoming.limit = max(incoming.limit, EXPECTATION_BODY)
        return size <= incoming.limit

    def _refuse_body(self, incoming: _Incoming, *, oversized: bool) -> None:
        """Answer without the body, then close; closing drains it, so that the client reads the answer."""
        self._incoming = None
        incoming.request.oversized = oversized
        self._dispatch(incoming.head.closing(), incoming.request)

    def _take_body(self, incoming: _Incoming) -> bool:
        """Take the body out of the buffer and serve its request; say whether it was whole."""
        head, request, chunked, buffer = incoming.head, incoming.request, incoming.chunked, self._buffer
        self._since = RealTime.perf_counter()
        if chunked is None:
            if len(buffer) < head.length:
                return False
            request.body = bytes(buffer[: head.length])
            del buffer[: head.length]
        else:
            del buffer[: chunked.feed(bytes(buffer))]
            if chunked.size > UNASKED_BODY and not self._keeps(incoming, chunked.size):
                self._refuse_body(incoming, oversized=True)
                return False
            if not chunked.complete:
                return False
            request.body = b"".join(chunked.chunks)
        self._incoming = None
        self._dispatch(head, request)
        return True

    # Answering

    def _dispatch(self, head: RequestHead, request: ApiRequest) -> None:
        """Have a whole request answered, by the mounted application, by an expectation or by the core."""
        if head.mounted:
            self._call_mounted(head, request)
            return
        if self._expected() and self._ask_expectations(head, request):
            return
        try:
            response = self._handle(request)
        except Exception as error:  # noqa: BLE001  # a bug in the core: answered 500 and reported
            response = self._state.failed(error, request)
        self._touched = request.started
        if head.plain and type(response) is ApiResponse and (wire := response.wire or _plain_wire(response)):
            self.send(wire)
        else:
            self._respond(head, request, response)

    def _respond(self, head: RequestHead, request: ApiRequest, response: ApiResponse | DeferredResponse) -> None:
        """Send ``response`` in whatever way it says."""
        if isinstance(response, DeferredResponse):
            self._idle = False
            self._deferred = DeferredDelivery(self, head, request)
            self._deferred.begin(response)
        else:
            self.send_whole(head, response)

    def send_whole(self, head: RequestHead, response: ApiResponse) -> None:
        """Send ``response`` whole, and go on with the next request or close, as it says."""
        closing = response.wire_format.close or not head.keep_alive
        wire, body = frame(head, response, closing=closing)
        self.send(wire + body)
        if closing:
            self.finish()
        else:
            self.proceed()

    def failed(self, error: BaseException, request: ApiRequest) -> ApiResponse:
        """Answer for an exception inside the fake."""
        return self._state.failed(error, request)

    def refuse_plain_http(self, data: bytes) -> None:
        """Refuse a client, whose ``data`` is no TLS where that is spoken, in words that it can read."""
        self._buffer += data
        self._refuse_incomplete(
            "malformed_request", "this is no TLS, which is spoken here: the address must begin with https://"
        )

    def _refuse(self, refused: RequestError) -> None:
        """Answer what never became a request, then close."""
        if self._incoming is not None:
            head, request = self._incoming.head, self._incoming.request
        else:
            head = refused.head or _UNKNOWN
            request = self._request(head, b"", self._since if self._scanned else RealTime.perf_counter())
        epoch = self._epoch
        self._incoming, self._scanned, self._epoch = None, 0, None
        mounted = self._state.mounted
        if mounted is not None and mounted.serves(head.target):
            self._call_mounted(head.closing(), request, refused)
            return
        response = self._state.handler.refuse(refused.condition, refused.detail, request, epoch)
        self._respond(head.closing(), request, response)

    def _refuse_incomplete(self, condition: str, detail: str) -> None:
        """Refuse a request of which no more will be read."""
        self._refuse(RequestError(condition, detail, read_beginning(self._buffer)))

    def _ask_expectations(self, head: RequestHead, request: ApiRequest) -> bool:
        """Let an expectation answer, in a thread since it may block; say whether one does."""
        answer = self._state.expectations.match(request)
        if answer is None:
            if len(request.body) > UNASKED_BODY:  # it was kept for the expectations' sake
                limit = self._state.handler.body_limit(request)
                request.oversized = limit is not None and len(request.body) > limit
            return False
        self._awaiting, self._idle = True, False
        made = self._state.expectation_matched(request)

        def work() -> None:
            fixed, body = answer()
            # When the loop was closed meanwhile, the client has gone with it.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(lambda: self._expectation_answered(head, made(fixed, body)))

        # Not an executor: its threads hold up the exit of the interpreter.
        threading.Thread(target=work, name="petstore-mock-expectation", daemon=True).start()
        return True

    def _expectation_answered(self, head: RequestHead, response: ApiResponse) -> None:
        self._awaiting = False
        self._touched = RealTime.perf_counter()
        if not self._transport.is_closing():
            self.send_whole(head, response)

    def _call_mounted(self, head: RequestHead, request: ApiRequest, refused: RequestError | None = None) -> None:
        """Let the mounted application answer, in a thread: it may block, and what it does delays no other client."""
        mounted = self._state.mounted
        assert mounted is not None  # noqa: S101  # for the type checker: a head is mounted where there is one
        self._awaiting, self._idle = True, False
        self._call = MountedCall(self, mounted, head, request, refused=refused, threads=self._state.threads)
        self._call.start(*self._address())

    def _address(self) -> tuple[str, int, str]:
        """Return host, port and scheme of our side."""
        host, port, *_ = self._transport.get_extra_info("sockname")
        return str(host), int(port), "http" if self._transport.get_extra_info("ssl_object") is None else "https"

    def call_ended(self, *, closing: bool) -> None:
        """Go on after the mounted application's answer."""
        self._awaiting, self._call = False, None
        self._touched = RealTime.perf_counter()
        if self._transport.is_closing():
            return
        if closing:
            self.finish()
        else:
            self.proceed()

    # Going on, and ending

    def proceed(self) -> None:
        """Go on with the next request."""
        self._deferred = None
        self._advance()

    def finish(self) -> None:
        """End the connection so that the client reads all that was sent."""
        self._deferred = None
        super().finish()

    def reset(self) -> None:
        """End the connection with a RST."""
        self._deferred = None
        super().reset()

    def shut(self) -> None:
        """End the connection at once, whatever it does: the server stops."""
        if self._deferred is not None:
            self._deferred.released()
        else:
            self._transport.abort()

    def sweep(self, now: float, stood_still: float) -> None:
        """End the connection if the client is too slow; called now and then. What is held may take its time.

        Args:
            now: ``RealTime.perf_counter()``.
            stood_still: seconds since the last call in which this process did not run: no client is to pay for them.
        """
        self._since = min(now, self._since + stood_still)
        self._touched = min(now, self._touched + stood_still)
        state = self._state
        if self._deferred is not None or self._awaiting:
            return
        if self._incoming is not None:
            self._sweep_request(now, state.body_timeout, "no more of the body")
        elif self._scanned:
            self._sweep_request(now, state.head_timeout, "no whole head")
        else:
            self._sweep_idle(now, idle_timeout=state.idle_timeout, linger_timeout=state.linger_timeout)

    def _sweep_request(self, now: float, patience: float, what: str) -> None:
        if now - self._since > patience:
            self._refuse_incomplete("request_timeout", f"{what} in {patience:g} s")
