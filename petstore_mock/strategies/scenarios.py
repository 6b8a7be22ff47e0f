"""Draws scenarios: calls with arguments from the schemas, other actors, faults, behaviours.

A scenario is a list of blocks, such as "another actor removes an animal, and the client looks for it". Simple blocks
and values come first everywhere, so that Hypothesis shrinks towards them.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from petstore_mock import faults as kinds
from petstore_mock.core.fault_plan import operations_of
from petstore_mock.interface import schemas
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.table import FIELDS, OPERATIONS, Operation
from petstore_mock.strategies.plans import PlannedFault, behaviours
from petstore_mock.strategies.scenario import Act, Ask, Own, Pick, Scenario, Step, Switch, Together

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.faults import Fault

    Block = tuple[Step, ...]

_EDGE_INTEGERS: Final = (1, 0, -1, 2, 3, 20, 21, 50, 99, 100, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
_TEXTS: Final = (
    *("Rex", "Tom", "", " ", "é\U0001f415", '\u2028\r\n\0"\\', "\u05e9\u05dc\u05d5\u05dd"),
    # Texts that mean something to HTML, URLs, templates, escapes, and code that guesses types.
    *("&amp;", "%41", "%s", "{0}", "\\u0041", "null", "1.0", "2026-01-01", "e\u0308"),
)
_CHARACTERS: Final = (
    "Rexab 019 \t\r\n\v\0\x1f\x7f\"\\/'<>&%+,;{}[]éßĀЖ\u05e9\u05dc\u0645\u0631\u0301\u0308\u200d\ufe0f"
    "\u0085\u2028\u2029\u00a0\ufeff猫犬한\U0001f415\U0001f408\U0001f1e9\U00010348"
)
_LONG: Final = ("x" * 1_000, "x" * 70_000, "é" * 70_000, "\U0001f415" * 70_000, "ab" * 150_000)
_TEXT_FIELD: Final = next(
    name
    for name, schema in schemas.properties("Pet").items()
    if schema.get("type") == "string" and "enum" not in schema
)
_MANY: Final = (3, 25, 101)
PLACES: Final = 60  # lines of the client's own before which a call is held

_HTML: Final = "<html><body>Bad gateway</body></html>"
_AS_JSON: Final = {"Content-Type": "application/json"}
QUICK_FAULTS: Final = (
    kinds.server_error(500),
    kinds.reset(),
    kinds.respond(502, body=_HTML),
    kinds.empty_reply(),
    kinds.server_error(503),
    kinds.respond(502, body=b""),
    kinds.unauthorized(),
    kinds.respond(403),
    kinds.rate_limited(0),
    kinds.truncate(0.5),
    kinds.truncate(0.0),
    kinds.malformed_json(),
    kinds.malformed_chunk(),
    kinds.wrong_content_type(),
    kinds.rate_limited(None),
    kinds.rate_limited("2020-01-01"),  # in the past: there is nothing to wait for
    kinds.respond(429, headers={"Retry-After": "-1"}),
    kinds.respond(503, headers={"Retry-After": "soon"}),
    kinds.respond(502, json={"error": "Bad gateway"}),
    kinds.respond(502, json=["Bad gateway"]),
    kinds.respond(502, body="<p>Passerelle défectueuse</p>".encode("latin-1")),
    kinds.respond(401, headers={"WWW-Authenticate": "Bearer"}),  # the realm is optional (RFC 6750 §3)
    # Successes of a proxy, a login page or a queue, and of a service that breaks the interface.
    kinds.respond(200, body=b""),
    kinds.respond(204),
    kinds.respond(200, json={"message": "Down for maintenance"}),
    kinds.respond(202, json={"queued": True}),
    kinds.respond(200, body="<html><body>Please log in</body></html>"),
    kinds.respond(200, body="null", headers=_AS_JSON),
    kinds.respond(200, json={"id": 1, "title": "Rex", "categoryId": 1}),
    kinds.respond(200, json={"id": 1, "name": None, "categoryId": 1, "status": "sold"}),
    kinds.respond(200, json=[{"id": 1, "name": "Rex"}]),
    kinds.respond(200, json={"pets": [{"id": 1, "name": "Rex", "categoryId": 1}]}),
    kinds.respond(201, json={"id": 1}),
)
# Where redirections lead: another service, the same, a path of it, no place. "{own}" stands for the path of the call.
_LOCATIONS: Final = ("{elsewhere}/pets", "{petstore}{own}", "/v1{own}", "")
REDIRECTIONS: Final = tuple(
    kinds.respond(status, headers={"Location": location} if location else {})
    for location, status in product(_LOCATIONS, (307, 302, 301, 303, 308))
)
_CIRCLE: Final = kinds.respond(307, headers={"Location": "{petstore}{own}"})
_ROUNDS: Final = 153  # more than any client follows
_TIMES_AND_AFTER: Final = ((1, 0), (1, 1), (2, 0), (12, 0))


def argument_schemas(row: Operation) -> dict[str, Any]:
    """Return the schema of each argument of an operation, by the interface's names."""
    body = {} if row.body is None else schemas.properties(row.body)
    return {**schemas.parameters(row), **body}


def required_arguments(row: Operation) -> set[str]:
    """Return the names of the arguments that every call has."""
    return {
        name for part in (row.parameters_schema, row.body) if part for name in schemas.schema(part).get("required", ())
    }


def sample_values(schema: Mapping[str, Any]) -> list[Any]:
    """Return values that a schema allows, the plainest first."""
    if "enum" in schema:
        return list(schema["enum"])
    if schema.get("type") == "array":
        return [[value] for value in sample_values(schema.get("items", {}))[:3]] + [[]]
    if schema.get("type") == "boolean":
        return [True, False]
    candidates = _TEXTS if schema.get("type") == "string" else _EDGE_INTEGERS
    return [value for value in candidates if not schemas.violations(schema, value, "")]


def _values(schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    sampled = st.sampled_from(sample_values(schema))
    if "enum" in schema or schema.get("type") not in {"string", "integer"}:
        return sampled
    if schema["type"] == "integer":
        return sampled | st.integers(schema.get("minimum"), schema.get("maximum"))
    made = st.builds(
        lambda text, count: text * count, st.text(_CHARACTERS, max_size=8), st.sampled_from((1, 1, 2, 20, 300))
    )
    plain = schema.keys() <= {"type", "description", "title"}
    return sampled | (made if plain else made.filter(lambda text: not schemas.violations(schema, text, "")))


def plain_ask(row: Operation) -> Ask:
    """Return the plainest call of an operation."""
    found = argument_schemas(row)
    path = row.path_parameter
    given = {name: sample_values(found[name])[0] for name in found if name in required_arguments(row)}
    return Ask(row.name, given if path is None else {**given, path.name: Pick()})


def _ids(schema: Mapping[str, Any]) -> list[Any]:
    known = [Pick("known", index) for index in range(4)]
    return [*known, *known, Pick("vanished"), Pick("vanished", 1), 404, *sample_values(schema)]


class Draws:
    """The strategies of one client.

    Args:
        operations: the operations that the client has, each with the arguments that its method takes; None for all.
        arguments: strategies of calls' arguments by operation, instead of the schemas'.
    """

    def __init__(
        self, operations: Mapping[str, Collection[str]] | None, arguments: Mapping[str, SearchStrategy[Any]]
    ) -> None:
        self._given = arguments
        self._taken = {name: list(argument_schemas(row)) for name, row in OPERATIONS.items()}
        if operations is not None:
            self._taken = {name: list(operations[name]) for name in OPERATIONS if name in operations}
        self.rows = [OPERATIONS[name] for name in self._taken]
        self.plain = [plain_ask(row) for row in self.rows]

    def asks(self, row: Operation) -> SearchStrategy[Ask]:
        """Draw calls of an operation."""
        if row.name in self._given:
            return self._given[row.name].map(lambda drawn: Ask(row.name, drawn))
        required: dict[str, Any] = {}
        optional: dict[str, Any] = {}
        for name in self._taken[row.name]:
            schema, path = argument_schemas(row)[name], row.path_parameter
            values = st.sampled_from(_ids(schema)) if path is not None and path.name == name else _values(schema)
            (required if name in required_arguments(row) else optional)[name] = values
        return st.fixed_dictionaries(required, optional=optional).map(lambda drawn: Ask(row.name, drawn))

    def any_ask(self) -> SearchStrategy[Ask]:
        """Draw calls, plain ones often."""
        return st.sampled_from(self.plain) | st.one_of(*map(self.asks, self.rows))

    def _looks(self, pick: Pick) -> list[Ask]:
        """Return the calls that may show an animal."""
        found = [Ask(row.name) for row in self.rows if row.effect == "lists"]
        reads = [row for row in self.rows if row.effect == "reads" and row.path_parameter is not None]
        return [*found, *(Ask(row.name, {row.path_parameter.name: pick}) for row in reads if row.path_parameter)]

    # Blocks

    def others(self) -> list[list[Block]]:
        """Return the blocks in which something happens behind the client's back, by kind."""
        looks, gone = self._looks(Pick()), self._looks(Pick("vanished"))
        seeds = [Act("seed", pet) for pet in sample_pets()]
        updates = [Act("update", {"pet": Pick("known", which), **one}) for which in (0, 1) for one in sample_changes()]
        return [
            _blocks((seed, look) for seed, look in product(seeds, looks)),
            _blocks((Act("seed_many", {"count": count}), look) for count, look in product(_MANY, looks)),
            _blocks((look, update, look) for update, look in product(updates, looks)),
            _blocks((look, Act("remove", {"pet": Pick()}), after) for look, after in zip(looks, gone, strict=True)),
            _blocks((look, Act("spoil"), look) for look in (*looks, *self.plain)),
            _blocks((ask, ask) for ask in self.plain),
            _blocks((Switch(), ask) for ask in self.plain),
            _blocks((Act("close_connections"), ask) for ask in self.plain),
            _blocks((act, ask) for ask in self.plain for act in (Act("revoke_key"), *_removal(ask))),
            _blocks(
                (Act("seed", {_TEXT_FIELD: text}), look, Act("remove", {"pet": Pick()}))
                for text, look in product(_LONG, looks)
            ),
        ]

    def meetings(self, faults: Sequence[Fault], *, redirections: bool) -> list[list[Block]]:
        """Return the blocks in which a call meets a fault, by kind."""
        found = [planned(fault, row, *when) for fault, row, when in product(faults, self.rows, _TIMES_AND_AFTER)]
        blocks: list[Block] = [(one, plain_ask(OPERATIONS[one.on])) for group in found for one in group]
        if not redirections:
            return [blocks] if blocks else []
        redirected: list[Block] = [
            (PlannedFault(fault=one, on=row.name), plain_ask(row)) for one, row in product(REDIRECTIONS, self.rows)
        ]
        circles: list[Block] = [
            (PlannedFault(fault=_CIRCLE, on=row.name, times=_ROUNDS), plain_ask(row)) for row in self.rows
        ]
        return [blocks, [*redirected, *circles]]

    def pairs(self) -> SearchStrategy[Block]:
        """Draw two different calls at once."""
        places = st.integers(1, 12) | st.integers(1, PLACES)
        drawn = st.builds(
            lambda pair, *held: Together(*pair, *held), st.sampled_from(pairs(self.rows)), places, st.none() | places
        )
        return drawn.map(lambda pair: (*two_pets(), pair))


def two_pets() -> list[Act]:
    """Return the acts that add two animals that can be told apart."""
    fields = {name: schema for name, schema in schemas.properties("Pet").items() if not FIELDS[name].assigned}
    return [Act("seed", {name: _nth(schema, which) for name, schema in fields.items()}) for which in (0, 1)]


def pairs(rows: Sequence[Operation]) -> list[tuple[Ask, Ask]]:
    """Return pairs of calls that can be told apart."""
    return [(_told_apart(first, 0), _told_apart(second, 1)) for first, second in product(rows, rows)]


def _told_apart(row: Operation, which: int) -> Ask:
    given = {
        name: Pick("known", which) if isinstance(value, Pick) else value
        for name, value in plain_ask(row).arguments.items()
    }
    for name, schema in argument_schemas(row).items():
        is_filter = name not in given and "enum" in schema and row.effect == "lists"
        if is_filter or (name in given and schema.get("type") == "string"):
            given[name] = _nth(schema, which)
    return Ask(row.name, given)


def sample_pets() -> list[dict[str, Any]]:
    """Return animals that another actor adds, by fields; the id stands only in odd ones."""
    properties = schemas.properties("Pet")
    plain = {
        name: sample_values(properties[name])[0]
        for name in schemas.schema("Pet")["required"]
        if not FIELDS[name].assigned
    }
    found = [plain]
    for name, field in FIELDS.items():
        values = sample_values(properties[name]) if name in properties else []
        found += [{**plain, name: value} for value in values if not field.assigned or abs(value) > 10**6 or value == 0]
    return found


def sample_changes() -> list[dict[str, Any]]:
    """Return changes of another actor: each of one field; None takes the field away."""
    found: list[dict[str, Any]] = []
    for name, schema in schemas.properties("Pet").items():
        if not FIELDS[name].assigned:
            found += [{name: value} for value in sample_values(schema)[1:3]]
            found += [{name: None}] * (name not in schemas.schema("Pet")["required"])
    return found


def _nth(schema: Mapping[str, Any], which: int) -> Any:  # noqa: ANN401  # a value of any type
    return sample_values(schema)[-which if "enum" in schema else which]


def _blocks(blocks: Iterable[Block]) -> list[Block]:
    return list(blocks)


def _removal(ask: Ask) -> list[Act]:
    """Return the act that brings the day after the removal of an operation."""
    removed_at = OPERATIONS[ask.operation].removed_at
    return [] if removed_at is None else [Act("travel_to", {"at": (removed_at + timedelta(days=1)).date().isoformat()})]


def planned(fault: Fault, row: Operation, times: int = 1, after: int = 0) -> list[PlannedFault]:
    """Return how a fault may meet an operation: at each commit point; not at all where its status is of others (§7)."""
    if row.name not in operations_of(fault):
        return []
    # A readable response must be true: before the commit it would tell of an animal that is not kept.
    only_after = any(part.row.readable and not part.row.only_slows for part in fault.parts)
    points = ["after_commit"] if only_after else ["before_commit", "after_commit"]
    often: Any = None if fault.kind == "sequence" else times
    return [
        PlannedFault(fault=fault, on=row.name, times=often, after=after, at=point)
        for point in (points if row.commits else ["before_commit"])
    ]


def scenarios(
    *,
    operations: Mapping[str, Collection[str]] | None = None,
    vary: Collection[str] | None = None,
    faults: Collection[Fault] | None = None,
    arguments: Mapping[str, SearchStrategy[Any]] | None = None,
    concurrent: bool = False,
    steps: Collection[str] = (),
) -> SearchStrategy[Scenario]:
    """Draw scenarios that take no real time; they shrink to one plain call.

    Args:
        operations: the operations that the client has, each with the arguments that its method takes; None for all.
        vary: the gaps that may differ from the default; all but ``rate_limit`` unless given.
        faults: the faults that requests may meet; ``()`` for none.
        arguments: strategies of the arguments of calls, by operation: ``{"createPet": strategy}``.
        concurrent: whether two calls may be under way at once.
        steps: names of steps of the test's own.
    """
    draws = Draws(operations, arguments or {})
    chosen = [name for name in GAPS if name != "rate_limit"] if vary is None else list(vary)
    asks = draws.any_ask().map(lambda ask: (ask,))
    meetings = draws.meetings(QUICK_FAULTS if faults is None else list(faults), redirections=faults is None)
    own = [st.just((Own(name),)) for name in steps]
    plain: SearchStrategy[Block] = st.sampled_from([(ask,) for ask in draws.plain])  # the fewest choices: the simplest
    blocks = [*[plain] * 4, *[asks] * 6]
    blocks += [st.sampled_from(kind) for kind in draws.others() if kind]
    blocks += [st.sampled_from(kind) for kind in meetings for _ in range(4 if kind is meetings[0] else 1)]
    blocks += own * 4
    blocks += [draws.pairs()] * 5 if concurrent else []
    block = st.sampled_from(blocks).flatmap(lambda one: one)
    nested = st.lists(st.lists(block, min_size=1, max_size=8), min_size=1, max_size=6)
    flat = nested.map(lambda parts: tuple(step for part in parts for block in part for step in block))
    return st.builds(Scenario, behaviours(vary=chosen), flat)
