"""``PetStoreMock``: the one object that people hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from petstore_mock.common.paths import as_path
from petstore_mock.contract.interface import BASE_PATH
from petstore_mock.contract.schemas import Schemas, default_schemas
from petstore_mock.core.starting_state import Seed, as_behaviour, check_type, fill
from petstore_mock.core.world import World
from petstore_mock.errors import PetStoreMockError
from petstore_mock.mock.controls import Controls
from petstore_mock.mock.host import Host
from petstore_mock.mock.verification import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from datetime import date, datetime
    from os import PathLike
    from types import TracebackType

    import httpx
    import requests

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.transport.asgi import AsgiApp
    from petstore_mock.transport.listener import Listener
    from petstore_mock.transport.wsgi import WsgiApp

__all__ = ["PetStoreMock"]


class WorldOptions(TypedDict, total=False):
    """The options of a world: those of :class:`PetStoreMock` that are not its listener's."""

    api_key: str | None
    seed: Seed | None
    behaviour: Behaviour | str | PathLike[str] | None
    at: str | date | datetime | None
    strict: bool
    self_check: bool
    random_seed: int


class PetStoreMock(Controls):
    """A fake pet store service, in process.

    ``with PetStoreMock() as petstore:`` listens on loopback; leaving the block stops, and raises for what a test
    must answer for (:meth:`verify`). Without ``with``, :attr:`app` is usable alone.

    Args:
        host: the address to listen on.
        port: the port; 0 takes a free one.
        api_key: a fixed valid key; without one each world gets its own.
        seed: animals of the starting state: how many, an iterable of them, or a JSON file.
        behaviour: what it does where the interface shows nothing: a ``Behaviour``, a preset's name, a TOML file.
        at: the fake's date at the start, such as ``"2030-12-06"``.
        strict: whether a contract violation by the client fails the verification.
        self_check: hold the fake's own answers against the schemas.
        random_seed: seeds all that is drawn: ids, orders, probabilities.
        schemas: a directory of JSON Schemas to judge by, instead of those that ship.

    Raises:
        PetStoreMockError: an option can't be right.
    """

    _at_fresh_end: Callable[[World], None] | None = None  # told of each world that fresh() gave, before it is gone

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
        schemas: str | PathLike[str] | None = None,
    ) -> None:
        check_type("host", host, str, what="an address such as '127.0.0.1'")
        check_type("port", port, int, what="a number, 0 for any free port")
        rules = default_schemas() if schemas is None else Schemas(as_path(schemas, "schemas"))
        self._outermost = True  # else it is one of fresh(): listener and expectations are another mock's
        self._open(
            Host(host, port),
            rules,
            api_key=api_key,
            seed=seed,
            behaviour=behaviour,
            at=at,
            strict=strict,
            self_check=self_check,
            random_seed=random_seed,
        )

    def _open(self, host: Host, schemas: Schemas, **options: Unpack[WorldOptions]) -> None:
        """Make a world behind ``host`` the current one."""
        strict, self_check = options.get("strict", False), options.get("self_check", False)
        random_seed, api_key, at = options.get("random_seed", 0), options.get("api_key"), options.get("at")
        check_type("strict", strict, bool, what="True or False")
        check_type("self_check", self_check, bool, what="True or False")
        check_type("random_seed", random_seed, int, what="a whole number")
        self._host = host
        self._worlds = host.worlds
        self._fixed_key = None if api_key is None else self._worlds.check_key(api_key)
        self._key = self._fixed_key or self._worlds.new_key()
        self._strict = self._base_strict = strict
        self._base_behaviour = as_behaviour(options.get("behaviour"))
        self._base_at = at
        self._added: Seed | None = None  # animals of the present test alone
        self._world = World(
            self._key,
            schemas,
            behaviour=self._base_behaviour,
            at=at,
            random_seed=random_seed,
            self_check=self_check,
        )
        fill(self._world, options.get("seed"))
        self._worlds.push(self._world)
        self._worlds.add_key(self._key, self._world)

    def __repr__(self) -> str:
        where = self.url if self._host.is_listening else "not listening"
        return f"<PetStoreMock {where}, {len(self._world.store)} animals>"

    # Listening

    def start(self) -> Self:
        """Listen. Returns the mock itself; harmless when it listens already.

        Raises:
            PetStoreMockError: the address is taken.
        """
        self._host.start()
        return self

    def stop(self) -> None:
        """Stop listening: connections are closed and held answers let go. Harmless when it does not listen.

        A mock that ``fresh()`` gave lets its own answers go; the listener is that of the mock that it came from.

        Raises:
            PetStoreMockError: it was called from inside a request, or a predicate of ``inject(when=...)`` is not done.
        """
        if self._outermost:
            self._worlds.let_go()
            self._host.stop()
        else:
            self._world.let_go()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.stop()
        if kind is None:
            self.verify()

    def close_connections(self) -> None:
        """Close the idle kept connections, as real services do now and then."""
        self._host.listener.close_connections()

    @property
    def url(self) -> str:
        """The base address, ending in ``/v1`` (§1).

        Raises:
            PetStoreMockError: the mock does not listen.
        """
        return self._host.url

    @property
    def api_key(self) -> str:
        """A valid API key (§5)."""
        return self._key

    @property
    def headers(self) -> dict[str, str]:
        """The header that authenticates: ``{"Authorization": "Bearer ..."}`` (§5)."""
        return {"Authorization": f"Bearer {self._key}"}

    @property
    def app(self) -> WsgiApp:
        """The WSGI callable over the same state (PEP 3333)."""
        return self._host.app

    @property
    def asgi(self) -> AsgiApp:
        """The ASGI callable over the same state (ASGI 3.0), for asyncio and trio."""
        return self._host.asgi

    def requests_session(self) -> requests.Session:
        """Return a session of requests that calls this mock in process, whatever host a request names.

        Raises:
            PetStoreMockError: requests is not installed.
        """
        with _installed("requests"):
            import requests  # noqa: PLC0415  # the user's own

            from petstore_mock.transport.requests_adapter import CoreAdapter  # noqa: PLC0415

        session = requests.Session()
        adapter = CoreAdapter(self._worlds)
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        return session

    def httpx_client(self, **options: Any) -> httpx.Client:  # noqa: ANN401  # those of httpx.Client
        """Return a client of httpx that calls this mock in process, whatever host a request names.

        Args:
            options: those of ``httpx.Client``; ``base_url`` is an address that ends in ``/v1`` unless given.

        Raises:
            PetStoreMockError: httpx is not installed.
        """
        with _installed("httpx"):
            import httpx  # noqa: PLC0415  # the user's own

            from petstore_mock.transport.httpx_transport import CoreTransport  # noqa: PLC0415

        base = self.url if self._host.is_listening else f"http://petstore.test{BASE_PATH}"
        return httpx.Client(transport=CoreTransport(self._worlds), **{"base_url": base, **options})

    @property
    def httpserver(self) -> Listener:
        """The pytest-httpserver object behind the listener; its expectations win over the fake (§4.4)."""
        return self._host.listener

    def openapi(self) -> dict[str, Any]:
        """Return the interface as an OpenAPI 3.1 document, by this mock's schemas; its own address comes first."""
        from petstore_mock.contract.openapi import openapi_document  # noqa: PLC0415  # only for those who ask

        return openapi_document(self._world.schemas, server=self.url if self._host.is_listening else None)

    # What a test must answer for

    def verify(self) -> None:
        """Raise for what a test must answer for.

        That is: errors inside the fake, faults planned with ``times=`` and sequences that never fired, expectations of
        ``httpserver`` that failed, or that are ordered or one-shot and were not met, and, if strict, violations by the
        client.

        Raises:
            VerificationError: names all of them.
        """
        __tracebackhide__ = True
        verify(self._world, self._host.problems() if self._outermost else [], strict=self._strict)

    # Going back

    def reset(self) -> None:
        """Return to the starting state: animals, keys, journal, faults, behaviour, clock. Held answers are let go."""
        self._renew_keys(self._key)
        with self._world.lock:  # no request may meet the state before all its animals are back
            self._world.reset([self._key])
            if self._added is not None:
                fill(self._world, self._added, mark=False)
        if self._outermost:
            self._host.clear()

    def _renew(  # the options of a starting state
        self,
        owner: str | None,
        *,
        behaviour: Behaviour | str | PathLike[str] | None = None,
        gaps: Mapping[str, str] | None = None,
        seed: Seed | None = None,
        at: str | date | datetime | None = None,
        strict: bool | None = None,
    ) -> None:
        """Begin the world of another test: the starting state under a new key, unless the key is fixed.

        Args:
            owner: who answers for the world.
            behaviour: the behaviour of this test's starting state, instead of the mock's.
            gaps: alternatives that differ from that behaviour.
            seed: animals of this test's starting state, beside the mock's.
            at: the date of this test's start, instead of the mock's.
            strict: whether this test fails for contract violations, instead of what the mock was told.

        Raises:
            PetStoreMockError: an option can't be right.
        """
        world = self._world
        chosen = self._base_behaviour if behaviour is None else as_behaviour(behaviour)
        world.start_behaviour = chosen.replace(**gaps) if gaps else chosen
        world.clock.start_at(self._base_at if at is None else at)
        self._strict = self._base_strict if strict is None else strict
        if isinstance(seed, Iterator):  # it would be used up by the first of several resets
            raise PetStoreMockError(
                "expected a list of animals as the seed of a test; got an iterator, which lasts once"
            )
        self._added = seed
        world.owner = owner
        self._worlds.begin_test(world)
        self._key = self._fixed_key or self._worlds.new_key(owner)
        self.reset()

    def _renew_keys(self, kept: str) -> None:
        self._worlds.retire(self._world, but=(kept,))
        self._worlds.add_key(kept, self._world)

    def fresh(self, **options: Unpack[WorldOptions]) -> AbstractContextManager[PetStoreMock]:
        """Give an empty, independent world behind the same listener, for the length of a block.

        Args:
            options: those of ``PetStoreMock`` but ``host``, ``port`` and ``schemas``.

        Raises:
            PetStoreMockError: an option can't be right.
            VerificationError: at the end, as :meth:`verify`.
        """
        return _Fresh(self, options)

    def _begin_fresh(self, options: WorldOptions) -> PetStoreMock:
        unknown = options.keys() - WorldOptions.__annotations__.keys()
        if unknown:
            known = ", ".join(WorldOptions.__annotations__)
            raise PetStoreMockError(f"expected options of a world, from {known}; got {', '.join(sorted(unknown))}")
        inner = object.__new__(type(self))
        inner._outermost = False
        options.setdefault("self_check", self._world.self_check)
        options.setdefault("strict", self._strict)
        inner._open(self._host, self._world.schemas, **options)
        inner._at_fresh_end = self._at_fresh_end
        inner._world.owner = self._world.owner
        return inner

    def _end_fresh(self) -> None:
        """End the world of a mock that ``fresh()`` gave."""
        if self._at_fresh_end is not None:
            self._at_fresh_end(self._world)
        self._worlds.remove(self._world)


@contextmanager
def _installed(library: str) -> Iterator[None]:
    """Say what to do where a client library of the user's own is missing."""
    try:
        yield
    except ImportError as error:
        raise PetStoreMockError(
            f"expected {library} to be installed, which this calls: pip install {library}; or use petstore.app"
        ) from error


class _Fresh:
    """The block of ``fresh()``; no generator, or a failing test would show the frames of contextlib."""

    def __init__(self, outer: PetStoreMock, options: WorldOptions) -> None:
        self._outer = outer
        self._options = options

    def __enter__(self) -> PetStoreMock:
        self._inner = self._outer._begin_fresh(self._options)  # noqa: SLF001
        return self._inner

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        try:
            if kind is None:
                self._inner.verify()
        finally:
            self._inner._end_fresh()  # noqa: SLF001
