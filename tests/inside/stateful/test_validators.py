"""A service that gives validators: who keeps its answers asks by them, and knows what a 304 means."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import seed, settings

from petstore_mock import Behaviour, PetStoreMock
from petstore_mock.stateful import client_machine
from petstore_mock.stateful.search import find_bug, machine_settings
from petstore_mock.stateful.steps import GetKnown, ListPets, Repeat, Seed, SpoilAndRepeat, Update
from tests.clients.correct import Answer, ApiError, HttpClientPets, Json, make_correct
from tests.clients.shapes import by_key
from tests.clients.trackers import make_reported
from tests.clients.trackers_kept import NotModifiedIsNothing
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import play, raised_by

pytestmark = leavings.EXPECTED


class Revalidates(HttpClientPets):
    """Keeps what it read by its path, and asks anew by its validator. Small steps, for others to get wrong."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.kept: dict[str, tuple[str, Json]] = {}  # the validator and what was read, by path
        self.asked = ""

    def headers(self) -> dict[str, str]:
        kept = self.kept.get(self.asked)
        return {**super().headers(), **({"If-None-Match": kept[0]} if kept else {})}

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        self.asked = path if method == "GET" else ""
        return super().send(method, path, body)

    def checked(self, answer: Answer, success: int) -> Answer:
        return answer if answer.status == 304 else super().checked(answer, success)

    def read(self, answer: Answer) -> Json:
        if answer.status == 304:
            return self.copied(self.kept[self.asked][1])
        found = super().read(answer)
        if self.asked and "ETag" in answer.headers:
            self.keep(answer.headers["ETag"], self.copied(found))
        return found

    def keep(self, validator: str, found: Json) -> None:
        self.kept[self.asked] = validator, found

    def copied(self, found: Json) -> Json:
        return copy.deepcopy(found)


class ComparesByHead(Revalidates):
    """Asks by HEAD, without a condition, and compares the validators itself."""

    def headers(self) -> dict[str, str]:
        return HttpClientPets.headers(self)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        kept = self.kept.get(path) if method == "GET" else None
        if kept is not None:
            found = super().ask("HEAD", path)
            if found.status == 200 and found.headers.get("ETag") == kept[0]:
                self.asked = path
                return Answer(304, found.headers, b"")
        return super().ask(method, path, body)


class RevalidatesByHead(Revalidates):
    """Asks by HEAD whether what it keeps has changed."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        if method == "GET" and path in self.kept:
            found = super().ask("HEAD", path)
            self.asked = path
            if found.status != 200:
                return found
            del self.kept[path]
        return super().ask(method, path, body)

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        if method != "HEAD":
            return super().send(method, path, body)
        self.asked = path
        return HttpClientPets.send(self, method, path, body)


class KeepsTheFirstBody(Revalidates):
    """Takes over the validator of each answer, and keeps the first body."""

    def keep(self, validator: str, found: Json) -> None:
        self.kept[self.asked] = validator, self.kept.get(self.asked, ("", found))[1]


class HandsOutWhatItKeeps(Revalidates):
    """Hands out the very animals that it keeps, which their owner may change."""

    def copied(self, found: Json) -> Json:
        return found


class NotModifiedIsAnError(Revalidates):
    """Raises for every status that is not the one success."""

    def checked(self, answer: Answer, success: int) -> Answer:
        return HttpClientPets.checked(self, answer, success)


class AsksForWhatItLacks(HttpClientPets):
    """Means by ``*`` that it has nothing yet, and raises when there is something."""

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "If-None-Match": "*"}


@pytest.mark.untraced
@pytest.mark.parametrize("client", [Revalidates, RevalidatesByHead])
def test_who_knows_what_304_means_is_no_false_alarm(client: type[HttpClientPets]) -> None:
    machine = seed(0)(client_machine(by_key(client), vary=["validators", "list_order", "content_coding"]))
    report = find_bug(machine, machine_settings(settings(database=None), 20)).tell()
    assert report.answers["listPets"]["304"] > 0
    assert report.answers["getPet"]["304"] > 0


@pytest.mark.parametrize("choice", ["etag", "weak_etag"])
def test_who_compares_validators_himself_is_no_false_alarm_and_has_to_give_what_they_are_of(choice: str) -> None:
    class HandsOutThat(HandsOutWhatItKeeps, ComparesByHead):
        pass

    behaviour = Behaviour().replace({"validators": choice})
    assert play(by_key(ComparesByHead), ListPets(), Repeat(), Seed(), ListPets(), behaviour=behaviour) is None
    found = play(by_key(HandsOutThat), Seed(), GetKnown(), SpoilAndRepeat(), behaviour=behaviour)
    assert found is not None
    assert "whose id is missing" in found.sentence


@pytest.mark.parametrize(
    ("client", "steps", "sentence"),
    [
        (NotModifiedIsNothing, [ListPets(), Repeat()], "returned a dict instead of a sequence"),
        (KeepsTheFirstBody, [Seed(), GetKnown(), Update(), Repeat()], "whose name is 'Rex'; the service answered"),
        (HandsOutWhatItKeeps, [Seed(), GetKnown(), SpoilAndRepeat()], "whose id is missing; the service answered 1"),
        (NotModifiedIsAnError, [ListPets(), Repeat()], "raised ApiError (304: b'') although"),
    ],
)
@pytest.mark.parametrize("choice", ["etag", "weak_etag"])
def test_who_makes_something_else_of_a_304_is_told(client: Any, steps: list[Any], sentence: str, choice: str) -> None:  # noqa: ANN401
    make_client = make_reported(client) if client is NotModifiedIsNothing else by_key(client)
    found = play(make_client, *steps, behaviour=Behaviour().replace({"validators": choice}))
    assert found is not None
    assert sentence in found.sentence
    assert "304 says that the answer which the client holds" in found.sentence
    assert raised_by(found.test, make_client) is not None, found.test
    assert raised_by(found.test, by_key(Revalidates)) is None, found.test
    assert raised_by(found.test, make_correct("http.client")) is None, found.test


def test_a_validator_that_the_client_was_never_given_says_nothing_of_what_it_holds() -> None:
    asks = by_key(AsksForWhatItLacks)
    assert play(asks, ListPets(), Seed(), GetKnown(), behaviour=Behaviour(validators="etag")) is None
    with PetStoreMock(behaviour=Behaviour(validators="etag")) as petstore, pytest.raises(ApiError, match="304"):
        asks(petstore).list_pets()
