"""asyncio's event loop with the real clock and sockets. It leaves nothing of the process changed."""

from __future__ import annotations

import _socket
import asyncio
import selectors
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from petstore_mock.common.real import monotonic

if TYPE_CHECKING:
    from collections.abc import Callable

# Bound here, because tests replace the public names. Windows has no _socket.socketpair.
_socketpair: Any = getattr(_socket, "socketpair", None)
_new_selector = selectors.DefaultSelector


class AsyncioLoop(asyncio.SelectorEventLoop):
    """A selector loop that works while a test replaces public names, and that writes no DEBUG records of asyncio."""

    time = staticmethod(monotonic)

    # Members of asyncio's loop that typeshed hides.
    _internal_fds: int
    _add_reader: Callable[..., object]
    _read_from_self: Callable[[], object]

    def __init__(self) -> None:
        # This does not call the initializer of SelectorEventLoop, which writes a DEBUG record into the test's caplog.
        # tests/unit compares the attributes with those of asyncio's loop.
        asyncio.BaseEventLoop.__init__(self)
        self._selector = _new_selector()
        self._signal_handlers: dict[int, object] = {}
        self._unix_server_sockets: dict[object, object] = {}
        self._make_self_pipe()
        self._transports: WeakValueDictionary[int, object] = WeakValueDictionary()
        # In debug mode, asyncio logs its polls and slow callbacks. They would be the fake's, not the test's.
        self.set_debug(enabled=False)

    def _make_self_pipe(self) -> None:
        """Make the sockets that wake the loop, without the name ``socket.socket``, which a test may replace."""
        if _socketpair is None:
            super()._make_self_pipe()  # type: ignore[misc]  # typeshed hides it
            return
        self._ssock, self._csock = _socketpair()
        self._ssock.settimeout(0)
        self._csock.settimeout(0)
        self._internal_fds += 1
        self._add_reader(self._ssock.fileno(), self._read_from_self)
