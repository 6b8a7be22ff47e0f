"""What a client did wrong, as data first and words second."""

from __future__ import annotations

from dataclasses import dataclass, field
from json import dumps
from typing import TYPE_CHECKING, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut, mask_parameter
from petstore_mock.common.refusing import nearest
from petstore_mock.interface.table import SENTENCES

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from petstore_mock.interface.table import Sentence

MOST_VIOLATIONS: Final = 1000  # of one value; a body of a megabyte can break a hundred thousand rules
_SHOWN: Final = 60  # characters of a value: enough to recognise it, and an error body stays readable
_MISSING: Final = object()


class Described(str):
    """The description of a value that another process received."""

    __slots__ = ()


_KINDS: Final[Mapping[type[object], str]] = {
    bool: "boolean",  # before int: to Python, booleans are integers
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def describe(value: object) -> str:
    """Return a value as shortened JSON with its type: ``"1" (string)``."""
    if value is None or isinstance(value, Described):
        return "null" if value is None else str(value)
    kind = next((name for python, name in _KINDS.items() if isinstance(value, python)), type(value).__name__)
    try:
        text = dumps(value, default=repr, skipkeys=True)
    except (RecursionError, ValueError):  # only Python values contain themselves, or nest so deeply
        text = "..."
    if is_array(value) or is_object(value):
        kind = f"{kind} of {len(value)}"
    elif isinstance(value, str) and len(text) > _SHOWN:
        kind = f"{kind} of {len(value)} characters"
    return f"{cut(text, _SHOWN)} ({kind})"


def path_of(steps: Iterable[str | int], path: str = "body") -> str:
    """Return the path of the value that ``steps`` lead to; names are shortened and printable."""
    for step in steps:
        name = cut(str(step), _SHOWN)
        path = f"{path}.{name if name.isprintable() else dumps(name)[1:-1]}"
    return path


def no_such_name(name: str, known: Iterable[str], kind: str, *, given: Container[str] = ()) -> str:
    """Return the words for a name that is not known: the names that are, and the nearest that did not come itself."""
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
        expected: what is right, in words that follow the path.
        value: what came instead; absent for a missing member.
        subject: the key of ``SENTENCES`` of the broken sentence; empty where the path tells.
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
        """Whether a wrong value came; else one is missing."""
        return self.value is not _MISSING

    @property
    def came(self) -> str:
        """What came instead, described; masked where the name is like that of a key."""
        value = self.value
        return describe(mask_parameter(self.path.rpartition(".")[2], value) if type(value) is str else value)

    @property
    def sentence(self) -> Sentence:
        """The sentence of the interface that is broken."""
        location, *names = self.path.split(".")
        keys = (self.subject, ".".join([location, *names[:1]]), location)
        return next(SENTENCES[key] for key in (*keys, "body") if key in SENTENCES)


class Violations(list[Violation]):
    """The rules that one value breaks: at most ``MOST_VIOLATIONS`` of them, and how many more there are."""

    omitted: int = 0

    def fill(self, names: Sequence[str], violation: Callable[[str], Violation]) -> None:
        """Add a violation for each name while there is room, and count the others."""
        room = max(0, MOST_VIOLATIONS - len(self))
        self.extend(map(violation, names[:room]))
        self.omitted += len(names[room:])
