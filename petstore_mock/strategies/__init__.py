"""Hypothesis strategies for clients of the pet store service (the ``hypothesis`` extra).

They read the table of the interface and ``schemas/*.json``, so the drawn values always keep the current bounds. A
strategy reports an unknown gap when Hypothesis draws the first value.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if find_spec("hypothesis") is None:
    raise ModuleNotFoundError(
        "petstore_mock.strategies and check_client() need Hypothesis, which is an extra: "
        'pip install "petstore-mock[hypothesis]"',
        name="hypothesis",
    )

# isort: split
from petstore_mock.checks.scenario import PlannedFault, Scenario
from petstore_mock.common.suggesting import of_module
from petstore_mock.strategies.animals import (
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
from petstore_mock.strategies.plans import behaviours, fault_plans, faults
from petstore_mock.strategies.scenarios import scenarios

__all__ = ["InvalidListQuery", "InvalidNewPet", "PlannedFault", "Scenario", "behaviours", "category_ids", "fault_plans"]
__all__ += ["faults", "invalid_list_queries", "invalid_new_pets", "list_queries", "names", "new_pets", "pet_statuses"]
__all__ += ["pets", "scenarios"]
__dir__ = __all__.copy  # editors and consoles complete these names

if not TYPE_CHECKING:  # a type checker would believe that every name exists
    __getattr__ = of_module(__name__, __all__)
