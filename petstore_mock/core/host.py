"""What the worlds behind one listener share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from petstore_mock.core.keys import KeyIndex

if TYPE_CHECKING:
    from petstore_mock.core.cors import Cors

WorldEvent = Literal["made", "reset", "cleared", "ended"]
Watcher = Callable[[Any, WorldEvent], object]


def _nothing(*_: object) -> None:
    """Do nothing where nothing listens."""


class Host:
    """Facts about the listener, the keys of all its worlds, and who watches them."""

    def __init__(self, cors: Cors | None = None, *, tls: bool = False) -> None:
        self.cors = cors  # the pages that may use the service
        self.tls = tls
        self.own_certificate = False  # whether TLS has a certificate of the user's own, which the fake can't spoil
        self.has_door = False  # whether a control door makes worlds
        self.keys = KeyIndex()
        self.renew_connections: Callable[[], None] = _nothing  # a busy one closes after its response
        self.close_connections: Callable[[frozenset[int] | None], None] = _nothing  # idle ones of these numbers, or all
        self._watchers: tuple[Watcher, ...] = ()  # replaced, never changed

    def watch(self, watcher: Watcher) -> None:
        """Call ``watcher`` with each event of a world, in the thread of the event; it must not raise."""
        self._watchers = (*self._watchers, watcher)

    def unwatch(self, watcher: Watcher) -> None:
        self._watchers = tuple(other for other in self._watchers if other != watcher)

    def announce(self, world: object, event: WorldEvent) -> None:
        for watcher in self._watchers:
            watcher(world, event)
