"""The core without an adapter: one world, and a client of it that is a method call."""

from __future__ import annotations

import json as json_module
import time
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.contract.schemas import default_schemas
from petstore_mock.core.world import World
from petstore_mock.core.world_registry import Worlds
from petstore_mock.messages.deferred import DeferredResponse
from petstore_mock.messages.request import ApiRequest
from petstore_mock.messages.response import ApiResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.journal.journal import Journal

__all__ = ["OWN_KEY", "Core", "deferred", "whole"]

OWN_KEY: Final = object()


def whole(answer: ApiResponse | DeferredResponse) -> ApiResponse:
    """Return an answer that goes out whole and at once."""
    assert isinstance(answer, ApiResponse), f"the answer is deferred: {answer}"
    return answer


def deferred(answer: ApiResponse | DeferredResponse) -> DeferredResponse:
    """Return an answer that does not."""
    assert isinstance(answer, DeferredResponse), f"the answer is there: {answer}"
    return answer


class Core:
    """One world behind the handler that adapters call.

    Args:
        options: those of ``World``.
    """

    def __init__(self, *, key: str | None = None, **options: Any) -> None:  # noqa: ANN401  # World's
        self.worlds = Worlds()
        self.key = self.worlds.check_key(key) if key is not None else self.worlds.new_key()
        self.world = World(default_schemas(), **{"self_check": True, "index": self.worlds.keys, **options})
        self.world.keys.add(self.key)
        self.worlds.push(self.world)

    @property
    def journal(self) -> Journal:
        return self.world.journal

    def send(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        *,
        key: object = OWN_KEY,
        headers: Mapping[str, str] | None = None,
        connection: int = 0,
        exchange: int = 0,
    ) -> ApiResponse:
        """Let the core answer one request; ``key`` None leaves the Authorization field out."""
        return whole(self._ask(method, target, body, key, headers, connection, exchange))

    def defer(self, method: str = "GET", target: str = "/v1/pets", json: object = None) -> DeferredResponse:
        """Let the core answer one request late, or as a fault of the connection has it."""
        headers = {} if json is None else {"Content-Type": "application/json"}
        body = b"" if json is None else json_module.dumps(json).encode()
        return deferred(self._ask(method, target, body, OWN_KEY, headers, 0, 0))

    def defer_create(self, **fields: object) -> DeferredResponse:
        """Let the core answer createPet as :meth:`defer` does."""
        return self.defer("POST", "/v1/pets", {"name": "Rex", "categoryId": 1, **fields})

    def _ask(  # private
        self,
        method: str,
        target: str,
        body: bytes,
        key: object,
        headers: Mapping[str, str] | None,
        connection: int,
        exchange: int,
    ) -> ApiResponse | DeferredResponse:
        bearer = self.key if key is OWN_KEY else key
        fields = {"Host": "fake.test", **({} if bearer is None else {"Authorization": f"Bearer {bearer}"})}
        fields.update(headers or {})
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
        return self.worlds.handle(ApiRequest(method, target, raw, body, connection, exchange, time.perf_counter()))

    def list(self, query: str = "", **options: Any) -> ApiResponse:  # noqa: ANN401  # those of send
        return self.send("GET", f"/v1/pets{query}", **options)

    def create(self, json: object = None, **options: Any) -> ApiResponse:  # noqa: ANN401
        sent = {"name": "Rex", "categoryId": 1} if json is None else json
        headers = {"Content-Type": "application/json", **options.pop("headers", {})}
        body = sent if isinstance(sent, bytes) else json_module.dumps(sent).encode()
        return self.send("POST", "/v1/pets", body, headers=headers, **options)

    def get(self, pet_id: object = 1, **options: Any) -> ApiResponse:  # noqa: ANN401
        return self.send("GET", f"/v1/pets/{pet_id}", **options)
