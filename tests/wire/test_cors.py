"""The option ``cors`` lets pages of other origins use the service, and never the control door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, faults
from tests.client import Client

if TYPE_CHECKING:
    from tests.client import Field, Response

PAGE: Final = "http://localhost:5173"
ORIGIN: Final = ("Origin", PAGE)
WRONG: Final = {"Access-Control-Allow-Origin": "http://wrong.example"}
PREFLIGHT: Final = (
    ORIGIN,
    ("Access-Control-Request-Method", "DELETE"),
    ("Access-Control-Request-Headers", "authorization,content-type"),
)


def ask(petstore: PetStoreMock, method: str, target: str, *fields: Field) -> Response:
    with Client(petstore) as client:
        return client.bare(method, target, fields)


def listed(petstore: PetStoreMock, *fields: Field) -> Response:
    return ask(petstore, "GET", "/v1/pets", *petstore.headers.items(), *fields)


@pytest.mark.parametrize("cors", [PAGE, [PAGE, "http://other.example"], f"http://other.example, {PAGE}"])
def test_page_of_the_origin_reads_responses(cors: str | list[str]) -> None:
    with PetStoreMock(cors=cors) as petstore:
        response = listed(petstore, ORIGIN)
        assert (response.header("Access-Control-Allow-Origin"), response.header("Vary")) == (PAGE, "Origin")
        assert response.header("Access-Control-Expose-Headers") == "*"
        assert petstore.journal.last.hidden == ""


def test_page_of_another_origin_reads_none_and_no_cache_mixes_them_up() -> None:
    with PetStoreMock(cors=PAGE) as petstore:
        foreign = ("Origin", "http://other.example")
        for fields in ((), (foreign,), (ORIGIN,), ()):
            response = listed(petstore, *fields)
            allowed = PAGE if ORIGIN in fields else None
            assert (response.header("Access-Control-Allow-Origin"), response.header("Vary")) == (allowed, "Origin")


def test_star_allows_any_page() -> None:
    with PetStoreMock(cors="*") as petstore:
        response = listed(petstore, ORIGIN)
        assert (response.header("Access-Control-Allow-Origin"), response.header("Vary")) == ("*", None)


@pytest.mark.parametrize("target", ["/v1/pets", "/v1/dogs", "/"])
def test_preflight_is_answered_and_breaks_no_contract(target: str) -> None:
    with PetStoreMock(cors=PAGE, strict=True) as petstore:
        response = ask(petstore, "OPTIONS", target, *PREFLIGHT)
        assert response.status == 204
        assert response.header("Access-Control-Allow-Origin") == PAGE
        assert response.header("Access-Control-Allow-Methods") == "DELETE"
        assert response.header("Access-Control-Allow-Headers") == "authorization,content-type"
        assert petstore.journal.violations == []


def test_page_reads_errors_faults_and_stubs() -> None:
    with PetStoreMock(cors=PAGE) as petstore:
        petstore.httpserver.expect_request("/v1/store/orders").respond_with_json([])
        petstore.inject(faults.server_error(503, delay=0.01), on="listPets", times=1)
        petstore.inject(faults.malformed_json(), on="listPets", times=1)
        responses = [listed(petstore, ORIGIN), listed(petstore, ORIGIN)]
        responses += [ask(petstore, "GET", target, ORIGIN) for target in ("/v1/pets", "/v1/dogs", "/v1/store/orders")]
        assert [response.status for response in responses] == [503, 200, 401, 404, 200]
        assert {response.header("Access-Control-Allow-Origin") for response in responses} == {PAGE}


def test_fault_may_set_the_field_itself() -> None:
    with PetStoreMock(cors=PAGE) as petstore:
        petstore.inject(faults.respond(200, json=[], headers=WRONG), on="listPets")
        response = listed(petstore, ORIGIN)
        assert response.header("Access-Control-Allow-Origin") == "http://wrong.example"
        assert petstore.journal.last.hidden


def test_control_door_stays_closed_to_pages() -> None:
    with PetStoreMock(cors="*", control=True) as petstore:
        for method, fields in (("GET", (ORIGIN,)), ("OPTIONS", PREFLIGHT)):
            response = ask(petstore, method, "/__petstore/world", *fields)
            assert response.status == 403
            assert response.header("Access-Control-Allow-Origin") is None


def test_without_the_option_the_journal_names_the_cause_and_the_option() -> None:
    with PetStoreMock() as petstore:
        response = listed(petstore, ORIGIN)
        assert response.header("Access-Control-Allow-Origin") is response.header("Vary") is None
        assert f"browsers hide this response from pages of {PAGE}" in petstore.journal.last.hidden
        assert f"serve --cors {PAGE}" in petstore.journal.last.hidden


@pytest.mark.parametrize("cors", ["http://localhost:5173/", "localhost:5173", "HTTP://localhost", ["*", 3], 5])
def test_no_origin_is_refused(cors: str) -> None:
    with pytest.raises(PetStoreMockError, match="expected an origin"):
        PetStoreMock(cors=cors)
