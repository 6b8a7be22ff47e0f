"""Requests, responses and credentials as values."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from petstore_mock.errors import PetStoreMockError
from petstore_mock.http.credentials import bearer_key, key_fault
from petstore_mock.http.handler import Pending
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.http.response import Head

KEY = "petstore-0123abcd-000001"


SPACE = "the white space is wrong: expected a space after 'Bearer', and none in or around the key"
UNSET = "the key is a placeholder, such as 'None' for a setting without a value"
MALFORMED = {
    "": "the scheme 'Bearer' is missing",
    "Bearer": "no key follows 'Bearer'",
    "Token": "the scheme is 'Token', not 'Bearer'",
    "Basic abc": "the scheme is 'Basic', not 'Bearer'",
    KEY: "the scheme 'Bearer' is missing",
    "hunter2 x": "the scheme 'Bearer' is missing",
    "None": f"the scheme 'Bearer' is missing, and {UNSET}",
    "Bearer Bearer abc": "the word 'Bearer' appears twice",
    **dict.fromkeys(("Bearer 'abc'", "Bearer b'abc'", "'Bearer abc'"), "the key is in quotes, such as '...' or b'...'"),
    **dict.fromkeys((" Bearer a", "Bearer a ", "Bearer\ta", "Bearer\xa0a", "Bearer a b"), SPACE),
    "Bearer a,b": "the fake does not know this key (3 characters; a valid key has 24)",
}
UNKNOWN = {
    "None": UNSET,
    "Bearer": "the word 'Bearer' appears twice",
    "bearers": "the fake does not know this key (7 characters; a valid key has 24)",
}


@pytest.mark.parametrize("value", MALFORMED)
def test_malformed_credentials_are_explained(value: str) -> None:
    assert bearer_key([value.encode("latin-1")]) == (None, "malformed_credentials")
    assert key_fault("malformed_credentials", [value], (KEY,)) == MALFORMED[value]


@pytest.mark.parametrize("key", UNKNOWN)
def test_unknown_key_is_explained(key: str) -> None:
    assert bearer_key([f"bEARER  {key}".encode()]) == (key, "")
    assert key_fault("unknown_key", [f"Bearer {key}"], (KEY,)) == UNKNOWN[key]


def test_missing_and_repeated_credentials_are_explained() -> None:
    assert bearer_key([]) == (None, "missing_key")
    assert bearer_key([b"Bearer a", b"Bearer a"]) == (None, "malformed_credentials")
    assert key_fault("malformed_credentials", ["a", "b"], ()) == "2 Authorization fields arrived"
    assert key_fault("missing_key", [], ()) == ""


def test_request_reads_its_fields() -> None:
    fields = Fields([(b"X-A", b"1"), (b"x-a", b"2"), (b"Content-Type", b"Application/JSON; charset=utf-8")])
    request = ApiRequest("POST", "/v1/p%61ts?a=1&a=%32", fields, b'{"a": 1}')
    assert (request.path, request.query, request.json()) == ("/v1/pats", {"a": "2"}, {"a": 1})
    assert (request.header("X-a"), request.values("none"), request.header("none", "b")) == ("1, 2", [], "b")
    assert request.fields is fields
    assert fields.is_json


def test_request_shows_no_key() -> None:
    request = ApiRequest("GET", "/v1/pets?x=secret-secret", Fields([(b"Authorization", b"Bearer secret-secret")]))
    assert repr(request) == "<ApiRequest GET /v1/pets?x=***cret 0 bytes>"
    assert request.credentials == ["secret-secret"]
    assert ApiRequest("GET", "/", Fields([(b"Authorization", b"Bearer None")])).credentials == []


def test_head_replaces_and_removes_fields() -> None:
    head = Head(200, [("A", "1"), ("B", "2")])
    assert head.with_fields(("a", "3"), ("B", "")).fields == (("a", "3"),)
    assert (head.get("b"), head.get("c")) == ("2", None)
    assert Head(426, [("Upgrade", "HTTP/3.0")]).wire.endswith(b"Connection: Upgrade\r\n")
    with pytest.raises(PetStoreMockError, match="header field that HTTP allows"):
        Head(200, [("A", "1\r\nB: 2")])


def test_a_deferred_response_is_released_once_and_after_a_reset_immediately() -> None:
    released: list[str] = []
    pending = Pending()
    first, second = (lambda name=name: released.append(name) for name in ("first", "second"))
    pending.add(first)
    pending.add(second)
    pending.discard(first)
    pending.release()
    pending.add(first)
    assert released == ["second", "first"]


def test_a_request_never_changes() -> None:
    request = ApiRequest("GET", "/v1/pets/7?x=1", connection=3)
    for field in fields(request):
        with pytest.raises(FrozenInstanceError):
            setattr(request, field.name, getattr(request, field.name))
    assert vars(replace(request, body=b"x")) == {**vars(request), "body": b"x"}
    assert [field.name for field in fields(request)] == [*vars(request)]


@pytest.mark.parametrize(
    ("method", "target", "operation"),
    [
        ("GET", "/v1/pets?limit=x", "listPets"),
        ("POST", "/v1/pets", "createPet"),
        ("HEAD", "/v1/%70ets/7", "getPet"),
        ("DELETE", "/v1/pets/7", None),
        ("GET", "/v1/pets/%ff", None),
        ("GET", "/v1/pets/", None),
        ("OPTIONS", "*", None),
    ],
)
def test_the_operation_of_a_request_follows_from_method_and_target(
    method: str, target: str, operation: str | None
) -> None:
    assert ApiRequest(method, target).operation == operation
