"""What the adapters ask of the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse

__all__ = ["Handler"]


class Handler(Protocol):
    """The core, as the adapters see it. Every method may be called from any thread."""

    def handle(self, request: ApiRequest) -> ApiResponse:
        """Answer a whole request. Never raises for anything that a client can send."""

    def admits(self, request: ApiRequest, length: int | None) -> bool:
        """Say, from its head alone, whether the body is worth reading (``Expect``, RFC 9110 §10.1.1).

        ``length`` is the declared length in bytes, None when chunked. When this is False, :meth:`handle` refuses
        the request whatever the body.
        """

    def body_limit(self, request: ApiRequest) -> int | None:
        """Return the longest body in bytes that this request may have, None for no limit (gap ``body_limit``)."""

    def refuse(self, condition: str, detail: str, request: ApiRequest | None) -> ApiResponse:
        """Answer what never became a request: a name of ``CONDITIONS`` and what was wrong, for the journal too.

        A handler may also have ``neighbour_came(request)``, which is told of a request that an expectation of
        pytest-httpserver answers; it returns what is to be called with the status, the fields and the body of that
        answer, once there is one, and returns the value of its ``Date``.

        And it may have ``epoch()``, which returns a token of the present moment: for a request that came in parts,
        this method then gets the token of its first byte as ``epoch``, so that what an earlier test left behind is not
        held against the present one.
        """
