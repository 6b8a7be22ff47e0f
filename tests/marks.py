"""Marks of single tests."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

__all__ = ["not_in_the_old_tree", "on_a_socket"]

# The old package and the tests of its internals are in the same checkouts.
_IN_THE_OLD_TREE: Final = (Path(__file__).parent / "inside").is_dir()

# For tests in tests/face of what only a socket shows: by default an object at home does not listen.
on_a_socket: Final = pytest.mark.parametrize("carrier", ["listening", "remote"], indirect=True)


def not_in_the_old_tree(point: str) -> pytest.MarkDecorator:
    """Mark a test of behaviour that only the new package has: a strict expected failure on the old one.

    Args:
        point: where the behaviour is decided, such as ``"04.1"``: issue and point, or a page and a heading.
    """
    return pytest.mark.xfail(_IN_THE_OLD_TREE, reason=f"{point}: the new package only", strict=True)
