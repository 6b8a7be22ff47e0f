"""The socket: HTTP/1.1 in front of any :class:`~petstore_mock.messages.Handler`, on one event loop in one thread.

Read in this order: ``request`` judges what comes, ``delivery`` frames and holds what goes, ``line`` is one TCP
connection and ``connection`` what is spoken on it, ``serving`` listens. Only :class:`WireServer` is for others to use.
"""

from __future__ import annotations

from petstore_mock.wire.serving import WireServer
from petstore_mock.wire.shared import Neighbours

__all__ = ["Neighbours", "WireServer"]
