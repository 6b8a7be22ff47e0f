"""One client's TCP connection: what flows over it and how it ends. It knows no HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from typing import TYPE_CHECKING, Final, cast

from petstore_mock.common.real_time import RealTime

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["READ_SIZE", "TcpConnection", "disown", "reset"]

READ_SIZE: Final = 64 * 1024  # bytes
LINGER_BYTES: Final = 256 * 1024 * 1024  # a client that sends its whole body first can still read its refusal

# SO_LINGER on, for no time: closing discards and resets. Windows has it in half the bytes.
_RST_ON_CLOSE: Final = struct.pack("HH" if os.name == "nt" else "ii", 1, 0)


class TcpConnection(asyncio.Protocol):
    """A connection without the protocol spoken on it. All of it runs in the loop's thread.

    Attributes:
        loop: the loop that runs it.
        send: sends bytes; what the client does not take at once waits in the transport.
    """

    __slots__ = (
        "_blocked",
        "_buffer",
        "_discarding",
        "_drained",
        "_eof",
        "_idle",
        "_paused",
        "_touched",
        "_transport",
        "_unsent",
        "loop",
        "send",
    )

    send: Callable[[bytes], None]
    _transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._buffer = bytearray()  # what came and is not yet served
        self._blocked = False  # the client does not take what was sent
        self._paused = False  # we do not take what the client sends
        self._eof = False  # it sends no more
        self._discarding = False  # nothing will be served any more: input is dropped
        self._drained = 0  # how much was dropped
        self._idle = True  # the next byte begins a request that may be served at once
        self._touched = RealTime.perf_counter()  # when we last served it or said FIN, or saw that it reads
        self._unsent = 0  # how much it had not taken when we last looked

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; whoever accepted it has set TCP_NODELAY."""
        # asyncio allocates 256 KiB for each read, which the allocator takes from the system and gives back each time:
        # that costs more than all else in a request. An asyncio without this attribute is only slower; uvloop has none.
        with contextlib.suppress(AttributeError):
            transport.max_size = READ_SIZE  # type: ignore[attr-defined]  # undocumented
        self._transport = cast("asyncio.Transport", transport)
        self.send = self._transport.write

    def pause_writing(self) -> None:
        """Serve no further request until the client has read."""
        self._blocked, self._idle = True, False

    def resume_writing(self) -> None:
        """Go on, a turn later: the client has read.

        asyncio calls this from inside its own write and then looks whether the connection is closing: were it closed
        here, it would be ended twice.
        """
        self._blocked = False
        self.loop.call_soon(self._advance)

    def _advance(self) -> None:
        """Serve what has come whole, in order; for the subclass."""

    def _throttle(self, *, wanted: bool) -> None:
        if wanted is not self._paused and not self._transport.is_closing():
            self._paused = wanted
            (self._transport.pause_reading if wanted else self._transport.resume_reading)()

    def ignore_input(self) -> None:
        """Drop whatever the client still sends, and watch for its going."""
        self._discarding, self._idle = True, False
        self._buffer.clear()
        self._throttle(wanted=False)

    def _discard(self, size: int, *, bounded: bool) -> None:
        self._drained += size
        if bounded and self._drained > LINGER_BYTES:
            self._transport.abort()

    def finish(self) -> None:
        """End the connection so that the client reads all that was sent.

        Closing a socket that holds unread input, or to which more comes, sends a RST, and a RST takes away what the
        client has not read yet. So we say FIN, and drop what comes until the client closes (RFC 9112 §9.6).
        """
        self.ignore_input()
        self._touched = RealTime.perf_counter()
        if self._eof:
            self._transport.close()
            return
        try:
            self._transport.write_eof()
        except OSError:  # the client was quicker, with a RST
            self._transport.abort()

    def reset(self) -> None:
        """End the connection with a RST: alone, ``abort`` sends a FIN."""
        reset(self._transport)

    def close_if_idle(self) -> None:
        """Close as a service closes a kept connection that nobody uses: without a word."""
        if self._idle and not self._transport.get_write_buffer_size():
            self._transport.close()

    def disown(self) -> None:
        """Close the descriptor and no more: in the child of a fork, the connection is the parent's."""
        disown(self._transport)

    def _sweep_idle(self, now: float, *, idle_timeout: float, linger_timeout: float) -> None:
        """End the connection if nothing has moved on it for too long."""
        unsent = self._transport.get_write_buffer_size()
        if unsent != self._unsent:  # the client reads, however slowly
            self._unsent, self._touched = unsent, now
        patience = linger_timeout if self._discarding and not unsent else idle_timeout
        if now - self._touched > patience:
            self._transport.abort()


def reset(transport: asyncio.Transport) -> None:
    """End a connection with a RST: alone, ``abort`` sends a FIN."""
    sock = transport.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST_ON_CLOSE)
    transport.abort()


def disown(transport: asyncio.Transport) -> None:
    """Close the descriptor of a connection and no more: in the child of a fork, the connection is the parent's."""
    wrapper = transport.get_extra_info("socket")  # asyncio's can't be closed itself
    sock: socket.socket | None = wrapper if isinstance(wrapper, socket.socket) else getattr(wrapper, "_sock", None)
    if sock is not None:
        sock.close()
    else:  # uvloop has no socket object
        os.close(wrapper.fileno())
