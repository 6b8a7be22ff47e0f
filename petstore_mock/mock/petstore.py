"""``PetStoreMock``: the one object that people hold."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Never, Self, TypeVar, Unpack

from petstore_mock.common.paths import as_path
from petstore_mock.common.suggestions import refuse_unknown
from petstore_mock.common.wording import counted
from petstore_mock.contract.interface import BASE_PATH
from petstore_mock.contract.schemas import Schemas, default_schemas
from petstore_mock.core.cors import cors_of
from petstore_mock.core.starting_state import Seed, as_behaviour, check_type
from petstore_mock.core.tenant import Tenant, WorldOptions
from petstore_mock.errors import PetStoreMockError
from petstore_mock.journal.expectation import expected_violation
from petstore_mock.journal.failure_note import leave
from petstore_mock.mock.host import Host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from datetime import date, datetime
    from os import PathLike
    from types import TracebackType

    import httpx
    import requests

    from petstore_mock.contract.behaviour import Behaviour, GapChoices
    from petstore_mock.contract.interface import OperationName, PetChanges, PetFields
    from petstore_mock.core.clock import Clock
    from petstore_mock.core.fault_plan import FaultHandle
    from petstore_mock.core.fault_rule import CommitPoint
    from petstore_mock.core.world import Snapshot
    from petstore_mock.faults import Fault
    from petstore_mock.journal.journal import Journal
    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.mock.tls import Tls
    from petstore_mock.transport.asgi import AsgiApp
    from petstore_mock.transport.listener import Listener
    from petstore_mock.transport.wsgi import WsgiApp

__all__ = ["PetStoreMock"]


class PetStoreMock:
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
        mutant: the name of a mutant, which answers in the place of the service and breaks one clause.
        control: whether the control door is open on the same port, at :attr:`control_url`.
        schemas: a directory of JSON Schemas to judge by, instead of those that ship.
        cors: the origins whose pages may use the service in a browser, or ``"*"`` for any; none unless given.
        tls: whether to listen with TLS, under a certificate that clients trust by :attr:`tls`; needs the extra ``tls``.

    Attributes:
        tenant: its world, as the package's own doors hold it; internal.
        host: its listener and what else its worlds share; internal.
        adds_notes: whether an exception that leaves its block gets its journal as a note; internal.

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
        schemas: str | PathLike[str] | None = None,
        cors: Iterable[str] | None = None,
        tls: bool = False,
        **unknown: Never,
    ) -> None:
        refuse_unknown(PetStoreMock.__init__, unknown)
        check_type("host", host, str, what="an address such as '127.0.0.1'")
        check_type("port", port, int, what="a number, 0 for any free port")
        check_type("tls", tls, bool, what="True or False")
        rules = default_schemas() if schemas is None else Schemas(as_path(schemas, "schemas"))
        self.host = Host(host, port, cors_of(cors), tls=tls)
        self.tenant = self._outermost = Tenant(
            self.host.worlds,
            rules,
            api_key=api_key,
            seed=seed,
            behaviour=behaviour,
            at=at,
            strict=strict,
            self_check=self_check,
            random_seed=random_seed,
            mutant=mutant,
        )
        self.tenant.expectation_problems = self.host.problems
        self.adds_notes = True
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
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
    def api_key(self) -> str:
        """A valid API key (§5)."""
        return self.tenant.key

    @property
    def headers(self) -> dict[str, str]:
        """The header that authenticates: ``{"Authorization": "Bearer ..."}`` (§5)."""
        return {"Authorization": f"Bearer {self.tenant.key}"}

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
        return self.host.asgi

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

        base = self.url if self.host.is_listening else f"http://petstore.test{BASE_PATH}"
        return httpx.Client(transport=CoreTransport(self.host.worlds), **{"base_url": base, **options})

    @property
    def httpserver(self) -> Listener:
        """The pytest-httpserver object behind the listener; its expectations win over the fake (§4.4)."""
        return self.host.listener

    def openapi(self) -> dict[str, Any]:
        """Return the interface as an OpenAPI 3.1 document, by this mock's schemas; its own address comes first."""
        from petstore_mock.contract.openapi import openapi_document  # noqa: PLC0415  # only for those who ask

        return openapi_document(self.tenant.world.schemas, server=self.url if self.host.is_listening else None)

    # What a test must answer for

    def verify(self) -> None:
        """Raise for what a test must answer for.

        That is: errors inside the fake, faults planned with ``times=`` and sequences that never fired, expectations of
        ``httpserver`` that failed, or that are ordered or one-shot and were not met, and, if strict, violations by the
        client. What came before a :meth:`reset` and was not told yet counts too, once.

        Raises:
            VerificationError: names all of them.
        """
        __tracebackhide__ = True
        self.tenant.verify()

    # Going back

    def reset(self) -> None:
        """Return to the starting state: animals, keys, journal, faults, behaviour, clock. Held answers are let go.

        What a test must answer for until then stays, for the next verification: call :meth:`verify` before, to be told
        at once. A fault that need not fire any more is taken back by its ``cancel()``, or by :meth:`cancel_faults`.
        """
        self.tenant.reset()
        if self._is_outermost:
            self.host.clear()

    def fresh(self, **options: Unpack[WorldOptions]) -> AbstractContextManager[Self]:
        """Give an empty, independent world behind the same listener, for the length of a block.

        Args:
            options: those of ``PetStoreMock`` but ``host``, ``port`` and ``schemas``.

        Raises:
            PetStoreMockError: an option can't be right.
            VerificationError: at the end, as :meth:`verify`.
        """
        return _Fresh(lambda: self._inner(options))

    def _inner(self, options: WorldOptions) -> Self:
        inner = copy.copy(self)  # of a subclass, too, with all that its __init__ has set
        inner.tenant = self.tenant.fresh(options)
        return inner

    # Animals

    def seed(self, pet: Mapping[str, Any] | None = None, /, **fields: Unpack[PetFields]) -> dict[str, Any]:
        """Add one animal and return it.

        ``name``, ``categoryId`` and ``id`` get plausible, deterministic values when left out; ``status`` stays absent.

        Raises:
            PetStoreMockError: a field is not what Pet.json allows (§2), or the id is taken.
        """
        return self.tenant.world.animals.seed(pet, fields)

    def seed_many(self, pets_or_count: int | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add several animals, or so many plausible ones of every status; return them.

        Raises:
            PetStoreMockError: one of them is wrong; says which.
        """
        return self.tenant.seed_many(pets_or_count)

    @property
    def pets(self) -> list[dict[str, Any]]:
        """Copies of the animals now in the store, in the order of their ids."""
        with self.tenant.world.lock:
            return self.tenant.world.animals.store.documents()

    def update(self, pet_id: int, /, **fields: Unpack[PetChanges]) -> dict[str, Any]:
        """Change an animal as another actor would (§3), and return it; ``status=None`` takes the status away.

        Raises:
            PetStoreMockError: there is no such animal, or a field is wrong.
        """
        return self.tenant.world.animals.update(pet_id, fields)

    def remove(self, pet_id: int, /) -> None:
        """Take an animal out as another actor would (§3).

        Raises:
            PetStoreMockError: there is no such animal.
        """
        self.tenant.world.animals.remove(pet_id)

    # Keys (§5)

    def issue_key(self, *, expires: float | str | date | None = None) -> str:
        """Return another valid key.

        Args:
            expires: from when it is invalid by the fake's clock: seconds from now, a date, a datetime or ISO 8601 text.

        Raises:
            PetStoreMockError: ``expires`` is no moment.
        """
        return self.tenant.issue_key(expires)

    def revoke_key(self, key: str | None = None) -> None:
        """Make ``key`` invalid from now on; without one, :attr:`api_key`.

        Raises:
            PetStoreMockError: this world never had such a key.
        """
        self.tenant.revoke_key(key)

    # Faults

    def inject(  # a rule has these parts
        self,
        fault: int | Fault,
        *,
        on: OperationName | None = None,
        times: int | None = None,
        after: int = 0,
        when: Callable[[ApiRequest], object] | None = None,
        where: Mapping[str, Any] | None = None,
        at: CommitPoint = "before_commit",
        probability: float = 1.0,
        off_contract: bool = False,
        **unknown: Never,
    ) -> FaultHandle:
        """Plan a fault for valid requests; the first planned that fires wins.

        Those of ``faults.tls`` meet connections instead: kept ones are closed, ``times``, ``after`` and ``probability``
        count those that are opened from now on, and nothing else can be asked of them.

        Args:
            fault: an HTTP status, or a fault of ``petstore_mock.faults``.
            on: the operation that it meets; None for any.
            times: how often it fires; None for every time.
            after: how many matching requests pass first.
            when: a quick predicate on the request.
            where: what the request must be, by the criteria of ``journal.assert_called`` that concern no answer:
                ``{"name": "Rex"}``, ``{"limit": 5}``, ``{"headers": {"X-Trace": "1"}}``.
            at: before the state changes, or after (the animal exists, its answer is lost).
            probability: the chance of each matching request to meet it, by ``random_seed``.
            off_contract: allow a status that the interface declares for other operations only (§7).
            unknown: refused, with the nearest of the others.

        Returns:
            The handle, with ``.id``, ``.hits``, ``.spent`` and ``.cancel()``; as a context manager it ends the fault
            with its block.

        Raises:
            PetStoreMockError: an argument can't be right; says what would be.
        """
        refuse_unknown(PetStoreMock.inject, unknown)
        return self.tenant.inject(
            fault,
            on=on,
            times=times,
            after=after,
            when=when,
            where=where,
            at=at,
            probability=probability,
            off_contract=off_contract,
        )

    def cancel_faults(self) -> None:
        """Take every planned fault away, fired or not: none of them need fire any more."""
        self.tenant.world.plan.cancel()

    # Looking back

    @property
    def journal(self) -> Journal:
        """Every request in order, with what was decided about it."""
        return self.tenant.world.journal

    def expect_violation(self, pattern: str | None = None) -> AbstractContextManager[None]:
        """Declare that the client breaks the contract in this block; it may raise for the answer.

        Args:
            pattern: a regular expression that the violation's words must match; None for any violation.

        Raises:
            PetStoreMockError: ``pattern`` is no regular expression.
            VerificationError: no such violation came.
        """
        world = self.tenant.world
        return expected_violation(world.journal, pattern, lock=world.lock)

    # Behaviour and time

    @property
    def behaviour(self) -> Behaviour:
        """What the fake does where the interface shows nothing, as of now."""
        return self.tenant.world.rules.behaviour

    def configure(
        self, behaviour: Behaviour | str | PathLike[str] | None = None, /, **gaps: Unpack[GapChoices]
    ) -> None:
        """Choose alternatives for gaps, until the next reset: ``configure(status_when_omitted="sold")``.

        Args:
            behaviour: a ``Behaviour``, the name of a preset or a TOML file, instead of the present one.
            gaps: alternatives that differ from it.

        Raises:
            PetStoreMockError: there is no such preset, gap or alternative; suggests the nearest.
        """
        chosen = self.behaviour if behaviour is None else as_behaviour(behaviour)
        self.tenant.world.set_behaviour(chosen.replace(gaps))

    @property
    def clock(self) -> Clock:
        """The fake's own time."""
        return self.tenant.world.clock

    def snapshot(self) -> Snapshot:
        """Return a copy of the state: animals, keys, behaviour, clock. Journal and faults are not part of it."""
        return self.tenant.world.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a copy of the state. Its keys are valid as they were, unless they are another test's.

        One that was issued since is revoked; but :attr:`api_key` is valid, even if the copy is older.

        Raises:
            PetStoreMockError: it is no snapshot.
        """
        self.tenant.restore(snapshot)


@contextmanager
def _installed(library: str) -> Iterator[None]:
    """Say what to do where a client library of the user's own is missing."""
    try:
        yield
    except ImportError as error:
        raise PetStoreMockError(
            f"expected {library} to be installed, which this calls: pip install {library}; or use petstore.app"
        ) from error


_Mock = TypeVar("_Mock", bound=PetStoreMock)


class _Fresh(Generic[_Mock]):
    """The block of ``fresh()``; no generator, or a failing test would show the frames of contextlib."""

    def __init__(self, begin: Callable[[], _Mock]) -> None:
        self._begin = begin

    def __enter__(self) -> _Mock:
        self._mock = self._begin()
        return self._mock

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        try:
            leave(self._mock, error, "a world of fresh()")
        finally:
            self._mock.tenant.end()
