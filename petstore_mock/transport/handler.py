"""What the adapters ask of the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.messages.deferred import DeferredResponse
    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse, Head

__all__ = ["Handler"]


class Handler(Protocol):
    """The core, as the adapters see it. Every method may be called from any thread."""

    def handle(self, request: ApiRequest) -> ApiResponse | DeferredResponse:
        """Answer a whole request. Never raises for anything that a client can send."""

    def admits(self, request: ApiRequest, length: int | None) -> bool:
        """Say, from its head alone, whether the body is worth reading (``Expect``, RFC 9110 §10.1.1).

        ``length`` is the declared length in bytes, None when chunked. When this is False, :meth:`handle` refuses
        the request whatever the body.
        """

    def body_limit(self, request: ApiRequest) -> int | None:
        """Return the longest body in bytes that this request may have, None for no limit (gap ``body_limit``)."""

    def epoch(self) -> object:
        """Return a token of the present moment, for :meth:`refuse`."""

    def refuse(self, condition: str, detail: str, request: ApiRequest | None, epoch: object = None) -> ApiResponse:
        """Answer what never became a request.

        Args:
            condition: a name of ``CONDITIONS``.
            detail: what was wrong, for the journal too.
            request: what is known of it.
            epoch: the token of its first byte if it came in parts, so that what an earlier test left behind is not
                held against the present one.
        """

    def expectation_matched(self, request: ApiRequest) -> Callable[[Head, bytes], ApiResponse]:
        """Learn of a request that an expectation of pytest-httpserver answers; return what makes its answer."""
