"""Accepts connections and drives them, by an epoll of its own inside asyncio's loop (Linux).

asyncio queues a callback for each event, and runs it in a context of its own. That takes an eighth to a fifth of what a
request costs (``benchmarks/RESULTS.md``). Here, all connections are one reader of the loop, which asks the system for
their events and calls them itself, several times in a row while there are many.
"""

from __future__ import annotations

import asyncio
import errno
import select
import socket
from typing import TYPE_CHECKING, Any, Final, cast

from petstore_mock.transport.tcp_connection import READ_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EpollServer", "EpollTransport"]

_EVENTS: Final = 64  # at most, of one question
_QUESTIONS: Final = 16  # in a row, at most: timers and other threads' calls wait no longer than for these
_ACCEPTED: Final = 128  # connections in a row, at most
_HIGH: Final = 64 * 1024  # unsent bytes from which the protocol is told to pause, as asyncio does
_LOW: Final = 16 * 1024  # and to resume
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_ACCEPT_AGAIN: Final = 1.0  # seconds, after the system had no descriptor or memory for another connection
_NOT_NOW: Final = (BlockingIOError, InterruptedError)
_NOBODY: Final = asyncio.Protocol()


class EpollServer:
    """The connections of listening sockets. All of it runs in the loop's thread.

    Args:
        loop: the loop that runs it.
        connect: makes the protocol of a connection.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, connect: Callable[[], asyncio.Protocol]) -> None:
        self.loop = loop
        self._connect = connect
        self.epoll = select.epoll()
        self.events: dict[int, Callable[[int], None]] = {}  # what to call with the events of a descriptor
        self.ends_turn = False  # the loop comes first now, with what a protocol has put off by call_soon()
        loop.add_reader(self.epoll.fileno(), self._poll)

    def listen(self, sock: socket.socket) -> None:
        """Accept what comes to ``sock``, which does not block."""
        self.loop.add_reader(sock, self._accept, sock)

    def close(self) -> None:
        """Ask for no more events; the connections are closed by then."""
        self.loop.remove_reader(self.epoll.fileno())
        self.epoll.close()

    def _poll(self) -> None:
        poll, call = self.epoll.poll, self.events
        self.ends_turn = False
        for _ in range(_QUESTIONS):
            events = poll(0, _EVENTS)
            for descriptor, mask in events:
                if descriptor in call:  # else one that was called before has closed it
                    call[descriptor](mask)
            if len(events) < 2 or self.ends_turn:
                return

    def _accept(self, sock: socket.socket) -> None:
        for _ in range(_ACCEPTED):
            try:
                accepted, _address = sock.accept()
            except (*_NOT_NOW, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                told = {"message": "the system has no room for another connection", "exception": error}
                self.loop.call_exception_handler(told)
                self.loop.remove_reader(sock)
                self.loop.call_later(_ACCEPT_AGAIN, self._accept_again, sock)
                return
            accepted.settimeout(0)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            EpollTransport(self, accepted, self._connect())

    def _accept_again(self, sock: socket.socket) -> None:
        if sock.fileno() >= 0:
            self.listen(sock)


class EpollTransport(asyncio.Transport):
    """A connection, as asyncio's own is to a protocol, in all that the protocols of this folder call.

    Args:
        server: what it belongs to.
        sock: the connected socket, which does not block.
        protocol: what is told of its bytes and its end.
    """

    __slots__ = (
        "_closing",
        "_descriptor",
        "_ended",
        "_lost",
        "_mask",
        "_paused",
        "_protocol",
        "_receive",
        "_send",
        "_server",
        "_sock",
        "_unsent",
        "_waiting",
    )

    def __init__(self, server: EpollServer, sock: socket.socket, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._server = server
        self._sock = sock
        self._descriptor = sock.fileno()
        self._receive, self._send = sock.recv, sock.send
        self._protocol = protocol
        self._unsent = bytearray()
        self._mask = 0  # the events that are asked for
        self._paused = False  # by pause_reading(), or since the client sends no more
        self._waiting = False  # the protocol was told to pause
        self._closing = False
        self._ended = False  # by write_eof()
        self._lost = False
        protocol.connection_made(self)
        self._ask()

    # Events

    def _ask(self) -> None:
        """Ask for the events that matter now. Errors come unasked, so a descriptor for which none does is taken out."""
        if self._lost:
            return
        mask = (0 if self._paused else select.EPOLLIN) | (select.EPOLLOUT if self._unsent else 0)
        before, self._mask = self._mask, mask
        server, descriptor = self._server, self._descriptor
        if mask == before:
            return
        if not before:
            server.epoll.register(descriptor, mask)
            server.events[descriptor] = self._on_event
        elif mask:
            server.epoll.modify(descriptor, mask)
        else:
            server.epoll.unregister(descriptor)
            del server.events[descriptor]

    def _on_event(self, mask: int) -> None:
        try:
            if not self._paused and mask & ~select.EPOLLOUT:
                self._read()
            if self._unsent and mask & ~select.EPOLLIN:
                self._flush()
        except Exception as error:  # noqa: BLE001  # of the protocol: the other connections go on
            told = {"message": "a connection failed", "exception": error, "transport": self}
            self._server.loop.call_exception_handler(told)
            self._lose(error)

    def _read(self) -> None:
        try:
            data = self._receive(READ_SIZE)
        except _NOT_NOW:
            return
        except OSError as error:
            self._lose(error)
            return
        if data:
            self._protocol.data_received(data)
            return
        self._paused = True
        self._ask()
        if not self._protocol.eof_received():
            self.close()

    def _flush(self) -> None:
        try:
            sent = self._send(self._unsent)
        except _NOT_NOW:
            return
        except OSError as error:
            self._lose(error)
            return
        del self._unsent[:sent]
        if self._waiting and len(self._unsent) <= _LOW:
            self._waiting = False
            self._protocol.resume_writing()
            self._server.ends_turn = True
        if self._unsent:
            return
        self._ask()
        if self._closing:
            self._lose(None)
        elif self._ended:
            self._say_end()

    # What the protocol calls

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Send ``data``; what the client does not take at once waits."""
        if self._lost:
            return
        sent = 0
        if not self._unsent:
            try:
                sent = self._send(data)
            except _NOT_NOW:
                pass
            except OSError as error:
                self._lose(error)
                return
            if sent == len(data):
                return
        self._unsent += data[sent:]
        self._ask()
        if len(self._unsent) > _HIGH and not self._waiting:
            self._waiting = True
            self._protocol.pause_writing()

    def write_eof(self) -> None:
        """Say FIN once all is sent; raises OSError when the client was quicker."""
        if self._closing or self._ended:
            return
        self._ended = True
        if not self._unsent:
            self._sock.shutdown(socket.SHUT_WR)

    def _say_end(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            self._lose(error)

    def get_write_buffer_size(self) -> int:
        """Return how many bytes wait."""
        return len(self._unsent)

    def pause_reading(self) -> None:
        """Take no more of what the client sends."""
        self._paused = True
        self._ask()

    def resume_reading(self) -> None:
        """Take it again; where it has said FIN already, that is found once more."""
        if not self._closing:
            self._paused = False
            self._ask()

    def is_closing(self) -> bool:
        """Say whether it is closed, or will be once all is sent."""
        return self._closing

    def close(self) -> None:
        """End the connection once all is sent."""
        if self._closing:
            return
        self._closing = self._paused = True
        self._ask()
        if not self._unsent:
            self._lose(None)

    def abort(self) -> None:
        """End the connection at once."""
        self._lose(None)

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  # asyncio's signature
        """Return ``socket``, or ``sockname``."""
        if name == "socket":
            return self._sock
        return self._sock.getsockname() if name == "sockname" else default

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Tell ``protocol`` from now on."""
        self._protocol = cast("asyncio.Protocol", protocol)

    # The end

    def _lose(self, error: Exception | None) -> None:
        if self._lost:
            return
        self._unsent.clear()
        self._closing = self._paused = True
        self._ask()
        self._lost = True
        # A turn later: whoever closed it is still at work, and the descriptor may not be given to another before.
        self._server.loop.call_soon(self._end, error)

    def _end(self, error: Exception | None) -> None:
        protocol, self._protocol = self._protocol, _NOBODY  # who knows us, and we it: a cycle
        try:
            protocol.connection_lost(error)
        finally:
            self._sock.close()
