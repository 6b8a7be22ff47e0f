"""Requests that are too large or too slow get a response, and the client can read it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from petstore_mock import PetStoreMock, faults
from tests.wire.raw import AUTH, OTHER, Raw, eventually, get, post

# The limits of docs/explanation/limits.md.
HEAD_LIMIT: Final = 64 * 1024
LINE_LIMIT: Final = 16 * 1024
FIELD_LIMIT: Final = 100
BODY_LIMIT: Final = 1024 * 1024
LINE: Final = f"GET /v1/pets HTTP/1.1\r\nHost: x\r\n{AUTH}\r\n".encode()
CHUNKED: Final = post(b"", framing="Transfer-Encoding: chunked")


def named(size: int) -> bytes:
    """Return an animal as a body of exactly ``size`` bytes."""
    empty = b'{"categoryId":1,"name":""}'
    return empty[:-2] + b"n" * (size - len(empty)) + empty[-2:]


def refused(client: Raw, petstore: PetStoreMock, status: int, condition: str) -> None:
    """Read a refusal and the clean end after it."""
    received = client.response()
    assert (received.status, received.fields["connection"]) == (status, "close")
    assert client.is_closed()
    entry = petstore.journal.last
    assert entry.condition is not None
    assert (entry.condition.name, entry.executed) == (condition, False)


# Heads


def test_longest_line_and_head_are_served(client: Raw) -> None:
    line = b"GET /v1/pets/%b HTTP/1.1\r\n" % (b"9" * (LINE_LIMIT - len("GET /v1/pets/ HTTP/1.1")))
    whole = line + f"Host: x\r\n{AUTH}\r\n".encode()
    while HEAD_LIMIT - len(whole) > 2200:
        whole += b"X: %b\r\n" % (b"b" * 1000)
    whole += b"X: %b\r\n\r\n" % (b"b" * (HEAD_LIMIT - len(whole) - len(b"X: \r\n\r\n")))
    assert len(whole) == HEAD_LIMIT
    assert client.call(whole).status == 404
    assert client.call(get()).status == 200


TOO_LARGE = {
    "line": (b"GET /" + b"a" * LINE_LIMIT + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
    "endless line": (b"GET /" + b"a" * LINE_LIMIT, 414),
    "head": (LINE + b"X: " + b"a" * HEAD_LIMIT + b"\r\nHost: x\r\n\r\n", 431),
    "fields": (LINE + b"X: y\r\n" * FIELD_LIMIT + b"\r\n", 431),
    "endless head": (LINE + b"X: " + b"a" * HEAD_LIMIT, 431),
    "endless trailers": (CHUNKED + b"0\r\n" + b"X: y\r\n" * 20_000, 431),
    "endless chunk extension": (CHUNKED + b"5;" + b"a" * 100_000, 431),
    "declared body": (post(b"", framing=f"Content-Length: {BODY_LIMIT + 1}"), 413),
}
CONDITIONS = {414: "uri_too_long", 431: "header_too_large", 413: "body_too_large"}


@pytest.mark.parametrize(("sent", "status"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_line_or_head_or_body_over_the_limit_is_refused_unread(
    client: Raw, petstore: PetStoreMock, sent: bytes, status: int
) -> None:
    client.send(sent)
    refused(client, petstore, status, CONDITIONS[status])
    assert petstore.journal.last.body == b""


# Bodies


@pytest.mark.parametrize("size", [64 * 1024, 200_000, BODY_LIMIT])
def test_body_up_to_the_limit_is_served(client: Raw, settle: Callable[[], None], size: int) -> None:
    body = named(size)
    assert client.call(post(body)).status == 201
    client.send(CHUNKED)
    for at in range(0, size, 150_000):
        piece = body[at : at + 150_000]
        client.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        settle()
    assert client.send(b"0\r\n\r\n").response().status == 201


@pytest.mark.parametrize("framing", ["Content-Length: 65537", "Transfer-Encoding: chunked"])
def test_large_body_of_a_refused_head_is_not_read(client: Raw, petstore: PetStoreMock, framing: str) -> None:
    head = post(b"", framing=framing).replace(AUTH.encode(), b"Authorization: Bearer wrong")
    client.send(head + b"10001\r\n" + b"a" * 65_537)
    refused(client, petstore, 401, "unknown_key")
    assert petstore.journal.last.body == b""


@pytest.mark.parametrize(
    ("head", "status"),
    [(post(b"", framing="Content-Length: 20000000"), 413), (CHUNKED + b"1312d00\r\n", 413), (LINE + b"X: ", 431)],
    ids=["length", "chunk", "header bomb"],
)
def test_client_that_sends_all_before_it_reads_gets_the_response(
    client: Raw, petstore: PetStoreMock, head: bytes, status: int
) -> None:
    """It gets no reset, because the service drains the rest."""
    client.send(head)
    for _ in range(200):
        client.send(b"a" * 100_000)
    refused(client, petstore, status, CONDITIONS[status])
    assert len(petstore.journal) == 1


def test_many_small_chunks_are_no_attack(client: Raw) -> None:
    body = named(30_000)
    client.send(CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
    assert client.response().json()["name"] == json.loads(body)["name"]


# Time: all slow clients wait in parallel, so the module takes ten seconds only once

SLOW = {
    "method": b"G",
    "fields": LINE,
    "second": LINE + b"\r\n" + LINE,
    "no body": post(b"", framing="Content-Length: 5"),
    "half a body": post(b"", framing="Content-Length: 5") + b"abc",
    "half a chunk": CHUNKED + b"5\r\nab",
    "HEAD": b"HEAD / HTTP/1.1\r\nHost: x",
}


@pytest.mark.slow
@pytest.mark.untraced
def test_slow_requests_are_408(petstore: PetStoreMock, dial: Callable[[], Raw]) -> None:
    """The timeout is ten seconds for a whole head, and ten seconds for each next piece of a body."""
    clients = {name: dial().send(part) for name, part in SLOW.items()}
    dribbler, grower, idle, held = (dial() for _ in range(4))
    grower.send(post(b"", framing="Content-Length: 1000"))
    petstore.inject(faults.delay(11.5), on="getPet", times=1)
    held.send(get("/v1/pets/1"))
    assert idle.call(get()).status == 200
    began = time.monotonic()
    for byte in (LINE * 2)[:44]:  # takes eleven seconds
        dribbler.send(bytes([byte]))
        if not dribbler.is_silent(0.25):
            break
        grower.send(b" ")
    else:
        pytest.fail("a head that grows got no timeout")
    assert 9.5 < time.monotonic() - began < 20
    assert dribbler.response().status == 408
    for name, client in clients.items():
        if name == "second":
            assert client.response().status == 200
        received = client.response("HEAD" if name == "HEAD" else "GET")
        assert (received.status, received.fields["connection"]) == (408, "close")
        assert client.is_closed()
    late = [entry for entry in petstore.journal if entry.status == 408]
    assert {entry.condition.name for entry in late if entry.condition} == {"request_timeout"}
    assert len(late) == len(SLOW) + 1
    assert grower.is_silent(), "a body that grows must not time out"
    assert idle.call(get()).status == 200, "an idle connection must stay open for longer"
    assert held.response().status == 404, "a held response must outlast each timeout"


@pytest.mark.slow
@pytest.mark.untraced
def test_client_that_never_closes_is_reset_after_the_linger_timeout(client: Raw) -> None:
    """The client keeps its end open. After two seconds, bytes that it sends cause a reset."""
    client.call(get("/v1/pets", "Connection: close"))
    assert client.is_closed()

    def is_reset() -> bool:
        try:
            client.send(b"x")
        except OSError:
            return True
        return False

    eventually(is_reset, "the reset")


# Flow


@pytest.fixture
def large(petstore: PetStoreMock) -> Iterator[bytes]:
    """Return a request whose response has 2.7 megabytes."""
    for _ in range(3):
        petstore.seed(name="n" * 900_000, categoryId=1)
    yield get()
    petstore.reset()


@pytest.mark.parametrize("known", [False, True])
def test_server_stops_serving_a_client_that_does_not_read(
    dial: Callable[..., Raw], settle: Callable[[], None], petstore: PetStoreMock, large: bytes, known: bool
) -> None:
    """Responses and requests wait in bounded buffers. Once the client reads, it receives all responses."""
    slow, count = dial(receive_buffer=4096), 24
    if known:
        slow.call(large)
    for _ in range(5):
        slow.send(large)
        settle()
    sender = threading.Thread(target=slow.send, args=(large * (count - 5),))
    sender.start()
    assert dial().call(OTHER).status == 204
    assert len(petstore.journal.for_operation("listPets")) < 20
    for _ in range(count):
        assert len(slow.response().body) > 2_700_000
    sender.join()


def test_flood_behind_a_held_request_stays_unread(client: Raw, petstore: PetStoreMock) -> None:
    petstore.inject(faults.dribble(1), times=1)
    client.send(get())
    client.head()
    client.socket.settimeout(0.3)
    with pytest.raises(TimeoutError):
        client.send(OTHER * 500_000)
    assert len(petstore.journal) == 1


def test_flood_behind_a_last_request_is_drained(client: Raw, petstore: PetStoreMock) -> None:
    """The service does not read while it holds the response. Afterwards it must drain, or the client never reads."""
    petstore.inject(faults.delay(0.05), times=1)
    client.send(get("/v1/pets", "Connection: close"))
    client.send(OTHER * 500_000)
    assert client.response().status == 200
    assert client.is_closed()
    assert len(petstore.journal) == 1


@pytest.mark.parametrize("half_close", [True, False])
def test_slow_reader_receives_everything_and_then_the_end(
    dial: Callable[..., Raw], large: bytes, half_close: bool
) -> None:
    client = dial(receive_buffer=65536)
    if half_close:
        client.send(large * 4).half_close()
    else:
        client.send(large * 3 + get("/v1/pets", "Connection: close"))
    time.sleep(0.05)  # the reader is slow
    for _ in range(4):
        assert len(client.response().body) > 2_700_000
    assert client.is_closed()
