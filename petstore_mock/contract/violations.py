"""What a client did wrong, as data first and words second."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, Self

from petstore_mock.common.masking import CUT, cut, mask_parameter
from petstore_mock.common.suggestions import nearest
from petstore_mock.contract.interface import SENTENCES, Sentence

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

__all__ = [
    "MOST_VIOLATIONS",
    "Described",
    "HugeInteger",
    "JsonNumber",
    "Violation",
    "Violations",
    "describe",
    "json_type",
    "member_path",
    "no_such_name",
    "path_of",
]

MOST_VIOLATIONS: Final = 1000  # of one value; a reader has long understood

_SHOWN: Final = 60  # characters of a value: enough to recognise it, and an error body stays readable
_MISSING: Final = object()


class JsonNumber(float):
    """A JSON number with a fraction or an exponent; it remembers how it was written."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:  # noqa: D102  # the class says it
        number = super().__new__(cls, text)
        number.text = text
        return number


class HugeInteger(int):
    """A JSON integer of more digits than are worth computing with: further out than any bound, text kept short."""

    text: str

    def __new__(cls, text: str) -> Self:  # noqa: D102  # the class says it
        number = super().__new__(cls, -(10**400) if text.startswith("-") else 10**400)
        number.text = text
        return number


class Described(str):
    """Stands for a value of which only its description is known, since it came in another process."""

    __slots__ = ()


_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
    (type(None), "null"),
)


def json_type(value: object) -> str:
    """Return what JSON calls the type of ``value``; of what is no JSON value, what Python calls it."""
    return next((name for python, name in _KINDS if isinstance(value, python)), type(value).__name__)


def describe(value: object) -> str:
    """Return ``value`` as shortened JSON with its type: ``"1" (string)``."""
    if isinstance(value, Described):
        return str(value)
    kind = json_type(value)
    if value is None:
        return kind
    text = _written(value)
    if isinstance(value, HugeInteger):
        digits = value.text.removeprefix("-")
        if digits.isdecimal():
            return f"{text[:20]}... ({kind} of {len(digits)} digits)"
        kind = "number"
    if isinstance(value, (list, dict)):
        kind = f"{kind} of {len(value)}"
    if len(text) > _SHOWN:
        length = f" of {len(value)} characters" if isinstance(value, str) else ""
        return f"{text[:_SHOWN]}{CUT} ({kind}{length})"
    return f"{text} ({kind})"


def _written(value: object) -> str:
    """Write ``value`` as JSON, no more of it than can be shown."""
    if isinstance(value, (HugeInteger, JsonNumber)):
        return value.text[: _SHOWN + 1]
    if isinstance(value, list):
        return f"[{', '.join(_written_inside(item) for item in value[:_SHOWN])}]"
    if isinstance(value, dict):
        members = islice(value.items(), _SHOWN)
        return f"{{{', '.join(f'{_written(name)}: {_written_inside(member)}' for name, member in members)}}}"
    # ASCII, so that a lone surrogate or a control character can stand in any report.
    return json.dumps(value[: _SHOWN + 1] if isinstance(value, str) else value, default=repr)


def _written_inside(value: object) -> str:
    if isinstance(value, (list, dict)) and value:
        return "[...]" if isinstance(value, list) else "{...}"
    return _written(value)


def member_path(path: str, name: str) -> str:
    """Return the path of the member ``name``: shortened, and without a character that would spoil a line."""
    name = cut(name, _SHOWN)
    return f"{path}.{name if name.isprintable() else json.dumps(name)[1:-1]}"


def path_of(steps: Iterable[str | int], path: str) -> str:
    """Return the path of what ``steps`` lead to from ``path`` on."""
    for step in steps:
        path = member_path(path, str(step))
    return path


def no_such_name(name: str, known: Iterable[str], kind: str, *, given: Container[str] = ()) -> str:
    """Return the words for a member that is none of the ``known`` ones: which they are, and which may be meant.

    Args:
        name: what came.
        known: what may come.
        kind: what it would be, in the singular, such as ``field of Pet``.
        given: all names that came: what is there by its own name is not meant by another.
    """
    names = list(known)
    offer = f"; the {kind.split(maxsplit=1)[0]}s are {', '.join(names)}" if names else ""
    meant = nearest(name, [other for other in names if other not in given])
    return f"is not a {kind}{offer}{f' (did you mean {meant}?)' if meant else ''}"


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule of the interface that a request breaks.

    Attributes:
        path: where, such as ``body.categoryId``, ``query.limit`` or ``path.petId``.
        rule: the JSON Schema keyword, or our word for a rule that no schema can say (``uniqueMembers``, ``json``).
        expected: what would have been right, in words that follow the path.
        value: what came instead; absent for a missing member.
        subject: the key of ``contract.SENTENCES`` of what is broken; empty where the path tells.
    """

    path: str
    rule: str
    expected: str
    value: object = field(default=_MISSING, compare=False)
    subject: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.path} {self.expected}, got {self.came}" if self.has_value else f"{self.path} {self.expected}"

    @property
    def has_value(self) -> bool:
        """Whether something came that is wrong, and nothing is missing."""
        return self.value is not _MISSING

    @property
    def came(self) -> str:
        """What came instead, described; masked where the member or parameter is called like a key."""
        value = self.value
        return describe(mask_parameter(self.path.rpartition(".")[2], value) if type(value) is str else value)

    @property
    def sentence(self) -> Sentence:
        """The sentence of the interface that is broken."""
        if self.subject:
            return SENTENCES[self.subject]
        location, _, rest = self.path.partition(".")
        name = rest.split(".")[0]
        if location == "query":
            return SENTENCES[{"limit": "limit", "status": "statusFilter"}.get(name, "query")]
        if location == "path":
            return SENTENCES["petId"]
        return SENTENCES[name if name in {"name", "categoryId", "status"} else "body"]


class Violations(list[Violation]):
    """The rules that one value breaks, at most ``MOST_VIOLATIONS`` of them, and how many more there are.

    A body of a megabyte can break a hundred thousand; to make a violation of each would hold everybody else up.
    """

    omitted: int = 0  # how many were counted and not made

    @property
    def room(self) -> int:
        """How many more may be made."""
        return max(0, MOST_VIOLATIONS - len(self))
