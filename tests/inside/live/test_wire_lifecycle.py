"""Start, stop and what lies between: quick, complete, and never in anybody's way."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import select
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import PetStoreMock
from petstore_mock.errors import PetStoreMockError
from petstore_mock.transport.http_connection import HttpConnection
from petstore_mock.transport.server import WireServer
from tests.inside.live.raw import Echo, RawClient, answer, eventually, open_descriptors
from tests.platforms import POSIX_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse


def run(script: str, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> subprocess.CompletedProcess[str]:
    """Run a script that has ``server``, ``echo`` and ``RawClient``; it must end by itself, and soon."""
    maker = getattr(new_loop, "__qualname__", "")
    where = f"from {new_loop.__module__} import {maker} as new_loop"
    prologue = f"""
        import os, sys, threading
        {where}
        from petstore_mock.transport.server import WireServer
        from tests.inside.live.raw import Echo, RawClient, eventually
        echo = Echo()
        echo.deliver("/hang", "hang")
        echo.delay("/slow", 60, lambda: 1 / 0)
        server = WireServer(echo, new_loop=new_loop)
        server.start()
    """
    whole = textwrap.dedent(prologue) + textwrap.dedent(script)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [sys.executable, "-c", whole], capture_output=True, text=True, timeout=10, check=False, env=environment
    )


# Start


def test_start_and_stop_are_quick(echo: Echo, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    starts, stops = [], []
    for _ in range(20):
        server = WireServer(echo, new_loop=new_loop)
        began = time.perf_counter()
        server.start()
        starts.append(time.perf_counter() - began)
        with RawClient(server) as client:
            client.get()
        began = time.perf_counter()
        server.stop()
        stops.append(time.perf_counter() - began)
    assert sorted(starts)[10] < 0.01
    assert sorted(stops)[10] < 0.05


def test_port_is_known_when_start_returns(server: WireServer) -> None:
    assert server.port > 0
    assert server.host == "127.0.0.1"
    assert server.is_running
    assert repr(server) == f"<WireServer 127.0.0.1:{server.port} running>"


def test_taken_port_raises_and_names_it(server: WireServer, echo: Echo) -> None:
    second = WireServer(echo, port=server.port)
    with pytest.raises(PetStoreMockError, match=rf"host='127\.0\.0\.1', port={server.port}: .*Pass port=0"):
        second.start()
    assert not second.is_running
    second.stop()


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        *(
            (host, 0, "an address of this machine")
            for host in ("192.0.2.1", "no such host", "127..0.0.1", "a" * 70, "", "*")
        ),
        ("127.0.0.1", 65536, "a port from 0 to 65535"),
    ],
)
def test_impossible_address_raises_and_names_it(echo: Echo, host: str, port: int, expected: str) -> None:
    before = open_descriptors()
    with pytest.raises(
        PetStoreMockError, match=f"expected {expected}.*; got host={re.escape(repr(host))}, port={port}"
    ):
        WireServer(echo, host, port).start()
    assert open_descriptors() == before


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.EACCES, r"expected a port that this user may take .*: \[Errno 13\] why\. .*one from 1024 up$"),
        (errno.ENOMEM, r"expected an address and a port to listen on.*: \[Errno 12\] why$"),
    ],
)
def test_refusal_by_the_system_raises_and_says_why(
    echo: Echo, monkeypatch: pytest.MonkeyPatch, code: int, words: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, "why")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(PetStoreMockError, match=words):
        WireServer(echo, port=80).start()


def two_families(monkeypatch: pytest.MonkeyPatch, second: str = "::1") -> None:
    """Let a name stand for both families, IPv6 first, as localhost does on many machines."""
    if not has_ipv6():
        pytest.skip("this machine has no IPv6 loopback")
    resolve = socket.getaddrinfo

    def both(host: str, *arguments: Any, **options: Any) -> list[object]:  # noqa: ANN401  # as getaddrinfo
        hosts = [second, "127.0.0.1"] if host == "localhost" else [host]
        return [found for one in hosts for found in resolve(one, *arguments, **options)]

    monkeypatch.setattr("petstore_mock.transport.server.socket.getaddrinfo", both)


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def test_name_of_both_families_is_served_over_both(
    echo: Echo, monkeypatch: pytest.MonkeyPatch, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """Some clients try the one first, and some no other."""
    two_families(monkeypatch)
    descriptors = []  # after each stop: uvloop keeps some of its own from its first start on
    server = WireServer(echo, "localhost", new_loop=new_loop)
    for _ in range(2):
        server.start()
        assert (server.host, server.bound) == ("localhost", "127.0.0.1")
        ends = [socket.create_connection((address, server.port), timeout=5) for address in ("127.0.0.1", "::1")]
        for end in ends:
            end.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert end.recv(100).startswith(b"HTTP/1.1 200")
        server.stop()
        for end, address in zip(ends, ("127.0.0.1", "::1"), strict=True):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((address, server.port))
            end.close()
        descriptors.append(open_descriptors())
    assert descriptors[0] == descriptors[1]


def test_name_of_an_address_that_is_not_there_is_served_at_the_other(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container without IPv6, whose hosts file names ::1 all the same."""
    two_families(monkeypatch, "2001:db8::1")  # RFC 3849: nobody has it
    server = WireServer(echo, "localhost")
    server.start()
    try:
        with RawClient(server) as client:
            assert client.get().status == 200
    finally:
        server.stop()


def test_port_that_is_taken_in_one_family_is_taken(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else clients of localhost would meet the one program or the other."""
    two_families(monkeypatch)
    before = open_descriptors()
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as other:
        port = other.getsockname()[1]
        with pytest.raises(PetStoreMockError, match=f"expected a free port .* port={port}"):
            WireServer(echo, "localhost", port).start()
    assert open_descriptors() == before


def test_any_port_is_one_that_is_free_in_both_families(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    two_families(monkeypatch)
    bind, refusals = socket.socket.bind, [OSError(errno.EADDRINUSE, "taken") for _ in range(3)]

    def refuse_first(sock: socket.socket, address: Any) -> None:  # noqa: ANN401  # as bind
        if sock.family == socket.AF_INET6 and refusals:
            raise refusals.pop()
        bind(sock, address)

    monkeypatch.setattr(socket.socket, "bind", refuse_first)
    server = WireServer(echo, "localhost")
    server.start()
    try:
        socket.create_connection(("::1", server.port), timeout=5).close()
    finally:
        server.stop()
    assert refusals == []


def test_second_start_raises(server: WireServer) -> None:
    with pytest.raises(PetStoreMockError, match=f"port={server.port}"):
        server.start()
    with RawClient(server) as client:
        assert client.get().status == 200


def test_ipv6_is_served(echo: Echo, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    server = WireServer(echo, "::1", new_loop=new_loop)
    try:
        server.start()
    except PetStoreMockError:
        pytest.skip("this machine has no IPv6 loopback")
    try:
        with RawClient(server) as client:
            assert client.get().status == 200
    finally:
        server.stop()


# Stop


def test_server_can_stop_and_start_again_on_its_port(server: WireServer) -> None:
    """A client that holds the address meets a service that was restarted."""
    port = server.port
    for _ in range(3):
        with RawClient(server) as client:
            assert client.get().status == 200
            server.stop()
            assert not server.is_running
            with pytest.raises(ConnectionRefusedError):
                RawClient(server)
            server.start()
            assert server.port == port


def test_stop_is_harmless_when_it_does_not_run(echo: Echo, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    server = WireServer(echo, new_loop=new_loop)
    server.stop()
    server.close_connections()
    assert server.open_connections == 0
    server.start()
    server.stop()
    server.stop()


def test_stop_ends_whatever_is_open_at_once(echo: Echo, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    echo.deliver("/hang", "hang")
    echo.deliver("/dribble", "dribble", 1.0)
    echo.delay("/slow", 60, lambda: 1 / 0)  # type: ignore[arg-type,return-value]
    new_loop().close()  # libuv keeps a pipe for signals from the first loop of a process on
    descriptors, threads = open_descriptors(), threading.active_count()
    server = WireServer(echo, new_loop=new_loop)
    server.start()
    clients = [RawClient(server) for _ in range(60)]
    starts = [
        b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /dribble HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /half",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab",
        b"nonsense\r\n\r\n",
    ]
    for number, client in enumerate(clients):
        client.send(starts[number % len(starts)])
    eventually(lambda: len(echo.requests) == 30 and len(echo.refusals) == 10, "all that is to be held")
    began = time.perf_counter()
    server.stop()
    assert time.perf_counter() - began < 0.05
    assert sorted(str(record.outcome) for record in echo.records) == ["hang"] * 10 + ["reset"] * 20
    assert len(echo.pending) == 0
    for client in clients:
        with contextlib.suppress(ConnectionResetError):
            client.rest()
        client.socket.close()
    assert threading.active_count() == threads
    assert open_descriptors() == descriptors


def test_serves_and_stops_where_there_is_no_epoll(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    """On macOS and Windows, and under gevent, the connections are asyncio's own."""
    monkeypatch.delattr(select, "epoll", raising=False)
    server = WireServer(echo)
    for _ in range(2):
        server.start()
        with RawClient(server) as client, RawClient(server) as idle:
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.answer().status == 200
            eventually(lambda: server.open_connections == 2, "both connections")
            server.stop()
            assert (client.rest(), idle.rest()) == (b"", b"")
    assert len(echo.requests) == 2


def test_connections_still_in_the_backlog_are_closed_by_stop(
    echo: Echo, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    for _ in range(10):
        server = WireServer(echo, new_loop=new_loop)
        server.start()
        clients = [RawClient(server) for _ in range(20)]
        server.stop()
        for client in clients:
            with contextlib.suppress(ConnectionResetError):
                client.rest()
            client.socket.close()


def test_stop_sends_what_is_answered(connect: Callable[[], RawClient], echo: Echo, server: WireServer) -> None:
    """An answer waits for the end of the loop's turn, and that turn may be the one in which the stop comes."""
    gate, entered = threading.Event(), threading.Event()

    def block(_: ApiRequest) -> ApiResponse:
        entered.set()
        gate.wait(5)
        return answer(200, b"blocked")

    echo.answers["/block"] = block
    blocking, late = connect(), connect()
    late.get("/late")  # from now on its head is known: only then does the answer wait
    blocking.send(b"GET /block HTTP/1.1\r\nHost: x\r\n\r\n")
    entered.wait(5)
    late.send(b"GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
    server.begin_to_stop()  # before the loop sees the late request
    gate.set()
    server.stop()
    assert blocking.answer().body == b"blocked"
    assert late.answer().status == 200
    assert late.is_closed()


def test_stop_answers_every_request_that_it_has_served(serve: Callable[[], WireServer], echo: Echo) -> None:
    """What was served is done, and may be in a log: its client must hear of it, whenever the stop comes."""
    for _ in range(6):
        server = serve()
        echo.requests.clear()
        answered: list[int] = []
        clients = [RawClient(server) for _ in range(12)]

        def ask(client: RawClient, answered: list[int] = answered) -> None:
            with contextlib.suppress(OSError, EOFError, AssertionError):  # the stop, between two requests
                while client.get("/again").status == 200:
                    answered.append(1)

        threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        eventually(lambda: len(answered) > 200, "a load of requests")  # noqa: B023  # at once
        server.stop()
        for thread in threads:
            thread.join(10)
        for client in clients:
            client.socket.close()
        assert len(echo.requests) == len(answered)


def test_stop_from_inside_a_request_raises(client: RawClient, echo: Echo, server: WireServer) -> None:
    raised: list[BaseException] = []

    def stop(request: ApiRequest) -> ApiResponse:
        try:
            server.stop()
        except PetStoreMockError as error:
            raised.append(error)
        return echo.refuse("internal_error", "", request)

    echo.answers["/stop"] = stop
    client.get("/stop")
    assert "from another thread" in str(raised[0])
    assert client.get("/").status == 200


def test_stop_says_what_blocks_it(
    client: RawClient, echo: Echo, server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("petstore_mock.transport.server.STOP_PATIENCE", 0.05)
    gate, entered = threading.Event(), threading.Event()

    def block(request: ApiRequest) -> ApiResponse:
        entered.set()
        gate.wait(5)
        return echo.refuse("internal_error", "", request)

    echo.answers["/block"] = block
    client.send(b"GET /block HTTP/1.1\r\nHost: x\r\n\r\n")
    entered.wait(5)
    with pytest.raises(PetStoreMockError, match="something blocks its loop"):
        server.stop()
    gate.set()
    server.stop()
    assert not server.is_running


# Idle connections


def test_close_connections_closes_what_is_idle(
    connect: Callable[[], RawClient], echo: Echo, server: WireServer
) -> None:
    echo.delay("/slow", 0.05)
    fresh, used, busy, half = connect(), connect(), connect(), connect()
    used.get()
    half.send(b"GET / HT")
    busy.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
    eventually(lambda: len(echo.requests) == 2, "the slow request")
    eventually(lambda: server.open_connections == 4, "all connections")
    server.close_connections()
    for client in (fresh, used):
        client.socket.settimeout(0)
        assert client.socket.recv(1) == b""  # the end is there already
    assert busy.answer().body == b"/slow"
    assert half.send(b"TP/1.1\r\nHost: x\r\n\r\n").answer().status == 200
    assert server.open_connections == 2


def test_close_connections_works_from_inside_a_request(
    connect: Callable[[], RawClient], echo: Echo, server: WireServer
) -> None:
    idle, asking = connect(), connect()
    idle.get()

    def close(request: ApiRequest) -> ApiResponse:
        server.close_connections()
        return echo.refuse("internal_error", "", request)

    echo.answers["/close"] = close
    asking.get("/close")
    assert idle.is_closed()


def test_answer_goes_out_before_its_connection_is_closed(
    connect: Callable[[], RawClient], echo: Echo, server: WireServer
) -> None:
    """It is sent at the end of the loop's turn, and the closing that the request asked for comes before that."""

    def close(_: ApiRequest) -> ApiResponse:
        server.close_connections()
        return answer(200, b"closing")

    echo.answers["/close"] = close
    for _ in range(2):  # the second time, the head is known: only then does the answer wait
        client = connect()
        assert client.get("/close").body == b"closing"
        assert client.is_closed()


def test_a_mock_keeps_to_asyncio_whatever_is_installed() -> None:
    pytest.importorskip("uvloop")
    loops: list[asyncio.AbstractEventLoop] = []

    def look(_: object) -> bool:
        loops.append(asyncio.get_running_loop())
        return True

    with PetStoreMock() as petstore:
        petstore.inject(503, when=look)
        with RawClient(petstore.httpserver) as client:
            client.get("/v1/pets", f"Authorization: Bearer {petstore.api_key}")
    assert [isinstance(loop, asyncio.SelectorEventLoop) for loop in loops] == [True]


# The process


def test_interpreter_exits_with_open_and_hanging_connections(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    done = run(
        """
        clients = [RawClient(server) for _ in range(10)]
        for number, client in enumerate(clients):
            client.send(b"GET /%b HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" % (b"hang", b"slow", b"")[number % 3])
        eventually(lambda: len(echo.requests) == 10, "all requests")
        print("end")
    """,
        new_loop,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_leaves_the_parent_serving_and_the_child_free(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """The child stops at once, may serve by itself, and holds neither the port nor a connection open."""
    done = run(
        """
        client = RawClient(server)
        client.send(b"GET /hang HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        idle = RawClient(server)
        idle.get()
        ready, tell = os.pipe()
        wait, end = os.pipe()
        child = os.fork()
        if child == 0:
            assert not server.is_running
            server.stop()
            server.close_connections()
            own = WireServer(echo, new_loop=new_loop)
            own.start()
            with RawClient(own) as other:
                assert other.get().status == 200
            own.stop()
            server.start()  # on another port: this one is still the parent's
            with RawClient(server) as other:
                assert other.get().status == 200
            server.stop()
            client.socket.close()
            idle.socket.close()
            os.write(tell, b"x")
            os.read(wait, 1)  # lives on for a while, as a worker of the tests might
            sys.exit()
        os.read(ready, 1)
        assert idle.get().status == 200
        server.close_connections()
        assert idle.is_closed()
        server.stop()
        try:
            RawClient(server)
        except ConnectionRefusedError:
            print("refused")
        os.write(end, b"x")
        assert os.waitpid(child, 0)[1] == 0
        client.socket.close()
        idle.socket.close()
        print("end")
    """,
        new_loop,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "refused\nend\n", "")


def test_trouble_of_the_system_is_logged(client: RawClient, echo: Echo, caplog: pytest.LogCaptureFixture) -> None:
    """It is no failure of the fake: asyncio says so when descriptors run out."""

    def trouble(_: ApiRequest) -> ApiResponse:
        asyncio.get_running_loop().call_exception_handler({"message": "no descriptors", "exception": OSError()})
        return answer(200)

    echo.answers["/trouble"] = trouble
    assert client.get("/trouble").status == 200
    assert "no descriptors" in caplog.text
    assert echo.refusals == []


def test_failure_of_the_wire_itself_counts_as_one_of_the_fake(
    client: RawClient, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(echo, "body_limit", lambda _: 1 / 0)
    client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
    assert client.is_closed()
    assert echo.refusals[0][:2] == ("internal_error", "ZeroDivisionError: division by zero")


@POSIX_SIGNALS
def test_signals_reach_the_main_thread(server: WireServer) -> None:
    """The loop takes none of them: Ctrl-C stays the caller's."""
    caught: list[int] = []
    previous = signal.signal(signal.SIGUSR1, lambda number, _frame: caught.append(number))
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        eventually(lambda: caught == [signal.SIGUSR1], "the signal")
    finally:
        signal.signal(signal.SIGUSR1, previous)
    with RawClient(server) as client:
        assert client.get().status == 200


def test_answers_do_not_wait_for_nagle(server: WireServer, monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[int] = []
    made = HttpConnection.connection_made

    def spy(self: HttpConnection, transport: object) -> None:
        made(self, transport)  # type: ignore[arg-type]
        sock = transport.get_extra_info("socket")  # type: ignore[attr-defined]
        options.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(HttpConnection, "connection_made", spy)
    with RawClient(server) as client:
        client.get()
    assert options == [1]


def test_wire_imports_neither_werkzeug_nor_jsonschema(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    done = run(
        """
        heavy = {"werkzeug", "pytest_httpserver", "jsonschema", "hypothesis", "pytest"} & set(sys.modules)
        print(sorted(heavy))
        server.stop()
    """,
        new_loop,
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("half_close", [True, False])
def test_connection_that_ends_when_a_slow_client_has_read_ends_once(
    connect: Callable[..., RawClient],
    echo: Echo,
    server: WireServer,
    caplog: pytest.LogCaptureFixture,
    half_close: bool,
) -> None:
    """The loop tells the connection to go on from inside its own write, where ending it would end it twice."""
    body = b"a" * 2_000_000
    echo.answers["/big"] = lambda _request: answer(200, body)
    echo.deliver("/bad", "reset")
    last = b"/big" if half_close else b"/bad"
    for _ in range(2):
        client = connect(receive_buffer=65536)
        client.send(b"".join(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % target for target in (b"/big", b"/big", last)))
        if half_close:
            client.socket.shutdown(socket.SHUT_WR)
        eventually(lambda: echo.requests, "the first answer begun")
        with contextlib.suppress(ConnectionResetError):  # which takes away what is not read yet
            client.rest()
        if half_close:
            assert [client.answer().body for _ in range(3)] == [body] * 3
    eventually(lambda: not server.open_connections, "all connections ended")
    assert not caplog.records
    assert not echo.refusals
