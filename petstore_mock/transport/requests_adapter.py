"""An adapter of requests that calls the core: no socket, no server, no thread. Imported when it is asked for."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPHeaderDict, HTTPResponse

from petstore_mock.common.real_time import RealTime
from petstore_mock.messages.request import ApiRequest, RequestFields
from petstore_mock.messages.response import reason_phrase
from petstore_mock.transport.in_process import exchange

if TYPE_CHECKING:
    from petstore_mock.transport.handler import Handler

__all__ = ["CoreAdapter"]

_INSTEAD_OF: Final = "petstore.requests_session()"


class CoreAdapter(HTTPAdapter):
    """Answers every request of the session that it is mounted on, whatever the host."""

    def __init__(self, handler: Handler) -> None:
        super().__init__()
        self._handler = handler

    def send(  # noqa: PLR0917  # the library's own signature
        self,
        request: requests.PreparedRequest,
        stream: bool = False,  # noqa: ARG002, FBT001, FBT002
        timeout: Any = None,  # noqa: ANN401
        verify: Any = True,  # noqa: ANN401, ARG002, FBT002
        cert: Any = None,  # noqa: ANN401, ARG002
        proxies: Any = None,  # noqa: ANN401, ARG002
    ) -> requests.Response:
        """Have ``request`` answered by the core.

        Raises:
            PetStoreMockError: the fault that met the request needs a socket.
            requests.ReadTimeout: the answer is held back for longer than ``timeout``.
        """
        patience = timeout[1] if isinstance(timeout, tuple) else getattr(timeout, "read_timeout", timeout)
        asked = ApiRequest(
            request.method or "GET", request.path_url, _fields(request), _body(request), 0, 0, RealTime.perf_counter()
        )
        answer = exchange(self._handler, asked, _INSTEAD_OF, patience)
        if answer is None:
            raise requests.ReadTimeout(f"Read timed out. (read timeout={patience})", request=request)
        status, fields, body = answer
        raw = HTTPResponse(
            io.BytesIO(body),
            headers=HTTPHeaderDict(fields),
            status=status,
            version=11,
            reason=reason_phrase(status),
            preload_content=False,
            request_method=request.method,
        )
        return self.build_response(request, raw)


def _fields(request: requests.PreparedRequest) -> RequestFields:
    """Return the header fields as they would go out: http.client adds the host."""
    fields = [(_octets(name), _octets(value).strip()) for name, value in request.headers.items()]
    if "Host" not in request.headers:
        fields.insert(0, (b"Host", urlsplit(request.url or "").netloc.rpartition("@")[2].encode()))
    return RequestFields(fields)


def _octets(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1")


def _body(request: requests.PreparedRequest) -> bytes:
    body: Any = request.body
    if not body:
        return b""
    if hasattr(body, "read"):
        body = body.read()
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    return b"".join(map(_octets, body))  # an iterator: sent in chunks
