"""A mock with a control door, and a client for it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from petstore_mock import PetStoreMock
from tests.client import Client, Response


def broken(response: Response) -> list[str]:
    """Return the fields of the violations in a problem."""
    return [one["field"] for one in response.json().get("violations", [])]


class Door:
    """Sends requests to a mock, to the world at the root unless ``world`` is given.

    A path without a leading slash is a path of the door.
    """

    def __init__(self, petstore: PetStoreMock) -> None:
        self.petstore = petstore
        self.address = petstore.url.removeprefix("http://").removesuffix("/v1")

    def __call__(self, method: str, path: str, body: object = None, *, world: str = "", **fields: str) -> Response:
        mount = f"/w/{world}" if world else ""
        target = f"{mount}{path}" if path.startswith("/") else f"{mount}/__petstore/{path}"
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in fields.items()}
        named |= {} if content is None or "Content-Type" in named else {"Content-Type": "application/json"}
        with Client(self.petstore) as client:  # for each request, because tests send from several threads
            return client.bare(method, target, [*named.items()], content)

    def use(self, method: str = "GET", path: str = "/v1/pets", body: object = None, *, world: str = "") -> Response:
        """Send a request to the service, with the key of the world."""
        key = self("GET", "world", world=world).json()["api_key"]
        return self(method, path, body, world=world, Authorization=f"Bearer {key}")


@pytest.fixture
def door() -> Iterator[Door]:
    with PetStoreMock(control=True) as petstore:
        yield Door(petstore)
