"""The store against a plain dict, and its promises one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from petstore_mock.contract.interface import LARGEST_INT64
from petstore_mock.core import store as store_module
from petstore_mock.core.store import SortedIds, Store

Pet = dict[str, Any]

IDS = st.integers(-6, 30) | st.sampled_from([LARGEST_INT64, LARGEST_INT64 - 1, -(2**63)])
STATUSES = st.sampled_from([None, "available", "pending", "sold"])


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split runs early, so that small examples have several."""
    monkeypatch.setattr(store_module, "RUN", 3)


def pet(pet_id: int, status: str | None = None, name: str = "a") -> Pet:
    return {"id": pet_id, "name": name, "categoryId": 1, **({} if status is None else {"status": status})}


# SortedIds


@given(st.lists(st.tuples(st.booleans(), st.sets(IDS, min_size=1, max_size=5)), max_size=80))
def test_sorted_ids_agree_with_a_sorted_set(steps: list[tuple[bool, set[int]]]) -> None:
    ids, model = SortedIds(), set[int]()
    for adding, numbers in steps:
        if not adding:
            for number in numbers:
                ids.discard(number)
            model -= numbers
        elif new := numbers - model:
            ids.update(new)
            model |= new
        assert list(ids) == sorted(model)
        assert list(reversed(ids)) == sorted(model, reverse=True)
        assert len(ids) == len(model)
    for limit in range(len(model) + 2):
        assert ids.first(limit) == sorted(model)[:limit]
        assert ids.last(limit) == sorted(model, reverse=True)[:limit]


@pytest.mark.parametrize("order", ["ascending", "descending", "inside out"])
def test_runs_stay_short(order: str) -> None:
    numbers = list(range(100))
    ids = SortedIds()
    for number in {
        "ascending": numbers,
        "descending": numbers[::-1],
        "inside out": sorted(numbers, key=lambda number: abs(number - 50)),
    }[order]:
        ids.add(number)
    assert list(ids) == numbers
    assert max(map(len, ids.runs)) <= 6  # twice RUN
    assert min(map(len, ids.runs)) >= 3
    assert ids.highest == [run[-1] for run in ids.runs]


def test_first_returns_a_copy() -> None:
    ids = SortedIds()
    ids.add(1)
    ids.first(1).clear()
    ids.last(1).clear()
    assert list(ids) == [1]


# Store


class StoreMachine(RuleBasedStateMachine):
    """Drives a store and a plain dict alike."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.pets: dict[int, Pet] = {}
        self.last = 0
        self.start: tuple[dict[int, Pet], int] = ({}, 0)
        self.snapshots: list[tuple[Any, dict[int, Pet], int]] = []

    @initialize(ids=st.sets(IDS, max_size=8))
    def begin(self, ids: set[int]) -> None:
        for pet_id in ids:
            self.put(pet_id, "sold", "start")
        self.mark_start()

    @rule(pet_id=IDS, status=STATUSES, name=st.sampled_from(["a", "b", "Z", "é"]))
    def put(self, pet_id: int, status: str | None, name: str) -> None:
        document = pet(pet_id, status, name)
        assert json.loads(self.store.put(document)) == document
        self.pets[pet_id] = document
        self.last = max(self.last, pet_id)

    @rule(pet_id=IDS)
    def remove(self, pet_id: int) -> None:
        assert self.store.remove(pet_id) is (self.pets.pop(pet_id, None) is not None)

    @rule()
    def mark_start(self) -> None:
        self.store.mark_start()
        self.start = dict(self.pets), self.last

    @rule()
    def reset(self) -> None:
        self.store.reset()
        self.pets, self.last = dict(self.start[0]), self.start[1]

    @rule()
    def snapshot(self) -> None:
        self.snapshots.append((self.store.snapshot(), dict(self.pets), self.last))

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        if self.snapshots:
            snapshot, pets, self.last = data.draw(st.sampled_from(self.snapshots), label="snapshot")
            self.store.restore(snapshot)
            self.pets = dict(pets)

    @invariant()
    def agrees(self) -> None:
        store, pets = self.store, self.pets
        assert store.documents() == [pets[pet_id] for pet_id in sorted(pets)]
        assert len(store) == len(pets)
        assert store.last == self.last
        for status in (None, "available", "pending", "sold", "no-such"):
            ids = sorted(pet_id for pet_id, one in pets.items() if status is None or one.get("status") == status)
            assert list(store.every(status)) == ids
            assert store.count(status) == len(ids)
            assert store.ascending(status, 3) == ids[:3]
            assert store.descending(status, 3) == ids[::-1][:3]
            assert store.by_name(status, 4) == sorted(ids, key=lambda pet_id: (pets[pet_id]["name"], pet_id))[:4]
        for pet_id in (*pets, 999):
            assert (pet_id in store) is (pet_id in pets)
            body = store.get(pet_id)
            assert (json.loads(body) if body is not None else None) == pets.get(pet_id)
        free = store.lowest_free_id()
        assert free not in pets
        assert set(range(1, free)) <= set(pets)
        assert json.loads(store.page(list(pets))) == list(pets.values())


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)


@pytest.fixture
def full() -> Store:
    """Give a store of 1,000 animals as its starting state."""
    store = Store()
    for number in range(1, 1001):
        store.put(pet(number, "sold"))
    store.mark_start()
    return store


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give the list of the ids that are written from now on."""
    found: list[int] = []
    original = Store.write

    def write(self: Store, pet_id: int, body: bytes | None, status: str | None) -> None:
        found.append(pet_id)
        original(self, pet_id, body, status)

    monkeypatch.setattr(Store, "write", write)
    return found


def test_reset_writes_only_what_changed(full: Store, written: list[int]) -> None:
    full.put(pet(5, "available"))
    full.put(pet(5, "pending"))
    full.put(pet(2000))
    full.remove(7)
    full.remove(8)
    full.put(pet(8, "sold"))  # as it was
    written.clear()
    full.reset()
    assert sorted(written) == [5, 7, 2000]
    assert full.documents() == [pet(number, "sold") for number in range(1, 1001)]
    written.clear()
    full.reset()
    assert written == []
    assert full.undo == {}  # nor does it look again at what it put back


def test_reset_to_an_empty_start_writes_nothing(written: list[int]) -> None:
    store = Store()
    for number in (3, 1, 2):
        store.put(pet(number, "sold", name=str(number)))
    assert (store.by_name("sold", 1), store.page([1, 2]).count(b"id")) == ([1], 2)
    written.clear()
    store.reset()
    assert written == []
    assert (len(store), store.documents(), store.count("sold"), store.last) == (0, [], 0, 0)
    store.put(pet(2, "available", name="b"))
    assert (store.by_name(None, 5), store.ascending("sold", 5), store.count("available")) == ([2], [], 1)
    assert json.loads(store.page([2]))[0]["name"] == "b"


def test_page_is_kept_until_a_change_and_within_bounds(full: Store) -> None:
    """The journal holds one page then, however often it was asked for."""
    pages = [full.page([1, number]) for number in range(2, 34)]
    assert all(full.page([1, number]) is page for number, page in enumerate(pages, start=2))
    full.page([1, 34])
    assert len(full.pages) <= 32  # of an arbitrary order there are new ones for ever
    before = full.page([1, 2])
    full.put(pet(2, name="b"))
    assert json.loads(full.page([1, 2]))[1]["name"] == "b" != json.loads(before)[1]["name"]


def test_first_page_is_that_of_the_lowest_ids_at_any_time(full: Store) -> None:
    for change in (lambda: None, lambda: full.put(pet(2, "sold", name="b")), lambda: full.remove(1), full.reset):
        change()
        for status in (None, "sold", "lost"):
            for limit in (1, 20):
                for _ in range(2):
                    assert full.first_page(status, limit) == full.page(full.ascending(status, limit))
    for limit in range(1, 101):
        full.first_page("lost", limit)
        full.first_page(None, limit)
    assert len(full.pages) <= 33


def test_restore_writes_only_what_differs(full: Store, written: list[int]) -> None:
    snapshot = full.snapshot()
    full.put(pet(5, "available"))
    full.remove(7)
    full.put(pet(2000))
    written.clear()
    full.restore(snapshot)
    assert sorted(written) == [5, 7, 2000]


def test_snapshot_is_a_copy(full: Store) -> None:
    snapshot = full.snapshot()
    full.remove(1)
    assert 1 in snapshot.pets
    full.restore(snapshot)
    full.remove(2)
    full.restore(snapshot)
    assert len(full) == 1000


def test_highest_id_ever_given_outlives_its_animal() -> None:
    store = Store()
    store.put(pet(9))
    store.remove(9)
    assert store.last == 9
    store.put(pet(3))
    assert store.last == 9


@pytest.mark.parametrize(
    ("taken", "free"), [([], 1), ([1, 2, 4], 3), ([2], 1), ([-5, 0, 1], 2), ([1, LARGEST_INT64], 2), ([-1], 1)]
)
def test_lowest_free_id_is_positive_and_free(taken: list[int], free: int) -> None:
    store = Store()
    for number in taken:
        store.put(pet(number))
    assert store.lowest_free_id() == free


def test_order_by_name_is_sorted_once_after_each_change() -> None:
    store = Store()
    store.put(pet(1, name="b"))
    store.put(pet(2, name="a"))
    assert store.by_name(None, 9) == [2, 1]
    assert store.by_name(None, 9) is not store.by_name(None, 9)
    store.put(pet(1, name="A"))
    assert store.by_name(None, 9) == [1, 2]


def test_repr_says_how_many(full: Store) -> None:
    assert repr(full) == "<Store of 1000 animals>"


def test_order_by_name_is_kept_for_known_statuses_only(full: Store) -> None:
    """A client may ask for any text where a behaviour lets an unknown status pass."""
    full.by_name("sold", 1)
    for number in range(3):
        assert full.by_name(f"unknown-{number}", 1) == []
    assert list(full.orders) == ["sold"]
