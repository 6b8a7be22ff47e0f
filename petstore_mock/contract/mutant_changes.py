"""What mutants do to a request and its answer: small functions, which the register (``mutants``) names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from petstore_mock.contract.error_conditions import condition_of_status, error_document
from petstore_mock.contract.interface import LARGEST_INT64, LARGEST_LIMIT, PET_STATUSES, OperationName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "NO_BODY",
    "NO_JSON",
    "MutableAnimals",
    "Turn",
    "all_of_one_id",
    "always",
    "another_animal",
    "answered",
    "any_animal",
    "as_ids",
    "as_null",
    "as_page",
    "as_whole_number",
    "asked_status",
    "cut_short",
    "default_limit",
    "empty_page",
    "error_as_page",
    "filter_ignored",
    "filter_taken_for",
    "first_of_array",
    "forgotten",
    "has",
    "id_of_another",
    "if_absent",
    "in_array",
    "in_ascii",
    "in_errors",
    "is_status_in_other_case",
    "is_unknown_status",
    "kept_all_the_same",
    "key_let_in",
    "lacking",
    "lacks",
    "let_pass",
    "limit_and_one",
    "limit_ignored",
    "made_of_nothing",
    "nameless",
    "next_status",
    "on",
    "on_success",
    "other_case",
    "passes",
    "refused",
    "renamed",
    "rounded",
    "sent_status",
    "with_field",
    "without",
    "wrapped",
]

NO_JSON: Final = object()  # in the place of a body that is none
NO_BODY: Final = object()
_JSON: Final = "application/json"
_PAGE: Final = "text/html"


class MutableAnimals(Protocol):
    """What a mutant may do to the animals of the service."""

    def other(self, pet_id: int) -> dict[str, Any] | None:
        """Return the animal with the lowest id that is not ``pet_id``; None where there is no other."""

    def add(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Keep an animal, under an id that the service assigns, and return it."""

    def remove(self, pet_id: int) -> None:
        """Forget an animal."""


@dataclass(slots=True)
class Turn:
    """A request and its answer, as a mutant meets them. What it changes in them is what the service does.

    Attributes:
        operation: the operation.
        query: the query parameters, by name.
        pet_id: the identifier asked for, 0 where there is none.
        sent: the JSON value of the request's body, ``NO_JSON`` or ``NO_BODY``.
        refused_key: why the key does not open the service: a name of ``CONDITIONS``; empty where it does.
        animals: the animals of the service.
        status: the status of the answer.
        document: the JSON value of its body.
        media_type: its Content-Type.
        body: its bytes, where they are not those of ``document``.
    """

    operation: OperationName
    query: dict[str, str]
    pet_id: int
    sent: Any
    refused_key: str
    animals: MutableAnimals
    status: int = 0
    document: Any = None
    media_type: str | None = _JSON
    body: bytes | None = None

    @property
    def pets(self) -> list[dict[str, Any]]:
        """The animals of the answer."""
        if not 200 <= self.status < 300:
            return []
        found = self.document if isinstance(self.document, list) else [self.document]
        return [pet for pet in found if isinstance(pet, dict)]

    @property
    def limit(self) -> int | None:
        """The limit that was asked for, if it is one that is allowed."""
        text = self.query.get("limit", "")
        return (
            int(text)
            if text.isdecimal() and len(text) <= len(str(LARGEST_LIMIT)) and 1 <= int(text) <= LARGEST_LIMIT
            else None
        )

    def refuse(self, status: int) -> None:
        """Answer with an Error instead; nothing that the request created is kept."""
        if self.operation == "createPet" and self.status == 201:
            self.animals.remove(self.document["id"])
        condition = condition_of_status(status)
        self.status, self.document = status, error_document(condition.code, condition.message, status)


# Changes of an answer's animals


def each_pet(change: Callable[[dict[str, Any]], object]) -> Callable[[Turn], object]:
    """Change every animal of an answer."""

    def after(turn: Turn) -> None:
        for pet in turn.pets:
            change(pet)

    return after


def renamed(old: str, new: str) -> Callable[[Turn], object]:
    """Call a field of every animal otherwise."""

    def change(pet: dict[str, Any]) -> None:
        if old in pet:
            pet[new] = pet.pop(old)

    return each_pet(change)


def without(name: str) -> Callable[[Turn], object]:
    """Take a field out of every animal."""
    return each_pet(lambda pet: pet.pop(name, None))


def with_field(name: str, kind: type, change: Callable[[Any], Any]) -> Callable[[Turn], object]:
    """Put another value in the place of a field that an animal has, if it is of that type."""

    def one(pet: dict[str, Any]) -> None:
        if type(pet.get(name)) is kind:
            pet[name] = change(pet[name])

    return each_pet(one)


def all_of_one_id(turn: Turn) -> None:
    """Give every animal of an answer the id of the first."""
    for pet in turn.pets:
        pet["id"] = turn.pets[0]["id"]


def id_of_another(turn: Turn) -> None:
    """Answer the id that another animal has, if there is another."""
    for pet in turn.pets:
        other = turn.animals.other(pet["id"])
        pet["id"] = pet["id"] if other is None else other["id"]


def other_case(name: str) -> str:
    """Return a name in other letter case."""
    return name.upper() if name != name.upper() else name.lower()


def next_status(status: str) -> str:
    """Return another status than ``status``."""
    return "sold" if status == "available" else "available"


def rounded(number: int) -> int:
    """Round as a service does that takes every number for a double."""
    return min(int(float(number)), LARGEST_INT64)


def in_ascii(text: str) -> str:
    """Return text with a question mark for each letter beyond ASCII."""
    return text.encode("ascii", "replace").decode("ascii")


# Changes of a whole answer


def on_success(change: Callable[[Turn], object]) -> Callable[[Turn], object]:
    """Change nothing but answers of success."""

    def after(turn: Turn) -> None:
        if 200 <= turn.status < 300:
            change(turn)

    return after


def wrapped(turn: Turn) -> None:
    """Put a list into an object."""
    turn.document = {"pets": turn.document}


def as_ids(turn: Turn) -> None:
    """Make a list of animals one of their ids."""
    turn.document = [pet["id"] for pet in turn.pets]


def in_array(turn: Turn) -> None:
    """Put an animal into an array."""
    turn.document = [turn.document]


def cut_short(turn: Turn) -> None:
    """Leave out the end of the JSON."""
    turn.body = json.dumps(turn.document).encode()[:-1]


def empty_page(turn: Turn) -> None:
    """Find no animal."""
    turn.document = []


def as_page(turn: Turn) -> None:
    """Call JSON a page of HTML."""
    turn.media_type = _PAGE


def answered(status: int) -> Callable[[Turn], object]:
    """Answer with another status; 204 has no body."""

    def change(turn: Turn) -> None:
        turn.status = status
        if status == 204:
            turn.document, turn.media_type, turn.body = None, None, b""

    return change


def refused(status: int) -> Callable[[Turn], object]:
    """Answer with an Error."""
    return lambda turn: turn.refuse(status)


def on(condition: Callable[[Turn], bool], change: Callable[[Turn], object]) -> Callable[[Turn], object]:
    """Change an answer of success to a request that fulfils ``condition``."""

    def after(turn: Turn) -> None:
        if condition(turn):
            change(turn)

    return on_success(after)


def asked_status(status: str) -> Callable[[Turn], bool]:
    """Tell requests for the animals of a status."""
    return lambda turn: turn.query.get("status") == status


def sent_status(status: str | None) -> Callable[[Turn], bool]:
    """Tell requests for an animal of a status, or of none."""
    return lambda turn: isinstance(turn.sent, dict) and turn.sent.get("status") == status


# Changes of what is asked


def limit_ignored(turn: Turn) -> None:
    """Bring as many animals as any limit may ask for."""
    if turn.limit is not None:
        turn.query["limit"] = str(LARGEST_LIMIT)


def limit_and_one(turn: Turn) -> None:
    """Bring one animal more than was asked for."""
    if turn.limit is not None and turn.limit < LARGEST_LIMIT:
        turn.query["limit"] = str(turn.limit + 1)


def default_limit(limit: int) -> Callable[[Turn], object]:
    """Take another limit where none was asked for."""
    return lambda turn: turn.query.setdefault("limit", str(limit))


def filter_ignored(*statuses: str) -> Callable[[Turn], object]:
    """Overlook the filter for these statuses."""

    def before(turn: Turn) -> None:
        if turn.query.get("status") in statuses:
            del turn.query["status"]

    return before


def filter_taken_for(status: str, other: str) -> Callable[[Turn], object]:
    """Take the filter for a status for that of another."""

    def before(turn: Turn) -> None:
        if turn.query.get("status") == status:
            turn.query["status"] = other

    return before


def key_let_in(*conditions: str) -> Callable[[Turn], object]:
    """Let a request in whose key is refused for one of these conditions."""

    def before(turn: Turn) -> None:
        if turn.refused_key in conditions:
            turn.refused_key = ""

    return before


# Bodies that are to be refused, and pass


def passes(
    breaks: Callable[[dict[str, Any]], bool], mend: Mapping[str, Callable[[Any], Any]]
) -> Callable[[Turn], object]:
    """Let a body pass that breaks one rule: the service makes something of it."""

    def change(turn: Turn) -> dict[str, Any] | None:
        if not isinstance(turn.sent, dict) or not breaks(turn.sent):
            return None
        return {**turn.sent, **{name: value(turn.sent.get(name)) for name, value in mend.items()}}

    return let_pass(change)


def let_pass(made_of: Callable[[Turn], Any]) -> Callable[[Turn], object]:
    """Create what ``made_of`` makes of a refused body, if it makes something."""

    def after(turn: Turn) -> None:
        fields = made_of(turn) if turn.status == 400 else None
        if not isinstance(fields, dict):
            return
        name, category, status = fields.get("name"), fields.get("categoryId"), fields.get("status")
        if not isinstance(name, str) or type(category) is not int or abs(category) > LARGEST_INT64:
            return  # it breaks another rule as well
        if status is not None and status not in PET_STATUSES:
            return
        chosen = {"name": name, "categoryId": category} | ({} if status is None else {"status": status})
        turn.status, turn.document = 201, turn.animals.add(chosen)

    return after


def lacks(*names: str) -> Callable[[dict[str, Any]], bool]:
    """Tell bodies that lack these of the required fields, and no others."""
    return lambda body: {"name", "categoryId"} - body.keys() == set(names)


def has(name: str, is_so: Callable[[Any], bool]) -> Callable[[dict[str, Any]], bool]:
    """Tell bodies with such a value in a field."""
    return lambda body: name in body and is_so(body[name])


def always(value: object) -> Callable[[Any], Any]:
    """Return what makes the same of any value."""
    return lambda _: value


def as_whole_number(text: str) -> object:
    """Read text as a careless service does."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < len(str(LARGEST_INT64)) else 0


def first_of_array(turn: Turn) -> object:
    """Take the first of several animals."""
    return turn.sent[0] if isinstance(turn.sent, list) and turn.sent else None


def nameless(turn: Turn) -> object:
    """Make an animal of a body that is no JSON."""
    return _NAMELESS if turn.sent is NO_JSON else None


def made_of_nothing(turn: Turn) -> object:
    """Make an animal where there is no body."""
    return _NAMELESS if turn.sent is NO_BODY else None


_NAMELESS: Final = {"name": "unnamed", "categoryId": 1}


def is_unknown_status(value: object) -> bool:
    """Say whether a value is a text that is no status, in any letter case."""
    return isinstance(value, str) and value.lower() not in PET_STATUSES


def is_status_in_other_case(value: object) -> bool:
    """Say whether a value is a status but for its letter case."""
    return isinstance(value, str) and value not in PET_STATUSES and value.lower() in PET_STATUSES


def kept_all_the_same(*statuses: int) -> Callable[[Turn], object]:
    """Keep the animal of a request that is refused."""

    def after(turn: Turn) -> None:
        name = turn.sent.get("name") if isinstance(turn.sent, dict) else None
        if turn.status in statuses and isinstance(name, str):
            category = turn.sent.get("categoryId")
            turn.animals.add({"name": name, "categoryId": category if type(category) is int else 1})

    return after


def forgotten(turn: Turn) -> None:
    """Forget the animal that was created."""
    turn.animals.remove(turn.document["id"])


# getPet


def another_animal(turn: Turn) -> None:
    """Answer another animal than was asked for, if there is another."""
    turn.document = turn.animals.other(turn.pet_id) or turn.document


def if_absent(change: Callable[[Turn], object]) -> Callable[[Turn], object]:
    """Change nothing but the answer for an animal that is absent."""

    def after(turn: Turn) -> None:
        if turn.status == 404:
            change(turn)

    return after


def as_null(turn: Turn) -> None:
    """Answer 200 and null."""
    turn.status, turn.document = 200, None


def any_animal(turn: Turn) -> None:
    """Answer some animal, if there is one."""
    other = turn.animals.other(turn.pet_id)
    if other is not None:
        turn.status, turn.document = 200, other


# Errors


def in_errors(change: Callable[[Any], object], *statuses: int) -> Callable[[Turn], object]:
    """Change the body of an Error."""

    def after(turn: Turn) -> None:
        if turn.status in (statuses or (400, 401, 404)) and isinstance(turn.document, dict):
            turn.document = change(turn.document)

    return after


def lacking(name: str) -> Callable[[Any], object]:
    """Return what takes a field out of an Error."""
    return lambda error: {key: value for key, value in error.items() if key != name}


def error_as_page(status: int) -> Callable[[Turn], object]:
    """Answer a page of HTML in the place of an Error."""

    def after(turn: Turn) -> None:
        if turn.status == status:
            turn.media_type, turn.body = _PAGE, f"<h1>{status}</h1>".encode()

    return after
