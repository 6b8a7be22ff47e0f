"""Rules of HTTP that hold for each carrier: credentials, methods, and the fields of requests and responses."""

from __future__ import annotations

from typing import Any

import pytest

from petstore_mock import PetStoreMock
from tests.client import JSON, REX, Client
from tests.contract.conftest import Serve

PATHS: dict[str, Any] = PetStoreMock().openapi()["paths"]
PETS, PET, EVERY = (
    ", ".join(sorted({"HEAD", "OPTIONS", *(method.upper() for path in paths for method in PATHS[path])}))
    for paths in (["/pets"], ["/pets/{petId}"], PATHS)
)
FORM = ("Content-Type", "application/x-www-form-urlencoded")


# The key (RFC 9110 §11, RFC 6750)


def test_letter_case_of_scheme_and_field_name_is_ignored(client: Client) -> None:
    schemes = [("Authorization", scheme) for scheme in ("Bearer", "bearer", "BEARER", "bEaReR", "Bearer  ")]
    for name, scheme in (*schemes, ("authorization", "Bearer"), ("AUTHORIZATION", "Bearer")):
        assert client.send("GET", "/v1/pets", [(name, f"{scheme} {client.petstore.api_key}")]).status == 200


@pytest.mark.parametrize("key", ["a", "a=", "ABC-._~+/123==", "0"])
def test_every_bearer_token_can_be_a_key_and_its_case_matters(serve: Serve, key: str) -> None:
    client = serve(api_key=key)
    assert client.petstore.headers == {"Authorization": f"Bearer {key}"}
    assert client.list().status == 200
    other = key.swapcase() if key.swapcase() != key else f"{key}1"
    assert client.send("GET", "/v1/pets", [("Authorization", f"Bearer {other}")]).status == 401


MALFORMED = [
    *("", "Bearer", "Bearer ", "Bearer a b", "Bearer a,b", "Bearer a=b", "Bearer =", 'Bearer "{key}"', "Bearer {key},"),
    *("Bearer\t{key}", "Bearer{key}", "Bearer:{key}", "Token {key}", "Basic {key}", "{key}", "Bearer {key} {key}"),
    *("Bearer {key}, Bearer {key}", "Bearer k\xe9y", "Digest username=x", "xBearer {key}"),
]
CHALLENGE = 'Bearer realm="petstore"'
INVALID = f'{CHALLENGE}, error="invalid_token", error_description="The API key is not valid"'


def test_malformed_credentials_are_401(client: Client) -> None:
    key = client.petstore.api_key
    for value in MALFORMED:
        response = client.send("GET", "/v1/pets", [("Authorization", value.format(key=key))])
        assert (response.status, client.refusal) == (401, "malformed_credentials"), value
        assert response.header("WWW-Authenticate") == INVALID
        assert key not in response.message


MISPLACED: list[tuple[str, str, list[tuple[str, str]], str, str]] = [
    ("GET", "", [], "missing_key", CHALLENGE),  # RFC 6750 §3.1: no error code if no credentials were sent
    *(
        ("GET", "", [(name, "Bearer {}")], "missing_key", CHALLENGE)
        for name in ("X-Api-Key", "Proxy-Authorization", "Cookie", "X-Authorization", "X-Authorizatio")
    ),
    ("GET", "?access_token={}", [], "missing_key", CHALLENGE),
    ("POST", "", [FORM], "missing_key", CHALLENGE),
    ("GET", "", [("Authorization", "Bearer {}"), ("authorization", "Bearer {}")], "malformed_credentials", INVALID),
    *(("GET", "", [("Authorization", f"Bearer {{}}{'9' * many}")], "unknown_key", INVALID) for many in (1, 5000)),
]


def test_key_is_accepted_only_in_one_authorization_field(client: Client) -> None:
    key = client.petstore.api_key
    for method, query, fields, condition, challenge in MISPLACED:
        head = [(name, value.format(key)) for name, value in fields]
        response = client.send(method, f"/v1/pets{query.format(key)}", head, f"access_token={key}".encode())
        assert (response.status, client.refusal) == (401, condition)
        assert response.header("WWW-Authenticate") == challenge
    assert client.list().status == 200


def test_error_masks_a_key_anywhere_in_the_request(serve: Serve) -> None:
    for options in ({}, {"api_key": "a-fixed-key-of-the-team"}):
        client = serve(**options)
        key = client.petstore.api_key
        targets = (f"/v1/pets?api_key={key}", f"/v1/pets?status={key}", f"/v1/pets/{key}", f"/keys/{key}")
        bodies = (f'{{"name":"Rex","categoryId":"{key}"}}', f'{{"name":"Rex","categoryId":1,"{key}":1}}')
        for response in (
            *(client.authed("GET", one) for one in targets),
            *(client.post(one.encode()) for one in bodies),
        ):
            assert response.status in {400, 404}
            assert key not in response.message
            assert f"***{key[-4:]}" in response.message


def test_a_wrong_key_is_reported_before_other_errors_but_after_a_wrong_route(client: Client) -> None:
    for method, target, fields, body in (
        *(("GET", f"/v1/pets{rest}", [], None) for rest in ("/1", "/absent", "?limit=0", "?x=%")),
        ("HEAD", "/v1/pets?limit=0", [], None),
        *(("POST", "/v1/pets", [JSON], body) for body in (b"{}", b"no json", b" " * (1024 * 1024 + 1))),
        ("POST", "/v1/pets", [], REX),
        ("POST", "/v1/pets?x=1", [JSON], REX),
    ):
        for credentials in ([], [("Authorization", "Bearer wrong")]):
            assert client.send(method, target, [*credentials, *fields], body).status == 401
            assert not client.last.executed
    assert client.send("GET", "/v1/cats").status == 404
    assert client.send("DELETE", "/v1/pets").status == 405


# Methods (RFC 9110 §9, §15.5.6)


def test_wrong_method_is_405_with_allow(client: Client) -> None:
    for target in ("/v1/pets", "/v1/pets/1", "/v1/pets/99", "/v1/pets/nonsense"):
        allow = PETS if target == "/v1/pets" else PET
        for method in {"PUT", "DELETE", "PATCH", "TRACE", "QUERY", "POST"} - set(allow.split(", ")):
            response = client.send(method, target, [JSON], REX if method == "POST" else None)
            assert (response.status, response.header("Allow"), client.refusal) == (405, allow, "method_not_allowed")
            assert method in response.message


def test_connect_is_refused(client: Client) -> None:
    """With an authority, the method is wrong (RFC 9110 §9.3.6). With a path, the target is wrong (RFC 9112 §3.2.3)."""
    response = client.send("CONNECT", "h.example:443")
    assert (response.status, response.header("Allow")) == (405, EVERY)
    response = client.send("CONNECT", "/v1/pets")
    assert (response.status, response.json()["code"]) == (400, "malformed_request")


def test_unknown_method_is_501(client: Client) -> None:
    for method in ("FETCH", "get", "Get", "QUERYX", "X-Y", "G"):
        assert client.authed(method, "/v1/pets").status == 501
    assert client.list().status == 200


def test_head_has_the_fields_of_get_and_no_body(client: Client) -> None:
    client.petstore.seed_many(3)
    client.petstore.clock.freeze()
    for target in ("/v1/pets", "/v1/pets?limit=2", "/v1/pets/1", "/v1/pets/99", "/v1/pets?limit=0", "/v1/cats"):
        got, head = client.authed("GET", target), client.authed("HEAD", target)
        assert (head.status, head.body, head.fields) == (got.status, b"", got.fields)
        assert head.header("Content-Length") == str(len(got.body))
    assert client.list().status == 200, "the connection still works"


def test_options_is_204_with_allow_and_needs_no_key(client: Client) -> None:
    for target in ("/v1/pets", "/v1/pets?limit=0", "*", "/v1/pets/1", "/v1/pets/nonsense"):
        response = client.send("OPTIONS", target)
        assert (response.status, response.body) == (204, b"")
        allow = EVERY if target == "*" else PET if target.startswith("/v1/pets/") else PETS
        assert response.header("Allow") == allow
        assert response.header("Content-Type") is None
        assert client.last.is_violation is False
    assert client.send("OPTIONS", "/v1/cats").status == 404


# Fields


ODD = "bytes=0-0, *, DELETE, gzip, code=404"
FIELDS = [
    *(("Accept", one) for one in ("text/html", "application/xml;q=1", "*/*", "image/*, application/json;q=0", "")),
    *((name, ODD) for name in ("If-None-Match", "Range", "Accept-Encoding", "X-HTTP-Method-Override", "Prefer")),
    ("Expect", "100-continue"),  # although the request has no body
]


def test_fields_outside_the_interface_change_nothing(client: Client) -> None:
    for field in FIELDS:
        response = client.authed("GET", "/v1/pets", None, field)
        assert (response.status, response.header("Content-Encoding"), response.header("ETag")) == (200, None, None)


def test_responses_name_the_fake(client: Client) -> None:
    for response in (client.list(), client.send("GET", "/v1/pets"), client.send("OPTIONS", "/v1/pets")):
        assert response.header("Server") == "petstore-mock"


def test_date_follows_the_clock_of_the_fake(client: Client) -> None:
    client.petstore.clock.freeze()
    client.petstore.clock.travel_to("2029-02-28T12:00:00")
    assert client.list().header("Date") == "Wed, 28 Feb 2029 12:00:00 GMT"
    client.petstore.clock.advance(days=1)
    assert client.send("GET", "/nowhere").header("Date") == "Thu, 01 Mar 2029 12:00:00 GMT"
    client.petstore.clock.travel_to("9998-12-31T23:59:59")
    assert str(client.list().header("Date")).endswith(" 9998 23:59:59 GMT")


def test_a_large_head_is_accepted_and_more_than_a_hundred_fields_are_431(client: Client) -> None:
    """RFC 6585 §5."""
    fields = [("X-Large", "a" * 60_000), *((f"X-{number}", "1") for number in range(80))]
    assert client.authed("GET", "/v1/pets", None, *fields).status == 200
    assert client.get("9" * 16_000).status == 404
    response = client.authed("GET", "/v1/pets", None, *((f"X-{number}", "1") for number in range(101)))
    assert (response.status, client.refusal) == (431, "header_too_large")
    assert client.list().status == 200
