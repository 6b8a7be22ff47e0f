"""What a finished test left open on the wire is not held against the next one."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from petstore_mock import PetStoreMock, VerificationError
from petstore_mock.transport.server import WireServer
from tests.inside.live.raw import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

HALF = b"GET /v1/pets HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def petstore() -> PetStoreMock:
    petstore = PetStoreMock(strict=True)
    petstore.tenant.renew("test_a")
    return petstore


@pytest.fixture
def server(petstore: PetStoreMock) -> Iterator[WireServer]:
    server = WireServer(petstore.host.worlds, linger_timeout=0.1)  # which makes it look often
    server.start()
    yield server
    server.stop()


@pytest.fixture
def client(server: WireServer) -> Iterator[RawClient]:
    with RawClient(server) as client:
        yield client


def send_and_see_it_read(client: RawClient, server: WireServer, data: bytes) -> None:
    """Send what gets no answer yet; when this returns, the server has read it."""
    client.send(data)
    with RawClient(server) as other:
        for _ in range(2):  # one loop serves both: what was ready before the second request is read by its answer
            other.get("/nowhere")


def end(client: RawClient) -> int:
    """Send no more; return the status of what is answered to that."""
    client.socket.shutdown(socket.SHUT_WR)
    return client.answer().status


def leaks(petstore: PetStoreMock) -> list[tuple[str, str]]:
    return [(leak.owner, leak.request) for leak in petstore.host.worlds.leaks]


@pytest.mark.parametrize(
    ("half", "told"),
    [
        pytest.param(b"G", "a request without a readable head", id="method"),
        pytest.param(HALF, "GET /v1/pets", id="fields"),
        pytest.param(b"\r", "a request without a readable head", id="a CR"),
    ],
)
def test_half_a_head_that_ends_in_the_next_test_is_the_earlier_ones(
    petstore: PetStoreMock, server: WireServer, client: RawClient, half: bytes, told: str
) -> None:
    send_and_see_it_read(client, server, half)
    petstore.tenant.renew("test_b")
    assert end(client) == 400
    assert len(petstore.journal) == 0
    petstore.verify()
    assert leaks(petstore) == [("test_a", f"{told} (malformed_request)")]


def test_half_a_head_that_times_out_in_the_next_test_is_the_earlier_ones(
    petstore: PetStoreMock, server: WireServer, client: RawClient
) -> None:
    send_and_see_it_read(client, server, HALF)
    petstore.tenant.renew("test_b")
    server.state.head_timeout = 0.0  # not before: it must not happen in test_a
    assert client.answer().status == 408
    assert client.is_closed()
    assert len(petstore.journal) == 0
    petstore.verify()
    assert leaks(petstore) == [("test_a", "GET /v1/pets (request_timeout)")]


def test_head_that_turns_out_wrong_in_the_next_test_is_the_earlier_ones(
    petstore: PetStoreMock, server: WireServer, client: RawClient
) -> None:
    send_and_see_it_read(client, server, HALF)
    petstore.tenant.renew("test_b")
    assert client.send(b"no field\r\n\r\n").answer().status == 400
    assert len(petstore.journal) == 0
    assert [owner for owner, _ in leaks(petstore)] == ["test_a"]


def test_half_a_head_of_the_present_test_is_its_violation(petstore: PetStoreMock, client: RawClient) -> None:
    petstore.tenant.renew("test_b")
    client.send(HALF)
    assert end(client) == 400
    assert [entry.condition.name for entry in petstore.journal.kept if entry.condition] == ["malformed_request"]
    with pytest.raises(VerificationError):
        petstore.verify()
    assert leaks(petstore) == []


def test_connection_that_finished_its_half_head_starts_anew(
    petstore: PetStoreMock, server: WireServer, client: RawClient
) -> None:
    """What the next test does wrong on a connection of the earlier one is its own."""
    send_and_see_it_read(client, server, HALF)
    petstore.tenant.renew("test_b")
    assert client.send(f"Authorization: Bearer {petstore.api_key}\r\n\r\n".encode()).answer().status == 200
    client.send(b"no head\r\n\r\n")
    assert client.answer().status == 400
    assert len(petstore.journal) == 2
    assert leaks(petstore) == []


def test_half_a_head_from_before_a_reset_is_not_journalled_after_it(
    petstore: PetStoreMock, server: WireServer, client: RawClient
) -> None:
    petstore.tenant.renew(None)
    send_and_see_it_read(client, server, HALF)
    petstore.reset()
    assert end(client) == 400
    assert len(petstore.journal) == 0
    assert leaks(petstore) == [], "nobody is known who could answer for it"


def test_half_a_head_from_before_a_restore_is_still_a_violation(
    petstore: PetStoreMock, server: WireServer, client: RawClient
) -> None:
    """The journal goes on over a restore: the test is the same."""
    snapshot = petstore.snapshot()
    send_and_see_it_read(client, server, HALF)
    before = len(petstore.journal)
    petstore.restore(snapshot)
    assert end(client) == 400
    assert len(petstore.journal) == before + 1
    assert leaks(petstore) == []


def test_half_a_head_from_outside_a_fresh_world_is_journalled_outside(
    petstore: PetStoreMock, server: WireServer, client: RawClient
) -> None:
    send_and_see_it_read(client, server, HALF)
    before = len(petstore.journal)
    with petstore.fresh() as inner:
        assert end(client) == 400
        assert len(inner.journal) == 0
    assert len(petstore.journal) == before + 1
    assert leaks(petstore) == []


def test_half_a_head_from_a_fresh_world_that_ended_is_a_leak(
    petstore: PetStoreMock, server: WireServer, client: RawClient
) -> None:
    with petstore.fresh(strict=False):
        send_and_see_it_read(client, server, HALF)
    assert end(client) == 400
    assert len(petstore.journal) == 0
    assert [owner for owner, _ in leaks(petstore)] == ["test_a"]
