"""The fake's own time: it decides ``Date``, the expiry of keys and the removal of deprecated operations."""

from __future__ import annotations

import math
import time
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from petstore_mock.common import real
from petstore_mock.common.dates import EARLIEST, LATEST, http_date, iso, moment_of
from petstore_mock.common.refusing import Stays, require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def wall_clock() -> float:
    """Return the time, which freezegun may have moved. A mock of ``time.time`` is for the client under test alone."""
    now: float = (time if getattr(time.time, "__module__", "") == "freezegun.api" else real).time()
    return now if EARLIEST <= now <= LATEST else float(real.time())


class Time:
    """The time of one world: the real time, displaced or stopped. Not locked: the world's lock covers it."""

    def __init__(self) -> None:
        self.offset = 0.0  # seconds ahead of the real clock
        self.frozen: float | None = None  # the moment at which it stands

    def now(self) -> float:
        return wall_clock() + self.offset if self.frozen is None else self.frozen

    @property
    def date(self) -> bytes:
        """The value of the field ``Date``: one object for all requests of a second."""
        return _date_of(self.now() // 1)

    def change(
        self, *, moment: float | None = None, step: Mapping[str, float] | None = None, freeze: bool | None = None
    ) -> None:
        """Travel to a moment, then move by a step of days, hours, minutes and seconds, then stop or run on."""
        now = self.now() if moment is None else moment
        try:
            now += timedelta(**(step or {})).total_seconds()
        except (OverflowError, TypeError, ValueError):  # the last for NaN
            now = math.inf
        require(EARLIEST <= now <= LATEST, "a step in numbers that ends from 1970 to the year 9998", step=step)
        stands = self.frozen is not None if freeze is None else freeze
        self.frozen = now if stands else None
        self.offset = now - wall_clock()


@lru_cache(maxsize=8)
def _date_of(second: float) -> bytes:
    return http_date(second).encode("ascii")


class Clock(Stays):
    """The fake's clock. It runs with the real one, displaced by what your test asks for.

    The object is a view of its world: you can hold it across resets.
    """

    def __init__(self, change: Callable[..., Mapping[str, Any]]) -> None:
        self._change = change  # takes a change, or none, and returns the state

    def __repr__(self) -> str:
        return f"<Clock {'frozen at' if self.frozen else 'running, now'} {self.moment.isoformat()}>"

    def now(self) -> float:
        """Return the fake's time in seconds since 1970."""
        return moment_of(self._change()["now"])

    @property
    def moment(self) -> datetime:
        """The fake's time as an aware datetime in UTC."""
        return datetime.fromtimestamp(self.now(), UTC)

    @property
    def frozen(self) -> bool:
        """Whether the fake's time stands still."""
        return bool(self._change()["frozen"])

    def travel_to(self, when: str | date | datetime) -> None:
        """Set the fake's time. It runs on from there, or stands there if the clock is frozen.

        Args:
            when: ISO 8601 text, a date or a datetime; without a time it is midnight, without a zone UTC.

        Raises:
            PetStoreMockError: ``when`` is no moment from 1970 to the year 9998.
        """
        self._change(travel_to=iso(moment_of(when)))

    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Move the fake's time forward, or back by negative amounts.

        Args:
            days: days, fractions allowed.
            hours: hours, fractions allowed.
            minutes: minutes, fractions allowed.
            seconds: seconds, fractions allowed.

        Raises:
            PetStoreMockError: an amount is no number, or the step leaves the years that HTTP dates can express.
        """
        amounts = {"days": days, "hours": hours, "minutes": minutes, "seconds": seconds}
        self._change(advance={name: amount for name, amount in amounts.items() if amount})

    def freeze(self) -> None:
        """Stop the fake's time until :meth:`unfreeze` or a reset."""
        self._change(freeze=True)

    def unfreeze(self) -> None:
        """Let the fake's time run on from where it stands."""
        self._change(freeze=False)
