"""The facts of one run of a test. They travel from the workers of pytest-xdist as plain data in the test's report."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Facts:
    """What one run of a test showed, under one variant."""

    multiplied: bool = False  # the test has variants
    passed: bool = True
    failed: bool = False  # for a reason that says something about the client
    flaky: bool = False  # it failed under the variant, but not for the variant
    finished: bool = False
    reached: bool = False  # the mutant changed a response
    removed: bool = False  # the client called a removed operation
    calls: list[str] = field(default_factory=list[str])  # operations
    outcomes: list[list[str]] = field(default_factory=list[list[str]])  # an operation and what the client met
    assumes: list[list[str]] = field(default_factory=list[list[str]])  # a gap and its known alternative
    deaths: list[str] = field(default_factory=list[str])  # why the listener died before the test

    def note(self, name: str, value: object) -> None:
        """Add a value to one of the lists, unless the list has it."""
        values = getattr(self, name)
        if value not in values:
            values.append(value)
