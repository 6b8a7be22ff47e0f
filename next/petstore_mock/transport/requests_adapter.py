"""An adapter of requests that calls the WSGI application: no socket, no server, no thread. Imported on demand."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPHeaderDict, HTTPResponse

if TYPE_CHECKING:
    from petstore_mock.transport.wsgi import WsgiApp


class WsgiAdapter(HTTPAdapter):
    """Responds to every request of a session, whatever its host."""

    def __init__(self, app: WsgiApp) -> None:
        super().__init__()
        self._app = app

    def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:
        """Let the application respond.

        Raises:
            PetStoreMockError: the fault that the request met needs a socket.
        """
        started: list[Any] = []
        parts = self._app(_environ(request), lambda *start: started.extend(start))  # type: ignore[arg-type,func-returns-value]
        status, _, reason = started[0].partition(" ")
        raw = HTTPResponse(
            io.BytesIO(b"".join(parts)),
            headers=HTTPHeaderDict(started[1]),
            status=int(status),
            version=11,
            reason=reason,
            preload_content=False,
            request_method=request.method,
        )
        return self.build_response(request, raw)


def _environ(request: requests.PreparedRequest) -> dict[str, Any]:
    url, body = urlsplit(request.url or ""), _body(request.body)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": unquote_to_bytes(url.path).decode("latin-1"),
        "QUERY_STRING": url.query,
        "RAW_URI": request.path_url,
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": url.netloc.rpartition("@")[2],
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
    }
    for name, value in request.headers.items():
        key = _text(name).upper().replace("-", "_")
        environ[key if key in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{key}"] = _text(value)
    return environ


def _text(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("latin-1")


def _body(body: Any) -> bytes:  # noqa: ANN401  # whatever requests sends
    if hasattr(body, "read"):
        body = body.read()
    if isinstance(body, str):
        return body.encode()
    return bytes(body or b"") if isinstance(body, (bytes, bytearray, type(None))) else b"".join(body)
