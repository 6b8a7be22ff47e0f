"""Tests of clients replace functions, classes and files: the fake neither uses nor counts what they put there."""

from __future__ import annotations

import _socket
import json
import re
import time
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from petstore_mock import PetStoreMock
from tests.wire.raw import KEY, get, post

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = re.compile(rb".*?content-length: (\d+)\r\n(?:.*?\r\n)?\r\n", re.DOTALL | re.IGNORECASE)
NAMES = """
time.time time.monotonic time.perf_counter time.sleep time.time_ns time.monotonic_ns time.gmtime time.localtime
asyncio.sleep asyncio.Event asyncio.Lock asyncio.wait_for asyncio.create_task asyncio.get_running_loop asyncio.run
asyncio.get_event_loop asyncio.new_event_loop asyncio.to_thread asyncio.gather asyncio.tasks.sleep
socket.socket socket.create_connection socket.getaddrinfo socket.gethostname socket.create_server
socket.socket.recv socket.socket.send socket.socket.sendall socket.socket.close socket.socket.connect
socket.socket.settimeout socket.socket.setsockopt socket.socket.shutdown
select.select select.epoll threading.Thread threading.Thread.start threading.Timer threading.local
builtins.open io.open os.open os.getpid os.getenv os.environ os.urandom os.path.exists pathlib.Path.read_text
json.dumps json.loads json.load uuid.uuid4 random.random random.Random secrets.token_hex datetime.datetime
logging.getLogger logging.Logger.error re.compile re.match re.sub copy.deepcopy base64.b64encode hashlib.sha256
urllib.parse.urlsplit urllib.parse.quote urllib.request.urlopen http.client.HTTPConnection ssl.SSLContext
ssl.create_default_context queue.Queue warnings.warn gc.collect sys.stdout sys.stderr sys.exc_info signal.signal
""".split()  # noqa: SIM905  # in lines of their own, they would fill a page
DOOR = b"GET /__petstore/world HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n"


class Client:
    """A client over the sockets under ``socket.socket``."""

    def __init__(self, petstore: PetStoreMock) -> None:
        self._port = int(petstore.url.split(":")[2].partition("/")[0])
        self._end = _socket.socket()
        self._end.settimeout(5)
        self._end.connect(("127.0.0.1", self._port))

    def call(self, sent: bytes) -> tuple[int, bytes]:
        self._end.sendall(sent % self._port if b"%d" in sent else sent)
        received = b""
        while not (
            head := re.search(rb"content-length: (\d+)(?:\r\n.*?)?\r\n\r\n", received, re.DOTALL | re.IGNORECASE)
        ):
            part = self._end.recv(65536)
            assert part, "the fake closed the connection"
            received += part
        while len(received) < head.end() + int(head[1]):
            received += self._end.recv(65536)
        return int(received[9:12]), received[head.end() :]

    def close(self) -> None:
        self._end.close()


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    with PetStoreMock(api_key=KEY, control=True) as petstore:
        yield petstore


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_a_test_replaces_is_not_used(name: str) -> None:
    """Neither by the requests, the door and the listener's end and start, nor after that."""
    petstore = PetStoreMock(api_key=KEY, control=True).start()
    client = Client(petstore)
    replaced = mock.MagicMock(side_effect=ZeroDivisionError)
    with mock.patch(name, replaced):
        found = [client.call(sent)[0] for sent in (get(), get("/v1/pets?lim=1"), post(), DOOR)]
        if name != "os.environ":  # asyncio reads from it whether to debug
            petstore.stop()
            petstore.start()
        used = replaced.mock_calls
    client.close()
    client = Client(petstore)
    assert (found, used, client.call(get())[0]) == ([200, 400, 201, 200], [], 200)
    client.close()
    petstore.stop()


def test_a_sleep_that_a_test_replaces_does_not_keep_a_mock_from_its_end(petstore: PetStoreMock) -> None:
    client = Client(petstore)
    with mock.patch("asyncio.sleep", mock.AsyncMock()) as replaced:
        petstore.stop()
    assert replaced.mock_calls == []
    client.close()


def test_the_test_gets_every_value_of_its_own_clock(petstore: PetStoreMock) -> None:
    """Also a fake's date and the expiry of keys come from the real one."""
    values = [0.0, 1.0, 2.0, 31.0]
    client = Client(petstore)
    with mock.patch("time.time", side_effect=values):
        petstore.issue_key(expires=60)
        petstore.clock.advance(hours=1)
        got = [time.time() for _ in values if client.call(get())[0] == 200]
    assert got == values
    assert petstore.clock.now() - time.time() == pytest.approx(3600, abs=60)
    client.close()


def test_uptime_counts_from_the_start_of_the_listener() -> None:
    petstore = PetStoreMock(control=True)
    for _ in range(2):
        time.sleep(0.3)
        petstore.start()
        time.sleep(0.05)
        client = Client(petstore)
        found = json.loads(client.call(b"GET /__petstore/health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n")[1])
        assert 0.05 <= found["uptime"] < 0.3
        client.close()
        petstore.stop()
