"""``python -m tools.documents.corpus``: checks every client of the corpus with the machine, and writes its findings.

It takes tens of minutes. Pass pages, such as ``leftovers``, to write only these. Pass the name of a client to print
the machine's finding without writing.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tests.clients import sharing, slips, surroundings
from tests.clients.buggy_asking import ASKING
from tests.clients.buggy_living import LIVING
from tests.clients.buggy_reading import READING
from tests.clients.trackers_kept import KEPT
from tests.clients.trackers_shown import SHOWN
from tests.stateful.corpora import CASES, bug_of
from tests.stateful.test_corpora import NEEDS_LOCALE, has_another_locale
from tools.documents.blocks import ROOT, table, write

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
}
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
            return re.sub(r"(127\.0\.0\.1|\[?::1\]?):\d{4,5}", r"\1:PORT", " ".join(bug.sentence.split()))
    return ""


def main() -> None:
    """Check each client in its own process, because some change process settings."""
    names = sys.argv[1:]
    for name in CASES.keys() & names:
        print(json.dumps(said_of(name)))
        return
    for page in names or PAGES:
        rows = [_row(client.__name__) for client in PAGES[page]]
        write(page_of(page), "corpus", table("client", "its bug", "what the machine says", rows=rows))


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
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=_SECONDS, check=True
    )
    return str(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
