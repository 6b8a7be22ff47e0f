"""The ASGI adapter (ASGI 3.0): scope and messages to ``ApiRequest``, ``ApiResponse`` to messages."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from petstore_mock.common.real_time import RealTime
from petstore_mock.errors import PetStoreMockError
from petstore_mock.messages.deferred import DeferredResponse
from petstore_mock.messages.request import UNASKED_BODY, ApiRequest, MountedRequest, RequestFields
from petstore_mock.transport.head_rules import RequestError, check_head, declared_length
from petstore_mock.transport.in_process import IN_PATHS, Wait, outgoing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from typing import TypeAlias

    from petstore_mock.messages.response import ApiResponse
    from petstore_mock.transport.handler import Handler

    Message: TypeAlias = MutableMapping[str, Any]
    Receive: TypeAlias = Callable[[], Awaitable[Message]]
    Send: TypeAlias = Callable[[Message], Awaitable[None]]

__all__ = ["AsgiApp"]


class AsgiApp:
    """The fake as an ASGI application, for asyncio and trio. Thread-safe; holds no state of its own."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or go along with the life of a server.

        Raises:
            PetStoreMockError: the fault that met the request needs a socket, or the scope is no request.
        """
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            raise PetStoreMockError(f"expected a scope of type http or lifespan; got type={scope['type']!r}")
        handler = self._handler
        version = f"HTTP/{scope.get('http_version', '1.1')}"
        root_path = quote((scope.get("root_path") or "").rstrip("/"), safe=IN_PATHS)
        target, started = _target(scope, root_path), RealTime.perf_counter()
        parts = (scope["method"], target, _fields(scope), b"", 0, 0, started, version)
        request = MountedRequest(root_path, *parts) if root_path else ApiRequest(*parts)
        response: ApiResponse | DeferredResponse | None
        try:
            check_head(request)
            await _read_body(receive, request, handler)
        except RequestError as error:
            response = handler.refuse(error.condition, error.detail, request)
        else:
            response = handler.handle(request)
        while isinstance(response, DeferredResponse):
            response = await (_wait_in_trio if _runs_in_trio() else _wait)(response, receive)
        if response is None:
            return  # the client has gone
        fields, body = outgoing(request, response)
        if version not in {"HTTP/1.0", "HTTP/1.1"}:  # RFC 9113 §8.2.2, RFC 9114 §4.2: an answer with it is malformed
            fields = [field for field in fields if field[0].lower() != "upgrade"]
        # ASGI demands names in lower case; its servers write them as they like.
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def _live(receive: Receive, send: Send) -> None:
    """Go along with a server's start and end: there is nothing to be made ready, and nothing to be put away."""
    while True:
        stage = (await receive())["type"]
        await send({"type": f"{stage}.complete"})
        if stage == "lifespan.shutdown":
            return


def _target(scope: Message, root_path: str) -> str:
    """Return the target as the client sent it, if the server tells; without the path that the app is mounted at."""
    raw = scope.get("raw_path")
    path = quote(scope["path"], safe=IN_PATHS) if raw is None else raw.decode("latin-1").partition("?")[0]
    if root_path and path.startswith(f"{root_path}/"):
        path = path[len(root_path) :]
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{path}?{query}" if query else path


def _fields(scope: Message) -> RequestFields:
    return _made_before(tuple((bytes(name), bytes(value)) for name, value in scope["headers"]))


@lru_cache(maxsize=64)  # a client repeats itself
def _made_before(headers: tuple[tuple[bytes, bytes], ...]) -> RequestFields:
    return RequestFields((name, value.strip(b" \t")) for name, value in headers)  # RFC 9110 §5.5


async def _read_body(receive: Receive, request: ApiRequest, handler: Handler) -> None:
    """Read the body into ``request``, no more of it than is allowed; raises RequestError for a wrong length."""
    declared = request.header("content-length")
    length = None if declared is None else declared_length(declared)
    limit: int | None = UNASKED_BODY
    asked = False
    parts: list[bytes] = []
    size = 0
    more = True
    while True:
        if limit is not None and max(size, length or 0) > limit and not asked:
            limit, asked = handler.body_limit(request), True
        if limit is not None and max(size, length or 0) > limit:
            request.oversized = True
            return
        if not more:
            break
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestError("malformed_request", f"the connection ended after {size} bytes of the body")
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        more = message.get("more_body", False)
    if length is not None and size < length:
        raise RequestError("malformed_request", f"the body ended after {size} of {length} bytes")
    request.body = b"".join(parts)


# Waiting


async def _until_gone(receive: Receive) -> None:
    """Return when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass  # a server may repeat that the body is over


async def _wait(deferred: DeferredResponse, receive: Receive) -> ApiResponse | DeferredResponse | None:
    """Wait until the answer's time, a reset, or the going of the client; return it, or None without a client."""
    loop = asyncio.get_running_loop()
    released = asyncio.Event()

    def release() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and the client gone with it
            loop.call_soon_threadsafe(released.set)

    with Wait(deferred, release, "petstore.asgi") as wait:
        leaving, waiting = asyncio.ensure_future(_until_gone(receive)), asyncio.ensure_future(released.wait())
        try:
            done, _ = await asyncio.wait(
                [leaving, waiting], timeout=deferred.delay, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            leaving.cancel()
            waiting.cancel()
            await asyncio.gather(leaving, waiting, return_exceptions=True)
        if leaving in done:
            wait.give_up()
    return wait.end()


def _runs_in_trio() -> bool:
    trio = sys.modules.get("trio")
    return trio is not None and trio.lowlevel.in_trio_task()


async def _wait_in_trio(deferred: DeferredResponse, receive: Receive) -> ApiResponse | DeferredResponse | None:
    """Do the same where trio runs, which only somebody who has it installed can ask for."""
    import trio  # noqa: PLC0415

    token = trio.lowlevel.current_trio_token()
    released = trio.Event()

    def release() -> None:
        with contextlib.suppress(trio.RunFinishedError):
            token.run_sync_soon(released.set)

    with Wait(deferred, release, "petstore.asgi") as wait:
        async with trio.open_nursery() as nursery:

            async def leave() -> None:
                await _until_gone(receive)
                wait.give_up()
                nursery.cancel_scope.cancel()

            nursery.start_soon(leave)
            with trio.move_on_after(deferred.delay):
                await released.wait()
            nursery.cancel_scope.cancel()
    return wait.end()
