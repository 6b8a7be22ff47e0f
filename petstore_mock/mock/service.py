"""The service behind one mock: its worlds, its listener and ``httpserver``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from petstore_mock.common.refusing import require
from petstore_mock.common.values import EVERYWHERE
from petstore_mock.core.registry import Worlds
from petstore_mock.core.world import Host, World
from petstore_mock.http.cors import Cors
from petstore_mock.http.handler import Blocking
from petstore_mock.http.response import Response, Stream
from petstore_mock.mock.preload import preload
from petstore_mock.mock.recording import RecordedParts
from petstore_mock.transport import no_proxy
from petstore_mock.transport.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.control.admission import Admission
    from petstore_mock.control.door import Door
    from petstore_mock.http.handler import Deferred
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.mock.tls import Tls
    from petstore_mock.transport.listener import Listener, Stubbed
    from petstore_mock.transport.tls import ServerTls

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
# The limit of a request body in bytes, if an expectation may match the request.
_STUB_BODY = 64 * 1024 * 1024


class Service:
    """The worlds of one mock, and its listener, control door and expectations."""

    def __init__(
        self,
        listener: dict[str, Any],
        world: Mapping[str, object],
        /,
        *,
        keys: tuple[str, ...] = (),
        certificates: ServerTls | None = None,
        **shared: Any,  # further options of Host
    ) -> None:
        self.host = Host(tls=listener["tls"], cors=Cors(listener["cors"]), **shared)
        self.worlds = Worlds(World(self.host, world, keys=keys))
        self.generation = self.worlds.generation
        self.failed = self.worlds.failed
        self.connection_opened = self.worlds.connection_opened
        self.handshake_failed = self.worlds.handshake_failed
        self.tls: Tls | None = None
        if listener["tls"] and certificates is None:
            from petstore_mock.mock.tls import Tls  # needs an extra

            self.tls = Tls(listener["host"])
            certificates = self.tls.context
        loop = listener.get("loop", "asyncio")
        self.server = Server(self, listener["host"], listener["port"], tls=certificates, loop=loop)
        self.host.close_connections = self.server.close_connections
        self._stubs: Listener | None = None
        self._door: Door | None = None
        if listener["control"]:
            needs = f"one of {', '.join(_LOOPBACK)} with control=True (for other hosts: petstore-mock serve --control)"
            require(listener["host"] in _LOOPBACK, needs, host=listener["host"])
            self.mount()

    # Listening

    def mount(self, admission: Admission | None = None, *, is_open: bool = True) -> None:
        """Mount the control door. A closed door responds to ``health`` only."""
        from petstore_mock.control.door import Door  # most mocks have none

        self._door = Door(self.worlds, self.server, admission, is_open=is_open)

    def start(self) -> None:
        """Start to listen if the server does not listen yet. Exempt its host from proxies, again if necessary."""
        if not self.server.is_alive:
            # Before the listener starts: its thread must not be the first to import a module.
            preload(with_mutants=self._door is not None)
            self.server.start()
        host = self.server.host
        # Clients use the host that the url shows.
        no_proxy.exempt(self, EVERYWHERE.get(host, host))

    def stop(self) -> None:
        """Release the held responses, and stop listening if the server listens."""
        self.worlds.release()
        self.server.stop()
        no_proxy.unexempt(self)

    # Expectations

    @property
    def httpserver(self) -> Listener:
        """The expectations, made on first use because they import werkzeug."""
        if self._stubs is None:
            from petstore_mock.transport.listener import Listener

            self._stubs = Listener(self.server)
            self.worlds.default.verification.expectations = self._stubs.problems
        self._stubs.port = self.server.port
        return self._stubs

    def clear(self) -> None:
        """Drop the expectations."""
        if self._stubs is not None:
            self._stubs.clear()

    def _stubs_for(self, request: ApiRequest) -> Listener | None:
        """Return the expectations if a request has no route."""
        stubs = self._stubs
        if stubs is None or not stubs.expects or self._handler_of(request) is not self.worlds:
            return None
        world, routed = self.worlds.world_of(request)
        has_route = world.store.rules.route(routed.method, routed.target).allow
        return None if has_route or self.host.cors.answers(request) else stubs

    def _stubbed(self, request: ApiRequest, respond: Callable[[], Stubbed]) -> Blocking:
        """Journal a request that an expectation matches, and return the function that responds."""
        world, routed = self.worlds.world_of(request)
        with world.lock:
            exchange = world.begin(routed)
            exchange.by_expectation = exchange.in_flight = True
            world.journal.add(exchange)

        def run() -> Response | Stream:
            head, body = respond()
            head = self.host.cors.open_head(request, head)
            date = world.store.date
            if not isinstance(body, bytes):
                return Stream(head, date, RecordedParts(body, head, date, exchange, world.pending), chunked=True)
            with world.lock:
                response = exchange.response = Response(head, body, date)
                exchange.complete(None, sent=True)
            return response

        return Blocking(run)

    # Called by the transport; see http.handler.Handler

    def _handler_of(self, request: ApiRequest) -> Door | Worlds:
        if self._door is not None and self._door.serves(request):
            return self._door
        return self.worlds

    def handle(self, request: ApiRequest) -> Response | Deferred | Blocking:
        stubs = self._stubs_for(request)
        respond = None if stubs is None else stubs.match(request)
        if respond is not None:
            return self._stubbed(request, respond)
        return self._handler_of(request).handle(request)

    def body_limit(self, request: ApiRequest) -> int | None:
        if self._stubs_for(request) is not None:
            return _STUB_BODY
        return self._handler_of(request).body_limit(request)

    def refuse(self, condition: str, detail: str, request: ApiRequest, generation: object = None) -> Response:
        return self._handler_of(request).refuse(condition, detail, request, generation)
