"""Which animals can't be read yet."""

from __future__ import annotations

from petstore_mock.core.visibility import HiddenAnimals


def test_hidden_animals_are_left_out_until_their_request() -> None:
    hidden = HiddenAnimals()
    hidden.hide(3, 2, requests=2)
    hidden.hide(2, 3, requests=3)
    assert hidden.visible([1, 2, 3], 4) == [1]
    assert hidden.visible([1, 2, 3], 5) == [1, 3]
    assert hidden.visible([1, 2, 3], 6) == [1, 3]
    assert hidden.visible([1, 2, 3], 7) == [1, 2, 3]


def test_animals_that_everybody_sees_are_forgotten() -> None:
    hidden = HiddenAnimals()
    hidden.hide(1, 1, requests=1)
    assert hidden.settle(2)
    assert not hidden.settle(3)
    assert hidden.first_seen == {}


def test_restored_animals_stay_hidden_from_as_many_requests_whatever_their_numbers() -> None:
    hidden = HiddenAnimals()
    hidden.hide(1, 10, requests=2)
    copy = hidden.snapshot(11)
    hidden.clear()
    hidden.restore(copy, 0)
    assert hidden.hides(1, 1)
    assert not hidden.hides(1, 2)
