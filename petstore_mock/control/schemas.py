"""JSON Schemas of the verbs' arguments and results, and the OpenAPI document with them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NotRequired, Union, get_args, get_origin
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
from petstore_mock.journal.criteria import GENERAL, TYPES, arguments_of
from petstore_mock.journal.har import har_document

if TYPE_CHECKING:
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
_INTERNAL: Final = frozenset({"name", "origin", "new", "shares_port", "when"})  # arguments that no schema contains


@dataclass(frozen=True, slots=True)
class Shape:
    """The schemas of a verb's arguments and of its result."""

    concerns_all: bool  # the verb takes all worlds, not one
    added: frozenset[str]  # the arguments that the door adds
    path: Mapping[str, Schema]
    query: Schema
    body: Schema | None
    result: Schema

    @property
    def root_only(self) -> bool:
        return self.concerns_all and "name" not in self.added


@cache
def shape_of(verb: Verb) -> Shape:
    """Return the schemas of a verb, derived from the signature of its function."""
    hints = hints_of(verb.function, include_extras=True)
    target, *parameters = signature(verb.function).parameters.values()
    sent: dict[str, Schema] = {}
    for one in parameters:
        if one.kind is Parameter.VAR_KEYWORD:
            sent |= _members(get_args(hints[one.name])[0])
        elif one.name not in _INTERNAL:
            sent[one.name] = schema(hints[one.name])
    path = {name: sent.pop(name) for name in re.findall(r"\{(\w+)\}", verb.path)}
    body = sent.pop(verb.body) if verb.body else None
    if body is None and sent and verb.method not in {"GET", "DELETE"}:
        body = _closed(sent, [one.name for one in parameters if one.name in sent and one.default is Parameter.empty])
        sent = {}
    # A query parameter can be absent, but not null.
    query = {name: rules["anyOf"][0] if "anyOf" in rules else rules for name, rules in sent.items()}
    result = schema(hints["return"] if verb.media_type == "application/json" else str)
    return Shape(
        concerns_all=hints[target.name] is Worlds,
        added=_INTERNAL & {one.name for one in parameters},
        path=path,
        query=_closed(query),
        body=body,
        result=_object({verb.member: result}, [verb.member]) if verb.member else result,
    )


def schema(hint: Any) -> Schema:  # noqa: ANN401  # any type of an annotation
    """Return the JSON Schema of a type. A TypedDict becomes a component."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        made = _PLAIN[hint]
    elif origin is Annotated:
        more: Keywords = parts[1]
        made = {"$ref": _REF + more.component} if more.component else {**schema(parts[0]), **more.keywords}
    elif origin is Literal:
        made = {"type": "string", "enum": list(parts)}
    elif origin in {Union, UnionType}:
        made = {"anyOf": [schema(part) for part in parts]}
    elif origin is list:
        made = {"type": "array", "items": schema(parts[0])}
    elif origin in {dict, Mapping}:
        made = {"type": "object", "additionalProperties": schema(parts[1])}
    elif origin is NotRequired:
        made = schema(parts[0])
    else:
        name: str = hint.__name__.removesuffix("Data")
        made = {"$ref": _REF + name}
        if name not in _COMPONENTS:
            hints = hints_of(hint, include_extras=True)
            required = [member for member, kind in hints.items() if get_origin(kind) is not NotRequired]
            _COMPONENTS[name] = _object(_members(hint), required)
    return made


def _members(kind: Any) -> dict[str, Schema]:  # noqa: ANN401  # a TypedDict
    if kind is WorldOptions:
        return {name: dict(option.schema or {}) for name, option in options_at("door").items()}
    return {name: schema(hint) for name, hint in hints_of(kind, include_extras=True).items()}


def _object(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> Schema:
    return {"type": "object", "properties": dict(properties), "required": [*required]}


def _closed(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> Schema:
    return {**_object(properties, required), "additionalProperties": False}


def _like(value: Any) -> Schema:  # noqa: ANN401  # a JSON value
    """Return the schema of values with the same members as this value."""
    if is_object(value):
        return _object({name: _like(part) for name, part in value.items()}, [*value])
    if is_array(value):
        return {"type": "array", "items": _like(value[0]) if value else {}}
    return _PLAIN[type(value)]


# Components that no Python type describes

_PET: Final = schemas.schema("Pet")
_FIELDS: Final[Mapping[str, Schema]] = _PET["properties"]
_PRESET: Final = {"type": "string", "enum": list(PRESETS)}
_CHOSEN: Final[dict[str, Schema]] = {
    name: {"type": "string", "enum": list(gap.alternatives)} for name, gap in GAPS.items()
}
_REFUSAL: Final = {"title": "", "status": 0, "detail": "", "violations": [{"field": "", "message": ""}]}
_STATUS: Final = ARGUMENTS["status"].schema
_KINDS: Final = {kind: f"{_REF}Fault.{kind}" for kind in KINDS}

# The journal checks the other criteria itself: its messages are better, and hide values that may be keys.
_CHECKED: Final[dict[str, Schema]] = {name: {"type": kind} for name, (_, _, kind) in TYPES.items() if kind}

_COMPONENTS: Final[dict[str, Schema]] = {
    "Animal": _object(_FIELDS, _PET["required"]),
    "NewAnimal": _closed(_FIELDS),
    "AnimalChanges": _closed(  # null removes an optional field
        {
            name: rules if name in _PET["required"] else {"anyOf": [rules, _PLAIN[NoneType]]}
            for name, rules in _FIELDS.items()
        }
    ),
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
                "discriminator": {"propertyName": "kind", "mapping": _KINDS},
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
        "properties": {"kind": {"type": "string", "enum": list(KINDS)}},
        "required": ["kind"],
        "discriminator": {"propertyName": "kind", "mapping": _KINDS},
    },
}


def violations(rules: Schema, value: Any, location: str) -> Violations:  # noqa: ANN401  # a JSON value
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


def door_document(verbs: Sequence[Verb], origin: str, version: str) -> dict[str, Any]:
    """Return the OpenAPI document of the door at ``origin``, which is scheme, host and port."""
    paths: dict[str, Any] = {}
    for verb in verbs:
        for mount in [""] if shape_of(verb).root_only else ["", "/w/{world}"]:
            path = paths.setdefault(f"{mount}{DOOR_PATH}/{verb.path}", {})
            path[verb.method.lower()] = _operation(verb, mount)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "petstore-mock control door",
            "version": version,
            "description": "Steers a running fake of the pet store service. A world with a name is at /w/NAME/v1.",
        },
        "servers": [{"url": origin}],
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(_COMPONENTS.items())),  # complete after the loop over the verbs
            "securitySchemes": {"token": {"type": "apiKey", "in": "header", "name": TOKEN_HEADER}},
        },
    }


def _operation(verb: Verb, mount: str) -> dict[str, Any]:
    shape = shape_of(verb)
    in_path = {**({"world": _NAME} if mount else {}), **shape.path}
    content = {} if verb.status == 204 else {"content": {verb.media_type: {"schema": shape.result}}}
    statuses = [verb.status, *([200] if verb.method == "PUT" else [])]
    operation: dict[str, Any] = {
        "operationId": f"{verb.name}_of" if mount else verb.name,
        "summary": (verb.function.__doc__ or "").partition("\n")[0],  # python -OO removes docstrings
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": rules} for name, rules in in_path.items()),
            *({"name": name, "in": "query", "schema": rules} for name, rules in shape.query["properties"].items()),
        ],
        "responses": {
            **{str(status): {"description": _DESCRIPTIONS[status], **content} for status in statuses},
            "default": _PROBLEM,
        },
    }
    if shape.body is not None:
        is_required = bool(shape.body.get("required", True))
        operation["requestBody"] = {"required": is_required, "content": {"application/json": {"schema": shape.body}}}
    if verb.name == "health":
        operation["security"] = []
    return operation
