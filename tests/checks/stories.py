"""Scenarios, which are functions that prepare the fake and call a client. Also clients: two correct, others buggy."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from petstore_mock import PetStoreMock, checks, faults
from tests.clients.buggy_living import ThreadsLeft
from tests.clients.correct import Answer, HttpClientPets

Story = Callable[[PetStoreMock, Any], object]


FAR_AWAY = "Wed, 01 Jan 2098 00:00:00 GMT"


def watch(make_client: Any, petstore: PetStoreMock, **options: Any) -> Any:
    """Return a watched client whose calls raise an error only for a failed check."""
    return checks.watched(make_client, petstore, **{"quiet": True, "patience": 0.3, **options})


def lists(petstore: PetStoreMock, client: Any) -> None:
    rex = petstore.seed(name="Rex &amp; Co", categoryId=1, status="sold")
    petstore.seed(name="Rex &amp; Co", categoryId=2)
    client.list_pets(limit=3, status="sold")
    client.list_pets()
    client.get_pet(rex["id"])
    petstore.update(rex["id"], name="Max")
    client.get_pet(rex["id"])
    for _ in range(5):
        client.list_pets(limit=1)


def creates(petstore: PetStoreMock, client: Any) -> None:
    petstore.seed(name="Rex", categoryId=9)
    client.create_pet(name="Rex", category_id=2**60 + 1)
    client.create_pet(name="Tom & Jerry", category_id=0, status="sold")


def reads_after_a_create(petstore: PetStoreMock, client: Any) -> None:
    client.create_pet(name="Rex", category_id=1)
    client.get_pet(petstore.pets[-1]["id"])


def misses(_: PetStoreMock, client: Any) -> None:
    client.get_pet(7)
    client.get_pet(-7)
    client.get_pet(0)


def finds(petstore: PetStoreMock, client: Any) -> None:
    client.get_pet(petstore.seed_many(101)[-1]["id"])


def meets(fault: Any, on: str, **plan: Any) -> Story:
    """Return a scenario in which one call of an operation meets a fault, and a second call does not."""

    def story(petstore: PetStoreMock, client: Any) -> None:
        rex = petstore.seed(name="Rex", categoryId=1)
        calls: dict[str, Callable[[], Any]] = {
            "listPets": client.list_pets,
            "getPet": partial(client.get_pet, rex["id"]),
            "createPet": partial(client.create_pet, name="Rex", category_id=1),
        }
        petstore.inject(fault, on=on, **{"times": 1, "off_contract": True, **plan})  # type: ignore[arg-type]  # ``on`` is a plain str
        calls[on]()
        petstore.cancel_faults()
        calls[on]()

    return story


def looks_in_an_outage(petstore: PetStoreMock, client: Any) -> None:
    petstore.inject(503, on="listPets")
    client.list_pets()


def is_interrupted(petstore: PetStoreMock, client: Any) -> None:
    rex = petstore.seed(name="Rex", categoryId=1)
    calls = [checks.Call("getPet", {"petId": rex["id"]}), checks.Call("listPets")]
    client.list_pets()
    for call in (*calls, checks.Call("createPet", {"name": "Tom", "categoryId": 2})):
        for place in range(1, 5):
            client.interrupt(call, at=place)
        client.get_pet(rex["id"])
        client.list_pets()


def is_interrupted_in_a_pause(petstore: PetStoreMock, client: Any) -> None:
    petstore.inject(502, on="listPets")
    client.interrupt(checks.Call("listPets"), at=99)
    petstore.cancel_faults()


def misses_once(_: PetStoreMock, client: Any) -> None:
    client.get_pet(404)


def creates_a_format(_: PetStoreMock, client: Any) -> None:
    client.create_pet(name="50%", category_id=1)


def repeats(petstore: PetStoreMock, client: Any) -> None:
    rex = petstore.seed(name="Rex", categoryId=1)
    for _ in range(27):
        client.get_pet(rex["id"])


def recovers(petstore: PetStoreMock, client: Any) -> None:
    petstore.seed(name="Rex", categoryId=1)
    client.list_pets()
    petstore.inject(503, on="listPets", times=1)
    for _ in range(3):
        client.list_pets()


def is_reused(petstore: PetStoreMock, client: Any) -> None:
    rex = petstore.seed(name="Rex", categoryId=1)
    client.list_pets()
    client.get_pet(rex["id"])
    client.reuse()


def is_left(petstore: PetStoreMock, client: Any) -> None:
    petstore.seed(name="Rex", categoryId=1)
    client.list_pets()
    client.leave()


def creates_between_lists(petstore: PetStoreMock, client: Any) -> None:
    client.list_pets()
    creates(petstore, client)
    creates(petstore, client)
    client.list_pets()


LIVES = (is_interrupted, repeats, recovers)
ENDS = (is_reused, is_left)


def redirects(petstore: PetStoreMock, client: Any) -> None:
    petstore.inject(faults.respond(302, headers={"Location": f"{petstore.url}/pets"}), on="listPets")
    client.list_pets()


def loses_its_connection(petstore: PetStoreMock, client: Any) -> None:
    petstore.inject(faults.reset())
    client.list_pets()
    petstore.cancel_faults()


class RetriesAtOnce(HttpClientPets):
    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.send(method, path, body)
        return answer if answer.status != 503 else self.send(method, path, body)


class RaisesTheFirstFailure(HttpClientPets):
    """Correct: it reads twice, and raises the first failure if both reads fail."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        first = self.send(method, path, body)
        if method != "GET" or first.status < 500:
            return first
        second = self.send(method, path, body)
        return second if second.status < 500 else first


class RetriesRefusals(HttpClientPets):
    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        return [self.send(method, path, body) for _ in range(3)][-1]


class TakesAnyPage(HttpClientPets):
    def checked(self, answer: Answer, success: int) -> Answer:
        return answer if answer.status == 204 else super().checked(answer, success)

    def read(self, answer: Answer) -> Any:
        return super().read(answer) if answer.body else []


class ChangesTheEnvironment(HttpClientPets):
    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        os.environ["PETS"] = "asked"
        return super().send(method, path, body)


class SetsTheRootLogger(HttpClientPets):
    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        logging.basicConfig(level=logging.ERROR)


class NamesItsThreads(ThreadsLeft):
    """Gives its threads names that resemble those of the package's threads."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.pools.append(ThreadPoolExecutor(1, thread_name_prefix="petstore-mock-client"))
        return self.pools[-1].submit(self.send, method, path, body).result(5)


class ShowsItsKey(HttpClientPets):
    def __repr__(self) -> str:
        return f"<client of {self.host} with {self.key}>"


class RefusesOddNames(HttpClientPets):
    """Correct: it rejects names by its own rule. It may do so, because §2 shows no limits."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        if not name.isalnum():
            raise ValueError("name it in letters")
        return super().body(name, category_id, status)
