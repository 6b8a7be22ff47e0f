"""The object that a test author uses. Most tests here run with a ``PetStoreMock`` and with a ``connect()`` object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from petstore_mock import PetStoreMock, connect
from tests.client import Client

# For tests that need a socket: the object of the default parameter `home` does not listen.
on_a_socket = pytest.mark.parametrize("carrier", ["listening", "remote"], indirect=True)


@pytest.fixture(scope="session")
def stub() -> Iterator[PetStoreMock]:
    """Start a stub with a control door, for all worlds of ``connect()``."""
    with PetStoreMock(control=True) as stub:
        yield stub


@pytest.fixture(params=["home", "remote"])
def carrier(request: pytest.FixtureRequest) -> str:
    """Return ``home`` (no listener) or ``remote``. A test may also request ``listening``."""
    return str(request.param)


@pytest.fixture
def petstore(carrier: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return the object, and verify it at the end."""
    match carrier:
        case "home":
            home = PetStoreMock()
            yield home
            home.verify()
        case "listening":
            with PetStoreMock() as listening:
                yield listening
        case _:
            with connect(request.getfixturevalue("stub").url) as remote:
                yield remote


@pytest.fixture
def client(petstore: Any) -> Iterator[Client]:  # PetStoreMock or RemotePetStore
    with Client(petstore) as client:
        yield client
