"""``petstore-mock learn``: writes the choices of a service as a behaviour for the fixture and the stub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.cli.verify import add_shared_options, ask, print_plan, require_writable
from petstore_mock.verify.verdict import BROKEN, COULD_NOT_CHECK, HOLDS, Learned

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

DESCRIPTION: Final = (
    "Ask a service, and write its choices as a behaviour for the fixture and the stub. Exits 0 if something was "
    "learned, 1 on drift from --behaviour, 2 for wrong arguments, 3 if nothing could be learned."
)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE.toml", help="where the behaviour goes (default: printed)")
    add_shared_options(parser)


def run(options: Namespace, stdout: TextIO, stderr: TextIO) -> int:
    if options.plan:
        return print_plan(options, stdout)
    output = options.output
    if output is not None:
        require_writable(output, "--output")
    learned = Learned(ask(options, stderr))
    told = f"{len(learned.choices)} of {len(learned.gaps)} gaps from {learned.verdict.url}"
    if output is None:
        stdout.write(learned.to_toml())
    elif learned.choices:
        Path(output).write_text(learned.to_toml(), encoding="utf-8")
        stdout.write(f"{output}: {told}\n")
    else:  # what an earlier run has learned is worth more
        stderr.write(f"petstore-mock: {told}; {output} is as it was. {learned.verdict.stopped or ''}\n")
    if learned.verdict.broken:
        names = ", ".join(clause.id for clause in learned.verdict.broken)
        stderr.write(f"petstore-mock: the service breaks {names} (see 'petstore-mock verify')\n")
    if learned.verdict.drift:
        return BROKEN
    return HOLDS if learned.choices else COULD_NOT_CHECK
