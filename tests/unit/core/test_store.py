"""The store: rows and their index, pages, ids, visibility, copies."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from petstore_mock.core.store import Store

STATUSES = ("available", "pending", "sold", None)


def pet(pet_id: int, status: str | None = None) -> dict[str, Any]:
    document = {"id": pet_id, "name": f"pet {pet_id}", "categoryId": 1}
    return document if status is None else {**document, "status": status}


def filled(*pets: dict[str, Any]) -> Store:
    store = Store()
    for one in pets:
        store.put(one)
    return store


@given(st.lists(st.tuples(st.integers(1, 12), st.sampled_from([*STATUSES, "gone"]))))
def test_index_is_that_of_the_rows(changes: list[tuple[int, str | None]]) -> None:
    store, model = Store(), dict[int, dict[str, Any]]()
    for pet_id, status in changes:
        if status == "gone":
            assert store.remove(pet_id) == (model.pop(pet_id, None) is not None)
        else:
            store.put(pet(pet_id, status))
            model[pet_id] = pet(pet_id, status)
    assert [json.loads(body) for body in store.bodies()] == [model[pet_id] for pet_id in sorted(model)]
    for status in STATUSES[:3]:
        wanted = sorted(pet_id for pet_id, one in model.items() if one.get("status") == status)
        assert list(store.ids([("status", status)])) == wanted


def test_several_filters_select_their_common_animals() -> None:
    store = filled(pet(1, "sold"), pet(2, "sold"), pet(3))
    assert list(store.ids([("status", "sold"), ("status", "sold")])) == [1, 2]
    assert list(store.ids([("status", "sold"), ("status", "pending")])) == []


def test_page_has_the_order_of_the_ids() -> None:
    store = filled(pet(1), pet(2))
    assert store.page([2, 1]) == b'[{"id":2,"name":"pet 2","categoryId":1},{"id":1,"name":"pet 1","categoryId":1}]'
    assert store.page([]) == b"[]"


def test_id_is_given_once() -> None:
    store = filled(pet(5))
    store.remove(5)
    assert store.free_id(lambda last, _draw: last + 1) == 6


def test_taken_or_too_large_id_is_replaced() -> None:
    store = filled(pet(5))
    assert store.free_id(lambda _last, _draw: 5) != 5
    assert store.free_id(lambda _last, _draw: 2**63) < 2**63


def test_hidden_animal_shows_from_its_turn_on() -> None:
    store = filled(pet(1))
    store.hide(1, 1)
    shown = []
    for _ in range(3):
        store.turn += 1
        shown.append(not store.hides(1))
    assert shown == [False, True, True]


def test_copy_keeps_its_animals_and_what_is_hidden() -> None:
    store = filled(pet(1, "sold"))
    store.hide(1, 1)
    copy = store.copy()
    store.turn += 5
    store.put(pet(2, "sold"))
    store.put(pet(1, "available"))
    assert copy.bodies() == filled(pet(1, "sold")).bodies()
    assert (list(copy.ids([("status", "sold")])), list(copy.ids([("status", "available")]))) == ([1], [])
    assert (copy.last, copy.hides(1), store.hides(1)) == (1, True, False)


def test_every_change_drops_the_kept_responses() -> None:
    store = filled(pet(1))
    for change in (lambda: store.put(pet(2)), lambda: store.remove(2)):
        store.responses["route"] = object()  # type: ignore[assignment]  # the store does not look at it
        change()
        assert not store.responses
    store.responses["route"] = object()  # type: ignore[assignment]
    assert not store.copy().responses
