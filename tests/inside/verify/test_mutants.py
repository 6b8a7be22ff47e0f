"""``verify`` catches every mutant of the register, by the clause that it breaks."""

from __future__ import annotations

import pytest

from petstore_mock import Behaviour, PetStoreMock
from petstore_mock.contract.mutants import MUTANTS
from tests.inside.verify.asking import ENOUGH, ask, broken, result_of

pytestmark = pytest.mark.untraced

_ANIMALS = 30  # more than the default limit, and few enough that what was created is in the list


@pytest.mark.parametrize("name", MUTANTS)
def test_verify_catches_each_mutant_by_its_clause(name: str) -> None:
    with PetStoreMock(seed=_ANIMALS, mutant=name) as petstore:
        verdict = ask(petstore.url, petstore.api_key, allow_create=ENOUGH)
        assert any(entry.mutant for entry in petstore.journal)
    assert MUTANTS[name].clause in broken(verdict)
    assert verdict.exit_code == 1


@pytest.mark.parametrize(
    ("ids", "allowed", "result"),
    [
        ("sequential", 0, "broken"),  # a likely id is asked for by getPet
        ("random_int64", 0, "not_observable"),
        ("random_int64", 1, "broken"),  # what was created is asked for by getPet, before the list and after
    ],
)
def test_a_list_that_is_always_empty_is_seen_by_what_get_shows(ids: str, allowed: int, result: str) -> None:
    behaviour = Behaviour().replace({"id_assignment": ids})
    with PetStoreMock(seed=3, behaviour=behaviour, mutant="list-always-empty") as petstore:
        verdict = ask(petstore.url, petstore.api_key, allow_create=allowed)
    assert result_of(verdict, "4.1-list-finds") == result
    # Of one status it is empty as well, which shows where the animal that getPet found has one.
    assert {*broken(verdict)} - {"4.1-status-finds"} == ({"4.1-list-finds"} if result == "broken" else set())
    assert result_of(verdict, "4.3-get") == ("not_observable" if result == "not_observable" else "holds")
