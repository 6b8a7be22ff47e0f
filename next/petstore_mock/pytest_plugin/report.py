"""What the report of a failing test says about its fake: the journal, and the HAR file and the page of it."""

from __future__ import annotations

import json
import re
import zlib
from html import escape
from typing import TYPE_CHECKING, Final

import pytest

from petstore_mock.common.masking import mask_text
from petstore_mock.common.values import counted, write_text
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from petstore_mock.core.registry import Leak
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.pytest_plugin.home import Home
    from petstore_mock.pytest_plugin.run import Run

TITLE: Final = "petstore journal"
_LONGEST_NAME: Final = 120  # characters: file systems allow 255 bytes
_SHOWN: Final = 10  # owners of leaks, and requests for unknown paths

# A fixture of wider scope: what it changed, and the test during whose setup it did
WiderFixtures = dict[str, tuple[list[str], str]]


def directory_of(config: pytest.Config, option: str) -> Path | None:
    """Return the directory that an option names, relative to where pytest was started."""
    directory = config.getoption(option)
    return None if directory is None else config.invocation_params.dir / directory


def file_name(nodeid: str) -> str:
    """Return a file name for a test that every file system takes, and that no other test has."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", nodeid).strip("._")[-_LONGEST_NAME:]
    return safe if safe == nodeid else f"{safe}-{zlib.crc32(nodeid.encode()):08x}"


def add_journal(report: pytest.TestReport, run: Run, config: pytest.Config, wider: WiderFixtures) -> None:
    """Add the journal to the report of a failure, which xdist carries to the controller."""
    if run.home is None:
        return
    try:
        text = "\n".join(_lines(run, run.home, wider))
        text = "\n".join([text, *_files(report, run, run.home, config, text)])
    except Exception as error:  # noqa: BLE001  # a bug of ours must not hide why the test failed
        text = f"the journal can't be shown, which is a bug of petstore_mock: {type(error).__name__}: {error}"
    # Captured output is no place for it: --show-capture=no hides that, and junit.xml leaves it out.
    if hasattr(report.longrepr, "addsection"):
        report.longrepr.addsection(TITLE, text)
    else:
        report.longrepr = f"{report.longreprtext}\n{f' {TITLE} ':-^80}\n{text}"


def _lines(run: Run, home: Home, wider: WiderFixtures) -> Iterator[str]:
    from petstore_mock.journal.text import journal_text  # noqa: PLC0415  # only a failure needs it

    yield from (f"also: {problem}" for problem in run.problems)
    yield from _taken_away(run, wider)
    if home.end_of_listener:
        yield f"the listener's thread has ended: {home.end_of_listener}"
    journal = home.world.journal
    kept = journal.kept
    if run.has_own_mock and kept:
        yield "of the fixture petstore; the journal of the test's own mock is in a note of the exception:"
    if kept or journal.notes:
        yield journal_text(kept, journal.notes)
        yield from _unexpected(home, kept)
    elif not run.fresh:
        listens = home.url is not None and not run.leaks
        yield f"no requests came to {home.url}, where the fixture petstore listens" if listens else "no requests"
    for exchanges in run.fresh.values():
        yield "in a world of fresh():"
        yield journal_text(exchanges)
    yield from _leaked_into(run)


def _taken_away(run: Run, wider: WiderFixtures) -> Iterator[str]:
    """Yield a line for each fixture of wider scope whose effect on the fake the test can't see."""
    for name in getattr(run.item, "fixturenames", ()):
        changed, owner = wider.get(name, ([], ""))
        if changed and (owner != run.item.nodeid or run.by_example):
            yield (
                f"the fixture {name!r} is wider than a test, and set up {' and '.join(changed)} during {owner}; that "
                "is gone, since each test and each example begins anew: return it from petstore_options, as seed=... "
                "for animals, or give the fixture the scope of a function"
            )


def _unexpected(home: Home, exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Yield a line about requests for unknown paths, if there are expectations for which they may be meant."""
    stray = [str(one.number) for one in exchanges if one.condition is not None and one.condition.subject == "paths"]
    if stray and (expectations := home.expectations()):
        requests = f"request{'s' if len(stray) > 1 else ''} {', '.join(stray[:_SHOWN])}"
        told = f"{requests} met no expectation of httpserver; it has: {', '.join(expectations)}"
        yield mask_text(told, home.world.secrets())


def _leaked_into(run: Run) -> Iterator[str]:
    """Yield a line for each finished test whose requests came during this one."""
    from petstore_mock.core.registry import whose  # noqa: PLC0415  # only a failure needs it

    by_origin: dict[tuple[str, bool], list[Leak]] = {}
    for leak in run.leaks:
        by_origin.setdefault((leak.owner, leak.by_key), []).append(leak)
    for (owner, by_key), leaks in list(by_origin.items())[:_SHOWN]:
        first = f"{leaks[0].request} ({leaks[0].status})"
        requests = first if len(leaks) == 1 else f"{first} and {counted(len(leaks) - 1, 'more request')}"
        is_present = owner == run.item.nodeid
        yield f"{requests} {f'bore the key of {whose(owner, present=is_present)}' if by_key else f'began in {owner}'}"
    if len(by_origin) > _SHOWN:
        yield f"and requests of {len(by_origin) - _SHOWN} more"


# Files


def _files(report: pytest.TestReport, run: Run, home: Home, config: pytest.Config, text: str) -> Iterator[str]:
    worlds = {"The fixture petstore": home.world.journal.kept}
    for number, exchanges in enumerate(run.fresh.values(), 1):
        worlds[f"World {number} of fresh()"] = exchanges
    if archives := directory_of(config, "petstore_har"):
        from petstore_mock.journal.har import har_document  # noqa: PLC0415  # only a failure needs it

        every = [exchange for exchanges in worlds.values() for exchange in exchanges]
        archive = json.dumps(har_document(every), ensure_ascii=False, indent=2)
        yield _write(archives / f"{file_name(run.item.nodeid)}.har", "HAR", archive)
    if pages := directory_of(config, "petstore_html"):
        run.reports.append(mask_text(f"{report.longreprtext}\n\n{text}", home.world.secrets()))
        yield _write(pages / f"{file_name(run.item.nodeid)}.html", "page", _page(run, worlds))


def _page(run: Run, worlds: Mapping[str, Sequence[Exchange]]) -> str:
    from petstore_mock.journal.table import exchange_table, page, preformatted  # noqa: PLC0415  # as above

    parts = [f"<h1>{escape(run.item.nodeid)}</h1>", *map(preformatted, run.reports)]
    for name, exchanges in worlds.items():
        parts += [f"<h2>{name}</h2>", exchange_table(exchanges, details=True)]
    return page(run.item.nodeid, parts)


def _write(path: Path, what: str, text: str) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    except (OSError, PetStoreMockError) as error:  # the failure itself must be shown all the same
        return f"no {what} file: {error}"
    return f"{what}: {path}"
