"""What crosses the border of the core."""

from __future__ import annotations

from sys import getsizeof

import pytest

from petstore_mock import PetStoreMockError
from petstore_mock.contract.error_conditions import error_document
from petstore_mock.messages.request import ApiRequest, RequestFields
from petstore_mock.messages.response import PLAIN, ApiResponse, Head, reason_phrase


def test_fields_by_name_can_be_changed_by_nobody() -> None:
    """Requests with the same head share them, and a ``when=`` gets them."""
    fields = RequestFields([(b"X-A", b"1"), (b"x-a", b"2")])
    with pytest.raises(TypeError):
        fields.by_name[b"x-a"] = ()  # type: ignore[index]
    assert fields.by_name == {b"x-a": (b"1", b"2")}


def test_error_document_is_the_interfaces_error() -> None:
    assert error_document("a", "b", 404) == {"code": "a", "message": "b", "status": 404}


@pytest.mark.parametrize(
    ("status", "phrase"), [(200, "OK"), (404, "Not Found"), (299, ""), (599, ""), (418, "I'm a Teapot")]
)
def test_reason_phrase_is_that_of_the_rfcs(status: int, phrase: str) -> None:
    assert reason_phrase(status) == phrase


@pytest.fixture
def request_() -> ApiRequest:
    fields = [
        (b"Accept", b"a"),
        (b"X-Who", b"\xe4"),
        (b"accept", b"b"),
        (b"Authorization", b"Bearer secret-key-123456"),
    ]
    return ApiRequest("POST", "/v1/p%65ts?limit=2&status=a%20b&limit=3&empty=", fields, b'{"name": "Rex"}', 4, 2)


def test_request_shows_predicates_what_they_need(request_: ApiRequest) -> None:
    assert request_.path == "/v1/pets"
    assert request_.query == {"limit": "3", "status": "a b", "empty": ""}
    assert request_.values("ACCEPT") == ["a", "b"]
    assert request_.header("accept") == "a, b"
    assert request_.header("x-who") == "ä"
    assert request_.header("absent") is None
    assert request_.header("absent", "default") == "default"
    assert request_.header("ä") is None
    assert request_.json() == {"name": "Rex"}
    assert (request_.method, request_.connection, request_.exchange, request_.oversized) == ("POST", 4, 2, False)


def test_request_that_bears_no_json_raises() -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        ApiRequest("GET", "/").json()


@pytest.mark.parametrize("body", [b"[" * 100_000, b"9" * 5000, b"\xff", b"{"], ids=["deep", "long", "no UTF-8", "cut"])
def test_what_is_no_json_raises_value_error_alone(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        ApiRequest("POST", "/v1/pets", (), body).json()


def test_repr_shows_no_key(request_: ApiRequest) -> None:
    assert repr(request_) == "<ApiRequest POST /v1/p%65ts?limit=2&status=a%20b&limit=3&empty= 15 bytes>"
    leaky = ApiRequest(
        "GET", "/v1/pets?access_token=secret-key-123456", [(b"Authorization", b"Bearer secret-key-123456")]
    )
    assert "secret-key" not in repr(leaky)


def test_fields_are_found_by_name_in_the_order_sent(request_: ApiRequest) -> None:
    fields = request_.fields
    assert list(fields)[:2] == [(b"Accept", b"a"), (b"X-Who", b"\xe4")]
    assert fields.by_name == {
        b"accept": (b"a", b"b"),
        b"x-who": (b"\xe4",),
        b"authorization": (b"Bearer secret-key-123456",),
    }
    assert fields.size == sum(len(name) + len(value) for name, value in fields)
    assert ApiRequest("GET", "/", fields).fields is fields


def test_many_fields_weigh_what_each_costs_beside_its_text() -> None:
    """What keeps requests by their size must not keep a hundred times as much."""
    fields = ApiRequest("GET", "/", [(b"X-%d" % number, b"") for number in range(100)]).fields
    held = sum(map(getsizeof, (fields, *fields, fields.by_name, *fields.by_name.values(), *fields.by_name)))
    held += sum(getsizeof(name) for name, _ in fields)
    assert held / 2 < fields.size < held * 2


def test_head_is_encoded_once_with_its_reason() -> None:
    head = Head(404, [("Content-Type", "application/json"), ("X-A", "\xe4\t1")])
    assert head.wire == b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nX-A: \xe4\t1\r\n"
    assert Head(299).wire == b"HTTP/1.1 299 \r\n"
    assert head.get("content-type") == "application/json"
    assert head.get("absent") is None
    assert repr(Head(200, [("A", "b")])) == "<Head 200 {'A': 'b'}>"


def test_fields_of_a_copy_replace_those_of_their_names() -> None:
    head = Head(200, [("Content-Type", "a"), ("Server", "b")])
    assert head.with_fields(("content-type", "c"), ("X", "d")).fields == (
        ("Server", "b"),
        ("content-type", "c"),
        ("X", "d"),
    )
    assert head.fields == (("Content-Type", "a"), ("Server", "b"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("A", "x\r\nSet-Cookie: y"),
        ("A", "x\n"),
        ("A", "x\r"),
        ("A", "x\0"),
        ("A", "x\x1b"),
        ("A", "\u0142"),
        ("", "x"),
        ("A B", "x"),
        ("A:", "x"),
        ("A\r\nB", "x"),
        ("Ä", "x"),
        ("A\n", "x"),
    ],
    ids=ascii,
)
def test_field_that_http_does_not_allow_is_refused(name: str, value: str) -> None:
    with pytest.raises(PetStoreMockError, match="a header field that HTTP allows"):
        Head(200, [(name, value)])


def test_response_is_plain_by_default() -> None:
    response = ApiResponse(Head(200), b"abc", b"now")
    assert (response.status, response.wire_format) == (200, PLAIN)
    assert repr(response) == "<ApiResponse 200 3 bytes>"


def test_field_without_a_value_is_taken_away() -> None:
    head = Head(200, (("Server", "x"), ("Allow", "GET"))).with_fields(("SERVER", ""), ("allow", "POST"), ("X-New", ""))
    assert head.fields == (("allow", "POST"),)
    assert head.wire == b"HTTP/1.1 200 OK\r\nallow: POST\r\n"
