"""The door as an OpenAPI 3.1 document, made from the table by which it answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.door_path import DOOR_PATH
from petstore_mock.control.admission import TOKEN_HEADER
from petstore_mock.control.operations import OPERATIONS
from petstore_mock.control.problems import PROBLEM_TYPE
from petstore_mock.control.schemas import SCHEMAS, ref

if TYPE_CHECKING:
    from petstore_mock.control.operations import DoorOperation

__all__ = ["door_document"]

_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_NAME: Final = {"type": "string", "pattern": "^[A-Za-z0-9._~-]{1,100}$"}
_WORDS: Final = {
    200: "Done.",
    201: "Made.",
    204: "Done; there is nothing to say.",
    400: "The body is no JSON.",
    401: "The token is missing or wrong.",
    403: "The request came from a foreign web page.",
    404: "There is no such thing.",
    409: "It can't be done as things are.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The request can't be right.",
    507: "There are as many worlds as there may be.",
}


def door_document(origin: str, version: str) -> dict[str, Any]:
    """Return the description of the door of a stub at ``origin``: scheme, host and port."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        mounts = [""] if operation.root_only else ["", "/w/{world}"]
        for mount in mounts:
            path = f"{mount}{DOOR_PATH}/{operation.path}"
            paths.setdefault(path, {})[operation.method.lower()] = _described(operation, mount)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "petstore-mock control door",
            "version": version,
            "description": "Steers the fake of the pet store service while it runs. A world is an address: /w/NAME/v1.",
        },
        "servers": [{"url": origin}],
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "apiKey", "in": "header", "name": TOKEN_HEADER}},
        },
    }


def _described(operation: DoorOperation, mount: str) -> dict[str, Any]:
    names = _PARAMETER.findall(f"{mount}{operation.path}")
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _NAME if name == "world" else {"type": "string"}}
        for name in names
    ]
    parameters += [
        {"name": name, "in": "query", "required": False, "schema": schema} for name, schema in operation.query.items()
    ]
    described: dict[str, Any] = {
        "operationId": operation.name if not mount else f"{operation.name}_of",
        "summary": operation.summary,
        "parameters": parameters,
        "responses": {
            **{str(status): _answer(operation, status, schema) for status, schema in operation.answers.items()},
            **{str(status): _problem(status) for status in _refusals(operation, names)},
        },
    }
    if operation.body is not None:
        described["requestBody"] = {
            "required": operation.needs_body,
            "content": {"application/json": {"schema": ref(operation.body)}},
        }
    if operation.is_open:
        described["security"] = []
    return described


def _answer(operation: DoorOperation, status: int, schema: str | None) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": _WORDS[status]}
    if status != 204:
        answer["content"] = {operation.media_type: {"schema": {} if schema is None else ref(schema)}}
    return answer


def _problem(status: int) -> dict[str, Any]:
    return {"description": _WORDS[status], "content": {PROBLEM_TYPE: {"schema": ref("Problem")}}}


def _refusals(operation: DoorOperation, names: list[str]) -> list[int]:
    refusals = {422}
    if not operation.is_open:
        refusals |= {401, 403}
    if names:
        refusals.add(404)
    if operation.body is not None:
        refusals |= {400, 413, 415}
    if operation.conflicts:
        refusals.add(409)
    if operation.name == "make_world":
        refusals.add(507)
    return sorted(refusals)
