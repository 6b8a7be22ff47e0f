"""What a test says beforehand will be wrong: violations that it expects."""

from __future__ import annotations

import re
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from petstore_mock.errors import PetStoreMockError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from petstore_mock.journal.entry import Entry
    from petstore_mock.journal.journal import Journal

__all__ = ["expected_violation"]


def expected_violation(
    journal: Journal,
    pattern: str | None,
    *,
    lock: AbstractContextManager[object] | None = None,
    tell: Callable[[list[Entry]], object] = lambda _: None,
) -> AbstractContextManager[None]:
    """Mark the violations of a block that match ``pattern`` as expected.

    Args:
        journal: what counts.
        pattern: a regular expression that a violation's words must match; None for any violation.
        lock: held while they are looked for and marked; none unless given.
        tell: called with those that are marked, where somebody else verifies.

    Raises:
        PetStoreMockError: ``pattern`` is no regular expression; raised by the call.
        VerificationError: there was none; raised at the end of the block, unless that ends with another exception.
    """
    if pattern is not None:
        try:
            re.search(pattern, "")
        except (re.error, TypeError) as error:  # one of bytes compiles, and is held against no text
            raise PetStoreMockError(f"expected a regular expression; got pattern={pattern!r}: {error}") from None
    return _Expected(journal, pattern, nullcontext() if lock is None else lock, tell)


def _told(entry: Entry) -> str:
    """Return what a pattern is held against: the reason, without the names that a message only offers."""
    if not entry.violations:
        return entry.reason
    return "; ".join(
        f"{one.path} {one.rule} {one.came}" if one.rule == "additionalProperties" else f"{one} ({one.rule})"
        for one in entry.violations
    )


class _Expected:
    """The block of :func:`expected_violation`; no generator, or a failing test would show the frames of contextlib."""

    def __init__(
        self,
        journal: Journal,
        pattern: str | None,
        lock: AbstractContextManager[object],
        tell: Callable[[list[Entry]], object],
    ) -> None:
        self._journal = journal
        self._pattern = pattern
        self._lock = lock
        self._tell = tell

    def __enter__(self) -> None:
        self._before, self._clears = self._journal.total, self._journal.clears

    def __exit__(self, kind: object, *_: object) -> None:
        __tracebackhide__ = True
        if kind is not None:  # a client may raise for the refusal, and a block around this one expect that
            with suppress(PetStoreMockError):  # entries are gone: what was raised says more
                self._mark()
            return
        found, matching = self._mark()
        if not matching:
            pattern = self._pattern
            wanted = "a contract violation" if pattern is None else f"a contract violation that matches {pattern!r}"
            came = "; ".join(f"{entry.request_line}: {entry.reason}" for entry in found)
            told = f"these came: {came}" if came else "none came"
            raise VerificationError(f"expected {wanted} in this block; {told}")

    def _mark(self) -> tuple[list[Entry], list[Entry]]:
        """Mark the violations that match as expected; return all that came in the block, and the marked."""
        journal, pattern = self._journal, self._pattern
        with self._lock:
            violations = journal.violations
            # After a reset within the block, the numbers began anew.
            before = self._before if journal.clears == self._clears else 0
            found = [entry for entry in violations if entry.number > before]
            matching = [entry for entry in found if pattern is None or re.search(pattern, _told(entry))]
            for entry in matching:
                entry.expected = True
        self._tell(matching)
        return found, matching
