"""Mutants hooked into the pipeline of one world."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, faults
from petstore_mock.core.mutation import mutation_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def mock() -> Iterator[PetStoreMock]:
    with PetStoreMock(self_check=True) as mock:
        yield mock


def under(mock: PetStoreMock, name: str) -> None:
    mock.tenant.world.mutation = mutation_of(name)


def shown(mock: PetStoreMock) -> int:
    return sum(entry.mutant is not None for entry in mock.journal)


def call(mock: PetStoreMock, method: str = "GET", path: str = "/pets", body: object = None, key: str = "") -> Any:  # noqa: ANN401  # JSON
    parts = urlsplit(mock.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    headers = {"Authorization": f"Bearer {key or mock.api_key}", "Content-Type": "application/json"}
    connection.request(method, parts.path + path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, json.loads(content or b"null")


def test_what_is_asked_stays_in_the_journal_as_it_came(mock: PetStoreMock) -> None:
    mock.seed_many(6)
    under(mock, "list-filter-ignored")
    status, pets = call(mock, path="/pets?status=sold")
    assert (status, len(pets)) == (200, 6)
    assert mock.journal.last.target == "/v1/pets?status=sold"
    assert mock.journal.last.operation == "listPets"
    assert shown(mock) == 1


def test_a_request_that_does_not_ask_for_it_shows_nothing(mock: PetStoreMock) -> None:
    under(mock, "list-filter-ignored")
    assert call(mock) == (200, [])
    assert call(mock, "POST", body={"name": "Rex", "categoryId": 1})[0] == 201
    assert shown(mock) == 0


@pytest.mark.parametrize("revoked", [False, True])
def test_a_key_that_is_let_in_is_no_violation(mock: PetStoreMock, revoked: bool) -> None:
    under(mock, "list-any-key")
    key = "unknown"
    if revoked:
        key = mock.issue_key()
        mock.revoke_key(key)
    assert call(mock, key=key) == (200, [])
    assert not mock.journal.violations


def test_what_a_refused_create_made_is_not_kept(mock: PetStoreMock) -> None:
    under(mock, "create-sold-refused")
    status, error = call(mock, "POST", body={"name": "Rex", "categoryId": 1, "status": "sold"})
    assert status == error["status"] == 400
    assert mock.pets == []
    assert call(mock, "POST", body={"name": "Rex", "categoryId": 1})[0] == 201


def test_the_journal_has_the_answer_that_came(mock: PetStoreMock) -> None:
    under(mock, "get-name-null")
    pet = mock.seed(name="Rex")
    assert call(mock, path=f"/pets/{pet['id']}")[1]["name"] is None
    assert json.loads(mock.journal.last.response_body)["name"] is None
    assert mock.pets[0]["name"] == "Rex"


def test_an_injected_error_is_spoilt_as_the_services_own(mock: PetStoreMock) -> None:
    under(mock, "404-as-detail")
    mock.inject(404, on="getPet", times=1)
    pet = mock.seed()
    status, body = call(mock, path=f"/pets/{pet['id']}")
    assert status == 404
    assert list(body) == ["detail"]


def test_a_fault_that_is_no_answer_of_the_interface_stays_as_it_is(mock: PetStoreMock) -> None:
    under(mock, "list-wrapped")
    mock.inject(faults.respond(200, json=[]), on="listPets", times=1)
    assert call(mock) == (200, [])
    assert shown(mock) == 0


def test_a_delayed_answer_is_spoilt_once(mock: PetStoreMock) -> None:
    under(mock, "create-category-changed")
    mock.inject(faults.delay(0.001), on="createPet", times=2, at="after_commit")
    assert call(mock, "POST", body={"name": "Rex", "categoryId": 5})[1]["categoryId"] == 4
    mock.inject(faults.delay(0.001), on="createPet", times=1)
    assert call(mock, "POST", body={"name": "Rex", "categoryId": 5})[1]["categoryId"] == 4
    assert shown(mock) == 2


def test_worlds_of_fresh_are_the_same_service(mock: PetStoreMock) -> None:
    under(mock, "list-wrapped")
    with mock.fresh() as inner:
        assert call(inner) == (200, {"pets": []})


def test_the_next_test_meets_the_service_as_it_is(mock: PetStoreMock) -> None:
    under(mock, "list-wrapped")
    mock.reset()
    assert call(mock) == (200, {"pets": []})
    mock.tenant.renew("another test")
    assert call(mock) == (200, [])


def test_a_mutant_is_part_of_the_starting_state() -> None:
    with PetStoreMock(mutant="list-wrapped") as mock:
        assert call(mock) == (200, {"pets": []})
        mock.reset()
        assert call(mock) == (200, {"pets": []})
        mock.tenant.renew("test_b", mutant="list-not-there")
        assert call(mock)[0] == 404
        mock.tenant.renew("test_c")
        assert call(mock) == (200, {"pets": []})
        with mock.fresh(mutant=None) as inner:
            assert call(inner) == (200, [])


@pytest.mark.parametrize(
    ("name", "words"),
    [("list-wraped", "got mutant='list-wraped' (str). Did you mean 'list-wrapped'?"), (7, "got mutant=7 (int)")],
)
def test_a_mutant_that_there_is_not_is_refused(name: Any, words: str) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError) as raised:
        PetStoreMock(mutant=name)
    assert words in str(raised.value)
