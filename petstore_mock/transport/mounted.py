"""A WSGI application of paths of its own on the service's port: called in a thread, its answer sent as it comes."""

from __future__ import annotations

import contextlib
import logging
import threading
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, Final, Protocol

from petstore_mock.messages.response import BODILESS_STATUSES
from petstore_mock.transport.environ import environ_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.transport.request_parsing import RequestHead

__all__ = ["REFUSED", "MountedApp", "MountedCall"]

REFUSED: Final = "petstore.refused"  # a variable of the environ: why what came is no request, in words

_log = logging.getLogger("petstore_mock")

_OURS: Final = frozenset({"connection", "date", "transfer-encoding", "keep-alive"})


class MountedApp(Protocol):
    """An application with paths of its own."""

    body_limit: int  # bytes; a longer body comes with its length alone

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
        refused: str | None,
    ) -> None:
        self.streams = False
        self._connection = connection
        self._app = app
        self._head = head
        self._request = request
        self._refused = refused
        self._gone = False
        self._writable = threading.Event()
        self._writable.set()
        self._status = "500 Internal Server Error"
        self._fields: list[tuple[str, str]] = []

    def start(self, address: tuple[Any, ...], scheme: str) -> None:
        """Begin, in a thread of its own; an executor's would hold up the exit of the interpreter."""
        environ = environ_of(self._request, str(address[0]), int(address[1]), scheme)
        if self._request.oversized and self._head.length > 0:
            environ["CONTENT_LENGTH"] = str(self._head.length)
        elif self._request.oversized:
            environ["CONTENT_LENGTH"] = str(self._app.body_limit + 1)
        if self._refused is not None:
            environ[REFUSED] = self._refused
        threading.Thread(target=self._run, args=(environ,), name="petstore-mock-control", daemon=True).start()

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
        closing = not self._head.keep_alive
        try:
            parts = self._app(environ, self._start_response)
            try:
                closing = self._send_all(iter(parts))
            finally:
                close = getattr(parts, "close", None)  # PEP 3333
                if close is not None:
                    close()
        except Exception:  # noqa: BLE001  # a bug of the application must not leave its client waiting
            _log.exception("the mounted application failed")
            closing = True
        self._post(self._connection.call_ended, closing=closing)

    def _start_response(self, status: str, fields: list[tuple[str, str]], *_: object) -> Callable[[bytes], None]:
        self._status, self._fields = status, fields
        return lambda data: self._post(self._connection.send, data)

    def _send_all(self, parts: Iterator[bytes]) -> bool:
        """Send the answer; return whether the connection closes after it."""
        head, names = self._head, {name.lower() for name, _ in self._fields}
        closing = not head.keep_alive
        if "content-length" in names or int(self._status[:3]) in BODILESS_STATUSES or head.bodiless:
            body = b"" if head.bodiless else b"".join(parts)
            self._post(self._connection.send, self._wire(closing=closing) + body)
            return closing
        self.streams = True
        closing = closing or not head.modern
        framing = "" if not head.modern else "Transfer-Encoding: chunked\r\n"
        self._post(self._connection.send, self._wire(framing, closing=closing))
        for part in parts:
            self._writable.wait()
            if self._gone:
                return True
            if part:
                self._post(self._connection.send, b"%x\r\n%b\r\n" % (len(part), part) if framing else part)
        if framing:
            self._post(self._connection.send, b"0\r\n\r\n")
        return closing

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
