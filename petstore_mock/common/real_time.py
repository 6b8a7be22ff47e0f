"""The clocks that go on while a test has frozen the time (freezegun): what waits, or measures waiting, asks them."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RealTime"]

# Whoever imports this while the time is frozen finds the real clocks there.
_FROZEN: Final[Any] = sys.modules.get("freezegun.api")


class RealTime:
    """``time.monotonic`` and ``time.perf_counter``, kept in a class: freezegun replaces what modules hold."""

    monotonic: Callable[[], float] = staticmethod(getattr(_FROZEN, "real_monotonic", time.monotonic))
    perf_counter: Callable[[], float] = staticmethod(getattr(_FROZEN, "real_perf_counter", time.perf_counter))
