"""The contract suite runs over each carrier, because a response must not depend on the carrier."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import pytest

from petstore_mock import PetStoreMock
from tests.client import Client


class Serve(Protocol):
    """Returns a client of a new fake with these options of ``PetStoreMock``."""

    def __call__(self, **options: Any) -> Client: ...


def _client(stack: ExitStack, over: str, **options: Any) -> Client:
    petstore = PetStoreMock(**options)
    if over == "socket":
        stack.enter_context(petstore)
    return stack.enter_context(Client(petstore, over))


@pytest.fixture(scope="session", params=["wsgi", "socket"])
def over(request: pytest.FixtureRequest) -> str:
    """Return the name of the carrier."""
    return str(request.param)


@pytest.fixture(scope="session")
def kept(over: str) -> Iterator[Client]:
    """Keep one fake for all tests of a carrier that need no options."""
    with ExitStack() as stack:
        yield _client(stack, over)


@pytest.fixture
def client(kept: Client) -> Iterator[Client]:
    """Return a client of an empty fake with the default behaviour, and verify the fake afterwards."""
    yield kept
    try:
        kept.petstore.verify()
    finally:
        kept.petstore.reset()


@pytest.fixture
def serve(over: str) -> Iterator[Serve]:
    """Make fakes with options, and verify each of them at the end."""
    with ExitStack() as stack:

        def make(**options: Any) -> Client:
            client = _client(stack, over, **options)
            stack.callback(client.petstore.verify)
            return client

        yield make
