"""Checks that are called with a journal hold for a journal of many calls, or refuse it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, checks, faults
from tests.clients.correct import ApiError, HttpClientPets

# These checks judge single requests, or requests that were sent again.
HOLD = {
    "key_only_in_authorization",
    "requests_are_valid",
    "no_repeated_create",
    "retries_are_bounded",
}


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    with PetStoreMock() as petstore:
        yield petstore


@pytest.fixture
def client(petstore: PetStoreMock) -> Iterator[HttpClientPets]:
    with contextlib.closing(HttpClientPets(petstore.url, petstore.api_key)) as client:
        yield client


def make_many_correct_calls(petstore: PetStoreMock, client: HttpClientPets) -> None:
    rex = petstore.seed(name="Rex", categoryId=1)
    for _ in range(11):
        client.list_pets()
        client.get_pet(rex["id"])
    for _ in range(3):
        with pytest.raises(ApiError):
            client.get_pet(404)
    for _ in range(12):
        client.create_pet(name="Tom", category_id=2)
    petstore.inject(faults.delay(0.001), on="createPet")
    client.create_pet(name="Mia", category_id=3)
    client.create_pet(name="Mia", category_id=3)
    petstore.cancel_faults()
    petstore.inject(404, on="getPet")
    for _ in range(12):
        with pytest.raises(ApiError):
            client.get_pet(rex["id"])
    petstore.cancel_faults()
    petstore.inject(faults.rate_limited(5), on="listPets", times=1)
    with pytest.raises(ApiError):
        client.list_pets(limit=3)
    client.list_pets(limit=4)


@pytest.mark.parametrize("name", checks.CHECKS)
def test_a_check_holds_for_a_journal_of_many_correct_calls_or_refuses_it(
    name: str, petstore: PetStoreMock, client: HttpClientPets
) -> None:
    make_many_correct_calls(petstore, client)
    if name in HOLD:
        checks.CHECKS[name](petstore.journal)
        return
    with pytest.raises(PetStoreMockError, match=f"expected an observation with .* for {name}; .*checks.watched"):
        checks.CHECKS[name](petstore.journal)


def send_again(client: Any, times: int) -> None:
    for _ in range(times):
        with contextlib.suppress(ApiError, OSError, ValueError):
            client.list_pets(status="sold")


@pytest.mark.parametrize("fault", [503, 429, faults.reset(), faults.malformed_json()], ids=repr)
def test_a_journal_shows_a_request_that_was_sent_again_too_often(
    fault: Any, petstore: PetStoreMock, client: HttpClientPets
) -> None:
    petstore.inject(fault, on="listPets")
    send_again(client, 10)
    checks.retries_are_bounded(petstore.journal)
    send_again(client, 1)
    with pytest.raises(AssertionError, match="sent 11 requests"):
        checks.retries_are_bounded(petstore.journal)


def test_the_requests_of_one_call_show_a_retry_before_the_time_in_retry_after(
    petstore: PetStoreMock, client: HttpClientPets
) -> None:
    petstore.inject(faults.rate_limited(60), on="listPets", times=1)
    send_again(client, 2)
    call = checks.Call("listPets", {"status": "sold"})
    with pytest.raises(AssertionError, match="after 429 with 'Retry-After: 60'"):
        checks.retry_after_is_honoured(checks.Observation([*petstore.journal], call))
    # In a journal, they may be two calls of the test.
    with pytest.raises(PetStoreMockError, match=r"expected an observation with call for retry_after_is_honoured"):
        checks.retry_after_is_honoured(petstore.journal)


def test_one_call_is_stricter_than_a_journal(petstore: PetStoreMock, client: HttpClientPets) -> None:
    """In one call, the third request for an absent animal is one too many."""
    for _ in range(3):
        with pytest.raises(ApiError):
            client.get_pet(404)
    call = checks.Call("getPet", {"petId": 404})
    with pytest.raises(AssertionError, match=r"sent GET /v1/pets/404 3 times and received 404 each time"):
        checks.retries_are_bounded(checks.Observation(list(petstore.journal), call))
