"""Strict JSON: values, messages, and limits for hostile bodies."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_mock.interface.strict_json import (
    MalformedJsonError,
    decode_json,
    encode_json,
)
from petstore_mock.interface.violations import MOST_VIOLATIONS

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.untraced
@given(JSON_VALUES)
def test_encoded_values_are_decoded_unchanged(value: Any) -> None:
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
        (b"[NaN]", "must not contain NaN"),
        (b"[" * 1_000_000, "must not nest deeper than 100 levels"),
        (b"[" * 101 + b"]" * 101, "must not nest deeper than 100 levels"),
        ('{"name":"Žofka"}'.encode()[:-1], "Content-Length counts bytes, not characters"),
    ],
    ids=lambda value: f"{value[:12]!s}{len(value)}",
)
def test_message_says_the_mistake_and_its_place(body: bytes, words: str) -> None:
    with pytest.raises(MalformedJsonError) as caught:
        decode_json(body)
    assert words in str(caught.value)
    assert (caught.value.violation.path, caught.value.violation.rule) == ("body", "json")


def test_hostile_bodies_are_read_fast_and_violations_are_limited() -> None:
    inner = b",".join(b'"m%d":1,"m%d":2' % (number, number) for number in range(700))
    started = time.process_time()
    _, repeated = decode_json(b'{"x":[{%s},{%s}],"y":{"a":1,"a":2}}' % (inner, inner))
    assert (len(repeated), repeated.omitted) == (MOST_VIOLATIONS, 2 * 700 + 1 - MOST_VIOLATIONS)
    for body in (b'["' + b'[\\"' * 330_000 + b'"]', b"[" + b"{}," * 300_000 + b"1]", b"9" * 1_000_000):
        decode_json(body)
    assert time.process_time() - started < 10  # many times the usual time


MANY = {
    "numbers": (b"[%s]" % b",".join([b"1"] * 30_000), 4.0),
    "members": (b"{%s}" % b",".join(b'"m%d":1' % number for number in range(10_000)), 2.6),
    "texts": (("[" + ",".join(['"é"'] * 12_000) + "]").encode(), 8.0),
}


@pytest.mark.untraced
@pytest.mark.parametrize("name", MANY)
def test_a_strict_decoder_takes_a_few_times_as_long_as_the_standard_one(name: str) -> None:
    body, most = MANY[name]

    def seconds(decode: Callable[[bytes], object]) -> float:
        started = time.process_time()
        decode(body)
        return time.process_time() - started

    # Both in turn, so that a busy moment slows both.
    strict, standard = zip(*((seconds(decode_json), seconds(json.loads)) for _ in range(30)), strict=True)
    assert min(strict) < most * min(standard)


@pytest.mark.parametrize("text", ["1", '"x"', '{"a":1}', '[{"a":1}]', '{"a":{"b":[]}}'])
def test_every_container_is_looked_at_for_repeated_members(text: str) -> None:
    members = f'"m":{text},"m":{text}'
    _, repeated = decode_json(f'[[1,{{"x":{{{members}}}}}]]'.encode())
    assert [violation.path for violation in repeated] == ["body.0.1.x.m"]
    assert decode_json(f"{{{members}}}".encode())[1][0].path == "body.m"
    assert decode_json(f'[[1,{{"x":{text}}}]]'.encode())[1] == []


@pytest.mark.parametrize("text", [r"\ud800", r"\uD800", r"\udfff"])
def test_a_lone_surrogate_is_refused_wherever_it_stands(text: str) -> None:
    for body in (f'"{text}"', f'{{"{text}":1}}', f'[[{{"a":["{text}"]}}]]'):
        with pytest.raises(MalformedJsonError) as caught:
            decode_json(body.encode())
        assert caught.value.violation.rule == "unicode"
    assert decode_json(rb'"\ud83d\udc36"') == ("🐶", [])


@pytest.mark.parametrize("digits", [400, 401, 5000])
def test_a_long_integer_keeps_its_first_digits(digits: int) -> None:
    value, _ = decode_json(b"[1,%s,-%s]" % (b"9" * digits, b"8" * digits))
    assert value == [1, int("9" * min(digits, 400)), int("-" + "8" * min(digits, 400 - (digits > 400)))]
