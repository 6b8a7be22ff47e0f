"""Targets that break careless services: query parameters, identifiers and paths."""

from __future__ import annotations

import pytest

from tests.client import Client

NO_INTEGERS = [
    *("+5", "%2B5", "1_0", "%205", "5%20", "+", "5+", "5%0A", "%095", "05", "00", "-0", "--5", "5.0", "5e0", "0x5"),
    *("0b1", "five", "true", "null", "5,6", "5;6", "%22" + "5%22", "5%00", "%00"),
    "%D9%A5",  # the Arabic digit five
    "%EF%BC%95",  # the full-width digit five
    "%C2%B2",  # superscript two: isdigit() accepts it, int() does not
    "5%E2%80%8B",  # a zero-width space
]
TOO_LARGE = ["9223372036854775808", "9" * 21, "9" * 5000]
TOO_SMALL = ["-9223372036854775809", "-" + "9" * 5000]
# Queries that break one rule, by the path and the name of the rule in the journal.
QUERIES: dict[tuple[str, str], list[str]] = {
    ("query.limit", "type"): [f"limit={text}" for text in ("", "1;status=sold", *NO_INTEGERS)],
    ("query.limit", "maximum"): [f"limit={text}" for text in ("101", *TOO_LARGE)],
    ("query.limit", "minimum"): [f"limit={text}" for text in ("0", "-1", *TOO_SMALL)],
    ("query.status", "enum"): [
        *(f"status={text}" for text in ("", "AVAILABLE", "available%20", "%20sold", "sold%00", "lost", "null")),
        "status=sold,pending",
    ],
    ("query", "percentEncoding"): [f"limit={text}" for text in ("%", "%2", "%zz", "%ff")] + ["%c3=1", "x=%u"],
    **{
        (f"query.{name}", "additionalProperties"): [query]
        for name, query in {
            **{name: f"{name}=1" for name in ("offset", "Limit", "petId", "api_key", "limit[]", "", "?limit")},
            "x": "x",
            "a b": "a+b=1",
            "ä": "%C3%A4=1",
            "a\\nb": "a%0Ab=1",
            "limit\\u0000": "limit%00=1",
        }.items()
    },
}


@pytest.mark.parametrize(("path", "rule"), QUERIES)
def test_invalid_query_is_refused_only_for_its_broken_rule(client: Client, path: str, rule: str) -> None:
    for query in QUERIES[path, rule]:
        response = client.list(f"?{query}")
        assert (response.status, client.refusal, client.broken) == (400, "invalid_query", [(path, rule)]), query[:60]
        assert path in response.message
    assert client.list().status == 200


def test_violation_of_a_repeated_parameter_shows_its_values(client: Client) -> None:
    for query, path, values in (
        ("limit=5&limit=5", "query.limit", ["5", "5"]),
        ("limit=&%6cimit=6", "query.limit", ["", "6"]),
        ("status=sold&status=pending", "query.status", ["sold", "pending"]),
    ):
        assert path in client.list(f"?{query}").message
        assert [(one.path, one.rule, one.value) for one in client.last.violations] == [(path, "unique", values)]


def test_one_short_message_names_every_wrong_parameter(client: Client) -> None:
    message = client.list(f"?limit=0&status=lost&{'x' * 2000}={'y' * 2000}&y=%").message
    paths = ("query", "query.limit", "query.status", f"query.{'x' * 60}...")
    assert sorted(client.broken) == list(
        zip(paths, ("percentEncoding", "minimum", "enum", "additionalProperties"), strict=True)
    )
    assert all(path in message for path in paths)
    assert len(message) < 800


def test_harmless_spellings_of_a_query_are_accepted(client: Client) -> None:
    client.petstore.seed_many(30)
    assert len(client.list("?").json()) == 20
    for query in ("limit=2&", "&limit=2", "&&limit=2&&status=available", "%6cimit=%32", "status=avail%61ble&limit=2"):
        assert len(client.list(f"?{query}").json()) == 2, query


# Identifiers

ENCODED = ("x", "1%2F2", "..%2F1", "%2F", "%2e", "%252F", "1%3Flimit=1", "%F0%9F%90%95", "%25", "1+2")
PET_IDS = {"type": [*NO_INTEGERS, *ENCODED], "maximum": TOO_LARGE, "minimum": TOO_SMALL}


@pytest.mark.parametrize("rule", PET_IDS)
def test_pet_id_that_is_no_64_bit_integer_is_404(client: Client, rule: str) -> None:
    """Encoded slashes and plus signs are part of the identifier (gap malformed_pet_id)."""
    client.petstore.seed_many([{"id": number} for number in (0, 1, 2, 3, 5, 10)])
    for text in PET_IDS[rule]:
        response = client.get(text)
        assert (response.status, client.refusal) == (404, "malformed_path"), text[:60]
        assert client.broken == [("path.petId", rule)]
        assert "path.petId" in response.message
    assert client.get(5).status == 200


# Paths


def test_path_is_percent_decoded_before_matching(client: Client) -> None:
    rex = client.petstore.seed(name="Rex")
    for target in ("/v1/pets/%31", "/v1/%70ets/1", "/%761/pets/1", "/v%31/p%65ts/%31", "/v1/pets/1?"):
        response = client.authed("GET", target)
        assert (response.status, response.json(), client.last.path) == (200, rex, "/v1/pets/1")


UNKNOWN_PATHS = [
    *("/", "/v1", "/v1/", "/pets", "/pets/1", "/v2/pets", "/v1/pet", "/v1/Pets", "/V1/pets", "/v1/pets/", "/v1/pets//"),
    *("//v1/pets", "/v1//pets", "/v1/pets//1", "/v1/pets/1/", "/v1/pets/1/owner", "/v1/pets/1/%2F", "/v1%2Fpets"),
    *("/v1/pets%2F1", "/v1/./pets", "/v1/x/../pets", "/v1/pets;v=1", "/v1/pets%20", "/v1/pets%00"),
    *("/v1/pets%3Flimit=1", "/v1/store/orders"),
]


def test_unknown_path_is_404_with_or_without_a_key_and_is_not_redirected(client: Client) -> None:
    for path in UNKNOWN_PATHS:
        for response in (client.send("GET", path), client.authed("GET", path), client.send("POST", path, (), b"{}")):
            assert (response.status, client.refusal) == (404, "unknown_path"), path
            assert (response.header("WWW-Authenticate"), response.header("Location")) == (None, None)
            assert client.last.is_violation
    assert client.list().status == 200


def test_request_of_a_browser_for_its_own_files_is_404_and_no_violation(client: Client) -> None:
    assert [client.send("GET", path).status for path in ("/favicon.ico", "/robots.txt")] == [404, 404]
    assert client.petstore.journal.violations == []


@pytest.mark.parametrize(
    ("named", "targets"),
    [
        ("slash", ["/v1/PETS", "/v1//pets", "/v1/pets/"]),
        ("/v1/", ["/pets", "/v1pets", "/__petstores"]),
        ("door", ["/w/one/__petstore/world"]),
        ("/v1/pets/{petId}", ["/v1/pets/1/owner", "/v1/categories", "/v1/v1/pets", "/v1/store/orders"]),
    ],
)
def test_message_for_an_unknown_path_gives_a_hint(client: Client, named: str, targets: list[str]) -> None:
    for target in targets:
        assert named in client.authed("GET", target).message


MALFORMED = ["/v1/pets/%", "/v1/pets/%2", "/v1/pets/%zz", "/v1/pets/%ff", "/v1/%c0%af/1"]


@pytest.mark.parametrize("target", [*MALFORMED, "*", "pets", "v1/pets", "/v1/pets#top"])
def test_target_that_is_no_path_in_percent_encoded_utf8_is_400(client: Client, target: str) -> None:
    assert (client.authed("GET", target).status, client.refusal) == (400, "malformed_target")
    assert client.list().status == 200


@pytest.mark.parametrize("target", ["/", "/healthz"])
def test_probe_of_a_load_balancer_breaks_no_contract(client: Client, target: str) -> None:
    response = client.send("GET", target)
    assert response.status == 404
    assert "/__petstore/health" in response.message
    assert not client.petstore.journal.last.is_violation


def test_other_method_at_the_path_of_a_probe_breaks_the_contract(client: Client) -> None:
    client.send("POST", "/")
    assert client.petstore.journal.last.is_violation
