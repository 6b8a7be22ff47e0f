"""Checks for clients of the pet store service. Each check is one function over requests and outcomes.

The machine, its pasted tests and your own tests use the same checks: ``checks.no_repeated_create(petstore.journal)``.
:func:`watched` returns a client that checks each of its calls. :func:`check` turns a function of yours into a check.
"""

# ruff: noqa: I001  # each check stands on one line here, and __all__ takes the checks from CHECKS
from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.checks.adapting import PetClient
from petstore_mock.checks.check import Broken, Call, Check, Finding, Kept, Observation, Outcome, Process, check
from petstore_mock.checks.process import (
    connections_are_closed as connections_are_closed,
    errors_reach_callers as errors_reach_callers,
    key_not_in_errors as key_not_in_errors,
    key_not_in_output as key_not_in_output,
    nothing_runs_on as nothing_runs_on,
    program_unchanged as program_unchanged,
)
from petstore_mock.checks.reading import Kind, UnknownErrorError, classify_exception, read_pet
from petstore_mock.checks.requests import (
    calls_are_independent as calls_are_independent,
    certificate_is_verified as certificate_is_verified,
    key_only_in_authorization as key_only_in_authorization,
    key_only_to_its_service as key_only_to_its_service,
    no_repeated_create as no_repeated_create,
    requests_are_asked_for as requests_are_asked_for,
    requests_are_valid as requests_are_valid,
    retries_are_bounded as retries_are_bounded,
    retry_after_is_honoured as retry_after_is_honoured,
)
from petstore_mock.checks.results import (
    call_ends as call_ends,
    close_succeeds as close_succeeds,
    event_loop_is_free as event_loop_is_free,
    every_call_asks as every_call_asks,
    exceptions_are_usable as exceptions_are_usable,
    interrupts_come_out as interrupts_come_out,
    no_result_from_broken_response as no_result_from_broken_response,
    outcome_fits_response as outcome_fits_response,
    result_is_the_response as result_is_the_response,
    results_stay as results_stay,
)
from petstore_mock.checks.retrying import Policy
from petstore_mock.checks.watched import CHECKS, WatchedClient, watched
from petstore_mock.common.suggesting import of_module

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
]
__all__ += ["Policy", "UnknownErrorError", "WatchedClient", "check", "classify_exception", "read_pet", "watched"]
__all__ += [*CHECKS]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll]
__dir__ = __all__.copy  # editors and consoles complete these names

if not TYPE_CHECKING:  # a type checker would believe that every name exists
    __getattr__ = of_module(__name__, __all__)
