"""A stub may run for months: whose a key was is remembered of the latest worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.core import world_registry
from petstore_mock.core.world_registry import Worlds

if TYPE_CHECKING:
    import pytest


def test_owners_of_keys_are_bounded_and_the_latest_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_registry, "REMEMBERED", 10)
    worlds = Worlds()
    keys = [worlds.new_key(f"world {number}") for number in range(95)]
    owners = [worlds.retired_owner(key) for key in keys]  # what a leak is told by
    assert owners[-10:] == [f"world {number}" for number in range(85, 95)]
    assert owners[0] == "an earlier world"
    assert len(worlds.owners) < 20
