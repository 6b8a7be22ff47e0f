"""The tests that the machine gives: they fail for the buggy client, and pass for a correct one that does otherwise."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import pytest

from petstore_mock import Behaviour, faults
from petstore_mock.stateful import client_machine
from petstore_mock.stateful.scenario import Scenario
from petstore_mock.stateful.steps import (
    CreatePet,
    GetKnown,
    GetUnknown,
    Inject,
    ListPets,
    Redirect,
    Repeat,
    RevokeKey,
    Seed,
    SeedMany,
    TravelPastRemoval,
)
from tests.clients.buggy_asking import LengthKept
from tests.clients.buggy_living import FirstHeadersKept
from tests.clients.correct import CORRECT, Answer, ApiError, HttpClientPets, Json, make_correct
from tests.inside.clients.corpus import make_buggy
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by
from tests.inside.stateful.test_verdicts import REX, told

if TYPE_CHECKING:
    from petstore_mock.stateful.steps import Step

pytestmark = leavings.EXPECTED


class LooksOnThePage(HttpClientPets):
    """Finds an animal on a page once getPet is gone, and says 404 of what is on another."""

    def get_pet(self, pet_id: int) -> Json:
        try:
            return super().get_pet(pet_id)
        except ApiError as error:
            if error.status != 410:
                raise
            for pet in self.list_pets(limit=100):
                if pet["id"] == pet_id:
                    return pet
            raise ApiError(404) from None


class MarksWhatIsRedirected(HttpClientPets):
    """Follows a redirection within the service, and marks what it found there."""

    def get_pet(self, pet_id: int) -> Json:
        answer = self.ask("GET", f"/pets/{pet_id}")
        if answer.status != 307:
            return self.read(self.checked(answer, 200))
        path = urlsplit(answer.headers["Location"]).path.removeprefix(self.base)
        pet = self.read(self.checked(self.ask("GET", path), 200))
        return {**pet, "name": f"{pet['name']}!"}


class CountsWhatFailed(HttpClientPets):
    """Lists again after a server error, and fails at counting how often."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        try:
            return super().list_pets(limit=limit, status=status)
        except ApiError as error:
            if error.status != 500:
                raise
            pets = super().list_pets(limit=limit, status=status)
            raise LookupError("no counter") from None if pets is not None else error


class KnowsOneType(HttpClientPets):
    """Looks up by Content-Type how to read an answer."""

    readers: ClassVar[dict[str, str]] = {"application/json": "json"}

    def read(self, answer: Answer) -> Json:
        self.reader = self.readers[answer.headers["Content-Type"].partition(";")[0]]
        return super().read(answer)


class RefusesOtherTypes(HttpClientPets):
    """Correct: takes what is called anything but JSON for no answer of the service."""

    def read(self, answer: Answer) -> Json:
        if not answer.headers["Content-Type"].startswith("application/json"):
            raise http.client.HTTPException(answer.headers["Content-Type"])
        return super().read(answer)


class ChangesWhatItReturned(HttpClientPets):
    """Lists again after a server error, into what it returned before."""

    former: Json = None

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        try:
            pets = super().list_pets(limit=limit, status=status)
        except ApiError:
            pets = super().list_pets(limit=limit, status=status)
            if self.former is not None:
                self.former.append(dict(REX))
        self.former = pets
        return pets


class CreatesWhenListed(HttpClientPets):
    """Creates an animal where a list failed."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        try:
            return super().list_pets(limit=limit, status=status)
        except ApiError:
            self.create_pet(name="Rex", category_id=1)
            raise


class ListsWhatItCreated(HttpClientPets):
    """Lists animals once it has created one, and fails when that does."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        pet = super().create_pet(name=name, category_id=category_id, status=status)
        self.list_pets()
        return pet


MANY: Step = SeedMany(101)
FAILS: Step = Inject(faults.server_error(500))
THEN_FAILS: Step = Inject(faults.server_error(500), "listPets", 12, 1)
LATER: Step = Inject(faults.server_error(500), "listPets", 1, 1)
WRONG_TYPE: Step = Inject(faults.wrong_content_type(), "getPet")


@pytest.mark.parametrize(
    ("client", "steps", "words"),
    [
        (LooksOnThePage, [MANY, MANY, TravelPastRemoval(), GetKnown()], "(404: b'') although the animal is there"),
        (MarksWhatIsRedirected, [Seed(), Redirect(307, "getPet", "here")], "whose name is 'Rex!'"),
        (CountsWhatFailed, [FAILS], "raised LookupError (no counter) although the service answered 200"),
        (KnowsOneType, [Seed(), WRONG_TYPE], "raised KeyError ('text/html') although the service"),
        (ChangesWhatItReturned, [LATER, Repeat()], "changed what list_pets() had returned"),
        (ListsWhatItCreated, [THEN_FAILS, CreatePet()], "raised ApiError (500: b"),
        (CreatesWhenListed, [FAILS], "sent POST /v1/pets"),
    ],
)
def test_a_correct_client_that_makes_less_of_its_answers_passes(
    client: type[HttpClientPets], steps: list[Step], words: str
) -> None:
    """It raises what it was answered first, in the call that is told of and in those before it."""
    found = told(client, *steps)
    assert found is not None
    assert words in found.sentence
    assert raised_by(found.test, lambda petstore: client(petstore.url, petstore.api_key)) is not None, found.test
    for make_client in (
        *map(make_correct, CORRECT),
        lambda petstore: RefusesOtherTypes(petstore.url, petstore.api_key),
    ):
        assert raised_by(found.test, make_client) is None, found.test


def test_a_fault_that_was_still_to_come_fails_no_correct_client_at_the_end() -> None:
    """Who is told of when it is closed has been asked all there was to ask."""
    found = told("NeverClosed", Inject(faults.server_error(500), "getPet", 1, 1))
    assert found is not None
    assert "stayed open after the client was closed" in found.sentence
    for name in CORRECT:
        assert raised_by(found.test, make_correct(name)) is None, found.test


def test_the_key_of_an_earlier_client_is_told_as_such() -> None:
    """Its requests reach no world of the example, and are no silence all the same."""
    make_client, kept = make_buggy("FirstHeadersKept"), FirstHeadersKept.kept
    kept.clear()
    machine = client_machine(make_client)
    with machine.run, machine.run.waiting.unlimited():
        assert machine.replay(Scenario(Behaviour(), (ListPets(),))) is None
        found = machine.replay(Scenario(Behaviour(), (CreatePet(),)))
    assert found is not None
    assert "sent POST /v1/pets with the key of an earlier client (§5" in found.sentence
    assert isinstance(raised_by(found.test, make_client), AssertionError), found.test
    kept.clear()  # as in a process of its own
    assert isinstance(raised_by(found.test, make_client), AssertionError), found.test
    for name in CORRECT:
        assert raised_by(found.test, make_correct(name)) is None, found.test


@pytest.mark.parametrize(("name", "step"), [("CreatesLater", CreatePet()), ("NegativeIdsMissing", GetUnknown(-1))])
def test_what_a_client_made_up_is_not_put_down_to_another(name: str, step: Step) -> None:
    found = told(name, step)
    assert found is not None
    assert "it made that up, or remembers what an earlier client was answered" in found.sentence
    assert "no request was sent" in str(raised_by(found.test, make_buggy(name))), found.test
    assert raised_by(found.test, make_correct("http.client")) is None, found.test


class GivesUpSoon(LengthKept):
    timeout = 0.2


def test_a_client_that_refuses_other_types_is_correct() -> None:
    assert told(RefusesOtherTypes, Seed(), WRONG_TYPE) is None


def test_what_never_became_a_request_is_waited_for() -> None:
    """It is known as such once the client has given it up, which is a moment after its call."""
    found = told(GivesUpSoon, CreatePet(), ListPets())
    assert found is not None
    assert "the connection ended before the body did" in found.sentence
    assert "petstore.journal.wait_for(times=before + 1)" in found.test
    failure = raised_by(found.test, lambda petstore: GivesUpSoon(petstore.url, petstore.api_key))
    assert isinstance(failure, AssertionError), found.test
    for name in CORRECT:
        assert raised_by(found.test, make_correct(name)) is None, found.test


class ExpectsContinue(HttpClientPets):
    """Asks whether its bodies are welcome, and sends them all the same, as a client may (RFC 9110 §10.1.1)."""

    def encode(self, body: dict[str, Any]) -> bytes:
        self.expects = True
        return super().encode(body)

    def headers(self) -> dict[str, str]:
        expects, self.expects = self.expects, False
        return {**super().headers(), **({"Expect": "100-continue"} if expects else {})}

    expects = False


def test_a_body_that_the_service_did_not_ask_for_is_not_missed() -> None:
    assert told(ExpectsContinue, CreatePet(), RevokeKey("createPet")) is None
