"""Looks after calls from another thread: ends a hang, and leaves a call behind that never ends."""

from __future__ import annotations

import asyncio
import ctypes
import threading
from concurrent.futures import Future, wait
from contextlib import closing, suppress
from dataclasses import dataclass
from math import ceil
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Literal

from petstore_mock.checks.adapting import LOOP_THREAD
from petstore_mock.checks.requests import seconds_told
from petstore_mock.common.real import perf_counter

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.journal.journal import Journal

PLAYER_THREAD: Final = "petstore-mock-player"
STANDSTILL: Final = 15.0  # seconds without a request: no client pauses for as long
_TICK: Final = 0.02  # seconds between two looks
_LONGEST_TICK: Final = 0.1  # seconds; more passed while the machine slept, and the client with it
_RUNAWAY: Final = 200  # requests of one call, redirections that it follows included
_INTERRUPTS: Final = 50


@dataclass
class Limits:
    """How long a call may wait."""

    patience: float = 2.0  # for a response that never comes
    longest_wait: float | None = None  # that the client grants a Retry-After
    standstill: float = STANDSTILL  # without a request, and without a response that is due
    # What is known of the client meanwhile.
    sends_by_itself: bool = False  # whether it sends requests that no call asked for
    lasting_threads: int = 0  # how often its threads outlasted their call


class UnderWay:
    """A call that is under way."""

    def __init__(self, journal: Journal, limits: Limits, *, handshake: bool = False) -> None:
        self.ended: Literal["hung", "stood still", "ran away"] | None = None
        self.waited = 0.0  # since the latest request
        self._journal, self._limits, self._handshake = journal, limits, handshake
        self._before, self._at = len(journal), 0

    def is_lost(self, tick: float) -> bool:
        """Note that ``tick`` seconds went by; return whether the call has to be left behind."""
        requests = len(self._journal) - self._before
        last = self._journal.last if requests else None
        self.waited = 0.0 if requests != self._at else self.waited + tick
        self._at = requests
        if requests > _RUNAWAY:
            self.ended = "ran away"
        elif self._handshake if last is None else last.outcome == "hang":
            self.ended = "hung" if self.waited >= self._limits.patience else None
        elif last is not None and last.in_flight:
            self.waited = 0.0
        elif self.waited >= self._longest(last):
            self.ended = "stood still"
        return self.ended is not None

    def _longest(self, last: Exchange | None) -> float:
        longest, told = self._limits.longest_wait, None if last is None else seconds_told(last)
        if longest is None or told is None or max(told) <= longest:
            return max(self._limits.standstill, 1.5 * self._limits.patience)
        return longest + (ceil(told[0]) if 0 < told[0] <= longest else 0)  # dates have whole seconds


def client_threads() -> int:
    """Return how many threads run that are not the package's own."""
    return sum(thread.name not in {PLAYER_THREAD, LOOP_THREAD} for thread in threading.enumerate())


class RunawayError(BaseException):
    """Raised inside a call that sends requests without an end; no ``except Exception`` stops it."""


class Player:
    """A thread that does one thing after the other for another one, which can't wait for ever."""

    def __init__(self) -> None:
        self.is_lost = False  # in a call that never ended
        self._work: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=PLAYER_THREAD, daemon=True)
        self._thread.start()

    @property
    def ident(self) -> int:
        """The number of the thread."""
        return self._thread.ident or 0

    def play(self, work: Callable[[], Any]) -> Future[Any]:
        """Begin to do ``work`` and return the future of its result."""
        future: Future[Any] = Future()
        self._work.put((work, future))
        return future

    def end(self) -> None:
        """End the thread once it is done."""
        self._work.put(None)

    def attend(self, work: Callable[[], Any], under_way: UnderWay) -> Any:  # noqa: ANN401
        """Return the result of ``work``, in which a call is under way; None if it has to be left behind."""
        future, before = self.play(work), perf_counter()
        while not future.done():
            wait([future], timeout=_TICK)
            now = perf_counter()
            tick, before = min(now - before, _LONGEST_TICK), now
            if not future.done() and under_way.is_lost(tick):
                self.is_lost = True
                if under_way.ended == "ran away":
                    self._interrupt(future)
                self.end()
                return None
        return future.result()

    def _interrupt(self, future: Future[Any]) -> None:
        """End the Python code that it runs."""
        for _ in range(_INTERRUPTS):
            if not future.done():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(RunawayError))
                wait([future], timeout=_TICK)

    def _run(self) -> None:
        with closing(asyncio.new_event_loop()) as loop, suppress(RunawayError):  # it may come late
            asyncio.set_event_loop(loop)  # for clients that ask for it
            while (todo := self._work.get()) is not None:
                _fill(*todo)
                del todo  # it holds the result


def _fill(work: Callable[[], Any], future: Future[Any]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001  # for the thread that waits
        future.set_exception(error)
    del future  # the error's traceback holds this frame
