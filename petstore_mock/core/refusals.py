"""Refusals of a verb that carry data, such as the status at the control door; it is 422 where nothing says it."""

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
    status = 412  # the request is for a new world alone


class FullError(PetStoreMockError):
    status = 507  # there are as many worlds as there may be


class InvalidError(PetStoreMockError):
    def __init__(self, message: str, violations: Sequence[Violation] = ()) -> None:
        super().__init__(message)
        self.violations = tuple(violations)  # the rules that a value breaks
