"""The protocol between the transport and its handlers (the core, the door), and responses that are late or damaged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from petstore_mock.common.real import Event, Lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Response, Stream


@dataclass(frozen=True, slots=True)
class Delivery:
    """The way in which a fault sends a response. Every kind needs a socket."""

    kind: str
    # The arguments of the fault, such as the fraction of ``truncate``.
    values: tuple[object, ...]
    # Returns the response in another form, which the connection sends whole; None if the kind has its own way.
    change: Callable[..., Response] | None


class Pending:
    """The deferred responses of one world that have not ended. A reset releases all of them."""

    def __init__(self) -> None:
        self._releases: set[Callable[[], None]] = set()
        self._lock = Lock()
        self._released = False

    def add(self, release: Callable[[], None]) -> None:
        """Register ``release``, which any thread can call to end the waiting. If a reset has come already, call it."""
        with self._lock:
            if not self._released:
                self._releases.add(release)
                return
        # The reset came after the core's decision and before the adapter began to wait.
        release()

    def discard(self, release: Callable[[], None]) -> None:
        with self._lock:
            self._releases.discard(release)

    def release(self) -> None:
        with self._lock:
            self._released = True
            releases = self._releases
            self._releases = set()
        for release in releases:
            release()


@dataclass(slots=True)
class Deferred:
    """A response that is late, or that a fault of the connection sends."""

    # Makes the response after ``delay``. The adapter does not call it if the client has left, so nothing commits.
    resume: Callable[[], Response | Deferred]
    # Records how the response ended: an outcome, and whether its head was ``sent``.
    complete: Callable[..., None]
    # The adapter registers its waiting here, so that a reset can end it.
    pending: Pending
    # Seconds to wait.
    delay: float
    # The way to send the response; None sends it whole and at once.
    delivery: Delivery | None


@dataclass(frozen=True, slots=True)
class Blocking:
    """A response that needs a thread of its own, because it waits or runs code of the test."""

    run: Callable[[], Response | Stream]
    # Whether the response goes on until the client leaves.
    streams: bool = False
    # The adapter sets it when the client has left, so that nothing waits for it any more.
    left: Event = field(default_factory=Event)


@dataclass(frozen=True, slots=True)
class TlsPlan:
    """The fault that a connection meets in its TLS handshake; through ``pending``, a reset ends a hang."""

    # The kind of the fault, such as tls.expired.
    kind: str
    pending: Pending


class Handler(Protocol):
    """Responds to requests. Every method may be called from any thread."""

    # Never raises, whatever a client sends.
    def handle(self, request: ApiRequest) -> Response | Deferred | Blocking: ...

    # Return the size limit of the request's body in bytes, or None. It is 0 if the head is refused.
    def body_limit(self, request: ApiRequest) -> int | None: ...

    # Return a token that changes with each test. For an incomplete head, ``refuse`` gets the token of its first byte.
    def generation(self) -> object:
        return None

    def refuse(self, condition: str, detail: str, request: ApiRequest, generation: object = None) -> Response: ...

    # Return the response after an exception inside the fake. The exception fails the test.
    def failed(self, error: BaseException, request: ApiRequest) -> Response: ...

    # Return the TLS fault that a new connection meets, or None.
    def connection_opened(self) -> TlsPlan | None:
        return None

    def handshake_failed(self, reason: str) -> object:  # noqa: ARG002
        return None
