"""Real functions and classes, bound at import, for the fake's own threads: tests replace the public names.

Each function is a ``partial``: freezegun looks in every module for the functions of ``time`` themselves, and replaces
them. If this module is imported while the time is frozen, freezegun still knows the real functions.
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
    """A thread that starts and ends while a test has replaced the methods of the public class."""

    start, run, join, is_alive = (
        threading.Thread.start,
        threading.Thread.run,
        threading.Thread.join,
        threading.Thread.is_alive,
    )
