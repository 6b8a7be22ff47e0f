"""What the machine asks of a fault: whether it takes real time, by itself or by what it tells the client."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from petstore_mock.faults import Fault

__all__ = ["takes_time", "tells_to_wait"]

_TAKES_TIME: Final = frozenset({"hang", "delay", "dribble"})  # kinds of faults


def takes_time(fault: Fault) -> bool:
    """Say whether a request that meets ``fault`` takes real time."""
    return any(part.kind in _TAKES_TIME for part in fault.parts or (fault,))


def tells_to_wait(fault: Fault) -> bool:
    """Say whether a request that meets ``fault`` is told to wait by ``Retry-After``."""
    return any(
        name == "Retry-After"
        and value != "0"
        and (value.isdecimal() or parsedate_to_datetime(value) > datetime.now(UTC))
        for part in fault.parts or (fault,)
        for name, value in part.fields
    )
