"""Two calls at once, which meet in the same way each time: a call is held before a line of the client's own code.

Two threads that just run meet where a bug shows once in a thousand times.
"""

from __future__ import annotations

import sys
import threading
from concurrent.futures import Future, wait
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.checks.attending import Player
from petstore_mock.checks.check import Call, Observation, Outcome, attempt
from petstore_mock.checks.reading import LIBRARIES
from petstore_mock.checks.requests import asks_for
from petstore_mock.common.real import monotonic
from petstore_mock.common.refusing import require
from petstore_mock.common.values import is_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from petstore_mock.checks.adapting import AdaptedClient
    from petstore_mock.checks.reading import Kind

    Pair = tuple[Future[Any], Future[Any]]

_LOOK: Final = 0.001  # seconds between two looks at the other call
_STANDS: Final = 3  # looks at the same place after which it waits for something of the held call, such as a lock
_LONGEST: Final = 0.5  # seconds
_WAITS_FOR_BYTES: Final = frozenset({"socket", "ssl", "selectors"})  # modules that wait for a response


def at_once(first: Callable[[], Any], second: Callable[[], Any], *, hold: int = 1, then: int | None = None) -> Pair:
    """Make two calls of a client at once, in two threads, and return the future of each; both are done.

    The first call is held before a line of the client's own code until the second is done, or is held in its turn. A
    call that waits for something that the held one has, such as a lock, is not waited for. Lines of the standard
    library and of the usual HTTP libraries do not count.

    Args:
        first: makes a call.
        second: makes another.
        hold: the line before which the first call is held, from 1. If it ends before, the second begins then.
        then: the line before which the second call is held until the first is done; None for none.

    Raises:
        PetStoreMockError: an argument can't be right.
    """
    for name, place in (("hold", hold), ("then", 1 if then is None else then)):
        require(is_integer(place) and place >= 1, f"{name} to be a whole number of at least 1", **{name: place})
    held, meanwhile = _Hold(hold), _Hold(then)
    held.other, held.until = meanwhile, meanwhile.begun
    meanwhile.other, meanwhile.until = held, held.ended
    players = Player(), Player()
    one = players[0].play(partial(held.run, first))
    held.begun.wait()
    other = players[1].play(partial(meanwhile.run, second))
    for player in players:
        player.end()
    wait([one, other])
    return one, other


def meet(
    client: AdaptedClient, calls: Sequence[Call], hold: int, then: int | None, classify: Callable[[BaseException], Kind]
) -> list[Outcome]:
    """Make two calls of a client at once and return their outcomes; tasks of an ``async`` client are held nowhere."""
    first, second = (partial(client.call, call) for call in calls)
    is_async = all(client.is_async(call.operation) for call in calls)
    done = client.gather(calls) if is_async else at_once(first, second, hold=hold, then=then)
    return [attempt(future.result, classify) for future in done]


def halves(both: Observation, calls: Sequence[Call], outcomes: Sequence[Outcome]) -> Iterator[Observation]:
    """Yield what each of two calls did: its own requests, and those that neither asked for."""
    for call, other, outcome in zip(calls, reversed(calls), outcomes, strict=True):
        own = [one for one in both.exchanges if asks_for(call, one)]
        either = [one for one in both.exchanges if one in own or not asks_for(other, one)]
        shared = both.shared or len(own) < len(either)
        yield replace(both, exchanges=either, call=call, outcome=outcome, meanwhile=other, shared=shared)


class _Hold:
    """Holds one of two calls, once, before the line at ``place``; None for nowhere."""

    other: _Hold
    until: threading.Event

    def __init__(self, place: int | None) -> None:
        self._place, self._reached, self._thread = place, 0, 0
        self._call: object = None
        self.begun, self.ended = threading.Event(), threading.Event()

    def run(self, call: Callable[[], Any]) -> Any:  # noqa: ANN401  # a client returns any object
        """Make the call, in this thread."""
        self._call = getattr(call, "__code__", None)  # a line of a test is none of the client's
        former, self._thread = sys.gettrace(), threading.get_ident()
        if self._place is not None:
            sys.settrace(self._trace)
        try:
            return call()
        finally:
            sys.settrace(former)
            self._thread = 0
            self.ended.set()
            self.begun.set()

    def _trace(self, frame: FrameType, _event: str, _argument: object) -> Any:  # noqa: ANN401  # as sys.settrace has it
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        own = module not in LIBRARIES and not frame.f_code.co_filename.startswith("<")  # which a library has made
        return self._line if own and frame.f_code is not self._call else None

    def _line(self, _frame: FrameType, event: str, _argument: object) -> Any:  # noqa: ANN401
        if event == "line":
            self._reached += 1
            if self._reached == self._place:
                sys.settrace(None)
                self._wait()
        return self._line

    def _wait(self) -> None:
        """Wait until the other call has got on, or waits for something of this one, such as a lock."""
        self.begun.set()
        seen, looks, deadline = None, 0, monotonic() + _LONGEST
        while not self.until.wait(_LOOK) and monotonic() < deadline and looks < _STANDS:
            frame = sys._current_frames().get(self.other._thread)  # noqa: SLF001  # of the same class
            if frame is None or frame.f_globals.get("__name__") in _WAITS_FOR_BYTES:
                looks = 0
                continue
            place = (id(frame), frame.f_lasti)
            looks, seen = (looks + 1 if place == seen else 0), place
