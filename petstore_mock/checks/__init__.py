"""Rules for clients of the pet store service, each as one function over requests and outcomes.

The machine, pasted tests and people's own tests use the same checks: ``checks.no_repeated_create(petstore.journal)``.
:func:`watched` makes a client that checks each of its calls. :func:`check` makes a check of your own.
"""

from __future__ import annotations

from petstore_mock.checks.adapting import PetClient
from petstore_mock.checks.check import Broken, Call, Check, Finding, Kept, Observation, Outcome, Process, check
from petstore_mock.checks.process import (
    connections_are_closed,
    key_not_in_output,
    nothing_runs_on,
    program_unchanged,
)
from petstore_mock.checks.reading import Kind, UnknownErrorError, classify_exception, read_pet
from petstore_mock.checks.requests import (
    certificate_is_verified,
    key_only_in_authorization,
    key_only_to_its_service,
    no_repeated_create,
    requests_are_asked_for,
    requests_are_valid,
    retries_are_bounded,
    retry_after_is_honoured,
)
from petstore_mock.checks.results import (
    call_ends,
    close_succeeds,
    every_call_asks,
    key_not_in_errors,
    no_result_from_broken_response,
    outcome_fits_response,
    result_is_the_response,
    results_stay,
)
from petstore_mock.checks.watched import CHECKS, WatchedClient, watched

__all__ = [
    "CHECKS",
    "Broken",
    "Call",
    "Check",
    "Finding",
    "Kept",
    "Kind",
    "Observation",
    "Outcome",
    "PetClient",
    "Process",
    "UnknownErrorError",
    "WatchedClient",
    "call_ends",
    "certificate_is_verified",
    "check",
    "classify_exception",
    "close_succeeds",
    "connections_are_closed",
    "every_call_asks",
    "key_not_in_errors",
    "key_not_in_output",
    "key_only_in_authorization",
    "key_only_to_its_service",
    "no_repeated_create",
    "no_result_from_broken_response",
    "nothing_runs_on",
    "outcome_fits_response",
    "program_unchanged",
    "read_pet",
    "requests_are_asked_for",
    "requests_are_valid",
    "result_is_the_response",
    "results_stay",
    "retries_are_bounded",
    "retry_after_is_honoured",
    "watched",
]
__dir__ = __all__.copy  # what editors and consoles complete
