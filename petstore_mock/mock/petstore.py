"""``PetStoreMock``: the one object that people hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, Unpack

from petstore_mock.common.refusing import refuse
from petstore_mock.core.options import Seed, checked, options_at
from petstore_mock.core.routing import DOOR_PATH
from petstore_mock.core.world import World
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.mock.face import PetStore
from petstore_mock.mock.service import Service
from petstore_mock.transport.in_process import AsgiApp, WsgiApp, requests_session

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime
    from os import PathLike

    import requests

    from petstore_mock.core.options import WorldOptions
    from petstore_mock.interface.behaviour import Behaviour
    from petstore_mock.mock.tls import Tls
    from petstore_mock.transport.listener import Listener


class PetStoreMock(PetStore):
    """A fake pet store service, in process.

    ``with PetStoreMock() as petstore:`` listens on loopback. Leaving the block stops the listener, and raises for
    everything that a test must answer for (:meth:`verify`). Without ``with``, :attr:`app` is usable alone.

    Args:
        host: the address to listen on.
        port: the port; 0 takes a free one.
        api_key: a fixed valid key; without it each world gets its own.
        seed: animals of the starting state: how many, an iterable of them, or a JSON file.
        behaviour: what it does where the interface shows nothing: a ``Behaviour``, the name of a preset, a TOML file.
        at: the fake's date at the start, such as ``"2030-12-06"``.
        strict: whether a contract violation by the client fails the verification.
        random_seed: the seed of everything that is drawn: ids, orders, probabilities.
        mutant: the name of a mutant: a service that breaks one clause.
        control: whether the control door is open on the same port.
        cors: the origins whose pages may use the service in a browser, or ``"*"`` for any.
        tls: whether to listen with TLS; needs the extra ``tls``.

    Attributes:
        service: its worlds and its listener; internal.

    Raises:
        PetStoreMockError: an option can't be right.
    """

    def __init__(  # the options of the starting state, each by its name
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        api_key: str | None = None,
        seed: Seed | None = None,
        behaviour: Behaviour | str | PathLike[str] | None = None,
        at: str | date | datetime | None = None,
        strict: bool = False,
        random_seed: int = 0,
        mutant: str | None = None,
        control: bool = False,
        cors: Iterable[str] | None = None,
        tls: bool = False,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in options_at("world")}
        listener = checked({"host": host, "port": port, "control": control, "cors": cors, "tls": tls}, "listener")
        self.service = Service(listener, given)
        self.world = self.service.worlds.default

    @property
    def _address(self) -> str | None:
        return self.url if self.service.server.is_alive else None

    # Listening

    def start(self) -> Self:
        """Listen. Returns the mock itself; harmless when it listens already.

        Raises:
            PetStoreMockError: the address is taken.
        """
        self.service.start()
        return self

    def stop(self) -> None:
        """Stop listening: connections are closed, and held responses end. Harmless when it does not listen.

        The mock of a ``fresh()`` block ends its own held responses; it has no listener of its own.

        Raises:
            PetStoreMockError: it was called from inside a request, or a predicate of ``inject(when=...)`` is not done.
        """
        if self._is_outermost:
            self.service.stop()
        else:
            self.world.release()

    def __enter__(self) -> Self:
        if self._is_outermost:
            return self.start()
        self.service.worlds.push(self.world)
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        __tracebackhide__ = True
        if self._is_outermost:
            where = self._address or "a mock that was stopped"
            self.stop()
            self._leave(error, where)
            return
        try:
            self._leave(error, "a world of fresh()")
        finally:
            self.service.worlds.remove(self.world)

    @property
    def url(self) -> str:
        """The base address, ending in ``/v1`` (§1).

        Raises:
            PetStoreMockError: the mock does not listen, or this process is the child of a fork.
        """
        server = self.service.server
        if server.is_copy:
            refuse(
                "expected the process that started the mock; this one was forked from it, and no client meets its copy "
                "of the mock: start processes by 'spawn', or start a mock in the child"
            )
        if not server.is_alive:
            refuse("expected a mock that listens: use 'with PetStoreMock() as petstore:'; .app needs no listener")
        host = f"[{server.host}]" if ":" in server.host else server.host
        return f"http{'s' if self.service.host.tls else ''}://{host}:{server.port}{BASE_PATH}"

    @property
    def control_url(self) -> str:
        """The address of the control door, ending in ``/__petstore/``.

        Raises:
            PetStoreMockError: the mock has no door, or does not listen.
        """
        if not self.service.host.has_door:
            refuse("expected a mock with a control door: PetStoreMock(control=True)")
        return f"{self.url.removesuffix(BASE_PATH)}{DOOR_PATH}/"

    @property
    def tls(self) -> Tls:
        """What clients need in order to trust the mock: ``ca_path``, ``client_context()``, ``environ()``.

        Raises:
            PetStoreMockError: the mock speaks plain HTTP.
        """
        return self.service.tls or refuse("expected a mock that speaks TLS: PetStoreMock(tls=True)")

    @property
    def httpserver(self) -> Listener:
        """The pytest-httpserver object: its expectations serve the paths that the fake has no route for (§4.4)."""
        return self.service.httpserver

    def close_connections(self) -> None:
        """Close the idle kept connections, as real services do now and then."""
        self.service.server.close_connections()

    # In process

    @property
    def app(self) -> WsgiApp:
        """The WSGI callable over the same state (PEP 3333)."""
        return WsgiApp(self.service)

    @property
    def asgi(self) -> AsgiApp:
        """The ASGI callable over the same state (ASGI 3.0), for asyncio."""
        return AsgiApp(self.service)

    def requests_session(self) -> requests.Session:
        """Return a session of requests that calls this mock in process, whatever host a request names.

        Raises:
            PetStoreMockError: requests is not installed.
        """
        return requests_session(self.service)

    # Worlds

    @property
    def _is_outermost(self) -> bool:
        return self.world is self.service.worlds.default

    def reset(self) -> None:
        super().reset()
        if self._is_outermost:
            self.service.clear()

    def fresh(self, **options: Unpack[WorldOptions]) -> Self:
        outer = self.world
        inner = object.__new__(type(self))  # of a subclass too, with everything that its __init__ has set
        vars(inner).update(vars(self))
        shared = {"strict": outer.verification.strict, "mutant": outer.start.mutant}
        inner.world = World(self.service.host, {**shared, **options}, owner=outer.owner)
        return inner
