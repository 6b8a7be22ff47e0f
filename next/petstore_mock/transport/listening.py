"""Sockets that listen: at every address of a host, on one port."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import ExitStack
from typing import Any, Final

from petstore_mock.common.refusing import refuse, require

_BACKLOG: Final = 1024
_TRIES: Final = 20  # for a port that is free at every address
_PROBLEMS: Final[dict[int | None, tuple[str, str]]] = {  # what was expected instead, and what to do
    errno.EADDRINUSE: ("a free port", ". Pass port=0 for any free port, or stop the program that uses this one"),
    errno.EACCES: ("a port that this user may take", ". Pass port=0 for any free port, or one from 1024 up"),
    errno.EADDRNOTAVAIL: (
        "an address of this machine",
        ". Pass host='127.0.0.1', or '0.0.0.0' for all of its addresses",
    ),
}
_ABSENT: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


class Socket(socket.socket):
    """A socket that accepts connections while a test has replaced ``socket.socket``."""

    def accept(self) -> tuple[socket.socket, Any]:
        descriptor, address = self._accept()  # type: ignore[attr-defined]  # what socket.accept() calls
        return Socket(self.family, self.type, self.proto, fileno=descriptor), address


def listen(host: str, port: int) -> list[Socket]:
    """Return sockets that listen at ``host`` and ``port``, one for each family of its addresses.

    Raises:
        PetStoreMockError: nothing can listen there; says what to do.
    """
    require(0 <= port <= 65535, "a port from 0 to 65535", host=host, port=port)
    left = _TRIES if port == 0 else 1
    while True:
        left -= 1
        try:
            return _listen_at(_addresses(host), port)
        except (OSError, ValueError) as error:  # the latter for a name such as 127..0.0.1
            code = getattr(error, "errno", None)
            if left and code == errno.EADDRINUSE:
                continue
            key = errno.EADDRNOTAVAIL if isinstance(error, (socket.gaierror, ValueError)) else code
            expected, advice = _PROBLEMS.get(key, ("an address and a port", ""))
            refuse(f"expected {expected} to listen on; got host={host!r}, port={port!r}: {error}{advice}")


def _addresses(host: str) -> dict[int, Any]:
    """Return one address of each family. Clients of localhost differ in the one that they try first."""
    if host == "*":  # for which glibc gives loopback alone
        raise ValueError("'*' is no address")
    found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    return {family: address for family, _, _, _, address in reversed(found)}


def _listen_at(addresses: dict[int, Any], port: int) -> list[Socket]:
    sockets: list[Socket] = []
    absent: OSError | None = None
    with ExitStack() as undo:
        for family in sorted(addresses, key=lambda family: family != socket.AF_INET):
            sock = undo.enter_context(Socket(family, socket.SOCK_STREAM))
            sock.settimeout(0)
            if os.name == "posix":  # on Windows the option would let two programs share the port
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind((addresses[family][0], port, *addresses[family][2:]))
                sock.listen(_BACKLOG)
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                absent = error  # a name may stand for an address of a family that this machine does without
            else:
                sockets.append(sock)
                port = sock.getsockname()[1]
        if absent is not None and not sockets:
            raise absent
        undo.pop_all()
    return sockets
