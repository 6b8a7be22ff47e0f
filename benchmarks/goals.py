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
        "list of 20, kept connection, against nginx serving the same bytes from a file", "at least 0.7; 0.9 with fast"
    ),
    "peers_started": Goal(
        "requests per second right after the start, of list, get and create, against the fastest mock server",
        "5, 4 and 2 times",
    ),
    "processor_peers": Goal(
        "CPU time of list, get and create, of all cores, against the fastest mock server of each, after a warm-up",
        "3, 3 and 2 times less; 4, 4 and 2.5 with fast",
    ),
    "processor_floor": Goal(
        "the same against a bare asyncio server, which sends the same bytes and does not parse requests",
        "at most 2.3, 2.3 and 3.3 times; 1.8, 1.8 and 2.5 with fast",
    ),
    "log_line": Goal("CPU time of a request with a log line, against a request without", "at most 1.5 times"),
    "latency": Goal(
        "one sequential client with `http.client`: median, against a Python socket that sends the same bytes",
        "at most 2 times; p99 under 5 ms, no 40 ms stalls",
    ),
    "in_process": Goal("in process, called as WSGI without a client: list of 20, create", "at most 25 µs and 40 µs"),
    "fixture": Goal("cost of the fixture per test, beyond an empty test", "at most 150 µs"),
    "plugin": Goal(
        "cost of our own installed, unused entry point on a pytest run",
        "at most 20 ms, no import of werkzeug, hypothesis or asyncio",
    ),
    "variants": Goal(
        "cost of a variant of exploration, and of a mutant, beyond that of the test, collection included",
        "at most 1 ms",
    ),
    "boot": Goal("`petstore-mock serve` to its first 200", "at most 200 ms and faster than every peer that validates"),
    "first_refusal": Goal("first refusal of a fresh process, the import of jsonschema included", "at most 150 ms"),
    "large_store": Goal("list, get and create in a store of 100,000 against 100 animals", "at most 1.5 times"),
    "reset": Goal(
        "`reset()` after ten changes to a starting state of 20, 300 and 100,000 animals",
        "at most 20 µs, 50 µs and 10 ms",
    ),
    "memory": Goal("a million requests", "resident memory grows by at most 10 MiB"),
    "door_cost": Goal(
        "CPU time of list, get and create with an open control door, against a closed door",
        "nothing measurable: at most 1.03",
    ),
    "world_memory": Goal("resident memory of one of 10,000 empty worlds by address", "at most 20 KiB"),
    "worlds_load": Goal("CPU time of a request to one of 10,000 worlds, against a single world", "at most 1.25 times"),
    "world_made": Goal("creation of a world through the door, by one client with http.client", "under 2 ms"),
    "verdict": Goal(
        "verdict of the machine on a correct client, 200 examples",
        "at most 5 s with http.client, 7 s with requests and httpx",
    ),
    "tls_start": Goal("start with TLS, keys and certificates included", "at most 50 ms after imports"),
    "lifecycle": Goal(
        "start and stop of the listener, hung faults and open connections included",
        "start within 10 ms after imports, stop within 50 ms",
    ),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """The figure for a goal.

    Attributes:
        text: the figure, in words.
        met: whether the figure meets the goal.
        met_by: the variant that alone meets the goal, which is not the default; or empty.
    """

    text: str
    met: bool
    met_by: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a report.

    Attributes:
        title: what it shows.
        head: the names of the columns; the first is of text, the others are of numbers.
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
