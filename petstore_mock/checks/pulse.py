"""Notices a call that holds its event loop: while it sleeps, no other task of the program runs.

How this works: the loop beats at short intervals, and measures how late each beat is. A beat is late because a call
holds the loop, because the loop computes, or because the computer is busy. If the loop computes, its thread uses the
processor. If the computer is busy, the thread that waits for the call seldom runs either, so it counts its looks.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from petstore_mock.common.real import monotonic, open_file, sleep

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Iterable

    from petstore_mock.common.real import Thread

_thread_time: Final = partial(time.thread_time)  # a test may patch the module
_BEAT: Final = 0.03  # seconds
BUSY: Final = 0.2  # the part of a time in which a thread that computes uses the processor, at least
_LOOKS: Final = 9  # in a late beat, if the computer is not busy
_STILL: Final = 1.0  # seconds without a beat, in a loop that a call holds
_SETTLES: Final = 0.1  # seconds in which the loop may beat again after a call


class Times(NamedTuple):
    """How long tasks have run since they began, and how long they have waited for a processor, in seconds."""

    ran: float
    waited: float

    def is_busy(self, seconds: float) -> bool:
        """Whether tasks with these times computed as much as they could, for some seconds."""
        return self.ran > BUSY * (seconds - self.waited)


def times_of(tasks: Iterable[str]) -> Times:
    """Return the times of running threads together, or 0 on systems without ``/proc/PID/task/*/schedstat``.

    Args:
        tasks: the folders of the threads, below ``/proc``.
    """
    ran = waited = 0
    for task in tasks:
        with suppress(OSError), open_file(f"/proc/{task}/schedstat", encoding="ascii") as file:
            has_run, has_waited, _ = map(int, file.read().split())
            ran += has_run
            waited += has_waited
    return Times(ran / 1e9, waited / 1e9)  # from nanoseconds


def children_of(task: str) -> list[str]:
    """Return the numbers of the processes that a thread has started, on systems with ``/proc``."""
    with suppress(OSError), open_file(f"/proc/{task}/children", encoding="ascii") as children:
        return children.read().split()
    return []


class Pulse:
    """The beats of an event loop."""

    def __init__(self) -> None:
        self._beats = self._looks = 0
        self._beaten = self._used = 0.0  # when the loop beat last, and the processor time of its thread until then
        self._held = 0.0
        self.threads: list[Thread] = []  # of the loop, once it runs

    def beat(self, loop: AbstractEventLoop) -> None:
        """Measure how late the beat is, and plan the next. The loop calls it."""
        now = monotonic()
        used = _thread_time()
        late = now - self._beaten - _BEAT
        is_busy = used - self._used > BUSY * late
        if self._beats and not is_busy and self._looks >= _LOOKS:
            self._held = max(self._held, late)
        self._beaten = now
        self._used = used
        self._looks = 0
        self._beats += 1
        loop.call_later(_BEAT, self.beat, loop)

    def is_beating(self) -> bool:
        """Whether the loop beats. If it has beaten a moment ago, wait for its next beat."""
        beats = self._beats
        while self._beats == beats and monotonic() - self._beaten < _STILL:
            sleep(_BEAT)
        return self._beats > beats

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
        held = self._held
        self._held = 0.0
        return held
