"""Type guards for values of any type. After ``isinstance`` alone, type checkers do not know the types of members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard


def is_array(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether a value is a list or a tuple."""
    return isinstance(value, (list, tuple))


def items_of(value: object) -> Sequence[Any]:
    """Return the items of an array. For any other value, it is the only item."""
    if is_array(value):
        return value
    return [value]


def is_object(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether a value is a mapping."""
    return isinstance(value, Mapping)
