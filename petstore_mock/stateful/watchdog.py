"""Looks after the call that is being made: ends a hang, a client that runs away, and one that waits for itself."""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from asyncio import CancelledError
from contextlib import suppress
from sys import _current_frames
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.real_time import RealTime
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful.model.call import Outcome
from petstore_mock.stateful.model.retry_after import seconds_told

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from petstore_mock.journal.entry import Entry
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.model.call import Ended

__all__ = ["PAIR", "RunawayError", "Watchdog", "attempt"]

PAIR: Final = "two calls at once"  # what is watched

_TICK: Final = 0.02  # seconds
_LONGEST_TICK: Final = 0.1  # seconds: what is longer was a machine that slept, and the client with it
_RUNAWAY: Final = 200  # requests of one call: nothing that ends by itself, redirections that are followed included
_IMPATIENCE: Final = 0.15  # seconds, once it is known that the client waits for ever
_RAISED_FOR: Final = 0.01  # seconds
STANDSTILL: Final = 30.0  # seconds without a request: no client backs off for as long
_SHORT_STANDSTILL: Final = 3.0  # seconds, once it is known that the client comes to one; more than Retry-After asks for
_SHORT_STANDSTILL_OF_TWO: Final = 1.0
_SHORT_LIMIT: Final = 0.5  # seconds; the same for one that was told to wait for longer than it may
_AGAIN: Final = 1.0  # seconds after which a client is interrupted once more
_ARRIVES: Final = 0.05  # seconds that an interrupt takes at most
_DEBUGGERS: Final = frozenset({"bdb", "pydevd"})  # a client that somebody looks at stands still as long as he likes


# Ends what waits in the main thread. Its default is to be ignored, and next to nobody uses it; SIGINT may be ignored or
# somebody's own, as in the background, under xdist and in asyncio.run.
_WAKE: Final = getattr(signal, "SIGURG", None)


class RunawayError(BaseException):
    """Raised inside a client whose call does not end; no ``except Exception`` of its own stops it."""


class Watchdog:
    """Looks after one call at a time, in a thread of its own.

    Args:
        patience: seconds after which a hang is ended.
        longest_wait: seconds after which a call is ended that was told to wait for longer; as any other without it.

    Attributes:
        limit: the same, where it has ended the latest call.
    """

    def __init__(self, patience: float, longest_wait: float | None = None) -> None:
        self.patience = patience
        self.limit: float | None = None
        self._longest_wait = longest_wait
        self.never_times_out: set[str] = set()  # operations: what is known need not be waited for again
        self.comes_to_a_standstill = False  # likewise
        self.stood = 0.0  # seconds, of the call that stood still last
        self.shared = False  # whether a thread of the client asks meanwhile, which says nothing of any call
        self._lock = threading.Lock()
        self._watched: tuple[PetStoreMock, int, int, str] | None = None
        self._fired: Ended | None = None
        self._hung_for, self._hung_at = 0.0, 0  # seconds, and the request that hangs
        self._stood_for, self._stood_at = 0.0, 0  # seconds, and the requests so far
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._former: Any = None  # what the signal did before
        self._ends_a_call = False  # the signal is of a call that has not ended yet

    def start(self) -> None:
        """Begin to watch, unless it does."""
        if self._thread is not None:
            return
        self._ended.clear()
        thread = threading.Thread(target=self._run, name="petstore-mock-watchdog", daemon=True)
        thread.start()
        self._thread = thread
        if _WAKE is not None and threading.current_thread() is threading.main_thread():
            former = signal.getsignal(_WAKE)
            if former is signal.SIG_DFL or former is signal.SIG_IGN:
                self._former = former
                signal.signal(_WAKE, self._woken)

    def stop(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None
        if _WAKE is not None and self._former is not None and threading.current_thread() is threading.main_thread():
            signal.signal(_WAKE, self._former)
            self._former = None

    def _woken(self, _signal: int, _frame: FrameType | None) -> None:
        """End the call that does not end by itself, in the main thread."""
        if self._ends_a_call:
            raise RunawayError

    def watch(self, petstore: PetStoreMock, operation: str) -> None:
        """Look after a call that begins now, in this thread."""
        self._fired = self.limit = None
        self._hung_for, self._hung_at = 0.0, 0
        self._stood_for, self._stood_at = 0.0, 0
        self._watched = (petstore, len(petstore.journal), threading.get_ident(), operation)

    def done(self) -> Ended | None:
        """Say that the call has ended; return why it had to be ended, or None.

        Raises:
            RunawayError: the call had ended by itself just before it was to be stopped; ask again.
        """
        with self._lock:
            self._watched = None
            fired = self._fired
        if self._ends_a_call:
            time.sleep(_ARRIVES)  # an interrupt that is under way is to be taken here
            self._ends_a_call = False
        return fired

    @property
    def standstill(self) -> float:
        """Seconds after which a call that does nothing is ended."""
        if self._watched is not None and self._watched[3] == PAIR:  # which meets nothing that it would back off for
            return _SHORT_STANDSTILL_OF_TWO if self.comes_to_a_standstill else _SHORT_STANDSTILL
        return max(_SHORT_STANDSTILL if self.comes_to_a_standstill else STANDSTILL, 1.5 * self.patience)

    def _run(self) -> None:
        before = RealTime.perf_counter()
        while not self._ended.wait(_TICK):
            now = RealTime.perf_counter()
            with self._lock:
                if self._watched is not None:
                    self._look(*self._watched, min(now - before, _LONGEST_TICK))
            before = now

    def _look(self, petstore: PetStoreMock, before: int, thread: int, operation: str, tick: float) -> None:
        journal = petstore.journal
        requests = len(journal) - before
        self._look_for_a_standstill(requests, journal.last if requests > 0 else None, thread, tick)
        if requests <= 0:
            return
        if requests > _RUNAWAY and not self.shared:  # at every tick, if the client catches even that
            if self._fired == "ran away":  # or waits for a thread of its own, which asks
                self._ends_a_call = True
                self._interrupt(thread)
            else:
                self._fired = "ran away"
                _stop(thread)
            return
        hanging = requests if journal.last.outcome == "hang" else 0
        if self.shared:
            hanging = next((n for n in range(requests, 0, -1) if journal[before + n - 1].outcome == "hang"), 0)
        if hanging:
            self._hung_for = self._hung_for + tick if self._hung_at == hanging else 0.0
            self._hung_at = hanging
            patience = min(self.patience, _IMPATIENCE) if operation in self.never_times_out else self.patience
            if self._hung_for >= patience:
                self._fired = "hung"
                self.never_times_out.add(operation)
                petstore.tenant.world.let_go()  # as reset() lets held answers go

    def _look_for_a_standstill(self, requests: int, last: Entry | None, thread: int, tick: float) -> None:
        if (requests != self._stood_at and not self.shared) or (last is not None and _takes_its_time(last)):
            self._stood_for, self._stood_at = 0.0, requests
            return
        self._stood_for += tick
        longest, limit = self.standstill, self._longest_wait
        told = None if limit is None or last is None else seconds_told(last)
        if limit is None or told is None or max(told) <= limit:
            limit = None
        else:
            longest = told.within(limit) + (min(limit, _SHORT_LIMIT) if self.comes_to_a_standstill else limit)
        if self._stood_for >= longest and not _is_debugged(thread):
            self._fired, self._ends_a_call, self.stood, self.limit = "stood still", True, longest, limit
            self._stood_for = max(longest - _AGAIN, 0.0)  # it may have caught the interrupt
            self._interrupt(thread)

    def _interrupt(self, thread: int) -> None:
        """End what another thread waits for; in the main thread a signal makes it give up even a lock."""
        if _WAKE is not None and self._former is not None and thread == threading.main_thread().ident:
            signal.pthread_kill(thread, _WAKE)
        else:
            _stop(thread)


def _takes_its_time(entry: Entry) -> bool:
    """Whether the answer may be under way still, as slowly as a fault lets it."""
    slow = entry.delayed_by or entry.fault
    return slow is not None and slow.arrives_late


def _is_debugged(thread: int) -> bool:
    frame: FrameType | None = _current_frames().get(thread)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False


def _stop(thread: int) -> None:
    """Raise in another thread if it gets to its next bytecode soon, and take it back otherwise.

    While an exception waits for its thread, every thread of the interpreter looks at each function's entry whether
    there is something to do for it; and in one that traces (coverage), CPython 3.11 looks again and again instead of
    going on. The thread may be waiting for our own listener just then, and so for ever: hence the short time, of which
    a client that runs away has many. For the same reason nothing written in Python is called here meanwhile.
    """
    set_raised = ctypes.pythonapi.PyThreadState_SetAsyncExc
    there, here = ctypes.c_ulong(thread), ctypes.c_ulong(threading.get_ident())
    error, nothing = ctypes.py_object(RunawayError), None
    try:
        set_raised(there, error)
        time.sleep(_RAISED_FOR)
        set_raised(there, nothing)
        set_raised(here, error)  # only where something is raised does the looking end
        while True:
            pass
    except RunawayError:
        pass


def attempt(
    watchdog: Watchdog,
    petstore: PetStoreMock,
    operation: str,
    function: Callable[..., Any],
    *arguments: Any,  # noqa: ANN401  # those of the function
) -> Outcome:
    """Let a client do something under the watchdog's eye."""
    watchdog.watch(petstore, operation)
    try:
        try:
            outcome = Outcome(value=function(*arguments))
        except PetStoreMockError:
            raise
        except (Exception, SystemExit, CancelledError) as error:  # noqa: BLE001  # whatever a client raises
            outcome = Outcome(error=error)
        outcome.ended = watchdog.done()
    except RunawayError as error:
        outcome = Outcome(error=error, ended=_ended(watchdog))
    except BaseException:
        watchdog.done()  # else it would end what comes after the run
        raise
    return outcome


def _ended(watchdog: Watchdog) -> Ended | None:
    """Say that an interrupted call has ended; on a busy machine a second interrupt may be under way."""
    while True:
        with suppress(RunawayError):
            return watchdog.done()
