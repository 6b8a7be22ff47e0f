"""Waiting for something that happens in another thread: in a plain thread, under asyncio, under trio.

Neither event loop is imported here. If nobody has imported one, none can be running, and the core stays free of both.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING, Any, Protocol

from petstore_mock.common.real_time import RealTime

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Announcer", "running_loop", "wait_async", "wait_blocking"]


class Announcer(Protocol):
    """Calls those who listen with whatever has happened, from whichever thread that was."""

    def listen(self, listener: Callable[[Any], object]) -> None:
        """Call ``listener`` from now on."""

    def unlisten(self, listener: Callable[[Any], object]) -> None:
        """Call ``listener`` no more."""


def running_loop() -> str | None:
    """Return which event loop runs in this thread, ``asyncio`` or ``trio``, or None."""
    asyncio: Any = sys.modules.get("asyncio")
    loop = None if asyncio is None else asyncio._get_running_loop()  # noqa: SLF001  # documented for libraries
    # Under gevent, all that look like threads are one to asyncio, the listener's with its loop included. Playwright's
    # face for plain tests keeps its loop in another greenlet of this thread: no task is running then, and none waits.
    if loop is not None and getattr(loop, "_thread_id", None) in {None, threading.get_ident()}:
        return "asyncio" if asyncio.current_task(loop) is not None else None
    trio: Any = sys.modules.get("trio")
    if trio is not None:
        try:
            trio.lowlevel.current_trio_token()
        except RuntimeError:
            return None
        return "trio"
    return None


def wait_blocking(announcer: Announcer, done: Callable[[], bool], timeout: float) -> bool:
    """Block until ``done()`` or for ``timeout`` seconds; return the last word of ``done``."""
    happened = threading.Event()

    def listener(_: object) -> None:
        happened.set()

    announcer.listen(listener)  # before the first look, so that nothing slips between the two
    try:
        deadline = RealTime.monotonic() + timeout
        while not done():
            left = deadline - RealTime.monotonic()
            if left <= 0 or not happened.wait(left):  # what has happened already would be waited for with any patience
                return done()
            happened.clear()
    finally:
        announcer.unlisten(listener)
    return True


async def wait_async(announcer: Announcer, done: Callable[[], bool], timeout: float) -> bool:  # noqa: ASYNC109  # a wait is all that it is
    """Wait as :func:`wait_blocking` does, without blocking the event loop."""
    if running_loop() == "trio":
        trio: Any = sys.modules["trio"]
        waited: bool = await trio.to_thread.run_sync(wait_blocking, announcer, done, timeout, abandon_on_cancel=True)
        return waited
    asyncio: Any = sys.modules["asyncio"]
    loop = asyncio.get_running_loop()
    happened, expired = asyncio.Event(), threading.Event()

    def listener(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed under the wait, which nobody awaits any more
            loop.call_soon_threadsafe(happened.set)

    def expire() -> None:
        expired.set()
        listener(None)

    timer = threading.Timer(timeout, expire)  # the loop's own stand still while a test has frozen the time
    timer.daemon = True
    announcer.listen(listener)
    try:
        if done():
            return True
        timer.start()
        while not expired.is_set():
            await happened.wait()
            happened.clear()
            if done():
                return True
        return False
    finally:
        timer.cancel()
        announcer.unlisten(listener)
