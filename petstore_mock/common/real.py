"""The fake's own functions for time and threads, bound at import, because a test may patch the standard ones.

freezegun replaces the functions of ``time`` in every module, but not a ``partial`` of one. So this module has partials.
If the time is frozen during the import of this module, the real functions come from freezegun.
"""

from __future__ import annotations

import sys
import threading
import time as _time
from functools import partial
from typing import Any, Final

_frozen: Final[Any] = sys.modules.get("freezegun.api")

time: Final = partial(getattr(_frozen, "real_time", _time.time))
monotonic: Final = partial(getattr(_frozen, "real_monotonic", _time.monotonic))
perf_counter: Final = partial(getattr(_frozen, "real_perf_counter", _time.perf_counter))
sleep: Final = partial(_time.sleep)

Event = threading.Event
Lock = threading.Lock
RLock = threading.RLock


class Thread(threading.Thread):
    """A thread of the package. It starts and ends even if a test replaced methods of ``threading.Thread``."""

    start, run, join, is_alive = (
        threading.Thread.start,
        threading.Thread.run,
        threading.Thread.join,
        threading.Thread.is_alive,
    )
