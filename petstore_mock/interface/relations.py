"""The relations of parameters: what a parameter says about the animals of a response.

A parameter of the table names its relation. Routing, the store, paging links, the checks of clients and ``verify`` ask
the relation, so a filter that is no equality needs a row here and nothing else.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from petstore_mock.common.values import by_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.common.values import Json

RelationName = Literal["identifies", "limits", "sets", "equals", "contains", "after", "before"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What a parameter says about animals.

    Attributes:
        name: the name that rows of parameters use.
        filters: whether it selects the animals of a list by a field.
        sets: whether a field of the animal has its value after a success.
        holds: whether the value of the field fits the value of the parameter. For an array, it takes one item.
        is_ordered: whether it compares values by their order, so that the field needs a kind with an order.
        words: the selected animals, after "only animals": ``{parameter}`` and ``{field}`` stand for the names.
    """

    name: RelationName
    filters: bool = False
    sets: bool = False
    holds: Callable[[Json, Json], bool] = operator.eq
    is_ordered: bool = False
    words: str = ""


_ROWS: Final = (
    Relation(name="identifies"),
    Relation(name="limits"),
    Relation(name="sets", sets=True),
    Relation(name="equals", filters=True, words="with this {parameter}"),
    Relation(name="contains", filters=True, words="with this {parameter}"),
    # The bound itself is left out: the order is strict.
    Relation(
        name="after", filters=True, holds=operator.gt, is_ordered=True, words="whose {field} is after this {parameter}"
    ),
    Relation(
        name="before",
        filters=True,
        holds=operator.lt,
        is_ordered=True,
        words="whose {field} is before this {parameter}",
    ),
)
RELATIONS: Final = by_name(_ROWS)
