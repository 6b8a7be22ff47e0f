"""The interface as a table: operations, fields and parameters.

JSON Schemas (``schemas/*.json``) are the only source of types and bounds. A row adds what a schema can't say. Routes,
validation, OpenAPI, strategies, clauses and mutants are derived from the rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from http import HTTPMethod
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from petstore_mock.common.dates import day
from petstore_mock.common.refusing import one_of, refuse
from petstore_mock.common.values import by_name
from petstore_mock.interface.effects import EFFECTS, IDEMPOTENT_METHODS
from petstore_mock.interface.relations import RELATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.effects import Effect, EffectName
    from petstore_mock.interface.relations import Relation, RelationName

BASE_PATH: Final = "/v1"  # §1, §9
INTERFACE_VERSION: Final = "1.0.0"  # §9
ANIMAL: Final = "Pet"  # the schema of an animal (§2)
ERROR: Final = "Error"  # the schema of the body of an error (§2)
# §9 says that deprecation is signalled, but not since when. RFC 9745 requires a date, so this date is our choice. It is
# before the removal, as RFC 9745 §4 demands.
DEPRECATED_SINCE: Final = datetime(2025, 12, 5, tzinfo=UTC)


class Sentence(NamedTuple):
    """A sentence of the interface that a report can quote."""

    section: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of an animal (§2), or a member of a body that is no such field.

    Attributes:
        name: the name of the property in JSON and in the schemas.
        sentence: the sentence of the interface that says what it is.
        is_assigned: whether the service assigns it on creation: then a new animal has no such field.
        is_label: whether it is a text by which a person tells animals apart; ``verify`` marks its animals with it.
        refers: whether it identifies a record of another kind, which may have to exist.
        samples: values that generated animals take in turn.
        null: the gap that decides about null, if a body may leave the field out.
        sets: the field that a member with another name sets; empty if it sets none.
    """

    name: str
    sentence: Sentence
    is_assigned: bool = False
    is_label: bool = False
    refers: bool = False
    samples: tuple[Json, ...] = ()
    null: str = ""
    sets: str = ""

    @property
    def python(self) -> str:
        """The name as a Python argument: ``pet_id``, ``category_id``."""
        if self.is_assigned:
            return f"pet_{self.name}"
        return snake_case(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of an operation.

    Attributes:
        name: the name in the request and in the operation's schema of parameters.
        sentence: the sentence of the interface that says what it is.
        where: the part of the request that has it.
        relation: what it says about animals: a row of ``RELATIONS``.
        field: the field of animals that it filters by or sets; the parameter's own name by default.
        gap: the gap that decides about an invalid value; empty if none is needed.
    """

    name: str
    sentence: Sentence
    relation: RelationName
    where: Literal["query", "path", "header"] = "query"
    field: str = ""
    gap: str = ""

    @property
    def says(self) -> Relation:
        """The row of its relation."""
        return RELATIONS[self.relation]

    @property
    def field_name(self) -> str:
        """The name of the field that it filters by or sets."""
        return self.field or self.name

    @property
    def filters_by(self) -> str:
        """The field that it filters by; empty if it is no filter."""
        return self.field_name if self.says.filters else ""

    @property
    def sets(self) -> str:
        """The field that it sets; empty if it sets none."""
        return self.field_name if self.says.sets else ""

    @property
    def place(self) -> str:
        """Its location in the words of reports: ``query.limit``."""
        return f"{self.where}.{self.name}"


# Operations are compared by identity, because ``verify`` compares them thousands of times.
@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    """An operation of the interface (§4).

    Attributes:
        name: the name in the interface.
        method: the method of the request.
        path: the template of the path, relative to the base address.
        section: the section that describes it.
        summary: what it does, in a few words.
        effect: what it does to animals: a row of ``EFFECTS``.
        success: the status of a success.
        errors: the statuses of failures that the interface declares.
        parameters: its parameters, in the order of the interface.
        body: the schema of the request body, or None.
        members: the members of the body that are no fields of an animal.
        response: the schema of the body of a success, or None.
        response_words: the content of that body.
        removed_at: the removal date of a deprecated operation, or None.
        replacement: the replacement of a deprecated operation.
    """

    name: str
    method: str
    path: str
    section: str
    summary: str
    effect: EffectName
    success: int
    errors: tuple[int, ...]
    parameters: tuple[Parameter, ...] = ()
    body: str | None = None
    members: tuple[Field, ...] = ()
    response: str | None = None
    response_words: str = ""
    removed_at: datetime | None = None
    replacement: str = ""

    @cached_property
    def does(self) -> Effect:
        """The row of its effect."""
        return EFFECTS[self.effect]

    @cached_property
    def client_method(self) -> str:
        """The name of the operation's method in a Python client."""
        return snake_case(self.name)

    @property
    def verb(self) -> str:
        """The first word of the name, as in ids of clauses and mutants: ``create``."""
        return self.client_method.partition("_")[0]

    @cached_property
    def commits(self) -> bool:
        """Whether a success changes the store."""
        return self.does.commits

    @cached_property
    def may_be_repeated(self) -> bool:
        """Whether a client may send it again without being asked: it is safe or idempotent (RFC 9110 §9.2.2)."""
        return not self.commits or self.method in IDEMPOTENT_METHODS

    @cached_property
    def shows_many(self) -> bool:
        """Whether a success shows a list of animals."""
        return self.response is not None and self.does.about == "many"

    @cached_property
    def shows_one(self) -> bool:
        """Whether a success shows one animal."""
        return self.response is not None and self.does.about != "many"

    @cached_property
    def statuses(self) -> frozenset[int]:
        """Every status that the interface declares for the operation (§4, §7)."""
        return frozenset({*self.errors, self.success})

    @cached_property
    def identifier(self) -> Parameter | None:
        """The parameter that identifies the animal of the request."""
        return self._parameter_that("identifies")

    @cached_property
    def limit(self) -> Parameter | None:
        """The parameter that limits the length of a list."""
        return self._parameter_that("limits")

    def _parameter_that(self, relation: RelationName) -> Parameter | None:
        for parameter in self.parameters:
            if parameter.relation == relation:
                return parameter
        return None

    @cached_property
    def filters(self) -> tuple[Parameter, ...]:
        """The parameters that select animals by a field."""
        return tuple(filter(attrgetter("filters_by"), self.parameters))

    @cached_property
    def setting(self) -> tuple[Parameter, ...]:
        """The parameters that set a field of the animal."""
        return tuple(filter(attrgetter("sets"), self.parameters))

    def fields_in(self, body: Mapping[str, Json], values: JsonObject) -> JsonObject:
        """Return the fields that a request sets, by members of its body, and by the values of its parameters."""
        others = {member.name: member.sets for member in self.members}
        fields = {others.get(name, name): value for name, value in body.items()}
        for parameter in self.setting:
            if parameter.name in values:
                fields[parameter.sets] = values[parameter.name]
        return known_part(fields)

    def parameters_in(self, where: Literal["query", "path", "header"]) -> tuple[Parameter, ...]:
        """Return the parameters in a part of the request."""
        return tuple(parameter for parameter in self.parameters if parameter.where == where)

    def path_values(self, target: str) -> dict[str, str]:
        """Return the values of the parameters in the path of a request, decoded. Its target begins with ``/v1``."""
        segments = target.partition("?")[0].removeprefix(BASE_PATH).split("/")
        values: dict[str, str] = {}
        for template, segment in zip(self.path.split("/"), segments, strict=False):
            if template.startswith("{"):
                values[template[1:-1]] = unquote(segment)
        return values

    @property
    def parameters_schema(self) -> str:
        """The name of the schema of its parameters."""
        return f"{self.name}.parameters"

    @property
    def removal_day(self) -> str:
        """The removal date in words; empty if the interface announces none."""
        return "" if self.removed_at is None else day(self.removed_at.timestamp())


@dataclass(frozen=True, slots=True)
class RouteRow:
    """A path of the interface."""

    path: str  # the template of the path, relative to the base address
    pattern: tuple[str, ...]  # the segments from the base path on; ``{petId}`` matches a segment that is not empty
    operations: Mapping[str, Operation]  # by method; HEAD has the operation of GET (RFC 9110 §9.3.2)
    allow: str  # the value of the header field ``Allow``

    def match(self, segments: Sequence[str]) -> dict[str, list[str]] | None:
        """Return the texts of the path parameters of a path, given as decoded segments; None if the path differs."""
        if len(segments) != len(self.pattern):
            return None
        texts: dict[str, list[str]] = {}
        for expected, segment in zip(self.pattern, segments, strict=True):
            if expected.startswith("{") and segment:
                texts[expected[1:-1]] = [segment]
            elif expected != segment:
                return None
        return texts


_FIELDS: Final = (
    Field(
        name="id",
        is_assigned=True,
        sentence=Sentence("2", "Pet: id, integer, int64, required: unique identifier, assigned by the service"),
    ),
    Field(
        name="name",
        is_label=True,
        samples=(
            *("Rex", "Luna", "Bella", "Milo", "Coco", "Nala", "Simba", "Rocky", "Daisy", "Ziggy"),
            *("Mañana", "Žofka", "Søren", "Minou", "Büsi", "Pepe", "Olive", "Gizmo", "Hazel", "Otto"),
        ),
        sentence=Sentence("2", "NewPet: name, string, required: the animal's name"),
    ),
    Field(
        name="categoryId",
        refers=True,
        samples=(1, 2, 3, 4, 5),
        sentence=Sentence(
            "2", "NewPet: categoryId, integer, int64, required: identifier of the category the animal belongs to"
        ),
    ),
    Field(
        name="status",
        # Half of the animals are available: of 300 animals, the available ones exceed a page (§4.1).
        samples=("available", "pending", "available", "sold"),
        null="null_status",
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
                relation="limits",
                gap="invalid_limit",
                sentence=Sentence("4.1", "limit: integer, minimum 1, maximum 100, default 20"),
            ),
            Parameter(
                name="status",
                relation="equals",
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
                relation="identifies",
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

FIELDS: Final = by_name(_FIELDS)
# The fields that the service assigns on creation.
ASSIGNED: Final = frozenset(field.name for field in _FIELDS if field.is_assigned)
OPERATIONS: Final = by_name(_OPERATIONS)
# The possible members of bodies: fields of animals, and members of one body that are no such fields.
MEMBERS: Final = by_name((*chain.from_iterable(operation.members for operation in _OPERATIONS), *_FIELDS))
LABEL: Final = next(field.name for field in _FIELDS if field.is_label)


def known_part(pet: Mapping[str, Json]) -> JsonObject:
    """Return the fields of an animal that the interface knows, in its order."""
    return {name: pet[name] for name in FIELDS if name in pet}


def operations(effect: EffectName) -> tuple[Operation, ...]:
    """Return the operations with an effect."""
    return tuple(operation for operation in _OPERATIONS if operation.effect == effect)


def require_operation(name: object) -> Operation:
    """Return the operation ``name``; if there is none, raise PetStoreMockError with the nearest name."""
    return OPERATIONS[one_of(name, OPERATIONS, "operation", operation_at(name))]


def operation_at(text: object) -> str | None:
    """Return the operation that a method, a path or both name, such as ``GET /pets/7``; empty if there is none.

    None means that the text is neither a method nor a path.
    """
    first, _, last = str(text).strip().rpartition(" ")
    method, target = (first, last) if "/" in last else (last, "")
    if not target and method not in HTTPMethod.__members__:
        return None
    path = urlsplit(target).path.removeprefix(BASE_PATH)
    segments = f"{BASE_PATH}{path}".strip("/").split("/")
    for row in ROUTES:
        has_path = not path or row.match(segments) is not None
        for operation in row.operations.values():
            has_method = method.upper() in {"", operation.method}
            if has_path and has_method:
                return operation.name
    return ""


_WORD_ENDS: Final = re.compile(r"[-_]|(?=[A-Z])")  # before a capital letter, a word ends


def snake_case(name: str) -> str:
    """Return the Python name of a name in JSON or in a header: ``get_pet``, ``x_trace`` for ``X-Trace``."""
    words = _WORD_ENDS.split(name)
    return "_".join(filter(None, words)).lower()


#: The operations by the names of their methods in a Python client.
BY_METHOD: Final = {operation.client_method: operation for operation in _OPERATIONS}


def in_words(names: Iterable[str]) -> str:
    """Return names as a list in words: ``a``, ``a and b``, ``a, b and c``."""
    *others, last = names
    if not others:
        return last
    return f"{', '.join(others)} and {last}"


def _routes() -> tuple[RouteRow, ...]:
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in _OPERATIONS:
        at_path = by_path.setdefault(operation.path, {})
        if operation.method in at_path:
            other = at_path[operation.method].name
            refuse(f"expected one row for {operation.method} {operation.path}; got {other} and {operation.name}")
        at_path[operation.method] = operation
    rows: list[RouteRow] = []
    for path, operations in by_path.items():
        if "GET" in operations:
            operations["HEAD"] = operations["GET"]
        pattern = tuple(f"{BASE_PATH}{path}".lstrip("/").split("/"))
        # Every path has OPTIONS (RFC 9110 §9.3.7).
        allow = ", ".join(sorted({*operations, "OPTIONS"}))
        rows.append(RouteRow(path, pattern, MappingProxyType(operations), allow))
    # A literal segment is nearer than a parameter: /pets/newest comes before /pets/{petId}.
    return tuple(sorted(rows, key=lambda row: [segment.startswith("{") for segment in row.pattern]))


def _query_sentence(operation: Operation) -> Sentence:
    names = [parameter.name for parameter in operation.parameters_in("query")]
    if not names:
        return Sentence("4", "The interface shows no query parameters for this operation")
    return Sentence(operation.section, f"The query parameters of {operation.name} are {in_words(names)}, all optional")


def _sentences_of(operation: Operation) -> Iterator[tuple[str, Sentence]]:
    """Yield the sentences about one operation, by topic."""
    section = operation.section
    yield "query", _query_sentence(operation)
    for parameter in operation.parameters:
        yield parameter.place, parameter.sentence
    if operation.body is not None:
        yield "body", Sentence(section, f"Request body (required, application/json): {operation.body}")
    if operation.identifier is not None:
        yield "absent", Sentence("7", f"404: no animal found for the given {operation.identifier.name}")
    if operation.removed_at is not None:
        words = f"{operation.name} is deprecated; its scheduled removal date is {operation.removal_day}"
        yield "removed", Sentence(section, words)


_PATHS: Final = in_words(f"{operation.method} {operation.path}" for operation in _OPERATIONS)
_TOPICS: Final = {
    "query": Sentence("4", "The interface shows the query parameters of each operation"),
    "path": Sentence("4", "The interface shows the path parameters of each operation"),
    "header": Sentence("4", "The interface shows the header parameters of each operation"),
    "key": Sentence("5", "The API key is sent in the form Authorization: Bearer <API_KEY>, on every operation"),
    "paths": Sentence("4", f"The operations are {_PATHS}, relative to {BASE_PATH}"),
    "json": Sentence("1", "Request and response bodies are JSON (application/json)"),
    "http": Sentence("1", "The service is an HTTP API"),
    "limits": Sentence("8", "Limits: rate limits and size limits of request bodies are not shown"),
}


def _sentences() -> Iterator[tuple[str, Sentence]]:
    yield from _TOPICS.items()
    for field in MEMBERS.values():
        if not field.is_assigned:
            yield f"body.{field.name}", field.sentence
    for operation in _OPERATIONS:
        for topic, sentence in _sentences_of(operation):
            yield f"{operation.name}.{topic}", sentence


ROUTES: Final = _routes()
METHODS: Final = ", ".join(sorted({method for row in ROUTES for method in row.allow.split(", ")}))
# The sentences that reports quote, by the location of a field or a parameter (``body.name``), or by topic.
SENTENCES: Final = MappingProxyType(dict(_sentences()))


def topic_of(topic: str, operation: str | None) -> str:
    """Return the key in ``SENTENCES`` of a topic: that of the operation if the interface says it for each one."""
    own = f"{operation}.{topic}"
    return own if own in SENTENCES else topic


def sentence_about(topic: str, operation: str | None = None) -> Sentence:
    """Return the sentence about a topic, for an operation if the interface says it for each operation."""
    return SENTENCES.get(topic_of(topic, operation), SENTENCES["http"])


# Words that count as quotations of the interface. Other words of a rule are an inference from its section.
_QUOTED: Final = frozenset(
    {
        "Request body: none",
        *(sentence.text for sentence in SENTENCES.values()),
        *(f"{operation.success}: {operation.response_words}" for operation in _OPERATIONS),
        *(f"{operation.name}: {operation.summary}" for operation in _OPERATIONS),
    }
)


def source(section: str, words: str) -> str:
    """Return the source of a rule: ``§4.1``, ``by the meaning of §4.1`` for an inference, an RFC, or an empty text."""
    if not section or section.startswith("RFC"):
        return section
    how = "" if words in _QUOTED else "by the meaning of "
    return f"{how}§{section}"
