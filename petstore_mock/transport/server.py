"""Listens: the thread, the loop and the socket behind the connections, and their start and end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import select
import socket
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.real_time import RealTime
from petstore_mock.errors import PetStoreMockError
from petstore_mock.transport.http_connection import HttpConnection
from petstore_mock.transport.server_state import NoExpectations, ServerState
from petstore_mock.transport.tls_connection import TlsLayer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.transport.handler import Handler
    from petstore_mock.transport.mounted import MountedApp
    from petstore_mock.transport.server_state import Expectations
    from petstore_mock.transport.tls_connection import ServerTls

    _Address = tuple[int, int, tuple[Any, ...]]  # family, protocol, and what to bind to

__all__ = ["WireServer"]

_log = logging.getLogger("petstore_mock")

BACKLOG: Final = 1024
LARGEST_PORT: Final = 65535
_FREE_PORT_TRIES: Final = 20
STOP_PATIENCE: Final = 5.0  # seconds; a stop takes a few milliseconds unless something blocks the loop

# Why nobody can listen there: what was expected instead, and what to do.
_BAD_ADDRESS: Final = ("an address of this machine", ". Pass host='127.0.0.1', or '0.0.0.0' for all of its addresses")
_OTHERWISE: Final = ("an address and a port", "")
_ON_TROUBLE: Final[Mapping[int | None, tuple[str, str]]] = {
    errno.EADDRINUSE: ("a free port", ". Pass port=0 for any free port, or stop the program that uses this one"),
    errno.EACCES: ("a port that this user may take", ". Pass port=0 for any free port, or one from 1024 up"),
    errno.EADDRNOTAVAIL: _BAD_ADDRESS,
}
_NOTHING_EXPECTED: Final = NoExpectations()
_ABSENT: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


class _Loop(asyncio.SelectorEventLoop):
    """asyncio's own, with timers that go by the real time even while a test has frozen it (freezegun)."""

    time = staticmethod(RealTime.monotonic)  # an attribute of a class: those of modules get replaced


class WireServer:
    """Serves a handler on a port, from a thread of its own.

    Args:
        handler: the core.
        host: where to listen: an address, or a name that stands for one.
        port: 0 for any free one; ``port`` tells which after the start, and a later start takes it again.
        expectations: what answers instead of the handler.
        mounted: a WSGI application of paths of its own.
        head_timeout: seconds within which a head must come in full.
        body_timeout: seconds within which a body must grow.
        idle_timeout: seconds after which a kept connection is closed, or one whose client does not read.
        linger_timeout: seconds that a client has to close after we have.
        new_loop: makes the event loop: asyncio's own, or uvloop's.
        tls: how it speaks TLS; None for plain HTTP.
    """

    def __init__(
        self,
        handler: Handler,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        expectations: Expectations = _NOTHING_EXPECTED,
        mounted: MountedApp | None = None,
        head_timeout: float = 10.0,
        body_timeout: float = 10.0,
        idle_timeout: float = 75.0,
        linger_timeout: float = 2.0,
        new_loop: Callable[[], asyncio.AbstractEventLoop] = _Loop,
        tls: ServerTls | None = None,
    ) -> None:
        self.host = host
        self.bound = host  # the address that it stands for, once that is known; of several, the first
        self.port = self._asked_port = port
        self.state = ServerState(  # what its connections share
            handler,
            expectations,
            mounted,
            head_timeout=head_timeout,
            body_timeout=body_timeout,
            idle_timeout=idle_timeout,
            linger_timeout=linger_timeout,
            over_tls=tls is not None,
        )
        self._new_loop = new_loop
        self._tls = tls
        self._sweep_interval = min(1.0, min(head_timeout, body_timeout, idle_timeout, linger_timeout) / 4)
        self._swept = 0.0  # when the connections were last looked after
        self._connections: set[HttpConnection | TlsLayer] = set()
        self._accepted = 0
        self._lock = threading.Lock()
        self._stopping = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None  # while it runs, in its own thread
        self._thread: threading.Thread | None = None
        self._sockets: list[socket.socket] = []

    def __repr__(self) -> str:
        return f"<WireServer {self.host}:{self.port} {'running' if self.is_running else 'stopped'}>"

    @property
    def is_running(self) -> bool:
        """Whether it listens."""
        return self.loop is not None

    @property
    def speaks_tls(self) -> bool:
        """Whether it speaks TLS."""
        return self._tls is not None

    @property
    def open_connections(self) -> int:
        """How many connections are open now."""
        return len(self._connections)

    def start(self) -> None:
        """Bind here, in the caller's thread, then serve in another; raises PetStoreMockError when that can't be."""
        with self._lock:
            if self.loop is not None:
                raise PetStoreMockError(
                    f"expected a stopped server; got one running at port={self.port}: stop it first"
                )
            self._sockets = listen(self.host, self.port)
            self.bound, self.port = self._sockets[0].getsockname()[:2]
            loop = self._new_loop()
            loop.set_exception_handler(self._report)
            self.loop, self._stopping = loop, asyncio.Event()
            self._thread = threading.Thread(
                target=self._run, args=(loop, self._sockets, self._stopping), name="petstore-mock", daemon=True
            )
            self._thread.start()
            _running.add(self)

    def stop(self) -> None:
        """Close the port and every connection, held answers included; nothing happens when it is stopped already.

        Raises:
            PetStoreMockError: it was called from inside a request, or something blocks the loop.
        """
        with self._lock:
            loop, thread = self.loop, self._thread
            if loop is None or thread is None:
                return
            if thread is threading.current_thread():
                raise PetStoreMockError(
                    "expected stop() from another thread; got it from inside a request: it would wait for itself"
                )
            self.begin_to_stop()
            thread.join(STOP_PATIENCE)
            if thread.is_alive():
                raise PetStoreMockError(
                    f"expected the server to stop within {STOP_PATIENCE:g} s; something blocks its loop: "
                    "a predicate of inject(when=...) must be quick"
                )
            self.loop = self._thread = None
            self._sockets = []
            _running.discard(self)

    def begin_to_stop(self) -> None:
        """Have the loop end what it is at, and do not wait for it."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self._stopping.set)

    def close_connections(self, numbers: frozenset[int] | None = None) -> None:
        """Close the kept connections that are idle; it is done when this returns, or, from a request, after it."""
        loop = self.loop
        if loop is None:
            return
        if self._thread is threading.current_thread():
            loop.call_soon(self._close_idle, numbers)
            return
        done = threading.Event()

        def close() -> None:
            self._close_idle(numbers)
            loop.call_soon(done.set)  # after the closing that the line above has queued

        loop.call_soon_threadsafe(close)
        done.wait(STOP_PATIENCE)

    def renew_connections(self) -> None:
        """Close the kept connections, those that are busy after their answer: whoever comes next shakes hands anew."""
        if self.loop is not None and self._tls is not None:
            self.loop.call_soon_threadsafe(self._tls.retire_all)
            self.close_connections()  # whose end waits for what was called before it

    def _close_idle(self, numbers: frozenset[int] | None) -> None:
        for connection in list(self._connections):
            if numbers is None or connection.number in numbers:
                connection.close_if_idle()

    def _run(self, loop: asyncio.AbstractEventLoop, listening: list[socket.socket], stopping: asyncio.Event) -> None:
        """Serve until stopped: the thread's whole life."""
        try:
            loop.run_until_complete(self._serve(loop, listening, stopping))
        finally:
            loop.close()

    async def _serve(
        self, loop: asyncio.AbstractEventLoop, listening: list[socket.socket], stopping: asyncio.Event
    ) -> None:
        def connect() -> HttpConnection | TlsLayer:
            self._accepted += 1
            speak_http = partial(HttpConnection, self.state, loop, self._connections, self._accepted)
            if self._tls is None:
                return speak_http()
            return TlsLayer(
                self._tls,
                loop,
                number=self._accepted,
                connections=self._connections,
                make=speak_http,
                patience=self.state.head_timeout,
            )

        self._swept = RealTime.perf_counter()
        self._sweep(loop)
        if isinstance(loop, asyncio.SelectorEventLoop) and hasattr(select, "epoll"):
            await self._serve_by_epoll(loop, connect, listening, stopping)
        else:
            await self._serve_by_loop(loop, connect, listening, stopping)

    async def _serve_by_epoll(
        self,
        loop: asyncio.AbstractEventLoop,
        connect: Callable[[], HttpConnection | TlsLayer],
        listening: list[socket.socket],
        stopping: asyncio.Event,
    ) -> None:
        """Serve on Linux: by an epoll of our own within the loop, which takes less of the processor."""
        from petstore_mock.transport.epoll_server import EpollServer  # noqa: PLC0415  # elsewhere there is no epoll

        server = EpollServer(loop, connect)
        for sock in listening:
            server.listen(sock)
        await stopping.wait()
        for sock in listening:
            loop.remove_reader(sock)
            sock.close()
        await self._end_connections()
        server.close()

    async def _serve_by_loop(
        self,
        loop: asyncio.AbstractEventLoop,
        connect: Callable[[], HttpConnection | TlsLayer],
        listening: list[socket.socket],
        stopping: asyncio.Event,
    ) -> None:
        """Serve where there is no epoll, or by uvloop: as the loop does it."""
        servers = [await loop.create_server(connect, sock=sock, backlog=BACKLOG) for sock in listening]
        await stopping.wait()
        # Accept no more, but close asyncio's server last: what was accepted becomes a connection by a task, and asyncio
        # forgets the socket when it finds the server closed by then. The end of a connection takes a turn as well.
        # uvloop has no reader to remove, and what it has accepted is a connection after a turn.
        had_readers = [loop.remove_reader(sock) for sock in listening]
        if not any(had_readers):
            for server in servers:
                server.close()
            await asyncio.sleep(0)
        await self._end_connections()
        for server in servers:
            server.close()

    async def _end_connections(self) -> None:
        """Wait until all connections are closed, which takes a turn."""
        while self._connections or len(asyncio.all_tasks()) > 1:
            for connection in list(self._connections):
                connection.shut()
            await asyncio.sleep(0)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """End connections that are too slow; one timer for all of them, so that a request costs none."""
        now = RealTime.perf_counter()
        # A laptop that sleeps, a debugger or a starved machine stops the clients as well as us.
        stood_still = max(0.0, now - self._swept - self._sweep_interval)
        self._swept = now
        for connection in list(self._connections):
            connection.sweep(now, stood_still)
        loop.call_later(self._sweep_interval, self._sweep, loop)

    def _report(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Have what went wrong in the loop seen: as a failure of the fake, or of the system beneath it."""
        error = context.get("exception")
        if error is None or isinstance(error, OSError):
            _log.error("%s", context.get("message"), exc_info=error)
        else:
            self.state.failed(error, None)

    def forget(self) -> None:
        """Let go, in the child of a fork, of what belongs to the parent.

        The loop's thread does not exist here, and its selector is the parent's own: taking a descriptor out of it
        would take it out there. Descriptors are only closed, and the objects kept, so that none closes itself later.
        """
        _orphans.append((self.loop, self._thread, self._connections))
        for sock in self._sockets:
            os.close(sock.detach())  # its own close() waits for uvloop to close it too
        for connection in self._connections:
            connection.disown()
        self._lock = threading.Lock()
        self.port = self._asked_port  # the one that was found is the parent's
        self.loop = self._thread = None
        self._sockets = []
        self._connections = set()


def listen(host: str, port: int) -> list[socket.socket]:
    """Return the sockets that listen at ``host`` and ``port``, one for each family of addresses that it stands for.

    Raises:
        PetStoreMockError: nobody can listen there; says what to do.
    """
    if not 0 <= port <= LARGEST_PORT:  # the system would take its last 16 bits
        raise PetStoreMockError(f"expected a port from 0 to {LARGEST_PORT}; got host={host!r}, port={port!r}")
    try:
        return _listen_at(_resolve(host), port)
    except (OSError, ValueError) as error:  # the latter for a name that is none, such as 127..0.0.1
        if isinstance(error, (socket.gaierror, ValueError)):
            expected, advice = _BAD_ADDRESS
        else:
            expected, advice = _ON_TROUBLE.get(error.errno, _OTHERWISE)
        raise PetStoreMockError(
            f"expected {expected} to listen on; got host={host!r}, port={port!r}: {error}{advice}"
        ) from None


def _resolve(host: str) -> list[_Address]:
    """Return the addresses that ``host`` stands for: one of each family, IPv4 first.

    A name may stand for both, localhost above all. Clients differ in which one they try first, and whether they try the
    other as well; who shows but one address (Java does) shows the IPv4 one.
    """
    if host == "*":  # for which glibc gives loopback alone
        raise ValueError("'*' is no address")
    found: dict[int, _Address] = {}
    for family, _, protocol, _, address in socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM):
        found.setdefault(family, (family, protocol, address))
    return sorted(found.values(), key=lambda one: one[0] != socket.AF_INET)


def _listen_at(addresses: list[_Address], port: int) -> list[socket.socket]:
    """Listen at ``addresses``, on one port."""
    # Where any will do, one that is free for the first address may be taken for the second.
    for _ in range(_FREE_PORT_TRIES if port == 0 and len(addresses) > 1 else 0):
        try:
            return _listen_on_all(addresses, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    return _listen_on_all(addresses, port)


def _listen_on_all(addresses: list[_Address], port: int) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    absent: OSError | None = None
    with contextlib.ExitStack() as undo:
        for family, protocol, address in addresses:
            try:
                sock = _listen_on(family, protocol, (address[0], port, *address[2:]))
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                absent = error  # a name may stand for an address of a family that this machine does without
                continue
            undo.callback(sock.close)
            sockets.append(sock)
            port = sock.getsockname()[1]
        if absent is not None and not sockets:
            raise absent
        undo.pop_all()
    return sockets


def _listen_on(family: int, protocol: int, address: tuple[Any, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM, protocol)
    try:
        if os.name == "posix":  # pragma: no branch  # on Windows the option would let two programs share the port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    sock.settimeout(0)
    return sock


_running: weakref.WeakSet[WireServer] = weakref.WeakSet()
_orphans: list[object] = []


def _forget_all() -> None:
    with contextlib.suppress(RuntimeError):
        for server in list(_running):
            server.forget()
    _running.clear()


if hasattr(os, "register_at_fork"):  # pragma: no branch  # Windows has none
    os.register_at_fork(after_in_child=_forget_all)
