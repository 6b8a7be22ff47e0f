"""The service behind one mock: its worlds, its listener and ``httpserver``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from petstore_mock.common.real import Thread, perf_counter
from petstore_mock.common.refusing import refuse, require
from petstore_mock.core import pipeline
from petstore_mock.core.host import Host
from petstore_mock.core.registry import Worlds
from petstore_mock.core.routing import DOOR_PATH
from petstore_mock.core.world import World
from petstore_mock.http.deferred import Blocking
from petstore_mock.http.response import Response
from petstore_mock.interface.schemas import preload_judge
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.journal.exchange import Exchange
from petstore_mock.journal.journal import KEPT
from petstore_mock.transport import no_proxy
from petstore_mock.transport.wsgi import WsgiApp

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.control.admission import Admission
    from petstore_mock.control.door import Door
    from petstore_mock.http.deferred import Deferred
    from petstore_mock.http.handler import TlsPlan
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Head
    from petstore_mock.mock.tls import Tls
    from petstore_mock.transport.listener import Listener
    from petstore_mock.transport.server import Server
    from petstore_mock.transport.tls import ServerTls

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_STUB_BODY = 64 * 1024 * 1024  # bytes of a body that an expectation may get


class Service:
    """The worlds of one mock and the ways to them: a ``Handler``."""

    def __init__(
        self,
        listener: dict[str, Any],
        world: dict[str, Any],
        /,
        *,
        keys: tuple[str, ...] = (),
        certificates: ServerTls | None = None,
        **worlds: Any,  # noqa: ANN401  # those of Worlds
    ) -> None:
        self.options = listener
        self.host = Host(listener["cors"], tls=listener["tls"])
        self.worlds = Worlds(self.host, **worlds)
        self.worlds.push(World(self.host, world, keys=keys, keep=worlds.get("keep", KEPT)))
        if worlds.get("listener"):
            self.worlds.default.journal.listen(worlds["listener"])
        self.door: Door | None = None
        if listener["control"]:
            needs = f"one of {', '.join(_LOOPBACK)} with control=True; 'petstore-mock serve --control' opens others"
            require(listener["host"] in _LOOPBACK, needs, host=listener["host"])
            self.mount()
        self.worlds.default.verification.expectations = self._problems
        self.app = WsgiApp(self)
        self.tls: Tls | None = None
        self._certificates = certificates
        if listener["tls"] and certificates is None:
            from petstore_mock.mock.tls import Tls  # noqa: PLC0415  # an extra, and heavy

            self.tls = Tls(listener["host"])
            self._certificates = self.tls.context
        self._server: Server | None = None
        self._httpserver: Listener | None = None
        self._is_exempt = False  # from proxies, while it listens

    # Listening

    def mount(self, admission: Admission | None = None, *, is_open: bool = True) -> None:
        """Mount the control door; a closed one tells its health alone."""
        from petstore_mock.control.door import Door  # noqa: PLC0415  # most mocks have none

        self.door = Door(self.worlds, lambda: self.server, admission, is_open=is_open)

    @property
    def control_url(self) -> str:
        """The address of the control door."""
        if self.door is None:
            refuse("expected a mock with a control door: PetStoreMock(control=True)")
        return f"{self.url.removesuffix(BASE_PATH)}{DOOR_PATH}/"

    @property
    def server(self) -> Server:
        """The server, made on first use, because it brings asyncio."""
        if self._server is None:
            from petstore_mock.transport.server import Server  # noqa: PLC0415

            tls, loop = self._certificates, self.options.get("loop", "asyncio")
            self._server = Server(self, self.options["host"], self.options["port"], tls=tls, loop=loop)
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
        """Whether clients can connect."""
        return self._server is not None and self._server.is_alive

    @property
    def died(self) -> str:
        """Why the listener ended although nothing stopped it; empty unless it did."""
        return "" if self._server is None else self._server.died

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
            refuse(
                "expected a mock that listens: use 'with PetStoreMock() as petstore:' or start(); .app needs neither"
            )
        host = f"[{server.host}]" if ":" in server.host else server.host
        return f"http{'s' if self.host.tls else ''}://{host}:{server.port}{BASE_PATH}"

    def start(self) -> None:
        """Listen; harmless when it listens already."""
        if not self.is_listening:
            self.server.start()
            if not self._is_exempt:  # a listener whose thread has died left it so
                no_proxy.exempt(self.options["host"])
            self._is_exempt = True
            Thread(target=preload_judge, name="petstore-mock-judge", daemon=True).start()

    def stop(self) -> None:
        """Stop listening; harmless when it does not listen."""
        for world in self.worlds.at_root:
            world.release()
        if self._server is not None:
            self._server.stop()
        if self._is_exempt:
            no_proxy.unexempt(self.options["host"])
        self._is_exempt = False

    def clear(self) -> None:
        """Forget the expectations."""
        if self._httpserver is not None:
            self._httpserver.clear()

    def expectations(self) -> list[str]:
        """Return what requests ``httpserver`` expects, in words."""
        return [] if self._httpserver is None else self._httpserver.in_words()

    def _problems(self) -> list[str]:
        return [] if self._httpserver is None else self._httpserver.problems()

    # What the transport asks

    def handle(self, request: ApiRequest) -> Response | Deferred | Blocking:
        """Respond to a whole request."""
        if self.door is not None and self.door.serves(request):
            return self.door.handle(request)
        stubs = self._stubs_for(request)
        respond = None if stubs is None else stubs.match(request)
        return self.worlds.handle(request) if respond is None else self._stubbed(request, respond)

    def _stubs_for(self, request: ApiRequest) -> Listener | None:
        """Return the expectations if they may serve a request: one without a route, and no preflight of a browser."""
        stubs, cors = self._httpserver, self.host.cors
        if stubs is None or not stubs.expects or (cors is not None and cors.permits_preflight(request)):
            return None
        world, _ = self.worlds.world_of(request)
        return None if world.rules.route(request.method, request.target).allow else stubs

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
                pipeline.tell_browser(world, request, response)
                exchange.duration = perf_counter() - request.started
                exchange.trim()
            return response

        return Blocking(run)

    def admits(self, request: ApiRequest, length: int | None) -> bool:
        """Say from its head whether a request's body is worth reading."""
        if self.door is not None and self.door.serves(request):
            return self.door.admits(request, length)
        return self._stubs_for(request) is not None or pipeline.admits(*self.worlds.world_of(request), request, length)

    def body_limit(self, request: ApiRequest) -> int | None:
        """Return the longest body that a request may have, in bytes."""
        if self.door is not None and self.door.serves(request):
            return self.door.body_limit(request)
        if self._stubs_for(request) is not None:
            return _STUB_BODY
        limit: int | None = self.worlds.world_of(request)[0].rules.policies.body_limit
        return limit

    def generation(self) -> object:
        """Return a token of the present state."""
        return self.worlds.generation()

    def refuse(self, condition: str, detail: str, request: ApiRequest, generation: object = None) -> Response:
        """Respond to bytes that never became a request."""
        if self.door is not None and self.door.serves(request):
            return self.door.refuse(condition, detail, request)
        return self.worlds.refuse(condition, detail, request, generation)

    def failed(self, error: BaseException, request: ApiRequest) -> Response:
        """Respond to a request whose handling raised an exception."""
        return pipeline.failed(self.worlds.world_of(request)[0], error, request)

    def connection_opened(self, number: int) -> TlsPlan | None:
        """Return the TLS fault that a new connection meets; a reset of its world ends a hang."""
        return self.worlds.connection_opened(number)

    def handshake_failed(self, reason: str) -> None:
        """Note a failed TLS handshake."""
        world = self.worlds.current
        with world.lock:
            world.journal.notes.append(reason)
