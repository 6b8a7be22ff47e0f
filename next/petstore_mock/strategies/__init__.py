"""Hypothesis strategies for clients of the pet store service (the ``hypothesis`` extra)."""

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
from petstore_mock.strategies.scenario import PlannedFault, Scenario
from petstore_mock.strategies.scenarios import scenarios

__all__ = ["PlannedFault", "Scenario", "scenarios"]
