"""What a test must answer for: unfired faults, errors inside the fake, and violations if the world is strict."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from petstore_mock.common.masking import mask_text
from petstore_mock.common.refusing import refuse, shown
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.journal.text import error_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from petstore_mock.core.fault_plan import FaultHandle, FaultPlan
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.journal.journal import Journal

_BEFORE_FAULTS: Final = frozenset({401, 429})  # such a refusal is no violation, and comes before any fault
_MOST_KEPT: Final = 100  # problems; a test may reset its world thousands of times


@dataclass(frozen=True, slots=True)
class Problem:
    kind: Literal["error", "unfired_fault", "violation"]
    text: str  # keys masked
    source: object = None  # the exception, handle or exchange; by it a later verification knows the problem again

    @property
    def identity(self) -> object:
        return self.text if self.source is None else id(self.source)


class Verification:
    """The problems of one world: those that its journal and its faults show now, and those that resets left."""

    def __init__(
        self,
        lock: AbstractContextManager[object],
        journal: Journal,
        plan: FaultPlan,
        secrets: Callable[[], tuple[str, ...]],
    ) -> None:
        self._lock = lock
        self._journal = journal
        self._plan = plan
        self._secrets = secrets
        self.strict = False  # whether contract violations by the client are problems
        self.errors: list[BaseException] = []  # exceptions inside the fake
        self.expectations: Callable[[], list[str]] = list  # returns what went wrong with those of ``httpserver``
        self.forget()

    def forget(self) -> None:
        """Begin anew: the world is another test's now."""
        self._reported: set[object] = set()  # identities of present problems that were reported
        self._kept: list[Problem] = []  # unreported problems of states before a reset
        self._more_kept = 0

    def note(self, error: BaseException) -> None:
        if len(self.errors) < _MOST_KEPT:
            self.errors.append(error)

    def verify(self, *, again: bool = True) -> None:
        __tracebackhide__ = True
        problems = self.report(again=again)
        if problems:
            cause = next((one.source for one in problems if isinstance(one.source, BaseException)), None)
            raise error_of([(one.kind, one.text) for one in problems]) from cause

    def report(self, *, again: bool = True) -> list[Problem]:
        """Return the problems and count them as reported; ones that were reported before come only if ``again``."""
        with self._lock:
            present = self._present()
            problems = [*self._from_resets(), *(present if again else self._unreported(present))]
            self._kept, self._more_kept = [], 0
            self._reported = {problem.identity for problem in present}
        return problems

    def problems(self) -> list[Problem]:
        """Return the problems without counting them as reported."""
        with self._lock:
            return [*self._from_resets(), *self._present()]

    def excuse(self) -> None:
        self.report()

    def keep(self) -> None:
        """Keep the unreported problems of a state that a reset is about to end."""
        with self._lock:
            self._keep(self._present(), "before a reset(): ")
            self._reported = set()

    def keep_violations(self) -> None:
        """Keep the violations of a journal that is about to be cleared."""
        with self._lock:
            self._keep(self._violations())

    def _keep(self, present: Sequence[Problem], when: str = "") -> None:
        for problem in self._unreported(present):
            if len(self._kept) < _MOST_KEPT:
                self._kept.append(Problem(problem.kind, f"{when}{problem.text}", problem.source))
            else:
                self._more_kept += 1

    def _from_resets(self) -> list[Problem]:
        if not self._more_kept:
            return self._kept
        words = f"and {self._more_kept} more before a reset(), or before the journal was cleared"
        return [*self._kept, Problem(self._kept[-1].kind, words)]

    def _unreported(self, present: Sequence[Problem]) -> list[Problem]:
        return [problem for problem in present if problem.identity not in self._reported]

    def _present(self) -> list[Problem]:
        problems = [
            *(
                Problem("error", f"an exception inside the fake: {type(error).__name__}: {error}", error)
                for error in self.errors
            ),
            *(Problem("error", str(error), error) for error in self._plan.errors),
            *(
                Problem("unfired_fault", f"{handle} {words}: {_why_not(self._journal, handle)}", handle)
                for handle, words in self._plan.not_fired()
            ),
            *_without_socket(self._journal),
            *(Problem("error", text) for text in self.expectations()),
            *(self._violations() if self.strict else []),
        ]
        keys = self._secrets()  # a reset forgets them
        return [Problem(one.kind, mask_text(one.text, keys), one.source) for one in problems]

    def _violations(self) -> list[Problem]:
        journal = self._journal
        try:
            violations = journal.violations
        except PetStoreMockError as lost:  # the journal has evicted some of them
            return [Problem("error", str(lost), journal)]
        return [
            Problem("violation", f"{one.request_line} broke the contract{one.where}: {one.reason}", one)
            for one in violations
            if not one.expected
        ]


def _without_socket(journal: Journal) -> list[Problem]:
    """Return the faults that needed a socket. Their requests raised, but a client may take that for a lost response."""
    return [
        Problem("error", f"{one.request_line} met {one.fault}, which needs a socket: give the client petstore.url", one)
        for one in journal.kept
        if one.fault is not None and one.fault.row.needs_socket and not one.request.connection
    ]


def _why_not(journal: Journal, handle: FaultHandle) -> str:
    if handle.at == "handshake":
        return handle.why_not()
    refused = [
        one
        for one in journal.kept
        if one.number > handle.since
        and handle.concerns(one.operation)
        and one.condition is not None
        and (one.is_violation or one.status in _BEFORE_FAULTS)
    ]
    return handle.why_not(len(refused))


# Violations that a test expects


class ExpectedViolation:
    """A block in which the client breaks the contract on purpose: it marks the violations that match as expected.

    A class and no generator, so that a failing test does not show the frames of contextlib.
    """

    def __init__(self, lock: AbstractContextManager[object], journal: Journal, pattern: str | None) -> None:
        try:
            re.search(pattern or "", "")
        except (re.error, TypeError) as error:
            refuse(f"expected a regular expression; got pattern={shown(pattern)}: {error}")
        self._lock = lock
        self._journal = journal
        self._pattern = pattern

    def __enter__(self) -> None:
        self._before, self._clears = self._journal.total, self._journal.clears

    def __exit__(self, kind: object, *_: object) -> None:
        __tracebackhide__ = True
        if kind is not None:  # a client may raise for the refusal, and an outer block may expect that
            with suppress(PetStoreMockError):
                self._mark()
            return
        found, matching = self._mark()
        if not matching:
            wanted = "" if self._pattern is None else f" that matches {self._pattern!r}"
            others = "; ".join(f"{one.request_line}: {one.reason}" for one in found)
            came = f"these came: {others}" if others else "none came"
            raise VerificationError(f"expected a contract violation{wanted} in this block; {came}")

    def _mark(self) -> tuple[list[Exchange], list[Exchange]]:
        journal = self._journal
        with self._lock:
            before = self._before if journal.clears == self._clears else 0  # a reset begins the numbers anew
            found = [one for one in journal.violations if one.number > before]
            matching = [one for one in found if self._pattern is None or re.search(self._pattern, _words(one))]
            journal.expect(matching)
        return found, matching


def _words(exchange: Exchange) -> str:
    """Return the text that a pattern must match: the reason, without the names that a message suggests."""
    if not exchange.violations:
        return exchange.reason
    return "; ".join(
        f"{one.path} {one.rule} {one.value!r}" if one.rule == "additionalProperties" else f"{one} ({one.rule})"
        for one in exchange.violations
    )
