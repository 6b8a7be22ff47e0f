"""Tests of clients replace functions, classes and files. The fake does not use the replacements."""

from __future__ import annotations

import _socket
import time
from collections.abc import Iterator
from unittest import mock

import pytest

from petstore_mock import PetStoreMock
from tests.wire.raw import KEY, Raw, address_of, get, post

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
HEALTH = b"GET /__petstore/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Client(Raw):
    """A client over ``_socket.socket``, which is the base class of ``socket.socket``."""

    new_socket = _socket.socket


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    with PetStoreMock(api_key=KEY, control=True) as petstore:
        yield petstore


@pytest.mark.parametrize("name", NAMES)
def test_the_fake_does_not_use_a_replaced_name(name: str) -> None:
    """Requests, the door, a stop and a start do not call it. Afterwards, the fake still serves."""
    petstore = PetStoreMock(api_key=KEY, control=True).start()
    door = b"GET /__petstore/world HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % address_of(petstore)[1]
    client = Client(petstore)
    replaced = mock.MagicMock(side_effect=ZeroDivisionError)
    with mock.patch(name, replaced):
        found = [client.call(sent).status for sent in (get(), get("/v1/pets?lim=1"), post(), door)]
        if name != "os.environ":  # asyncio reads its debug mode from it
            petstore.stop()
            petstore.start()
        used = replaced.mock_calls
    client.socket.close()
    with Client(petstore) as client:
        assert (found, used, client.call(get()).status) == ([200, 400, 201, 200], [], 200)
    petstore.stop()


def test_a_replaced_sleep_does_not_block_a_stop(petstore: PetStoreMock) -> None:
    with Client(petstore), mock.patch("asyncio.sleep", mock.AsyncMock()) as replaced:
        petstore.stop()
    assert replaced.mock_calls == []


def test_the_test_receives_every_value_of_its_replaced_clock(petstore: PetStoreMock) -> None:
    """The fake's date and the expiry of keys use the real clock."""
    values = [0.0, 1.0, 2.0, 31.0]
    with Client(petstore) as client, mock.patch("time.time", side_effect=values):
        petstore.issue_key(expires=60)
        petstore.clock.advance(hours=1)
        got = [time.time() for _ in values if client.call(get()).status == 200]
    assert got == values
    assert petstore.clock.now() - time.time() == pytest.approx(3600, abs=60)


def test_uptime_counts_from_the_start_of_the_listener() -> None:
    petstore = PetStoreMock(control=True)
    for _ in range(2):
        time.sleep(0.6)
        petstore.start()
        with Client(petstore) as client:
            assert client.call(HEALTH).json()["uptime"] < 0.6
        petstore.stop()
