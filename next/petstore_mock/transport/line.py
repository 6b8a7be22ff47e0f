"""One client's TCP connection: how bytes flow over it and how it ends. It knows no HTTP."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from typing import TYPE_CHECKING, Final, cast

from petstore_mock.common.real import perf_counter

if TYPE_CHECKING:
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Response
    from petstore_mock.transport.reading import Head

READ_SIZE: Final = 64 * 1024  # bytes
LINGER_BYTES: Final = 256 * 1024 * 1024  # a client that sends its whole body first can still read its refusal
# SO_LINGER on, for no time: closing discards and resets. Windows has it in half the bytes.
_RST_ON_CLOSE: Final = struct.pack("HH" if os.name == "nt" else "ii", 1, 0)


class Line(asyncio.Protocol):
    """A connection without the protocol spoken on it. All of it runs in the loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.draining = False  # nothing will be served any more: input is dropped
        self.touched = perf_counter()  # when the connection last made progress
        self._drained = 0
        self._eof = self._blocked = self._paused = False
        self._unsent = 0  # bytes that the client had not taken at the last sweep

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # asyncio allocates 256 KiB for each read, which costs more than all else in a request. uvloop does not.
        if hasattr(transport, "max_size"):
            transport.max_size = READ_SIZE
        self.transport = cast("asyncio.Transport", transport)
        self.send = self.transport.write

    # For the subclass to do

    def respond(self, head: Head, response: Response) -> None:
        """Send a response that was held, and go on."""
        raise NotImplementedError

    def proceed(self) -> None:
        """Go on after a response that was held."""
        raise NotImplementedError

    def failed(self, error: BaseException, request: ApiRequest) -> Response:
        """Respond to an exception inside the fake."""
        raise NotImplementedError

    # Flow

    def throttle(self, *, wanted: bool) -> None:
        if wanted is not self._paused and not self.transport.is_closing():
            self._paused = wanted
            (self.transport.pause_reading if wanted else self.transport.resume_reading)()

    def drain(self) -> None:
        """Drop the further input, and watch for the end."""
        self.draining = True
        self.throttle(wanted=False)

    def drop(self, size: int) -> None:
        self._drained += size
        if self._drained > LINGER_BYTES:
            self.transport.abort()

    # The end

    def finish(self) -> None:
        """End the connection so that the client reads everything that was sent.

        To close a socket with unread input sends a RST, which takes away bytes that the client has not read yet. So
        send a FIN, and drop the input until the client closes (RFC 9112 §9.6).
        """
        self.drain()
        self.touched = perf_counter()
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

    def is_late(self, now: float, idle_timeout: float, linger_timeout: float) -> bool:
        """Say whether nothing has moved for too long."""
        unsent = self.transport.get_write_buffer_size()
        if unsent != self._unsent:  # the client reads, however slowly
            self._unsent, self.touched = unsent, now
        return now - self.touched > (linger_timeout if self.draining and not unsent else idle_timeout)


def reset_on_close(sock: socket.socket) -> None:
    """Let the end of a socket be a RST: alone, ``abort`` sends a FIN."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST_ON_CLOSE)
