"""Writes types of the npm package: those of the control door, from its OpenAPI document, and the operations of the kit.

The npm package has no dependencies, and its users need no generator. Run ``python -m tools.node_types`` after a change
of the door or of the operations.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from petstore_mock import __version__
from petstore_mock.control.schemas import door_document
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.verbs import VERBS

TARGET: Final = Path(__file__).parents[1] / "adapters" / "node" / "door.d.cts"
KIT: Final = TARGET.with_name("petstore-adapter.d.mts")
_PREFIX: Final = "/w/{world}/__petstore/"
_PLAIN: Final = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}
_ID: Final = "number | bigint"  # beyond 2^53, a number would be rounded
_HEAD: Final = (
    "// The types of the control door. tools/node_types.py generates this file from the document of the door.\n"
)


def node_types() -> str:
    """Return the text of ``door.d.cts``: a type for each component, and the body and the result of each operation."""
    document = door_document(VERBS, "http://127.0.0.1:8080", __version__)
    parts = [_HEAD]
    for name, schema in document["components"]["schemas"].items():
        parts.append(f"export type {_type_name(name)} = {_type(schema)};\n")
    rows: list[str] = []
    for path, at_path in document["paths"].items():
        if path.startswith(_PREFIX):
            rows += [_operation(path.removeprefix(_PREFIX), method, row) for method, row in at_path.items()]
    parts += ["/** The operations of one world, by method and path. */\nexport interface Operations {", *rows, "}\n"]
    return "\n".join(parts)


def kit_types() -> str:
    """Return the text of ``petstore-adapter.d.mts`` with a line for each operation."""
    lines = "".join(f"  {name}?: Operation<Client>;\n" for name in OPERATIONS)
    return re.sub(r"(  \w+\?: Operation<Client>;\n)+", lines, KIT.read_text(encoding="utf-8"))


def _type_name(name: str) -> str:
    """Return a component's name in TypeScript: ``FaultTlsExpired`` for ``Fault.tls.expired``."""
    return "".join(part[:1].upper() + part[1:] for part in name.replace(".", "_").split("_"))


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _type_name(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return " | ".join(dict.fromkeys(_type(one) for one in schema[keyword]))
    kinds = schema.get("type", [])
    names = [kinds] if isinstance(kinds, str) else kinds
    return " | ".join(_of_kind(name, schema) for name in names) or "unknown"


def _of_kind(kind: str, schema: dict[str, Any]) -> str:
    if kind == "array":
        return f"Array<{_type(schema.get('items', {}))}>"
    if kind != "object":
        return _ID if schema.get("format") == "int64" else _PLAIN[kind]
    members = schema.get("properties", {})
    if not members:
        further: Any = schema.get("additionalProperties", {})
        return "Record<string, never>" if further is False else f"Record<string, {_type(further)}>"
    required = schema.get("required", ())
    texts = [f"{json.dumps(name)}{'' if name in required else '?'}: {_type(one)}" for name, one in members.items()]
    return f"{{ {'; '.join(texts)} }}"


def _operation(path: str, method: str, row: dict[str, Any]) -> str:
    body = _json(row.get("requestBody", {}))
    success = next(response for status, response in row["responses"].items() if status.startswith("2"))
    words = row["summary"].replace("*/", "* /")
    key = json.dumps(f"{method.upper()} {path}")
    return f"  /** {words} */\n  {key}: {{ body: {body}; result: {_json(success)} }};"


def _json(part: dict[str, Any]) -> str:
    content = part.get("content", {})
    if not content:
        return "undefined"
    media_type, form = next(iter(content.items()))
    return _type(form.get("schema", {})) if media_type == "application/json" else "string"


if __name__ == "__main__":
    TARGET.write_text(node_types(), encoding="utf-8")
    KIT.write_text(kit_types(), encoding="utf-8")
