"""The schemas are the only source of the rules: the shipped ones are right, and changed ones are followed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from itertools import product
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from petstore_mock import PetStoreMock
from petstore_mock.contract import schemas as schemas_module
from petstore_mock.contract.fast_validator import compile_fast_validator
from petstore_mock.contract.interface import OPERATIONS, PET_STATUSES
from petstore_mock.contract.schema_errors import find_errors, is_plain
from petstore_mock.contract.schemas import (
    SCHEMA_NAMES,
    Schemas,
    assertions_of,
    by_jsonschema,
    default_schemas,
    gather,
    validator_class,
)
from petstore_mock.contract.violations import HugeInteger, JsonNumber, Violation
from petstore_mock.core.self_check import SelfCheckError, check_error
from petstore_mock.messages.request import ApiRequest
from tests import data_cases
from tests.inside.core import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from petstore_mock.messages.response import ApiResponse

SHIPPED = default_schemas().directory


# The shipped ones


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_shipped_schema_is_a_schema_of_2020_12(name: str) -> None:
    document = json.loads((SHIPPED / f"{name}.json").read_text(encoding="utf-8"))
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(document)
    assert default_schemas().documents[name] == document


def test_every_shipped_file_is_known() -> None:
    assert (
        sorted(path.stem for path in SHIPPED.glob("*.json")) == sorted(SCHEMA_NAMES) == data_cases.schemas_with_cases()
    )


def test_pet_statuses_of_the_contract_are_those_of_the_schema() -> None:
    assert list(PET_STATUSES) == default_schemas().documents["PetStatus"]["enum"]


def test_schemas_of_the_operations_exist() -> None:
    for operation in OPERATIONS.values():
        names = {operation.parameters_schema, operation.request_schema or "NewPet", operation.response_schema}
        assert names <= set(SCHEMA_NAMES)


def test_references_are_resolved() -> None:
    pets = default_schemas().resolved["Pets"]
    assert "$ref" not in json.dumps(default_schemas().resolved)
    assert pets["items"]["properties"]["status"]["enum"] == ["available", "pending", "sold"]
    assert pets["items"]["properties"]["status"]["description"] == "Availability status"


CASES = [case for name in SCHEMA_NAMES for case in data_cases.valid(name) + data_cases.invalid(name)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value_breaks_exactly_the_rules_of_its_case(case: data_cases.Case) -> None:
    violations = default_schemas().validate(case.schema, case.value, "body")
    # 1.5 in a data file is a float; a body's number remembers how it was written.
    assert {(one.path, one.rule) for one in violations} == case.broken_at("body")
    assert [one.path for one in violations] == sorted(one.path for one in violations)
    assert len(set(violations)) == len(violations)


MEMBERS = ["id", "name", "categoryId", "status", "limit", "petId", "code", "message", "x"]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 0, 1, 100, 101])
    | st.floats(allow_nan=False)
    | st.sampled_from([JsonNumber("1.0"), HugeInteger("9" * 500)])
    | st.sampled_from(["", "sold", "Rex"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner),
    max_leaves=8,
)


@pytest.mark.untraced
@given(name=st.sampled_from(SCHEMA_NAMES), value=VALUES)
def test_quick_acceptance_and_jsonschema_agree(name: str, value: Any) -> None:  # noqa: ANN401
    """The acceptor says yes only to what jsonschema, with our strict integer, accepts; the judge agrees with both."""
    right = validator_class()(assertions_of(default_schemas().resolved[name])).is_valid(value)
    if default_schemas().fast_validator(name)(value):
        assert right
    assert (default_schemas().validate(name, value, "body") == []) is right


def variants(kind: str, **keywords: Sequence[object]) -> list[dict[str, Any]]:
    """Return the schemas of one type with every combination of ``keywords``, each left out as well."""
    chosen = product(*([None, *values] for values in keywords.values()))
    return [
        {"type": kind} | {name: value for name, value in zip(keywords, values, strict=True) if value is not None}
        for values in chosen
    ]


LEAVES = [
    *variants("integer", minimum=[0], maximum=[0, 1]),
    *variants("string", minLength=[1], maxLength=[1, 2], enum=[["a", "abc"]]),
]
PLAIN_SCHEMAS = [
    *LEAVES,
    *variants("array", items=[*LEAVES, {"type": "array", "items": LEAVES[-1]}]),
    *variants(
        "object",
        properties=[{}, {"name": LEAVES[-1]}, {"name": LEAVES[3], "x": {"type": "object", "required": ["x"]}}],
        required=[[], ["name", "x"]],
        additionalProperties=[True, False],
    ),
    *(assertions_of(schema) for schema in default_schemas().resolved.values()),
]
LEAF_VALUES = [None, True, -1, 0, 1, 2, JsonNumber("1.0"), HugeInteger("9" * 500), "", "a", "ab", "abc"]


@pytest.mark.untraced
@pytest.mark.parametrize("kind", ["integer", "string", "array", "object"])
def test_plain_schema_is_followed_as_jsonschema_follows_it(kind: str) -> None:
    """The same violations, in the same words, by whichever of the two."""
    for schema in PLAIN_SCHEMAS:
        if schema["type"] == kind:
            expect_same_violations(schema)


def expect_same_violations(schema: dict[str, Any]) -> None:
    assert is_plain(schema)
    find_by_jsonschema, accepts = by_jsonschema(schema), compile_fast_validator(schema)
    inner = [{}, *({"name": leaf} for leaf in LEAF_VALUES), *({"x": leaf} for leaf in (1, {}, {"x": 1}))]
    pets = [case.value for name in SCHEMA_NAMES for case in data_cases.invalid(name)]
    for value in [*LEAF_VALUES, *inner, {"name": 5, "x": {}}, *pets, *([leaf, "a"] for leaf in [*LEAF_VALUES, [1]])]:
        found, right = gather(find_errors(schema, value), "body"), gather(find_by_jsonschema(value), "body")
        assert not (right and accepts(value))
        assert [(str(one), one.rule) for one in found] == [(str(one), one.rule) for one in right]


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": ["string", "null"]},
        {"type": "number"},
        {"type": "string", "pattern": "a"},
        {"type": "string", "enum": ["a", 1]},
        {"type": "integer", "multipleOf": 2},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"name": {"const": "Rex"}}},
        {"type": "array", "items": False},
    ],
    ids=str,
)
def test_schema_that_says_more_is_left_to_jsonschema(schema: object) -> None:
    assert not is_plain(schema)


def test_refusals_import_no_jsonschema() -> None:
    """It takes 50 to 200 ms, for which the client would wait."""
    program = """
import sys
from petstore_mock import PetStoreMock
from petstore_mock.messages.request import ApiRequest, RequestFields
petstore = PetStoreMock(api_key="k", self_check=True)
fields = RequestFields([(b"Authorization", b"Bearer k"), (b"Content-Type", b"application/json")])
sent = [("GET", f"/v1/pets{query}", b"") for query in ("", "?limit=0", "?limit=x", "?status=lost", "?state=sold", "/x")]
sent += [("POST", "/v1/pets", body) for body in (b"{", b"[]", b'{"name": 5}', b'{"Name": "x"}', b'{"categoryId": 1e5}')]
for method, target, body in sent:
    assert petstore.host.worlds.handle(ApiRequest(method, target, fields, body)).status in {200, 400, 404}
print("jsonschema" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n"


def test_usual_values_are_accepted_quickly() -> None:
    for name in ("NewPet", "listPets.parameters", "getPet.parameters"):
        accepts = default_schemas().fast_validator(name)
        assert all(accepts(case.value) for case in data_cases.valid(name))
        assert not any(accepts(case.value) for case in data_cases.invalid(name))


# Violations


def test_number_that_is_no_integer_is_not_held_against_bounds() -> None:
    found = default_schemas().validate("NewPet", {"name": "a", "categoryId": JsonNumber("1e30")}, "body")
    assert [(one.path, one.rule) for one in found] == [("body.categoryId", "type")]


@pytest.mark.parametrize("value", [None, 5, ["sold"], JsonNumber("1.5")], ids=str)
def test_value_of_another_type_is_told_once_with_what_it_may_be(value: object) -> None:
    """Not a second time as none of the enumeration, which follows."""
    found = default_schemas().validate("NewPet", {"name": "a", "categoryId": 1, "status": value}, "body")
    assert [(one.path, one.rule, one.expected) for one in found] == [
        ("body.status", "type", "must be a string, one of available, pending, sold")
    ]


def test_bounds_of_a_number_schema_are_judged(tmp_path: Path) -> None:
    schemas = changed(
        tmp_path, "NewPet", lambda doc: doc["properties"].update(weight={"type": "number", "maximum": 9.5})
    )
    found = Schemas(schemas).validate("NewPet", {"name": "a", "categoryId": 1, "weight": JsonNumber("10.5")}, "body")
    assert [str(one) for one in found] == ["body.weight must be at most 9.5, got 10.5 (number)"]


@pytest.mark.parametrize(
    ("keyword", "wanted", "value", "words"),
    [
        ("minLength", 3, "ab", "must have at least 3 characters"),
        ("maxLength", 1, "ab", "must have at most 1 character"),
        ("pattern", "^[A-Z]", "ab", "must match ^[A-Z]"),
        ("const", "Rex", "ab", "must satisfy const Rex"),
        ("enum", ["x", "y"], "ab", "must be one of x, y"),
        ("enum", [None, True, 1, "y"], "ab", "must be one of null, true, 1, y"),
        ("type", "object", "ab", "must be an object"),
        ("type", ["integer", "array", "null"], "ab", "must be an integer or an array or null"),
        ("type", "number", "ab", "must be a number"),
    ],
)
def test_rule_of_a_changed_schema_is_said_in_words(
    tmp_path: Path,
    keyword: str,
    wanted: object,
    value: str,
    words: str,
) -> None:
    schemas = changed(tmp_path, "NewPet", lambda doc: doc["properties"]["name"].update({keyword: wanted}))
    (found,) = Schemas(schemas).validate("NewPet", {"name": value, "categoryId": 1}, "body")
    assert str(found) == f'body.name {words}, got "ab" (string)'


@pytest.mark.parametrize(
    ("keyword", "wanted", "value", "words"),
    [
        ("minimum", 5, 4, "must be at least 5"),
        ("maximum", 5, 6, "must be at most 5"),
        ("exclusiveMinimum", 5, 5, "must be more than 5"),
        ("exclusiveMaximum", 5, 5, "must be less than 5"),
        ("multipleOf", 5, 4, "must be a multiple of 5"),
    ],
)
def test_bound_of_a_changed_schema_is_said_in_words(
    tmp_path: Path, keyword: str, wanted: int, value: int, words: str
) -> None:
    schemas = changed(tmp_path, "NewPet", lambda doc: doc["properties"]["categoryId"].update({keyword: wanted}))
    (found,) = Schemas(schemas).validate("NewPet", {"name": "a", "categoryId": value}, "body")
    assert str(found) == f"body.categoryId {words}, got {value} (integer)"


# Changed copies


def changed(tmp_path: Path, name: str, change: Callable[[dict[str, Any]], object]) -> Path:
    directory = tmp_path / "schemas"
    if not directory.exists():
        shutil.copytree(SHIPPED, directory)
    path = directory / f"{name}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    return directory


def call(petstore: PetStoreMock, method: str, target: str, body: bytes = b"") -> ApiResponse:
    fields = [(b"Authorization", f"Bearer {petstore.api_key}".encode()), (b"Content-Type", b"application/json")]
    return whole(petstore.host.worlds.handle(ApiRequest(method, target, fields, body)))


def test_self_check_holds_the_status_of_an_error_against_that_of_http() -> None:
    petstore = PetStoreMock(self_check=True)
    response = call(petstore, "GET", "/v1/pets/1")
    check_error(petstore.tenant.world, response)
    response.body = response.body.replace(b'"status":404', b'"status":400')
    with pytest.raises(SelfCheckError, match="the fake answered 404 with status 400 in its body"):
        check_error(petstore.tenant.world, response)


def test_self_check_holds_answers_against_the_schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = changed(tmp_path, "Pet", lambda doc: doc["properties"]["id"].update(maximum=1))
    monkeypatch.setattr("petstore_mock.mock.petstore.default_schemas", lambda: Schemas(directory))
    petstore = PetStoreMock(self_check=True)
    assert call(petstore, "POST", "/v1/pets", b'{"name":"Rex","categoryId":1}').status == 201
    assert call(petstore, "POST", "/v1/pets", b'{"name":"Rex","categoryId":1}').status == 500
    with pytest.raises(AssertionError, match=r"the fake answered 201 with answer\.id must be at most 1, got 2"):
        petstore.verify()


def test_reference_to_any_schema_is_followed(tmp_path: Path) -> None:
    def refer(doc: dict[str, Any]) -> None:
        doc["allOf"] = [{"maxProperties": 3}]
        doc["properties"] |= {
            "tag": {"$ref": "NewPet.json#/allOf/0"},
            "any": {"$ref": "NewPet.json#/additionalProperties"},
            "note": {"$ref": "Error.json#/properties/code", "maxLength": 3},
            "more": {"$ref": "Error.json#/$defs/all"},
            "odd": {"$ref": "Error.json#/$defs/a~1b~0c"},
        }

    changed(tmp_path, "NewPet", refer)
    directory = changed(tmp_path, "Error", lambda doc: doc.update({"$defs": {"all": True, "a/b~c": {"maxLength": 2}}}))
    schemas = Schemas(directory)
    properties = schemas.properties("NewPet")
    assert properties["tag"] == {"maxProperties": 3}
    assert properties["any"] == {"not": {}}
    assert properties["more"] == {}
    assert properties["odd"] == {"maxLength": 2}
    assert properties["note"]["maxLength"] == 3
    found = schemas.validate("NewPet", {"name": "a", "any": 1, "categoryId": 1}, "body")
    assert [(one.path, one.rule) for one in found] == [("body.any", "not")]


def test_repr_names_the_directory() -> None:
    assert repr(default_schemas()) == f"<Schemas {SHIPPED}>"


def test_unknown_members_beyond_a_thousand_are_only_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a violation costs more than decoding a member does; what is wrong beside them is told all the same."""
    made = Mock(wraps=Violation)
    monkeypatch.setattr(schemas_module, "Violation", made)
    found = default_schemas().validate(
        "NewPet", {"categoryId": "1"} | {f"a{number}": 1 for number in range(3000)}, "body"
    )
    assert {"body.categoryId", "body.name"} <= {one.path for one in found}
    assert (len(found), found.omitted) == (1000, 2002)
    assert made.call_count == 1000
    assert found == sorted(found, key=lambda one: (one.path, one.rule))


def test_unknown_members_of_one_shortened_name_are_told_once() -> None:
    found = default_schemas().validate("NewPet", {"name": "a", "categoryId": 1, "x" * 70: 1, "x" * 80: 1}, "body")
    assert [one.path for one in found] == [f"body.{'x' * 60}..."]


@pytest.mark.parametrize(
    ("keywords", "member", "told"),
    [
        ({"additionalProperties": {"type": "string"}}, {"x": "a"}, []),
        ({"additionalProperties": {"type": "string"}}, {"x": 1}, [("body.x", "type")]),
        ({"additionalProperties": True}, {"x": 1}, []),
        ({"patternProperties": {"^x": {}}}, {"x": 1}, []),
        ({"patternProperties": {"^x": {}}}, {"y": 1}, [("body.y", "additionalProperties")]),
    ],
)
def test_members_that_a_changed_schema_admits_pass(
    tmp_path: Path, keywords: dict[str, Any], member: dict[str, Any], told: list[tuple[str, str]]
) -> None:
    schemas = Schemas(changed(tmp_path, "NewPet", lambda doc: doc.update(keywords)))
    found = schemas.validate("NewPet", {"name": "a", "categoryId": 1, **member}, "body")
    assert [(one.path, one.rule) for one in found] == told
