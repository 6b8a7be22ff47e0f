"""Strict JSON and percent-decoding."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from petstore_mock.contract import strict_json as decoding
from petstore_mock.contract.strict_json import (
    MalformedJsonError,
    decode_json,
    encode_flat,
    encode_json,
    integral_value,
    percent_decode,
)
from petstore_mock.contract.violations import HugeInteger, JsonNumber, Violation

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


@pytest.mark.parametrize("text", [b'{"a":1}', b' {"a":1}', b'{"a":1}\r\n', b'\t{"a":1} '])
def test_white_space_around_a_text_means_nothing(text: bytes) -> None:
    assert decode_json(text) == ({"a": 1}, [])


@pytest.mark.parametrize("text", [b'{"a":1}}', b'{"a":1} {}', b'{"a":1}\xc2\xa0', b'{"a":1}{"a":2}'])
def test_more_than_one_value_is_no_json_text(text: bytes) -> None:
    with pytest.raises(MalformedJsonError, match=r"Extra data at line 1 column [89]"):
        decode_json(text)


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    refusal = None
    try:
        decode_json(body)
    except MalformedJsonError as error:
        refusal = error
    if refusal is not None:
        assert refusal.violation.rule in {"json", "unicode"}
        assert str(refusal) == str(refusal.violation)
        str(refusal).encode("utf-8")


@pytest.mark.untraced
@given(st.dictionaries(st.text(), st.text() | st.integers() | st.booleans() | st.none(), max_size=5))
@example({"%s": "%d", "100%": 1})
def test_flat_and_general_encoding_agree(document: dict[str, Any]) -> None:
    assert encode_flat(document) == encode_json(document)


def test_encoding_is_compact_and_utf8() -> None:
    assert encode_json({"a": [1, "\N{DOG}\u2028"]}) == '{"a":[1,"\N{DOG}\u2028"]}'.encode()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b'"\xff"', "must be UTF-8; byte 1 is not"),
        (b"{]", "Expecting property name enclosed in double quotes at line 1 column 2 of '{]'"),
        (b"[1,\n 2,\n 3 4]", r"at line 3 column 4 of '[1,\n 2,\n 3 4]'"),
        (b"[object Object]", "must be JSON; Expecting value at line 1 column 2 of '[object Object]'"),
        (b"name=Rex&note=" + b"x" * 100, f"column 1 of 'name=Rex&note={'x' * 46}...'"),
        (b'["\x01"]', "must be JSON; Invalid control character at line 1 column 3"),
        (b"[NaN]", "must not hold NaN"),
        (b"[-Infinity]", "must not hold -Infinity"),
        (b"[" * 101, "must not nest deeper than 100 levels"),
    ],
)
def test_refusal_says_what_is_wrong_and_where(body: bytes, words: str) -> None:
    with pytest.raises(MalformedJsonError) as caught:
        decode_json(body)
    assert words in str(caught.value)
    assert caught.value.violation.path == "body"


@pytest.mark.parametrize("text", ['{"name":"Žofka"}', '{"name":"Žo","categoryId":1}', '{"a":"🐈"}'])
def test_body_whose_length_was_counted_in_characters_is_told_so(text: str) -> None:
    with pytest.raises(MalformedJsonError, match="Content-Length counts bytes, not characters"):
        decode_json(text.encode()[: len(text)])


@pytest.mark.parametrize("body", ['{"name":"Žofka",}'.encode(), b'{"name":"Rex"', b'"\xff"'])
def test_body_that_is_wrong_in_another_way_is_told_nothing_of_its_length(body: bytes) -> None:
    with pytest.raises(MalformedJsonError, match="must be") as caught:
        decode_json(body)
    assert "Content-Length" not in str(caught.value)


@pytest.mark.parametrize("rest", [b"{}", b"\xff", b"[" * 101])
def test_byte_order_mark_is_told_before_whatever_else_is_wrong(rest: bytes) -> None:
    with pytest.raises(MalformedJsonError, match="byte-order mark"):
        decode_json(b"\xef\xbb\xbf" + rest)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")])
def test_depth_is_counted_over_arrays_and_objects(opening: bytes, closing: bytes) -> None:
    levels = 50 if opening.startswith(b"[{") else 100
    deepest = opening * (levels - 1) + b"[]" * (levels == 100) + b"[[]]" * (levels == 50) + closing * (levels - 1)
    decode_json(deepest)
    if levels == 100:  # brackets beside the deepest ones: the body is scanned and still right
        decode_json(b"[[],[]," + b"[" * 98 + b"[]" + b"]" * 98 + b"]")
    with pytest.raises(MalformedJsonError, match="deeper than 100"):
        decode_json(opening + deepest + closing)


@pytest.mark.parametrize("pair", [b"[]", b"{}"])
def test_closed_brackets_lower_the_depth_by_one_each(pair: bytes) -> None:
    with pytest.raises(MalformedJsonError, match="deeper than 100"):
        decode_json(b"[" + (pair + b",") * 300 + b"[" * 100 + b"]" * 100 + b"]")


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 300 + b"1]",
        b'["' + b"[{" * 300 + b'"]',
        b'["' + b'\\"[' * 300 + b'"]',
        b'["\\\\",' + b"[]," * 200 + b"1]",
        b"[" + b"{}," * 300 + b"1]",
        b"[" + b'{"[":[{}]},' * 100 + b"1]",
    ],
    ids=[
        "beside each other",
        "in a string",
        "after escaped quotes",
        "after an escaped backslash",
        "objects",
        "of both kinds",
    ],
)
def test_brackets_that_do_not_nest_are_no_depth(body: bytes) -> None:
    assert decode_json(body) == (json.loads(body), [])


def test_brackets_that_closed_are_no_depth_and_hide_none() -> None:
    beside = b"[]," * 60
    decode_json(b"[" + beside + b"[" * 99 + b"]" * 99 + b"]")
    with pytest.raises(MalformedJsonError, match="deeper than 100"):
        decode_json(b"[" + beside + b"[" * 100 + b"]" * 100 + b"]")


def test_megabyte_of_brackets_in_a_string_is_scanned_quickly() -> None:
    """Fifty times what it takes, so that a slow machine does not fail it; the former pattern took more."""
    bodies = [
        b'["' + b'[\\"' * 330_000 + b'"]',
        b'["' + b"[" * 1_000_000 + b'"]',
        b'["' + b"[" * 200 + b"a" * 10**6 + b'"]',
    ]
    started = time.process_time()
    for body in bodies:
        decode_json(body)
    assert time.process_time() - started < 1.5


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        (b'{"a":1,"a":2}', ["body.a"]),
        (b'{"a":1,"a":2,"a":3}', ["body.a"]),
        (b'{"a":1,"b":1,"b":2,"a":2}', ["body.a", "body.b"]),
        (b'[{"a":1},{"a":1,"a":2}]', ["body.1.a"]),
        (b'{"x":{"y":[{"a":1,"a":2}]}}', ["body.x.y.0.a"]),
        (b'{"x":{"a":1,"a":{"b":1,"b":1}}}', ["body.x.a", "body.x.a.b"]),
        (b'{"x":{"a":1,"a":2},"x":1}', ["body.x"]),
    ],
)
def test_repeated_members_are_found_by_their_path_and_the_last_is_kept(body: bytes, paths: list[str]) -> None:
    value, repeated = decode_json(body)
    assert value == json.loads(body)
    assert [one.path for one in repeated] == paths
    assert {one.rule for one in repeated} == {"uniqueMembers"}


def test_repeated_members_beyond_a_thousand_are_only_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a violation costs more than decoding a member does, and the world's lock is held meanwhile."""
    made = Mock(wraps=Violation)
    monkeypatch.setattr(decoding, "Violation", made)
    inner = b",".join(b'"m%d":1,"m%d":2' % (number, number) for number in range(700))
    value, repeated = decode_json(b'{"x":[{%s},{%s}],"y":{"a":1,"a":2}}' % (inner, inner))
    assert len(value["x"][1]) == 700
    assert (len(repeated), repeated.omitted) == (1000, 401)
    assert made.call_count == 1000
    assert repeated[-1].path == "body.x.1.m299"


def test_only_a_body_with_a_repeated_member_is_walked_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    walks = Mock(wraps=decoding.find_repeated)
    monkeypatch.setattr(decoding, "find_repeated", walks)
    decode_json(b'[{"a":1,"a":2}]')
    walked = walks.call_count
    assert walked > 0
    assert decode_json(b"[" + b"{}," * 500 + b'{"a":1}]')[1] == []
    assert walks.call_count == walked, "nor is it walked for what an earlier body repeated"


@pytest.mark.parametrize("refused", [b'[{"a":1,"a":2},', b'{"a":1,"a":NaN}', b'{"a":1,"a":"\\ud800"}'])
@pytest.mark.parametrize("body", [b'[{"a":1}]', b"null", b"1", b"true", b'"a"'])
def test_refused_body_leaves_no_repeated_member_behind(refused: bytes, body: bytes) -> None:
    with pytest.raises(MalformedJsonError):
        decode_json(refused)
    assert decode_json(body) == (json.loads(body), [])


def test_only_a_body_with_a_lone_surrogate_is_walked_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    walks = Mock(wraps=decoding.find_lone_surrogate)
    monkeypatch.setattr(decoding, "find_lone_surrogate", walks)
    paired = rb'["\ud83d\udc15", "\\ud800", 1e999, %s, {}, {}]' % (b"9" * 401)
    assert decode_json(paired)[0][:2] == ["\N{DOG}", "\\ud800"]
    walks.assert_not_called()
    with pytest.raises(MalformedJsonError):
        decode_json(rb'[{}, "\ud83d"]')
    walks.assert_called()


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (rb'"\ud800"', "body"),
        (rb'{"name":"\ud800"}', "body.name"),
        (rb'{"x":["a",{"y":"\udc00"}]}', "body.x.1.y"),
        (rb'{"\ud800":1}', "body"),
        (rb'{"x":{"\ud800":1}}', "body.x"),
    ],
)
def test_lone_surrogates_are_found_by_their_path(body: bytes, path: str) -> None:
    with pytest.raises(MalformedJsonError) as caught:
        decode_json(body)
    assert (caught.value.violation.path, caught.value.violation.rule) == (path, "unicode")


@pytest.mark.parametrize(
    ("text", "huge"),
    [("9" * 400, False), ("-" + "9" * 399, False), ("9" * 401, True), ("-" + "9" * 400, True), ("9" * 100_000, True)],
    ids=lambda value: f"{value[0]}{len(value)}" if isinstance(value, str) else str(value),
)
def test_integers_of_many_digits_are_not_computed(text: str, huge: bool) -> None:
    value, _ = decode_json(text.encode())
    assert isinstance(value, HugeInteger) is huge
    assert (value < -(10**398)) is text.startswith("-")
    assert (value > 10**399) is not text.startswith("-")


def test_numbers_remember_how_they_were_written() -> None:
    value, _ = decode_json(b"[1.50, 1E+2, -0.0]")
    assert [number.text for number in value] == ["1.50", "1E+2", "-0.0"]
    assert all(isinstance(number, JsonNumber) for number in value)


DIGITS = st.text("0123456789", max_size=25)


@given(
    sign=st.sampled_from(["", "-"]),
    whole=st.integers(0, 10**20),
    fraction=DIGITS,
    exponent=st.none() | st.tuples(st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 60)),
)
def test_integral_value_is_exact(sign: str, whole: int, fraction: str, exponent: tuple[str, str, int] | None) -> None:
    text = f"{sign}{whole}{f'.{fraction}' if fraction else ''}{''.join(map(str, exponent)) if exponent else ''}"
    exact = Fraction(text)
    assert integral_value(JsonNumber(text)) == (exact.numerator if exact.denominator == 1 else None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.0", 0),
        ("-0e0", 0),
        ("0e" + "9" * 5000, 0),
        ("1e-" + "9" * 5000, None),
        ("10e-1", 1),
        ("1e-1", None),
        ("1" + "0" * 399 + ".0", 10**399),
        ("1e399", 10**399),
    ],
    ids=lambda value: str(value)[:12],
)
def test_integral_value_of_extremes(text: str, value: int | None) -> None:
    assert integral_value(JsonNumber(text)) == value
    assert not isinstance(integral_value(JsonNumber(text)), HugeInteger)


@pytest.mark.parametrize(
    "text", ["1e400", "1e1000000000", "1e" + "9" * 5000, "9" * 401 + ".0", "12e399"], ids=lambda text: text[:12]
)
def test_integral_value_beyond_bounds_is_huge_with_its_sign(text: str) -> None:
    for sign in ("", "-"):
        value = integral_value(JsonNumber(sign + text))
        assert isinstance(value, HugeInteger)
        assert value.text == sign + text
        assert (value > 0) is (sign == "")


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("abc", "abc"),
        ("", ""),
        ("%41", "A"),
        ("%c3%a4%C3%A4", "ää"),
        ("%F0%9F%90%95", "\N{DOG}"),
        ("%00", "\0"),
        ("%2541", "%41"),
        ("a+b", "a+b"),
        ("%", None),
        ("%4", None),
        ("%zz", None),
        ("%4g", None),
        ("a%20%", None),
        ("%ff", None),
        ("%c3", None),
        ("%ed%a0%80", None),
        ("%c0%af", None),
        ("ä", None),
        ("%41ä", None),
        ("%²1", None),
    ],
)
def test_percent_decoding_is_strict(text: str, decoded: str | None) -> None:
    assert percent_decode(text) == decoded
