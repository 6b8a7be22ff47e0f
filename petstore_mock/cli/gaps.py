"""``petstore-mock gaps``: the gap register as people and programs read it."""

from __future__ import annotations

import json
import shutil
import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.interface.behaviour import gap_register
from petstore_mock.interface.gaps import GAPS, PRESETS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

DESCRIPTION: Final = "Print every gap of the interface with its alternatives, the default first."
_HEADINGS: Final = {
    "validate": "What is accepted",
    "content": "What a response says",
    "encode": "How a response looks",
    "wire": "How a response travels (over a socket only)",
    "event": "What happens without the client's doing (only when asked for)",
}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--format", choices=("table", "json", "markdown"), default="table", help="how to print")


def run(options: Namespace, stdout: TextIO, _: TextIO) -> int:
    if options.format == "json":
        stdout.write(json.dumps(gap_register(), indent=2, ensure_ascii=False) + "\n")
    elif options.format == "markdown":
        stdout.write("| gap | § | alternatives, default first | do not assume |\n|---|---|---|---|\n")
        for gap in GAPS.values():
            names = ", ".join(f"`{name}`" for name in gap.alternatives)
            stdout.write(f"| `{gap.name}` | {gap.section} | {names} | {gap.lesson} |\n")
    else:
        stdout.write("\n".join(_table(min(shutil.get_terminal_size().columns, 120))) + "\n")
    return 0


def _table(width: int) -> list[str]:
    column = max(map(len, GAPS))
    lines = ["Each gap: its name, the section of the interface, the alternatives with the default first."]
    for step, gaps in groupby(GAPS.values(), lambda gap: gap.step):
        lines += ["", _HEADINGS[step], "=" * len(_HEADINGS[step])]
        for gap in gaps:
            row = f"{gap.name:<{column}}  §{gap.section:<4} {', '.join(gap.alternatives)}"
            lines += textwrap.wrap(row, width, subsequent_indent=" " * (column + 8), break_on_hyphens=False)
            for text in (gap.sentence, f"Do not assume {gap.lesson}."):
                lines += textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ")
    lines += ["", "Presets", "======="]
    for name, changes in PRESETS.items():
        text = ", ".join(f"{gap}={value}" for gap, value in changes.items()) or "every default"
        lines += textwrap.wrap(f"{name:<8}  {text}", width, subsequent_indent=" " * 10, break_on_hyphens=False)
    return lines
