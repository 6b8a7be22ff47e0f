"""Waits for events of another thread. asyncio is not imported here: if nothing has imported it, its loop can't run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

from petstore_mock.common.real import Event, monotonic

if TYPE_CHECKING:
    from collections.abc import Callable


class Announcer(Protocol):
    """Calls its listeners at each event, from any thread."""

    def listen(self, listener: Callable[[Any], object]) -> None: ...

    def unlisten(self, listener: Callable[[Any], object]) -> None: ...


def loop_runs() -> bool:
    """Whether a task of asyncio runs in this thread. Playwright's plain tests have a loop, and no task."""
    asyncio: Any = sys.modules.get("asyncio")
    try:
        return asyncio is not None and asyncio.current_task() is not None
    except RuntimeError:  # no loop runs
        return False


def wait_blocking(announcer: Announcer, done: Callable[[], bool], timeout: float) -> bool:
    """Block until ``done()`` or for ``timeout`` seconds; return the last value of ``done``."""
    happened = Event()

    def listener(_: object) -> None:
        happened.set()

    announcer.listen(listener)  # before the first look, so that no event is lost
    deadline = monotonic() + timeout
    try:
        while not done() and (left := deadline - monotonic()) > 0:
            happened.wait(left)
            happened.clear()
        return done()
    finally:
        announcer.unlisten(listener)
