"""The schemas are the only source of the rules: shipped ones are right, changed copies are followed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from petstore_mock import PetStoreMock, PetStoreMockError
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


def test_service_follows_changed_bounds_of_limit(tmp_path: Path) -> None:
    directory = changed(
        tmp_path, "listPets.parameters", lambda doc: doc["properties"]["limit"].update(minimum=2, maximum=5, default=3)
    )
    petstore = PetStoreMock(schemas=directory, seed=10, self_check=True)
    assert len(json.loads(call(petstore, "GET", "/v1/pets").body)) == 3
    assert len(json.loads(call(petstore, "GET", "/v1/pets?limit=5").body)) == 5
    assert call(petstore, "GET", "/v1/pets?limit=6").status == 400
    assert call(petstore, "GET", "/v1/pets?limit=1").status == 400
    petstore.configure(invalid_limit="clamp")
    assert len(json.loads(call(petstore, "GET", "/v1/pets?limit=100").body)) == 5
    assert len(json.loads(call(petstore, "GET", "/v1/pets?limit=0").body)) == 2
    petstore.configure(invalid_limit="ignore")
    assert len(json.loads(call(petstore, "GET", "/v1/pets?limit=0").body)) == 3
    assert call(PetStoreMock(), "GET", "/v1/pets?limit=6").status == 200
    petstore.configure(paging_headers="next_link")
    assert (call(petstore, "GET", "/v1/pets").head.get("Link") or "").endswith(', </v1/pets?limit=5>; rel="next"')


def test_service_follows_a_changed_body(tmp_path: Path) -> None:
    directory = changed(tmp_path, "NewPet", lambda doc: doc["properties"]["name"].update(maxLength=3))
    petstore = PetStoreMock(schemas=directory, self_check=True)
    assert call(petstore, "POST", "/v1/pets", b'{"name":"Rexy","categoryId":1}').status == 400
    assert call(petstore, "POST", "/v1/pets", b'{"name":"Rex","categoryId":1}').status == 201
    with pytest.raises(PetStoreMockError, match="at most 3 characters"):
        petstore.seed(name="Rexy")


def test_service_follows_a_further_status(tmp_path: Path) -> None:
    directory = changed(tmp_path, "PetStatus", lambda doc: doc["enum"].extend(["lost", "first"]))
    petstore = PetStoreMock(schemas=directory, self_check=True)
    pet = petstore.seed({"status": "lost"})
    assert json.loads(call(petstore, "GET", "/v1/pets?status=lost").body) == [pet]
    assert call(petstore, "GET", "/v1/pets?status=found").status == 400
    petstore.configure(paging_headers="next_link")
    petstore.seed_many({"status": "first"} for _ in range(2))
    link = call(petstore, "GET", "/v1/pets?limit=1&status=first").head.get("Link")
    assert (link or "").endswith(', </v1/pets?limit=100&status=first>; rel="next"')


def test_service_follows_a_further_field(tmp_path: Path) -> None:
    changed(tmp_path, "NewPet", lambda doc: doc["properties"].update(tag={"type": "string"}))
    directory = changed(tmp_path, "Pet", lambda doc: doc["properties"].update(tag={"type": "string"}))
    petstore = PetStoreMock(schemas=directory, self_check=True)
    answer = call(petstore, "POST", "/v1/pets", b'{"tag":"x","name":"Rex","categoryId":1}')
    assert json.loads(answer.body) == {"id": 1, "name": "Rex", "categoryId": 1, "tag": "x"}
    assert petstore.pets == [json.loads(answer.body)]


@pytest.mark.parametrize("behaviour", ["strict", "lenient"])
def test_service_follows_what_is_required_no_longer(tmp_path: Path, behaviour: str) -> None:
    changed(tmp_path, "NewPet", lambda doc: doc.update(required=[]))
    directory = changed(tmp_path, "Pet", lambda doc: doc.update(required=["id"]))
    petstore = PetStoreMock(schemas=directory, behaviour=behaviour, self_check=True)
    petstore.configure(name_rule="non_empty", category_rule="positive")
    assert json.loads(call(petstore, "POST", "/v1/pets", b"{}").body) == {"id": 1}
    petstore.verify()


def test_service_follows_a_field_that_may_be_anything(tmp_path: Path) -> None:
    changed(tmp_path, "listPets.parameters", lambda doc: doc["properties"].update(debug=True, never=False))
    directory = changed(tmp_path, "NewPet", lambda doc: doc["properties"].update(note=True, never=False))
    petstore = PetStoreMock(schemas=directory, self_check=True)
    answer = call(petstore, "POST", "/v1/pets", b'{"name":"Rex","categoryId":1,"note":[1.5,{}]}')
    assert (answer.status, json.loads(answer.body)["note"]) == (201, [1.5, {}])
    assert call(petstore, "POST", "/v1/pets", b'{"name":"Rex","categoryId":1,"never":1}').status == 400
    assert call(petstore, "GET", "/v1/pets?debug=x&limit=1").status == 200
    assert call(petstore, "GET", "/v1/pets?never=x").status == 400


def test_service_follows_a_rule_for_the_whole_query(tmp_path: Path) -> None:
    directory = changed(tmp_path, "listPets.parameters", lambda doc: doc.update(maxProperties=1))
    petstore = PetStoreMock(schemas=directory, self_check=True, behaviour="lenient")
    assert call(petstore, "GET", "/v1/pets?limit=5").status == 200
    answer = call(petstore, "GET", "/v1/pets?limit=5&status=sold")
    assert answer.status == 400
    assert "query must satisfy maxProperties 1" in json.loads(answer.body)["message"]


@pytest.mark.parametrize("behaviour", ["strict", "lenient"])
@pytest.mark.parametrize(("missing", "query"), [("status", ""), ("status", "?limit=1"), ("limit", ""), ("limit", "?&")])
def test_service_follows_a_required_parameter(tmp_path: Path, missing: str, query: str, behaviour: str) -> None:
    """No behaviour makes up for it either: the gaps are about invalid values, and here is none."""
    directory = changed(tmp_path, "listPets.parameters", lambda doc: doc.update(required=[missing]))
    petstore = PetStoreMock(schemas=directory, self_check=True, behaviour=behaviour)
    answer = call(petstore, "GET", f"/v1/pets{query}")
    assert (answer.status, [str(one) for one in petstore.journal.last.violations]) == (
        400,
        [f"query.{missing} is required and missing"],
    )
    assert call(petstore, "GET", "/v1/pets?limit=1&status=sold").status == 200
    petstore.verify()


def test_service_follows_a_required_parameter_of_any_operation(tmp_path: Path) -> None:
    def require(doc: dict[str, Any]) -> None:
        doc["properties"]["mode"] = {"enum": ["dry", "wet"]}
        doc["required"] = [*doc.get("required", []), "mode"]

    changed(tmp_path, "createPet.parameters", require)
    directory = changed(tmp_path, "getPet.parameters", require)
    petstore = PetStoreMock(schemas=directory, self_check=True, seed=1)
    body = b'{"name":"Rex","categoryId":1}'
    assert call(petstore, "POST", "/v1/pets?mode=dry", body).status == 201
    assert call(petstore, "GET", "/v1/pets/1?mode=wet").status == 200
    assert call(petstore, "GET", "/v1/pets/x?mode=wet").status == 404
    for method, target in (("POST", "/v1/pets"), ("GET", "/v1/pets/1")):
        answer = call(petstore, method, target, body)
        assert answer.status == 400
        assert "query.mode is required and missing" in json.loads(answer.body)["message"]


def test_filter_by_an_empty_status_is_no_missing_filter(tmp_path: Path) -> None:
    directory = changed(tmp_path, "PetStatus", lambda doc: doc["enum"].append(""))
    petstore = PetStoreMock(schemas=directory, self_check=True, seed=3)
    pet = petstore.seed({"status": ""})
    assert json.loads(call(petstore, "GET", "/v1/pets?status=").body) == [pet]
    petstore.configure(invalid_status_filter="ignore")
    assert len(json.loads(call(petstore, "GET", "/v1/pets?status=lost").body)) == 4


@pytest.mark.parametrize("value", ["1e400", "-1e400", "1" * 500])
def test_number_that_no_answer_can_bear_is_refused_whatever_the_schema_allows(tmp_path: Path, value: str) -> None:
    directory = changed(tmp_path, "NewPet", lambda doc: doc["properties"].update(categoryId={"type": "number"}))
    changed(tmp_path, "Pet", lambda doc: doc["properties"].update(categoryId={"type": "number"}))
    petstore = PetStoreMock(schemas=directory, self_check=True)
    answer = call(petstore, "POST", "/v1/pets", b'{"name":"Rex","categoryId":%b}' % value.encode())
    assert answer.status == 400
    assert "body.categoryId must be within the range of a double" in json.loads(answer.body)["message"]
    petstore.verify()


@pytest.mark.parametrize(
    ("rule", "tags", "places"),
    [
        (True, "[1e400]", ["body.tags.0"]),
        (True, "[1, %s]" % ("9" * 500), ["body.tags.1"]),
        (True, '{"a": [true, {"b": -1e999}], "c": 1e400}', ["body.tags.a.1.b", "body.tags.c"]),
        ({"type": ["object", "array"]}, '{"a": 1e400}', ["body.tags.a"]),
        ({"type": "object"}, '{"a": 1e400, "b": [%s]}' % ("9" * 500), ["body.tags.a", "body.tags.b.0"]),
    ],
)
def test_number_that_no_answer_can_bear_is_refused_however_deep(
    tmp_path: Path, rule: object, tags: str, places: list[str]
) -> None:
    changed(tmp_path, "NewPet", lambda doc: doc["properties"].update(tags=rule))
    directory = changed(tmp_path, "Pet", lambda doc: doc["properties"].update(tags=rule))
    petstore = PetStoreMock(schemas=directory, self_check=True)
    body = '{"name":"Rex","categoryId":1,"tags":%s}'
    answer = call(petstore, "POST", "/v1/pets", (body % tags).encode())
    assert answer.status == 400
    assert [(one.path, one.rule) for one in petstore.journal.last.violations] == [(place, "double") for place in places]
    answer = call(petstore, "POST", "/v1/pets", (body % f'{{"a": [{"9" * 300}, 1.5]}}').encode())
    assert json.loads(answer.body)["tags"] == {"a": [int("9" * 300), 1.5]}, "what can be said again is"
    petstore.verify()


def test_numbers_that_no_answer_can_bear_are_counted_beyond_a_thousand(tmp_path: Path) -> None:
    directory = changed(tmp_path, "NewPet", lambda doc: doc["properties"].update(tags={"type": "array"}))
    petstore = PetStoreMock(schemas=directory, self_check=True)
    tags = ",".join(["1e400"] * 3000)
    assert (
        call(petstore, "POST", "/v1/pets", b'{"name":"Rex","categoryId":1,"tags":[%b]}' % tags.encode()).status == 400
    )
    entry = petstore.journal.last
    assert (len(entry.violations), entry.omitted) == (1000, 2000)


@pytest.mark.parametrize(
    ("number", "right"),
    [("1e400", False), ("-1e400", False), ("1" * 350, True), ("1" * 351, True), ("1" * 500, False), ("7.5", True)],
)
@pytest.mark.parametrize("step", [0.25, 0.5])
def test_multiple_of_a_fraction_is_told_of_any_number(tmp_path: Path, number: str, step: float, right: bool) -> None:
    directory = changed(
        tmp_path, "NewPet", lambda doc: doc["properties"].update(weight={"type": "number", "multipleOf": step})
    )
    petstore = PetStoreMock(schemas=directory)
    answer = call(petstore, "POST", "/v1/pets", b'{"name":"Rex","categoryId":1,"weight":%b}' % number.encode())
    assert answer.status == (201 if right else 400)
    assert right or "body.weight" in json.loads(answer.body)["message"]


def test_large_integer_that_is_no_multiple_is_refused(tmp_path: Path) -> None:
    weight = {"type": "number", "multipleOf": 0.75}
    schemas = Schemas(changed(tmp_path, "NewPet", lambda doc: doc["properties"].update(weight=weight)))
    found = schemas.validate("NewPet", {"name": "a", "categoryId": 1, "weight": 10**350}, "body")
    assert [(one.path, one.rule) for one in found] == [("body.weight", "multipleOf")]


def test_identifier_of_a_schema_without_bounds_is_that_which_was_asked_for(tmp_path: Path) -> None:
    changed(tmp_path, "Pet", lambda doc: doc["properties"].update(id={"type": "integer"}))
    directory = changed(tmp_path, "getPet.parameters", lambda doc: doc["properties"].update(petId={"type": "integer"}))
    petstore = PetStoreMock(schemas=directory, self_check=True)
    pet = petstore.seed(id=10**30)
    petstore.seed(id=10**400)
    assert json.loads(call(petstore, "GET", f"/v1/pets/{10**30}").body) == pet
    assert call(petstore, "GET", f"/v1/pets/{10**30 + 1}").status == 404
    answer = call(petstore, "GET", f"/v1/pets/{'9' * 500}")
    assert answer.status == 404
    assert "path.petId must be within the range of a double" in json.loads(answer.body)["message"]


def test_animals_without_a_name_that_is_text_are_listed_by_name_first(tmp_path: Path) -> None:
    for name in ("NewPet", "Pet"):
        directory = changed(tmp_path, name, lambda doc: doc.update(required=[]))
    directory = changed(tmp_path, "NewPet", lambda doc: doc["properties"].update(name={"type": ["string", "integer"]}))
    petstore = PetStoreMock(schemas=directory, self_check=True)
    petstore.configure(list_order="by_name")
    for body in (b'{"name":"Tom"}', b'{"name":5}', b"{}", b'{"name":"Rex"}'):
        assert call(petstore, "POST", "/v1/pets", body).status == 201
    assert [pet["id"] for pet in json.loads(call(petstore, "GET", "/v1/pets").body)] == [2, 3, 4, 1]
    petstore.verify()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (["\ud800"], "must not hold a lone surrogate"),
        ("\ud800", "must not hold a lone surrogate"),
        ([float("inf")], "must be a JSON value; Out of range"),
        (object(), "must be a JSON value; Object of type object"),
        (10**5000, "must be a JSON value; Exceeds the limit"),
    ],
    ids=["surrogate inside", "surrogate", "infinite", "object", "huge"],
)
def test_seed_that_no_json_can_hold_is_refused_whatever_the_schema_allows(
    tmp_path: Path, value: object, words: str
) -> None:
    directory = changed(tmp_path, "Pet", lambda doc: doc["properties"].update(tag=True))
    petstore = PetStoreMock(schemas=directory)
    pet = petstore.seed({"tag": [1.5, {"a": None}]})
    with pytest.raises(PetStoreMockError, match=rf"seed\.tag {words}"):
        petstore.seed({"tag": value})
    with pytest.raises(PetStoreMockError, match=rf"update\.tag {words}"):
        petstore.update(pet["id"], tag=value)  # type: ignore[call-arg]  # a field of the schemas' own
    assert petstore.pets == [pet]


def test_plausible_animals_that_a_changed_schema_does_not_allow_are_refused(tmp_path: Path) -> None:
    directory = changed(tmp_path, "PetStatus", lambda doc: doc.update(enum=["here", "gone"]))
    with pytest.raises(PetStoreMockError, match=r"seed_many\.status must be one of here, gone"):
        PetStoreMock(schemas=directory, seed=3)


def test_self_check_holds_the_status_of_an_error_against_that_of_http() -> None:
    petstore = PetStoreMock(self_check=True)
    response = call(petstore, "GET", "/v1/pets/1")
    check_error(petstore.tenant.world, response)
    response.body = response.body.replace(b'"status":404', b'"status":400')
    with pytest.raises(SelfCheckError, match="the fake answered 404 with status 400 in its body"):
        check_error(petstore.tenant.world, response)


def test_self_check_holds_answers_against_the_schemas(tmp_path: Path) -> None:
    directory = changed(tmp_path, "Pet", lambda doc: doc["properties"]["id"].update(maximum=1))
    petstore = PetStoreMock(schemas=directory, self_check=True)
    assert call(petstore, "POST", "/v1/pets", b'{"name":"Rex","categoryId":1}').status == 201
    assert call(petstore, "POST", "/v1/pets", b'{"name":"Rex","categoryId":1}').status == 500
    with pytest.raises(AssertionError, match=r"the fake answered 201 with answer\.id must be at most 1, got 2"):
        petstore.verify()


# Directories that can't be right


def test_missing_schema_is_named(tmp_path: Path) -> None:
    directory = changed(tmp_path, "Pet", lambda _doc: None)
    (directory / "Error.json").unlink()
    with pytest.raises(PetStoreMockError, match=r"Error\.json; No such file"):
        PetStoreMock(schemas=directory)
    with pytest.raises(PetStoreMockError, match="Not a directory"):
        PetStoreMock(schemas=Path(__file__))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "expected JSON in"),
        ("[]", "expected a JSON object in"),
        ('{"type": "nothing"}', "2020-12"),
        ('{"maximum": "5"}', r"at \$\.maximum"),
        ('{"$ref": "Nothing.json"}', "got 'Nothing.json'"),
        ('{"$defs": {"a": {}}, "$ref": "#/$defs/a"}', "as 'NewPet.json' or 'NewPet.json#/properties/name'; got '#/"),
        ('{"$ref": "Pet.json#/properties/nothing"}', "got 'Pet.json#/properties/nothing'"),
        (
            '{"$ref": "Error.json#/required/0"}',
            "'\\$ref' in NewPet.json to name a schema .* got 'Error.json#/required/0'",
        ),
        ('{"$ref": "Error.json#/required/9"}', "got 'Error.json#/required/9'"),
        ('{"$ref": "Error.json#/required/x"}', "got 'Error.json#/required/x'"),
        ('{"$ref": "Error.json#/title/x"}', "got 'Error.json#/title/x'"),
        (
            '{"$ref": "NewPet.json"}',
            "'\\$ref' in NewPet.json not to lead back .* got NewPet.json -> NewPet.json: write",
        ),
        (
            '{"properties": {"name": {"$ref": "Pet.json#/properties/name"}}}',
            r"in \w+.json not .*got (\w+.json -> )+Pet.json#/properties/name -> NewPet.json#/properties/name -> Pet",
        ),
        (
            '{"properties": {"a": {"$ref": "NewPet.json#/properties/a"}}}',
            "-> NewPet.json#/properties/a -> NewPet.json#",
        ),
        ('{"$dynamicRef": "#here"}', "NewPet.json to refer by '\\$ref'; got '\\$dynamicRef'"),
        ('{"enum": ["\\ud800"]}', "NewPet.json to hold .* without lone surrogates"),
        ('{"maximum": 1e400}', "NewPet.json to hold only numbers within the range of a double"),
        ('{"maximum": NaN}', "NewPet.json to hold only numbers within the range of a double"),
        ('{"not":' * 300 + "{}" + "}" * 300, "NewPet.json to nest less deep"),
        ("[" * 100_000, "NewPet.json to nest less deep"),
    ],
)
def test_broken_schema_is_refused_at_once(tmp_path: Path, text: str, words: str) -> None:
    directory = changed(tmp_path, "Pet", lambda _doc: None)
    (directory / "NewPet.json").write_text(text, encoding="utf-8")
    with pytest.raises(PetStoreMockError, match=words):
        PetStoreMock(schemas=directory)


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


LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (True, "'limit' of listPets.parameters.json to have a minimum, a maximum and a default .* got True"),
        ({"type": "integer", "minimum": 1, "maximum": 5}, "a minimum, a maximum and a default"),
        ({"type": "integer", "minimum": 1, "default": 5}, "a minimum, a maximum and a default"),
        ({"type": "integer", "default": 1, "maximum": 5}, "a minimum, a maximum and a default"),
        (LIMIT | {"type": "number"}, "to have the type integer .* got {'type': 'number'"),
        (LIMIT | {"type": "string"}, "to have the type integer .* got {'type': 'string'"),
        (LIMIT | {"type": ["integer", "string"]}, "to have the type integer"),
        (LIMIT | {"default": "20"}, "'limit.default' of listPets.parameters.json to be an integer .* got '20'"),
        (LIMIT | {"maximum": 99.5}, "'limit.maximum' .* to be an integer .* got 99.5"),
        (LIMIT | {"minimum": -1}, "to have 0 <= minimum <= default <= maximum"),
        (
            LIMIT | {"default": 3000},
            "minimum <= default <= maximum .* got {'minimum': 1, 'default': 3000, 'maximum': 100}",
        ),
        (LIMIT | {"default": 0}, "minimum <= default"),
        (LIMIT | {"maximum": 10**30}, "maximum <= 2147483647"),
    ],
)
def test_limit_that_the_service_could_not_follow_is_refused(tmp_path: Path, limit: object, words: str) -> None:
    directory = changed(tmp_path, "listPets.parameters", lambda doc: doc["properties"].update(limit=limit))
    with pytest.raises(PetStoreMockError, match=words):
        PetStoreMock(schemas=directory)


def test_limit_that_is_not_there_is_refused(tmp_path: Path) -> None:
    directory = changed(tmp_path, "listPets.parameters", lambda doc: doc["properties"].pop("limit"))
    with pytest.raises(PetStoreMockError, match=r"'limit' of listPets.parameters.json .* got none"):
        PetStoreMock(schemas=directory)


@pytest.mark.parametrize(
    ("name", "member", "schema", "words"),
    [
        ("getPet.parameters", "petId", {"type": "string"}, "to have the type integer, as the store's ids are"),
        ("getPet.parameters", "petId", {}, "to have the type integer"),
        ("Pet", "id", {"type": "string"}, "to have the type integer, as the store's ids are"),
        ("Pet", "id", True, "to have the type integer"),
        ("NewPet", "id", {"type": "integer"}, "not to be there: the service assigns it"),
        ("Pet", "status", {"type": "array"}, "to be a string, or null, and nothing else"),
        ("NewPet", "status", True, "to be a string, or null, and nothing else"),
        ("NewPet", "status", {"enum": ["sold", 5]}, "to be a string, or null, and nothing else"),
        ("NewPet", "status", {"anyOf": [{"type": "string"}, {"const": {}}]}, "to be a string, or null"),
        ("listPets.parameters", "status", {"type": "integer"}, "to be a string"),
        ("listPets.parameters", "flag", {"type": "boolean"}, "to have the type string or integer"),
        ("createPet.parameters", "weight", {"enum": [1.5]}, "to have the type string or integer"),
    ],
)
def test_member_that_the_service_could_not_follow_is_refused(
    tmp_path: Path, name: str, member: str, schema: object, words: str
) -> None:
    directory = changed(tmp_path, name, lambda doc: doc["properties"].update({member: schema}))
    with pytest.raises(PetStoreMockError, match=f"'{member}' of {name}.json {words}.*; got") as caught:
        PetStoreMock(schemas=directory)
    assert str(schema) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("NewPet", {"type": ["string", "null"]}),
        ("NewPet", {"allOf": [{"$ref": "PetStatus.json"}]}),
        ("Pet", {"anyOf": [{"$ref": "PetStatus.json"}, {"const": None}]}),
        ("Pet", {"oneOf": [{"enum": ["available", None]}, False]}),
        ("listPets.parameters", {"allOf": [{"$ref": "PetStatus.json"}]}),
        ("listPets.parameters", {}),
        ("listPets.parameters", {"type": ["string", "integer"]}),
    ],
)
def test_status_of_a_changed_schema_is_followed(tmp_path: Path, name: str, schema: dict[str, Any]) -> None:
    directory = changed(tmp_path, name, lambda doc: doc["properties"].update(status=schema))
    petstore = PetStoreMock(schemas=directory, self_check=True)
    pet = petstore.seed(status="available")
    assert json.loads(call(petstore, "GET", "/v1/pets?status=available").body) == [pet]


@pytest.mark.parametrize(
    ("name", "edit", "words"),
    [
        ("NewPet", lambda doc: doc.pop("type"), "NewPet.json to have the type object .* got {"),
        ("Pet", lambda doc: doc.update(type=["object", "null"]), "Pet.json to have the type object"),
        ("NewPet", lambda doc: doc.pop("properties"), "NewPet.json to have its fields in 'properties'"),
        ("Pet", lambda doc: doc.pop("properties"), "'id' of Pet.json .* got none"),
    ],
)
def test_animal_that_the_service_could_not_follow_is_refused(
    tmp_path: Path, name: str, edit: Callable[[dict[str, Any]], object], words: str
) -> None:
    changed(tmp_path, "Pet", lambda doc: doc.update(properties={"id": doc["properties"]["id"]}))  # no references
    directory = changed(tmp_path, name, edit)
    with pytest.raises(PetStoreMockError, match=words):
        PetStoreMock(schemas=directory)


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
