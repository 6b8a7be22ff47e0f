"""The interface as a table: operations, fields and parameters.

JSON Schemas (``schemas/*.json``) are the only source of types and bounds. A row adds what a schema can't say. Routes,
validation, OpenAPI, strategies, clauses and mutants are derived from the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from petstore_mock.common.dates import day
from petstore_mock.common.refusing import one_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

BASE_PATH: Final = "/v1"  # §1, §9
INTERFACE_VERSION: Final = "1.0.0"  # §9
# §9 says that deprecation is signalled, but not since when, and RFC 9745 needs a date. This one is our choice: it lies
# before the removal, as RFC 9745 §4 demands.
DEPRECATED_SINCE: Final = datetime(2025, 12, 5, tzinfo=UTC)


class Sentence(NamedTuple):
    """A sentence of the interface that a report can quote."""

    section: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of an animal (§2)."""

    name: str  # in JSON: a property of the schemas
    sentence: Sentence
    assigned: bool = False  # by the service on creation: in Pet, not in NewPet
    samples: tuple[Any, ...] = ()  # values that plausible animals have in turn

    @property
    def python(self) -> str:
        """Its name as a Python argument: ``pet_id``, ``category_id``."""
        return f"pet_{self.name}" if self.assigned else snake_case(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A query or path parameter of an operation."""

    name: str  # in the request: a property of the operation's schema of parameters
    sentence: Sentence
    where: Literal["query", "path"] = "query"
    filters: str | None = None  # the field by which it selects animals
    gap: str | None = None  # the gap that decides about an invalid value

    @property
    def python(self) -> str:
        """Its name as an argument of a Python client's method."""
        return snake_case(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation of the interface (§4)."""

    name: str
    method: str
    path: str  # the template, relative to the base address
    section: str
    summary: str
    effect: Literal["lists", "reads", "creates", "changes", "removes"]
    success: int  # the status of its success
    errors: tuple[int, ...]  # the statuses that the interface declares for failures
    parameters: tuple[Parameter, ...] = ()
    body: str | None = None  # the schema of its request body
    response: str | None = None  # the schema of the body of its success ...
    response_words: str = ""  # ... and what that body is
    removed_at: datetime | None = None  # when it is removed, if it is deprecated ...
    replacement: str = ""  # ... and what to use instead

    @property
    def client_method(self) -> str:
        """The name of the method that a Python client has for it."""
        return snake_case(self.name)

    @property
    def commits(self) -> bool:
        return self.effect not in {"lists", "reads"}

    @property
    def statuses(self) -> frozenset[int]:
        """Every status that the interface declares for it (§4, §7)."""
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
    def query_subject(self) -> str:
        """The key of the sentence that says which query parameters it has."""
        return f"{self.name}.query"

    @property
    def removal_day(self) -> str:
        """The day of its removal in words; empty where none is announced."""
        return "" if self.removed_at is None else day(self.removed_at.timestamp())

    @property
    def removal(self) -> str:
        """What a client learns that calls it after its removal."""
        return f"{self.name} was removed on {self.removal_day}: use {self.replacement}"


@dataclass(frozen=True, slots=True)
class RouteRow:
    """A path of the interface."""

    pattern: tuple[str, ...]  # its segments from the base path on; ``{petId}`` stands for any that is not empty
    operations: Mapping[str, Operation]  # by method; HEAD leads to the operation of GET (RFC 9110 §9.3.2)
    allow: str  # the methods for the field ``Allow``

    def match(self, segments: Sequence[str]) -> dict[str, str] | None:
        """Return the path parameters of decoded segments; None where they make another path."""
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
        # Half of them available: 300 animals make more than one page of the available ones (§4.1).
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
        response_words="At most `limit` animals, those of the status asked for",
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
    """Return the operation of that name; raise PetStoreMockError with the nearest name where there is none."""
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
        return Sentence("4", "The operation shows no query parameters")
    return Sentence(operation.section, f"The query parameters of {operation.name} are {in_words(names)}, all optional")


def _sentences() -> dict[str, Sentence]:
    paths = in_words(f"{operation.method} {operation.path}" for operation in _OPERATIONS)
    removed = [one for one in _OPERATIONS if one.removed_at is not None]
    dates = [f"{one.name} is deprecated; its scheduled removal date is {one.removal_day}" for one in removed]
    return {
        **{f"body.{field.name}": field.sentence for field in _FIELDS if not field.assigned},
        **{f"{one.where}.{one.name}": one.sentence for operation in _OPERATIONS for one in operation.parameters},
        **{operation.query_subject: _query_sentence(operation) for operation in _OPERATIONS},
        "query": Sentence("4", "Each operation shows its query parameters"),
        "path": Sentence("4", "Each operation shows its path parameters"),
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
# The sentences that a violation or a refusal quotes, by the place of a field or a parameter, or by a topic.
SENTENCES: Final[Mapping[str, Sentence]] = MappingProxyType(_sentences())
_QUOTED: Final = frozenset(
    {
        "Request body: none",
        *(sentence.text for sentence in SENTENCES.values()),
        *(f"{one.success}: {one.response_words}" for one in _OPERATIONS),
        *(f"{one.name}: {one.summary}" for one in _OPERATIONS),
    }
)


def source(section: str, words: str) -> str:
    """Return where a rule stands: ``§4.1``, "by the meaning of §4.1" for an inference, an RFC, or nothing."""
    if not section or section.startswith("RFC"):
        return section
    return f"{'' if words in _QUOTED else 'by the meaning of '}§{section}"
