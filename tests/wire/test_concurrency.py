"""Many clients at once: their requests have the effects of some sequential order."""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from petstore_mock import PetStoreMock
from tests.client import Client

pytestmark = pytest.mark.untraced

THREADS: Final = 16
ROUNDS: Final = 10


@pytest.fixture(autouse=True)
def eager_switching() -> Iterator[None]:
    """Switch threads far more often than usual, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(params=["wsgi", "socket"])
def at_once(request: pytest.FixtureRequest) -> Callable[[PetStoreMock, Callable[[int, Client], None]], None]:
    """Return a function that runs ``work`` in many threads at once and raises an exception of any of them."""

    def run(petstore: PetStoreMock, work: Callable[[int, Client], None]) -> None:
        barrier = threading.Barrier(THREADS)

        def one(number: int) -> None:
            with Client(petstore, request.param) as client:
                barrier.wait()
                work(number, client)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(one, range(THREADS)))

    return run


@pytest.mark.seconds
def test_journal_order_explains_all_concurrent_responses(at_once: Any) -> None:
    """A replay in journal order gives the same responses. Ids are unique, and a new animal is readable at once."""
    created: list[dict[str, Any]] = []

    def work(number: int, client: Client) -> None:
        for turn in range(ROUNDS):
            client.get(number + turn * 3 + 1)
            pet = client.created(name=f"{number}/{turn}", categoryId=2**63 - 1)
            created.append(pet)
            other = created[(number * 7919 + turn) % len(created)]
            assert [client.get(one["id"]).json() for one in (pet, other)] == [pet, other]
            client.list("?limit=100")

    with PetStoreMock() as petstore:
        at_once(petstore, work)
        entries = list(petstore.journal)
        assert petstore.pets == sorted(created, key=lambda pet: int(pet["id"]))
    assert {pet["name"] for pet in created} == {
        f"{number}/{turn}" for number in range(THREADS) for turn in range(ROUNDS)
    }
    assert [entry.number for entry in entries] == list(range(1, 5 * THREADS * ROUNDS + 1))
    turns: Counter[int] = Counter()
    pets: dict[int, Any] = {}
    for entry in entries:
        turns[entry.connection] += 1
        assert entry.exchange == turns[entry.connection] or not entry.connection
        response = json.loads(entry.response_body)
        match entry.operation:
            case "createPet":
                assert response["id"] == len(pets) + 1
                pets[response["id"]] = response
            case "listPets":
                assert response == list(pets.values())[:100]
            case "getPet":
                wanted = int(entry.path.rpartition("/")[2])
                assert (response if entry.status == 200 else None) == pets.get(wanted)


def test_concurrent_resets_break_nothing(at_once: Any) -> None:
    """Each response is right for the world before or after a reset. A reset restarts ids, store and journal."""
    left = threading.Semaphore(0)
    resets = 0

    def work(number: int, client: Client) -> None:
        nonlocal resets
        if number == 0:
            for _ in range(THREADS - 1):
                while not left.acquire(timeout=0.0005):
                    petstore.reset()
                    resets += 1
            return
        try:
            for turn in range(ROUNDS):
                pet = client.created(name=f"{number}/{turn}", categoryId=1)
                assert pet["id"] > len(seeded)
                found = client.get(pet["id"])
                assert found.status == 404 or found.json()["id"] == pet["id"]
                listed = client.list("?limit=100").json()
                assert listed[: len(seeded)] == seeded
                assert [one["id"] for one in listed] == list(range(1, len(listed) + 1))
        finally:
            left.release()

    with PetStoreMock(api_key="wire-key", seed=3) as petstore:
        seeded = petstore.pets
        at_once(petstore, work)
        assert resets > 0
        petstore.verify()
        petstore.reset()
        assert petstore.pets == seeded
        with Client(petstore) as client:
            assert client.created(name="after", categoryId=1)["id"] == len(seeded) + 1
        assert [(entry.number, entry.status) for entry in petstore.journal] == [(1, 201)]
