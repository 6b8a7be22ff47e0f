"""The end of connections whose clients make no progress. Sweeps count time, so these tests need not wait."""

from __future__ import annotations

from typing import Any

import pytest

from petstore_mock.http.handler import Blocking, Handler
from petstore_mock.http.request import ApiRequest
from petstore_mock.http.response import Response
from petstore_mock.transport.connection import Connection, Shared

SWEEP = 5.0  # seconds


class Transport:
    """A socket whose client reads only when a test says so."""

    def __init__(self) -> None:
        self.unsent = 0
        self.is_aborted = False

    def write(self, data: bytes) -> None:
        self.unsent += len(data)

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True


class Held:
    """A response that its thread still makes, such as a stream of events."""

    def gone(self) -> None:
        pass

    def outlives_input(self) -> bool:
        return False


class Streams(Handler):
    """Responds to every request with a stream."""

    def handle(self, request: ApiRequest) -> Blocking:  # noqa: ARG002
        return Blocking(lambda: pytest.fail("the test makes the response itself"), streams=True)

    def body_limit(self, request: ApiRequest) -> None:  # noqa: ARG002
        return None

    def refuse(self, condition: str, detail: str, request: ApiRequest, generation: object = None) -> Response:
        raise NotImplementedError

    def failed(self, error: BaseException, request: ApiRequest) -> Response:
        raise NotImplementedError


@pytest.fixture
def transport() -> Transport:
    return Transport()


@pytest.fixture
def connection(transport: Transport) -> Connection:
    """A connection that holds a response."""
    loop: Any = object()
    socket: Any = transport
    made = Connection(Shared(Streams(), lambda *_: Held(), over_tls=False), loop, 1, socket)
    made.connection_made(socket)
    made.data_received(b"GET /__petstore/events HTTP/1.1\r\nHost: x\r\n\r\n")
    return made


def sweep(connection: Connection, seconds: float) -> None:
    for _ in range(int(seconds / SWEEP)):
        connection.sweep(SWEEP)


def test_a_stream_that_nobody_reads_is_ended(connection: Connection, transport: Transport) -> None:
    transport.write(b"x" * 100_000)
    connection.pause_writing()
    sweep(connection, 70)
    assert not transport.is_aborted
    sweep(connection, 20)
    assert transport.is_aborted


def test_a_stream_that_is_read_slowly_goes_on(connection: Connection, transport: Transport) -> None:
    transport.write(b"x" * 100_000)
    connection.pause_writing()
    for _ in range(10):
        sweep(connection, 60)
        transport.unsent -= 1
    assert not transport.is_aborted


def test_a_response_that_is_not_known_yet_has_no_timeout(connection: Connection, transport: Transport) -> None:
    sweep(connection, 600)
    assert not transport.is_aborted
