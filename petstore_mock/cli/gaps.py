"""The gap register as people and programs read it: ``petstore-mock gaps``, and the README's table."""

from __future__ import annotations

import json
import shutil
import textwrap
from typing import TYPE_CHECKING, Final, Literal

from petstore_mock.contract.behaviour import PRESETS, gap_register
from petstore_mock.contract.gaps import GAPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.contract.gaps import Gap, Stage

__all__ = ["render_gaps"]

_HEADINGS: Final[Mapping[Stage, str]] = {
    "validate": "What is accepted",
    "content": "What an answer says",
    "encode": "How an answer looks",
    "wire": "How an answer travels (over a socket only)",
    "event": "What happens without the client's doing (only when asked for)",
}
_WIDEST: Final = 120
_INDENT: Final = "    "


def render_gaps(how: Literal["table", "json", "markdown"]) -> str:
    """Return the register, and for all but Markdown the presets, ending in a line break."""
    if how == "json":
        return json.dumps(gap_register(), indent=2, ensure_ascii=False) + "\n"
    return _markdown() if how == "markdown" else _table(min(shutil.get_terminal_size().columns, _WIDEST))


def _table(width: int) -> str:
    name_width = max(map(len, GAPS))
    lines = ["Each gap: its name, the section of the interface, the alternatives with the default first."]
    step: str | None = None
    for gap in GAPS.values():
        if gap.step != step:
            step = gap.step
            lines += ["", _HEADINGS[gap.step], "=" * len(_HEADINGS[gap.step])]
        lines.append(
            _fit(f"{gap.name:<{name_width}}  §{gap.section:<4} {', '.join(gap.alternatives)}", width, name_width + 8)
        )
        lines += textwrap.wrap(gap.sentence, width, initial_indent=_INDENT, subsequent_indent=_INDENT)
        lines += textwrap.wrap(f"Do not assume {gap.lesson}.", width, initial_indent=_INDENT, subsequent_indent=_INDENT)
    lines += ["", "Presets", "======="]
    for name, changes in PRESETS.items():
        text = ", ".join(f"{gap}={value}" for gap, value in changes.items()) or "every default"
        lines.append(_fit(f"{name:<8}  {text}", width, 10))
    return "\n".join(lines) + "\n"


def _fit(text: str, width: int, hang: int) -> str:
    return textwrap.fill(text, width, subsequent_indent=" " * hang, break_on_hyphens=False)


def _markdown() -> str:
    rows = ["| gap | § | alternatives, default first | do not assume |", "|---|---|---|---|"]
    rows += [_row(gap) for gap in GAPS.values()]
    return "\n".join(rows) + "\n"


def _row(gap: Gap) -> str:
    alternatives = ", ".join(f"`{name}`" for name in gap.alternatives)
    return f"| `{gap.name}` | {gap.section} | {alternatives} | {gap.lesson} |"
