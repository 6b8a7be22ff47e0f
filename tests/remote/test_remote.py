"""What only a world elsewhere has: its name, its end, what it can't do, and what others do to it meanwhile."""

from __future__ import annotations

import urllib.error
import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, RemotePetStore, VerificationError, connect

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def home() -> Iterator[PetStoreMock]:
    with PetStoreMock(control=True) as petstore:
        yield petstore


def ask(petstore: RemotePetStore, query: str = "") -> None:
    request = urllib.request.Request(f"{petstore.url}/pets{query}", headers=petstore.headers)
    with suppress(urllib.error.HTTPError), urllib.request.urlopen(request, timeout=30) as response:
        response.read()


def names(home: PetStoreMock) -> set[str]:
    with connect(home.url, world="default") as root:
        door = root.control_url
    with urllib.request.urlopen(f"{door}worlds", timeout=30) as response:
        return {part.partition('"')[0] for part in response.read().decode().split('"name":"')[1:]}


def test_without_a_name_a_world_lasts_as_long_as_its_block(home: PetStoreMock) -> None:
    with connect(home.control_url) as petstore:
        petstore.seed(name="Rex")
        assert petstore.url.removesuffix("/v1").rpartition("/")[2] in names(home)
        ask(petstore)
    assert names(home) == {"default"}
    assert [exchange.status for exchange in petstore.journal] == [200]


def test_the_end_of_the_block_verifies_and_ends_the_world_all_the_same(home: PetStoreMock) -> None:
    with pytest.raises(VerificationError, match="never fired"), connect(home.url) as petstore:
        petstore.inject(503, times=1)
    assert names(home) == {"default"}


def test_a_name_is_made_if_it_is_not_there_and_stays(home: PetStoreMock) -> None:
    with connect(home.url, world="kept") as petstore:
        petstore.seed(name="Rex")
    for again in (connect(home.url, world="kept"), connect(petstore.url), connect(petstore.control_url)):
        assert [pet["name"] for pet in again.pets] == ["Rex"]
    with connect(home.url, world="default") as root:
        assert (root.api_key, root.url) == (home.api_key, home.url)


@pytest.mark.parametrize("name", ["app", "asgi", "httpserver", "requests_session"])
def test_what_needs_the_same_process_says_what_to_do(home: PetStoreMock, name: str) -> None:
    with connect(home.url) as petstore, pytest.raises(PetStoreMockError, match="petstore"):
        getattr(petstore, name)
    with connect(home.url) as petstore, pytest.raises(PetStoreMockError, match="where="):
        petstore.inject(503, when=lambda _: True)


@pytest.mark.parametrize("url", ["", "here", "ftp://127.0.0.1", "http://127.0.0.1:99999", "http://[::1"])
def test_an_address_that_can_t_be_is_refused(url: str) -> None:
    with pytest.raises(PetStoreMockError, match="address of a stub"):
        connect(url)


def test_nothing_there_and_a_closed_door_are_told_apart(home: PetStoreMock) -> None:
    with PetStoreMock() as closed:
        with pytest.raises(PetStoreMockError, match="control door"):
            connect(closed.url)
        gone = closed.url
    with pytest.raises(PetStoreMockError, match="serve"):
        connect(gone)
    with pytest.raises(PetStoreMockError, match="one world"):
        connect(f"{home.url.removesuffix('/v1')}/w/a/v1", world="b")


def test_a_reset_by_somebody_else_is_noticed(home: PetStoreMock) -> None:
    with connect(home.url, world="shared") as mine, connect(home.url, world="shared") as theirs:
        ask(mine)
        ask(mine, "?limit=0")
        assert [len(mine.journal), len(mine.journal.violations)] == [2, 1]
        theirs.reset()
        ask(mine, "?limit=5")
        assert [exchange.target for exchange in mine.journal] == ["/v1/pets?limit=5"]


def test_a_snapshot_of_another_world_is_refused(home: PetStoreMock) -> None:
    with connect(home.url) as one, connect(home.url) as other:
        snapshot = one.snapshot()
        with pytest.raises(PetStoreMockError, match="snapshot of this world"):
            other.restore(snapshot)
        one.restore(snapshot)
