"""The observer finds each kind of response that the fake must not send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from petstore_mock import PetStoreMock
from tests.client import Client, Response
from tests.observer import hold


def with_field(response: Response, name: str, value: str | None) -> Response:
    rest = tuple(field for field in response.fields if field[0] != name)
    return replace(response, fields=rest if value is None else (*rest, (name, value)))


def with_body(response: Response, body: bytes) -> Response:
    return with_field(replace(response, body=body), "Content-Length", str(len(body)))


SPOILS: dict[str, Callable[[Response], Response]] = {
    "a server error": lambda response: replace(response, status=500),
    "no date": lambda response: with_field(response, "Date", None),
    "another date": lambda response: with_field(response, "Date", "Thu, 01 Jan 1970 00:00:00 GMT"),
    "a date in another form": lambda response: with_field(response, "Date", "Thursday, 01-Jan-70 00:00:00 GMT"),
    "a field twice": lambda response: replace(response, fields=(*response.fields, ("server", "x"))),
    "another type": lambda response: with_field(response, "Content-Type", "text/html"),
    "another length": lambda response: with_field(response, "Content-Length", "1"),
    "no JSON": lambda response: with_body(response, b"{"),
    "a wrong member": lambda response: with_body(response, response.body.replace(b'"id":1', b'"id":"1"')),
    "a missing member": lambda response: with_body(response, response.body.replace(b'"id":1,', b"")),
    "a further member": lambda response: with_body(response, response.body.replace(b'"id":1', b'"id":1,"x":1')),
    "a success with the status of an error": lambda response: replace(response, status=404),
    "a 401 without a challenge": lambda response: replace(
        with_body(response, b'{"code":"x","message":"x","status":401}'), status=401
    ),
    "another status in the body": lambda response: replace(
        with_body(response, b'{"code":"x","message":"x","status":400}'), status=404
    ),
    "a 405 without Allow": lambda response: replace(
        with_body(response, b'{"code":"x","message":"x","status":405}'), status=405
    ),
}


@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("query", ["", "/1"], ids=["list", "animal"])
def test_spoilt_response_is_found(spoil: str, query: str) -> None:
    petstore = PetStoreMock(seed=1)
    response = Client(petstore, "wsgi").authed("GET", f"/v1/pets{query}")
    with pytest.raises((AssertionError, ValueError)):
        hold(SPOILS[spoil](response), "GET", petstore.behaviour, petstore.clock.now())
