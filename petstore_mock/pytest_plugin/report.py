"""The fake's part of a failing test's report: the journal, a HAR file and an HTML page."""

from __future__ import annotations

import json
import re
import zlib
from itertools import chain
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import mask_text
from petstore_mock.common.values import counted
from petstore_mock.pytest_plugin.run import line_of
from petstore_mock.pytest_plugin.settings import written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pytest

    from petstore_mock.common.values import JsonObject
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.pytest_plugin.home import Home
    from petstore_mock.pytest_plugin.run import Run

TITLE: Final = "petstore journal"
_LONGEST_NAME: Final = 120  # characters: file systems allow 255 bytes
_SHOWN: Final = 10  # leaks, or broken rules


def describe(error: BaseException, item: pytest.Item) -> str:
    """Return the report of a verification that failed: its sentence, then the line of the test.

    The plugin raised the error after the body of the test, so no line of a traceback belongs to the test.
    """
    path, line = line_of(item)
    folder = item.config.invocation_params.dir
    shown = Path(path).relative_to(folder) if folder in Path(path).parents else path
    notes = getattr(error, "__notes__", [])
    return "\n".join([str(error), *notes, "", f"{shown}:{line}: {type(error).__name__}"])


def add_journal(report: pytest.TestReport, run: Run, config: pytest.Config) -> None:
    """Add the journal to the report of a failure."""
    if run.home is None:
        return
    try:
        text = _journal_and_files(report, run, run.home, config)
    except Exception as error:  # a bug in this plugin must not hide the failure of the test
        text = f"the journal can't be shown because of a bug in petstore_mock: {type(error).__name__}: {error}"
    add_section(report, TITLE, text)


def add_section(report: pytest.TestReport, title: str, text: str) -> None:
    """Add a section to the report of a failure.

    It is not added as captured output: ``--show-capture=no`` would hide it, and ``junit.xml`` would omit it.
    """
    add = getattr(report.longrepr, "addsection", None)
    if add is not None:
        add(title, text)
    else:
        # The report of a doctest, or of a failed verification, is plain text.
        report.longrepr = f"{report.longreprtext}\n{f' {title} ':-^80}\n{text}"


def _journal_and_files(report: pytest.TestReport, run: Run, home: Home, config: pytest.Config) -> str:
    text = "\n".join(_lines(run, home))
    secrets = home.world.secrets()
    run.reasons.append(mask_text(_reason(report), secrets))
    run.tracebacks.append(mask_text(report.longreprtext, secrets))
    return "\n".join([text, *_files(run, report, home, mask_text(text, secrets), config)])


def _reason(report: pytest.TestReport) -> str:
    """Return the first line of the message. The traceback shows the other lines."""
    crash = getattr(report.longrepr, "reprcrash", None)  # only for an exception with a traceback
    message: str = report.longreprtext if crash is None else crash.message
    return message.strip().partition("\n")[0]


def _lines(run: Run, home: Home) -> Iterator[str]:
    from petstore_mock.core.registry import whose  # only a failure needs it
    from petstore_mock.journal.text import journal_text  # only a failure needs it

    yield from (f"also: {problem}" for problem in run.problems)
    if home.died:
        yield f"the listener died: {home.died}"
    journal = home.world.journal
    if journal.kept or journal.notes:
        yield journal_text(journal.kept, journal.notes)
    elif not run.fresh:
        yield from _why_no_requests(run, home)
    for exchanges in run.fresh.values():
        yield "in a world of fresh():"
        yield journal_text(exchanges)
    for leak in run.leaks[:_SHOWN]:
        owner = whose(leak["world"], present=leak["world"] == run.item.nodeid)
        yield f"{leak['request']} ({leak['status']}) belongs to {owner}"


def _why_no_requests(run: Run, home: Home) -> Iterator[str]:
    from petstore_mock.transport.no_proxy import PROXIES  # only a failure needs it

    address = home.petstore._address  # internal
    if address is None or run.leaks:
        yield "no requests"
    else:
        yield f"no request arrived at {address}, where the fixture petstore listens"
    proxies = [name for name in PROXIES if environ.get(name)]
    if proxies:
        yield f"a proxy is set ({' and '.join(proxies)}): a client that ignores NO_PROXY sends its requests there"


# Files


def _files(run: Run, report: pytest.TestReport, home: Home, journal: str, config: pytest.Config) -> Iterator[str]:
    """Write the files that options request, and yield a line for each."""
    here = config.invocation_params.dir
    name = _file_name(run.item.nodeid)
    worlds = {"The fixture petstore": home.world.journal.kept}
    for number, exchanges in enumerate(run.fresh.values(), 1):
        worlds[f"World {number} of fresh()"] = exchanges
    har = config.getoption("petstore_har")
    if har:
        yield written(here / har / f"{name}.har", "HAR", _archive(worlds)).line
    pages = config.getoption("petstore_html")
    if pages:
        reasons = [*run.reasons, *_broken_rules(worlds)]
        record: JsonObject = report.__dict__["petstore"]
        record["page"] = [f"{name}.html", *reasons[:2]]
        yield written(here / pages / f"{name}.html", "page", _page(run, reasons, worlds, journal)).line


def _file_name(nodeid: str) -> str:
    """Return a name that is valid on every file system, and still unique."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", nodeid).strip("._")[-_LONGEST_NAME:]
    if name == nodeid:
        return name
    return f"{name}-{zlib.crc32(nodeid.encode()):08x}"


def _archive(worlds: Mapping[str, list[Exchange]]) -> str:
    from petstore_mock.journal.har import har_document  # only a failure needs it

    archive = har_document(chain.from_iterable(worlds.values()))
    return json.dumps(archive, ensure_ascii=False, indent=2)


def _broken_rules(worlds: Mapping[str, list[Exchange]]) -> list[str]:
    """Return a line for each rule that a request broke and the test did not expect."""
    lines: dict[str, None] = {}
    from petstore_mock.journal.exchange import is_unexpected  # only a failure needs it

    for exchange in filter(is_unexpected, chain.from_iterable(worlds.values())):
        for rule in exchange.violations or [exchange.reason]:
            lines[f"{exchange.request_line}: {exchange.masked(str(rule))}"] = None
    return list(lines)[:_SHOWN]


def _page(run: Run, reasons: Sequence[str], worlds: Mapping[str, list[Exchange]], journal: str) -> str:
    from petstore_mock.journal.table import page, preformatted, quoted, table_parts  # as above

    first, *others = reasons
    parts = [f"<h1>{quoted(first)}</h1>", *(f"<p>{quoted(reason)}</p>" for reason in others)]
    parts.append(f'<p class="faint">{quoted(run.item.nodeid)}</p>')
    for name, exchanges in worlds.items():
        parts += [f"<h2>{name}</h2>", "".join(table_parts(exchanges, newest_first=False))]
    parts += ["<h2>Journal</h2>", preformatted(journal), "<h2>Traceback</h2>", *map(preformatted, run.tracebacks)]
    return page(run.item.nodeid, parts)


def index_page(pages: Mapping[str, Sequence[str]]) -> str:
    """Return the page that links to the pages of the failing tests, with its reason and the first broken rule."""
    from petstore_mock.journal.table import page, quoted  # as above

    parts = [f"<h1>{counted(len(pages), 'failing test')}</h1>"]
    for test, (file, *reasons) in sorted(pages.items()):
        link = f'<a href="{quoted(file)}">{quoted(test)}</a>'
        parts.append(f"<p>{'<br>'.join([link, *map(quoted, reasons)])}</p>")
    return page("Failing tests", parts)
