"""``petstore-mock learn``: writes the choices of a service as a behaviour for the fixture and the stub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.cli.verify import URL_WORDS, add_shared_options, ask, print_plan, require_writable
from petstore_mock.common.refusing import refuse
from petstore_mock.verify import learn
from petstore_mock.verify.learned import learned_from
from petstore_mock.verify.verdict import BROKEN, COULD_NOT_CHECK, HOLDS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

DESCRIPTION: Final = (
    "Ask a service, or read recorded traffic, and write its choices as a behaviour for the fixture and the stub. Exits "
    "0 if something was learned, 1 on drift from --behaviour, 2 for wrong arguments, 3 if nothing could be learned."
)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", nargs="?", help=URL_WORDS)
    parser.add_argument("-o", "--output", metavar="FILE.toml", help="where the behaviour goes (default: printed)")
    parser.add_argument("--har", metavar="FILE", help="learn from recorded traffic, and ask nobody")
    parser.add_argument("--url", dest="base", metavar="URL", help="the base address in a recording of several")
    add_shared_options(parser)


def run(options: Namespace, stdout: TextIO, stderr: TextIO) -> int:
    if options.plan:
        return print_plan(options, stdout)
    url: str = options.url or options.base or ""
    output = options.output
    if not url and options.har is None:
        refuse("expected the URL of a service, or a recording by --har (see 'petstore-mock learn --help')")
    if output is not None:
        require_writable(output, "--output")
    learned = learn(url or None, har=options.har) if options.har else learned_from(ask(options, url, stderr))
    if output is None:
        stdout.write(learned.to_toml())
    elif learned.choices:
        Path(output).write_text(learned.to_toml(), encoding="utf-8")
        stdout.write(f"{output}: {len(learned.choices)} of {len(learned.gaps)} gaps from {learned.source}\n")
    else:  # what an earlier run has learned is worth more
        why = "".join(f": {note}" for note in learned.notes)
        stderr.write(f"petstore-mock: nothing could be learned{why}; {output} is as it was\n")
    verdict = learned.verdict
    if verdict is not None and verdict.broken:
        names = ", ".join(clause.id for clause in verdict.broken)
        stderr.write(f"petstore-mock: the service breaks {names} (see 'petstore-mock verify')\n")
    if verdict is not None and verdict.drift:
        return BROKEN
    return HOLDS if learned.choices else COULD_NOT_CHECK
