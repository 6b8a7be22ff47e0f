"""A cache with a bound in bytes."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SizedCache(dict[K, V]):
    """A dictionary whose entries together have at most ``limit`` bytes, by the sizes that callers state.

    The entry that would exceed the limit drops all others. That is cheaper than dropping the oldest entry each time,
    and a client whose texts all differ gains nothing from a cache anyway.
    """

    def __init__(self, limit: int, largest: int) -> None:
        super().__init__()
        self._limit = limit
        self._largest = largest  # bytes of an entry; a larger one is not kept
        self._size = 0

    def keep(self, key: K, value: V, size: int) -> None:
        """Keep an entry of ``size`` bytes, unless it is too large."""
        if size > self._largest:
            return
        if self._size + size > self._limit:
            self.clear()
            self._size = 0
        self[key] = value
        self._size += size
