"""Binds the sockets that listen for clients."""

from __future__ import annotations

import _socket
import errno
import os
import socket
from typing import Final

from petstore_mock.common.refusing import refuse, require

_BACKLOG: Final = 1024
# For each error of the system: the expected value, and what to do.
_PROBLEMS: Final[dict[int | None, tuple[str, str]]] = {
    errno.EADDRINUSE: ("a free port", ". Use port 0 for any free port, or stop the program that uses this one"),
    errno.EACCES: ("a port that this user may use", ". Use port 0 for any free port, or one from 1024 up"),
    errno.EADDRNOTAVAIL: ("an address of this machine", ". Use 127.0.0.1, or 0.0.0.0 for all local addresses"),
}


def listen(host: str, port: int) -> list[_socket.socket]:
    """Return listening sockets, one for each address family of ``host``, all with the same port."""
    require(0 <= port <= 65535, "a port from 0 to 65535", host=host, port=port)
    # glibc resolves * to loopback.
    require(host != "*", "an address, such as 0.0.0.0 for all addresses", host=host)
    sockets: list[_socket.socket] = []
    chosen = port
    try:
        for family, address in _addresses_of(host):
            sock = _bound(family, (address[0], chosen, *address[2:]), is_only=not sockets)
            if sock is not None:
                sockets.append(sock)
                chosen = sock.getsockname()[1]
    except (OSError, ValueError) as error:
        for sock in sockets:
            sock.close()
        # ValueError for a name such as 127..0.0.1.
        is_name = isinstance(error, (socket.gaierror, ValueError))
        problem = errno.EADDRNOTAVAIL if is_name else getattr(error, "errno", None)
        expected, advice = _PROBLEMS.get(problem, ("an address and a port", ""))
        refuse(f"expected {expected} to listen on; got host={host!r}, port={port!r}: {error}{advice}")
    return sockets


def _addresses_of(host: str) -> list[tuple[int, tuple[object, ...]]]:
    """Return the first address of each family, IPv4 first: for localhost, clients differ in the family they try."""
    addresses: dict[int, tuple[object, ...]] = {}
    for family, _, _, _, address in _socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM):
        addresses.setdefault(family, address)
    return sorted(addresses.items(), key=lambda item: item[0] != socket.AF_INET)


def _bound(family: int, address: tuple[object, ...], *, is_only: bool) -> _socket.socket | None:
    """Return a listening socket; None if this machine lacks the family and there is another one."""
    sock = _socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(0)
        # On Windows the option would let two programs share the port.
        if os.name == "posix":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        if is_only or error.errno != errno.EADDRNOTAVAIL:
            raise
        return None
    return sock
