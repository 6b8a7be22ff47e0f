"""Outcome coverage for clients: which documented outcomes and faults the tests showed to the client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock import faults
from petstore_mock.contract.interface import OPERATIONS, OperationName
from petstore_mock.pytest_plugin.run import name_without_variant

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from petstore_mock.journal.entry import Entry
    from petstore_mock.pytest_plugin.isolation import Keeper
    from petstore_mock.pytest_plugin.run import Run

__all__ = ["DOCUMENTED", "Coverage", "outcomes"]

_ATTRIBUTE: Final = "petstore_shown"  # of a report: it crosses xdist
_PAGES: Final = ("empty page", "partial page", "full page")
_STATUS: Final = ("status present", "status absent")


def _documented() -> Iterator[tuple[str, OperationName]]:
    """Yield every outcome that the interface documents (§4, §7), with the operation that has it."""
    for operation in OPERATIONS.values():
        details = (*_PAGES, *_STATUS) if operation.response_schema == "Pets" else _STATUS
        for detail in details:
            yield f"{operation.success} {detail}", operation.name
        for status in sorted(operation.errors):
            yield str(status), operation.name


DOCUMENTED: Final = tuple(_documented())


def outcomes(entry: Entry, limit: int) -> Iterator[str]:
    """Yield what one request showed to the client: outcomes and kinds of faults.

    Args:
        entry: the request and its answer.
        limit: how many animals a page of it holds.
    """
    fault = entry.fault
    for met in (entry.delayed_by, fault):
        if met is not None:
            yield f"fault {met.kind}"
    if entry.operation is None or entry.status is None:
        return
    if fault is not None and fault.breaks_contract:
        return  # whatever came, it was no answer of the interface
    operation = OPERATIONS[entry.operation]  # type: ignore[index]  # the route found it
    if entry.status in operation.errors:
        yield str(entry.status)
    elif entry.status == operation.success and entry.response_body:
        body = json.loads(entry.response_body)
        animals = body if isinstance(body, list) else [body]
        for detail in _details(animals):
            yield f"{entry.status} {detail}"
        if isinstance(body, list):
            yield f"{entry.status} {_PAGES[0 if not body else 1 + (len(body) >= limit)]}"


def _details(animals: list[dict[str, Any]]) -> set[str]:
    return {_STATUS[0] if "status" in animal else _STATUS[1] for animal in animals}


def _limit_of(entry: Entry, bounds: tuple[int, int, int]) -> int:
    """Return how many animals a page holds: what the client asked for, as far as it is valid (§8)."""
    minimum, maximum, default = bounds
    text = entry.query.get("limit", "")
    return min(max(int(text), minimum), maximum) if text.isdecimal() and len(text) < len(str(2**63)) else default


class Coverage:
    """Counts the tests that showed an outcome, here or on the workers of xdist, and prints the table."""

    def __init__(self, keeper: Keeper) -> None:
        keeper.observers.append(self._observe)
        self._shown: dict[str, set[str]] = {}  # of this process: test -> what it showed
        self._tests: dict[str, set[str]] = {}  # of all processes: outcome -> the tests that showed it

    def _observe(self, run: Run, entries: list[Entry]) -> None:
        assert run.petstore is not None  # noqa: S101  # for the type checker: it has entries
        bounds = run.petstore.tenant.world.rules.limit_bounds
        shown = self._shown.setdefault(run.item.nodeid, set())
        for entry in entries:
            shown.update(f"{entry.operation}: {outcome}" for outcome in outcomes(entry, _limit_of(entry, bounds)))

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
        missing = [f"{name} {row}" for row, name in DOCUMENTED if not self._count(name, row)]
        kinds = [kind for kind in faults.KINDS if not any(self._count(name, f"fault {kind}") for name in OPERATIONS)]
        write("")
        write(f"Never shown: {', '.join(missing) or 'nothing that the interface documents'}.")
        write(f"Faults never shown: {', '.join(kinds) or 'none'}.")


_FIRST: Final = 26  # columns: the longest kind of fault and a gap
_COLUMN: Final = 11


def _row(name: str, cells: Any) -> str:  # noqa: ANN401  # any iterable of texts
    return f"{name:<{_FIRST}}{''.join(f'{cell:>{_COLUMN}}' for cell in cells)}".rstrip()
