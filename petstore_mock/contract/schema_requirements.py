"""What the service asks of schemas that are not ours, beyond their being JSON Schemas.

A schema may bound and add as it likes, and the service follows. But the store's ids are integers, a filter compares
texts, and createPet keeps what ``properties`` names: a schema at odds with that would fail at some request, or change
what was sent. So it is refused when it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from petstore_mock.common.numbers import is_integer
from petstore_mock.contract.violations import json_type
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Mapping

    Schema = Mapping[str, Any]

__all__ = ["check_requirements"]

_ANY: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_LARGEST_LIMIT: Final = 2**31 - 1  # more than any memory holds, and what every platform can count to


def check_requirements(schemas: Mapping[str, Schema]) -> None:
    """Hold schemas, their references resolved, against what the service needs.

    Raises:
        PetStoreMockError: the service could not follow one; names the file, the member and what is expected.
    """
    _check_limit(_properties(schemas, "listPets.parameters").get("limit"))
    _expect_integer(schemas, "getPet.parameters", "petId", "the store's ids are (§2, §4.3)")
    status = _properties(schemas, "listPets.parameters").get("status", True)
    if "string" not in _kinds(status):
        _refuse("listPets.parameters", "status", "to be a string (§4.1)", status)
    for name in ("listPets.parameters", "createPet.parameters", "getPet.parameters"):
        for parameter, schema in _properties(schemas, name).items():
            # `false` is a parameter that nobody may send.
            if schema is not False and not _is_integer(schema) and "string" not in _kinds(schema):
                _refuse(name, parameter, "to have the type string or integer, since it comes as text", schema)
    _expect_integer(schemas, "Pet", "id", "the store's ids are (§2)")
    for name in ("NewPet", "Pet"):
        if not _kinds(schemas[name]) <= {"object"}:
            raise PetStoreMockError(f"expected {name}.json to have the type object (§2); got {_shown(schemas[name])}")
        properties = _properties(schemas, name)
        if not properties:
            raise PetStoreMockError(
                f"expected {name}.json to have its fields in 'properties', where the service looks for them; got none"
            )
        status = properties.get("status", {"type": "string"})
        if not _kinds(status) <= {"string", "null"}:
            _refuse(name, "status", "to be a string, or null, and nothing else: animals are filtered by it", status)
    if "id" in _properties(schemas, "NewPet"):
        identifier = _properties(schemas, "NewPet")["id"]
        _refuse("NewPet", "id", "not to be there: the service assigns it (§2)", identifier)


def _check_limit(limit: object) -> None:
    file = "listPets.parameters"
    if not isinstance(limit, dict) or not {"minimum", "maximum", "default"} <= limit.keys():
        _refuse(file, "limit", "to have a minimum, a maximum and a default (§8)", limit)
    if not _is_integer(limit):
        _refuse(file, "limit", "to have the type integer (§4.1)", limit)
    for keyword in ("minimum", "maximum", "default"):
        if not is_integer(limit[keyword]):
            _refuse(file, f"limit.{keyword}", "to be an integer (§8)", limit[keyword])
    if not 0 <= limit["minimum"] <= limit["default"] <= limit["maximum"] <= _LARGEST_LIMIT:
        words = f"to have 0 <= minimum <= default <= maximum <= {_LARGEST_LIMIT} (§8)"
        _refuse(file, "limit", words, {keyword: limit[keyword] for keyword in ("minimum", "default", "maximum")})


def _expect_integer(schemas: Mapping[str, Schema], name: str, member: str, why: str) -> None:
    schema = _properties(schemas, name).get(member)
    if not _is_integer(schema):
        _refuse(name, member, f"to have the type integer, as {why}", schema)


def _refuse(name: str, member: str, expected: str, schema: object) -> NoReturn:
    raise PetStoreMockError(f"expected {member!r} of {name}.json {expected}; got {_shown(schema)}")


def _shown(schema: object) -> str:
    return "none" if schema is None else repr(schema)[:200]


def _properties(schemas: Mapping[str, Schema], name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = schemas[name].get("properties", {})
    return found


def _is_integer(schema: object) -> bool:
    """Whether ``schema`` says so itself: by that, and by nothing around it, the text of a parameter is read."""
    return isinstance(schema, dict) and schema.get("type") == "integer"


def _kinds(schema: object) -> frozenset[str]:
    """Return the types that ``schema`` lets through, as far as its plain keywords tell."""
    if not isinstance(schema, dict):
        return _ANY if schema else frozenset()
    found = _ANY
    if "type" in schema:
        types = schema["type"]
        found &= frozenset([types] if isinstance(types, str) else types)
    if "const" in schema:
        found &= {json_type(schema["const"])}
    if "enum" in schema:
        found &= frozenset(map(json_type, schema["enum"]))
    for part in schema.get("allOf", ()):
        found &= _kinds(part)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            found &= frozenset().union(*map(_kinds, schema[keyword]))
    return found
