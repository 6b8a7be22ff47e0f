"""Waits for requests: in a thread, or in a task of asyncio or trio.

How this works: a ``Watch`` counts the matching requests of one journal. The journal calls it, in any thread, with each
request that arrives or whose response goes out. The watch only queues the request and calls ``wake``; the waiter does
the matching. ``wake`` sets an event in a thread. In a task it asks the loop to set an event, so a wait takes no
thread of the caller, and a cancelled wait ends at once.

The timers of a loop stand still while a test freezes the time. So one thread of the package, which lives only while
tasks wait, wakes them at their deadlines.
"""

from __future__ import annotations

import sys
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.real import Event, Lock, Thread, monotonic
from petstore_mock.common.refusing import refuse

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from petstore_mock.journal.criteria import Criteria
    from petstore_mock.journal.exchange import Exchange


class Watch:
    """Counts the requests that meet criteria, from a first look at the journal on."""

    def __init__(self, criteria: Criteria, wake: Callable[[], object]) -> None:
        self._criteria = criteria
        self._wake = wake
        self._news: deque[Exchange | None] = deque()
        self._numbers = set[int]()

    def notify(self, exchange: Exchange | None) -> None:
        """Queue a request that arrived or changed; None stands for a cleared journal. Any thread calls this."""
        if exchange is None or self._criteria.concerns(exchange):
            self._news.append(exchange)
            self._wake()

    def count(self) -> int:
        """Match the queued requests, and return the number of matching requests since the journal was cleared."""
        while self._news:
            exchange = self._news.popleft()
            if exchange is None:
                self._numbers.clear()
            elif self._criteria.matches(exchange):
                self._numbers.add(exchange.number)
            else:
                self._numbers.discard(exchange.number)
        return len(self._numbers)


# Tasks


class _Signal:
    """Wakes one task, from any thread. A call between two waits is kept.

    Args:
        event: the class of events of the task's library.
        call_soon: asks the loop of the task, from any thread, to call a function.
    """

    def __init__(self, event: Callable[[], Any], call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._event = event
        self._call_soon = call_soon
        self._next = event()

    def set(self) -> None:
        with suppress(RuntimeError):  # the loop is closed, so no task waits
            self._call_soon(self._complete)

    def _complete(self) -> None:
        self._next.set()

    async def wait(self) -> None:
        await self._next.wait()
        self._next = self._event()


def _trio_of_this_task() -> ModuleType | None:
    """Return trio if it runs the code that calls this, else None. Nothing imports it here."""
    trio = sys.modules.get("trio")
    if trio is None:
        return None
    try:
        trio.lowlevel.current_task()
    except (AttributeError, RuntimeError):  # it is only half imported, or runs no task in this thread
        return None
    return trio


def _loop_of_this_task() -> Any:  # noqa: ANN401  # an event loop; this package may not import asyncio
    """Return the event loop of asyncio if it runs the code that calls this in a task, else None."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        task: Any = asyncio.current_task()
    except (AttributeError, RuntimeError):  # it is only half imported, or no loop runs in this thread
        return None
    # Playwright's synchronous tests have a loop without a task. A task knows its loop, and tests replace the public
    # functions of asyncio that return it.
    return None if task is None else task.get_loop()


def refuse_in_a_task() -> None:
    """Refuse a call that would block the event loop of asyncio or trio."""
    runner = ""
    if _trio_of_this_task() is not None:
        runner = "trio"
    elif _loop_of_this_task() is not None:
        runner = "asyncio"
    if runner:
        refuse(
            f"expected wait_for() outside an event loop, which it would block; {runner} runs in this thread: "
            "await journal.wait_for_async(...) instead"
        )


def signal_of_this_task() -> _Signal:
    """Return a signal for the task that calls this. Tasks of anyio are tasks of asyncio or trio."""
    trio = _trio_of_this_task()
    if trio is not None:
        return _Signal(trio.Event, trio.lowlevel.current_trio_token().run_sync_soon)
    loop = _loop_of_this_task()
    if loop is None:
        refuse("expected wait_for_async() in a task of asyncio, trio or anyio; got another event loop")
    return _Signal(sys.modules["asyncio"].Event, loop.call_soon_threadsafe)


# Deadlines


class _Alarms:
    """Calls functions at their deadlines, in one thread. The thread ends when no deadline is left."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._changed = Event()
        self._deadlines: dict[object, tuple[float, Callable[[], object]]] = {}
        self._thread: Thread | None = None

    def add(self, owner: object, deadline: float, call: Callable[[], object]) -> None:
        with self._lock:
            self._deadlines[owner] = deadline, call
            self._changed.set()
            # In a forked child, the thread of the parent is not alive.
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name="petstore-mock-waits", daemon=True)
                self._thread.start()

    def remove(self, owner: object) -> None:
        with self._lock:
            self._deadlines.pop(owner, None)
            self._changed.set()

    def _run(self) -> None:
        while True:
            with self._lock:
                self._changed.clear()
                if not self._deadlines:
                    self._thread = None
                    return
                now = monotonic()
                due = [owner for owner, (deadline, _) in self._deadlines.items() if deadline <= now]
                calls = [self._deadlines.pop(owner)[1] for owner in due]
                next_deadline = min((deadline for deadline, _ in self._deadlines.values()), default=now)
            for call in calls:
                call()
            self._changed.wait(next_deadline - now)


alarms: Final = _Alarms()
