"""What a failing test and the end of a session say: the journal, HAR files, and requests of finished tests."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pytest

from petstore_mock.common.wording import counted
from petstore_mock.errors import PetStoreMockError
from petstore_mock.pytest_plugin.run import file_name, name_without_variant

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

    from petstore_mock.core.world_registry import Leak
    from petstore_mock.journal.entry import Entry
    from petstore_mock.pytest_plugin.isolation import IsolationManager
    from petstore_mock.pytest_plugin.run import Run

__all__ = ["FailureReport", "Leaks", "Removal", "directory_of"]

SECTION: Final = "petstore journal"
_FRESH: Final = "in a world of fresh()"
_REPORTS: Final = ("htmlpath", "allure_report_dir")  # options of pytest-html and Allure
_NEEDS_GET_PET: Final = "petstore_needs_get_pet"  # attribute of a report
_SHOWN_LEAKS: Final = 10  # owners: the first ones tell enough
_SHOWN_STRAY: Final = 10  # requests
_PATHS: Final = "paths"  # what conditions of a wrong path or method are about


class FailureReport:
    """Gives the report of a failing test the section with its journal, and writes its HAR file and its page."""

    def __init__(self, config: pytest.Config, isolation: IsolationManager) -> None:
        self._isolation = isolation
        self._config = config
        self._archives = directory_of(config, "petstore_har")
        self._pages = directory_of(config, "petstore_html")
        self._shows_coverage = bool(config.getoption("petstore_coverage"))
        self._told: tuple[str, list[str]] = ("", [])  # why the present test failed so far: in its call, in its teardown

    # Not where a report is made: a wrapper there costs every phase of every test what this costs a failure.
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the section before anybody else sees the report; xdist carries it to the controller."""
        run = self._isolation.run
        if report.failed and run is not None and run.item.nodeid == report.nodeid and (run.uses_petstore or run.leaks):
            self._add(report, run)

    def pytest_exception_interact(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        """Add the section to what is logged later, maybe by another process: plugins that fork or rerun tests do so."""
        if isinstance(report, pytest.TestReport):
            self.pytest_runtest_logreport(report)

    def _add(self, report: pytest.TestReport, run: Run) -> None:
        if all(title != SECTION for title, _ in report.sections):
            try:
                text = self._text(run)
                text = "\n".join([text, *self._picture(report, run, text)])
            except Exception as error:  # noqa: BLE001  # a bug of ours must not hide why the test failed
                text = f"the journal can't be shown, which is a bug of petstore_mock: {type(error).__name__}: {error}"
            report.sections.append((SECTION, text))

    def _text(self, run: Run) -> str:
        from petstore_mock.journal.rendering import (  # noqa: PLC0415  # only a failure does
            render_handshakes,
            render_journal,
            render_kept,
        )

        entries, fresh = run.entries(), run.fresh_entries()
        lines = [f"also: {problem}" for problem in run.problems]
        if run.has_own_mock and entries:
            lines.append("of the fixture petstore; that of a mock of the test's own stands in a note of its exception:")
        if entries:
            lines += [render_kept(entries), *_unexpected(run, entries)]
        elif not fresh:
            lines.append(_nothing_came(run))
        for others in fresh:
            lines += [f"{_FRESH}:", render_journal(others)]
            entries += others
        if run.petstore is not None:
            with suppress(PetStoreMockError):  # of a stub elsewhere nobody knows which are this test's
                lines += render_handshakes(run.petstore.journal.handshakes)
        lines += _leaked_into(run)
        if self._archives is not None:
            lines.append(self._har(self._archives / f"{file_name(run.item.nodeid)}.har", entries))
        return "\n".join(lines)

    def _picture(self, report: pytest.TestReport, run: Run, text: str) -> list[str]:
        """Draw what happened where somebody asked for it; return lines that say so."""
        if self._pages is None and not any(self._config.getoption(name, None) for name in _REPORTS):
            return []
        from petstore_mock.pytest_plugin.pages import add_pictures, write_page  # noqa: PLC0415  # as above

        worlds = [("The fixture petstore", run.entries())]
        worlds += [(_FRESH.capitalize(), entries) for entries in run.fresh_entries()]
        add_pictures(self._config, report, [entries for _, entries in worlds])
        if self._pages is None:
            return []
        if self._told[0] != report.nodeid:
            self._told = report.nodeid, []
        self._told[1].append("\n".join(filter(None, (report.longreprtext, f"{SECTION}:", text))))
        return [write_page(self._pages, run, self._told[1], worlds, with_coverage=self._shows_coverage)]

    def _har(self, path: Path, entries: list[Entry]) -> str:
        """Write the file, and say so."""
        from petstore_mock.journal.har import write_har  # noqa: PLC0415  # as above

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_har(path, entries)
        except (OSError, PetStoreMockError) as error:  # the failure itself must be told all the same
            return f"no HAR file: {error}"
        return f"HAR: {path}"


def directory_of(config: pytest.Config, option: str) -> Path | None:
    """Return the directory that an option names, seen from where pytest was started; None where it was not given."""
    directory = config.getoption(option)
    return None if directory is None else config.invocation_params.dir / directory


def _nothing_came(run: Run) -> str:
    """Return what to say of an empty journal: where a client that has asked somebody else should have asked."""
    assert run.petstore is not None  # noqa: S101  # for the type checker: only those have a report that use it
    host = run.petstore.host
    if not host.is_listening or run.leaks:
        return "no requests"
    return f"no requests came to {host.url}, where the fixture petstore listens"


def _unexpected(run: Run, entries: list[Entry]) -> list[str]:
    """Return a line on the requests for paths of nobody's, if there are expectations for which they may be meant."""
    from petstore_mock.common.masking import mask_text  # noqa: PLC0415  # only a failure needs it

    assert run.petstore is not None  # noqa: S101  # as above
    stray = [entry for entry in entries if entry.condition is not None and entry.condition.subject == _PATHS]
    expectations = run.petstore.host.expectations() if stray else []
    if not expectations:
        return []
    numbers = ", ".join(str(entry.number) for entry in stray[:_SHOWN_STRAY])
    requests = f"request{'s' if len(stray) > 1 else ''} {numbers}"
    told = f"{requests} met no expectation of httpserver; it has: {', '.join(expectations)}"
    return ["", mask_text(told, run.petstore.tenant.secrets())]  # a test may expect its key


def _leaked_into(run: Run) -> list[str]:
    """Return a line for each finished world, or test, whose requests came during ``run``."""
    from petstore_mock.core.world_registry import whose  # noqa: PLC0415  # only a failure needs it

    by_origin: dict[tuple[str, bool], list[Leak]] = {}
    for leak in run.leaks:
        by_origin.setdefault((leak.owner, leak.bore_key), []).append(leak)
    lines = []
    for (owner, bore_key), leaks in list(by_origin.items())[:_SHOWN_LEAKS]:
        name, advice = whose(owner, present=owner == run.item.nodeid)
        said = f"bore the key of {name}" if bore_key else f"began in {name}"
        told = f"{leaks[0].request} ({leaks[0].status})"
        told += f" and {len(leaks) - 1} more" if len(leaks) > 1 else ""
        lines.append(f"{counted(len(leaks), 'request')} {said}: {told}{advice if bore_key else ''}")
    more_owners = len(by_origin) - _SHOWN_LEAKS
    return [*lines, f"and requests of {more_owners} more"] if more_owners > 0 else lines


class Leaks:
    """Tells which finished tests still sent requests, and lets the session fail for it."""

    def __init__(self, isolation: IsolationManager, mode: str) -> None:
        self._isolation = isolation
        self._mode = mode
        self._from_workers: list[tuple[str, str]] = []

    def _all(self) -> list[tuple[str, str]]:
        return [*self._from_workers, *((leak.owner, leak.request) for leak in self._isolation.leaks)]

    def take(self, leaks: Iterable[tuple[str, str]]) -> None:
        """Take over what a worker of xdist has seen: owners and requests."""
        self._from_workers += [(owner, request) for owner, request in leaks]

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Hand over to xdist's controller, or let the session fail."""
        leaks = self._all()
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["petstore_leaks"] = leaks
        elif leaks and self._mode == "error" and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the owners."""
        leaks = self._all()
        owners = Counter(owner for owner, _ in leaks)
        if not leaks or self._mode == "ignore":
            return
        terminalreporter.section("petstore: requests of finished tests", red=self._mode == "error", yellow=True)
        for owner, count in list(owners.items())[:_SHOWN_LEAKS]:
            first = next(request for other, request in leaks if other == owner)
            requests = first if count == 1 else f"{first} and {count - 1} more"
            terminalreporter.write_line(
                f"{requests}: leaked by {owner}, or a client of wider scope than the test: set petstore_api_key"
            )
        if len(owners) > _SHOWN_LEAKS:
            terminalreporter.write_line(f"and {len(owners) - _SHOWN_LEAKS} more tests")
        terminalreporter.write_line(
            "These requests belong to no journal; the fake answers a retired key with 401."
            + (" They fail the session: petstore_leaks = warn or ignore lets it pass." if self._mode == "error" else "")
        )


class Removal:
    """Lists the tests that call getPet when it is gone (``--petstore-at``)."""

    def __init__(self, isolation: IsolationManager) -> None:
        isolation.observers.append(self._observe)
        self._isolation = isolation
        self._needing: list[str] = []  # of this process, by test
        self._reported: set[str] = set()

    def _observe(self, run: Run, entries: list[Entry]) -> None:
        from petstore_mock.contract.interface import REMOVAL_DATE  # noqa: PLC0415  # every pytest run imports this module

        removed = REMOVAL_DATE.timestamp()
        if any(entry.operation == "getPet" and entry.timestamp >= removed for entry in entries):
            self._needing.append(run.item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note it on the report of the teardown; xdist carries it to the controller."""
        report = yield
        if call.when == "teardown" and item.nodeid in self._needing:
            report.__dict__[_NEEDS_GET_PET] = name_without_variant(item)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a report into account."""
        if (test := getattr(report, _NEEDS_GET_PET, None)) is not None:
            self._reported.add(test)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List them."""
        terminalreporter.section("petstore: tests that still need getPet")
        for test in sorted(self._reported):
            terminalreporter.write_line(test)
        if not self._reported:
            terminalreporter.write_line("none: no test called it on or after 5 December 2030 of the fake's time")
