"""Requests without a socket: how they are responded to, and the WSGI adapter (PEP 3333)."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from petstore_mock.common.real import Event, perf_counter
from petstore_mock.common.refusing import refuse
from petstore_mock.http.deferred import Blocking, Deferred
from petstore_mock.http.request import UNASKED_BODY, ApiRequest, Fields
from petstore_mock.http.response import UNSIZED_STATUSES, Response, Stream, reason_phrase
from petstore_mock.transport.reading import RequestError, check_head

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

    from petstore_mock.http.handler import Handler

Outgoing = tuple[int, list[tuple[str, str]], "Iterable[bytes]"]  # status, header fields, body

_IN_PATHS: Final = "/:@!$&'()*+,;=~-._"  # characters that a path may hold unencoded (RFC 3986 §3.3)
_CONTENT: Final = {"CONTENT_TYPE": b"Content-Type", "CONTENT_LENGTH": b"Content-Length"}
_SERVERS_OWN: Final = frozenset({"proxy-authenticate", "upgrade"})  # PEP 3333 forbids them to applications


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


class WsgiApp:
    """The fake as a WSGI application. Thread-safe."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Respond to one request (PEP 3333).

        Raises:
            PetStoreMockError: the fault that the request met needs a socket.
        """
        request = _request(environ)
        problem = _read_body(environ, request, self.handler)
        status, fields, body = respond(self.handler, request, problem)
        sent = [field for field in fields if field[0].lower() not in _SERVERS_OWN]
        start_response(f"{status} {reason_phrase(status) or 'Unknown'}", sent)
        return body


def _request(environ: WSGIEnvironment) -> ApiRequest:
    started = perf_counter()
    found = [(name, str(value)) for name, value in environ.items() if name[:5] == "HTTP_"]
    found += [(name, environ[name]) for name in _CONTENT if environ.get(name)]
    root_path = _encoded(environ.get("SCRIPT_NAME", "").rstrip("/"))
    version = environ.get("SERVER_PROTOCOL", "HTTP/1.1")
    fields = _fields(tuple(found))
    return ApiRequest(environ["REQUEST_METHOD"], _target(environ), fields, b"", 0, 0, started, version, root_path)


def _target(environ: WSGIEnvironment) -> str:
    """Return the target as the client sent it, if the server tells; else encode what the server decoded."""
    raw = environ.get("REQUEST_URI") or environ.get("RAW_URI")
    query = environ.get("QUERY_STRING", "")
    if raw and raw.startswith("/") and not environ.get("SCRIPT_NAME"):
        # The raw URI of werkzeug's test client lacks a query that was given apart from the path.
        return f"{raw}?{query}" if query and "?" not in raw else str(raw)
    path = _encoded(environ.get("PATH_INFO", ""))
    return f"{path}?{query}" if query else path


@lru_cache(maxsize=256)
def _encoded(path: str) -> str:
    try:
        return quote(path.encode("latin-1"), safe=_IN_PATHS)  # PEP 3333
    except UnicodeEncodeError:  # httpx's transport decodes the path as UTF-8
        return quote(path.encode("utf-8", "surrogatepass"), safe=_IN_PATHS)


@lru_cache(maxsize=64)  # a client repeats itself
def _fields(variables: tuple[tuple[str, str], ...]) -> Fields:
    return Fields(
        (
            _CONTENT.get(name) or name[5:].replace("_", "-").encode("latin-1"),
            value.strip(" \t").encode("latin-1", "replace"),  # RFC 9110 §5.5
        )
        for name, value in variables
    )


def _read_body(environ: WSGIEnvironment, request: ApiRequest, handler: Handler) -> RequestError | None:
    """Read the body into ``request``, unless it is too long; return what is wrong with it."""
    declared, stream = environ.get("CONTENT_LENGTH") or "", environ["wsgi.input"]
    if declared and not (declared.isascii() and declared.isdigit()):
        return RequestError("malformed_request", f"Content-Length came as {declared[:40]!r}")
    # PEP 3333 knows no chunked bodies. A server that decodes them says that its input ends by itself; one in memory,
    # as httpx's transport has it, does not say so.
    in_memory = isinstance(stream, io.BytesIO) and "HTTP_TRANSFER_ENCODING" in environ
    if not (declared or in_memory or environ.get("wsgi.input_terminated")):
        return None
    length = int(declared[:20] or -1)
    limit = None if 0 <= length <= UNASKED_BODY else handler.body_limit(request)
    if limit is not None and length > limit:
        request.oversized = True
        return None
    left, parts = limit + 1 if limit is not None and length < 0 else length, list[bytes]()
    while left and (part := stream.read(left)):  # a stream may give less than is asked for
        parts.append(part)
        left -= len(part) if left > 0 else 0
    request.body = b"".join(parts)
    if len(request.body) < length:
        return RequestError("malformed_request", f"the body ended after {len(request.body)} of {length} bytes")
    return None
