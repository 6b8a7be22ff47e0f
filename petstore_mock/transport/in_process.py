"""What the adapters without a socket have in common: how an answer is held back, and what is sent of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from petstore_mock.errors import PetStoreMockError
from petstore_mock.messages.deferred import DeferredResponse
from petstore_mock.messages.request import UNASKED_BODY
from petstore_mock.messages.response import UNSIZED_STATUSES
from petstore_mock.transport.head_rules import RequestError, check_framing, check_head

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse
    from petstore_mock.transport.handler import Handler

__all__ = ["IN_PATHS", "Wait", "exchange", "outgoing", "wait"]

IN_PATHS: Final = "/:@!$&'()*+,;=~-._"  # what a path may hold unencoded (RFC 3986 §3.3)


class Wait:
    """A block in which one client waits for a deferred response; a block that fails has lost its client.

    Args:
        deferred: what is waited for.
        release: ends the waiting before its time; any thread may call it.
        instead_of: what the client has, for a fault that needs a socket.

    Raises:
        PetStoreMockError: a fault does something to the connection.
    """

    def __init__(self, deferred: DeferredResponse, release: Callable[[], None], instead_of: str) -> None:
        if deferred.delivery is not None:
            kind = deferred.delivery.kind
            raise PetStoreMockError(
                f"the fault {kind}() needs a socket: give the client petstore.url instead of {instead_of}"
            )
        self._deferred = deferred
        self._release = release
        self._gone = False

    def __enter__(self) -> Self:
        self._deferred.pending.add(self._release)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._deferred.pending.discard(self._release)
        if self._gone or kind is not None:
            self._deferred.completion.complete("client gone", sent=False)

    def give_up(self) -> None:
        """Note that the client has gone: what was to be committed is not."""
        self._gone = True

    def end(self) -> ApiResponse | DeferredResponse | None:
        """Return what was waited for, None when the client has gone; it may be another to wait for."""
        if self._gone:
            return None
        response = self._deferred.resume()
        self._deferred.completion.complete("delayed", sent=True)
        return response


def wait(deferred: DeferredResponse, instead_of: str, patience: float | None = None) -> ApiResponse | None:
    """Wait in this thread until the answer is there, or a reset lets it go.

    Args:
        deferred: the answer's stand-in.
        instead_of: what the client has, for a fault that needs a socket.
        patience: seconds after which the client gives up; None for never.

    Returns:
        The answer, or None when the client gave up first.

    Raises:
        PetStoreMockError: a fault does something to the connection.
    """
    left: ApiResponse | DeferredResponse | None = deferred
    while isinstance(left, DeferredResponse):
        released = threading.Event()
        with Wait(left, released.set, instead_of) as waiting:
            too_long = patience is not None and left.delay > patience
            if not released.wait(patience if too_long else left.delay) and too_long:
                waiting.give_up()
        left = waiting.end()
    return left


def outgoing(request: ApiRequest, response: ApiResponse) -> tuple[list[tuple[str, str]], bytes]:
    """Return all header fields of an answer, and its body as it goes out."""
    fields = [*response.head.fields, ("Date", response.date.decode("ascii"))]
    if response.status not in UNSIZED_STATUSES:
        fields.append(("Content-Length", str(len(response.body))))
    return fields, b"" if request.method == "HEAD" else response.body


def exchange(
    handler: Handler, request: ApiRequest, instead_of: str, patience: float | None
) -> tuple[int, list[tuple[str, str]], bytes] | None:
    """Have a whole request of a client library answered.

    Args:
        handler: the core.
        request: the request with its body.
        instead_of: what the client has, for a fault that needs a socket.
        patience: seconds after which the client gives up; None for never.

    Returns:
        Status, header fields and body, or None when the client gave up first.

    Raises:
        PetStoreMockError: the fault that met the request needs a socket.
    """
    try:
        check_head(request)
        check_framing(request.fields)
    except RequestError as error:
        response: ApiResponse | DeferredResponse = handler.refuse(error.condition, error.detail, request)
    else:
        if len(request.body) > UNASKED_BODY:
            limit = handler.body_limit(request)
            request.oversized = limit is not None and len(request.body) > limit
        response = handler.handle(request)
    answer = wait(response, instead_of, patience) if isinstance(response, DeferredResponse) else response
    return None if answer is None else (answer.status, *outgoing(request, answer))
