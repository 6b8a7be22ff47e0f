"""A mock with a control door, and a client for it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from petstore_mock import PetStoreMock


@dataclass(frozen=True)
class Reply:
    """A response of the door or the service."""

    status: int
    fields: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def broken(self) -> list[str]:
        """The fields of the violations in a problem."""
        return [one["field"] for one in self.json.get("violations", [])]


class Door:
    """Sends requests to a mock, to the world at the root unless ``world`` is given.

    A path without a leading slash is a path of the door.
    """

    def __init__(self, petstore: PetStoreMock) -> None:
        self.petstore = petstore
        self.address = petstore.url.removeprefix("http://").removesuffix("/v1")

    def __call__(self, method: str, path: str, body: object = None, *, world: str = "", **fields: str) -> Reply:
        mount = f"/w/{world}" if world else ""
        target = f"{mount}{path}" if path.startswith("/") else f"{mount}/__petstore/{path}"
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in fields.items()}
        named |= {} if content is None or "Content-Type" in named else {"Content-Type": "application/json"}
        connection = http.client.HTTPConnection(self.address, timeout=30)
        try:
            connection.request(method, target, content, named)
            response = connection.getresponse()
            return Reply(response.status, dict(response.headers.items()), response.read())
        finally:
            connection.close()

    def use(self, method: str = "GET", path: str = "/v1/pets", body: object = None, *, world: str = "") -> Reply:
        """Send a request to the service, with the key of the world."""
        key = self("GET", "world", world=world).json["api_key"]
        return self(method, path, body, world=world, Authorization=f"Bearer {key}")


@pytest.fixture
def door() -> Iterator[Door]:
    with PetStoreMock(control=True) as petstore:
        yield Door(petstore)
