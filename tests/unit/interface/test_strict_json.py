"""Strict JSON, integers of parameters, and percent-decoding."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_mock.interface.strict_json import (
    MalformedJsonError,
    decode_json,
    encode_json,
    percent_decode,
    read_integer,
)
from petstore_mock.interface.violations import MOST_VIOLATIONS

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.untraced
@given(JSON_VALUES)
def test_what_json_writes_is_read_back(value: Any) -> None:  # noqa: ANN401
    for text in (encode_json(value), json.dumps(value, indent=2).encode()):
        assert decode_json(text) == (value, [])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b'"\xff"', "must be UTF-8; byte 1 is not"),
        (b"name=Rex&note=" + b"x" * 100, f"column 1 of 'name=Rex&note={'x' * 46}...'"),
        (b'{"a":1}{}', "Extra data at line 1 column 8"),
        (b"[NaN]", "must not hold NaN"),
        (b"[" * 1_000_000, "must not nest deeper than 100 levels"),
        (b"[" * 101 + b"]" * 101, "must not nest deeper than 100 levels"),
        ('{"name":"Žofka"}'.encode()[:-1], "Content-Length counts bytes, not characters"),
    ],
    ids=lambda value: f"{value[:12]!s}{len(value)}",
)
def test_refusal_says_what_is_wrong_and_where(body: bytes, words: str) -> None:
    with pytest.raises(MalformedJsonError) as caught:
        decode_json(body)
    assert words in str(caught.value)
    assert (caught.value.violation.path, caught.value.violation.rule) == ("body", "json")


def test_brackets_beside_each_other_and_in_strings_are_no_depth() -> None:
    for body in (b"[" * 100 + b"]" * 100, b"[" + b"[]," * 300 + b"1]", b'["' + b'\\"[' * 300 + b'"]'):
        assert decode_json(body) == (json.loads(body), [])


def test_repeated_members_are_found_and_the_last_is_kept() -> None:
    for body, paths in (
        (b'{"a":1,"b":1,"b":2,"a":2,"a":3}', ["body.a", "body.b"]),
        (b'[{"a":1},{"x":{"a":1,"a":{"b":1,"b":1}}}]', ["body.1.x.a", "body.1.x.a.b"]),
        (b'{"x":{"a":1,"a":2},"x":1}', ["body.x"]),
    ):
        value, repeated = decode_json(body)
        assert value == json.loads(body)
        assert [(one.path, one.rule) for one in repeated] == [(path, "uniqueMembers") for path in paths]


def test_hostile_bodies_are_bounded_in_time_and_in_violations() -> None:
    inner = b",".join(b'"m%d":1,"m%d":2' % (number, number) for number in range(700))
    started = time.process_time()
    _, repeated = decode_json(b'{"x":[{%s},{%s}],"y":{"a":1,"a":2}}' % (inner, inner))
    assert (len(repeated), repeated.omitted) == (MOST_VIOLATIONS, 401)
    for body in (b'["' + b'[\\"' * 330_000 + b'"]', b"[" + b"{}," * 300_000 + b"1]", b"9" * 1_000_000):
        decode_json(body)
    assert time.process_time() - started < 10  # some twenty times what it takes


def test_lone_surrogates_are_found_by_their_path() -> None:
    texts = {rb'"\ud800"': "body", rb'{"x":["a",{"y":"\udc00"}]}': "body.x.1.y", rb'{"x":{"\ud800":1}}': "body.x"}
    for body, path in texts.items():
        with pytest.raises(MalformedJsonError) as caught:
            decode_json(body)
        assert (caught.value.violation.path, caught.value.violation.rule) == (path, "unicode")
    assert decode_json(rb'["\ud83d\udc15", "\\ud800"]')[0] == ["\N{DOG}", "\\ud800"]


@pytest.mark.parametrize("digits", [400, 401, 100_000])
def test_integers_of_many_digits_stay_beyond_every_bound(digits: int) -> None:
    for text in ("9" * digits, "-" + "9" * digits):
        value, _ = decode_json(text.encode())
        assert abs(value) >= 10**398
        assert (value < 0) is text.startswith("-")
        assert read_integer(text) == value


def test_text_that_is_no_integer_of_json_stays_text() -> None:
    for text in ("", "-0", "01", "+1", "1.0", "1e2", " 1", "1_0", "١", "--1"):
        assert read_integer(text) == text


def test_percent_decoding_is_strict() -> None:
    assert percent_decode("%41%2541%00a+b%c3%a4%F0%9F%90%95") == "A%41\0a+bä\N{DOG}"
    for text in ("%", "%4", "%zz", "%c3", "%ed%a0%80", "%c0%af", "ä", "%²1"):
        assert percent_decode(text) is None
