"""Names, categories, animals and queries, right and wrong, by the schemas."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hypothesis import strategies as st

from petstore_mock.contract.gap_policies import INTEGER_TEXT
from petstore_mock.contract.schemas import default_schemas
from petstore_mock.contract.violations import member_path
from petstore_mock.strategies import from_schema

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.contract.schemas import Schemas

__all__ = [
    "InvalidListQuery",
    "InvalidNewPet",
    "category_ids",
    "invalid_list_queries",
    "invalid_new_pets",
    "list_queries",
    "names",
    "new_pets",
    "pet_statuses",
    "pets",
]


def _field(rules: Schemas, schema: str, name: str) -> SearchStrategy[Any]:
    """Draw values of one property that its schema allows."""
    properties = rules.properties(schema)
    path = member_path("value", name)

    def accepts(value: object) -> bool:
        found = rules.validate(schema, {name: value}, "value")  # of an object that has no other field
        return not any(f"{violation.path}.".startswith(f"{path}.") for violation in found)

    return from_schema.values(properties[name], accepts)


@from_schema.when_drawn
def names() -> SearchStrategy[str]:
    """Draw names of animals: any text that the schema allows, the awkward kinds of it often (§2)."""
    return _field(default_schemas(), "NewPet", "name")


@from_schema.when_drawn
def category_ids() -> SearchStrategy[int]:
    """Draw identifiers of categories: int64, its bounds and both sides of 2**53 often (§2)."""
    return _field(default_schemas(), "NewPet", "categoryId")


@from_schema.when_drawn
def pet_statuses() -> SearchStrategy[str]:
    """Draw a status: ``available``, ``pending`` or ``sold`` (§2)."""
    return _field(default_schemas(), "NewPet", "status")


def _fields(rules: Schemas, schema: str, given: Mapping[str, object]) -> dict[str, SearchStrategy[Any]]:
    """Return what draws each property that ``given`` names: its own strategy, or without one what the schema allows."""
    return {
        name: _field(rules, schema, name)
        if strategy is None
        else from_schema.require_strategy(strategy, _ARGUMENTS[name])
        for name, strategy in given.items()
    }


def _documents(rules: Schemas, schema: str, given: Mapping[str, object]) -> SearchStrategy[dict[str, Any]]:
    fields = _fields(rules, schema, {name: given.get(name) for name in rules.properties(schema)})
    required = rules.resolved[schema].get("required", [])
    return st.fixed_dictionaries(
        {name: strategy for name, strategy in fields.items() if name in required},
        optional={name: strategy for name, strategy in fields.items() if name not in required},
    )


_ARGUMENTS: Final = {
    "name": "names",
    "categoryId": "category_ids",
    "status": "statuses",
    "id": "ids",
    "limit": "limits",
}


@from_schema.when_drawn
def new_pets(
    *,
    names: SearchStrategy[str] | None = None,
    category_ids: SearchStrategy[int] | None = None,
    statuses: SearchStrategy[str] | None = None,
) -> SearchStrategy[dict[str, Any]]:
    """Draw bodies of createPet that the service accepts (§4.2); ``status`` is there or not.

    Args:
        names: draws ``name``.
        category_ids: draws ``categoryId``.
        statuses: draws ``status``.
    """
    return _documents(default_schemas(), "NewPet", {"name": names, "categoryId": category_ids, "status": statuses})


@from_schema.when_drawn
def pets(
    *,
    ids: SearchStrategy[int] | None = None,
    names: SearchStrategy[str] | None = None,
    category_ids: SearchStrategy[int] | None = None,
    statuses: SearchStrategy[str] | None = None,
) -> SearchStrategy[dict[str, Any]]:
    """Draw animals as the service returns them, ready for ``petstore.seed()`` (§2).

    Args:
        ids: draws ``id``.
        names: draws ``name``.
        category_ids: draws ``categoryId``.
        statuses: draws ``status``.
    """
    given = {"id": ids, "name": names, "categoryId": category_ids, "status": statuses}
    return _documents(default_schemas(), "Pet", given)


class InvalidNewPet(NamedTuple):
    """A body that createPet refuses, and the one rule that it breaks.

    Attributes:
        body: a JSON value.
        rule: the keyword of the schema, as in ``Violation.rule``.
    """

    body: Any
    rule: str

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:  # noqa: ANN401, FBT001  # as Hypothesis prints
        printer.text(repr(self))


@from_schema.when_drawn
def invalid_new_pets() -> SearchStrategy[InvalidNewPet]:
    """Draw JSON values that the strict service refuses as a body of createPet for exactly one rule (§7)."""
    rules = default_schemas()
    return st.one_of([_validated(rules, body, rule) for rule, body in _broken_bodies(rules)])


def _validated(rules: Schemas, bodies: SearchStrategy[Any], rule: str) -> SearchStrategy[InvalidNewPet]:
    def breaks_this_alone(body: object) -> bool:
        return [violation.rule for violation in rules.validate("NewPet", body, "body")] == [rule]

    return st.builds(InvalidNewPet, bodies.filter(breaks_this_alone), st.just(rule))


def _broken_bodies(rules: Schemas) -> list[tuple[str, SearchStrategy[Any]]]:
    """Return a strategy for each rule of NewPet that can be broken alone."""
    schema = rules.resolved["NewPet"]
    valid = _documents(rules, "NewPet", {})
    found: list[tuple[str, SearchStrategy[Any]]] = [
        ("required", valid.map(partial(_without, name))) for name in schema.get("required", [])
    ]
    for name, part in schema.get("properties", {}).items():
        for rule, values in from_schema.breakers(part).items():
            found.append((rule, st.builds(lambda body, value, name=name: {**body, name: value}, valid, values)))
    if schema.get("additionalProperties") is False:
        known = schema.get("properties", {})
        others = _unknown_names(known)
        extra = st.dictionaries(others, from_schema.json_values(), min_size=1, max_size=1)
        found.append(("additionalProperties", st.builds(lambda body, more: {**body, **more}, valid, extra)))
    found.append(("type", from_schema.json_values().filter(lambda value: not isinstance(value, dict))))
    return found


def _without(name: str, body: dict[str, Any]) -> dict[str, Any]:
    return {other: value for other, value in body.items() if other != name}


def _unknown_names(known: Collection[str]) -> SearchStrategy[str]:
    near = [variant for name in known for variant in (name.upper(), name[:-1], f"{name}s", _snake(name))]
    further = ["id", "offset", "page", "cursor", "tags", "__proto__", ""]
    drawn = st.sampled_from([*near, *further]) | st.text(st.characters(codec="utf-8"), max_size=10)
    return drawn.filter(lambda name: name not in known)


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


@from_schema.when_drawn
def list_queries(
    *,
    limits: SearchStrategy[int] | None = None,
    statuses: SearchStrategy[str] | None = None,
) -> SearchStrategy[dict[str, Any]]:
    """Draw query parameters of listPets that the service accepts, as a dict for ``params=`` (§4.1); empty ones too.

    Args:
        limits: draws ``limit``.
        statuses: draws ``status``.
    """
    fields = _fields(default_schemas(), "listPets.parameters", {"limit": limits, "status": statuses})
    return st.fixed_dictionaries({}, optional=fields)


class InvalidListQuery(NamedTuple):
    """A query of listPets that the strict service refuses, and the one rule that it breaks.

    Attributes:
        query: parameter names with their texts; a list of texts is a repeated parameter.
        rule: as in ``Violation.rule``.
    """

    query: dict[str, str | list[str]]
    rule: str

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:  # noqa: ANN401, FBT001  # as Hypothesis prints
        printer.text(repr(self))


@from_schema.when_drawn
def invalid_list_queries() -> SearchStrategy[InvalidListQuery]:
    """Draw queries that listPets refuses under the default behaviour, for exactly one rule (§7 leaves it open).

    They go out by ``urlencode(query, doseq=True)``, or the like of ``params=``.
    """
    rules = default_schemas()
    valid = list_queries().map(lambda query: {name: str(value) for name, value in query.items()})
    drawn: list[SearchStrategy[InvalidListQuery]] = []
    properties = rules.properties("listPets.parameters")
    for name, part in properties.items():
        for rule, values in from_schema.breakers(part).items():
            texts = _texts_that_break(part, rule, values)
            if texts is not None:
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
