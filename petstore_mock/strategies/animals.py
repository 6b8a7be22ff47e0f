"""Strategies for animals and queries, valid and invalid, from the table and the schemas."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from urllib.parse import urlencode

from hypothesis import strategies as st

from petstore_mock.core.routing import rules_for
from petstore_mock.interface import schemas
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.table import ANIMAL, BASE_PATH, FIELDS, LABEL, operations
from petstore_mock.strategies.values import CHARACTERS, json_values, objects, values, wrong_values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.violations import Violation
    from petstore_mock.strategies.values import Strategies

    Documents = SearchStrategy[JsonObject]

T = TypeVar("T")

# The strategies with the names of the interface's first list and its first create.
_LISTS: Final = operations("lists")[0]
_CREATES: Final = operations("creates")[0]
_BODY: Final = str(_CREATES.body)
_NO_INTEGERS: Final = ("", " 5", "5 ", "+5", "1_0", "1.0", "1e1", "0x5", "05", "\u0665", "NaN", "null", "five", "-0")


def names() -> SearchStrategy[str]:
    """Draw the name of an animal (§2): any text that the schema allows, often an awkward one."""
    return values(schemas.properties(ANIMAL)[LABEL])


def category_ids() -> SearchStrategy[int]:
    """Draw the identifier of a category (§2): int64, often its bounds and the neighbours of 2**53."""
    name = next(field.name for field in FIELDS.values() if field.refers)
    return values(schemas.properties(ANIMAL)[name])


def pet_statuses() -> SearchStrategy[str]:
    """Draw a status: ``available``, ``pending`` or ``sold`` (§2)."""
    return values(next(rules for rules in schemas.properties(ANIMAL).values() if "enum" in rules))


def new_pets() -> SearchStrategy[JsonObject]:
    """Draw request bodies that createPet accepts (§4.2), with and without each optional field."""
    return objects(schemas.schema(_BODY))


def pets() -> SearchStrategy[JsonObject]:
    """Draw animals as the service returns them, ready for ``petstore.seed()`` (§2)."""
    return objects(schemas.schema(ANIMAL))


def list_queries() -> SearchStrategy[JsonObject]:
    """Draw query parameters of listPets that the service accepts, as a dict for ``params=`` (§4.1)."""
    return objects(schemas.schema(_LISTS.parameters_schema))


class InvalidNewPet(NamedTuple):
    """A body that createPet rejects.

    Attributes:
        body: a JSON value.
        rule: the keyword of the schema that the body breaks, as in ``Violation.rule``.
    """

    body: Json
    rule: str


def invalid_new_pets() -> SearchStrategy[InvalidNewPet]:
    """Draw invalid values for the body of createPet (§7): each breaks exactly one rule."""
    schema = schemas.schema(_BODY)
    properties = schemas.properties(_BODY)
    wrong: Strategies = {name: wrong_values(part) for name, part in properties.items()}
    lacking: list[Documents] = []
    for name in schema["required"]:
        others = {**properties}
        del others[name]
        lacking.append(objects({**schema, "properties": others}))
    bodies = st.one_of(lacking) | _with_one(objects(schema), wrong, json_values()) | json_values()
    return _breaking(InvalidNewPet, bodies, partial(schemas.violations, schema, location="body"))


class InvalidListQuery(NamedTuple):
    """A query of listPets that the service rejects under the default behaviour.

    Attributes:
        query: the texts of the parameters by name; a list of texts is a repeated parameter.
        rule: the rule that the query breaks, as in ``Violation.rule``.
    """

    query: dict[str, str | list[str]]
    rule: str


def invalid_list_queries() -> SearchStrategy[InvalidListQuery]:
    """Draw queries of listPets that break exactly one rule under the default behaviour.

    The interface does not show the errors for these queries (§7). Encode a query with ``urlencode(query, doseq=True)``,
    or pass it as ``params=``.
    """
    valid = list_queries().map(lambda query: {name: str(value) for name, value in query.items()})
    texts = st.sampled_from(_NO_INTEGERS) | st.text(CHARACTERS, max_size=5)
    wrong: Strategies = {}
    for name, part in schemas.parameters(_LISTS).items():
        twice = values(part).map(str).map(lambda text: [text, text])
        wrong[name] = twice | wrong_values(part).map(str) | texts
    rules = rules_for(Behaviour())

    def violations(query: JsonObject) -> Sequence[Violation]:
        target = f"{BASE_PATH}{_LISTS.path}?{urlencode(query, doseq=True)}"
        refusal = rules.route(_LISTS.method, target).refusal
        if refusal is None:
            return ()
        return refusal.violations

    return _breaking(InvalidListQuery, _with_one(valid, wrong, texts), violations)


def _breaking(
    kind: Callable[[Json, str], T], drawn: SearchStrategy[Json], violations: Callable[[Json], Sequence[Violation]]
) -> SearchStrategy[T]:
    """Draw values that break exactly one rule, with the rule."""
    broken = drawn.filter(lambda value: len(violations(value)) == 1)
    return broken.map(lambda value: kind(value, violations(value)[0].rule))


def _with_one(valid: Documents, wrong: Strategies, any_value: SearchStrategy[Json]) -> Documents:
    """Draw documents with one wrong or unknown member."""
    near: list[str] = []
    for name in wrong:
        near += [name.upper(), name[:-1], f"{name}s"]
    near += [field.python for field in FIELDS.values()]
    drawn = st.sampled_from([*near, "offset", "page", "__proto__"]) | st.text(CHARACTERS, min_size=1, max_size=10)
    others = drawn.filter(lambda name: name not in wrong)
    unknown = st.dictionaries(others, any_value, min_size=1, max_size=1)
    members = [st.fixed_dictionaries({name: member}) for name, member in wrong.items()]
    return st.builds(_joined, valid, st.one_of(*members, unknown))


def _joined(document: JsonObject, member: JsonObject) -> JsonObject:
    return {**document, **member}
