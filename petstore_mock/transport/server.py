"""The server: starts and stops the thread, the event loop and the listening sockets.

How this works: ``start`` binds in the caller's thread, so that an error reaches the caller, and then serves in a thread
of its own with a new loop. ``stop`` sets an event of that loop and joins the thread. All else in the second half of the
class runs in the thread of the loop. A fork copies the object: ``is_copy`` tells a child so, and a hook closes the
child's copies of the sockets.
"""

from __future__ import annotations

import _socket
import asyncio
import logging
import os
import socket
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakSet

from petstore_mock.common.real import Event, Lock, Thread, current_thread, monotonic
from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import EVERYWHERE, origin_of
from petstore_mock.http.request import ApiRequest
from petstore_mock.transport.connection import Connection, Shared, call_in_loop, reset_on_close
from petstore_mock.transport.delivery import hold
from petstore_mock.transport.listening import listen
from petstore_mock.transport.loop import AsyncioLoop
from petstore_mock.transport.reading import TLS
from petstore_mock.transport.tls import words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.common.values import JsonObject
    from petstore_mock.http.handler import Handler, TlsPlan
    from petstore_mock.transport.tls import ServerTls

# Seconds. A stop takes a few milliseconds unless something blocks the loop.
STOP_PATIENCE: Final = 5.0
# Seconds between two checks for slow clients.
_SWEEP: Final = 0.5
# Seconds until the server tries again to accept, for example after descriptors ran out.
_RETRY: Final = 1.0
# Seconds for a client's first byte, and again for the rest of its TLS handshake.
_SHAKE_PATIENCE: Final = 10.0
# Seconds for a client's close_notify.
_SHUTDOWN: Final = 2.0
_WITHOUT_HANDSHAKE: Final = frozenset({"tls.handshake_hang", "tls.handshake_reset"})
_NO_TLS: Final = "this port speaks TLS, and the client sent plain HTTP; use https://"
_log = logging.getLogger("petstore_mock")
# Bound here, because tests replace the public names.
_LoopEvent = asyncio.Event
_getpid = os.getpid
_sleep = asyncio.sleep
_wait_for = asyncio.wait_for
_current_task = asyncio.current_task


def _uvloop() -> asyncio.AbstractEventLoop:
    from uvloop import new_event_loop  # the extra `fast`

    return new_event_loop()


class Server:
    """Serves a handler on a port, from a daemon thread of its own.

    Attributes:
        host: the address to listen on, or a name that stands for it.
        bound: the address that it listens on, or the first of several.
        port: the port; before the first start, 0 stands for any free port. A later start in this process reuses it.
        started: when it began to listen, in seconds of the monotonic clock.
    """

    def __init__(
        self,
        handler: Handler,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        tls: ServerTls | None = None,
        loop: Literal["asyncio", "uvloop"] = "asyncio",
    ) -> None:
        self.host = self.bound = host
        self.port = self._asked_port = port
        self.started = 0.0
        self._handler = handler
        self._tls = tls
        self._new_loop = _uvloop if loop == "uvloop" else AsyncioLoop
        # Tests replace, forbid and patch socket.socket, but not its base class. uvloop needs socket.socket.
        self._new_socket: Callable[..., Any] = socket.socket if loop == "uvloop" else _socket.socket
        self._shared = Shared(handler, hold, over_tls=tls is not None)
        self._lock = Lock()
        self._thread: Thread | None = None
        self._accepted = 0
        self._listening: list[_socket.socket] = []
        # The sockets of its connections. Closed ones are removed at the next sweep.
        self._sockets: set[Any] = set()
        # The process that started it.
        self._process = 0
        self._error: BaseException | None = None

    @property
    def is_copy(self) -> bool:
        """Whether a fork copied the server to this process. Only the parent process listens."""
        return self._thread is not None and self._process != _getpid()

    @property
    def is_alive(self) -> bool:
        """Whether it listens. False after its thread died, and in the child of a fork."""
        if self._thread is None or self.is_copy:
            return False
        return self._thread.is_alive()

    @property
    def died(self) -> str:
        """Why its thread died, or an empty text."""
        if self._thread is None or self._thread.is_alive() or self.is_copy:
            return ""
        if self._error is None:
            return "its loop was stopped"
        return f"{type(self._error).__name__}: {self._error}"

    @property
    def origin(self) -> str:
        """The scheme, host and port at which clients on this machine reach it."""
        host = self.bound if self.bound in EVERYWHERE else self.host
        return origin_of(host, self.port, secure=self._tls is not None)

    @property
    def open_connections(self) -> int:
        return len(self._shared.connections)

    def start(self) -> None:
        """Bind in the caller's thread, then serve in another. A server that runs ignores the call.

        Raises:
            PetStoreMockError: the server can't listen on the host and port.
        """
        with self._lock:
            if self.is_alive:
                return
            if self.is_copy:
                # The parent still listens on self.port.
                self.port = self._asked_port
            self._process = _getpid()
            self.started = monotonic()
            sockets = self._listening = listen(self.host, self.port)
            self.bound, self.port = sockets[0].getsockname()[:2]
            _leave_copies_to_parents()
            _servers.add(self)
            self._loop = self._new_loop()
            self._loop.set_exception_handler(self._report)
            self._shared.connections.clear()
            self._stopping = _LoopEvent()
            self._tasks: set[asyncio.Task[None]] = set()
            self._error = None
            self._thread = Thread(target=self._run, args=(sockets,), name="petstore-mock", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Close the port and every connection, held responses included. A stopped server ignores the call.

        Raises:
            PetStoreMockError: the call came from inside a request, or something blocks the loop.
        """
        with self._lock:
            thread = self._thread
            if thread is current_thread():
                refuse("expected stop() outside a request; a call from inside one would wait for itself")
            if thread is not None and self.is_alive:
                # The thread may just have died.
                call_in_loop(self._loop, self._stopping.set)
                thread.join(STOP_PATIENCE)
                if thread.is_alive():
                    refuse(
                        f"expected the server to stop within {STOP_PATIENCE:g} s; something blocks its loop: "
                        "a function of inject(when=...) must be quick"
                    )
            self._thread = None

    def leave_to_parent(self) -> None:
        """In the child of a fork, close the copies of the sockets, so that only the parent holds port and clients."""
        # Another thread of the parent may have held the lock during the fork.
        self._lock = Lock()
        for sock in (*self._listening, *self._sockets):
            sock.close()

    def close_connections(self, numbers: frozenset[int] | None = None, *, busy: bool = False) -> None:
        """Close the idle connections in ``numbers`` (None: all). With ``busy``, close busy ones after their response.

        It waits until the idle ones are closed, unless it is called inside a request.
        """
        done = Event()

        def close() -> None:
            for connection in list(self._shared.connections):
                if numbers is None or connection.number in numbers:
                    connection.close(busy=busy)
            # Runs after the closes queued above.
            self._loop.call_soon(done.set)

        if self.is_alive:
            self._loop.call_soon_threadsafe(close)
            if self._thread is not current_thread():
                done.wait(STOP_PATIENCE)

    # In the thread

    def _run(self, sockets: list[_socket.socket]) -> None:
        try:
            self._loop.run_until_complete(self._serve(sockets))
        except BaseException as error:
            self._error = error
            raise
        finally:
            for sock in sockets:
                # A child that has just been forked may not have closed its copy yet.
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
                sock.close()
            try:
                # If the loop died, they are still open.
                self._loop.run_until_complete(self._end_connections())
            finally:
                self._loop.close()

    async def _serve(self, sockets: list[_socket.socket]) -> None:
        for sock in sockets:
            self._loop.add_reader(sock, self._accept, sock)
        self._sweep()
        await self._stopping.wait()
        for sock in sockets:
            self._loop.remove_reader(sock)
        await self._end_connections()

    async def _end_connections(self) -> None:
        while self._shared.connections or self._tasks:
            # Without TLS, each task ends in one loop turn.
            for task in self._tasks if self._tls is not None else ():
                task.cancel()
            for connection in list(self._shared.connections):
                connection.transport.abort()
            await _sleep(0)

    def _accept(self, listening: Any) -> None:  # noqa: ANN401  # typeshed hides its method
        try:
            while True:
                descriptor, _ = listening._accept()  # as socket.accept() does
                sock = self._new_socket(fileno=descriptor)
                self._sockets.add(sock)
                sock.settimeout(0)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._accepted += 1
                task = self._loop.create_task(self._connect(sock, self._accepted))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        except (BlockingIOError, ConnectionError):
            # No more connections, or the client closed this one already.
            pass
        except OSError as error:
            _log.error("the server can't accept a connection and will try again: %s", error)
            self._loop.remove_reader(listening)
            self._loop.call_later(_RETRY, self._loop.add_reader, listening, self._accept, listening)

    async def _connect(self, sock: socket.socket, number: int) -> None:
        connect = partial(Connection, self._shared, self._loop, number, sock)
        try:
            if self._tls is None:
                await self._loop.connect_accepted_socket(connect, sock)
            else:
                await self._handshake(sock, connect, self._tls)
        except OSError as error:
            sock.close()
            self._handler.handshake_failed(words_of(error))
        except BaseException as error:
            # Otherwise the client of a connection without a protocol would wait until its own timeout.
            sock.close()
            if not isinstance(error, Exception):
                raise
            self._handler.failed(error, ApiRequest("-", "-"))

    async def _handshake(self, sock: socket.socket, connect: Callable[..., Connection], tls: ServerTls) -> None:
        """Do the TLS handshake, or the fault that the handler plans for it, and connect the socket. Raises OSError."""
        first = await _wait_for(self._peek(sock), _SHAKE_PATIENCE)
        if first != TLS:
            # Plain HTTP gets a response, so that the client can read the reason.
            await self._loop.connect_accepted_socket(partial(connect, _NO_TLS), sock)
            return
        plan = self._handler.connection_opened()
        if plan is not None and plan.kind in _WITHOUT_HANDSHAKE:
            reset_on_close(sock)
            if plan.kind == "tls.handshake_hang":
                await self._hang(sock, plan)
            sock.close()
            return
        kind = "" if plan is None else plan.kind
        await self._loop.connect_accepted_socket(
            connect, sock, ssl=tls(kind), ssl_handshake_timeout=_SHAKE_PATIENCE, ssl_shutdown_timeout=_SHUTDOWN
        )

    async def _peek(self, sock: socket.socket) -> bytes:
        """Return the first byte of a client without removing it; empty if the client closed."""
        readable = _LoopEvent()
        self._loop.add_reader(sock, readable.set)
        try:
            await readable.wait()
            return sock.recv(1, socket.MSG_PEEK)
        finally:
            self._loop.remove_reader(sock)

    async def _hang(self, sock: socket.socket, plan: TlsPlan) -> None:
        """Send nothing until the client closes, or a reset of the world cancels this task."""
        cancel = getattr(_current_task(), "cancel")  # noqa: B009  # it is never None here
        # Any thread may call it, at any time.
        release = partial(call_in_loop, self._loop, cancel)
        plan.pending.add(release)
        try:
            while await self._loop.sock_recv(sock, 65536):
                pass
        finally:
            plan.pending.discard(release)

    def _sweep(self) -> None:
        """End slow connections. One timer serves all of them, so a request needs none."""
        for connection in list(self._shared.connections):
            connection.sweep(_SWEEP)
        self._sockets = {sock for sock in self._sockets if sock.fileno() >= 0}
        self._loop.call_later(_SWEEP, self._sweep)

    def _report(self, _loop: asyncio.AbstractEventLoop, context: JsonObject) -> None:
        """Log an error of the operating system; let any other exception fail the test."""
        error = context.get("exception")
        if error is None or isinstance(error, OSError):
            _log.error("%s", context.get("message"), exc_info=error)
        else:
            self._handler.failed(error, ApiRequest("-", "-"))


# Forks

# The servers that this process has started.
_servers: Final[WeakSet[Server]] = WeakSet()


@cache
def _leave_copies_to_parents() -> None:
    """Let each child that this process forks close its copies of the servers' sockets."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_leave_to_parent)


def _leave_to_parent() -> None:
    for server in list(_servers):
        server.leave_to_parent()
