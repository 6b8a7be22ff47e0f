"""Sockets that listen: at every address of a host, on one port."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from typing import Any, Final

from petstore_mock.common.refusing import refuse, require

_BACKLOG: Final = 1024
_FREE_PORT_TRIES: Final = 20
_BAD_ADDRESS: Final = ("an address of this machine", ". Pass host='127.0.0.1', or '0.0.0.0' for all of its addresses")
_PROBLEMS: Final = {  # what was expected instead, and what to do
    errno.EADDRINUSE: ("a free port", ". Pass port=0 for any free port, or stop the program that uses this one"),
    errno.EACCES: ("a port that this user may take", ". Pass port=0 for any free port, or one from 1024 up"),
    errno.EADDRNOTAVAIL: _BAD_ADDRESS,
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
    tries = _FREE_PORT_TRIES if port == 0 else 1  # a port that is free at one address may be taken at the next
    while True:
        tries -= 1
        try:
            return _listen_at(_addresses(host), port)
        except (OSError, ValueError) as error:  # the latter for a name such as 127..0.0.1
            code = getattr(error, "errno", None)
            if code == errno.EADDRINUSE and tries:
                continue
            named = isinstance(error, (socket.gaierror, ValueError))
            expected, advice = _BAD_ADDRESS if named else _PROBLEMS.get(code or 0, ("an address and a port", ""))
            refuse(f"expected {expected} to listen on; got host={host!r}, port={port!r}: {error}{advice}")


def _addresses(host: str) -> list[tuple[int, int, Any]]:
    """Return one address of each family, IPv4 first. Clients of localhost differ in the one that they try first."""
    if host == "*":  # for which glibc gives loopback alone
        raise ValueError("'*' is no address")
    found: dict[int, tuple[int, int, Any]] = {}
    for family, _, protocol, _, address in socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM):
        found.setdefault(family, (family, protocol, address))
    return sorted(found.values(), key=lambda one: one[0] != socket.AF_INET)


def _listen_at(addresses: list[tuple[int, int, Any]], port: int) -> list[Socket]:
    sockets: list[Socket] = []
    absent: OSError | None = None
    with contextlib.ExitStack() as undo:
        for family, protocol, address in addresses:
            sock = undo.enter_context(Socket(family, socket.SOCK_STREAM, protocol))
            if os.name == "posix":  # on Windows the option would let two programs share the port
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind((address[0], port, *address[2:]))
                sock.listen(_BACKLOG)
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                absent = error  # a name may stand for an address of a family that this machine does without
                continue
            sock.setblocking(False)
            sockets.append(sock)
            port = sock.getsockname()[1]
        if absent is not None and not sockets:
            raise absent
        undo.pop_all()
    return sockets
