"""Self-contained pages for people: what went over the wire in a failing test, and which outcomes a suite showed.

They hold no script and load nothing. Whatever a client sent may stand in them, so every text is masked and escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import printable
from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.faults import KINDS
from petstore_mock.journal.exchange import exchanges, took
from petstore_mock.journal.exchange_svg import exchange_svg
from petstore_mock.journal.outcomes import DOCUMENTED
from petstore_mock.journal.rendering import left_out, render_curl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from petstore_mock.journal.entry import Entry

    Count = Callable[[str, str], int]  # of an operation and an outcome

__all__ = ["coverage_grid", "coverage_page", "failure_page"]

_DRAWN: Final = 50  # requests of a world in its picture
_TOLD: Final = 200  # requests of a world that are told in full
_SHOWN_BODY: Final = 20_000  # characters
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --faint: #59636e; --line: #d1d9e0; --trouble: #a40e26;
  --fault: #7a4a00; --commit: #0a5a28; --good: #d9f2e1; --gap: #ffe3e0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --faint: #9ba6b2; --line: #3d444d;
  --trouble: #ff9a94; --fault: #e8b45a; --commit: #6fdd8b; --good: #12391f; --gap: #4d1a1a; } }
body { margin: 0 auto; max-width: 66rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2rem; }
pre, code { font: 12.5px/1.5 ui-monospace, Menlo, Consolas, monospace; }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line);
  border-radius: 6px; padding: .6rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; } caption { text-align: start; color: var(--faint); }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: start; vertical-align: top; }
td { overflow-wrap: anywhere; } summary { cursor: pointer; } .trouble { color: var(--trouble); }
.shown { background: var(--good); } .never { background: var(--gap); font-weight: 600; } .none { color: var(--faint); }
svg .paper { fill: var(--paper); } svg text, svg tspan { fill: var(--ink); } svg .faint { fill: var(--faint); }
svg line.stroke, svg path.stroke, svg rect.ink { stroke: var(--ink); } svg path.ink:not(.stroke) { fill: var(--ink); }
svg line.faint { stroke: var(--faint); }
svg text.trouble { fill: var(--trouble); } svg .trouble.stroke { stroke: var(--trouble); }
svg text.fault { fill: var(--fault); } svg .fault.stroke { stroke: var(--fault); }
svg text.commit, svg rect.commit { fill: var(--commit); }
"""


def failure_page(
    test: str, report: str, worlds: Sequence[tuple[str, Sequence[Entry]]], count: Count | None = None
) -> str:
    """Return the page of one failing test.

    Args:
        test: its name.
        report: why it failed, keys masked.
        worlds: the requests of each world that it had, with the world's name.
        count: how often the test showed an outcome, if that is to be told.
    """
    parts = [f"<h1>{escape(printable(test))}</h1>", "<h2>Why it failed</h2>", _pre(report)]
    for name, entries in worlds:
        parts += [f"<h2>{escape(name)}</h2>", *_world(entries)]
    if count is not None:
        parts += ["<h2>Outcomes that this test showed to the client</h2>", coverage_grid(count)]
    return _page(test, parts)


def coverage_page(count: Count) -> str:
    """Return the page of a suite's coverage: operations by outcomes, by the tests that showed them."""
    title = "Outcomes that the tests showed to the client"
    missing = [f"{operation} {outcome}" for outcome, operation in DOCUMENTED if not count(operation, outcome)]
    said = f"Never shown: {', '.join(missing) or 'nothing that the interface documents'}."
    return _page(title, [f"<h1>{title}</h1>", f"<p>{said}</p>", coverage_grid(count)])


def coverage_grid(count: Count) -> str:
    """Return a table of operations by outcomes; what was never shown stands out by its words as well."""
    known = {*DOCUMENTED}
    rows = sorted({outcome for outcome, _ in DOCUMENTED})
    lines = [
        _coverage_row(row, [count(name, row) if (row, name) in known else None for name in OPERATIONS]) for row in rows
    ]
    lines += [_coverage_row(f"fault {kind}", [count(name, f"fault {kind}") for name in OPERATIONS]) for kind in KINDS]
    head = "".join(f'<th scope="col">{name}</th>' for name in OPERATIONS)
    return (
        '<div class="wide"><table class="coverage"><caption>How often each outcome was shown; a dash stands where the '
        f'interface documents none</caption><thead><tr><th scope="col">outcome</th>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _coverage_row(name: str, cells: Iterable[int | None]) -> str:
    shown = "".join(
        '<td class="none">-</td>' if cell is None else f'<td class="shown">{cell}</td>' if cell else _NEVER
        for cell in cells
    )
    return f'<tr><th scope="row">{escape(name)}</th>{shown}</tr>'


_NEVER: Final = '<td class="never">never</td>'


def _page(title: str, parts: Iterable[str]) -> str:
    head = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(printable(title))}</title><style>{_STYLE}</style></head><body><main>"
    )
    return "\n".join([head, *parts, "</main></body></html>\n"])


def _pre(text: str) -> str:
    return f'<pre tabindex="0">{escape(_lines(text))}</pre>'


def _lines(text: str) -> str:
    """Return ``text`` with its lines as they are, and nothing in them that turns the writing around."""
    return "\n".join(printable(line.expandtabs()) for line in text.splitlines())


# One world


def _world(entries: Sequence[Entry]) -> list[str]:
    if not entries:
        return ["<p>No request came.</p>"]
    drawn = entries[-_DRAWN:]
    parts = [
        f'<div class="wide" tabindex="0" role="group" aria-label="picture">{exchange_svg(drawn)}</div>',
        _table(drawn),
    ]
    told = entries[-_TOLD:]
    parts += ["<h3>The requests</h3>", f"<p>{left_out(told)}</p>" if left_out(told) else ""]
    return [*parts, *map(_details, told)]


def _table(entries: Sequence[Entry]) -> str:
    rows = [
        f"<tr><td>{one.number}</td><td>+{took(one.began)}</td><td>{escape(one.request)}</td>"
        f"<td>{escape(one.operation)}</td><td>{f'of {one.retry_of}' if one.retry_of is not None else ''}</td>"
        f"<td>{escape('; '.join(note.text for note in one.notes))}</td><td>{escape(one.answer)}</td></tr>"
        for one in exchanges(entries)
    ]
    names = ("number", "time", "request", "operation", "retry", "at the service", "answer")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        '<details><summary>The same as a table</summary><div class="wide"><table><thead>'
        f"<tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></details>"
    )


def _details(entry: Entry) -> str:
    """Return one request: open if it broke the contract, since that is what people look for."""
    state = " open" if entry.is_violation and not entry.expected else ""
    answer = str(entry.status or entry.outcome or "unanswered")
    kind = ' class="trouble"' if entry.status is None or entry.status >= 400 else ""
    reason = f"<p{kind}>{escape(printable(entry.reason))}</p>" if entry.reason else ""
    curl = render_curl(entry)
    return (
        f"<details{state}><summary{kind}>{entry.number} {escape(entry.request_line)} {escape(answer)}</summary>{reason}"
        f"{_rules(entry)}<h4>Sent</h4>{_message(entry, entry.fields, entry.body)}<h4>Answered</h4>"
        f"{_message(entry, entry.response_fields, entry.response_body)}{f'<h4>Repeat</h4>{_pre(curl)}' if curl else ''}"
        "</details>"
    )


def _rules(entry: Entry) -> str:
    if not entry.violations:
        return ""
    rows = "".join(
        f"<tr><td><code>{escape(printable(entry.masked(one.path)))}</code></td>"
        f"<td>{escape(printable(entry.masked(str(one))))}</td>"
        f"<td>§{escape(one.sentence.section)} {escape(one.sentence.text)}</td></tr>"
        for one in entry.violations
    )
    head = '<th scope="col">field</th><th scope="col">what is wrong</th><th scope="col">the interface says</th>'
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _message(entry: Entry, fields: Iterable[tuple[str, str]], body: bytes) -> str:
    text = entry.masked(body.decode("utf-8", "backslashreplace"))
    more = f"\n... ({len(text)} characters)" if len(text) > _SHOWN_BODY else ""
    head = "\n".join(f"{name}: {value}" for name, value in fields)
    return _pre("\n\n".join(filter(None, (head, text[:_SHOWN_BODY] + more))) or "nothing")
