"""How bytes flow over one connection, and how the responses go out that are not sent whole and at once."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from petstore_mock.common.real import Event, Thread
from petstore_mock.http.handler import Deferred
from petstore_mock.http.response import Response, frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.http.handler import Blocking
    from petstore_mock.http.response import Stream
    from petstore_mock.transport.reading import Head

    Failed = Callable[[BaseException], Response]  # responds to a bug of the fake

_READ_SIZE: Final = 64 * 1024  # bytes
_TICK: Final = 0.01  # seconds between two pieces of a dribbled body, at least
# SO_LINGER on, for no time: closing discards and resets. Windows has it in half the bytes.
_RST_ON_CLOSE: Final = struct.pack("HH" if os.name == "nt" else "ii", 1, 0)


def reset_on_close(sock: socket.socket) -> None:
    """Let the end of a socket be a RST: alone, ``abort`` sends a FIN."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST_ON_CLOSE)


def call_in_loop(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *arguments: object) -> None:
    """Let the loop's thread call a function. Every connection has gone with a loop that is closed."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *arguments)


class Line(asyncio.Protocol):
    """A connection without the protocol spoken on it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.draining = False  # nothing will be served any more: input is dropped
        self.waited = 0.0  # seconds without progress
        self._eof = self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        if hasattr(transport, "max_size"):  # asyncio's 256 KiB for each read cost more than all else in a request
            cast("Any", transport).max_size = _READ_SIZE
        self.send = self.transport.write

    def respond(self, head: Head, response: Response) -> None:
        """Send a response that was held, and go on."""

    def proceed(self) -> None:
        """Go on after a response that was held."""

    def throttle(self, *, wanted: bool) -> None:
        if wanted is not self._paused and not self.transport.is_closing():
            self._paused = wanted
            (self.transport.pause_reading if wanted else self.transport.resume_reading)()

    def drain(self) -> None:
        """Drop the further input, and watch for the end."""
        self.draining = True
        self.throttle(wanted=False)

    def finish(self) -> None:
        """End the connection so that the client reads everything that was sent.

        To close a socket with unread input sends a RST, which takes away bytes that the client has not read yet. So
        send a FIN, and drop the input until the client closes (RFC 9112 §9.6).
        """
        self.drain()
        self.waited = 0.0
        if self._eof or not self.transport.can_write_eof():
            self.transport.close()
            return
        try:
            self.transport.write_eof()
        except OSError:  # the client was quicker, with a RST
            self.transport.abort()

    def reset(self) -> None:
        """End the connection with a RST."""
        reset_on_close(self.transport.get_extra_info("socket"))
        self.transport.abort()


class Waiting:
    """A deferred response on its way: timers of the loop, so it costs no thread. It ends exactly once."""

    ends_at_eof = True  # a half-closed client can't be told from one that has gone

    def __init__(self, line: Line, head: Head, deferred: Deferred, failed: Failed) -> None:
        self._line = line
        self._head = head
        self._failed = failed
        self._ended = self._hangs = self._sent = False
        self._begin(deferred)

    def _begin(self, deferred: Deferred) -> None:
        self._deferred = deferred
        deferred.pending.add(self._release)
        self._timer = self._line.loop.call_later(deferred.delay, self._due)

    def _release(self) -> None:  # any thread may call it, at any time
        call_in_loop(self._line.loop, self.shut)

    def gone(self) -> None:
        """Learn that the client has gone."""
        self._end("client gone")

    def shut(self) -> None:
        """End the waiting, and the connection with it."""
        if not self._ended:
            self._end("reset")
            self._line.reset()

    def _end(self, outcome: str) -> None:
        """Stop waiting, and complete the exchange before the client can see the end."""
        if not self._ended:
            self._ended = True
            self._timer.cancel()
            self._deferred.pending.discard(self._release)
            self._deferred.exchange.complete("hang" if self._hangs else outcome, sent=self._sent)

    def _due(self) -> None:
        deferred = self._deferred
        try:
            response = deferred.resume()
        except Exception as error:  # noqa: BLE001  # a bug of the fake fails the test
            response = self._failed(error)
        if isinstance(response, Deferred):
            deferred.pending.discard(self._release)
            self._begin(response)
        elif deferred.delivery is None:
            self._sent = True
            self._end("delayed")
            self._line.respond(self._head, response)
        else:
            self._deliver(response, deferred.delivery.kind, deferred.delivery.value)

    def _deliver(self, response: Response, kind: str, value: float) -> None:
        """Do what the fault says."""
        line, head = self._line, self._head
        framed = partial(frame, response, modern=head.modern, bodiless=head.bodiless)
        match kind:
            case "hang":
                self._hangs = True
                self._deferred.exchange.complete("hang", sent=False)
                line.drain()
            case "reset":
                self.shut()
            case "empty_reply":
                self._cut("empty reply", b"")
            case "truncate":
                wire, body = framed(closing=False, chunked=False)
                self._cut("truncated", wire + body[: max(0, min(int(len(body) * value), len(body) - 1))])
            case "malformed_chunk":
                wire, body = framed(closing=False, chunked=True)
                self._cut("malformed chunk", wire + b"no-chunk-size\r\n" + body if body else wire)
            case _:
                closes = response.wire_format.close or not head.keep_alive
                wire, body = framed(closing=closes)
                line.send(wire)
                self._sent = True
                self._dribble(body, value, line.loop.time(), line.finish if closes else line.proceed)

    def _cut(self, outcome: str, sent: bytes) -> None:
        """Send what is left of a response, and end the connection."""
        self._sent = bool(sent)
        self._end(outcome)
        self._line.send(sent)
        self._line.finish()

    def _dribble(self, body: bytes, rate: float, since: float, then: Callable[[], None], at: int = 0) -> None:
        """Send as much of the body as is due by now, and come again."""
        line = self._line
        due = min(int((line.loop.time() - since) * rate), len(body))
        if due < len(body):
            line.send(body[at:due])
            self._timer = line.loop.call_later(max(_TICK, 1 / rate), self._dribble, body, rate, since, then, due)
            return
        self._end("dribbled")
        line.send(body[at:])
        then()


class BlockingCall:
    """A response that a thread makes, of the control door or of ``httpserver``.

    No executor, because its threads hold up the exit of the interpreter.
    """

    def __init__(self, line: Line, head: Head, blocking: Blocking, failed: Failed) -> None:
        self._line = line
        self._head = head
        self._blocking = blocking
        self._failed = failed
        self._is_over = False
        self.ends_at_eof = blocking.streams  # the client of a stream sends nothing more
        self.writable = Event()  # set while the client takes what is sent
        self.writable.set()
        Thread(target=self._run, name="petstore-mock-call", daemon=True).start()

    def gone(self) -> None:
        """Learn that the client has gone."""
        self._is_over = True
        self.writable.set()

    shut = gone

    def _run(self) -> None:
        try:
            response = self._blocking.run()
        except BaseException as error:  # noqa: BLE001  # its client must not wait for ever
            response = self._failed(error)
        if isinstance(response, Response):
            self._post(self._line.respond, self._head, response)
        else:
            self._stream(response)

    def _stream(self, stream: Stream) -> None:
        """Send a body that ends with the connection (RFC 9112 §6.3)."""
        self._post(self._line.send, b"%bDate: %b\r\nConnection: close\r\n\r\n" % (stream.head.wire, stream.date))
        with closing(cast("Any", stream.chunks)):
            for part in stream.chunks:
                self.writable.wait()
                if self._is_over:
                    return
                self._post(self._line.send, part)
        self._post(self._line.finish)

    def _post(self, call: Callable[..., object], *arguments: object) -> None:
        call_in_loop(self._line.loop, lambda: self._is_over or call(*arguments))
