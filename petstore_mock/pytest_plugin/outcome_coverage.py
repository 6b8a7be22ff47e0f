"""Outcome coverage for clients: which documented outcomes and faults the tests showed to the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock import faults
from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.journal.outcomes import DOCUMENTED, outcomes
from petstore_mock.pytest_plugin.goal import Goal, percent
from petstore_mock.pytest_plugin.reporting import directory_of
from petstore_mock.pytest_plugin.run import name_without_variant

if TYPE_CHECKING:
    from collections.abc import Generator

    from petstore_mock.journal.entry import Entry
    from petstore_mock.pytest_plugin.isolation import IsolationManager
    from petstore_mock.pytest_plugin.run import Run

__all__ = ["Coverage"]

_ATTRIBUTE: Final = "petstore_shown"  # of a report: it crosses xdist


class Coverage:
    """Counts the tests that showed an outcome, here or on the workers of xdist, and prints the table."""

    def __init__(self, config: pytest.Config, isolation: IsolationManager) -> None:
        self._pages = directory_of(config, "petstore_html")
        self._goal = Goal(config, "petstore_coverage")
        isolation.observers.append(self._observe)
        self._shown: dict[str, set[str]] = {}  # of this process: test -> what it showed
        self._tests: dict[str, set[str]] = {}  # of all processes: outcome -> the tests that showed it

    def _observe(self, run: Run, entries: list[Entry]) -> None:
        assert run.petstore is not None  # noqa: S101  # for the type checker: it has entries
        if run.mutant is not None:  # that answers what the interface does not
            return
        bounds = run.petstore.tenant.limit_bounds
        shown = self._shown.setdefault(run.item.nodeid, set())
        for entry in entries:
            shown.update(f"{entry.operation}: {outcome}" for outcome in outcomes(entry, bounds))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put what the whole test showed on the report of its teardown."""
        report = yield
        if call.when == "teardown":
            shown = sorted(self._shown.pop(item.nodeid, ()))
            report.__dict__[_ATTRIBUTE] = {"test": name_without_variant(item), "shown": shown}
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a report into account."""
        noted: dict[str, Any] = getattr(report, _ATTRIBUTE, {})
        for outcome in noted.get("shown", ()):
            self._tests.setdefault(outcome, set()).add(noted["test"])

    def _count(self, operation: str, outcome: str) -> int:
        """Return how many tests showed an outcome; one under several behaviours counts once."""
        return len(self._tests.get(f"{operation}: {outcome}", ()))

    @property
    def _missing(self) -> list[tuple[str, str]]:
        """The documented outcomes that no test showed, with their operations."""
        return [(row, name) for row, name in DOCUMENTED if not self._count(name, row)]

    @property
    def _share(self) -> float:
        return 100 * (len(DOCUMENTED) - len(self._missing)) / len(DOCUMENTED)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the file, and let the session fail where too little was shown."""
        self._goal.finish(session, exitstatus, self._share, self._document())

    def _document(self) -> dict[str, Any]:
        return {
            "count": len(DOCUMENTED),
            "shown": len(DOCUMENTED) - len(self._missing),
            "percent": round(self._share, 2),
            "outcomes": [self._row_of("outcome", row, name) for row, name in DOCUMENTED],
            "faults": [self._row_of("fault", f"fault {kind}", name) for kind in faults.KINDS for name in OPERATIONS],
        }

    def _row_of(self, what: str, row: str, operation: str) -> dict[str, Any]:
        tests = sorted(self._tests.get(f"{operation}: {row}", ()))
        return {"operation": operation, what: row.removeprefix("fault "), "shown": bool(tests), "tests": tests}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print how many tests showed what, and what none did."""
        write = terminalreporter.write_line
        terminalreporter.section("petstore: outcomes that the tests showed to the client, by tests")
        rows = list(dict.fromkeys(outcome for outcome, _ in DOCUMENTED))
        write(_row("", OPERATIONS))
        for row in sorted(rows):
            cells = [str(self._count(name, row)) if (row, name) in DOCUMENTED else "-" for name in OPERATIONS]
            write(_row(row, cells))
        for kind in faults.KINDS:
            write(_row(f"fault {kind}", [str(self._count(name, f"fault {kind}")) for name in OPERATIONS]))
        missing = [f"{name} {row}" for row, name in self._missing]
        kinds = [kind for kind in faults.KINDS if not any(self._count(name, f"fault {kind}") for name in OPERATIONS)]
        write("")
        shown = len(DOCUMENTED) - len(missing)
        write(f"Shown: {shown} of {len(DOCUMENTED)} documented outcomes: {percent(self._share)}.")
        write(f"Never shown: {', '.join(missing) or 'nothing that the interface documents'}.")
        write(f"Faults never shown: {', '.join(kinds) or 'none'}.")
        self._goal.tell(write)
        if self._pages is not None:
            from petstore_mock.pytest_plugin.pages import write_coverage  # noqa: PLC0415  # most runs do without

            write(write_coverage(self._pages, self._count))


_FIRST: Final = 26  # columns: the longest kind of fault and a gap
_COLUMN: Final = 11


def _row(name: str, cells: Any) -> str:  # noqa: ANN401  # any iterable of texts
    return f"{name:<{_FIRST}}{''.join(f'{cell:>{_COLUMN}}' for cell in cells)}".rstrip()
