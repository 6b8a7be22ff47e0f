"""Writes ``petstore_mock/interface/static.py``: types for type checkers, from the table, the schemas and the gaps.

Run ``python -m tools.static_types`` after a change of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.kinds import allows_null, type_of
from petstore_mock.interface.schemas import names, properties, schema
from petstore_mock.interface.table import ANIMAL, FIELDS, OPERATIONS

TARGET: Final = Path(__file__).parents[1] / "petstore_mock" / "interface" / "static.py"
# The types of Python by the types of JSON.
_OF_JSON: Final = {
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "string": "str",
    "object": "dict[str, object]",
}
_HEAD: Final = '''"""Types of operations, fields and gaps. ``tools/static_types.py`` generates this file."""

from __future__ import annotations

from typing import Literal, TypedDict
'''


def static_types() -> str:
    """Return the text of ``static.py``."""
    changes = {name: _changed(name) for name, field in FIELDS.items() if not field.is_assigned}
    gaps = {name: _literal(gap.alternatives) for name, gap in GAPS.items()}
    return "\n".join(
        [
            _HEAD,
            f"OperationName = {_literal(OPERATIONS)}",
            *(f"{name} = {_literal(allowed)}" for name, allowed in _enums().items()),
            *_class("PetFields(TypedDict, total=False)", "Fields of an animal (§2).", _field_types()),
            *_class("PetChanges(TypedDict, total=False)", "Fields that another actor may change.", changes),
            *_class("GapChoices(TypedDict, total=False)", "The alternatives of each gap, as keywords.", gaps),
            "",
        ]
    )


def _enums() -> dict[str, list[str]]:
    """Return the schemas that are enumerations, with their values."""
    return {name: schema(name)["enum"] for name in names() if "enum" in schema(name)}


def _field_types() -> Mapping[str, str]:
    return {name: _type(properties(ANIMAL)[name]) for name in FIELDS}


def _changed(name: str) -> str:
    """Return the type of a changed field: None removes an optional field."""
    kind = _type(properties(ANIMAL)[name])
    return kind if name in schema(ANIMAL)["required"] else f"{kind} | None"


def _type(rules: Mapping[str, Any]) -> str:
    if "enum" in rules:
        named = next((name for name, allowed in _enums().items() if allowed == rules["enum"]), None)
        return named or _literal(rules["enum"])
    if rules.get("type") == "array":
        return f"list[{_type(rules.get('items', {}))}]"
    kind = _OF_JSON[str(type_of(rules))]
    return f"{kind} | None" if allows_null(rules) else kind


def _literal(names: Iterable[str]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"Literal[{quoted}]"


def _class(head: str, words: str, members: Mapping[str, str]) -> list[str]:
    return [
        "",
        "",
        f"class {head}:",
        f'    """{words}"""',
        "",
        *(f"    {name}: {kind}" for name, kind in members.items()),
    ]


if __name__ == "__main__":
    TARGET.write_text(static_types(), encoding="utf-8")
