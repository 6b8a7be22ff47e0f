"""Many clients at once, over sockets: whatever they do together could have been done one after the other."""

from __future__ import annotations

import http.client
import json
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Self

import pytest

from petstore_mock import Behaviour, PetStoreMock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

pytestmark = pytest.mark.untraced

THREADS: Final = 16
ROUNDS: Final = 10
KEY: Final = "concurrency"


@pytest.fixture(autouse=True)
def eager_switching() -> Iterator[None]:
    """Let threads take turns far more often than usual, so that what is not guarded comes apart."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


class Client:
    """A kept connection of one thread; what it was answered stays in ``seen``."""

    def __init__(self, petstore: PetStoreMock) -> None:
        listener = petstore.httpserver
        self._connection = http.client.HTTPConnection(listener.host, listener.port, timeout=20)
        self._headers = {**petstore.headers, "Content-Type": "application/json"}
        self.seen: Counter[int] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._connection.close()

    def send(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        sent = None if body is None else json.dumps(body)
        self._connection.request(method, f"/v1{path}", sent, self._headers)
        answer = self._connection.getresponse()
        self.seen[answer.status] += 1
        return answer.status, json.loads(answer.read())

    def create(self, name: str) -> dict[str, Any]:
        status, pet = self.send("POST", "/pets", {"name": name, "categoryId": 2**63 - 1, "status": "sold"})
        assert status == 201
        assert isinstance(pet, dict)
        return pet


def at_once(work: Callable[[int], None]) -> None:
    """Run ``work`` in many threads that begin together; raise what any of them raised."""
    barrier = threading.Barrier(THREADS)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            barrier.wait()
            work(number)
        except BaseException as error:  # noqa: BLE001  # raised again below, in the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.untraced
@pytest.mark.parametrize("ids", ["sequential", "random_int64"])
def test_clients_at_once_get_ids_of_their_own_and_read_what_was_created(ids: str) -> None:
    """No id twice, every created animal is readable at once and by anybody, and the counts agree."""
    created: list[dict[str, Any]] = []
    seen: Counter[int] = Counter()
    lock = threading.Lock()
    behaviour = Behaviour().replace({"id_assignment": ids})
    with PetStoreMock(behaviour=behaviour) as petstore:

        def work(number: int) -> None:
            with Client(petstore) as client:
                for turn in range(ROUNDS):
                    pet = client.create(f"{number}/{turn}")
                    assert client.send("GET", f"/pets/{pet['id']}") == (200, pet)
                    with lock:
                        created.append(pet)
                        other = created[(number * 7919 + turn) % len(created)]
                    assert client.send("GET", f"/pets/{other['id']}") == (200, other)
                    status, listed = client.send("GET", "/pets?limit=100&status=sold")
                    assert status == 200
                    assert len({one["id"] for one in listed}) == len(listed) <= 100
                with lock:
                    seen.update(client.seen)

        at_once(work)
        total = THREADS * ROUNDS
        assert len(created) == total
        assert len({pet["id"] for pet in created}) == total
        assert {pet["name"] for pet in created} == {f"{n}/{turn}" for n in range(THREADS) for turn in range(ROUNDS)}
        assert petstore.pets == sorted(created, key=lambda pet: int(pet["id"]))
        assert seen == {201: total, 200: 3 * total}
        assert len(petstore.journal.for_operation("createPet")) == total
        assert len(petstore.journal) == 4 * total


def test_journal_of_clients_at_once_is_an_order_in_which_all_happened() -> None:
    """Complete, numbered without a gap, each connection in its own order; done one by one in that order it is the same.

    A list shows just the animals whose creation stands before it, and a get finds just those.
    """
    with PetStoreMock() as petstore:

        def work(number: int) -> None:
            with Client(petstore) as client:
                for turn in range(ROUNDS):
                    client.send("GET", f"/pets/{number + turn * 3 + 1}")
                    client.create(f"{number}/{turn}")
                    client.send("GET", "/pets?limit=100")

        at_once(work)
        entries = list(petstore.journal)
        assert [entry.number for entry in entries] == list(range(1, 3 * THREADS * ROUNDS + 1))
        turns: Counter[int] = Counter()
        pets: dict[int, Any] = {}
        for entry in entries:
            turns[entry.connection] += 1
            assert entry.exchange == turns[entry.connection]
            answer = json.loads(entry.response_body)
            match entry.operation:
                case "createPet":
                    assert answer["id"] == len(pets) + 1
                    pets[answer["id"]] = answer
                case "listPets":
                    assert answer == list(pets.values())[:100]
                case "getPet":
                    wanted = int(entry.path.rpartition("/")[2])
                    assert (entry.status, answer if entry.status == 200 else None) == (
                        200 if wanted in pets else 404,
                        pets.get(wanted),
                    )
        assert set(turns.values()) == {3 * ROUNDS}
        assert len(turns) == THREADS


def test_resets_in_between_break_nothing() -> None:
    """Each answer is right for the world before a reset or after it; then ids, store and journal begin anew."""
    with PetStoreMock(api_key=KEY, seed=3) as petstore:
        seeded = petstore.pets
        running = threading.Event()
        resets = 0

        def work(number: int) -> None:
            nonlocal resets
            if number == 0:
                while not running.is_set():
                    petstore.reset()
                    resets += 1
                return
            try:
                with Client(petstore) as client:
                    for turn in range(ROUNDS):
                        pet = client.create(f"{number}/{turn}")
                        assert pet["name"] == f"{number}/{turn}"
                        assert pet["id"] > len(seeded)
                        status, got = client.send("GET", f"/pets/{pet['id']}")
                        assert status == 404 or (status == 200 and got["id"] == pet["id"])
                        status, listed = client.send("GET", "/pets?limit=100")
                        assert status == 200
                        assert listed[: len(seeded)] == seeded
                        assert [one["id"] for one in listed] == list(range(1, len(listed) + 1))
                    assert sum(client.seen.values()) == 3 * ROUNDS
            finally:
                with lock:
                    done.append(number)
                    if len(done) == THREADS - 1:
                        running.set()

        lock = threading.Lock()
        done: list[int] = []
        at_once(work)
        assert resets > 0
        petstore.verify()
        petstore.reset()
        assert petstore.pets == seeded
        with Client(petstore) as client:
            assert client.create("after")["id"] == len(seeded) + 1
        assert [(entry.number, entry.status) for entry in petstore.journal] == [(1, 201)]
