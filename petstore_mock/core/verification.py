"""What a test must answer for, and what it said beforehand would be wrong."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import mask_text
from petstore_mock.contract.violations import describe
from petstore_mock.errors import ContractViolationError, PetStoreMockError, VerificationError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType

    from petstore_mock.core.fault_plan import FaultHandle
    from petstore_mock.core.world import World
    from petstore_mock.journal.entry import Entry

__all__ = ["expected_violation", "verify"]

_BEFORE_FAULTS: Final = frozenset({401, 429})  # statuses of what is refused for another reason than a violation


def verify(world: World, neighbour_problems: list[str], *, strict: bool) -> None:
    """Raise for what went wrong in ``world``.

    Args:
        world: whose errors, faults and journal count.
        neighbour_problems: what went wrong with the expectations of ``httpserver``.
        strict: whether violations by the client count.

    Raises:
        VerificationError: names all of it; a ``ContractViolationError`` when it is violations only.
    """
    __tracebackhide__ = True
    with world.lock:
        errors = [*world.errors, *world.plan.errors]
        problems = [f"an exception inside the fake: {type(error).__name__}: {error}" for error in world.errors]
        problems += [str(error) for error in world.plan.errors]
        problems += [f"{handle} never fired: {_why_not(world, handle)}" for handle in world.plan.never_fired()]
        problems += [
            f"{entry.request_line} met {entry.fault}, which needs a socket: give the client petstore.url"
            for entry in world.journal.kept
            if entry.fault is not None and entry.fault.needs_socket and not entry.connection
        ]  # said at the call, too; but many a client takes any exception for a lost answer
        broken = [entry for entry in world.journal.violations if not entry.expected] if strict else []
        keys = tuple(world.keys)
    problems += neighbour_problems
    only_violations = not problems
    problems += [f"{entry.request_line} broke the contract{entry.where}: {entry.reason}" for entry in broken]
    if not problems:
        return
    text = mask_text("\n".join(problems), keys)  # what a test's author has written may hold one
    error = ContractViolationError(text) if only_violations else VerificationError(text)
    raise error from (errors[0] if errors else None)


def _why_not(world: World, handle: FaultHandle) -> str:
    """Say why a fault has not fired; only a valid request can meet one."""
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
