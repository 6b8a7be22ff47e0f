"""Answers that are held back, and answers that a fault spoils: each as real on the socket as its name says."""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from petstore_mock.messages.deferred import DeferredResponses
from petstore_mock.messages.response import WireFormat
from tests.inside.live.raw import RawClient, answer, eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse
    from petstore_mock.transport.server import WireServer
    from tests.inside.live.raw import Echo

TICK = 0.002  # seconds: uvloop counts in whole milliseconds, from the beginning of its turn
KINDS = ["hang", "reset", "empty_reply", "truncate", "dribble", "malformed_chunk"]


def ask(client: RawClient, target: str, method: str = "GET", version: str = "1.1") -> RawClient:
    return client.send(f"{method} {target} HTTP/{version}\r\nHost: x\r\n\r\n".encode())


class Kept(DeferredResponses):
    """Remembers how to release even a response that has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[Callable[[], None]] = []

    def add(self, release: Callable[[], None]) -> None:
        super().add(release)
        self.all.append(release)


# Delays


def test_delayed_answer_comes_after_its_time(client: RawClient, echo: Echo) -> None:
    echo.delay("/slow", 0.1)
    started = time.perf_counter()
    assert client.get("/slow").body == b"/slow"
    assert 0.1 - TICK <= time.perf_counter() - started < 1
    assert echo.records[0].outcome == "delayed"
    assert 0.1 - TICK <= echo.records[0].duration < 1
    assert len(echo.pending) == 0
    assert client.get("/next").status == 200


def test_delay_does_not_hold_up_other_clients(connect: Callable[[], RawClient], echo: Echo) -> None:
    echo.delay("/slow", 60)
    ask(connect(), "/slow")
    eventually(lambda: len(echo.pending) == 1, "the answer held")
    assert connect().get("/other").status == 200
    assert len(echo.pending) == 1


@pytest.mark.parametrize("known", [False, True])
def test_request_pipelined_behind_a_delayed_one_waits_for_it(client: RawClient, echo: Echo, known: bool) -> None:
    """A head that was read before takes a shorter way, which must not lead past an answer that is held, either."""
    for target in ("/slow", "/quick") if known else ():
        client.get(target)
    echo.requests.clear()
    echo.delay("/slow", 0.05)
    ask(client, "/slow")
    eventually(lambda: len(echo.requests) == 1, "the slow request")
    ask(client, "/quick")
    assert client.answer().body == b"/slow"
    assert client.answer().body == b""
    assert [request.target for request in echo.requests] == ["/slow", "/quick"]


def test_resume_makes_the_answer_after_the_delay(client: RawClient, echo: Echo) -> None:
    resumed: list[float] = []

    def resume() -> ApiResponse:
        resumed.append(time.perf_counter())
        return answer(201, b"made")

    echo.delay("/slow", 0.05, resume)
    started = time.perf_counter()
    got = client.get("/slow")
    assert (got.status, got.body) == (201, b"made")
    assert resumed[0] - started >= 0.05 - TICK
    assert echo.records[0].outcome == "delayed"


def test_resume_without_delay_is_called_at_once(client: RawClient, echo: Echo) -> None:
    echo.delay("/now", 0.0, lambda: answer(201, b"made"))
    assert client.get("/now").status == 201


def test_resumed_answer_may_have_a_delivery(client: RawClient, echo: Echo) -> None:
    echo.deliver("/fault", "reset")
    echo.delay("/slow", 0.02, lambda: echo.answers["/fault"](echo.last))
    ask(client, "/slow")
    with pytest.raises(ConnectionResetError):
        client.rest()
    assert echo.records[1].outcome == "reset"
    assert len(echo.pending) == 0


def test_delay_may_precede_a_delivery(client: RawClient, echo: Echo) -> None:
    echo.deliver("/fault", "empty_reply", seconds=0.05)
    started = time.perf_counter()
    assert ask(client, "/fault").is_closed()
    assert time.perf_counter() - started >= 0.05 - TICK
    assert echo.records[0].outcome == "empty reply"


@pytest.mark.parametrize("leave", ["close", "reset"])
def test_resume_is_not_called_when_the_client_has_gone(
    client: RawClient, server: WireServer, echo: Echo, leave: str
) -> None:
    resumed: list[str] = []

    def resume() -> ApiResponse:
        resumed.append("resumed")
        return answer(201)

    echo.delay("/slow", 0.2, resume)
    ask(client, "/slow")
    eventually(lambda: len(echo.pending) == 1, "the answer held")
    client.reset() if leave == "reset" else client.socket.close()
    eventually(lambda: echo.records[0].outcome == "client gone", "the client's leaving")
    assert len(echo.pending) == 0
    with RawClient(server) as other:
        echo.delay("/later", 0.25)  # on the same loop, hence after the delay
        other.get("/later")
    assert resumed == []


def test_failure_in_resume_is_answered_500(client: RawClient, echo: Echo, caplog: pytest.LogCaptureFixture) -> None:
    def resume() -> ApiResponse:
        raise ZeroDivisionError("in the core")

    echo.delay("/slow", 0.01, resume)
    assert client.get("/slow").status == 500
    assert echo.refusals[0][:2] == ("internal_error", "ZeroDivisionError: in the core")
    assert "ZeroDivisionError" in caplog.text


def test_failure_in_handle_is_answered_500_and_logged(
    client: RawClient, echo: Echo, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: ApiRequest) -> ApiResponse:
        raise ZeroDivisionError("in the core")

    echo.answers["/broken"] = fail
    assert client.get("/broken").status == 500
    assert client.get("/").status == 200
    assert "ZeroDivisionError" in caplog.text


# Letting go


@pytest.mark.parametrize("kind", ["delay", "resume", "hang", "dribble"])
def test_release_from_another_thread_resets_the_connection(client: RawClient, echo: Echo, kind: str) -> None:
    if kind == "delay":
        echo.delay("/held", 60)
    elif kind == "resume":
        echo.delay("/held", 60, lambda: answer(201))
    else:
        echo.deliver("/held", kind, 1.0)
    ask(client, "/held")
    eventually(lambda: len(echo.pending) == 1, "the answer held")
    started = time.perf_counter()
    echo.pending.release()
    with pytest.raises(ConnectionResetError):
        client.rest()
    assert time.perf_counter() - started < 0.05
    assert len(echo.pending) == 0
    assert echo.records[0].outcome == ("hang" if kind == "hang" else "reset")


def test_late_release_hurts_no_later_answer(client: RawClient, echo: Echo) -> None:
    echo.pending = kept = Kept()
    echo.delay("/slow", 0.01)
    client.get("/slow")
    ask(client, "/slow")
    eventually(lambda: len(kept.all) == 2, "the second answer held")
    kept.all[0]()
    assert client.answer().body == b"/slow"


def test_release_after_the_stop_is_harmless(client: RawClient, echo: Echo, server: WireServer) -> None:
    echo.pending = kept = Kept()
    echo.deliver("/hang", "hang")
    ask(client, "/hang")
    eventually(lambda: len(echo.pending) == 1, "the answer held")
    server.stop()
    kept.all[0]()
    assert echo.records[0].outcome == "hang"


# Deliveries


def test_hang_ends_when_the_client_closes(client: RawClient, echo: Echo, server: WireServer) -> None:
    echo.deliver("/hang", "hang")
    ask(client, "/hang")
    client.socket.settimeout(0.1)
    with pytest.raises(TimeoutError):
        client.socket.recv(1)
    client.send(b"a" * 300_000)  # whatever it sends on: its going is still noticed
    client.socket.close()
    eventually(lambda: server.open_connections == 0, "the connection closed")
    assert echo.records[0].outcome == "hang"
    assert echo.records[0].duration > 0
    assert len(echo.pending) == 0
    assert len(echo.requests) == 1


def test_reset_is_a_reset(client: RawClient, echo: Echo) -> None:
    echo.deliver("/reset", "reset")
    ask(client, "/reset")
    with pytest.raises(ConnectionResetError):
        client.rest()
    assert client.buffer == b""
    assert echo.records[0].outcome == "reset"


@pytest.mark.parametrize("following", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 100, b"a" * 1_000_000])
def test_empty_reply_is_no_reset(client: RawClient, echo: Echo, following: bytes) -> None:
    """Input that was not read would make the close a reset."""
    echo.deliver("/empty", "empty_reply")
    ask(client, "/empty").send(following)
    assert client.is_closed()
    assert echo.records[0].outcome == "empty reply"
    assert len(echo.requests) == 1


@pytest.mark.parametrize(("fraction", "sent"), [(0.0, 0), (0.5, 5), (0.99, 9), (1.0, 9)])
def test_truncated_answer_promises_more_than_it_sends(
    client: RawClient, echo: Echo, fraction: float, sent: int
) -> None:
    echo.deliver("/cut", "truncate", fraction)
    got = ask(client, "/cut").answer_head()
    assert got.fields["content-length"] == "10"
    assert client.rest() == b"0123456789"[:sent]
    assert echo.records[0].outcome == "truncated"


def test_truncated_answer_is_never_chunked(client: RawClient, echo: Echo) -> None:
    echo.deliver("/cut", "truncate", 0.5, wire_format=WireFormat(chunked=True))
    assert ask(client, "/cut").answer_head().fields["content-length"] == "10"


def test_dribbled_body_comes_slowly_and_whole(client: RawClient, echo: Echo) -> None:
    echo.deliver("/slow", "dribble", 500.0, b"a" * 100)
    started = time.perf_counter()
    ask(client, "/slow").answer_head()
    assert time.perf_counter() - started < 0.1  # the head is there at once
    pieces: list[bytes] = []
    while len(b"".join(pieces)) < 100 - len(client.buffer):
        pieces.append(client.socket.recv(1000))
    assert len(pieces) > 5
    assert 0.19 <= time.perf_counter() - started < 1
    assert echo.records[0].outcome == "dribbled"
    assert echo.records[0].duration >= 0.19
    client.buffer = b""
    assert client.get("/next").status == 200


def test_dribbled_chunks_are_well_formed(client: RawClient, echo: Echo) -> None:
    echo.deliver("/slow", "dribble", 1000.0, wire_format=WireFormat(chunked=True, close=True))
    assert client.get("/slow").body == b"0123456789"
    assert client.is_closed()


def test_dribble_ends_when_the_client_has_gone(client: RawClient, echo: Echo, server: WireServer) -> None:
    echo.deliver("/slow", "dribble", 1.0)
    ask(client, "/slow").answer_head()
    client.reset()
    eventually(lambda: server.open_connections == 0, "the connection closed")
    assert echo.records[0].outcome == "client gone"
    assert len(echo.pending) == 0


@pytest.mark.parametrize("end", ["stop", "timeout"])
def test_dribble_to_a_client_that_half_closes_and_does_not_read_ends(
    serve: Callable[..., WireServer], echo: Echo, end: str
) -> None:
    server = serve(idle_timeout=0.2)
    echo.deliver("/slow", "dribble", 50e6, b"a" * 50_000_000)
    with RawClient(server, receive_buffer=4096) as client:
        ask(client, "/slow")
        time.sleep(0.1)  # several megabytes are due by now, more than the system takes off our hands
        client.socket.shutdown(socket.SHUT_WR)
        eventually(lambda: echo.records and echo.records[0].outcome == "client gone", "the end of the dribbling")
        if end == "stop":
            server.stop()
        eventually(lambda: server.open_connections == 0, "the connection closed")


def test_quick_dribble_to_a_slow_reader_comes_whole(connect: Callable[..., RawClient], echo: Echo) -> None:
    body = b"a" * 5_000_000
    echo.deliver("/slow", "dribble", 1e9, body)
    client = connect(receive_buffer=65536)
    ask(client, "/slow")
    eventually(lambda: len(echo.requests) == 1, "the answer begun")
    assert client.answer().body == body


def test_malformed_chunk_is_no_chunk(client: RawClient, echo: Echo) -> None:
    echo.deliver("/bad", "malformed_chunk")
    assert ask(client, "/bad").answer_head().fields["transfer-encoding"] == "chunked"
    size, _, _ = client.rest().partition(b"\r\n")
    with pytest.raises(ValueError, match="invalid literal"):
        int(size, 16)
    assert echo.records[0].outcome == "malformed chunk"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_deliveries_of_an_answer_to_head_hold_no_body(client: RawClient, echo: Echo, kind: str, version: str) -> None:
    echo.deliver("/fault", kind, 0.5)
    ask(client, "/fault", "HEAD", version)
    match kind:
        case "hang":
            client.socket.settimeout(0.05)
            with pytest.raises(TimeoutError):
                client.socket.recv(1)
        case "reset":
            with pytest.raises(ConnectionResetError):
                client.rest()
        case "empty_reply":
            assert client.is_closed()
        case _:
            assert client.answer_head().status == 200
            client.socket.shutdown(1)
            assert client.rest() == b""


@pytest.mark.parametrize("kind", KINDS)
def test_deliveries_of_an_empty_body_are_survived(client: RawClient, echo: Echo, kind: str) -> None:
    echo.deliver("/fault", kind, 0.5, b"")
    ask(client, "/fault")
    try:
        client.socket.shutdown(1)
        client.rest()
    except OSError as error:  # shutting down what was reset is one as well
        assert kind == "reset", error  # noqa: PT017
    assert len(echo.records) == 1
    eventually(lambda: echo.records[0].outcome != "not completed", "the entry completed")


def test_a_hundred_hanging_clients_cost_no_thread(connect: Callable[[], RawClient], echo: Echo) -> None:
    echo.deliver("/hang", "hang")
    before = threading.active_count()
    for _ in range(100):
        ask(connect(), "/hang")
    eventually(lambda: len(echo.pending) == 100, "all held")
    assert threading.active_count() == before
    assert connect().get("/").status == 200
