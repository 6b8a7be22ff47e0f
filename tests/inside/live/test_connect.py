"""``connect()``: which world it steers, and what only another process meets."""

from __future__ import annotations

import http.client
import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from petstore_mock import (
    ApiRequest,
    PetStoreMock,
    PetStoreMockError,
    RemotePetStore,
    VerificationError,
    connect,
    faults,
)
from petstore_mock.control.admission import Admission
from petstore_mock.control.mount import door_of
from petstore_mock.core.tenants import Tenants
from petstore_mock.journal.journal import Journal
from petstore_mock.transport.listener import Listener

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def stub() -> Iterator[PetStoreMock]:
    with PetStoreMock(control=True) as stub:
        yield stub


def ask(petstore: PetStoreMock | RemotePetStore, path: str = "/pets", key: str | None = None) -> int:
    parts = urlsplit(petstore.url)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    connection.request("GET", parts.path + path, headers={"Authorization": f"Bearer {key or petstore.api_key}"})
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


def worlds(stub: PetStoreMock) -> list[str]:
    parts = urlsplit(stub.control_url)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    connection.request("GET", "/__petstore/worlds")
    found = [one["name"] for one in json.loads(connection.getresponse().read())["worlds"]]
    connection.close()
    return found


def test_without_a_name_a_world_lasts_as_long_as_the_block(stub: PetStoreMock) -> None:
    with connect(stub.url) as one, connect(stub.control_url) as two:
        assert one.url != two.url
        assert one.control_url.endswith(f"{urlsplit(one.url).path.removesuffix('/v1')}/__petstore/")
        one.seed(name="Rex")
        assert two.pets == []
        assert len(worlds(stub)) == 3
        assert ask(one) == ask(two) == 200
        assert len(one.journal) == 1
    assert worlds(stub) == ["default"]
    assert ask(one) == 404


def test_leaving_the_block_verifies_and_ends_the_world_all_the_same(stub: PetStoreMock) -> None:
    with pytest.raises(VerificationError, match="never fired") as caught, connect(stub.url) as petstore:  # noqa: PT012
        petstore.inject(503, times=1)
        ask(petstore, "/pets?limit=x")
    (note,) = caught.value.__notes__
    assert note.startswith("petstore journal of http://127.0.0.1")
    assert "request 1 broke the contract: GET /v1/pets?limit=x" in note
    assert worlds(stub) == ["default"]


@pytest.mark.parametrize("by_address", [False, True])
def test_a_name_is_made_if_it_is_not_there_and_left_as_it_is(stub: PetStoreMock, by_address: bool) -> None:
    root = stub.url.removesuffix("/v1")

    def steer() -> RemotePetStore:
        return connect(f"{root}/w/mine/v1") if by_address else connect(root, world="mine")

    with steer() as petstore:
        petstore.seed(name="Rex")
        petstore.inject(503, times=1)
    with steer() as again:
        assert [pet["name"] for pet in again.pets] == ["Rex"]
        assert again.api_key == petstore.api_key
        assert ask(again) == 503
    assert worlds(stub) == ["default", "mine"]


def test_default_is_the_world_at_the_root(stub: PetStoreMock) -> None:
    with connect(stub.url, world="default") as petstore:
        petstore.seed(name="Rex")
        assert petstore.url == stub.url
        assert petstore.api_key == stub.api_key
        ask(petstore)
        assert len(petstore.journal) == 1
    assert [pet["name"] for pet in stub.pets] == ["Rex"]
    assert ask(stub) == 200


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8080",
        "ftp://127.0.0.1",
        None,
        8080,
        "http://",
        "http://127.0.0.1:99999",
        "http://[::1",
        b"http://a",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(PetStoreMockError, match="expected the address of a stub"):
        connect(url)


@pytest.mark.parametrize("world", ["..", "a/b", "", "x" * 101, 7])
def test_a_name_that_no_world_can_have_is_refused(stub: PetStoreMock, world: str) -> None:
    with pytest.raises(PetStoreMockError, match="expected"):
        connect(stub.url, world=world)


def test_two_names_at_once_are_refused(stub: PetStoreMock) -> None:
    with pytest.raises(PetStoreMockError, match="expected one world"):
        connect(f"{stub.url.removesuffix('/v1')}/w/one/v1", world="two")


def test_nobody_there_and_a_closed_door_are_told_apart() -> None:
    with PetStoreMock() as closed:
        url = closed.url
        with pytest.raises(PetStoreMockError, match="is the door closed"):
            connect(url)
        closed.tenant.excuse()
    with pytest.raises(PetStoreMockError, match=r"expected a stub of petstore-mock at .*petstore-mock serve"):
        connect(url)


def test_a_process_may_have_thousands_of_files_open(stub: PetStoreMock) -> None:
    resource: Any = pytest.importorskip("resource")  # Windows has none, nor the limit
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 1300:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 1300), hard))
    with ExitStack() as files:
        for _ in range(1024):  # from which on select() takes none
            files.enter_context(Path(os.devnull).open("rb"))
        with connect(stub.url) as petstore:
            petstore.seed(name="Rex")
            assert [pet["name"] for pet in petstore.pets] == ["Rex"]


def test_a_token_is_sent_and_a_wrong_one_refused() -> None:
    home = PetStoreMock()
    door = door_of(
        Tenants(home.tenant),
        Admission(token="secret-token"),
        mounted_by=lambda: listener.wire,
        service=None,
    )
    listener = Listener(home.host.worlds, host="127.0.0.1", port=0, mounted=door)
    listener.start()
    try:
        url = str(listener.url_for("/v1"))
        with connect(url, token="secret-token") as petstore:
            assert ask(petstore) == 200
        for unsendable in ("secret\ntoken", "\u20ac", " secret-token", 7):
            with pytest.raises(PetStoreMockError, match="expected a control token of printable ASCII"):
                connect(url, token=unsendable)  # type: ignore[arg-type]
        for wrong in (None, "another"):
            with pytest.raises(PetStoreMockError, match="Petstore-Control-Token"):
                connect(url, token=wrong)
    finally:
        listener.stop()


@pytest.mark.parametrize("name", ["app", "asgi", "httpserver", "requests_session"])
def test_what_needs_the_same_process_says_what_to_do_instead(stub: PetStoreMock, name: str) -> None:
    with connect(stub.url) as petstore:
        with pytest.raises(PetStoreMockError, match="expected the process of the stub"):
            getattr(petstore, name)
        with pytest.raises(PetStoreMockError, match="where="):
            petstore.inject(503, when=lambda _: True)
        with pytest.raises(AttributeError):
            petstore.no_such_name  # type: ignore[attr-defined]  # noqa: B018
        with pytest.raises(PetStoreMockError, match="self_check"), petstore.fresh(self_check=True):
            pass
        with pytest.raises(PetStoreMockError, match="JSON"):
            petstore.seed(name=float("nan"))  # type: ignore[arg-type]


def test_a_snapshot_of_another_world_is_refused(stub: PetStoreMock) -> None:
    with connect(stub.url) as one, connect(stub.url) as two:
        with pytest.raises(PetStoreMockError, match="snapshot of this world"):
            two.restore(one.snapshot())
        before = one.snapshot()
        one.tenant.make({})
        with pytest.raises(PetStoreMockError, match="snapshot of this world"):
            one.restore(before)


def test_what_was_seen_stays_when_the_stub_forgets_it_and_what_was_not_is_no_guess(stub: PetStoreMock) -> None:
    door = connect(stub.url, world="default")
    with connect(stub.url) as petstore:
        world = stub.host.worlds.named.get(urlsplit(petstore.url).path.split("/")[2])
        assert world is not None
        world.journal = Journal(3, ring=True)  # a thousand requests would show the same
        ask(petstore, "/pets?limit=x")
        assert len(petstore.journal) == 1
        for _ in range(3):
            ask(petstore)
        assert [entry.number for entry in petstore.journal] == [1, 2, 3, 4]  # one is gone there
        for _ in range(4):
            ask(petstore)
        assert len(petstore.journal) == 8
        assert petstore.journal[-1].number == 8
        with pytest.raises(PetStoreMockError, match="are gone"):
            petstore.journal.assert_called("createPet")
        assert [entry.number for entry in petstore.journal.violations] == [1]
    door.stop()


def test_somebody_else_s_reset_is_seen(stub: PetStoreMock) -> None:
    with connect(stub.url, world="shared") as one, connect(stub.url, world="shared") as two:
        for _ in range(3):
            ask(one)
        assert len(one.journal) == 3
        two.reset()
        ask(one, "/pets?limit=7")
        assert len(one.journal) == 1
        assert one.journal.last.query == {"limit": "7"}


def test_many_requests_come_in_pages(stub: PetStoreMock) -> None:
    with connect(stub.url, world="default") as petstore:
        for number in range(1005):
            stub.host.worlds.handle(_request(number))
        assert len(petstore.journal) == 1005
        assert petstore.journal[1004].query == {"limit": "1004"}


def _request(number: int) -> ApiRequest:
    return ApiRequest("GET", f"/v1/pets?limit={number}")


def test_a_connection_that_the_stub_has_closed_is_opened_again(stub: PetStoreMock) -> None:
    with connect(stub.url) as petstore:
        for _ in range(3):
            petstore.seed(name="Rex")
            stub.close_connections()
        assert len(petstore.pets) == 3


def test_the_journal_stays_after_the_end(stub: PetStoreMock) -> None:
    with connect(stub.url) as petstore:
        petstore.inject(faults.reset(), times=1)
        with pytest.raises(ConnectionError):
            ask(petstore)
    assert [entry.outcome for entry in petstore.journal] == ["reset"]
