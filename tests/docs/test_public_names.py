"""Every public name has an entry in the reference, which says what it takes, in which unit, and what it raises."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

import petstore_mock
from tools.documents.blocks import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference" / "api").glob("*.md"))
ENTRIES = set(re.findall(r"^\.\. auto\w+:: ([\w.]+)", REFERENCE, re.MULTILINE))
# An amount is nothing without its unit, or what it is a share of.
UNITS = re.compile(r"seconds?|bytes|chance|fraction|share|moment|amounts?|patience|waits", re.IGNORECASE)
# For the package's own rooms, and for Hypothesis.
INTERNAL = {"faults.coerce", "Clock.restore", "Clock.snapshot", "stateful.ClientMachine.begin"}


def names() -> Iterator[tuple[str, Any]]:
    """Give every public name with its object, behind the package's own."""
    modules = [petstore_mock]
    for module in modules:
        for name in module.__all__:
            found = getattr(module, name)
            if isinstance(found, ModuleType):
                modules.append(found)
                continue
            where = f"{module.__name__}.{name}".removeprefix("petstore_mock.")
            if where not in INTERNAL:
                yield where, found


NAMES = dict(names())


def functions() -> Iterator[tuple[str, Any]]:
    """Give the public functions, and the public methods of the public classes."""
    for where, found in NAMES.items():
        if inspect.isfunction(found):
            yield where, found
        elif inspect.isclass(found) and found.__module__.startswith("petstore_mock"):
            for name, member in inspect.getmembers(found, inspect.isroutine):
                ours = not name.startswith("_") and getattr(member, "__module__", "").startswith("petstore_mock")
                if ours and f"{where}.{name}" not in INTERNAL:
                    yield f"{where}.{name}", member


FUNCTIONS = dict(functions())


def section(text: str, title: str) -> str:
    """Return a section of a docstring."""
    found = re.search(rf"^{title}:\n((?:    .*\n|\n)*)", text + "\n", re.MULTILINE)
    return found[1] if found else ""


def classes() -> dict[str, type]:
    """Return the classes of the package, public or not, by their names."""
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(petstore_mock.__path__, "petstore_mock."):
        if not module.name.endswith("__main__"):
            members = inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
            found |= {name: one for name, one in members if one.__module__.startswith("petstore_mock")}
    return found


CLASSES = classes()
# What somebody may hold and has no use for but to hand it on, or what only the package's own rooms ask for.
HANDED_ON = {
    "WsgiApp",  # to whatever calls one
    "AsgiApp",
    "Listener",  # pytest-httpserver's HTTPServer, whose documents say what it does
    "AdaptedClient",  # has the three methods of PetClient
    "ApiResponse",  # an Entry has its parts
    "Condition",  # likewise, as `reason` and `status`
    "Criteria",
    "DeferredResponses",
    "Example",
    "Head",
    "Delivery",
    "Sentence",  # a str
    "Scenario",
    "CheckRun",
    "Restrictions",
    "RequestFields",  # pairs of bytes
    "Result",  # a Literal, whose words stand with ClauseResult
}


def given() -> Iterator[tuple[str, str]]:
    """Give each public function, property and attribute with its annotation."""
    for where, function in FUNCTIONS.items():
        yield where, str(inspect.signature(function).return_annotation)
    for where, found in NAMES.items():
        for kind in found.__mro__ if inspect.isclass(found) else ():
            for name, member in vars(kind).items():
                if isinstance(member, property) and not name.startswith("_"):
                    yield f"{where}.{name}", str(inspect.signature(member.fget or len).return_annotation)
            for name, annotation in vars(kind).get("__annotations__", {}).items():
                if not name.startswith("_"):
                    yield f"{where}.{name}", str(annotation)


def test_what_public_names_give_has_an_entry_itself() -> None:
    """Or one of its bases has, as of all faults."""
    known = {name.rpartition(".")[2] for name in ENTRIES}
    missing = {
        f"{where}: {name}"
        for where, annotation in given()
        for name in re.findall(r"\b[A-Z]\w+", annotation)
        if name in CLASSES and name not in HANDED_ON and not {one.__name__ for one in CLASSES[name].__mro__} & known
    }
    assert not missing


def test_there_are_names() -> None:
    assert {"PetStoreMock", "faults.respond", "strategies.new_pets", "stateful.check_client"} <= set(NAMES)
    assert {"PetStoreMock.inject", "Journal.assert_called", "Clock.advance", "verify.verify"} <= set(FUNCTIONS)


@pytest.mark.parametrize("name", NAMES)
def test_name_has_an_entry(name: str) -> None:
    module = f"petstore_mock.{name}".rpartition(".")[0]
    assert {f"petstore_mock.{name}", module} & (ENTRIES - {"petstore_mock"}), "give it one in docs/reference/api"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_entry_says_what_each_argument_is(name: str) -> None:
    """One argument may stand in the sentence; of several, each has its line."""
    function = FUNCTIONS[name]
    text = inspect.getdoc(function) or ""
    assert text, "has no docstring"
    parameters = [one for one in inspect.signature(function).parameters.values() if one.name not in {"self", "cls"}]
    told = section(text, "Args")
    elsewhere = re.compile(r"as (?:in |for )?:(?:func|meth):`")  # another entry says it
    for one in parameters:
        assert one.annotation is not one.empty, f"{one.name} has no type"
        if len(parameters) > 2 or told:
            line = re.search(rf"^    \**{one.name}: ", told, re.MULTILINE)
            assert line or f"``{one.name}``" in text or elsewhere.search(text), one.name
        if re.search(r"\bfloat\b", str(one.annotation)):
            line = re.search(rf"^    {one.name}: ((?:.*\n(?:        .*\n)*))", told, re.MULTILINE)
            words = line[1] if line else f"{one.name} {text}"
            assert UNITS.search(words) or elsewhere.search(words), f"{one.name} has no unit"


@pytest.mark.parametrize("name", [name for name, found in NAMES.items() if inspect.isclass(found)])
def test_entry_says_of_which_type_each_attribute_is(name: str) -> None:
    """Sphinx takes it from the class; a property has its own."""
    found = NAMES[name]
    known = {one for kind in found.__mro__ for one in vars(kind).get("__annotations__", {})}
    for attribute, words in re.findall(
        r"^    (\w+): (.*)$", section(inspect.getdoc(found) or "", "Attributes"), re.MULTILINE
    ):
        assert attribute in known or words.endswith("internal."), attribute


@pytest.mark.parametrize("name", FUNCTIONS)
def test_entry_says_what_is_raised(name: str) -> None:
    """What the function itself raises, that is; what it hands on is for a reader of its words to see."""
    function = inspect.unwrap(FUNCTIONS[name])
    source = inspect.getsource(function)
    raised = set(re.findall(r"^ +raise (\w+)\(", source, re.MULTILINE)) - {"AttributeError"}
    text = inspect.getdoc(function) or ""
    assert all(error in text for error in raised), f"say when it raises {', '.join(sorted(raised))}"
