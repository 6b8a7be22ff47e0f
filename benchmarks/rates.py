"""Requests per second by contestant and operation, and their ratios to other mock servers."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks import wrk
from benchmarks.bodies import NEW_PET
from benchmarks.goals import Figure
from benchmarks.servers import FAKE, FAKE_FAST, HEADERS, Server

if TYPE_CHECKING:
    from benchmarks.processes import Running
    from benchmarks.wrk import Load

__all__ = ["OPERATIONS", "OURS", "Rates", "ask", "figure_of"]

OPERATIONS: Final = ("list", "get", "create")
OURS: Final = {FAKE: "without an extra", FAKE_FAST: "with the extra fast"}
_AGAINST_PEERS: Final = {"list": 5.0, "get": 4.0, "create": 2.0}


def ask(server: Server, process: Running, operation: str, seconds: int) -> Load:
    """Send requests of one operation for ``seconds``. Raises RuntimeError if no response arrives."""
    if operation == "list":
        return wrk.load(process.port, server.listing, HEADERS, seconds=seconds)
    if operation == "get":
        return wrk.load(process.port, server.getting, HEADERS, seconds=seconds)
    headers = {**HEADERS, "Content-Type": "application/json"}
    return wrk.load(process.port, server.creating, headers, seconds=seconds, method="POST", body=NEW_PET)


class Rates:
    """The results of the contestants so far.

    Attributes:
        loads: the runs of each contestant that takes part, by operation.
        notes: the contestants that do not take part, with the reason.
    """

    def __init__(self) -> None:
        self.loads: dict[Server, dict[str, list[Load]]] = {}
        self.notes: list[str] = []

    def ours(self) -> list[tuple[Server, str]]:
        """Return our own contestants with the names of their variants."""
        return [(server, name) for server, name in OURS.items() if server in self.loads]

    def rate(self, server: Server, operation: str) -> float:
        """Return the median of the rates, or 0 if there is none."""
        return median([load.rate for load in self.loads.get(server, {}).get(operation, [])] or [0.0])

    def fastest_mocks(self) -> dict[str, Server]:
        """Return the mock server with the most requests per second, by operation."""
        mocks = [server for server in self.loads if server.is_mock]
        if not mocks:
            return {}
        return {
            operation: max(mocks, key=lambda server: self.rate(server, operation))  # max() calls the lambda at once
            for operation in OPERATIONS
        }

    def against_mocks(self) -> Figure | None:
        """Compare our servers with the fastest mock server of each operation, if there is one."""
        fastest = self.fastest_mocks()
        if not fastest:
            return None
        reached = {}
        words = []
        for ours, name in self.ours():
            ratios = {
                operation: self.rate(ours, operation) / max(1.0, self.rate(peer, operation))
                for operation, peer in fastest.items()
            }
            shown = (f"{operation} {ratio:.1f} ({fastest[operation].name})" for operation, ratio in ratios.items())
            words.append(f"{name}: {', '.join(shown)}")
            reached[name] = all(ratios[operation] >= wanted for operation, wanted in _AGAINST_PEERS.items())
        return figure_of(words, reached)


def figure_of(words: list[str], reached: dict[str, bool]) -> Figure:
    """Return the figure of all variants; its ``met_by`` is a variant that meets its goal, or empty."""
    enough = [name for name, is_enough in reached.items() if is_enough]
    return Figure("; ".join(words), 0 < len(enough) == len(reached), enough[0] if enough else "")
