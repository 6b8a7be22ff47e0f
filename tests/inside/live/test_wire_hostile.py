"""Broken and hostile clients: each gets a clean answer or a clean end, and nobody else notices."""

from __future__ import annotations

import gc
import logging
import socket
import ssl
import threading
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from petstore_mock.transport.head_rules import HEAD_LIMIT, LINE_LIMIT
from tests.inside.live.raw import RawClient, answer, eventually, open_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse
    from petstore_mock.transport.server import WireServer
    from tests.inside.live.raw import Echo

KEY = "Bearer petstore-secret-000001"
GET = b"GET / HTTP/1.1\r\nHost: x\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(autouse=True)
def sound(server: WireServer, caplog: pytest.LogCaptureFixture, echo: Echo) -> Iterator[None]:
    """Whatever a test does: afterwards the fake serves, no connection is left, and nothing failed inside."""
    yield
    with RawClient(server) as client:
        assert client.get("/after", f"Authorization: {KEY}").status == 200
    eventually(lambda: server.open_connections == 0, "all connections closed")
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert "internal_error" not in [name for name, _, _ in echo.refusals]


MALFORMED = {
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "garbage": b"\xff\xfe\xfd",
    "no method": b" / HTTP/1.1\r\nHost: x\r\n\r\n",
    "HTTP/0.9": b"GET /\r\n",
    "HTTP/0.9 with fields": b"GET /\r\nHost: x\r\n\r\n",
    "method only": b"GET\r\n\r\n",
    "no target": b"GET  HTTP/1.1\r\nHost: x\r\n\r\n",
    "no version": b"GET / \r\nHost: x\r\n\r\n",
    "version in lower case": b"GET / http/1.1\r\nHost: x\r\n\r\n",
    "version cut": b"GET / HTTP/1\x2e\r\nHost: x\r\n\r\n",
    "space behind version": b"GET / HTTP/1.1 \r\nHost: x\r\n\r\n",
    "tab between": b"GET\t/\tHTTP/1.1\r\nHost: x\r\n\r\n",
    "bare CR first": b"\rGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "bare LF": b"GET / HTTP/1.1\nHost: x\n\n",
    "bare LF in a field": GET + b"A: b\nC: d\r\n\r\n",
    "bare LF, incomplete": b"GET / HTTP/1.1\n",
    "bare LF first": b"\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "bare CR": GET + b"A: b\rC: d\r\n\r\n",
    "NUL in a value": GET + b"A: b\0c\r\n\r\n",
    "NUL in a name": GET + b"A\0b: c\r\n\r\n",
    "NUL in the target": b"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n",
    "control in a value": GET + b"A: b\x01\r\n\r\n",
    "folded line": GET + b"A: b\r\n c\r\n\r\n",
    "folded first line": b"GET / HTTP/1.1\r\n Host: x\r\n\r\n",
    "space before colon": GET + b"A : b\r\n\r\n",
    "no colon": GET + b"Abc\r\n\r\n",
    "no name": GET + b": b\r\n\r\n",
    "length not a number": POST + b"Content-Length: five\r\n\r\n",
    "length negative": POST + b"Content-Length: -5\r\n\r\n",
    "length with sign": POST + b"Content-Length: +5\r\n\r\n",
    "length in hex": POST + b"Content-Length: 0x5\r\n\r\n",
    "length with underscore": POST + b"Content-Length: 1_0\r\n\r\n",
    "length empty": POST + b"Content-Length:\r\n\r\n",
    "length overflows": POST + b"Content-Length: 99999999999999999999999999\r\n\r\n",
    "length twice": POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "lengths differ": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "length list": POST + b"Content-Length: 5, 5\r\n\r\nhello",
    "length and chunked": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked and length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "chunked twice": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunked in two fields": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked in HTTP/1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "coding empty": POST + b"Transfer-Encoding:\r\n\r\n",
    "chunk size not hex": CHUNKED + b"g\r\n",
    "chunk size negative": CHUNKED + b"-1\r\n",
    "chunk size with 0x": CHUNKED + b"0x5\r\nhello\r\n",
    "chunk size overflows": CHUNKED + b"ffffffffffffffffff\r\n",
    "chunk size with space": CHUNKED + b"5 \r\nhello\r\n0\r\n\r\n",
    "chunk size empty": CHUNKED + b"\r\n",
    "chunk line with bare LF": CHUNKED + b"5\nhello\r\n0\r\n\r\n",
    "chunk too long": CHUNKED + b"5\r\nhello!\r\n0\r\n\r\n",
    "chunk too short": CHUNKED + b"6\r\nhello\r\n0\r\n\r\n",
    "length in the trailers": CHUNKED + b"0\r\nContent-Length: 5\r\n\r\n",
    "folded trailer": CHUNKED + b"0\r\nA: b\r\n c\r\n\r\n",
}


def test_client_that_speaks_tls_is_told_so(client: RawClient, echo: Echo) -> None:
    hello = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost").do_handshake()
    assert b"speaks plain HTTP" in client.send(hello.read()).answer().body
    assert len(echo.refusals) == 1


@pytest.mark.parametrize(
    "host",
    [b"", b":80", b"x:", b"x:8080", b"127.0.0.1:1", b"[::1]", b"[::1]:80", b"[fe80::1%25lo]:80", b"a_b.c", b"a%20b"],
)
def test_hosts_that_a_uri_can_have_are_taken(client: RawClient, host: bytes) -> None:
    assert client.send(b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host).answer().status == 200


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_request_gets_400(client: RawClient, echo: Echo, sent: bytes) -> None:
    got = client.send(sent).answer()
    assert got.status == 400
    assert got.fields["connection"] == "close"
    assert client.is_closed()
    assert [name for name, _, _ in echo.refusals] in (["malformed_request"], ["malformed_target"])
    assert echo.requests == []


@pytest.mark.parametrize(
    ("sent", "status", "condition"),
    [
        (b"FOO / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "unknown_method"),
        (b"get / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "unknown_method"),
        (b"PROPFIND / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "unknown_method"),
        (b"DELETED / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "unknown_method"),
        (b"!#$%&'*+-.^_`|~ / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "unknown_method"),
        (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505, "unknown_http_version"),
        (b"GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505, "unknown_http_version"),
        (b"GET / HTTP/0.9\r\nHost: x\r\n\r\n", 505, "unknown_http_version"),
        (b"GET / HTTP/1.10\r\nHost: x\r\n\r\n", 505, "unknown_http_version"),
        (b"OPTIONS / RTSP/1.0\r\nCSeq: 1\r\n\r\n", 505, "unknown_http_version"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "unknown_http_version"),
        (b"GET /#fragment HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET a HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET /\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET /?\xff HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET /\x7f HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET http:///a HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET http://user@x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"CONNECT x HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "bad_host"),
        (b"GET http://x/ HTTP/1.1\r\n\r\n", 400, "bad_host"),
        (GET + b"Host: x\r\n\r\n", 400, "bad_host"),
        (GET + b"hOST: y\r\n\r\n", 400, "bad_host"),
        (b"GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n", 400, "bad_host"),
        (b"GET / HTTP/1.1\r\nHost: x y\r\n\r\n", 400, "bad_host"),
        (b"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400, "bad_host"),
        *[
            (b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host, 400, "bad_host")
            for host in (b"x:abc", b"[", b"::::", b"%zz", b"x:80:80", b"]x[", b"[::1]x", b"[x]", b"::1", b"u@x")
        ],
        (b"GET http://x:abc/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET http://[/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),
        (b"GET http://:80/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed_target"),  # RFC 9110 §4.2.1
        (b"GET https://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 421, "misdirected_request"),  # RFC 9110 §7.4
        (b"GET HTTPS://x HTTP/1.1\r\nHost: x\r\n\r\n", 421, "misdirected_request"),
        # RFC 9112 §6.3: whoever does not end in chunked can't be read, whatever comes before it
        (POST + b"Transfer-Encoding: gzip\r\n\r\n", 400, "malformed_request"),
        (POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n", 400, "malformed_request"),
        (POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n", 400, "malformed_request"),
        (POST + b"Transfer-Encoding: gzip\r\ntransfer-encoding: Chunked\r\n\r\n", 501, "unknown_transfer_coding"),
        (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501, "unknown_transfer_coding"),
        (POST + b"transfer-encoding: identity\r\n\r\n", 400, "malformed_request"),
        (POST + b"Content-Length: 5\r\nTransfer-Encoding: xchunked\r\n\r\n", 400, "malformed_request"),
        (POST + b"Content-Length: 5\r\nExpect: 200-ok\r\n\r\n", 417, "expectation_failed"),
    ],
)
def test_request_that_http_forbids_is_refused(
    client: RawClient, echo: Echo, sent: bytes, status: int, condition: str
) -> None:
    got = client.send(sent).answer()
    assert got.status == status
    assert got.fields["connection"] == "close"
    assert client.is_closed()
    assert [name for name, _, _ in echo.refusals] == [condition]
    assert echo.requests == []


@pytest.mark.parametrize(
    "line", [b"GET / HTTP/3.0\r\n", b"GET /#a HTTP/1.1\r\n", b"GET /\r\n", b"GET / HTTP/1.1\n", b"\x16\x03"]
)
def test_hopeless_head_is_refused_before_it_ends(client: RawClient, line: bytes) -> None:
    for byte in line:
        client.send(bytes([byte]))
    assert client.answer().status in {400, 505}


def test_refusal_knows_the_request_as_far_as_it_came(client: RawClient, echo: Echo) -> None:
    client.send(b"BREW /tea HTTP/1.1\r\nHost: x\r\nX-A: b\r\n\r\n").answer()
    request = echo.refusals[0][2]
    assert request is not None
    assert (request.method, request.target, request.header("x-a")) == ("BREW", "/tea", "b")
    assert (request.connection, request.exchange) == (1, 1)


def test_refusal_of_what_is_no_request_still_knows_where_it_came(connect: Callable[[], RawClient], echo: Echo) -> None:
    connect().get()
    before = time.perf_counter()
    client = connect()
    client.get()
    client.send(b"\0").answer()
    request = echo.refusals[0][2]
    assert request is not None
    assert (request.method, request.target, request.connection, request.exchange) == ("-", "-", 2, 2)
    assert request.started > before


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"HEAD /%b HTTP/1.1\r\n" % b"\xff", 400),
        (b"HEAD /#here HTTP/1.1\r\n", 400),
        (b"HEAD /\r\n", 400),
        (b"HEAD / HTTP/2.0\r\n", 505),
        (b"HEAD /%b HTTP/1.1\r\n" % (b"a" * LINE_LIMIT), 414),
        (b"HEAD /%b" % (b"a" * LINE_LIMIT), 414),  # it goes on
    ],
)
def test_answer_to_head_has_no_body_even_if_the_target_is_none(
    connect: Callable[..., RawClient], line: bytes, status: int
) -> None:
    """RFC 9110 §9.3.2."""
    client = connect()
    assert client.send(line + (b"Host: x\r\n\r\n" if line.endswith(b"\n") else b"")).answer("HEAD").status == status
    assert client.rest() == b""


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(b"HEAD / HTTP/1.1\r\n" + b"X: %b\r\n" % (b"a" * HEAD_LIMIT), id="too large"),
        pytest.param(b"HEAD / HTTP/1.1\r\nA: b\n", id="bare LF"),
        b"HEAD ",
        b"HEAD /v1/pe",
        b"HEAD / HTTP/1.1\r\nHost: x",
        b"HEAD /#here HTTP/1.1\r\n",
    ],
)
def test_answer_to_half_a_head_request_has_no_body(connect: Callable[..., RawClient], part: bytes) -> None:
    """RFC 9110 §9.3.2."""
    client = connect().send(part)
    client.socket.shutdown(socket.SHUT_WR)
    assert client.answer("HEAD").status in {400, 431}
    assert client.rest() == b""


def test_answer_to_a_head_request_that_never_ends_has_no_body(serve: Callable[..., WireServer]) -> None:
    with RawClient(serve(head_timeout=0.05)) as client:
        assert client.send(b"HEAD / HTTP/1.1\r\nHost: x").answer("HEAD").status == 408
        assert client.rest() == b""


def test_half_a_head_is_told_as_far_as_it_came(client: RawClient, echo: Echo) -> None:
    client.send(b"DELETE /a HTTP/1.0\r\nHost: x")
    client.socket.shutdown(socket.SHUT_WR)
    client.answer()
    request = echo.refusals[0][2]
    assert request is not None
    assert (request.method, request.target, request.version) == ("DELETE", "/a", "HTTP/1.0")


def test_what_follows_a_refused_head_says_nothing_of_it(client: RawClient, echo: Echo) -> None:
    client.send(b"GET\tA / HTTP/1.1\r\nHost: x\r\n\r\nHEAD /b HTTP/1.1\r\nHost: x\r\n\r\n")
    assert client.answer().body
    request = echo.refusals[0][2]
    assert request is not None
    assert (request.method, request.target) == ("-", "-")


def test_refused_head_request_gets_no_body(client: RawClient) -> None:
    got = client.send(b"HEAD / HTTP/1.1\r\n\r\n").answer("HEAD")
    assert got.status == 400
    assert client.is_closed()


def test_refusal_never_shows_a_key(client: RawClient, echo: Echo) -> None:
    client.send(GET + f"Authorization: {KEY}\0\r\n\r\n".encode())
    assert b"secret" not in client.answer().body
    assert "secret" not in str(echo.refusals)


def test_pipelined_refusal_comes_in_its_turn(client: RawClient, echo: Echo) -> None:
    client.send(GET + b"\r\n" + GET + b"\r\n" + b"GET /#a HTTP/1.1\r\n\r\n" + GET + b"\r\n")
    assert [client.answer().status for _ in range(3)] == [200, 200, 400]
    assert client.is_closed()
    assert len(echo.requests) == 2


def test_client_that_sends_on_after_a_refusal_reads_it(client: RawClient) -> None:
    """Unread input would turn the close into a reset, which takes the answer away."""
    client.send(b"nonsense\r\n")
    client.send(b"a" * 5_000_000)
    assert client.answer().status == 400
    assert client.is_closed()


# Ends


@pytest.mark.parametrize(
    "part",
    [b"G", GET, POST + b"Content-Length: 10\r\n\r\nabc", CHUNKED + b"5\r\nab", CHUNKED + b"5\r\nhello\r\n0\r\n"],
    ids=["line", "fields", "length", "chunk", "trailers"],
)
def test_request_cut_short_gets_400_when_the_client_still_reads(client: RawClient, echo: Echo, part: bytes) -> None:
    client.send(part)
    client.socket.shutdown(socket.SHUT_WR)
    assert client.answer().status == 400
    assert client.is_closed()
    assert echo.requests == []
    assert "ended before the" in echo.refusals[0][1]


@pytest.mark.parametrize("part", [b"", b"GET", GET, POST + b"Content-Length: 10\r\n\r\nabc", CHUNKED + b"5\r\nab"])
def test_reset_mid_request_is_survived(connect: Callable[[], RawClient], echo: Echo, part: bytes) -> None:
    for _ in range(20):
        connect().send(part).reset()
    assert echo.requests == []


def test_reset_mid_answer_is_survived(connect: Callable[..., RawClient], echo: Echo) -> None:
    echo.answers["/big"] = lambda _: answer(200, b"a" * 3_000_000)
    for _ in range(10):
        client = connect(receive_buffer=4096)
        client.send(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
        client.answer_head()
        client.reset()


def test_requests_of_a_client_that_has_gone_are_not_served_on(
    client: RawClient, echo: Echo, server: WireServer
) -> None:
    def leave(_: ApiRequest) -> ApiResponse:
        client.reset()
        return answer(200, b"a" * 1000)

    echo.answers["/leave"] = leave
    client.send(b"GET /leave HTTP/1.1\r\nHost: x\r\n\r\n" + (GET + b"\r\n") * 1000)
    eventually(lambda: len(echo.requests) >= 1, "the first request")
    eventually(lambda: client.socket.fileno() == -1, "the reset")
    with RawClient(server) as other:
        other.get()
    assert len(echo.requests) < 10


# Crowds


def test_half_sent_heads_do_not_hinder_others(connect: Callable[[], RawClient], server: WireServer) -> None:
    slow = [connect().send(GET[: 5 + n % 20]) for n in range(50)]
    other = connect()
    for _ in range(100):
        assert other.get().status == 200
    assert server.open_connections == 51
    for n, client in enumerate(slow):
        assert client.send(GET[5 + n % 20 :] + b"\r\n").answer().status == 200


def test_500_connections_at_once_are_served(connect: Callable[[], RawClient], server: WireServer) -> None:
    resource: Any = pytest.importorskip("resource")  # Windows has none, nor the limit
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 1300:  # both ends are in this process
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 1300), hard))
    clients = [connect() for _ in range(500)]
    for client in clients:
        client.send(GET + b"\r\n")
    for client in reversed(clients):
        assert client.answer().status == 200
    assert server.open_connections == 500


def test_many_clients_at_once_get_their_own_answers(server: WireServer, echo: Echo) -> None:
    wrong: list[bytes] = []

    def talk(name: int) -> None:
        with RawClient(server) as client:
            for number in range(50):
                body = b"%d/%d" % (name, number)
                got = client.send(POST + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)).answer()
                if got.body != body:
                    wrong.append(got.body)

    threads = [threading.Thread(target=talk, args=(name,)) for name in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(echo.requests) == 16 * 50


def test_nothing_is_left_of_hostile_clients(server: WireServer, echo: Echo) -> None:
    """Threads, descriptors and memory are back where they were."""
    echo.answers["/big"] = lambda _: answer(200, b"a" * 1_000_000)

    def attack() -> None:
        for sent in [*MALFORMED.values(), GET + b"X: " + b"a" * 70_000, b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n" * 5]:
            with RawClient(server) as client:
                client.send(sent)
            RawClient(server).send(sent[:-1]).reset()
        with RawClient(server) as last:  # accepted after all that were reset: until then they are no connections yet
            assert last.send(GET + b"\r\n").answer().status == 200
        eventually(lambda: server.open_connections == 0, "all connections closed")
        echo.requests.clear()
        echo.refusals.clear()

    attack()
    descriptors = open_descriptors()
    threads = threading.active_count()
    tracemalloc.start()
    attack()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(8):
        attack()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 100_000  # of some 900 connections; a buffer that is left behind makes it 60 MB
    assert threading.active_count() == threads
    eventually(lambda: open_descriptors() <= descriptors, "all descriptors closed")


# Anything at all

PIECES = st.sampled_from(
    [
        b"GET / HTTP/1.1\r\n",
        b"POST /p HTTP/1.1\r\n",
        b"HEAD / HTTP/1.0\r\n",
        b"OPTIONS * HTTP/1.1\r\n",
        b"Host: x\r\n",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"Connection: close\r\n",
        b"Connection: Upgrade\r\nUpgrade: h2c\r\n",
        b"\r\n",
        b"abc",
        b"3\r\nabc\r\n",
        b"0\r\n\r\n",
        b"\n",
        b"\0",
        b" ",
    ]
)


@pytest.mark.untraced
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=st.lists(PIECES | st.binary(max_size=20), max_size=25), cuts=st.lists(st.integers(1, 40), max_size=5))
def test_whatever_comes_gets_answers_and_a_clean_end(
    server: WireServer, echo: Echo, sent: list[bytes], cuts: list[int]
) -> None:
    """No reset, no silence, no failure inside; and how TCP cuts the bytes changes no request."""
    seen = []
    for pieces in ([b"".join(sent)], [*_cut(b"".join(sent), cuts)]):
        echo.requests.clear()
        echo.refusals.clear()
        with RawClient(server) as client:
            for piece in pieces:
                client.send(piece)
            client.socket.shutdown(socket.SHUT_WR)
            answers = client.rest()
        assert answers == b"" or answers.startswith(b"HTTP/1.1 ")
        assert b"HTTP/1.1 500" not in answers
        seen.append([(one.method, one.target, tuple(one.fields), one.body) for one in echo.requests])
    assert seen[0] == seen[1]


def _cut(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    for size in sizes:
        yield data[:size]
        data = data[size:]
    yield data
