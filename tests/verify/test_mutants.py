"""``verify`` catches every mutant of the register, by the clause that it breaks."""

from __future__ import annotations

import pytest

from petstore_mock import PetStoreMock
from petstore_mock.contract.mutants import MUTANTS
from tests.verify.asking import ENOUGH, ask, broken

_ANIMALS = 30  # more than the default limit, and few enough that what was created is in the list


@pytest.mark.parametrize("name", MUTANTS)
def test_verify_catches_each_mutant_by_its_clause(name: str) -> None:
    with PetStoreMock(seed=_ANIMALS, mutant=name) as petstore:
        verdict = ask(petstore.url, petstore.api_key, allow_create=ENOUGH)
        assert any(entry.mutated for entry in petstore.journal)
    assert MUTANTS[name].clause in broken(verdict)
    assert verdict.exit_code == 1
