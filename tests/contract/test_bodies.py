"""Bodies that break careless services. An invalid body gets a clear 4xx and creates no animal. The service goes on."""

from __future__ import annotations

import json

import pytest

from tests.client import JSON, REX, Client
from tests.contract.conftest import Serve


def refused(client: Client, body: bytes, *broken: tuple[str, str]) -> str:
    """Post a body; require a 400 and exactly these broken rules; return the message, which has their paths."""
    response = client.post(body)
    assert response.status == 400, response
    assert client.broken == list(broken)
    assert client.refusal == ("malformed_json" if broken[0][1] in {"json", "unicode"} else "invalid_body")
    assert all(path in response.message for path, _ in broken)
    assert len(response.message) < 400
    assert client.petstore.pets == []
    return response.message


def animal(category: bytes) -> bytes:
    return b'{"name":"a","categoryId":' + category + b"}"


NO_INTEGERS = {
    "type": [
        *(b"1.0", b"1e2", b"1E+2", b"100e-2", b"1.5", b"1e-5", b"-0.0", b"1e400", b"1e1000000000"),
        *(b"1e99999999999999999999", b"1e-99999999999999999999", b"9223372036854775807.0", b"9007199254740993.0"),
        *(b"1." + b"0" * 5000, b"true", b"false", b'"1"', b'"1.0"', b"null", b"[1]", b"{}", b'""'),
        b'"' + b"x" * 10_000 + b'"',
    ],
    "maximum": [b"9223372036854775808", b"18446744073709551615", *(b"9" * many for many in (400, 5000, 900_000))],
    "minimum": [b"-9223372036854775809", b"-" + b"9" * 5000],
}


@pytest.mark.parametrize("rule", NO_INTEGERS)
def test_value_that_is_no_64_bit_integer_is_refused_and_shown(client: Client, rule: str) -> None:
    for value in NO_INTEGERS[rule]:
        shown = json.dumps(json.loads(value))[:24].strip("[]") if rule == "type" else value[:20].decode()
        assert shown in refused(client, animal(value), ("body.categoryId", rule))


def test_integer_at_the_ends_of_64_bits_is_accepted(client: Client) -> None:
    for number in (b"9223372036854775807", b"-9223372036854775808", b"-0", b"0"):
        pet = client.post(animal(number)).json()
        assert (pet["categoryId"], type(pet["categoryId"])) == (int(number), int)


REX_1 = animal(b"1")
NOT_JSON = [
    *(b"", b" \n", b"[NaN]", b"Rex", b"{'name':'a','categoryId':1}", b"name=a&categoryId=1"),
    *(animal(value) for value in (b"NaN", b"Infinity", b"-Infinity", b"None", b"1,", b"1 /* one */")),
    *(animal(number) for number in (b"01", b"+1", b"1.", b".5", b"0x1", b"1_0", "١".encode())),
    *(REX_1 + garbage for garbage in (b"x", b"\0", REX_1)),
    *(REX_1[:-1], b'{"name":"a', b'{"name":"a\\', b'{"name":"\\u12"}'),
    *(b'{"name":"%b","categoryId":1}' % name for name in (b"\\x41", b"a\nb", b"a\0b")),
    # Not UTF-8, or with a byte order mark
    *(b"\xef\xbb\xbf" + REX_1, *(REX_1.decode().encode(one) for one in ("utf-16", "utf-16-le", "utf-32-be"))),
    *(b'{"name":"%b"}' % name for name in (b"\xe4", b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80")),
    # Too deep
    *(b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    *(animal(b'1,"x":' + b"[" * 100 + b"]" * 100), b"[" * 101 + b"]" * 101),
]


def test_body_that_is_no_json_is_refused(client: Client) -> None:
    for body in NOT_JSON:
        assert refused(client, body, ("body", "json")), body[:60]
    assert client.create(name="Rex", categoryId=1).status == 201


def test_brackets_in_strings_do_not_count_as_depth_and_a_hundred_levels_are_accepted(serve: Serve) -> None:
    client = serve(behaviour="lenient")
    name = '[{"' * 1000 + "\\" * 7
    assert client.created(name=name, categoryId=1)["name"] == name
    assert client.post(animal(b'1,"x":' + b"[" * 99 + b"]" * 99)).status == 201


def test_violation_of_a_lone_surrogate_shows_its_path_and_a_pair_is_one_character(client: Client) -> None:
    refused(client, rb'{"name":"a","categoryId":1,"x":["\uD83D"]}', ("body.x.0", "unicode"))
    assert client.post(rb'{"x":{"\ud800":1,"\ud800":2},"x":1,"name":"a","categoryId":1}').status == 400
    assert client.post(rb'{"name":"\ud83d\udc15","categoryId":1}').json()["name"] == "\N{DOG}"


def test_violations_of_repeated_members_show_the_last_values(client: Client) -> None:
    body = rb'{"n\u0061me":"a","name":7,"categoryId":"x","status":{"x":[0,{"name":1,"name":1,"name":2}]}}'
    assert client.post(body).status == 400
    found = {(one.path, one.rule): one.value for one in client.last.violations}
    assert found["body.name", "uniqueMembers"] == found["body.name", "type"] == 7
    assert found["body.status.x.1.name", "uniqueMembers"] == 2
    assert found.keys() >= {("body.categoryId", "type"), ("body.status", "type")}
    assert len(found) == 5


@pytest.mark.parametrize(("unknown", "more"), [(18, None), (19, 1), (20_000, 19_982)])
def test_message_names_20_violations_and_the_journal_a_thousand(client: Client, unknown: int, more: int | None) -> None:
    """The two missing fields count as well."""
    message = client.post(json.dumps({f"field{number}": 1 for number in range(unknown)}).encode()).message
    assert message.count("body.") == 20
    assert (f"and {more} more" in message) if more else ("more" not in message)
    assert len(client.last.violations) <= 1000
    assert len(client.last.violations) + client.last.omitted == unknown + 2


def test_repeated_unknown_and_missing_members_are_all_counted(client: Client) -> None:
    repeated = ",".join(f'"{"y" * 1000}{number}":1' for number in (*range(300), *range(300)))
    assert len(client.post(f"{{{repeated}}}".encode()).message) < 5000
    assert len(client.last.violations) + client.last.omitted == 602
    client.petstore.configure(duplicate_member="last", unknown_body_field="ignore")
    assert client.post(f'{{"name":"a","categoryId":1,{repeated}}}'.encode()).status == 201


def test_violations_of_query_and_long_body_are_listed_together(client: Client) -> None:
    name = json.dumps("x" * 70_000).encode()
    response = client.authed("POST", "/v1/pets?foo=1", b'{"name": %s}' % name, JSON)
    assert response.status == 400
    assert client.broken == [("query.foo", "additionalProperties"), ("body.categoryId", "required")]


# Media types (RFC 9110 §8.3, §15.5.16)


def test_media_type_is_accepted_in_any_case_and_with_parameters(client: Client) -> None:
    for media_type in ("application/json", "Application/JSON", *(f"application/json{end}" for end in PARAMETERS)):
        assert client.post(REX, ("Content-Type", media_type)).status == 201, media_type


PARAMETERS = ("; charset=utf-8", ";charset=UTF-8", " ; x=y", ";")
OTHER_TYPES = [
    *("text/plain", "text/json", "application/jsonx", "application/problem+json", "application/x-www-form-urlencoded"),
    *("multipart/form-data; boundary=x", "application/json, text/plain", "json", "*/*"),
]


@pytest.mark.parametrize(
    "fields",
    [[], [JSON, JSON], [("Content-Type", "x" * 1000)], *([("Content-Type", one)] for one in OTHER_TYPES)],
    ids=lambda fields: str(fields)[:60],
)
def test_wrong_media_type_is_415(client: Client, fields: list[tuple[str, str]]) -> None:
    response = client.authed("POST", "/v1/pets", REX, *fields)
    assert (response.status, client.refusal) == (415, "unsupported_media_type")
    assert response.header("Accept") == "application/json"  # RFC 9110 §12.5.1
    assert all(value[:40] in response.message for _, value in fields)
    assert len(response.message) < 300
    assert client.petstore.pets == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
def test_body_is_ignored_where_the_operation_takes_none(client: Client, method: str) -> None:
    expected = {"GET": 200, "HEAD": 200, "OPTIONS": 204, "DELETE": 405}[method]
    assert client.authed(method, "/v1/pets", b"no json", ("Content-Type", "text/plain")).status == expected
    assert client.list().status == 200
