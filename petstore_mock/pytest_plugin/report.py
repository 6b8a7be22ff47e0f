"""The fake's part of a failing test's report: the journal, a HAR file and an HTML page."""

from __future__ import annotations

import json
import re
import zlib
from os import environ
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.masking import mask_text
from petstore_mock.common.values import counted
from petstore_mock.pytest_plugin.settings import written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pytest

    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.pytest_plugin.home import Home
    from petstore_mock.pytest_plugin.run import Run

TITLE: Final = "petstore journal"
_LONGEST_NAME: Final = 120  # characters: file systems allow 255 bytes
_SHOWN: Final = 10  # leaks


def add_journal(report: pytest.TestReport, run: Run, config: pytest.Config) -> None:
    """Add the journal to the report of a failure."""
    if run.home is None:
        return
    try:
        text = "\n".join(_lines(run, run.home))
        secrets = run.home.world.secrets()
        crash = getattr(report.longrepr, "reprcrash", None)  # only for an exception with a traceback
        message = mask_text(crash.message if crash else report.longreprtext, secrets).strip()
        run.reasons.append(message.partition("\n")[0])  # the traceback shows the other lines
        run.tracebacks.append(mask_text(report.longreprtext, secrets))
        text = "\n".join([text, *_files(run, report, mask_text(text, secrets), config)])
    except Exception as error:  # noqa: BLE001  # a bug in this plugin must not hide the failure of the test
        text = f"the journal can't be shown because of a bug in petstore_mock: {type(error).__name__}: {error}"
    # The journal is not added as captured output: --show-capture=no would hide it, and junit.xml would omit it.
    add = getattr(report.longrepr, "addsection", None)
    if add is not None:
        add(TITLE, text)
    else:  # for example the report of a doctest
        report.longrepr = f"{report.longreprtext}\n{f' {TITLE} ':-^80}\n{text}"


def _lines(run: Run, home: Home) -> Iterator[str]:
    from petstore_mock.core.registry import whose  # noqa: PLC0415  # only a failure needs it
    from petstore_mock.journal.text import journal_text  # noqa: PLC0415  # only a failure needs it

    yield from (f"also: {problem}" for problem in run.problems)
    for name, (changed, first) in run.lost.items():
        yield f"the fixture {name!r} of wider scope set up {' and '.join(changed)} for {first.nodeid}"
        yield "  each test gets a new world without that state: set it up in the test, or in petstore_options (seed=3)"
    if home.died:
        yield f"the listener died: {home.died}"
    journal = home.world.journal
    if journal.kept or journal.notes:
        yield journal_text(journal.kept, journal.notes)
    elif not run.fresh:
        from petstore_mock.transport.no_proxy import PROXIES  # noqa: PLC0415  # as above

        address = home.petstore._address  # noqa: SLF001  # internal
        is_reachable = address is not None and not run.leaks
        yield f"no request arrived at {address}, where the fixture petstore listens" if is_reachable else "no requests"
        if proxies := [name for name in PROXIES if environ.get(name)]:
            yield f"a proxy is set ({' and '.join(proxies)}): a client that ignores NO_PROXY sends its requests there"
    for exchanges in run.fresh.values():
        yield "in a world of fresh():"
        yield journal_text(exchanges)
    for leak in run.leaks[:_SHOWN]:
        owner = whose(leak["world"], present=leak["world"] == run.item.nodeid)
        yield f"{leak['request']} ({leak['status']}) belongs to {owner}"


def _files(run: Run, report: Any, journal: str, config: pytest.Config) -> Iterator[str]:  # noqa: ANN401  # gets a record
    """Write the files that options request, and yield a line for each."""
    nodeid = run.item.nodeid  # the name of a file must be valid on every file system, and still unique
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", nodeid).strip("._")[-_LONGEST_NAME:]
    name = name if name == nodeid else f"{name}-{zlib.crc32(nodeid.encode()):08x}"
    worlds = {"The fixture petstore": run.home.world.journal.kept} if run.home is not None else {}
    worlds |= {f"World {number} of fresh()": found for number, found in enumerate(run.fresh.values(), 1)}
    if folder := config.getoption("petstore_har"):
        from petstore_mock.journal.har import har_document  # noqa: PLC0415  # only a failure needs it

        every = har_document(exchange for exchanges in worlds.values() for exchange in exchanges)
        path = config.invocation_params.dir / folder / f"{name}.har"
        yield written(path, "HAR", json.dumps(every, ensure_ascii=False, indent=2))
    if folder := config.getoption("petstore_html"):
        # Broken rules come first, because they are usually the cause of the failure.
        broken = [one for kept in worlds.values() for one in kept if one.is_violation and not one.expected]
        pairs = [(one, rule) for one in broken for rule in one.violations or [one.reason]]
        rules = dict.fromkeys(f"{one.request_line}: {one.masked(str(rule))}" for one, rule in pairs)
        reasons = [*list(rules)[:_SHOWN], *run.reasons]
        report.petstore["page"] = [f"{name}.html", reasons[0]]
        page = _page(run, reasons, worlds, journal)
        yield written(config.invocation_params.dir / folder / f"{name}.html", "page", page)


def _page(run: Run, reasons: Sequence[str], worlds: Mapping[str, list[Exchange]], journal: str) -> str:
    from petstore_mock.journal.table import exchange_table, page, preformatted, quoted  # noqa: PLC0415  # as above

    first, *others = reasons
    parts = [f"<h1>{quoted(first)}</h1>", *(f"<p>{quoted(reason)}</p>" for reason in others)]
    parts.append(f'<p class="faint">{quoted(run.item.nodeid)}</p>')
    for name, exchanges in worlds.items():
        parts += [f"<h2>{name}</h2>", exchange_table(exchanges)]
    parts += ["<h2>Journal</h2>", preformatted(journal), "<h2>Traceback</h2>", *map(preformatted, run.tracebacks)]
    return page(run.item.nodeid, parts)


def index_page(pages: Mapping[str, Sequence[str]]) -> str:
    """Return the page that links to the pages of the failing tests, with the reason of each failure."""
    from petstore_mock.journal.table import page, quoted  # noqa: PLC0415  # as above

    parts = [f"<h1>{counted(len(pages), 'failing test')}</h1>"]
    for test, (file, reason) in sorted(pages.items()):
        parts.append(f'<p><a href="{quoted(file)}">{quoted(test)}</a><br>{quoted(reason)}</p>')
    return page("Failing tests", parts)
