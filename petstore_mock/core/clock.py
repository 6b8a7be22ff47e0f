"""The fake's clock, with which a test travels in time."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from petstore_mock.common.dates import iso, moment_of
from petstore_mock.common.refusing import Stays
from petstore_mock.common.suggesting import helpful

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.common.values import Json


@helpful()
class Clock(Stays):
    """The fake's clock. It runs like the real clock, with the offset that your test sets.

    You can keep this object across resets, because it always shows the clock of its world.
    """

    def __init__(self, change: Callable[..., Mapping[str, Json]]) -> None:
        self._change = change  # applies a change, if any, and returns the state

    def __repr__(self) -> str:
        state = "frozen at" if self.frozen else "running, now"
        return f"<Clock {state} {self.moment.isoformat()}>"

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
        """Set the fake's time. A running clock runs on from there, a frozen clock stays frozen there.

        Args:
            when: ISO 8601 text, a date or a datetime. The default time is midnight, the default zone is UTC.

        Raises:
            PetStoreMockError: ``when`` is not a moment in the years 1970 to 9998.
        """
        self._change(travel_to=iso(moment_of(when)))

    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Move the fake's time forward. Negative amounts move it back.

        Args:
            days: a number of days, 0 by default. Fractions are allowed.
            hours: a number of hours, 0 by default. Fractions are allowed.
            minutes: a number of minutes, 0 by default. Fractions are allowed.
            seconds: a number of seconds, 0 by default. Fractions are allowed.

        Raises:
            PetStoreMockError: an amount is not a number, or the result is outside the years 1970 to 9998.
        """
        amounts = {"days": days, "hours": hours, "minutes": minutes, "seconds": seconds}
        self._change(advance={name: amount for name, amount in amounts.items() if amount})

    def freeze(self) -> None:
        """Stop the fake's time until :meth:`unfreeze` or a reset."""
        self._change(freeze=True)

    def unfreeze(self) -> None:
        """Let the fake's time run on from the moment at which it is frozen."""
        self._change(freeze=False)
