"""The interface as an OpenAPI 3.1 document, made from the table and the schemas."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.values import is_integer
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.kinds import type_of
from petstore_mock.interface.schemas import component, names, schema
from petstore_mock.interface.table import (
    BASE_PATH,
    ERROR,
    INTERFACE_VERSION,
    MEMBERS,
    OPERATIONS,
    SENTENCES,
    operations,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.kinds import Schema
    from petstore_mock.interface.table import Operation


_REF: Final = "#/components/schemas/"
# §1 names two environments and shows neither address; `.example` is reserved for examples (RFC 2606 §2).
_ENVIRONMENTS: Final = (
    {"url": f"https://petstore.example{BASE_PATH}", "description": "Production (§1); its address is not shown"},
    {"url": f"https://staging.petstore.example{BASE_PATH}", "description": "Staging (§1); its address is not shown"},
)
# The first animal of a seeded world: a tool that sends the examples finds it.
_EXAMPLE_ID: Final = 1
# The largest integer that a double represents exactly, and all below it.
_EXACT: Final = 2**53


_INFO: Final = {
    "title": "Pet store service",
    "description": "The catalogue of a store's animals. § marks the section that a statement comes from.",
    "version": INTERFACE_VERSION,
}
_BEARER: Final = {"type": "http", "scheme": "bearer", "description": f"§5: {SENTENCES['key'].text}"}


def openapi_document(server: str | None = None) -> JsonObject:
    """Return the interface as an OpenAPI 3.1 document."""
    servers = [*_ENVIRONMENTS]
    if server is not None:
        servers.insert(0, {"url": server.rstrip("/"), "description": "petstore-mock, a fake"})
    paths: JsonObject = {}
    for operation in OPERATIONS.values():
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    schemas = {name: component(name, _REF) for name in names() if not name.endswith(".parameters")}
    return {
        "openapi": "3.1.0",
        "info": _INFO,
        "servers": servers,
        "security": [{"apiKey": []}],
        "tags": [{"name": "pets", "description": "The animal catalogue"}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"apiKey": _BEARER}},
    }


def _operation(operation: Operation) -> JsonObject:
    described: JsonObject = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"§{operation.section}",
        "tags": ["pets"],
        "parameters": [*_parameters(operation)],
        "responses": _responses(operation),
    }
    if operation.body is not None:
        described["requestBody"] = {"required": True, **_content(operation.body)}
    if operation.removed_at is not None:
        described |= {"deprecated": True, "x-sunset": f"{operation.removed_at:%Y-%m-%d}"}
        described["description"] += f": scheduled removal date {operation.removal_day}; use {operation.replacement}"
    return described


def _parameters(operation: Operation) -> Iterator[JsonObject]:
    described = component(operation.parameters_schema, _REF)
    for row in operation.parameters:
        rules = dict(described["properties"][row.name])
        parameter: JsonObject = {"name": row.name, "in": row.where, "description": rules.pop("description", "")}
        parameter["required"] = row.name in described.get("required", ())
        parameter["schema"] = rules
        if row is operation.identifier:
            parameter |= _examples(_EXAMPLE_ID)
        elif row.where == "path":
            # The first animal has another value, so a change shows.
            parameter |= _examples(MEMBERS[row.field_name].samples[-1])
        yield parameter


def _refusal(operation: Operation, status: int) -> str:
    """Return the condition of a declared failure (§7)."""
    if status == 400:
        return "The request body is missing required fields or contains invalid values (§7)"
    if status == 401:
        return "The API key is missing or invalid (§5, §7)"
    if status == 404 and operation.identifier is not None:
        return f"No animal found for the given {operation.identifier.name} (§7)"
    return "The request is refused (§7)"


def _links(operation: Operation) -> JsonObject:
    """Return links from an id in a response to the operations on its animal. Tools that explore an interface use them.

    A link leads to operations that only show an animal: a tool must not remove or change animals by following links.
    """
    source = "$response.body#/0/id" if operation.shows_many else "$response.body#/id"
    links: JsonObject = {}
    for row in operations("reads"):
        if row.identifier is not None:
            links[row.name] = {"operationId": row.name, "parameters": {row.identifier.name: source}}
    return links


def _responses(operation: Operation) -> JsonObject:
    """Return the responses that the interface declares, then ``default`` for those that it leaves open."""
    responses: JsonObject = {str(operation.success): _success(operation)}
    for status in sorted(operation.errors):
        responses[str(status)] = {"description": _refusal(operation, status), **_content(ERROR)}
    gaps = ", ".join(name for name, gap in GAPS.items() if gap.refuses)
    words = f"Any other refusal has an error body (§7). Gaps that decide what is refused: {gaps}"
    responses["default"] = {"description": words, **_content(ERROR)}
    return responses


def _success(operation: Operation) -> JsonObject:
    success: JsonObject = {"description": f"{operation.response_words or operation.summary} (§{operation.section})"}
    if operation.response is None:
        return success
    success |= _content(operation.response)
    # A read has no link to itself, and a removed animal has no link.
    keeps_changed = operation.commits and not operation.does.ends
    if operation.shows_many or keeps_changed:
        success["links"] = _links(operation)
    return success


def _content(name: str) -> JsonObject:
    described: JsonObject = {"schema": {"$ref": f"{_REF}{name}"}}
    rules = schema(name)
    if rules["type"] == "array":
        described |= _examples([_animal(rules["items"])])
    elif name != ERROR:
        described |= _examples(_animal(rules))
    return {"content": {"application/json": described}}


def _animal(rules: Schema) -> JsonObject:
    animal: JsonObject = {}
    for name in rules["properties"]:
        field = MEMBERS[name]
        animal[name] = _EXAMPLE_ID if field.is_assigned else field.samples[0]
    return animal


def _examples(value: object) -> JsonObject:
    return {"examples": {"first": {"value": value}}}


def without_default_responses(document: JsonObject) -> JsonObject:
    """Return the document without the response ``default``, for generators that make it part of each result's type."""
    copy = deepcopy(document)
    for at_path in copy["paths"].values():
        for operation in at_path.values():
            del operation["responses"]["default"]
    return copy


def without_int64_bounds(node: Json) -> Json:
    """Return a document without bounds beyond 2^53, for tools whose numbers are doubles."""
    return _rebuilt(node, _exact_member)


def _rebuilt(node: Json, member: Callable[[str, Json, Schema], JsonObject]) -> Json:
    """Return a copy. ``member`` gets each member of an object, with its object, and returns what replaces it."""
    if is_array(node):
        return [_rebuilt(item, member) for item in node]
    if not is_object(node):
        return node
    rebuilt: JsonObject = {}
    for key, value in node.items():
        rebuilt |= member(key, _rebuilt(value, member), node)
    return rebuilt


def _exact_member(key: str, value: Json, _: object) -> JsonObject:
    is_bound = key in {"minimum", "maximum"} and is_integer(value)
    if is_bound and abs(value) > _EXACT:
        return {}
    return {key: value}


def as_openapi_3_0(document: JsonObject) -> JsonObject:
    """Return the OpenAPI 3.1 document as OpenAPI 3.0, for tools that do not support 3.1.

    Every other keyword of the schemas means the same in both versions.
    """
    return {**_rebuilt(document, _older_member), "openapi": "3.0.3"}


def _older_member(key: str, value: Json, around: Schema) -> JsonObject:
    if key == "examples":
        return {"example": value["first"]["value"]}
    if key == "type" and is_array(value):
        # OpenAPI 3.0 has a keyword for null.
        return {"type": type_of(around), "nullable": True}
    if key.startswith("exclusive"):
        # In OpenAPI 3.0, this keyword is a flag beside the bound.
        return {key.removeprefix("exclusive").lower(): value, key: True}
    if key == "$ref" and len(around) > 1:
        # Its siblings have no effect in OpenAPI 3.0.
        return {"allOf": [{"$ref": value}]}
    return {key: value}
