"""Responses that a thread makes: of the control door, and of the expectations of ``httpserver``."""

from __future__ import annotations

from collections import deque
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.real import Event, Lock, Thread
from petstore_mock.http.response import Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.http.deferred import Blocking
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Stream
    from petstore_mock.transport.line import Line
    from petstore_mock.transport.reading import Head

_MOST_THREADS: Final = 1000  # at once: waits and streams hold one as long as they last, and each takes 50 KiB or so


class Threads:
    """Runs calls, each in a daemon thread; of too many at once, the later ones wait.

    No executor, because its threads hold up the exit of the interpreter.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._running = 0
        self._waiting: deque[Callable[[], None]] = deque()

    def run(self, call: Callable[[], None]) -> None:
        with self._lock:
            self._waiting.append(call)
            if self._running >= _MOST_THREADS:
                return
            self._running += 1
        Thread(target=self._work, name="petstore-mock-call", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                call = self._waiting.popleft()
            call()


class BlockingCall:
    """One request whose response a thread makes."""

    def __init__(self, line: Line, head: Head, request: ApiRequest, blocking: Blocking, threads: Threads) -> None:
        self._line = line
        self._head = head
        self._request = request
        self._blocking = blocking
        self._gone = False
        self._writable = Event()
        self._writable.set()
        threads.run(self._run)

    # The connection calls these

    def eof(self) -> bool:
        """Learn that the client sends no more; say whether to keep our half of the connection."""
        if self._blocking.streams:  # such a client waits for nothing
            self.gone()
            self._line.transport.abort()
        return not self._blocking.streams

    def gone(self) -> None:
        self._gone = True
        self._writable.set()

    def shut(self) -> None:
        self._line.transport.abort()

    def flow(self, *, blocked: bool) -> None:
        """Learn whether the client takes what is sent."""
        (self._writable.clear if blocked else self._writable.set)()

    # In the thread

    def _run(self) -> None:
        try:
            response = self._blocking.run()
        except BaseException as error:  # noqa: BLE001  # its client must not wait for ever
            response = self._line.failed(error, self._request)
        if isinstance(response, Response):
            self._post(partial(self._line.respond, self._head, response))
        else:
            self._stream(response)

    def _stream(self, stream: Stream) -> None:
        line, chunked = self._line, self._head.modern
        framing = b"Transfer-Encoding: chunked" if chunked else b"Connection: close"
        self._post(partial(line.send, b"%bDate: %b\r\n%b\r\n\r\n" % (stream.head.wire, stream.date, framing)))
        chunks: Any = stream.chunks
        with closing(chunks):
            for part in chunks:
                self._writable.wait()
                if self._gone:
                    return
                if part:
                    self._post(partial(line.send, b"%x\r\n%b\r\n" % (len(part), part) if chunked else part))
        if chunked:
            self._post(partial(line.send, b"0\r\n\r\n"))
        self._post(line.proceed if chunked else line.finish)

    def _post(self, call: Callable[[], object]) -> None:
        def unless_gone() -> None:
            if not self._gone:
                call()

        with suppress(RuntimeError):  # the loop is closed, and the client has gone with it
            self._line.loop.call_soon_threadsafe(unless_gone)
