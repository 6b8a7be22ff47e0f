"""Plain values: JSON, numbers, paths, counts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias, TypeGuard, cast

from petstore_mock.common.refusing import refuse, shown

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer; to Python alone, ``True`` is one."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is an integer or a float; to Python alone, ``True`` is one."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def counted(count: int, noun: str) -> str:
    """Return a number of things in words: ``1 request``, ``2 requests``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def as_path(path: object, name: str) -> Path:
    """Return the ``Path`` that a test author passes as argument ``name``."""
    found: object = path
    if not isinstance(path, (str, os.PathLike)) or "\0" in str(found):
        refuse(f"expected {name} to be a path, as text or a path object; got {name}={shown(found)}")
    return Path(cast("str | os.PathLike[str]", path))


def write_text(path: object, text: str) -> None:
    """Write a file of a test author's; characters that UTF-8 can't carry become question marks."""
    file = as_path(path, "path")
    try:
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        refuse(f"expected a file that can be written; got path={str(path)!r}: {error}")
