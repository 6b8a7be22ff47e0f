"""The interface as an OpenAPI 3.1 document, made from the contract and the schemas: change those, and it follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from petstore_mock.contract.error_conditions import CONDITIONS, REALM
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.interface import BASE_PATH, INTERFACE_VERSION, OPERATIONS

if TYPE_CHECKING:
    from petstore_mock.contract.interface import Operation
    from petstore_mock.contract.schemas import Schemas

__all__ = ["openapi_document"]

JsonObject = dict[str, Any]

_COMPONENTS: Final = ("Error", "NewPet", "Pet", "PetStatus", "Pets")
_JSON: Final = "application/json"
_TAG: Final = "pets"
_SECURITY_SCHEME: Final = "apiKey"

# §1 names two environments and shows neither address; `.example` leads nowhere (RFC 2606 §2).
_ENVIRONMENTS: Final = (
    ("base_url", f"https://petstore.example{BASE_PATH}", "Production (§1)"),
    ("staging_base_url", f"https://staging.petstore.example{BASE_PATH}", "Staging (§1)"),
)

_REFUSING: Final = ("after_removal", "rate_limit")  # beside those that validate


def openapi_document(schemas: Schemas, *, server: str | None = None) -> dict[str, Any]:
    """Return the interface as an OpenAPI 3.1 document, a fresh dict.

    Args:
        schemas: the rules of bodies and parameters.
        server: a base address to name before the two environments of §1, such as ``http://127.0.0.1:8080/v1``.
    """
    given = [] if server is None else [{"url": server.rstrip("/"), "description": "petstore-mock, a fake"}]
    paths: JsonObject = {}
    for operation in OPERATIONS.values():
        path = paths.setdefault(operation.path.removeprefix(BASE_PATH), {})
        path[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Pet store service",
            "summary": "The catalogue of a store's animals",
            "description": (
                "List animals, filter them by availability status, add a new animal, and fetch one by its identifier. "
                "§ names the section of the interface that a statement comes from."
            ),
            "version": INTERFACE_VERSION,
        },
        "servers": [*given, *map(_environment, _ENVIRONMENTS)],
        "security": [{_SECURITY_SCHEME: []}],
        "tags": [{"name": _TAG, "description": "The animal catalogue"}],
        "paths": paths,
        "components": {
            "schemas": {name: _converted(schemas.documents[name], schemas) for name in _COMPONENTS},
            "responses": _shared_responses(),
            "headers": _headers(),
            "securitySchemes": {
                _SECURITY_SCHEME: {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "§5: the API key is sent as Authorization: Bearer <API_KEY>, on every operation",
                }
            },
        },
    }


def _environment(environment: tuple[str, str, str]) -> JsonObject:
    name, default, description = environment
    variable = {"default": default, "description": f"The base address, ending in {BASE_PATH}; not shown"}
    return {"url": f"{{{name}}}", "description": description, "variables": {name: variable}}


# Operations


def _operation(operation: Operation, schemas: Schemas) -> JsonObject:
    document: JsonObject = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"§{operation.section}",
        "tags": [_TAG],
    }
    if operation.removed_at is not None:
        day = f"{operation.removed_at:%Y-%m-%d}"
        document["deprecated"] = True
        document["x-sunset"] = day
        document["description"] += (
            f": deprecated, and removed on {day}. The replacement is GET /pets with the status filter."
        )
    parameters = _parameters(operation, schemas)
    if parameters:
        document["parameters"] = parameters
    if operation.request_schema is not None:
        document["requestBody"] = {"required": True, "content": _content(operation.request_schema)}
    document["responses"] = _responses(operation)
    return document


def _parameters(operation: Operation, schemas: Schemas) -> list[JsonObject]:
    schema = schemas.documents[operation.parameters_schema]
    required = schema.get("required", ())
    parameters = []
    for name, rules in schema.get("properties", {}).items():
        converted = _converted(rules, schemas)
        parameter: JsonObject = {"name": name, "in": "path" if f"{{{name}}}" in operation.path else "query"}
        description = converted.pop("description", None) if isinstance(converted, dict) else None  # or `true`
        if description is not None:
            parameter["description"] = description
        if name in required:
            parameter["required"] = True
        parameter["schema"] = converted
        parameters.append(parameter)
    return parameters


def _responses(operation: Operation) -> JsonObject:
    """Every answer of an operation: those that the interface declares, then those that HTTP gives any path."""
    success: JsonObject = {"description": _success_words(operation)}
    if operation.removed_at is not None:  # §9
        success["headers"] = {name: _reference("headers", name) for name in ("Deprecation", "Sunset")}
    success["content"] = _content(operation.response_schema)
    links = _links(operation)
    if links:
        success["links"] = links
    responses: JsonObject = {str(operation.success): success}
    for status in sorted(operation.errors | {404, 405}):
        declared = status in operation.errors
        name = {400: "InvalidBody", 401: "Unauthorized", 404: "NotFound" if declared else "UnknownPath"}
        responses[str(status)] = _reference("responses", name.get(status, "MethodNotAllowed"))
    responses["4XX"] = _reference("responses", "OtherRefusal")
    return responses


def _success_words(operation: Operation) -> str:
    return {
        "listPets": "At most `limit` animals, those of the status asked for (§4.1)",
        "createPet": "The created animal, including its assigned id (§4.2)",
        "getPet": "The animal (§4.3)",
    }[operation.name]


def _links(operation: Operation) -> JsonObject:
    """Say where an id leads: tools that walk through an interface find their way by links."""
    getter = OPERATIONS["getPet"]
    source = {"listPets": "$response.body#/0/id", "createPet": "$response.body#/id"}.get(operation.name)
    if source is None:
        return {}
    return {getter.name: {"operationId": getter.name, "parameters": {"petId": source}}}


# Shared parts


def _shared_responses() -> JsonObject:
    return {
        "InvalidBody": _error("The request body is missing required fields or contains invalid values (§7)"),
        "Unauthorized": _error("The API key is missing or invalid (§5, §7)", "WWW-Authenticate"),
        "NotFound": _error("No animal found for the given petId (§7); or the path is none of the interface (§4)"),
        "UnknownPath": _error("The path is none of the interface (§4)"),
        "MethodNotAllowed": _error("The path has no such method (RFC 9110 §15.5.6)", "Allow"),
        "OtherRefusal": _error(
            "Any other refusal carries an error body (§7); which ones there are is not shown: "
            f"{', '.join(name for name, gap in GAPS.items() if gap.step == 'validate' or name in _REFUSING)}"
        ),
    }


def _error(description: str, header: str | None = None) -> JsonObject:
    response: JsonObject = {"description": description}
    if header is not None:
        response["headers"] = {header: _reference("headers", header)}
    response["content"] = _content("Error")
    return response


def _headers() -> JsonObject:
    def header(description: str, *, required: bool = False) -> JsonObject:
        return {"description": description, **({"required": True} if required else {}), "schema": {"type": "string"}}

    return {
        "Allow": header(f"The methods of the path ({CONDITIONS['method_not_allowed'].section})", required=True),
        "Deprecation": header("Since when the operation is deprecated (RFC 9745); a gap of §9"),
        "Sunset": header("When the operation is removed (RFC 8594); a gap of §9"),
        "WWW-Authenticate": header(f'Bearer realm="{REALM}" (RFC 6750 §3)', required=True),
    }


def _content(schema: str) -> JsonObject:
    return {_JSON: {"schema": _reference("schemas", schema)}}


def _reference(kind: str, name: str) -> JsonObject:
    return {"$ref": f"#/components/{kind}/{name}"}


def _converted(node: Any, schemas: Schemas) -> Any:  # noqa: ANN401  # walks any JSON value
    """Return a schema as a part of the document.

    A reference to a whole schema becomes one to its component; one into a schema is replaced by what it leads to, since
    generators of clients follow only the former.
    """
    if isinstance(node, list):
        return [_converted(item, schemas) for item in node]
    if not isinstance(node, dict):
        return node
    converted = {
        key: _converted(value, schemas) for key, value in node.items() if key not in {"$schema", "$id", "$ref"}
    }
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return converted
    file, _, pointer = reference.partition("#")
    name = file.removesuffix(".json")
    if not pointer and name in _COMPONENTS:
        return {**_reference("schemas", name), **converted}
    return {**_converted(schemas.lookup(reference), schemas), **converted}
