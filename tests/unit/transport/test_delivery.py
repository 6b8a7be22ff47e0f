"""Responses that are made in a thread."""

from __future__ import annotations

import socket
import threading

import pytest

from petstore_mock.http.handler import Blocking, Handler
from petstore_mock.http.request import ApiRequest
from petstore_mock.http.response import Response
from petstore_mock.transport.server import Server


class Buggy(Handler):
    """A handler whose call in a thread raises."""

    def handle(self, request: ApiRequest) -> Blocking:
        def run() -> Response:
            raise RuntimeError(request.target)

        return Blocking(run)

    def body_limit(self, request: ApiRequest) -> None: ...

    def refuse(self, condition: str, detail: str, request: ApiRequest, generation: object = None) -> Response:
        raise NotImplementedError

    def failed(self, error: BaseException, request: ApiRequest) -> Response:
        raise NotImplementedError


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_bug_in_a_thread_closes_the_connection() -> None:
    server = Server(Buggy())
    server.start()
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(100) == b""
    finally:
        server.stop()
    for thread in threading.enumerate():  # otherwise the next test gets the warning about its exception
        if thread.name == "petstore-mock-call":
            thread.join()
