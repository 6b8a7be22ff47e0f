"""Interrupts a call: the press of Ctrl-C while it reads from a connection, or the cancellation of its task.

Both happen at a place that a number names, so they happen there again each time.
"""

from __future__ import annotations

import asyncio
import sys
from types import coroutine
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator
    from types import FrameType

    from petstore_mock.checks.check import Thunk

# A pause of a coroutine.
_SLEEP: Final = asyncio.sleep.__code__
# The functions of modules in which a thread waits for the bytes of a response.
_READS: Final = frozenset({("socket", "readinto"), ("httpcore._backends.sync", "read")})


class _AtPlace:
    """Raises an exception when a call comes to a place for the time ``at``."""

    def __init__(self, at: int) -> None:
        self._left = at
        self.kind: type[BaseException] | None = None  # of the exception that was raised


class KeyPress(_AtPlace):
    """Raises KeyboardInterrupt in a call when it reads from a connection."""

    def called(self, call: Thunk) -> Any:  # noqa: ANN401  # a client returns any object
        former = sys.gettrace()
        sys.settrace(self._trace)
        try:
            return call()
        finally:
            sys.settrace(former)

    def _trace(self, frame: FrameType, _event: str, _argument: object) -> None:
        if (frame.f_globals.get("__name__"), frame.f_code.co_name) not in _READS:
            return
        self._left -= 1
        if not self._left:
            self.kind = KeyboardInterrupt
            raise KeyboardInterrupt


def _pauses(inner: Any, waits_for: object) -> bool:  # noqa: ANN401  # a coroutine, or what it awaits
    """Whether a coroutine waits in ``asyncio.sleep()`` for some time."""
    while inner is not None and waits_for is not None:
        if getattr(inner, "cr_code", None) is _SLEEP:
            return True
        inner = getattr(inner, "cr_await", None)
    return False


class Cancellation(_AtPlace):
    """Cancels the task of a coroutine when it awaits for the time ``at``, and in each pause."""

    @coroutine
    def awaited(self, inner: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        error: BaseException | None = None
        while True:
            try:
                waits_for = inner.send(None) if error is None else inner.throw(error)
            except StopIteration as end:
                return end.value
            self._left -= 1
            task = asyncio.current_task()
            is_there = not self._left or _pauses(inner, waits_for)
            if is_there and task is not None:
                self.kind = asyncio.CancelledError
                task.cancel()
            error = None
            try:
                yield waits_for
            except BaseException as thrown:  # the coroutine gets it
                error = thrown
