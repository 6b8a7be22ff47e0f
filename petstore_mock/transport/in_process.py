"""What the adapters without a socket have in common: how an answer is held back, and what is sent of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from petstore_mock.common.real_time import RealTime
from petstore_mock.errors import PetStoreMockError
from petstore_mock.messages.content_coding import coded
from petstore_mock.messages.request import UNASKED_BODY
from petstore_mock.messages.response import UNSIZED_STATUSES

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse
    from petstore_mock.transport.handler import Handler

__all__ = ["Hold", "exchange", "is_held", "outgoing", "require_no_socket", "wait"]


def is_held(response: ApiResponse) -> bool:
    """Say whether an answer is to be waited for."""
    return bool(response.delay) or response.resume is not None


class Hold:
    """A block in which one answer is held back; a block that fails has lost its client.

    Args:
        response: the answer, or the promise of one.
        release: ends the waiting before its time; any thread may call it.
    """

    def __init__(self, response: ApiResponse, release: Callable[[], None]) -> None:
        self._response = response
        self._release = release
        self._began = RealTime.perf_counter()
        self._gone = False

    def __enter__(self) -> Self:
        if self._response.waits is not None:
            self._response.waits.add(self._release)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._response.waits is not None:
            self._response.waits.discard(self._release)
        if self._gone or kind is not None:
            self._record("client gone")

    def give_up(self) -> None:
        """Note that the client has gone: what was to be committed is not."""
        self._gone = True

    def end(self) -> ApiResponse | None:
        """Return the answer that was waited for, None when the client has gone; it may be another to wait for."""
        response = self._response
        if self._gone:
            return None
        self._record("delayed")
        if response.resume is not None:
            return response.resume()
        response.delay = 0.0
        return response

    def _record(self, outcome: str) -> None:
        entry = self._response.entry
        if entry is not None:
            entry.duration += RealTime.perf_counter() - self._began
            entry.outcome = outcome


def wait(response: ApiResponse, patience: float | None = None) -> ApiResponse | None:
    """Hold an answer back in this thread until its time or a reset.

    Args:
        response: the answer, or the promise of one.
        patience: seconds after which the client gives up; None for never.

    Returns:
        The answer, or None when the client gave up first.
    """
    left: ApiResponse | None = response
    while left is not None and is_held(left):
        released = threading.Event()
        with Hold(left, released.set) as hold:
            too_long = patience is not None and left.delay > patience
            if not released.wait(patience if too_long else left.delay) and too_long:
                hold.give_up()
        left = hold.end()
    return left


def require_no_socket(response: ApiResponse, instead_of: str) -> None:
    """Raise PetStoreMockError if a fault does something to the connection; ``instead_of`` is what the client has."""
    if response.delivery is not None:
        raise PetStoreMockError(
            f"the fault {response.delivery.kind}() needs a socket: give the client petstore.url instead of {instead_of}"
        )


def outgoing(request: ApiRequest, response: ApiResponse) -> tuple[list[tuple[str, str]], bytes]:
    """Return all header fields of an answer, and its body as it goes out."""
    coding, body = coded(request.fields, response)
    fields = [*response.head.fields, *coding, ("Date", response.date.decode("ascii"))]
    if response.status not in UNSIZED_STATUSES:
        fields.append(("Content-Length", str(len(body))))
    return fields, b"" if request.method == "HEAD" else body


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
    if len(request.body) > UNASKED_BODY:
        limit = handler.body_limit(request)
        request.oversized = limit is not None and len(request.body) > limit
    response = handler.handle(request)
    if is_held(response):
        waited = wait(response, patience)
        if waited is None:
            return None
        response = waited
    require_no_socket(response, instead_of)
    return (response.status, *outgoing(request, response))
