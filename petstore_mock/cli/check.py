"""``petstore-mock check``: finds the bugs of a client in any language, through its adapter."""

from __future__ import annotations

import json
import re
import shlex
import signal
import threading
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from random import randrange
from typing import TYPE_CHECKING, Final, NoReturn, TextIO

from petstore_mock.adapter import telling
from petstore_mock.adapter.checking import NOT_APPLIED, AdapterOptions, bugs_of, replayed
from petstore_mock.adapter.process import EndedError
from petstore_mock.adapter.program import AdapterProgram
from petstore_mock.adapter.protocol import ClientError
from petstore_mock.checks import Policy
from petstore_mock.cli.signals import handling
from petstore_mock.common.refusing import one_of, refuse, require
from petstore_mock.common.values import write_text
from petstore_mock.interface import schemas
from petstore_mock.interface.table import OPERATIONS, in_words

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Generator, Mapping, Sequence

    from petstore_mock.common.values import JsonObject
    from petstore_mock.stateful.report import Bug
    from petstore_mock.stateful.run import CheckReport

DESCRIPTION: Final = (
    "Find the bugs of a client in any language. COMMAND starts the adapter of the client, a program that makes its "
    "calls: petstore-mock check -- node adapter.mjs. The exit code is 0 if no bug was found, 1 on a bug or an "
    "incomplete pass, and 2 for wrong arguments or an adapter that breaks the protocol."
)
_EXAMPLES: Final = 200
_FOUND: Final = 1
# These decide what a scenario shows, so a scenario file keeps them.
_KEPT: Final = ("patience", "longest_wait", "retries", "tls", "concurrent")
_ENDING: Final = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def add_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("command", metavar="COMMAND", nargs="+", help="the command that starts the adapter, after --")
    add("--examples", metavar="N", type=int, help=f"the number of drawn examples (default: {_EXAMPLES})")
    add("--seconds", metavar="S", type=float, help="the seconds after which no further example begins")
    add("--seed", metavar="N", type=int, help="draw the same examples as an earlier run, which prints its seed")
    add("--vary", metavar="GAP,...", type=_names, help="the gaps that vary; empty for none (default: all)")
    add("--faults", metavar="none", choices=["none"], help="let no request meet a fault")
    add("--concurrent", action="store_true", help="also make two calls of one client at once")
    words = "also the complete pass: every single fault, and pairs of faults in one call; exit with 1 if one is left"
    add("--complete", action="store_true", help=words)
    add("--longest-wait", metavar="S", type=float, help="the longest Retry-After that the client waits for, in seconds")
    words = "what the client promises about its retries, such as 3,base=0.1,on=429+503+timeout: the attempts first"
    add("--retries", metavar="N,...", help=words)
    add("--limits", metavar="A..B", type=_range, help="the limits that lists ask for")
    words = "how long a call may wait for a response that never comes, in seconds (default: %(default)s)"
    add("--patience", metavar="S", type=float, default=2.0, help=words)
    add("--tls", action="store_true", help="serve https; the adapter gets the file of the certificate authority as ca")
    add("--ignore", metavar="RULE", action="append", default=[], help="a rule that does not count; can be repeated")
    add("--first", action="store_true", help="stop at the first bug")
    words = "the file for the scenarios of the bugs, which --replay plays again (default: %(default)s)"
    add("--scenario", metavar="FILE", type=Path, default=Path("petstore-check.json"), help=words)
    add("--replay", metavar="FILE", type=Path, help="play only the scenarios in this file")
    add("--json", metavar="FILE", type=Path, help="write the report as JSON, unless the exit code is 2")


def _names(text: str) -> list[str]:
    return [*filter(None, map(str.strip, text.split(",")))]


def _range(text: str) -> tuple[int, int]:
    numbers = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    if numbers is None or int(numbers[1]) > int(numbers[2]):
        refuse(f"expected --limits as two numbers, such as 1..50; got {text!r}")
    return int(numbers[1]), int(numbers[2])


def _policy(text: str | None) -> Policy | None:
    if text is None:
        return None
    attempts, *others = text.split(",")
    promised: JsonObject = {"attempts": _value(attempts)}
    for part in others:
        name, _, value = part.partition("=")
        one_of(name, Policy.__dataclass_fields__, "promise in --retries")
        promised[name] = [_value(one) for one in value.split("+")] if name == "on" else _value(value)
    return Policy(**promised)


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def run(given: Namespace, stdout: TextIO, _: TextIO) -> int:
    recorded = None if given.replay is None else telling.read(given.replay)
    if recorded is not None:
        for name in _KEPT:
            setattr(given, name, recorded.options.get(name))
    _require_options(given)
    try:
        with _interrupted_by_signals() as interrupted, _program(given) as program:
            interrupted.append(program.interrupt)
            report: CheckReport | None = None
            if recorded is None:
                report, bugs = _checked(given, program, stdout)
            else:
                bugs = replayed(AdapterOptions(program, **_shared(given)), recorded.scenarios)
    except (ClientError, EndedError) as error:
        refuse(f"expected open to make a client; got {type(error).__name__}: {error}")
    _write(given, report, bugs)
    return _told(given, report, bugs, stdout)


def _checked(given: Namespace, program: AdapterProgram, stdout: TextIO) -> tuple[CheckReport, list[Bug]]:
    """Check the client, and print the summary of the run."""
    seed = randrange(1 << 32) if given.seed is None else given.seed
    report, bugs = bugs_of(AdapterOptions(program, seed=seed, **_options(given)))
    print(_summary(report, program, seed, is_whole=not bugs), file=stdout)
    return report, bugs


def _program(given: Namespace) -> AdapterProgram:
    program = AdapterProgram(given.command, given.patience, concurrent=given.concurrent)
    if given.concurrent and not program.hello.concurrent:
        program.interrupt()
        refuse('expected an adapter that says "concurrent": true for --concurrent; got one that does not')
    return program


def _require_options(given: Namespace) -> None:
    _policy(given.retries)
    for name in ("examples", "seconds", "longest_wait", "patience"):
        value = getattr(given, name)
        require(value is None or value > 0, f"--{name.replace('_', '-')} above 0", value=value)
    if given.replay is None and find_spec("hypothesis") is None:
        refuse("expected Hypothesis, which draws the examples; got none: install petstore-mock[hypothesis]")


def _shared(given: Namespace) -> JsonObject:
    """Return the options that a replay has too."""
    shared = {name: getattr(given, name) for name in _KEPT}
    return {**shared, "retries": _policy(given.retries), "ignore": given.ignore}


def _options(given: Namespace) -> JsonObject:
    from hypothesis import settings  # a replay needs no Hypothesis

    usual = None if given.seconds is not None else _EXAMPLES
    options = _shared(given)
    if given.faults:
        options["faults"] = ()
    if given.complete:
        options["complete"] = "faults"
    return options | {
        "max_examples": given.examples or usual,
        "max_seconds": given.seconds,
        "vary": given.vary,
        "arguments": _arguments(given.limits),
        "first": given.first,
        "settings": settings(database=None),
    }


def _arguments(limits: tuple[int, int] | None) -> Mapping[str, object] | None:
    """Return strategies for the arguments of the operations that have a limit."""
    if limits is None:
        return None
    from hypothesis import strategies as st

    from petstore_mock.strategies.values import values

    strategies: JsonObject = {}
    for row in OPERATIONS.values():
        if row.limit is None:
            continue
        drawn = {name: values(rules) for name, rules in schemas.arguments(row).items()}
        drawn[row.limit.name] = st.integers(*limits)
        required = {name: drawn.pop(name) for name in schemas.required_arguments(row)}
        strategies[row.name] = st.fixed_dictionaries(required, optional=drawn)
    return strategies


@contextmanager
def _interrupted_by_signals() -> Generator[list[Callable[[], object]]]:
    """Let signals end this program as Ctrl-C does. Before that, the program calls the functions in the given list."""
    functions: list[Callable[[], object]] = []

    def interrupt(_: int, __: object) -> NoReturn:
        for function in functions:
            function()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield functions
        return
    with handling(_ENDING, interrupt):
        yield functions


def _summary(report: CheckReport, program: AdapterProgram, seed: int, *, is_whole: bool) -> str:
    apart = in_words(check.name for check in NOT_APPLIED)
    text = str(report) if is_whole else str(report).partition("\n")[0]
    lines: list[str] = []
    if program.hello.name:
        lines.append(f"adapter: {program.hello.name}")
    lines += [text, f"not checked, because the client runs in another process: {apart}", f"seed: {seed}"]
    return "\n".join(lines)


def _write(given: Namespace, report: CheckReport | None, bugs: Sequence[Bug]) -> None:
    if given.json is not None:
        write_text(given.json, telling.as_json(given.command, report, bugs))
    if bugs and given.replay is None:
        options = {name: getattr(given, name) for name in _KEPT}
        write_text(given.scenario, telling.recorded(options, bugs))


def _told(given: Namespace, report: CheckReport | None, bugs: Sequence[Bug], stdout: TextIO) -> int:
    """Print the bugs, and return the exit code."""
    if bugs:
        print(f"\n{telling.bugs_as_text(bugs)}", file=stdout)
        if given.replay is None:
            command = shlex.join(given.command)
            print(f"\nPlay them again: petstore-mock check --replay {given.scenario} -- {command}", file=stdout)
        print("Switch a rule off: --ignore 'RULE'", file=stdout)
        return _FOUND
    if report is None:
        print("No recorded bug shows any more.", file=stdout)
        return 0
    if given.complete and report.gap_of_coverage:
        print(report.gap_of_coverage, file=stdout)
        return _FOUND
    print("No bug was found.", file=stdout)
    return 0
