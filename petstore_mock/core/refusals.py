"""Refusals of a verb that carry data, such as the status at the control door; it is 422 where nothing says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.interface.violations import Violation


class NotFoundError(PetStoreMockError):
    """There is no such world, animal, fault, key or snapshot."""

    status = 404


class ConflictError(PetStoreMockError):
    """The request contradicts the state of the world."""

    status = 409


class FullError(PetStoreMockError):
    """There are as many worlds as there may be."""

    status = 507


class InvalidError(PetStoreMockError):
    """A value breaks rules.

    Attributes:
        violations: the broken rules.
        omitted: how many more there are.
    """

    def __init__(self, message: str, violations: Sequence[Violation] = (), omitted: int = 0) -> None:
        super().__init__(message)
        self.violations = tuple(violations)
        self.omitted = omitted
