"""A row of the verifier: a clause with the probes and the check that show it, and the mutants that break it.

How this works. The modules in ``rows`` have functions that yield rows for the operations, the fields and the parameters
of the table. A row needs no name of an operation or a field: it asks the table what the operation does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from petstore_mock.interface.bodies import short
from petstore_mock.interface.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from petstore_mock.http.mutant import Turn
    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.probes import Probe
    from petstore_mock.verify.seen import History, Seen

    Probes = Iterator[Probe]
    Results = Iterator["Result"]
    Rows = Iterator["Clause"]
    Check = Callable[[Seen, History], Results]
    Change = Callable[[Turn], object]

EVERY: Final = tuple(OPERATIONS.values())


def _that(attribute: str, operations: Sequence[Operation] = EVERY) -> tuple[Operation, ...]:
    """Return the operations with a true value of an attribute."""
    return tuple(filter(attrgetter(attribute), operations))


LISTS: Final = _that("shows_many")
SHOWS: Final = _that("response")
SHOWS_ONE: Final = _that("shows_one")
CREATES: Final = _that("does.adds")
# Operations that only show stored animals.
SHOWING: Final = _that("does.shows_stored")
# Operations that read, change or remove one stored animal.
READS: Final = _that("does.shows_stored", SHOWS_ONE)
READS_BY_ID: Final = _that("identifier", READS)
# Lists that can show every animal: no parameter of the path selects some.
WHOLE_LISTS: Final = tuple(operation for operation in LISTS if not operation.parameters_in("path"))
CHANGES: Final = tuple(operation for operation in EVERY if operation.does.keeps and operation not in CREATES)
REMOVES: Final = _that("does.ends")
WITH_BODY: Final = _that("body")
CREATES_WITH_BODY: Final = _that("body", CREATES)

SUCCESSES: Final = tuple(sorted({operation.success for operation in EVERY} | {200, 201, 204}))
# Mutants that change requests have no statuses.
OF_REQUESTS: Final[tuple[int, ...]] = ()
# The first operations of their kind. Their mutants have short names.
_FIRST: Final = (*LISTS[:1], *CREATES[:1], *READS[:1])


class Result(NamedTuple):
    """What one exchange shows for a clause. Breaches with the same ``cause`` are reported once."""

    holds: bool
    expected: str = ""  # the expected response; never empty for a breach
    cause: str = ""
    shown_by: Seen | None = None  # another exchange, if it shows the breach


HELD: Final = Result(holds=True)


def breach(expected: str, cause: str = "") -> Result:
    """Return the result of an exchange that breaks a clause."""
    return Result(holds=False, expected=expected, cause=cause)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A service that breaks one clause."""

    name: str
    words: str  # the mistake of the service
    operations: tuple[str, ...]  # the names of the operations with the mistake
    change: Change
    statuses: tuple[int, ...]  # the statuses of the responses to change; empty if it changes requests
    clause: str  # the id of the clause that it breaks: that of its row


@dataclass(slots=True, kw_only=True)
class Clause:
    """A testable statement of the interface. Its row is complete when the package is imported."""

    id: str  # stable; it starts with the section of the interface
    words: str
    check: Check
    # Its values fill the names and words of mutants. These change its operations, unless they name others.
    about: About = field(repr=False)
    # Each exchange of these operations can show the clause, and so can the probes of the row.
    operations: Sequence[Operation] = ()
    needs: str = ""  # the animals or responses that an exchange needs to show the clause
    # If an operation stands here, the probes follow each of its successes, with the id of its animal as ``{made}``.
    after: Operation | None = None
    probes: list[Probe] = field(default_factory=list["Probe"])
    mutants: list[Mutant] = field(default_factory=list[Mutant])

    @property
    def section(self) -> str:
        return self.id.partition("-")[0]

    def is_shown_by(self, probe: Probe) -> bool:
        return probe.operation in self.operations or probe.shows == self.id

    def send(self, *probes: Probe) -> None:
        """Add probes."""
        self.probes += [replace(probe, shows=self.id) for probe in probes]

    def mutant(
        self,
        name: str,
        words: str,
        apply: Change,
        statuses: tuple[int, ...] = SUCCESSES,
        of: Sequence[Operation] = (),
    ) -> None:
        """Add a mutant of all operations at once. Name and words are templates."""
        names = tuple(operation.name for operation in (of or self.about.operations))
        name = self.about.filled(name)
        words = self.about.filled(words)
        self.mutants.append(Mutant(name, words, names, apply, statuses, self.id))

    def mistake(
        self,
        end: str,
        does: str,
        apply: Change,
        statuses: tuple[int, ...] = SUCCESSES,
        of: Sequence[Operation] = (),
    ) -> None:
        """Add a mutant of each operation. The operation is the start of its name and of its words."""
        for operation in of or self.about.operations:
            self.mutant(f"{prefix(operation)}-{end}", f"{operation.name} {does}", apply, statuses, [operation])


class About:
    """What rows are about: operations, perhaps with a field or a parameter. It fills the templates of their texts.

    Templates hold ``{section}``, ``{operation}``, ``{prefix}`` and ``{lead}`` of the first operation, ``{name}`` and
    ``{short}`` of the field or the parameter, and ``more``.
    """

    def __init__(self, operations: Sequence[Operation] | Operation, name: str = "", **more: object) -> None:
        self.operations = operations if isinstance(operations, Sequence) else (operations,)
        first = self.operations[0]
        self._names: dict[str, object] = {
            "section": first.section,
            "operation": first.name,
            "prefix": prefix(first),
            "lead": lead(first),
            "name": name,
            "short": short(name),
            **more,
        }

    def filled(self, template: str) -> str:
        """Return a text with these values."""
        return template.format_map(self._names)

    def says(self, clause: str, words: str, check: Check) -> Clause:
        """Return a row for what the interface says. It has no probes and no mutants yet."""
        return Clause(id=self.filled(clause), words=self.filled(words), check=check, about=self)

    def means(self, clause: str, words: str, check: Check) -> Clause:
        """Return a row for an inference, and mark it as one. The section does not say it literally."""
        return self.says(clause, f"{words} (by the meaning of §{{section}})", check)

    def every(self, clause: str, words: str, check: Check) -> Clause:
        """Return a row that each exchange of the operations can show."""
        row = self.says(clause, words, check)
        row.operations = self.operations
        return row


# Names


def prefix(operation: Operation) -> str:
    """Return the operation in ids: its verb, or its whole name if an earlier row has the same verb."""
    first = next(other for other in EVERY if other.verb == operation.verb)
    if first is operation:
        return operation.verb
    return short(operation.name)


def lead(operation: Operation) -> str:
    """Return the start of names that only later operations need."""
    if operation in _FIRST:
        return ""
    return f"{prefix(operation)}-"


def success_clause(operation: Operation) -> str:
    """Return the id of the clause for the success status of an operation."""
    return f"{operation.section}-{'created' if operation.does.adds else prefix(operation)}"


def sections(rows: Iterable[Clause]) -> tuple[Clause, ...]:
    """Return rows in the order of the interface."""
    return tuple(sorted(rows, key=lambda row: [*map(int, row.section.split("."))]))
