"""The listener's own thread depends on no name that a test of a client may replace meanwhile."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from petstore_mock import PetStoreMock

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "key-of-a-test"
HEAD = f"Host: x\r\nAuthorization: Bearer {KEY}\r\n"
BODY = '{"name": "Rex", "categoryId": 1}'
CREATE = f"POST /v1/pets HTTP/1.1\r\n{HEAD}Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}"
NAMES = """
    asyncio.get_event_loop asyncio.get_running_loop asyncio.run asyncio.sleep asyncio.wait_for base64.b64encode
    builtins.open builtins.print datetime.datetime functools.lru_cache hashlib.sha256 http.client.HTTPConnection
    json.dumps json.loads logging.getLogger os.environ os.getenv os.getpid os.path.exists pathlib.Path.exists
    pathlib.Path.open pathlib.Path.read_bytes pathlib.Path.read_text queue.Queue queue.SimpleQueue random.Random
    random.random re.compile re.match re.sub select.select selectors.DefaultSelector socket.create_connection
    socket.getaddrinfo socket.socket ssl.SSLContext ssl.create_default_context sys.stderr sys.stdout tempfile.mkdtemp
    threading.Condition threading.Event threading.Lock threading.RLock threading.Thread threading.current_thread
    time.monotonic time.monotonic_ns time.perf_counter time.perf_counter_ns time.sleep time.strftime time.time
    time.time_ns urllib.parse.quote urllib.parse.unquote urllib.parse.urlsplit urllib.request.urlopen uuid.uuid4
    warnings.warn
"""


@pytest.fixture
def client() -> Iterator[socket.socket]:
    with PetStoreMock(api_key=KEY) as petstore:
        parts = urlsplit(petstore.url)
        with socket.create_connection((parts.hostname, parts.port), timeout=5) as client:
            yield client


def test_names_that_tests_replace_do_not_matter(client: socket.socket) -> None:
    for number, name in enumerate(NAMES.split()):
        read = f"GET /v1/pets?limit={number + 1} HTTP/1.1\r\n{HEAD}\r\n"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(name, None)
            client.sendall(f"{CREATE}{read}".encode())
            received = b""
            while received.count(b"HTTP/1.1 2") < 2 and (part := client.recv(65536)):
                received += part
        assert b"HTTP/1.1 201 " in received, name
        assert b"HTTP/1.1 200 " in received, name
