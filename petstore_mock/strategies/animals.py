"""Animals and queries, valid and invalid, by the table and the schemas."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

from hypothesis import strategies as st

from petstore_mock.core.routing import rules_for
from petstore_mock.interface import schemas
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.table import BASE_PATH, FIELDS, OPERATIONS
from petstore_mock.strategies.values import CHARACTERS, breakers, json_values, objects, values

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hypothesis.strategies import SearchStrategy

    Documents = SearchStrategy[dict[str, Any]]

_LISTS: Final = next(row for row in OPERATIONS.values() if row.effect == "lists")
_NO_INTEGERS: Final = ("", " 5", "5 ", "+5", "1_0", "1.0", "1e1", "0x5", "05", "\u0665", "NaN", "null", "five", "-0")


def names() -> SearchStrategy[str]:
    """Draw names of animals: any text that the schema allows, awkward ones often (§2)."""
    return values(schemas.properties("NewPet")["name"])


def category_ids() -> SearchStrategy[int]:
    """Draw identifiers of categories: int64, its bounds and both sides of 2**53 often (§2)."""
    return values(schemas.properties("NewPet")["categoryId"])


def pet_statuses() -> SearchStrategy[str]:
    """Draw a status: ``available``, ``pending`` or ``sold`` (§2)."""
    return values(schemas.schema("PetStatus"))


def new_pets() -> SearchStrategy[dict[str, Any]]:
    """Draw bodies of createPet that the service accepts (§4.2), with and without each optional field."""
    return objects(schemas.schema("NewPet"))


def pets() -> SearchStrategy[dict[str, Any]]:
    """Draw animals as the service returns them, ready for ``petstore.seed()`` (§2)."""
    return objects(schemas.schema("Pet"))


def list_queries() -> SearchStrategy[dict[str, Any]]:
    """Draw query parameters of listPets that the service accepts, as a dict for ``params=`` (§4.1)."""
    return objects(schemas.schema(_LISTS.parameters_schema))


class InvalidNewPet(NamedTuple):
    """A body that createPet refuses.

    Attributes:
        body: a JSON value.
        rule: the keyword of the schema that it breaks, as in ``Violation.rule``.
    """

    body: Any
    rule: str


def invalid_new_pets() -> SearchStrategy[InvalidNewPet]:
    """Draw JSON values that the strict service refuses as a body of createPet for exactly one rule (§7)."""
    schema = schemas.schema("NewPet")
    valid = objects(schema)
    drawn = [("required", valid.map(partial(_without, name))) for name in schema["required"]]
    drawn.append(("additionalProperties", _with(valid, _unknown_names(schema["properties"]), json_values())))
    drawn.append(("type", json_values()))
    for name, part in schema["properties"].items():
        drawn += [(rule, _with(valid, st.just(name), wrong)) for rule, wrong in breakers(part).items()]

    def breaks(rule: str, body: object) -> bool:
        return [one.rule for one in schemas.violations(schema, body, "body")] == [rule]

    return st.one_of(
        [st.builds(InvalidNewPet, bodies.filter(partial(breaks, rule)), st.just(rule)) for rule, bodies in drawn]
    )


class InvalidListQuery(NamedTuple):
    """A query of listPets that the strict service refuses.

    Attributes:
        query: parameter names with their texts; a list of texts is a repeated parameter.
        rule: the rule that it breaks, as in ``Violation.rule``.
    """

    query: dict[str, str | list[str]]
    rule: str


def invalid_list_queries() -> SearchStrategy[InvalidListQuery]:
    """Draw queries that listPets refuses under the default behaviour, for exactly one rule (§7 leaves it open).

    Encode them with ``urlencode(query, doseq=True)``, or pass them as ``params=``.
    """
    valid = list_queries().map(lambda query: {name: str(value) for name, value in query.items()})
    parts = schemas.parameters(_LISTS)
    drawn = [("additionalProperties", _with(valid, _unknown_names(parts).filter(bool), st.text("ab01 é", max_size=5)))]
    for name, part in parts.items():
        drawn.append(("unique", _with(valid, st.just(name), values(part).map(lambda value: [str(value)] * 2))))
        wrong = {rule: broken.map(str) for rule, broken in breakers(part).items() if rule != "type"}
        if part.get("type") == "integer":
            wrong["type"] = st.sampled_from(_NO_INTEGERS) | st.text(CHARACTERS, max_size=5)
        drawn += [(rule, _with(valid, st.just(name), texts)) for rule, texts in wrong.items()]
    rules = rules_for(Behaviour())

    def breaks(rule: str, query: dict[str, Any]) -> bool:
        refusal = rules.route(_LISTS.method, f"{BASE_PATH}{_LISTS.path}?{urlencode(query, doseq=True)}").invalid
        return refusal is not None and [one.rule for one in refusal.violations] == [rule]

    return st.one_of(
        [st.builds(InvalidListQuery, queries.filter(partial(breaks, rule)), st.just(rule)) for rule, queries in drawn]
    )


def _with(valid: Documents, names: SearchStrategy[str], members: SearchStrategy[Any]) -> Documents:
    return st.builds(lambda document, name, member: {**document, name: member}, valid, names, members)


def _without(name: str, document: dict[str, Any]) -> dict[str, Any]:
    return {other: value for other, value in document.items() if other != name}


def _unknown_names(known: Iterable[str]) -> SearchStrategy[str]:
    names = list(known)
    near = [variant for name in names for variant in (name.upper(), name[:-1], f"{name}s")]
    near += [field.python for field in FIELDS.values()]
    drawn = st.sampled_from([*near, "offset", "page", "__proto__", ""]) | st.text(CHARACTERS, max_size=10)
    return drawn.filter(lambda name: name not in names)
