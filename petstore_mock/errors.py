"""The two families of errors that people meet: the test author's mistakes and failed verifications.

What a *client* does wrong is neither: it becomes an answer with a 4xx status (:mod:`petstore_mock.messages.request`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import FrameType

__all__ = [
    "ContractViolationError",
    "ContractWarning",
    "DeprecatedOperationWarning",
    "PetStoreMockError",
    "VerificationError",
]

_PACKAGE: Final = __name__.partition(".")[0]


def _is_authors(excinfo: Any) -> bool:  # noqa: ANN401  # pytest's ExceptionInfo, or None
    return excinfo is not None and isinstance(excinfo.value, PetStoreMockError)


class PetStoreMockError(Exception):
    """The test author used the fake wrongly; raised at the call that was wrong, saying what to do instead.

    In pytest's reports its traceback ends at the author's own line: ``--full-trace`` shows ours as well.
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        # pytest asks each module whose frame it is about to show. Marked are those that this error comes through; all
        # modules would have to be, if they were to mark themselves.
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  # CPython's and PyPy's
        while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
            frame.f_globals["__tracebackhide__"] = _is_authors
            frame = frame.f_back


class VerificationError(AssertionError):
    """What a test must answer for was not as it should be: a fault never fired, an expectation was not met."""


class ContractViolationError(VerificationError):
    """The client broke the contract and the fake is strict."""


class ContractWarning(UserWarning):
    """The client broke the contract: it sent what the interface does not allow."""


class DeprecatedOperationWarning(UserWarning):
    """The client called getPet, which the interface removes on 5 December 2030 (§4.3)."""
