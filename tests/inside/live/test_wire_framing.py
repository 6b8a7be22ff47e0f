"""How requests are told apart and answers are delimited (RFC 9112)."""

from __future__ import annotations

import contextlib
import http.client
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from petstore_mock import PetStoreMock, faults
from petstore_mock.messages.response import WireFormat
from petstore_mock.transport import http_connection as connection
from petstore_mock.transport import server_state as shared
from tests.inside.live.raw import PATIENCE, RawClient, answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse
    from petstore_mock.transport.server import WireServer
    from tests.inside.live.raw import Echo

GET = b"GET /a?b=c HTTP/1.1\r\nHost: x\r\nX-One: two\r\n\r\n"
POST = b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello world"
CHUNKED_HEAD = b"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKED = CHUNKED_HEAD + b"5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\n\r\n"


def content(request: ApiRequest) -> tuple[object, ...]:
    return request.method, request.target, tuple(request.fields), request.body


# Requests


def test_request_reaches_the_handler_as_sent(client: RawClient, echo: Echo) -> None:
    client.send(b"GET /a%20b?c=%31 HTTP/1.1\r\nhOsT: x\r\nX-Two:  v w \t\r\nX-Empty:\r\nx-two: \xe9\r\n\r\n").answer()
    assert echo.last.method == "GET"
    assert echo.last.target == "/a%20b?c=%31"
    assert list(echo.last.fields) == [(b"hOsT", b"x"), (b"X-Two", b"v w"), (b"X-Empty", b""), (b"x-two", b"\xe9")]
    assert echo.last.body == b""
    assert not echo.last.oversized


def test_requests_are_numbered_by_connection_and_exchange(connect: Callable[[], RawClient], echo: Echo) -> None:
    first, second = connect(), connect()
    first.get()
    first.send(POST).answer()
    second.get()
    first.get()
    assert [(request.connection, request.exchange) for request in echo.requests] == [(1, 1), (1, 2), (2, 1), (1, 3)]


def test_started_is_when_the_request_began_to_come(client: RawClient, echo: Echo, server: WireServer) -> None:
    before = time.perf_counter()
    client.send(GET[:10])
    with RawClient(server) as other:
        other.get("/meanwhile")  # the first bytes were read by now
    between = time.perf_counter()
    client.send(GET[10:]).answer()
    assert before <= echo.last.started <= between


@pytest.mark.parametrize("whole", [GET, POST, CHUNKED], ids=["get", "length", "chunked"])
def test_request_may_come_in_two_pieces_split_anywhere(
    connect: Callable[[], RawClient], echo: Echo, whole: bytes
) -> None:
    """And a request that follows it is neither eaten nor begun too early."""
    client, other = connect(), connect()
    client.send(whole).answer()
    for at in range(1, len(whole)):
        client.send(whole[:at])
        other.get("/meanwhile")  # one loop serves both: it has read the first piece by now
        client.send(whole[at:] + GET)
        assert client.answer().status == client.answer().status == 200
    own = [content(request) for request in echo.requests if request.connection == 1]
    assert own[1::2] == own[:1] * (len(whole) - 1)
    assert [target for _, target, _, _ in own[2::2]] == ["/a?b=c"] * (len(whole) - 1)


@pytest.mark.parametrize("whole", [GET, POST, CHUNKED], ids=["get", "length", "chunked"])
def test_request_may_come_byte_by_byte(connect: Callable[[], RawClient], echo: Echo, whole: bytes) -> None:
    client, other = connect(), connect()
    for byte in whole:
        client.send(bytes([byte]))
        other.get("/meanwhile")
    assert client.answer().status == 200
    client.send(whole).answer()
    first, second = [content(request) for request in echo.requests if request.connection == 1]
    assert first == second


def test_chunked_body_ends_where_it_ends(client: RawClient, echo: Echo) -> None:
    """An empty line within the data is data, and the request behind the body is not eaten."""
    for data in (b"a\r\n\r\nb", b"\r\n\r\n", b"\r\n", b"0\r\n\r\n", b"x" * 70_000, b"\r\n\r\n" * 5_000):
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data)
        client.send(CHUNKED_HEAD + body + GET)
        assert client.answer().body == data
        assert client.answer().status == 200
        assert echo.last.target == "/a?b=c"


def test_trailer_fields_are_no_header_fields(client: RawClient, echo: Echo) -> None:
    trailers = b"Authorization: Bearer smuggled\r\nHost: y\r\n"
    client.send(CHUNKED_HEAD + b"2\r\nhi\r\n0\r\n" + trailers + b"\r\n")
    assert client.answer().body == b"hi"
    assert echo.last.values("Authorization") == []
    assert echo.last.values("Host") == ["x"]
    assert client.get().status == 200


def test_pipelined_requests_are_answered_in_order(client: RawClient, echo: Echo) -> None:
    pieces = [b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n%03d" % (n, n) for n in range(200)]
    client.send(b"".join(pieces))
    assert [client.answer().body for _ in pieces] == [b"%03d" % n for n in range(200)]
    assert [request.exchange for request in echo.requests] == list(range(1, 201))


def test_empty_lines_before_a_request_are_ignored(connect: Callable[[], RawClient]) -> None:
    client, other = connect(), connect()
    for piece in (b"\r\n", b"\r", b"\n\r\n\r", b"\n" + GET):
        client.send(piece)
        other.get("/meanwhile")
    assert client.answer().status == 200


def test_a_thousand_requests_on_one_connection_never_stall(client: RawClient) -> None:
    """Nagle's algorithm and delayed acknowledgements would cost 40 ms each."""
    started = time.perf_counter()
    for _ in range(1000):
        assert client.send(GET).answer().status == 200
    assert time.perf_counter() - started < 10


def test_known_head_means_what_it_meant_when_it_was_new(
    serve: Callable[[], WireServer], echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heads are remembered by their bytes; forgetting all of them changes nothing."""
    heads = [
        GET,
        GET.replace(b"GET", b"HEAD"),
        GET.replace(b"HTTP/1.1", b"HTTP/1.0"),
        GET.replace(b"X-One: two", b"Connection: close"),
        GET.replace(b"X-One: two", b"Connection: Upgrade\r\nUpgrade: h2c"),
        GET.replace(b"/a?b=c", b"http://y:1/a"),
        GET.replace(b"GET /a?b=c", b"OPTIONS *"),
        POST,
        CHUNKED,
    ]
    seen = []
    for size in (shared.KNOWN_HEAD_SIZE, 0):
        monkeypatch.setattr(shared, "KNOWN_HEAD_SIZE", size)
        server = serve()
        for _ in range(3):
            for head in heads:
                with RawClient(server) as client:
                    answer = client.send(head).answer(head.split()[0].decode())
                    seen.append((answer.status, answer.fields, answer.body, *content(echo.last)))
    assert len(seen) == 6 * len(heads)
    for index in range(len(heads)):
        assert all(one == seen[index] for one in seen[index :: len(heads)])


@pytest.mark.parametrize(
    ("pieces", "bodies"),
    [
        ([POST], [b"hello world"]),
        ([POST[:-11], POST[-11:]], [b"hello world"]),
        ([POST[:-1], POST[-1:]], [b"hello world"]),
        ([POST + POST], [b"hello world"] * 2),
        ([POST + GET], [b"hello world", b""]),
        ([POST + b"\r\n" + GET], [b"hello world", b""]),
        ([POST[:-11] + b"GET / HTTP/\r\n\r\n"[:11], GET], [b"GET / HTTP/", b""]),
    ],
    ids=[
        "whole",
        "head first",
        "last byte later",
        "two",
        "another after it",
        "empty line after it",
        "body like a head",
    ],
)
def test_body_is_as_long_as_a_known_head_says(
    connect: Callable[[], RawClient], echo: Echo, pieces: list[bytes], bodies: list[bytes]
) -> None:
    """What comes with it is its body up to that length, and the next request from there."""
    connect().send(POST).answer()
    connect().send(GET).answer()
    client, served = connect(), len(echo.requests)
    for piece in pieces:
        client.send(piece)
    assert [client.answer().status for _ in bodies] == [200] * len(bodies)
    assert [request.body for request in echo.requests[served:]] == bodies


def test_known_heads_are_bounded(connect: Callable[[], RawClient], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "KNOWN_HEADS", 3)
    remembered: list[int] = []
    original = connection.HttpConnection.data_received

    def spy(self: connection.HttpConnection, data: bytes) -> None:
        original(self, data)
        remembered.append(len(self._known))

    monkeypatch.setattr(connection.HttpConnection, "data_received", spy)
    client = connect()
    for number in range(20):
        client.get(f"/{number}")
    assert max(remembered) == 3


# Connections


@pytest.mark.parametrize(
    ("line", "field", "kept"),
    [
        (b"HTTP/1.1", b"", True),
        (b"HTTP/1.1", b"Connection: keep-alive\r\n", True),
        (b"HTTP/1.1", b"Connection: close\r\n", False),
        (b"HTTP/1.1", b"Connection: x, ClOsE\r\n", False),
        (b"HTTP/1.1", b"Connection: keep-alive\r\nConnection: close\r\n", False),
        (b"HTTP/1.0", b"", False),
        (b"HTTP/1.0", b"Connection: Keep-Alive\r\n", True),
        (b"HTTP/1.0", b"Connection: keep-alive, close\r\n", False),
    ],
)
def test_connection_is_kept_as_the_client_asks(client: RawClient, line: bytes, field: bytes, kept: bool) -> None:
    client.send(b"GET / %b\r\nHost: x\r\n%b\r\n" % (line, field))
    expected = None if kept and line == b"HTTP/1.1" else "keep-alive" if kept else "close"
    assert client.answer().fields.get("connection") == expected
    if kept:
        assert client.get().status == 200
    else:
        assert client.is_closed()


def test_what_follows_the_last_request_is_ignored(client: RawClient, echo: Echo) -> None:
    client.send(GET.replace(b"X-One: two", b"Connection: close") + GET + b"\0garbage")
    assert client.answer().status == 200
    client.send(GET * 10)
    assert client.is_closed()
    assert len(echo.requests) == 1


def test_known_request_that_follows_a_known_last_one_is_ignored(connect: Callable[[], RawClient], echo: Echo) -> None:
    """A head that was read before takes a shorter way, which must not lead past the end."""
    last = GET.replace(b"X-One: two", b"Connection: close")
    for head in (GET, last):
        connect().send(head).answer()
    echo.requests.clear()
    client = connect()
    client.send(last).answer()
    client.send(GET)
    connect().get("/other")  # the server has read the line above by now
    assert client.is_closed()
    assert [request.target for request in echo.requests] == ["/a?b=c", "/other"]


def test_half_closed_client_still_gets_all_answers(client: RawClient) -> None:
    client.send(GET * 3)
    client.socket.shutdown(1)
    assert [client.answer().status for _ in range(3)] == [200] * 3
    assert client.is_closed()


def test_handler_can_close_the_connection(client: RawClient, echo: Echo) -> None:
    def closing(request: ApiRequest) -> ApiResponse:
        response = answer(200, request.target.encode())
        response.wire_format = WireFormat(close=True)
        return response

    echo.answers["/last"] = closing
    assert client.get("/last").fields["connection"] == "close"
    assert client.is_closed()


# Answers


def test_answer_has_date_and_length_once(client: RawClient, echo: Echo) -> None:
    echo.answers["/a"] = lambda _: answer(200, b"[]", ("Content-Type", "application/json"))
    got = client.get("/a")
    assert (got.status, got.reason, got.body) == (200, "OK", b"[]")
    assert got.fields == {
        "content-type": "application/json",
        "date": "Thu, 05 Dec 2030 00:00:00 GMT",
        "content-length": "2",
    }


def test_head_gets_the_length_and_no_body(client: RawClient, echo: Echo) -> None:
    echo.answers["/a"] = lambda _: answer(200, b"12345")
    got = client.send(b"HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n").answer("HEAD")
    assert got.fields["content-length"] == "5"
    assert client.get("/a").body == b"12345"  # nothing lay between


@pytest.mark.parametrize("status", [204, 304])
def test_answer_that_has_no_body_has_no_length_either(client: RawClient, echo: Echo, status: int) -> None:
    echo.answers["/a"] = lambda _: answer(status)
    assert client.get("/a").fields.keys() == {"date"}
    assert client.get().status == 200


def chunked(body: bytes) -> Callable[[ApiRequest], ApiResponse]:
    def make(_: ApiRequest) -> ApiResponse:
        response = answer(200, body)
        response.wire_format = WireFormat(chunked=True)
        return response

    return make


@pytest.mark.parametrize("body", [b"", b"1", b"0123456789" * 100])
def test_answer_can_be_chunked(client: RawClient, echo: Echo, body: bytes) -> None:
    echo.answers["/a"] = chunked(body)
    got = client.get("/a")
    assert got.body == body
    assert got.fields["transfer-encoding"] == "chunked"
    assert got.chunks == min(len(body), 3)
    assert client.get().status == 200


def test_http_1_0_and_head_never_get_chunks(client: RawClient, echo: Echo) -> None:
    echo.answers["/a"] = chunked(b"12345")
    got = client.send(b"HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n").answer("HEAD")
    assert got.fields["content-length"] == "5"
    assert "transfer-encoding" not in got.fields
    got = client.send(b"GET /a HTTP/1.0\r\n\r\n").answer()
    assert got.body == b"12345"
    assert "transfer-encoding" not in got.fields


def test_request_knows_the_version_that_it_came_in(client: RawClient, echo: Echo) -> None:
    client.get()
    client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1").answer()
    client.send(b"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n1").answer()
    client.send(b"GET / HTTP/1.0\r\n\r\n").answer()
    assert [request.version for request in echo.requests] == ["HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.0"]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (407, {"Proxy-Authenticate": 'Basic realm="petstore"', "Connection": None}),  # RFC 9110 §15.5.8
        (426, {"Upgrade": "HTTP/3.0", "Connection": "Upgrade"}),  # RFC 9110 §15.5.22, §7.8
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_fields_that_http_demands_with_a_status_go_out(status: int, told: dict[str, str | None], *, late: bool) -> None:
    with PetStoreMock() as petstore:
        petstore.inject(faults.respond(status, delay=0.001 if late else None), off_contract=True)
        client = http.client.HTTPConnection(urlsplit(petstore.url).netloc, timeout=PATIENCE)
        with contextlib.closing(client):
            for _ in range(2):  # the second finds its request known, on a connection that was kept
                client.request("GET", "/v1/pets", headers=petstore.headers)
                answer = client.getresponse()
                answer.read()
                assert (answer.status, {name: answer.getheader(name) for name in told}) == (status, told)


def test_header_names_can_be_in_lower_case(client: RawClient, echo: Echo) -> None:
    def make(_: ApiRequest) -> ApiResponse:
        response = answer(404, b"{}", ("Content-Type", "Text/X"), ("X-Colon", "A: B"))
        response.wire_format = WireFormat(lower_case=True, close=True)
        return response

    echo.answers["/a"] = make
    got = client.get("/a")
    assert got.names == ["content-type", "x-colon", "date", "content-length", "connection"]
    assert got.fields["x-colon"] == "A: B"
    assert got.fields["content-type"] == "Text/X"
    assert got.reason == "Not Found"


# Expect: 100-continue (RFC 9110 §10.1.1)

EXPECT = b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\n"


def test_client_that_expects_is_told_to_go_on(client: RawClient, echo: Echo) -> None:
    assert client.send(EXPECT).answer().status == 100
    assert client.send(b"hello").answer().body == b"hello"
    assert client.send(EXPECT.replace(b"Content-Length: 5", b"Transfer-Encoding: chunked")).answer().status == 100
    assert client.send(b"2\r\nhi\r\n0\r\n\r\n").answer().body == b"hi"
    assert echo.admissions == [5, None]


def test_client_that_is_not_admitted_gets_the_answer_instead(client: RawClient, echo: Echo) -> None:
    echo.admitted = False
    got = client.send(EXPECT).answer()
    assert got.status == 200
    assert got.fields["connection"] == "close"
    assert client.is_closed()
    assert echo.last.body == b""


def test_client_that_does_not_wait_needs_no_100(client: RawClient, echo: Echo) -> None:
    assert client.send(EXPECT + b"hello").answer().status == 200
    assert echo.admissions == []


def test_expectation_without_a_body_needs_no_100(client: RawClient) -> None:
    assert client.send(EXPECT.replace(b"Length: 5", b"Length: 0")).answer().status == 200


def test_http_1_0_expectation_is_ignored(connect: Callable[[], RawClient]) -> None:
    client = connect().send(EXPECT.replace(b"HTTP/1.1", b"HTTP/1.0"))
    connect().get("/meanwhile")  # one loop serves both: it has read the head by now
    assert client.send(b"hello").answer().status == 200


def test_large_body_after_100_arrives_whole(client: RawClient, echo: Echo) -> None:
    body = bytes(range(256)) * 2048
    assert client.send(EXPECT.replace(b"Length: 5", b"Length: %d" % len(body))).answer().status == 100
    assert client.send(body).answer().body == body
    assert echo.limits_asked == 1


# Upgrade (RFC 9110 §7.8): Java's client asks for it on every first request

H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"


@pytest.mark.parametrize("whole", [GET, POST, CHUNKED], ids=["get", "length", "chunked"])
@pytest.mark.parametrize("pieces", [1, 7, 50])
def test_upgrade_is_ignored_and_the_body_kept(client: RawClient, echo: Echo, whole: bytes, pieces: int) -> None:
    client.send(whole).answer()
    upgrading = whole.replace(b"Host: x\r\n", b"Host: x\r\n" + H2C)
    step = len(upgrading) // pieces + 1
    for at in range(0, len(upgrading), step):
        client.send(upgrading[at : at + step])
    assert client.answer().status == 200
    assert echo.last.body == echo.requests[0].body
    assert echo.last.target == echo.requests[0].target
    assert client.get().status == 200


# Targets (RFC 9112 §3.2)


@pytest.mark.parametrize(
    ("line", "target", "host"),
    [
        (b"GET http://h.example:8080/a?b=c HTTP/1.1", "/a?b=c", "h.example:8080"),
        (b"GET HTTP://h.example HTTP/1.1", "/", "h.example"),
        (b"GET http://h.example?b=c HTTP/1.1", "/?b=c", "h.example"),
        (b"GET http://[::1]:80/a HTTP/1.1", "/a", "[::1]:80"),
        (b"OPTIONS http://h.example HTTP/1.1", "*", "h.example"),
        (b"OPTIONS * HTTP/1.1", "*", "x"),
        (b"GET /http://h.example/ HTTP/1.1", "/http://h.example/", "x"),
        (b"GET // HTTP/1.1", "//", "x"),
        (b"GET /%00%2F%zz%?%% HTTP/1.1", "/%00%2F%zz%?%%", "x"),
    ],
)
def test_target_is_reduced_to_origin_form(client: RawClient, echo: Echo, line: bytes, target: str, host: str) -> None:
    assert client.send(line + b"\r\nHost: x\r\n\r\n").answer().status == 200
    assert echo.last.target == target
    assert echo.last.values("Host") == [host]


def test_connect_reaches_the_handler_and_ends_the_connection(client: RawClient, echo: Echo) -> None:
    got = client.send(b"CONNECT h.example:443 HTTP/1.1\r\nHost: h.example:443\r\n\r\n").answer()
    assert got.fields["connection"] == "close"
    assert (echo.last.method, echo.last.target) == ("CONNECT", "h.example:443")
    assert client.is_closed()
