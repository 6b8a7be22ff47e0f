"""The store: animals and their index, pages, ids, visibility, copies."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_mock.core.refusals import NotFoundError
from petstore_mock.core.routing import Filter, rules_for
from petstore_mock.core.store import Store
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.table import OPERATIONS

STATUSES = ("available", "pending", "sold", None)


def of(status: str | None) -> Filter:
    """Return the filter of a list by status."""
    filters = {parameter.name: parameter for parameter in OPERATIONS["listPets"].filters}
    return Filter(filters["status"], status)


def pet(pet_id: int, status: str | None = None) -> dict[str, Any]:
    document = {"id": pet_id, "name": f"pet {pet_id}", "categoryId": 1}
    return document if status is None else {**document, "status": status}


def filled(*pets: dict[str, Any], **gaps: str) -> Store:
    store = Store(rules_for(Behaviour().replace(gaps)))
    for one in pets:
        store.put(one)
    return store


@given(st.lists(st.tuples(st.integers(1, 12), st.sampled_from([*STATUSES, "gone"]))))
def test_index_matches_the_animals(changes: list[tuple[int, str | None]]) -> None:
    store, model = filled(), dict[int, dict[str, Any]]()
    for pet_id, status in changes:
        if status == "gone":
            with nullcontext() if model.pop(pet_id, None) else pytest.raises(NotFoundError):
                store.remove(pet_id)
        else:
            store.put(pet(pet_id, status))
            model[pet_id] = pet(pet_id, status)
    assert [json.loads(body) for body in store.bodies()] == [model[pet_id] for pet_id in sorted(model)]
    for status in STATUSES[:3]:
        wanted = sorted(pet_id for pet_id, one in model.items() if one.get("status") == status)
        assert list(store.ids([of(status)])) == wanted


def test_several_filters_select_the_animals_that_match_all() -> None:
    store = filled(pet(1, "sold"), pet(2, "sold"), pet(3))
    assert list(store.ids([of("sold"), of("sold")])) == [1, 2]
    assert list(store.ids([of("sold"), of("pending")])) == []


def test_page_keeps_the_order_of_the_given_ids() -> None:
    store = filled(pet(1), pet(2))
    assert store.page([2, 1]) == b'[{"id":2,"name":"pet 2","categoryId":1},{"id":1,"name":"pet 1","categoryId":1}]'
    assert store.page([]) == b"[]"


def test_id_is_assigned_once() -> None:
    store = filled(pet(5))
    store.remove(5)
    assert store.free_id() == 6


def test_taken_or_too_large_id_is_replaced() -> None:
    for wrong in (5, 2**63):
        store = filled(pet(5))
        store.rules = Mock(policies=Mock(id_assignment=lambda _last, _draw, wrong=wrong: wrong))
        assert store.free_id() not in {5, 2**63}


def test_hidden_animal_is_visible_from_its_turn_on() -> None:
    store = filled(pet(1))
    store.hide(1, 1)
    shown = []
    for _ in range(3):
        store.turn += 1
        shown.append(not store.hides(1))
    assert shown == [False, True, True]


def test_copy_keeps_its_animals_and_its_hidden_ids() -> None:
    store = filled(pet(1, "sold"))
    store.hide(1, 1)
    copy = store.copy()
    store.turn += 5
    store.put(pet(2, "sold"))
    store.put(pet(1, "available"))
    assert copy.bodies() == filled(pet(1, "sold")).bodies()
    assert (list(copy.ids([of("sold")])), list(copy.ids([of("available")]))) == ([1], [])
    assert (copy.last, copy.hides(1), store.hides(1)) == (1, True, False)


def test_every_change_drops_the_cached_responses() -> None:
    store = filled(pet(1))
    for change in (lambda: store.put(pet(2)), lambda: store.remove(2)):
        store.responses["route"] = object()  # type: ignore[assignment]  # the store never reads it
        change()
        assert not store.responses
    store.responses["route"] = object()  # type: ignore[assignment]
    assert not store.copy().responses
