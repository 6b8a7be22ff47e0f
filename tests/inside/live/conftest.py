"""Fixtures of the tests that need a socket."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from petstore_mock.transport.server import WireServer
from tests.inside.live.raw import Echo, RawClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(params=["asyncio", "uvloop"])
def new_loop(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop]:
    """Make the loop under the wire: asyncio's, or that of the extra ``fast``."""
    if request.param == "asyncio":
        return asyncio.SelectorEventLoop
    loop: Callable[[], asyncio.AbstractEventLoop] = pytest.importorskip("uvloop").new_event_loop
    return loop


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def serve(echo: Echo, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> Iterator[Callable[..., WireServer]]:
    """Start servers over ``echo``, with options; they stop with the test, and must leave no thread."""
    servers: list[WireServer] = []

    def start(**options: float) -> WireServer:
        server = WireServer(echo, new_loop=new_loop, **options)  # type: ignore[arg-type]
        servers.append(server)
        server.start()
        return server

    before = threading.active_count()
    yield start
    for server in servers:
        server.stop()
    assert threading.active_count() <= before


@pytest.fixture
def server(serve: Callable[..., WireServer]) -> WireServer:
    return serve()


@pytest.fixture
def connect(server: WireServer) -> Iterator[Callable[..., RawClient]]:
    """Open connections to ``server``; they are closed with the test."""
    clients: list[RawClient] = []

    def open_one(**options: int) -> RawClient:
        clients.append(RawClient(server, **options))
        return clients[-1]

    yield open_one
    for client in clients:
        client.socket.close()


@pytest.fixture
def client(connect: Callable[..., RawClient]) -> RawClient:
    return connect()
