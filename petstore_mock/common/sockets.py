"""What is asked of a socket, however many files the process has open."""

from __future__ import annotations

import selectors
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

__all__ = ["is_readable"]


def is_readable(connection: socket.socket) -> bool:
    """Say whether there is something to read by now: data, or the end.

    Not by ``select.select``, which takes no descriptor from 1024 on: a large suite has as many.

    Raises:
        ValueError: the socket is closed.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        return bool(selector.select(0))
