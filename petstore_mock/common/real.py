"""The fake's own functions for time, files and threads, bound at import, because a test may patch the standard ones.

freezegun replaces the functions of ``time`` in every module, but not a ``partial`` of one. So this module has partials.
If the time is frozen during the import of this module, the real functions come from freezegun.

The classes of ``threading`` look up each other when they are called: ``Event()`` calls ``threading.Lock``, and
``Thread()`` calls ``threading.Event``. So the classes below bind these names as well.
"""

from __future__ import annotations

import os
import sys
import threading
import time as _time
from functools import partial
from types import FunctionType
from typing import Any, Final

_frozen: Final[object] = sys.modules.get("freezegun.api")

time: Final = partial(getattr(_frozen, "real_time", _time.time))
monotonic: Final = partial(getattr(_frozen, "real_monotonic", _time.monotonic))
perf_counter: Final = partial(getattr(_frozen, "real_perf_counter", _time.perf_counter))
sleep: Final = partial(_time.sleep)

# pyfakefs replaces the functions of files in every module, but not a ``partial`` of one.
list_folder: Final = partial(os.listdir)
scan_folder: Final = partial(os.scandir)
open_file: Final = partial(open)

Lock = threading.Lock
RLock = threading.RLock
current_thread = threading.current_thread
_Condition: Final = threading.Condition
# gevent and eventlet replace the class for good, before this import; theirs has other parts.
_IS_STANDARD: Final = threading.Event.__module__ == "threading"


class Event(threading.Event):
    """An event that waits with the real locks, even if a test replaced names of ``threading``."""

    def __init__(self) -> None:
        if _IS_STANDARD:
            self._cond: object = _Condition(Lock())
            self._flag = False
        else:
            super().__init__()

    is_set, set, clear, wait = (
        threading.Event.is_set,
        threading.Event.set,
        threading.Event.clear,
        threading.Event.wait,
    )


def _bound(method: Any) -> Any:  # noqa: ANN401  # typeshed has no type for a method's code
    """Return a method of ``threading`` that uses the real names of its module, and :class:`Event` as its event."""
    names = {**vars(threading), "Event": Event, "current_thread": current_thread}
    bound = FunctionType(method.__code__, names, method.__name__, method.__defaults__, method.__closure__)
    bound.__kwdefaults__ = method.__kwdefaults__
    return bound


class Thread(threading.Thread):
    """A thread of the package. It starts and ends even if a test replaced names of ``threading``."""

    __init__ = _bound(threading.Thread.__init__)
    join = _bound(threading.Thread.join)
    start = threading.Thread.start
    run = threading.Thread.run
    is_alive = threading.Thread.is_alive
