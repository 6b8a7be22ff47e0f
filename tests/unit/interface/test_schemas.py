"""The schemas, their quick check and their validator."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from petstore_mock.interface.kinds import LIMITS
from petstore_mock.interface.schemas import document, is_valid, names, schema, violations
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.interface.violations import MOST_VIOLATIONS
from tests import data_cases

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64),
    st.sampled_from([1, 100, 101, "available", "Rex", "", 1.0, int("9" * 400)]),
    st.lists(st.text(max_size=2), max_size=2),
)
NAMES = ["id", "name", "categoryId", "status", "limit", "petId", "code", "x"]
PLAIN = {"name": "Rex", "categoryId": 1}
OBJECTS = st.dictionaries(st.sampled_from(NAMES), VALUES)


def test_every_schema_is_valid_and_has_test_data() -> None:
    assert names() == data_cases.schemas_with_cases()
    for name in names():
        Draft202012Validator.check_schema(document(name))
        assert "$ref" not in repr(schema(name))
    needed = {str(one) for row in OPERATIONS.values() for one in (row.body, row.response, row.parameters_schema) if one}
    assert needed <= {*names()}


@pytest.mark.parametrize("case", [case for name in names() for case in data_cases.valid(name)], ids=str)
def test_valid_values_have_no_violations(case: data_cases.Case) -> None:
    assert violations(schema(case.schema), case.value, "body") == []


@pytest.mark.parametrize("case", [case for name in names() for case in data_cases.invalid(name)], ids=str)
def test_invalid_values_break_their_rules(case: data_cases.Case) -> None:
    found = violations(schema(case.schema), case.value, "body")
    assert {(one.path, one.rule) for one in found} == case.broken_at("body")
    assert not is_valid(case.schema)(case.value)


@pytest.mark.parametrize("name", [name for name in names() if "properties" in document(name)])
def test_each_rule_of_a_property_has_a_value_that_breaks_it(name: str) -> None:
    """Without such a value, a wrong bound or type of the schema would stay unnoticed."""
    broken = {rule for case in data_cases.invalid(name) for rule in case.broken}
    for one, rules in schema(name)["properties"].items():
        # The bounds of an int64 say its format. A value outside the enum, or of another form, shows the type as well.
        named = {"enum", *LIMITS} if rules.get("format") == "int64" else {"enum", "format", *LIMITS}
        keywords = rules.keys() & named or rules.keys() & {"type"}
        assert {(one, keyword) for keyword in keywords} <= broken


@given(st.sampled_from(names()), OBJECTS | VALUES | st.lists(OBJECTS, max_size=2))
def test_quick_check_accepts_only_valid_values(name: str, value: Any) -> None:
    if is_valid(name)(value):
        assert violations(schema(name), value, "body") == []


@pytest.mark.parametrize(
    ("rules", "value", "words"),
    [
        ({"type": "integer"}, 1.0, "body must be an integer, got 1.0 (number)"),
        ({"type": ["string", "null"]}, 3, "body must be a string or null, got 3 (integer)"),
        ({"type": "string", "enum": ["a", "b"]}, 3, "body must be a string, one of a, b, got 3 (integer)"),
        ({"enum": ["a", None]}, "c", 'body must be one of a, null, got "c" (string)'),
        ({"type": "string", "minLength": 1}, "", 'body must have a length of at least 1, got "" (string)'),
        (
            {"oneOf": [{"type": "number", "minimum": 5}, {"type": "array"}]},
            1,
            "body must be at least 5, got 1 (integer)",
        ),
        ({"additionalProperties": {"type": "string"}}, {"a\nb": 1}, "body.a\\nb must be a string, got 1 (integer)"),
        (
            {"properties": {"limit": {}, "status": {}}, "additionalProperties": False},
            {"limti": 1},
            "body.limti is not a field here (the fields are limit, status; did you mean limit?), got 1 (integer)",
        ),
        ({"required": ["name"]}, {}, "body.name is required and missing"),
    ],
)
def test_message_has_the_expectation_and_the_value(rules: Mapping[str, Any], value: Any, words: str) -> None:
    assert [str(one) for one in violations(rules, value, "body")] == [words]


def test_violation_quotes_its_section() -> None:
    for value, section in (
        ({"categoryId": 1}, "2"),
        ({**PLAIN, "id": 3}, "4.2"),
        ({**PLAIN, "x": 3}, "4.2"),
        ([], "4.2"),
    ):
        (found,) = violations(schema("NewPet"), value, "body")
        assert replace(found, subject="createPet").sentence.section == section


def test_hostile_values_are_validated_fast_and_counted() -> None:
    started = time.process_time()
    found = violations(schema("NewPet"), {f"m{number}": number for number in range(100_000)}, "body")
    assert (len(found), found.omitted) == (MOST_VIOLATIONS, 100_000 + 2 - MOST_VIOLATIONS)
    assert {one.path for one in found} >= {"body.name", "body.categoryId"}
    strings = {"type": "array", "items": {"type": "string"}}
    found = violations(strings, [1] * 200_000, "body.tags")
    assert (len(found), found.omitted > 0) == (MOST_VIOLATIONS, True)
    assert time.process_time() - started < 10  # many times the usual time


def test_a_valid_value_does_not_import_jsonschema() -> None:
    code = (
        "import sys; from petstore_mock.interface import schemas, gaps, openapi\n"
        "assert schemas.is_valid('NewPet')({'name': 'Rex', 'categoryId': 1}); assert 'jsonschema' not in sys.modules\n"
        "schemas.preload_validator(); assert 'jsonschema' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
