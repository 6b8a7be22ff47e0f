"""The types of keywords agree with the gaps and with the schema."""

from __future__ import annotations

from typing import get_args, get_type_hints

from petstore_mock import Behaviour
from petstore_mock.contract.behaviour import GapChoices
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.interface import PetChanges, PetFields
from petstore_mock.contract.schemas import default_schemas


def test_keywords_of_configure_are_the_gaps_with_their_alternatives() -> None:
    hints = get_type_hints(GapChoices)
    assert {name: get_args(hint) for name, hint in hints.items()} == {
        name: tuple(gap.alternatives) for name, gap in GAPS.items()
    }
    assert hints == get_type_hints(Behaviour)


def test_keywords_of_seed_and_update_are_the_fields_of_the_schema() -> None:
    fields = set(default_schemas().properties("Pet"))
    assert set(get_type_hints(PetFields)) == fields
    assert set(get_type_hints(PetChanges)) == fields - {"id"}
