"""The journal as text for people, and the notes that an exception carries (PEP 678).

Clients may send hostile text: every line here is printable, and keys are masked.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import printable
from petstore_mock.common.values import counted
from petstore_mock.errors import ContractViolationError, VerificationError
from petstore_mock.journal.curl import curl_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from petstore_mock.journal.exchange import Exchange

TITLE: Final = "petstore journal of "

_WIDEST: Final = 60  # characters of a column; a longer target moves only its own line
_LINES: Final = 50  # requests in a report, the newest
_DETAILS: Final = 10  # violations in full
_PROBLEMS: Final = 120  # in one error: a client in a loop may break a rule thousands of times
_SHOWN_REASON: Final = 1000  # characters
_SHOWN_BODY: Final = 500


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def line(exchange: Exchange, *, numbered: bool = False, reason: bool = True) -> str:
    """Return one line: number, method, target, result, milliseconds, operation, and why."""
    number = f"{exchange.number:>3} " if numbered else ""
    operation = f" {exchange.operation}" if exchange.operation is not None else ""
    by = " (httpserver)" if exchange.by_expectation else ""
    why = _why(exchange, f", {exchange.reason}") if reason else ""
    why = f": {printable(_shorten(why, _SHOWN_REASON))}" if why else ""
    milliseconds = f"{exchange.duration * 1000:.1f} ms"
    return f"{number}{exchange.request_line} {exchange.result} {milliseconds}{operation}{by}{why}"


def _why(exchange: Exchange, refusal: str) -> str:
    """Return the fault, or the condition with ``refusal`` behind its name."""
    parts = [f"fault {exchange.fault}"] if exchange.fault is not None else []
    if exchange.condition is not None:
        parts.append(f"{exchange.condition.name}{refusal}")
    if exchange.is_violation and exchange.expected:
        parts.append("expected by the test")
    return exchange.masked("; ".join(parts))


def journal_text(exchanges: Iterable[Exchange], notes: Iterable[str] = ()) -> str:
    """Return the report of a journal: a line for each request, then the violations that the test does not expect."""
    known = list(exchanges)
    lines = [*_earlier(known), *(_table(known[-_LINES:]) or ["no requests"]), *map(printable, notes)]
    broken = _by_breach(exchange for exchange in known if exchange.is_violation and not exchange.expected)
    for first, *others in broken[:_DETAILS]:
        lines += ["", violation_text(first), *_again(others)]
    left = sum(map(len, broken[_DETAILS:]))
    return "\n".join([*lines, *(["", f"... and {left} more requests that broke the contract"] if left else [])])


def _earlier(known: Sequence[Exchange]) -> list[str]:
    lines: list[str] = []
    if known and known[0].number > 1:
        lines.append(f"left out: {counted(known[0].number - 1, 'earlier request')}, since the journal keeps the newest")
    if len(known) > _LINES:
        lines.append(f"... {len(known) - _LINES} earlier requests")
    return lines


def _by_breach(broken: Iterable[Exchange]) -> list[list[Exchange]]:
    found: dict[object, list[Exchange]] = {}
    for exchange in broken:
        rules = tuple((violation.path, violation.rule) for violation in exchange.violations) or exchange.reason
        found.setdefault((exchange.method, exchange.operation, rules), []).append(exchange)
    return list(found.values())


def _again(others: Sequence[Exchange]) -> list[str]:
    if not others:
        return []
    numbers = ", ".join(str(exchange.number) for exchange in others[:_DETAILS])
    more = f" and {len(others) - _DETAILS} more" if len(others) > _DETAILS else ""
    return [f"  again in request{'s' if len(others) > 1 else ''} {numbers}{more}"]


def _table(exchanges: Sequence[Exchange]) -> list[str]:
    rows = [
        (
            f"{exchange.number}",
            exchange.request_line,
            exchange.result,
            f"{exchange.duration * 1000:.1f} ms",
            "httpserver" if exchange.by_expectation else exchange.operation or "-",
            printable(_shorten(_why(exchange, exchange.where), _SHOWN_REASON)),
        )
        for exchange in exchanges
    ]
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:{'>' if column in {0, 3} else '<'}{widths[column]}}" for column, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]


def violation_text(exchange: Exchange) -> str:
    """Return what a request broke: sections and words of the interface, the body, and a curl line to repeat it."""
    lines = [f"request {exchange.number} broke the contract: {exchange.request_line}"]
    told = exchange.violations[:_DETAILS]
    for sentence in dict.fromkeys(violation.sentence for violation in told):
        lines.append(f"  §{sentence.section}  {sentence.text}")
        lines += [f"      {exchange.masked(str(one))}" for one in told if one.sentence == sentence]
    more = len(exchange.violations) + exchange.omitted - _DETAILS
    lines += [f"      and {more} more"] if more > 0 else []
    if not told:
        broken = exchange.sentence
        lines += [f"  §{broken.section}  {broken.text}"] if broken is not None else []
        lines.append(f"      {exchange.reason}")
    lines = [printable(text) for text in [*lines, f"  sent: {_sent(exchange)}"]]
    curl = curl_line(exchange)
    return "\n".join([*lines, f"  {curl}"] if curl else lines)


def _sent(exchange: Exchange) -> str:
    if exchange.request.oversized:
        return "a body over the limit, which is not kept"
    if not exchange.body:
        return "no body"
    text = exchange.masked(exchange.body[: 4 * _SHOWN_BODY].decode("utf-8", "backslashreplace"))
    content_type = exchange.masked(exchange.headers.get("content-type", "no Content-Type"))
    return _shorten(f"{content_type}, {exchange.body_size} bytes: {text}", _SHOWN_BODY)


def error_of(problems: Sequence[tuple[str, str]]) -> VerificationError:
    """Return the error that tells the first of ``problems``, pairs of kind and words, and counts the others."""
    lines = [words for _, words in problems[:_PROBLEMS]]
    more = Counter(kind.replace("_", " ") for kind, _ in problems[_PROBLEMS:])
    text = "\n".join([*lines, *(f"and {counted(count, f'more {kind}')}" for kind, count in more.items())])
    only_violations = all(kind == "violation" for kind, _ in problems)
    return ContractViolationError(text) if only_violations else VerificationError(text)


def add_note(error: BaseException, whose: str, report: Callable[[], str], problems: Iterable[str] = ()) -> None:
    """Add the journal to an exception that leaves the block of a mock."""
    if not isinstance(error, (Exception, AssertionError)):
        return
    said = str(error)
    try:
        also = [f"also: {words}" for problem in problems for words in problem.splitlines() if words not in said]
        text = "\n".join([f"{TITLE}{whose}:", *also, report()])
    except Exception as problem:  # noqa: BLE001  # a bug of the fake must not hide the first failure
        text = f"the journal can't be shown, a bug of petstore_mock: {type(problem).__name__}: {problem}"
    with suppress(Exception):  # a frozen exception takes no notes
        error.add_note(text)
