"""Writes the results: first the goals, then the figures behind them."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from benchmarks.goals import GOALS, Result, Table
from tools.documents.blocks import table

_GIB: Final = 1 << 30


def report(facts: Sequence[str], results: Mapping[str, Result], failures: Mapping[str, str]) -> str:
    """Return the report as Markdown. It shows which goals and measurements have no result."""
    parts = [
        "# Results",
        "Compare ratios within this run. Do not compare absolute figures of two runs or computers.",
        _list(facts),
        "## Goals",
        table("goal", "target", "result", "met", rows=_goals(results)),
    ]
    for name, result in results.items():
        parts += [f"## {name.replace('_', ' ').capitalize()}", *map(titled, result.tables)]
        if result.notes:
            parts.append(_list(result.notes))
    if failures:
        parts += ["## Not measured", _list([f"{name}: {why}" for name, why in failures.items()])]
    return "\n\n".join(parts) + "\n"


def _goals(results: Mapping[str, Result]) -> list[list[str]]:
    figures = {goal: figure for result in results.values() for goal, figure in result.figures.items()}
    rows = []
    for name, goal in GOALS.items():
        row = [goal.what, goal.reach, "not measured in this run", "-"]
        if name in figures:
            row[2:] = [figures[name].text, "yes" if figures[name].met else "**no**"]
        rows.append(row)
    return rows


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def titled(shown: Table) -> str:
    """Return a table as Markdown, below its title."""
    return f"{shown.title}\n\n{table(*shown.head, rows=shown.rows, numbers=True)}"


def describe() -> list[str]:
    """Return the computer, without its name, its load, and the versions on which our own figures depend."""
    names = ("petstore-mock", "httptools", "jsonschema", "pytest-httpserver", "werkzeug", "pytest", "hypothesis")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    return [
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB",
        f"{platform.system()} {platform.release()}",
        f"load {os.getloadavg()[0]:.1f} at the start",
        ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in names)]),
    ]


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
