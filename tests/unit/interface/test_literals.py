"""No literal of a row stands outside of it: code asks the table, so a row with another name needs no other change."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import petstore_mock
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.schemas import names
from petstore_mock.interface.table import FIELDS, OPERATIONS

PACKAGE: Final = Path(petstore_mock.__file__).parent
# Names that only a row of the interface has. Names that are ordinary words, such as ``status``, follow below.
OPERATION_NAMES: Final = [*OPERATIONS]
SCHEMA_NAMES: Final = [name for name in names() if name[0].isupper() and name not in {"Error", "Pet"}]
FIELD_NAMES: Final = [name for name in FIELDS if not name.islower()]
PARAMETER_NAMES: Final = [one.name for row in OPERATIONS.values() for one in row.parameters if not one.name.islower()]
GAP_NAMES: Final = [name for name in GAPS if "_" in name]
PATTERN: Final = re.compile(
    rf"\b(?:{'|'.join({*OPERATION_NAMES, *SCHEMA_NAMES, *FIELD_NAMES, *PARAMETER_NAMES, *GAP_NAMES})})\b"
    r"|(?<!RFC \d{4} §)(?<![\w.])4\.\d+\b"
)
# Rows, what is generated from them, and the executors.
ROWS: Final = (
    "interface/table.py",
    "interface/gaps.py",
    "interface/conditions.py",
    "interface/static.py",
    "core/pipeline.py",
    "verify/evidence.py",  # a row for each gap that has no parameter and no field
    "common/suggesting.py",  # words that people guess: a guess is no name of a row, though it may be spelt like one
    "cli/demo.py",  # a recorded scenario, and its client
)


def literals(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts in code, without docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings are statements
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements:
            yield node.lineno, node.value


MODULES: Final = [path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py"))]


@pytest.mark.parametrize("module", [name for name in MODULES if name not in ROWS])
def test_module_has_no_literal_of_a_row(module: str) -> None:
    found = [(line, text) for line, text in literals(PACKAGE / module) if PATTERN.search(text)]
    assert found == []
