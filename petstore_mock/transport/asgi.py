"""The ASGI adapter (ASGI 3.0), for asyncio: each request is handled in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from petstore_mock.common.real import perf_counter
from petstore_mock.common.refusing import refuse
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.transport.wsgi import respond

if TYPE_CHECKING:
    from petstore_mock.http.handler import Handler

Message = MutableMapping[str, Any]


class AsgiApp:
    """The fake as an ASGI application."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

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
        request, more = _request(scope), True
        while more:
            message = await receive()
            request.body += message.get("body", b"")
            more = message.get("more_body", False)
        status, fields, body = await asyncio.to_thread(respond, self._handler, request)
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"".join(body)})


def _request(scope: Message) -> ApiRequest:
    root = scope.get("root_path", "").rstrip("/")
    raw = scope.get("raw_path")
    path = quote(scope["path"]) if raw is None else raw.decode("latin-1").partition("?")[0]
    query = scope.get("query_string", b"").decode("latin-1")
    target = path.removeprefix(root) if path.startswith(f"{root}/") else path
    fields = Fields((bytes(name), bytes(value).strip(b" \t")) for name, value in scope["headers"])
    version = f"HTTP/{scope.get('http_version', '1.1')}"
    target = f"{target}?{query}" if query else target
    return ApiRequest(scope["method"], target, fields, b"", 0, 0, perf_counter(), version, quote(root))
