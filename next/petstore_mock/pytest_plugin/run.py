"""One test that runs: what it asks for, what came from its client, and what it is warned of."""

from __future__ import annotations

import linecache
import warnings
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock.errors import ContractWarning, DeprecatedOperationWarning
from petstore_mock.pytest_plugin.settings import FIXTURE, merged_marks
from petstore_mock.pytest_plugin.variants import is_multiplied, name_without_variant, variant_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from petstore_mock.core.registry import Leak
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.journal.journal import Journal
    from petstore_mock.pytest_plugin.home import Home
    from petstore_mock.pytest_plugin.ledger import Record

MISTAKES: Final = pytest.StashKey[str]()  # why a test can't have the starting state that it asks for
_DECORATOR_LINES: Final = 50
_MOST_WARNINGS: Final = 20  # of one test: a property test can break one rule in a hundred ways
_MOST_WORLDS: Final = 10  # of fresh(): a test may begin thousands
_TOO_SLOW: Final = ("hypothesis.errors", "DeadlineExceeded")  # not imported: most tests do without Hypothesis


class Run:
    """One test, from its setup to its teardown.

    Attributes:
        item: the test.
        home: the fake that has begun a world for it.
        uses: whether it has to do with the fixture: it names it, or its client sent requests.
        start_error: why its starting state can't be; empty if it can.
        problems: what it must answer for beside the reason for which it failed.
        by_example: whether each Hypothesis example is verified by itself.
        has_own_mock: whether its exception has the journal of another mock.
        warnings: what to warn of at its end.
        fresh: what came to worlds of ``fresh()`` during the test or its example.
        leaks: the requests of finished tests that came during this one.
        failed: whether a phase of it failed in a way that says something about the client.
        listener: why the listener had ended before it.
        reports: the texts of its failures so far, for its page.
    """

    def __init__(self, item: pytest.Item, assumed: Mapping[str, str]) -> None:
        self.item = item
        self.home: Home | None = None
        self.variant = variant_of(item)
        self.mutant = None if self.variant is None else self.variant.mutant
        self.uses = FIXTURE in getattr(item, "fixturenames", ())
        self.start_error = item.stash.get(MISTAKES, "")
        self.problems: list[str] = []
        self.by_example = self.has_own_mock = self.failed = False
        self.warnings: dict[str, Warning] = {}
        self.fresh: dict[tuple[Journal, int], list[Exchange]] = {}
        self.leaks: list[Leak] = []
        self.listener = ""
        self.reports: list[str] = []
        self._assumed = assumed
        self._warned: set[str] = set()
        self._operations: set[str] = set()
        self._shown: set[tuple[str, str]] = set()
        self._asked = self._removed = False

    def start(self) -> dict[str, Any]:
        """Return what the test has of its own; see ``World.renew``."""
        start, assumed = merged_marks(self.item)
        gaps = {**self._assumed, **assumed}
        if self.variant is not None and self.mutant is None:
            gaps[self.variant.name] = self.variant.value
        return {**start, "gaps": gaps or None, "mutant": self.mutant}

    def require_start(self) -> None:
        """Fail in one line if the marks of the test ask for a starting state that can't be."""
        if self.start_error:
            pytest.fail(self.start_error, pytrace=False)

    # What came

    def note(self, exchanges: Sequence[Exchange], *, with_outcomes: bool) -> None:
        """Note what the client did."""
        from petstore_mock.interface.table import OPERATIONS  # noqa: PLC0415  # only users of the fixture need it

        self.uses = True
        for exchange in exchanges:
            if exchange.is_violation and not exchange.expected and len(self.warnings) <= _MOST_WARNINGS:
                text = f"{exchange.request_line} broke the contract{exchange.where}: {exchange.reason}"
                self.warnings.setdefault(text, ContractWarning(text))
            operation = OPERATIONS.get(exchange.operation or "")
            if operation is None:
                continue
            self._operations.add(operation.name)
            self._asked = self._asked or (self.mutant is not None and exchange.mutant == self.mutant)
            if operation.removed_at is not None:
                self._removed = self._removed or exchange.timestamp >= operation.removed_at.timestamp()
                self._warn_of(operation.name, operation.removal_day, operation.section, operation.replacement)
        if with_outcomes:
            from petstore_mock.journal.outcomes import outcomes_of  # noqa: PLC0415  # most runs do without

            self._shown |= {(one.operation or "", outcome) for one in exchanges for outcome in outcomes_of(one)}

    def _warn_of(self, name: str, day: str, section: str, replacement: str) -> None:
        text = f"the client called {name}, which the interface removes on {day} (§{section}): use {replacement}"
        self.warnings.setdefault(name, DeprecatedOperationWarning(text))

    def note_fresh(self, journal: Journal, exchanges: Sequence[Exchange]) -> None:
        """Keep what came to a world of ``fresh()``, for the report."""
        self.fresh.setdefault((journal, journal.clears), []).extend(exchanges)
        if len(self.fresh) > _MOST_WORLDS:
            del self.fresh[next(iter(self.fresh))]

    # Warnings

    def warn(self) -> None:
        """Warn of what was noted, at the line of the test.

        Each text comes once a test. An error comes each time, or Hypothesis could not shrink it; under a mutant, the
        test as it is has warned already.
        """
        path, line = _line_of(self.item)
        noted, self.warnings = self.warnings, {}
        for once, warning in noted.items():
            is_known = once in self._warned or len(self._warned) >= _MOST_WARNINGS or self.mutant is not None
            self._warned.add(once)
            with warnings.catch_warnings(record=True) if is_known else nullcontext():
                module = getattr(getattr(self.item, "module", None), "__name__", None)
                warnings.warn_explicit(warning, type(warning), path, line, module, registry={})

    # The record of a report

    def record(self, report: pytest.TestReport, error: BaseException | None, leaks: Sequence[Leak]) -> Record:
        """Return what a report carries."""
        self.failed = self.failed or (_is_failure(report) and not self._is_excused(error))
        return {
            "test": name_without_variant(self.item),
            "variant": str(self.variant or ""),
            "mutant": self.mutant,
            "multiplied": is_multiplied(self.item),
            "is_last": report.when == "teardown",
            "failed": self.failed,
            "passed": report.passed and not hasattr(report, "wasxfail"),
            "assumes": merged_marks(self.item)[1],
            "operations": sorted(self._operations),
            "shown": [list(pair) for pair in sorted(self._shown)],
            "asked": self._asked,
            "removed": self._removed,
            "leaks": [[leak.owner, leak.request] for leak in leaks],
            "listener": self.listener,
        }

    def _is_excused(self, error: BaseException | None) -> bool:
        """Say whether a failure shows nothing about the client."""
        if isinstance(error, BaseExceptionGroup):
            return any(map(self._is_excused, error.exceptions))
        if isinstance(error, pytest.xfail.Exception):
            return True
        # A client of wider scope has the key of a finished test, or the machine is slow: the variant is no reason.
        has_old_key = bool(self.leaks) and self.home is not None and not self.home.world.journal.total
        return self.variant is not None and (has_old_key or (type(error).__module__, type(error).__name__) == _TOO_SLOW)


def _is_failure(report: pytest.TestReport) -> bool:
    """Say whether a test did not hold, whatever its mark ``xfail`` makes of that."""
    if report.failed:
        return not str(report.longrepr).startswith("[XPASS(strict)]")  # it held
    return report.skipped and hasattr(report, "wasxfail")


# The line of a test


def _line_of(item: pytest.Item) -> tuple[str, int]:
    """Return the file of a test and the line of its ``def``: pytest counts from the first decorator."""
    path, start, _ = item.reportinfo()
    first = (start or 0) + 1
    begins = f"def {getattr(item, 'originalname', None) or item.name}("
    lines = range(first, first + _DECORATOR_LINES)
    return str(path), next((line for line in lines if begins in linecache.getline(str(path), line)), first)


def raise_at(item: pytest.Item, error: BaseException) -> None:
    """Raise ``error`` as if the first line of the test did: a report then shows that line, and none of ours.

    A frame there needs code that was compiled for that file and line; a traceback can't be made without one.
    """
    __tracebackhide__ = True
    path, line = _line_of(item)
    code = compile("raise error", path, "exec").replace(co_name=item.name, co_firstlineno=line)
    exec(code, {"error": error.with_traceback(None)})  # noqa: S102  # two constant words
