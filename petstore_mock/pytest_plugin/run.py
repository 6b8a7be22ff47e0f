"""The run of one test: its starting state, the requests of its client, and its warnings."""

from __future__ import annotations

import linecache
import warnings
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from petstore_mock.common.refusing import one_of, require
from petstore_mock.core.options import options_at
from petstore_mock.errors import ContractWarning, DeprecatedOperationWarning, PetStoreMockError
from petstore_mock.pytest_plugin.variants import FIXTURE, mutant_of, name_without_variant, variant_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from petstore_mock.core.registry import Leak
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.journal.journal import Journal
    from petstore_mock.pytest_plugin.home import Home

# For each fixture of wider scope: the state that it set up in the fake, and the first test that used the fixture.
WiderFixtures = dict[str, tuple[list[str], pytest.Item]]

_DECORATOR_LINES: Final = 50
_MOST_WARNINGS: Final = 20  # per test; a property test can break one rule in a hundred ways
_MOST_WORLDS: Final = 10  # worlds of fresh() per test; some tests begin thousands


class Run:
    """One test, from its setup to its teardown."""

    def __init__(self, item: pytest.Item, wider: WiderFixtures) -> None:
        self.item = item
        self._wider = wider
        self.mutant = mutant_of(item)
        self.uses = FIXTURE in getattr(item, "fixturenames", ())  # note() sets it as well
        self.home: Home | None = None  # set once the test has a world
        self.start_error = ""  # why the starting state is wrong
        self.by_example = False  # whether each Hypothesis example is verified on its own
        # The violations and unfired faults of a test that failed for another reason.
        self.problems: list[str] = []
        self.warnings: dict[str, Warning] = {}
        self.fresh: dict[tuple[Journal, int], list[Exchange]] = {}  # requests to worlds of fresh()
        self.leaks: list[Leak] = []  # requests of finished tests that arrived during this test
        self.reasons: list[str] = []  # the message of each failure
        self.tracebacks: list[str] = []
        self.facts = {"passed"} if variant_of(item) is None else {"passed", "multiplied"}  # see Ledger
        self._warned: set[str] = set()

    def start(self, assumed: Mapping[str, str]) -> dict[str, Any]:
        """Return the arguments of ``World.renew`` from the markers of the test. The nearest marker wins."""
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
        self.facts |= {f"assumes {name}={alternative}" for name, alternative in declared.items()}
        gaps = {**assumed, **declared}
        if self.mutant is None and (variant := variant_of(self.item)):
            name, _, gaps[name] = variant.partition("=")
        return {**start, "gaps": gaps or None, "mutant": self.mutant}

    def require_start(self) -> None:
        if self.start_error:
            pytest.fail(self.start_error, pytrace=False)

    @property
    def lost(self) -> WiderFixtures:
        """The fixtures of wider scope whose state this test lacks, because each test gets a new world."""
        used = {name: self._wider[name] for name in getattr(self.item, "fixturenames", ()) if name in self._wider}
        return {name: one for name, one in used.items() if one[0] and (self.by_example or one[1] is not self.item)}

    # Requests and warnings

    def note_fresh(self, journal: Journal, exchanges: Sequence[Exchange]) -> None:
        self.fresh.setdefault((journal, journal.clears), []).extend(exchanges)
        if len(self.fresh) > _MOST_WORLDS:
            del self.fresh[next(iter(self.fresh))]

    def note(self, exchanges: Sequence[Exchange], *, with_outcomes: bool) -> None:
        from petstore_mock.interface.table import OPERATIONS  # noqa: PLC0415  # only users of the fixture need it

        self.uses = True
        for one in exchanges:
            if one.is_violation and not one.expected and len(self.warnings) <= _MOST_WARNINGS:
                text = f"{one.request_line} broke the contract{one.where}: {one.reason}"
                self.warnings.setdefault(text, ContractWarning(text))
            operation = OPERATIONS.get(one.operation or "")
            if operation is None:
                continue
            self.facts |= {f"calls {operation.name}", *(["reached"] if one.mutant is not None else [])}
            if operation.removed_at is not None:
                self.facts |= {"removed"} if one.timestamp >= operation.removed_at.timestamp() else set()
                words = f"which the interface removes on {operation.removal_day} (§{operation.section})"
                text = f"the client called {operation.name}, {words}: use {operation.replacement}"
                self.warnings.setdefault(text, DeprecatedOperationWarning(text))
        if with_outcomes:
            from petstore_mock.journal.outcomes import outcomes_of  # noqa: PLC0415  # most runs do not need it

            self.facts |= {f"shows {one.operation} {outcome}" for one in exchanges for outcome in outcomes_of(one)}

    def warn(self, noted: Mapping[str, Warning]) -> None:
        """Warn at the line of the test, at most once per text, and not under mutants.

        Under the filter ``error``, each call raises: Hypothesis must be able to repeat a failure, to shrink it.
        """
        path, line = _line_of(self.item)
        # Python drops a warning whose module is None.
        module = getattr(getattr(self.item, "module", None), "__name__", self.item.name)
        for text, warning in noted.items():
            is_known = text in self._warned or len(self._warned) >= _MOST_WARNINGS or self.mutant is not None
            self._warned.add(text)
            with warnings.catch_warnings(record=True) if is_known else nullcontext():
                warnings.warn_explicit(warning, type(warning), path, line, module, registry={})

    def record(self, report: pytest.TestReport, error: BaseException | None, leaks: Sequence[Leak]) -> dict[str, Any]:
        """Return the record of a report for the ledger: the facts so far, and the leaks since the last report."""
        # The mark xfail changes the outcome, but the ledger needs the result of the test itself.
        is_marked = hasattr(report, "wasxfail")
        has_failed = report.failed and not str(report.longrepr).startswith("[XPASS(strict)]")
        if (has_failed or (report.skipped and is_marked)) and not self._is_excused(error):
            self.facts.add("failed")
        if not report.passed or is_marked:
            self.facts.discard("passed")
        return {
            "test": name_without_variant(self.item),
            "variant": variant_of(self.item) or "",
            "facts": sorted(self.facts | ({"finished"} if report.when == "teardown" else set())),
            "leaks": [[leak["world"], leak["request"]] for leak in leaks],
        }

    def _is_excused(self, error: BaseException | None) -> bool:
        """Return whether a failure shows nothing about the client."""
        if isinstance(error, BaseExceptionGroup):
            return any(map(self._is_excused, cast("BaseExceptionGroup[BaseException]", error).exceptions))
        # The variant is not the cause if a client of wider scope sends an old key, if a fixture of wider scope set up
        # state for the unchanged test alone, or if the computer is slow.
        has_old_key = bool(self.leaks) and self.home is not None and not len(self.home.world.journal)
        is_gone = any(name_without_variant(first) == name_without_variant(self.item) for _, first in self.lost.values())
        # Hypothesis raises DeadlineExceeded.
        has_other_cause = has_old_key or is_gone or type(error).__name__ == "DeadlineExceeded"
        return isinstance(error, pytest.xfail.Exception) or bool(variant_of(self.item) and has_other_cause)


def _line_of(item: pytest.Item) -> tuple[str, int]:
    """Return the file of a test and the line of its ``def``. pytest itself returns the line of the first decorator."""
    path, start, _ = item.reportinfo()
    first = (start or 0) + 1
    begins = f"def {getattr(item, 'originalname', None) or item.name}("
    lines = range(first, first + _DECORATOR_LINES)
    return str(path), next((line for line in lines if begins in linecache.getline(str(path), line)), first)


def end_at_author(error: BaseException) -> None:
    """End the traceback of a misuse before the package's frames. pytest hides these only for test functions."""
    for failure in getattr(error, "failures", [error]):
        _, misuse, trace = getattr(failure, "exc_info", (None, failure, failure.__traceback__))
        last = None
        while isinstance(misuse, PetStoreMockError) and trace is not None:
            if not trace.tb_frame.f_globals.get("__name__", "").startswith("petstore_mock."):
                last = trace
            trace = trace.tb_next
        if last is not None:
            last.tb_next = None


def raise_at(item: pytest.Item, error: BaseException) -> None:
    """Raise ``error`` from the first line of the test, so that the report shows this line and no internal one.

    A traceback needs a frame, so this compiles a statement with the file and line of the test.
    """
    __tracebackhide__ = True
    path, line = _line_of(item)
    if not isinstance(item, pytest.Function):  # pytest hides internal frames only for test functions
        raise pytest.fail.Exception(f"{path}:{line}: {type(error).__name__}: {error}", pytrace=False) from None
    code = compile("raise error", path, "exec").replace(co_name=item.name, co_firstlineno=line)
    exec(code, {"error": error.with_traceback(None)})  # noqa: S102  # the code is constant
