"""``make lines``: counts the hand-written lines, and prints the budgets beside them."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]

_PACKAGE_BUDGET: Final = 15_000
_ROOMS: Final = {
    "interface": 1_600,
    "http": 400,
    "faults": 380,
    "journal": 1_150,
    "core": 2_050,
    "transport": 1_400,
    "verbs, control": 950,
    "remote": 300,
    "mock": 430,
    "pytest_plugin": 1_000,
    "verify": 1_350,
    "strategies": 330,
    "checks": 1_300,
    "stateful": 1_600,
    "cli": 500,
    "common, errors, top": 260,
}
# Rooms that share a budget.
_ROOM_OF: Final = {
    "verbs": "verbs, control",
    "control": "verbs, control",
    "common": "common, errors, top",
}

_TESTS_BUDGET: Final = 17_000
_KINDS: Final = {
    "contract and face": (2_400, ("contract", "face", "wsgi", "in_process")),
    "wire": (2_300, ("wire", "live")),
    "plugin": (1_700, ("plugin",)),
    "corpora": (2_700, ("clients", "corpora")),
    "machine and checks": (1_800, ("stateful", "checks")),
    "evolution, release, soak, helpers": (300, ("evolution", "release", "soak", "")),
    "units": (2_000, ("unit",)),
    "property and fuzz": (900, ("property",)),
    "verify": (700, ("verify",)),
    "door and worlds": (700, ("door", "control", "worlds")),
    "command line and stub": (400, ("cli", "stub")),
    "documents": (400, ("docs", "typing")),
    "peers and browser": (700, ("peers",)),
}

_LEFT_OUT: Final = {"benchmarks/RESULTS.md"}  # a program writes it
_BINARY: Final = {".png", ".ico"}
_PAGES: Final = {".html", ".css", ".js", ".svg"}
_LANGUAGES: Final = {".js", ".ts", ".java", ".go", ".pl", ".lua", ".html"}


def _written() -> dict[str, list[str]]:
    """Return the lines of each file of the checkout, by its path."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    paths = {name: _ROOT / name for name in names if name and Path(name).suffix not in _BINARY}
    return {
        name: path.read_text(encoding="utf-8").splitlines()
        for name, path in paths.items()
        if path.is_file() and name not in _LEFT_OUT
    }


def _room(name: str) -> str:
    parts = name.split("/")
    return "common, errors, top" if len(parts) == 2 else _ROOM_OF.get(parts[1], parts[1])  # a top-level module


def _kind(name: str) -> str:
    parts = name.split("/")
    folder = parts[1] if len(parts) > 2 else ""  # empty for a file at the top
    return next((kind for kind, (_, folders) in _KINDS.items() if folder in folders), folder)


def _other(name: str) -> str:
    suffix = Path(name).suffix
    if name.startswith("petstore_mock/") and suffix in _PAGES:
        return "page of the console"
    if "/golden/" in name:
        return "golden files"
    if name.startswith("tests/"):
        return "tests in other languages" if suffix in _LANGUAGES else "tests' data and notes"
    if name.startswith(("benchmarks/", "tools/", "docs/", "schemas/")):
        return name.partition("/")[0]
    return "top level and workflows"


def _count(files: Mapping[str, list[str]], kind_of: Callable[[str], str]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for name, lines in files.items():
        counted[kind_of(name)] += len(lines)
    return dict(counted)


def _docstring_lines(tree: ast.Module) -> set[int]:
    """Return the line numbers of docstrings."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


def _density(modules: Iterable[list[str]]) -> tuple[float, float]:
    """Return the share of lines that are code, and the mean width of the lines that are not blank."""
    lines = code = written = width = 0
    for text in modules:
        docstrings = _docstring_lines(ast.parse("\n".join(text)))
        lines += len(text)
        for number, line in enumerate(text, 1):
            if line.strip():
                written += 1
                width += len(line)
                code += number not in docstrings and not line.lstrip().startswith("#")
    return code / max(lines, 1), width / max(written, 1)


def _show(title: str, counted: Mapping[str, int], budgets: Mapping[str, int], total: int = 0) -> None:
    """Print one table: first the rows with a budget, in the order of ``budgets``."""
    print(f"\n{title:36} {'lines':>8} {'budget':>8}" if budgets else f"\n{title:36} {'lines':>8}")
    for name in [*budgets, *sorted(counted.keys() - budgets.keys())]:
        if counted.get(name) or budgets.get(name):
            budget = f"{budgets[name]:8,}" if name in budgets else ""
            print(f"  {name:34} {counted.get(name, 0):8,} {budget}".rstrip())
    print(f"  {'total':34} {sum(counted.values()):8,} {f'{total:8,}' if total else ''}".rstrip())


def main() -> None:
    """Print the tables."""
    files = _written()
    package = {
        name: lines for name, lines in files.items() if name.endswith(".py") and name.startswith("petstore_mock/")
    }
    tests = {name: lines for name, lines in files.items() if name.endswith(".py") and name.startswith("tests/")}
    others = {name: lines for name, lines in files.items() if name not in package and name not in tests}
    _show("petstore_mock", _count(package, _room), _ROOMS, _PACKAGE_BUDGET)
    share, width = _density(package.values())
    print(f"  {len(package)} modules")
    print(f"  code in {share:.1%} of the lines (at most 68 %), mean width {width:.1f} (at most 50)")
    budgets = {kind: budget for kind, (budget, _) in _KINDS.items()}
    _show("tests", _count(tests, _kind), budgets, _TESTS_BUDGET)
    _show("everything else", _count(others, _other), {})


if __name__ == "__main__":
    main()
