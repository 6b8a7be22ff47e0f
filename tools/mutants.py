"""Draws mutants of a package. A mutant is the package with one small fault in its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

KINDS: Final = ("negated condition", "swapped comparison", "changed constant", "dropped call", "return None")
_SWAPPED: Final[dict[type[ast.cmpop], tuple[str, str]]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the bytes from ``start`` to ``end`` become ``new``."""

    file: str
    line: int
    kind: str
    old: str
    new: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.kind}: {self.old[:80]!r} -> {self.new[:80]!r}"

    def apply(self, source: bytes) -> bytes:
        """Return the source with the fault."""
        assert source[self.start : self.end] == self.old.encode(), f"the source of {self} has changed"
        return source[: self.start] + self.new.encode() + source[self.end :]


def draw(folder: Path, package: str, seed: str) -> Iterator[Mutant]:
    """Yield mutants of ``folder/package`` in an order drawn by ``seed``; each kind comes equally often.

    With one draw over all places, half of the mutants would change a constant, and most constants are texts.
    """
    random = Random(seed)
    found: dict[str, list[Mutant]] = {kind: [] for kind in KINDS}
    for path in sorted((folder / package).rglob("*.py")):
        for mutant in mutants_of(path.read_bytes(), str(path.relative_to(folder))):
            found[mutant.kind].append(mutant)
    for mutants in found.values():
        random.shuffle(mutants)
    while any(found.values()):
        yield from (mutants.pop() for kind in KINDS if (mutants := found[kind]))


def mutants_of(source: bytes, file: str) -> Iterator[Mutant]:
    """Yield every mutant of one module."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, kind, new in _changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        old = source[start:end].decode()
        changed = new or f"(not ({old}))"
        if isinstance(node, ast.Compare) and kind == "swapped comparison":
            start = starts[(node.left.end_lineno or 0) - 1] + (node.left.end_col_offset or 0)
            right = node.comparators[0]
            end = starts[right.lineno - 1] + right.col_offset
            old = source[start:end].decode()
            changed = old.replace(*_SWAPPED[type(node.ops[0])], 1)
        if changed != old:
            yield Mutant(file, node.lineno, kind, old, changed, start, end)


def _changes(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Yield nodes with the kind and the text of a change; annotations, docstrings and type imports have none."""
    for node in _executed(tree):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Constant):
                yield test, "negated condition", ""
            case ast.comprehension(ifs=tests):
                yield from ((test, "negated condition", "") for test in tests)
            case ast.Compare(ops=[_]):
                yield node, "swapped comparison", ""
            case ast.Constant(value=bool() | int() | float() | str() | bytes() as value):
                yield node, "changed constant", _other(value)
            case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
                yield node, "dropped call", "None"
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                yield node, "return None", "return None"


def _other(value: bool | float | str | bytes) -> str:  # noqa: FBT001  # a constant of the source
    """Return another literal, which is also valid in a pattern."""
    if isinstance(value, str):
        return repr(value + "x")
    if isinstance(value, bytes):
        return repr(value + b"x")
    if isinstance(value, bool):
        return repr(not value)
    return repr(value + 1 if isinstance(value, int) else value * 2 + 1)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the executed nodes, but none in f-strings: Python 3.11 does not record the position of their text."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns"} or (name == "body" and _is_for_types(node)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _does_nothing(child):
                yield from _executed(child)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _does_nothing(node: ast.AST) -> bool:
    """Whether ``node`` has no mutants: a docstring, an import, a type, ``__all__`` or an f-string."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.Subscript(value=ast.Name(id="Literal")) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
    return False
