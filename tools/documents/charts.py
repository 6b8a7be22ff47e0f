"""Draws the pictures of the documents: the benchmarks, the floors of the package, and the terminal of the demo."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Final

from tools.documents.blocks import ROOT

RESULTS: Final = ROOT / "benchmarks" / "RESULTS.md"
_FOLDER: Final = ROOT / "docs" / "explanation" / "charts"
_OPERATIONS: Final = ("list", "get", "create")
_HOUSE: Final = 720  # pixels
_LABELS, _BARS, _FIGURES, _BAR, _GAP = 250, 420, 80, 9, 10  # pixels
_COLUMNS, _CHARACTER, _LINE = 100, 7.6, 19  # terminal width; pixels of a character and a line
_OURS, _OTHERS = ("#0a7d4f", "#35a377", "#7cc8a8"), ("#4a5a6a", "#7e8c9a", "#b3bcc5")


def figures(title: str) -> list[tuple[str, list[float]]]:
    """Return each server's figures for list, get and create, from the table after the line ``title``."""
    text = RESULTS.read_text(encoding="utf-8").partition(f"\n{title}")[2].partition("\n| ")[2].partition("\n\n")[0]
    head, _, *rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines()]
    columns = [next(at for at, name in enumerate(head) if name.split()[0] == wanted) for wanted in _OPERATIONS]
    return [(row[0], [float(row[at].replace(",", "")) for at in columns]) for row in rows]


def _chart(title: str, unit: str, rows: list[tuple[str, list[float]]]) -> str:
    """Return a bar chart with a bar for each operation. The longest bar fills the width."""
    largest = max(max(figures) for _, figures in rows)
    height = 3 * _BAR + _GAP
    parts = []
    for number, (server, figures) in enumerate(rows):
        top = 30 + number * height
        colours = _OURS if server.startswith("petstore_mock") else _OTHERS
        parts.append(f'<text x="{_LABELS - 8}" y="{top + 18}" text-anchor="end">{escape(server)}</text>')
        for place, (operation, figure) in enumerate(zip(_OPERATIONS, figures, strict=True)):
            y, width = top + place * _BAR, max(1, round(_BARS * figure / largest))
            parts.append(
                f'<rect x="{_LABELS}" y="{y}" width="{width}" height="{_BAR - 1}" fill="{colours[place]}">'
                f"<title>{escape(server)}, {operation}: {figure:,.0f} {unit}</title></rect>"
                f'<text x="{_LABELS + width + 4}" y="{y + 7}" font-size="8">{operation} {figure:,.0f}</text>'
            )
    size = (_LABELS + _BARS + _FIGURES, 30 + len(rows) * height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" role="img" '
        f'aria-label="{escape(title)}" font-family="sans-serif" font-size="12">\n'
        '<rect width="100%" height="100%" fill="#ffffff"/>\n'
        f'<text x="8" y="18" font-weight="bold">{escape(title)}</text>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _house() -> str:
    """Return a picture of import-linter's floors. A folder imports only from the floors below its own."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    floors = next(one["layers"] for one in contracts if one["id"] == "floors")
    parts = []
    for number, floor in enumerate(floors):
        rooms = [room.strip(" ()") for room in floor.split("|")]
        width, top = (_HOUSE - _GAP * (len(rooms) + 1)) / len(rooms), 12 + number * 40
        parts.append(f'<rect x="0" y="{top + 32}" width="{_HOUSE}" height="2" fill="#b3bcc5"/>')
        for place, room in enumerate(rooms):
            left = _GAP + place * (width + _GAP)
            parts.append(
                f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="28" rx="4" '
                'fill="#e6f2ec" stroke="#0a7d4f"/>'
                f'<text x="{left + width / 2:.0f}" y="{top + 19}" text-anchor="middle">{escape(room)}</text>'
            )
    height = 20 + len(floors) * 40
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_HOUSE} {height}" role="img" '
        'aria-label="The floors of the package" font-family="monospace" font-size="13">\n'
        '<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _terminal() -> str:
    """Return a picture of the output of `petstore-mock demo`, without its last part, the next steps."""
    command = [sys.executable, "-m", "petstore_mock", "demo"]
    environment = {**os.environ, "COLUMNS": str(_COLUMNS)}
    output = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True).stdout
    shown = re.sub(r"\d+\.\d ms +", "0.3 ms  ", output.partition("\n\nDo the same")[0])
    colours = {"create_pet(": "#ff9b8e", "every createPet": "#ff9b8e", "1  POST": "#8ec7ff", "2  POST": "#8ec7ff"}
    parts = []
    for number, line in enumerate(["$ petstore-mock demo", *shown.splitlines()]):
        colour = next((colours[begin] for begin in colours if line.startswith(begin)), "#e6edf3")
        if line:
            parts.append(
                f'<text x="16" y="{34 + number * _LINE}" fill="{colour}" textLength="{len(line) * _CHARACTER:.0f}" '
                f'xml:space="preserve">{escape(line)}</text>'
            )
    width, height = round(32 + _COLUMNS * _CHARACTER), 54 + number * _LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="The output of petstore-mock demo" '
        'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="12.6">\n'
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


CHARTS: Final[dict[Path, Callable[[], str]]] = {
    ROOT / "docs" / "pictures" / "demo.svg": _terminal,
    _FOLDER / "house.svg": _house,
    _FOLDER / "requests.svg": lambda: _chart("Requests per second", "per second", figures("Requests per second")),
    _FOLDER / "processor.svg": lambda: _chart(
        "Processor time per request on all cores, microseconds", "microseconds", figures("Processor time per request")
    ),
}


def draw() -> None:
    """Write every chart."""
    for path, make in CHARTS.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(make(), encoding="utf-8")
