"""Reads a chunked body (RFC 9112 §7.1), without I/O.

How this works: ``take`` gets the bytes that have arrived, and removes those that it understands. Between two calls, the
reader is at one of four places: before the line with a size, within the data of a chunk, before the CRLF after that
data, or within the trailer section. Each byte is looked at once, however the client cuts its bytes into packets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

# A size beyond 2**64 has no use. Extensions have no meaning for the fake.
_SIZE_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n")
_CRLF: Final = b"\r\n"


class RequestError(Exception):
    """HTTP forbids these bytes, or the fake does not serve them. The arguments: a condition's name and the detail."""


def _refuse(expected: str) -> NoReturn:
    raise RequestError("malformed_request", f"expected {expected}")


class ChunkReader:
    """Reads one chunked body.

    ``body`` has the data so far. ``check_trailers`` gets the trailer section, and raises an exception if it is invalid.
    ``limit`` is the size of a line and of the trailer section in bytes, ``most`` the number of trailer fields.
    """

    def __init__(self, limit: int, most: int, check_trailers: Callable[[bytes], object]) -> None:
        self.body = bytearray()
        self._limit = limit
        self._most = most
        self._check_trailers = check_trailers
        # Bytes of the current chunk that have not arrived.
        self._left = 0
        self._is_before_crlf = False
        self._is_in_trailers = False
        # Bytes at the beginning of the buffer that have no end of a line.
        self._searched = 0
        self._trailers = bytearray()

    def take(self, buffer: bytearray) -> bool:
        """Remove the chunks from ``buffer``, and return whether the body is complete."""
        position = 0
        while not self._is_in_trailers:
            position = self._take_data(buffer, position)
            position = self._take_whole_chunks(buffer, position)
            if self._left or self._is_before_crlf:
                break
            line = self._find_size(buffer, position)
            if line is None:
                break
            position = line.end()
            self._left = int(line[1], 16)
            self._is_before_crlf = self._left > 0
            self._is_in_trailers = not self._left
        del buffer[:position]
        return self._is_in_trailers and self._take_trailers(buffer)

    def _take_whole_chunks(self, buffer: bytearray, position: int) -> int:
        """Take the chunks that have arrived completely, and return the position after them.

        A body can have a chunk for each byte, so this loop is short. It leaves all else to the caller.
        """
        if self._left or self._is_before_crlf or self._searched:
            return position
        body = self.body
        while (line := _SIZE_LINE.match(buffer, position)) is not None:
            begin = line.end()
            end = begin + int(line[1], 16)
            is_whole = buffer[end : end + 2] == _CRLF
            if end == begin or not is_whole or begin - position > self._limit:
                break
            body += buffer[begin:end]
            position = end + 2
        return position

    def _take_data(self, buffer: bytearray, position: int) -> int:
        """Take data and the CRLF behind it, and return the position after them."""
        if self._left:
            data = buffer[position : position + self._left]
            self.body += data
            self._left -= len(data)
            position += len(data)
        if self._is_before_crlf and not self._left:
            end = buffer[position : position + len(_CRLF)]
            if not _CRLF.startswith(end):
                _refuse("CRLF after the data of a chunk")
            if end == _CRLF:
                self._is_before_crlf = False
                position += len(_CRLF)
        return position

    def _find_size(self, buffer: bytearray, position: int) -> re.Match[bytes] | None:
        """Return the line with a size that begins at ``position``; None while it is incomplete."""
        if self._find_end_of_line(buffer, position) < 0:
            return None
        line = _SIZE_LINE.match(buffer, position)
        if line is None:
            _refuse("the size of a chunk in hexadecimal digits, and CRLF")
        return line

    def _find_end_of_line(self, buffer: bytearray, position: int) -> int:
        """Return the position of the next LF; -1 while it has not arrived."""
        end = buffer.find(b"\n", max(position, self._searched))
        length = (len(buffer) if end < 0 else end) - position
        if length + len(self._trailers) > self._limit:
            words = f"expected at most {self._limit} bytes between chunks or in trailers"
            raise RequestError("header_too_large", words)
        # The caller removes what stands before ``position``.
        self._searched = length if end < 0 else 0
        return end

    def _take_trailers(self, buffer: bytearray) -> bool:
        """Remove the lines of the trailer section, and return whether it is complete."""
        while (end := self._find_end_of_line(buffer, 0)) >= 0:
            line = buffer[: end + 1]
            del buffer[: end + 1]
            if not line.endswith(_CRLF):
                _refuse("lines that end in CRLF")
            self._trailers += line
            self._most -= 1
            if line == _CRLF:
                self._check_trailers(bytes(self._trailers))
                return True
            if self._most < 0:
                raise RequestError("header_too_large", "expected fewer fields in trailers")
        return False
