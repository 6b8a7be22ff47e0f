"""Errors with data for the control door, such as the status of its response. The default status is 422."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.interface.violations import Violation


class NotFoundError(PetStoreMockError):
    status = 404  # there is no such world, animal, fault, key or snapshot


class ConflictError(PetStoreMockError):
    status = 409  # the request contradicts the state of the world


class ExistsError(PetStoreMockError):
    status = 412  # the request may only make a new world


class FullError(PetStoreMockError):
    status = 507  # the maximum number of worlds exists


class InvalidError(PetStoreMockError):
    def __init__(self, message: str, violations: Sequence[Violation] = ()) -> None:
        super().__init__(message)
        self.violations = tuple(violations)  # the rules that a value breaks
