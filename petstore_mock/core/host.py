"""What the worlds behind one listener share: facts about the listener, the index of API keys (§5), and watchers."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import Bounded
from petstore_mock.http.credentials import KEY_TEXT

if TYPE_CHECKING:
    from petstore_mock.core.cors import Cors

NOBODY: Final = "an earlier world"  # the owner of a key that was issued to no test
_REMEMBERED: Final = 20_000  # names and keys of worlds that are over; a stub may run for months

WorldEvent = Literal["made", "reset", "cleared", "ended", "request"]
Watcher = Callable[[Any, WorldEvent, Any], object]  # gets the exchange of a request, new or at its end


class Key(NamedTuple):
    """A key of a world, from its issue until the world is another test's."""

    name: str
    expires: float | None = None  # when it becomes invalid, in seconds since 1970 by the fake's clock
    revoked: str = ""  # the condition that refuses it for good


class Host:
    """What worlds share. Several worlds may have the same key: then only an address tells them apart."""

    def __init__(self, cors: Cors | None = None, *, tls: bool = False) -> None:
        self.cors = cors  # the pages that may use the service
        self.tls = tls
        self.own_certificate = False  # whether TLS has a certificate of the user's own, which the fake can't spoil
        self.public_url = ""  # where clients reach the service behind a proxy; empty for as they name it
        self.has_door = False  # whether a control door makes worlds
        self.renew_connections: Callable[[], object] = lambda: None  # a busy one closes after its response
        # Closes the idle connections of these numbers, or all.
        self.close_connections: Callable[[frozenset[int] | None], object] = lambda _: None
        self.at_end: Callable[[Any], object] = lambda _: None  # gets each world that a reset or its end will clear
        self.by_key: dict[str, list[Any]] = {}
        self.retired: Bounded[str, str] = Bounded(_REMEMBERED)  # owners of keys, and of addresses such as /w/NAME
        self._prefix = f"petstore-{secrets.token_hex(4)}-"  # two processes must not issue the same key
        self._issued = 0
        self._watchers: tuple[Watcher, ...] = ()  # replaced, never changed

    # Watchers

    def watch(self, watcher: Watcher) -> None:
        """Call ``watcher`` with each event of a world, in the thread of the event; it must be quick, and not raise."""
        self._watchers = (*self._watchers, watcher)

    def unwatch(self, watcher: Watcher) -> None:
        self._watchers = tuple(other for other in self._watchers if other != watcher)

    def announce(self, world: object, event: WorldEvent, exchange: object = None) -> None:
        for watcher in self._watchers:
            watcher(world, event, exchange)

    # Keys

    def new_key(self) -> str:
        self._issued += 1
        return f"{self._prefix}{self._issued:06d}"

    def check_key(self, key: object, world: object, *, shared: bool) -> None:
        """Refuse a key that no client can send as a bearer token, or that another world has; never show it.

        ``shared`` means that other worlds may have it, because the world has an address.
        """
        if not isinstance(key, str) or not KEY_TEXT.fullmatch(key):
            came = "other text" if isinstance(key, str) else type(key).__name__
            refuse(
                f"expected an API key of letters, digits and -._~+/, with = at its end only (RFC 6750 §2.1); got {came}"
            )
        if not shared and any(other is not world for other in self.by_key.get(key, ())):
            refuse("expected an API key that no other world behind this listener has; this one is taken")

    def hold(self, key: str, world: object) -> None:
        self.retired.pop(key, None)
        self.by_key[key] = [*self.by_key.get(key, ()), world]

    def retire(self, key: str, world: object, owner: str | None) -> None:
        others = [other for other in self.by_key.get(key, ()) if other is not world]
        if others:
            self.by_key[key] = others
        else:
            self.by_key.pop(key, None)
            self.remember(key, owner)

    def remember(self, what: str, owner: str | None) -> None:
        """Remember the owner of a key or an address, as the newest."""
        self.retired.pop(what, None)
        self.retired[what] = owner or NOBODY
