"""The interface as an OpenAPI 3.1 document, made from the table and the schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.interface.conditions import CONDITIONS, REALM
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.schemas import document, lookup, names
from petstore_mock.interface.table import BASE_PATH, INTERFACE_VERSION, OPERATIONS, SENTENCES

if TYPE_CHECKING:
    from petstore_mock.interface.table import Operation

JsonObject = dict[str, Any]

_COMPONENTS: Final = tuple(name for name in names() if not name.endswith(".parameters"))
_TAG: Final = "pets"
_SECURITY_SCHEME: Final = "apiKey"

# §1 names two environments and shows neither address; `.example` leads nowhere (RFC 2606 §2).
_ENVIRONMENTS: Final = {
    "base_url": ("https://petstore.example", "Production (§1)"),
    "staging_base_url": ("https://staging.petstore.example", "Staging (§1)"),
}
_REFUSING: Final = ("after_removal", "rate_limit")  # besides the gaps of validation


def openapi_document(server: str | None = None) -> JsonObject:
    """Return the interface as an OpenAPI 3.1 document."""
    given = [] if server is None else [{"url": server.rstrip("/"), "description": "petstore-mock, a fake"}]
    paths: JsonObject = {}
    for operation in OPERATIONS.values():
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Pet store service",
            "summary": "The catalogue of a store's animals",
            "description": (
                "List animals, filter them by availability status, add a new animal, and fetch one by its identifier. "
                "§ marks the section of the interface that a statement comes from."
            ),
            "version": INTERFACE_VERSION,
        },
        "servers": [*given, *(_environment(name, *row) for name, row in _ENVIRONMENTS.items())],
        "security": [{_SECURITY_SCHEME: []}],
        "tags": [{"name": _TAG, "description": "The animal catalogue"}],
        "paths": paths,
        "components": {
            "schemas": {name: _converted(document(name), name) for name in _COMPONENTS},
            "responses": _shared_responses(),
            "headers": _headers(),
            "securitySchemes": {
                _SECURITY_SCHEME: {"type": "http", "scheme": "bearer", "description": f"§5: {SENTENCES['key'].text}"}
            },
        },
    }


def _environment(name: str, host: str, description: str) -> JsonObject:
    variable = {"default": f"{host}{BASE_PATH}", "description": f"The base address, ending in {BASE_PATH}; not shown"}
    return {"url": f"{{{name}}}", "description": description, "variables": {name: variable}}


# Operations


def _operation(operation: Operation) -> JsonObject:
    described: JsonObject = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"§{operation.section}",
        "tags": [_TAG],
        "parameters": _parameters(operation),
        "responses": _responses(operation),
    }
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": _content(operation.body)}
    if operation.removed_at is not None:
        described |= {"deprecated": True, "x-sunset": f"{operation.removed_at:%Y-%m-%d}"}
        described["description"] += f": {operation.removal}"
    return described


def _parameters(operation: Operation) -> list[JsonObject]:
    file = operation.parameters_schema
    found: list[JsonObject] = []
    for row in operation.parameters:
        schema = _converted(document(file)["properties"][row.name], file)
        words = schema.pop("description", "")
        required = row.name in document(file).get("required", ())
        found.append({"name": row.name, "in": row.where, "description": words, "required": required, "schema": schema})
    return found


_RESPONSES: Final = {400: "InvalidBody", 401: "Unauthorized", 404: "NotFound"}  # of the interface, by status


def _responses(operation: Operation) -> JsonObject:
    """Return the responses that the interface declares, then those that HTTP has for any path."""
    success: JsonObject = {"description": f"{operation.response_words or operation.summary} (§{operation.section})"}
    if operation.removed_at is not None:  # §9
        success["headers"] = {name: _reference("headers", name) for name in ("Deprecation", "Sunset")}
    if operation.response is not None:
        success["content"] = _content(operation.response)
    if links := _links(operation):
        success["links"] = links
    refusals = {404: "UnknownPath", 405: "MethodNotAllowed"}
    refusals |= {status: _RESPONSES.get(status, "OtherRefusal") for status in operation.errors}
    return {
        str(operation.success): success,
        **{str(status): _reference("responses", refusals[status]) for status in sorted(refusals)},
        "4XX": _reference("responses", "OtherRefusal"),
    }


def _links(operation: Operation) -> JsonObject:
    """Say where an id leads: tools that walk through an interface follow such links."""
    source = {"lists": "$response.body#/0/id", "creates": "$response.body#/id"}.get(operation.effect)
    if source is None:
        return {}
    return {
        reader.name: {"operationId": reader.name, "parameters": {reader.path_parameter.name: source}}
        for reader in OPERATIONS.values()
        if reader.effect == "reads" and reader.path_parameter is not None
    }


# Shared parts


def _shared_responses() -> JsonObject:
    refusing = ", ".join(name for name, gap in GAPS.items() if gap.step == "validate" or name in _REFUSING)
    return {
        "InvalidBody": _error("The request body is missing required fields or contains invalid values (§7)"),
        "Unauthorized": _error("The API key is missing or invalid (§5, §7)", "WWW-Authenticate"),
        "NotFound": _error("No animal found for the given petId (§7); or the interface has no such path (§4)"),
        "UnknownPath": _error("The interface has no such path (§4)"),
        "MethodNotAllowed": _error("The path has no such method (RFC 9110 §15.5.6)", "Allow"),
        "OtherRefusal": _error(f"Any other refusal has an error body (§7). These gaps decide about them: {refusing}"),
    }


def _error(description: str, header: str = "") -> JsonObject:
    headers = {"headers": {header: _reference("headers", header)}} if header else {}
    return {"description": description, **headers, "content": _content("Error")}


def _headers() -> JsonObject:
    words = {
        "Allow": f"The methods of the path ({CONDITIONS['method_not_allowed'].section})",
        "Deprecation": "Since when the operation is deprecated (RFC 9745); a gap of §9",
        "Sunset": "When the operation is removed (RFC 8594); a gap of §9",
        "WWW-Authenticate": f'Bearer realm="{REALM}" (RFC 6750 §3)',
    }
    text, optional = {"type": "string"}, ("Deprecation", "Sunset")
    return {
        name: {"description": said, "required": name not in optional, "schema": text} for name, said in words.items()
    }


def _content(schema: str) -> JsonObject:
    return {"application/json": {"schema": _reference("schemas", schema)}}


def _reference(kind: str, name: str) -> JsonObject:
    return {"$ref": f"#/components/{kind}/{name}"}


def _converted(node: Any, file: str) -> Any:  # noqa: ANN401  # a JSON value
    """Return a part of a schema; generators of clients follow references to whole components alone."""
    if is_array(node):
        return [_converted(item, file) for item in node]
    if not is_object(node):
        return node
    kept = {key: _converted(value, file) for key, value in node.items() if key not in {"$schema", "$id", "$ref"}}
    if "$ref" not in node:
        return kept
    found, name = lookup(node["$ref"], file)
    is_component = "#" not in node["$ref"] and name in _COMPONENTS
    return {**(_reference("schemas", name) if is_component else _converted(found, name)), **kept}
