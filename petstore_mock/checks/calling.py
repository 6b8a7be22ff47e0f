"""Makes calls in threads of their own: one call, which may never end, or two calls at once.

Two threads that run freely may show a bug only once in a thousand runs. So the first call stops before a chosen line
of the client's code, and both calls interleave in the same way each time.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
import threading
from concurrent.futures import Future, wait
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import ceil
from queue import SimpleQueue
from traceback import extract_stack
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.checks.adapting import ElsewhereClient, StoppedError
from petstore_mock.checks.check import RUNAWAY, Call, Observation, Outcome, attempt
from petstore_mock.checks.pulse import Pulse, Times, times_of
from petstore_mock.checks.reading import is_own
from petstore_mock.checks.requests import REDIRECTS, asks_for, is_fine, seconds_told
from petstore_mock.common.real import Thread, monotonic, sleep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from traceback import FrameSummary
    from types import FrameType

    from petstore_mock.checks.adapting import AdaptedClient
    from petstore_mock.checks.check import Ended, Exchanges, Thunk
    from petstore_mock.checks.reading import Classify
    from petstore_mock.journal.exchange import Exchange

_TICK: Final = 0.02  # seconds between two looks
_FIRST_TICK: Final = 0.0005
_LONGEST_TICK: Final = 0.1  # seconds; a longer tick means that the computer and client slept
_INTERRUPTS: Final = 50
_INTERVAL: Final = 0.5  # seconds between two looks at the processor time of a call, at most
_CALL_BACK: Final = frozenset({"weakref", "_weakrefset"})  # modules whose functions the interpreter calls

_LOOK: Final = 0.001  # seconds between two looks at the other call
_STANDS: Final = 3  # after so many looks without progress, the other call counts as waiting, for example for a lock
_LONGEST: Final = 0.5  # seconds; the longest stop of a call
_WAITS_FOR_BYTES: Final = frozenset({"socket", "ssl", "selectors"})  # modules in which a call waits for a response


@dataclass
class Limits:
    """How long a call may wait, in seconds."""

    #: For a response that never comes.
    patience: float = 2.0
    #: The longest pause after a failure, such as a ``Retry-After``. None: any pause is right.
    longest_wait: float | None = None
    #: Without a request, a pending response, or a failure after which a client may pause.
    standstill: float = 15.0
    #: After a failure, until the machine waits no longer. This is no mistake of the client.
    pause: float = 120.0
    #: Whether threads of the client send requests after or between its calls.
    sends_by_itself: bool = False

    @property
    def longest_standstill(self) -> float:
        """How long a call may take without a reason to wait, in seconds."""
        return max(self.standstill, 1.5 * self.patience)

    def ended(self, last: Exchange | None, waited: float) -> Ended | None:
        """Return why a call counts as ended that has waited for so long after the request ``last``, or None."""
        # After a failure, a client may pause, since it may try again later. After a redirection, it has no reason to.
        if last is None or is_fine(last) or last.status in REDIRECTS:
            return "stood still" if waited >= self.longest_standstill else None
        if self.longest_wait is not None and waited >= self._longest(last, self.longest_wait):
            return "paused"
        return "left" if waited >= self.pause else None

    def _longest(self, last: Exchange, longest: float) -> float:
        """Return the longest right pause after a request. Dates have whole seconds."""
        told = seconds_told(last)
        if told is None or max(told) <= longest:
            return longest + 1
        return longest + (ceil(told[0]) if 0 < told[0] <= longest else 0)


class RunawayError(BaseException):
    """Raised inside a call that sends requests or computes endlessly. ``except Exception`` does not catch it."""


class Player:
    """A thread that makes calls for another thread, because a call may never end."""

    def __init__(self) -> None:
        self.is_lost = False  # whether the thread is in a call that never ended
        self.lost_at: list[FrameSummary] = []  # the lines of that call, when it was given up
        self._work: SimpleQueue[tuple[Thunk, Future[Any]] | None] = SimpleQueue()
        self._loop = asyncio.new_event_loop()  # before anybody counts the open loops
        self._thread = Thread(target=self._run, name="petstore-mock-player", daemon=True)
        self._thread.start()

    def play(self, work: Thunk) -> Future[Any]:
        """Start ``work`` and return the future of its result."""
        future: Future[Any] = Future()
        self._work.put((work, future))
        return future

    def end(self) -> None:
        """End the thread when its work is done."""
        self._work.put(None)

    def attend(
        self,
        work: Thunk,
        journal: Exchanges,
        limits: Limits,
        *,
        handshake: bool,
        client: AdaptedClient | None,
        look: Callable[[list[Thread]], None] | None,
    ) -> Outcome:
        """Return the outcome of ``work``, a call of a client. A call that does not end stays in its thread.

        ``client`` is None if the work is no call, for example while the client is made.
        ``look`` is called again and again meanwhile, with the threads of the call, if there is one.
        """
        future = self.play(work)
        began = monotonic()
        attendance = _Attendance(journal, limits, self._thread, client, handshake=handshake)
        tick = _FIRST_TICK
        while not _is_done(future, tick):
            tick = min(2 * tick, _TICK)
            if look is not None:
                look(attendance.threads)
            ended = attendance.ended()
            attendance.pulse.look()
            if ended is None or future.done():
                continue
            self.is_lost = True
            self.lost_at = _lines_of(attendance.threads)
            if ended in {"ran away", "computed"}:
                attendance.elsewhere.stop()
                _interrupt(self._thread, future.done)
                for loop in attendance.pulse.threads:
                    # A loop that turns cancels the task of the call. An error would end the loop itself.
                    _interrupt(loop, attendance.pulse.is_beating)
            self.end()
            return Outcome(seconds=monotonic() - began, ended=ended)
        outcome: Outcome = future.result()
        if isinstance(outcome.error, StoppedError):
            return Outcome(seconds=monotonic() - began, ended="stopped")
        outcome.held = attendance.pulse.taken()
        return outcome

    def _run(self) -> None:
        with closing(self._loop) as loop, suppress(RunawayError):  # the error may arrive after the call
            asyncio.set_event_loop(loop)  # some clients call get_event_loop()
            while (todo := self._work.get()) is not None:
                _fill(*todo)
                del todo  # it references the result


def _lines_of(threads: Sequence[Thread]) -> list[FrameSummary]:
    frames = sys._current_frames()  # public by its documentation
    running = [frames[thread.ident] for thread in threads if thread.ident in frames]
    return [line for frame in running for line in extract_stack(frame)]


def _interrupt(thread: Thread, is_over: Callable[[], bool]) -> None:
    """Raise RunawayError in a thread, again and again until ``is_over``."""
    ident = thread.ident or 0
    for _ in range(_INTERRUPTS):
        if is_over() or not thread.is_alive():
            return
        if not _is_in_callback(sys._current_frames().get(ident)):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(RunawayError))
        sleep(_TICK)


def _is_in_callback(frame: FrameType | None) -> bool:
    """Whether a destructor or a weak reference's callback runs. Python reports its errors, and the call goes on."""
    while frame is not None:
        if frame.f_code.co_name == "__del__" or frame.f_globals.get("__name__") in _CALL_BACK:
            return True
        frame = frame.f_back
    return False


class _Attendance:
    """Watches the requests of a call that is under way."""

    def __init__(
        self, journal: Exchanges, limits: Limits, player: Thread, client: AdaptedClient | None, *, handshake: bool
    ) -> None:
        self._journal = journal
        self._limits = limits
        self._player = player
        self._handshake = handshake
        self.pulse = Pulse()
        self.elsewhere = ElsewhereClient()
        if client is not None:
            self.pulse = client.pulse
            self.elsewhere = client.elsewhere
        self._before = len(journal)
        self._looked = monotonic()
        self._requests = 0
        self._waited = 0.0
        # A call that computes needs three looks before it would count as one that stands still.
        self._interval = min(_INTERVAL, limits.longest_standstill / 3)
        self._times: list[Times] = []  # the processor times of the call, at intervals since the last request

    @property
    def threads(self) -> list[Thread]:
        """The threads of the call. The loop of an asynchronous client may begin during its first call."""
        return [self._player, *self.pulse.threads]

    def ended(self) -> Ended | None:
        """Return why the call counts as ended, or None."""
        tick = min(monotonic() - self._looked, _LONGEST_TICK)
        self._looked = monotonic()
        requests = len(self._journal) - self._before
        if requests > RUNAWAY:
            return "ran away"
        last = self._journal[-1] if requests else None
        hangs = self._handshake if last is None else _never_responds(last)
        is_in_flight = last is not None and last.in_flight
        is_due = is_in_flight and not hangs
        if is_due or requests != self._requests:
            self._waited = 0.0
            self._requests = requests
            self._times = []
            return None
        self._waited += tick
        self._look_at_times()
        if hangs:
            return "hung" if self._waited >= self._limits.patience else None
        return self._given_up(last)

    def _look_at_times(self) -> None:
        # Only in long waits: a look takes a tenth of the time of a quick call.
        if self._waited >= self._interval * (len(self._times) + 1):
            here = [f"self/task/{thread.native_id}" for thread in self.threads]
            self._times.append(times_of([*here, *self.elsewhere.tasks()]))

    def _given_up(self, last: Exchange | None) -> Ended | None:
        """Return why a call counts as ended that sends nothing more."""
        used = [Times(later.ran - former.ran, later.waited - former.waited) for former, later in pairwise(self._times)]
        idle = [times for times in used if not times.is_busy(self._interval)]
        # A call that pauses uses the processor little. One that computes may have to wait for its turn once.
        if len(idle) > 1 or not used:
            return self._limits.ended(last, self._waited)
        # On a busy computer, work takes long. So its processor time counts.
        ran = min(self._waited, sum(times.ran for times in used))
        return "computed" if ran >= self._limits.longest_standstill else None


def _is_done(future: Future[Any], seconds: float) -> bool:
    """Wait for a future, and return whether it is done."""
    with suppress(TimeoutError):
        future.exception(seconds)
    return future.done()


def _never_responds(exchange: Exchange) -> bool:
    return exchange.fault is not None and exchange.fault.row.waits


def _fill(work: Thunk, future: Future[Any]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # the waiting thread gets it
        future.set_exception(error)
    del future  # the traceback of the error references this frame


# Two calls at once


def at_once(
    client: AdaptedClient, calls: Sequence[Call], hold: int, then: int | None, classify: Classify
) -> list[Outcome]:
    """Make two calls of a client at once, and return their outcomes.

    The first call stops before line ``hold`` of the client's own code until the second call ends or has reached line
    ``then``. Tasks of an ``async`` client do not stop.
    """
    if all(map(client.is_async, calls)):
        return [attempt(task.result, classify) for task in client.gather(calls)]
    first = _Hold(hold)
    second = _Hold(then)
    first.other = second
    first.until = second.begun
    second.other = first
    second.until = first.ended
    players = (Player(), Player())
    futures = list[Future[Any]]()
    for player, one, call in zip(players, (first, second), calls, strict=True):
        futures.append(player.play(partial(one.run, partial(client.call, call))))
        player.end()
        first.begun.wait()
    wait(futures)
    return [attempt(future.result, classify) for future in futures]


def halves(both: Observation, calls: Sequence[Call], outcomes: Sequence[Outcome]) -> Iterator[Observation]:
    """Yield the observation of each of two calls, with the requests that this call may have sent."""
    for call, other, outcome in zip(calls, reversed(calls), outcomes, strict=True):
        either = [one for one in both.exchanges if asks_for(call, one) or not asks_for(other, one)]
        are_own = all(asks_for(call, one) for one in either)
        shared = both.shared or not are_own
        yield replace(both, exchanges=either, call=call, outcome=outcome, meanwhile=other, shared=shared)


class _Hold:
    """Stops one of two calls once, before line ``place``; never if ``place`` is None."""

    other: _Hold
    until: threading.Event

    def __init__(self, place: int | None) -> None:
        # ``thread`` is the identifier of the thread while the call runs, else 0.
        self._place = place
        self._reached = 0
        self.thread = 0
        self.begun = threading.Event()
        self.ended = threading.Event()

    def run(self, call: Thunk) -> Any:  # noqa: ANN401  # a client returns any object
        former = sys.gettrace()
        self.thread = threading.get_ident()
        if self._place is not None:
            sys.settrace(self._trace)
        try:
            return call()
        finally:
            sys.settrace(former)
            self.thread = 0
            self.ended.set()
            self.begun.set()

    def _trace(self, frame: FrameType, _event: str, _argument: object) -> Any:  # noqa: ANN401  # a trace function
        is_generated = frame.f_code.co_filename.startswith("<")  # by a library
        is_traced = is_own(str(frame.f_globals.get("__name__", ""))) and not is_generated
        return self._line if is_traced else None

    def _line(self, _frame: FrameType, event: str, _argument: object) -> Any:  # noqa: ANN401
        if event == "line":
            self._reached += 1
            if self._reached == self._place:
                sys.settrace(None)
                self._wait()
        return self._line

    def _wait(self) -> None:
        """Wait until the other call ends, stops, or waits for this call, for example for its lock."""
        self.begun.set()
        seen = None
        looks = 0
        deadline = monotonic() + _LONGEST
        while looks < _STANDS and monotonic() < deadline:
            if self.until.wait(_LOOK):
                return
            frame = sys._current_frames().get(self.other.thread)
            if frame is None or frame.f_globals.get("__name__") in _WAITS_FOR_BYTES:
                looks = 0
                continue
            place = (id(frame), frame.f_lasti)
            looks = looks + 1 if place == seen else 0
            seen = place
