"""The time zone of the process, which no date of HTTP depends on: each is in UTC (RFC 9110 §5.6.7)."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from petstore_mock.stateful.surroundings import variables

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ANOTHER_ZONE", "time_zone"]

ANOTHER_ZONE: Final = "IST-5:30"  # as POSIX writes it: five and a half hours ahead of UTC


@contextmanager
def time_zone(name: str | None) -> Iterator[None]:
    """Let the process be in another time zone within a block; where the system can't, in its own.

    Args:
        name: as the environment's ``TZ`` has it; None for the zone as it is.
    """
    if name is None or not hasattr(time, "tzset"):
        yield
        return
    try:
        with variables({"TZ": name}):
            time.tzset()
            yield
    finally:
        time.tzset()
