"""The host that a client names in its TLS hello, read from the bytes themselves.

Python's ``ssl`` tells it as well, but only once OpenSSL has found nothing wrong, and a name that is not ASCII makes it
print a traceback that a test's author would have to answer for.
"""

from __future__ import annotations

from typing import Final

__all__ = ["MOST", "server_name_of"]

MOST: Final = 16 * 1024  # bytes of a hello that are looked at
_HANDSHAKE: Final = 22  # RFC 8446 §5.1
_CLIENT_HELLO: Final = 1  # §4
_SERVER_NAME: Final = 0  # RFC 6066 §3, the extension and the kind of name alike


class _Reader:
    """Reads fields of a known length, or of one that stands before them; raises IndexError behind the end."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._content):
            raise IndexError(end)
        taken, self._at = self._content[self._at : end], end
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def vector(self, size: int) -> bytes:
        """Take what has its length before it, in ``size`` bytes (RFC 8446 §3.4)."""
        return self.take(self.number(size))


def server_name_of(received: bytes) -> str | None:
    """Return the host that a client names in what it sent first (SNI, RFC 6066 §3).

    Args:
        received: from its first byte on; the hello may be cut into records, and need not be complete.

    Returns:
        The name, what is not ASCII in it escaped; None if there is none, or not yet.
    """
    try:
        hello = _Reader(_handshake_bytes(received))
        if hello.number(1) != _CLIENT_HELLO:
            return None
        hello.take(3 + 2 + 32)  # its length, the version, the random
        for size in (1, 2, 1):  # the session, the cipher suites, the compressions
            hello.vector(size)
        hello.take(2)  # how long the extensions are, of which the last may still be missing
        while True:
            kind, content = hello.number(2), hello.vector(2)
            if kind == _SERVER_NAME:
                names = _Reader(_Reader(content).vector(2))
                is_host = names.number(1) == _SERVER_NAME
                return names.vector(2).decode("ascii", "backslashreplace") if is_host else None
    except IndexError:
        return None


def _handshake_bytes(received: bytes) -> bytes:
    """Return what the records hold that are there, the last one as far as it has come."""
    parts = []
    at = 0
    while at + 5 <= len(received) and received[at] == _HANDSHAKE:
        size = int.from_bytes(received[at + 3 : at + 5], "big")
        parts.append(received[at + 5 : at + 5 + size])
        at += 5 + size
    return b"".join(parts)
