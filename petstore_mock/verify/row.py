"""A row of the verifier: a clause with the probes and the check that show it, and the mutants that break it.

How this works. The modules in ``rows`` have functions that yield rows for the operations, the fields and the parameters
of the table. A row needs no name of an operation or a field: it asks the table what the operation does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from petstore_mock.interface.bodies import short
from petstore_mock.interface.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from petstore_mock.http.mutant import Turn
    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.probes import Probe
    from petstore_mock.verify.seen import History, Seen

    Check = Callable[[Seen, History], Iterator["Result"]]
    Change = Callable[[Turn], object]

EVERY: Final = tuple(OPERATIONS.values())
LISTS: Final = tuple(operation for operation in EVERY if operation.shows_many)
SHOWS: Final = tuple(operation for operation in EVERY if operation.response is not None)
SHOWS_ONE: Final = tuple(operation for operation in EVERY if operation.shows_one)
CREATES: Final = tuple(operation for operation in EVERY if operation.does.adds)
# Operations that read, change or remove one stored animal.
READS: Final = tuple(operation for operation in SHOWS_ONE if operation.does.shows_stored)
READS_BY_ID: Final = tuple(operation for operation in READS if operation.identifier is not None)
# Lists that can show every animal: no parameter of the path selects some.
WHOLE_LISTS: Final = tuple(operation for operation in LISTS if not operation.parameters_in("path"))
CHANGES: Final = tuple(one for one in EVERY if one.does.keeps and not one.does.adds)
REMOVES: Final = tuple(operation for operation in EVERY if operation.does.ends)
BY_ID: Final = tuple(operation for operation in EVERY if operation.identifier is not None)
WITH_BODY: Final = tuple(operation for operation in EVERY if operation.body is not None)
COMMITS: Final = tuple(operation for operation in EVERY if operation.commits)

SUCCESSES: Final = tuple(sorted({operation.success for operation in EVERY} | {200, 201, 204}))
# Mutants that change requests have no statuses.
OF_REQUESTS: Final[tuple[int, ...]] = ()


class Result(NamedTuple):
    """What one exchange shows for a clause. Breaches with the same ``cause`` are reported once."""

    holds: bool
    expected: str = ""  # the expected response; never empty for a breach
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A service that breaks one clause."""

    name: str
    words: str  # the mistake of the service
    of: Sequence[Operation]  # the operations with the mistake
    apply: Change
    statuses: tuple[int, ...] = SUCCESSES  # the statuses of the responses to change; empty if it changes requests
    clause: str = ""  # the id of the clause that it breaks: that of its row

    @property
    def operations(self) -> tuple[str, ...]:
        return tuple(operation.name for operation in self.of)

    def change(self, turn: Turn) -> None:
        """Apply the mutant to the request, or to a response with one of its statuses."""
        if not self.statuses or turn.status in self.statuses:
            self.apply(turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A testable statement of the interface."""

    id: str  # stable; it starts with the section of the interface
    words: str
    # Each exchange of these operations can show the clause, and so can the probes of the row.
    operations: Sequence[Operation] = ()
    needs: str = ""  # the animals or responses that an exchange needs to show the clause
    probes: tuple[Probe, ...] = ()
    # If an operation stands here, the probes follow each of its successes, with the id of its animal as ``{made}``.
    after: Operation | None = None
    check: Check
    mutants: tuple[Mutant, ...] = ()

    @property
    def section(self) -> str:
        return self.id.partition("-")[0]

    def is_shown_by(self, probe: Probe) -> bool:
        return probe.operation in self.operations or probe.shows == self.id


# Names


def prefix(operation: Operation) -> str:
    """Return the operation in ids: its verb, or its whole name if an earlier row has the same verb."""
    first = next(other for other in EVERY if other.verb == operation.verb)
    return operation.verb if first is operation else short(operation.name)


def lead(operation: Operation, among: Sequence[Operation]) -> str:
    """Return the start of names that only later operations need: the names of the first one are short."""
    return "" if operation is among[0] else f"{prefix(operation)}-"


def each(
    operations: Sequence[Operation], end: str, does: str, apply: Change, statuses: tuple[int, ...] = SUCCESSES
) -> tuple[Mutant, ...]:
    """Return a mutant of each operation. The operation is the start of its name and of its words."""
    return tuple(Mutant(f"{prefix(one)}-{end}", f"{one.name} {does}", [one], apply, statuses) for one in operations)


def success_clause(operation: Operation) -> str:
    """Return the id of the clause for the success status of an operation."""
    return f"{operation.section}-{'created' if operation.does.adds else prefix(operation)}"


def meant(words: str, operation: Operation) -> str:
    """Mark a sentence as an inference. The section does not say it literally."""
    return f"{words} (by the meaning of §{operation.section})"


def sections(rows: Iterable[Clause]) -> list[Clause]:
    """Return rows in the order of the interface."""
    return sorted(rows, key=lambda row: [int(part) for part in row.section.split(".")])
