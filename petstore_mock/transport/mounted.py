"""A WSGI application of paths of its own on the service's port: called in a thread, its answer sent as it comes."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from email.utils import formatdate
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from petstore_mock.messages.response import BODILESS_STATUSES
from petstore_mock.transport.environ import environ_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.transport.request_parsing import RequestError, RequestHead

__all__ = ["REFUSED", "CallThreads", "MountedApp", "MountedCall"]

REFUSED: Final = "petstore.refused"  # a variable of the environ: why what came is no request, by name and in words

MOST_THREADS: Final = 1000  # at once: waits and streams hold one as long as they last, and each takes 50 KiB or so

_log = logging.getLogger("petstore_mock")

_OURS: Final = frozenset({"connection", "date", "transfer-encoding", "keep-alive"})


class MountedApp(Protocol):
    """An application with paths of its own."""

    body_limit: int  # bytes; a longer body comes with its length alone

    def admits(self, environ: dict[str, Any], /) -> bool:
        """Say by a request's head whether it is let in; of others no more than ``UNASKED_BODY`` is kept."""

    def serves(self, target: str) -> bool:
        """Say whether a request's target is one of its paths; asked once for each head."""

    def __call__(self, environ: dict[str, Any], start_response: Any, /) -> Iterable[bytes]:  # noqa: ANN401  # PEP 3333
        """Answer one request."""


class _Connection(Protocol):
    """What a call needs of its connection."""

    loop: asyncio.AbstractEventLoop
    send: Callable[[bytes], None]

    def call_ended(self, *, closing: bool) -> None:
        """Go on after the answer."""


class CallThreads:
    """Runs calls, each in a thread; of too many at once the later ones wait for a thread that has become free.

    Not an executor: its threads hold up the exit of the interpreter, and live on without work.
    """

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._running = 0
        self._waiting: deque[Callable[[], None]] = deque()

    def run(self, call: Callable[[], None]) -> None:
        """Let ``call``, which must not raise, run soon."""
        with self._lock:
            self._waiting.append(call)
            if self._running >= self._most:
                return
            self._running += 1
        try:
            threading.Thread(target=self._work, name="petstore-mock-control", daemon=True).start()
        except RuntimeError:  # the system gives no more
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._waiting.clear()
                    raise

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                call = self._waiting.popleft()
            call()


class MountedCall:
    """One request that the mounted application answers.

    Attributes:
        streams: whether its answer comes in parts of which nobody knows how many.
    """

    def __init__(
        self,
        connection: _Connection,
        app: MountedApp,
        head: RequestHead,
        request: ApiRequest,
        *,
        refused: RequestError | None,
        threads: CallThreads,
    ) -> None:
        self.streams = False
        self._connection = connection
        self._app = app
        self._head = head
        self._request = request
        self._refused = refused
        self._threads = threads
        self._gone = False
        self._writable = threading.Event()
        self._writable.set()
        self._status = "500 Internal Server Error"
        self._fields: list[tuple[str, str]] = []

    def start(self, host: str, port: int, scheme: str) -> None:
        """Begin, in a thread."""
        environ = environ_of(self._request, host, port, scheme)
        if self._request.oversized and self._head.length > 0:
            environ["CONTENT_LENGTH"] = str(self._head.length)
        elif self._request.oversized:
            environ["CONTENT_LENGTH"] = str(self._app.body_limit + 1)
        if self._refused is not None:
            environ[REFUSED] = (self._refused.condition, self._refused.detail)
        self._threads.run(partial(self._run, environ))

    # For the loop's thread

    def gone(self) -> None:
        """Learn that the client has gone."""
        self._gone = True
        self._writable.set()

    def pause(self) -> None:
        """Send no more until the client has read."""
        self._writable.clear()

    def resume(self) -> None:
        """Go on."""
        self._writable.set()

    # In the thread

    def _run(self, environ: dict[str, Any]) -> None:
        closing, last = not self._head.keep_alive, b""
        try:
            parts = self._app(environ, self._start_response)
            try:
                closing, last = self._send(iter(parts))
            finally:
                close = getattr(parts, "close", None)  # PEP 3333
                if close is not None:
                    close()
        except Exception:  # noqa: BLE001  # a bug of the application must not leave its client waiting
            _log.exception("the mounted application failed")
            closing = True
        self._post(self._end, last, closing=closing)

    def _end(self, last: bytes, *, closing: bool) -> None:
        """Send the last of the answer, and let the connection go on: the loop wakes once for both."""
        if last:
            self._connection.send(last)
        self._connection.call_ended(closing=closing)

    def _start_response(self, status: str, fields: list[tuple[str, str]], *_: object) -> Callable[[bytes], None]:
        self._status, self._fields = status, fields
        return lambda data: self._post(self._connection.send, data)

    def _send(self, parts: Iterator[bytes]) -> tuple[bool, bytes]:
        """Send the answer but for its last bytes; return whether the connection closes after it, and these."""
        head, names = self._head, {name.lower() for name, _ in self._fields}
        closing = not head.keep_alive
        if "content-length" in names or int(self._status[:3]) in BODILESS_STATUSES or head.bodiless:
            body = b"" if head.bodiless else b"".join(parts)
            return closing, self._wire(closing=closing) + body
        self.streams = True
        closing = closing or not head.modern
        framing = "" if not head.modern else "Transfer-Encoding: chunked\r\n"
        self._post(self._connection.send, self._wire(framing, closing=closing))
        for part in parts:
            self._writable.wait()
            if self._gone:
                return True, b""
            if part:
                self._post(self._connection.send, b"%x\r\n%b\r\n" % (len(part), part) if framing else part)
        return closing, b"0\r\n\r\n" if framing else b""

    def _wire(self, framing: str = "", *, closing: bool) -> bytes:
        lines = [f"HTTP/1.1 {self._status}\r\n"]
        lines += [f"{name}: {value}\r\n" for name, value in self._fields if name.lower() not in _OURS]
        lines += [f"Date: {formatdate(usegmt=True)}\r\n", framing, "Connection: close\r\n" if closing else "", "\r\n"]
        return "".join(lines).encode("latin-1", "replace")

    def _post(self, function: Callable[..., None], *arguments: object, **options: object) -> None:
        def call() -> None:
            if not self._gone:
                function(*arguments, **options)

        with contextlib.suppress(RuntimeError):  # the loop is closed, and the client has gone with it
            self._connection.loop.call_soon_threadsafe(call)
