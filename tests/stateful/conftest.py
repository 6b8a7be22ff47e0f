"""What the tests of the machine share."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def collected() -> Iterator[None]:
    """Have the sockets that buggy clients leave warned of in their module, which ignores it, and not later."""
    yield
    gc.collect()
