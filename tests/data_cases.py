"""The valid and invalid values in ``tests/data``, which has one file for each schema."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Case:
    """A value, and the rules that it breaks. A rule is a path inside the value and a keyword of JSON Schema."""

    schema: str
    name: str
    value: Any
    broken: tuple[tuple[str, str], ...]

    def broken_at(self, location: str) -> set[tuple[str, str]]:
        """Return the broken rules with their paths below ``location``."""
        return {(f"{location}.{path}" if path else location, rule) for path, rule in self.broken}

    def __str__(self) -> str:
        return f"{self.schema}: {self.name}"


def schemas_with_cases() -> list[str]:
    return sorted(path.stem for path in _DATA.glob("*.json"))


def valid(schema: str) -> list[Case]:
    return [Case(schema, row["case"], row["value"], ()) for row in _read(schema)["valid"]]


def invalid(schema: str) -> list[Case]:
    return [
        Case(schema, row["case"], row["value"], tuple((path, rule) for path, rule in row["broken"]))
        for row in _read(schema)["invalid"]
    ]


def _read(schema: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((_DATA / f"{schema}.json").read_text(encoding="utf-8"))
    return found
