"""The two families of errors that people meet: the test author's mistakes and failed verifications.

What a *client* does wrong is neither: it becomes an answer with a 4xx status (:mod:`petstore_mock.messages.request`).
"""

from __future__ import annotations

__all__ = [
    "ContractViolationError",
    "ContractWarning",
    "DeprecatedOperationWarning",
    "PetStoreMockError",
    "VerificationError",
]


class PetStoreMockError(Exception):
    """The test author used the fake wrongly; raised at the call that was wrong, saying what to do instead."""


class VerificationError(AssertionError):
    """What a test must answer for was not as it should be: a fault never fired, an expectation was not met."""


class ContractViolationError(VerificationError):
    """The client broke the contract and the fake is strict."""


class ContractWarning(UserWarning):
    """The client broke the contract: it sent what the interface does not allow."""


class DeprecatedOperationWarning(UserWarning):
    """The client called getPet, which the interface removes on 5 December 2030 (§4.3)."""
