"""The ASGI adapter (ASGI 3.0): runs the WSGI application in a thread."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from petstore_mock.common.refusing import refuse

if TYPE_CHECKING:
    from petstore_mock.transport.wsgi import WsgiApp

Message = MutableMapping[str, Any]


class AsgiApp:
    """The fake as an ASGI application, for asyncio."""

    def __init__(self, wsgi: WsgiApp) -> None:
        self._wsgi = wsgi

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Respond to one request, or follow the life of a server.

        Raises:
            PetStoreMockError: the fault that the request met needs a socket, or the scope is no request.
        """
        if scope["type"] == "lifespan":
            stage = ""
            while stage != "lifespan.shutdown":
                stage = (await receive())["type"]
                await send({"type": f"{stage}.complete"})
            return
        if scope["type"] != "http":
            refuse(f"expected a scope of type http or lifespan; got type={scope['type']!r}")
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        status, fields, parts = await asyncio.to_thread(self._call, _environ(scope, body))
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": b"".join(parts)})

    def _call(self, environ: dict[str, Any]) -> tuple[int, list[tuple[bytes, bytes]], Iterable[bytes]]:
        started: list[Any] = []
        parts = self._wsgi(environ, lambda *start: started.extend(start))  # type: ignore[arg-type,func-returns-value]
        status, fields = started
        return int(status[:3]), [(name.lower().encode(), value.encode("latin-1")) for name, value in fields], parts


def _environ(scope: Message, body: bytes) -> dict[str, Any]:
    root = scope.get("root_path", "").rstrip("/")
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
    path = path.removeprefix(root) if path.startswith(f"{root}/") else path
    query = scope.get("query_string", b"").decode("latin-1")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": root,
        "PATH_INFO": unquote(path, "latin-1"),
        "QUERY_STRING": query,
        "SERVER_PROTOCOL": f"HTTP/{scope.get('http_version', '1.1')}",
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
    }
    if not root:
        environ["RAW_URI"] = f"{path}?{query}" if query else path
    for name, value in scope["headers"]:
        key = name.decode("latin-1").upper().replace("-", "_")
        key = key if key in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{key}"
        text = value.decode("latin-1")
        environ[key] = f"{environ[key]},{text}" if key in environ else text
    return environ
