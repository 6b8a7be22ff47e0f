"""The exchange of client and service as a picture (SVG 1.1): two lifelines, and an arrow for each request and answer.

It reads without colours, since each thing has a shape of its own, and without eyes, by its title and description. It is
made of presentation attributes alone: a page under a strict content security policy may hold it, and restyle its
classes. Whatever a client sent may stand in it, so every text is printable, masked and escaped.
"""

from __future__ import annotations

import unicodedata
from html import escape
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import CUT
from petstore_mock.common.wording import counted
from petstore_mock.journal.exchange import exchanges, took
from petstore_mock.journal.rendering import left_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from petstore_mock.journal.entry import Entry
    from petstore_mock.journal.exchange import ExchangeStep, Mark, Note

__all__ = ["exchange_svg"]

# Pixels, of which a letter is about seven wide: the widest that stand between the lifelines and right of them.
_WIDTH: Final = 1000
_TIME: Final = 82
_CLIENT: Final = 104
_SERVICE: Final = 590
_NOTE: Final = _SERVICE + 22
_TOP: Final = 74
_LINE: Final = 16
_ROW: Final = 36
_LETTER: Final = 7.3  # at 12 pixels
_MESSAGE: Final = int((_SERVICE - _CLIENT - 24) / _LETTER)  # letters
_NOTE_LETTERS: Final = int((_WIDTH - _NOTE - 8) / _LETTER)
_NOTE_LINES: Final = 4
_ARROW: Final = 9

_Ink = tuple[str, str]  # the class by which a page may restyle what is drawn with it, and its colour
_INK: Final = ("ink", "#1f2328")
_FAINT: Final = ("faint", "#59636e")
_TROUBLE: Final = ("trouble", "#a40e26")
_INKS: Final[dict[Mark, _Ink]] = {
    "commit": ("commit", "#0a5a28"),
    "refusal": _TROUBLE,
    "fault": ("fault", "#7a4a00"),
    "plain": _INK,
}
_DESCRIBED: Final = 20  # requests that are told in the description, the latest; a table beside it tells all


def exchange_svg(entries: Sequence[Entry]) -> str:
    """Return the picture of ``entries``, in order; those before the first are counted."""
    steps = exchanges(entries)
    gone = left_out(entries)
    title = f"The exchange of client and pet store service: {counted(len(steps), 'request')}"
    told = [one.words for one in steps[-_DESCRIBED:]]
    if len(steps) > _DESCRIBED:
        told.insert(0, f"Of the latest {_DESCRIBED} requests:")
    parts, height = _drawn(steps, gone)
    begin = f", from {entries[0].moment:%Y-%m-%d %H:%M:%S} UTC of the fake's time" if entries else ""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="exchange" role="img" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-size="12" '
        'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace">'
    )
    lines = [
        head,
        f"<title>{escape(title + begin)}</title>",
        f"<desc>{escape(' '.join([gone and f'{gone}.', *told]).strip() or 'No request came.')}</desc>",
        f'<rect class="paper" width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        *parts,
        "</svg>\n",
    ]
    return "\n".join(lines)


# The rows


def _drawn(steps: Sequence[ExchangeStep], gone: str) -> tuple[list[str], int]:
    """Return the parts of the picture, and its height."""
    bottom, rows = _TOP, []
    if gone or not steps:
        middle = (_CLIENT + _SERVICE) // 2
        rows.append(_text(middle, bottom, gone or "no requests", ink=_FAINT, anchor="middle"))
        bottom += _ROW
    for step, is_answer in _in_order(steps):
        drawn, lines = (_answer if is_answer else _request)(step, bottom)
        rows.append(f'<g class="{"answer" if is_answer else "request"}" data-number="{step.number}">{drawn}</g>')
        bottom += max(_ROW, lines * _LINE + 12)
    return [*_lifelines(bottom - 8), *rows], bottom + 8


def _in_order(steps: Sequence[ExchangeStep]) -> Iterator[tuple[ExchangeStep, bool]]:
    """Yield each request and, apart, its answer, by their times: those that ran at once cross each other."""
    moments: list[tuple[float, int, ExchangeStep, bool]] = []
    latest = 0.0
    for order, step in enumerate(steps):
        latest = max(latest, step.began)  # the journal's order counts, whatever the clock says
        moments.append((latest, 2 * order, step, False))
        ended = float("inf") if step.ended is None else max(step.ended, latest)
        moments.append((ended, 2 * order + 1, step, True))
    for _, _, step, is_answer in sorted(moments, key=lambda moment: moment[:2]):
        yield step, is_answer


def _lifelines(bottom: int) -> list[str]:
    drawn = []
    dark, light = _INK[1], _FAINT[1]
    for x, name in ((_CLIENT, "client"), (_SERVICE, "service")):
        drawn += [
            f'<rect class="ink" x="{x - 38}" y="14" width="76" height="26" rx="3" fill="none" stroke="{dark}"/>',
            _text(x, 31, name, anchor="middle"),
            f'<line class="faint" x1="{x}" y1="40" x2="{x}" y2="{bottom}" stroke="{light}" stroke-dasharray="1 3"/>',
        ]
    return drawn


def _request(step: ExchangeStep, y: int) -> tuple[str, int]:
    """Draw a request; return how many lines of notes stand beside it as well."""
    retry = f"  retry of {step.retry_of}" if step.retry_of is not None else ""
    operation = f"  {step.operation}" if step.operation else ""
    room = _MESSAGE - len(f"{step.number} ") - len(retry) - len(operation)
    told = f"{step.number} {_fitted(step.request, room)}"
    line = y + 8
    notes, lines = _notes(step.notes, y)
    drawn = [
        _text(_TIME, y + 12, f"+{took(step.began)}", ink=_FAINT, anchor="end"),
        _text(_CLIENT + 12, y, told, more=operation, strong=retry),
        _arrow(_CLIENT, _SERVICE, line, _INK),
        notes,
    ]
    return "".join(drawn), lines


def _answer(step: ExchangeStep, y: int) -> tuple[str, int]:
    """Draw what came back, or did not: an answer that is lost ends halfway, at a cross."""
    line = y + 8
    bad = step.arrival != "whole" or step.status is None or step.status >= 400
    ink = _TROUBLE if bad else _INK
    told = step.answer if step.ended is None else f"{step.answer}  {took(step.ended - step.began)}"
    middle = (_CLIENT + _SERVICE) // 2
    drawn = []
    if step.arrival == "whole":
        drawn.append(_arrow(_SERVICE, _CLIENT, line, ink, is_open=True))
    elif step.arrival == "corrupted":
        drawn.append(_arrow(_SERVICE, _CLIENT, line, ink, is_open=True, dashes="10 3 2 3"))
    elif step.arrival == "cut":
        stop = _CLIENT + (_SERVICE - _CLIENT) // 4
        drawn += [
            _stroke(_SERVICE, stop, line, ink, "6 4"),
            _path(f"M{stop - 7} {line + 7}l6 -14M{stop - 1} {line + 7}l6 -14", ink),
        ]
    else:
        drawn.append(_stroke(_SERVICE, middle + (10 if step.arrival == "lost" else 0), line, ink, "6 4"))
        if step.arrival == "lost":
            drawn.append(_path(f"M{middle - 6} {line - 6}l12 12M{middle - 6} {line + 6}l12 -12", ink))
    told = _fitted(f"{step.number} {told}", _MESSAGE)
    drawn.append(_text(_SERVICE - 12, y, told, ink=ink, anchor="end"))
    return "".join(drawn), 1


# What stands beside the service


def _notes(notes: Iterable[Note], y: int) -> tuple[str, int]:
    drawn, line = [], 0
    for note in notes:
        ink = _INKS[note.mark]
        drawn.append(_shape(note.mark, y + 8 + line * _LINE, ink))
        for text in _wrapped(note.text):
            drawn.append(_text(_NOTE, y + 12 + line * _LINE, text, ink=ink))
            line += 1
    return "".join(drawn), line


def _shape(mark: Mark, y: int, ink: _Ink) -> str:
    """Draw the sign of a note: a filled square for a commit, a hollow diamond for a refusal, a triangle for a fault."""
    x = _SERVICE + 11
    if mark == "commit":
        return f'<rect class="{ink[0]}" x="{x - 5}" y="{y - 5}" width="10" height="10" fill="{ink[1]}"/>'
    if mark == "refusal":
        return _path(f"M{x} {y - 6}l6 6l-6 6l-6 -6z", ink)
    if mark == "fault":
        return _path(f"M{x} {y - 6}l6 11h-12z", ink)
    return ""


def _wrapped(text: str) -> list[str]:
    """Break ``text`` into lines that fit beside the service, between words where it can be."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if _columns(longer) <= _NOTE_LETTERS:
            line = longer
            continue
        lines += [line] if line else []
        while _columns(word) > _NOTE_LETTERS:
            head = _fitted(word, _NOTE_LETTERS, end="")
            lines.append(head)
            word = word[len(head) :]  # noqa: PLW2901  # the rest of it
        line = word
    lines.append(line)
    if len(lines) > _NOTE_LINES:
        lines = [*lines[: _NOTE_LINES - 1], _fitted(lines[_NOTE_LINES - 1], _NOTE_LETTERS - len(CUT), end="") + CUT]
    return lines


# Elements


def _columns(text: str) -> int:
    """Return how many letters wide ``text`` is: an ideograph takes two."""
    return len(text) if text.isascii() else sum(map(_column, text))


def _column(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fitted(text: str, most: int, end: str = CUT) -> str:
    """Return ``text``, or as much of it as fits into ``most`` columns with ``end`` behind it."""
    if _columns(text) <= most:
        return text
    width, kept = len(end), 0
    for character in text:
        width += _column(character)
        if width > most:
            break
        kept += 1
    return text[: max(kept, 1)] + end


def _text(
    x: int, y: int, text: str, *, ink: _Ink = _INK, anchor: str = "start", more: str = "", strong: str = ""
) -> str:
    kind, colour = ink
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    further = f'<tspan class="faint" fill="{_FAINT[1]}">{escape(more)}</tspan>' if more else ""
    further += f'<tspan font-weight="bold">{escape(strong)}</tspan>' if strong else ""
    return (
        f'<text class="{kind}" x="{x}" y="{y}" fill="{colour}"{where} xml:space="preserve">'
        f"{escape(text)}{further}</text>"
    )


def _path(path: str, ink: _Ink) -> str:
    kind, colour = ink
    return f'<path class="{kind} stroke" d="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>'


def _stroke(start: int, end: int, y: int, ink: _Ink, dashes: str = "") -> str:
    kind, colour = ink
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line class="{kind} stroke" x1="{start}" y1="{y}" x2="{end}" y2="{y}" stroke="{colour}"{dashed}/>'


def _arrow(start: int, end: int, y: int, ink: _Ink, *, is_open: bool = False, dashes: str = "") -> str:
    """Draw an arrow: with a filled head for a request, an open one for an answer."""
    back = end - _ARROW if end > start else end + _ARROW
    head = f"M{back} {y - 5}L{end} {y}L{back} {y + 5}"
    if is_open:
        return _stroke(start, end, y, ink, dashes) + _path(head, ink)
    return _stroke(start, end, y, ink) + f'<path class="{ink[0]}" d="{head}z" fill="{ink[1]}"/>'
