"""What is too much, and what is too slow: each is answered, and the client can read the answer."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

import pytest

from petstore_mock.messages.request import UNASKED_BODY
from petstore_mock.transport import tcp_connection as line
from petstore_mock.transport.head_rules import FIELD_LIMIT, HEAD_LIMIT, LINE_LIMIT
from tests.inside.live.raw import RawClient, answer, eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.messages.response import ApiResponse
    from petstore_mock.transport.server import WireServer
    from tests.inside.live.raw import Echo

LINE = b"GET / HTTP/1.1\r\nHost: x\r\n"


def refused(client: RawClient, echo: Echo, status: int, condition: str) -> str:
    """Read a refusal and the clean end behind it; return its detail."""
    got = client.answer()
    assert got.status == status
    assert got.fields["connection"] == "close"
    assert client.is_closed()
    assert [name for name, _, _ in echo.refusals] == [condition]
    return echo.refusals[0][1]


# Heads


def test_longest_line_and_head_are_served(client: RawClient) -> None:
    line = b"GET /%b HTTP/1.1\r\n" % (b"a" * (LINE_LIMIT - 14))
    fields = b"Host: x\r\n" + b"X: %b\r\n" % (b"b" * 1000) * (FIELD_LIMIT - 1)
    whole = line + fields[: HEAD_LIMIT - len(line) - 1100].rpartition(b"X: ")[0]
    last = HEAD_LIMIT - len(whole) - len(b"X: \r\n\r\n")
    whole += b"X: %b\r\n\r\n" % (b"b" * last)
    assert len(whole) == HEAD_LIMIT
    assert client.send(whole).answer().status == 200


@pytest.mark.parametrize("ending", [b" HTTP/1.1\r\nHost: x\r\n\r\n", b""], ids=["whole", "endless"])
def test_too_long_a_request_line_gets_414(client: RawClient, echo: Echo, ending: bytes) -> None:
    client.send(b"GET /" + b"a" * LINE_LIMIT + ending)
    refused(client, echo, 414, "uri_too_long")


@pytest.mark.parametrize("ending", [b"\r\n\r\n", b""], ids=["whole", "endless"])
def test_too_large_a_head_gets_431(client: RawClient, echo: Echo, ending: bytes) -> None:
    client.send(LINE + b"X: " + b"a" * HEAD_LIMIT + ending)
    refused(client, echo, 431, "header_too_large")


def test_header_bomb_gets_431_while_it_is_sent(client: RawClient, echo: Echo) -> None:
    """10 MB of one field: the parser alone would swallow it silently."""
    sender = threading.Thread(target=client.send, args=(LINE + b"X: " + b"a" * 10_000_000,))
    sender.start()
    refused(client, echo, 431, "header_too_large")
    sender.join()


def test_too_many_fields_get_431(client: RawClient, echo: Echo) -> None:
    client.send(LINE + b"X: y\r\n" * (FIELD_LIMIT - 1) + b"\r\n")
    assert client.answer().status == 200
    client.send(LINE + b"X: y\r\n" * FIELD_LIMIT + b"\r\n")
    refused(client, echo, 431, "header_too_large")
    request = echo.refusals[0][2]
    assert request is not None
    assert request.target == "/"


# Bodies

POST = b"POST /p HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def test_limit_is_asked_for_only_above_64_kib(client: RawClient, echo: Echo) -> None:
    size = UNASKED_BODY
    echo.limit = 5
    assert client.send(POST + b"Content-Length: %d\r\n\r\n" % size + b"a" * size).answer().status == 200
    client.send(CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (size, b"a" * size))
    assert client.answer().status == 200
    assert echo.limits_asked == 0


def test_body_up_to_the_limit_is_served(connect: Callable[[], RawClient], echo: Echo) -> None:
    client, other = connect(), connect()
    echo.limit = size = 200_000
    client.send(POST + b"Content-Length: %d\r\n\r\n" % size + b"a" * size)
    assert len(client.answer().body) == size
    client.send(CHUNKED)
    for _ in range(8):
        client.send(b"%x\r\n%b\r\n" % (size // 8, b"a" * (size // 8)))
        other.get("/meanwhile")  # one loop serves both: it has read the chunk by now
    assert len(client.send(b"0\r\n\r\n").answer().body) == size
    assert echo.limits_asked == 2


def test_no_limit_is_no_limit(client: RawClient, echo: Echo) -> None:
    echo.limit = None
    size = 5_000_000
    sender = threading.Thread(target=client.send, args=(CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (size, b"a" * size),))
    sender.start()
    assert len(client.answer().body) == size
    sender.join()


def test_declared_body_over_the_limit_is_answered_unread(client: RawClient, echo: Echo) -> None:
    client.send(POST + b"Content-Length: 1048577\r\n\r\n")
    got = client.answer()
    assert got.status == 413
    assert got.fields["connection"] == "close"
    assert client.is_closed()
    assert echo.last.oversized
    assert echo.last.body == b""


def test_body_over_the_limit_gets_no_100(client: RawClient, echo: Echo) -> None:
    client.send(POST + b"Content-Length: 1048577\r\nExpect: 100-continue\r\n\r\n")
    assert client.answer().status == 413
    assert echo.admissions == []


@pytest.mark.parametrize("head", [POST + b"Content-Length: 20000000\r\n\r\n", CHUNKED + b"1312d00\r\n"])
def test_client_that_sends_all_before_it_reads_gets_the_answer(client: RawClient, echo: Echo, head: bytes) -> None:
    """And not a reset: what it sends is drained."""
    client.send(head)
    for _ in range(200):
        client.send(b"a" * 100_000)
    assert client.answer().status == 413
    assert client.is_closed()
    assert len(echo.requests) == 1
    assert echo.last.oversized


def test_draining_is_bounded(client: RawClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "LINGER_BYTES", 1_000_000)
    client.send(POST + b"Content-Length: 2000000000\r\n\r\n")
    with pytest.raises(ConnectionError):
        client.send(b"a" * 50_000_000)


def test_client_that_never_closes_is_left_after_a_while(serve: Callable[..., WireServer]) -> None:
    server = serve(linger_timeout=0.05)
    with RawClient(server) as client:
        client.send(LINE + b"Connection: close\r\n\r\n").answer()
        assert client.is_closed()
        eventually(lambda: server.open_connections == 0, "the fake's end closed")


@pytest.mark.parametrize(
    "endless", [b"0\r\n" + b"X: y\r\n" * 20_000, b"5;" + b"a" * 100_000], ids=["trailers", "chunk extension"]
)
def test_endless_framing_gets_431(client: RawClient, echo: Echo, endless: bytes) -> None:
    client.send(CHUNKED + endless)
    refused(client, echo, 431, "header_too_large")


def test_many_small_chunks_are_no_attack(client: RawClient) -> None:
    client.send(CHUNKED + b"1\r\na\r\n" * 30_000 + b"0\r\n\r\n")
    assert client.answer().body == b"a" * 30_000


# Time


@pytest.mark.parametrize(
    ("part", "detail"),
    [
        (b"G", "no whole head in 0.1 s"),
        (LINE, "no whole head in 0.1 s"),
        (LINE + b"\r\n" + LINE, "no whole head in 0.1 s"),
        (POST + b"Content-Length: 5\r\n\r\n", "no more of the body in 0.1 s"),
        (POST + b"Content-Length: 5\r\n\r\nabc", "no more of the body in 0.1 s"),
        (CHUNKED + b"5\r\nab", "no more of the body in 0.1 s"),
    ],
    ids=["method", "fields", "second", "no body", "half a body", "half a chunk"],
)
def test_slow_request_gets_408(serve: Callable[..., WireServer], echo: Echo, part: bytes, detail: str) -> None:
    with RawClient(serve(head_timeout=0.1, body_timeout=0.1)) as client:
        client.send(part)
        if part.count(b"\r\n\r\n") and part.startswith(b"GET"):
            assert client.answer().status == 200
        assert refused(client, echo, 408, "request_timeout") == detail


def test_head_that_dribbles_in_times_out_all_the_same(serve: Callable[..., WireServer], echo: Echo) -> None:
    """The time counts for the head as a whole, or one byte a second would hold it for ever."""
    with RawClient(serve(head_timeout=0.2)) as client:
        client.socket.settimeout(0.02)
        for byte in LINE * 4:
            client.send(bytes([byte]))
            with contextlib.suppress(TimeoutError):
                client.buffer += client.socket.recv(1000)
                break
        else:
            pytest.fail("the head was waited for as long as it grew")
        client.socket.settimeout(5)
        refused(client, echo, 408, "request_timeout")


def test_body_that_grows_is_waited_for(serve: Callable[..., WireServer], echo: Echo) -> None:
    """The time counts from its last piece: a long body is no slow one."""
    with RawClient(serve(body_timeout=0.3)) as client:
        client.send(POST + b"Content-Length: 6\r\n\r\n")
        client.socket.settimeout(0.1)
        for byte in b"abcdef":
            with pytest.raises(TimeoutError):
                client.socket.recv(1)
            client.send(bytes([byte]))
        client.socket.settimeout(5)
        assert client.answer().body == b"abcdef"
        assert echo.refusals == []


def test_idle_connection_is_closed_without_a_word(serve: Callable[..., WireServer], echo: Echo) -> None:
    server = serve(idle_timeout=0.1)
    with RawClient(server) as used, RawClient(server) as unused:
        used.get()
        assert used.is_closed()
        assert unused.is_closed()
    assert echo.refusals == []


def test_idle_time_counts_from_the_last_request(serve: Callable[..., WireServer]) -> None:
    with RawClient(serve(idle_timeout=0.3)) as client:
        client.socket.settimeout(0.1)
        for _ in range(6):
            assert client.get().status == 200
            with pytest.raises(TimeoutError):
                client.socket.recv(1)


@pytest.mark.parametrize(
    ("part", "rest"),
    [
        (LINE[:20], LINE[20:] + b"\r\n"),
        (POST + b"Content-Length: 6\r\n\r\nabc", b"def"),
        (LINE + b"\r\n", LINE + b"\r\n"),
    ],
    ids=["head", "body", "idle"],
)
def test_time_in_which_the_process_stood_still_is_no_clients(
    serve: Callable[..., WireServer], echo: Echo, part: bytes, rest: bytes
) -> None:
    """A laptop that slept: the clients of this process could not send, either."""

    def stand_still(_: object) -> ApiResponse:
        time.sleep(0.6)  # in the loop's thread
        return answer(200)

    echo.answers["/still"] = stand_still
    server = serve(head_timeout=0.4, body_timeout=0.4, idle_timeout=0.4)
    with RawClient(server) as client, RawClient(server) as other:
        client.send(part)
        if part == LINE + b"\r\n":
            assert client.answer().status == 200
        assert other.get("/still").status == 200
        assert other.get().status == 200  # the connections were looked after by now
        client.send(rest)
        assert client.answer().status == 200
    assert echo.refusals == []


# Flow


def test_client_that_does_not_read_is_not_served_on(connect: Callable[..., RawClient], echo: Echo) -> None:
    """Answers and requests wait in bounded buffers; once it reads, all of them come."""
    size, count = 100_000, 300
    echo.answers["/big"] = lambda _: answer(200, b"a" * size)
    slow = connect(receive_buffer=4096)
    request = b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n"
    sender = threading.Thread(target=slow.send, args=(request * count,))
    sender.start()
    assert connect().get().status == 200  # others are
    assert len(echo.requests) < 100
    for _ in range(count):
        assert len(slow.answer().body) == size
    sender.join()


@pytest.mark.untraced
def test_known_requests_of_a_client_that_does_not_read_are_not_served_on(
    connect: Callable[..., RawClient], echo: Echo
) -> None:
    """A head that was read before takes a shorter way, which must not lead past a client that is blocked."""
    size, count = 3_000_000, 5
    echo.answers["/big"] = lambda _: answer(200, b"a" * size)
    slow, other = connect(receive_buffer=4096), connect()
    assert len(slow.get("/big").body) == size
    for _ in range(count):
        slow.send(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
        other.get()  # the server has read the line above by now
    assert [request.target for request in echo.requests].count("/big") < count
    for _ in range(count):
        assert len(slow.answer().body) == size


def test_flood_of_requests_behind_a_held_one_is_not_read_on(client: RawClient, echo: Echo) -> None:
    echo.deliver("/slow", "dribble", 1.0)
    client.send(LINE.replace(b"/", b"/slow", 1) + b"\r\n")
    client.answer_head()
    client.socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.send((LINE + b"\r\n") * 1_000_000)
    assert len(echo.requests) == 1


def test_held_answer_outlasts_all_timeouts(serve: Callable[..., WireServer], echo: Echo) -> None:
    echo.delay("/slow", 0.3)
    server = serve(head_timeout=0.05, body_timeout=0.05, idle_timeout=0.05, linger_timeout=0.05)
    with RawClient(server) as client:
        assert client.get("/slow").body == b"/slow"


def test_last_answer_waits_for_a_slow_reader(serve: Callable[..., WireServer], echo: Echo) -> None:
    """The time to linger begins when all is sent, or a large answer would be cut."""
    echo.answers["/big"] = lambda _: answer(200, b"a" * 5_000_000)
    echo.delay("/pause", 0.3)
    server = serve(linger_timeout=0.05)
    with RawClient(server, receive_buffer=65536) as slow, RawClient(server) as other:
        slow.send(b"GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        other.get("/pause")
        assert len(slow.answer().body) == 5_000_000
        assert slow.is_closed()


def test_slow_reader_is_not_taken_for_an_idle_one(serve: Callable[..., WireServer], echo: Echo) -> None:
    size = 12_000_000
    echo.answers["/big"] = lambda _: answer(200, b"a" * size)
    with RawClient(serve(idle_timeout=0.15), receive_buffer=65536) as client:
        client.send(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
        client.answer_head()
        left = size - len(client.buffer)
        started = time.perf_counter()
        while left:
            left -= len(client.socket.recv(min(left, 400_000)))
            time.sleep(0.003)  # this is how slow it is
        assert time.perf_counter() - started > 0.15


def test_half_closed_slow_reader_gets_all_and_then_the_end(serve: Callable[..., WireServer], echo: Echo) -> None:
    echo.answers["/big"] = lambda _: answer(200, b"a" * 5_000_000)
    server = serve(linger_timeout=60)
    with RawClient(server, receive_buffer=65536) as client:
        client.send(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n" * 4)
        client.socket.shutdown(1)
        for _ in range(4):
            assert len(client.answer().body) == 5_000_000
        assert client.is_closed()
        eventually(lambda: server.open_connections == 0, "the connection closed")


def test_flood_behind_a_last_request_is_drained(client: RawClient, echo: Echo) -> None:
    """It was not read while the answer was held; it must be now, or the client never comes to read."""
    echo.delay("/slow", 0.05)
    client.send(b"GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    client.send((LINE + b"\r\n") * 500_000)
    assert client.answer().body == b"/slow"
    assert client.is_closed()
    assert len(echo.requests) == 1


def test_client_that_never_reads_is_left_after_a_while(serve: Callable[..., WireServer], echo: Echo) -> None:
    echo.answers["/big"] = lambda _: answer(200, b"a" * 10_000_000)
    server = serve(idle_timeout=0.1)
    with RawClient(server, receive_buffer=4096) as client:
        client.send(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
        eventually(lambda: len(echo.requests) == 1, "the request served")
        eventually(lambda: server.open_connections == 0, "the connection closed")
