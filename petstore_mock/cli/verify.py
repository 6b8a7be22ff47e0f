"""``petstore-mock verify`` and ``petstore-mock learn``: their options, what they write where, and how they exit."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.verify import Learned, Verdict

__all__ = ["add_learn_options", "add_verify_options", "learn", "positive", "verify"]

_CLEAR_LINE: Final = "\r\x1b[K"


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise argparse.ArgumentTypeError(f"expected a number from 0 up; got {text!r}")
    return int(text)


def positive(text: str) -> float:
    """Return seconds, or a rate, that the clocks of all systems can count.

    Raises:
        argparse.ArgumentTypeError: it is no such number.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1e-9 <= number < 1e9:  # thirty years; a NaN is none of both
        raise argparse.ArgumentTypeError(
            f"expected a number more than 0 (a billionth at least) and less than a billion; got {text!r}"
        )
    return number


def add_verify_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``verify``."""
    parser.add_argument("url", metavar="URL", help="the service's base address, which ends in /v1")
    _add_shared_options(parser)


def add_learn_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``learn``."""
    parser.add_argument("url", metavar="URL", nargs="?", help="the service's base address, which ends in /v1")
    parser.add_argument("-o", "--output", metavar="FILE.toml", help="where the behaviour goes (default: printed)")
    parser.add_argument("--har", metavar="FILE", help="learn from recorded traffic, and ask nobody")
    parser.add_argument("--url", dest="base", metavar="URL", help="the base address in a recording of several")
    _add_shared_options(parser)


def _add_shared_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--api-key", action="append", default=[], metavar="KEY", help="a valid API key; twice, where keys rotate"
    )
    parser.add_argument("--api-key-env", metavar="NAME", help="the environment variable that holds the key")
    parser.add_argument(
        "--allow-create",
        type=_count,
        default=0,
        metavar="N",
        help="how many animals may be left behind: nothing can delete them (default: %(default)s, only GET is sent)",
    )
    parser.add_argument("--receipt", metavar="FILE", help="a file that gets a line for each created animal")
    parser.add_argument("--plan", action="store_true", help="print every request, and send none")
    parser.add_argument(
        "--rate", type=positive, default=2.0, metavar="N", help="requests a second, at most (default: %(default)s)"
    )
    parser.add_argument(
        "--max-requests", type=_count, default=200, metavar="N", help="requests in all, at most (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout", type=positive, default=10.0, metavar="SECONDS", help="for an answer (default: %(default)s)"
    )
    parser.add_argument(
        "--behaviour", metavar="FILE.toml", help="choices that the service is to make still: else drift"
    )
    parser.add_argument("--json", metavar="FILE", help="write the record, whatever the exit code")
    parser.add_argument("--junit", metavar="FILE", help="write a report for CI")


def verify(options: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Carry out ``verify``, and return its exit code.

    Raises:
        PetStoreMockError: the arguments can't be right.
    """
    if options.plan:
        _print_plan(options, stdout)
        return 0
    verdict = _run(options, options.url, stderr)
    stdout.write(str(verdict))
    return verdict.exit_code


def learn(options: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Carry out ``learn``, and return its exit code.

    Raises:
        PetStoreMockError: the arguments can't be right.
    """
    from petstore_mock.verify.learned import learned_from  # noqa: PLC0415  # only for those who ask

    if options.plan:
        _print_plan(options, stdout)
        return 0
    if options.output is not None:
        _require_writable(options.output, "--output")
    if options.har is not None:
        from petstore_mock.verify import learn as learn_from  # noqa: PLC0415  # as above

        learned = learn_from(options.base or options.url, har=options.har)
    else:
        url = options.url or options.base
        if url is None:
            raise PetStoreMockError("expected the URL of a service, or a recording by --har (see 'learn --help')")
        learned = learned_from(_run(options, url, stderr))
    return _deliver(learned, options, stdout, stderr)


def _deliver(learned: Learned, options: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    from petstore_mock.verify.verdict import BROKEN, COULD_NOT_CHECK, HOLDS  # noqa: PLC0415  # as above

    text = learned.to_toml()
    if options.output is not None and not learned.choices:  # what an earlier run has learned is worth more
        why = "".join(f": {note}" for note in learned.notes)
        stderr.write(f"petstore-mock: nothing could be learned{why}; {options.output} is as it was\n")
    elif options.output is None:
        stdout.write(text)
    else:
        Path(options.output).write_text(text, encoding="utf-8")
        stdout.write(f"{options.output}: {len(learned.choices)} of {len(learned.gaps)} gaps from {learned.source}\n")
    verdict = learned.verdict
    if verdict is not None and verdict.broken:
        names = ", ".join(clause.id for clause in verdict.broken)
        stderr.write(f"petstore-mock: the service breaks {names} (see 'petstore-mock verify')\n")
    if verdict is not None and verdict.drift:
        return BROKEN
    return HOLDS if learned.choices else COULD_NOT_CHECK


def _run(options: argparse.Namespace, url: str, stderr: TextIO) -> Verdict:
    """Ask the service, and write the reports that are wanted."""
    from petstore_mock.verify import reports  # noqa: PLC0415  # as above
    from petstore_mock.verify import verify as ask  # noqa: PLC0415

    wanted: tuple[tuple[str, Callable[[Verdict], str]], ...] = (
        ("json", reports.json_text),
        ("junit", reports.as_junit),
    )
    for name, _ in wanted:
        if (file := getattr(options, name)) is not None:
            _require_writable(file, f"--{name}")
    shows = stderr.isatty()

    def progress(line: str) -> None:
        stderr.write(f"{_CLEAR_LINE}{line[:70]}")
        stderr.flush()

    verdict = ask(
        url,
        api_key=_keys(options),
        allow_create=options.allow_create,
        rate=options.rate,
        max_requests=options.max_requests,
        timeout=options.timeout,
        receipt=options.receipt,
        behaviour=options.behaviour,
        progress=progress if shows else None,
    )
    if shows:
        stderr.write(_CLEAR_LINE)
    for name, render in wanted:
        if (file := getattr(options, name)) is not None:
            Path(file).write_text(render(verdict), encoding="utf-8")
    return verdict


def _keys(options: argparse.Namespace) -> list[str]:
    keys = list(options.api_key)
    if options.api_key_env is not None:
        found = os.environ.get(options.api_key_env)
        if not found:
            raise PetStoreMockError(
                f"expected a key in the environment variable {options.api_key_env}; it is "
                f"{'empty' if found is not None else 'not set'}"
            )
        keys.insert(0, found)
    if not keys:
        raise PetStoreMockError("expected a key: name the environment variable that holds it by --api-key-env NAME")
    return keys


def _require_writable(file: str, option: str) -> None:
    """Raise before anything is asked, rather than lose a report after."""
    path = Path(file)
    is_new = not path.exists()
    try:
        with path.open("a", encoding="utf-8"):
            pass
        if is_new:
            path.unlink()
    except OSError as error:
        raise PetStoreMockError(f"expected a file to write to; got {option} {file}: {error.strerror}") from None


def _print_plan(options: argparse.Namespace, stdout: TextIO) -> None:
    from petstore_mock.verify.checking import plan  # noqa: PLC0415  # as above

    stdout.writelines(
        f"{line}\n" for line in plan(allow_create=options.allow_create, max_requests=options.max_requests)
    )
