"""Checks that the table, the schemas, the gaps and the kinds of values agree. The core runs them at its import.

A mistake in a row is reported with a sentence before the first request, not as a wrong response later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.refusing import refuse
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.kinds import allows_null, kind_of, quick
from petstore_mock.interface.policies import Policies
from petstore_mock.interface.schemas import names, parameters, properties, schema, violations
from petstore_mock.interface.table import ANIMAL, FIELDS, MEMBERS, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from petstore_mock.interface.table import Field, Operation, Parameter

_TURNS: Final = 3  # the samples of a field are used again, in a form that depends on the turn


def require_agreement() -> None:
    """Refuse rows that contradict each other.

    Raises:
        PetStoreMockError: the message names the row, what it needs, and what it has.
    """
    _require_same(properties(ANIMAL), FIELDS, f"the fields of the table, and the properties of {ANIMAL}.json")
    for field in FIELDS.values():
        _require_samples(field, properties(ANIMAL)[field.name])
    _require_no_null(ANIMAL)
    for operation in OPERATIONS.values():
        _require_operation(operation)
    _require_used_gaps()
    in_code = [gap.name for gap in GAPS.values() if not gap.decides]
    _require_same(in_code, Policies.__annotations__, "the gaps that no row uses, and the members of Policies")


def _require_same(left: Iterable[str], right: Iterable[str], what: str) -> None:
    differing = sorted({*left} ^ {*right})
    if differing:
        refuse(f"expected the same names in {what}; got {', '.join(differing)} in one of them")


def _require_samples(field: Field, rules: Mapping[str, Any]) -> None:
    if not field.samples and not field.is_assigned:
        refuse(f"the field {field.name}: expected samples, which generated animals take; got none")
    for turn in range(_TURNS):
        for sample in field.samples:
            value = kind_of(rules).numbered(sample, turn) if turn else sample
            _require_valid(rules, value, f"a sample of the field {field.name}, in turn {turn + 1}")


def _require_valid(rules: Mapping[str, Any], value: object, what: str) -> None:
    # jsonschema takes 80 ms to import, so it decides only about values that the quick check can't judge.
    if quick(rules)(value):
        return
    broken = violations(rules, value, what)
    if broken:
        refuse(f"expected {broken[0]}")


def _require_operation(operation: Operation) -> None:
    _require_schemas(operation)
    given = [parameter.name for parameter in operation.parameters]
    schema_file = f"schemas/{operation.parameters_schema}.json"
    _require_same(given, parameters(operation), f"the parameters of {operation.name}, and {schema_file}")
    segments = operation.path.split("/")
    in_template = [segment[1:-1] for segment in segments if segment.startswith("{")]
    in_path = [parameter.name for parameter in operation.parameters_in("path")]
    _require_same(in_template, in_path, f"the path of {operation.name}, and its path parameters")
    for parameter in operation.parameters:
        _require_parameter(operation, parameter)


def _require_schemas(operation: Operation) -> None:
    known = names()
    for name in (operation.parameters_schema, operation.body, operation.response):
        if name is not None and name not in known:
            refuse(f"{operation.name}: expected a file schemas/{name}.json; got none")
    if operation.body is not None:
        _require_no_null(operation.body)
        own = [member.name for member in operation.members]
        others = properties(operation.body).keys() - FIELDS.keys()
        _require_same(others, own, f"the members of {operation.name} that are no fields, and {operation.body}.json")
        for member in operation.members:
            if MEMBERS[member.name] != member:
                refuse(f"the member {member.name}: expected the same row for each operation; got two different ones")
            _require_samples(member, properties(operation.body)[member.name])
    if operation.shows_many:
        _require_kind(operation, schema(str(operation.response)), "array")


def _require_no_null(name: str) -> None:
    """Refuse null for a field of an animal: the store removes a field that changes to null."""
    for field in properties(name).keys() & FIELDS.keys():
        if allows_null(properties(name)[field]):
            refuse(f"the field {field} in {name}.json: expected a type without null; got {properties(name)[field]}")


def _require_kind(operation: Operation, rules: Mapping[str, Any], kind: str) -> None:
    if kind_of(rules).name != kind:
        refuse(
            f"{operation.name}: expected a response of the kind {kind}; got {operation.response}, {rules.get('type')}"
        )


def _require_parameter(operation: Operation, parameter: Parameter) -> None:
    what = f"the parameter {parameter.name} of {operation.name}"
    if parameter.gap is not None and parameter.gap not in GAPS:
        refuse(f"{what}: expected a gap of interface/gaps.py; got {parameter.gap}")
    if parameter.where == "path" and parameter.gap is None:
        refuse(f"{what}: expected a gap, which decides about a malformed value in a path; got none")
    field = parameter.filters_by or parameter.sets
    if not field:
        return
    if field not in FIELDS:
        refuse(f"{what}: expected a field of the table to filter by or to set; got {field}")
    if operation.does.keeps is not parameter.says.sets:
        advice = "relation='sets' for creates and changes, and a filter for others"
        refuse(f"{what}: expected {advice}; got {parameter.relation} for {operation.effect}")
    kind = kind_of(properties(ANIMAL)[field])
    relation = parameter.says
    if relation.is_ordered and kind.order is None:
        refuse(f"{what}: expected a field whose kind has an order, for {relation.name}; got {field}, {kind.name}")
    if relation.filters and relation.of_items is not (kind.name == "array"):
        refuse(f"{what}: expected contains for an array, and another relation for other kinds; got {relation.name}")


def _require_used_gaps() -> None:
    """Each gap about an invalid value needs a parameter that it decides about."""
    named = {parameter.gap for operation in OPERATIONS.values() for parameter in operation.parameters}
    for gap in GAPS.values():
        if gap.field and gap.field not in FIELDS:
            refuse(f"the gap {gap.name}: expected a field of the table; got {gap.field}")
        if gap.decides == "parameter" and gap.name not in named:
            refuse(f"the gap {gap.name}: expected a parameter with gap={gap.name!r}; got none, so it has no effect")
