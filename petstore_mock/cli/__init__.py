"""The command ``petstore-mock``. Each command has a module, which is imported when that command runs."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock import __version__
from petstore_mock.cli.arguments import Parser, UsageError, misspelt_variables
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Sequence

UNWRITTEN: Final = 1
BAD_USAGE: Final = 2
INTERRUPTED: Final = 130  # what a shell says of a command that SIGINT ended

# Each has a module of its name with DESCRIPTION, add_options(parser) and run(options, stdout, stderr) -> exit code.
COMMANDS: Final = {
    "demo": "show a famous bug of clients, and how the fake finds it",
    "serve": "respond to requests on a port until Ctrl-C",
    "ready": "wait until a stub serves: exit with 0, or with 1 if it does not",
    "gaps": "print what the interface leaves open, and the alternatives",
    "openapi": "print the interface as an OpenAPI 3.1 document",
    "verify": "ask a service whether it keeps the contract",
    "learn": "find out which choices a service makes, and write them for the fixture and the stub",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of the process, and return its exit code: 2 for wrong arguments."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # a stream that was replaced, or closed
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a name must not end the server
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments, sys.stdout, sys.stderr)
        sys.stdout.flush()
    except SystemExit:  # argparse has printed --help or --version
        return 0
    except (UsageError, PetStoreMockError) as error:
        sys.stderr.write(f"petstore-mock: {error}\n")
        return BAD_USAGE
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # as in `petstore-mock gaps | head`
            sys.stderr.write(f"petstore-mock: {error}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains again at its exit
        return UNWRITTEN
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _run(arguments: Sequence[str], stdout: TextIO, stderr: TextIO) -> int:
    parser = Parser(prog="petstore-mock", description="A fake of the pet store service, for testing its clients.")
    parser.add_argument("--version", action="version", version=f"petstore-mock {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, words in COMMANDS.items():
        command = commands.add_parser(name, help=words)
        if name in arguments[:1]:
            module = importlib.import_module(f"petstore_mock.cli.{name}")
            command.description = module.DESCRIPTION
            module.add_options(command)
            command.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
    stderr.writelines(f"petstore-mock: {line}\n" for line in misspelt_variables())
    code: int = options.run(options, stdout, stderr)
    return code
