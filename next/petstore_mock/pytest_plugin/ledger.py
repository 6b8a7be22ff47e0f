"""What the reports of a run carry, here or from the workers of xdist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypedDict


class Record(TypedDict):
    """What one report carries: the test that it is about, and what was seen since its last report."""

    test: str  # its id without the variant
    variant: str  # empty for the test as it is
    mutant: str | None  # the name, if the variant is a mutant
    multiplied: bool  # whether the test has variants
    is_last: bool
    failed: bool  # whether this phase failed, a mark `xfail` aside
    passed: bool  # whether this phase passed
    assumes: dict[str, str]
    operations: list[str]
    shown: list[list[str]]  # pairs of operation and outcome
    asked: bool  # whether the client asked for what the mutant does wrong
    removed: bool  # whether it called an operation after its removal
    leaks: list[list[str]]  # pairs of owner and request
    listener: str  # why the listener had ended before this test


@dataclass(slots=True)
class Outcome:
    """How a variant of a test went."""

    finished: bool = False
    failed: bool = False
    passed: bool = True
    asked: bool = False


@dataclass(slots=True)
class Test:
    """How a test went, as it is and under its variants."""

    __test__ = False  # for pytest

    multiplied: bool = False
    as_it_is: Outcome = field(default_factory=Outcome)
    gaps: dict[str, Outcome] = field(default_factory=dict)  # by the text of the variant
    mutants: dict[str, Outcome] = field(default_factory=dict)  # by name
    assumes: dict[str, str] = field(default_factory=dict)
    operations: set[str] = field(default_factory=set)
    shown: set[tuple[str, str]] = field(default_factory=set)  # of no mutant
    removed: bool = False

    def sends_to(self, mutant: str) -> bool:
        """Say whether the test calls an operation that a mutant changes."""
        from petstore_mock.interface.mutants import MUTANTS  # noqa: PLC0415  # most runs do without

        return not self.operations.isdisjoint(MUTANTS[mutant].operations)


class Ledger:
    """The records of a run, test by test; every summary is a function of it.

    Attributes:
        tests: by id.
        leaks: requests of finished tests: pairs of owner and request.
        listener: why a listener ended and was begun anew.
    """

    def __init__(self) -> None:
        self.tests: dict[str, Test] = {}
        self.leaks: list[tuple[str, str]] = []
        self.listener: list[str] = []

    def add(self, record: Record) -> None:
        """Take a record into account."""
        self.leaks += [(owner, request) for owner, request in record["leaks"]]
        self.listener += [record["listener"]] if record["listener"] else []
        test = self.tests.setdefault(record["test"], Test())
        test.multiplied = test.multiplied or record["multiplied"]
        test.assumes = record["assumes"]
        outcome = test.as_it_is
        if record["mutant"] is not None:
            outcome = test.mutants.setdefault(record["mutant"], Outcome())
        elif record["variant"]:
            outcome = test.gaps.setdefault(record["variant"], Outcome())
        outcome.finished = record["is_last"]
        outcome.failed = outcome.failed or record["failed"]
        outcome.passed = outcome.passed and record["passed"]
        outcome.asked = outcome.asked or record["asked"]
        if record["mutant"] is None:
            test.operations.update(record["operations"])
            test.shown.update((operation, outcome) for operation, outcome in record["shown"])
            test.removed = test.removed or record["removed"]

    @property
    def telling(self) -> dict[str, Test]:
        """The tests with variants that pass as they are: variants of the others show nothing."""
        return {name: test for name, test in sorted(self.tests.items()) if test.as_it_is.finished and test.as_it_is.passed}

    def noticed_by(self, mutant: str) -> list[str]:
        """Return the tests that failed against a mutant, and pass as they are."""
        return [name for name, test in self.telling.items() if mutant in test.mutants and test.mutants[mutant].failed]

    def asked_by(self, mutant: str) -> list[str]:
        """Return the tests, among those that pass as they are, that asked for what a mutant does wrong."""
        return [name for name, test in self.telling.items() if mutant in test.mutants and test.mutants[mutant].asked]


def record_at(report: Any) -> Record | None:  # noqa: ANN401  # of any plugin
    """Return the record of a report; xdist hands it over as it is."""
    record: Record | None = getattr(report, "petstore", None)
    return record
