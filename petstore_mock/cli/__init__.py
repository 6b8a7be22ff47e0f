"""The command ``petstore-mock``: the stub on a port, the gap register, the OpenAPI document, ``verify`` and ``learn``.

Arguments and the environment come in; lines for people or JSON go out, and an exit status. Each command's own module is
imported when that command runs: ``serve`` must answer soon.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

from petstore_mock import __version__
from petstore_mock.cli.environment import complete
from petstore_mock.cli.verify import add_learn_options, add_verify_options, learn, positive, verify
from petstore_mock.common.environment import flag_of, variable_of
from petstore_mock.common.suggestions import did_you_mean
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "make_parser", "run"]

UNWRITTEN: Final = 1
BAD_USAGE: Final = 2  # what argparse, grep and most commands exit with
INTERRUPTED: Final = 130  # what a shell says of a command that SIGINT ended
_LARGEST_PORT: Final = 65535
_OPENING: Final = ("control", "control_token", "control_port")  # what --no-control contradicts


class _UsageError(Exception):
    """The arguments can't be right."""


class _Parser(argparse.ArgumentParser):
    """A parser of whole options that says in one sentence what is wrong, and leaves printing to :func:`run`."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  # those of argparse
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message} (see '{self.prog} --help')")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse what is none of the choices, as the rest of the package does; argparse calls it for each value."""
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(
                action, f"expected one of {', '.join(known)}; got {value!r}{did_you_mean(value, known)}"
            )


def _port(text: str) -> int:
    port = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(_LARGEST_PORT)) else -1
    if not 0 <= port <= _LARGEST_PORT:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to {_LARGEST_PORT}; got {text!r}")
    return port


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0  # digits
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1; got {text!r}")
    return number


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected GAP=VALUE, such as list_order=by_name; got {text!r}")
    return name.strip(), value.strip()


def _seed(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError(f"expected how many animals, or a JSON file of them; got {text!r}")
    return text


def _address(text: str) -> str:
    from urllib.parse import urlsplit  # noqa: PLC0415  # only for those who name one

    try:
        parts = urlsplit(text)
        right = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port, or of brackets
        right = False
    if not right or not text.isprintable() or " " in text:
        raise argparse.ArgumentTypeError(f"expected a base address such as http://127.0.0.1:8080/v1; got {text!r}")
    return text


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line; its errors are exceptions for :func:`run` to print."""
    parser = _Parser(
        prog="petstore-mock",
        description="A fake of the pet store service, for testing its clients.",
    )
    parser.add_argument("--version", action="version", version=f"petstore-mock {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)

    serve = commands.add_parser(
        "serve",
        help="answer requests on a port until Ctrl-C",
        description="Answer requests in the foreground until Ctrl-C or SIGTERM.",
        epilog="What is not given is taken from the environment: PETSTORE_MOCK_PORT for --port, and so on; true for "
        "--quiet; for what may be repeated, values with commas or spaces between.",
    )
    _add_serve_options(serve)

    ready = commands.add_parser(
        "ready",
        help="wait until a stub serves, and exit 0, or 1 if it does not",
        description="Ask a stub for its health until it answers: for a container's health check, or a script.",
        epilog="Without --url it asks the stub that PETSTORE_MOCK_HOST, _PORT, _CONTROL_PORT and _TLS would start; "
        "without --tls-ca it trusts what PETSTORE_MOCK_TLS_CA_OUT names.",
    )
    ready.add_argument("--url", type=_address, metavar="http://HOST:PORT", help="where the stub serves")
    ready.add_argument("--tls-ca", metavar="FILE", help="the authority to trust, as serve --tls-ca-out writes it (PEM)")
    ready.add_argument("--timeout", type=positive, default=10.0, metavar="S", help="seconds to wait (default: 10)")

    gaps = commands.add_parser(
        "gaps",
        help="print what the interface leaves open, and the alternatives",
        description="Print every gap of the interface with its alternatives, the default first.",
    )
    gaps.add_argument(
        "--format", choices=("table", "json", "markdown"), default="table", help="how to print (default: %(default)s)"
    )

    openapi = commands.add_parser(
        "openapi",
        help="print the interface as an OpenAPI 3.1 document",
        description="Print the interface as an OpenAPI 3.1 document, made from the contract and the schemas.",
    )
    openapi.add_argument(
        "--server",
        type=_address,
        metavar="URL",
        help="a base address to name first, such as http://127.0.0.1:8080/v1",
    )
    verifying = commands.add_parser(
        "verify",
        help="hold a service against the contract",
        description="Ask a service, as a guest does, and hold what it answers against every clause of the contract. "
        "Exits 0 if what was seen holds, 1 if the contract or the recorded behaviour is broken, 2 for wrong arguments, "
        "3 if it could not be checked.",
    )
    add_verify_options(verifying)
    learning = commands.add_parser(
        "learn",
        help="write which choices a service makes where the contract says nothing",
        description="Ask a service, or read recorded traffic, and write its choices as a behaviour for the fixture and "
        "the stub. Exits 0 if something was learned, 1 on drift from --behaviour, 2 for wrong arguments, 3 if nothing "
        "could be learned.",
    )
    add_learn_options(learning)

    for command in commands.choices.values():
        command.set_defaults(help=command.format_help)
    return parser


def _add_serve_options(serve: argparse.ArgumentParser) -> None:
    """Add the options of ``serve``, each None unless given: their defaults are those of ``ServeOptions``."""
    add = serve.add_argument
    options = [
        add("--host", help="address to listen on (default: 127.0.0.1)"),
        add("--port", type=_port, help="port, 0 for any free one (default: 8080)"),
        add(
            "--api-key",
            action="append",
            dest="api_keys",
            metavar="KEY",
            help="a valid API key; repeat it for several (default: one is made up and printed)",
        ),
        add(
            "--seed",
            type=_seed,
            metavar="FILE.json|N",
            help="animals to begin with: a JSON file with a list of them, or how many",
        ),
        add(
            "--behaviour",
            metavar="FILE.toml|PRESET",
            help="what to do where the interface shows nothing (default: strict)",
        ),
        add(
            "--set",
            action="append",
            dest="settings",
            type=_setting,
            metavar="GAP=VALUE",
            help="choose one alternative (see 'petstore-mock gaps'); repeat it for several",
        ),
        add("--at", metavar="DATE", help="the fake's date, such as 2030-12-06 (default: today)"),
        add(
            "--cors",
            action="append",
            metavar="ORIGIN",
            help="let pages of this origin use it in a browser, such as http://localhost:5173, or '*'; repeat it",
        ),
        add("--tls", action="store_const", const=True, help="speak TLS, under a certificate of its own authority"),
        add("--tls-cert", metavar="FILE", help="speak TLS under your certificate (PEM, with the chain)"),
        add("--tls-key", metavar="FILE", help="its private key (PEM), unless it is in the same file"),
        add(
            "--tls-host",
            action="append",
            dest="tls_hosts",
            metavar="NAME",
            help="a further host name or address of the stub's own certificate, such as its container's; repeat it",
        ),
        add("--tls-ca-out", metavar="FILE", help="write the certificate of the stub's own authority here, for clients"),
        add("--quiet", action="store_const", const=True, help="log no requests"),
        add("--log-format", choices=("text", "json"), help="how to print (default: text)"),
        add(
            "--control",
            action="store_const",
            const=True,
            help="open the control door on any address, with a token that is made up and printed",
        ),
        add("--no-control", action="store_const", const=True, help="close the control door"),
        add("--control-token", metavar="TOKEN", help="open the control door with this token"),
        add("--control-port", type=_port, metavar="PORT", help="give the control door a port of its own, without TLS"),
        add(
            "--allowed-host",
            action="append",
            dest="allowed_hosts",
            metavar="HOST[:PORT]",
            help="a further Host by which the control door may be asked on loopback, such as a proxy's; repeat it",
        ),
        add(
            "--allowed-origin",
            action="append",
            dest="allowed_origins",
            metavar="ORIGIN",
            help="pages of this origin may use the control door; repeat it",
        ),
        add("--max-worlds", type=_count, metavar="N", help="worlds by address, at most (default: 10000)"),
        add("--world-ttl", type=positive, metavar="SECONDS", help="end a world that nobody asked for so long"),
        add("--keep-requests", type=_count, metavar="N", help="requests of each world that are kept (default: 1000)"),
    ]
    serve.set_defaults(serve_options=options)


def _meant(unknown: str, options: argparse.Namespace) -> str:
    """Return what to do about an option that its command does not know, to end a sentence with, or nothing."""
    name = unknown.partition("=")[0]
    known = re.findall(r"--[a-z-]+", options.help())
    if name in known:
        return f"; {name} goes behind {options.command}"
    return did_you_mean(name, known) if name.startswith("-") else ""


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    options, unknown = make_parser().parse_known_args(arguments)
    if unknown:  # argparse itself would name the help of the whole, which shows no option of a command
        raise _UsageError(
            f"unrecognized arguments: {' '.join(unknown)}{_meant(unknown[0], options)} "
            f"(see 'petstore-mock {options.command} --help')"
        )
    if options.command == "serve":
        given = {action.dest for action in options.serve_options if getattr(options, action.dest) is not None}
        try:
            options.variables = complete(options, options.serve_options)
        except argparse.ArgumentTypeError as error:
            raise _UsageError(str(error)) from None
        _settle_door(options, given)
    return options


def _settle_door(options: argparse.Namespace, given: set[str]) -> None:
    """Refuse to both open and close the control door; what the environment says gives way to the command line.

    Args:
        options: all that is known, from the environment as well.
        given: the names of those that the command line gives.

    Raises:
        _UsageError: two that contradict each other come from the same of the two.
    """
    opening = [name for name in _OPENING if getattr(options, name) is not None and getattr(options, name) is not False]
    if not options.no_control or not opening:
        return
    closed_here = "no_control" in given
    rivals = [name for name in opening if (name in given) is closed_here]
    if not closed_here and given.intersection(opening):
        options.no_control = None
    elif rivals:
        written = flag_of if closed_here else variable_of
        raise _UsageError(
            f"expected {written(rivals[0])} or {written('no_control')}, not both: "
            "the one is for a control door that is open, the other closes it"
        )


def run(arguments: Sequence[str], stdout: TextIO, stderr: TextIO) -> int:
    """Carry out a command line.

    Args:
        arguments: what follows the name of the command.
        stdout: where results and the request log go.
        stderr: where the one sentence about what is wrong goes.

    Returns:
        The exit code: 0, or 2 when the arguments can't be right or the port is taken; ``verify`` has 1 and 3 as well.
    """
    try:
        try:
            with contextlib.redirect_stdout(stdout):  # --help and --version print by themselves
                options = _parse(arguments)
        except SystemExit:
            return 0  # they were asked for: errors raise _UsageError
        return _carry_out(options, stdout, stderr)
    except (_UsageError, PetStoreMockError) as error:
        print(f"petstore-mock: {error}", file=stderr)
        return BAD_USAGE


def _carry_out(options: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    if options.command == "serve":
        from petstore_mock.cli.serve import ServeOptions, serve  # noqa: PLC0415  # asyncio, only where it is needed

        given = {action.dest: getattr(options, action.dest) for action in options.serve_options}
        chosen = ServeOptions(**{name: value for name, value in given.items() if value is not None})
        try:
            return serve(chosen, stdout, stderr)
        except PetStoreMockError as error:
            if not options.variables:
                raise
            raise PetStoreMockError(f"{error} (the environment sets {', '.join(options.variables)})") from error
    if options.command in {"verify", "learn"}:
        _write_utf_8(stdout)
        return (verify if options.command == "verify" else learn)(options, stdout, stderr)
    if options.command == "ready":
        from petstore_mock.cli.ready import ready  # noqa: PLC0415  # as above

        return ready(options.url, options.timeout, stdout, options.tls_ca)
    if options.command == "gaps":
        from petstore_mock.cli.gaps import render_gaps  # noqa: PLC0415  # as above

        if options.format != "table":
            _write_utf_8(stdout)
        stdout.write(render_gaps(options.format))
    else:
        import json  # noqa: PLC0415  # as above

        from petstore_mock.contract.openapi import openapi_document  # noqa: PLC0415  # as above
        from petstore_mock.contract.schemas import default_schemas  # noqa: PLC0415

        _write_utf_8(stdout)
        document = openapi_document(default_schemas(), server=options.server)
        stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return 0


def _write_utf_8(stdout: TextIO) -> None:
    """Let a document, which programs read, be UTF-8 (RFC 8259 §8.1) where the locale's encoding is another.

    That is so on Windows above all, for whatever is no terminal. A terminal is for people, and gets what it can show.
    """
    reconfigure = getattr(stdout, "reconfigure", None)
    if reconfigure is not None and not stdout.isatty():
        reconfigure(encoding="utf-8")


def _open_closed_streams() -> None:
    """Let what is written to a stream that was closed for us (``>&-``) go nowhere.

    The first sockets would take its descriptor otherwise, and uvloop aborts when it is to close one below 3.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free is this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r", encoding="utf-8"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with ``arguments``, or those of the process, and return its exit code."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")  # a name from a request must not end the server
    try:
        code = run(sys.argv[1:] if arguments is None else arguments, sys.stdout, sys.stderr)
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # as in `petstore-mock gaps | head`
            sys.stderr.write(f"petstore-mock: {error.strerror or error}\n")  # most of all that the disk is full
        with contextlib.suppress(OSError, ValueError):  # else Python complains once more at its exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNWRITTEN
    except KeyboardInterrupt:  # before the server was up, or a second Ctrl-C while it stops
        return INTERRUPTED
    return code
