"""The command line ``petstore-mock``. Each command has a module, which is imported only for that command."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock import __version__
from petstore_mock.cli.arguments import Parser
from petstore_mock.core.options import misspelt_variables
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Sequence

UNWRITTEN: Final = 1
BAD_USAGE: Final = 2
INTERRUPTED: Final = 130  # the exit code by which shells report SIGINT

# The module of a command has DESCRIPTION, add_options(parser) and run(options, stdout, stderr) -> exit code.
COMMANDS: Final = {
    "demo": "show a famous bug of clients, and how the fake finds it",
    "serve": "serve the fake on a port until Ctrl-C",
    "ready": "wait until a stub is ready; exit with 0, or with 1 if it is not",
    "gaps": "print the gaps of the interface and their alternatives",
    "openapi": "print the interface as an OpenAPI document",
    "check": "find the bugs of a client in any language",
    "verify": "check whether a service keeps the contract",
    "learn": "detect the choices of a service, and write them for the fixture and the stub",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. By default, the arguments are those of the process."""
    stdout = _stream(sys.stdout, 1)
    stderr = _stream(sys.stderr, 2)
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments, stdout, stderr)
        stdout.flush()
    except SystemExit:
        # argparse has printed --help or --version.
        return 0
    except PetStoreMockError as error:
        _say(stderr, str(error))
        return BAD_USAGE
    except OSError as error:
        # A closed pipe is no mistake, as in `petstore-mock gaps | head`.
        if not isinstance(error, BrokenPipeError):
            _say(stderr, str(error))
        # Python's exit would report the error again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
        return UNWRITTEN
    except KeyboardInterrupt:
        _say(stderr, "interrupted")
        return INTERRUPTED
    return code


def _stream(stream: TextIO | None, descriptor: int) -> TextIO:
    """Return a standard stream. If the process began without it (``>&-``), return one that drops what it gets."""
    if stream is None:
        try:
            os.fstat(descriptor)
        except OSError:
            # A connection would get the free descriptor, and with it what other code prints.
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123  # open until the process ends
    with contextlib.suppress(AttributeError):
        # A test may have replaced the stream. A name that the terminal can't show must not end the server.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]
    return stream


def _say(stderr: TextIO, text: str) -> None:
    with contextlib.suppress(OSError):
        # No program may read the stream any more. The exit code stays.
        stderr.write(f"petstore-mock: {text}\n")
        stderr.flush()


def _run(arguments: Sequence[str], stdout: TextIO, stderr: TextIO) -> int:
    parser = Parser(prog="petstore-mock", description="A fake pet store service for tests of its clients.")
    parser.add_argument("--version", action="version", version=f"petstore-mock {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, words in COMMANDS.items():
        command = commands.add_parser(name, help=words)
        if name in arguments[:1]:
            module = importlib.import_module(f"petstore_mock.cli.{name}")
            command.description = module.DESCRIPTION
            module.add_options(command)
            command.set_defaults(run=module.run, parser=command)
    if arguments:
        parser.require_known(arguments[0], COMMANDS)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        options.parser.refuse_unknown(unknown)
    for line in misspelt_variables():
        _say(stderr, line)
    code: int = options.run(options, stdout, stderr)
    return code
