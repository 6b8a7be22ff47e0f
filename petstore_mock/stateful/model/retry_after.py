"""What ``Retry-After`` says, as far as it says anything (RFC 9110 §10.2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from petstore_mock.common.dates import http_timestamp

if TYPE_CHECKING:
    from petstore_mock.journal.entry import Entry

__all__ = ["TELL_TO_WAIT", "hint_of", "seconds_told"]

TELL_TO_WAIT: Final = frozenset({429, 503})  # statuses whose Retry-After says how long (RFC 6585 §4, RFC 9110 §15.6.4)


def hint_of(entry: Entry) -> str | None:
    """Return the value of the field of an answer that tells to wait, or None."""
    return entry.response_headers.get("retry-after") if entry.status in TELL_TO_WAIT else None


def seconds_told(entry: Entry) -> float | None:
    """Return how long an answer tells the client to wait; None when it does not, or says what no client understands."""
    hint = hint_of(entry)
    if hint is None:
        return None
    if hint.isdecimal():
        return float(hint)
    until = http_timestamp(hint)
    return None if until is None else until - entry.timestamp
