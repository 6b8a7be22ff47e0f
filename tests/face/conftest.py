"""The object that a test author holds, at home and from another process: each test here runs over both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import PetStoreMock, connect
from tests.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def stub() -> Iterator[PetStoreMock]:
    """Give a stub with a control door, for all worlds elsewhere."""
    with PetStoreMock(control=True) as stub:
        yield stub


@pytest.fixture(params=["home", "remote"])
def carrier(request: pytest.FixtureRequest) -> str:
    """Name where the object is: ``home``, without a listener, or ``remote``; ``listening`` where a test asks for it."""
    return str(request.param)


@pytest.fixture
def petstore(carrier: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Give the object; leaving its block verifies it."""
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
def client(petstore: Any) -> Iterator[Client]:  # noqa: ANN401  # PetStoreMock or its twin elsewhere
    with Client(petstore) as client:
        yield client
