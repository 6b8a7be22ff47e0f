"""What an exception that leaves the block of a mock tells of it, in a note (PEP 678)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from petstore_mock.errors import VerificationError

if TYPE_CHECKING:
    from petstore_mock.core.tenant import Tenant
    from petstore_mock.mock.petstore import PetStoreMock

__all__ = ["TITLE", "leave"]

TITLE: Final = "petstore journal of "
_NO_FAILURES: Final = (KeyboardInterrupt, SystemExit, GeneratorExit)


def leave(mock: PetStoreMock, error: BaseException | None, whose: str) -> None:
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


def _add_journal(error: BaseException, tenant: Tenant, whose: str) -> None:
    try:
        text = _note(error, tenant, whose)
    except Exception as problem:  # noqa: BLE001  # a bug of ours must not hide what went wrong first
        text = f"the journal can't be shown, which is a bug of petstore_mock: {type(problem).__name__}: {problem}"
    with suppress(Exception):  # a frozen exception takes no notes
        error.add_note(text)


def _note(error: BaseException, tenant: Tenant, whose: str) -> str:
    from petstore_mock.journal.rendering import render_kept  # noqa: PLC0415  # only a failure needs it

    lines = [f"{TITLE}{whose}:"]
    try:
        tenant.verify()
    except VerificationError as also:
        said = str(error)
        lines += [f"also: {line}" for line in str(also).splitlines() if line not in said]
    return "\n".join([*lines, render_kept(tenant.entries)])
