"""``petstore-mock verify``: holds a service against the contract."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from petstore_mock.common.refusing import refuse, shown

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from petstore_mock.verify import Verdict

DESCRIPTION: Final = (
    "Ask a service, as a guest does, and hold its responses against every clause of the contract. Exits 0 if what was "
    "seen holds, 1 if the contract or the recorded behaviour is broken, 2 for wrong arguments, 3 if it could not be "
    "checked."
)
URL_WORDS: Final = "the service's base address, which ends in /v1"
_CLEAR_LINE: Final = "\r\x1b[K"
_CREATE_WORDS: Final = "how many animals may be left behind: nothing can delete them (default: 0, only GET is sent)"
# The name, the metavar, the default and the words of each option that takes a number.
_NUMBERS: Final = (
    ("--allow-create", "N", 0, _CREATE_WORDS),
    ("--rate", "N", 2.0, "requests a second, at most (default: %(default)s)"),
    ("--max-requests", "N", 200, "requests in all, at most (default: %(default)s)"),
    ("--timeout", "SECONDS", 10.0, "until a response must be whole (default: %(default)s)"),
    ("--deadline", "SECONDS", 120.0, "that the whole run may take (default: %(default)s)"),
)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help=URL_WORDS)
    add_shared_options(parser)
    parser.add_argument("--verbose", action="store_true", help="list the clauses that hold and the gaps as well")


def add_shared_options(parser: ArgumentParser) -> None:
    words = "a valid API key; twice, where keys rotate"
    parser.add_argument("--api-key", action="append", default=[], metavar="KEY", help=words)
    parser.add_argument("--api-key-env", metavar="NAME", help="the environment variable that holds the key")
    for name, metavar, default, words in _NUMBERS:
        parser.add_argument(name, metavar=metavar, default=default, type=_number, help=words)
    words = "a further header of each request, left out of reports; repeat it for several"
    parser.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", type=_field, help=words)
    parser.add_argument("--receipt", metavar="FILE", help="a file that gets a line for each created animal")
    parser.add_argument("--plan", action="store_true", help="print every request, and send none")
    words = "choices that the service is to make still: else drift"
    parser.add_argument("--behaviour", metavar="FILE.toml", help=words)
    parser.add_argument("--json", metavar="FILE", help="write the record, whatever the exit code")
    parser.add_argument("--junit", metavar="FILE", help="write a report for CI")


def _number(text: str) -> float:
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        refuse(f"expected a number; got {shown(text)}")


def _field(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    return (name, value.strip()) if colon else refuse("expected --header 'NAME: VALUE'; got one without a colon")


def run(options: Namespace, stdout: TextIO, stderr: TextIO) -> int:
    if options.plan:
        return print_plan(options, stdout)
    from petstore_mock.verify.verdict import as_text  # noqa: PLC0415  # --plan and --help need none

    verdict = ask(options, options.url, stderr)
    stdout.write(as_text(verdict, verbose=options.verbose))
    return verdict.exit_code


def ask(options: Namespace, url: str, stderr: TextIO) -> Verdict:
    """Ask the service, and write the reports that are wanted."""
    from petstore_mock.verify import verify  # noqa: PLC0415  # as above
    from petstore_mock.verify.verdict import as_junit, json_text  # noqa: PLC0415  # as above

    wanted = {"json": json_text, "junit": as_junit}
    files = {name: file for name in wanted if (file := getattr(options, name)) is not None}
    for name, file in files.items():
        require_writable(file, f"--{name}")
    given: dict[str, Any] = {name.strip("-").replace("-", "_"): None for name, *_ in _NUMBERS}
    given = {name: getattr(options, name) for name in (*given, "receipt", "behaviour")}
    shows = stderr.isatty()

    def progress(line: str) -> None:
        stderr.write(f"{_CLEAR_LINE}{line[:70]}")
        stderr.flush()

    given["headers"] = dict(options.header)
    verdict = verify(url, api_key=_keys(options), progress=progress if shows else None, **given)
    stderr.write(_CLEAR_LINE if shows else "")
    for name, file in files.items():
        Path(file).write_text(wanted[name](verdict), encoding="utf-8")
    return verdict


def _keys(options: Namespace) -> list[str]:
    keys: list[str] = [*options.api_key]
    if options.api_key_env is not None:
        found = os.environ.get(options.api_key_env)
        state = "not set" if found is None else "empty"
        keys.insert(0, found or refuse(f"expected a key in the variable {options.api_key_env}; it is {state}"))
    return keys or refuse("expected a key: name the environment variable that holds it by --api-key-env NAME")


def require_writable(file: str, option: str) -> None:
    """Refuse before anything is asked, rather than lose a report after."""
    path = Path(file)
    is_new = not path.exists()
    try:
        path.open("a", encoding="utf-8").close()
        if is_new:
            path.unlink()
    except OSError as error:
        refuse(f"expected a file to write to; got {option} {file}: {error.strerror}")


def print_plan(options: Namespace, stdout: TextIO) -> int:
    from petstore_mock.verify.probes import plan  # noqa: PLC0415  # as above

    stdout.writelines(f"{line}\n" for line in plan(options.allow_create, options.max_requests))
    return 0
