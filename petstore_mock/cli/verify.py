"""``petstore-mock verify``: checks a service against the contract."""

from __future__ import annotations

import os
from inspect import signature
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from petstore_mock.cli.arguments import flag
from petstore_mock.common.refusing import refuse, require
from petstore_mock.common.values import without_none
from petstore_mock.core.options import options_at
from petstore_mock.verify import verify
from petstore_mock.verify.clauses import plan
from petstore_mock.verify.verdict import HOLDS, as_text, json_text, junit_text

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from petstore_mock.verify import Verdict

DESCRIPTION: Final = (
    "Check the responses of a service against every clause of the contract. The exit code is 0 if every observed "
    "clause holds, 1 on a broken clause or drift, 2 for wrong arguments, and 3 if the service could not be checked."
)


_COLUMNS: Final = 100


def add_options(parser: ArgumentParser) -> None:
    add_shared_options(parser)
    parser.add_argument("--verbose", action="store_true", help="list all clauses and gaps, and shorten nothing")


def add_shared_options(parser: ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="the base address of the service, which ends in /v1")
    parser.add_argument("--api-key", metavar="KEY", help="a valid API key")
    parser.add_argument("--api-key-env", metavar="NAME", help="the environment variable that holds the key")
    arguments = signature(verify).parameters
    for name, option in options_at("verify").items():
        words = option.words
        default = arguments[name].default
        read: Any = str
        if default is not None:
            words += " (default: %(default)s)"
            read = cast("Any", type(default))
        parser.add_argument(flag(name), metavar=option.metavar, help=words, type=read, default=default)
    words = "another header field for each request; can be repeated"
    parser.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", type=_field, help=words)
    words = "reports mask the value of this --header, as of those whose names suggest a secret; can be repeated"
    parser.add_argument("--secret-header", action="append", default=[], metavar="NAME", help=words)
    parser.add_argument("--plan", action="store_true", help="print the planned requests and send none")
    parser.add_argument("--json", metavar="FILE", help="write the verdict as JSON, unless the exit code is 2")
    parser.add_argument("--junit", metavar="FILE", help="write the verdict as JUnit XML, unless the exit code is 2")


def _field(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        refuse("expected --header 'NAME: VALUE'; got one without a colon")
    return name, value.strip()


def run(options: Namespace, stdout: TextIO, stderr: TextIO) -> int:
    verdict = ask(options, stdout, stderr)
    if verdict is None:
        return HOLDS
    columns = min(get_terminal_size((_COLUMNS, 0)).columns, _COLUMNS)
    stdout.write(as_text(verdict, verbose=options.verbose, columns=columns))
    return verdict.exit_code


def ask(options: Namespace, stdout: TextIO, stderr: TextIO) -> Verdict | None:
    """Return the verdict on the service, and write the reports that options name. With --plan, only print the plan."""
    files = _output_files(options)
    if options.plan:
        _print_plan(options, files, stdout)
        return None
    for name, path in files.items():
        # A run may take minutes, so we look at the files before it.
        place = path if path.exists() else path.parent
        can_write = os.access(place, os.W_OK) and not path.is_dir()
        require(can_write, f"a writable file for --{name}", file=str(path))

    def progress(line: str) -> None:
        print(f"\r\x1b[K{line[:70]}", end="", file=stderr, flush=True)

    verdict = verify(
        options.url,
        api_key=_key(options),
        headers=dict(options.header),
        secret_headers=options.secret_header,
        progress=progress if stderr.isatty() else None,
        **{name: getattr(options, name) for name in options_at("verify")},
    )
    for name, as_file in (("json", json_text), ("junit", junit_text)):
        if name in files:
            files[name].write_text(as_file(verdict), encoding="utf-8")
    return verdict


def _output_files(options: Namespace) -> dict[str, Path]:
    """Return the files that options name, by the name of the option."""
    files = {name: getattr(options, name, None) for name in ("json", "junit", "output")}
    return {name: Path(file) for name, file in without_none(files).items()}


def _print_plan(options: Namespace, files: Mapping[str, Path], stdout: TextIO) -> None:
    names = [*files]
    if options.receipt is not None:
        names.append("receipt")
    if names:
        got = " ".join(flag(name) for name in names)
        refuse(f"expected no output file with --plan, which sends no request; got {got}")
    for line in plan(options.allow_create, options.max_requests):
        print(line, file=stdout)


def _key(options: Namespace) -> str:
    variable = options.api_key_env
    if variable is None:
        key: str | None = options.api_key
        return key or refuse("expected an API key; pass --api-key-env with the name of a variable that holds it")
    # Whoever passes the key itself as the name does not want to see it here.
    name = variable if variable.isupper() else "that --api-key-env names"
    return os.environ.get(variable) or refuse(f"expected a key in the variable {name}; it is empty or not set")
