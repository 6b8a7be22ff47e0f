"""The interface as data."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from petstore_mock import PetStoreMockError
from petstore_mock.contract.error_conditions import CONDITIONS, condition_of_status
from petstore_mock.contract.interface import (
    BASE_PATH,
    DEPRECATED_SINCE,
    INTERFACE_VERSION,
    OPERATIONS,
    REMOVAL_DATE,
    SENTENCES,
    OperationName,
    require_operation,
)


def test_operations_are_those_of_the_interface() -> None:
    assert [(one.name, one.method, one.path, one.section) for one in OPERATIONS.values()] == [
        ("listPets", "GET", "/v1/pets", "4.1"),
        ("createPet", "POST", "/v1/pets", "4.2"),
        ("getPet", "GET", "/v1/pets/{petId}", "4.3"),
    ]
    assert list(OPERATIONS) == list(get_args(OperationName))
    assert (BASE_PATH, INTERFACE_VERSION) == ("/v1", "1.0.0")


def test_declared_statuses_are_those_of_the_tables() -> None:
    assert {name: sorted(one.statuses) for name, one in OPERATIONS.items()} == {
        "listPets": [200, 401],
        "createPet": [201, 400, 401],
        "getPet": [200, 401, 404],
    }
    assert {name: one.success for name, one in OPERATIONS.items()} == {"listPets": 200, "createPet": 201, "getPet": 200}


def test_only_get_pet_is_removed() -> None:
    assert {name: one.removed_at for name, one in OPERATIONS.items()} == {
        "listPets": None,
        "createPet": None,
        "getPet": datetime(2030, 12, 5, tzinfo=UTC),
    }
    assert DEPRECATED_SINCE < REMOVAL_DATE  # RFC 9745 §4


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_operation_is_found_by_its_name(name: str) -> None:
    assert require_operation(name).name == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("listPet", "Did you mean 'listPets'?"),
        ("list_pets", "Did you mean 'listPets'?"),
        ("getpet", "Did you mean 'getPet'?"),
        ("zzz", None),
        ("", None),
        (None, None),
        (5, None),
        (["listPets"], "Did you mean 'listPets'?"),
    ],
    ids=str,
)
def test_unknown_operation_is_refused_with_the_nearest_name(name: Any, hint: str | None) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError) as caught:
        require_operation(name)
    text = str(caught.value)
    assert text.endswith(f"one of listPets, createPet, getPet; got {name!r}{f'. {hint}' if hint else ''}")


def test_every_condition_quotes_a_sentence_and_a_section() -> None:
    for name, condition in CONDITIONS.items():
        assert condition.name == name
        assert condition.subject in SENTENCES
        assert condition.code
        assert condition.message
        assert 400 <= condition.status < 600
        assert condition.section or not condition.violation
        assert condition.status < 500 or condition.status in {501, 505} or not condition.violation


def test_injected_status_has_a_code_that_the_fake_itself_gives_it() -> None:
    """And none that the names of ``http.HTTPStatus`` give it, which change with Python's version."""
    for status in {condition.status for condition in CONDITIONS.values() if condition.status < 500}:
        codes = {condition.code for condition in CONDITIONS.values() if condition.status == status}
        assert condition_of_status(status).code in codes


def test_sentences_stand_in_the_sections_of_the_interface() -> None:
    assert {subject: sentence.section for subject, sentence in SENTENCES.items()} == {
        **dict.fromkeys(("name", "categoryId", "status"), "2"),
        **dict.fromkeys(("limit", "statusFilter", "query"), "4.1"),
        **dict.fromkeys(("petId", "removed"), "4.3"),
        **dict.fromkeys(("paths", "noQuery"), "4"),
        **dict.fromkeys(("json", "http"), "1"),
        "body": "4.2",
        "key": "5",
        "absent": "7",
        "limits": "8",
    }


def test_absent_animals_and_withdrawn_keys_are_no_fault_of_the_client() -> None:
    assert {name for name, condition in CONDITIONS.items() if not condition.violation} == {
        *("revoked_key", "expired_key", "retired_key"),
        *("absent_pet", "rate_limited", "released", "internal_error", "unknown_world", "ended_world"),
    }
