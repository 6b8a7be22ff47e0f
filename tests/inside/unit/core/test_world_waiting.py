"""Held answers are let go, even those that an adapter registers too late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from petstore_mock import faults
from tests.inside.core import Core

if TYPE_CHECKING:
    from collections.abc import Callable

WAYS: dict[str, Callable[[Core], None]] = {
    "reset": lambda core: core.world.reset([core.key]),
    "let_go": lambda core: core.world.let_go(),
    "restore": lambda core: core.world.restore(core.world.snapshot(), core.key),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", [faults.delay(60), faults.hang(), faults.dribble(1)], ids=str)
def test_held_answer_is_let_go_once(way: str, fault: faults.Fault) -> None:
    core = Core()
    core.world.plan.add(fault)
    pending = core.defer().pending
    released: list[str] = []
    pending.add(lambda: released.append("it"))
    WAYS[way](core)
    WAYS[way](core)
    assert released == ["it"]


@pytest.mark.parametrize("way", WAYS)
def test_answer_that_begins_to_wait_after_the_reset_is_let_go_at_once(way: str) -> None:
    """The core decides in one step, the adapter pending in the next: a reset may come between the two."""
    core = Core()
    core.world.plan.add(faults.hang())
    pending = core.defer().pending
    WAYS[way](core)
    released: list[str] = []
    pending.add(lambda: released.append("it"))
    assert released == ["it"]


@pytest.mark.parametrize("way", WAYS)
def test_answer_that_comes_after_the_reset_is_held_again(way: str) -> None:
    core = Core()
    WAYS[way](core)
    core.world.plan.add(faults.hang())
    pending = core.defer().pending
    released: list[str] = []
    pending.add(lambda: released.append("it"))
    assert released == []


def test_answer_that_ended_is_not_let_go() -> None:
    core = Core()
    core.world.plan.add(faults.hang())
    pending = core.defer().pending
    released: list[str] = []

    def release() -> None:
        released.append("it")

    pending.add(release)
    pending.discard(release)
    pending.discard(release)
    core.world.let_go()
    assert released == []
