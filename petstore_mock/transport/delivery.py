"""Sends responses late, in parts, or never: delayed, damaged by a fault, or made in a thread."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from petstore_mock.common.real import Event, Thread
from petstore_mock.http.handler import Deferred
from petstore_mock.http.response import Head, Response, StreamError, chunk, frame, frame_stream
from petstore_mock.interface.conditions import reason_phrase
from petstore_mock.transport.connection import call_in_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.http.handler import Blocking, Delivery
    from petstore_mock.http.response import Stream
    from petstore_mock.transport.connection import Connection, Held
    from petstore_mock.transport.reading import RequestHead

# Seconds (about) between two pieces of a dribbled body; more below 100 bytes per second.
_TICK: Final = 0.01
# A part of an endless body of JSON.
_ENDLESS: Final = b",0" * 8192
# A response that nobody requested, and the end of an idle connection (RFC 9110 §15.5.9).
_SURPLUS: Final = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"surplus":true}'
_IDLE_408: Final = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
# Seconds between two checks of a stream whose client does not read.
_OVERFLOW_CHECK: Final = 0.5


def hold(connection: Connection, head: RequestHead, response: Deferred | Blocking) -> Held:
    """Begin to make or to deliver a response."""
    if isinstance(response, Deferred):
        return Waiting(connection, head, response)
    return BlockingCall(connection, head, response)


class Waiting:
    """A deferred response. It waits with timers of the loop, so it needs no thread. It ends exactly once."""

    def __init__(self, connection: Connection, head: RequestHead, deferred: Deferred) -> None:
        self._connection = connection
        self._head = head
        self._ended = self._sent = False
        # The outcome of a response that stalled; else empty.
        self._stalls = ""
        deferred.pending.add(self._release)
        self._wait(deferred)

    def _wait(self, deferred: Deferred) -> None:
        self._deferred = deferred
        self._timer = self._connection.loop.call_later(deferred.delay, self._due)

    # Any thread may call it, at any time.
    def _release(self) -> None:
        call_in_loop(self._connection.loop, self._reset)

    def gone(self) -> None:
        """End the exchange, because the client closed the connection."""
        self._end("client gone")

    def outlives_input(self) -> bool:
        if self._stalls or self._connection.has_left():
            self.gone()
        return not self._ended

    def _reset(self) -> None:
        """Stop waiting, and reset the connection."""
        if not self._ended:
            self._end("reset")
            self._connection.reset()

    def _end(self, outcome: str) -> None:
        """Stop waiting, and complete the exchange before the client can see the end."""
        if not self._ended:
            self._ended = True
            self._timer.cancel()
            self._deferred.pending.discard(self._release)
            self._deferred.complete(self._stalls or outcome, sent=self._sent)

    def _due(self) -> None:
        deferred = self._deferred
        connection = self._connection
        if connection.input_ended and connection.has_left():
            # The client had ended its side, and its RST came later: it waits for nothing.
            self.gone()
            connection.transport.abort()
            return
        response = deferred.resume()
        # It belongs to the same exchange.
        if isinstance(response, Deferred):
            self._wait(response)
        elif deferred.delivery is None:
            self._sent = True
            self._end("delayed")
            connection.respond(self._head, response)
        else:
            self._deliver(response, deferred.delivery)

    def _deliver(self, response: Response, delivery: Delivery) -> None:
        if delivery.change is None:
            DELIVERIES[delivery.kind](self, response, *delivery.values)
        else:
            self._whole(delivery.kind.replace("_", " "), delivery.change(response, *delivery.values))

    def _framed(
        self, response: Response, *, closing: bool = False, chunked: bool | None = False
    ) -> tuple[bytes, bytes]:
        head = self._head
        return frame(response, modern=head.modern, bodiless=head.bodiless, closing=closing, chunked=chunked)

    # Each kind of delivery

    def hang(self, _: Response) -> None:
        self._stall("hang", b"")

    def stall_body(self, response: Response, after: int) -> None:
        if self._head.bodiless:
            # A response to HEAD has no body that could stall.
            self._whole("no body", response)
            return
        wire, body = self._framed(response)
        self._sent = True
        # An empty body stays empty.
        self._stall("stalled", wire + body[: min(after, len(body) - 1)])

    def reset(self, _: Response) -> None:
        self._reset()

    def empty_reply(self, _: Response) -> None:
        self._cut("empty reply", b"")

    def truncate(self, response: Response, fraction: float) -> None:
        wire, body = self._framed(response)
        # An empty body stays empty.
        self._cut("truncated", wire + body[: min(int(len(body) * fraction), len(body) - 1)])

    def malformed_chunk(self, response: Response) -> None:
        wire, body = self._framed(response, chunked=True)
        if body:
            wire += b"no-chunk-size\r\n" + body
        self._cut("malformed chunk", wire)

    def dribble(self, response: Response, rate: float) -> None:
        connection = self._connection
        closes = connection.closes(self._head, response)
        wire, body = self._framed(response, closing=closes, chunked=None)
        connection.send(wire)
        self._sent = True
        go_on = connection.finish if closes else connection.proceed
        self._dribble(memoryview(body), rate, go_on)

    def endless_body(self, response: Response) -> None:
        form = replace(response.wire_format, until_close=True)
        head = Head(200, (("Content-Type", "application/json"),))
        wire, _ = self._framed(Response(head, b"", response.date, form))
        if self._head.bodiless:
            self._cut("no body", wire)
            return
        self._sent = True
        self._connection.send(wire + b"[0")
        self._go_on()

    def interim(self, response: Response, status: int, times: int) -> None:
        # RFC 9110 §15.2: not to a client of HTTP/1.0.
        if self._head.modern:
            self._connection.send(f"HTTP/1.1 {status} {reason_phrase(status)}\r\n\r\n".encode() * times)
        self._whole("interim", response)

    def surplus(self, response: Response) -> None:
        self._whole("surplus", response, _SURPLUS)

    def idle_408(self, response: Response) -> None:
        self._whole("idle 408", response, _IDLE_408, self._connection.finish)

    # Parts of them

    def _whole(
        self, outcome: str, response: Response, behind: bytes = b"", then: Callable[[], None] | None = None
    ) -> None:
        """Send the whole response, and something ``behind`` it if the connection is kept."""
        connection = self._connection
        closes = connection.closes(self._head, response)
        self._sent = True
        self._end(outcome)
        connection.send(b"".join(self._framed(response, closing=closes, chunked=None)))
        if closes:
            connection.finish()
            return
        if behind:
            # In a write of its own, as from a service that sends it later.
            connection.send(behind)
        (then or connection.proceed)()

    def _stall(self, outcome: str, sent: bytes) -> None:
        """Send part of a response, and then nothing, until the client leaves."""
        self._stalls = outcome
        self._deferred.complete(outcome, sent=self._sent)
        connection = self._connection
        connection.send(sent)
        connection.drain()
        if connection.input_ended:
            self.gone()
            connection.finish()

    def _go_on(self) -> None:
        """Send the next part of an endless body. A client that does not read costs no memory."""
        connection = self._connection
        is_open = not (self._ended or connection.transport.is_closing())
        if is_open and connection.writable.is_set():
            connection.send(_ENDLESS)
        if is_open:
            self._timer = connection.loop.call_later(0, self._go_on)

    def _cut(self, outcome: str, sent: bytes) -> None:
        """Send part of a response, and end the connection."""
        self._sent = bool(sent)
        self._end(outcome)
        self._connection.send(sent)
        self._connection.finish()

    def _dribble(self, body: memoryview, rate: float, then: Callable[[], None]) -> None:
        """Send the next piece of a body, and schedule the one after it."""
        size = max(1, int(rate * _TICK))
        if len(body) > size:
            self._timer = self._connection.loop.call_later(size / rate, self._dribble, body[size:], rate, then)
            self._connection.send(body[:size])
            return
        self._end("dribbled")
        self._connection.send(body)
        then()


# The method for each kind of fault that needs a socket, and does not only change the response.
DELIVERIES: Final[Mapping[str, Callable[..., None]]] = {
    "hang": Waiting.hang,
    "reset": Waiting.reset,
    "empty_reply": Waiting.empty_reply,
    "truncate": Waiting.truncate,
    "stall_body": Waiting.stall_body,
    "malformed_chunk": Waiting.malformed_chunk,
    "dribble": Waiting.dribble,
    "endless_body": Waiting.endless_body,
    "interim": Waiting.interim,
    "surplus": Waiting.surplus,
    "idle_408": Waiting.idle_408,
}


class BlockingCall:
    """A response of the control door or of ``httpserver``, made in a thread.

    It uses no executor, because the interpreter waits for executors' threads at exit. The end of a response is sent
    after the thread has ended: a test that compares the threads before and after it must not see this one.
    """

    def __init__(self, connection: Connection, head: RequestHead, blocking: Blocking) -> None:
        self._connection = connection
        self._head = head
        self._blocking = blocking
        self._is_over = False
        # Whether the loop has sent the last part.
        self._is_sent = Event()
        self._thread = Thread(target=self._run, name="petstore-mock-call", daemon=True)
        self._thread.start()

    def gone(self) -> None:
        """Stop sending, because the client closed the connection."""
        self._is_over = True
        self._blocking.left.set()
        self._is_sent.set()
        self._connection.writable.set()

    def outlives_input(self) -> bool:
        # The client of an endless stream has nothing more to wait for.
        if self._blocking.streams or self._connection.has_left():
            self.gone()
        return not self._is_over

    def _run(self) -> None:
        try:
            response = self._blocking.run()
            if isinstance(response, Response):
                self._end(self._connection.respond, self._head, response)
            else:
                self._stream(response)
        except StreamError:
            self._end(self._connection.transport.abort)
        except BaseException:
            # A bug in the fake: the client must not wait for ever.
            self._end(self._connection.transport.abort)
            raise

    def _stream(self, stream: Stream) -> None:
        is_last = not self._head.keep_alive
        wire, chunked = frame_stream(stream, modern=self._head.modern, closing=is_last)
        with closing(stream):
            self._send(wire)
            self._await_reader(stream)
            if not self._head.bodiless:
                self._send_parts(stream, chunked=chunked)
        if chunked and not is_last:
            self._end(self._connection.proceed)
        else:
            self._end(self._connection.finish)

    def _send_parts(self, stream: Stream, *, chunked: bool) -> None:
        for part in stream.chunks:
            if self._is_over:
                return
            # An empty chunk would mark the end of the body.
            if part:
                self._send(chunk(part) if chunked else part)
                self._await_reader(stream)
        if chunked:
            self._send(chunk(b""))

    def _send(self, data: bytes) -> None:
        """Send data in the loop, and wait until it has done so."""
        self._is_sent.clear()
        call_in_loop(self._connection.loop, self._sent, data)
        if not self._is_over:
            self._is_sent.wait()

    def _await_reader(self, stream: Stream) -> None:
        """Wait until the client has room for more. End the connection if parts of the body are lost meanwhile."""
        while not (self._is_over or self._connection.writable.wait(_OVERFLOW_CHECK)):
            if stream.overflowed is not None and stream.overflowed.is_set():
                raise StreamError

    def _sent(self, data: bytes) -> None:
        if not self._is_over:
            self._connection.send(data)
        self._is_sent.set()

    def _end(self, call: Callable[..., object], *arguments: object) -> None:
        """Let the loop call ``call`` as soon as this thread has ended."""
        call_in_loop(self._connection.loop, self._ended, call, arguments)

    def _ended(self, call: Callable[..., object], arguments: tuple[object, ...]) -> None:
        self._thread.join()
        if not self._is_over:
            call(*arguments)
