"""Checks that rows of several subjects share, and the causes of breaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.verify.probes import ELSEWHERE
from petstore_mock.verify.row import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.verify.seen import History, Seen


# Causes: the same text for all breaches by one mistake of the service


def cause_of(seen: Seen, history: History, wanted: int = 0) -> str:
    """Return the cause of a wrong status; empty if it is unknown."""
    if seen.status in history.unserved(seen.operation):
        return f"{seen.status} from {seen.operation.name}"
    if wanted and not seen.is_success:
        return f"{seen.status} for {wanted}"
    return ""


def is_refused(seen: Seen, history: History) -> Iterator[Result]:
    """Check that the service refuses a request with the status that its probe expects."""
    expected, status = seen.probe.expected, seen.status
    if not expected.status or status in expected.others:
        return
    # If no list is found at the base address, only the clause 1-base-address is broken.
    is_nowhere = seen.operation.shows_many and status in ELSEWHERE and not history.has_listed
    is_gone = seen.is_removed and seen.is_refusal and status != 401
    if is_nowhere or is_gone:
        return
    is_right = status == expected.status
    # A service that refuses every plain animal shows nothing about wrong ones, and so does an operation that refuses
    # every request.
    if expected.status == 400 and not history.accepts_plain:
        return
    if not is_right and seen.is_refusal and status in history.unserved(seen.operation):
        return
    yield Result(is_right, f"{expected.status}", cause_of(seen, history, expected.status))


def never_fails(seen: Seen, _history: History) -> Iterator[Result]:
    # A service that fails for each absent animal is one finding.
    cause = f"{seen.status} for 404" if seen.pet_id else ""
    yield Result(not seen.has_failed, "a status below 500", cause)
