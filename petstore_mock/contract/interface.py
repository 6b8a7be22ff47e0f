"""The interface as data: its operations, paths, declared answers and dates.

Nothing here decides anything. The rules for bodies and parameters live in ``schemas/*.json``; what the
interface leaves open lives in the gap register (:mod:`petstore_mock.contract.behaviour`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypedDict, get_args

from petstore_mock.common.suggestions import did_you_mean
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BASE_PATH",
    "DEFAULT_LIMIT",
    "DEPRECATED_SINCE",
    "INTERFACE_VERSION",
    "LARGEST_INT64",
    "LARGEST_LIMIT",
    "OPERATIONS",
    "PETS_PATH",
    "PET_STATUSES",
    "REMOVAL_DATE",
    "SENTENCES",
    "Operation",
    "OperationName",
    "PetChanges",
    "PetFields",
    "PetStatus",
    "Sentence",
    "require_operation",
]

OperationName = Literal["listPets", "createPet", "getPet"]
PetStatus = Literal["available", "pending", "sold"]  # §2


class PetFields(TypedDict, total=False):
    """The fields of an animal (§2): the keywords of ``seed``, for type checkers. The schemas validate them."""

    id: int
    name: str
    categoryId: int
    status: PetStatus


class PetChanges(TypedDict, total=False):
    """What another actor may change of an animal: the keywords of ``update``, for type checkers."""

    name: str
    categoryId: int
    status: PetStatus | None


BASE_PATH: Final = "/v1"  # §1, §9
INTERFACE_VERSION: Final = "1.0.0"  # §9
DEFAULT_LIMIT: Final = 20  # §8
LARGEST_LIMIT: Final = 100  # §8
LARGEST_INT64: Final = 2**63 - 1  # §2
PETS_PATH: Final = f"{BASE_PATH}/pets"
PET_STATUSES: Final = get_args(PetStatus)  # a test holds this against PetStatus.json

# §4.3 gives a day and neither hour nor zone; midnight UTC at its start is our choice.
REMOVAL_DATE: Final = datetime(2030, 12, 5, tzinfo=UTC)
# §9 says that deprecation is signalled, and gives no date since when; RFC 9745 needs one. Ours is five years
# before the removal, so that it lies before every `Sunset` as RFC 9745 §4 demands.
DEPRECATED_SINCE: Final = datetime(2025, 12, 5, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the interface (§4).

    Attributes:
        name: the interface's own name, such as ``listPets``.
        method: the HTTP method.
        path: the path template relative to the host, such as ``/v1/pets/{petId}``.
        section: the section of the interface that describes it.
        success: the status of a carried-out request.
        errors: the statuses that the interface declares for failures.
        parameters_schema: the schema of its path and query parameters.
        request_schema: the schema of its request body, if it takes one.
        response_schema: the schema of the body of its success.
        summary: what it does, in one line.
        removed_at: when the operation is removed, if it is deprecated (§4.3).
    """

    name: OperationName
    method: Literal["GET", "POST"]
    path: str
    section: str
    success: int
    errors: frozenset[int]
    parameters_schema: str
    request_schema: str | None
    response_schema: str
    summary: str
    removed_at: datetime | None = None

    @property
    def statuses(self) -> frozenset[int]:
        """Every status that the interface declares for this operation (§4, §7)."""
        return self.errors | {self.success}


OPERATIONS: Final[Mapping[OperationName, Operation]] = MappingProxyType(
    {
        operation.name: operation
        for operation in (
            Operation(
                name="listPets",
                method="GET",
                path=PETS_PATH,
                section="4.1",
                success=200,
                errors=frozenset({401}),
                parameters_schema="listPets.parameters",
                request_schema=None,
                response_schema="Pets",
                summary="List animals",
            ),
            Operation(
                name="createPet",
                method="POST",
                path=PETS_PATH,
                section="4.2",
                success=201,
                errors=frozenset({400, 401}),
                parameters_schema="createPet.parameters",
                request_schema="NewPet",
                response_schema="Pet",
                summary="Add an animal",
            ),
            Operation(
                name="getPet",
                method="GET",
                path=f"{PETS_PATH}/{{petId}}",
                section="4.3",
                success=200,
                errors=frozenset({401, 404}),
                parameters_schema="getPet.parameters",
                request_schema=None,
                response_schema="Pet",
                summary="Get an animal",
                removed_at=REMOVAL_DATE,
            ),
        )
    }
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the interface that a report can quote."""

    section: str
    text: str


# What a violation is held against: the interface's own words, by subject.
SENTENCES: Final[Mapping[str, Sentence]] = MappingProxyType(
    {
        "name": Sentence("2", "NewPet: name, string, required: the animal's name"),
        "categoryId": Sentence(
            "2", "NewPet: categoryId, integer, int64, required: identifier of the category the animal belongs to"
        ),
        "status": Sentence("2", "PetStatus: allowed values are available, pending, sold"),
        "body": Sentence("4.2", "Request body (required, application/json): NewPet"),
        "limit": Sentence("4.1", "limit: integer, minimum 1, maximum 100, default 20"),
        "statusFilter": Sentence("4.1", "status: one of available, pending, sold"),
        "query": Sentence("4.1", "The query parameters are limit and status, both optional"),
        "noQuery": Sentence("4", "The operation shows no query parameters"),
        "petId": Sentence("4.3", "petId: required, integer, int64, the identifier of the animal"),
        "key": Sentence("5", "The API key is sent in the form Authorization: Bearer <API_KEY>, on every operation"),
        "paths": Sentence("4", "The operations are GET /pets, POST /pets and GET /pets/{petId}, relative to /v1"),
        "json": Sentence("1", "Request and response bodies are JSON (application/json)"),
        "absent": Sentence("7", "404: no animal found for the given petId"),
        "removed": Sentence("4.3", "getPet is deprecated; its scheduled removal date is 5 December 2030"),
        "http": Sentence("1", "The service is an HTTP API"),
        "limits": Sentence("8", "Limits: rate limits and size limits of request bodies are not shown"),
    }
)


def require_operation(name: str) -> Operation:
    """Return the operation called ``name``.

    Raises:
        PetStoreMockError: the interface has no such operation; the message suggests the nearest name.
    """
    asked: object = name  # a test author may ask for anything
    found = OPERATIONS.get(asked) if isinstance(asked, str) else None  # type: ignore[call-overload]
    if isinstance(found, Operation):
        return found
    names = get_args(OperationName)
    raise PetStoreMockError(
        f"expected an operation, one of {', '.join(names)}; got {name!r}{did_you_mean(name, names)}"
    )
