"""A request that came over the socket, in the form that WSGI applications read (PEP 3333)."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:
    from petstore_mock.messages.request import ApiRequest

__all__ = ["environ_of"]


def environ_of(request: ApiRequest, host: str, port: int, scheme: str = "http") -> dict[str, Any]:
    """Put ``request`` in the form that werkzeug reads (PEP 3333)."""
    path, _, query = request.target.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "REQUEST_URI": request.target,
        "RAW_URI": request.target,
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": request.version,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scheme,
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "CONTENT_LENGTH": str(len(request.body)),
    }
    for raw, value in request.fields:
        name = raw.decode("latin-1").upper()
        if "_" in name or name in {"CONTENT-LENGTH", "TRANSFER-ENCODING"}:
            continue  # `_` and `-` would become one name; the body is decoded
        name = name.replace("-", "_")
        key = name if name == "CONTENT_TYPE" else f"HTTP_{name}"
        text = value.decode("latin-1")
        separator = "; " if name == "COOKIE" else ","
        environ[key] = f"{environ[key]}{separator}{text}" if key in environ else text
    return environ
