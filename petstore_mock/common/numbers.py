"""What is a number: ``True`` and ``False`` are integers to Python alone."""

from __future__ import annotations

from typing import TypeGuard

__all__ = ["is_integer", "is_number"]


def is_integer(value: object) -> TypeGuard[int]:
    """Say whether a value is an integer; ``True`` is none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Say whether a value is an integer or a float; ``True`` is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
