"""``petstore-mock verify``: checks a service against the contract."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from petstore_mock.common.refusing import refuse, require

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from petstore_mock.verify import Verdict

DESCRIPTION: Final = (
    "Check the responses of a service against every clause of the contract. The exit code is 0 if every observed "
    "clause holds, 1 on a broken clause or drift, 2 for wrong arguments, and 3 if the service could not be checked."
)
# The name, metavar, default and help text of each option that is an argument of verify().
_ARGUMENTS: Final[tuple[tuple[str, str, Any, str], ...]] = (
    ("allow-create", "N", 0, "the largest number of animals to create; no operation can delete them; 0 sends only GET"),
    ("rate", "N", 2.0, "the largest number of requests per second"),
    ("max-requests", "N", 200, "the largest number of requests"),
    ("timeout", "SECONDS", 10.0, "the time for a whole response"),
    ("deadline", "SECONDS", 120.0, "the time for the whole run"),
    ("receipt", "FILE", None, "append a line to this file for each created animal"),
    ("behaviour", "FILE.toml", None, "the recorded choices; other choices are reported as drift"),
)


def add_options(parser: ArgumentParser) -> None:
    add_shared_options(parser)
    parser.add_argument("--verbose", action="store_true", help="also list the clauses that hold, and the gaps")


def add_shared_options(parser: ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="the base address of the service, which ends in /v1")
    words = "a valid API key; repeat it if keys rotate"
    parser.add_argument("--api-key", action="append", default=[], metavar="KEY", help=words)
    parser.add_argument("--api-key-env", metavar="NAME", help="the environment variable that holds the key")
    for name, metavar, default, words in _ARGUMENTS:
        suffix = "" if default is None else " (default: %(default)s)"
        kind: Any = str if default is None else type(default)
        parser.add_argument(f"--{name}", metavar=metavar, default=default, type=kind, help=words + suffix)
    words = "another header field for each request; reports mask its value; can be repeated"
    parser.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", type=_field, help=words)
    parser.add_argument("--plan", action="store_true", help="print every request and send none")
    parser.add_argument("--json", metavar="FILE", help="write the verdict as JSON, whatever the exit code")


def _field(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    return (name, value.strip()) if colon else refuse("expected --header 'NAME: VALUE'; got one without a colon")


def run(options: Namespace, stdout: TextIO, stderr: TextIO) -> int:
    if options.plan:
        return print_plan(options, stdout)
    from petstore_mock.verify.verdict import as_text  # noqa: PLC0415  # --plan and --help do not need it

    verdict = ask(options, stderr)
    stdout.write(as_text(verdict, verbose=options.verbose))
    return verdict.exit_code


def print_plan(options: Namespace, stdout: TextIO) -> int:
    from petstore_mock.verify.probes import plan  # noqa: PLC0415  # as above

    stdout.writelines(f"{line}\n" for line in plan(options.allow_create, options.max_requests))
    return 0


def ask(options: Namespace, stderr: TextIO) -> Verdict:
    """Return the verdict on the service, and write it to the file that the options name."""
    from petstore_mock.verify import verify  # noqa: PLC0415  # as above
    from petstore_mock.verify.verdict import json_text  # noqa: PLC0415  # as above

    if options.json is not None:
        require_writable(options.json, "--json")
    names = [name.replace("-", "_") for name, *_ in _ARGUMENTS]

    def progress(line: str) -> None:
        print(f"\r\x1b[K{line[:70]}", end="", file=stderr, flush=True)

    verdict = verify(
        options.url,
        api_key=_keys(options),
        headers=dict(options.header),
        progress=progress if stderr.isatty() else None,
        **{name: getattr(options, name) for name in names},
    )
    if options.json is not None:
        Path(options.json).write_text(json_text(verdict), encoding="utf-8")
    return verdict


def _keys(options: Namespace) -> list[str]:
    keys: list[str] = [*options.api_key]
    if options.api_key_env is not None:
        found = os.environ.get(options.api_key_env)
        keys.insert(0, found or refuse(f"expected a key in the variable {options.api_key_env}; it is empty or not set"))
    return keys or refuse("expected an API key; pass --api-key-env with the name of a variable that holds it")


def require_writable(file: str, option: str) -> None:
    """Refuse a file that can't be written, before the run and not after it."""
    path = Path(file)
    can_write = os.access(path if path.exists() else path.parent, os.W_OK)
    require(can_write and not path.is_dir(), f"a writable file for {option}", file=file)
