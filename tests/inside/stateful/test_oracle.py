"""The machine's oracle: what may be true of the service after answers were lost."""

from __future__ import annotations

import pytest

from petstore_mock.stateful.model.oracle import Contradiction, Oracle

REX = {"name": "Rex", "categoryId": 1}
SOLD = {**REX, "status": "sold"}


def test_a_lost_animal_may_exist_or_not() -> None:
    oracle = Oracle(delayed=False)
    oracle.may_have_created(REX)
    oracle.saw_list([], 20, None, 1)
    oracle.saw_list([{"id": 7, **REX}], 20, None, 2)
    assert list(oracle.pets) == [7]


def test_an_animal_that_was_seen_stays() -> None:
    oracle = Oracle(delayed=False)
    oracle.may_have_created(REX)
    oracle.saw_pet(7, {"id": 7, **REX}, 1)
    with pytest.raises(Contradiction, match="lacked"):
        oracle.saw_list([], 20, None, 2)


def test_one_lost_animal_is_not_seen_twice() -> None:
    oracle = Oracle(delayed=False)
    oracle.may_have_created(REX)
    with pytest.raises(Contradiction, match="nobody created"):
        oracle.saw_list([{"id": 7, **REX}, {"id": 8, **REX}], 20, None, 1)


@pytest.mark.parametrize("lost", [[REX, SOLD], [SOLD, REX]])
def test_a_lost_animal_is_recognised_by_its_status_first(lost: list[dict[str, object]]) -> None:
    """Of the one sent without a status anything may have become, of the other only this."""
    oracle = Oracle(delayed=False)
    for sent in lost:
        oracle.may_have_created(sent)
    oracle.saw_list([{"id": 7, **SOLD}, {"id": 8, **REX}], 20, None, 1)
    assert list(oracle.pets) == [7, 8]


def test_a_new_animal_may_show_late() -> None:
    oracle = Oracle(delayed=True)
    oracle.created({"id": 7, **REX}, REX, 1)
    oracle.saw_pet(7, None, 2)
    with pytest.raises(Contradiction, match="exists and was answered 404"):
        oracle.saw_pet(7, None, 3)


def test_a_list_with_room_shows_every_animal() -> None:
    oracle = Oracle(delayed=False)
    oracle.created({"id": 7, **REX}, REX, 1)
    oracle.saw_list([], 20, "sold", 2)
    with pytest.raises(Contradiction, match="lacked"):
        oracle.saw_list([], 20, None, 3)


def test_an_id_is_given_once() -> None:
    oracle = Oracle(delayed=False)
    oracle.created({"id": 7, **REX}, REX, 1)
    with pytest.raises(Contradiction, match="the id 7 twice"):
        oracle.created({"id": 7, **SOLD}, SOLD, 2)


def test_a_short_page_may_lack_animals_and_never_all() -> None:
    oracle = Oracle(delayed=False, short_pages=True)
    rex, tom = {"id": 1, "name": "Rex", "categoryId": 1}, {"id": 2, "name": "Tom", "categoryId": 1}
    oracle.exists(rex)
    oracle.exists(tom)
    oracle.saw_list([rex], 2, None, 1)
    with pytest.raises(Contradiction, match="lacked"):
        oracle.saw_list([], 2, None, 2)


def test_what_was_done_by_hands_unknown_is_taken_for_granted() -> None:
    oracle = Oracle(delayed=True)
    rex, tom = {"id": 1, "name": "Rex", "categoryId": 1}, {"id": 2, "name": "Tom", "categoryId": 1}
    oracle.exists(rex)
    oracle.may_have_created({"name": "Tom", "categoryId": 1})
    oracle.catch_up([tom], 5)
    assert oracle.vanished == [1]
    oracle.saw_list([], 20, None, 6)  # it may not show yet
    with pytest.raises(Contradiction, match="lacked"):
        oracle.saw_list([], 20, None, 7)
    with pytest.raises(Contradiction, match="nobody created"):
        oracle.saw_list([{**tom, "id": 3}], 20, None, 7)
