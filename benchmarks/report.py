"""Writes the results: first the goals, then the figures behind them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from benchmarks import machine
from benchmarks.goals import GOALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.goals import Figure, Result, Table

__all__ = ["Report", "titled"]


class Report:
    """Collects the results and renders them. The report shows which goals and measurements have no result."""

    def __init__(self, *, quick: bool) -> None:
        self._quick = quick
        self._began = datetime.now(UTC)
        self._machine = machine.describe()
        self._results: dict[str, Result] = {}
        self._failures: dict[str, str] = {}

    def add(self, name: str, result: Result) -> None:
        """Add the result of a measurement."""
        self._results[name] = result

    def failed(self, name: str, error: Exception) -> None:
        """Add the error of a measurement."""
        self._failures[name] = f"{type(error).__name__}: {error}"

    def render(self) -> str:
        """Return the report as Markdown."""
        seconds = (datetime.now(UTC) - self._began).total_seconds()
        facts = [
            f"- Taken on {self._began:%d %B %Y} in one run of {seconds / 60:.1f} minutes by `make bench`",
            *(f"- {line}" for line in self._machine),
            f"- {', '.join(machine.versions())}",
        ]
        if self._quick:
            facts.append("- **A quick run: it shows only that the benchmarks run. Its figures are not reliable**")
        parts = [
            "# Results",
            "Compare ratios within this run. Do not compare absolute figures of two runs or computers.",
            "\n".join(facts),
            "## Goals",
            _table(["goal", "target", "result", "met"], self._goals(), numbers=False),
            *(self._section(name, result) for name, result in self._results.items()),
        ]
        if self._failures:
            failures = "\n".join(f"- {name}: {why}" for name, why in self._failures.items())
            parts.append(f"## Not measured\n\n{failures}")
        return "\n\n".join(parts) + "\n"

    def _goals(self) -> list[list[str]]:
        figures = {goal: figure for result in self._results.values() for goal, figure in result.figures.items()}
        rows = []
        for name, goal in GOALS.items():
            figure = figures.get(name)
            found = ["not measured in this run", "-"] if figure is None else [figure.text, _verdict(figure)]
            rows.append([goal.what, goal.reach, *found])
        return rows

    @staticmethod
    def _section(name: str, result: Result) -> str:
        parts = [f"## {'TLS' if name == 'tls' else name.replace('_', ' ').capitalize()}"]
        parts += map(titled, result.tables)
        if result.notes:
            parts.append("\n".join(f"- {note}" for note in result.notes))
        return "\n\n".join(parts)


def _verdict(figure: Figure) -> str:
    if figure.met:
        return "yes"
    return f"**no**, {figure.met_by} yes" if figure.met_by else "**no**"


def titled(table: Table) -> str:
    """Return a table as Markdown, below its title."""
    return f"{table.title}\n\n{_table(table.head, table.rows, numbers=True)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool) -> str:
    ruler = ["---", *(["--:"] * (len(head) - 1) if numbers else ["---"] * (len(head) - 1))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ruler, *rows))
