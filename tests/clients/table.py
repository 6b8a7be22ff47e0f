"""Writes docs/reference/machine-corpus.md: ``python -m tests.clients.table`` runs the machine on the whole corpus."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from tests.clients.buggy_asking import ASKING
from tests.clients.buggy_living import LIVING
from tests.clients.buggy_reading import READING
from tests.clients.corpus import Finding, find_bug_of, make_buggy
from tests.clients.trackers import KEPT, SHOWN, make_reported

if TYPE_CHECKING:
    from collections.abc import Sequence

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "machine-corpus.md"
BEGIN, END = "<!-- corpus -->", "<!-- /corpus -->"
GROUPS = (
    ("How they ask", ASKING),
    ("How they read", READING),
    ("How they live", LIVING),
    ("Reported of real clients", SHOWN),
    ("Reported of real clients, the half that was kept apart", KEPT),
)
HEAD = "| client | its bug | examples | seconds | what the machine says |\n|---|---|---|---|---|\n"
_SHOWN = 420  # characters of a sentence


def row(name: str, bug: str, found: Finding) -> str:
    """Return the row of one client."""
    said = found.sentence if len(found.sentence) <= _SHOWN else f"{found.sentence[:_SHOWN]}..."
    said = said.replace("|", "\\|").replace("<", "&lt;") or "**not found**"
    return f"| `{name}` | {bug} | {found.examples or '-'} | {found.seconds:.1f} | {said} |\n"


def table() -> str:
    """Run the machine on every client and return a summary and the tables."""
    parts, findings = [], []
    for title, clients in GROUPS:
        rows = []
        for client in clients:
            sys.stderr.write(f"{client.__name__}\n")
            is_reported = client in {*SHOWN, *KEPT}
            found = find_bug_of(make_reported(client) if is_reported else make_buggy(client.__name__))
            findings.append(found)
            rows.append(row(client.__name__, " ".join(str(client.__doc__).split()), found))
        parts.append(f"## {title}\n\n{HEAD}{''.join(rows)}")
    return "\n".join([summary(findings), *parts])


def summary(findings: Sequence[Finding]) -> str:
    """Say how many are found, and after how much."""
    examples = sorted(found.examples for found in findings if found.error is not None and found.examples is not None)
    seconds = sum(found.seconds for found in findings)
    text = (
        f"Found: {len(examples)} of {len(findings)}, {examples.count(1)} of them in the first example, the last after "
        f"{examples[-1]} of its 200; finding and shrinking all took {seconds:.0f} seconds."
    )
    return textwrap.fill(text, 120) + "\n"


def rewrite(document: str, tables: str) -> str:
    """Put ``tables`` in the place of those of ``document``."""
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


if __name__ == "__main__":
    DOCUMENT.write_text(rewrite(DOCUMENT.read_text(encoding="utf-8"), table()), encoding="utf-8")
