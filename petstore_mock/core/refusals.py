"""Errors with data for the control door, such as the status of its response. The default status is 422."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.interface.violations import Violation


class ProblemError(PetStoreMockError):
    """A refusal with its status, the violations, and the header fields that belong to the status."""

    def __init__(self, detail: str, status: int = 422, violations: Sequence[Violation] = (), **fields: str) -> None:
        super().__init__(detail)
        self.status = status
        self.violations = violations
        self.fields = {name.replace("_", "-"): value for name, value in fields.items()}


class NotFoundError(PetStoreMockError):
    status = 404  # there is no such world, animal, fault, key or snapshot
