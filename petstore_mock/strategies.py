"""Hypothesis strategies for clients of the pet store service (the ``hypothesis`` extra).

They follow ``schemas/*.json``: a bound that is changed there changes what is drawn. Every optional argument is
keyword-only, and one that stands for a field is a strategy; a wrong one is reported when a value is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, ParamSpec, TypeVar

from hypothesis import strategies as st

from petstore_mock import _generation
from petstore_mock import faults as fault_kinds
from petstore_mock.behaviour import Behaviour, check_gap
from petstore_mock.errors import PetstoreMockError
from petstore_mock.gaps import GAPS, INTEGER_TEXT
from petstore_mock.plan import FaultPlan
from petstore_mock.schemas import Schemas, default_schemas

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from os import PathLike

    from hypothesis.strategies import DrawFn, SearchStrategy

    from petstore_mock.faults import Fault
    from petstore_mock.mock import PetStoreMock
    from petstore_mock.plan import FaultHandle, Moment

__all__ = [
    "InvalidListQuery",
    "InvalidNewPet",
    "PlannedFault",
    "behaviours",
    "category_ids",
    "fault_plans",
    "faults",
    "invalid_list_queries",
    "invalid_new_pets",
    "list_queries",
    "names",
    "new_pets",
    "pet_statuses",
    "pets",
]

P = ParamSpec("P")
T = TypeVar("T")


def _when_drawn(make: Callable[P, SearchStrategy[T]]) -> Callable[P, SearchStrategy[T]]:
    """Put off what ``make`` does until a value is drawn, so that a wrong argument fails the test and not the import."""

    @wraps(make)
    def lazy(*args: P.args, **kwargs: P.kwargs) -> SearchStrategy[T]:
        return st.deferred(lambda: make(*args, **kwargs))

    return lazy


def _rules(schemas: str | PathLike[str] | None) -> Schemas:
    return default_schemas() if schemas is None else Schemas(Path(schemas))


def _field(rules: Schemas, schema: str, name: str) -> SearchStrategy[Any]:
    """Draw values of one property that its schema allows."""
    properties = rules.properties(schema)
    if name not in properties:
        raise PetstoreMockError(f"expected {schema}.json to have a property {name!r}; it has {', '.join(properties)}")
    path = f"value.{name}"

    def accepts(value: object) -> bool:
        found = rules.judge(schema, {name: value}, "value")
        return not any(violation.path == path and violation.rule != "required" for violation in found)

    return _generation.values(properties[name], accepts)


@_when_drawn
def names(*, schemas: str | PathLike[str] | None = None) -> SearchStrategy[str]:
    """Draw names of animals: any text that the schema allows, the awkward kinds of it often (§2).

    Args:
        schemas: a directory of JSON Schemas to follow, instead of those that ship.
    """
    return _field(_rules(schemas), "NewPet", "name")


@_when_drawn
def category_ids(*, schemas: str | PathLike[str] | None = None) -> SearchStrategy[int]:
    """Draw identifiers of categories: int64, its bounds and both sides of 2**53 often (§2).

    Args:
        schemas: as for :func:`names`.
    """
    return _field(_rules(schemas), "NewPet", "categoryId")


@_when_drawn
def pet_statuses(*, schemas: str | PathLike[str] | None = None) -> SearchStrategy[str]:
    """Draw a status: ``available``, ``pending`` or ``sold`` (§2).

    Args:
        schemas: as for :func:`names`.
    """
    return _field(_rules(schemas), "NewPet", "status")


def _documents(rules: Schemas, schema: str, given: Mapping[str, object]) -> SearchStrategy[dict[str, Any]]:
    fields = {
        name: _field(rules, schema, name)
        if given.get(name) is None
        else _generation.require_strategy(given[name], _ARGUMENTS[name])
        for name in rules.properties(schema)
    }
    required = rules.resolved[schema].get("required", [])
    return st.fixed_dictionaries(
        {name: strategy for name, strategy in fields.items() if name in required},
        optional={name: strategy for name, strategy in fields.items() if name not in required},
    )


_ARGUMENTS: Final = {"name": "names", "categoryId": "category_ids", "status": "statuses", "id": "ids"}


@_when_drawn
def new_pets(
    *,
    names: SearchStrategy[str] | None = None,
    category_ids: SearchStrategy[int] | None = None,
    statuses: SearchStrategy[str] | None = None,
    schemas: str | PathLike[str] | None = None,
) -> SearchStrategy[dict[str, Any]]:
    """Draw bodies of createPet that the service accepts (§4.2); ``status`` is there or not.

    Args:
        names: draws ``name``.
        category_ids: draws ``categoryId``.
        statuses: draws ``status``.
        schemas: as for :func:`names`.
    """
    return _documents(_rules(schemas), "NewPet", {"name": names, "categoryId": category_ids, "status": statuses})


@_when_drawn
def pets(
    *,
    ids: SearchStrategy[int] | None = None,
    names: SearchStrategy[str] | None = None,
    category_ids: SearchStrategy[int] | None = None,
    statuses: SearchStrategy[str] | None = None,
    schemas: str | PathLike[str] | None = None,
) -> SearchStrategy[dict[str, Any]]:
    """Draw animals as the service returns them, ready for ``petstore.seed()`` (§2).

    Args:
        ids: draws ``id``.
        names: draws ``name``.
        category_ids: draws ``categoryId``.
        statuses: draws ``status``.
        schemas: as for :func:`names`.
    """
    given = {"id": ids, "name": names, "categoryId": category_ids, "status": statuses}
    return _documents(_rules(schemas), "Pet", given)


class InvalidNewPet(NamedTuple):
    """A body that createPet refuses, and the one rule that it breaks.

    Attributes:
        body: a JSON value.
        rule: the keyword of the schema, as in ``Violation.rule``.
    """

    body: Any
    rule: str


@_when_drawn
def invalid_new_pets(*, schemas: str | PathLike[str] | None = None) -> SearchStrategy[InvalidNewPet]:
    """Draw JSON values that the strict service refuses as a body of createPet for exactly one rule (§7).

    Args:
        schemas: as for :func:`names`.
    """
    rules = _rules(schemas)
    return st.one_of([_judged(rules, body, rule) for rule, body in _broken_bodies(rules)])


def _judged(rules: Schemas, bodies: SearchStrategy[Any], rule: str) -> SearchStrategy[InvalidNewPet]:
    def breaks_this_alone(body: object) -> bool:
        return [violation.rule for violation in rules.judge("NewPet", body, "body")] == [rule]

    return st.builds(InvalidNewPet, bodies.filter(breaks_this_alone), st.just(rule))


def _broken_bodies(rules: Schemas) -> list[tuple[str, SearchStrategy[Any]]]:
    """Return a strategy for each rule of NewPet that can be broken alone."""
    schema = rules.resolved["NewPet"]
    valid = _documents(rules, "NewPet", {})
    found: list[tuple[str, SearchStrategy[Any]]] = [
        ("required", valid.map(partial(_without, name))) for name in schema.get("required", [])
    ]
    for name, part in schema.get("properties", {}).items():
        for rule, values in _generation.breakers(part).items():
            if not _implied(part, rule):
                found.append((rule, st.builds(lambda body, value, name=name: {**body, name: value}, valid, values)))
    if schema.get("additionalProperties") is False:
        known = schema.get("properties", {})
        others = _unknown_names(known)
        extra = st.dictionaries(others, _generation.json_values(), min_size=1, max_size=1)
        found.append(("additionalProperties", st.builds(lambda body, more: {**body, **more}, valid, extra)))
    found.append(("type", _generation.json_values().filter(lambda value: not isinstance(value, dict))))
    return found


def _without(name: str, body: dict[str, Any]) -> dict[str, Any]:
    return {other: value for other, value in body.items() if other != name}


def _implied(schema: Mapping[str, Any], rule: str) -> bool:
    """Whether what breaks ``rule`` breaks another one of the same value as well: no string is in no enumeration."""
    return rule == "type" and "enum" in schema


def _unknown_names(known: Collection[str]) -> SearchStrategy[str]:
    near = [variant for name in known for variant in (name.upper(), name[:-1], f"{name}s", _snake(name))]
    further = ["id", "offset", "page", "cursor", "tags", "__proto__", ""]
    drawn = st.sampled_from([*near, *further]) | st.text(st.characters(codec="utf-8"), max_size=10)
    return drawn.filter(lambda name: name not in known)


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


@_when_drawn
def list_queries(
    *,
    limits: SearchStrategy[int] | None = None,
    statuses: SearchStrategy[str] | None = None,
    schemas: str | PathLike[str] | None = None,
) -> SearchStrategy[dict[str, Any]]:
    """Draw query parameters of listPets that the service accepts, as a dict for ``params=`` (§4.1); empty ones too.

    Args:
        limits: draws ``limit``.
        statuses: draws ``status``.
        schemas: as for :func:`names`.
    """
    rules = _rules(schemas)
    fields = {
        name: _field(rules, "listPets.parameters", name)
        if strategy is None
        else _generation.require_strategy(strategy, argument)
        for name, argument, strategy in (("limit", "limits", limits), ("status", "statuses", statuses))
    }
    return st.fixed_dictionaries({}, optional=fields)


class InvalidListQuery(NamedTuple):
    """A query of listPets that the strict service refuses, and the one rule that it breaks.

    Attributes:
        query: parameter names with their texts; a list of texts is a repeated parameter.
        rule: as in ``Violation.rule``.
    """

    query: dict[str, str | list[str]]
    rule: str


@_when_drawn
def invalid_list_queries(*, schemas: str | PathLike[str] | None = None) -> SearchStrategy[InvalidListQuery]:
    """Draw queries that listPets refuses under the default behaviour, for exactly one rule (§7 leaves it open).

    They go out by ``urlencode(query, doseq=True)``, or the like of ``params=``.

    Args:
        schemas: as for :func:`names`.
    """
    rules = _rules(schemas)
    valid = list_queries(schemas=schemas).map(lambda query: {name: str(value) for name, value in query.items()})
    drawn: list[SearchStrategy[InvalidListQuery]] = []
    properties = rules.properties("listPets.parameters")
    for name, part in properties.items():
        for rule, values in _generation.breakers(part).items():
            texts = _texts_that_break(part, rule, values)
            if texts is not None and not _implied(part, rule):
                drawn.append(_broken_query(valid, st.just(name), texts, rule))
        twice = _field(rules, "listPets.parameters", name).map(lambda value: [str(value), str(value)])
        drawn.append(_broken_query(valid, st.just(name), twice, "unique"))
    others = _unknown_names(properties).filter(bool)
    drawn.append(_broken_query(valid, others, st.text(max_size=5, alphabet="ab01 é"), "additionalProperties"))
    return st.one_of(drawn)


def _texts_that_break(schema: Mapping[str, Any], rule: str, values: SearchStrategy[Any]) -> SearchStrategy[Any] | None:
    """Return how the values that break ``rule`` are written in a query, or None when no text can break it."""
    if rule != "type":
        return values.map(str)
    if schema.get("type") != "integer":
        return None  # any text is a string
    awkward = ["", " 5", "5 ", "+5", "1_0", "1.0", "1e1", "0x5", "05", "\u0665", "NaN", "null", "five", "-0"]
    drawn = st.sampled_from(awkward) | st.text(st.characters(codec="utf-8"), max_size=5)
    return drawn.filter(lambda text: not INTEGER_TEXT.fullmatch(text) or text == "-0")


def _broken_query(
    valid: SearchStrategy[dict[str, Any]], name: SearchStrategy[str], value: SearchStrategy[Any], rule: str
) -> SearchStrategy[InvalidListQuery]:
    return st.builds(lambda query, name, value: InvalidListQuery({**query, name: value}, rule), valid, name, value)


# Behaviours and faults

# As for exploration: events want handling of their own, and these two refuse what a test means to send.
_VARIED: Final = tuple(
    name for name, gap in GAPS.items() if gap.step != "event" and name not in {"name_rule", "category_rule"}
)


@_when_drawn
def behaviours(*, vary: Collection[str] | None = None) -> SearchStrategy[Behaviour]:
    """Draw behaviours that differ from the default in some gaps; they shrink to the default.

    Args:
        vary: the gaps that may differ. Without it, every one but the events (``rate_limit``, ``key_rotation``,
            ``visibility``) and those that refuse valid animals (``name_rule``, ``category_rule``).
    """
    if isinstance(vary, str):
        raise PetstoreMockError(f"expected the names of gaps; got vary={vary!r} (str): pass [{vary!r}]")
    chosen = list(_VARIED if vary is None else dict.fromkeys(vary))
    for name in chosen:
        check_gap(name, GAPS[name].default if name in GAPS else None)
    if not chosen:
        return st.just(Behaviour())
    return _behaviours(tuple(chosen))


@cache
def _behaviours(chosen: tuple[str, ...]) -> SearchStrategy[Behaviour]:
    # One draw for both, since a machine draws a behaviour for each of its examples; and by number, since unique lists
    # of sampled_from draw from what is left, where taking one out changes what the others are.
    others = [(name, other) for name in chosen for other in list(GAPS[name].alternatives)[1:]]
    numbers = st.integers(0, len(others) - 1)
    changes = st.lists(numbers, unique_by=lambda number: others[number][0], max_size=len(chosen))
    return changes.map(lambda drawn: Behaviour(**dict(others[number] for number in drawn)))  # type: ignore[arg-type]  # from the register


@_when_drawn
def faults(*, allow_wire: bool = True, allow_waits: bool = True) -> SearchStrategy[Fault]:
    """Draw faults, for ``petstore.inject()``.

    Args:
        allow_wire: also those of the connection, which need a socket.
        allow_waits: also those that take real time: a delay, a hang, a dribble, a positive ``Retry-After``.
    """
    html = "<html><body>Bad gateway</body></html>"
    drawn: list[SearchStrategy[Fault]] = [
        st.sampled_from([500, 502, 503, 504]).map(fault_kinds.server_error),
        st.just(fault_kinds.unauthorized()),
        st.just(fault_kinds.rate_limited(0)),
        st.just(fault_kinds.respond(403)),
        st.sampled_from([html, ""]).map(lambda body: fault_kinds.respond(502, body=body)),
        st.just(fault_kinds.malformed_json()),
        st.just(fault_kinds.wrong_content_type()),
    ]
    if allow_wire:
        drawn += [
            st.just(fault_kinds.reset()),
            st.just(fault_kinds.empty_reply()),
            st.sampled_from([0.5, 0.0, 0.9]).map(fault_kinds.truncate),
            st.just(fault_kinds.malformed_chunk()),
        ]
    if allow_waits:
        drawn += [
            st.just(fault_kinds.rate_limited(1)),
            st.sampled_from([0.01, 0.1]).map(fault_kinds.delay),
        ]
        if allow_wire:
            drawn += [st.just(fault_kinds.dribble(10_000)), st.just(fault_kinds.hang())]
    return st.one_of(drawn)


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """A fault and when it meets a request: the arguments of ``petstore.inject()``.

    Attributes:
        fault: the fault.
        on: the operation that it meets.
        times: how often it fires.
        after: how many matching requests pass first.
        at: before or after the commit.
    """

    fault: Fault
    on: str | None = field(default=None, kw_only=True)
    times: int = field(default=1, kw_only=True)
    after: int = field(default=0, kw_only=True)
    at: Moment = field(default="before_commit", kw_only=True)

    def inject(self, petstore: PetStoreMock) -> FaultHandle:
        """Plan it in the current world of ``petstore``."""
        return petstore.inject(self.fault, on=self.on, times=self.times, after=self.after, at=self.at)


@_when_drawn
def fault_plans(
    *, faults: SearchStrategy[Fault] | None = None, max_size: int = 5
) -> SearchStrategy[tuple[PlannedFault, ...]]:
    """Draw plans of faults, each to be planned by ``fault.inject(petstore)``; they shrink to none.

    Args:
        faults: draws the faults; the default is :func:`faults` without those that take real time.
        max_size: the longest plan.
    """
    kinds = _default_faults() if faults is None else _generation.require_strategy(faults, "faults")
    return st.lists(_planned(kinds), max_size=max_size).map(tuple)


def _default_faults() -> SearchStrategy[Fault]:
    return faults(allow_waits=False)


@st.composite
def _planned(draw: DrawFn, kinds: SearchStrategy[Fault]) -> PlannedFault:
    fault = draw(kinds)
    on = draw(st.sampled_from(["listPets", "createPet", "getPet"]))
    at: Moment = draw(st.sampled_from(["before_commit", "after_commit"])) if on == "createPet" else "before_commit"
    times = draw(st.integers(1, 3))
    planned = PlannedFault(fault, on=on, times=times, after=draw(st.integers(0, 3)), at=at)
    try:
        FaultPlan().add(
            fault, on=on, times=times, after=planned.after, when=None, at=at, probability=1.0, off_contract=False
        )
    except PetstoreMockError:  # such as 404 on listPets, which the interface does not declare (§7)
        return PlannedFault(fault_kinds.server_error(), on=on, times=times, after=planned.after, at=at)
    return planned
