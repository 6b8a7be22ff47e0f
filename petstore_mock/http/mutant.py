"""A mutant as the fake sees it: a value that changes a request before the service reads it, or a response.

The fake applies a mutant without knowing its mistake. ``verify`` has the mutants, beside the clauses that they break.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from petstore_mock.common.guards import is_object, items_of
from petstore_mock.interface.conditions import condition_of_status, error_document
from petstore_mock.interface.strict_json import MalformedJsonError, decode_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.table import Operation

    Pet = JsonObject


class Animals(Protocol):
    """The stored animals, as a mutant may read and change them."""

    def document(self, pet_id: int) -> Pet | None: ...
    def other(self, pet_id: int) -> Pet | None:
        """Return the first animal with another id."""
        ...

    def documents(self) -> list[Pet]: ...
    def add(self, fields: object) -> Pet: ...
    def put(self, document: Mapping[str, object]) -> bytes: ...
    def remove(self, pet_id: int) -> None: ...
    def update(self, pet_id: int, changes: Mapping[str, object]) -> Pet: ...


@dataclass(slots=True)
class Turn:
    """A request and its response. A mutant changes either the request, before the service reads it, or the response."""

    operation: Operation
    given: dict[str, str]  # the parameters in the query and in the header, by name
    pet_id: int  # 0 if the path has none
    sent: bytes  # the body of the request
    refused_key: str  # the condition that refuses the key; empty if the key is valid
    animals: Animals
    sent_keys: tuple[str, ...]  # the values of Authorization
    keys: frozenset[str]  # the valid keys
    path: Mapping[str, str]  # the parameters in the path, by name
    status: int = 0
    document: Json = None  # the JSON value of the response's body
    media_type: str | None = "application/json"
    body: bytes | None = None  # the bytes to send instead of ``document``
    former: Pet | None = None  # the animal of the request, as it was before the operation

    @property
    def pets(self) -> list[Pet]:
        """The animals in the response."""
        return [pet for pet in items_of(self.document) if isinstance(pet, dict)]

    @property
    def fields(self) -> Mapping[str, object]:
        """The members of the request's body; empty if it is not an object."""
        try:
            value, _ = decode_json(self.sent)
        except MalformedJsonError:
            return {}
        return value if is_object(value) else {}

    def undo(self) -> None:
        """Take back what the operation changed in the store."""
        if not self.operation.commits or self.status != self.operation.success:
            return
        if self.former is not None:
            self.animals.put(self.former)
        elif self.operation.does.adds:
            self.animals.remove(self.document["id"])

    def refuse(self, status: int) -> None:
        """Respond with an Error, and take back what the request changed."""
        self.undo()
        condition = condition_of_status(status)
        self.status = status
        self.document = error_document(condition.code, condition.message, status)
        self.media_type = "application/json"
        self.body = None


class Mutant(Protocol):
    """A service that breaks one clause of the interface."""

    @property
    def name(self) -> str: ...
    @property
    def operations(self) -> tuple[str, ...]:
        """The names of the operations with the mistake."""
        ...

    @property
    def statuses(self) -> tuple[int, ...]:
        """The statuses of the responses that it changes; empty if it changes requests."""
        ...

    def change(self, turn: Turn, /) -> object: ...
