"""Requests, responses, credentials and framing are pure values."""

from __future__ import annotations

import pytest

from petstore_mock.errors import PetStoreMockError
from petstore_mock.http.credentials import bearer_key, key_fault
from petstore_mock.http.deferred import Deferred, Pending
from petstore_mock.http.framing import frame
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.http.response import Head, Response, WireFormat

KEY = "petstore-0123abcd-000001"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "the field is empty"),
        ("Bearer", "no key follows 'Bearer'"),
        ("Basic abc", "the scheme is 'Basic', not 'Bearer'"),
        ("Token", "the scheme is 'Token', not 'Bearer'"),
        (KEY, "the scheme 'Bearer' is missing"),
        (
            "None",
            "the scheme 'Bearer' is missing, and the key is the text 'None': a setting of the client has no value",
        ),
        ("hunter2 x", "the scheme 'Bearer' is missing"),
        ("'Bearer abc'", "the whole value is in quotes"),
        ("Bearer Bearer abc", "the word 'Bearer' stands twice"),
        ("Bearer 'abc'", "the key is in quotes"),
        ("Bearer b'abc'", "the key is written as b'...': decode the bytes"),
        *[
            (
                f"{before}Bearer{blank}a{after}",
                "the white space is wrong: expected a blank behind 'Bearer', and none in",
            )
            for before, blank, after in [
                (" ", " ", ""),
                ("", " ", " "),
                ("", "\t", ""),
                ("", " ", " b"),
                ("", "\xa0", ""),
            ]
        ],
        ("Bearer a,b", "the value, of 10 characters, is not 'Bearer' with a key; a valid key has 24"),
    ],
)
def test_malformed_credentials_are_diagnosed(value: str, words: str) -> None:
    assert bearer_key([value.encode("latin-1")]) == (None, "malformed_credentials")
    assert key_fault("malformed_credentials", [value], (KEY,)).startswith(words)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("None", "the key is the text 'None': a setting of the client has no value"),
        ("Bearer", "the word 'Bearer' stands twice"),
        ("bearers", "the fake does not know the key, of 7 characters; a valid key has 24"),
        ("x", "the fake does not know the key, of 1 character; a valid key has 24"),
    ],
)
def test_unknown_key_is_diagnosed(key: str, words: str) -> None:
    assert bearer_key([f"bEARER  {key}".encode()]) == (key, "")
    assert key_fault("unknown_key", [f"Bearer {key}"], (KEY,)) == words


def test_other_credentials() -> None:
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
    request = ApiRequest("GET", "/v1/pets?x=secret-secret", [(b"Authorization", b"Bearer secret-secret")])
    assert repr(request) == "<ApiRequest GET /v1/pets?x=***cret 0 bytes>"
    assert request.credentials == ["secret-secret"]
    assert ApiRequest("GET", "/", [(b"Authorization", b"Bearer None")]).credentials == []


def test_deep_body_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nests too deep"):
        ApiRequest("POST", "/", (), b"[" * 200_000).json()


def test_head_replaces_and_removes_fields() -> None:
    head = Head(200, [("A", "1"), ("B", "2")])
    assert head.with_fields(("a", "3"), ("B", "")).fields == (("a", "3"),)
    assert (head.get("b"), head.get("c")) == ("2", None)
    assert Head(426, [("Upgrade", "HTTP/3.0")]).wire.endswith(b"Connection: Upgrade\r\n")
    with pytest.raises(PetStoreMockError, match="header field that HTTP allows"):
        Head(200, [("A", "1\r\nB: 2")])


@pytest.mark.parametrize(
    ("status", "wire_format", "options", "wire"),
    [
        (200, {}, {}, b"HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 4\r\n\r\nbody"),
        (200, {}, {"bodiless": True}, b"HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 4\r\n\r\n"),
        (204, {}, {}, b"HTTP/1.1 204 No Content\r\nDate: D\r\n\r\n"),
        (
            200,
            {},
            {"closing": True},
            b"HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody",
        ),
        (
            200,
            {"chunked": True, "lower_case": True},
            {"modern": False},
            b"HTTP/1.1 200 OK\r\ndate: D\r\ncontent-length: 4\r\nconnection: keep-alive\r\n\r\nbody",
        ),
        (
            200,
            {},
            {"chunked": True},
            b"HTTP/1.1 200 OK\r\nDate: D\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
        ),
    ],
)
def test_framing(status: int, wire_format: dict[str, bool], options: dict[str, bool], wire: bytes) -> None:
    response = Response(Head(status), b"body", b"D", WireFormat(**wire_format))
    given = {"modern": True, "bodiless": False, "closing": False, **options}
    assert b"".join(frame(response, **given)) == wire


def test_pending_releases_once_and_at_once_later() -> None:
    released: list[str] = []
    pending = Pending()
    first, second = (lambda name=name: released.append(name) for name in ("first", "second"))
    pending.add(first)
    pending.add(second)
    pending.discard(first)
    pending.release()
    pending.add(first)
    assert released == ["second", "first"]
    assert len(pending) == 0


def test_deferred_marks_its_exchange() -> None:
    class Exchange:
        in_flight = False

        def complete(self, outcome: str, *, sent: bool) -> None: ...

    exchange = Exchange()
    Deferred(lambda: Response(Head(200), b"", b""), exchange, Pending(), delay=1)
    assert exchange.in_flight
