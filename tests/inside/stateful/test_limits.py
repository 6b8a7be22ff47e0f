"""Limits that the interface does not allow, for a client whose author says that it is given such."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import seed, settings
from hypothesis import strategies as st

from petstore_mock import Behaviour
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful import check_client, client_machine
from petstore_mock.stateful.scenario import Restrictions, Scenario
from petstore_mock.stateful.search import find_bug, machine_settings
from petstore_mock.stateful.steps import ListPets, SeedMany
from tests.clients.correct import HttpClientPets, Json, make_correct
from tests.clients.shapes import by_key
from tests.clients.trackers_shown import ZeroIsNoLimit
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import play, raised_by

pytestmark = leavings.EXPECTED

ANY = (-1, 0, 101)


class RefusesByItself(HttpClientPets):
    """Asks the service for nothing that it would refuse."""

    def list_pets(self, **query: Json) -> Json:
        if query.get("limit") is not None and not 1 <= query["limit"] <= 100:
            raise ValueError("limit")
        return super().list_pets(**query)


class AsksForLess(HttpClientPets):
    """Asks for what it may, and gives no more than it was asked for."""

    def list_pets(self, **query: Json) -> Json:
        limit = query.get("limit")
        if limit is not None and limit < 1:
            return []
        return super().list_pets(**{**query, "limit": None if limit is None else min(limit, 100)})


class CutsWhatComes(HttpClientPets):
    """Gives no more than it was asked for, whatever comes."""

    def list_pets(self, **query: Json) -> Json:
        return super().list_pets(**query)[: query.get("limit")]


class TwentyForZero(HttpClientPets):
    """Has a default of its own for what is not true."""

    def query(self, limit: int | None, status: str | None) -> str:
        return super().query(limit or 20, status)


@pytest.mark.untraced
@pytest.mark.parametrize("client", [HttpClientPets, RefusesByItself, AsksForLess, CutsWhatComes])
def test_who_asks_for_no_more_than_he_was_asked_for_is_right(client: type[HttpClientPets]) -> None:
    machine = seed(0)(client_machine(by_key(client), limits=st.sampled_from(ANY)))
    report = find_bug(machine, machine_settings(settings(database=None), 10)).tell()
    assert client in {RefusesByItself, AsksForLess} or report.answers["listPets"]["400"] > 0
    assert report.questions == []


@pytest.mark.untraced
@pytest.mark.parametrize("choice", ["reject", "clamp", "ignore"])
@pytest.mark.parametrize("limit", ANY)
@pytest.mark.parametrize("client", [HttpClientPets, RefusesByItself, AsksForLess, CutsWhatComes])
def test_whatever_the_service_makes_of_such_a_limit(client: type[HttpClientPets], limit: int, choice: str) -> None:
    behaviour = Behaviour().replace({"invalid_limit": choice})
    steps = SeedMany(25), ListPets(limit), ListPets(limit, "sold"), ListPets()
    assert play(by_key(client), *steps, behaviour=behaviour) is None


@pytest.mark.parametrize("limit", [0, -1])
@pytest.mark.parametrize(
    ("client", "sent"),
    [(ZeroIsNoLimit, "/v1/pets, without limit=0"), (TwentyForZero, "limit=20, with limit=20 instead of 0")],
)
def test_who_asks_for_more_is_told(client: Any, limit: int, sent: str) -> None:  # noqa: ANN401
    found = play(by_key(client), ListPets(limit))
    if limit:  # which is true
        assert found is None
        return
    assert found is not None
    assert f"list_pets(limit=0) sent GET {'' if sent.startswith('/') else '/v1/pets?'}{sent}" in found.sentence
    assert raised_by(found.test, by_key(client)) is not None, found.test
    assert raised_by(found.test, make_correct("http.client")) is None, found.test


def test_a_client_that_takes_zero_for_none_is_found_where_it_is_given_zero_and_not_else() -> None:
    for given, is_found in (({"limits": st.integers(0, 100)}, True), ({}, False)):
        machine = seed(0)(client_machine(by_key(ZeroIsNoLimit), **given))  # type: ignore[arg-type]  # keywords
        found = find_bug(machine, machine_settings(settings(database=None), 20)).bug
        assert (found is not None) is is_found


def test_another_mistake_in_such_a_call_is_told_all_the_same() -> None:
    class Misnames(HttpClientPets):
        def query(self, limit: int | None, status: str | None) -> str:
            return super().query(limit, status).replace("status", "state")

    found = play(by_key(Misnames), ListPets(0, "sold"))
    assert found is not None
    assert "query.state is not a parameter here" in found.sentence


def test_limits_are_those_that_are_drawn_and_none() -> None:
    asked = set()

    class Notes(HttpClientPets):
        def list_pets(self, **query: Json) -> Json:
            asked.add(query.get("limit"))
            return super().list_pets(**query)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_client(by_key(Notes), limits=st.sampled_from([7, 0]), max_examples=20, settings=settings(database=None))
    assert asked == {None, 7, 0}
    restricted = Scenario(Behaviour(), (ListPets(50),), restrictions=Restrictions(limits=(7,)))
    machine = client_machine(by_key(Notes))
    with machine.run:
        assert machine.replay(restricted) is None
    assert 50 not in asked
    with pytest.raises(PetStoreMockError, match="expected limits to draw integers; got '1'"):
        check_client(by_key(Notes), limits=st.just("1"), max_examples=1)  # type: ignore[arg-type]
