"""Requests without a socket: what the adapters of WSGI, ASGI and client libraries have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from petstore_mock.common.real import Event
from petstore_mock.common.refusing import refuse
from petstore_mock.http.deferred import Blocking, Deferred
from petstore_mock.http.request import UNASKED_BODY, ApiRequest
from petstore_mock.http.response import UNSIZED_STATUSES, Response, Stream
from petstore_mock.transport.head_rules import RequestError, check_head

if TYPE_CHECKING:
    from petstore_mock.http.handler import Handler

_IN_PATHS: Final = "/:@!$&'()*+,;=~-._"  # characters that a path may hold unencoded (RFC 3986 §3.3)

Outgoing = tuple[int, list[tuple[str, str]], Iterable[bytes]]  # status, header fields, body


def encoded(path: bytes) -> str:
    """Return a decoded path as a client would send it."""
    return quote(path, safe=_IN_PATHS)


def respond(handler: Handler, request: ApiRequest, problem: RequestError | None = None) -> Outgoing:
    """Respond to a whole request, unless it has a problem.

    Raises:
        PetStoreMockError: the fault that the request met needs a socket.
    """
    response: Response | Stream | Deferred | Blocking
    try:
        check_head(request)
    except RequestError as error:
        problem = error
    if problem is not None:
        response = handler.refuse(problem.condition, problem.detail, request)
    else:
        if len(request.body) > UNASKED_BODY:
            limit = handler.body_limit(request)
            request.oversized = limit is not None and len(request.body) > limit
        response = handler.handle(request)
    while not isinstance(response, (Response, Stream)):
        response = response.run() if isinstance(response, Blocking) else _wait(response)
    fields = [*response.head.fields, ("Date", response.date.decode("ascii"))]
    if isinstance(response, Stream):
        return response.head.status, fields, response.chunks
    if response.status not in UNSIZED_STATUSES:
        fields.append(("Content-Length", str(len(response.body))))
    return response.status, fields, [response.body] if response.body and request.method != "HEAD" else []


def _wait(deferred: Deferred) -> Response | Deferred:
    """Wait in this thread until a response is due, or a reset ends the waiting; return what comes then."""
    if deferred.delivery is not None:
        deferred.exchange.complete("client gone", sent=False)
        refuse(f"the fault {deferred.delivery.kind}() needs a socket: give the client petstore.url")
    released = Event()
    deferred.pending.add(released.set)
    try:
        released.wait(deferred.delay)
    except BaseException:  # the client's thread gives up
        deferred.exchange.complete("client gone", sent=False)
        raise
    finally:
        deferred.pending.discard(released.set)
    response = deferred.resume()
    deferred.exchange.complete("delayed", sent=True)
    return response
