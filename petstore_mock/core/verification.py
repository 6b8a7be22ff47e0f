"""What a test must answer for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from petstore_mock.common.masking import mask_text
from petstore_mock.errors import PetStoreMockError
from petstore_mock.journal.failure_note import error_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from petstore_mock.core.fault_plan import FaultHandle
    from petstore_mock.core.world import World

__all__ = ["Verification"]

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
    """What a test must answer for in one world: what its journal and its faults show now, and what resets left."""

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
        problems = self._tell(expectation_problems, strict=strict, again=again)
        if problems:
            cause = next((one.source for one in problems if isinstance(one.source, BaseException)), None)
            raise error_of([(one.kind, one.text) for one in problems]) from cause

    def tell(self, expectation_problems: Iterable[str], *, strict: bool, again: bool = True) -> list[tuple[str, str]]:
        """Return what :meth:`verify` raises for, as kind and words; it counts as told by that."""
        return [(one.kind, one.text) for one in self._tell(expectation_problems, strict=strict, again=again)]

    def _tell(self, expectation_problems: Iterable[str], *, strict: bool, again: bool) -> list[_Problem]:
        with self._world.lock:
            present = self._present(expectation_problems, strict=strict)
            problems = [*self._before_resets(), *(present if again else self._untold(present))]
            keys = self._world.secrets()
            self._clear()
            self._told = present
        # What a test's author has written may hold a key.
        return [_Problem(one.kind, one.source, mask_text(one.text, keys)) for one in problems]

    def problems(self, expectation_problems: Iterable[str], *, strict: bool) -> list[tuple[str, str]]:
        """Return what is to be answered for, as kind and words; nothing counts as told by that."""
        with self._world.lock:
            problems = [*self._before_resets(), *self._present(expectation_problems, strict=strict)]
            keys = self._world.secrets()
        return [(one.kind, mask_text(one.text, keys)) for one in problems]

    def _before_resets(self) -> list[_Problem]:
        """Return what resets left, and how many more there were than are kept."""
        if not self._kept_more:
            return self._kept
        words = f"and {self._kept_more} more before a reset(), or before the journal was cleared"
        return [*self._kept, _Problem(self._kept[-1].kind, None, words)]

    def keep_violations(self) -> None:
        """Keep the violations of a journal that is to be cleared, while all else stays as it is."""
        with self._world.lock:
            self._keep(self._violations())

    def keep(self, expectation_problems: Iterable[str], *, strict: bool) -> None:
        """Keep what would be forgotten by a reset of the world, which comes next, and was not told yet."""
        with self._world.lock:
            self._keep(self._present(expectation_problems, strict=strict), "before a reset(): ")
            self._told = []

    def _keep(self, present: list[_Problem], when: str = "") -> None:
        keys = self._world.secrets()  # which a reset forgets
        for one in self._untold(present):
            if len(self._kept) < _MOST_KEPT:
                self._kept.append(_Problem(one.kind, one.source, mask_text(f"{when}{one.text}", keys)))
            else:
                self._kept_more += 1

    def excuse(self, expectation_problems: Iterable[str], *, strict: bool) -> None:
        """Let nobody answer for what came so far."""
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
