"""What an exception that leaves the block of a mock tells of it, in a note (PEP 678)."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from petstore_mock.common.wording import counted
from petstore_mock.errors import ContractViolationError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.journal.entry import Entry

__all__ = ["TITLE", "error_of", "leave"]

TITLE: Final = "petstore journal of "
_SHOWN: Final = 120  # problems of an error's text: a client in a loop may break a rule thousands of times
_NO_FAILURES: Final = (KeyboardInterrupt, SystemExit, GeneratorExit)


class _Judged(Protocol):
    """The world of a mock."""

    @property
    def entries(self) -> list[Entry]:
        """What its journal still has."""

    def verify(self) -> None:
        """Raise for what a test must answer for."""


class _Mock(Protocol):
    """Whose block ends."""

    @property
    def adds_notes(self) -> bool:
        """Whether an exception that leaves the block gets the journal as a note."""

    @property
    def tenant(self) -> _Judged:
        """Its world."""

    def verify(self) -> None:
        """Raise for what a test must answer for."""


def error_of(problems: Sequence[tuple[str, str]]) -> VerificationError:
    """Return the error that names the first of ``problems``, given as kind and words, and counts the others."""
    lines = [words for _, words in problems[:_SHOWN]]
    more = Counter(kind.replace("_", " ") for kind, _ in problems[_SHOWN:])
    lines += [f"and {counted(count, f'more {kind}')}" for kind, count in more.items()]
    text = "\n".join(lines)
    only_violations = all(kind == "violation" for kind, _ in problems)
    return ContractViolationError(text) if only_violations else VerificationError(text)


def leave(mock: _Mock, error: BaseException | None, whose: str) -> None:
    """Verify a mock at the end of its block, unless ``error`` leaves it; let whatever does tell of the journal.

    Args:
        mock: whose block ends.
        error: what leaves it; what only ends the program gets no note.
        whose: which mock it is, in words.

    Raises:
        VerificationError: as ``PetStoreMock.verify``.
    """
    __tracebackhide__ = True
    if error is None:
        try:
            mock.verify()
        except VerificationError as problem:
            if mock.adds_notes:
                _add_journal(problem, mock.tenant, whose)
            raise
    elif mock.adds_notes and not isinstance(error, _NO_FAILURES):
        _add_journal(error, mock.tenant, whose)


def _add_journal(error: BaseException, tenant: _Judged, whose: str) -> None:
    try:
        text = _note(error, tenant, whose)
    except Exception as problem:  # noqa: BLE001  # a bug of ours must not hide what went wrong first
        text = f"the journal can't be shown, which is a bug of petstore_mock: {type(problem).__name__}: {problem}"
    with suppress(Exception):  # a frozen exception takes no notes
        error.add_note(text)


def _note(error: BaseException, tenant: _Judged, whose: str) -> str:
    from petstore_mock.journal.rendering import render_kept  # noqa: PLC0415  # only a failure needs it

    lines = [f"{TITLE}{whose}:"]
    try:
        tenant.verify()
    except VerificationError as also:
        said = str(error)
        lines += [f"also: {line}" for line in str(also).splitlines() if line not in said]
    return "\n".join([*lines, render_kept(tenant.entries)])
