"""``PetStoreMock``: the one object that people hold."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Never, Self

from petstore_mock.common.suggestions import refuse_unknown
from petstore_mock.common.wording import counted
from petstore_mock.contract.schemas import default_schemas
from petstore_mock.core.cors import cors_of
from petstore_mock.core.fault_plan import FaultHandle
from petstore_mock.core.starting_state import Seed, check_type
from petstore_mock.core.tenant import Tenant
from petstore_mock.core.world import Snapshot
from petstore_mock.errors import PetStoreMockError
from petstore_mock.facade.petstore import PetStore
from petstore_mock.journal.failure_note import leave
from petstore_mock.mock.host import Host

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date, datetime
    from os import PathLike

    import requests

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.mock.tls import Tls
    from petstore_mock.transport.asgi import AsgiApp
    from petstore_mock.transport.listener import Listener
    from petstore_mock.transport.wsgi import WsgiApp

__all__ = ["PetStoreMock"]


class PetStoreMock(PetStore[FaultHandle, Snapshot]):
    """A fake pet store service, in process.

    ``with PetStoreMock() as petstore:`` listens on loopback; leaving the block stops, and raises for what a test
    must answer for (:meth:`verify`). Without ``with``, :attr:`app` is usable alone.

    Args:
        host: the address to listen on.
        port: the port; 0 takes a free one.
        api_key: a fixed valid key; without one each world gets its own.
        seed: animals of the starting state: how many, a list of them, or a JSON file.
        behaviour: what it does where the interface shows nothing: a ``Behaviour``, a preset's name, a TOML file.
        at: the fake's date at the start, such as ``"2030-12-06"``.
        strict: whether a contract violation by the client fails the verification.
        self_check: hold the fake's own answers against the schemas.
        random_seed: seeds all that is drawn: ids, orders, probabilities.
        mutant: the name of a mutant, which answers in the place of the service and breaks one clause.
        control: whether the control door is open on the same port, at :attr:`control_url`.
        cors: the origins whose pages may use the service in a browser, or ``"*"`` for any; none unless given.
        tls: whether to listen with TLS, under a certificate that clients trust by :attr:`tls`; needs the extra ``tls``.

    Attributes:
        host: its listener and what else its worlds share; internal.

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
        self_check: bool = False,
        random_seed: int = 0,
        mutant: str | None = None,
        control: bool = False,
        cors: Iterable[str] | None = None,
        tls: bool = False,
        **unknown: Never,
    ) -> None:
        refuse_unknown(PetStoreMock.__init__, unknown)
        check_type("host", host, str, what="an address such as '127.0.0.1'")
        check_type("port", port, int, what="a number, 0 for any free port")
        check_type("tls", tls, bool, what="True or False")
        self.host = Host(host, port, cors_of(cors), tls=tls)
        self.tenant: Tenant = Tenant(
            self.host.worlds,
            default_schemas(),
            api_key=api_key,
            seed=seed,
            behaviour=behaviour,
            at=at,
            strict=strict,
            self_check=self_check,
            random_seed=random_seed,
            mutant=mutant,
        )
        self._outermost = self.tenant
        self.tenant.expectation_problems = self.host.problems
        check_type("control", control, bool, what="True or False")
        if control:
            self.host.open_control(self.tenant)

    def __repr__(self) -> str:
        where = self.url if self.host.is_listening else "not listening"
        return f"<PetStoreMock {where}, {counted(len(self.tenant.world.animals.store), 'animal')}>"

    @property
    def _is_outermost(self) -> bool:
        """Whether the listener and its expectations are this mock's; those of a ``fresh()`` are another's."""
        return self.tenant is self._outermost

    # Listening

    def start(self) -> Self:
        """Listen. Returns the mock itself; harmless when it listens already.

        Raises:
            PetStoreMockError: the address is taken.
        """
        self.host.start()
        return self

    def stop(self) -> None:
        """Stop listening: connections are closed and held answers let go. Harmless when it does not listen.

        A mock that ``fresh()`` gave lets its own answers go; the listener is that of the mock that it came from.

        Raises:
            PetStoreMockError: it was called from inside a request, or a predicate of ``inject(when=...)`` is not done.
        """
        if self._is_outermost:
            self.host.worlds.let_go()
            self.host.stop()
        else:
            self.tenant.world.let_go()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        __tracebackhide__ = True
        where = self.host.url if self.host.is_listening else "a mock that was stopped"
        self.stop()
        leave(self, error, where)

    def close_connections(self) -> None:
        """Close the idle kept connections, as real services do now and then."""
        self.host.listener.close_connections()

    @property
    def url(self) -> str:
        """The base address, ending in ``/v1`` (§1).

        Raises:
            PetStoreMockError: the mock does not listen.
        """
        return self.host.url

    @property
    def control_url(self) -> str:
        """The address of the control door, ending in ``/__petstore/``.

        Raises:
            PetStoreMockError: the mock was made without ``control=True``, or does not listen.
        """
        return self.host.control_url

    @property
    def tls(self) -> Tls:
        """What clients need in order to trust the mock: ``ca_path``, ``client_context()``, ``environ()``.

        Raises:
            PetStoreMockError: it speaks plain HTTP.
        """
        if self.host.tls is None:
            raise PetStoreMockError("expected a mock that speaks TLS, PetStoreMock(tls=True); this one does not")
        return self.host.tls

    @property
    def app(self) -> WsgiApp:
        """The WSGI callable over the same state (PEP 3333)."""
        return self.host.app

    @property
    def asgi(self) -> AsgiApp:
        """The ASGI callable over the same state (ASGI 3.0), for asyncio and trio."""
        from petstore_mock.transport.asgi import AsgiApp  # noqa: PLC0415  # it brings asyncio

        return AsgiApp(self.host.worlds)

    def requests_session(self) -> requests.Session:
        """Return a session of requests that calls this mock in process, whatever host a request names.

        Raises:
            PetStoreMockError: requests is not installed.
        """
        with _installed("requests"):
            import requests  # noqa: PLC0415  # the user's own

            from petstore_mock.transport.requests_adapter import CoreAdapter  # noqa: PLC0415

        session = requests.Session()
        adapter = CoreAdapter(self.host.worlds)
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        return session

    @property
    def httpserver(self) -> Listener:
        """The pytest-httpserver object behind the listener, for paths that the fake does not have (§4.4)."""
        return self.host.listener

    def openapi(self) -> dict[str, Any]:
        """Return the interface as an OpenAPI 3.1 document; its own address comes first."""
        from petstore_mock.contract.openapi import openapi_document  # noqa: PLC0415  # only for those who ask

        return openapi_document(self.tenant.world.schemas, server=self.url if self.host.is_listening else None)

    def reset(self) -> None:
        """Return to the starting state: animals, keys, journal, faults, behaviour, clock; held answers are let go.

        The expectations of :attr:`httpserver` go, too. What a test must answer for until then stays, for the next
        verification: call :meth:`verify` before, to be told at once. A fault that need not fire any more is taken back
        by its ``cancel()``, or by :meth:`cancel_faults`.
        """
        super().reset()
        if self._is_outermost:
            self.host.clear()


@contextmanager
def _installed(library: str) -> Iterator[None]:
    """Say what to do where a client library of the user's own is missing."""
    try:
        yield
    except ImportError as error:
        raise PetStoreMockError(
            f"expected {library} to be installed, which this calls: pip install {library}; or use petstore.app"
        ) from error
