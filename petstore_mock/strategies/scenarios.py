"""Strategies for scenarios.

They draw a list of blocks, such as "another actor removes an animal, and the client reads it". Simple blocks and values
come first everywhere, so that Hypothesis shrinks towards them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from itertools import chain, product
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from petstore_mock import faults as kinds
from petstore_mock.checks.check import Call
from petstore_mock.checks.scenario import Act, Pick, PlannedFault, Scenario, Together
from petstore_mock.common.refusing import one_of, require
from petstore_mock.common.suggesting import guided
from petstore_mock.common.values import by_name
from petstore_mock.faults.fault import coerce
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.kinds import kind_of
from petstore_mock.interface.schemas import arguments as schemas_of
from petstore_mock.interface.schemas import properties, required_arguments, schema
from petstore_mock.interface.table import ANIMAL, BASE_PATH, FIELDS, LABEL, OPERATIONS, ROUTES, Operation
from petstore_mock.strategies.plans import QUICK_FAULTS, behaviours, planned, planned_faults
from petstore_mock.strategies.values import samples, values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from petstore_mock.checks.scenario import Step
    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.faults import Fault
    from petstore_mock.strategies.values import Strategies

    Block = tuple[Step, ...]

# Two-byte characters begin at even bytes in one text, at odd bytes in another. A cut splits a character in one of them.
# With its head, such a response is longer than the 64 KiB that clients read at once; its body is not.
_LONGEST: Final = "ab" * 150_000
# Marks of many languages. A client that takes one of them for markup changes the text.
_MARKED: Final = r"https://example.org/a//b?c=d#e a@b.org @c /* d */ -- e # f <? g ?> <% h %> #{i} [[k]] ~~l~~ | ^ \\m"
_LONG: Final = ("x" * 1_000, "é" * 32_700, "x" + "é" * 32_700, "\U0001f415" * 70_000, _LONGEST)
_MANY: Final = ({"count": 3}, {"count": 25}, {"count": 101})
_LARGEST_TAKEN: Final = 10**6  # no scenario has so many animals
PLACES: Final = 60  # lines of the client's own code before which a call may stop
# Redirection targets: another service, the same service, a path, none. "{own}" is replaced by the path of the call.
_LOCATIONS: Final = (
    f"{{elsewhere}}{ROUTES[0].path}", "{petstore}{own}", f"{BASE_PATH}{{own}}", "",
    # Another service at a closed port, without a scheme, and by TLS.
    f"//127.0.0.1:9{BASE_PATH}{{own}}", f"https://127.0.0.1:9{BASE_PATH}{{own}}",
)  # fmt: skip
_ROUNDS: Final = 153  # redirects of a loop: more than any client follows
_NEWEST: Final = Pick()
# Real waits take too long.
_VARIED_BY_DEFAULT: Final = tuple(name for name, gap in GAPS.items() if not gap.makes_wait)
_BEFORE_A_CALL: Final = ("switch", "close_connections", "revoke_key")
END: Final = Act("cancel_faults")
TWO_PETS: Final = Act("seed_many", {"count": 2})  # of different names and statuses


@cache
def plain_call(row: Operation, which: Pick = _NEWEST) -> Call:
    rules = schemas_of(row)
    given: JsonObject = {}
    for name in required_arguments(row):
        given[name] = samples(rules[name])[0]
    if row.identifier is not None:
        given[row.identifier.name] = which
    return Call(row.name, given)


def met(fault: PlannedFault) -> tuple[PlannedFault, Call]:
    """Return the block in which the simplest call meets a fault."""
    return fault, plain_call(OPERATIONS[fault.on])


def redirected(place: str, status: int = 307) -> Fault:
    return kinds.respond(status, headers={"Location": place} if place else {})


class Blocks:
    """The blocks of scenarios. ``operations`` has the client's arguments by operation; None means all."""

    def __init__(self, operations: Mapping[str, Collection[str]] | None) -> None:
        self._taken = operations or {name: [*schemas_of(row)] for name, row in OPERATIONS.items()}
        self.rows = [row for name, row in OPERATIONS.items() if name in self._taken]
        self.plain = [*map(plain_call, self.rows)]
        # The calls that show stored animals.
        self.looks = [ask for ask in self.plain if ask.row.does.shows_stored]
        # The calls that can be about an animal after its removal.
        gone = [plain_call(row, Pick("vanished")) for row in self.rows if not row.does.adds]
        self.removal: Block = (Act("remove", {"pet": _NEWEST}), *gone)

    def values(self, given: Collection[str]) -> list[Call]:
        """Return plain calls and, unless an operation is ``given``, calls with each sample value of each argument."""
        calls = [*self.plain]
        for ask in self.plain:
            if ask.operation not in given:
                calls += _odd_calls(ask, self._taken[ask.operation])
            if LABEL in ask.arguments:
                calls += [replace(ask, arguments={**ask.arguments, LABEL: text}) for text in (_MARKED, _LONGEST)]
        return calls

    def full(self, ask: Call) -> Call:
        """Return a call with a value of each argument that the client takes."""
        rules = schemas_of(ask.row)
        given = {name: samples(rules[name])[0] for name in self._taken[ask.operation]}
        return replace(ask, arguments={**given, **ask.arguments})

    def samples_of(self, field: str, most: int) -> list[Call]:
        """Return creates with the first sample values of a field."""
        calls: list[Call] = []
        for ask in self.plain:
            if field in ask.arguments:
                calls += _odd_calls(ask, [field], most)
        return calls

    def others(self) -> Iterator[list[Block]]:
        """Yield the blocks with acts of other actors, by kind."""
        looks = self.looks
        plain = self.plain
        yield self._looked_at("seed", _sample_pets())
        yield [(*looks, Act("update", {"pet": _NEWEST, **change}), *looks) for change in _sample_changes()]
        yield self._looked_at("seed_many", _MANY)
        yield [(*looks, *self.removal)]
        yield [(ask, Act("spoil"), ask) for ask in (*looks, *plain)]
        yield [*zip(plain, plain, strict=True)]
        for name in _BEFORE_A_CALL:
            yield [*product([Act(name)], plain)]
        yield [*self._after_removals()]
        yield [(Act("seed", {LABEL: text}), *looks, *self.removal) for text in _LONG]

    def _looked_at(self, act: str, arguments: Iterable[JsonObject]) -> list[Block]:
        return [(Act(act, given), *self.looks) for given in arguments]

    def _after_removals(self) -> Iterator[Block]:
        """Yield calls on the first whole day after the removal of each deprecated operation (§9)."""
        for row in self.rows:
            if row.removed_at is not None:
                day = (row.removed_at + timedelta(days=1)).date()
                yield Act("clock.travel_to", {"at": day.isoformat()}), *self.plain

    def meetings(self, faults: Iterable[Fault]) -> list[tuple[PlannedFault, Call]]:
        return [*map(met, planned(faults, self.rows))]

    def redirections(self) -> list[Block]:
        """Return the blocks in which a call is redirected, also in a loop."""
        redirections = [(status, place, 1) for place, status in product(_LOCATIONS, (307, 302, 301, 303, 308))]
        redirections.append((307, "{petstore}{own}", _ROUNDS))
        blocks: list[Block] = []
        for (status, place, times), row in product(redirections, self.rows):
            plan = PlannedFault(fault=redirected(place, status), on=row.name, times=times)
            # The last step cancels the rest of the fault, which would redirect the next call too.
            blocks.append((*met(plan), END))
        return [*blocks, *self._with_parameters()]

    def _with_parameters(self) -> Iterator[Block]:
        """Yield the blocks in which a call is redirected to an address that has its parameters."""
        for ask in map(self.full, self.plain):
            given = {one.name: ask.arguments.get(one.name) for one in ask.row.parameters_in("query")}
            if given:
                fault = redirected(f"{{petstore}}{{own}}?{urlencode(given)}")
                yield PlannedFault(fault=fault, on=ask.operation), ask, END

    def pairs(self) -> list[tuple[Call, Call]]:
        """Return pairs of calls with different requests and responses."""
        first = [_told_apart(row, 0) for row in self.rows]
        second = [_told_apart(row, 1) for row in self.rows]
        return [*product(first, second)]

    def arguments(self, row: Operation) -> SearchStrategy[JsonObject]:
        """Draw the arguments of a call: mostly ids of known animals, and any values that the schema allows."""
        rules = schemas_of(row)
        drawn: Strategies = {name: values(rules[name]) for name in self._taken[row.name]}
        for parameter in row.parameters_in("path"):
            drawn[parameter.name] = drawn[parameter.name].filter(partial(_can_be_sent, row, parameter.name))
        if row.identifier is not None:
            name = row.identifier.name
            known = [Pick("known", index) for index in range(4)]
            gone = [Pick("vanished"), Pick("vanished", 1)]
            drawn[name] = st.sampled_from([*known, *known, *gone, 404, *samples(rules[name])])
        required = {name: drawn.pop(name) for name in required_arguments(row)}
        return st.fixed_dictionaries(required, optional=drawn)


def _odd_calls(ask: Call, names: Iterable[str], most: int | None = None) -> Iterator[Call]:
    rules = schemas_of(ask.row)
    for name in names:
        for value in samples(rules[name])[:most]:
            if _can_be_sent(ask.row, name, value):
                yield replace(ask, arguments={**ask.arguments, name: value})


def _can_be_sent(row: Operation, name: str, value: object) -> bool:
    """Whether a request can have a value of an argument. An empty text in a path is another path."""
    return value != "" or name not in by_name(row.parameters_in("path"))


def _sample_pets() -> Iterator[JsonObject]:
    """Yield the fields of animals that another actor adds, one odd value each, without ids that may be taken."""
    for name, rules in properties(ANIMAL).items():
        for value in samples(rules):
            may_be_taken = FIELDS[name].is_assigned and 0 < abs(value) <= _LARGEST_TAKEN
            if not may_be_taken:
                yield {name: value}


def _sample_changes() -> Iterator[JsonObject]:
    """Yield changes of one field by another actor. None removes the field."""
    for name, rules in properties(ANIMAL).items():
        if FIELDS[name].is_assigned:
            continue
        for value in samples(rules)[1:3]:
            yield {name: value}
        if name not in schema(ANIMAL)["required"]:
            yield {name: None}


def _told_apart(row: Operation, which: int) -> Call:
    """Return a call that differs from the call with another ``which`` in its request and its response."""
    given = dict(plain_call(row, Pick("known", which)).arguments)
    filters = by_name(row.filters)
    for name, rules in schemas_of(row).items():
        kind = kind_of(rules)
        is_filter = name in filters and kind.name == "enum"
        is_given_text = name in given and kind.type == "string"
        if is_filter or is_given_text:
            given[name] = samples(rules)[which]
    return Call(row.name, given)


@guided
def scenarios(
    *,
    operations: Mapping[str, Collection[str]] | None = None,
    vary: Collection[str] | None = None,
    faults: Collection[Fault | int] | None = None,
    arguments: Mapping[str, SearchStrategy[JsonObject]] | None = None,
    concurrent: bool = False,
    steps: Collection[str] = (),
) -> SearchStrategy[Scenario]:
    """Draw scenarios that take no real time. They shrink to one simple call.

    Args:
        operations: the arguments that the client's methods take, by operation; all operations by default.
        vary: the gaps that may differ from the default; all gaps except ``rate_limit`` by default.
        faults: the faults that requests may meet; the machine's own by default, ``()`` for none.
        arguments: strategies for the arguments of calls, by operation: ``{"createPet": strategy}``.
        concurrent: whether to draw two calls at once.
        steps: the names of your own steps.
    """
    require(operations != {}, "one or more operations", operations=operations)
    own_arguments = arguments or {}
    _check_operations(operations or {})
    check_arguments(own_arguments)
    blocks = Blocks(operations)
    if faults is None:
        kinds_of_blocks = _kinds_of_blocks(blocks, QUICK_FAULTS, steps)
        kinds_of_blocks.append(st.sampled_from(blocks.redirections()))
    else:
        kinds_of_blocks = _kinds_of_blocks(blocks, [*map(coerce, faults)], steps)
    if concurrent:
        kinds_of_blocks += [_together(blocks.pairs())] * 5
    block = st.sampled_from(kinds_of_blocks).flatmap(lambda kind: kind)
    nested = st.lists(st.lists(block, min_size=1, max_size=8), min_size=1, max_size=6)
    flat = nested.map(chain.from_iterable).map(chain.from_iterable).map(tuple)
    chosen = list(_VARIED_BY_DEFAULT if vary is None else vary)
    return _with_arguments(st.builds(Scenario, behaviours(vary=chosen), flat), own_arguments)


def _kinds_of_blocks(blocks: Blocks, faults: Collection[Fault], steps: Collection[str]) -> list[SearchStrategy[Block]]:
    """Return a strategy for each kind of block, the simplest first. A frequent kind stands there several times."""
    plain: list[Block] = [*zip(blocks.plain, strict=True)]
    calls = [st.builds(Call, st.just(row.name), blocks.arguments(row)) for row in blocks.rows]
    kinds_of_blocks = [st.just(plain[0]), *[st.sampled_from(plain)] * 3]
    kinds_of_blocks += [st.tuples(st.one_of(*calls))] * 6
    kinds_of_blocks += map(st.sampled_from, filter(None, blocks.others()))
    if faults:
        kinds_of_blocks += [planned_faults(faults, blocks.rows).map(met)] * 4
    kinds_of_blocks += [st.just((Act("own", {"step": name}),)) for name in steps] * 4
    return kinds_of_blocks


def _check_operations(operations: Mapping[str, Collection[str]]) -> None:
    """Refuse unknown operations, and unknown arguments of operations."""
    for name, taken in operations.items():
        known = schemas_of(OPERATIONS[one_of(name, OPERATIONS, "operation")])
        for argument in taken:
            one_of(argument, known, "argument")


def check_arguments(arguments: Mapping[str, object]) -> None:
    """Refuse ``arguments`` that do not map operations to strategies."""
    for name, strategy in arguments.items():
        one_of(name, OPERATIONS, "operation")
        words = f"a strategy for the arguments of {name}, such as st.fixed_dictionaries({{...}})"
        require(isinstance(strategy, SearchStrategy), words, strategy=strategy)


@st.composite
def _with_arguments(
    draw: st.DrawFn, drawn: SearchStrategy[Scenario], given: Mapping[str, SearchStrategy[JsonObject]]
) -> Scenario:
    def arguments_of(call: Call) -> Mapping[str, Json]:
        if call.operation in given:
            return draw(given[call.operation])
        return call.arguments

    return draw(drawn).replaced(arguments_of)


def _together(pairs: Sequence[tuple[Call, Call]]) -> SearchStrategy[Block]:
    places = st.integers(1, 12) | st.integers(1, PLACES)
    return st.builds(_at_once, st.sampled_from(pairs), places, st.none() | places)


def _at_once(calls: tuple[Call, Call], hold: int, then: int | None) -> Block:
    return TWO_PETS, Together(*calls, hold, then)
