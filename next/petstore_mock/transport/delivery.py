"""Responses that are late, or that a fault delivers: timers of the loop, so they cost no thread."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from petstore_mock.http.deferred import Deferred
from petstore_mock.http.framing import frame

if TYPE_CHECKING:
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Response
    from petstore_mock.transport.line import Line
    from petstore_mock.transport.reading import Head

_TICK: Final = 0.01  # seconds between two pieces of a dribbled body, at least


class Waiting:
    """One deferred response on its way. It ends exactly once."""

    def __init__(self, line: Line, head: Head, request: ApiRequest, deferred: Deferred) -> None:
        self._line = line
        self._head = head
        self._request = request
        self._ended = self._hangs = self._sent = False
        self._begin(deferred)

    def _begin(self, deferred: Deferred) -> None:
        self._deferred = deferred
        deferred.pending.add(self._release)
        self._timer = self._line.loop.call_later(deferred.delay, self._due)

    # The connection calls these

    def eof(self) -> bool:
        """Learn that the client sends no more; say whether to keep our half of the connection."""
        self.gone()  # a half-closed client can't be told from one that has gone
        return False

    def gone(self) -> None:
        if not self._ended:
            self._give_up("client gone")

    def shut(self) -> None:
        """End the waiting, and the connection with it."""
        if not self._ended:
            self._give_up("reset")
            self._line.reset()

    def flow(self, *, blocked: bool) -> None:
        """Learn whether the client takes what is sent."""

    def _release(self) -> None:  # any thread may call it, at any time
        with suppress(RuntimeError):  # the loop is closed, and every connection with it
            self._line.loop.call_soon_threadsafe(self.shut)

    def _end(self, outcome: str, *, sent: bool) -> None:
        """Stop waiting, and complete the exchange before the client can see the end."""
        self._ended = True
        self._timer.cancel()
        self._deferred.pending.discard(self._release)
        self._deferred.exchange.complete(outcome, sent=sent)

    def _give_up(self, outcome: str) -> None:
        self._end("hang" if self._hangs else outcome, sent=self._sent)

    def _due(self) -> None:
        deferred, line = self._deferred, self._line
        try:
            response = deferred.resume()
        except Exception as error:  # noqa: BLE001  # a bug of the fake fails the test
            response = line.failed(error, self._request)
        if isinstance(response, Deferred):
            deferred.pending.discard(self._release)
            self._begin(response)
        elif deferred.delivery is None:
            self._end("delayed", sent=True)
            line.respond(self._head, response)
        else:
            self._deliver(response, deferred.delivery.kind, deferred.delivery.value)

    def _deliver(self, response: Response, kind: str, value: float) -> None:
        """Do what the fault says."""
        line = self._line
        match kind:
            case "hang":
                self._hangs = True
                self._deferred.exchange.complete("hang", sent=False)
                line.drain()
            case "reset":
                self._end("reset", sent=False)
                line.reset()
            case "empty_reply":
                self._end("empty reply", sent=False)
                line.finish()
            case "truncate":
                self._end("truncated", sent=True)
                wire, body = self._framed(response, chunked=False)
                line.send(wire + body[: max(0, min(int(len(body) * value), len(body) - 1))])
                line.finish()
            case "malformed_chunk":
                self._end("malformed chunk", sent=True)
                wire, body = self._framed(response, chunked=True)
                line.send(wire + b"no-chunk-size\r\n" + body if body else wire)
                line.finish()
            case _:
                closing = response.wire_format.close or not self._head.keep_alive
                wire, body = self._framed(response, closing=closing)
                line.send(wire)
                self._sent = True
                self._dribble(body, 0, value, line.loop.time(), closing)

    def _framed(
        self, response: Response, *, closing: bool = False, chunked: bool | None = None
    ) -> tuple[bytes, bytes]:
        head = self._head
        return frame(response, modern=head.modern, bodiless=head.bodiless, closing=closing, chunked=chunked)

    def _dribble(self, body: bytes, at: int, rate: float, since: float, closing: bool) -> None:  # noqa: FBT001, PLR0917
        """Send as much of the body as is due by now, and come again."""
        line = self._line
        due = min(int((line.loop.time() - since) * rate), len(body))
        if due < len(body):
            if due > at:
                line.send(body[at:due])
            self._timer = line.loop.call_later(max(_TICK, 1 / rate), self._dribble, body, due, rate, since, closing)
            return
        self._end("dribbled", sent=True)
        line.send(body[at:])
        if closing:
            line.finish()
        else:
            line.proceed()
