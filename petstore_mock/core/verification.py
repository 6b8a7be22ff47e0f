"""What a test must answer for, and what it said beforehand would be wrong."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from petstore_mock.common.masking import mask_text
from petstore_mock.contract.violations import describe
from petstore_mock.errors import ContractViolationError, PetStoreMockError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from types import TracebackType

    from petstore_mock.core.fault_plan import FaultHandle
    from petstore_mock.core.world import World
    from petstore_mock.journal.entry import Entry

__all__ = ["Verification", "expected_violation"]

_BEFORE_FAULTS: Final = frozenset({401, 429})  # statuses of what is refused for another reason than a violation
_MOST_KEPT: Final = 100  # problems; a test may reset thousands of times


@dataclass(frozen=True, slots=True)
class _Problem:
    """One thing that a test must answer for.

    Attributes:
        kind: an error inside the fake or in a function of the test's, a fault that never fired, or a violation.
        source: what it is about, by which it is known again: an exception, a handle, an entry, or nothing but the text.
        text: how it is told.
    """

    kind: Literal["error", "unfired_fault", "violation"]
    source: object
    text: str

    @property
    def identity(self) -> object:
        """What two problems that are the same one have in common."""
        return self.text if self.source is None else id(self.source)


class Verification:
    """What a test must answer for in one world: what its journal and its faults show now, and what resets left.

    Args:
        world: whose errors, faults and journal count.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._told: list[_Problem] = []  # of the present state; a reset has nothing to keep of them
        self._kept: list[_Problem] = []  # of the states before resets, which nobody has told yet
        self._kept_more = 0

    def verify(self, expectation_problems: Iterable[str], *, strict: bool, again: bool = True) -> None:
        """Raise for what went wrong; what a reset left is told once.

        Args:
            expectation_problems: what went wrong with the expectations of ``httpserver``.
            strict: whether violations by the client count.
            again: whether what was told already, and is still so, counts again.

        Raises:
            VerificationError: names all of it; a ``ContractViolationError`` when it is violations only.
        """
        __tracebackhide__ = True
        with self._world.lock:
            present = self._present(expectation_problems, strict=strict)
            problems = [*self._kept, *(present if again else self._untold(present))]
            more, keys = self._kept_more, tuple(self._world.keys)
            self._clear()
            self._told = present
        if not problems:
            return
        lines = [one.text for one in problems] + ([f"and {more} more before a reset()"] if more else [])
        text = mask_text("\n".join(lines), keys)  # what a test's author has written may hold one
        only_violations = all(one.kind == "violation" for one in problems)
        error = ContractViolationError(text) if only_violations else VerificationError(text)
        raise error from next((one.source for one in problems if isinstance(one.source, BaseException)), None)

    def problems(self, expectation_problems: Iterable[str], *, strict: bool) -> list[tuple[str, str]]:
        """Return what is to be answered for, as kind and words; nothing counts as told by that.

        Args:
            expectation_problems: as above.
            strict: as above.
        """
        with self._world.lock:
            problems = [*self._kept, *self._present(expectation_problems, strict=strict)]
            keys = tuple(self._world.keys)
            more = [("error", f"and {self._kept_more} more before a reset()")] if self._kept_more else []
        return [(one.kind, mask_text(one.text, keys)) for one in problems] + more

    def keep_violations(self, *, strict: bool) -> None:
        """Keep the violations of a journal that is to be cleared, while all else stays as it is."""
        with self._world.lock:
            untold = self._untold(self._violations()) if strict else []
            keys = tuple(self._world.keys)
            self._kept += [_Problem(one.kind, None, mask_text(one.text, keys)) for one in untold]

    def keep(self, expectation_problems: Iterable[str], *, strict: bool) -> None:
        """Keep what would be forgotten by a reset of the world, which comes next, and was not told yet.

        Args:
            expectation_problems: as above.
            strict: as above.
        """
        with self._world.lock:
            present = self._present(expectation_problems, strict=strict)
            keys = tuple(self._world.keys)
            for one in self._untold(present):
                if len(self._kept) < _MOST_KEPT:
                    text = mask_text(f"before a reset(): {one.text}", keys)  # which forgets the keys
                    self._kept.append(_Problem(one.kind, one.source, text))
                else:
                    self._kept_more += 1
            self._told = []

    def excuse(self, expectation_problems: Iterable[str], *, strict: bool) -> None:
        """Let nobody answer for what came so far.

        Args:
            expectation_problems: as above.
            strict: as above.
        """
        with self._world.lock:
            self._clear()
            self._told = self._present(expectation_problems, strict=strict)

    def forget(self) -> None:
        """Begin anew, with the world: what came before is another test's."""
        with self._world.lock:
            self._clear()
            self._told = []

    def _clear(self) -> None:
        self._kept, self._kept_more = [], 0

    def _untold(self, present: list[_Problem]) -> list[_Problem]:
        told = {one.identity for one in self._told}
        return [one for one in present if one.identity not in told]

    def _present(self, expectation_problems: Iterable[str], *, strict: bool) -> list[_Problem]:
        """Return what is wrong by the world's present state."""
        world = self._world
        inside = [(error, f"an exception inside the fake: {type(error).__name__}: {error}") for error in world.errors]
        problems = [
            _Problem("error", *told) for told in [*inside, *((error, str(error)) for error in world.plan.errors)]
        ]
        problems += [
            _Problem("unfired_fault", handle, f"{handle} never fired: {_why_not(world, handle)}")
            for handle in world.plan.never_fired()
        ]
        problems += [
            _Problem(
                "error",
                entry,
                f"{entry.request_line} met {entry.fault}, which needs a socket: give the client petstore.url",
            )
            for entry in world.journal.kept
            if entry.fault is not None and entry.fault.needs_socket and not entry.connection
        ]  # said at the call, too; but many a client takes any exception for a lost answer
        problems += [_Problem("error", None, text) for text in expectation_problems]
        return [*problems, *self._violations()] if strict else problems

    def _violations(self) -> list[_Problem]:
        journal = self._world.journal
        try:
            violations = journal.violations
        except PetStoreMockError as lost:  # some of them are gone, and whether they were expected
            return [_Problem("error", journal, str(lost))]
        return [
            _Problem("violation", entry, f"{entry.request_line} broke the contract{entry.where}: {entry.reason}")
            for entry in violations
            if not entry.expected
        ]


def _why_not(world: World, handle: FaultHandle) -> str:
    """Say why a fault has not fired; only a valid request can meet one, but for those of connections."""
    if handle.at == "handshake":
        return handle.why_not()
    asked = [one for one in world.journal.kept if one.number > handle.since and handle.concerns(one.operation)]
    ended = [entry for entry in asked if entry.condition is not None]
    return handle.why_not(sum(entry.is_violation or entry.status in _BEFORE_FAULTS for entry in ended))


def expected_violation(world: World, pattern: str | None) -> AbstractContextManager[None]:
    """Mark the violations of a block that match ``pattern`` as expected.

    Args:
        world: whose journal counts.
        pattern: a regular expression that a violation's words must match; None for any violation.

    Raises:
        PetStoreMockError: ``pattern`` is no regular expression; raised by the call.
        VerificationError: there was none; raised at the end of the block, unless that ends with another exception.
    """
    if pattern is not None:
        try:
            re.search(pattern, "")
        except (re.error, TypeError) as error:  # one of bytes compiles, and is held against no text
            raise PetStoreMockError(f"expected a regular expression; got pattern={pattern!r}: {error}") from error
    return _Expected(world, pattern)


def _told(entry: Entry) -> str:
    """Return what a pattern is held against: the reason, without the names that a message only offers."""
    if not entry.violations:
        return entry.reason
    return "; ".join(
        f"{one.path} {one.rule} {describe(one.value)}" if one.rule == "additionalProperties" else f"{one} ({one.rule})"
        for one in entry.violations
    )


class _Expected:
    """The block of :func:`expected_violation`; no generator, or a failing test would show the frames of contextlib."""

    def __init__(self, world: World, pattern: str | None) -> None:
        self._world = world
        self._pattern = pattern

    def __enter__(self) -> None:
        self._before, self._clears = self._world.journal.total, self._world.journal.clears

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        world, pattern = self._world, self._pattern
        if kind is not None:  # a client may raise for the refusal, and a block around this one expect that
            with suppress(PetStoreMockError):  # entries are gone: what was raised says more
                _mark(world, pattern, self._before, self._clears)
            return
        found, matching = _mark(world, pattern, self._before, self._clears)
        if not matching:
            wanted = "a contract violation" if pattern is None else f"a contract violation that matches {pattern!r}"
            came = "; ".join(f"{entry.request_line}: {entry.reason}" for entry in found)
            told = f"these came: {came}" if came else "none came"
            raise VerificationError(f"expected {wanted} in this block; {told}")


def _mark(world: World, pattern: str | None, before: int, clears: int) -> tuple[list[Entry], list[Entry]]:
    """Mark the violations that match as expected; return all that came since request ``before``, and the marked."""
    journal = world.journal
    with world.lock:
        if journal.clears != clears:  # a reset within the block: the numbers began anew
            before = 0
        found = [entry for entry in journal.violations if entry.number > before]
        matching = [entry for entry in found if pattern is None or re.search(pattern, _told(entry))]
        for entry in matching:
            entry.expected = True
    return found, matching
