"""What tests outside ``tests/unit`` may use of the package: its public surface, and a checker that refuses the rest.

The checker reads source text. It knows the type of an expression where the text shows it: an annotation, a call of
``PetStoreMock`` or ``connect``, a conventional name such as ``petstore``, and what a public name returns.
"""

from __future__ import annotations

import ast
import importlib
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import petstore_mock

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["breaches"]

# The public modules. Their `__all__` lists their names; `checks` comes with the rewrite.
MODULES: Final = frozenset({"checks", "faults", "stateful", "strategies", "verify"})
NAMES: Final = MODULES | {*petstore_mock.__all__, "__version__", "__file__", "__path__", "__all__"}

# The attributes that docs/reference/api names, by the type of the object; and `spent`, which the door promises.
ATTRIBUTES: Final[dict[str, frozenset[str]]] = {
    kind: frozenset(names.split())
    for kind, names in {
        "PetStoreMock": """
            api_key app asgi behaviour cancel_faults clock close_connections configure control_url expect_violation
            fresh headers httpserver inject issue_key journal openapi pets remove requests_session reset restore
            revoke_key seed seed_many snapshot start stop tls update url verify
        """,
        "Journal": """
            assert_called assert_not_called for_operation last to_har violations wait_for wait_for_async
        """,
        "Entry": """
            body by_expectation condition connection decision delayed_by detail duration exchange executed expected
            fault fields headers is_violation json method misplaced_keys moment mutant number omitted operation outcome
            owner path query reason request request_line response response_body response_fields response_headers
            section secure sentence status target timestamp violations where
        """,
        "Clock": "advance freeze frozen moment now travel_to unfreeze",
        "FaultHandle": """
            after at cancel fault hits id off_contract on probability since spent times when where
        """,
        "Snapshot": "",
    }.items()
}
# What an object of a type is called where the text does not show its type.
CONVENTION: Final = {"petstore": "PetStoreMock", "journal": "Journal"}
MAKERS: Final = {"PetStoreMock": "PetStoreMock", "RemotePetStore": "PetStoreMock", "connect": "PetStoreMock"}
# Options that the rewrite takes away. `tests/observer.py` does what self_check did.
LEAVING: Final = frozenset({"self_check"})
# The type of what an attribute is, or of what a method returns.
GIVES: Final[dict[tuple[str | None, str], str]] = {
    ("PetStoreMock", "journal"): "Journal",
    ("PetStoreMock", "clock"): "Clock",
    ("PetStoreMock", "inject"): "FaultHandle",
    ("PetStoreMock", "snapshot"): "Snapshot",
    ("PetStoreMock", "fresh"): "PetStoreMock",
    ("Journal", "last"): "Entry",
}
TYPES: Final = {**{name: name for name in ATTRIBUTES}, **MAKERS, "Exchange": "Entry"}  # its name after the switch

_DOTTED: Final = re.compile(r"\bpetstore_mock\.(\w+)(?:\.(\w+))?")
_IMPORTED: Final = re.compile(r"\bfrom petstore_mock import (\w+(?:, *\w+)*)")
_BY_NAME: Final = frozenset({"getattr", "setattr", "delattr", "hasattr", "object"})
# The language's own names with one underscore, of named tuples.
_OF_THE_LANGUAGE: Final = frozenset({"_asdict", "_fields", "_make", "_replace"})
_OWN: Final = frozenset({"self", "cls"})


def breaches(source: str, *, is_unit: bool = False) -> list[str]:
    """Return each use of what is not public, with its line.

    Args:
        source: the text of a test file.
        is_unit: whether it is one of ``tests/unit``, which may import pure functions from the rooms of the package.
    """
    checker = _Checker(is_unit=is_unit)
    checker.visit(ast.parse(source))
    return checker.found


def _is_public(module: str, name: str | None) -> bool:
    """Tell whether a name of the package, or one of a module of it, is public."""
    if module not in NAMES:
        return False
    if name is None or module not in MODULES:
        return True
    found = importlib.import_module(f"petstore_mock.{module}") if find_spec(f"petstore_mock.{module}") else None
    names: list[str] = getattr(found, "__all__", [name])
    return name in names


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in _OF_THE_LANGUAGE


class _Checker(ast.NodeVisitor):
    def __init__(self, *, is_unit: bool) -> None:
        self.found: list[str] = []
        self._is_unit = is_unit
        self._types = dict(CONVENTION)
        self._makers = {"PetStoreMock"}
        self._modules: dict[str, str] = {}

    def _refuse(self, node: ast.AST, what: str) -> None:
        self.found.append(f"line {getattr(node, 'lineno', 0)}: {what}")

    # Imports.

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._check_path(node, alias.name.split("."))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self._check_path(node, [*(node.module or "").split("."), alias.name])
            if node.module == "petstore_mock" and alias.name in MAKERS:
                self._makers.add(alias.name)
            if node.module == "petstore_mock" and alias.name in TYPES and alias.name != "connect":
                self._types[alias.asname or alias.name] = TYPES[alias.name]  # the class has what its objects have
            if node.module == "petstore_mock" and alias.name in MODULES:
                self._modules[alias.asname or alias.name] = alias.name

    def _check_path(self, node: ast.AST, path: list[str]) -> None:
        package, *names = path
        if package == "petstore_mock" and names:
            module, name = names[0], ".".join(names[1:]) or None
            may_be_internal = self._is_unit and not any(map(_is_private, names))
            if not may_be_internal and not _is_public(module, name):
                self._refuse(node, ".".join(path))

    # Names as text: patched, imported by name, or in the source of an inner run.

    def visit_Constant(self, node: ast.Constant) -> None:
        # A unit test may start another process on source text, or change the source of a copy.
        is_source = self._is_unit and isinstance(node.value, str) and "import" in node.value.split()
        if isinstance(node.value, str) and not is_source:
            for found in _DOTTED.finditer(node.value):
                if not _is_public(found[1], found[2] if found[1] in MODULES else None):
                    self._refuse(node, repr(found[0]))
            for found in _IMPORTED.finditer(node.value):
                if not set(re.findall(r"\w+", found[1])) <= NAMES:
                    self._refuse(node, repr(found[0]))

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in _BY_NAME and len(node.args) > 1:
            owner, name = node.args[:2]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                self._check_attribute(node, owner, name.value)
        if called in MAKERS:
            for keyword in node.keywords:
                if keyword.arg in LEAVING:
                    self._refuse(node, f"{called}({keyword.arg}=...)")
        self.generic_visit(node)

    # Attributes.

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._check_attribute(node, node.value, node.attr)
        self.generic_visit(node)

    def _check_attribute(self, node: ast.AST, owner: ast.expr, name: str) -> None:
        shown = f"{ast.unparse(owner)}.{name}"
        owner_is_itself = (isinstance(owner, ast.Name) and owner.id in _OWN) or (
            isinstance(owner, ast.Call) and getattr(owner.func, "id", "") == "super"
        )
        if _is_private(name):
            if not owner_is_itself:
                self._refuse(node, shown)
        elif isinstance(owner, ast.Name) and owner.id == "petstore_mock":
            if not _is_public(name, None):
                self._refuse(node, shown)
        elif module := self._module_of(owner):
            if not name.startswith("__") and not _is_public(module, name):
                self._refuse(node, shown)
        elif (
            not self._is_unit
            and (kind := self._type_of(owner))
            and not name.startswith("__")
            and name not in ATTRIBUTES[kind]
        ):
            self._refuse(node, shown)

    def _module_of(self, node: ast.expr) -> str | None:
        match node:
            case ast.Name():
                return self._modules.get(node.id)
            case ast.Attribute(value=ast.Name(id="petstore_mock"), attr=name) if name in MODULES:
                return name
            case _:
                return None

    def _type_of(self, node: ast.expr) -> str | None:
        kind = None
        match node:
            case ast.Name():
                kind = self._types.get(node.id)
            case ast.Attribute(attr=name) if name in CONVENTION and self._type_of(node.value) is None:
                kind = CONVENTION[name]
            case ast.Attribute():
                kind = GIVES.get((self._type_of(node.value), node.attr))
            case ast.Call(func=ast.Name(id=name)):
                kind = MAKERS[name] if name in self._makers else None
            case ast.Call(func=ast.Attribute(value=ast.Name(id="petstore_mock"), attr=name)):
                kind = MAKERS.get(name)
            case ast.Call(func=ast.Attribute()):
                kind = self._type_of(node.func)
            case ast.Subscript() if self._type_of(node.value) == "Journal" and not isinstance(node.slice, ast.Slice):
                kind = "Entry"
        return kind

    # Where the text shows a type.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_scope(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_scope(node)

    def _visit_scope(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer, self._types = self._types, dict(self._types)
        for argument in _arguments(node.args):
            if argument.annotation is not None:
                self._note(argument.arg, _annotated(argument.annotation))
        self.generic_visit(node)
        self._types = outer

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._note(target.id, self._type_of(node.value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            self._note(node.target.id, _annotated(node.annotation))

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            if isinstance(item.optional_vars, ast.Name):
                self._note(item.optional_vars.id, self._type_of(item.context_expr))
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        if isinstance(node.target, ast.Name) and self._type_of(node.iter) == "Journal":
            self._note(node.target.id, "Entry")
        self.generic_visit(node)

    def _note(self, name: str, kind: str | None) -> None:
        """Remember the type of a name; a name without a known one keeps that of the convention."""
        if kind is not None:
            self._types[name] = kind


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)


def _annotated(annotation: ast.expr) -> str | None:
    """Return the type that an annotation names; a quoted one and ``| None`` are read as well."""
    text = ast.unparse(annotation).strip("'\"").removesuffix(" | None").removeprefix("petstore_mock.")
    return TYPES.get(text)
