"""The lines of a pasted test, as data. The machine plays a line by a call; the report writes the line as source."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from petstore_mock.checks import Call
from petstore_mock.checks.reading import literal
from petstore_mock.common.guards import is_array
from petstore_mock.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping

# The objects of a test, by their names.
Objects: TypeAlias = "Mapping[str, Any]"
ELSEWHERE: Final = "elsewhere"


@dataclass(frozen=True)
class Line:
    """A call of a function or of a method of an object of the test."""

    owner: str  # the name of the object; for a function, its own name
    method: str = ""  # the name of the method; empty for a function
    positional: tuple[object, ...] = ()
    keywords: Mapping[str, object] = field(default_factory=dict[str, object])

    def play(self, objects: Objects) -> None:
        """Make the call on the objects of the test."""
        positional = [self._played(value, objects) for value in self.positional]
        function = objects[self.owner]
        if self.method:
            function = attrgetter(self.method)(function)
        function(*positional, **self.keywords)

    def _played(self, value: object, objects: Objects) -> object:
        if isinstance(value, Name):
            return objects[value]
        if not isinstance(value, Fault):
            return value
        return placed(value, {place: objects[name].url for place, name in self._addresses(value).items()})

    def __str__(self) -> str:
        """Return the line as Python source."""
        written = [self._written(value) for value in self.positional]
        written += [f"{name}={literal(value)}" for name, value in self.keywords.items()]
        target = f"{self.owner}.{self.method}" if self.method else self.owner
        return f"{target}({', '.join(written)})"

    @property
    def names(self) -> set[str]:
        """The names that the source of the line uses."""
        names = {self.owner}
        for value in self.positional:
            if isinstance(value, Name):
                names.add(value)
            elif isinstance(value, Call):
                names.add("checks")
            elif isinstance(value, Fault):
                names |= {"faults", *self._addresses(value).values()}
        return names

    def _addresses(self, fault: Fault) -> dict[str, str]:
        """Return the mocks whose addresses a fault needs, by the texts that stand for these in its header values."""
        values = "".join(value for _, value in fault.fields)
        names = {"{petstore}": self.owner, "{elsewhere}": ELSEWHERE}
        return {place: name for place, name in names.items() if place in values}

    def _written(self, value: object) -> str:
        if isinstance(value, Name):
            return value
        if isinstance(value, Call):
            return f"checks.Call({value.operation!r}, {literal(value.arguments)})"
        if not isinstance(value, Fault):
            return literal(value)
        text = repr(value)
        for place, name in self._addresses(value).items():
            text = text.replace(f"'{place}", f"{name}.url + '")
        return text


class Name(str):
    """The name of an object of the test, as an argument."""

    __slots__ = ()


def placed(fault: Fault, texts: Mapping[str, str]) -> Fault:
    """Return a fault with texts in place of the names in braces in its header values."""
    headers = fault.arguments.get("headers")
    if not headers:
        return fault
    filled = {name: _filled(value, texts) for name, value in headers.items()}
    return replace(fault, arguments={**fault.arguments, "headers": filled})


def _filled(value: str | list[str], texts: Mapping[str, str]) -> str | list[str]:
    if is_array(value):
        return [str(_filled(item, texts)) for item in value]
    for place, text in texts.items():
        value = str(value).replace(place, text)
    return value
