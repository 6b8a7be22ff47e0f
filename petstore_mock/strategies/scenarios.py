"""Draws scenarios: calls with arguments from the schemas, other actors, faults, behaviours.

A scenario is a list of blocks, such as "another actor removes an animal, and the client looks for it". Simple blocks
and values come first everywhere, so that Hypothesis shrinks towards them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from petstore_mock import faults as kinds
from petstore_mock.interface import schemas
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.table import FIELDS, OPERATIONS, Operation
from petstore_mock.strategies.plans import QUICK_FAULTS, PlannedFault, behaviours, planned, planned_faults
from petstore_mock.strategies.scenario import Act, Ask, Own, Pick, Scenario, Step, Switch, Together
from petstore_mock.strategies.values import samples, values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.faults import Fault

    Block = tuple[Step, ...]

# Two that begin at odd and even places: one has a character across any boundary of blocks.
_LONG: Final = ("x" * 1_000, "é" * 2_000, "x" + "é" * 2_000, "x" * 70_000, "\U0001f415" * 70_000, "ab" * 150_000)
_MANY: Final = (3, 25, 101)
PLACES: Final = 60  # lines of the client's own before which a call is held
# Where redirections lead: another service, the same, a path of it, no place. "{own}" stands for the path of the call.
_LOCATIONS: Final = ("{elsewhere}/pets", "{petstore}{own}", "/v1{own}", "")
_REDIRECTIONS: Final = [
    kinds.respond(status, headers={"Location": location} if location else {})
    for location, status in product(_LOCATIONS, (307, 302, 301, 303, 308))
]
_CIRCLE: Final = kinds.respond(307, headers={"Location": "{petstore}{own}"})
_ROUNDS: Final = 153  # of a redirection in a circle: more than any client follows


def argument_schemas(row: Operation) -> dict[str, Any]:
    """Return the schema of each argument of an operation, by the interface's names."""
    return {**schemas.parameters(row), **(schemas.properties(row.body) if row.body else {})}


def required_arguments(row: Operation) -> list[str]:
    """Return the names of the arguments that every call has."""
    parts = [schemas.schema(part).get("required", ()) for part in (row.parameters_schema, row.body) if part]
    return [name for name in argument_schemas(row) if name in chain(*parts)]


def plain_ask(row: Operation, which: Pick = Pick()) -> Ask:  # noqa: B008  # it is frozen
    """Return the plainest call of an operation."""
    given = {name: samples(argument_schemas(row)[name])[0] for name in required_arguments(row)}
    return Ask(row.name, given if row.path_parameter is None else {**given, row.path_parameter.name: which})


def met(fault: PlannedFault) -> tuple[PlannedFault, Ask]:
    """Return the block in which the plainest call meets a fault."""
    return fault, plain_ask(OPERATIONS[fault.on])


class Blocks:
    """The blocks of scenarios for one client.

    Args:
        operations: the operations that the client has, each with the arguments that its method takes; None for all.
    """

    def __init__(self, operations: Mapping[str, Collection[str]] | None) -> None:
        every = {name: list(argument_schemas(row)) for name, row in OPERATIONS.items()}
        self._taken = every if operations is None else operations
        self.rows = [row for name, row in OPERATIONS.items() if name in self._taken]
        self.plain = [plain_ask(row) for row in self.rows]
        self.looks, self.gone = self._looks(Pick()), self._looks(Pick("vanished"))
        self.remove = Act("remove", {"pet": Pick()})

    def _looks(self, pick: Pick) -> tuple[Ask, ...]:
        """Return the calls that may show an animal."""
        return tuple(plain_ask(row, pick) for row in self.rows if not row.commits)

    def values(self) -> list[tuple[Ask]]:
        """Return plain calls, and calls in which each argument has each of its sample values."""
        arguments = [(ask, name) for ask in self.plain for name in self._taken[ask.operation]]
        odd = [
            replace(ask, arguments={**ask.arguments, name: value})
            for ask, name in arguments
            for value in samples(argument_schemas(OPERATIONS[ask.operation])[name])
        ]
        return [(ask,) for ask in (*self.plain, *odd)]

    def seeds(self) -> list[Block]:
        """Return the blocks in which another actor adds an animal."""
        return [(Act("seed", pet), *self.looks) for pet in _sample_pets()]

    def updates(self) -> list[Block]:
        """Return the blocks in which another actor changes an animal."""
        changes = [Act("update", {"pet": Pick(), **change}) for change in _sample_changes()]
        return [(*self.looks, change, *self.looks) for change in changes]

    def others(self) -> list[list[Block]]:
        """Return the blocks in which something else happens behind the client's back, by kind."""
        removals = [OPERATIONS[ask.operation].removed_at for ask in self.plain]
        days = [(at + timedelta(days=1)).date().isoformat() for at in removals if at is not None]
        text = next(name for name, schema in _settable().items() if schema.get("type") == "string")
        return [
            [(Act("seed_many", {"count": count}), *self.looks) for count in _MANY],
            [(*self.looks, self.remove, *self.gone)],
            [(look, Act("spoil"), look) for look in (*self.looks, *self.plain)],
            [(ask, ask) for ask in self.plain],
            [(Switch(), ask) for ask in self.plain],
            [(Act("close_connections"), ask) for ask in self.plain],
            [(Act("revoke_key"), ask) for ask in self.plain],
            [(Act("travel_to", {"at": day}), *self.plain) for day in days],
            [(Act("seed", {text: long}), *self.looks, self.remove) for long in _LONG],
        ]

    def meetings(self, faults: Iterable[Fault]) -> list[tuple[PlannedFault, Ask]]:
        """Return the blocks in which a call meets a fault."""
        return [met(one) for one in planned(faults, self.rows)]

    def redirections(self) -> list[tuple[PlannedFault, Ask]]:
        """Return the blocks in which a call is redirected, also in circles."""
        found = [PlannedFault(fault=fault, on=row.name) for fault, row in product(_REDIRECTIONS, self.rows)]
        circles = [PlannedFault(fault=_CIRCLE, on=row.name, times=_ROUNDS) for row in self.rows]
        return [met(one) for one in (*found, *circles)]

    def pairs(self) -> list[tuple[Ask, Ask]]:
        """Return pairs of calls that can be told apart."""
        return [(_told_apart(first, 0), _told_apart(second, 1)) for first, second in product(self.rows, self.rows)]

    def asks(self, row: Operation) -> SearchStrategy[Ask]:
        """Draw calls of an operation."""
        arguments: dict[str, SearchStrategy[Any]] = {}
        for name in self._taken[row.name]:
            schema, path = argument_schemas(row)[name], row.path_parameter
            ids = [*[Pick("known", index) for index in range(4)] * 2, Pick("vanished"), Pick("vanished", 1), 404]
            is_id = path is not None and path.name == name
            arguments[name] = st.sampled_from([*ids, *samples(schema)]) if is_id else values(schema)
        required = {name: arguments.pop(name) for name in required_arguments(row)}
        return st.fixed_dictionaries(required, optional=arguments).map(lambda drawn: Ask(row.name, drawn))


def _settable() -> dict[str, Any]:
    """Return the schemas of the fields that an animal is added with."""
    return {name: part for name, part in schemas.properties("Pet").items() if not FIELDS[name].assigned}


def _sample_pets() -> list[dict[str, Any]]:
    """Return animals that another actor adds, by fields; the id stands only in odd ones."""
    required = schemas.schema("Pet")["required"]
    plain = {name: samples(part)[0] for name, part in _settable().items() if name in required}
    found = [plain]
    for name, part in schemas.properties("Pet").items():
        odd = [value for value in samples(part) if not FIELDS[name].assigned or abs(value) > 10**6 or value == 0]
        found += [{**plain, name: value} for value in odd]
    return found


def _sample_changes() -> list[dict[str, Any]]:
    """Return changes of another actor: each of one field; None takes the field away."""
    found: list[dict[str, Any]] = []
    for name, part in _settable().items():
        found += [{name: value} for value in samples(part)[1:3]]
        found += [{name: None}] * (name not in schemas.schema("Pet")["required"])
    return found


def two_pets() -> list[Act]:
    """Return the acts that add two animals that can be told apart."""
    return [Act("seed", {name: _nth(part, which) for name, part in _settable().items()}) for which in (0, 1)]


def _told_apart(row: Operation, which: int) -> Ask:
    given = dict(plain_ask(row, Pick("known", which)).arguments)
    for name, schema in argument_schemas(row).items():
        is_filter = name not in given and "enum" in schema and row.effect == "lists"
        if is_filter or (name in given and schema.get("type") == "string"):
            given[name] = _nth(schema, which)
    return Ask(row.name, given)


def _nth(schema: Mapping[str, Any], which: int) -> Any:  # noqa: ANN401  # a value of any type
    return samples(schema)[-which if "enum" in schema else which]


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
    found, given = Blocks(operations), arguments or {}
    chosen = [name for name in GAPS if name != "rate_limit"] if vary is None else list(vary)
    asks = [found.asks(row) if row.name not in given else _asks_with(row, given[row.name]) for row in found.rows]
    plain: list[Block] = [(ask,) for ask in found.plain]
    drawn = [st.just(plain[0]), *[st.sampled_from(plain)] * 3]  # the first is the simplest: nothing is left to draw
    drawn += [st.tuples(st.one_of(*asks))] * 6
    kinds: list[Sequence[Block]] = [found.seeds(), found.updates(), *found.others()]
    if faults is None:
        kinds.append(found.redirections())
    drawn += [st.sampled_from(kind) for kind in kinds if kind]
    own = QUICK_FAULTS if faults is None else faults
    drawn += [planned_faults(own, found.rows).map(met)] * 4 if own else []
    drawn += [st.just((Own(name),)) for name in steps] * 4
    drawn += [_together(found.pairs())] * 5 if concurrent else []
    block = st.sampled_from(drawn).flatmap(lambda one: one)
    nested = st.lists(st.lists(block, min_size=1, max_size=8), min_size=1, max_size=6)
    flat = nested.map(lambda parts: tuple(chain.from_iterable(chain.from_iterable(parts))))
    return st.builds(Scenario, behaviours(vary=chosen), flat)


def _asks_with(row: Operation, arguments: SearchStrategy[Any]) -> SearchStrategy[Ask]:
    return arguments.map(lambda drawn: Ask(row.name, drawn))


def _together(pairs: Sequence[tuple[Ask, Ask]]) -> SearchStrategy[Block]:
    places = st.integers(1, 12) | st.integers(1, PLACES)
    drawn = st.tuples(st.sampled_from(pairs), places, st.none() | places)
    return drawn.map(lambda one: (*two_pets(), Together(*one[0], *one[1:])))
