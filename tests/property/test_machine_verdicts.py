"""The machine's judgement of single courses: what unusual, correct clients may do, and how a bug is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock import Behaviour, faults
from petstore_mock._machine_shrink import Course, Step
from petstore_mock.stateful import client_machine
from tests.clients.corpus import make_buggy
from tests.clients.correct import ApiError, HttpClientPets, Json

if TYPE_CHECKING:
    from petstore_mock import PetStoreMock

REX = {"name": "Rex", "categoryId": 1}


def sentence(client: Json, *steps: Step, behaviour: Behaviour | None = None) -> str | None:
    """Let a client, or one of the corpus, go through the steps; return what the machine says, or None."""

    def make_client(petstore: PetStoreMock) -> Json:
        return client(petstore.url, petstore.api_key)

    machine = client_machine(make_buggy(client) if isinstance(client, str) else make_client)
    with machine.run, machine.run.without_hurry():
        found = machine.replay(Course(behaviour or Behaviour(), steps))
    return None if found is None else found.sentence


class ListsFromGets(HttpClientPets):
    """Makes a list up of the animals that it knows of."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        del limit, status
        return [self.get_pet(1)]


class GetsWhenRefused(HttpClientPets):
    """Shows a single animal when it is refused the list."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        try:
            return super().list_pets(limit=limit, status=status)
        except ApiError:
            return [self.get_pet(1)]


class FallsBackOnList(HttpClientPets):
    """Looks in a list when getPet refuses; tells of the refusal when the animal is not there."""

    def get_pet(self, pet_id: int) -> Json:
        try:
            return super().get_pet(pet_id)
        except ApiError:
            for pet in self.list_pets(limit=100):
                if pet["id"] == pet_id:
                    return pet
            raise


def test_a_call_that_returns_without_its_own_request_is_the_clients_bug() -> None:
    found = sentence("CreateIfAbsent", ("seed", REX, None), ("create", "Rex", 1, None))
    assert found is not None
    assert "without sending POST /pets (\u00a74.2: every createPet adds an animal" in found
    found = sentence(ListsFromGets, ("seed", REX, None), ("list_some", (None, None)))
    assert found is not None
    assert "without sending GET /pets (\u00a74.1: listPets alone says" in found
    found = sentence(GetsWhenRefused, ("seed", REX, None), ("inject", faults.server_error(), ("listPets", 1, 0, False)))
    assert found is not None
    assert "although the service answered 500" in found


def test_a_client_that_finds_no_animal_in_a_list_may_tell_what_get_pet_was_answered() -> None:
    """After the removal of getPet, of an animal that is on no page."""
    many: Step = ("seed_many", 101, False)
    assert sentence(FallsBackOnList, many, many, ("travel", 0), ("get_known", 0)) is None
    assert sentence(FallsBackOnList, ("travel", 0), ("get_unknown", None)) is None
    found = sentence("FoundInTheFirstPage", many, many, ("get_known", 0))
    assert found is not None
    assert "raised" in found
