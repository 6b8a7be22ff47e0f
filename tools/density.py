"""Measures how much one statement of a Python package asks of its reader. ``make lint`` runs it with ``--check``.

Neither line breaks nor short names change these figures. A statement is one of Python's, without docstrings. A node
is a node of the syntax tree, without contexts and operators. A hidden decision stands inside an expression: a
conditional expression, a ``for`` or an ``if`` of a comprehension, each further ``and`` or ``or``, a lambda. The
decisions of a function are its hidden ones, and each if, for, while, except, assert and case; the function itself
counts as one. A heavy statement has over 40 nodes of its own; a compound statement counts by its head, and a table of a
module or class is left out.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

# The goals are in the comments. A limit goes down with each room that comes nearer to its goal.
LIMITS: Final = {
    "nodes": 157_882,  # 95,000
    "nodes a statement": 6.89,  # 7.2
    "hidden a statement": 0.129,  # 0.12
    "heavy statements": 0,
    "functions above 15 decisions": 0,  # 0
    "functions above 10 decisions": 2,  # 45
}
_HEAVY: Final = 40
_BRANCHES: Final = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_SKIPPED: Final = (ast.expr_context, ast.operator, ast.boolop, ast.cmpop, ast.unaryop)


@dataclass
class Measured:
    """The figures of some modules."""

    nodes: int = 0
    statements: int = 0
    hidden: int = 0
    heavy: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    functions: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def add(self, other: Measured) -> None:
        """Add the figures of other modules."""
        self.nodes += other.nodes
        self.statements += other.statements
        self.hidden += other.hidden
        self.heavy += other.heavy
        self.functions += other.functions

    @property
    def figures(self) -> dict[str, float]:
        """The figures by the names of the limits."""
        statements = max(self.statements, 1)
        return {
            "nodes": self.nodes,
            "nodes a statement": round(self.nodes / statements, 2),
            "hidden a statement": round(self.hidden / statements, 3),
            "heavy statements": len(self.heavy),
            "functions above 15 decisions": sum(count > 15 for count, _ in self.functions),
            "functions above 10 decisions": sum(count > 10 for count, _ in self.functions),
        }


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _hidden(node: ast.AST) -> int:
    """Return the hidden decisions of this node alone."""
    if isinstance(node, (ast.IfExp, ast.Lambda)):
        return 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, without the statements within it."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.stmt, *_SKIPPED)))


def _decisions(function: ast.AST) -> int:
    count, stack = 1, list(ast.iter_child_nodes(function))
    while stack:
        node = stack.pop()
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            continue
        count += isinstance(node, _BRANCHES)
        count += 0 if isinstance(node, ast.Lambda) else _hidden(node)
        stack.extend(ast.iter_child_nodes(node))
    return count


def measure(path: Path, root: Path) -> Measured:
    """Return the figures of a module."""
    tree, where = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(root.parent)
    homes = [node for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.ClassDef))]
    at_home = {id(statement) for home in homes for statement in home.body}
    found = Measured()
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            found.functions.append((_decisions(node), f"{where}:{node.lineno} {node.name}"))
        if not isinstance(node, ast.stmt) or _is_docstring(node):
            continue
        own = list(_own_nodes(node))
        found.statements += 1
        found.nodes += len(own)
        found.hidden += sum(map(_hidden, own))
        is_table = id(node) in at_home and isinstance(node, (ast.Assign, ast.AnnAssign))
        is_definition = isinstance(node, (*_FUNCTIONS, ast.ClassDef))
        if len(own) > _HEAVY and not is_table and not is_definition:
            found.heavy.append((len(own), f"{where}:{node.lineno}"))
    return found


def _line(title: str, values: Sequence[object]) -> str:
    cells = (f"{value:>12,}" if isinstance(value, (int, float)) else f"{value:>12}" for value in values)
    return f"{title:16}{''.join(cells)}"


def main() -> int:
    """Print the figures of each room and the worst places. Return 1 if ``--check`` finds a figure over its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default="petstore_mock", type=Path)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a figure is over its limit")
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="how many of the worst places to print")
    options = parser.parse_args()
    rooms: defaultdict[str, Measured] = defaultdict(Measured)
    total = Measured()
    for path in sorted(options.root.rglob("*.py")):
        parts = path.relative_to(options.root).parts
        measured = measure(path, options.root)
        rooms[parts[0] if len(parts) > 1 else "(top)"].add(measured)
        total.add(measured)
    print(_line("", ["nodes", "/stmt", "hidden/stmt", "heavy", "> 15", "> 10"]))
    for room, measured in rooms.items():
        print(_line(room, [*measured.figures.values()]))
    print(_line("all", [*total.figures.values()]))
    print(_line("limit", [*LIMITS.values()]))
    for title, worst in (("decisions", total.functions), ("nodes", total.heavy)):
        for count, place in sorted(worst, reverse=True)[: options.worst]:
            print(f"  {count:4} {title}: {place}")
    over = [
        f"{name} {total.figures[name]:,}, limit {limit:,}"
        for name, limit in LIMITS.items()
        if total.figures[name] > limit
    ]
    if over:
        print(f"over the limit: {'; '.join(over)}")
    return int(options.check and bool(over))


if __name__ == "__main__":
    sys.exit(main())
