"""What the transport asks of the core and the door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from petstore_mock.http.deferred import Blocking, Deferred, Pending
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Response

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
