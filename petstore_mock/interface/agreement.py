"""Checks that the table, the schemas and the gaps have the same names. The core runs them at its import.

A misspelt name in a row is reported with a sentence before the first request, not as a wrong response later.
``tests/unit/interface/test_every_row.py`` checks what else rows need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import by_name
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.policies import Policies
from petstore_mock.interface.schemas import parameters, properties
from petstore_mock.interface.table import ANIMAL, FIELDS, MEMBERS, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable


def require_agreement() -> None:
    """Refuse rows that contradict each other.

    Raises:
        PetStoreMockError: the message names the row, what it needs, and what it has.
    """
    _require_same(properties(ANIMAL), FIELDS, f"the fields of the table, and the properties of {ANIMAL}.json")
    named = {field.null for field in MEMBERS.values()}
    for operation in OPERATIONS.values():
        schema = f"schemas/{operation.parameters_schema}.json"
        what = f"the parameters of {operation.name}, and {schema}"
        _require_same(by_name(operation.parameters), parameters(operation), what)
        named |= {parameter.gap for parameter in operation.parameters}
        if operation.does.replaces and operation.body is None:
            refuse(f"expected a body in the row of {operation.name}, since a replacement needs one; got none")
    for name, field in MEMBERS.items():
        if not field.is_assigned and not field.samples:
            refuse(f"expected samples in the row of {name}, since generated animals need values; got none")
    about_rows = _deciding("parameter", "null")
    _require_same(about_rows, named - {""}, "the gaps about parameters and null, and the rows that name their gap")
    _require_same(_deciding(""), Policies.__annotations__, "the gaps that no row uses, and the members of Policies")


def _deciding(*about: str) -> list[str]:
    return [gap.name for gap in GAPS.values() if gap.decides in about]


def _require_same(left: Iterable[str], right: Iterable[str], what: str) -> None:
    differing = sorted({*left} ^ {*right})
    if differing:
        refuse(f"expected the same names in {what}; got {', '.join(differing)} in one of them")
