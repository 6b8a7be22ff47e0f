"""``petstore-mock learn``: detects the choices of a service and writes them as a behaviour."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.cli.verify import add_shared_options, ask, print_plan, require_writable
from petstore_mock.verify.verdict import BROKEN, COULD_NOT_CHECK, HOLDS, Learned

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

DESCRIPTION: Final = (
    "Detect the choices of a service, and write them as a behaviour for the fixture and the stub. The exit code is 0 "
    "if a choice was learned, 1 on drift from --behaviour, 2 for wrong arguments, and 3 if nothing was learned."
)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FILE.toml", help="write the behaviour to this file (default: print it)"
    )
    add_shared_options(parser)


def run(options: Namespace, stdout: TextIO, stderr: TextIO) -> int:
    if options.plan:
        return print_plan(options, stdout)
    output = options.output
    if output is not None:
        require_writable(output, "--output")
    learned = Learned(ask(options, stderr))
    result = f"learned {len(learned.choices)} of {len(learned.gaps)} gaps from {learned.verdict.url}"
    if output is None:
        stdout.write(learned.to_toml())
    elif learned.choices:
        Path(output).write_text(learned.to_toml(), encoding="utf-8")
        stdout.write(f"{output}: {result}\n")
    else:  # the file may hold the choices of an earlier run
        why = f": {learned.verdict.stopped}" if learned.verdict.stopped else ""
        stderr.write(f"petstore-mock: {result}, so {output} is unchanged{why}\n")
    if learned.verdict.broken:
        names = ", ".join(clause.id for clause in learned.verdict.broken)
        stderr.write(f"petstore-mock: the service breaks {names} (see 'petstore-mock verify')\n")
    if learned.verdict.drift:
        return BROKEN
    return HOLDS if learned.choices else COULD_NOT_CHECK
