"""API keys (§5): those of one world, and which world a key opens."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from petstore_mock.core.world import World

__all__ = ["Key", "KeyIndex", "KeyRing"]


class Key:
    """An API key: valid until it is revoked or expires, or until its world takes it out of its ring.

    Attributes:
        name: the key itself.
        world: the world that it opens; None once it is retired.
        expires: from when it is invalid, in seconds since 1970 by the fake's clock; None for never.
        revoked: whether it is invalid already.
        uses: how many requests it has let in (gap key_rotation).
    """

    __slots__ = ("expires", "name", "revoked", "uses", "world")

    def __init__(self, name: str, world: World, expires: float | None = None) -> None:
        self.name = name
        self.world: World | None = world
        self.expires = expires
        self.revoked = False
        self.uses = 0


class KeyIndex:
    """The keys of all worlds behind one listener. Several worlds may have the same key, if addresses part them.

    Attributes:
        only: those that one world alone has, by name; each request looks here for its world.
    """

    def __init__(self) -> None:
        self.only: dict[str, Key] = {}
        self._shared: dict[str, list[Key]] = {}

    def is_taken(self, name: str) -> bool:
        """Say whether any world has the key ``name``."""
        return name in self.only or name in self._shared

    def add(self, key: Key) -> None:
        """Let ``key`` open its world."""
        name = key.name
        if not self.is_taken(name):
            self.only[name] = key
            return
        holders = self._shared.setdefault(name, [])
        if name in self.only:
            holders.append(self.only.pop(name))
        holders.append(key)

    def discard(self, key: Key) -> None:
        """Let ``key`` open nothing any more."""
        name = key.name
        if self.only.get(name) is key:
            del self.only[name]
        elif holders := self._shared.get(name):
            others = [other for other in holders if other is not key]
            self._shared[name] = others
            if len(others) == 1:
                self.only[name] = others[0]
                del self._shared[name]


class KeyRing:
    """The keys of one world, kept in step with the index of all. The world's lock is held by who changes it.

    Args:
        world: whose keys they are.
        index: the keys of all worlds behind the listener.

    Attributes:
        names: the keys themselves; replaced, never changed.
        first_used: the key that was used first (gap key_rotation); None when none was.
    """

    __slots__ = (
        "_index",
        "_keys",
        "_world",
        "first_used",
        "names",
    )

    def __init__(self, world: World, index: KeyIndex) -> None:
        self._world = world
        self._index = index
        self._keys: dict[str, Key] = {}
        self.names: tuple[str, ...] = ()  # kept: every line of a log asks for them
        self.first_used: str | None = None

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self._keys)

    def get(self, name: object) -> Key | None:
        """Return the key ``name``, or None."""
        return self._keys.get(name) if isinstance(name, str) else None

    def add(self, name: str, expires: float | None = None) -> Key:
        """Add a key, or return the one of that name."""
        key = self._keys.get(name)
        if key is None:
            key = self._keys[name] = Key(name, self._world, expires)
            self.names = tuple(self._keys)
            self._index.add(key)
        return key

    def discard(self, name: str) -> None:
        """Retire the key ``name``: it opens nothing any more."""
        key = self._keys.pop(name, None)
        if key is not None:
            key.world = None
            self.names = tuple(self._keys)
            self._index.discard(key)

    def replace(self, names: Iterable[str]) -> None:
        """Begin anew with ``names``, none of them used, revoked or expiring."""
        kept = dict.fromkeys(names)
        for name in self.names:
            if name not in kept:
                self.discard(name)
        for name in kept:
            key = self.add(name)  # the same one: a request may have found it, and waits for the world
            key.revoked, key.expires, key.uses = False, None, 0
        self.first_used = None

    # Validity

    def problem(self, key: Key) -> str:
        """Return the condition that refuses ``key`` now, or an empty text."""
        world = self._world
        if key.world is not world:
            return "unknown_key"
        if key.revoked:
            return "revoked_key"
        if key.expires is not None and world.clock.now() >= key.expires:
            return "expired_key"
        rotates = world.rules.policies.key_rotation
        if rotates is not None and key.name == self.first_used and rotates(key.uses + 1):
            return "revoked_key"
        return ""

    def use(self, key: Key) -> str:
        """Let a request bear ``key``: return as :meth:`problem`, and count the use (gap key_rotation)."""
        world = self._world
        # Nearly every key is a plain one, which has no problem: spared the call, since each request bears one.
        plain = key.world is world and not key.revoked and key.expires is None
        problem = "" if plain and world.rules.policies.key_rotation is None else self.problem(key)
        if not problem:
            key.uses += 1
            if self.first_used is None:
                self.first_used = key.name
        elif problem == "revoked_key":
            key.revoked = True  # from the first use that came too late
        return problem

    # A copy, and back

    def snapshot(self) -> KeyRingSnapshot:
        """Return a copy."""
        return KeyRingSnapshot(
            self.first_used, {key.name: (key.revoked, key.expires, key.uses) for key in self._keys.values()}
        )

    def restore(self, snapshot: KeyRingSnapshot, current: str, lost: Iterable[str]) -> None:
        """Return to a copy. Keys issued since stay this world's, revoked; so that a request with one is no leak.

        Args:
            snapshot: the copy.
            current: the key that the world has by now; valid even if the copy is older than the key.
            lost: keys of the copy that are another world's by now.
        """
        self.first_used = snapshot.first_used
        for name, key in self._keys.items():
            key.revoked, key.expires, key.uses = name != current, None, 0
        for name, (revoked, expires, uses) in snapshot.keys.items():
            if name not in lost:
                key = self.add(name)
                key.revoked, key.expires, key.uses = revoked, expires, uses


class KeyRingSnapshot(NamedTuple):
    """A copy of a world's keys: by the name of each whether it was revoked, when it expires, how often it was used."""

    first_used: str | None
    keys: dict[str, tuple[bool, float | None, int]]
