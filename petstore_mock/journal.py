"""The request journal: every request in order, with what was decided about it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.entry import Entry

__all__ = ["Journal"]

# A test that looks back further than this has lost sight of it; and a million requests must not fill the memory.
FIXTURE_LIMIT: Final = 10_000
BYTES_LIMIT: Final = 32 * 1024 * 1024


class Journal:
    """The entries of one world. Bounded: the oldest go first, and asking for what is gone raises.

    Args:
        limit: how many entries are kept.
        ring: whether old entries may go silently, as in a stub that runs for days.
    """

    def __init__(self, limit: int = FIXTURE_LIMIT, *, ring: bool = False) -> None:
        self._entries: deque[Entry] = deque()
        self._limit = limit
        self._ring = ring
        self._size = 0
        self._listeners: list[Callable[[Entry], None]] = []
        self.total = 0  # the number of the latest entry

    def __repr__(self) -> str:
        return f"<Journal of {self.total} requests>"

    def add(self, entry: Entry) -> None:
        """Append an entry; its number is the next one. The world's lock is held."""
        self.total = entry.number
        entries = self._entries
        entries.append(entry)
        entry.weight = entry.size
        self._size += entry.weight
        while len(entries) > self._limit or (self._size > BYTES_LIMIT and len(entries) > 1):
            self._size -= entries.popleft().weight
        if self._listeners:
            for listener in tuple(self._listeners):
                listener(entry)

    @property
    def violations(self) -> list[Entry]:
        """The entries in which the client broke the contract."""
        return [entry for entry in self._entries if entry.is_violation]

    def clear(self) -> None:
        """Forget every entry."""
        self._entries.clear()
        self._size = 0
        self.total = 0
