"""The fake without a socket: a WSGI application (PEP 3333)."""

from __future__ import annotations

import io
import sys
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from petstore_mock.common.real import Event, perf_counter
from petstore_mock.common.refusing import Stays
from petstore_mock.common.sized import SizedCache
from petstore_mock.http.handler import Blocking, Deferred
from petstore_mock.http.request import UNASKED_BODY, ApiRequest, Fields, changed
from petstore_mock.http.response import UNSIZED_STATUSES, Response, Stream, without_fields
from petstore_mock.interface.conditions import reason_phrase
from petstore_mock.transport.chunks import RequestError
from petstore_mock.transport.reading import check_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from wsgiref.types import InputStream, StartResponse, WSGIEnvironment

    from petstore_mock.http.handler import Handler

# Characters that a path may hold unencoded (RFC 3986 §3.3).
_IN_PATHS: Final = "/:@!$&'()*+,;=~-._"
# The size of one read in bytes.
_READ_SIZE: Final = 64 * 1024
# Clients send the same fields again and again.
_known_fields: Final = SizedCache[tuple[tuple[str, str], ...], Fields](limit=1024 * 1024, largest=16 * 1024)
# PEP 3333 forbids them to applications.
_SERVERS_OWN: Final = frozenset({"proxy-authenticate", "upgrade"})


def respond(
    handler: Handler, request: ApiRequest, with_body: Callable[[ApiRequest], ApiRequest] | None = None
) -> Response | Stream:
    """Return the response to a request. ``with_body`` reads its body, unless the request already has it."""
    try:
        check_head(len(f"{request.method} {request.target} HTTP/1.1"), request.fields)
        if with_body is not None:
            request = with_body(request)
        if len(request.body) > UNASKED_BODY:
            limit = handler.body_limit(request)
            # The caller without ``with_body`` passed the whole body, also after a refused head.
            has_refused_head = limit == 0 and with_body is None
            if limit is not None and not has_refused_head:
                request = changed(request, oversized=len(request.body) > limit)
    except RequestError as error:
        condition, detail = error.args
        return handler.refuse(condition, detail, request)
    response: Response | Stream | Deferred | Blocking = handler.handle(request)
    while not isinstance(response, (Response, Stream)):
        response = response.run() if isinstance(response, Blocking) else _wait(response)
    return response


def _wait(deferred: Deferred) -> Response | Deferred:
    """Wait until a response is due or a reset ends the delay; return the response or a further delay."""
    released = Event()
    deferred.pending.add(released.set)
    try:
        released.wait(deferred.delay)
        response = deferred.resume()
    except BaseException:
        # The client's thread was interrupted, or the fault needs a socket.
        deferred.complete("client gone", sent=False)
        raise
    finally:
        deferred.pending.discard(released.set)
    deferred.complete("delayed", sent=True)
    return response


# WSGI


class WsgiApp(Stays):
    """The fake as a WSGI application. Thread-safe."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Respond to one request (PEP 3333).

        Raises:
            PetStoreMockError: the fault that the request met needs a socket.
        """
        request = _of_environ(environ)
        response = respond(self._handler, request, partial(_with_body, environ, self._handler))
        status = response.head.status
        start_response(f"{status} {reason_phrase(status) or 'Unknown'}", _fields_to_send(response))
        if isinstance(response, Stream):
            if request.method != "HEAD":
                return response.chunks
            response.close()
            return []
        has_body = response.body and request.method != "HEAD"
        return [response.body] if has_body else []


def _fields_to_send(response: Response | Stream) -> list[tuple[str, str]]:
    fields = without_fields(response.head.fields, _SERVERS_OWN)
    fields.append(("Date", response.date.decode("ascii")))
    if isinstance(response, Response) and response.status not in UNSIZED_STATUSES:
        fields.append(("Content-Length", str(len(response.body))))
    return fields


def _of_environ(environ: WSGIEnvironment) -> ApiRequest:
    """Return a request without its body."""
    variables = [(name[5:], str(value)) for name, value in environ.items() if name[:5] == "HTTP_"]
    variables += [(name, environ[name]) for name in ("CONTENT_TYPE", "CONTENT_LENGTH") if environ.get(name)]
    return ApiRequest(
        environ["REQUEST_METHOD"],
        _target_of(environ),
        _fields_of(tuple(variables)),
        started=perf_counter(),
        version=environ.get("SERVER_PROTOCOL", "HTTP/1.1"),
        root_path=_encoded(environ.get("SCRIPT_NAME", "").rstrip("/")),
    )


def _fields_of(variables: tuple[tuple[str, str], ...]) -> Fields:
    fields = _known_fields.get(variables)
    if fields is None:
        fields = Fields.of((name.title().replace("_", "-"), value.strip(" \t")) for name, value in variables)
        _known_fields.keep(variables, fields, 2 * fields.weight)
    return fields


def _target_of(environ: WSGIEnvironment) -> str:
    """Return the raw target if the server passes it for an unmounted app; otherwise the decoded path, encoded again."""
    raw: str = environ.get("REQUEST_URI") or environ.get("RAW_URI") or ""
    if not raw.startswith("/") or environ.get("SCRIPT_NAME"):
        raw = _encoded(environ.get("PATH_INFO", ""))
    # The raw URI of werkzeug's test client may lack it.
    query = environ.get("QUERY_STRING", "")
    lacks_query = query and "?" not in raw
    return f"{raw}?{query}" if lacks_query else raw


def _encoded(path: str) -> str:
    try:
        # As PEP 3333 demands.
        return quote(path.encode("latin-1"), safe=_IN_PATHS)
    except UnicodeEncodeError:
        # httpx's transport decodes the path as UTF-8.
        return quote(path.encode("utf-8", "surrogatepass"), safe=_IN_PATHS)


def _with_body(environ: WSGIEnvironment, handler: Handler, request: ApiRequest) -> ApiRequest:
    """Return the request with its body, unless that is too long. Raises RequestError."""
    declared = _declared_length(environ)
    if declared is None and not _ends_by_itself(environ):
        return request
    is_short = declared is not None and declared <= UNASKED_BODY
    limit = None if is_short else handler.body_limit(request)
    most = sys.maxsize if limit is None else max(limit, UNASKED_BODY) + 1
    if declared is None:
        return changed(request, body=_read(environ["wsgi.input"], most))
    if declared >= most:
        return changed(request, oversized=True)
    body = _read(environ["wsgi.input"], declared)
    if len(body) < declared:
        raise RequestError("malformed_request", f"the body ended after {len(body)} of {declared} bytes")
    return changed(request, body=body)


def _declared_length(environ: WSGIEnvironment) -> int | None:
    """Return the length that the client declares; None if it declares none."""
    text: str = environ.get("CONTENT_LENGTH") or ""
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise RequestError("malformed_request", f"expected digits as Content-Length; got {text[:40]!r}")
    # Python refuses to read a number of many thousand digits. This one is too long anyway.
    return int(text[:20])


def _ends_by_itself(environ: WSGIEnvironment) -> bool:
    """Return whether the input of a request without a length ends at the end of the body.

    PEP 3333 has no chunked bodies. A server that decodes them sets ``wsgi.input_terminated``. httpx's transport does
    not, but its input is in memory and ends anyway.
    """
    is_in_memory = isinstance(environ["wsgi.input"], io.BytesIO)
    is_chunked_in_memory = is_in_memory and "HTTP_TRANSFER_ENCODING" in environ
    return bool(environ.get("wsgi.input_terminated")) or is_chunked_in_memory


def _read(stream: InputStream, length: int) -> bytes:
    """Read at most ``length`` bytes."""
    body = bytearray()
    # In parts, because read(n) allocates n bytes even if fewer arrive.
    while part := stream.read(min(length - len(body), _READ_SIZE)):
        body += part
    return bytes(body)
