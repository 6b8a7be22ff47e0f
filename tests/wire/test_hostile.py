"""Broken, hostile and numerous clients: they disturb no other client and leave no resources behind."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from petstore_mock import PetStoreMock, faults
from tests.wire.raw import KEY, OTHER, Raw, eventually, get, open_descriptors, post
from tests.wire.test_malformed import CHUNKED, MALFORMED

LIST = get()


# Clients that close


@pytest.mark.parametrize("part", [b"", b"GET", LIST[:-2], post()[:-3], CHUNKED + b"5\r\nab"], ids=len)
def test_reset_within_a_request_disturbs_no_other_client(
    dial: Callable[[], Raw], petstore: PetStoreMock, part: bytes
) -> None:
    for _ in range(20):
        dial().send(part).reset()
    assert dial().call(OTHER).status == 204
    assert [entry.method for entry in petstore.journal] == ["OPTIONS"]


def test_requests_of_a_client_that_reset_are_dropped() -> None:
    with PetStoreMock(api_key=KEY) as petstore, Raw(petstore) as client, Raw(petstore) as other:

        def reset(_: object) -> bool:
            client.reset()
            return False

        handle = petstore.inject(503, on="listPets", when=reset)
        client.send(LIST + get("/v1/pets/1") * 1000)
        eventually(lambda: len(petstore.journal) >= 1, "the first request")
        assert other.call(OTHER).status == 204
        assert len(petstore.journal) < 20
        handle.cancel()


# Many clients


@pytest.mark.untraced
def test_500_connections_at_once_are_served_beside_incomplete_heads(dial: Callable[[], Raw]) -> None:
    resource: Any = pytest.importorskip("resource")  # Windows has neither the module nor the limit
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 1300:  # this process may have both ends of each connection
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 1300), hard))
    slow = [(dial().send(LIST[: 5 + number % 20]), LIST[5 + number % 20 :]) for number in range(50)]
    clients = [dial().send(LIST) for _ in range(450)]
    for client in reversed(clients):
        assert client.response().status == 200
    for client, rest in slow:
        assert client.send(rest).response().status == 200


# Resources


@pytest.fixture
def home() -> Iterator[PetStoreMock]:
    with PetStoreMock(api_key=KEY) as home:
        yield home


def attack(petstore: PetStoreMock) -> None:
    for sent in [*MALFORMED, LIST[:-2] + b"X: " + b"a" * 70_000, LIST * 5, post() * 3]:
        with Raw(petstore) as client:
            client.send(sent)
        Raw(petstore).send(sent[:-1]).reset()
    with Raw(petstore) as last:  # the server accepts in order, so it has seen all resets
        assert last.call(OTHER).status == 204
    petstore.reset()


@pytest.mark.untraced
def test_hostile_clients_leave_no_resources_behind(home: PetStoreMock) -> None:
    """Threads, descriptors and memory return to their earlier level."""
    with Raw(home) as client:
        assert client.call(post(b"{}")).status == 400  # before the counts: the first refusal imports modules
    idle = open_descriptors() + 4  # descriptors that the process opens once

    def measured() -> int:
        eventually(lambda: open_descriptors() <= idle, "all descriptors closed")
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    attack(home)
    threads = threading.active_count()
    tracemalloc.start()
    attack(home)
    before = measured()
    for _ in range(6):
        attack(home)
    # Some 700 leaked buffers, 1 per connection, would take 50 MB. Wait: the server may still read the last connections.
    eventually(lambda: measured() - before < 150_000, "memory back at its earlier level")
    tracemalloc.stop()
    assert threading.active_count() <= threads


# Reference cycles: a request leaves no garbage for the collector

ASKED = (
    (post(), 201),
    (get("/v1/pets?limit=3"), 200),
    (get("/v1/pets/1"), 200),
    (get("/v1/pets/999999"), 404),
    (get("/v1/pets?limit=0"), 400),
    (get(method="PUT"), 405),
    (post(b'{"name":'), 400),
    (post(b'{"name":1}'), 400),
)


@pytest.mark.untraced
@pytest.mark.parametrize(
    "fault",
    [None, faults.delay(0), faults.delay(0.001), faults.dribble(100_000), faults.server_error(503, delay=0)],
    ids=str,
)
def test_requests_and_faults_leave_no_cycles(home: PetStoreMock, fault: faults.Fault | None) -> None:
    left = []
    with Raw(home) as client:
        gc.collect()
        gc.disable()
        try:
            for _ in range(4):  # round 1 makes lasting objects; threads of earlier tests may leave garbage in another
                if fault is not None:
                    home.inject(fault, on="createPet")
                for _ in range(30):
                    for sent, status in ASKED if fault is None else ((post(), None),):
                        assert client.call(sent).status in {status, 201, 503}
                home.reset()  # drops the exchanges of the journal
                left.append(gc.collect())
        finally:
            gc.enable()
    assert min(left[1:]) == 0
