"""A second, simple validator agrees with the fake about each body, and the store keeps valid bodies exactly."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from petstore_mock import PetStoreMock
from tests.client import Client

pytestmark = pytest.mark.untraced


def words(text: str) -> list[str]:
    return text.split()


# Texts that are JSON, and texts that are nearly JSON
NUMBERS: Final = (
    *words("0 -0 1 1.0 -0.0 1e2 1E+2 1e-2 1e400 -1e400 1e1000000000 0e0 0.10 9223372036854775807 9223372036854775808"),
    *words("-9223372036854775808 -9223372036854775809 9007199254740993 9223372036854775807.0"),
    *("1" + "0" * 18, "1" + "0" * 500, "-" + "9" * 5000),
)
NO_NUMBERS: Final = words(
    "00 01 -01 +1 1. .5 1e 1e+ - NaN Infinity -Infinity 1_0 0x10 1f --1 ١ １ 1,0 ١٢ 1.5.5 1e1.0 -.5 01e1 1١"
)
ESCAPES: Final = (
    *("\\u0041", "\\u0000", "\\n", '\\"', "\\\\", "\\/", "\\b\\f\\r\\t", "\\ud83d\\ude00", "\\uD83D\\uDE00"),
    *("\\u2028", "\x7f", "\x85", "\u2028", "\ufeff", "\ufffe", "é", "e\u0301", "😀", "\u200f", "a" * 70, "[{,:"),
)
ODD_ESCAPES: Final = (
    *("\\ud800", "\\udc00", "\\uDFFFa", "\\ude00\\ud83d", "\\ud83dx", "\\ud83d\\ud83d", "\\ud800\\u0041"),
    *("\\ud83d😀", "\\\\\\ud800", "\\ud83d\\\\ude00", "\\u12", "\\u", "\\x41", "\\'", "\\", "\\uGGGG", "\\u 041"),
    *("\\U00000041", "\\u+041", "\\u0x41", "\0", "\n", "\t", "\x1f", '"'),
)
ODD_TEXTS: Final = ("nul", "True", "''", "'a'", "", "truefalse", "/**/1", "\u201ca\u201d", "1 2", "[1,]", '{"a":1,}')
INVALID_UTF8: Final = (b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98", b"\x80")

INTEGERS: Final = st.sampled_from(NUMBERS) | st.integers(-(2**65), 2**65).map(str)
STRINGS: Final = st.lists(st.sampled_from(ESCAPES) | st.text("aZ é'/", max_size=8), max_size=4).map(
    lambda parts: f'"{"".join(parts)}"'
)
VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
).map(json.dumps)
DEEP: Final = st.builds(
    lambda depth, ends: ends[0] * depth + "1" + ends[1] * depth,
    st.integers(97, 103),
    st.sampled_from([("[", "]"), ('{"a":', "}")]),
)
STATUSES: Final = st.sampled_from(['"available"', '"pending"', '"s\\u006fld"', '"Sold"', '"sold "', "null", '["sold"]'])
ODD: Final = st.sampled_from(ODD_TEXTS) | st.sampled_from(NO_NUMBERS) | st.sampled_from(ODD_ESCAPES).map('"{}"'.format)
NAMES: Final = st.sampled_from(['"name"', '"na\\u006de"', '"categoryId"', '"status"', '"id"', '"Name"', '""', "1"])


@st.composite
def bodies(draw: DrawFn) -> bytes:
    """Draw the bytes of a NewPet. Most of its parts are valid, and a few bytes may be changed."""
    often = st.sampled_from([True, True, True, False])
    members = [
        '"name":' + draw(STRINGS if draw(often) else VALUES | ODD),
        '"categoryId" : ' + draw(INTEGERS if draw(often) else VALUES | ODD | DEEP),
        *draw(st.lists(STATUSES.map('"status":{}'.format), max_size=1)),
        *draw(st.lists(st.builds("{}:{}".format, NAMES, VALUES), max_size=1)) * (not draw(often)),
    ]
    text = "{" + ",\n".join(draw(st.permutations(members))) + "}" if draw(often) else draw(VALUES | ODD | DEEP)
    body: bytes = text.encode(draw(st.sampled_from(["utf-8"] * 30 + ["utf-8-sig", "utf-16", "latin-1"])), "ignore")
    for _ in range(draw(st.sampled_from([0] * 8 + [1, 2]))):
        at = draw(st.integers(0, len(body)))
        piece = draw(st.binary(min_size=1, max_size=3) | st.sampled_from([*INVALID_UTF8, b"\0", b",", b"]", b'"']))
        body = draw(st.sampled_from([body[:at] + piece + body[at:], body[:at] + body[at + 1 :], body[:at]]))
    return body


class Repeated(dict[str, Any]):
    """An object with a repeated member."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(pairs) if len(dict(pairs)) == len(pairs) else Repeated(pairs)


def _fail(constant: str) -> None:
    raise ValueError(constant)  # RFC 8259 §6: NaN and Infinity are not JSON


def parts_of(value: Any, depth: int = 0) -> list[Any]:
    """Return a value and all values inside; raise ValueError if they are nested too deep."""
    if depth > 100 or (depth == 100 and isinstance(value, (dict, list))):
        raise ValueError("too deep")
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return [value, *(part for one in inner for part in parts_of(one, depth + 1))]


def expected_of(body: bytes) -> tuple[set[str], dict[str, Any]]:
    """Return the conditions that may refuse a body of createPet (§4.2), or the animal."""
    try:
        value = json.loads(
            body.decode(),
            object_pairs_hook=_object,
            parse_constant=_fail,
            parse_float=lambda _: 0.5,
            parse_int=lambda digits: int(digits[:30]),
        )
        parts = parts_of(value)
        "".join(part for part in parts if isinstance(part, str)).encode()  # RFC 7493 §2.1: no lone surrogates
    except (ValueError, RecursionError):
        return {"malformed_json"}, {}
    if any(isinstance(part, Repeated) for part in parts):
        return {"invalid_body", "malformed_json"}, {}  # the dropped member may contain a surrogate
    is_right = (
        isinstance(value, dict)
        and value.keys() <= {"name", "categoryId", "status"}
        and isinstance(value.get("name"), str)
        and type(value.get("categoryId")) is int
        and -(2**63) <= value["categoryId"] < 2**63
        and value.get("status", "sold") in ("available", "pending", "sold")
    )
    return (set(), value) if is_right else ({"invalid_body"}, {})


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(PetStoreMock(api_key="k"))


@settings(max_examples=2 * settings().max_examples)  # each example is fast
@given(body=bodies())
@example(body=b"[" * 100_000)
@example(body=b'{"name":"a","categoryId":1}')
def test_body_is_accepted_or_refused_as_the_interface_says(client: Client, body: bytes) -> None:
    client.petstore.reset()
    response, (conditions, expected) = client.post(body), expected_of(body)
    if conditions:
        assert response.status == 400
        assert client.refusal in conditions
        assert all(f"{one.path} " in response.message for one in client.last.violations[:20])
        assert client.petstore.pets == []
        return
    assert response.status == 201
    pet = response.json()
    assert client.get(pet["id"]).json() == pet
    assert {name: value for name, value in pet.items() if name != "id"} == expected
    assert client.petstore.pets == [pet]
