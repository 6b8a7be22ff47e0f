"""The wire tests run over the listener of the fixture (asyncio) and over a stub (uvloop)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from petstore_mock import PetStoreMock, connect
from tests.live.stub import stub
from tests.wire.raw import KEY, OTHER, Raw


@pytest.fixture(scope="session", params=["asyncio", "uvloop"])
def served(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Yield one service of each kind, shared by all tests."""
    if request.param == "asyncio":
        with PetStoreMock(api_key=KEY) as petstore:
            yield petstore
    else:
        pytest.importorskip("uvloop")
        with stub("--api-key", KEY, "--quiet") as running, connect(running.url, world="default") as remote:
            yield remote


@pytest.fixture
def petstore(served: Any) -> Iterator[PetStoreMock]:  # PetStoreMock or RemotePetStore
    """Yield the default world without animals; afterwards, check that it still serves and nothing failed inside."""
    served.reset()
    yield served
    with Raw(served) as client:
        assert client.call(OTHER).status == 204
    served.verify()
    served.reset()


@pytest.fixture
def dial(petstore: PetStoreMock) -> Iterator[Callable[..., Raw]]:
    """Yield a function that opens connections; they close after the test."""
    clients: list[Raw] = []

    def open_one(**options: int) -> Raw:
        clients.append(Raw(petstore, **options))
        return clients[-1]

    yield open_one
    for client in clients:
        client.socket.close()


@pytest.fixture
def client(dial: Callable[..., Raw]) -> Raw:
    return dial()


@pytest.fixture
def settle(dial: Callable[..., Raw]) -> Callable[[], None]:
    """Return a function that waits until the service has read all earlier bytes: one loop reads them in order."""
    other = dial()

    def wait() -> None:
        for _ in range(2):
            assert other.call(OTHER).status == 204

    return wait
