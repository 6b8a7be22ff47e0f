"""Bodies that break careless services: each is a clear 4xx, creates nothing and leaves the service well."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.inside.contract.harness import condition_of, last_entry

if TYPE_CHECKING:
    from tests.inside.contract.conftest import Serve
    from tests.inside.contract.harness import Service

pytestmark = pytest.mark.untraced

ONE_MEBIBYTE = 1024 * 1024


def refused(service: Service, body: bytes, *violations: tuple[str, str]) -> str:
    """Post ``body`` and demand a 400 that names exactly these; then the service must still work."""
    answer = service.post(body)
    assert answer.status == 400, answer
    assert [(one.path, one.rule) for one in last_entry(service).violations] == list(violations)
    assert condition_of(service) == ("malformed_json" if violations[0][1] in {"json", "unicode"} else "invalid_body")
    for one in last_entry(service).violations:
        assert str(one) in answer.message
    assert service.petstore.pets == []
    assert service.create(name="Rex", categoryId=1).status == 201
    return answer.message


@pytest.mark.parametrize(
    "number",
    [
        b"1.0",
        b"1e2",
        b"1E+2",
        b"100e-2",
        b"1.5",
        b"1e-5",
        b"-0.0",
        b"1e400",
        b"1e1000000000",
        b"1e99999999999999999999",
        b"1e-99999999999999999999",
        b"9223372036854775807.0",
        b"9007199254740993.0",
        b"1." + b"0" * 5000,
    ],
    ids=lambda number: number[:24].decode(),
)
def test_number_with_fraction_or_exponent_is_no_integer(service: Service, number: bytes) -> None:
    message = refused(service, b'{"name":"a","categoryId":' + number + b"}", ("body.categoryId", "type"))
    assert f"got {number[:40].decode()}" in message


@pytest.mark.parametrize("value", [b"true", b"false", b'"1"', b'"1.0"', b"null", b"[1]", b"{}", b'""'])
def test_other_types_are_no_integer(service: Service, value: bytes) -> None:
    refused(service, b'{"name":"a","categoryId":' + value + b"}", ("body.categoryId", "type"))


@pytest.mark.parametrize(
    ("number", "rule"),
    [
        (b"9223372036854775808", "maximum"),
        (b"-9223372036854775809", "minimum"),
        (b"18446744073709551615", "maximum"),
        (b"9" * 400, "maximum"),
        (b"9" * 401, "maximum"),
        (b"9" * 5000, "maximum"),
        (b"-" + b"9" * 5000, "minimum"),
        (b"9" * 900_000, "maximum"),
    ],
    ids=lambda value: f"{value[:24].decode()} of {len(value)}" if isinstance(value, bytes) else value,
)
def test_integer_out_of_int64_is_refused(service: Service, number: bytes, rule: str) -> None:
    message = refused(service, b'{"name":"a","categoryId":' + number + b"}", ("body.categoryId", rule))
    assert number[:20].decode() in message
    if len(number) > 401:
        assert f"integer of {len(number.lstrip(b'-'))} digits" in message


@pytest.mark.parametrize("number", [b"9223372036854775807", b"-9223372036854775808", b"-0", b"0"])
def test_integer_at_the_ends_of_int64_is_accepted(service: Service, number: bytes) -> None:
    answer = service.post(b'{"name":"a","categoryId":' + number + b"}")
    assert answer.status == 201
    assert answer.json()["categoryId"] == int(number)


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
def test_body_that_is_no_json_is_refused(service: Service, body: bytes) -> None:
    refused(service, body, ("body", "json"))


def test_brackets_inside_strings_are_not_counted_as_depth(service: Service) -> None:
    name = '[{"' * 1000 + "\\" * 7
    assert service.created(name=name, categoryId=1)["name"] == name


def test_hundred_levels_are_read(serve: Serve) -> None:
    service = serve(behaviour="lenient")
    body = b'{"name":"a","categoryId":1,"x":' + b"[" * 99 + b"]" * 99 + b"}"
    assert service.post(body).status == 201


@pytest.mark.parametrize(
    "body",
    [
        rb'{"name":"\ud800","categoryId":1}',
        rb'{"name":"a\udfff","categoryId":1}',
        rb'{"name":"\udc00\ud800","categoryId":1}',
        rb'{"name":"a","categoryId":1,"\ud800":1}',
        rb'{"name":"a","categoryId":1,"x":["\uD83D"]}',
        rb'{"x":{"\ud800":1,"\ud800":2},"x":1,"name":"a","categoryId":1}',
    ],
)
def test_lone_surrogate_is_refused(service: Service, body: bytes) -> None:
    answer = service.post(body)
    assert answer.status == 400
    assert service.petstore.pets == []
    assert service.create(name="Rex", categoryId=1).status == 201


def test_lone_surrogate_is_named_where_it_stands(service: Service) -> None:
    message = refused(service, rb'{"name":"a\ud800","categoryId":1}', ("body.name", "unicode"))
    assert r'"a\ud800" (string)' in message


def test_surrogate_pair_is_one_character(service: Service) -> None:
    assert service.post(rb'{"name":"\ud83d\udc15","categoryId":1}').json()["name"] == "\N{DOG}"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"name":"a","name":"b","categoryId":1}', "body.name"),
        (b'{"name":"a","name":"a","categoryId":1}', "body.name"),
        (b'{"name":"a","name":"a","name":"c","categoryId":1}', "body.name"),
        (b'{"name":"a","categoryId":1,"categoryId":2}', "body.categoryId"),
        (rb'{"name":"a","n\u0061me":"b","categoryId":1}', "body.name"),
    ],
)
def test_repeated_member_is_refused(service: Service, body: bytes, path: str) -> None:
    message = refused(service, body, (path, "uniqueMembers"))
    assert "must stand only once" in message


def test_repeated_member_is_named_with_its_values(service: Service) -> None:
    message = refused(service, b'{"name":"a","name":"b","categoryId":1}', ("body.name", "uniqueMembers"))
    assert 'got "b" (string)' in message


def test_repeated_member_deep_inside_is_named_by_its_whole_path(service: Service) -> None:
    answer = service.post(b'{"name":"a","categoryId":1,"status":{"x":[0,{"name":1,"name":2}]}}')
    assert answer.status == 400
    assert "body.status.x.1.name must stand only once" in answer.message
    assert "body.name" not in answer.message


def test_repeated_member_and_wrong_values_are_named_at_once(service: Service) -> None:
    refused(
        service,
        b'{"name":"a","name":7,"categoryId":"x"}',
        ("body.name", "uniqueMembers"),
        ("body.categoryId", "type"),
        ("body.name", "type"),
    )


def test_value_in_a_message_is_shortened(service: Service) -> None:
    body = json.dumps({"name": "a", "categoryId": "x" * 10_000}).encode()
    message = refused(service, body, ("body.categoryId", "type"))
    assert "(string of 10000 characters)" in message
    assert len(message) < 300


def test_name_of_a_field_in_a_message_is_shortened(service: Service) -> None:
    answer = service.post(json.dumps({"name": "a", "categoryId": 1, "y" * 100_000: 1}).encode())
    assert answer.status == 400
    assert "body.yyyy" in answer.message
    assert len(answer.message) < 400


def test_thousands_of_wrong_fields_are_counted_in_the_message(service: Service) -> None:
    answer = service.post(json.dumps({f"field{number}": 1 for number in range(5000)}).encode())
    assert answer.status == 400
    assert "and 4982 more" in answer.message  # 5,000 and two missing ones, of which 20 are shown


def test_body_of_one_mebibyte_is_read(service: Service) -> None:
    frame = b'{"categoryId":1,"name":""}'
    body = frame[:-2] + b"x" * (ONE_MEBIBYTE - len(frame)) + frame[-2:]
    assert len(body) == ONE_MEBIBYTE
    assert service.post(body).status == 201


@pytest.mark.parametrize("extra", [1, 1000])
def test_body_over_one_mebibyte_is_answered_413(service: Service, extra: int) -> None:
    answer = service.post(b" " * (ONE_MEBIBYTE + extra))
    assert answer.status == 413
    assert service.create(name="Rex", categoryId=1).status == 201
