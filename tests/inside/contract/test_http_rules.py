"""What HTTP demands around the interface (RFC 9110, RFC 9112, RFC 6750), over all doors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.inside.contract.harness import condition_of, last_entry

if TYPE_CHECKING:
    from tests.inside.contract.conftest import Serve
    from tests.inside.contract.harness import Service

pytestmark = pytest.mark.untraced

REX = b'{"name":"Rex","categoryId":1}'
JSON = ("Content-Type", "application/json")


# The key (RFC 9110 §11, RFC 6750)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_scheme_has_no_letter_case(service: Service, scheme: str) -> None:
    assert service.send("GET", "/v1/pets", [("Authorization", f"{scheme} {service.petstore.api_key}")]).status == 200


@pytest.mark.parametrize("name", ["authorization", "AUTHORIZATION", "Authorization"])
def test_field_names_have_no_letter_case(service: Service, name: str) -> None:
    assert service.send("GET", "/v1/pets", [(name, f"Bearer {service.petstore.api_key}")]).status == 200


def test_several_blanks_may_stand_before_the_key(service: Service) -> None:
    assert service.send("GET", "/v1/pets", [("Authorization", f"Bearer   {service.petstore.api_key}")]).status == 200


@pytest.mark.parametrize("key", ["a", "a=", "ABC-._~+/123==", "0"])
def test_every_bearer_token_can_be_a_key(serve: Serve, key: str) -> None:
    service = serve(api_key=key)
    assert service.petstore.headers == {"Authorization": f"Bearer {key}"}
    assert service.list().status == 200


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Bearer a,b",
        "Bearer a=b",
        "Bearer =",
        'Bearer "{key}"',
        "Bearer {key},",
        "Bearer\t{key}",
        "Bearer{key}",
        "Bearer:{key}",
        "Token {key}",
        "Basic {key}",
        "{key}",
        "Bearer {key} {key}",
        "Bearer {key}, Bearer {key}",
        "Bearer k\xe9y",
        "Digest username=x",
    ],
)
def test_malformed_credentials_are_answered_401(service: Service, value: str) -> None:
    answer = service.send("GET", "/v1/pets", [("Authorization", value.format(key=service.petstore.api_key))])
    assert answer.status == 401
    assert condition_of(service) == "malformed_credentials"
    assert answer.header("WWW-Authenticate") == (
        'Bearer realm="petstore", error="invalid_token", error_description="The API key is not valid"'
    )


def test_challenge_names_no_error_when_no_credentials_were_sent(service: Service) -> None:
    assert service.send("GET", "/v1/pets").header("WWW-Authenticate") == 'Bearer realm="petstore"'  # RFC 6750 §3.1


def test_key_is_case_sensitive(serve: Serve) -> None:
    service = serve(api_key="AbCdEf")
    assert service.send("GET", "/v1/pets", [("Authorization", "Bearer abcdef")]).status == 401
    assert condition_of(service) == "unknown_key"


def test_two_authorization_fields_are_no_valid_credentials(service: Service) -> None:
    value = f"Bearer {service.petstore.api_key}"
    assert service.send("GET", "/v1/pets", [("Authorization", value), ("authorization", value)]).status == 401
    assert condition_of(service) == "malformed_credentials"


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("Token {key}", "the scheme came as 'Token'"),
        ("{key}", "there is no scheme: the value is the key alone"),
        ("Bearer", "the key is empty: nothing follows 'Bearer'"),
        ("Bearer '{key}'", "the key is in quotes"),
        ("Bearer Bearer {key}", "the key begins with 'Bearer' a second time"),
        ("Bearer undefined", "the key is the text 'undefined': the client's setting is not there"),
        ("Bearer nobodys", "the fake knows no such key, of 7 characters; a valid one has 24"),
    ],
)
def test_error_body_names_the_fault_of_a_key_and_shows_none(service: Service, value: str, fault: str) -> None:
    key = service.petstore.api_key
    answer = service.send("GET", "/v1/pets", [("Authorization", value.format(key=key))])
    assert answer.message.endswith(f": {fault}")
    assert key not in answer.message
    assert service.petstore.journal.last.reason == answer.message


@pytest.mark.parametrize("name", ["X-Api-Key", "Proxy-Authorization", "Cookie", "X-Authorization"])
def test_key_counts_in_no_other_field(service: Service, name: str) -> None:
    assert service.send("GET", "/v1/pets", [(name, f"Bearer {service.petstore.api_key}")]).status == 401
    assert condition_of(service) == "missing_key"


def test_key_counts_neither_in_query_nor_form(service: Service) -> None:
    key = service.petstore.api_key
    assert service.send("GET", f"/v1/pets?access_token={key}").status == 401
    form = ("Content-Type", "application/x-www-form-urlencoded")
    assert service.send("POST", "/v1/pets", [form], f"access_token={key}".encode()).status == 401


def test_key_of_another_mock_is_not_valid(serve: Serve) -> None:
    service, other = serve(), serve()
    assert service.send("GET", "/v1/pets", list(other.petstore.headers.items())).status == 401
    assert condition_of(service) == "unknown_key"


@pytest.mark.parametrize("digits", [7, 30, 5000])
def test_endless_key_is_answered_401(service: Service, digits: int) -> None:
    prefix = service.petstore.api_key[:-6]
    assert service.send("GET", "/v1/pets", [("Authorization", f"Bearer {prefix}{'9' * digits}")]).status == 401
    assert condition_of(service) == "unknown_key"
    assert service.list().status == 200


@pytest.mark.parametrize(
    ("method", "target", "fields", "body"),
    [
        ("GET", "/v1/pets/1", [], None),
        ("GET", "/v1/pets/absent", [], None),
        ("GET", "/v1/pets?limit=0", [], None),
        ("GET", "/v1/pets?x=%", [], None),
        ("POST", "/v1/pets", [JSON], b"{}"),
        ("POST", "/v1/pets", [JSON], b"no json"),
        ("POST", "/v1/pets", [], REX),
        ("POST", "/v1/pets?x=1", [JSON], REX),
        ("POST", "/v1/pets", [("Content-Type", "text/plain")], b"x"),
        ("POST", "/v1/pets", [JSON], b" " * (1024 * 1024 + 1)),
        ("HEAD", "/v1/pets?limit=0", [], None),
    ],
    ids=range(11),
)
def test_wrong_key_beats_everything_behind_it(
    service: Service, method: str, target: str, fields: list[tuple[str, str]], body: bytes | None
) -> None:
    for credentials in ([], [("Authorization", "Bearer wrong")]):
        answer = service.send(method, target, [*credentials, *fields], body)
        assert answer.status == 401
        assert not last_entry(service).executed


def test_unknown_path_and_wrong_method_beat_a_wrong_key(service: Service) -> None:
    assert service.send("GET", "/v1/cats").status == 404
    assert service.send("DELETE", "/v1/pets").status == 405


# Methods (RFC 9110 §9, §15.5.6)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "QUERY"])
def test_wrong_method_on_pets_is_answered_405_with_allow(service: Service, method: str) -> None:
    answer = service.authed(method, "/v1/pets")
    assert (answer.status, answer.header("Allow")) == (405, "GET, HEAD, OPTIONS, POST")
    assert method in answer.message


def test_connect_to_an_authority_is_answered_405_with_allow(service: Service) -> None:
    """Its target has no path to be missing: the method is wrong here, not the request (RFC 9110 §9.3.6)."""
    answer = service.send("CONNECT", "h.example:443")
    assert (answer.status, answer.header("Allow")) == (405, "GET, HEAD, OPTIONS, POST")


def test_connect_to_a_path_is_malformed(service: Service) -> None:
    """RFC 9112 §3.2.3."""
    answer = service.send("CONNECT", "/v1/pets")
    assert (answer.status, answer.json()["code"]) == (400, "malformed_request")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "TRACE", "QUERY"])
@pytest.mark.parametrize("pet_id", ["1", "99", "nonsense"])
def test_wrong_method_on_a_pet_is_answered_405_with_allow(service: Service, method: str, pet_id: str) -> None:
    service.petstore.seed()
    answer = service.send(method, f"/v1/pets/{pet_id}", [JSON], REX if method == "POST" else None)
    assert (answer.status, answer.header("Allow")) == (405, "GET, HEAD, OPTIONS")
    assert len(service.petstore.pets) == 1


@pytest.mark.parametrize("method", ["FETCH", "get", "Get", "QUERYX", "X-Y", "G"])
def test_unknown_method_is_answered_501(service: Service, method: str) -> None:
    assert service.authed(method, "/v1/pets").status == 501
    assert service.list().status == 200


@pytest.mark.parametrize(
    "target", ["/v1/pets", "/v1/pets?limit=2", "/v1/pets/1", "/v1/pets/99", "/v1/pets?limit=0", "/v1/cats"]
)
def test_head_answers_the_fields_of_get_without_a_body(service: Service, target: str) -> None:
    service.petstore.seed_many(3)
    got = service.authed("GET", target)
    head = service.authed("HEAD", target)
    assert (head.status, head.body) == (got.status, b"")
    assert {field for field in head.fields if field[0] != "Date"} == {
        field for field in got.fields if field[0] != "Date"
    }
    assert head.header("Content-Length") == str(len(got.body))
    assert service.list().status == 200, "the connection is still in step"


def test_head_needs_the_key(service: Service) -> None:
    answer = service.send("HEAD", "/v1/pets")
    assert (answer.status, answer.body) == (401, b"")


@pytest.mark.parametrize(
    ("target", "allow"),
    [
        ("/v1/pets", "GET, HEAD, OPTIONS, POST"),
        ("/v1/pets?limit=0", "GET, HEAD, OPTIONS, POST"),
        ("/v1/pets/1", "GET, HEAD, OPTIONS"),
        ("/v1/pets/nonsense", "GET, HEAD, OPTIONS"),
        ("*", "GET, HEAD, OPTIONS, POST"),
    ],
)
def test_options_answers_204_with_allow_without_a_key(service: Service, target: str, allow: str) -> None:
    answer = service.send("OPTIONS", target)
    assert (answer.status, answer.header("Allow"), answer.body) == (204, allow, b"")
    assert answer.header("Content-Type") is None


def test_options_of_an_unknown_path_is_answered_404(service: Service) -> None:
    assert service.send("OPTIONS", "/v1/cats").status == 404


@pytest.mark.parametrize("target", ["*", "pets", "v1/pets"])
def test_target_that_is_no_absolute_path_is_answered_400(service: Service, target: str) -> None:
    assert service.authed("GET", target).status == 400
    assert service.list().status == 200


def test_fragment_in_a_target_is_answered_400(service: Service) -> None:
    assert service.authed("GET", "/v1/pets#top").status == 400
    assert service.list().status == 200


# Bodies (RFC 9110 §15.5.14, §15.5.16)


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "application/json ; x=y",
        "application/json;",
    ],
)
def test_media_type_has_no_case_and_its_parameters_are_overlooked(service: Service, media_type: str) -> None:
    assert service.post(REX, media_type).status == 201


@pytest.mark.parametrize(
    "media_type",
    [
        "text/plain",
        "text/json",
        "application/jsonx",
        "application/problem+json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json, text/plain",
        "json",
        "*/*",
    ],
)
def test_wrong_media_type_is_answered_415(service: Service, media_type: str) -> None:
    answer = service.post(REX, media_type)
    assert answer.status == 415
    assert answer.header("Accept") == "application/json"  # RFC 9110 §12.5.1
    assert media_type in answer.message
    assert service.petstore.pets == []


def test_missing_media_type_is_answered_415(service: Service) -> None:
    answer = service.authed("POST", "/v1/pets", REX)
    assert answer.status == 415
    assert "Content-Type is missing" in answer.message


def test_too_large_a_body_of_a_wrong_type_is_answered_and_leaves_the_service_well(service: Service) -> None:
    assert service.post(b"x" * (1024 * 1024 + 1), "text/plain").status in {413, 415}
    assert service.list().status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
def test_body_of_a_request_that_takes_none_is_overlooked(service: Service, method: str) -> None:
    expected = {"GET": 200, "HEAD": 200, "OPTIONS": 204, "DELETE": 405}[method]
    assert service.authed(method, "/v1/pets", b"no json", ("Content-Type", "text/plain")).status == expected
    assert service.list().status == 200


@pytest.mark.parametrize("accept", ["text/html", "application/xml;q=1", "*/*", "image/*, application/json;q=0", ""])
def test_accept_is_overlooked(service: Service, accept: str) -> None:
    assert service.authed("GET", "/v1/pets", None, ("Accept", accept)).status == 200


@pytest.mark.parametrize("name", ["If-None-Match", "Range", "Accept-Encoding", "X-HTTP-Method-Override", "Prefer"])
def test_fields_that_the_interface_does_not_show_change_nothing(service: Service, name: str) -> None:
    assert service.authed("GET", "/v1/pets", None, (name, "bytes=0-0, *, DELETE, gzip, code=404")).status == 200


def test_answers_name_the_fake(service: Service) -> None:
    for answer in (service.list(), service.send("GET", "/v1/pets"), service.send("OPTIONS", "/v1/pets")):
        assert answer.header("Server") == "petstore-mock"


def test_date_follows_the_clock_of_the_fake(service: Service) -> None:
    service.petstore.clock.freeze()
    service.petstore.clock.travel_to("2029-02-28T12:00:00")
    assert service.list().header("Date") == "Wed, 28 Feb 2029 12:00:00 GMT"
    service.petstore.clock.advance(days=1)
    assert service.send("GET", "/nowhere").header("Date") == "Thu, 01 Mar 2029 12:00:00 GMT"


# A head that is too much, or that asks for what nobody knows (RFC 9110 §15.5.15, §10.1.1; RFC 6585 §5)


@pytest.mark.parametrize(
    ("target", "fields", "status", "condition"),
    [
        ("/v1/pets?x=" + "a" * 17_000, [], 414, "uri_too_long"),
        ("/v1/" + "a" * 17_000, [], 414, "uri_too_long"),
        ("/v1/pets", [("X-Large", "a" * 70_000)], 431, "header_too_large"),
        ("/v1/pets", [(f"X-{number}", "1") for number in range(101)], 431, "header_too_large"),
        ("/v1/pets", [("Expect", "200-maybe")], 417, "expectation_failed"),
    ],
    ids=["query", "path", "field", "fields", "expectation"],
)
def test_a_head_that_is_too_much_is_refused_by_name(
    service: Service, target: str, fields: list[tuple[str, str]], status: int, condition: str
) -> None:
    assert service.authed("GET", target, None, *fields).status == status
    assert condition_of(service) == condition
    assert service.list().status == 200


def test_a_head_that_is_large_but_not_too_large_is_served(service: Service) -> None:
    fields = [("X-Large", "a" * 60_000), *((f"X-{number}", "1") for number in range(80))]
    assert service.authed("GET", "/v1/pets", None, *fields).status == 200
    assert service.authed("GET", "/v1/pets/" + "9" * 16_000).status == 404


def test_a_client_may_wait_for_100_continue_with_nothing_to_send(service: Service) -> None:
    assert service.authed("GET", "/v1/pets", None, ("Expect", "100-continue")).status == 200
