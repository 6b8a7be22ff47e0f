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
    from collections.abc import Callable, Sequence

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
    patience: float = 2.0  # for a response that never comes
    longest_wait: float | None = None  # that the client grants a Retry-After
    standstill: float = STANDSTILL  # without a request, and without a response that is due


class UnderWay:
    """A call that is under way; ``release`` ends a hang."""

    def __init__(
        self, journal: Journal, limits: Limits, release: Callable[[], object] | None = None, *, handshake: bool = False
    ) -> None:
        self.ended: Literal["hung", "stood still", "ran away"] | None = None
        self.waited = 0.0  # since the latest request
        self._journal, self._limits, self._release, self._handshake = journal, limits, release, handshake
        self._before, self._at = len(journal), 0

    def is_lost(self, tick: float) -> bool:
        """Note that ``tick`` seconds went by; end a hang; return whether the call has to be left behind."""
        requests = len(self._journal) - self._before
        last = self._journal.last if requests else None
        self.waited = 0.0 if requests != self._at else self.waited + tick
        self._at = requests
        if requests > _RUNAWAY:
            self.ended = "ran away"
        elif self.ended is None and (self._handshake if last is None else last.outcome == "hang"):
            if self.waited >= self._limits.patience:
                self.ended = "hung"
                if self._release is None:
                    return True
                self.waited = 0.0
                self._release()
        elif last is not None and last.in_flight:
            self.waited = 0.0
        elif self.waited >= self._longest(last):
            self.ended = "stood still"
        return self.ended in {"ran away", "stood still"}

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
        self.future: Future[Any] = Future()  # of what it does now
        self.under_way: UnderWay | None = None  # the call of a client in that, ...
        self.lost: UnderWay | None = None  # ... and the call that never ended
        self._work: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=PLAYER_THREAD, daemon=True)
        self._thread.start()

    @property
    def ident(self) -> int:
        return self._thread.ident or 0

    def play(self, work: Callable[[], Any]) -> Future[Any]:
        self.future = Future()
        self._work.put((work, self.future))
        return self.future

    def end(self) -> None:
        """End the thread once it is done."""
        self._work.put(None)

    def look(self, tick: float) -> bool:
        """Note that ``tick`` seconds went by; return whether it is done, or its call lost."""
        under_way = self.under_way
        if under_way is None or self.future.done() or not under_way.is_lost(tick):
            return self.future.done()
        self.lost = under_way
        for _ in range(_INTERRUPTS if under_way.ended == "ran away" else 0):  # ends the Python code that it runs
            if not self.future.done():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(RunawayError))
                wait([self.future], timeout=_TICK)
        self.end()
        return True

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


def attend(players: Sequence[Player]) -> None:
    """Wait until each player is done, or its call lost."""
    waiting: list[Player] = list(players)
    before: float = perf_counter()
    while waiting:
        wait([player.future for player in waiting], timeout=_TICK)
        passed: float = perf_counter() - before
        before += passed
        waiting = [player for player in waiting if not player.look(min(passed, _LONGEST_TICK))]
