"""The service behind one mock: its worlds, its listener and ``httpserver``."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from petstore_mock.common.real import Thread, perf_counter
from petstore_mock.common.refusing import refuse
from petstore_mock.core.host import Host
from petstore_mock.core.pipeline import tell_browser
from petstore_mock.core.registry import Worlds
from petstore_mock.core.world import World
from petstore_mock.http.deferred import Blocking
from petstore_mock.http.response import Response
from petstore_mock.interface.schemas import preload_judge
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.journal.exchange import Exchange
from petstore_mock.transport import no_proxy
from petstore_mock.transport.wsgi import WsgiApp

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.http.deferred import Deferred
    from petstore_mock.http.handler import TlsPlan
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Head
    from petstore_mock.mock.tls import Tls
    from petstore_mock.transport.listener import Listener
    from petstore_mock.transport.server import Server

_STUB_BODY = 64 * 1024 * 1024  # bytes of a body that an expectation may get


class Service:
    """The worlds of one mock and the ways to them: a ``Handler``."""

    def __init__(self, listener: dict[str, Any], world: dict[str, Any]) -> None:
        self.options = listener
        self.host = Host(listener["cors"], tls=listener["tls"])
        self.worlds = Worlds(self.host)
        self.worlds.push(World(self.host, world))
        self.worlds.default.verification.expectations = self._problems
        self.app = WsgiApp(self.worlds)
        self.tls: Tls | None = None
        if listener["tls"]:
            from petstore_mock.mock.tls import Tls  # noqa: PLC0415  # an extra, and heavy

            self.tls = Tls(listener["host"])
        self._server: Server | None = None
        self._httpserver: Listener | None = None

    # Listening

    @property
    def server(self) -> Server:
        """The server, made on first use, because it brings asyncio."""
        if self._server is None:
            from petstore_mock.transport.server import Server  # noqa: PLC0415

            tls = None if self.tls is None else self.tls.context
            self._server = Server(self, self.options["host"], self.options["port"], tls=tls)
            self.host.close_connections = self._server.close_connections
            if tls is not None:
                self.host.renew_connections = self._server.renew_connections
        return self._server

    @property
    def httpserver(self) -> Listener:
        """The expectations, made on first use, because they bring werkzeug."""
        if self._httpserver is None:
            from petstore_mock.transport.listener import Listener  # noqa: PLC0415

            self._httpserver = Listener(self.server)
        self._httpserver.port = self.server.port
        return self._httpserver

    @property
    def is_listening(self) -> bool:
        return self._server is not None and self._server.is_alive

    @property
    def url(self) -> str:
        """The base address, ending in ``/v1``."""
        server = self._server
        if server is not None and server.process != os.getpid():
            refuse(
                "expected the process that started the mock; this one was forked from it, and no client meets its copy "
                "of the mock: start processes by 'spawn', or start a mock in the child"
            )
        if server is None or not server.is_alive:
            refuse("expected a mock that listens: use 'with PetStoreMock() as petstore:' or start(); .app needs neither")
        host = f"[{server.host}]" if ":" in server.host else server.host
        return f"http{'' if self.tls is None else 's'}://{host}:{server.port}{BASE_PATH}"

    def start(self) -> None:
        """Listen; harmless when it listens already."""
        if not self.is_listening:
            self.server.start()
            no_proxy.exempt(self.options["host"])
            Thread(target=preload_judge, name="petstore-mock-judge", daemon=True).start()

    def stop(self) -> None:
        """Stop listening; harmless when it does not listen."""
        self.worlds.release()
        if self.is_listening:
            self.server.stop()
            no_proxy.unexempt(self.options["host"])

    def clear(self) -> None:
        """Forget the expectations."""
        if self._httpserver is not None:
            self._httpserver.clear()

    def _problems(self) -> list[str]:
        return [] if self._httpserver is None else self._httpserver.problems()

    # What the transport asks

    def handle(self, request: ApiRequest) -> Response | Deferred | Blocking:
        """Respond to a whole request."""
        stubs = self._httpserver
        if stubs is not None and stubs.expects and not self._has_route(request):
            respond = stubs.match(request)
            if respond is not None:
                return self._stubbed(request, respond)
        return self.worlds.handle(request)

    def _has_route(self, request: ApiRequest) -> bool:
        world, _ = self.worlds.world_of(request)
        return bool(world.rules.route(request.method, request.target).allow)

    def _stubbed(self, request: ApiRequest, respond: Callable[[], tuple[Head, bytes]]) -> Blocking:
        """Journal a request that an expectation meets, and return what responds to it."""
        world, _ = self.worlds.world_of(request)
        with world.lock:
            exchange = Exchange(world.journal.total + 1, world.owner, request, world.time.begin_request())
            exchange.by_expectation = True
            world.journal.add(exchange)

        def run() -> Response:
            head, body = respond()
            with world.lock:
                world.time.begin_request()
                response = exchange.response = Response(head, body, world.time.date)
                tell_browser(world, request, response)
                exchange.duration = perf_counter() - request.started
                exchange.trim()
            return response

        return Blocking(run)

    def admits(self, request: ApiRequest, length: int | None) -> bool:
        """Say from its head whether a request's body is worth reading."""
        return self._may_stub(request) or self.worlds.admits(request, length)

    def body_limit(self, request: ApiRequest) -> int | None:
        """Return the longest body that a request may have, in bytes."""
        return _STUB_BODY if self._may_stub(request) else self.worlds.body_limit(request)

    def _may_stub(self, request: ApiRequest) -> bool:
        return self._httpserver is not None and self._httpserver.expects and not self._has_route(request)

    def generation(self) -> object:
        """Return a token of the present state."""
        return self.worlds.generation()

    def refuse(self, condition: str, detail: str, request: ApiRequest, generation: object = None) -> Response:
        """Respond to bytes that never became a request."""
        return self.worlds.refuse(condition, detail, request, generation)

    def failed(self, error: BaseException, request: ApiRequest) -> Response:
        """Respond to a request whose handling raised an exception."""
        return self.worlds.failed(error, request)

    def connection_opened(self, number: int) -> TlsPlan | None:
        """Return the TLS fault that a new connection meets; a reset of its world ends a hang."""
        world = self.worlds.current
        plan = self.worlds.connection_opened(number)
        return None if plan is None else replace(plan, pending=world.pending)

    def handshake_failed(self, reason: str) -> None:
        """Note a failed TLS handshake."""
        world = self.worlds.current
        with world.lock:
            world.journal.notes.append(reason)
