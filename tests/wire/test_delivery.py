"""Faults delay or spoil responses on the socket as the names of the faults say."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

import pytest

from petstore_mock import PetStoreMock, faults
from tests.wire.raw import KEY, OTHER, Raw, eventually, get, post

TICK: Final = 0.002  # seconds; uvloop counts whole milliseconds from the start of a loop iteration
WIRE: Final = {
    "hang": faults.hang(),
    "reset": faults.reset(),
    "empty_reply": faults.empty_reply(),
    "truncate": faults.truncate(),
    "dribble": faults.dribble(20_000),
    "malformed_chunk": faults.malformed_chunk(),
}
OUTCOMES: Final = {kind: kind.replace("_", " ") for kind in WIRE} | {"truncate": "truncated", "dribble": "dribbled"}
each_fault = pytest.mark.parametrize("kind", WIRE)


def outcome(petstore: PetStoreMock) -> str | None:
    return petstore.journal.last.outcome if len(petstore.journal) else None


def meets(client: Raw, kind: str, method: str = "GET") -> bytes:
    """Read a spoilt response and check its end; return the body that arrived."""
    match kind:
        case "hang":
            assert client.is_silent()
        case "reset":
            with pytest.raises(ConnectionResetError):
                client.rest()
            assert client.buffer == b""
        case "empty_reply":
            assert client.is_closed()
        case "dribble":
            return client.response(method).body
        case _:
            head = client.head()
            assert head.status in {200, 201}
            assert ("transfer-encoding" in head.fields) is (kind == "malformed_chunk" and method != "HEAD")
            rest = client.rest()
            if "transfer-encoding" in head.fields:
                with pytest.raises(ValueError, match="invalid literal"):
                    int(rest.partition(b"\r\n")[0], 16)
            return rest
    return b""


# Each kind, before and after the commit


@each_fault
@pytest.mark.parametrize("at", ["before_commit", "after_commit"])
def test_fault_spoils_the_response_before_or_after_the_commit(
    client: Raw, petstore: PetStoreMock, kind: str, at: str
) -> None:
    fault = WIRE[kind]
    kept = at == "after_commit" or kind == "dribble"  # a dribble only slows the response
    handle = petstore.inject(fault, on="createPet", at=at, times=1)  # type: ignore[arg-type]  # either of the two
    meets(client.send(post()), kind)
    eventually(lambda: outcome(petstore) is not None, "the outcome")
    assert outcome(petstore) == OUTCOMES[kind]
    assert handle.hits == 1
    entry = petstore.journal.last
    assert (entry.fault, entry.executed, len(petstore.pets)) == (fault, kept, kept)
    client.socket.close()


@each_fault
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_spoilt_response_to_head_has_no_body(client: Raw, petstore: PetStoreMock, kind: str, version: str) -> None:
    petstore.inject(WIRE[kind], times=1)
    assert meets(client.send(get(method="HEAD", version=version)), kind, "HEAD") == b""
    client.socket.close()


@pytest.mark.parametrize("fraction", [0.0, 0.5, 0.999])
def test_truncated_response_declares_more_than_it_sends(client: Raw, petstore: PetStoreMock, fraction: float) -> None:
    petstore.seed_many(3)
    whole = client.call(get()).body
    petstore.inject(faults.truncate(fraction), times=1)
    assert client.send(get()).head().fields["content-length"] == str(len(whole))
    assert client.rest() == whole[: min(int(len(whole) * fraction), len(whole) - 1)]


@pytest.mark.parametrize("following", [b"", OTHER * 100, b"a" * 1_000_000], ids=["nothing", "requests", "bytes"])
def test_empty_reply_is_no_reset(client: Raw, petstore: PetStoreMock, following: bytes) -> None:
    """Unread input would turn the close into a reset."""
    petstore.inject(faults.empty_reply(), times=1)
    client.send(get()).send(following)
    assert client.is_closed()
    assert len(petstore.journal) == 1


# Time


@pytest.mark.parametrize("at", ["before_commit", "after_commit"])
def test_delayed_response_arrives_after_its_delay(client: Raw, petstore: PetStoreMock, at: str) -> None:
    petstore.inject(faults.delay(0.4), on="createPet", at=at, times=1)  # type: ignore[arg-type]
    began = time.perf_counter()
    client.send(post())
    if at == "after_commit":
        eventually(lambda: petstore.pets, "the commit, long before the response")
        assert time.perf_counter() - began < 0.4
    assert client.response().status == 201
    assert 0.4 - TICK * 2 <= time.perf_counter() - began < 5
    entry = petstore.journal.last
    assert (entry.outcome, entry.executed) == ("delayed", True)
    assert 0.1 - TICK <= entry.duration < 5
    assert client.call(get()).status == 200


@pytest.mark.parametrize("known", [False, True])
def test_request_behind_a_delayed_one_waits_for_it(
    client: Raw, settle: Callable[[], None], petstore: PetStoreMock, known: bool
) -> None:
    """The cache of complete requests must not let a request overtake a held response."""
    if known:
        client.send(get() + get("/v1/pets/1")).statuses(2)
    petstore.inject(faults.delay(0.15), on="listPets", times=1)
    before = len(petstore.journal)
    client.send(get())
    settle()
    client.send(get("/v1/pets/1"))
    assert client.statuses(2) == [200, 404]
    targets = [entry.target for entry in list(petstore.journal)[before:] if entry.method == "GET"]
    assert targets == ["/v1/pets", "/v1/pets/1"]


def test_dribbled_body_arrives_slowly_and_whole(client: Raw, petstore: PetStoreMock) -> None:
    petstore.seed(name="n" * 100, categoryId=1)
    petstore.inject(faults.dribble(500), times=1)
    began = time.perf_counter()
    head = client.send(get()).head()
    assert time.perf_counter() - began < 0.1, "the head comes at once"
    size, pieces = int(head.fields["content-length"]), 0
    body, client.buffer = client.buffer, b""
    while len(body) < size:
        body += client.socket.recv(1000)
        pieces += 1
    assert pieces > 5
    assert size / 500 * 0.9 <= time.perf_counter() - began < size / 500 + 2
    assert petstore.journal.last.outcome == "dribbled"
    assert client.call(get("/v1/pets/1")).status == 200


def test_quick_dribble_to_a_slow_reader_arrives_whole(dial: Callable[..., Raw], petstore: PetStoreMock) -> None:
    for _ in range(5):
        petstore.seed(name="n" * 900_000, categoryId=1)
    petstore.inject(faults.dribble(10**9), times=1)
    client = dial(receive_buffer=65536).send(get())
    eventually(lambda: len(petstore.journal) == 1, "the response begun")
    assert [len(pet["name"]) for pet in client.response().json()] == [900_000] * 5


# Clients that close, and responses that a reset ends


@pytest.mark.parametrize(
    ("kind", "leave"),
    [*((kind, leave) for kind in ("delay", "hang", "dribble") for leave in ("close", "reset")), ("hang", "half-close")],
)
def test_client_that_closes_ends_its_held_response(client: Raw, petstore: PetStoreMock, kind: str, leave: str) -> None:
    """If the client closes during a delay before the commit, the operation does not commit."""
    fault = {"delay": faults.delay(0.25), "hang": faults.hang(), "dribble": faults.dribble(1)}[kind]
    petstore.inject(fault, on="createPet", at="before_commit", times=1)
    client.send(post())
    eventually(lambda: len(petstore.journal) == 1, "the request")
    if kind == "dribble":
        client.head()
    if kind == "hang":
        # A client that leaves before the response hangs is gone.
        eventually(lambda: outcome(petstore) == "hang", "the response that hangs")
    {"half-close": client.half_close, "reset": client.reset, "close": client.socket.close}[leave]()
    expected = "hang" if kind == "hang" else "client gone"
    eventually(lambda: outcome(petstore) == expected, f"the outcome {expected}")
    if kind == "delay":
        time.sleep(0.3)  # past the delay
        assert petstore.pets == []


HALF_CLOSED: dict[str, tuple[faults.Fault | None, int]] = {
    "no fault": (None, 201),
    "delay": (faults.delay(0.2), 201),
    "late error": (faults.server_error(503, delay=0.2), 503),
    "dribble": (faults.dribble(1000), 201),
}


@pytest.mark.parametrize("name", HALF_CLOSED)
@pytest.mark.parametrize("at_once", [True, False])
def test_client_that_ends_only_its_own_side_gets_its_response(
    client: Raw, petstore: PetStoreMock, settle: Callable[[], None], name: str, at_once: bool
) -> None:
    """With a fault and without. The end may arrive together with the request, or later."""
    fault, status = HALF_CLOSED[name]
    if fault is not None:
        petstore.inject(fault, on="createPet", times=1)
    client.send(post())
    if not at_once:
        settle()
    received = client.half_close().response()
    assert (received.status, client.is_closed()) == (status, True)
    assert len(petstore.pets) == (status == 201)


@pytest.mark.parametrize("end", ["reset", "cancel_faults"])
@pytest.mark.parametrize("kind", ["delay", "late error", "hang", "dribble"])
def test_reset_ends_held_responses(client: Raw, petstore: PetStoreMock, kind: str, end: str) -> None:
    """They end at once with a RST. Cancelling the fault does not end them."""
    fault = {
        "delay": faults.delay(60),
        "late error": faults.server_error(503, delay=60),
        "hang": faults.hang(),
        "dribble": faults.dribble(1),
    }[kind]
    petstore.inject(fault, on="createPet", times=1)
    client.send(post())
    eventually(lambda: len(petstore.journal) == 1, "the request")
    if kind == "dribble":
        client.head()
    if end == "cancel_faults":
        petstore.cancel_faults()
        assert client.is_silent(0.05) or kind == "dribble"
    began = time.perf_counter()
    petstore.reset()
    with pytest.raises(ConnectionResetError):
        client.rest()
    assert time.perf_counter() - began < 1
    assert len(petstore.pets) == 0


def test_a_hundred_hanging_clients_cost_no_thread() -> None:
    with PetStoreMock(api_key=KEY) as home, Raw(home) as first:
        home.inject(faults.hang(), on="listPets")
        first.call(OTHER)
        before = threading.active_count()
        clients = [Raw(home).send(get()) for _ in range(100)]
        eventually(lambda: len(home.journal) == 101, "all held")
        assert threading.active_count() == before
        assert first.call(OTHER).status == 204
        for client in clients:
            client.socket.close()
