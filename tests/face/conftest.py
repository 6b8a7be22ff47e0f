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
def petstore(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Give the object; leaving its block verifies it."""
    if request.param == "home":
        with PetStoreMock() as petstore:
            yield petstore
    else:
        with connect(request.getfixturevalue("stub").url) as petstore:
            yield petstore


@pytest.fixture
def client(petstore: Any) -> Iterator[Client]:  # noqa: ANN401  # PetStoreMock or its twin elsewhere
    with Client(petstore) as client:
        yield client
