"""``petstore-mock gaps``: prints the gap register as text or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.interface.behaviour import gap_register

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

DESCRIPTION: Final = "Print each gap of the interface with its alternatives. The default comes first."


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--format", choices=("table", "json"), default="table", help="the output format")


def run(options: Namespace, stdout: TextIO, _: TextIO) -> int:
    register = gap_register()
    if options.format == "json":
        print(json.dumps(register, indent=2, ensure_ascii=False), file=stdout)
        return 0
    column = max(len(gap["name"]) for gap in register["gaps"])
    for gap in register["gaps"]:
        print(f"{gap['name']:<{column}}  §{gap['section']:<4} {', '.join(gap['alternatives'])}", file=stdout)
        print(f"    {gap['sentence']}\n    Do not assume {gap['do_not_assume']}.\n", file=stdout)
    for name, changes in register["presets"].items():
        choices = [f"{gap}={value}" for gap, value in changes.items()]
        print(f"The preset {name}: {', '.join(choices) or 'every default'}", file=stdout)
    return 0
