"""A transport of httpx that calls the core: no socket, no server, no thread. Imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import httpx

from petstore_mock.common.real_time import RealTime
from petstore_mock.messages.request import ApiRequest, RequestFields
from petstore_mock.transport.in_process import exchange

if TYPE_CHECKING:
    from petstore_mock.transport.handler import Handler

__all__ = ["CoreTransport"]

_INSTEAD_OF: Final = "petstore.httpx_client()"


class CoreTransport(httpx.BaseTransport):
    """Answers every request of its client, whatever the host."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Have ``request`` answered by the core.

        Raises:
            PetStoreMockError: the fault that met the request needs a socket.
            httpx.ReadTimeout: the answer is held back for longer than the client's timeout.
        """
        target = request.url.raw_path.decode("ascii")
        fields = RequestFields(request.headers.raw)
        asked = ApiRequest(request.method, target, fields, request.read(), 0, 0, RealTime.perf_counter())
        patience = request.extensions.get("timeout", {}).get("read")
        answer = exchange(self._handler, asked, _INSTEAD_OF, patience)
        if answer is None:
            raise httpx.ReadTimeout("timed out", request=request)
        status, answered, body = answer
        return httpx.Response(status, headers=answered, stream=httpx.ByteStream(body), request=request)
