"""Successes that break the interface: what was made up of one is told; who hands it on, or unwraps it, is let be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from petstore_mock.stateful import ClientBugError, check_client, step_generator
from petstore_mock.stateful.checks.broken_answers import BROKEN_ANSWERS
from tests.clients.correct import HttpClientPets, Json
from tests.inside.stateful import leavings

if TYPE_CHECKING:
    from petstore_mock import PetStoreMock
    from tests.clients.correct import Answer

pytestmark = leavings.EXPECTED


@dataclass
class Pet:
    id: int
    name: str
    category_id: int
    status: str | None


@pytest.fixture(autouse=True)
def nothing_else_goes_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let these answers be all that is injected, so that few examples show what becomes of each."""
    monkeypatch.setattr(step_generator, "_QUICK_FAULTS", BROKEN_ANSWERS)
    monkeypatch.setattr(step_generator, "_SLOW_FAULTS", BROKEN_ANSWERS)


class WithDefaults(HttpClientPets):
    """Has a value of its own for whatever is missing."""

    def read(self, answer: Answer) -> Json:
        document = super().read(answer)
        if not isinstance(document, list):
            return self.pet(document)
        return [self.pet(pet) for pet in document]

    def pet(self, pet: Json) -> Pet:
        return Pet(pet["id"], pet.get("name", ""), pet.get("categoryId", 0), pet.get("status"))


class WhatWasSent(HttpClientPets):
    """Takes nothing but the id from what createPet answers."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        made = super().create_pet(name=name, category_id=category_id, status=status)
        return {**made, "name": name, "categoryId": category_id}


class ListOfAnything(HttpClientPets):
    """Makes a list of whatever came: of an object, that of its names."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        return list(super().list_pets(limit=limit, status=status))


class Goes(HttpClientPets):
    """Goes through whatever came, as a generator does."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        yield from super().list_pets(limit=limit, status=status)


class ObjectsAlone(HttpClientPets):
    """Leaves out of a list what is no object."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        found = super().list_pets(limit=limit, status=status)
        return [pet for pet in found if isinstance(pet, dict)]


class AnySuccess(HttpClientPets):
    """Takes whatever came with any status of success for what was asked."""

    def checked(self, answer: Answer, success: int) -> Answer:
        return super().checked(answer, answer.status if answer.status // 100 == 2 else success)


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("client", "sentence"),
    [
        (AnySuccess, "although the service answered 202"),
        (WithDefaults, "although the service answered 20"),
        (WhatWasSent, "although the service answered 20"),
        (ListOfAnything, " although the service answered 20"),
        (Goes, " although the service answered 20"),
        (ObjectsAlone, "list_pets() returned [] although the service answered 20"),
    ],
)
def test_what_nobody_has_answered_is_told(client: type[HttpClientPets], sentence: str) -> None:
    def make_client(petstore: PetStoreMock) -> Json:
        return client(petstore.url, petstore.api_key)

    with pytest.raises(ClientBugError) as caught:
        check_client(make_client, settings=settings(database=None))
    assert sentence in str(caught.value)
    assert "nothing else that is answered is a result" in str(caught.value)


class Unwraps(HttpClientPets):
    """Finds animals wherever a service puts them."""

    def read(self, answer: Answer) -> Json:
        document = super().read(answer)
        if isinstance(document, dict) and isinstance(document.get("pets"), list):
            return document["pets"]
        return document

    def get_pet(self, pet_id: int) -> Json:
        found = super().get_pet(pet_id)
        return found[0] if isinstance(found, list) else found


class AsItCame(WithDefaults):
    """Puts whatever came into objects, and nothing else."""

    def pet(self, pet: Json) -> Pet:
        return Pet(pet["id"], pet.get("name"), pet.get("categoryId"), pet.get("status"))


class Checks(WithDefaults):
    """Takes nothing but an animal for one."""

    def pet(self, pet: Json) -> Pet:
        if [type(pet[name]) for name in ("id", "name", "categoryId")] != [int, str, int]:
            raise TypeError(f"expected an animal; got {pet!r}")
        return super().pet(pet)


@pytest.mark.parametrize(
    "client",
    [
        *(pytest.param(one, marks=pytest.mark.untraced) for one in (HttpClientPets, AsItCame)),
        *(pytest.param(one, marks=pytest.mark.slow) for one in (Unwraps, Checks)),
    ],
)
def test_who_makes_nothing_up_is_no_false_alarm(client: type[HttpClientPets]) -> None:
    def make_client(petstore: PetStoreMock) -> Json:
        return client(petstore.url, petstore.api_key)

    check_client(make_client, max_examples=40, settings=settings(database=None))
