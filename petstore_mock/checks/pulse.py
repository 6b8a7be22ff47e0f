"""Notices a call that holds its event loop: while it sleeps, no other task of the program runs.

How this works: the loop beats at short intervals, and measures how late each beat is. A beat is late because a call
holds the loop, because the loop computes, or because the computer is busy. If the loop computes, its thread uses the
processor. If the computer is busy, the thread that waits for the call seldom runs either, so it counts its looks.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from petstore_mock.common.real import monotonic, open_file, sleep

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from petstore_mock.common.real import Thread

_thread_time: Final = partial(time.thread_time)  # a test may patch the module
_BEAT: Final = 0.03  # seconds
BUSY: Final = 0.2  # the part of a time in which a thread that computes uses the processor, at least
_LOOKS: Final = 9  # in a late beat, if the computer is not busy
_STILL: Final = 1.0  # seconds without a beat, in a loop that a call holds
_SETTLES: Final = 0.1  # seconds in which the loop may beat again after a call
_USER, _SYSTEM = 11, 12  # the places of the times after the name of a thread, by proc(5)


def processor_time(thread: int | None) -> float:
    """Return for how many seconds a running thread has used the processor; 0 on systems without ``/proc``."""
    with suppress(OSError), open_file(f"/proc/self/task/{thread}/stat", encoding="utf-8", errors="replace") as stat:
        _, _, after_name = stat.read().rpartition(")")
        numbers = after_name.split()
        return (int(numbers[_USER]) + int(numbers[_SYSTEM])) / os.sysconf("SC_CLK_TCK")
    return 0.0


class Pulse:
    """The beats of an event loop."""

    def __init__(self) -> None:
        self._beats = self._looks = 0
        self._beaten = self._used = 0.0  # when the loop beat last, and the processor time of its thread until then
        self._held = 0.0
        self.threads: list[Thread] = []  # of the loop, once it runs

    def beat(self, loop: AbstractEventLoop) -> None:
        """Measure how late the beat is, and plan the next. The loop calls it."""
        now, used = monotonic(), _thread_time()
        late = now - self._beaten - _BEAT
        is_busy = used - self._used > BUSY * late
        if self._beats and not is_busy and self._looks >= _LOOKS:
            self._held = max(self._held, late)
        self._beaten, self._used, self._looks = now, used, 0
        self._beats += 1
        loop.call_later(_BEAT, self.beat, loop)

    def is_beating(self) -> bool:
        """Whether the loop has beaten a moment ago."""
        return bool(monotonic() - self._beaten < _STILL)

    def look(self) -> None:
        """Count a look of the thread that waits for a call."""
        self._looks += 1

    def taken(self) -> float:
        """Return for how many seconds a call held the loop at most, since the last call of this method."""
        if not self._beats:
            # The client is not asynchronous.
            return 0.0
        deadline = monotonic() + _SETTLES
        while self._looks >= _LOOKS and monotonic() < deadline:
            sleep(_BEAT / 10)
        held, self._held = self._held, 0.0
        return held
