"""API keys (§5): those of one world, and the index that leads from a key to its world."""

from __future__ import annotations

import secrets
from typing import Any, Final, NamedTuple

from petstore_mock.common.bounded import Bounded
from petstore_mock.common.refusing import refuse
from petstore_mock.http.credentials import KEY_TEXT

NOBODY: Final = "an earlier world"  # the owner of a key that was issued to no test
_REMEMBERED: Final = 20_000  # names and keys of worlds that are over; a stub may run for months
# Around an odd key: all kinds of characters that a key may have (RFC 6750 §2.1).
_ODD_BEFORE, _ODD_AFTER = "Aa-._~+/", "=="


class KeyState(NamedTuple):
    expires: float | None = None  # when it becomes invalid, in seconds since 1970 by the fake's clock
    revoked: bool = False
    uses: int = 0  # requests that it has authenticated (gap key_rotation)


class Key:
    """A key of a world, from its issue until the world is another test's."""

    __slots__ = ("expires", "name", "revoked", "uses")

    def __init__(self, name: str, expires: float | None = None) -> None:
        self.name = name
        self.restore(KeyState(expires))

    def state(self) -> KeyState:
        return KeyState(self.expires, self.revoked, self.uses)

    def restore(self, state: KeyState) -> None:
        self.expires, self.revoked, self.uses = state


class KeyIndex:
    """The worlds behind one listener by key, and the owners of the keys and addresses of worlds that are over.

    Several worlds may have the same key: then only an address tells them apart.
    """

    def __init__(self) -> None:
        self.worlds: dict[str, list[Any]] = {}
        self.retired: Bounded[str, str] = Bounded(_REMEMBERED)  # owners of keys, and of addresses such as /w/NAME
        self._prefix = f"petstore-{secrets.token_hex(4)}-"  # two processes must not issue the same key
        self._issued = 0

    def new_key(self, *, odd: bool = False) -> str:
        """Return a key that was never issued; an odd one has every kind of character that a key may have."""
        self._issued += 1
        key = f"{self._prefix}{self._issued:06d}"
        return f"{_ODD_BEFORE}{key}{_ODD_AFTER}" if odd else key

    def check(self, key: object, world: object, *, shared: bool) -> str:
        """Return ``key`` if a client can send it as a bearer token and no other world has it; never show it.

        ``shared`` means that other worlds may have it, because the world has an address.
        """
        if not isinstance(key, str) or not KEY_TEXT.fullmatch(key):
            came = "text with other characters" if isinstance(key, str) else type(key).__name__
            came = "an empty text" if key == "" else came
            refuse(
                f"expected an API key of letters, digits and -._~+/, with = at its end only (RFC 6750 §2.1); got {came}"
            )
        if not shared and any(other is not world for other in self.worlds.get(key, ())):
            refuse("expected an API key that no other world behind this listener has; this one is taken")
        return key

    def hold(self, key: str, world: object) -> None:
        self.retired.pop(key, None)
        self.worlds[key] = [*self.worlds.get(key, ()), world]

    def retire(self, key: str, world: object, owner: str | None) -> None:
        """Let a key lead to this world no more, and remember its owner."""
        others = [other for other in self.worlds.get(key, ()) if other is not world]
        if others:
            self.worlds[key] = others
        else:
            self.worlds.pop(key, None)
            self.remember(key, owner)

    def remember(self, what: str, owner: str | None) -> None:
        """Remember the owner of a key or an address, as the newest."""
        self.retired.pop(what, None)
        self.retired[what] = owner or NOBODY
