"""A connection from an earlier test can fail the next test only if it completes a head in the next test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from petstore_mock import PetStoreMock, VerificationError
from tests.wire.raw import AUTH, KEY, OTHER, Raw

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


def send_until_read(client: Raw, home: PetStoreMock, data: bytes) -> None:
    """Send bytes that get no response yet, and wait until the service has read them."""
    client.send(data)
    with Raw(home) as other:
        for _ in range(2):  # one loop serves both connections in order
            other.call(OTHER)


def journalled(home: PetStoreMock) -> list[int | None]:
    return [entry.status for entry in home.journal if entry.method != "OPTIONS"]


# The bytes before a reset, the bytes after it (None for a half-close), and the statuses in the next test's journal.
AFTER_A_RESET: dict[str, tuple[bytes, bytes | None, list[int]]] = {
    "half a method": (b"G", None, []),
    "half a head": (HALF, None, []),
    "a CR, which begins no head": (b"\r", None, []),
    "a head that becomes invalid": (HALF, b"no field\r\n\r\n", []),
    "a whole head without a key": (HALF, b"\r\n", [401]),
    "a whole head": (HALF, AUTH.encode() + b"\r\n\r\n", [200]),
}


@pytest.mark.parametrize(("before", "after", "statuses"), AFTER_A_RESET.values(), ids=AFTER_A_RESET)
def test_only_a_head_completed_after_a_reset_belongs_to_the_next_test(
    home: PetStoreMock, client: Raw, before: bytes, after: bytes | None, statuses: list[int]
) -> None:
    """Further requests on its connection belong to the next test too."""
    send_until_read(client, home, before)
    home.reset()
    if after is None:
        assert client.half_close().rest()[:12] == (b"" if before == b"\r" else b"HTTP/1.1 400")
    else:
        assert client.send(after).response().status == (statuses or [400])[0]
    assert journalled(home) == statuses
    if statuses:
        assert client.send(b"no head\r\n\r\n").response().status == 400
        assert journalled(home) == [*statuses, 400]
        with pytest.raises(VerificationError):
            home.verify()
        return
    home.verify()


@pytest.mark.parametrize("where", ["here", "before a restore", "outside a fresh world", "in a fresh world"])
def test_half_a_head_belongs_to_the_world_in_which_it_began(home: PetStoreMock, client: Raw, where: str) -> None:
    """A restore keeps the journal, because the test is the same."""
    snapshot = home.snapshot()
    if where == "in a fresh world":
        with home.fresh(strict=False):
            send_until_read(client, home, HALF)
    else:
        send_until_read(client, home, HALF)
    if where == "before a restore":
        home.restore(snapshot)
    if where == "outside a fresh world":
        with home.fresh():
            assert client.half_close().response().status == 400
    else:
        assert client.half_close().response().status == 400
    if where == "in a fresh world":
        assert journalled(home) == []
        home.verify()
        return
    assert journalled(home) == [400]
    assert (condition := home.journal.last.condition) is not None
    assert condition.name == "malformed_request"
    with pytest.raises(VerificationError):
        home.verify()


SUITE = """
    import socket
    from urllib.parse import urlsplit

    def dial(petstore):
        parts = urlsplit(petstore.url)
        return socket.create_connection((parts.hostname, parts.port), timeout=5)

    def test_a(petstore):
        global client
        client = dial(petstore)
        client.sendall(b"GET /v1/pets HTTP/1.1\\r\\nHost: x\\r\\n")
        with dial(petstore) as other:
            for _ in range(2):
                other.sendall(b"OPTIONS /v1/pets HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
                assert other.recv(1000)

    def test_b(petstore):
        with client:
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1000).startswith(b"HTTP/1.1 400 ")
        assert len(petstore.journal) == 0
"""


def test_half_a_head_of_an_earlier_test_is_a_leak_of_that_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    done = pytester.runpytest("-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function")
    done.assert_outcomes(passed=2)
    (line,) = [line for line in done.outlines if "malformed_request" in line]
    assert "test_a" in line
    assert "GET /v1/pets" in line
