"""The server starts and stops at once, and a connection ends as its response says."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

from petstore_mock.http.deferred import Blocking, Deferred, Delivery, Pending
from petstore_mock.http.response import Head, Response, Stream
from petstore_mock.transport.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.http.request import ApiRequest

DATE = b"Thu, 05 Dec 2030 00:00:00 GMT"


class Handler:
    """Responds as the path of a request says."""

    in_flight = False

    def complete(self, outcome: str, *, sent: bool) -> None:
        assert outcome or sent

    def handle(self, request: ApiRequest) -> Response | Deferred | Blocking:
        kind = request.target[1:]
        if kind == "stream":
            return Blocking(lambda: Stream(Head(200), DATE, (part for part in (b"one", b"two"))), streams=True)
        if kind == "thread":
            return Blocking(lambda: Response(Head(200), threading.current_thread().name.encode(), DATE))
        response = Response(Head(200), request.body or b"0123456789", DATE)
        if kind in {"hang", "reset", "truncate", "dribble"}:
            return Deferred(lambda: response, self, Pending(), delivery=Delivery(kind, 0.5))
        return response

    def refuse(self, condition: str, *_: object) -> Response:
        return Response(Head(400), condition.encode(), DATE)

    def failed(self, error: BaseException, **_: object) -> Response:
        raise error

    def generation(self) -> None:
        return None


@pytest.fixture(params=["asyncio", "uvloop"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    pytest.importorskip(request.param)
    server = Server(Handler(), loop=request.param)  # type: ignore[arg-type]  # no test here needs the rest
    server.start()
    yield server
    server.stop()


def call(server: Server, path: str, *, version: str = "1.1") -> bytes:
    """Send a request as the only one, and read to the end of the connection."""
    with socket.create_connection((server.host, server.port), timeout=5) as client:
        client.sendall(f"GET /{path} HTTP/{version}\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        received = b""
        while part := client.recv(65536):
            received += part
        return received


def test_responses_end_as_they_say(server: Server) -> None:
    assert call(server, "").endswith(b"Content-Length: 10\r\nConnection: close\r\n\r\n0123456789")
    assert call(server, "", version="1.0").startswith(b"HTTP/1.1 200 OK\r\n")
    assert call(server, "truncate").endswith(b"Content-Length: 10\r\n\r\n01234")
    assert call(server, "thread").endswith(b"petstore-mock-call")
    assert call(server, "stream").endswith(b"Connection: close\r\n\r\nonetwo")
    with pytest.raises(ConnectionResetError):
        call(server, "reset")


def test_names_that_tests_replace_do_not_matter(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.create_connection((server.host, server.port), timeout=5)
    for name in ("time.time", "time.monotonic", "asyncio.sleep", "socket.socket", "builtins.open", "os.environ"):
        monkeypatch.setattr(name, None)
    real.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert real.recv(100).startswith(b"HTTP/1.1 200")
    monkeypatch.undo()
    real.close()
