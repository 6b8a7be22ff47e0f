"""Targets that break careless services: query parameters, identifiers and paths, over all doors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from petstore_mock.contract.interface import SENTENCES
from tests.inside.contract.harness import condition_of, last_entry

if TYPE_CHECKING:
    from tests.inside.contract.harness import Answer, Service

pytestmark = pytest.mark.untraced


def refused(service: Service, query: str, *violations: tuple[str, str]) -> Answer:
    """List with ``query`` and demand a 400 that names exactly these; the service must still work."""
    answer = service.list(f"?{query}")
    assert answer.status == 400, answer
    assert [(one.path, one.rule) for one in last_entry(service).violations] == list(violations)
    for one in last_entry(service).violations:
        assert str(one) in answer.message
    assert condition_of(service) == "invalid_query"
    assert service.list().status == 200
    return answer


CLOSED = "closed on this port: serve --control or PetStoreMock(control=True) opens it; --control-port, another"

NO_INTEGERS = [
    "",
    "+5",
    "%2B5",
    "1_0",
    "%205",
    "5%20",
    "+",
    "5+",
    "5%0A",
    "%095",
    "05",
    "00",
    "-0",
    "--5",
    "5.0",
    "5e0",
    "0x5",
    "0b1",
    "five",
    "true",
    "null",
    "5,6",
    "5;6",
    "%22" + "5%22",
    "%D9%A5",  # the Arabic digit five
    "%EF%BC%95",  # the full-width digit five
    "%C2%B2",  # superscript two: isdigit() says yes, int() no
    "5%00",
    "%00",
    "5%E2%80%8B",  # a zero-width blank
]


@pytest.mark.parametrize("text", NO_INTEGERS)
def test_limit_that_is_no_json_integer_is_refused(service: Service, text: str) -> None:
    refused(service, f"limit={text}", ("query.limit", "type"))


@pytest.mark.parametrize("text", [text for text in NO_INTEGERS if text])
def test_pet_id_that_is_no_json_integer_is_answered_404(service: Service, text: str) -> None:
    service.petstore.seed_many([{"id": 5}, {"id": 0}, {"id": 10}])
    answer = service.get(text)
    assert answer.status == 404  # gap malformed_pet_id
    assert condition_of(service) == "malformed_pet_id"
    assert "path.petId" in answer.message
    assert service.get(5).status == 200


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("9223372036854775808", "maximum"),
        ("-9223372036854775809", "minimum"),
        ("9" * 20, "maximum"),
        ("9" * 21, "maximum"),
        ("-" + "9" * 5000, "minimum"),
        ("9" * 5000, "maximum"),
    ],
    ids=lambda text: f"{text[:20]} of {len(text)}",
)
def test_pet_id_out_of_int64_is_answered_404(service: Service, text: str, rule: str) -> None:
    answer = service.get(text)
    assert answer.status == 404
    assert [(one.path, one.rule) for one in last_entry(service).violations] == [("path.petId", rule)]


@pytest.mark.parametrize(
    "text", ["101", "9" * 19, "9" * 20, "9" * 21, "9" * 5000], ids=lambda text: f"{len(text)} digits"
)
def test_limit_of_many_digits_is_above_the_maximum(service: Service, text: str) -> None:
    assert "must be at most 100" in refused(service, f"limit={text}", ("query.limit", "maximum")).message


@pytest.mark.parametrize("text", ["-1", "-" + "9" * 5000])
def test_negative_limit_is_below_the_minimum(service: Service, text: str) -> None:
    assert "must be at least 1" in refused(service, f"limit={text}", ("query.limit", "minimum")).message


@pytest.mark.parametrize(
    "text", ["", "AVAILABLE", "available%20", "%20sold", "sold%00", "lost", "null", "sold,pending"]
)
def test_unknown_status_is_refused(service: Service, text: str) -> None:
    refused(service, f"status={text}", ("query.status", "enum"))


@pytest.mark.parametrize("query", ["limit=5&limit=6", "limit=5&limit=5", "limit=&limit=5", "limit=5&%6cimit=6"])
def test_repeated_limit_is_refused(service: Service, query: str) -> None:
    refused(service, query, ("query.limit", "unique"))


def test_repeated_parameter_is_named_with_its_values(service: Service) -> None:
    message = refused(service, "status=sold&status=pending", ("query.status", "unique")).message
    assert 'query.status must be given only once, got ["sold", "pending"] (array of 2)' in message


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
        ("%C3%A4=1", "query.ä"),
        ("a%0Ab=1", "query.a\\nb"),
        ("limit%00=1", "query.limit\\u0000"),
        ("?limit=1", "query.?limit"),
        ("limit=1;status=sold", None),
    ],
)
def test_unknown_query_parameter_is_refused(service: Service, query: str, path: str | None) -> None:
    if path is None:
        refused(service, query, ("query.limit", "type"))
        return
    message = refused(service, query, (path, "additionalProperties")).message
    assert f"{path} is not a parameter here; the parameters are limit, status" in message


def test_long_parameter_in_a_message_is_shortened(service: Service) -> None:
    answer = service.list(f"?{'x' * 2000}={'y' * 2000}")
    assert answer.status == 400
    assert len(answer.message) < 400


@pytest.mark.parametrize(
    "query", ["limit=%", "limit=%2", "limit=%zz", "limit=%ff", "%c3=1", "status=%ed%a0%80", "x=%u0041"]
)
def test_query_that_is_no_percent_encoded_utf8_is_refused(service: Service, query: str) -> None:
    refused(service, query, ("query", "percentEncoding"))


def test_every_offending_parameter_is_named_at_once(service: Service) -> None:
    answer = service.list("?limit=0&status=lost&offset=3&x=%")
    assert answer.status == 400
    for path in (
        "query.limit must be at least 1",
        "query.status must be one of",
        "query.offset is not",
        "query must be",
    ):
        assert path in answer.message


@pytest.mark.parametrize(
    "query", ["", "limit=2&", "&limit=2", "&&limit=2&&status=available", "%6cimit=%32", "status=avail%61ble&limit=2"]
)
def test_harmless_spellings_of_a_query_are_accepted(service: Service, query: str) -> None:
    service.petstore.seed_many(30)
    answer = service.list(f"?{query}")
    assert answer.status == 200
    assert len(answer.json()) == (2 if query else 20)


@pytest.mark.parametrize("operation", ["createPet", "getPet"])
def test_other_operations_take_no_query(service: Service, operation: str) -> None:
    service.petstore.seed()
    if operation == "getPet":
        answer = service.get("1?limit=1")
    else:
        fields = ("Content-Type", "application/json")
        answer = service.authed("POST", "/v1/pets?limit=1", b'{"name":"a","categoryId":1}', fields)
    assert answer.status == 400
    entry = last_entry(service)
    assert [(one.path, one.rule) for one in entry.violations] == [("query.limit", "additionalProperties")]
    assert entry.sentence is SENTENCES["noQuery"], "and not the one on the limit of listPets"
    assert "query.limit is not a parameter here, got" in answer.message
    assert len(service.petstore.pets) == 1


@pytest.mark.parametrize("target", ["/v1/pets/%31", "/v1/%70ets/1", "/%761/pets/1", "/v%31/p%65ts/%31", "/v1/pets/1?"])
def test_path_is_percent_decoded_before_matching(service: Service, target: str) -> None:
    rex = service.petstore.seed(name="Rex")
    answer = service.authed("GET", target)
    assert (answer.status, answer.json()) == (200, rex)


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/v1",
        "/v1/",
        "/pets",
        "/pets/1",
        "/v2/pets",
        "/v1/pet",
        "/v1/Pets",
        "/V1/pets",
        "/v1/pets/",
        "/v1/pets//",
        "//v1/pets",
        "/v1//pets",
        "/v1/pets//1",
        "/v1/pets/1/",
        "/v1/pets/1/owner",
        "/v1/pets/1/%2F",
        "/v1%2Fpets",
        "/v1/pets%2F1",
        "/v1/./pets",
        "/v1/x/../pets",
        "/v1/pets;v=1",
        "/v1/pets%20",
        "/v1/pets%00",
        "/v1/pets%3Flimit=1",
        "/v1/store/orders",
        "/favicon.ico",
    ],
)
def test_unknown_path_is_answered_404_without_a_key(service: Service, target: str) -> None:
    for answer in (service.send("GET", target), service.authed("GET", target), service.send("POST", target, (), b"{}")):
        assert answer.status == 404
        assert condition_of(service) == "unknown_path"
        assert answer.header("WWW-Authenticate") is None
        assert answer.header("Location") is None, "no redirect to another spelling"
    assert service.list().status == 200


OTHERS = ("/v1", "/v1/", "/v1/pet/1", "/v1/petstore", "/v1/pets/1/owner", "/v1/categories")


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        ("/v1/pets/", "; a trailing or doubled slash and letter case matter"),
        ("/v1//pets", "; a trailing or doubled slash and letter case matter"),
        ("/v1/PETS", "; a trailing or doubled slash and letter case matter"),
        ("/pets", "; every path begins with /v1/"),
        ("/v1pets", "; every path begins with /v1/"),
        ("/store/orders", "; every path begins with /v1/"),
        ("/__petstores", "; every path begins with /v1/"),
        ("/__petstore/health", f"; the control door is {CLOSED}"),
        ("/w/one/__petstore/world", f": the control door is {CLOSED}"),
        ("/v1/v1/pets", "; the base address ends in /v1 already"),
        ("/v1/V1/pets/1", "; the base address ends in /v1 already"),
        ("/v1/store/orders", "; the interface only names it (§4.4)"),
        *((path, "; the paths are /v1/pets and /v1/pets/{petId}") for path in OTHERS),
    ],
)
def test_unknown_path_says_what_may_be_meant(service: Service, target: str, hint: str) -> None:
    assert service.authed("GET", target).message.endswith(hint)


@pytest.mark.parametrize("text", ["1%2F2", "..%2F1", "%2F", "%2e", "%252F", "1%3Flimit=1", "%F0%9F%90%95", "%25"])
def test_encoded_slashes_and_signs_stay_inside_the_identifier(service: Service, text: str) -> None:
    service.petstore.seed_many(3)
    assert service.get(text).status == 404
    assert condition_of(service) == "malformed_pet_id"


@pytest.mark.parametrize("target", ["/v1/pets/%", "/v1/pets/%2", "/v1/pets/%zz", "/v1/pets/%ff", "/v1/%c0%af/1"])
def test_path_that_is_no_percent_encoded_utf8_is_answered_400(service: Service, target: str) -> None:
    assert service.authed("GET", target).status == 400
    assert condition_of(service) == "malformed_target"
    assert service.list().status == 200
