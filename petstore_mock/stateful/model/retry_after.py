"""What ``Retry-After`` says, as far as it says anything (RFC 9110 §10.2.3)."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from petstore_mock.common.dates import http_timestamp
from petstore_mock.common.real_time import RealTime

if TYPE_CHECKING:
    from petstore_mock.journal.entry import Entry

__all__ = ["TELL_TO_WAIT", "SecondsTold", "hint_of", "seconds_told"]

TELL_TO_WAIT: Final = frozenset({429, 503})  # statuses whose Retry-After says how long (RFC 6585 §4, RFC 9110 §15.6.4)


class SecondsTold(NamedTuple):
    """How long an answer tells the client to wait, from when it was asked.

    Attributes:
        by_service: by the clock that the answer's ``Date`` shows.
        by_client: by the client's own; another if a date is told, and the two clocks differ.
    """

    by_service: float
    by_client: float

    def within(self, limit: float) -> int:
        """Return how long a client waits rightly that gives up when it is to wait for longer than ``limit``."""
        return math.ceil(self.by_service) if 0 < self.by_service <= limit else 0  # dates have whole seconds


def hint_of(entry: Entry) -> str | None:
    """Return the value of the field of an answer that tells to wait, or None."""
    return entry.response_headers.get("retry-after") if entry.status in TELL_TO_WAIT else None


def seconds_told(entry: Entry) -> SecondsTold | None:
    """Return how long an answer tells the client to wait; None when it does not, or says what no client understands."""
    hint = hint_of(entry)
    if hint is None:
        return None
    if hint.isdecimal():
        return SecondsTold(float(hint), float(hint))
    until = http_timestamp(hint)
    if until is None:
        return None
    asked_at = time.time() - (RealTime.perf_counter() - entry.request.started)
    return SecondsTold(until - entry.timestamp, until - asked_at)
