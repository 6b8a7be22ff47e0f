"""JSON Schemas of the verbs' arguments and results, and the OpenAPI document with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NotRequired, cast, get_args, get_origin
from typing import get_type_hints as hints_of

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.control.admission import PROBLEM_TYPE, TOKEN_HEADER
from petstore_mock.core.options import MOST_PETS, WorldOptions, options_at
from petstore_mock.core.registry import Worlds
from petstore_mock.core.routing import DOOR_PATH
from petstore_mock.faults.fault import schema_of as fault_schema
from petstore_mock.faults.kinds import ARGUMENTS, KINDS
from petstore_mock.interface import schemas
from petstore_mock.interface.behaviour import gap_register
from petstore_mock.interface.gaps import GAPS, PRESETS
from petstore_mock.journal.criteria import GENERAL, arguments_of
from petstore_mock.journal.har import har_document
from petstore_mock.verbs.verb import Added

if TYPE_CHECKING:
    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.violations import Violations
    from petstore_mock.verbs import Verb
    from petstore_mock.verbs.verb import Keywords

Schema = dict[str, Any]

_REF: Final = "#/components/schemas/"
_PLAIN: Final[Mapping[object, Schema]] = {
    NoneType: {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    Any: {},
}
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")  # an argument in the path of a verb


@dataclass(frozen=True, slots=True)
class Shape:
    """The schemas of a verb's arguments and of its result."""

    concerns_all: bool  # the verb takes all worlds, not one
    added: Mapping[str, Added]  # the arguments that the door adds, with their roles
    path: Mapping[str, Schema]
    query: Schema
    body: Schema  # of the whole body; without properties if the verb takes none
    takes_body: bool
    result: Schema

    @property
    def root_only(self) -> bool:
        if not self.concerns_all:
            return False
        return Added.WORLD not in self.added.values()


@cache
def shape_of(verb: Verb) -> Shape:
    """Return the schemas of a verb, derived from the signature of its function."""
    hints = hints_of(verb.function, include_extras=True)
    target, *parameters = signature(verb.function).parameters.values()
    added, sent, required = _arguments_of(parameters, hints)
    path = {name: sent.pop(name) for name in _PLACEHOLDER.findall(verb.path)}
    body = _closed({})
    has_members = bool(sent) and verb.method not in {"GET", "DELETE"}
    if verb.body:
        body = sent.pop(verb.body)
    elif has_members:
        body = _closed(sent, [*filter(sent.__contains__, required)])
        sent = {}
    takes_body = bool(verb.body) or has_members
    # A parameter of the query can be absent, but not null.
    query = {name: rules.get("anyOf", [rules])[0] for name, rules in sent.items()}
    result = _result_of(verb, hints["return"])
    return Shape(hints[target.name] is Worlds, added, path, _closed(query), body, takes_body, result)


def _arguments_of(
    parameters: Iterable[Parameter], hints: Mapping[str, object]
) -> tuple[dict[str, Added], dict[str, Schema], list[str]]:
    """Return the roles of the arguments that the door adds, the schemas of the others, and the required names."""
    added: dict[str, Added] = {}
    sent: dict[str, Schema] = {}
    required: list[str] = []
    for parameter in parameters:
        name = parameter.name
        hint = hints[name]
        role = _role_of(hint)
        if role is not None:
            added[name] = role
        elif parameter.kind is Parameter.VAR_KEYWORD:
            sent |= _members(get_args(hint)[0])
        else:
            sent[name] = schema(hint)
            if parameter.default is Parameter.empty:
                required.append(name)
    return added, sent, required


def _role_of(hint: object) -> Added | None:
    """Return the role that an annotation declares, alone or in a union with None."""
    for part in (hint, *get_args(hint)):
        for mark in getattr(part, "__metadata__", ()):
            if isinstance(mark, Added):
                return mark
    return None


def _result_of(verb: Verb, hint: object) -> Schema:
    if verb.media_type != "application/json":
        return _PLAIN[str]
    result = schema(hint)
    if verb.member:
        return _object({verb.member: result}, [verb.member])
    return result


def schema(hint: object) -> Schema:
    """Return the JSON Schema of an annotation. A TypedDict becomes a component."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin = get_origin(hint)
    parts = get_args(hint)
    if origin is None:
        return _component(cast("type", hint))
    if origin is NotRequired:
        return schema(parts[0])
    if origin is Annotated:
        return _annotated(*parts)
    return _generic(origin, parts)


def _generic(origin: object, parts: Sequence[object]) -> Schema:
    if origin is Literal:
        return _name_in(parts)
    if origin is list:
        return {"type": "array", "items": schema(parts[0])}
    if origin is dict or origin is Mapping:
        return {"type": "object", "additionalProperties": schema(parts[1])}
    return {"anyOf": [*map(schema, parts)]}


def _annotated(base: object, more: Keywords) -> Schema:
    if more.component:
        return {"$ref": _REF + more.component}
    return {**schema(base), **more.keywords}


def _component(kind: type) -> Schema:
    """Return a reference to the schema of a TypedDict, and add the schema to the components."""
    name = kind.__name__.removesuffix("Data")
    if name not in _COMPONENTS:
        hints = hints_of(kind, include_extras=True)
        required = [member for member, hint in hints.items() if get_origin(hint) is not NotRequired]
        _COMPONENTS[name] = _object(_members(kind), required)
    return {"$ref": _REF + name}


def _members(kind: type) -> dict[str, Schema]:
    """Return the schema of each member of a TypedDict."""
    if kind is WorldOptions:
        return {name: dict(option.schema or {}) for name, option in options_at("door").items()}
    return {name: schema(hint) for name, hint in hints_of(kind, include_extras=True).items()}


def _object(properties: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    return {"type": "object", "properties": dict(properties), "required": [*required]}


def _closed(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> Schema:
    return {**_object(properties, required), "additionalProperties": False}


def _name_in(names: Iterable[object]) -> Schema:
    return {"type": "string", "enum": [*names]}


def _like(value: object) -> Schema:
    """Return the schema of values with the same members as this JSON value."""
    if is_object(value):
        return _object({name: _like(part) for name, part in value.items()}, [*value])
    if is_array(value):
        items = _like(value[0]) if value else {}
        return {"type": "array", "items": items}
    return _PLAIN[type(value)]


# Components that no Python type describes

_PET: Final = schemas.schema("Pet")
_FIELDS: Final[Mapping[str, Schema]] = _PET["properties"]


def _change_of(name: str, rules: Schema) -> Schema:
    """Return the schema of a change of a field. null removes an optional field."""
    if name in _PET["required"]:
        return rules
    return {"anyOf": [rules, _PLAIN[NoneType]]}


_PRESET: Final = _name_in(PRESETS)
_CHOSEN: Final = {name: _name_in(gap.choices) for name, gap in GAPS.items()}
_REFUSAL: Final = {"title": "", "status": 0, "detail": "", "violations": [{"field": "", "message": ""}]}
_STATUS: Final = ARGUMENTS["status"].schema
_KINDS: Final = {kind: f"{_REF}Fault.{kind}" for kind in KINDS}
_BY_KIND: Final = {"propertyName": "kind", "mapping": _KINDS}

# The journal checks the other criteria itself: its messages are better, and hide values that may be keys.
_CHECKED: Final[dict[str, Schema]] = {name: {"type": row.json_type} for name, row in GENERAL.items() if row.json_type}

_COMPONENTS: Final[dict[str, Schema]] = {
    "Animal": _object(_FIELDS, _PET["required"]),
    "NewAnimal": _closed(_FIELDS),
    "AnimalChanges": _closed({name: _change_of(name, rules) for name, rules in _FIELDS.items()}),
    "PetCount": _closed({"count": {"type": "integer", "minimum": 0, "maximum": MOST_PETS}}, ["count"]),
    "Amounts": _closed({unit: {"type": "number"} for unit in ("days", "hours", "minutes", "seconds")}),
    "Criteria": _closed({name: _CHECKED.get(name, {}) for name in (*arguments_of(None), *GENERAL)}),
    "Behaviour": _object(_CHOSEN, [*GAPS]),
    "BehaviourChoice": {"anyOf": [_PRESET, {"$ref": f"{_REF}GapChoices"}, {"type": "null"}]},
    "GapChoices": _closed({**_CHOSEN, "preset": _PRESET}),
    "Gaps": _like(gap_register()),
    "Archive": _like(har_document([])),
    "Refusal": {**_like(_REFUSAL), "required": ["title", "status", "detail"]},
    "Fault": {
        "anyOf": [
            {**_STATUS, "description": "The status of the response."},
            {
                "oneOf": [{"$ref": name} for name in _KINDS.values()],
                "discriminator": _BY_KIND,
            },
        ]
    },
    **{f"Fault.{kind}": fault_schema(kind) for kind in KINDS},
}

# With `oneOf`, a validator can't tell which kind of fault has the mistake. `discriminator` selects the kind by name.
_FOR_VALIDATION: Final[dict[str, Schema]] = {
    "Criteria": {"type": "object", "properties": _CHECKED},
    "Fault": {
        **_STATUS,
        "type": ["integer", "object"],
        "properties": {"kind": _name_in(KINDS)},
        "required": ["kind"],
        "discriminator": _BY_KIND,
    },
}


def violations(rules: Schema, value: Json, location: str) -> Violations:
    """Return the violations of a schema by a value."""
    complete = {**rules, "components": {"schemas": {**_COMPONENTS, **_FOR_VALIDATION}}}
    return schemas.violations(complete, value, location)


# The document

_NAME: Final = {"type": "string", "pattern": "^[A-Za-z0-9._~-]{1,100}$"}
_DESCRIPTIONS: Final = {200: "Success.", 201: "Created.", 204: "Success, without a body."}
_PROBLEM: Final = {
    "description": "The door refused the request and changed nothing.",
    "content": {PROBLEM_TYPE: {"schema": {"$ref": f"{_REF}Refusal"}}},
}


def door_document(verbs: Sequence[Verb], origin: str, version: str) -> JsonObject:
    """Return the OpenAPI document of the door at ``origin``, which is scheme, host and port."""
    info = {
        "title": "petstore-mock control door",
        "version": version,
        "description": "Steers a running fake of the pet store service. A world with a name is at /w/NAME/v1.",
    }
    token = {"type": "apiKey", "in": "header", "name": TOKEN_HEADER}
    paths = _paths(verbs)
    components = dict(sorted(_COMPONENTS.items()))  # the paths add components, so they are made first
    return {
        "openapi": "3.1.0",
        "info": info,
        "servers": [{"url": origin}],
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": token}},
    }


def _paths(verbs: Sequence[Verb]) -> dict[str, dict[str, Schema]]:
    paths: dict[str, dict[str, Schema]] = {}
    for verb in verbs:
        mounts = [""] if shape_of(verb).root_only else ["", "/w/{world}"]
        for mount in mounts:
            path = paths.setdefault(f"{mount}{DOOR_PATH}/{verb.path}", {})
            path[verb.method.lower()] = _operation(verb, mount)
    return paths


def _operation(verb: Verb, mount: str) -> Schema:
    """Return the OpenAPI operation of a verb, at the root or below ``mount``."""
    shape = shape_of(verb)
    in_path = shape.path
    if mount:
        in_path = {"world": _NAME, **shape.path}
    parameters = [{"name": name, "in": "path", "required": True, "schema": rules} for name, rules in in_path.items()]
    parameters += [{"name": name, "in": "query", "schema": rules} for name, rules in shape.query["properties"].items()]
    operation: Schema = {
        "operationId": f"{verb.name}_of" if mount else verb.name,
        "summary": (verb.function.__doc__ or "").partition("\n")[0],  # python -OO removes docstrings
        "parameters": parameters,
        "responses": _responses(verb),
    }
    if shape.takes_body:
        is_required = bool(shape.body.get("required", True))
        operation["requestBody"] = {"required": is_required, "content": {"application/json": {"schema": shape.body}}}
    if verb.is_public:
        operation["security"] = []
    return operation


def _responses(verb: Verb) -> Schema:
    content = {"content": {verb.media_type: {"schema": shape_of(verb).result}}}
    statuses = [verb.status, 200] if verb.method == "PUT" else [verb.status]
    responses: Schema = {}
    for status in statuses:
        responses[str(status)] = {"description": _DESCRIPTIONS[status]}
        if status != 204:
            responses[str(status)] |= content
    return {**responses, "default": _PROBLEM}
