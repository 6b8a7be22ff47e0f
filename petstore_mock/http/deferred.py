"""Responses that do not go out whole and at once, and how their waiting ends."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from petstore_mock.common.real import Lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.http.response import Response, Stream


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a connection sends a response other than whole and at once. Every kind needs a socket."""

    kind: str
    value: Any = None  # the first argument of the fault, such as the fraction of ``truncate``


class Completion(Protocol):
    """Learns how a deferred response ended; the journal's exchange is one."""

    in_flight: bool

    def complete(self, outcome: str, *, sent: bool) -> None: ...


class Pending:
    """The deferred responses of one world that have not ended, until all are released at once."""

    def __init__(self) -> None:
        self._releases: set[Callable[[], None]] = set()
        self._lock = Lock()
        self._released = False

    def add(self, release: Callable[[], None]) -> None:
        """Call ``release`` (from any thread) when the waiting must end; at once if all were released already."""
        with self._lock:
            if not self._released:
                self._releases.add(release)
                return
        release()  # the core decided before the reset, and the adapter began to wait after it

    def discard(self, release: Callable[[], None]) -> None:
        with self._lock:
            self._releases.discard(release)

    def release(self) -> None:
        with self._lock:
            self._released = True
            releases, self._releases = self._releases, set()
        for release in releases:
            release()


@dataclass(slots=True)
class Deferred:
    """A response that is late, or that a fault of the connection delivers."""

    # Makes the response once ``delay`` is over. It is not called when the client has gone by then: nothing commits.
    resume: Callable[[], Response | Deferred]
    exchange: Completion  # learns how it ended
    pending: Pending  # where an adapter registers its waiting, so that a reset can end it
    _: KW_ONLY
    delay: float = 0.0  # seconds to wait
    delivery: Delivery | None = None  # how the response goes out; None for whole

    def __post_init__(self) -> None:
        self.exchange.in_flight = True


@dataclass(frozen=True, slots=True)
class Blocking:
    """A response that a thread must make, because it waits or runs code of the test."""

    run: Callable[[], Response | Stream]
    streams: bool = False  # until the client leaves
