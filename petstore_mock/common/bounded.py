"""What may come with each of a million requests, within bounds."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["Firsts"]

T = TypeVar("T")


class Firsts(list[T]):
    """The first of many: what came later tells nothing new."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def note(self, one: T) -> None:
        """Keep ``one`` while there is room."""
        if len(self) < self._limit:
            self.append(one)
