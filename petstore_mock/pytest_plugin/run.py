"""One test that runs: what it asks for, what came from its client, and what it is warned of."""

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

_DECORATOR_LINES: Final = 50
_MOST_WARNINGS: Final = 20  # of one test: a property test can break one rule in a hundred ways
_MOST_WORLDS: Final = 10  # of fresh(): a test may begin thousands


class Run:
    """One test, from its setup to its teardown."""

    def __init__(self, item: pytest.Item) -> None:
        self.item = item
        self.mutant = mutant_of(item)
        self.uses = FIXTURE in getattr(item, "fixturenames", ())  # or its client sent requests
        self.home: Home | None = None  # which has begun a world for it
        self.start_error = ""  # why its starting state can't be
        self.by_example = False  # whether each Hypothesis example is verified by itself
        self.problems: list[str] = []  # what it must answer for beside the reason for which it failed
        self.warnings: dict[str, Warning] = {}
        self.fresh: dict[tuple[Journal, int], list[Exchange]] = {}  # what came to worlds of fresh()
        self.leaks: list[Leak] = []  # requests of finished tests that came during this one
        self.reasons: list[str] = []  # the message of each of its failures
        self.tracebacks: list[str] = []
        self.facts = {"passed"} if variant_of(item) is None else {"passed", "multiplied"}  # see Ledger
        self._warned: set[str] = set()

    def start(self, assumed: Mapping[str, str]) -> dict[str, Any]:
        """Return what the test has of its own; see ``World.renew``. The nearest mark wins."""
        from petstore_mock.interface.gaps import GAPS  # noqa: PLC0415  # only users of the fixture need it

        start: dict[str, Any] = {}
        declared: dict[str, str] = {}
        for mark in self.item.iter_markers():
            if mark.name == FIXTURE:
                require(not mark.args, "keywords only", got=mark.args)
                for name in mark.kwargs:
                    one_of(name, options_at("marker"), "keyword")
                start = {**mark.kwargs, **start}
            elif mark.name == "petstore_assumes":
                require(not mark.args, 'keywords, gap="alternative"', got=mark.args)
                declared = {**mark.kwargs, **declared}
            elif mark.name == "petstore_each":
                for name in mark.args:
                    one_of(name, GAPS, "gap")
                expected = "names of gaps, and a function: pytest can't multiply methods of unittest"
                require(mark.args and variant_of(self.item) is not None, expected, got=mark.args)
        self.facts |= {f"assumes {name}={alternative}" for name, alternative in declared.items()}
        gaps = {**assumed, **declared}
        if self.mutant is None and (variant := variant_of(self.item)):
            name, _, gaps[name] = variant.partition("=")
        return {**start, "gaps": gaps or None, "mutant": self.mutant}

    def require_start(self) -> None:
        if self.start_error:
            pytest.fail(self.start_error, pytrace=False)

    # What came

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
            self.facts |= {f"calls {operation.name}", *(["asked"] if one.mutant is not None else [])}
            if operation.removed_at is not None:
                self.facts |= {"removed"} if one.timestamp >= operation.removed_at.timestamp() else set()
                words = f"which the interface removes on {operation.removal_day} (§{operation.section})"
                text = f"the client called {operation.name}, {words}: use {operation.replacement}"
                self.warnings.setdefault(text, DeprecatedOperationWarning(text))
        if with_outcomes:
            from petstore_mock.journal.outcomes import outcomes_of  # noqa: PLC0415  # most runs do without

            self.facts |= {f"shows {one.operation} {outcome}" for one in exchanges for outcome in outcomes_of(one)}

    def note_fresh(self, journal: Journal, exchanges: Sequence[Exchange]) -> None:
        self.fresh.setdefault((journal, journal.clears), []).extend(exchanges)
        if len(self.fresh) > _MOST_WORLDS:
            del self.fresh[next(iter(self.fresh))]

    def warn(self, noted: Mapping[str, Warning]) -> None:
        """Warn at the line of the test: of each text once a test, and not again under its mutants.

        A warning that is an error comes each time, or Hypothesis could not shrink it.
        """
        path, line = _line_of(self.item)
        module = getattr(getattr(self.item, "module", None), "__name__", self.item.name)  # Python drops it for None
        for text, warning in noted.items():
            is_known = text in self._warned or len(self._warned) >= _MOST_WARNINGS or self.mutant is not None
            self._warned.add(text)
            with warnings.catch_warnings(record=True) if is_known else nullcontext():
                warnings.warn_explicit(warning, type(warning), path, line, module, registry={})

    def record(self, report: pytest.TestReport, error: BaseException | None, leaks: Sequence[Leak]) -> dict[str, Any]:
        """Return what a report carries to the ledger: the facts so far, and the leaks since the last report."""
        is_marked = hasattr(report, "wasxfail")  # by xfail: whether the test held is what counts
        has_failed = report.failed and not str(report.longrepr).startswith("[XPASS(strict)]")
        if (has_failed or (report.skipped and is_marked)) and not self._is_excused(error):
            self.facts.add("failed")
        if not report.passed or is_marked:
            self.facts.discard("passed")
        return {
            "test": name_without_variant(self.item),
            "variant": variant_of(self.item) or "",
            "facts": sorted(self.facts | ({"finished"} if report.when == "teardown" else set())),
            "leaks": [[leak.owner, leak.request] for leak in leaks],
        }

    def _is_excused(self, error: BaseException | None) -> bool:
        """Say whether a failure shows nothing about the client."""
        if isinstance(error, BaseExceptionGroup):
            return any(map(self._is_excused, cast("BaseExceptionGroup[BaseException]", error).exceptions))
        # A client of wider scope has the key of a finished test, or the machine is slow: the variant is no reason.
        has_old_key = bool(self.leaks) and self.home is not None and not len(self.home.world.journal)
        is_no_reason = has_old_key or type(error).__name__ == "DeadlineExceeded"  # of Hypothesis
        return isinstance(error, pytest.xfail.Exception) or (bool(variant_of(self.item)) and is_no_reason)


def _line_of(item: pytest.Item) -> tuple[str, int]:
    """Return the file of a test and the line of its ``def``: pytest counts from the first decorator."""
    path, start, _ = item.reportinfo()
    first = (start or 0) + 1
    begins = f"def {getattr(item, 'originalname', None) or item.name}("
    lines = range(first, first + _DECORATOR_LINES)
    return str(path), next((line for line in lines if begins in linecache.getline(str(path), line)), first)


def end_at_author(error: BaseException) -> None:
    """Cut the traceback of a misuse behind the author's line: items that are no functions print all of it."""
    for failure in getattr(error, "failures", [error]):
        _, misuse, trace = getattr(failure, "exc_info", (None, failure, failure.__traceback__))
        theirs = None
        while isinstance(misuse, PetStoreMockError) and trace is not None:
            if not trace.tb_frame.f_globals.get("__name__", "").startswith("petstore_mock."):
                theirs = trace
            trace = trace.tb_next
        if theirs is not None:
            theirs.tb_next = None


def raise_at(item: pytest.Item, error: BaseException) -> None:
    """Raise ``error`` as if the first line of the test did: a report then shows that line, and none of ours.

    A frame there needs code that was compiled for that file and line; a traceback can't be made without one.
    """
    __tracebackhide__ = True
    path, line = _line_of(item)
    if not isinstance(item, pytest.Function):  # pytest hides its own frames from the reports of functions alone
        raise pytest.fail.Exception(f"{path}:{line}: {type(error).__name__}: {error}", pytrace=False) from None
    code = compile("raise error", path, "exec").replace(co_name=item.name, co_firstlineno=line)
    exec(code, {"error": error.with_traceback(None)})  # noqa: S102  # two constant words
