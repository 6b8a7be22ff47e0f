"""Targets that break careless services: query parameters, identifiers and paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client import JSON, REX

if TYPE_CHECKING:
    from tests.client import Client


def refused(client: Client, query: str, *broken: tuple[str, str]) -> str:
    """List with a query and require a 400 that names exactly these rules; return the message."""
    response = client.list(f"?{query}")
    assert (response.status, client.refusal) == (400, "invalid_query"), response
    assert client.broken == list(broken)
    assert all(path in response.message for path, _ in broken)
    assert client.list().status == 200
    return response.message


NO_INTEGERS = [
    *("+5", "%2B5", "1_0", "%205", "5%20", "+", "5+", "5%0A", "%095", "05", "00", "-0", "--5", "5.0", "5e0", "0x5"),
    *("0b1", "five", "true", "null", "5,6", "5;6", "%22" + "5%22", "5%00", "%00"),
    "%D9%A5",  # the Arabic digit five
    "%EF%BC%95",  # the full-width digit five
    "%C2%B2",  # superscript two: isdigit() says yes, int() no
    "5%E2%80%8B",  # a zero-width blank
]


@pytest.mark.parametrize("text", ["", *NO_INTEGERS])
def test_limit_that_is_no_json_integer_is_refused(client: Client, text: str) -> None:
    refused(client, f"limit={text}", ("query.limit", "type"))


@pytest.mark.parametrize("text", NO_INTEGERS)
def test_pet_id_that_is_no_json_integer_is_404(client: Client, text: str) -> None:
    client.petstore.seed_many([{"id": 5}, {"id": 0}, {"id": 10}])
    response = client.get(text)
    assert (response.status, client.refusal) == (404, "malformed_pet_id")  # gap malformed_pet_id
    assert client.broken == [("path.petId", "type")]
    assert "path.petId" in response.message
    assert client.get(5).status == 200


BEYOND = [
    ("9223372036854775808", "maximum"),
    ("-9223372036854775809", "minimum"),
    ("9" * 21, "maximum"),
    ("-" + "9" * 5000, "minimum"),
    ("9" * 5000, "maximum"),
]


@pytest.mark.parametrize(("text", "rule"), BEYOND, ids=lambda text: f"{text[:20]} of {len(text)}")
def test_pet_id_beyond_64_bits_is_404(client: Client, text: str, rule: str) -> None:
    assert client.get(text).status == 404
    assert client.broken == [("path.petId", rule)]


@pytest.mark.parametrize(
    ("text", "rule"),
    [*BEYOND, ("101", "maximum"), ("0", "minimum"), ("-1", "minimum")],
    ids=lambda text: f"{text[:20]} of {len(text)}",
)
def test_limit_outside_1_to_100_is_refused(client: Client, text: str, rule: str) -> None:
    refused(client, f"limit={text}", ("query.limit", rule))


@pytest.mark.parametrize(
    "text", ["", "AVAILABLE", "available%20", "%20sold", "sold%00", "lost", "null", "sold,pending"]
)
def test_unknown_status_is_refused(client: Client, text: str) -> None:
    refused(client, f"status={text}", ("query.status", "enum"))


@pytest.mark.parametrize(
    ("query", "path", "values"),
    [
        ("limit=5&limit=6", "query.limit", ["5", "6"]),
        ("limit=5&limit=5", "query.limit", ["5", "5"]),
        ("limit=&limit=5", "query.limit", ["", "5"]),
        ("limit=5&%6cimit=6", "query.limit", ["5", "6"]),
        ("status=sold&status=pending", "query.status", ["sold", "pending"]),
    ],
)
def test_repeated_parameter_is_refused_with_its_values(
    client: Client, query: str, path: str, values: list[str]
) -> None:
    client.list(f"?{query}")
    assert [one.value for one in client.last.violations] == [values]
    refused(client, query, (path, "unique"))


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("offset=1", "query.offset"),
        ("Limit=1", "query.Limit"),
        ("petId=1", "query.petId"),
        ("api_key=x", "query.api_key"),
        ("limit[]=1", "query.limit[]"),
        ("=1", "query."),
        ("x", "query.x"),
        ("a+b=1", "query.a b"),
        ("%C3%A4=1", "query.ä"),
        ("a%0Ab=1", "query.a\\nb"),
        ("limit%00=1", "query.limit\\u0000"),
        ("?limit=1", "query.?limit"),
    ],
)
def test_unknown_parameter_is_refused(client: Client, query: str, path: str) -> None:
    refused(client, query, (path, "additionalProperties"))


def test_semicolon_parts_no_parameters(client: Client) -> None:
    refused(client, "limit=1;status=sold", ("query.limit", "type"))


def test_long_parameter_in_a_message_is_shortened(client: Client) -> None:
    response = client.list(f"?{'x' * 2000}={'y' * 2000}")
    assert (response.status, len(response.message) < 400) == (400, True)


@pytest.mark.parametrize(
    "query", ["limit=%", "limit=%2", "limit=%zz", "limit=%ff", "%c3=1", "status=%ed%a0%80", "x=%u0041"]
)
def test_query_that_is_no_percent_encoded_utf8_is_refused(client: Client, query: str) -> None:
    refused(client, query, ("query", "percentEncoding"))


def test_every_offending_parameter_is_named_at_once(client: Client) -> None:
    message = client.list("?limit=0&status=lost&offset=3&x=%").message
    rules = {
        ("query.limit", "minimum"),
        ("query.status", "enum"),
        ("query.offset", "additionalProperties"),
        ("query", "percentEncoding"),
    }
    assert set(client.broken) == rules
    assert all(path in message for path, _ in rules)


@pytest.mark.parametrize(
    "query", ["", "limit=2&", "&limit=2", "&&limit=2&&status=available", "%6cimit=%32", "status=avail%61ble&limit=2"]
)
def test_harmless_spellings_of_a_query_are_accepted(client: Client, query: str) -> None:
    client.petstore.seed_many(30)
    assert len(client.list(f"?{query}").json()) == (2 if query else 20)


def test_other_operations_take_no_query(client: Client) -> None:
    client.petstore.seed()
    section = {}
    for operation, target, body in (("getPet", "/v1/pets/1", None), ("createPet", "/v1/pets", REX)):
        method = "GET" if body is None else "POST"
        assert client.authed(method, f"{target}?limit=1", body, JSON).status == 400
        assert (client.last.operation, client.broken) == (operation, [("query.limit", "additionalProperties")])
        section[operation] = client.last.section
    assert section == {"getPet": "4", "createPet": "4"}, "not 4.1, which is about the limit of listPets"
    assert len(client.petstore.pets) == 1


# Paths


@pytest.mark.parametrize("target", ["/v1/pets/%31", "/v1/%70ets/1", "/%761/pets/1", "/v%31/p%65ts/%31", "/v1/pets/1?"])
def test_path_is_percent_decoded_before_matching(client: Client, target: str) -> None:
    rex = client.petstore.seed(name="Rex")
    response = client.authed("GET", target)
    assert (response.status, response.json(), client.last.path) == (200, rex, "/v1/pets/1")


UNKNOWN_PATHS = [
    *("/", "/v1", "/v1/", "/pets", "/pets/1", "/v2/pets", "/v1/pet", "/v1/Pets", "/V1/pets", "/v1/pets/", "/v1/pets//"),
    *("//v1/pets", "/v1//pets", "/v1/pets//1", "/v1/pets/1/", "/v1/pets/1/owner", "/v1/pets/1/%2F", "/v1%2Fpets"),
    *("/v1/pets%2F1", "/v1/./pets", "/v1/x/../pets", "/v1/pets;v=1", "/v1/pets%20", "/v1/pets%00"),
    *("/v1/pets%3Flimit=1", "/v1/store/orders"),
]


@pytest.mark.parametrize("target", UNKNOWN_PATHS)
def test_unknown_path_is_404_without_a_key_and_no_redirect(client: Client, target: str) -> None:
    for response in (client.send("GET", target), client.authed("GET", target), client.send("POST", target, (), b"{}")):
        assert (response.status, client.refusal) == (404, "unknown_path")
        assert (response.header("WWW-Authenticate"), response.header("Location")) == (None, None)
        assert client.last.is_violation
    assert client.list().status == 200


@pytest.mark.parametrize("target", ["/favicon.ico", "/robots.txt"])
def test_file_that_browsers_ask_for_is_404(client: Client, target: str) -> None:
    assert client.send("GET", target).status == 404


@pytest.mark.parametrize("target", ["/favicon.ico", "/robots.txt"])
def test_file_that_browsers_ask_for_is_no_violation(client: Client, target: str) -> None:
    client.send("GET", target)
    assert client.petstore.journal.violations == []


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("/v1/PETS", "slash"),
        ("/v1//pets", "slash"),
        ("/v1/pets/", "slash"),
        ("/pets", "/v1/"),
        ("/v1pets", "/v1/"),
        ("/__petstores", "/v1/"),
        ("/w/one/__petstore/world", "door"),
        ("/v1/v1/pets", "/v1"),
        ("/v1/store/orders", "§4.4"),
        ("/v1/pets/1/owner", "/v1/pets/{petId}"),
        ("/v1/categories", "/v1/pets/{petId}"),
    ],
)
def test_unknown_path_says_what_may_be_meant(client: Client, target: str, named: str) -> None:
    assert named in client.authed("GET", target).message


@pytest.mark.parametrize(
    "text", ["x", "1%2F2", "..%2F1", "%2F", "%2e", "%252F", "1%3Flimit=1", "%F0%9F%90%95", "%25", "1+2"]
)
def test_encoded_slashes_and_signs_stay_inside_the_identifier(client: Client, text: str) -> None:
    client.petstore.seed_many(3)
    assert (client.get(text).status, client.refusal) == (404, "malformed_pet_id")


@pytest.mark.parametrize("target", ["/v1/pets/%", "/v1/pets/%2", "/v1/pets/%zz", "/v1/pets/%ff", "/v1/%c0%af/1"])
def test_path_that_is_no_percent_encoded_utf8_is_400(client: Client, target: str) -> None:
    assert (client.authed("GET", target).status, client.refusal) == (400, "malformed_target")
    assert client.list().status == 200


@pytest.mark.parametrize("target", ["*", "pets", "v1/pets", "/v1/pets#top"])
def test_target_that_is_no_absolute_path_is_400(client: Client, target: str) -> None:
    assert client.authed("GET", target).status == 400
    assert client.refusal == "malformed_target"
    assert client.list().status == 200
