"""Rules of HTTP that hold for each carrier: credentials, methods, heads, and what a fake sends with each response."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client import JSON, REX

if TYPE_CHECKING:
    from tests.client import Client
    from tests.contract.conftest import Serve

PETS, PET = "GET, HEAD, OPTIONS, POST", "GET, HEAD, OPTIONS"


# The key (RFC 9110 §11, RFC 6750)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("Authorization", f"{scheme} {{}}") for scheme in ("Bearer", "bearer", "BEARER", "bEaReR", "Bearer  ")),
        ("authorization", "Bearer {}"),
        ("AUTHORIZATION", "Bearer {}"),
    ],
)
def test_scheme_and_field_name_have_no_letter_case(client: Client, name: str, value: str) -> None:
    assert client.send("GET", "/v1/pets", [(name, value.format(client.petstore.api_key))]).status == 200


@pytest.mark.parametrize("key", ["a", "a=", "ABC-._~+/123==", "0"])
def test_every_bearer_token_can_be_a_key_and_case_counts(serve: Serve, key: str) -> None:
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


@pytest.mark.parametrize("value", MALFORMED)
def test_malformed_credentials_are_401(client: Client, value: str) -> None:
    key = client.petstore.api_key
    response = client.send("GET", "/v1/pets", [("Authorization", value.format(key=key))])
    assert (response.status, client.refusal) == (401, "malformed_credentials")
    challenge = 'Bearer realm="petstore", error="invalid_token", error_description="The API key is not valid"'
    assert response.header("WWW-Authenticate") == challenge
    assert key not in response.message


def test_challenge_names_no_error_when_no_credentials_were_sent(client: Client) -> None:
    assert client.send("GET", "/v1/pets").header("WWW-Authenticate") == 'Bearer realm="petstore"'  # RFC 6750 §3.1


def test_two_authorization_fields_are_no_valid_credentials(client: Client) -> None:
    value = f"Bearer {client.petstore.api_key}"
    assert client.send("GET", "/v1/pets", [("Authorization", value), ("authorization", value)]).status == 401
    assert client.refusal == "malformed_credentials"


@pytest.mark.parametrize("name", ["X-Api-Key", "Proxy-Authorization", "Cookie", "X-Authorization", "X-Authorizatio"])
def test_key_counts_in_no_other_field(client: Client, name: str) -> None:
    assert client.send("GET", "/v1/pets", [(name, f"Bearer {client.petstore.api_key}")]).status == 401
    assert client.refusal == "missing_key"


def test_key_counts_neither_in_query_nor_in_a_form(client: Client) -> None:
    key = client.petstore.api_key
    assert client.send("GET", f"/v1/pets?access_token={key}").status == 401
    form = ("Content-Type", "application/x-www-form-urlencoded")
    assert client.send("POST", "/v1/pets", [form], f"access_token={key}".encode()).status == 401


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("GET", "/v1/pets?api_key={}", b""),
        ("GET", "/v1/pets?status={}", b""),
        ("GET", "/v1/pets/{}", b""),
        ("GET", "/keys/{}", b""),
        ("POST", "/v1/pets", b'{"name":"Rex","categoryId":"KEY"}'),
        ("POST", "/v1/pets", b'{"name":"Rex","categoryId":1,"KEY":1}'),
    ],
    ids=["parameter", "filter", "identifier", "path", "value", "name of a field"],
)
def test_error_shows_no_key_wherever_the_client_put_it(serve: Serve, method: str, target: str, body: bytes) -> None:
    for options in ({}, {"api_key": "a-fixed-key-of-the-team"}):
        client = serve(**options)
        key = client.petstore.api_key
        response = client.authed(method, target.format(key), body.replace(b"KEY", key.encode()) or None, JSON)
        assert response.status in {400, 404}
        assert key not in response.message
        assert f"***{key[-4:]}" in response.message


@pytest.mark.parametrize("digits", [7, 30, 5000])
def test_endless_key_is_401(client: Client, digits: int) -> None:
    value = f"Bearer {client.petstore.api_key[:-6]}{'9' * digits}"
    assert client.send("GET", "/v1/pets", [("Authorization", value)]).status == 401
    assert client.refusal == "unknown_key"
    assert client.list().status == 200


@pytest.mark.parametrize(
    ("method", "target", "fields", "body"),
    [
        ("GET", "/v1/pets/1", [], None),
        ("GET", "/v1/pets/absent", [], None),
        ("GET", "/v1/pets?limit=0", [], None),
        ("GET", "/v1/pets?x=%", [], None),
        ("HEAD", "/v1/pets?limit=0", [], None),
        ("POST", "/v1/pets", [JSON], b"{}"),
        ("POST", "/v1/pets", [JSON], b"no json"),
        ("POST", "/v1/pets", [], REX),
        ("POST", "/v1/pets?x=1", [JSON], REX),
        ("POST", "/v1/pets", [JSON], b" " * (1024 * 1024 + 1)),
    ],
    ids=range(10),
)
def test_wrong_key_comes_before_everything_behind_it(
    client: Client, method: str, target: str, fields: list[tuple[str, str]], body: bytes | None
) -> None:
    for credentials in ([], [("Authorization", "Bearer wrong")]):
        assert client.send(method, target, [*credentials, *fields], body).status == 401
        assert not client.last.executed


def test_unknown_path_and_wrong_method_come_before_a_wrong_key(client: Client) -> None:
    assert client.send("GET", "/v1/cats").status == 404
    assert client.send("DELETE", "/v1/pets").status == 405


# Methods (RFC 9110 §9, §15.5.6)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "QUERY", "POST"])
@pytest.mark.parametrize(
    ("target", "allow"), [("/v1/pets", PETS), ("/v1/pets/1", PET), ("/v1/pets/99", PET), ("/v1/pets/nonsense", PET)]
)
def test_wrong_method_is_405_with_allow(client: Client, method: str, target: str, allow: str) -> None:
    client.petstore.seed()
    if method in allow:
        return
    response = client.send(method, target, [JSON], REX if method == "POST" else None)
    assert (response.status, response.header("Allow")) == (405, allow)
    assert (client.refusal, client.last.section) == ("method_not_allowed", "RFC 9110 §15.5.6")
    assert method in response.message
    assert len(client.petstore.pets) == 1


def test_connect(client: Client) -> None:
    """To an authority its method is wrong (RFC 9110 §9.3.6), to a path its target (RFC 9112 §3.2.3)."""
    response = client.send("CONNECT", "h.example:443")
    assert (response.status, response.header("Allow")) == (405, PETS)
    response = client.send("CONNECT", "/v1/pets")
    assert (response.status, response.json()["code"]) == (400, "malformed_request")


@pytest.mark.parametrize("method", ["FETCH", "get", "Get", "QUERYX", "X-Y", "G"])
def test_unknown_method_is_501(client: Client, method: str) -> None:
    assert client.authed(method, "/v1/pets").status == 501
    assert client.list().status == 200


@pytest.mark.parametrize(
    "target", ["/v1/pets", "/v1/pets?limit=2", "/v1/pets/1", "/v1/pets/99", "/v1/pets?limit=0", "/v1/cats"]
)
def test_head_has_the_fields_of_get_without_a_body(client: Client, target: str) -> None:
    client.petstore.seed_many(3)
    got, head = client.authed("GET", target), client.authed("HEAD", target)
    assert (head.status, head.body) == (got.status, b"")
    assert [field for field in head.fields if field[0] != "Date"] == [
        field for field in got.fields if field[0] != "Date"
    ]
    assert head.header("Content-Length") == str(len(got.body))
    assert client.list().status == 200, "the connection is still in step"


@pytest.mark.parametrize(
    ("target", "allow"),
    [
        ("/v1/pets", PETS),
        ("/v1/pets?limit=0", PETS),
        ("/v1/pets/1", PET),
        ("/v1/pets/nonsense", PET),
        ("*", PETS),
    ],
)
def test_options_is_204_with_allow_and_needs_no_key(client: Client, target: str, allow: str) -> None:
    response = client.send("OPTIONS", target)
    assert (response.status, response.header("Allow"), response.body) == (204, allow, b"")
    assert response.header("Content-Type") is None
    assert client.last.is_violation is False


def test_options_of_an_unknown_path_is_404(client: Client) -> None:
    assert client.send("OPTIONS", "/v1/cats").status == 404


# Fields


@pytest.mark.parametrize("accept", ["text/html", "application/xml;q=1", "*/*", "image/*, application/json;q=0", ""])
def test_accept_is_ignored(client: Client, accept: str) -> None:
    assert client.authed("GET", "/v1/pets", None, ("Accept", accept)).status == 200


@pytest.mark.parametrize("name", ["If-None-Match", "Range", "Accept-Encoding", "X-HTTP-Method-Override", "Prefer"])
def test_fields_that_the_interface_does_not_show_change_nothing(client: Client, name: str) -> None:
    response = client.authed("GET", "/v1/pets", None, (name, "bytes=0-0, *, DELETE, gzip, code=404"))
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


# Heads that are too large, or that ask for an unknown expectation (RFC 9110 §15.5.15, §10.1.1; RFC 6585 §5)


def test_a_hundred_fields_are_read_and_no_more(client: Client) -> None:
    response = client.authed("GET", "/v1/pets", None, *((f"X-{number}", "1") for number in range(101)))
    assert (response.status, client.refusal) == (431, "header_too_large")
    assert client.list().status == 200


def test_a_large_head_is_served(client: Client) -> None:
    fields = [("X-Large", "a" * 60_000), *((f"X-{number}", "1") for number in range(80))]
    assert client.authed("GET", "/v1/pets", None, *fields).status == 200
    assert client.get("9" * 16_000).status == 404


def test_a_client_may_wait_for_100_continue_with_nothing_to_send(client: Client) -> None:
    assert client.authed("GET", "/v1/pets", None, ("Expect", "100-continue")).status == 200
