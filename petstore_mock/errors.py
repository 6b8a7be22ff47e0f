"""The errors and warnings that the fake raises in tests.

A wrong *request* gets an error response, and a verification may report it.
"""

from __future__ import annotations


class PetStoreMockError(Exception):
    """The test used the fake wrongly. The message says what to do instead.

    In pytest's reports, the traceback ends at the line of your test. ``--full-trace`` also shows the fake's lines.
    """


class ReportedError(AssertionError):
    """A failure whose text begins with a sentence for the report of the test."""


class VerificationError(ReportedError):
    """The verification failed: for example, a planned fault never fired or an expectation was not met."""


class ContractViolationError(VerificationError):
    """The client broke the contract, the fake is strict, and there is no other problem."""


class ContractWarning(UserWarning):
    """The client broke the contract: it sent a request that the interface does not allow."""


class DeprecatedOperationWarning(UserWarning):
    """The client called a deprecated operation: the interface removes getPet on 5 December 2030 (§4.3)."""
