"""Moments, as people write them and as HTTP does."""

from __future__ import annotations

from datetime import UTC, date, datetime
from time import gmtime
from typing import Final

from petstore_mock.errors import PetStoreMockError

__all__ = ["EARLIEST", "LATEST", "as_moment", "http_date", "http_timestamp"]

# Years that an HTTP date can say (RFC 9110 §5.6.7) and datetime can hold; the clock runs on, hence a year of leeway.
EARLIEST: Final = 0.0
LATEST: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()

# In English whatever the locale. email.utils has them as well, at a tenth of the time that the stub takes to start.
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def http_date(timestamp: float) -> str:
    """Return ``timestamp`` (seconds since 1970) as an IMF-fixdate (RFC 9110 §5.6.7)."""
    year, month, day, hour, minute, second, weekday, *_ = gmtime(timestamp)
    date_part = f"{_DAYS[weekday]}, {day:02d} {_MONTHS[month - 1]} {year:04d}"
    return f"{date_part} {hour:02d}:{minute:02d}:{second:02d} GMT"


def http_timestamp(text: str) -> float | None:
    """Return a date of HTTP (RFC 9110 §5.6.7) in seconds since 1970; None for what is none."""
    from email.utils import parsedate_to_datetime  # noqa: PLC0415  # the stub reads none, and starts sooner

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):  # the latter of a zone that is years away
        return None


def as_moment(when: str | date | datetime, name: str = "when", *, or_else: str = "") -> datetime:
    """Return ``when`` as an aware datetime; a date means its midnight, and no zone means UTC.

    Args:
        when: the moment.
        name: what the caller's own argument is called, for the error.
        or_else: what the caller takes beside a moment, for the error.

    Raises:
        PetStoreMockError: ``when`` is neither a date, a datetime nor ISO 8601 text.
    """
    moment: object = when
    if isinstance(when, str):
        try:
            moment = datetime.fromisoformat(when)
        except ValueError:
            moment = None
    elif isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if not isinstance(moment, datetime):
        raise PetStoreMockError(
            f"expected {or_else}a date such as '2030-12-06', ISO 8601 text or a datetime; "
            f"got {name}={when!r} ({type(when).__name__})"
        )
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if not EARLIEST <= moment.timestamp() <= LATEST:
        raise PetStoreMockError(f"expected a moment from 1970 to the year 9998; got {name}={when!r}")
    return moment
