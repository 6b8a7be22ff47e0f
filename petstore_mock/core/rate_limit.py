"""Which requests are refused for their number (gap ``rate_limit``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    RateLimit = Callable[[int, float], str | None]

__all__ = ["RateLimiter"]


class RateLimiter:
    """Counts the valid requests of a world. Not locked: the world's lock covers it.

    Attributes:
        count: how many came so far.
    """

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def admit(self, limit: RateLimit | None, now: float) -> str | None:
        """Count a valid request; return the ``Retry-After`` of one that is refused, else None.

        Args:
            limit: says so of the number of a request and the fake's time; None refuses none.
            now: the fake's time.
        """
        self.count += 1
        return None if limit is None else limit(self.count, now)

    def refuses_within(self, requests: int, limit: RateLimit | None, now: float) -> bool:
        """Say whether one of the next ``requests`` is refused; counts nothing."""
        return limit is not None and any(limit(self.count + ahead, now) is not None for ahead in range(1, requests + 1))
