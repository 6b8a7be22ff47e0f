"""Violations: the rules that a client's request breaks, as data and in words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from json import JSONEncoder, dumps
from typing import TYPE_CHECKING, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut, mask_parameter
from petstore_mock.common.suggesting import nearest
from petstore_mock.interface.table import SENTENCES

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from petstore_mock.interface.table import Sentence

MOST_LISTED: Final = 20  # in one message; an animal may have thousands of wrong fields
# Per value. A body of 1 MB can break 100,000 rules, and the words for each take 20 microseconds.
MOST_VIOLATIONS: Final = 100
_SHOWN: Final = 60  # characters of a value: enough to recognise it in a readable error body


class _Absent(Enum):
    """The value of a violation without a value; a member of an enumeration stays the same in copies."""

    VALUE = auto()


class Described(str):
    """A description of a value, made by the process that received the value."""

    __slots__ = ()


_KINDS: Final[Mapping[type[object], str]] = {
    bool: "boolean",  # before int, because bool is a subclass of int
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def describe(value: object) -> str:
    """Return a value as shortened JSON with its type: ``"1" (string)``."""
    if value is None:
        return "null"
    if isinstance(value, Described):
        return str(value)
    text = _as_json(value)
    return f"{cut(text, _SHOWN)} ({_kind(value, len(text))})"


_encoder: Final = JSONEncoder(default=repr, skipkeys=True)


def _as_json(value: object) -> str:
    """Return a value as JSON; of a long container, only the beginning."""
    is_container = is_array(value) or is_object(value)
    try:
        if is_container:
            return _beginning(_encoder.iterencode(value))
        return _encoder.encode(value)
    except (RecursionError, ValueError):  # a Python value can contain itself or nest too deep; decoded JSON cannot
        return "..."


def _beginning(parts: Iterable[str]) -> str:
    """Return the first of the parts. A container may have a million members, of which only a few are shown."""
    text = ""
    for part in parts:
        text += part
        if len(text) > _SHOWN:
            break
    return text


def _kind(value: object, length: int) -> str:
    """Return the JSON type of a value, with the size of a container or of a text that is not shown whole."""
    kind = next((name for python, name in _KINDS.items() if isinstance(value, python)), type(value).__name__)
    if is_array(value) or is_object(value):
        return f"{kind} of {len(value)}"
    if isinstance(value, str) and length > _SHOWN:
        return f"{kind} of {length} characters"
    return kind


def path_of(steps: Iterable[str | int], path: str = "body") -> str:
    """Return ``path`` extended by ``steps``, with shortened and printable names."""
    for step in steps:
        name = cut(str(step), _SHOWN)
        if not name.isprintable():
            name = dumps(name)[1:-1]
        path = f"{path}.{name}"
    return path


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule of the interface that a request breaks.

    Attributes:
        path: the location, such as ``body.categoryId``, ``query.limit`` or ``path.petId``.
        rule: the JSON Schema keyword, or our word for a rule beyond JSON Schema (``uniqueMembers``, ``json``).
        expected: the expectation, in words that follow the path.
        value: the received value; absent for a missing member, and for a body that is not JSON.
        subject: the operation of the request; else a key in ``SENTENCES``, or an empty text.
    """

    path: str
    rule: str
    expected: str
    value: object = field(default=_Absent.VALUE, compare=False)
    subject: str = field(default="", compare=False)

    def __str__(self) -> str:
        words = f"{self.path} {self.expected}"
        if self.has_value:
            return f"{words}, got {self.received}"
        return words

    @property
    def has_value(self) -> bool:
        """Whether there is a received value: a missing member, and a body that is not JSON, have none."""
        return self.value is not _Absent.VALUE

    @property
    def received(self) -> str:
        """The received value in words; masked if the name in the path suggests a key."""
        value = self.value
        if type(value) is str:
            value = mask_parameter(self.path.rpartition(".")[2], value)
        return describe(value)

    @property
    def sentence(self) -> Sentence:
        """The sentence of the interface that the request breaks."""
        location, *names = self.path.split(".")
        # An unknown name may begin with a known name and a dot, such as ``name.x``.
        known = [] if self.rule == "additionalProperties" else names[:1]
        place = ".".join([location, *known])
        of_operation = f"{self.subject}.{place}"
        of_field = place if known else ""
        keys = (of_operation, of_field, f"{self.subject}.{location}", self.subject, location, "json")
        return SENTENCES[next(filter(SENTENCES.__contains__, keys))]


def no_such_name(
    name: str, value: object, place: str, known: Iterable[str], kind: str, *, given: Container[str]
) -> Violation:
    """Return the violation of an unknown name. It lists the known names and suggests the nearest outside ``given``."""
    names = list(known)
    meant = nearest(name, [other for other in names if other not in given])
    hint = f"; did you mean {meant}?" if meant else ""
    offer = f" (the {kind.split(maxsplit=1)[0]}s are {', '.join(names)}{hint})" if names else ""
    return Violation(path_of([name], place), "additionalProperties", f"is not a {kind}{offer}", value)


class Violations(list[Violation]):
    """The rules that one value breaks: at most ``MOST_VIOLATIONS``; ``omitted`` counts the others."""

    omitted: int = 0

    def fill(self, names: Sequence[str], violation: Callable[[str], Violation]) -> None:
        """Add a violation for each name until the list is full, and count the others."""
        room = max(0, MOST_VIOLATIONS - len(self))
        self.extend(map(violation, names[:room]))
        self.omitted += len(names[room:])

    def about(self, operation: str) -> Violations:
        """Return these violations by a request of an operation."""
        named = Violations(replace(violation, subject=operation) for violation in self)
        named.omitted = self.omitted
        return named

    def plus(self, others: Violations) -> Violations:
        both = Violations([*self, *others])
        both.omitted = self.omitted + others.omitted
        return both

    def in_words(self) -> str:
        """Return the first violations in words, and the number of the others."""
        return in_words(self, self.omitted)


def in_words(violations: Sequence[Violation], omitted: int) -> str:
    """Return the first violations in words, and the number of the others, of which ``omitted`` are not in the list."""
    listed = [str(violation) for violation in violations[:MOST_LISTED]]
    more = len(violations[MOST_LISTED:]) + omitted
    if more:
        listed.append(f"and {more} more")
    return "; ".join(listed)
