"""Violations: paths, words and the sentence of the interface."""

from __future__ import annotations

from typing import Any

import pytest

from petstore_mock.contract.interface import SENTENCES
from petstore_mock.contract.violations import HugeInteger, JsonNumber, Violation, describe, member_path


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1", '"1" (string)'),
        ("", '"" (string)'),
        (1, "1 (integer)"),
        (True, "true (boolean)"),
        (False, "false (boolean)"),
        (None, "null"),
        (1.5, "1.5 (number)"),
        (JsonNumber("1.50"), "1.50 (number)"),
        (JsonNumber("1e1000000000"), "1e1000000000 (number)"),
        (JsonNumber("1." + "0" * 100), f"1.{'0' * 58}... (number)"),
        (HugeInteger("9" * 5000), f"{'9' * 20}... (integer of 5000 digits)"),
        (HugeInteger("-" + "9" * 5000), f"-{'9' * 19}... (integer of 5000 digits)"),
        (HugeInteger("1e1000000000"), "1e1000000000 (number)"),
        (HugeInteger("-1" + "0" * 500 + ".0"), f"-1{'0' * 58}... (number)"),
        ("a\ud800\n\0", '"a\\ud800\\n\\u0000" (string)'),
        ("x" * 58, f'"{"x" * 58}" (string)'),
        ("x" * 59, f'"{"x" * 59}... (string of 59 characters)'),
        ("x" * 10**6, f'"{"x" * 59}... (string of 1000000 characters)'),
        ([], "[] (array of 0)"),
        (["a", 1, None, [], {}, [1], {"a": 1}], '["a", 1, null, [], {}, [...], {...}] (array of 7)'),
        ({}, "{} (object of 0)"),
        ({"a": {"b": 1}, "c": JsonNumber("1.0")}, '{"a": {...}, "c": 1.0} (object of 2)'),
        (list(range(1000)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1... (array of 1000)"),
        (object, f'"{object!r}" (type)'),
    ],
    ids=lambda value: f"{ascii(value)[:30]} of {len(value)}" if isinstance(value, str) else type(value).__name__,
)
def test_value_is_described_short_and_in_ascii(value: Any, text: str) -> None:  # noqa: ANN401
    assert describe(value) == text
    assert describe(value).isascii()


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("name", "body.name"),
        ("", "body."),
        ("ä b", "body.ä b"),
        ("a\nb", "body.a\\nb"),
        ("\ud800", "body.\\ud800"),
        ("x" * 60, "body." + "x" * 60),
        ("x" * 61, "body." + "x" * 60 + "..."),
    ],
    ids=lambda text: f"{ascii(text)[:20]} of {len(text)}",
)
def test_path_of_a_member_is_short_and_stays_on_its_line(name: str, path: str) -> None:
    assert member_path("body", name) == path


def test_violation_in_words() -> None:
    assert str(Violation("body.name", "type", "must be a string", 5)) == "body.name must be a string, got 5 (integer)"
    assert str(Violation("body.name", "required", "is required and missing")) == "body.name is required and missing"
    assert str(Violation("body.status", "type", "must be a string", None)).endswith("got null")


def test_what_came_by_the_name_of_a_key_is_masked() -> None:
    for path in ("query.api_key", "body.accessToken"):
        text = str(Violation(path, "additionalProperties", "is no member here", "somebody-elses-key"))
        assert "somebody" not in text
        assert text.endswith('got "***-key" (string)')


def test_violations_are_equal_whatever_came() -> None:
    assert Violation("a", "type", "b", 1) == Violation("a", "type", "b", 2)
    assert Violation("a", "type", "b") != Violation("a", "enum", "b")


@pytest.mark.parametrize(
    ("path", "subject"),
    [
        ("body", "body"),
        ("body.name", "name"),
        ("body.categoryId", "categoryId"),
        ("body.status", "status"),
        ("body.status.x", "status"),
        ("body.colour", "body"),
        ("query", "query"),
        ("query.limit", "limit"),
        ("query.status", "statusFilter"),
        ("query.offset", "query"),
        ("path.petId", "petId"),
    ],
)
def test_violation_quotes_its_sentence(path: str, subject: str) -> None:
    assert Violation(path, "type", "words").sentence is SENTENCES[subject]
