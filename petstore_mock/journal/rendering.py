"""The journal as text for people: a line for each request, and what each violation was, with a ``curl`` to repeat it.

Whatever a client sent may stand in these lines, so everything is printable in them and no key is.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import printable
from petstore_mock.common.wording import counted
from petstore_mock.journal.urls import base_url_of, url_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from petstore_mock.journal.entry import Entry
    from petstore_mock.messages.handshake import Handshake

__all__ = [
    "around_duration",
    "left_out",
    "render_curl",
    "render_handshakes",
    "render_journal",
    "render_kept",
    "render_line",
    "render_violation",
]

_WIDEST: Final = 60  # of a column; a longer target pushes only its own line to the right
_LINES: Final = 50  # requests listed; a test that sends more is read from its end
_DETAILS: Final = 10  # violations told in full
_SHOWN_REASON: Final = 1000  # characters
_SHOWN_BODY: Final = 500
_CURL_BODY: Final = 2000  # bytes; a longer one is not pasted but read
# Fields that curl makes itself, or that say how a client reads and not what it asks for.
_NOT_REPEATED: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    }
)
_KEY_VARIABLE: Final = "PETSTORE_KEY"


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def render_line(entry: Entry, *, numbered: bool = False, reason: bool = True) -> str:
    """Return one line on a request: method, target, status or outcome, milliseconds, operation and why.

    Args:
        entry: the request.
        numbered: begin with its number in the journal.
        reason: end with why it was refused, or with the fault.
    """
    number = f"{entry.number:>3} " if numbered else ""
    before, behind = around_duration(entry, reason=reason)
    return f"{number}{before}{entry.duration * 1000:.1f}{behind}"


def around_duration(entry: Entry, *, reason: bool = True) -> tuple[str, str]:
    """Return what stands in the line on a request before its milliseconds and behind them."""
    by = f" {entry.operation}" if entry.operation is not None else ""
    if entry.by_expectation:
        by += " (httpserver)"
    why = _why(entry, f", {entry.reason}") if reason else ""
    if why:
        why = f": {printable(_shorten(why, _SHOWN_REASON))}"
    return f"{entry.request_line} {_result(entry)} ", f" ms{by}{why}"


def _result(entry: Entry) -> str:
    """Return the status, and what became of the answer if it did not go out whole and at once."""
    if entry.status is None:
        return entry.outcome or "unanswered"
    return f"{entry.status} ({entry.outcome})" if entry.outcome else str(entry.status)


def _why(entry: Entry, refusal: str) -> str:
    """Return what came in the way of a request: the fault, or the condition with ``refusal`` behind its name."""
    parts = [f"fault {entry.fault}"] if entry.fault is not None else []
    if entry.condition is not None:
        parts.append(f"{entry.condition.name}{refusal}")
    if entry.is_violation and entry.expected:
        parts.append("expected by the test")
    return "; ".join(parts)


def render_journal(entries: Iterable[Entry]) -> str:
    """Return the report of ``entries``: one line for each, then every violation that the test did not expect.

    The latest 50 requests are listed. Of all of them, the first ten that broke the contract in one way each are told in
    full, with the numbers of those that did it again.
    """
    known = list(entries)
    if not known:
        return "no requests"
    lines = _table(known[-_LINES:])
    if len(known) > _LINES:
        lines.insert(0, f"... {len(known) - _LINES} earlier requests")
    broken = _by_breach(entry for entry in known if entry.is_violation and not entry.expected)
    for first, *others in broken[:_DETAILS]:
        lines += ["", render_violation(first), *_again(others)]
    left = sum(map(len, broken[_DETAILS:]))
    if left:
        lines += ["", f"... and {left} more requests that broke the contract"]
    return "\n".join(lines)


def render_kept(entries: Sequence[Entry]) -> str:
    """Return the report of what a journal still has, and how much came before it."""
    gone = left_out(entries)
    report = render_journal(entries)
    return f"{gone}, since the journal keeps the latest\n{report}" if gone else report


def left_out(entries: Sequence[Entry]) -> str:
    """Say how many requests came before ``entries``; empty for none."""
    gone = entries[0].number - 1 if entries else 0
    return f"left out: {counted(gone, 'earlier request')}" if gone else ""


def render_handshakes(handshakes: Iterable[Handshake]) -> list[str]:
    """Return a line for each of the latest TLS handshakes that did not go as handshakes go."""
    odd = [one for one in handshakes if one.flaw is not None or one.alert is not None or not one.complete]
    return [str(one) for one in odd[-_LINES:]]


def _by_breach(broken: Iterable[Entry]) -> list[list[Entry]]:
    """Return the requests by what they broke: a client that breaks the contract does so again and again."""
    found: dict[object, list[Entry]] = {}
    for entry in broken:
        rules = tuple((violation.path, violation.rule) for violation in entry.violations) or entry.reason
        found.setdefault((entry.method, entry.operation, rules), []).append(entry)
    return list(found.values())


def _again(others: Sequence[Entry]) -> list[str]:
    if not others:
        return []
    more = len(others) - _DETAILS
    numbers = ", ".join(str(entry.number) for entry in others[:_DETAILS])
    return [f"  again in request{'s' if len(others) > 1 else ''} {numbers}{f' and {more} more' if more > 0 else ''}"]


def _table(entries: Sequence[Entry]) -> list[str]:
    """Return a line for each of ``entries``, in columns."""
    rows = [
        (
            f"{entry.number}",
            entry.request_line,
            _result(entry),
            f"{entry.duration * 1000:.1f} ms",
            "httpserver" if entry.by_expectation else entry.operation or "-",
            printable(_shorten(_why(entry, entry.where), _SHOWN_REASON)),
        )
        for entry in entries
    ]
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*rows, strict=True)]
    number, _, _, took, _, _ = widths
    return [
        f"{row[0]:>{number}}  {row[1]:<{widths[1]}}  {row[2]:<{widths[2]}}  {row[3]:>{took}}  "
        f"{row[4]:<{widths[4]}}  {row[5]}".rstrip()
        for row in rows
    ]


def render_violation(entry: Entry) -> str:
    """Return what a request broke: section and words of the contract, what was sent, and a ``curl`` to repeat it."""
    lines = [f"request {entry.number} broke the contract: {entry.request_line}"]
    if entry.violations:
        for sentence in dict.fromkeys(violation.sentence for violation in entry.violations[:_DETAILS]):
            lines.append(f"  §{sentence.section}  {sentence.text}")
            lines += [
                f"      {entry.masked(str(violation))}"
                for violation in entry.violations[:_DETAILS]
                if violation.sentence == sentence
            ]
        more = len(entry.violations) + entry.omitted - _DETAILS
        lines += [f"      and {more} more"] if more > 0 else []
    else:
        broken = entry.sentence
        lines += [f"  §{broken.section}  {broken.text}"] if broken is not None else []
        lines.append(f"      {entry.reason}")
    lines.append(f"  sent: {_shorten(_sent(entry), _SHOWN_BODY)}")
    lines = [printable(line) for line in lines]
    curl = render_curl(entry)
    return "\n".join([*lines, f"  {curl}"] if curl else lines)


def _sent(entry: Entry) -> str:
    if entry.request.oversized:
        return "a body that is not kept, since it is over the limit"
    if not entry.body:
        return "no body"
    text = entry.masked(entry.body[: 4 * _SHOWN_BODY].decode("utf-8", "backslashreplace"))
    content_type = entry.headers.get("content-type", "no Content-Type")
    return f"{content_type}, {len(entry.body)} bytes: {_shorten(text, _SHOWN_BODY)}"


# curl


def render_curl(entry: Entry) -> str:
    """Return a shell command that repeats a request, or nothing for what never was a request.

    The key that the client sent, right or wrong, stands in it as ``$PETSTORE_KEY``; other credentials are masked.
    """
    if not entry.target or entry.target == "-" or entry.request.oversized:  # there is nothing whole to repeat
        return ""
    parts = ["curl", "-i", *_method(entry)]
    for name, value in entry.fields:
        if name.lower() not in _NOT_REPEATED:
            parts += ["-H", _header(name, value)]
    feed = ""
    if entry.body:
        if "content-type" not in entry.headers:
            parts += ["-H", "Content-Type:"]  # else curl names one of its own
        feed, argument = _body(entry)
        parts += ["--data-binary", argument]
    return f"{feed}{' '.join([*parts, *_address(entry)])}"


def _method(entry: Entry) -> list[str]:
    if entry.method == "HEAD":
        return ["--head"]  # with -X HEAD curl would wait for a body
    return [] if entry.method == "GET" and not entry.body else ["-X", _quote(entry.method)]


def _header(name: str, value: str) -> str:
    scheme, _, key = value.partition(" ")
    if name.lower() == "authorization" and scheme.lower() == "bearer" and key and not key[0].isspace():
        return f'"{name}: {scheme} ${_KEY_VARIABLE}"'
    return _quote(f"{name}: {value}" if value else f"{name};")  # curl's way to send an empty one


def _address(entry: Entry) -> list[str]:
    target = entry.target
    if not target.startswith("/"):  # `*`, or an absolute form: curl would make a path of it
        return ["--request-target", _quote(target), _quote(base_url_of(entry))]
    flags = ["--path-as-is"] if "/." in target else []  # else curl resolves the dots
    flags += ["--globoff"] if any(character in target for character in "[]{}") else []
    return [*flags, _quote(url_of(entry))]


def _body(entry: Entry) -> tuple[str, str]:
    """Return what feeds curl's standard input, if anything must, and the argument of ``--data-binary``."""
    body = entry.body
    if len(body) > _CURL_BODY:
        return "", f"@body-of-{len(body)}-bytes"
    text = entry.masked_bytes(body)
    try:
        plain = text.decode("utf-8")
    except UnicodeDecodeError:
        plain = ""
    if plain.isprintable() and plain and not plain.startswith("@"):  # curl reads a file of that name
        return "", shlex.quote(plain)
    escaped = "".join(_escaped(byte) for byte in text)
    if escaped.startswith("-"):  # printf would take it for an option
        escaped = f"\\055{escaped[1:]}"
    return f"printf '{escaped}' | ", "@-"


def _escaped(byte: int) -> str:
    """Return a byte as it stands in the format of ``printf`` between single quotes (POSIX: octal, three digits)."""
    plain = 0x20 < byte < 0x7F and chr(byte) not in "%\\'"
    return chr(byte) if plain or byte == 0x20 else f"\\{byte:03o}"


def _quote(text: str) -> str:
    """Quote for a POSIX shell. What can't be printed is shown escaped, which a shell does not undo."""
    return shlex.quote(printable(text))
