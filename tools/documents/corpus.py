"""``python -m tools.documents.corpus``: writes a row for each client of the corpus, with the machine's finding.

``make generated`` runs it. It checks only clients that have no row yet, or whose bug has other words than their row.
Pass pages, such as ``leftovers``, to check all of their clients again: all pages take tens of minutes. Pass the name of
a client to print the machine's finding without writing.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tests.clients import sharing, slips, surroundings
from tests.clients.buggy_asking import ASKING
from tests.clients.buggy_living import LIVING
from tests.clients.buggy_reading import READING
from tests.clients.lives_kept import KEPT_LIVES
from tests.clients.lives_shown import LIVES
from tests.clients.reports_again import REPORTS_AGAIN
from tests.clients.reports_fresh import REPORTS_FRESH
from tests.clients.reports_kept import REPORTS_KEPT
from tests.clients.reports_later import REPORTS_LATER
from tests.clients.reports_latest import REPORTS_LATEST
from tests.clients.reports_more import REPORTS_MORE
from tests.clients.reports_shown import REPORTS
from tests.clients.reports_unmet import REPORTS_UNMET
from tests.clients.reports_unseen import REPORTS_UNSEEN
from tests.clients.trackers_kept import KEPT
from tests.clients.trackers_shown import SHOWN
from tests.stateful.corpora import CASES, bug_of
from tests.stateful.test_corpora import NEEDS_LOCALE, has_another_locale
from tools.documents.blocks import ROOT, generated, table, write

_FOLDER: Final = ROOT / "docs" / "reference" / "corpus"
# The clients of each page, by the page's name.
PAGES: Final[dict[str, Iterable[Any]]] = {
    "requests": ASKING,
    "responses": READING,
    "retries-and-connections": LIVING,
    "leftovers": (*slips.SLIPS, *slips.PROGRAM),
    "environments": surroundings.BUGGY,
    "two-calls-at-once": sharing.BUGGY,
    "reported": SHOWN,
    "reported-kept": KEPT,
    "lives": LIVES,
    "lives-kept": KEPT_LIVES,
    "reports": REPORTS,
    "reports-kept": REPORTS_KEPT,
    "reports-later": REPORTS_LATER,
    "reports-again": REPORTS_AGAIN,
    "reports-more": REPORTS_MORE,
    "reports-latest": REPORTS_LATEST,
    "reports-unseen": REPORTS_UNSEEN,
    "reports-fresh": REPORTS_FRESH,
    "reports-unmet": REPORTS_UNMET,
}
SUMMARY: Final = ROOT / "docs" / "reference" / "machine-corpus.md"
_SOURCES: Final = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "clients").glob("*.py"))
_SECONDS: Final = 300  # for one client, at most


def page_of(name: str) -> Path:
    """Return a page of the corpus."""
    return _FOLDER / f"{name}.md"


def bug_in_words(name: str) -> str:
    """Return the bug of a client: its docstring, or the comment above its assignment."""
    form = rf'^class {name}\b[^\n]*\n    """(.*?)(?:\n\n|""")|((?:^# [^\n]*\n)+)^{name} = '
    found = re.search(form, _SOURCES, re.MULTILINE | re.DOTALL)
    assert found, f"{name} has neither a docstring nor a comment"
    return " ".join((found[1] or found[2].replace("# ", "")).split())


def said_of(name: str) -> str:
    """Return the machine's sentence about a client, or an empty text if it finds no bug."""
    case = CASES[name]
    for _ in range(2):  # the first run may import libraries; such a run ignores changes of warning filters
        with warnings.catch_warnings():
            warnings.simplefilter("always")  # some clients leak their key in a warning
            warnings.showwarning = lambda *_, **__: None
            bug = bug_of(case.make, **case.options)
        if bug is not None:
            sentence = " ".join(bug.sentence.split()).replace(f"{ROOT}/", "")
            return re.sub(r"(127\.0\.0\.1|\[?::1\]?):\d{4,5}", r"\1:PORT", sentence)
    return ""


def main() -> None:
    """Check each client in its own process, because some change process settings."""
    names = sys.argv[1:]
    for name in CASES.keys() & names:
        print(json.dumps(said_of(name)))
        return
    for page, clients in PAGES.items():
        known = {} if page in names else _rows_of(page)
        if not names or page in names:
            rows = [
                known.get((client.__name__, bug_in_words(client.__name__))) or _row(client.__name__)
                for client in clients
            ]
            write(page_of(page), "corpus", table("client", "its bug", "what the machine says", rows=rows))
    write(SUMMARY, "corpus summary", summary())


def _rows_of(page: str) -> dict[tuple[str, str], list[str]]:
    """Return the rows of a page, by the client and the words about its bug."""
    rows = [re.split(r" (?<!\\)\| ", line[2:-2]) for line in generated(page_of(page), "corpus").splitlines()[2:]]
    return {(row[0].strip("`"), row[1]): row for row in rows}


def summary() -> str:
    """Return the number of clients on each page, and the sum."""
    pages = [(page_of(page).read_text(encoding="utf-8").partition("\n")[0][2:], page) for page in PAGES]
    rows = [(f"[{title}](corpus/{page}.md)", str(len([*PAGES[page]]))) for title, page in pages]
    count = sum(len([*clients]) for clients in PAGES.values())
    return table("page", "clients", rows=[*rows, ("all", str(count))], numbers=True)


def _row(name: str) -> list[str]:
    if name in NEEDS_LOCALE and not has_another_locale():
        sentence = "not checked: no other locale was installed"
    elif name in CASES:
        sentence = _by_another_process(name) or "**not found**"
    else:
        sentence = "not checked: the interface does not forbid it"
    print(f"{name}: {sentence}", flush=True)
    return [cell.replace("|", "\\|").replace("<", "&lt;") for cell in (f"`{name}`", bug_in_words(name), sentence)]


def _by_another_process(name: str) -> str:
    command = [sys.executable, "-m", "tools.documents.corpus", name]
    # Some clients leave files in the folder that they run in.
    with tempfile.TemporaryDirectory() as folder:
        output = subprocess.check_output(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=_SECONDS,
        )
    return str(json.loads(output.splitlines()[-1]))


if __name__ == "__main__":
    main()
