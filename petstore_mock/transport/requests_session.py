"""A ``requests.Session`` that calls the fake in process.

How this works: the fake's response is turned into the bytes that a socket would carry. The parser of ``http.client``
reads them, as it does for each request over a socket. So fields, their order, cookies, chunks and limits are the same.
"""

from __future__ import annotations

import io
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from petstore_mock.common.real import perf_counter
from petstore_mock.common.refusing import refuse
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.http.response import Response, StreamError, chunk, frame, frame_stream
from petstore_mock.transport.in_process import respond

if TYPE_CHECKING:
    from collections.abc import Iterator

    import requests
    from urllib3 import HTTPResponse

    from petstore_mock.http.handler import Handler
    from petstore_mock.http.response import Stream


def requests_session(handler: Handler) -> requests.Session:
    """Return a ``requests.Session`` that calls the fake in process, for every host and without a socket."""
    try:
        import requests  # an optional package
        from requests.adapters import HTTPAdapter
    except ImportError:
        refuse("expected requests to be installed: pip install requests; or use petstore.app")

    class InProcess(HTTPAdapter):
        def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:
            response = respond(handler, _of_prepared(request))
            return self.build_response(request, _received(response, request))

    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, InProcess())
    return session


def _of_prepared(request: requests.PreparedRequest) -> ApiRequest:
    fields = [(_octets(name), _octets(value).strip()) for name, value in request.headers.items()]
    if "Host" not in request.headers:
        fields.insert(0, (b"Host", urlsplit(request.url or "").netloc.rpartition("@")[2].encode()))
    body: Any = request.body or b""
    if hasattr(body, "read"):
        body = body.read()
    pieces = [body] if isinstance(body, (str, bytes, bytearray)) else body
    whole = b"".join(map(_octets, pieces))
    return ApiRequest(request.method or "GET", request.path_url, Fields(fields), whole, started=perf_counter())


def _octets(text: str | bytes | bytearray) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)


def _received(response: Response | Stream, request: requests.PreparedRequest) -> HTTPResponse:
    """Return the response as urllib3 receives it over a socket."""
    import http.client  # only for a session of requests

    import requests
    import urllib3

    wire = _Wire(_parts_of(response, bodiless=request.method == "HEAD"), response)
    received = http.client.HTTPResponse(wire, method=request.method)  # type: ignore[arg-type]  # needs makefile() only
    try:
        received.begin()
    except http.client.HTTPException as error:
        # urllib3 and requests raise these for a socket.
        wire.close()
        failure = urllib3.exceptions.ProtocolError("Connection aborted.", error)
        raise requests.exceptions.ConnectionError(failure, request=request) from error
    return urllib3.HTTPResponse(
        body=received,
        headers=urllib3.HTTPHeaderDict(received.msg.items()),
        status=received.status,
        version=received.version,
        reason=received.reason,
        preload_content=False,
        decode_content=False,
        original_response=received,
        request_method=request.method,
    )


def _parts_of(response: Response | Stream, *, bodiless: bool) -> Iterator[bytes]:
    """Yield the bytes that a socket would carry."""
    if isinstance(response, Response):
        yield from frame(response, modern=True, bodiless=bodiless, closing=response.wire_format.close)
        return
    head, chunked = frame_stream(response, modern=True, closing=False)
    yield head
    if bodiless:
        return
    for part in response.chunks:
        # An empty chunk would mark the end of the body.
        if part:
            yield chunk(part) if chunked else part
    if chunked:
        yield chunk(b"")


class _Wire(io.RawIOBase):
    """The receiving end of a connection that carries one response. Each read returns at most one part of it."""

    def __init__(self, parts: Iterator[bytes], response: Response | Stream) -> None:
        self._parts = parts
        self._response = response
        self._rest = memoryview(b"")

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401  # a buffer of any kind
        if not self._rest:
            # The stream ends early, as a connection does.
            with suppress(StreamError):
                self._rest = memoryview(next(filter(None, self._parts), b""))
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def close(self) -> None:
        """Close the connection: the code that makes a stream ends."""
        if not (self.closed or isinstance(self._response, Response)):
            self._response.close()
        super().close()
