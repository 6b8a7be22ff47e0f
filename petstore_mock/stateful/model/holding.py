"""Holds calls at the client's own lines until another call has got on, so that two meet in the same way each time.

Two threads that just run meet where a bug shows once in a thousand times. Held between the lines that must not be
parted, they meet there always: a client that keeps its latest answer in an attribute is found by the line that was
chosen, and not by luck.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from petstore_mock.common.real_time import RealTime

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator
    from types import FrameType

__all__ = ["LIBRARIES", "Hold", "driven"]

_LOOK: Final = 0.001  # seconds between two looks at the other call
_STANDS: Final = 3  # looks at the same place after which it waits for what the held one has, as a lock
_STANDS_ON_LOOP: Final = 15  # the same on an event loop, where it may wait for its answer, which comes within one
_LONGEST: Final = 0.5  # seconds
_WAITS_FOR_BYTES: Final = frozenset({"socket", "ssl", "selectors"})  # modules where an answer is waited for
# What is no client's own: the standard library, the libraries that clients are built on, and this one.
LIBRARIES: Final = sys.stdlib_module_names | frozenset(
    {
        "aiohttp", "anyio", "attr", "attrs", "certifi", "charset_normalizer", "h11", "h2", "httpcore", "httpx",
        "hypothesis", "idna", "multidict", "petstore_mock", "pydantic", "pydantic_core", "requests", "sniffio",
        "urllib3", "yarl",
    }
)  # fmt: skip
_own_modules: Final[dict[str, bool]] = {}  # those met so far, and whether each is a client's own
_here: Final = threading.local()


class Hold:
    """Holds one of two calls, once.

    Args:
        place: before which of its own lines, or at the first suspension from there on if it is a coroutine; from 1, or
            None.

    Attributes:
        other: the hold of the other call.
        until: goes on when this is set, or when the other call waits in its turn.
        begun: the call is held, or has ended before its place.
        ended: the call has ended.
    """

    other: Self
    until: threading.Event

    def __init__(self, place: int | None) -> None:
        self._place = place
        self._reached = 0
        self._steps = 0  # of a coroutine
        self._lines: dict[FrameType, int] = {}  # its latest
        self._call: object = None
        self._thread = 0  # while it runs
        self.begun = threading.Event()
        self.ended = threading.Event()

    def run(self, call: Callable[[], Any]) -> Any:  # noqa: ANN401  # whatever it returns
        """Make the call, in this thread."""
        self._call = getattr(call, "__code__", None)  # a line of a test is none of the client's
        before = sys.gettrace()
        if self._place is not None:
            sys.settrace(self._trace)
        _here.hold, self._thread = self, threading.get_ident()
        try:
            return call()
        finally:
            if self._place is not None:
                sys.settrace(before)
            _here.hold, self._thread = None, 0
            self._lines.clear()
            self.ended.set()
            self.begun.set()

    def _is_due(self) -> bool:
        self._reached += 1
        return self._reached == self._place and not self.begun.is_set()

    # In a thread

    def _trace(self, frame: FrameType, _event: str, _argument: object) -> Any:  # noqa: ANN401  # as sys.settrace has it
        return self._line if self._is_own(frame) else None

    def _is_own(self, frame: FrameType) -> bool:
        # Asked for each function that a library calls: thousands of times a request.
        name = frame.f_globals.get("__name__") or ""
        own = _own_modules.get(name)
        if own is None:
            own = _own_modules[name] = name.partition(".")[0] not in LIBRARIES
        code = frame.f_code
        return own and code is not self._call and not code.co_filename.startswith("<")  # which a library has made

    def _line(self, _frame: FrameType, event: str, _argument: object) -> Any:  # noqa: ANN401
        if event == "line" and self._is_due():
            sys.settrace(None)
            self._wait()
        return self._line

    def _wait(self) -> None:
        """Wait until the other call has got on, or waits for what this one has, such as a lock."""
        self.begun.set()
        seen, looks = None, 0
        deadline = RealTime.monotonic() + _LONGEST
        while not self.until.wait(_LOOK) and RealTime.monotonic() < deadline:
            frame = sys._current_frames().get(self.other._thread)  # noqa: SLF001  # public by its documentation
            if frame is None or frame.f_globals.get("__name__") in _WAITS_FOR_BYTES:
                looks = 0
                continue
            place = (id(frame), frame.f_lasti)
            looks = looks + 1 if place == seen else 0
            seen = place
            if looks >= _STANDS:
                return

    # On an event loop

    async def drive(self, coroutine: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401  # whatever it returns
        """Make a call that is a coroutine."""
        return await _Driven(coroutine, self._step)

    def _step(self, step: Callable[[], Any]) -> tuple[Any, Awaitable[None] | None]:
        """Take a step of the coroutine; return what it waits for, and what is to be awaited after that."""
        self._steps += 1
        if self._place is None or self._reached >= self._place:
            return step(), None
        before = sys.gettrace()
        sys.settrace(self._trace_step)
        try:
            waited = step()
        finally:
            sys.settrace(before)
        return waited, self._wait_on_loop() if self._reached >= self._place else None

    def _trace_step(self, frame: FrameType, _event: str, _argument: object) -> Any:  # noqa: ANN401
        return self._line_of_step if self._is_own(frame) else None

    def _line_of_step(self, frame: FrameType, event: str, _argument: object) -> Any:  # noqa: ANN401
        # A frame that goes on is told at the line where it was suspended once more.
        if event == "line" and self._lines.get(frame) != frame.f_lineno:
            self._lines[frame] = frame.f_lineno
            self._reached += 1
        return self._line_of_step

    async def _wait_on_loop(self) -> None:
        self.begun.set()
        seen, looks = -1, 0
        while not self.until.is_set() and looks < _STANDS_ON_LOOP:
            await asyncio.sleep(_LOOK)
            there = self.other
            looks = looks + 1 if seen == there._steps and there._thread else 0  # noqa: SLF001  # of the same class
            seen = there._steps  # noqa: SLF001


class _Driven:
    """Takes a coroutine from one suspension to the next.

    Args:
        coroutine: the coroutine.
        take: takes a step; returns what it waits for, and what is to be awaited after that.
    """

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, Any],
        take: Callable[[Callable[[], Any]], tuple[Any, Awaitable[None] | None]],
    ) -> None:
        self._coroutine = coroutine
        self._take = take

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Callable[[], Any] = partial(self._coroutine.send, None)
        while True:
            try:
                waited, then = self._take(step)
            except StopIteration as returned:
                return returned.value
            try:
                yield waited
                if then is not None:
                    yield from then.__await__()
            except BaseException as error:  # noqa: BLE001  # it is cancelled, which is the coroutine's own affair
                step = partial(self._coroutine.throw, error)
            else:
                step = partial(self._coroutine.send, None)


def driven(coroutine: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
    """Return what stands for a coroutine while this thread makes one of two calls; else itself."""
    hold: Hold | None = getattr(_here, "hold", None)
    return coroutine if hold is None else hold.drive(coroutine)
