"""Errors with data for the response of the control door. The status of other errors is 422."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.interface.violations import Violation


class ProblemError(PetStoreMockError):
    """A refusal with its status, the violations, and the header fields that HTTP requires for the status."""

    def __init__(self, status: int, detail: str, violations: Sequence[Violation] = (), **fields: str) -> None:
        super().__init__(detail)
        self.status = status
        self.violations = violations
        self.fields = {name.replace("_", "-"): value for name, value in fields.items()}


class NotFoundError(ProblemError):
    """There is no such world, animal, fault, key, request or snapshot."""

    def __init__(self, detail: str) -> None:
        super().__init__(404, detail)
