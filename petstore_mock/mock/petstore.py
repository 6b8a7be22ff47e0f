"""``PetStoreMock``: a fake of the service in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, Unpack

from petstore_mock.common.refusing import refuse
from petstore_mock.common.suggesting import helpful
from petstore_mock.core.options import Seed, checked, options_at
from petstore_mock.core.routing import DOOR_PATH
from petstore_mock.core.world import World
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.mock.face import PetStore
from petstore_mock.mock.service import Service
from petstore_mock.transport.in_process import WsgiApp
from petstore_mock.transport.requests_session import requests_session

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime
    from os import PathLike

    import requests

    from petstore_mock.core.options import WorldOptions
    from petstore_mock.interface.behaviour import Behaviour
    from petstore_mock.mock.tls import Tls
    from petstore_mock.transport.listener import Listener


@helpful()
class PetStoreMock(PetStore):
    """A fake of the pet store service in this process.

    ``with PetStoreMock() as petstore:`` listens on loopback. The end of the block stops the listener and verifies the
    world, see :meth:`verify`. Without ``with``, use :attr:`app`, which needs no listener.

    Args:
        host: the address to listen on.
        port: the port to listen on. 0 takes a free port.
        api_key: a fixed valid API key. None makes a new key for each world.
        seed: the animals of the starting state: their number, an iterable of mappings, or a JSON file. None adds none.
        behaviour: the alternatives that the fake uses for the gaps of the interface: a ``Behaviour``, the name of a
            preset, or a TOML file. None uses the default alternatives.
        at: the date of the fake's clock at the start, such as ``"2030-12-06"``. None uses the real time.
        strict: whether the verification fails if the client breaks the contract.
        random_seed: the seed for all random choices: ids, orders, probabilities.
        mutant: the name of a mutant, which is a service that breaks one clause. None means the correct service.
        control: whether the control door is open on the same port.
        tls: whether to listen with TLS, which needs the extra ``tls``.
        cors: the origins whose pages may use the service in a browser, such as ``"http://localhost:5173"``; ``"*"`` for
            any page.

    Attributes:
        service: the worlds and the listener; internal.

    Raises:
        PetStoreMockError: an option is invalid.
    """

    def __init__(
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
        tls: bool = False,
        cors: str | Iterable[str] = (),
    ) -> None:
        given = {name: value for name, value in locals().items() if name in options_at("world")}
        listener = checked({"host": host, "port": port, "control": control, "tls": tls, "cors": cors}, "listener")
        self.service = Service(listener, given)
        self.world = self.service.worlds.default

    @property
    def _address(self) -> str | None:
        return self.url if self.service.server.is_alive else None

    # Listening

    def start(self) -> Self:
        """Start to listen, and return this mock. If the mock already listens, only return it.

        Raises:
            PetStoreMockError: the mock can't listen at the address, for example because another listener uses it.
        """
        self.service.start()
        return self

    def stop(self) -> None:
        """Stop listening, close the connections, and end the responses that faults hold back.

        A mock that does not listen only ends these responses. The mock of a ``fresh()`` block has no listener: it ends
        only the responses of its own world.

        Raises:
            PetStoreMockError: the call came from inside a request, or a function of ``inject(when=...)`` still runs.
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
            PetStoreMockError: the mock does not listen, or this process was forked from the one that listens.
        """
        server = self.service.server
        if server.is_copy:
            refuse(
                "expected the process that started the mock; got a process forked from it, and no client can reach "
                "the copy of the mock there. Start processes with 'spawn', or start a mock in the child"
            )
        if not server.is_alive:
            refuse("expected a mock that listens. Use 'with PetStoreMock() as petstore:', or .app without a listener")
        return f"{server.origin}{BASE_PATH}"

    @property
    def control_url(self) -> str:
        """The address of the control door, ending in ``/__petstore/``.

        Raises:
            PetStoreMockError: the mock has no control door, or does not listen.
        """
        if not self.service.host.has_door:
            refuse("expected a mock with a control door: PetStoreMock(control=True)")
        return f"{self.url.removesuffix(BASE_PATH)}{DOOR_PATH}/"

    @property
    def tls(self) -> Tls:
        """The certificate that clients must trust: ``ca_path``, ``client_context()`` and ``environ()``.

        Raises:
            PetStoreMockError: the mock listens without TLS.
        """
        return self.service.tls or refuse("expected a mock that speaks TLS: PetStoreMock(tls=True)")

    @property
    def httpserver(self) -> Listener:
        """The pytest-httpserver object. Its expectations serve the paths without a route, such as those of §4.4."""
        return self.service.httpserver

    def close_connections(self) -> None:
        """Close the idle connections, as real services sometimes do."""
        self.service.server.close_connections()

    # In process

    @property
    def app(self) -> WsgiApp:
        """The WSGI callable of the same fake (PEP 3333)."""
        return WsgiApp(self.service)

    def requests_session(self) -> requests.Session:
        """Return a ``requests.Session`` that calls this mock in process, whatever host a URL has.

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
        # Keeps attributes of a subclass's __init__.
        inner = object.__new__(type(self))
        vars(inner).update(vars(self))
        shared = {"strict": outer.verification.strict, "mutant": outer.start.mutant}
        inner.world = World(self.service.host, {**shared, **options}, owner=outer.owner)
        return inner
