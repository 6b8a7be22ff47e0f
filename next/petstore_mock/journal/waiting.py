"""Waits for events of another thread: in a plain thread, under asyncio, under trio.

Neither library is imported here: if nothing has imported it, its loop can't run.
"""

from __future__ import annotations

import contextlib
import sys
from threading import Timer, get_ident
from typing import TYPE_CHECKING, Any, Protocol

from petstore_mock.common.real import Event, monotonic

if TYPE_CHECKING:
    from collections.abc import Callable


class Announcer(Protocol):
    """Calls its listeners at each event, from any thread."""

    def listen(self, listener: Callable[[Any], object]) -> None: ...

    def unlisten(self, listener: Callable[[Any], object]) -> None: ...


def running_loop() -> str | None:
    """Return the event loop that runs in this thread, ``asyncio`` or ``trio``, or None."""
    asyncio: Any = sys.modules.get("asyncio")
    loop: Any = None if asyncio is None else asyncio._get_running_loop()  # noqa: SLF001  # documented for libraries
    # Under gevent, all threads are one to asyncio, the listener's included. Playwright's plain tests keep their loop in
    # another greenlet of this thread: then no task runs.
    if asyncio is not None and loop is not None and getattr(loop, "_thread_id", None) in {None, get_ident()}:
        return "asyncio" if asyncio.current_task(loop) is not None else None
    trio: Any = sys.modules.get("trio")
    if trio is not None:
        with contextlib.suppress(RuntimeError):
            trio.lowlevel.current_trio_token()
            return "trio"
    return None


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
    """Wait as :func:`wait_blocking` does, without blocking the event loop."""
    if running_loop() == "trio":
        trio: Any = sys.modules["trio"]
        waited: bool = await trio.to_thread.run_sync(wait_blocking, announcer, done, timeout, abandon_on_cancel=True)
        return waited
    asyncio: Any = sys.modules["asyncio"]
    loop = asyncio.get_running_loop()
    happened, expired = asyncio.Event(), Event()

    def listener(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed during the wait
            loop.call_soon_threadsafe(happened.set)

    def expire() -> None:
        expired.set()
        listener(None)

    timer = Timer(timeout, expire)  # the loop's own timers stand still while a test freezes the time
    timer.daemon = True
    announcer.listen(listener)
    try:
        timer.start()
        while not done() and not expired.is_set():
            await happened.wait()
            happened.clear()
        return done()
    finally:
        timer.cancel()
        announcer.unlisten(listener)
