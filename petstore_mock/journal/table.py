"""The HTML table of exchanges for reports, console and door, and the page around it.

A page needs no script and loads nothing. Clients may send hostile text, so all text is masked, printable and escaped.
"""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import cut, printable
from petstore_mock.journal.curl import curl_line
from petstore_mock.journal.exchange import faults_met, masked, row_of
from petstore_mock.journal.text import left_out, violation_text

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from petstore_mock.journal.exchange import Exchange

_MINUTES: Final = 120.0  # seconds; a longer duration is shown in minutes
_LONGEST_NOTE: Final = 300  # characters
_SHOWN_BODY: Final = 20_000
_FOLDED: Final = 3  # quiet requests in a row that fold into one line
_HEAD: Final = "".join(f'<th scope="col">{name}</th>' for name in ("number", "client", "service", "response", "took"))

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --faint: #59636e; --line: #d1d9e0;
  --trouble: #a40e26; --fault: #7a4a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --faint: #9ba6b2; --line: #3d444d;
  --trouble: #ff9a94; --fault: #e8b45a; } }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; } h1, h2, td { overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2rem; }
pre, code { font: 12.5px/1.5 ui-monospace, Menlo, Consolas, monospace; }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line);
  border-radius: 6px; padding: .6rem; }
table { border-collapse: collapse; width: 100%; } caption { text-align: start; color: var(--faint); }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: start; vertical-align: top; }
summary { cursor: pointer; } .faint, .fold { color: var(--faint); }
.refused .response, .lost .response { color: var(--trouble); } .fault .response { color: var(--fault); }
td:last-child { white-space: nowrap; } a { color: inherit; }
@media (max-width: 40rem) { body { padding: .5rem; } thead { display: none; }
  table, caption, tbody, .fold, .fold > td { display: block; } th, td { border: 0; padding: .1rem .3rem; }
  tr:not(.fold) { display: grid; grid-template-columns: auto 1fr auto; border-bottom: 1px solid var(--line); }
  tr { padding: .4rem 0; } .response { grid-area: 1 / 3; } td:nth-child(n + 3):not(.response) { grid-column: 2 / -1; } }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Return a self-contained HTML page. ``parts`` are HTML."""
    return "".join(page_parts(title, ([part] for part in parts)))


def page_parts(title: str, blocks: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the parts of a page; each of the ``blocks`` consists of parts."""
    yield (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{quoted(title)}</title><style>{STYLE}</style></head><body><main>\n"
    )
    for block in blocks:
        yield from block
        yield "\n"
    yield "</main></body></html>\n"


def preformatted(text: str) -> str:
    """Return text as HTML that keeps the line breaks."""
    lines = "\n".join(printable(line.expandtabs()) for line in text.splitlines())
    return f'<pre tabindex="0">{escape(lines)}</pre>'


def table_parts(exchanges: Sequence[Exchange], *, newest_first: bool = True) -> Iterator[str]:
    """Yield the parts of the table of exchanges; three or more quiet ones in a row are folded."""
    if not exchanges:
        yield "<p>No request arrived.</p>"
        return
    order = "oldest"
    ordered = [*exchanges]
    if newest_first:
        order = "newest"
        ordered.reverse()
    repetitions = _repetitions(exchanges)
    caption = "; ".join([f"The {order} request is first", *left_out(exchanges)])
    yield f'<table class="exchange"><caption>{caption}.</caption><thead><tr>{_HEAD}</tr></thead>\n<tbody>'
    for kind, group in groupby(ordered, lambda exchange: _kind(exchange, repetitions)):
        run = [*group]
        rows = (_row(masked(exchange), kind, exchanges[0], repetitions.get(exchange.number, "")) for exchange in run)
        if kind == "quiet" and len(run) >= _FOLDED:
            since, last = sorted([run[0].number, run[-1].number])
            yield (
                f'<tr class="fold"><td colspan="5"><details data-key="fold-{since}">'
                f"<summary>{len(run)} requests without trouble: {since} to {last}</summary>"
                '<table class="exchange"><tbody>'
            )
            yield from rows
            yield "</tbody></table></details></td></tr>\n"
        else:
            yield from rows
    yield "</tbody></table>"


def quoted(text: str) -> str:
    """Return text as HTML on one line."""
    return escape(printable(text))


def _kind(exchange: Exchange, repetitions: Container[int]) -> str:
    if exchange.is_violation:
        return "refused"
    if exchange.status is None and not exchange.in_flight:
        return "lost"
    if faults_met(exchange) or exchange.number in repetitions:
        return "fault"
    is_success = exchange.status is not None and exchange.status < 400
    if is_success and exchange.condition is None:
        return "quiet"
    return "other"


def _repetitions(exchanges: Iterable[Exchange]) -> dict[int, str]:
    """Say of each request, by its number, that its like had lost its response and should not have been sent again."""
    lost: dict[tuple[str, bytes], int] = {}
    repetitions: dict[int, str] = {}
    for exchange in exchanges:
        row = row_of(exchange)
        sent = (exchange.request_line, exchange.body)
        if row is None or row.may_be_repeated:
            continue
        if exchange.executed and sent in lost:
            words = f"sent again after request {lost[sent]} lost its response: it may {row.does.repeated}"
            repetitions[exchange.number] = f"; {words}"
        elif exchange.loss:
            lost[sent] = exchange.number
    return repetitions


def _row(exchange: Exchange, kind: str, first: Exchange, repetition: str) -> str:
    number = exchange.number
    response = f"no response: {exchange.result}" if kind == "lost" else exchange.result
    took = _duration(exchange.duration)
    if number != first.number:
        elapsed = _duration(exchange.request.started - first.request.started)
        took += f' <span class="faint">{elapsed} after request {first.number}</span>'
    row = f'<tr class="{kind}" id="request-{number}" data-number="{number}"><th scope="row">{number}</th>'
    row += f"<td><code>{quoted(exchange.request_line)}</code>{_details(exchange)}</td>"
    row += f"<td>{quoted(cut(_service(exchange) + repetition, _LONGEST_NOTE))}</td>"
    row += f'<td class="response">{quoted(response)}</td>'
    return f"{row}<td>{took}</td></tr>\n"


def _duration(seconds: float) -> str:
    """Return a duration with the unit that fits it."""
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    if seconds < _MINUTES:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min"


def _service(exchange: Exchange) -> str:
    """Return the operation and the decision in words, with the reason of a refusal or the sentence of a fault."""
    words = f"{exchange.operation or 'no operation'}: {exchange.decision}"
    if exchange.condition is not None:
        words += f": {exchange.reason}"
        if exchange.expected:
            words += "; expected by the test"
        return words
    if exchange.fault is not None:
        return f"{words}: {exchange.fault.row.sentence}"
    return words


def _details(exchange: Exchange) -> str:
    words = violation_text(exchange) if exchange.is_violation else curl_line(exchange)
    sent = _message(exchange.fields, exchange.body, exchange.cut_body)
    received = _message(exchange.response_fields, exchange.response_body, exchange.cut_response_body)
    shown = "".join(map(preformatted, (words, sent, received)))
    return f'<details data-key="{exchange.number}"><summary>details</summary>{shown}</details>'


def _message(fields: Iterable[tuple[str, str]], body: bytes, cut_words: str) -> str:
    head = "\n".join(map(": ".join, fields))
    content = cut(body.decode("utf-8", "backslashreplace"), _SHOWN_BODY)
    note = f"\n({cut_words})" if cut_words else ""
    return f"{head}\n\n{content}{note}"
