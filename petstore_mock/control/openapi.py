"""The door as an OpenAPI 3.1 document, made of the verbs by which it responds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from petstore_mock import __version__
from petstore_mock.control.admission import TOKEN_HEADER
from petstore_mock.control.problems import PROBLEM_TYPE, ProblemData
from petstore_mock.control.schemas import COMPONENTS, schema, shape_of
from petstore_mock.core.routing import DOOR_PATH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.verbs import Verb

_NAME: Final = {"type": "string", "pattern": "^[A-Za-z0-9._~-]{1,100}$"}
_WORDS: Final = {200: "Done.", 201: "Made.", 204: "Done, without a body."}


def door_document(verbs: Sequence[Verb], origin: str) -> dict[str, Any]:
    """Return the description of the door of a stub at ``origin``: scheme, host and port."""
    paths: dict[str, Any] = {}
    for verb in verbs:
        for mount in [""] if verb.root_only else ["", "/w/{world}"]:
            path = paths.setdefault(f"{mount}{DOOR_PATH}/{verb.path}", {})
            path[verb.method.lower()] = _operation(verb, mount)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "petstore-mock control door",
            "version": __version__,
            "description": "Steers the fake of the pet store service while it runs. A world is an address: /w/NAME/v1.",
        },
        "servers": [{"url": origin}],
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": COMPONENTS,  # complete by now: each verb has added what it needs
            "securitySchemes": {"token": {"type": "apiKey", "in": "header", "name": TOKEN_HEADER}},
        },
    }


def _operation(verb: Verb, mount: str) -> dict[str, Any]:
    shape = shape_of(verb)
    in_path = {**({"world": _NAME} if mount else {}), **shape.path}
    content = {} if verb.status == 204 else {"content": {verb.media_type: {"schema": shape.result}}}
    statuses = {verb.status, verb.replaced or verb.status}
    problem = {
        "description": "The request is refused, and has changed nothing.",
        "content": {PROBLEM_TYPE: {"schema": schema(ProblemData)}},
    }
    operation: dict[str, Any] = {
        "operationId": f"{verb.name}_of" if mount else verb.name,
        "summary": (verb.function.__doc__ or "").partition("\n")[0],  # empty where Python keeps no docstrings
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": rules} for name, rules in in_path.items()),
            *({"name": name, "in": "query", "schema": rules} for name, rules in shape.query["properties"].items()),
        ],
        "responses": {
            **{str(status): {"description": _WORDS[status], **content} for status in statuses},
            "default": problem,
        },
    }
    if shape.body is not None:
        is_required = bool(shape.body.get("required", True))
        content = {"application/json": {"schema": shape.body}}
        operation["requestBody"] = {"required": is_required, "content": content}
    if verb.name == "health":
        operation["security"] = []
    return operation
