"""JSON Schemas of the door: of the types that verbs have for arguments and results, and of what types can't say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.core.options import WorldOptions, options_at
from petstore_mock.faults.fault import schema_of as fault_schema
from petstore_mock.faults.kinds import KINDS
from petstore_mock.interface import schemas
from petstore_mock.interface.behaviour import gap_register
from petstore_mock.interface.gaps import GAPS, PRESETS
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.journal.criteria import GENERAL
from petstore_mock.journal.har import har_document
from petstore_mock.journal.outcomes import Coverage
from petstore_mock.verbs.verb import Keywords, Nothing, Origin, WorldName

if TYPE_CHECKING:
    from petstore_mock.verbs import Verb

Schema = dict[str, Any]

REF: Final = "#/components/schemas/"
_PLAIN: Final[Mapping[object, str]] = {
    NoneType: "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
}
_OF_TYPES: Final = frozenset({Union, UnionType, list, dict, Mapping})
_IN_PATH: Final = re.compile(r"\{(\w+)\}")
# Types that only a type checker imports.
_UNTOLD: Final[Mapping[str, Any]] = dict.fromkeys(("Behaviour", "date", "datetime"), object)
_CHECKED_BY_CORE: Final = frozenset({"Fault", "Criteria"})  # its words are better than those for a union of forms


@dataclass(frozen=True, slots=True)
class Shape:
    """What a request for a verb may say, and what it gets."""

    path: Mapping[str, Schema]
    query: Schema
    body: Schema | None
    carried: frozenset[str]  # the arguments that the carrier adds
    result: Schema


@cache
def shape_of(verb: Verb) -> Shape:
    """Return the shape of a verb, from the annotations of its function."""
    hints = get_type_hints(verb.function, include_extras=True)
    result = hints.pop("return")
    arguments: Any = [*hints.values()][-1]
    members, said = _members(arguments)
    optional = said | arguments.__optional_keys__
    carried = frozenset(name for name, hint in members.items() if hint in {Origin, WorldName})
    told = {name: schema(hint) for name, hint in members.items() if name not in carried and not _is_function(hint)}
    path = {name: told.pop(name) for name in _IN_PATH.findall(verb.path)}
    body = told.pop(verb.body) if verb.body else None
    if body is None and verb.method not in {"GET", "DELETE"} and arguments is not Nothing:
        body, told = _object(told, optional, closed=True), {}
    return Shape(path, _object(told, optional, closed=True), body, carried, schema(result, closed=False))


def _members(kind: Any) -> tuple[dict[str, Any], set[str]]:  # noqa: ANN401  # a TypedDict
    """Return the types of the members of a TypedDict, and the names of those that are marked as NotRequired."""
    hints: dict[str, Any] = get_type_hints(kind, localns=_UNTOLD, include_extras=True)
    if hints.keys() >= WorldOptions.__annotations__.keys():
        hints |= {
            name: Annotated[Any, Keywords(**(option.schema or {}))] for name, option in options_at("door").items()
        }
    said = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
    members = {name: get_args(hint)[0] if name in said else hint for name, hint in hints.items()}
    return members, said


def _is_function(hint: Any) -> bool:  # noqa: ANN401  # any type
    return any(get_origin(part) is Callable for part in get_args(hint))


def _object(properties: Mapping[str, Schema], optional: set[str], *, closed: bool) -> Schema:
    required = [name for name in properties if name not in optional]
    made: Schema = {"type": "object", "properties": dict(properties), "required": required}
    return {**made, "additionalProperties": False} if closed else made


def schema(hint: Any, *, closed: bool = True) -> Schema:  # noqa: ANN401  # any type of an annotation
    """Return the JSON Schema of a type; a TypedDict becomes a component. Arguments are closed, results are not."""
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    origin, parts = get_origin(hint), get_args(hint)
    inner = [schema(part, closed=closed) for part in parts] if origin in _OF_TYPES else []
    made: Schema = {}
    if origin is Annotated:
        more: Keywords = parts[1]
        component = {"$ref": REF + more.component} if more.component else {}
        made = component or {**schema(parts[0], closed=closed), **more.keywords}
    elif origin is Literal:
        made = {"type": "string", "enum": list(parts)}
    elif origin in {Union, UnionType}:
        made = {"anyOf": inner}
    elif origin is list:
        made = {"type": "array", "items": inner[0]}
    elif origin in {dict, Mapping}:
        made = {"type": "object", "additionalProperties": inner[1]}
    elif origin is Iterator:
        made = {"type": "string"}
    elif hint is not Any:
        made = _component(hint, closed=closed)
    return made


def _component(kind: Any, *, closed: bool) -> Schema:  # noqa: ANN401  # a TypedDict
    """Add a TypedDict to the components. A result has all members of the arguments that its type builds on."""
    name: str = kind.__name__.removesuffix("Data")
    if name not in COMPONENTS:
        members, optional = _members(kind)
        optional |= kind.__optional_keys__ if closed else set()
        properties = {one: schema(hint, closed=closed) for one, hint in members.items()}
        COMPONENTS[name] = _object(properties, optional, closed=closed)
    return {"$ref": REF + name}


def in_place(node: Any) -> Any:  # noqa: ANN401  # a JSON value
    """Return a schema with the components in place, as the judge takes it."""
    if is_array(node):
        return [in_place(part) for part in node]
    if not is_object(node):
        return node
    if "$ref" in node:
        name = node["$ref"].removeprefix(REF)
        return {} if name in _CHECKED_BY_CORE else in_place(COMPONENTS[name])
    return {name: in_place(part) for name, part in node.items()}


# What types can't say


def _animal(*, nullable: bool = False) -> Schema:
    shown, required = schemas.properties("Pet"), schemas.schema("Pet")["required"]
    return {
        name: {"anyOf": [rules, {"type": "null"}]} if nullable and name not in required else dict(rules)
        for name, rules in shown.items()
    }


def _chosen() -> Schema:
    return {name: {"type": "string", "enum": list(gap.alternatives)} for name, gap in GAPS.items()}


def _fault() -> Schema:
    kinds = {kind: f"{REF}Fault.{kind}" for kind in KINDS}
    status = {"type": "integer", "minimum": 200, "maximum": 599, "description": "The status of the response."}
    of_kind = {"oneOf": [{"$ref": name} for name in kinds.values()]}
    return {"anyOf": [status, {**of_kind, "discriminator": {"propertyName": "kind", "mapping": kinds}}]}


def _criteria() -> Schema:
    arguments = [
        name
        for one in OPERATIONS.values()
        for name in (*schemas.parameters(one), *schemas.properties(one.body or "Pet"))
    ]
    return {name: {} for name in (*arguments, *GENERAL)}


def _like(value: Any) -> Schema:  # noqa: ANN401  # a JSON value
    """Return the schema of values that have the members of this one."""
    if is_object(value):
        return _object({name: _like(part) for name, part in value.items()}, set(), closed=False)
    if is_array(value):
        return {"type": "array", "items": _like(value[0]) if value else {}}
    return {"type": _PLAIN[type(value)]}


_PRESET: Final = {"type": "string", "enum": list(PRESETS)}
_GAPS: Final = {"type": "object", "properties": {**_chosen(), "preset": _PRESET}, "additionalProperties": False}

COMPONENTS: Final[dict[str, Schema]] = {
    "Animal": {"type": "object", "properties": _animal(), "required": list(schemas.schema("Pet")["required"])},
    "NewAnimal": {"type": "object", "properties": _animal(), "additionalProperties": False},
    "AnimalChanges": {"type": "object", "properties": _animal(nullable=True), "additionalProperties": False},
    "Criteria": {"type": "object", "properties": _criteria(), "additionalProperties": False},
    "Behaviour": {"type": "object", "properties": _chosen(), "required": list(GAPS)},
    "BehaviourChoice": {"anyOf": [_PRESET, _GAPS, {"type": "null"}]},
    "GapChoices": _GAPS,
    "Gaps": _like(gap_register()),
    "Coverage": _like(Coverage().to_data()),
    "Archive": _like(har_document([])),
    "Fault": _fault(),
    **{f"Fault.{kind}": fault_schema(kind) for kind in KINDS},
}
