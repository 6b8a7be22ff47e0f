"""Targets and fields as clients in process hand them over: not all as PEP 3333 wants them."""

from __future__ import annotations

import httpx
import pytest
from werkzeug.test import Client

from petstore_mock import PetStoreMock


@pytest.mark.parametrize("query", ["limit=0", "limit=1&limit=1", "status=lost"])
def test_a_query_given_apart_from_the_path_is_judged(query: str) -> None:
    petstore = PetStoreMock()
    answer = Client(petstore.app).get("/v1/pets", query_string=query, headers=petstore.headers)
    assert answer.status_code == 400
    assert petstore.journal.violations[0].target == f"/v1/pets?{query}"


def test_path_that_a_client_decoded_as_utf_8_is_answered() -> None:
    """PEP 3333 asks for Latin-1; httpx's transport puts any character into the environ."""
    petstore = PetStoreMock()
    with httpx.Client(transport=httpx.WSGITransport(app=petstore.app), headers=petstore.headers) as client:
        assert client.get("http://fake.test/v1/pets/\u2713").status_code == 404
    assert petstore.journal.last.path == "/v1/pets/\u2713"


def test_a_query_in_the_path_is_judged_once() -> None:
    petstore = PetStoreMock()
    Client(petstore.app).get("/v1/pets?limit=3", headers=petstore.headers)
    assert not petstore.journal.violations


def test_version_is_that_which_the_server_was_asked_in() -> None:
    petstore = PetStoreMock()
    Client(petstore.app).get("/v1/pets", environ_overrides={"SERVER_PROTOCOL": "HTTP/1.0"})
    assert petstore.journal.last.request.version == "HTTP/1.0"


@pytest.mark.parametrize("value", [" Bearer {}", "Bearer {} ", "\tBearer {}\t"])
def test_blanks_around_a_field_are_no_part_of_it(value: str) -> None:
    """RFC 9110 §5.5; a server strips them, a client in process may not."""
    petstore = PetStoreMock()
    environ = {"HTTP_AUTHORIZATION": value.format(petstore.api_key)}
    assert Client(petstore.app).get("/v1/pets", environ_overrides=environ).status_code == 200
