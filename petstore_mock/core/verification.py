"""The problems that fail a test: unfired faults, errors inside the fake, and violations in a strict world."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from petstore_mock.common.masking import mask_text
from petstore_mock.common.refusing import Stays, refuse, shown
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.journal.text import error_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from petstore_mock.core.fault_plan import FaultPlan
    from petstore_mock.interface.violations import Violation
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.journal.journal import Journal

_MOST_KEPT: Final = 100  # problems; a test may reset its world thousands of times


@dataclass(frozen=True, slots=True)
class Problem:
    kind: Literal["error", "unfired_fault", "violation"]
    text: str  # keys masked
    source: object  # the exception, handle, exchange, journal or text, which identifies the problem later


@dataclass(slots=True, eq=False)
class Verification:
    """The problems of one world: those of its current journal and faults, and those from before resets."""

    lock: AbstractContextManager[object]
    journal: Journal
    plan: FaultPlan
    secrets: Callable[[], tuple[str, ...]]
    errors: Collection[BaseException]  # exceptions inside the fake and in ``when=`` functions of the test
    strict: bool = False  # whether contract violations by the client are problems
    expectations: Callable[[], list[str]] = list  # returns the failed expectations of ``httpserver``
    _reported: set[object] = field(default_factory=set[object])  # sources of current problems that were reported
    _kept: list[Problem] = field(default_factory=list[Problem])  # unreported problems from before resets

    def forget(self) -> None:
        self._reported = set()
        self._kept = []

    def verify(self, *, again: bool = True) -> None:
        __tracebackhide__ = True
        problems = self.report(again=again)
        if problems:
            causes = [problem.source for problem in problems if isinstance(problem.source, BaseException)]
            error = error_of([(problem.kind, problem.text) for problem in problems])
            raise error from next(iter(causes), None)

    def report(self, *, again: bool = True) -> list[Problem]:
        """Return the problems and mark them as reported. Problems reported before are included only if ``again``."""
        with self.lock:
            present = due = self._present()
            if not again:
                due = self._unreported(present)
            problems = self._kept + due
            self._kept = []
            self._reported = {problem.source for problem in present}
        return problems

    def problems(self) -> list[Problem]:
        """Return the problems without marking them as reported."""
        with self.lock:
            return [*self._kept, *self._present()]

    def keep(self) -> None:
        """Keep the unreported problems of a state that a reset is about to end."""
        left = self._unreported(self._present())
        self._keep([replace(problem, text=f"before a reset: {problem.text}") for problem in left])
        self._reported = set()

    def keep_violations(self) -> None:
        """Keep the violations of a journal that is about to be cleared."""
        if self.strict:
            self._keep(self._unreported(self._violations()))

    def _keep(self, problems: list[Problem]) -> None:
        self._kept = [*self._kept, *problems][:_MOST_KEPT]

    def _unreported(self, present: Iterable[Problem]) -> list[Problem]:
        return [problem for problem in present if problem.source not in self._reported]

    def _present(self) -> list[Problem]:
        problems = [Problem("error", _words_of(error), error) for error in self.errors]
        for handle in self.plan.every:
            if handle.is_unfired:
                words = f"{handle.shortfall()}: {handle.why_not()}"
                problems.append(Problem("unfired_fault", words, handle))
        problems += [Problem("error", text, text) for text in self.expectations()]
        if self.strict:
            problems += self._violations()
        # A reset may drop a key, so mask it now.
        keys = self.secrets()
        return [replace(problem, text=mask_text(problem.text, keys)) for problem in problems]

    def _violations(self) -> Iterator[Problem]:
        try:
            violations = self.journal.violations
        except PetStoreMockError as lost:  # the journal has evicted some of them
            yield Problem("error", str(lost), self.journal)
            return
        for exchange in violations:
            if not exchange.expected:
                words = f"{exchange.request_line} broke the contract{exchange.where}: {exchange.reason}"
                yield Problem("violation", words, exchange)


def _words_of(error: BaseException) -> str:
    if isinstance(error, PetStoreMockError):
        return str(error)
    return f"an exception inside the fake: {type(error).__name__}: {error}"


class ExpectedViolation(Stays):
    """A block in which the client breaks the contract on purpose. It marks matching violations as expected.

    It is a class, because a generator would show frames of contextlib in a failing test.
    """

    def __init__(self, journal: Journal, pattern: str | None) -> None:
        try:
            re.search(pattern or "", "")
        except (re.error, TypeError) as error:
            refuse(f"expected a regular expression; got pattern={shown(pattern)}: {error}")
        self._journal = journal
        self._pattern = pattern

    def __enter__(self) -> None:
        self._before = len(self._journal)
        self._clears = self._journal.clears

    def __exit__(self, kind: object, *_: object) -> None:
        """Mark violations even if an exception leaves the block: the client may raise one for the refusal."""
        __tracebackhide__ = True
        journal = self._journal
        # A reset restarts the numbers.
        before = self._before if journal.clears == self._clears else 0
        violations = [exchange for exchange in journal.violations if exchange.number > before]
        matching = [*filter(self._matches, violations)]
        journal.expect(matching)
        if kind is None and not matching:
            raise VerificationError(self._claim(violations))

    def _claim(self, violations: Sequence[Exchange]) -> str:
        """Return the message for a block in which only these violations happened."""
        wanted = "" if self._pattern is None else f" that matches {self._pattern!r}"
        words = [f"{exchange.request_line}: {exchange.reason}" for exchange in violations]
        return f"expected a contract violation{wanted} in this block; got {'; '.join(words) or 'none'}"

    def _matches(self, exchange: Exchange) -> bool:
        return re.search(self._pattern or "", _words(exchange)) is not None


def _words(exchange: Exchange) -> str:
    """Return the text that a pattern must match: the reason without the names that a message suggests."""
    return "; ".join(map(_words_of_violation, exchange.violations)) or exchange.reason


def _words_of_violation(violation: Violation) -> str:
    if violation.rule == "additionalProperties":
        return f"{violation.path} {violation.rule} {violation.value!r}"
    return f"{violation} ({violation.rule})"
