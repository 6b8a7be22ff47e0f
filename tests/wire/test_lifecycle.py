"""Start and stop are quick and complete, and never block the process."""

from __future__ import annotations

import _socket
import asyncio
import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, faults
from tests.platforms import POSIX_SIGNALS
from tests.wire.raw import KEY, OTHER, Raw, address_of, eventually, get, open_descriptors, post


@pytest.fixture
def home() -> Iterator[PetStoreMock]:
    """Yield a mock that listens; afterwards, check that all its threads ended."""
    before = threading.active_count()
    with PetStoreMock(api_key=KEY) as home:
        yield home
    eventually(lambda: threading.active_count() <= before, "all threads ended")


def run(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script with a ``petstore`` that listens, and check that the process exits soon."""
    prologue = """
        import os, sys, threading
        from petstore_mock import PetStoreMock, PetStoreMockError, faults
        from tests.wire.raw import KEY, OTHER, Raw, eventually, get
        petstore = PetStoreMock(api_key=KEY).start()
    """
    whole = textwrap.dedent(prologue) + textwrap.dedent(script)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [sys.executable, "-c", whole], capture_output=True, text=True, timeout=20, check=False, env=environment
    )


# Start and death


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_death_of_the_listener_closes_its_connections() -> None:
    """Otherwise, a client would wait for the dead listener until its own timeout."""
    others = _running_loops()
    petstore = PetStoreMock(api_key=KEY).start()
    try:
        petstore.inject(faults.hang())
        with Raw(petstore) as client:
            client.send(get())
            petstore.journal.wait_for("listPets", timeout=10)
            for loop in _running_loops():
                if loop not in others:
                    loop.call_soon_threadsafe(loop.stop)
            assert client.is_closed()
        petstore.start()
    finally:
        petstore.stop()


def _running_loops() -> list[asyncio.AbstractEventLoop]:
    found = [one for one in gc.get_objects() if isinstance(one, asyncio.AbstractEventLoop)]
    return [loop for loop in found if loop.is_running()]


def test_start_and_stop_are_quick() -> None:
    starts, stops = [], []
    for _ in range(20):
        petstore = PetStoreMock(api_key=KEY)
        began = time.perf_counter()
        petstore.start()
        starts.append(time.perf_counter() - began)
        with Raw(petstore) as client:
            client.call(get())
        began = time.perf_counter()
        petstore.stop()
        stops.append(time.perf_counter() - began)
        petstore.stop()  # a stop without a start does nothing
        petstore.close_connections()
    assert sorted(starts)[10] < 0.02
    assert sorted(stops)[10] < 0.05


def test_error_of_a_taken_port_names_the_port(home: PetStoreMock) -> None:
    port = address_of(home)[1]
    second = PetStoreMock(port=port)
    with pytest.raises(PetStoreMockError, match=f"port={port}"):
        second.start()
    with pytest.raises(PetStoreMockError):
        _ = second.url
    second.stop()
    with Raw(home) as client:
        assert client.call(get()).status == 200


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "no such host", "127..0.0.1", "a" * 70, "", "*"], ids=lambda host: host[:12]
)
def test_error_of_an_impossible_host_names_the_host(host: str) -> None:
    before = open_descriptors()
    with pytest.raises(PetStoreMockError) as caught:
        PetStoreMock(host=host).start()
    assert repr(host) in str(caught.value)
    assert open_descriptors() == before


def test_host_name_with_two_address_families_is_served_over_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients differ in the family they try first, and some try only one. Here localhost has both, IPv6 first."""
    resolve = _socket.getaddrinfo

    def both(host: str, *arguments: Any, **options: Any) -> list[object]:
        hosts = ["::1", "127.0.0.1"] if host == "localhost" else [host]
        return [found for one in hosts for found in resolve(one, *arguments, **options)]

    _require_ipv6()
    monkeypatch.setattr(_socket, "getaddrinfo", both)
    with PetStoreMock(host="localhost") as petstore:
        host, port = address_of(petstore)
        assert host == "localhost"
        for address in ("127.0.0.1", "::1"):
            with socket.create_connection((address, port), timeout=5) as end:
                end.sendall(OTHER)
                assert end.recv(100).startswith(b"HTTP/1.1 204")
    for address in ("127.0.0.1", "::1"):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, port))


def _require_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")


def test_ipv6_is_served() -> None:
    _require_ipv6()
    with PetStoreMock(host="::1") as petstore, Raw(petstore) as client:
        assert petstore.url.startswith("http://[::1]:")
        assert client.call(OTHER).status == 204


# Stop


def test_mock_can_stop_and_start_again_on_its_port(home: PetStoreMock) -> None:
    """A client that keeps the address reaches the restarted service."""
    address = address_of(home)
    for _ in range(3):
        with Raw(home) as client:
            assert client.call(get()).status == 200
            home.stop()
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(address)
            assert client.is_closed()
            home.start()
            assert address_of(home) == address


@pytest.mark.untraced
def test_stop_ends_every_open_connection_quickly(home: PetStoreMock) -> None:
    home.inject(faults.hang(), on="listPets")
    home.inject(faults.dribble(1), on="getPet")
    home.inject(faults.delay(60), on="createPet")
    starts = [get(), get("/v1/pets/1"), post(), b"GET /half", post()[:-2], b"nonsense\r\n\r\n"]
    clients = [Raw(home).send(starts[number % 6]) for number in range(60)]
    eventually(lambda: len(home.journal) == 40, "all held and refused requests")
    eventually(lambda: [entry.outcome for entry in home.journal].count("hang") == 10, "all hanging requests")
    began = time.perf_counter()
    home.stop()
    assert time.perf_counter() - began < 0.2
    ended = sorted(str(entry.outcome) for entry in home.journal)
    assert ended[10:20] == ["hang"] * 10
    assert ended[20:] == ["reset"] * 20
    for client in clients:
        with contextlib.suppress(ConnectionResetError):
            client.rest()
        client.socket.close()
    assert home.pets == []


def test_connections_still_in_the_backlog_are_closed_by_stop() -> None:
    for _ in range(10):
        petstore = PetStoreMock().start()
        clients = [Raw(petstore) for _ in range(20)]
        petstore.stop()
        for client in clients:
            with contextlib.suppress(ConnectionResetError):
                client.rest()
            client.socket.close()


@pytest.mark.untraced
def test_stop_sends_the_response_to_every_request_that_was_served() -> None:
    """The client of each request in the journal gets the response, at whatever moment the stop happens."""
    for _ in range(6):
        petstore = PetStoreMock(api_key=KEY).start()
        responses: list[int] = []
        clients = [Raw(petstore) for _ in range(12)]

        def work(client: Raw, responses: list[int] = responses) -> None:
            with contextlib.suppress(OSError, EOFError):  # the stop closes the connection between two requests
                while client.call(get()).status == 200:
                    responses.append(1)

        threads = [threading.Thread(target=work, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        eventually(lambda: len(responses) > 200, "a load of requests")  # noqa: B023  # at once
        petstore.stop()
        for thread, client in zip(threads, clients, strict=True):
            thread.join(10)
            client.socket.close()
        assert len(petstore.journal) == len(responses)


# Idle connections


def test_close_connections_closes_idle_ones(
    dial: Callable[[], Raw], settle: Callable[[], None], petstore: PetStoreMock
) -> None:
    petstore.inject(faults.delay(0.2), on="getPet", times=1)
    fresh, used, busy, half = dial(), dial(), dial(), dial()
    for client in (used, busy, half):
        client.call(OTHER)
    half.send(get()[:8])
    busy.send(get("/v1/pets/1"))
    settle()
    petstore.close_connections()
    assert fresh.is_closed()
    assert used.is_closed()
    assert busy.response().status == 404
    assert half.send(get()[8:]).response().status == 200


def test_a_when_callback_can_close_connections_but_not_stop_the_mock(home: PetStoreMock) -> None:
    """The response goes out before its connection closes. The second time, the request comes from the cache."""
    raised: list[PetStoreMockError] = []

    def inside(_: object) -> bool:
        home.close_connections()
        try:
            home.stop()
        except PetStoreMockError as error:
            raised.append(error)
        return False

    handle = home.inject(503, when=inside)
    for count in (1, 2):
        with Raw(home) as idle, Raw(home) as client:
            assert idle.call(OTHER).status == 204
            assert client.call(get()).status == 200
            assert idle.is_closed()
            assert len(raised) == count
    handle.cancel()


def test_trouble_of_the_system_is_logged(home: PetStoreMock, caplog: pytest.LogCaptureFixture) -> None:
    """It is no failure of the test: asyncio reports such errors when descriptors or memory run out."""

    def inside(_: object) -> bool:
        trouble = {"message": "no descriptors", "exception": OSError("too many")}
        asyncio.get_running_loop().call_exception_handler(trouble)
        return False

    handle = home.inject(503, when=inside)
    with Raw(home) as client:
        assert client.call(get()).status == 200
    handle.cancel()
    home.verify()
    assert "no descriptors" in caplog.text
    assert "too many" in caplog.text


# The process


def test_interpreter_exits_with_open_and_hanging_connections() -> None:
    done = run("""
        petstore.inject(faults.hang(), on="listPets")
        petstore.inject(faults.delay(60), on="getPet")
        clients = [Raw(petstore) for _ in range(10)]
        for number, client in enumerate(clients):
            client.send((get(), get("/v1/pets/1"), OTHER)[number % 3])
        eventually(lambda: len(petstore.journal) == 10, "all requests")
        sys.unraisablehook = lambda _: None  # the sockets of this script
        # Listening imports none of these.
        print(sorted({"hypothesis", "pytest", "uvloop", "trustme"} & set(sys.modules)))
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_keeps_the_parent_serving_and_advises_the_child() -> None:
    done = run("""
        idle = Raw(petstore)
        idle.call(get())
        child = os.fork()
        if child == 0:
            try:
                petstore.url
            except PetStoreMockError as error:
                advice = str(error)
            with PetStoreMock(api_key=KEY) as own, Raw(own) as other:
                assert other.call(get()).status == 200
            os._exit(0 if "spawn" in advice else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert idle.call(get()).status == 200
        idle.socket.close()
        petstore.stop()
        print("end")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_does_not_remove_the_certificate_of_the_authority() -> None:
    done = run("""
        with PetStoreMock(tls=True) as secure:
            child = os.fork()
            if child == 0:
                raise SystemExit
            os.waitpid(child, 0)
            assert secure.tls.client_context().get_ca_certs()
            print("end")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@POSIX_SIGNALS
def test_signals_reach_the_main_thread(home: PetStoreMock) -> None:
    """The loop handles no signals, so Ctrl-C reaches the caller."""
    caught: list[int] = []
    previous = signal.signal(signal.SIGUSR1, lambda number, _frame: caught.append(number))
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        eventually(lambda: caught == [signal.SIGUSR1], "the signal")
    finally:
        signal.signal(signal.SIGUSR1, previous)
    with Raw(home) as client:
        assert client.call(get()).status == 200


def test_requests_on_one_connection_never_stall(client: Raw) -> None:
    """Nagle's algorithm and delayed acknowledgements would cost 40 ms each."""
    began = time.perf_counter()
    for _ in range(200):
        assert client.call(get()).status == 200
    assert time.perf_counter() - began < 4


# NO_PROXY


PROXIES = """
    from unittest import mock
    from petstore_mock import connect
    def show():
        print(os.environ.get("NO_PROXY"), os.environ.get("no_proxy"))
    petstore.stop()
    os.environ.pop("no_proxy", None)
    os.environ["NO_PROXY"] = "a.example"
"""
LEFT = "a.example None"
OURS = "a.example,127.0.0.1 a.example,127.0.0.1"


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ("petstore.start()", OURS),
        ("other = PetStoreMock().start(); petstore.start(); other.stop(); show(); petstore.stop()", f"{OURS}\n{LEFT}"),
        ("del os.environ['NO_PROXY']; petstore.start(); show(); petstore.stop()", "127.0.0.1 127.0.0.1\nNone None"),
        *(
            (f"os.environ['NO_PROXY'] = '{given}'; petstore.start()", f"{given} {given}")
            for given in ("*", "127.0.0.1")
        ),
        ("with PetStoreMock(host='::1'): show()", f"* *\n{LEFT}"),  # libraries expect different notations of ::1
        ("with PetStoreMock(host='0.0.0.0'): show()", f"{OURS}\n{LEFT}"),  # clients use the address in the url
        # The program changes a variable while a mock listens.
        ("petstore.start(); os.environ['NO_PROXY'] = 'b.example'; petstore.stop()", "b.example None"),
        ("petstore.start(); os.environ['NO_PROXY'] += ',b.example'; petstore.stop()", "a.example,b.example None"),
        ("petstore.start(); os.environ['no_proxy'] = 'b.example'; petstore.stop()", "a.example b.example"),
        ("petstore.start(); del os.environ['NO_PROXY']; petstore.stop()", "None None"),
        # patch.dict undoes the change of a start. Another start, such as that of the next test, makes it again.
        ("with mock.patch.dict(os.environ): petstore.start()", LEFT),
        ("with mock.patch.dict(os.environ): petstore.start()\npetstore.start()", OURS),
        ("with mock.patch.dict(os.environ): petstore.start()\npetstore.start(); petstore.stop()", LEFT),
        ("with mock.patch.dict(os.environ, NO_PROXY='b'): petstore.start()\npetstore.stop()", LEFT),
        ("petstore.start()\nwith mock.patch.dict(os.environ, clear=True): petstore.stop()", OURS),
        # connect() exempts the host of a stub, too.
        ("with connect(sys.argv[1]): show()", f"{OURS}\n{LEFT}"),
        ("with connect(sys.argv[1]) as elsewhere, elsewhere.fresh(): pass\nshow()", f"{LEFT}\n{LEFT}"),
        ("with connect(sys.argv[1]) as elsewhere:\n with elsewhere.fresh(): pass\n show()", f"{OURS}\n{LEFT}"),
    ],
)
def test_start_and_stop_keep_the_changes_of_the_program_to_no_proxy(script: str, shown: str) -> None:
    with PetStoreMock(control=True) as stub:
        done = run(f"{textwrap.dedent(PROXIES)}sys.argv = ['', {stub.url!r}]\n{script}\nshow()")
    assert done.stdout.splitlines() == shown.splitlines(), done.stderr
