"""The interface as a table: operations, fields and parameters.

JSON Schemas (``schemas/*.json``) are the only source of types and bounds. A row adds what a schema can't say. Routes,
validation, OpenAPI, strategies, clauses and mutants are derived from the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from petstore_mock.common.dates import day
from petstore_mock.common.refusing import one_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

BASE_PATH: Final = "/v1"  # §1, §9
INTERFACE_VERSION: Final = "1.0.0"  # §9
# §9 says that deprecation is signalled, but not since when. RFC 9745 requires a date, so this date is our choice. It is
# before the removal, as RFC 9745 §4 demands.
DEPRECATED_SINCE: Final = datetime(2025, 12, 5, tzinfo=UTC)


class Sentence(NamedTuple):
    """A sentence of the interface that a report can quote."""

    section: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of an animal (§2)."""

    name: str  # the name of the property in JSON and in the schemas
    sentence: Sentence
    assigned: bool = False  # whether the service assigns it on creation: Pet has it, NewPet does not
    samples: tuple[Any, ...] = ()  # values that generated animals take in turn

    @property
    def python(self) -> str:
        """The name as a Python argument: ``pet_id``, ``category_id``."""
        return f"pet_{self.name}" if self.assigned else snake_case(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A query or path parameter of an operation."""

    name: str  # the name in the request and in the operation's schema of parameters
    sentence: Sentence
    where: Literal["query", "path"] = "query"
    filters: str | None = None  # the field of the animals that it filters by
    gap: str | None = None  # the gap that decides about an invalid value


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation of the interface (§4)."""

    name: str
    method: str
    path: str  # the template, relative to the base address
    section: str
    summary: str
    effect: Literal["lists", "reads", "creates", "changes", "removes"]
    success: int  # the status of a success
    errors: tuple[int, ...]  # the statuses of failures that the interface declares
    parameters: tuple[Parameter, ...] = ()
    body: str | None = None  # the schema of the request body
    response: str | None = None  # the schema of the body of a success
    response_words: str = ""  # the content of that body
    removed_at: datetime | None = None  # the removal date of a deprecated operation
    replacement: str = ""  # the replacement of a deprecated operation

    @property
    def client_method(self) -> str:
        """The name of the operation's method in a Python client."""
        return snake_case(self.name)

    @property
    def verb(self) -> str:
        """The first word of the name, as in ids of clauses and mutants: ``create``."""
        return self.client_method.partition("_")[0]

    @cached_property
    def commits(self) -> bool:
        return self.effect not in {"lists", "reads"}

    @cached_property
    def statuses(self) -> frozenset[int]:
        """Every status that the interface declares for the operation (§4, §7)."""
        return frozenset({*self.errors, self.success})

    @property
    def path_parameter(self) -> Parameter | None:
        return next((one for one in self.parameters if one.where == "path"), None)

    @property
    def query_parameters(self) -> tuple[Parameter, ...]:
        return tuple(one for one in self.parameters if one.where == "query")

    @property
    def parameters_schema(self) -> str:
        return f"{self.name}.parameters"

    @property
    def removal_day(self) -> str:
        """The removal date in words; empty if the interface announces none."""
        return "" if self.removed_at is None else day(self.removed_at.timestamp())

    @property
    def removal(self) -> str:
        """The message to a client that calls the operation after its removal."""
        return f"{self.name} was removed on {self.removal_day}: use {self.replacement}"


@dataclass(frozen=True, slots=True)
class RouteRow:
    """A path of the interface."""

    pattern: tuple[str, ...]  # the segments from the base path on; ``{petId}`` matches a segment that is not empty
    operations: Mapping[str, Operation]  # by method; HEAD has the operation of GET (RFC 9110 §9.3.2)
    allow: str  # the value of the header field ``Allow``

    def match(self, segments: Sequence[str]) -> dict[str, str] | None:
        """Return the path parameters of a path, given as decoded segments; None if the row does not match the path."""
        if len(segments) != len(self.pattern):
            return None
        found: dict[str, str] = {}
        for expected, segment in zip(self.pattern, segments, strict=True):
            if expected.startswith("{") and segment:
                found[expected[1:-1]] = segment
            elif expected != segment:
                return None
        return found


_FIELDS: Final = (
    Field(
        name="id",
        assigned=True,
        sentence=Sentence("2", "Pet: id, integer, int64, required: unique identifier, assigned by the service"),
    ),
    Field(
        name="name",
        samples=(
            *("Rex", "Luna", "Bella", "Milo", "Coco", "Nala", "Simba", "Rocky", "Daisy", "Ziggy"),
            *("Mañana", "Žofka", "Søren", "Minou", "Büsi", "Pepe", "Olive", "Gizmo", "Hazel", "Otto"),
        ),
        sentence=Sentence("2", "NewPet: name, string, required: the animal's name"),
    ),
    Field(
        name="categoryId",
        samples=(1, 2, 3, 4, 5),
        sentence=Sentence(
            "2", "NewPet: categoryId, integer, int64, required: identifier of the category the animal belongs to"
        ),
    ),
    Field(
        name="status",
        # Half of the animals are available: of 300 animals, the available ones exceed a page (§4.1).
        samples=("available", "pending", "available", "sold"),
        sentence=Sentence("2", "PetStatus: allowed values are available, pending, sold"),
    ),
)

_OPERATIONS: Final = (
    Operation(
        name="listPets",
        method="GET",
        path="/pets",
        section="4.1",
        summary="List animals",
        effect="lists",
        success=200,
        errors=(401,),
        parameters=(
            Parameter(
                name="limit",
                gap="invalid_limit",
                sentence=Sentence("4.1", "limit: integer, minimum 1, maximum 100, default 20"),
            ),
            Parameter(
                name="status",
                filters="status",
                gap="invalid_status_filter",
                sentence=Sentence("4.1", "status: one of available, pending, sold"),
            ),
        ),
        response="Pets",
        response_words="At most `limit` animals, only those with the requested `status`",
    ),
    Operation(
        name="createPet",
        method="POST",
        path="/pets",
        section="4.2",
        summary="Add an animal",
        effect="creates",
        success=201,
        errors=(400, 401),
        body="NewPet",
        response="Pet",
        response_words="The created animal, including its assigned id",
    ),
    Operation(
        name="getPet",
        method="GET",
        path="/pets/{petId}",
        section="4.3",
        summary="Get an animal",
        effect="reads",
        success=200,
        errors=(401, 404),
        parameters=(
            Parameter(
                name="petId",
                where="path",
                gap="malformed_pet_id",
                sentence=Sentence("4.3", "petId: required, integer, int64, the identifier of the animal"),
            ),
        ),
        response="Pet",
        response_words="The animal",
        removed_at=datetime(2030, 12, 5, tzinfo=UTC),  # §4.3 gives a day; midnight UTC at its start is our choice
        replacement="GET /pets with the status filter",
    ),
)

FIELDS: Final[Mapping[str, Field]] = MappingProxyType({field.name: field for field in _FIELDS})
OPERATIONS: Final[Mapping[str, Operation]] = MappingProxyType({operation.name: operation for operation in _OPERATIONS})


def require_operation(name: object) -> Operation:
    """Return the operation ``name``; if there is none, raise PetStoreMockError with the nearest name."""
    return OPERATIONS[one_of(name, OPERATIONS, "operation")]


def snake_case(name: str) -> str:
    """Return the Python name of a name in JSON: ``get_pet``."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def in_words(names: Iterable[str]) -> str:
    """Return names as a list in words: ``a``, ``a and b``, ``a, b and c``."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _routes() -> tuple[RouteRow, ...]:
    rows: list[RouteRow] = []
    for path in dict.fromkeys(operation.path for operation in _OPERATIONS):
        operations = {operation.method: operation for operation in _OPERATIONS if operation.path == path}
        if "GET" in operations:
            operations["HEAD"] = operations["GET"]
        pattern = tuple(f"{BASE_PATH}{path}".lstrip("/").split("/"))
        allow = ", ".join(sorted({*operations, "OPTIONS"}))  # every path has OPTIONS (RFC 9110 §9.3.7)
        rows.append(RouteRow(pattern, MappingProxyType(operations), allow))
    return tuple(rows)


def _query_sentence(operation: Operation) -> Sentence:
    names = [parameter.name for parameter in operation.query_parameters]
    if not names:
        return Sentence("4", "The interface shows no query parameters for this operation")
    return Sentence(operation.section, f"The query parameters of {operation.name} are {in_words(names)}, all optional")


def _sentences() -> dict[str, Sentence]:
    paths = in_words(f"{operation.method} {operation.path}" for operation in _OPERATIONS)
    removed = [one for one in _OPERATIONS if one.removed_at is not None]
    dates = [f"{one.name} is deprecated; its scheduled removal date is {one.removal_day}" for one in removed]
    return {
        **{f"body.{field.name}": field.sentence for field in _FIELDS if not field.assigned},
        **{f"{row.name}.{one.where}.{one.name}": one.sentence for row in _OPERATIONS for one in row.parameters},
        **{f"{operation.name}.query": _query_sentence(operation) for operation in _OPERATIONS},
        "query": Sentence("4", "The interface shows the query parameters of each operation"),
        "path": Sentence("4", "The interface shows the path parameters of each operation"),
        "body": Sentence("4.2", "Request body (required, application/json): NewPet"),
        "key": Sentence("5", "The API key is sent in the form Authorization: Bearer <API_KEY>, on every operation"),
        "paths": Sentence("4", f"The operations are {paths}, relative to {BASE_PATH}"),
        "json": Sentence("1", "Request and response bodies are JSON (application/json)"),
        "absent": Sentence("7", "404: no animal found for the given petId"),
        "removed": Sentence(removed[0].section if removed else "9", "; ".join(dates)),
        "http": Sentence("1", "The service is an HTTP API"),
        "limits": Sentence("8", "Limits: rate limits and size limits of request bodies are not shown"),
    }


ROUTES: Final = _routes()
METHODS: Final = ", ".join(sorted({method for row in ROUTES for method in row.allow.split(", ")}))
# The sentences that reports quote, by the location of a field or a parameter (``body.name``), or by topic.
SENTENCES: Final[Mapping[str, Sentence]] = MappingProxyType(_sentences())
# Words that count as quotations of the interface. Other words of a rule are an inference from its section.
_QUOTED: Final = frozenset(
    {
        "Request body: none",
        *(sentence.text for sentence in SENTENCES.values()),
        *(f"{one.success}: {one.response_words}" for one in _OPERATIONS),
        *(f"{one.name}: {one.summary}" for one in _OPERATIONS),
    }
)


def source(section: str, words: str) -> str:
    """Return the source of a rule: ``§4.1``, ``by the meaning of §4.1`` for an inference, an RFC, or an empty text."""
    if not section or section.startswith("RFC"):
        return section
    return f"{'' if words in _QUOTED else 'by the meaning of '}§{section}"
