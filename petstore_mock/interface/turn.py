"""A request and its response, as a mutant meets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.interface.conditions import condition_of_status, error_document
from petstore_mock.interface.schemas import is_valid, parameters, properties
from petstore_mock.interface.strict_json import read_integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.interface.table import Operation

NO_JSON: Final = object()  # in the place of a body that is not JSON
NO_BODY: Final = object()


class MutableAnimals(Protocol):
    """The animals of the service: the first but ``pet_id``, a new one, one to change or to remove."""

    def other(self, pet_id: int) -> dict[str, Any] | None: ...
    def add(self, fields: Mapping[str, Any]) -> dict[str, Any]: ...
    def update(self, pet_id: int, changes: Mapping[str, Any]) -> dict[str, Any]: ...
    def remove(self, pet_id: int) -> None: ...


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
    has_updated: bool = False  # whether the mutant changed an animal that is kept
    body: bytes | None = None  # the bytes of the response's body, if they are not those of ``document``

    @property
    def pets(self) -> list[dict[str, Any]]:
        """The animals of the response."""
        return [pet for pet in (self.document if is_array(self.document) else [self.document]) if isinstance(pet, dict)]

    @property
    def fields(self) -> Mapping[str, Any]:
        """The members of the request's body, if it is an object."""
        return self.sent if is_object(self.sent) else {}

    def number(self, name: str) -> int | None:
        """Return the value of an integer parameter, if the client sent a valid one."""
        value, rules = read_integer(self.query.get(name, "")), parameters(self.operation)[name]
        return value if isinstance(value, int) and rules["minimum"] <= value <= rules["maximum"] else None

    def refuse(self, status: int) -> None:
        """Respond with an Error; an animal that the request created is removed again."""
        if self.operation.effect == "creates" and self.status == self.operation.success:
            self.animals.remove(self.document["id"])
        condition = condition_of_status(status)
        self.status, self.document = status, error_document(condition.code, condition.message, status)

    def create(self, fields: Mapping[str, Any]) -> None:
        """Create an animal although the service refused it, unless it breaks another rule as well."""
        schema = self.operation.body or ""
        kept = {name: fields[name] for name in properties(schema) if fields.get(name) is not None}
        if is_valid(schema)(kept):
            self.status, self.document = self.operation.success, self.animals.add(kept)
