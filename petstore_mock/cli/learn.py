"""``petstore-mock learn``: detects the choices of a service and writes them as a behaviour."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.cli.verify import add_shared_options, ask
from petstore_mock.common.values import counted
from petstore_mock.verify.verdict import BROKEN, COULD_NOT_CHECK, HOLDS

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
    verdict = ask(options, stdout, stderr)
    output = options.output
    if verdict is None:
        return HOLDS
    result = f"learned {len(verdict.choices)} of {len(verdict.gaps)} gaps from {verdict.url}"
    if output is None:
        stdout.write(verdict.to_toml())
    elif verdict.choices:
        Path(output).write_text(verdict.to_toml(), encoding="utf-8")
        stdout.write(f"{output}: {result}\n")
    else:  # the file may hold the choices of an earlier run
        why = f": {verdict.stopped}" if verdict.stopped else ""
        stderr.write(f"petstore-mock: {result}, so {output} is unchanged{why}\n")
    if verdict.broken:
        names = ", ".join(clause.id for clause in verdict.broken)
        stderr.write(f"petstore-mock: the service breaks {names} (see 'petstore-mock verify')\n")
    if verdict.left:
        stderr.write(f"petstore-mock: at most {counted(verdict.created, 'animal')} left behind\n")
    if verdict.drift:
        return BROKEN
    return HOLDS if verdict.choices else COULD_NOT_CHECK
