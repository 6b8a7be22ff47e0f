"""Every public name has an entry in the reference, with its arguments, their units, and its errors."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import pytest

import petstore_mock
from tools.documents.blocks import ROOT

PAGES = {page.stem: page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference" / "api").glob("*.md")}
# The entries of the reference, with the lines of their options. A check has a row in a table instead of an entry.
ENTRIES = dict(
    re.findall(
        r"^\.\. (?:auto\w+|py:data):: petstore_mock\.?([\w.]*).*\n((?:   :.*\n)*)",
        "\n".join(PAGES.values()),
        re.MULTILINE,
    )
)
ROWS = {f"checks.{name}" for name in re.findall(r"^\| `(\w+)` \|", PAGES.get("checks", ""), re.MULTILINE)}
# Names for other rooms of the package.
INTERNAL = {"faults.coerce"}
# An entry must say the unit of an amount, or that the amount is a share of something.
UNITS = re.compile(
    r"seconds?|bytes|(?:kilo)?grams|euros?|cents?|metres?|years?|percent|degrees?|chance|fraction|share|moment|amounts?|patience|waits",
    re.IGNORECASE,
)
ELSEWHERE = re.compile(r"as (?:in |for )?:(?:func|meth):`|; see :meth:`")  # another entry says it
# Types that users only pass on, or that only rooms of the package use.
PASSED_ON = {
    "WsgiApp",  # to code that calls a WSGI application
    *("Listener", "Session"),  # pytest-httpserver and requests document them
    *("ApiResponse", "Response", "Head", "Condition", "RequestFields"),  # users read their parts from an exchange
    *("Criteria", "DeferredResponses", "Delivery", "Restrictions", "Step", "PlannedFault"),
    *("AdaptedClient", "Example", "Scenario", "CheckRun"),
    *("Sentence", "Result"),  # a str, and a Literal
}


def names() -> Iterator[tuple[str, Any]]:
    """Yield every public name of the package and its public modules, with its object."""
    modules = [petstore_mock]
    for module in modules:
        for name in module.__all__:
            found = getattr(module, name)
            where = f"{module.__name__}.{name}".removeprefix("petstore_mock.")
            if isinstance(found, ModuleType):
                modules.append(found)
            elif where not in INTERNAL:
                yield where, found


NAMES = dict(names())


def resolved(name: str) -> Any:
    module, _, rest = f"petstore_mock.{name}".rpartition(".")
    try:
        return importlib.import_module(f"{module}.{rest}")
    except ModuleNotFoundError:
        return getattr(importlib.import_module(module), rest)


@cache
def members() -> dict[str, Any]:
    """Return the objects with an entry, including members of classes and modules."""
    found: dict[str, Any] = {}
    for name, options in ENTRIES.items():
        owner = found[name] = resolved(name)
        wanted = re.search(r":members:(.*)", options)
        listed = wanted[1].replace(",", " ").split() if wanted else []
        if wanted and not listed:
            without = (re.search(r":exclude-members:(.*)", options) or ["", ""])[1].replace(",", " ").split()
            listed = [one for one in getattr(owner, "__all__", dir(owner)) if one[0] != "_" and one not in without]
        found |= {f"{name}.{one}": inspect.getattr_static(owner, one) for one in listed if hasattr(owner, one)}
    return found


def routines() -> dict[str, Any]:
    """Return the functions and methods of the package that have an entry."""
    found = {name: getattr(one, "__func__", one) for name, one in members().items()}
    found = {name: one for name, one in found.items() if inspect.isroutine(one)}
    return {name: one for name, one in found.items() if one.__module__.startswith("petstore_mock")}


ROUTINES = routines()


def section(text: str, title: str) -> str:
    """Return a section of a docstring."""
    found = re.search(rf"^{title}:\n((?:    .*\n|\n)*)", text + "\n", re.MULTILINE)
    return found[1] if found else ""


def test_there_are_names() -> None:
    assert {"PetStoreMock", "faults.respond", "strategies.new_pets", "stateful.check_client"} <= set(NAMES)
    assert {"PetStoreMock.inject", "Journal.assert_called", "Clock.advance", "verify.verify"} <= set(ROUTINES)


@pytest.mark.parametrize("name", NAMES)
def test_name_has_an_entry(name: str) -> None:
    """A name that two modules share has its entry in one of them."""
    same = {other for other, found in NAMES.items() if found is NAMES[name]}
    assert (same | {name.rpartition(".")[0]} - {""}) & (ENTRIES.keys() | ROWS), "add an entry in docs/reference/api"


def classes() -> dict[str, type]:
    """Return the classes of the package, public or not, by their names."""
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(petstore_mock.__path__, "petstore_mock."):
        if not module.name.endswith("__main__"):
            kinds = inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
            found |= {name: one for name, one in kinds if one.__module__.startswith("petstore_mock")}
    return found


def annotated() -> Iterator[tuple[str, str]]:
    """Yield each function and property that has an entry, with the annotation of its result."""
    for name, one in members().items():
        function = one.fget if isinstance(one, property) else ROUTINES.get(name)
        if function is not None:
            yield name, str(inspect.signature(function).return_annotation)


def test_the_results_of_public_names_have_entries() -> None:
    """An entry of a base class is enough, as for all faults."""
    ours, known = classes(), {name.rpartition(".")[2] for name in ENTRIES}
    missing = {
        f"{where}: {name}"
        for where, annotation in annotated()
        for name in re.findall(r"\b[A-Z]\w+", annotation)
        if name in ours and name not in PASSED_ON and not {one.__name__ for one in ours[name].__mro__} & known
    }
    assert not missing


@pytest.mark.parametrize("name", ROUTINES)
def test_entry_describes_each_argument(name: str) -> None:
    """Up to two arguments need no section Args. Otherwise, each argument has a line there, or its name in the text."""
    text = inspect.getdoc(ROUTINES[name]) or ""
    assert text, "has no docstring"
    parameters = [
        one for one in inspect.signature(ROUTINES[name]).parameters.values() if one.name not in {"self", "cls"}
    ]
    lines = section(text, "Args")
    for one in parameters:
        assert one.annotation is not one.empty, f"{one.name} has no type"
        line = re.search(rf"^    \**{one.name}: ((?:.*\n(?:        .*\n)*))", lines, re.MULTILINE)
        if len(parameters) > 2 or lines:
            assert line or f"``{one.name}``" in text or ELSEWHERE.search(text), one.name
        if re.search(r"\bfloat\b", str(one.annotation)):
            words = line[1] if line else f"{one.name} {text}"
            assert UNITS.search(words) or ELSEWHERE.search(words), f"{one.name} has no unit"


@pytest.mark.parametrize("name", [name for name, found in NAMES.items() if inspect.isclass(found)])
def test_each_attribute_of_an_entry_has_a_type(name: str) -> None:
    """The type is annotated in the class, or at the constructor's argument of the same name."""
    found = NAMES[name]
    lines = re.findall(r"^    (\w+): (.*)$", section(inspect.getdoc(found) or "", "Attributes"), re.MULTILINE)
    known = {one for kind in found.__mro__ for one in vars(kind).get("__annotations__", {})}
    if lines:
        known |= {one.name for one in inspect.signature(found).parameters.values() if one.annotation is not one.empty}
    assert not [attribute for attribute, words in lines if attribute not in known and not words.endswith("internal.")]


@pytest.mark.parametrize("name", ROUTINES)
def test_entry_names_the_errors(name: str) -> None:
    """The entry names the errors that the function itself raises. No test checks those of functions that it calls."""
    function = inspect.unwrap(ROUTINES[name])
    raised = set(re.findall(r"^ +raise ([A-Z]\w+)\(", inspect.getsource(function), re.MULTILINE)) - {"AttributeError"}
    text = inspect.getdoc(function) or ""
    assert ELSEWHERE.search(text) or all(error in text for error in raised), f"say when it raises {sorted(raised)}"


@pytest.mark.parametrize("name", ["faults", "checks", "stateful", "strategies", "verify"])
def test_dir_of_a_submodule_has_only_its_public_names(name: str) -> None:
    module = importlib.import_module(f"petstore_mock.{name}")
    assert set(dir(module)) == set(module.__all__)
