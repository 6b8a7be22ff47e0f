"""How requests and responses are delimited (RFC 9112)."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from petstore_mock import Behaviour, PetStoreMock
from tests.wire.raw import AUTH, KEY, REX, Raw, get, post

LIST, ONE = get(), get("/v1/pets?limit=1")
POST = post()
CHUNKED_HEAD = post(b"", framing="Transfer-Encoding: chunked")
CHUNKED = CHUNKED_HEAD + b"5\r\n" + REX[:5] + b"\r\n18;ext=1\r\n" + REX[5:] + b"\r\n0\r\n\r\n"
WHOLE = {"get": LIST, "length": POST, "chunked": CHUNKED}
each = pytest.mark.parametrize("whole", WHOLE.values(), ids=WHOLE)


def seen(petstore: PetStoreMock) -> list[tuple[str, str, bytes]]:
    """Return the requests that reached the service, except those of ``settle``."""
    return [(entry.method, entry.target, entry.body) for entry in petstore.journal if entry.method != "OPTIONS"]


# Requests


def test_request_is_journalled_as_sent(client: Raw, dial: Callable[[], Raw], petstore: PetStoreMock) -> None:
    line = b"GET /v1/p%65ts?limit=%31 HTTP/1.1\r\n"
    fields = f"hOsT: x\r\nX-Two:  v w \t\r\nX-Empty:\r\nx-two: \xe9\r\naUTHorization: Bearer {KEY}\r\n\r\n"
    assert client.call(line + fields.encode("latin-1")).status == 200
    entry = petstore.journal.last
    assert (entry.method, entry.target, entry.body) == ("GET", "/v1/p%65ts?limit=%31", b"")
    assert (entry.path, entry.query) == ("/v1/pets", {"limit": "1"})
    assert entry.fields[:4] == [("hOsT", "x"), ("X-Two", "v w"), ("X-Empty", ""), ("x-two", "\xe9")]
    for one, request in ((client, POST), (dial(), LIST), (client, LIST)):
        one.call(request)
    numbers = [(entry.connection, entry.exchange) for entry in petstore.journal]
    first, other = numbers[0][0], numbers[2][0]
    assert numbers == [(first, 1), (first, 2), (other, 1), (first, 3)]
    assert first != other


@pytest.mark.parametrize(
    "name",
    [r"a\r\n\r\nb", "0\\r\\n\\r\\n", "x" * 70_000, "1\\r\\na\\r\\n" * 5_000],
    ids=["empty line", "last chunk", "large", "chunks"],
)
@pytest.mark.parametrize("size", [7, 4096, 10**6])
def test_chunked_body_ends_at_its_last_chunk(client: Raw, name: str, size: int) -> None:
    """Data that looks like framing is data, and the request after the body is intact."""
    body = b'{"name":\r\n\r\n"%b","categoryId":\r\n1}' % name.encode()
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = b"".join(b"%X\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    client.send(CHUNKED_HEAD + chunks + b"0\r\n\r\n" + ONE)
    assert client.response().json()["name"] == json.loads(f'"{name}"')
    assert len(client.response().json()) == 1


def test_trailer_fields_are_no_header_fields(client: Raw, petstore: PetStoreMock) -> None:
    head = CHUNKED_HEAD.replace(AUTH.encode() + b"\r\n", b"")
    assert client.call(head + b"2\r\n{}\r\n0\r\n" + AUTH.encode() + b"\r\nHost: y\r\n\r\n").status == 401
    assert petstore.journal.last.headers["host"] == "x"
    assert "authorization" not in petstore.journal.last.headers
    assert client.call(LIST).status == 200


def test_pipelined_requests_are_served_in_order(client: Raw, petstore: PetStoreMock) -> None:
    names = [f"{number:03}" for number in range(200)]
    client.send(b"".join(post(json.dumps({"name": name, "categoryId": 1}).encode()) for name in names))
    assert [client.response().json()["name"] for _ in names] == names
    assert [entry.exchange for entry in petstore.journal] == list(range(1, 201))


def test_empty_lines_before_a_request_are_ignored(client: Raw, settle: Callable[[], None]) -> None:
    for piece in (b"\r\n", b"\r", b"\n\r\n\r", b"\n" + LIST):
        client.send(piece)
        settle()
    assert client.response().status == 200


@pytest.mark.parametrize(
    ("pieces", "count"),
    [
        ([POST], 1),
        ([POST[: -len(REX)], REX], 1),
        ([POST[:-1], POST[-1:]], 1),
        ([POST + POST], 2),
        ([POST + b"\r\n" + LIST], 2),
        ([POST[: -len(REX)] + b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n  "[: len(REX)], LIST], 2),
    ],
    ids=["whole", "head first", "last byte later", "two", "empty line after it", "body like a head"],
)
def test_cached_head_delimits_a_new_body(
    client: Raw, settle: Callable[[], None], petstore: PetStoreMock, pieces: list[bytes], count: int
) -> None:
    """The service may cache a complete request. Its head must mean the same the second time."""
    client.call(POST)
    client.call(LIST)
    for piece in pieces:
        client.send(piece)
        settle()
    assert all(status in {200, 201, 400} for status in client.statuses(count))
    bodies = [body for _, _, body in seen(petstore)]
    assert len(bodies) == 2 + count
    assert all(len(body) in {0, len(REX)} for body in bodies)


# Connections


@pytest.mark.parametrize(
    ("version", "fields", "kept"),
    [
        ("1.1", [], True),
        ("1.1", ["Connection: keep-alive"], True),
        ("1.1", ["Connection: close"], False),
        ("1.1", ["Connection: x, ClOsE"], False),
        ("1.1", ["Connection: keep-alive", "Connection: close"], False),
        ("1.0", [], False),
        ("1.0", ["Connection: Keep-Alive"], True),
        ("1.0", ["Connection: keep-alive, close"], False),
    ],
)
def test_connection_is_kept_as_the_client_asks(
    dial: Callable[[], Raw], version: str, fields: list[str], kept: bool
) -> None:
    """The second client sends bytes that the service has cached."""
    expected = None if kept and version == "1.1" else "keep-alive" if kept else "close"
    for _ in range(2):
        client = dial()
        assert client.call(get("/v1/pets", *fields, version=version)).fields.get("connection") == expected
        if kept:
            assert client.call(LIST).status == 200
        else:
            assert client.is_closed()


def test_bytes_after_the_last_request_are_ignored(
    dial: Callable[[], Raw], settle: Callable[[], None], petstore: PetStoreMock
) -> None:
    """The service ignores them too if it has cached the request."""
    last = get("/v1/pets", "Connection: close")
    dial().call(LIST)
    for behind in (LIST + b"\0garbage", LIST, b""):
        client = dial()
        assert client.send(last + behind).response().status == 200
        client.send(LIST * 10)
        settle()
        assert client.is_closed()
    assert len(seen(petstore)) == 4


# Responses


@pytest.mark.parametrize("animals", [0, 1, 60])
def test_response_can_be_chunked(animals: int) -> None:
    """A response to HTTP/1.0 or HEAD is never chunked (RFC 9112 §6.1)."""
    behaviour = Behaviour(answer_framing="chunked")
    with PetStoreMock(api_key=KEY, behaviour=behaviour) as petstore, Raw(petstore) as client:
        petstore.seed_many(animals)
        received = client.call(get("/v1/pets?limit=100"))
        assert received.fields["transfer-encoding"] == "chunked"
        assert received.json() == petstore.pets
        assert received.chunks >= 1
        for request in (get(method="HEAD"), get("/v1/pets", "Connection: keep-alive", version="1.0")):
            assert "transfer-encoding" not in client.call(request).fields


# Expect: 100-continue (RFC 9110 §10.1.1)

EXPECT = "Expect: 100-Continue"


def test_client_that_expects_100_continue_receives_it(client: Raw) -> None:
    length = f"Content-Length: {len(REX)}"
    assert client.call(post(b"", EXPECT, framing=length)).status == 100
    assert client.send(REX).response().status == 201
    assert client.call(post(b"", EXPECT, framing="Transfer-Encoding: chunked")).status == 100
    assert client.send(CHUNKED[len(CHUNKED_HEAD) :]).response().status == 201


NOT_ADMITTED = {
    "no key": (401, [], "/v1/pets", "application/json", 29),
    "wrong key": (401, ["Authorization: Bearer wrong"], "/v1/pets", "application/json", 29),
    "unknown path": (404, [AUTH], "/v1/dogs", "application/json", 29),
    "wrong method": (405, [AUTH], "/v1/pets/1", "application/json", 29),
    "wrong query": (400, [AUTH], "/v1/pets?limit=1", "application/json", 29),
    "wrong type": (415, [AUTH], "/v1/pets", "text/plain", 29),
    "too large": (413, [AUTH], "/v1/pets", "application/json", 20_000_000),
}


@pytest.mark.parametrize(("status", "fields", "target", "kind", "length"), NOT_ADMITTED.values(), ids=NOT_ADMITTED)
def test_refused_client_receives_the_response_instead_of_100(
    client: Raw, petstore: PetStoreMock, status: int, fields: list[str], target: str, kind: str, length: int
) -> None:
    head = [f"POST {target} HTTP/1.1", "Host: x", *fields, f"Content-Type: {kind}", f"Content-Length: {length}", EXPECT]
    received = client.call("\r\n".join([*head, "", ""]).encode())
    assert (received.status, received.fields["connection"]) == (status, "close")
    assert client.is_closed()
    assert [entry.body for entry in petstore.journal] == [b""]


def test_body_is_read_if_a_mutant_may_accept_the_key() -> None:
    with PetStoreMock(mutant="create-any-key") as petstore, Raw(petstore) as client:
        head = post(b"", EXPECT, framing=f"Content-Length: {len(REX)}")
        assert client.call(head).status == 100
        assert client.send(REX).response().status == 201
        assert [pet["name"] for pet in petstore.pets] == ["Rex"]


def test_refused_head_is_checked_again_when_repeated(dial: Callable[[], Raw], petstore: PetStoreMock) -> None:
    head, state = post(b"", EXPECT, framing=f"Content-Length: {len(REX)}"), petstore.snapshot()
    petstore.revoke_key()
    assert dial().call(head).status == 401
    petstore.restore(state)
    client = dial()
    assert client.call(head).status == 100
    assert client.send(REX).response().status == 201


def test_no_100_for_a_client_that_does_not_wait_or_sends_http_1_0(client: Raw, settle: Callable[[], None]) -> None:
    assert client.call(post(REX, EXPECT)).status == 201
    client.send(post(b"", EXPECT, framing=f"Content-Length: {len(REX)}", version="1.0"))
    settle()
    assert client.send(REX).response().status == 201


# Upgrade (RFC 9110 §7.8): Java's client sends it with the first request of each connection

H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"


@each
@pytest.mark.parametrize("pieces", [1, 7, 50])
def test_upgrade_is_ignored_and_the_body_kept(client: Raw, petstore: PetStoreMock, whole: bytes, pieces: int) -> None:
    client.call(whole)
    upgrading = whole.replace(b"Host: x\r\n", b"Host: x\r\n" + H2C)
    step = len(upgrading) // pieces + 1
    for at in range(0, len(upgrading), step):
        client.send(upgrading[at : at + step])
    assert client.response().status in {200, 201}
    first, second = seen(petstore)
    assert first == second
    assert client.call(LIST).reason == "OK"


# Targets (RFC 9112 §3.2)


@pytest.mark.parametrize(
    ("line", "target", "host", "status"),
    [
        ("GET http://h.example:8080/v1/pets?limit=1", "/v1/pets?limit=1", "h.example:8080", 200),
        ("GET HTTP://h.example", "/", "h.example", 404),
        ("GET http://h.example?b=c", "/?b=c", "h.example", 404),
        ("GET http://[::1]:80/v1/pets", "/v1/pets", "[::1]:80", 200),
        ("OPTIONS http://h.example", "*", "h.example", 204),
        ("OPTIONS *", "*", "x", 204),
        ("GET /http://h.example/", "/http://h.example/", "x", 404),
        ("GET //", "//", "x", 404),
    ],
)
def test_target_is_reduced_to_origin_form(
    client: Raw, petstore: PetStoreMock, line: str, target: str, host: str, status: int
) -> None:
    assert client.call(f"{line} HTTP/1.1\r\nHost: x\r\n{AUTH}\r\n\r\n".encode()).status == status
    entry = petstore.journal.last
    assert (entry.target, entry.headers["host"]) == (target, host)
