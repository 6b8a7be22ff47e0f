"""The errors and warnings that the fake raises in tests.

A wrong *request* gets an error response, and a verification may report it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType


class PetStoreMockError(Exception):
    """The test used the fake wrongly. The message says what to do instead.

    In pytest's reports, the traceback ends at the line of your test. ``--full-trace`` also shows the fake's lines.
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        # pytest reads this mark from the module of each frame in the traceback.
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # documented
        while frame is not None and frame.f_globals.get("__name__", "").startswith("petstore_mock."):
            frame.f_globals["__tracebackhide__"] = _is_misuse
            frame = frame.f_back


def _is_misuse(excinfo: Any) -> bool:  # noqa: ANN401  # pytest's ExceptionInfo, or None
    return excinfo is not None and isinstance(excinfo.value, PetStoreMockError)


class VerificationError(AssertionError):
    """The verification failed: for example, a planned fault never fired or an expectation was not met."""


class ContractViolationError(VerificationError):
    """The client broke the contract, the fake is strict, and there is no other problem."""


class ContractWarning(UserWarning):
    """The client broke the contract: it sent a request that the interface does not allow."""


class DeprecatedOperationWarning(UserWarning):
    """The client called a deprecated operation: the interface removes getPet on 5 December 2030 (§4.3)."""
