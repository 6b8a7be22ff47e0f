"""The goals of petstore_mock, and the result of a measurement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["GOALS", "Figure", "Goal", "Plan", "Result", "Table"]


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal.

    Attributes:
        what: what is measured.
        reach: the target, in words.
    """

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
    "log_line": Goal("processor time of a request with a log line, divided by that without one", "at most 1.5"),
    "latency": Goal(
        "median latency of one client on `http.client`, divided by that of a raw Python socket with the same bytes",
        "at most 2; p99 under 5 ms, no stalls of 40 ms",
    ),
    "in_process": Goal("list of 20 and create in process, by a WSGI call without a client", "at most 25 µs and 40 µs"),
    "fixture": Goal("time that the fixture adds to an empty test", "at most 150 µs"),
    "plugin": Goal(
        "time that our installed plugin adds to a pytest run that does not use it",
        "at most 20 ms, no import of werkzeug, hypothesis or asyncio",
    ),
    "variants": Goal(
        "processor time that each run under a variant or a mutant costs beyond the test itself, collection included",
        "at most 1 ms",
    ),
    "boot": Goal("`petstore-mock serve` to its first 200", "at most 200 ms and faster than every peer that validates"),
    "first_refusal": Goal("first refusal of a new process, with the import of jsonschema", "at most 150 ms"),
    "large_store": Goal("time of list, get and create with 100,000 animals, divided by that with 100", "at most 1.5"),
    "reset": Goal(
        "`reset()` to a starting state of 20, 300 and 100,000 animals, after ten changes",
        "at most 20 µs, 50 µs and 10 ms",
    ),
    "memory": Goal("growth of resident memory over a million requests", "at most 10 MiB"),
    "door_cost": Goal(
        "processor time of list, get and create with the control door open, divided by that with the door closed",
        "at most 1.03, which is noise",
    ),
    "world_memory": Goal("resident memory of each of 10,000 empty worlds at /w/NAME", "at most 20 KiB"),
    "worlds_load": Goal("processor time of a request with 10,000 worlds, divided by that with one", "at most 1.25"),
    "world_made": Goal("time to make a world through the door, one client on http.client", "under 2 ms"),
    "verdict": Goal(
        "time of `check_client()` for 200 examples on a correct client",
        "at most 5 s with http.client, 7 s with requests and httpx",
    ),
    "tls_start": Goal("start with TLS, keys and certificates included", "at most 50 ms after imports"),
    "lifecycle": Goal(
        "start and stop of the listener; the stop also with hung responses and open connections",
        "start within 10 ms after imports, stop within 50 ms",
    ),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """The figure for a goal.

    Attributes:
        text: the figure, in words.
        met: whether the figure meets the goal.
        met_by: a variant that meets its goal, or empty. The report names it if another variant misses its goal.
    """

    text: str
    met: bool
    met_by: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a report.

    Attributes:
        title: what it shows.
        head: the names of the columns; the first column has text, the others have numbers.
        rows: the cells.
    """

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


@dataclass(frozen=True, slots=True)
class Plan:
    """The thoroughness of a run."""

    quick: bool = False

    def pick(self, full: int, quick: int) -> int:
        """Return the number for a full or for a quick run."""
        return quick if self.quick else full
