"""Writes docs/reference/machine-corpus.md.

``python -m tests.inside.clients.table`` runs the machine on the whole corpus.

With names of clients it runs on these alone, and leaves the other rows as they are.
"""

from __future__ import annotations

import re
import sys
import textwrap
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.stateful.surroundings import ENVIRONMENTS
from tests.clients import sharing, slips, surroundings
from tests.clients.buggy_asking import ASKING
from tests.clients.buggy_living import LIVING
from tests.clients.buggy_reading import READING
from tests.clients.shapes import maker_of
from tests.clients.trackers import ASKED_FOR, KEPT, SHOWN, make_reported
from tests.inside.clients.corpus import Finding, find_bug_of, make_buggy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "machine-corpus.md"
BEGIN, END = "<!-- corpus -->", "<!-- /corpus -->"


@dataclass(frozen=True)
class Group:
    """Clients that stand in one table.

    Attributes:
        title: the table's.
        clients: their classes.
        make: returns what makes a client, for the machine.
        options: of the machine.
    """

    title: str
    clients: Iterable[Any]
    make: Callable[[Any], Any]
    options: dict[str, Any] = field(default_factory=dict)


def _by_name(client: Any) -> Any:  # noqa: ANN401  # a class of the corpus
    return make_buggy(client.__name__)


GROUPS: Final = (
    Group("How they ask", ASKING, _by_name),
    Group("How they read", READING, _by_name),
    Group("How they live", LIVING, _by_name),
    Group("What they let slip or leave behind", (*slips.SLIPS, *slips.PROGRAM, slips.ShowsItsKey), maker_of),
    Group("What they meet in the environment", surroundings.BUGGY, surroundings.make_surrounded,
          {"environment": ENVIRONMENTS}),
    Group("What they share", sharing.BUGGY, maker_of, {"concurrent": True}),
    Group("Reported of real clients", SHOWN, make_reported),
    Group("Reported of real clients, the half that was kept apart", KEPT, make_reported),
)  # fmt: skip
HEAD = "| client | its bug | examples | seconds | what the machine says |\n|---|---|---|---|---|\n"
_SHOWN = 420  # characters of a sentence
_NOT_FOUND = "**not found**"


def row(name: str, bug: str, found: Finding) -> str:
    """Return the row of one client."""
    said = f"asked: {found.question}" if found.error is None and found.question else found.sentence
    said = said if len(said) <= _SHOWN else f"{said[:_SHOWN]}..."
    said = said.replace("|", "\\|").replace("<", "&lt;") or _NOT_FOUND
    return f"| `{name}` | {bug} | {found.examples or '-'} | {found.seconds:.1f} | {said} |\n"


def table(document: str, names: Sequence[str]) -> str:
    """Run the machine on clients, and return a summary and the tables.

    Args:
        document: the tables so far.
        names: of the clients; all without any.
    """
    parts = []
    for group in GROUPS:
        rows = []
        for client in group.clients:
            name = client.__name__
            if names and name not in names:
                rows += re.findall(rf"^\| `{name}` .*\n", document, re.MULTILINE)
                continue
            sys.stderr.write(f"{name}\n")
            asked = ASKED_FOR.get(name, {})
            found = find_bug_of(group.make(client), **group.options, **asked)
            bug = " ".join(str(client.__doc__).split())
            rows.append(
                row(name, bug + "".join(f" With `{option}={value!r}`." for option, value in asked.items()), found)
            )
        parts.append(f"## {group.title}\n\n{HEAD}{''.join(rows)}")
    return "\n".join([summary(parts), *parts])


def summary(tables: Sequence[str]) -> str:
    """Say how many are found, and after how much."""
    rows = re.findall(r"^\| `\w+` \|.*\| (\d+|-) \| ([\d.]+) \| (.*) \|$", "".join(tables), re.MULTILINE)
    found = sorted(int(count) for count, _, said in rows if said != _NOT_FOUND and not said.startswith("asked: "))
    asked = sum(said.startswith("asked: ") for *_, said in rows)
    text = (
        f"Found: {len(found)} of {len(rows)}, {found.count(1)} of them in the first example, the last after "
        f"{found[-1]} of its 200; of {asked} the machine asks whether it is meant. Finding and shrinking all took "
        f"{sum(float(seconds) for _, seconds, _ in rows):.0f} seconds."
    )
    return textwrap.fill(text, 120) + "\n"


def rewrite(document: str, tables: str) -> str:
    """Put ``tables`` in the place of those of ``document``."""
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


if __name__ == "__main__":
    text = DOCUMENT.read_text(encoding="utf-8")
    with warnings.catch_warnings(record=True):  # of what some of them do
        warnings.simplefilter("always")
        text = rewrite(text, table(text, sys.argv[1:]))
    DOCUMENT.write_text(text, encoding="utf-8")
