"""The run of one test: its starting state, the requests of its client, and its warnings."""

from __future__ import annotations

import linecache
import sys
import warnings
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from petstore_mock.common.refusing import one_of, require
from petstore_mock.core.options import options_at
from petstore_mock.core.store import read_seed
from petstore_mock.errors import ContractWarning, DeprecatedOperationWarning
from petstore_mock.interface.behaviour import as_behaviour
from petstore_mock.pytest_plugin import FIXTURE
from petstore_mock.pytest_plugin.facts import Facts
from petstore_mock.pytest_plugin.variants import declared_variant, name_without_variant, variant_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from petstore_mock.core.registry import Leak
    from petstore_mock.interface.table import Operation
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.journal.journal import Journal
    from petstore_mock.pytest_plugin.home import Home
    from petstore_mock.pytest_plugin.variants import Variant

_DECORATOR_LINES: Final = 50
_MOST_WARNINGS: Final = 20  # per test; a property test can break one rule in a hundred ways
_MOST_WORLDS: Final = 10  # worlds of fresh() per test; some tests begin thousands


class Run:
    """One test, from its setup to its teardown."""

    def __init__(self, item: pytest.Item, issued: set[tuple[str, str]], variant: Variant | None = None) -> None:
        """``issued`` has the warnings that the session has issued, each by its test and text.

        A replay may play the item under another ``variant`` than its own.
        """
        self.item = item
        self.variant = variant or variant_of(item)
        self.mutant = self.variant.name if self.variant.kind == "mutant" else None
        self.test = name_without_variant(item)
        self.uses = FIXTURE in getattr(item, "fixturenames", ())  # note() sets it as well
        self.home: Home | None = None  # set once the test has a world
        self.start_error = ""  # why the starting state is wrong
        self.by_example = False  # whether each Hypothesis example is verified on its own
        self.verdict: BaseException | None = None  # the error of the last verification that failed
        # The violations and unfired faults of a test that failed for another reason.
        self.problems: list[str] = []
        self.warnings: dict[str, Warning] = {}
        self.fresh: dict[tuple[Journal, int], list[Exchange]] = {}  # requests to worlds of fresh()
        self.leaks: list[Leak] = []  # requests of finished tests that arrived during this test
        self.reasons: list[str] = []  # the message of each failure
        self.tracebacks: list[str] = []
        self.facts = Facts(multiplied=declared_variant(item) is not None)
        self._start: dict[str, object] | None = None
        self._issued = issued
        self._issued_here: set[str] = set()

    def start(self, assumed: Mapping[str, str]) -> dict[str, object]:
        """Return the arguments of ``World.renew`` from the markers of the test.

        The first call reads the files that the markers name: an example may run under a fake file system.
        """
        if self._start is None:
            self._start = self._marked(assumed)
        return self._start

    def _marked(self, assumed: Mapping[str, str]) -> dict[str, object]:
        """Return what the markers of the test set, with the contents of files. The nearest marker wins."""
        start: dict[str, Any] = {}
        declared: dict[str, str] = {}
        for mark in self.item.iter_markers():
            if mark.name == FIXTURE:
                require(not mark.args, "keyword arguments only", arguments=mark.args)
                for name in mark.kwargs:
                    one_of(name, options_at("marker"), "keyword")
                start = {**mark.kwargs, **start}
            elif mark.name == "petstore_assumes":
                require(not mark.args, 'keyword arguments gap="alternative"', arguments=mark.args)
                declared = {**mark.kwargs, **declared}
        for gap, alternative in declared.items():
            self.facts.note("assumes", [gap, alternative])
        gaps = {**assumed, **declared}
        if self.variant.kind == "gap":
            gaps[self.variant.name] = self.variant.alternative
        if start.get("behaviour") is not None:
            start["behaviour"] = as_behaviour(start["behaviour"])
        start["seed"] = read_seed(start.get("seed"))
        return {**start, "gaps": gaps or None, "mutant": self.mutant}

    def require_start(self) -> None:
        if self.start_error:
            pytest.fail(self.start_error, pytrace=False)

    # Requests

    def note_fresh(self, journal: Journal, exchanges: Sequence[Exchange]) -> None:
        self.fresh.setdefault((journal, journal.clears), []).extend(exchanges)
        if len(self.fresh) > _MOST_WORLDS:
            oldest = next(iter(self.fresh))
            del self.fresh[oldest]

    def note(self, exchanges: Sequence[Exchange], *, with_outcomes: bool, with_deprecations: bool) -> None:
        """Note the facts and the warnings of requests."""
        from petstore_mock.journal.exchange import row_of  # only users of the fixture need it

        self.uses = True
        for exchange in exchanges:
            if exchange.is_violation and not exchange.expected:
                self._note_violation(exchange)
            operation = row_of(exchange)
            if operation is None:
                continue
            self.facts.note("calls", operation.name)
            self.facts.reached |= exchange.mutant is not None
            if operation.removed_at is None:
                continue
            self.facts.removed |= exchange.timestamp >= operation.removed_at.timestamp()
            if with_deprecations:
                self._note_deprecated(operation)
        if with_outcomes:
            self._note_outcomes(exchanges)

    def _note_violation(self, exchange: Exchange) -> None:
        if len(self.warnings) <= _MOST_WARNINGS:
            text = f"{exchange.request_line} broke the contract{exchange.where}: {exchange.reason}"
            self.warnings.setdefault(text, ContractWarning(text))

    def _note_deprecated(self, operation: Operation) -> None:
        removal = f"which the interface removes on {operation.removal_day} (§{operation.section})"
        text = f"the client called {operation.name}, {removal}: use {operation.replacement}"
        self.warnings.setdefault(text, DeprecatedOperationWarning(text))

    def _note_outcomes(self, exchanges: Sequence[Exchange]) -> None:
        from petstore_mock.journal.outcomes import outcomes_of  # most runs do not need it

        for exchange in exchanges:
            for outcome in outcomes_of(exchange):
                self.facts.note("outcomes", [str(exchange.operation), outcome])

    # Warnings

    def warn(self, noted: Mapping[str, Warning]) -> None:
        """Warn at the line of the test: of a violation once in its test, and of a deprecated operation once in a run.

        Variants of the test repeat no warning, and mutants cause none. Under the filter ``error``, each call raises:
        Hypothesis must be able to repeat a failure, to shrink it.
        """
        path, line = line_of(self.item)
        # Python drops a warning whose module is None.
        module = getattr(getattr(self.item, "module", None), "__name__", self.item.name)
        for text, warning in noted.items():
            with self._silence(text, warning):
                warnings.warn_explicit(warning, type(warning), path, line, module, registry={})

    def _silence(self, text: str, warning: Warning) -> AbstractContextManager[object]:
        """Return a context that drops a warning which the run has issued already."""
        scope = "" if isinstance(warning, DeprecatedOperationWarning) else self.test
        has_many = len(self._issued_here) >= _MOST_WARNINGS
        is_repeated = (scope, text) in self._issued
        if self.mutant is not None or has_many or is_repeated:
            return warnings.catch_warnings(record=True)
        self._issued.add((scope, text))
        self._issued_here.add(text)
        return nullcontext()

    # The record for the ledger

    def record(self, report: pytest.TestReport, error: BaseException | None, leaks: Sequence[Leak]) -> dict[str, Any]:
        """Return the record of a report for the ledger: the facts so far, and the leaks since the last report."""
        # The mark xfail changes the outcome, but the ledger needs the result of the test itself.
        is_marked = hasattr(report, "wasxfail")
        # A strict xfail that passes is a failure without an exception.
        fails = is_marked if report.skipped else report.failed and error is not None
        if fails and not self._is_excused(error):
            self.facts.failed = True
        if not report.passed or is_marked:
            self.facts.passed = False
        self.facts.finished = report.when == "teardown"
        return {
            "test": self.test,
            "variant": [*self.variant],
            "facts": deepcopy(vars(self.facts)),
            "leaks": [[leak["world"], leak["request"]] for leak in leaks],
        }

    def _is_excused(self, error: BaseException | None) -> bool:
        """Return whether a failure shows nothing about the client."""
        if isinstance(error, BaseExceptionGroup):
            group = cast("BaseExceptionGroup[BaseException]", error)
            return any(map(self._is_excused, group.exceptions))
        if isinstance(error, pytest.xfail.Exception):
            return True
        if self.variant.kind == "as_is":
            return False
        # The variant is not the cause if a client of wider scope sends an old key, or if the computer is slow.
        return self._has_old_key() or _is_slow(error)

    def _has_old_key(self) -> bool:
        return bool(self.leaks) and self.home is not None and not len(self.home.world.journal)


def _is_slow(error: BaseException | None) -> bool:
    """Return whether a Hypothesis example took longer than its deadline."""
    library = sys.modules.get("hypothesis.errors")
    return library is not None and isinstance(error, library.DeadlineExceeded)


def line_of(item: pytest.Item) -> tuple[str, int]:
    """Return the file of a test and the line of its ``def``. pytest itself returns the line of the first decorator."""
    path, start, _ = item.reportinfo()
    first = (start or 0) + 1
    begins = f"def {getattr(item, 'originalname', None) or item.name}("
    for line in range(first, first + _DECORATOR_LINES):
        if begins in linecache.getline(str(path), line):
            return str(path), line
    return str(path), first
