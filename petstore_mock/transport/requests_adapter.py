"""An adapter of requests that calls the fake: no socket, no server, no thread. Imported on demand."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from requests.adapters import HTTPAdapter
from urllib3 import HTTPHeaderDict, HTTPResponse

from petstore_mock.common.real import perf_counter
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.http.response import reason_phrase
from petstore_mock.transport.wsgi import respond

if TYPE_CHECKING:
    import requests

    from petstore_mock.http.handler import Handler


class InProcessAdapter(HTTPAdapter):
    """Responds to every request of a session, whatever its host."""

    def __init__(self, handler: Handler) -> None:
        super().__init__()
        self._handler = handler

    def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:
        """Let the fake respond.

        Raises:
            PetStoreMockError: the fault that the request met needs a socket.
        """
        status, fields, body = respond(self._handler, _request(request))
        raw = HTTPResponse(
            io.BytesIO(b"".join(body)),
            headers=HTTPHeaderDict(fields),
            status=status,
            version=11,
            reason=reason_phrase(status),
            preload_content=False,
            request_method=request.method,
        )
        return self.build_response(request, raw)


def _request(request: requests.PreparedRequest) -> ApiRequest:
    fields = [(_octets(name), _octets(value).strip()) for name, value in request.headers.items()]
    if "Host" not in request.headers:
        fields.insert(0, (b"Host", urlsplit(request.url or "").netloc.rpartition("@")[2].encode()))
    body: Any = request.body or b""
    if hasattr(body, "read"):
        body = body.read()
    whole = _octets(body) if isinstance(body, (str, bytes, bytearray)) else b"".join(map(_octets, body))
    return ApiRequest(request.method or "GET", request.path_url, Fields(fields), whole, 0, 0, perf_counter())


def _octets(text: str | bytes | bytearray) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)
