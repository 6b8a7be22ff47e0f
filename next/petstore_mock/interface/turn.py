"""A request and its response, as a mutant meets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from petstore_mock.interface.conditions import condition_of_status, error_document
from petstore_mock.interface.schemas import is_valid, parameters
from petstore_mock.interface.strict_json import read_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.interface.table import Operation

    Change = Callable[["Turn"], object]
    Condition = Callable[["Turn"], bool]

NO_JSON: Final = object()  # in the place of a body that is not JSON
NO_BODY: Final = object()


class MutableAnimals(Protocol):
    """The animals of the service, as a mutant may change them."""

    def other(self, pet_id: int) -> dict[str, Any] | None:
        """Return the animal with the lowest id that is not ``pet_id``."""

    def add(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Keep an animal under an id that the service assigns, and return it."""
        ...

    def remove(self, pet_id: int) -> None:
        """Remove an animal."""


@dataclass(slots=True)
class Turn:
    """A request and its response. A mutant changes the first before the service reads it, or the second after."""

    operation: Operation
    query: dict[str, str]  # the parameters by name
    pet_id: int  # 0 where the path has none
    sent: Any  # the JSON value of the request's body, ``NO_JSON`` or ``NO_BODY``
    refused_key: str  # the condition that refuses the key; empty where the key is valid
    animals: MutableAnimals
    status: int = 0
    document: Any = None  # the JSON value of the response's body
    media_type: str | None = "application/json"
    body: bytes | None = None  # the bytes of the response's body, if they are not those of ``document``

    @property
    def succeeded(self) -> bool:
        """Whether the response is a success."""
        return 200 <= self.status < 300

    @property
    def pets(self) -> list[dict[str, Any]]:
        """The animals of a success."""
        document: Any = self.document
        if not self.succeeded or document is None:
            return []
        return cast("list[dict[str, Any]]", document if isinstance(document, list) else [document])

    @property
    def fields(self) -> dict[str, Any]:
        """The members of the request's body, if it is an object."""
        return members(self.sent)

    def number(self, name: str) -> int | None:
        """Return the value of an integer parameter, if the client sent a valid one."""
        value, rules = read_integer(self.query.get(name, "")), parameters(self.operation)[name]
        return value if isinstance(value, int) and rules["minimum"] <= value <= rules["maximum"] else None

    def respond(self, status: int, document: Any = None) -> None:  # noqa: ANN401  # a JSON value
        """Respond with another status and document."""
        self.status, self.document = status, document

    def refuse(self, status: int) -> None:
        """Respond with an Error; an animal that the request created is removed again."""
        if self.operation.effect == "creates" and self.succeeded:
            self.animals.remove(self.document["id"])
        condition = condition_of_status(status)
        self.respond(status, error_document(condition.code, condition.message, status))

    def create(self, fields: Mapping[str, Any], schema: str) -> None:
        """Create an animal although the service refused it, unless it breaks another rule as well."""
        kept = {name: value for name, value in fields.items() if value is not None}
        if is_valid(schema)(kept):
            self.respond(self.operation.success, self.animals.add(kept))


def members(value: Any) -> dict[str, Any]:  # noqa: ANN401  # a JSON value
    """Return the members of an object; none for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def when(condition: Condition, change: Change) -> Change:
    """Return a change of the successes of some requests."""
    return lambda turn: change(turn) if turn.succeeded and condition(turn) else None


def before(condition: Condition, change: Change) -> Change:
    """Return a change of some requests."""
    return lambda turn: change(turn) if condition(turn) else None


def asked(name: str, value: str) -> Change:
    """Return a change of a query parameter."""
    return lambda turn: turn.query.update({name: value})


def with_status(change: Change, *statuses: int) -> Change:
    """Return a change of responses with these statuses."""
    return lambda turn: change(turn) if turn.status in statuses else None


def refused(status: int) -> Change:
    """Return a change to an Error."""
    return lambda turn: turn.refuse(status)


def as_page(turn: Turn) -> None:
    """Send JSON as a page of HTML."""
    turn.media_type = "text/html"


def without_body(turn: Turn) -> None:
    """Respond with 204."""
    turn.respond(204)
    turn.media_type, turn.body = None, b""
