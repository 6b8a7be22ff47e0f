"""What a value breaks of a schema of a few plain keywords, found without jsonschema.

To import jsonschema takes 50 to 200 ms, by what else is installed; a client's first mistake would wait for it. So the
schemas that ship, and any that use no more than the keywords below, are followed here. A schema that says more is
jsonschema's, and a property test holds the two to find the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["SchemaError", "find_errors", "is_plain"]

_PLAIN: Final[Mapping[str, frozenset[str]]] = {
    "array": frozenset({"type", "items"}),
    "object": frozenset({"type", "properties", "required", "additionalProperties"}),
    "string": frozenset({"type", "enum", "minLength", "maxLength"}),
    "integer": frozenset({"type", "minimum", "maximum"}),
}
_TYPES: Final[Mapping[str, type]] = {"array": list, "object": dict, "string": str, "integer": int}
# Say whether a value of the right type breaks a keyword, from the value, what the keyword says, and its schema.
_BREAKS: Final[Mapping[str, Callable[[Any, Any, Mapping[str, Any]], bool]]] = {
    "enum": lambda value, allowed, _: value not in allowed,
    "minLength": lambda value, least, _: len(value) < least,
    "maxLength": lambda value, most, _: len(value) > most,
    "minimum": lambda value, least, _: value < least,
    "maximum": lambda value, most, _: value > most,
    "required": lambda value, names, _: not value.keys() >= set(names),
    "additionalProperties": lambda value, allowed, schema: (
        not allowed and not value.keys() <= schema.get("properties", {}).keys()
    ),
}


class SchemaError(NamedTuple):
    """One keyword that a value breaks.

    Attributes:
        path: the members and indexes that lead to the value.
        keyword: the keyword of JSON Schema.
        wanted: its value in the schema.
        value: what came.
        schema: where the keyword stands.
    """

    path: tuple[str | int, ...]
    keyword: str
    wanted: Any
    value: Any
    schema: Mapping[str, Any]


def is_plain(schema: object) -> bool:
    """Say whether :func:`find_errors` can follow ``schema``, which has neither references nor annotations."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(kind, str) or not schema.keys() <= _PLAIN.get(kind, frozenset()):
        return False
    if kind == "object":
        closed = schema.get("additionalProperties", False)
        return isinstance(closed, bool) and all(map(is_plain, schema.get("properties", {}).values()))
    if kind == "array":
        return "items" not in schema or is_plain(schema["items"])
    return all(isinstance(allowed, str) for allowed in schema.get("enum", ()))


def find_errors(schema: Mapping[str, Any], value: Any, path: tuple[str | int, ...] = ()) -> Iterator[SchemaError]:  # noqa: ANN401  # a JSON value is any value
    """Find every keyword of a plain ``schema`` that ``value`` breaks; of a value of the wrong type, the type alone.

    Args:
        schema: one that :func:`is_plain`.
        value: a decoded JSON value; ``1.0`` is no integer, as for the whole service.
        path: where ``value`` stands.
    """
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or isinstance(value, bool):
        yield SchemaError(path, "type", kind, value, schema)
        return
    for keyword, wanted in schema.items():
        if keyword in _BREAKS and _BREAKS[keyword](value, wanted, schema):
            yield SchemaError(path, keyword, wanted, value, schema)
    for step, inner, member in _members(schema, value):
        yield from find_errors(inner, member, (*path, step))


def _members(schema: Mapping[str, Any], value: Any) -> Iterator[tuple[str | int, Mapping[str, Any], Any]]:  # noqa: ANN401  # as above
    """Return what is in ``value`` with the schemas that it is held against, and where it stands."""
    for name, inner in schema.get("properties", {}).items():
        if name in value:
            yield name, inner, value[name]
    if "items" in schema:
        for index, item in enumerate(value):
            yield index, schema["items"], item
