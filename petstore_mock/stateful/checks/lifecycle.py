"""How a client is made and closed: without an exception or a request that matters, and leaving nothing open."""

from __future__ import annotations

import gc
import threading
import time
from typing import TYPE_CHECKING, Final

from petstore_mock.common.real_time import RealTime
from petstore_mock.common.wording import counted
from petstore_mock.stateful.model.adapter import LOOP_THREAD
from petstore_mock.stateful.model.call import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from petstore_mock.journal.entry import Entry
    from petstore_mock.stateful.model.call import Outcome

__all__ = [
    "COMPANION_THREAD",
    "MOST_THREADS",
    "Threads",
    "close_problem",
    "held_threads_problem",
    "left_tasks_problem",
    "made_problem",
    "threads_problem",
    "unclosed_problem",
]

# A pool has some threads, a loop of asyncio some more for the names of hosts; they may end when they are forgotten.
MOST_THREADS: Final = 8
COMPANION_THREAD: Final = "petstore-mock-companion"  # makes one of two calls
_OURS: Final = frozenset({LOOP_THREAD, COMPANION_THREAD})
_THREADS_END: Final = 1.0  # seconds that threads take to end, once they are told to
_THREADS_END_SOON: Final = 0.1  # the same for a client that is known not to tell them
_ERRAND: Final = 0.1  # seconds that a thread takes for a request or two
_PAUSE: Final = 0.002  # seconds between two looks


class Threads:
    """The threads that a client starts in its calls, and not those of other parts of the process.

    To look at them all would cost as much as a step: only where their number differs is it done.
    """

    def __init__(self) -> None:
        self.started: set[threading.Thread] = set()
        self._count = -1
        self._known: set[threading.Thread] = set()

    def before_call(self) -> None:
        """Take note of the threads that are there."""
        if threading.active_count() != self._count:
            self._known = set(threading.enumerate())
            self._count = len(self._known)

    def after_call(self) -> set[threading.Thread] | None:
        """Take note of those that have come, and return them if there are any."""
        if threading.active_count() == self._count:
            return None
        now = set(threading.enumerate())
        begun = {thread for thread in now - self._known if thread.name not in _OURS}
        self.started |= begun
        self._known, self._count = now, len(now)
        return begun

    def end_soon(self, begun: Iterable[threading.Thread]) -> bool:
        """Wait a moment for threads that a call has begun, for what they ask is of it; say whether they have ended."""
        return not _after(_ERRAND, begun)

    def ended_by(self, forget: Callable[[], object]) -> int:
        """Return how many end when the clients are forgotten, and have not ended when these were closed."""
        going_on = _after(_THREADS_END_SOON, self.started)
        if not going_on:
            return 0
        forget()
        gc.collect()
        return len(going_on) - len(_after(_THREADS_END_SOON, going_on))

    @property
    def were_begun(self) -> bool:
        """Whether a call has begun any."""
        return bool(self.started)

    @property
    def go_on(self) -> bool:
        """Whether one that a call has begun still runs."""
        return any(thread.is_alive() for thread in self.started)

    def left(self, *, brief: bool) -> int:
        """Return how many do not end, if they are more than can be granted."""
        if len(self.started) <= MOST_THREADS:
            return 0
        deadline = RealTime.monotonic() + (_THREADS_END_SOON if brief else _THREADS_END)
        while True:
            count = sum(thread.is_alive() for thread in self.started)
            if count <= MOST_THREADS:
                return 0
            if RealTime.monotonic() > deadline:
                return count
            gc.collect(1)
            time.sleep(_PAUSE)


def _after(seconds: float, threads: Iterable[threading.Thread]) -> list[threading.Thread]:
    """Return those that go on after so many seconds; sooner if none does."""
    deadline = RealTime.monotonic() + seconds
    threads = list(threads)
    for thread in threads:
        _wait(thread, deadline)
    return [thread for thread in threads if thread.is_alive()]


def _wait(thread: threading.Thread, deadline: float) -> None:
    """Wait until a thread has ended, or for the deadline; it may be one that another thread is about to start."""
    while (left := deadline - RealTime.monotonic()) > 0:
        try:
            thread.join(left)
        except RuntimeError:  # not started yet, though threading.enumerate() has it
            time.sleep(_PAUSE)
        else:
            return


def close_problem(outcome: Outcome, world: str, entries: Iterable[Entry], seconds: float) -> Problem | None:
    """Return what is wrong with how a client closed.

    Args:
        outcome: what came of its ``close()``.
        world: the name of the mock that got its requests.
        entries: the requests.
        seconds: how long it may do nothing.
    """
    problem = _sent_problem("close()", "{client}.close()", world, entries)
    if problem is not None or outcome.error is None:
        return problem
    words = "what is closed was used before, or not at all, or has lost its connection: none of it is an error"
    sentence = f"close() {outcome}"
    if outcome.was_ended:
        sentence = f"close() did not return for {seconds:.0f} s"
    return Problem(sentence, "1", words, ("{client}.close()",))


def made_problem(entries: Iterable[Entry]) -> Problem | None:
    """Return what is wrong with the requests that were sent while a client was made."""
    return _sent_problem("make_client", "make_client(petstore)", "petstore", entries)


def _sent_problem(who: str, code: str, world: str, entries: Iterable[Entry]) -> Problem | None:
    """Return what is wrong with requests that no call asked for.

    Args:
        who: sent them.
        code: has them sent again.
        world: the name of the mock that got them.
        entries: the requests.
    """
    check = [f"before = len({world}.journal)", "with contextlib.suppress(Exception):", f"    {code}"]
    for entry in entries:
        sent = f"{who} sent {entry.method} {entry.target[:80]}"
        if entry.operation == "createPet":
            check.append(f"assert 'createPet' not in [entry.operation for entry in {world}.journal[before:]]")
            words = "createPet adds an animal: no caller has asked for this one, or knows of it"
            return Problem(sent, "4.2", words, check)
        condition = entry.condition
        if condition is not None and condition.violation and not condition.name.startswith("operation_removed"):
            check.append(f"assert not any(entry.is_violation for entry in {world}.journal[before:])")
            words = entry.sentence.text if entry.sentence is not None else ""
            return Problem(f"{sent}: {entry.reason}", entry.section or "4", words, check)
    return None


def threads_problem(count: int) -> Problem:
    """Return what is wrong with a client that left ``count`` threads behind."""
    check = (
        "getattr({client}, 'close', lambda: None)()",
        "deadline = time.monotonic() + 1",
        f"while threading.active_count() > threads + {MOST_THREADS} and time.monotonic() < deadline:",
        "    time.sleep(0.01)",
        f"assert threading.active_count() <= threads + {MOST_THREADS}",
    )
    words = f"threads that go on after their calls become ever more; {MOST_THREADS} are granted to a pool"
    return Problem(f"{count} threads went on after the client was closed", "1", words, check)


def held_threads_problem(count: int) -> Problem:
    """Return what is wrong with a client that keeps ``count`` threads beyond its close, for as long as it is known."""
    check = (
        "{client}.close()",
        "deadline = time.monotonic() + 1",
        "while threading.active_count() > threads and time.monotonic() < deadline:",
        "    time.sleep(0.01)",
        "assert threading.active_count() <= threads",
    )
    words = (
        "a client ends its threads when it is closed, as an executor does by shutdown(): else they last as long as "
        "somebody knows of it"
    )
    threads = "a thread" if count == 1 else f"{count} threads"
    return Problem(f"{threads} went on after the client was closed, until it was forgotten", "1", words, check)


def left_tasks_problem(names: Sequence[str]) -> Problem | None:
    """Return what is wrong with a client whose tasks go on after it was closed."""
    if not names:
        return None
    count = "a task" if len(names) == 1 else f"{len(names)} tasks"
    words = "a client ends its tasks when it is closed, and waits for them: asyncio destroys what is pending at its end"
    check = ("{client}.close()", "assert not {client}.tasks_left")
    return Problem(f"{count} went on after the client was closed: {', '.join(names[:3])}", "1", words, check)


def unclosed_problem(count: int) -> Problem:
    """Return what is wrong with a client that left ``count`` connections behind."""
    check = (
        "getattr({client}, 'close', lambda: None)()",
        "del {client}",
        "gc.collect()",
        "deadline = time.monotonic() + 1",
        "while {petstore}.httpserver.open_connections and time.monotonic() < deadline:",
        "    time.sleep(0.01)",
        "assert not {petstore}.httpserver.open_connections",
    )
    words = "a client closes its connections when it is closed, or forgotten"
    sentence = f"{counted(count, 'connection')} stayed open after the client was closed"
    return Problem(sentence, "RFC 9112 §9.6", words, check)
