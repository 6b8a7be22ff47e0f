"""Which animals can't be read yet (gap ``visibility``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["HiddenAnimals"]


class HiddenAnimals:
    """Created animals that only a later request sees. Not locked: the world's lock covers it.

    Attributes:
        first_seen: their ids, each with the number of the first request that sees it.
    """

    __slots__ = ("first_seen",)

    def __init__(self) -> None:
        self.first_seen: dict[int, int] = {}

    def hide(self, pet_id: int, number: int, requests: int) -> None:
        """Hide an animal that request ``number`` has created from the next ``requests``."""
        self.settle(number)  # lest they pile up where nobody lists
        self.first_seen[pet_id] = number + 1 + requests

    def hides(self, pet_id: int, number: int) -> bool:
        """Say whether request ``number`` can't see an animal yet."""
        return self.first_seen.get(pet_id, 0) > number

    def visible(self, ids: Iterable[int], number: int) -> list[int]:
        """Return ``ids`` without the animals that request ``number`` can't see yet."""
        return [pet_id for pet_id in ids if not self.hides(pet_id, number)]

    def settle(self, number: int) -> bool:
        """Forget the animals that request ``number`` and every later one sees; say whether one is left."""
        self.first_seen = {pet_id: first for pet_id, first in self.first_seen.items() if first > number}
        return bool(self.first_seen)

    def discard(self, pet_id: int) -> None:
        """Forget an animal that is gone."""
        self.first_seen.pop(pet_id, None)

    def clear(self) -> None:
        """Hide nothing any more."""
        self.first_seen.clear()

    def snapshot(self, number: int) -> dict[int, int]:
        """Return for how many requests after ``number`` each animal stays hidden, for :meth:`restore`."""
        return {pet_id: first - number for pet_id, first in self.first_seen.items()}

    def restore(self, snapshot: dict[int, int], number: int) -> None:
        """Hide the animals of a snapshot from as many requests after ``number``; its own numbers may be over."""
        self.first_seen = {pet_id: first + number for pet_id, first in snapshot.items()}
