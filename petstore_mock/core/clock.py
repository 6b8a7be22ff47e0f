"""The fake's own time: it drives ``Date``, the expiry of keys and the removal of getPet."""

from __future__ import annotations

import math
import time
from datetime import UTC, date, datetime, timedelta
from typing import Final, Never

from petstore_mock.common.dates import EARLIEST, LATEST, as_moment, http_date
from petstore_mock.common.numbers import is_number
from petstore_mock.common.suggestions import refuse_unknown
from petstore_mock.errors import PetStoreMockError

__all__ = ["Clock"]


_LARGEST: Final = 1e18  # seconds: as good as for ever


class Clock:
    """A clock that runs with the real one, displaced by what a test asks for.

    Attributes:
        present: the fake's time at the present request, in seconds since 1970.
        date_field: the same as the value of ``Date`` (RFC 9110 §6.6.1); one object for all requests of a second.
    """

    __slots__ = ("_frozen", "_next_second", "_offset", "_second", "_start", "date_field", "present")

    present: float
    date_field: bytes

    def __init__(self, at: str | date | datetime | None = None) -> None:
        self._start = None if at is None else as_moment(at, "at")
        self._second = self._next_second = 0.0  # from when and until when `date_field` is right: for no time yet
        self._offset = 0.0
        self._frozen: float | None = None
        self.reset()
        self.begin_request()

    def __repr__(self) -> str:
        state = "frozen at" if self.frozen else "running, now"
        return f"<Clock {state} {self.moment.isoformat()}>"

    def now(self) -> float:
        """Return the fake's time in seconds since 1970."""
        frozen = self._frozen
        return time.time() + self._offset if frozen is None else frozen

    def begin_request(self) -> float:
        """Return the fake's time, which is :attr:`present` for all that is asked while a request is answered."""
        frozen = self._frozen
        self.present = now = time.time() + self._offset if frozen is None else frozen
        if not self._second <= now < self._next_second:
            self._second = second = now // 1
            self._next_second = second + 1
            self.date_field = http_date(now).encode("ascii")
        return now

    def moment_from(self, when: float | str | date | datetime, name: str = "when") -> float:
        """Return ``when`` in seconds since 1970: seconds from now, or a moment as in :func:`as_moment`.

        Args:
            when: the moment.
            name: what the caller's own argument is called, for the error.

        Raises:
            PetStoreMockError: ``when`` is neither.
        """
        if is_number(when) and abs(when) <= math.inf:
            return self.now() + min(max(when, -_LARGEST), _LARGEST)  # an int may be larger than any float
        # What is neither is refused there.
        return as_moment(when, name, or_else="seconds from now, ").timestamp()  # type: ignore[arg-type]

    @property
    def moment(self) -> datetime:
        """The fake's time as an aware datetime in UTC."""
        return datetime.fromtimestamp(self.now(), UTC)

    @property
    def frozen(self) -> bool:
        """Whether the fake's time stands still."""
        return self._frozen is not None

    def travel_to(self, when: str | date | datetime) -> None:
        """Set the fake's time to ``when``; it runs on from there, or stands there if the clock is frozen.

        Raises:
            PetStoreMockError: ``when`` is no date, datetime or ISO 8601 text.
        """
        self._go_to(as_moment(when))

    def _go_to(self, moment: datetime) -> None:
        target = moment.timestamp()
        if self._frozen is not None:
            self._frozen = target
        else:
            self._offset = target - time.time()

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0, **unknown: Never
    ) -> None:
        """Move the fake's time forward (or back, by negative amounts).

        Args:
            days: an amount of days, fractions allowed, as of the others.
            hours: an amount of hours.
            minutes: an amount of minutes.
            seconds: an amount of seconds.
            unknown: refused, with the nearest of the others.

        Raises:
            PetStoreMockError: an amount is no number, or leads out of the years that HTTP dates can say.
        """
        refuse_unknown(Clock.advance, unknown)
        amounts = {"days": days, "hours": hours, "minutes": minutes, "seconds": seconds}
        got = ", ".join(f"{name}={amount!r}" for name, amount in amounts.items() if amount != 0)
        try:
            step = timedelta(**amounts).total_seconds()
        except OverflowError:
            step = math.inf
        except (TypeError, ValueError):
            raise PetStoreMockError(f"expected numbers of days, hours, minutes and seconds; got {got}") from None
        if not EARLIEST <= self.now() + step <= LATEST:
            raise PetStoreMockError(f"expected a step that ends from 1970 to the year 9998; got {got}")
        self._move(step)

    def _move(self, seconds: float) -> None:
        if self._frozen is not None:
            self._frozen += seconds
        else:
            self._offset += seconds

    def freeze(self) -> None:
        """Let the fake's time stand still until :meth:`unfreeze` or a reset."""
        self._frozen = self.now()

    def unfreeze(self) -> None:
        """Let the fake's time run on from where it stands."""
        if self._frozen is not None:
            self._offset = self._frozen - time.time()
            self._frozen = None

    def start_at(self, at: str | date | datetime | None) -> None:
        """Make ``at`` the time that :meth:`reset` returns to; None for the real one.

        Raises:
            PetStoreMockError: ``at`` is no moment, see :func:`as_moment`.
        """
        self._start = None if at is None else as_moment(at, "at")

    def reset(self) -> None:
        """Return to the time of the start."""
        self._frozen = None
        self._offset = 0.0 if self._start is None else self._start.timestamp() - time.time()

    def snapshot(self) -> tuple[float, float | None]:
        """Return the displacement, for :meth:`restore`."""
        return self._offset, self._frozen

    def restore(self, snapshot: tuple[float, float | None]) -> None:
        """Return to a displacement that :meth:`snapshot` gave."""
        self._offset, self._frozen = snapshot
