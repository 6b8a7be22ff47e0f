"""Reads a directory of JSON Schemas, and puts what their references lead to in the place of each reference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from petstore_mock.contract.violations import json_type
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["check_document", "follow", "read_document", "resolve"]


def read_document(directory: Path, name: str) -> dict[str, Any]:
    """Return the schema ``name`` of a directory, as it stands there.

    Raises:
        PetStoreMockError: there is none, or it is no JSON object.
    """
    path = directory / f"{name}.json"
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise PetStoreMockError(f"expected a schema in {path}; {error.strerror}") from None
    except ValueError as error:
        raise PetStoreMockError(f"expected JSON in {path}; {error}") from None
    except RecursionError:
        raise _too_deep(name) from None
    if not isinstance(document, dict):
        raise PetStoreMockError(f"expected a JSON object in {path}; got {json_type(document)}")
    return document


def check_document(name: str, document: Mapping[str, Any]) -> None:
    """Hold a schema against the meta-schema.

    Raises:
        PetStoreMockError: it is no valid JSON Schema, or holds what no message of ours could quote.
    """
    from jsonschema import Draft202012Validator  # noqa: PLC0415  # heavy: only for schemas that are not ours
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415

    try:
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8")
        Draft202012Validator.check_schema(document)
    except SchemaError as error:
        raise PetStoreMockError(
            f"expected {name}.json to be a JSON Schema (2020-12); at {error.json_path}: {error.message}"
        ) from None
    except ValueError as error:  # NaN, 1e400 or a lone surrogate, all of which Python's decoder lets pass
        raise PetStoreMockError(
            f"expected {name}.json to hold only numbers within the range of a double "
            f"and text without lone surrogates; {error}"
        ) from None
    except RecursionError:
        raise _too_deep(name) from None


def _too_deep(name: str) -> PetStoreMockError:
    return PetStoreMockError(f"expected {name}.json to nest less deep; it goes beyond Python's recursion limit")


def follow(documents: Mapping[str, Mapping[str, Any]], reference: str, file: str) -> tuple[str, Mapping[str, Any]]:
    """Return the name of the document that a reference in ``file`` leads to, and the schema there.

    Raises:
        PetStoreMockError: it leads to no schema.
    """
    target, _, pointer = reference.partition("#")
    name = target.removesuffix(".json")
    try:
        found: Any = documents[name]
        for escaped in pointer.strip("/").split("/") if pointer else ():
            step = escaped.replace("~1", "/").replace("~0", "~")  # RFC 6901 §4
            found = found[int(step)] if isinstance(found, list) else found[step]
    except (LookupError, TypeError, ValueError):
        found = None
    if isinstance(found, bool):  # a schema as well: of everything or of nothing
        found = {} if found else {"not": {}}
    if not isinstance(found, dict):
        raise PetStoreMockError(
            f"expected '$ref' in {file}.json to name a schema of its directory, as 'NewPet.json' or "
            f"'NewPet.json#/properties/name'; got {reference!r}"
        )
    return name, found


def resolve(documents: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Return the schema ``name`` with what it refers to in the place of every ``$ref``.

    Raises:
        PetStoreMockError: a reference leads nowhere, or back to where it stands.
    """
    resolved: dict[str, Any] = _resolved(documents, documents[name], name, (f"{name}.json",))
    return resolved


def _resolved(documents: Mapping[str, Mapping[str, Any]], node: Any, file: str, trail: tuple[str, ...]) -> Any:  # noqa: ANN401  # walks any JSON value
    """Resolve a part of ``file``; ``trail`` are the references that led to it."""
    if isinstance(node, list):
        return [_resolved(documents, item, file, trail) for item in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("$dynamicRef"), str):
        raise PetStoreMockError(f"expected {file}.json to refer by '$ref'; got '$dynamicRef', which is not followed")
    reference = node.get("$ref")
    if not isinstance(reference, str):  # none, or a property of that name
        return {key: _resolved(documents, value, file, trail) for key, value in node.items()}
    if reference in trail:
        raise PetStoreMockError(
            f"expected '$ref' in {file}.json not to lead back to where it stands; got "
            f"{' -> '.join((*trail, reference))}: write the inner schema out, as deep as it may nest"
        )
    name, found = follow(documents, reference, file)
    resolved = {key: _resolved(documents, value, file, trail) for key, value in node.items() if key != "$ref"}
    return {**_resolved(documents, found, name, (*trail, reference)), **resolved}
