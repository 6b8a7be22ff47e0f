"""What a test author passes as the path of a file or directory."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from petstore_mock.errors import PetStoreMockError

__all__ = ["as_path"]


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
