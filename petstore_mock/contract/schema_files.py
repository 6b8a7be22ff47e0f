"""Reads a directory of JSON Schemas, and puts what their references lead to in the place of each reference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["follow", "read_document", "resolve"]


def read_document(directory: Path, name: str) -> dict[str, Any]:
    """Return the schema ``name`` of a directory, as it stands there."""
    document: dict[str, Any] = json.loads((directory / f"{name}.json").read_bytes())
    return document


def follow(documents: Mapping[str, Mapping[str, Any]], reference: str) -> Mapping[str, Any]:
    """Return the schema that a reference leads to."""
    target, _, pointer = reference.partition("#")
    found: Any = documents[target.removesuffix(".json")]
    for escaped in pointer.strip("/").split("/") if pointer else ():
        step = escaped.replace("~1", "/").replace("~0", "~")  # RFC 6901 §4
        found = found[int(step)] if isinstance(found, list) else found[step]
    if isinstance(found, bool):  # a schema as well: of everything or of nothing
        found = {} if found else {"not": {}}
    schema: Mapping[str, Any] = found
    return schema


def resolve(documents: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Return the schema ``name`` with what it refers to in the place of every ``$ref``."""
    resolved: dict[str, Any] = _resolved(documents, documents[name])
    return resolved


def _resolved(documents: Mapping[str, Mapping[str, Any]], node: Any) -> Any:  # noqa: ANN401  # walks any JSON value
    if isinstance(node, list):
        return [_resolved(documents, item) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if not isinstance(reference, str):  # none, or a property of that name
        return {key: _resolved(documents, value) for key, value in node.items()}
    beside = {key: _resolved(documents, value) for key, value in node.items() if key != "$ref"}
    return {**_resolved(documents, follow(documents, reference)), **beside}
