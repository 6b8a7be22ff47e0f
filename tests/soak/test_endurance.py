"""After minutes of load, the process has the same threads and descriptors, and hardly more memory."""

from __future__ import annotations

import gc
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from petstore_mock import PetStoreMock, faults
from tests.client import JSON, Client, Response

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not show resident memory"),
]

REQUESTS = 1_000_000
CYCLES = 10_000
GROWTH = 10 << 20  # bytes
CONNECTIONS = 8
MORE_LOOKS = 3
PIPELINED = 25

ASKED = (
    ("GET", "/v1/pets", b"200"),
    ("GET", "/v1/pets/1", b"200"),
    ("GET", "/v1/pets?limit=3&status=sold", b"200"),
    ("GET", "/v1/pets/999", b"404"),
    ("GET", "/v1/pets?limit=0", b"400"),
)


@dataclass(frozen=True)
class Footprint:
    """The resources of this process."""

    memory: int
    threads: int
    descriptors: int

    @classmethod
    def now(cls) -> Footprint:
        gc.collect()
        lines = Path("/proc/self/status").read_text().splitlines()
        resident = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
        return cls(resident * 1024, threading.active_count(), len(list(Path("/proc/self/fd").iterdir())))


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    with PetStoreMock(seed=20) as petstore:
        yield petstore


def assert_flat(before: Footprint, after: Footprint) -> None:
    assert after.threads == before.threads
    assert after.descriptors == before.descriptors
    assert after.memory - before.memory <= GROWTH, f"{(after.memory - before.memory) / (1 << 20):.1f} MiB more"


def connect(petstore: PetStoreMock) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(urlsplit(petstore.url).port or 0)), timeout=30)


def response_length(client: socket.socket, requests: bytes) -> int:
    """Send the requests once, and return the length of their responses. It is constant: only the dates change."""
    client.sendall(requests)
    received = b""
    while received.count(b"HTTP/1.1 ") < len(ASKED) or not received.endswith(b"}"):
        received += client.recv(65536)
    assert re.findall(rb"HTTP/1.1 ([0-9]+) ", received) == [status for _, _, status in ASKED]
    return len(received)


def load(clients: list[socket.socket], requests: bytes, length: int, count: int) -> int:
    """Send at least ``count`` requests, read the responses, and return the number of requests."""
    sent = 0
    while sent < count:
        for client in clients:
            client.sendall(requests * PIPELINED)
        for client in clients:
            left = length * PIPELINED
            while left:
                received = len(client.recv(min(left, 1 << 20)))
                assert received, "the connection was closed"
                left -= received
        sent += len(clients) * PIPELINED * len(ASKED)
    return sent


def test_a_million_requests_leave_memory_threads_and_descriptors_as_they_were(petstore: PetStoreMock) -> None:
    """Tests in tests/wire show that requests leave no reference cycles."""
    head = f"Host: soak\r\nAuthorization: Bearer {petstore.api_key}\r\n\r\n"
    requests = "".join(f"{method} {target} HTTP/1.1\r\n{head}" for method, target, _ in ASKED).encode()
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(petstore)) for _ in range(CONNECTIONS)]
        length = response_length(clients[0], requests)
        load(clients, requests, length, 50_000)  # fills the journal
        before, earlier = Footprint.now(), petstore.journal[-1].number
        sent = load(clients, requests, length, REQUESTS)
        assert petstore.journal[-1].number - earlier == sent
        # The free memory that the allocator holds varies by some MiB. A leak shows each time.
        after = [Footprint.now()]
        for _ in range(MORE_LOOKS):
            load(clients, requests, length, 50_000)
            after.append(Footprint.now())
        assert_flat(before, min(after, key=lambda footprint: footprint.memory))


def cycle(petstore: PetStoreMock) -> None:
    """Reset the fake, and do what a small test does."""
    petstore.reset()
    assert [pet["id"] for pet in petstore.pets] == list(range(1, 21))
    petstore.inject(503, on="listPets", times=1)
    with Client(petstore) as client:
        statuses = [client.create(name="Rex", categoryId=1, status="sold").status, client.status()]
        statuses += [client.list("?status=sold").status, client.post(b"{}").status]
    assert statuses == [201, 503, 200, 400]
    assert len(petstore.journal) == 4
    petstore.verify()


def footprint_at_rest() -> Footprint:
    """Wait until the listener has closed its end of the last connection, and the threads of its calls have ended."""
    pause = threading.Event()
    footprint, earlier = Footprint.now(), None
    while earlier is None or footprint.descriptors < earlier.descriptors or footprint.threads < earlier.threads:
        pause.wait(0.5)
        footprint, earlier = Footprint.now(), footprint
    return footprint


def test_ten_thousand_cycles_of_a_test_leave_memory_threads_and_descriptors_as_they_were(
    petstore: PetStoreMock,
) -> None:
    for _ in range(500):
        cycle(petstore)
    before = footprint_at_rest()
    for _ in range(CYCLES):
        cycle(petstore)
    assert_flat(before, footprint_at_rest())


def test_starting_and_stopping_a_thousand_times_leaves_threads_and_descriptors_as_they_were() -> None:
    def once() -> None:
        with PetStoreMock() as petstore, connect(petstore) as client:
            client.sendall(b"GET /v1/pets HTTP/1.1\r\nHost: soak\r\n\r\n")
            assert client.recv(65536).startswith(b"HTTP/1.1 401 ")

    for _ in range(20):
        once()
    before = Footprint.now()
    for _ in range(1000):
        once()
    assert_flat(before, Footprint.now())


def test_worlds_that_end_leave_memory_as_it_was() -> None:
    """Each has animals, requests with large bodies, a snapshot, and leaks after its end."""

    def once(door: Client, number: int) -> None:
        def ask(method: str, path: str, *fields: tuple[str, str], content: bytes | None = None) -> Response:
            return door.bare(method, f"/w/soak-{number}{path}", [JSON, *fields], content)

        made = ask("PUT", "/__petstore/world", content=b'{"seed": 50}').json()
        key = ("Authorization", f"Bearer {made['api_key']}")
        for part in range(10):
            body = b'{"name": "%b", "categoryId": 1, "x": [%b1]}' % (b"n" * 40_000, b"[]," * 10_000)
            assert ask("POST", f"/v1/pets?x={part}", key, content=body).status == 400
        assert ask("POST", "/__petstore/snapshots").status == 201
        assert ask("GET", "/__petstore/requests").status == 200
        assert ask("DELETE", "/__petstore/world").status == 200
        assert ask("GET", "/v1/pets", key).status == 404

    with PetStoreMock(control=True) as petstore, Client(petstore) as door:
        for number in range(30):
            once(door, number)
        before = footprint_at_rest()
        for number in range(30, 100):
            once(door, number)
        assert_flat(before, footprint_at_rest())


def test_a_journal_of_large_bodies_has_a_bound_in_bytes(petstore: PetStoreMock) -> None:
    with Client(petstore) as client:

        def send(count: int) -> None:
            for number in range(count):
                client.bare(
                    "POST", f"/v1/pets?x={number}", [("Authorization", f"Bearer {petstore.api_key}")], b"x" * 60_000
                )

        send(4000)  # fills the journal
        before = footprint_at_rest()
        send(2000)
        assert_flat(before, footprint_at_rest())


def test_hung_requests_and_abandoned_waits_leave_memory_and_threads_as_they_were() -> None:
    def once(petstore: PetStoreMock) -> None:
        petstore.inject(faults.hang(), times=20)
        wait = b'{"times": 100000, "timeout": 25}'
        door = f"POST /__petstore/requests/wait HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n"
        with ExitStack() as stack:
            clients = [stack.enter_context(connect(petstore)) for _ in range(22)]
            for client in clients[:20]:
                client.sendall(
                    f"GET /v1/pets HTTP/1.1\r\nHost: soak\r\nAuthorization: Bearer {petstore.api_key}\r\n\r\n".encode()
                )
            for client in clients[20:]:
                client.sendall(f"{door}Content-Length: {len(wait)}\r\n\r\n".encode() + wait)
            petstore.journal.wait_for(times=20, timeout=30, fault="hang")
        petstore.reset()

    with PetStoreMock(control=True) as petstore:
        address = urlsplit(petstore.url).netloc
        for _ in range(20):
            once(petstore)
        before = footprint_at_rest()
        for _ in range(100):
            once(petstore)
        assert_flat(before, footprint_at_rest())


def test_heads_that_differ_and_large_bodies_leave_memory_as_it_was(petstore: PetStoreMock) -> None:
    """The caches of heads and requests have a bound in bytes; a body leaves the memory with its request."""
    body = b'{"name":"%b","categoryId":1}' % (b"n" * 900_000)
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)

    def call(client: socket.socket, target: str, *fields: str, content: bytes = b"") -> None:
        lines = [f"{'POST' if content else 'GET'} {target} HTTP/1.1", "Host: soak", *fields, "", ""]
        client.sendall("\r\n".join(lines).encode() + content)
        received = client.recv(65536)
        assert received.startswith(b"HTTP/1.1 "), received
        assert received.endswith(b"}"), received

    def once(number: int) -> None:
        with connect(petstore) as client:
            # Without a key, each is refused, so that the store does not grow.
            for part in range(10):
                call(client, "/v1/pets", f"X-Large: {number}.{part}{'x' * 60_000}")
                call(client, f"/v1/pets?x={number}.{part}", f"X-Small: {number}.{part}", "X-Same: " + "z" * 1000)
        for framing, content in ((f"Content-Length: {len(body)}", body), ("Transfer-Encoding: chunked", chunked)):
            with connect(petstore) as client, suppress(ConnectionError):
                key = f"Authorization: Bearer {petstore.api_key}"
                call(client, "/v1/pets", "Content-Type: text/plain", key, framing, content=content)
        if number % 10 == 0:
            petstore.reset()

    for number in range(20):
        once(number)
    petstore.reset()
    before = footprint_at_rest()
    for number in range(20, 600):
        once(number)
    petstore.reset()
    assert_flat(before, footprint_at_rest())
