"""Conversions of moments: seconds since 1970, HTTP dates, ISO 8601, days in words."""

from __future__ import annotations

from datetime import UTC, date, datetime
from time import gmtime
from typing import Final

from petstore_mock.common.refusing import refuse, require, shown

# The range for setting the clock. It can then run to the end of 9999, the last year of HTTP dates (RFC 9110 §5.6.7).
EARLIEST: Final = 0.0
LATEST: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()

# English names in every locale. email.utils has them too, but its import takes 10 % of the start time of the stub.
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def http_date(seconds: float) -> str:
    """Return a moment in seconds since 1970 as an IMF-fixdate (RFC 9110 §5.6.7)."""
    year, month, day, hour, minute, second, weekday, *_ = gmtime(seconds)
    date_part = f"{_DAYS[weekday]}, {day:02d} {_MONTHS[month - 1][:3]} {year:04d}"
    return f"{date_part} {hour:02d}:{minute:02d}:{second:02d} GMT"


def seconds_of(text: str) -> float | None:
    """Return an HTTP date in seconds since 1970, or None if ``text`` is not a date."""
    from email.utils import parsedate_to_datetime  # the stub reads no dates, and starts faster

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):  # OverflowError: the zone moves the date out of range
        return None


def moment_of(when: str | date | datetime, name: str = "when") -> float:
    """Return a moment in seconds since 1970. A date means its midnight; without a zone, UTC applies."""
    text = when.isoformat() if isinstance(when, date) else when
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        refuse(f"expected a date such as '2030-12-06', or an ISO 8601 date and time; got {name}={shown(when)}")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = moment.timestamp()
    require(EARLIEST <= seconds < LATEST, "a moment from 1970 to the year 9998", **{name: when})
    return seconds


def iso(seconds: float) -> str:
    """Return a moment in seconds since 1970 as ISO 8601 text in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def day(seconds: float) -> str:
    """Return the day of a moment in words: ``5 December 2030``."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"
