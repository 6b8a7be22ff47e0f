"""What an earlier test left open on the wire is not held against the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from petstore_mock import PetStoreMock, VerificationError
from tests.wire.raw import AUTH, KEY, OTHER, Raw

if TYPE_CHECKING:
    from collections.abc import Iterator

HALF = b"GET /v1/pets HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def home() -> Iterator[PetStoreMock]:
    home = PetStoreMock(strict=True, api_key=KEY).start()
    yield home
    home.stop()


@pytest.fixture
def client(home: PetStoreMock) -> Iterator[Raw]:
    with Raw(home) as client:
        assert client.call(OTHER).status == 204
        home.reset()
        yield client


def send_and_see_it_read(client: Raw, home: PetStoreMock, data: bytes) -> None:
    """Send what gets no response yet; when this returns, the service has read it."""
    client.send(data)
    with Raw(home) as other:
        for _ in range(2):  # one loop serves both
            other.call(OTHER)


def end(client: Raw) -> int:
    """Send no more; return the status of the response to that."""
    return client.half_close().response().status


@pytest.mark.parametrize("half", [b"G", HALF, b"\r"], ids=["method", "fields", "CR"])
def test_half_a_head_from_before_a_reset_is_not_journalled_after_it(
    home: PetStoreMock, client: Raw, half: bytes
) -> None:
    send_and_see_it_read(client, home, half)
    home.reset()
    client.half_close()
    assert client.rest()[:12] in {b"HTTP/1.1 400", b""}  # a CR alone is no head yet
    assert len(home.journal) == 0
    home.verify()


def test_head_that_turns_out_wrong_after_a_reset_is_not_journalled(home: PetStoreMock, client: Raw) -> None:
    send_and_see_it_read(client, home, HALF)
    home.reset()
    assert client.send(b"no field\r\n\r\n").response().status == 400
    assert len(home.journal) == 0
    home.verify()


@pytest.mark.parametrize("rest", [b"\r\n", AUTH.encode() + b"\r\n\r\n"], ids=["no key", "key"])
def test_head_that_becomes_whole_after_a_reset_is_a_request_like_any(
    home: PetStoreMock, client: Raw, rest: bytes
) -> None:
    """And what follows on its connection is the next test's own."""
    send_and_see_it_read(client, home, HALF)
    home.reset()
    assert client.send(rest).response().status == (401 if rest == b"\r\n" else 200)
    assert len(home.journal) == 1
    assert client.send(b"no head\r\n\r\n").response().status == 400
    assert len(home.journal) == 2
    with pytest.raises(VerificationError):
        home.verify()


def test_half_a_head_of_the_present_test_is_its_violation(home: PetStoreMock, client: Raw) -> None:
    client.send(HALF)
    assert end(client) == 400
    (entry,) = home.journal
    assert entry.condition is not None
    assert entry.condition.name == "malformed_request"
    with pytest.raises(VerificationError):
        home.verify()


def test_half_a_head_from_before_a_restore_is_still_a_violation(home: PetStoreMock, client: Raw) -> None:
    """The journal goes on over a restore: the test is the same."""
    snapshot = home.snapshot()
    send_and_see_it_read(client, home, HALF)
    before = len(home.journal)
    home.restore(snapshot)
    assert end(client) == 400
    assert len(home.journal) == before + 1
    with pytest.raises(VerificationError):
        home.verify()


def test_half_a_head_from_outside_a_fresh_world_is_journalled_outside(home: PetStoreMock, client: Raw) -> None:
    send_and_see_it_read(client, home, HALF)
    before = len(home.journal)
    with home.fresh() as inner:
        assert end(client) == 400
        assert len(inner.journal) == 0
    assert len(home.journal) == before + 1


def test_half_a_head_from_a_fresh_world_that_ended_is_journalled_nowhere(home: PetStoreMock, client: Raw) -> None:
    with home.fresh(strict=False):
        send_and_see_it_read(client, home, HALF)
    assert end(client) == 400
    assert len(home.journal) == 0
    home.verify()


SUITE = """
    import socket
    from urllib.parse import urlsplit

    clients = []

    def other(petstore):
        parts = urlsplit(petstore.url)
        with socket.create_connection((parts.hostname, parts.port), timeout=5) as client:
            for _ in range(2):
                client.sendall(b"OPTIONS /v1/pets HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
                assert client.recv(1000)

    def test_a(petstore):
        parts = urlsplit(petstore.url)
        clients.append(socket.create_connection((parts.hostname, parts.port), timeout=5))
        clients[0].sendall(b"GET /v1/pets HTTP/1.1\\r\\nHost: x\\r\\n")
        other(petstore)

    def test_b(petstore):
        clients[0].shutdown(socket.SHUT_WR)
        assert clients[0].recv(1000).startswith(b"HTTP/1.1 400 ")
        clients[0].close()
        assert len(petstore.journal) == 0

    def test_c(petstore):
        assert len(petstore.journal) == 0
"""


def test_half_a_head_of_an_earlier_test_is_a_leak_of_that_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    done = pytester.runpytest("-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function")
    done.assert_outcomes(passed=3)
    (line,) = [line for line in done.outlines if "malformed_request" in line]
    assert "test_a" in line
    assert "GET /v1/pets" in line
