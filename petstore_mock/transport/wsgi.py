"""The WSGI adapter (PEP 3333): environ to ``ApiRequest``, ``ApiResponse`` to status, headers and body."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from petstore_mock.common.real_time import RealTime
from petstore_mock.messages.deferred import DeferredResponse
from petstore_mock.messages.request import UNASKED_BODY, ApiRequest, MountedRequest, RequestFields
from petstore_mock.messages.response import reason_phrase
from petstore_mock.transport.head_rules import RequestError, check_head, declared_length
from petstore_mock.transport.in_process import IN_PATHS, outgoing, wait

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

    from petstore_mock.messages.response import ApiResponse
    from petstore_mock.transport.handler import Handler

__all__ = ["WsgiApp"]

_CONTENT: Final = {"CONTENT_TYPE": b"Content-Type", "CONTENT_LENGTH": b"Content-Length"}
_LARGEST_READ: Final = 64 * 1024
_SERVERS_OWN: Final = frozenset({"proxy-authenticate", "upgrade"})  # PEP 3333 forbids them: wsgiref would answer 500


class WsgiApp:
    """The fake as a WSGI application. Thread-safe; holds no state of its own."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request (PEP 3333).

        Raises:
            PetStoreMockError: the fault that met the request needs a socket.
        """
        handler = self._handler
        started = RealTime.perf_counter()
        method, version = environ["REQUEST_METHOD"], environ.get("SERVER_PROTOCOL", "HTTP/1.1")
        parts = (method, _target(environ), _fields(environ), b"", 0, 0, started, version)
        root_path = environ.get("SCRIPT_NAME", "").rstrip("/")
        request = MountedRequest(_encoded(root_path), *parts) if root_path else ApiRequest(*parts)
        response: ApiResponse | DeferredResponse
        try:
            check_head(request)
            _read_body(environ, request, handler)
        except RequestError as error:
            response = handler.refuse(error.condition, error.detail, request)
        else:
            response = handler.handle(request)
        answer = wait(response, "petstore.app") if isinstance(response, DeferredResponse) else response
        assert answer is not None  # noqa: S101  # for the type checker: without patience the client never gives up
        return _send(request, answer, start_response)


def _target(environ: WSGIEnvironment) -> str:
    """Return the target as the client sent it, if the server tells; else encode what it decoded."""
    raw = environ.get("REQUEST_URI") or environ.get("RAW_URI")
    query = environ.get("QUERY_STRING", "")
    if raw and raw.startswith("/") and not environ.get("SCRIPT_NAME"):
        # werkzeug's test client leaves a query given apart from the path out of what it calls the raw URI.
        return f"{raw}?{query}" if query and "?" not in raw else str(raw)
    path = _encoded(environ.get("PATH_INFO", ""))
    return f"{path}?{query}" if query else path


@lru_cache(maxsize=256)
def _encoded(path: str) -> str:
    try:
        octets = path.encode("latin-1")  # PEP 3333
    except UnicodeEncodeError:  # httpx's transport decodes the path as UTF-8
        octets = path.encode("utf-8", "surrogatepass")
    return quote(octets, safe=IN_PATHS)


def _field_name(variable: str) -> bytes:
    """Return the name of the header field that a variable of the environ stands for."""
    return variable[5:].replace("_", "-").encode("latin-1")


def _fields(environ: WSGIEnvironment) -> RequestFields:
    found = [(name, str(value)) for name, value in environ.items() if name[:5] == "HTTP_"]
    found += [(name, environ[name]) for name in _CONTENT if environ.get(name)]
    return _made_before(tuple(found))


@lru_cache(maxsize=64)  # a client repeats itself
def _made_before(variables: tuple[tuple[str, str], ...]) -> RequestFields:
    return RequestFields(
        (_CONTENT.get(name) or _field_name(name), value.strip(" \t").encode("latin-1", "replace"))  # RFC 9110 §5.5
        for name, value in variables
    )


def _read_body(environ: WSGIEnvironment, request: ApiRequest, handler: Handler) -> None:
    """Read the body into ``request``, no more of it than is allowed; raises RequestError for a wrong length."""
    declared = environ.get("CONTENT_LENGTH") or ""
    stream = environ["wsgi.input"]
    # PEP 3333 knows no chunked bodies; a server that decodes them says that its input ends by itself. One that is in
    # memory, as httpx's transport has it, does so without a word.
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


def _send(request: ApiRequest, response: ApiResponse, start_response: StartResponse) -> list[bytes]:
    fields, body = outgoing(request, response)
    fields = [field for field in fields if field[0].lower() not in _SERVERS_OWN]
    start_response(f"{response.status} {reason_phrase(response.status) or 'Unknown'}", fields)
    return [body] if body else []
