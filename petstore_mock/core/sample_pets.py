"""Plausible, deterministic animals for tests that don't care which."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["sample_category", "sample_name", "sample_pet"]

_NAMES: Final = (
    *("Rex", "Luna", "Bella", "Milo", "Coco", "Nala", "Simba", "Rocky", "Daisy", "Ziggy"),
    *("Mañana", "Žofka", "Søren", "Minou", "Büsi", "Pepe", "Olive", "Gizmo", "Hazel", "Otto"),
)
_CATEGORIES: Final = 5
# Every status comes, half of them available: 300 animals give more than one page of the available ones (§4.1).
_STATUSES: Final = ("available", "pending", "available", "sold")


def sample_name(number: int) -> str:
    """Return the name of the ``number``-th animal; unique, with letters beyond ASCII now and then."""
    turn, index = divmod(number - 1, len(_NAMES))
    return _NAMES[index] if turn == 0 else f"{_NAMES[index]} {turn + 1}"


def sample_category(number: int) -> int:
    """Return the category of the ``number``-th animal, from 1 to 5."""
    return (number - 1) % _CATEGORIES + 1


def sample_pet(number: int) -> dict[str, Any]:
    """Return the ``number``-th animal, without an id."""
    return {
        "name": sample_name(number),
        "categoryId": sample_category(number),
        "status": _STATUSES[(number - 1) % len(_STATUSES)],
    }
