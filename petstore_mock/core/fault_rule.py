"""A rule of the fault plan: a fault, and the requests or connections that it is to meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from petstore_mock.common.numbers import is_integer, is_number
from petstore_mock.contract.interface import OPERATIONS, require_operation
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults.kinds import Answer, FaultSequence

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.contract.interface import OperationName
    from petstore_mock.faults import Fault
    from petstore_mock.messages.request import ApiRequest

__all__ = ["CommitPoint", "FaultRule", "operations_of"]

CommitPoint = Literal["before_commit", "after_commit"]

_DECLARED: Final = frozenset(status for operation in OPERATIONS.values() for status in operation.statuses)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """What :meth:`petstore_mock.PetStoreMock.inject` is told, held against what can be right.

    Raises:
        PetStoreMockError: an argument can't be right, or the interface does not declare the status there.
    """

    fault: Fault
    on: str | None = None
    times: int | None = None
    after: int = 0
    when: Callable[[ApiRequest], object] | None = None
    where: Mapping[str, Any] | None = None
    at: CommitPoint = "before_commit"
    probability: float = 1.0
    off_contract: bool = False

    def __post_init__(self) -> None:
        _check_numbers(self.fault, times=self.times, after=self.after, probability=self.probability)
        if self.when is not None and not callable(self.when):
            raise PetStoreMockError(f"expected when to be a function of an ApiRequest; got when={self.when!r}")
        if self.at not in get_args(CommitPoint):
            raise PetStoreMockError(f"expected at to be 'before_commit' or 'after_commit'; got at={self.at!r}")
        if self.on is not None:
            require_operation(self.on)
        if self.at == "after_commit" and self.on in {"listPets", "getPet"}:
            raise PetStoreMockError(f"expected on='createPet' with at='after_commit'; {self.on} commits nothing")
        if self.fault.meets_handshakes:
            self._check_unasked()
        if self.where is not None:
            _check_criteria(self.where)
        if not self.off_contract:
            for part in self.fault.parts:
                if isinstance(part, Answer):
                    _check_declared(part, "createPet" if self.at == "after_commit" else self.on)  # nothing else commits

    def _check_unasked(self) -> None:
        """Refuse what only a request could be asked."""
        given = [name for name in ("on", "when", "where") if getattr(self, name) is not None]
        if self.at != "before_commit":
            given.append("at")
        if given:
            raise PetStoreMockError(
                f"expected no {'=, '.join(given)}= with {self.fault}: it meets connections, before any request is "
                "known; times=, after= and probability= count connections"
            )


def _check_numbers(fault: Fault, *, times: Any, after: Any, probability: Any) -> None:  # noqa: ANN401
    if times is not None and not (is_integer(times) and times >= 1):
        raise PetStoreMockError(f"expected times to be a whole number of at least 1, or None; got times={times!r}")
    if isinstance(fault, FaultSequence) and times is not None:
        raise PetStoreMockError("expected no times= with a sequence: it is used once, a fault for each request")
    if not (is_integer(after) and after >= 0):
        raise PetStoreMockError(f"expected after to be a whole number of at least 0; got after={after!r}")
    if not is_number(probability) or not 0 < probability <= 1:
        raise PetStoreMockError(f"expected probability above 0 and at most 1; got probability={probability!r}")


def _check_criteria(where: Any) -> None:  # noqa: ANN401  # checks whatever a test passes
    if not isinstance(where, Mapping) or not all(isinstance(name, str) for name in where):
        raise PetStoreMockError(
            "expected where to be a mapping of criteria, such as {'name': 'Rex'}; "
            f"got where={where!r} ({type(where).__name__})"
        )


def operations_of(fault: Fault) -> list[OperationName]:
    """Return the operations that a fault may meet without leaving the interface (§7).

    A status that is declared for some operations is for these alone; one that is declared nowhere (403, 429, 5xx) is
    the infrastructure's, and always possible.
    """
    statuses = {part.status for part in fault.parts if isinstance(part, Answer)} & _DECLARED
    return [operation.name for operation in OPERATIONS.values() if statuses <= set(operation.statuses)]


def _check_declared(fault: Answer, on: str | None) -> None:
    """Refuse a status that the interface declares for another operation only (§7)."""
    declared = operations_of(fault)
    asked = [on] if on is not None else list(OPERATIONS)
    if not set(asked) <= set(declared):
        raise PetStoreMockError(
            f"the interface declares {fault.status} for {', '.join(declared)} only (§7), not for "
            f"{on or 'every operation'}: pass on={declared[0]!r}, or off_contract=True if you mean it"
        )
