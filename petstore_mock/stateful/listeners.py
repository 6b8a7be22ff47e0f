"""Where the clients of a run connect to: the service, somewhere else to be redirected to, and who is connected."""

from __future__ import annotations

import gc
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from petstore_mock.common.real_time import RealTime
from petstore_mock.mock.petstore import PetStoreMock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.core.world_registry import Leak

__all__ = ["Listeners"]

_ALL_GONE: Final = 1.0  # seconds for a closed socket to be noticed at the other end
_SOON_GONE: Final = 0.03  # the same for a client that is known to leave connections open
_FIRST_PAUSE: Final = 0.00005  # seconds between two looks at the connections, and twice as many each time
_LONGEST_PAUSE: Final = 0.002


class Listeners:
    """The two listeners of a run, and their open connections.

    Attributes:
        are_left_open: whether the client is known to leave connections open.
    """

    def __init__(self, *, tls: bool) -> None:
        self._tls = tls
        self.are_left_open = False
        self._stack = ExitStack()
        self._started: dict[str, PetStoreMock] = {}

    def _start(self, name: str) -> PetStoreMock:
        mock = self._started.get(name)
        if mock is None:
            mock = PetStoreMock(tls=self._tls)
            mock.adds_notes = False  # what is found tells of its own example's journal alone
            self._started[name] = self._stack.enter_context(mock)
        return mock

    @property
    def service(self) -> PetStoreMock:
        """The mock behind whose listener every example has its own world; started on first use."""
        return self._start("service")

    @property
    def elsewhere(self) -> PetStoreMock:
        """Another service, to which no key of the first may go; started on first use."""
        return self._start("elsewhere")

    def stop(self) -> None:
        """Stop listening. Another example would start them anew."""
        stack, self._stack = self._stack, ExitStack()
        self._started.clear()
        stack.close()

    @contextmanager
    def at(self, host: str | None) -> Iterator[PetStoreMock]:
        """Give the mock behind whose listener an example has its worlds: at an address of its own, or the service."""
        if host is None:
            yield self.service
            return
        with PetStoreMock(host=host, tls=self._tls) as mock:
            mock.adds_notes = False
            self._started[host] = mock
            try:
                yield mock
            finally:
                del self._started[host]

    @property
    def leaks(self) -> list[Leak]:
        """The requests that bore the key of an example that is over; to be cleared before each call."""
        return self.service.tenant.worlds.leaks  # nobody else's: the listener is the run's own

    def open_connections(self) -> int:
        """Return how many connections of clients are open."""
        return sum([mock.httpserver.open_connections for mock in self._started.values()])

    def close_connections(self) -> None:
        """Close what an earlier example has left open, so that no example depends on another."""
        if self.open_connections():
            for mock in self._started.values():
                mock.close_connections()
            self.settles_at(0, _SOON_GONE if self.are_left_open else _ALL_GONE)

    def settles_at(self, count: int, patience: float) -> bool:
        """Wait until at most ``count`` connections are open: the end of one is noticed a moment later."""
        deadline = RealTime.monotonic() + patience
        pause = _FIRST_PAUSE
        while self.open_connections() > count:
            if RealTime.monotonic() > deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    def comes_down_to(self, count: int) -> bool:
        """Wait until at most ``count`` connections are open.

        What an exception of a library holds may be part of a cycle: a young one, and to collect the young is quick.
        """
        if self.open_connections() <= count:
            return True
        thorough: tuple[tuple[int | None, float], ...] = ((None, 0.002), (1, 0.05), (2, 1.0))
        brief: tuple[tuple[int | None, float], ...] = ((1, _SOON_GONE),)
        for generation, patience in brief if self.are_left_open else thorough:
            if generation is not None:
                gc.collect(generation)
            if self.settles_at(count, patience):
                return True
        self.are_left_open = True
        return False
