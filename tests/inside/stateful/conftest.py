"""What the tests of the machine share."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from petstore_mock.stateful import scenario, search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session", autouse=True)
def counted() -> Iterator[Callable[[], int]]:
    """Say at once that objects are frozen, which ``tests/conftest.py`` has seen to and each run of the machine asks.

    The count looks through all half a million of them: 33 ms for each of some 570 runs. It is what is given.
    """
    count = gc.get_freeze_count
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "get_freeze_count", lambda: 1)
        yield count


@pytest.fixture(scope="module", autouse=True)
def unhurried() -> Iterator[None]:
    """Let shrinking take its time: the seconds that a user waits at most are no matter of how simple it can become.

    On a busy machine they were over before the simplest scenario was found, and a test that knows it turned red.
    """
    with pytest.MonkeyPatch.context() as patch:
        for module, names in (
            (scenario, ("LONGEST_SHRINKING", "_LONGEST_CHECK", "_LONGEST")),
            (search, ("LONGEST_SHRINKING", "_LONGEST_RACE", "_LONGEST")),
        ):
            for name in names:
                patch.setattr(module, name, 120.0)
        yield


@pytest.fixture(scope="module")
def collected() -> Iterator[None]:
    """Have the sockets that buggy clients leave warned of in their module, which ignores it, and not later."""
    yield
    gc.collect()
