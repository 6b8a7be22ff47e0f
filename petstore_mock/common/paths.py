"""What a test author passes as the path of a file or directory."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from petstore_mock.errors import PetStoreMockError

__all__ = ["as_path", "write_text"]


def as_path(path: object, name: str) -> Path:
    """Return ``path`` as a ``Path``.

    Args:
        path: text or a path object.
        name: what the caller's own argument is called, for the error.

    Raises:
        PetStoreMockError: it is neither, or no file can be called so.
    """
    if isinstance(path, (str, PathLike)):
        try:
            found = Path(path)
            if b"\0" not in os.fsencode(found):
                return found
        except (TypeError, UnicodeEncodeError):  # a path object that stands for bytes; a surrogate that no byte has
            pass
    raise PetStoreMockError(
        f"expected {name} to be a path, as text or a path object; got {name}={path!r} ({type(path).__name__})"
    )


def write_text(path: object, text: str) -> None:
    """Write ``text`` to the file of a test author's; what UTF-8 can't carry becomes a question mark.

    Raises:
        PetStoreMockError: it is no path, or the file can't be written.
    """
    file = as_path(path, "path")
    try:
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise PetStoreMockError(f"expected a file that can be written; got path={str(path)!r}: {error}") from None
