"""Hypothesis strategies for clients of the pet store service (the ``hypothesis`` extra).

Schemas and the strategies of single fields come in; strategies go out, of bodies, queries, behaviours and faults. They
follow ``schemas/*.json``: a bound that is changed there changes what is drawn. Every optional argument is
keyword-only, and one that stands for a field is a strategy; a wrong one is reported when a value is drawn.
"""

from __future__ import annotations

try:
    import hypothesis  # noqa: F401  # only whether it is there
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "petstore_mock.strategies and petstore_mock.stateful need Hypothesis, which is an extra: "
        'pip install "petstore-mock[hypothesis]"',
        name=error.name,
    ) from error

# isort: split
from petstore_mock.strategies.plans import PlannedFault, behaviours, fault_plans, faults
from petstore_mock.strategies.values import (
    InvalidListQuery,
    InvalidNewPet,
    category_ids,
    invalid_list_queries,
    invalid_new_pets,
    list_queries,
    names,
    new_pets,
    pet_statuses,
    pets,
)

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
