"""A fixed sequence of requests. The golden files show its journal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from petstore_mock import PetStoreMock, faults
from tests.client import Client

KEY = "a-fixed-key-of-the-team"


@pytest.fixture
def day() -> Iterator[PetStoreMock]:
    """Yield a fake with eight requests in its journal: successes, refusals and faults."""
    with PetStoreMock(control=True, api_key=KEY) as petstore, Client(petstore) as client:
        petstore.clock.travel_to("2026-03-02T09:30:00Z")
        petstore.clock.freeze()
        client.list("?limit=2")
        client.create(name="Rex", categoryId=1)
        petstore.inject(faults.reset(), on="createPet", at="after_commit", times=1)
        client.status("createPet", body={"name": "Tom", "categoryId": 2})
        client.create(name="<b>Bella</b>", categoryId="three", colour="brown")
        petstore.inject(faults.rate_limited(7), on="listPets", times=1)
        client.status("listPets", query="?limit=20")
        client.get(99)
        client.status("listPets", key="nobodys-key")
        client.get(1)
        yield petstore
