"""Many clients at once: whatever they do together could have been done one after the other."""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock import Behaviour, PetStoreMock
from tests.wire.raw import KEY, Raw, get, post

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.untraced

THREADS: Final = 16
ROUNDS: Final = 10


@pytest.fixture(autouse=True)
def eager_switching() -> Iterator[None]:
    """Let threads take turns far more often than usual, so that what is not guarded comes apart."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def create(client: Raw, name: str) -> dict[str, Any]:
    received = client.call(post(json.dumps({"name": name, "categoryId": 2**63 - 1, "status": "sold"}).encode()))
    assert received.status == 201
    pet: dict[str, Any] = received.json()
    return pet


def at_once(petstore: PetStoreMock, work: Callable[[int, Raw], None]) -> None:
    """Run ``work`` in many threads that begin together; raise what any of them raised."""
    barrier = threading.Barrier(THREADS)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            with Raw(petstore) as client:
                barrier.wait()
                work(number, client)
        except BaseException as error:  # noqa: BLE001  # raised again below, in the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("ids", ["sequential", "random_int64"])
def test_clients_at_once_get_ids_of_their_own_and_read_what_was_created(ids: str) -> None:
    """No id twice, each animal is readable at once and by any client, and the counts agree."""
    created: list[dict[str, Any]] = []
    total = THREADS * ROUNDS

    def work(number: int, client: Raw) -> None:
        for turn in range(ROUNDS):
            pet = create(client, f"{number}/{turn}")
            assert client.call(get(f"/v1/pets/{pet['id']}")).json() == pet
            created.append(pet)
            other = created[(number * 7919 + turn) % len(created)]
            assert client.call(get(f"/v1/pets/{other['id']}")).json() == other
            listed = client.call(get("/v1/pets?limit=100&status=sold")).json()
            assert len({one["id"] for one in listed}) == len(listed) <= 100

    with PetStoreMock(api_key=KEY, behaviour=Behaviour().replace({"id_assignment": ids})) as petstore:
        at_once(petstore, work)
        assert len({pet["id"] for pet in created}) == total
        assert petstore.pets == sorted(created, key=lambda pet: int(pet["id"]))
        assert Counter(entry.status for entry in petstore.journal) == {201: total, 200: 3 * total}
        assert len(petstore.journal.for_operation("createPet")) == total


def test_journal_of_clients_at_once_is_an_order_in_which_all_happened() -> None:
    """Numbered without a gap, each connection in its own order; the requests one by one give the same responses."""

    def work(number: int, client: Raw) -> None:
        for turn in range(ROUNDS):
            client.call(get(f"/v1/pets/{number + turn * 3 + 1}"))
            create(client, f"{number}/{turn}")
            client.call(get("/v1/pets?limit=100"))

    with PetStoreMock(api_key=KEY) as petstore:
        at_once(petstore, work)
        entries = list(petstore.journal)
    assert [entry.number for entry in entries] == list(range(1, 3 * THREADS * ROUNDS + 1))
    turns: Counter[int] = Counter()
    pets: dict[int, Any] = {}
    for entry in entries:
        turns[entry.connection] += 1
        assert entry.exchange == turns[entry.connection]
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
    assert set(turns.values()) == {3 * ROUNDS}


def test_resets_in_between_break_nothing() -> None:
    """Each response is right for the world before a reset or after it; then ids, store and journal begin anew."""
    left = threading.Semaphore(0)
    resets = 0

    def work(number: int, client: Raw) -> None:
        nonlocal resets
        if number == 0:
            for _ in range(THREADS - 1):
                while not left.acquire(timeout=0.0005):
                    petstore.reset()
                    resets += 1
            return
        try:
            for turn in range(ROUNDS):
                pet = create(client, f"{number}/{turn}")
                assert pet["id"] > len(seeded)
                found = client.call(get(f"/v1/pets/{pet['id']}"))
                assert found.status == 404 or found.json()["id"] == pet["id"]
                listed = client.call(get("/v1/pets?limit=100")).json()
                assert listed[: len(seeded)] == seeded
                assert [one["id"] for one in listed] == list(range(1, len(listed) + 1))
        finally:
            left.release()

    with PetStoreMock(api_key=KEY, seed=3) as petstore:
        seeded = petstore.pets
        at_once(petstore, work)
        assert resets > 0
        petstore.verify()
        petstore.reset()
        assert petstore.pets == seeded
        with Raw(petstore) as client:
            assert create(client, "after")["id"] == len(seeded) + 1
        assert [(entry.number, entry.status) for entry in petstore.journal] == [(1, 201)]
