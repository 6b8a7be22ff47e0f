"""Randomness that goes back to where it started."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from petstore_mock.core.resettable_random import ResettableRandom

if TYPE_CHECKING:
    from collections.abc import Callable


DRAWS: list[Callable[[Random], object]] = [
    lambda random: random.random(),
    lambda random: random.getrandbits(64),
    lambda random: random.uniform(1, 9),
    lambda random: random.randint(1, 2**63 - 1),
    lambda random: random.sample(range(100), 10),
    lambda random: random.choice("abcdefgh"),
    lambda random: random.randbytes(8),
    lambda random: random.gauss(0, 1),
]


def test_draws_are_those_of_pythons_generator() -> None:
    ours, theirs = ResettableRandom(7), Random(7)
    for draw in DRAWS:
        assert draw(ours) == draw(theirs)


@pytest.mark.parametrize("draw", DRAWS, ids=range(len(DRAWS)))
def test_reset_goes_back_whatever_was_drawn(draw: Callable[[Random], object]) -> None:
    draws = ResettableRandom(7)
    draws.random()
    draws.mark_start()
    first = [draw(draws) for _ in range(3)]
    draws.reset()
    assert [draw(draws) for _ in range(3)] == first
    draws.reset()
    assert [draw(draws) for _ in range(3)] == first


def test_reset_goes_back_from_a_state_that_was_put_in() -> None:
    draws = ResettableRandom(7)
    other = ResettableRandom(8).getstate()
    draws.setstate(other)
    draws.reset()
    assert draws.random() == ResettableRandom(7).random()
