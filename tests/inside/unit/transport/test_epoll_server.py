"""Connections over an epoll of their own: what asyncio promises to a protocol holds here too."""

from __future__ import annotations

import asyncio
import errno
import os
import select
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from petstore_mock.transport import epoll_server
from tests.inside.live.raw import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="Linux alone has epoll")

BIG = bytes(range(256)) * 64 * 1024  # 16 MiB: more than the system takes at once


class Told(asyncio.Protocol):
    """Keeps what it is told."""

    transport: epoll_server.EpollTransport | None = None

    def __init__(self) -> None:
        self.calls: list[object] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("epoll_server.EpollTransport", transport)

    def data_received(self, data: bytes) -> None:
        if data == b"raise":
            raise ValueError("a mistake in the protocol")
        self.calls.append(data)

    def eof_received(self) -> bool:
        self.calls.append("eof")
        return True

    def pause_writing(self) -> None:
        self.calls.append("pause")

    def resume_writing(self) -> None:
        self.calls.append("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        self.calls.append(("lost", type(exc)))


async def until(true: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110  # of a condition, nobody tells
            await asyncio.sleep(0.001)


class Server:
    """A server whose protocols are at hand."""

    def __init__(self, sock: socket.socket) -> None:
        self.loop = asyncio.get_running_loop()
        self.reports: list[dict[str, Any]] = []
        self.loop.set_exception_handler(lambda _, context: self.reports.append(context))
        self.made: list[Told] = []
        self.address = sock.getsockname()
        self.epoll = epoll_server.EpollServer(self.loop, self.make)
        self.epoll.listen(sock)

    def make(self) -> Told:
        self.made.append(Told())
        return self.made[-1]

    async def connect(self) -> tuple[socket.socket, Told]:
        client = socket.create_connection(self.address, timeout=PATIENCE)
        number = len(self.made)
        await until(lambda: len(self.made) > number and self.made[-1].transport)
        return client, self.made[-1]


@asynccontextmanager
async def serving(kind: type[socket.socket] = socket.socket) -> AsyncIterator[Server]:
    with kind() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        sock.settimeout(0)
        server = Server(sock)
        try:
            yield server
        finally:
            server.loop.remove_reader(sock)
            transports = [protocol.transport for protocol in server.made if protocol.transport is not None]
            for transport in transports:
                transport.abort()
            await until(lambda: all(one.get_extra_info("socket").fileno() < 0 for one in transports))
            server.epoll.close()


async def received(client: socket.socket) -> bytes:
    return await asyncio.to_thread(lambda: b"".join(iter(lambda: client.recv(1 << 20), b"")))


@pytest.mark.asyncio
async def test_mistake_of_a_protocol_ends_its_own_connection_alone() -> None:
    async with serving() as server:
        first, broken = await server.connect()
        second, whole = await server.connect()
        with first, second:
            first.sendall(b"raise")
            second.sendall(b"fine")
            await until(lambda: broken.calls and whole.calls)
            assert (broken.calls, whole.calls) == ([("lost", ValueError)], [b"fine"])
            assert [str(report["exception"]) for report in server.reports] == ["a mistake in the protocol"]
            assert first.recv(1) == b""


@pytest.mark.parametrize("end", ["close", "write_eof"])
@pytest.mark.asyncio
async def test_end_comes_after_all_that_was_written(end: str) -> None:
    async with serving() as server:
        client, told = await server.connect()
        with client:
            assert told.transport is not None
            told.transport.write(BIG)
            told.transport.write(b"more")
            assert told.transport.get_write_buffer_size() > 0
            getattr(told.transport, end)()
            getattr(told.transport, end)()  # as often as one likes
            assert told.transport.is_closing() is (end == "close")
            assert await received(client) == BIG + b"more"
            if end == "close":
                await until(lambda: len(told.calls) == 3)
                assert told.calls == ["pause", "resume", ("lost", type(None))]
                told.transport.write(b"too late")  # dropped
            else:  # only our half is closed
                client.sendall(b"still heard")
                await until(lambda: told.calls[-1] == b"still heard")
                assert told.calls == ["pause", "resume", b"still heard"]


@pytest.mark.asyncio
async def test_protocol_is_told_each_time_that_the_client_does_not_read() -> None:
    async with serving() as server:
        client, told = await server.connect()
        with client, client.makefile("rb") as reading:
            for round_ in (1, 2):
                assert told.transport is not None
                told.transport.write(BIG)
                assert told.calls[-1] == "pause"
                await asyncio.to_thread(reading.read, len(BIG))
                await until(lambda: told.calls[-1] == "resume")
                assert len(told.calls) == 2 * round_


@pytest.mark.asyncio
async def test_what_a_protocol_puts_off_when_it_may_go_on_comes_before_the_next_event() -> None:
    """HttpConnection serves what waits a turn after it may write: an end that came first would cut that off."""
    async with serving() as server:
        client, told = await server.connect()
        with client, client.makefile("rb") as reading:
            transport = told.transport
            assert transport is not None

            def resume() -> None:
                transport.resume_reading()
                server.loop.call_soon(told.calls.append, "put off")

            told.resume_writing = resume  # type: ignore[method-assign]
            busy = os.eventfd(1)  # there is always an event more
            server.epoll.epoll.register(busy, select.EPOLLIN)
            server.epoll.events[busy] = lambda _: None
            transport.pause_reading()
            client.sendall(b"next")
            transport.write(BIG)
            await asyncio.to_thread(reading.read, len(BIG))
            await until(lambda: len(told.calls) == 3)
            server.epoll.epoll.unregister(busy)
            os.close(busy)
            assert told.calls == ["pause", "put off", b"next"]


@pytest.mark.asyncio
async def test_input_waits_while_reading_is_paused() -> None:
    async with serving() as server:
        client, told = await server.connect()
        with client:
            assert told.transport is not None
            told.transport.pause_reading()
            client.sendall(b"later")
            other, _ = await server.connect()
            with other:
                assert not told.calls
            told.transport.resume_reading()
            await until(lambda: told.calls)
            client.shutdown(socket.SHUT_WR)
            await until(lambda: len(told.calls) > 1)
            assert told.calls == [b"later", "eof"]
            told.transport.write(b"answer")  # their half is closed, ours is not
            assert client.recv(10) == b"answer"


@pytest.mark.asyncio
async def test_reset_of_a_paused_connection_keeps_nobody_busy() -> None:
    """The system tells of errors unasked, again and again."""
    async with serving() as server:
        client, told = await server.connect()
        assert told.transport is not None
        told.transport.pause_reading()
        reset(client)
        (await server.connect())[0].close()  # the system has told of the reset before
        assert told.transport.get_extra_info("socket").fileno() not in dict(server.epoll.epoll.poll(0))
        told.transport.resume_reading()
        await until(lambda: told.calls)
        assert told.calls == [("lost", ConnectionResetError)]


def reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    client.close()


@pytest.mark.asyncio
async def test_client_that_went_away_is_found_by_writing() -> None:
    async with serving() as server:
        client, told = await server.connect()
        assert told.transport is not None
        told.transport.pause_reading()
        reset(client)
        (await server.connect())[0].close()
        told.transport.write(b"anybody there?")
        told.transport.write(b"no")
        assert told.transport.is_closing()
        await until(lambda: told.calls)
        assert told.calls in ([("lost", ConnectionResetError)], [("lost", BrokenPipeError)])


class Exhausted(socket.socket):
    """The system has no descriptor left, once."""

    failed = False

    def accept(self) -> tuple[socket.socket, Any]:
        if not self.failed:
            self.failed = True
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


@pytest.mark.asyncio
async def test_connections_wait_while_the_system_has_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoll_server, "_ACCEPT_AGAIN", 0.01)
    async with serving(Exhausted) as server:
        client, told = await server.connect()
        with client:
            client.sendall(b"in the end")
            await until(lambda: told.calls)
        [report] = server.reports
        assert (report["message"], report["exception"].errno) == (
            "the system has no room for another connection",
            errno.EMFILE,
        )
