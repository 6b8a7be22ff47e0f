"""Two calls of one client at once, which meet in the same way each time."""

from __future__ import annotations

import threading
from asyncio import CancelledError
from concurrent.futures import Future, wait
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from petstore_mock.common.numbers import is_integer
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful.checks.lifecycle import COMPANION_THREAD
from petstore_mock.stateful.model.holding import Hold

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Companion", "at_once"]

_Pair: TypeAlias = "tuple[Future[Any], Future[Any]]"
_ENDS: Final = 1.0  # seconds


def at_once(
    first: Callable[[], Any], second: Callable[[], Any], *, hold: int = 1, then: int | None = None
) -> tuple[Future[Any], Future[Any]]:
    """Make two calls of a client at once, in two threads, and return what came of each.

    The first call is held before a line of the client's own code, until the second is done or is held in its turn; the
    second is held until the first is done. Who waits for what the other has, such as a lock, is not waited for. So the
    two meet in the same way whenever this is called. The lines of the standard library and of the usual HTTP libraries
    are not counted. An ``async def`` method, made plain by :func:`adapted`, is held where it is suspended next.

    Args:
        first: makes a call.
        second: makes another.
        hold: before which line the first is held, from 1; one that ends before has ended when the second begins.
        then: before which line the second is held; None when it is not.

    Returns:
        A future of each, both done; ``.result()`` returns what the call returned, or raises what it raised.

    Raises:
        PetStoreMockError: an argument can't be right.
    """
    _check(first, second, hold, then)
    companion = Companion()
    try:
        return companion.meet(first, second, hold, then)
    finally:
        companion.stop()


def _check(first: Any, second: Any, hold: Any, then: Any) -> None:  # noqa: ANN401  # checks whatever a test author passes
    if not (callable(first) and callable(second)):
        raise PetStoreMockError(f"expected two functions without arguments; got first={first!r}, second={second!r}")
    for name, place in (("hold", hold), ("then", then if then is not None else 1)):
        if not is_integer(place) or place < 1:
            raise PetStoreMockError(f"expected {name} to be a whole number of at least 1; got {name}={place!r}")


class Companion:
    """A thread that makes the first call of a pair; one for all pairs, as a client may have a connection a thread."""

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_idle = threading.Event()  # and does not stand still for ever
        self._is_idle.set()

    def meet(self, first: Callable[[], Any], second: Callable[[], Any], hold: int, then: int | None) -> _Pair:
        """Make ``first`` in the thread, and ``second`` in this one meanwhile; see :func:`at_once`."""
        if self._thread is None or not self._is_idle.is_set():
            self._work = SimpleQueue()
            self._thread = threading.Thread(target=_work, args=(self._work,), name=COMPANION_THREAD, daemon=True)
            self._thread.start()
        held, meanwhile = Hold(hold), Hold(then)
        held.other, held.until = meanwhile, meanwhile.begun
        meanwhile.other, meanwhile.until = held, held.ended
        one: Future[Any] = Future()
        other: Future[Any] = Future()
        self._is_idle = threading.Event()
        one.add_done_callback(partial(_say, self._is_idle))
        self._work.put(partial(_fill, one, partial(held.run, first)))
        try:
            held.begun.wait()
            _fill(other, partial(meanwhile.run, second))
        finally:
            meanwhile.begun.set()
        wait([one])
        return one, other

    def stop(self) -> None:
        """End the thread, unless it stands still."""
        if self._thread is not None:
            self._work.put(None)
            self._thread.join(_ENDS if self._is_idle.is_set() else 0)
            self._thread = None


def _work(queue: SimpleQueue[Callable[[], None] | None]) -> None:
    while (make := queue.get()) is not None:
        make()
        del make  # it holds what the call returned


def _say(event: threading.Event, _done: Future[Any]) -> None:
    event.set()


def _fill(future: Future[Any], call: Callable[[], Any]) -> None:
    """Make a call, and let ``future`` have what comes of it."""
    try:
        value = call()
    except (Exception, SystemExit, CancelledError) as error:  # noqa: BLE001  # whatever a client raises
        future.set_exception(error)
        del future  # the error's traceback holds this frame
    else:
        future.set_result(value)
