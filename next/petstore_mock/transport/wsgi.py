"""The WSGI adapter (PEP 3333): from an environ to a request, from a response to status, headers and body."""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from petstore_mock.common.real import Event, perf_counter
from petstore_mock.common.refusing import refuse
from petstore_mock.http.deferred import Blocking, Deferred
from petstore_mock.http.request import UNASKED_BODY, ApiRequest, Fields
from petstore_mock.http.response import UNSIZED_STATUSES, Response, Stream, reason_phrase
from petstore_mock.transport.head_rules import RequestError, check_head, declared_length

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

    from petstore_mock.http.handler import Handler

_IN_PATHS: Final = "/:@!$&'()*+,;=~-._"  # characters that a path may hold unencoded (RFC 3986 §3.3)
_CONTENT: Final = {"CONTENT_TYPE": b"Content-Type", "CONTENT_LENGTH": b"Content-Length"}
_LARGEST_READ: Final = 64 * 1024
_SERVERS_OWN: Final = frozenset({"proxy-authenticate", "upgrade"})  # PEP 3333 forbids them to applications


class WsgiApp:
    """The fake as a WSGI application. Thread-safe."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Respond to one request (PEP 3333).

        Raises:
            PetStoreMockError: the fault that the request met needs a socket.
        """
        request = _request(environ)
        try:
            check_head(request)
            _read_body(environ, request, self._handler)
        except RequestError as error:
            response: Response | Deferred | Blocking | Stream = self._handler.refuse(
                error.condition, error.detail, request
            )
        else:
            response = self._handler.handle(request)
        while not isinstance(response, (Response, Stream)):
            response = response.run() if isinstance(response, Blocking) else wait(response)
        return _send(request, response, start_response)


def wait(deferred: Deferred) -> Response | Deferred:
    """Wait in this thread until a response is due, or a reset ends the waiting; return what comes then."""
    if deferred.delivery is not None:
        kind = deferred.delivery.kind
        deferred.exchange.complete("client gone", sent=False)
        refuse(f"the fault {kind}() needs a socket: give the client petstore.url instead of petstore.app")
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


def _request(environ: WSGIEnvironment) -> ApiRequest:
    started = perf_counter()
    root_path = environ.get("SCRIPT_NAME", "").rstrip("/")
    found = [(name, str(value)) for name, value in environ.items() if name[:5] == "HTTP_"]
    found += [(name, environ[name]) for name in _CONTENT if environ.get(name)]
    version = environ.get("SERVER_PROTOCOL", "HTTP/1.1")
    fields = _fields(tuple(found))
    return ApiRequest(
        environ["REQUEST_METHOD"], _target(environ), fields, b"", 0, 0, started, version, _encoded(root_path)
    )


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
        octets = path.encode("latin-1")  # PEP 3333
    except UnicodeEncodeError:  # httpx's transport decodes the path as UTF-8
        octets = path.encode("utf-8", "surrogatepass")
    return quote(octets, safe=_IN_PATHS)


@lru_cache(maxsize=64)  # a client repeats itself
def _fields(variables: tuple[tuple[str, str], ...]) -> Fields:
    return Fields(
        (
            _CONTENT.get(name) or name[5:].replace("_", "-").encode("latin-1"),
            value.strip(" \t").encode("latin-1", "replace"),  # RFC 9110 §5.5
        )
        for name, value in variables
    )


def _read_body(environ: WSGIEnvironment, request: ApiRequest, handler: Handler) -> None:
    """Read the body into ``request``, no more of it than is allowed."""
    declared = environ.get("CONTENT_LENGTH") or ""
    stream = environ["wsgi.input"]
    # PEP 3333 knows no chunked bodies. A server that decodes them says that its input ends by itself; one in memory,
    # as httpx's transport has it, does not say so.
    terminated = environ.get("wsgi.input_terminated") or (
        isinstance(stream, io.BytesIO) and "HTTP_TRANSFER_ENCODING" in environ
    )
    if not declared and not terminated:
        return
    length = declared_length(declared) if declared else None
    limit = None if length is not None and length <= UNASKED_BODY else handler.body_limit(request)
    if limit is not None and length is not None and length > limit:
        request.oversized = True
        return
    wanted = length if length is not None else limit + 1 if limit is not None else None
    body = _read(stream, wanted)
    if limit is not None and len(body) > limit:
        request.oversized = True
        return
    if length is not None and len(body) < length:
        raise RequestError("malformed_request", f"the body ended after {len(body)} of {length} bytes")
    request.body = body


def _read(stream: Any, wanted: int | None) -> bytes:  # noqa: ANN401  # any file-like input of a server
    parts = []
    left = wanted
    while left is None or left > 0:
        part = stream.read(_LARGEST_READ if left is None else min(left, _LARGEST_READ))
        if not part:
            break
        parts.append(part)
        if left is not None:
            left -= len(part)
    return b"".join(parts)


def _send(request: ApiRequest, response: Response | Stream, start_response: StartResponse) -> Iterable[bytes]:
    head = response.head
    fields = [field for field in head.fields if field[0].lower() not in _SERVERS_OWN]
    fields.append(("Date", response.date.decode("ascii")))
    status = f"{head.status} {reason_phrase(head.status) or 'Unknown'}"
    if isinstance(response, Stream):
        start_response(status, fields)
        return response.chunks
    if head.status not in UNSIZED_STATUSES:
        fields.append(("Content-Length", str(len(response.body))))
    start_response(status, fields)
    return [response.body] if response.body and request.method != "HEAD" else []
