"""The journal as text, also as a note of an exception (PEP 678).

Clients may send hostile text, so every line is printable and keys are masked.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import cut, printable
from petstore_mock.common.values import counted, grouped
from petstore_mock.errors import ContractViolationError, VerificationError
from petstore_mock.journal.curl import curl_line
from petstore_mock.journal.exchange import is_unexpected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from petstore_mock.journal.exchange import Exchange

_WIDEST: Final = 60  # characters of a column; a longer cell shifts only its own line
_LINES: Final = 50  # newest requests in a report
_DETAILS: Final = 10  # violations shown in full
_PROBLEMS: Final = 120  # problems in one error; a client in a loop may break a rule thousands of times
_SHOWN: Final = 500  # characters of a reason


def journal_text(exchanges: Iterable[Exchange], notes: Iterable[str] = ()) -> str:
    """Return the report of a journal: a line for each of the newest requests, then the unexpected violations."""
    known = list(exchanges)
    newest = known[-_LINES:]
    lines = [*left_out(newest), *request_lines(newest)] or ["no requests"]
    lines += map(printable, notes)
    groups = _by_rules(known)
    for group in groups[:_DETAILS]:
        lines += ["", *_group_lines(group)]
    more = len(groups) - _DETAILS
    if more > 0:
        lines += ["", f"and {counted(more, 'more kind')} of violation"]
    return "\n".join(lines)


def left_out(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Yield how many requests were earlier than these, if any, in words."""
    for first in exchanges[:1]:
        if first.number > 1:
            yield f"left out: {counted(first.number - 1, 'earlier request')}"


def _group_lines(group: Sequence[Exchange]) -> list[str]:
    """Return the first violation of a group in full, and the numbers of the others."""
    first, *others = group
    if not others:
        return [violation_text(first)]
    numbers = ", ".join(str(other.number) for other in others[:_DETAILS])
    return [violation_text(first), f"  again in {counted(len(others), 'request')}: {numbers}"]


def _by_rules(exchanges: Iterable[Exchange]) -> list[list[Exchange]]:
    """Return groups of unexpected violations with the same method and operation that broke the same rules."""
    groups: dict[object, list[Exchange]] = {}
    for exchange in filter(is_unexpected, exchanges):
        rules = tuple((violation.path, violation.rule, violation.expected) for violation in exchange.violations)
        kind = (exchange.method, exchange.operation, rules or exchange.reason)
        groups.setdefault(kind, []).append(exchange)
    return list(groups.values())


def request_lines(exchanges: Sequence[Exchange]) -> list[str]:
    """Return a line for each request: number, request, result, milliseconds, operation, and reason, in columns."""
    rows = [_cells(exchange) for exchange in exchanges]
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _cells(exchange: Exchange) -> tuple[str, ...]:
    operation = exchange.operation or "-"
    if exchange.by_expectation:
        operation = "httpserver"
    took = f"{exchange.duration * 1000:.1f} ms"
    return (str(exchange.number), exchange.request_line, exchange.result, took, operation, _remarks(exchange))


def _remarks(exchange: Exchange) -> str:
    """Return why a request was refused or faulted, and what the reader of the journal should know about it."""
    remarks = [*filter(None, (exchange.loss, cut(printable(exchange.why), _SHOWN)))]
    if exchange.is_violation and exchange.expected:
        remarks.append("expected by the test")
    if exchange.cut_body:
        remarks.append(f"request body: {exchange.cut_body}")
    if exchange.cut_response_body:
        remarks.append(f"response body: {exchange.cut_response_body}")
    if exchange.hidden:
        remarks.append(exchange.hidden)
    return "; ".join(remarks)


def violation_text(exchange: Exchange) -> str:
    """Return the sentences and rules that a request broke, and the curl line that repeats the request."""
    lines = [f"request {exchange.number} broke the contract: {exchange.request_line}"]
    shown_first = exchange.violations[:_DETAILS]
    by_sentence = grouped((violation.sentence, exchange.masked(str(violation))) for violation in shown_first)
    if not exchange.violations and exchange.sentence is not None:
        by_sentence[exchange.sentence] = [exchange.reason]
    for sentence, words in by_sentence.items():
        lines.append(f"  §{sentence.section}  {sentence.text}")
        lines += [f"      {line}" for line in words]
    more = len(exchange.violations) + exchange.omitted - _DETAILS
    if more > 0:
        lines.append(f"      and {more} more")
    shown = [*map(printable, lines)]
    curl = curl_line(exchange)
    if curl:
        shown.append(f"  {curl}")
    return "\n".join(shown)


def error_of(problems: Sequence[tuple[str, str]]) -> VerificationError:
    """Return an error that lists the first ``problems`` (pairs of kind and words) and counts the others."""
    lines = [words for _, words in problems[:_PROBLEMS]]
    left = len(problems) - _PROBLEMS
    if left > 0:
        lines.append(f"and {counted(left, 'more problem')}")
    text = "\n".join(lines)
    if {kind for kind, _ in problems} == {"violation"}:
        return ContractViolationError(text)
    return VerificationError(text)


def add_note(error: BaseException, whose: str, report: Callable[[], str], problems: Iterable[str] = ()) -> None:
    """Add the journal as a note to an exception that leaves the block of a mock."""
    message = str(error)
    lines = "\n".join(problems).splitlines()
    also = [f"also: {line}" for line in lines if line not in message]
    if isinstance(error, Exception):
        with suppress(Exception):  # a frozen exception refuses notes; the test must get that exception anyway
            error.add_note("\n".join([f"petstore journal of {whose}:", *also, report()]))
