"""The goals of petstore_mock, and the result of a measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple


class Goal(NamedTuple):
    """One goal: what is measured, and the target, in words."""

    what: str
    reach: str


GOALS: Final[Mapping[str, Goal]] = {
    "limit": Goal(
        "rate of a list of 20, divided by that of nginx with the same bytes in a file", "at least 0.7; 0.9 with fast"
    ),
    "peers_started": Goal(
        "rate of list, get and create right after the start, divided by that of the fastest other mock server",
        "at least 5, 4 and 2",
    ),
    "processor_peers": Goal(
        "processor time of list, get and create of the fastest other mock server (warm, all cores), divided by ours",
        "at least 3, 3 and 2; with fast 4, 4 and 2.5",
    ),
    "processor_floor": Goal(
        "our processor time, divided by that of a bare asyncio server, which parses nothing and sends the same bytes",
        "at most 2.3, 2.3 and 3.3; with fast 1.8, 1.8 and 2.5",
    ),
    "fixture": Goal("time that the fixture adds to an empty test", "at most 150 µs"),
    "boot": Goal("`petstore-mock serve` to its first 200", "at most 200 ms and faster than every peer that validates"),
}


class Figure(NamedTuple):
    """The figure for a goal, in words, and whether it meets the goal."""

    text: str
    met: bool


class Table(NamedTuple):
    """A table of a report: its title, the names of the columns, and the cells. The first column has text."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(slots=True)
class Result:
    """The result of one measurement.

    Attributes:
        figures: the figures, by the name of their goal.
        tables: the figures behind them.
        notes: facts for the reader, such as a contestant that could not run, and the reason.
    """

    figures: dict[str, Figure] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Plan(NamedTuple):
    """The thoroughness of a run."""

    quick: bool

    def pick(self, full: int, quick: int) -> int:
        """Return the number for a full or for a quick run."""
        return quick if self.quick else full
