"""Bodies that break careless services: each is a clear 4xx, creates nothing and leaves the service well."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.client import JSON, REX

if TYPE_CHECKING:
    from tests.client import Client
    from tests.contract.conftest import Serve

ONE_MEBIBYTE = 1024 * 1024


def refused(client: Client, body: bytes, *broken: tuple[str, str]) -> str:
    """Post a body and require a 400 that names exactly these rules; return the message."""
    response = client.post(body)
    assert response.status == 400, response
    assert client.broken == list(broken)
    assert client.refusal == ("malformed_json" if broken[0][1] in {"json", "unicode"} else "invalid_body")
    assert all(path in response.message for path, _ in broken)
    assert client.petstore.pets == []
    assert client.create(name="Rex", categoryId=1).status == 201
    return response.message


NO_INTEGERS = [
    *(b"1.0", b"1e2", b"1E+2", b"100e-2", b"1.5", b"1e-5", b"-0.0", b"1e400", b"1e1000000000"),
    *(b"1e99999999999999999999", b"1e-99999999999999999999", b"9223372036854775807.0", b"9007199254740993.0"),
    *(b"1." + b"0" * 5000, b"true", b"false", b'"1"', b'"1.0"', b"null", b"[1]", b"{}", b'""'),
]


@pytest.mark.parametrize("value", NO_INTEGERS, ids=lambda value: value[:24].decode())
def test_value_of_another_type_is_no_integer(client: Client, value: bytes) -> None:
    message = refused(client, b'{"name":"a","categoryId":' + value + b"}", ("body.categoryId", "type"))
    assert json.dumps(json.loads(value))[:24].strip("[]") in message


@pytest.mark.parametrize(
    ("number", "rule"),
    [
        (b"9223372036854775808", "maximum"),
        (b"-9223372036854775809", "minimum"),
        (b"18446744073709551615", "maximum"),
        (b"9" * 400, "maximum"),
        (b"9" * 5000, "maximum"),
        (b"-" + b"9" * 5000, "minimum"),
        (b"9" * 900_000, "maximum"),
    ],
    ids=lambda value: f"{value[:24].decode()} of {len(value)}" if isinstance(value, bytes) else value,
)
def test_integer_beyond_64_bits_is_refused(client: Client, number: bytes, rule: str) -> None:
    message = refused(client, b'{"name":"a","categoryId":' + number + b"}", ("body.categoryId", rule))
    assert number[:20].decode() in message
    assert len(message) < 400


@pytest.mark.parametrize("number", [b"9223372036854775807", b"-9223372036854775808", b"-0", b"0"])
def test_integer_at_the_ends_of_64_bits_is_accepted(client: Client, number: bytes) -> None:
    pet = client.post(b'{"name":"a","categoryId":' + number + b"}").json()
    assert (pet["categoryId"], type(pet["categoryId"])) == (int(number), int)


NOT_JSON = {
    "empty": b"",
    "blank": b" \n",
    "NaN": b'{"name":"a","categoryId":NaN}',
    "Infinity": b'{"name":"a","categoryId":Infinity}',
    "minus Infinity": b'{"name":"a","categoryId":-Infinity}',
    "NaN in an array": b"[NaN]",
    "leading zero": b'{"name":"a","categoryId":01}',
    "plus sign": b'{"name":"a","categoryId":+1}',
    "bare point": b'{"name":"a","categoryId":1.}',
    "point first": b'{"name":"a","categoryId":.5}',
    "hexadecimal": b'{"name":"a","categoryId":0x1}',
    "underscore": b'{"name":"a","categoryId":1_0}',
    "Arabic digit": '{"name":"a","categoryId":١}'.encode(),
    "trailing comma": b'{"name":"a","categoryId":1,}',
    "trailing garbage": b'{"name":"a","categoryId":1}x',
    "two values": b'{"name":"a","categoryId":1}{"name":"b","categoryId":1}',
    "trailing NUL": b'{"name":"a","categoryId":1}\0',
    "single quotes": b"{'name':'a','categoryId':1}",
    "comment": b'{"name":"a","categoryId":1 /* one */}',
    "cut": b'{"name":"a","categoryId":1',
    "cut in a string": b'{"name":"a',
    "cut in an escape": b'{"name":"a\\',
    "cut in a Unicode escape": b'{"name":"\\u12"}',
    "unknown escape": b'{"name":"\\x41","categoryId":1}',
    "raw newline in a string": b'{"name":"a\nb","categoryId":1}',
    "raw NUL in a string": b'{"name":"a\0b","categoryId":1}',
    "bare word": b"Rex",
    "Python's None": b'{"name":"a","categoryId":None}',
    "form": b"name=a&categoryId=1",
    "byte-order mark": b'\xef\xbb\xbf{"name":"a","categoryId":1}',
    "UTF-16": '{"name":"a","categoryId":1}'.encode("utf-16"),
    "UTF-16 without mark": '{"name":"a","categoryId":1}'.encode("utf-16-le"),
    "UTF-32": '{"name":"a","categoryId":1}'.encode("utf-32-be"),
    "Latin-1": '{"name":"ä","categoryId":1}'.encode("latin-1"),
    "overlong UTF-8": b'{"name":"\xc0\xaf","categoryId":1}',
    "cut UTF-8": b'{"name":"\xe2\x82","categoryId":1}',
    "raw surrogate": b'{"name":"\xed\xa0\x80","categoryId":1}',
    "beyond Unicode": b'{"name":"\xf4\x90\x80\x80","categoryId":1}',
    "only brackets": b"[" * 100_000,
    "nested arrays": b"[" * 100_000 + b"]" * 100_000,
    "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep in an unknown field": b'{"name":"a","categoryId":1,"x":' + b"[" * 100 + b"]" * 100 + b"}",
    "one level too deep": b"[" * 101 + b"]" * 101,
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_body_that_is_no_json_is_refused(client: Client, body: bytes) -> None:
    refused(client, body, ("body", "json"))


def test_brackets_inside_strings_are_no_depth_and_a_hundred_levels_are_read(serve: Serve) -> None:
    client = serve(behaviour="lenient")
    name = '[{"' * 1000 + "\\" * 7
    assert client.created(name=name, categoryId=1)["name"] == name
    assert client.post(b'{"name":"a","categoryId":1,"x":' + b"[" * 99 + b"]" * 99 + b"}").status == 201


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (rb'{"name":"a\udfff","categoryId":1}', "body.name"),
        (rb'{"name":"\udc00\ud800","categoryId":1}', "body.name"),
        (rb'{"name":"a","categoryId":1,"\ud800":1}', "body"),
        (rb'{"name":"a","categoryId":1,"x":["\uD83D"]}', "body.x.0"),
        (rb'{"name":"a","categoryId":1,"x":{"y":[0,{"\ud800":1}]}}', "body.x.y.1"),
    ],
)
def test_lone_surrogate_is_refused_where_it_stands(client: Client, body: bytes, path: str) -> None:
    refused(client, body, (path, "unicode"))


def test_lone_surrogate_of_an_overwritten_member_is_refused_and_a_pair_is_one_character(client: Client) -> None:
    assert client.post(rb'{"x":{"\ud800":1,"\ud800":2},"x":1,"name":"a","categoryId":1}').status == 400
    assert client.post(rb'{"name":"\ud83d\udc15","categoryId":1}').json()["name"] == "\N{DOG}"


@pytest.mark.parametrize(
    ("body", "path", "value"),
    [
        (b'{"name":"a","name":"b","categoryId":1}', "body.name", "b"),
        (b'{"name":"a","name":"a","name":"c","categoryId":1}', "body.name", "c"),
        (b'{"name":"a","categoryId":1,"categoryId":2}', "body.categoryId", 2),
        (rb'{"name":"a","n\u0061me":"b","categoryId":1}', "body.name", "b"),
    ],
)
def test_repeated_member_is_refused_with_its_value(client: Client, body: bytes, path: str, value: object) -> None:
    response = client.post(body)
    assert response.status == 400
    assert [(one.path, one.rule, one.value) for one in client.last.violations] == [(path, "uniqueMembers", value)]


def test_repeated_member_deep_inside_is_named_by_its_whole_path(client: Client) -> None:
    assert client.post(b'{"name":"a","categoryId":1,"status":{"x":[0,{"name":1,"name":2}]}}').status == 400
    assert ("body.status.x.1.name", "uniqueMembers") in client.broken
    assert "body.name" not in dict(client.broken)


def test_repeated_member_and_wrong_values_are_named_at_once(client: Client) -> None:
    rules = ("body.name", "uniqueMembers"), ("body.categoryId", "type"), ("body.name", "type")
    refused(client, b'{"name":"a","name":7,"categoryId":"x"}', *rules)


def test_message_stays_short_whatever_was_sent(client: Client) -> None:
    for body in ({"name": "a", "categoryId": "x" * 10_000}, {"name": "a", "categoryId": 1, "y" * 100_000: 1}):
        assert len(client.post(json.dumps(body).encode()).message) < 400


@pytest.mark.parametrize(("unknown", "more"), [(18, None), (19, 1), (5000, 4982)])
def test_message_names_20_violations_and_counts_the_rest(client: Client, unknown: int, more: int | None) -> None:
    """Two missing fields are among them."""
    message = client.post(json.dumps({f"field{number}": 1 for number in range(unknown)}).encode()).message
    assert message.count("body.") == 20
    assert (f"and {more} more" in message) if more else ("more" not in message)


def test_journal_keeps_a_thousand_violations_and_counts_the_rest(client: Client) -> None:
    client.post(json.dumps({f"field{number}": 1 for number in range(20_000)}).encode())
    assert len(client.last.violations) <= 1000
    assert len(client.last.violations) + client.last.omitted == 20_002


def test_repeated_unknown_and_missing_members_are_all_counted(client: Client) -> None:
    repeated = ",".join(f'"field{number}":1' for number in (*range(3000), *range(3000)))
    client.post(f"{{{repeated}}}".encode())
    assert len(client.last.violations) + client.last.omitted == 6002
    client.petstore.configure(duplicate_member="last", unknown_body_field="ignore")
    assert client.post(f'{{"name":"a","categoryId":1,{repeated}}}'.encode()).status == 201


def test_body_of_one_mebibyte_is_read_and_one_byte_more_is_not(client: Client) -> None:
    frame = b'{"categoryId":1,"name":""}'
    body = frame[:-2] + b"x" * (ONE_MEBIBYTE - len(frame)) + frame[-2:]
    assert client.post(body).status == 201
    assert client.post(body + b" ").status == 413
    assert client.refusal == "body_too_large"
    assert client.post(b"x" * 2 * ONE_MEBIBYTE, ("Content-Type", "text/plain")).status in {413, 415}
    assert client.create(name="Rex", categoryId=1).status == 201


# Types (RFC 9110 §8.3, §15.5.16)


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
def test_media_type_has_no_case_and_its_parameters_are_ignored(client: Client, media_type: str) -> None:
    assert client.post(REX, ("Content-Type", media_type)).status == 201


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
        None,
    ],
)
def test_wrong_media_type_is_415(client: Client, media_type: str | None) -> None:
    fields = [] if media_type is None else [("Content-Type", media_type)]
    response = client.authed("POST", "/v1/pets", REX, *fields)
    assert (response.status, client.refusal) == (415, "unsupported_media_type")
    assert response.header("Accept") == "application/json"  # RFC 9110 §12.5.1
    assert media_type is None or media_type in response.message
    assert client.petstore.pets == []


def test_two_media_types_are_none_and_a_long_one_is_shortened(client: Client) -> None:
    assert client.post(REX, JSON, JSON).status == 415
    response = client.post(REX, ("Content-Type", "x" * 1000))
    assert (response.status, len(response.message) < 300) == (415, True)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
def test_body_of_a_request_that_takes_none_is_ignored(client: Client, method: str) -> None:
    expected = {"GET": 200, "HEAD": 200, "OPTIONS": 204, "DELETE": 405}[method]
    assert client.authed(method, "/v1/pets", b"no json", ("Content-Type", "text/plain")).status == expected
    assert client.list().status == 200
