"""Waits for events of another thread: in a plain thread and under asyncio.

asyncio is not imported here: if nothing has imported it, its loop can't run.
"""

from __future__ import annotations

import sys
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

from petstore_mock.common.real import Event, monotonic

if TYPE_CHECKING:
    from collections.abc import Callable


class Announcer(Protocol):
    """Calls its listeners at each event, from any thread."""

    def listen(self, listener: Callable[[Any], object]) -> None: ...

    def unlisten(self, listener: Callable[[Any], object]) -> None: ...


def loop_runs() -> bool:
    """Whether an event loop of asyncio runs in this thread."""
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    loop: Any = asyncio._get_running_loop()  # noqa: SLF001  # documented for libraries
    # Under gevent, all threads are one to asyncio, the listener's included. Playwright's plain tests keep their loop in
    # another greenlet of this thread: then no task runs.
    is_here = loop is not None and getattr(loop, "_thread_id", None) in {None, get_ident()}
    return is_here and asyncio.current_task(loop) is not None


def wait_blocking(announcer: Announcer, done: Callable[[], bool], timeout: float) -> bool:
    """Block until ``done()`` or for ``timeout`` seconds; return the last value of ``done``."""
    happened = Event()

    def listener(_: object) -> None:
        happened.set()

    announcer.listen(listener)  # before the first look, so that no event is lost
    try:
        deadline = monotonic() + timeout
        while not done():
            left = deadline - monotonic()
            if left <= 0 or not happened.wait(left):
                return done()
            happened.clear()
    finally:
        announcer.unlisten(listener)
    return True


async def wait_async(announcer: Announcer, done: Callable[[], bool], timeout: float) -> bool:  # noqa: ASYNC109  # a wait
    """Wait as :func:`wait_blocking` does, in a thread of its own: timers of the loop stand still in frozen time."""
    import asyncio  # noqa: PLC0415  # its loop runs

    return await asyncio.to_thread(wait_blocking, announcer, done, timeout)
