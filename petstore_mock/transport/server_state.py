"""What the connections of one server have in common: the core, the time limits, and the heads that were read."""

from __future__ import annotations

import logging
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from petstore_mock.transport.mounted import CallThreads
from petstore_mock.transport.request_parsing import RequestHead, read_head

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse, Head
    from petstore_mock.transport.handler import Handler
    from petstore_mock.transport.mounted import MountedApp

__all__ = ["KNOWN_HEAD_SIZE", "Expectations", "NoExpectations", "ServerState"]

_log = logging.getLogger("petstore_mock")

KNOWN_HEADS: Final = 4096  # of some 600 bytes each; a thousand worlds that are asked in turn have as many
KNOWN_HEAD_SIZE: Final = 2048  # bytes


class Expectations(Protocol):
    """Answers for paths that the fake does not have: the expectations of pytest-httpserver."""

    def expected(self) -> bool:
        """Say whether there is any; asked for each request, so it must be quick."""

    def match(self, request: ApiRequest) -> Callable[[], tuple[Head, bytes]] | None:
        """Return what answers ``request``, to be called in a thread of its own, or None. Neither may raise."""


class NoExpectations:
    """The fake answers everything."""

    def expected(self) -> bool:
        """Say that there is none."""
        return False

    def match(self, request: ApiRequest) -> None:
        """Match nothing."""


@dataclass
class ServerState:
    """What the connections of one server share; for the loop's thread only.

    Attributes:
        handler: the core.
        expectations: what answers instead of it.
        mounted: a WSGI application of paths of its own, or None.
        threads: in which that is called.
        head_timeout: seconds within which a head must come in full.
        body_timeout: seconds within which a body must grow.
        idle_timeout: seconds after which a kept connection is closed, or one whose client does not read.
        linger_timeout: seconds that a client has to close after we have.
        over_tls: whether requests come over TLS.
        known: heads by their bytes, since clients repeat themselves.
    """

    handler: Handler
    expectations: Expectations
    mounted: MountedApp | None
    _: KW_ONLY
    head_timeout: float
    body_timeout: float
    idle_timeout: float
    linger_timeout: float
    over_tls: bool
    threads: CallThreads = field(default_factory=CallThreads)
    known: dict[bytes, RequestHead] = field(default_factory=dict)

    def read(self, raw: bytes) -> RequestHead:
        """Validate a head, and keep the verdict within bounds: it depends on nothing but the bytes."""
        head = self.known.get(raw)
        if head is None:
            head = read_head(raw, over_tls=self.over_tls)
            if self.mounted is not None and self.mounted.serves(head.target):
                head.mounted, head.plain = True, False
            if len(raw) <= KNOWN_HEAD_SIZE:
                if len(self.known) >= KNOWN_HEADS:
                    self.known.clear()
                self.known[raw] = head
        return head

    def failed(self, error: BaseException, request: ApiRequest | None) -> ApiResponse:
        """Answer for an exception inside the fake, and let it be seen."""
        _log.error("the fake itself failed", exc_info=error)
        return self.handler.refuse("internal_error", f"{type(error).__name__}: {error}", request)

    def expectation_matched(self, request: ApiRequest) -> Callable[[Head, bytes], ApiResponse]:
        """Let the core journal a request that an expectation answers; return what makes its answer."""
        try:
            made = self.handler.expectation_matched(request)
        except Exception as error:  # noqa: BLE001  # a bug in the core: answered 500 and reported
            failure = self.failed(error, request)
            return lambda *_: failure

        def answer(head: Head, body: bytes) -> ApiResponse:
            try:
                return made(head, body)
            except Exception as error:  # noqa: BLE001  # as above
                return self.failed(error, request)

        return answer
