"""What the transport asks of the core and the door, and responses that do not go out whole and at once."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from petstore_mock.common.real import Lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.http.request import ApiRequest
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


TlsFlaw = Literal["expired", "wrong_host", "untrusted_root", "handshake_reset", "handshake_hang"]


@dataclass(frozen=True, slots=True)
class TlsPlan:
    """The fault that a connection meets in its TLS handshake; ``pending`` ends a hang."""

    flaw: TlsFlaw
    pending: Pending


class Handler(Protocol):
    """Responds to requests. Every method may be called from any thread."""

    # Never raises for anything that a client can send.
    def handle(self, request: ApiRequest) -> Response | Deferred | Blocking: ...

    # Say from the head whether the body is worth reading (RFC 9110 §10.1.1); ``length`` is None when chunked.
    def admits(self, request: ApiRequest, length: int | None) -> bool: ...

    # Return the longest body in bytes that this request may have, None for no limit.
    def body_limit(self, request: ApiRequest) -> int | None: ...

    # Return a token of the present state, which changes with each test. ``refuse`` gets that of the first byte.
    def generation(self) -> object: ...

    def refuse(self, condition: str, detail: str, request: ApiRequest, generation: object = None) -> Response: ...

    # Respond to a request whose handling raised an exception, which fails the test.
    def failed(self, error: BaseException, request: ApiRequest) -> Response: ...

    # Return the TLS fault that a new connection meets, or None.
    def connection_opened(self) -> TlsPlan | None: ...

    def handshake_failed(self, reason: str) -> None: ...
