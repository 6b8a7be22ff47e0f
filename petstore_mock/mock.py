"""``PetStoreMock``: the one object that people hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from petstore_mock.errors import PetstoreMockError
from petstore_mock.host import Host
from petstore_mock.paths import as_path
from petstore_mock.schemas import Schemas, default_schemas
from petstore_mock.start import Seed, as_behaviour, check_type, fill, seed_each
from petstore_mock.verification import expected_violation, verify
from petstore_mock.world import Key, Snapshot, World

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from contextlib import AbstractContextManager
    from datetime import date, datetime
    from os import PathLike
    from types import TracebackType

    from petstore_mock.behaviour import Behaviour
    from petstore_mock.clock import Clock
    from petstore_mock.faults import Fault
    from petstore_mock.journal import Journal
    from petstore_mock.messages import ApiRequest
    from petstore_mock.plan import FaultHandle, Moment
    from petstore_mock.server import Listener
    from petstore_mock.wsgi import WsgiApp

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
        schemas: a directory of JSON Schemas to judge by, instead of those that ship.

    Raises:
        PetstoreMockError: an option can't be right.
    """

    _is_guest = False  # whether the listener is another mock's
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
        self._outermost = True
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

    def _open(  # as __init__
        self,
        host: Host,
        schemas: Schemas,
        *,
        api_key: str | None = None,
        seed: Seed | None = None,
        behaviour: Behaviour | str | PathLike[str] | None = None,
        at: str | date | datetime | None = None,
        strict: bool = False,
        self_check: bool = False,
        random_seed: int = 0,
    ) -> None:
        """Make a world behind ``host`` the current one."""
        check_type("strict", strict, bool, what="True or False")
        check_type("self_check", self_check, bool, what="True or False")
        check_type("random_seed", random_seed, int, what="a whole number")
        self._host = host
        self._worlds = host.worlds
        self._fixed_key = None if api_key is None else self._worlds.check_key(api_key)
        self._key = self._fixed_key or self._worlds.new_key()
        self._strict = self._base_strict = strict
        self._base_behaviour = as_behaviour(behaviour)
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
        fill(self._world, seed)
        self._worlds.push(self._world)
        self._worlds.add_key(self._key, self._world)

    def __repr__(self) -> str:
        where = self.url if self._host.is_listening else "not listening"
        return f"<PetStoreMock {where}, {len(self._world.store)} animals>"

    # Listening

    def start(self) -> Self:
        """Listen. Returns the mock itself; harmless when it listens already.

        Raises:
            PetstoreMockError: the address is taken.
        """
        self._host.start()
        return self

    def stop(self) -> None:
        """Stop listening: connections are closed and held answers let go. Harmless when it does not listen.

        A mock that ``fresh()`` gave lets its own answers go; the listener is that of the mock that it came from.
        """
        if self._is_guest:
            self._world.let_go()
        else:
            self._worlds.let_go()
            self._host.stop()

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
            PetstoreMockError: the mock does not listen.
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
    def httpserver(self) -> Listener:
        """The pytest-httpserver object behind the listener; its expectations win over the fake (§4.4)."""
        return self._host.listener

    def openapi(self) -> dict[str, Any]:
        """Return the interface as an OpenAPI 3.1 document, by this mock's schemas; its own address comes first."""
        from petstore_mock.openapi import openapi_document  # noqa: PLC0415  # only for those who ask

        return openapi_document(self._world.schemas, server=self.url if self._host.is_listening else None)

    # Animals

    def seed(self, pet: Mapping[str, Any] | None = None, /, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  # checked by the schema
        """Add one animal and return it.

        ``name``, ``categoryId`` and ``id`` get plausible, deterministic values when left out; ``status`` stays absent.

        Raises:
            PetstoreMockError: a field is not what Pet.json allows (§2), or the id is taken.
        """
        return self._world.seed(pet, fields)

    def seed_many(self, pets_or_count: int | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add several animals, or so many plausible ones of every status; return them.

        Raises:
            PetstoreMockError: one of them is wrong; says which.
        """
        if isinstance(pets_or_count, bool) or (isinstance(pets_or_count, int) and pets_or_count < 0):
            raise PetstoreMockError(f"expected a number of animals of at least 0; got {pets_or_count!r}")
        if isinstance(pets_or_count, int):
            with self._world.lock:
                return self._world.store.documents(self._world.seed_plausible(pets_or_count))
        return seed_each(self._world, pets_or_count, "seed_many")

    @property
    def pets(self) -> list[dict[str, Any]]:
        """Copies of the animals now in the store, in the order of their ids."""
        with self._world.lock:
            return self._world.store.documents()

    def update(self, pet_id: int, /, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  # checked by the schema
        """Change an animal as another actor would (§3), and return it; ``status=None`` takes the status away.

        Raises:
            PetstoreMockError: there is no such animal, or a field is wrong.
        """
        return self._world.update(pet_id, fields)

    def remove(self, pet_id: int, /) -> None:
        """Take an animal out as another actor would (§3).

        Raises:
            PetstoreMockError: there is no such animal.
        """
        self._world.remove(pet_id)

    # Keys (§5)

    def issue_key(self, *, expires: float | str | datetime | None = None) -> str:
        """Return another valid key.

        Args:
            expires: from when it is invalid by the fake's clock: seconds from now, a datetime or ISO 8601 text.

        Raises:
            PetstoreMockError: ``expires`` is no moment.
        """
        world = self._world
        until = None if expires is None else world.clock.moment_from(expires, "expires")
        with world.lock:
            key = self._worlds.new_key(world.owner)
            world.keys[key] = Key(until)
            self._worlds.add_key(key, world)
        return key

    def revoke_key(self, key: str | None = None) -> None:
        """Make ``key`` invalid from now on; without one, :attr:`api_key`.

        Raises:
            PetstoreMockError: this world never had such a key.
        """
        with self._world.lock:
            found = self._world.keys.get(self._key if key is None else key)
            if found is None:
                raise PetstoreMockError("expected a key of this mock: api_key, or one that issue_key() gave")
            found.revoked = True

    # Faults

    def inject(  # a rule has these parts
        self,
        fault: int | Fault,
        *,
        on: str | None = None,
        times: int | None = None,
        after: int = 0,
        when: Callable[[ApiRequest], object] | None = None,
        at: Moment = "before_commit",
        probability: float = 1.0,
        off_contract: bool = False,
    ) -> FaultHandle:
        """Plan a fault for valid requests; the first planned that fires wins.

        Args:
            fault: an HTTP status, or a fault of ``petstore_mock.faults``.
            on: the operation that it meets; None for any.
            times: how often it fires; None for every time.
            after: how many matching requests pass first.
            when: a quick predicate on the request.
            at: before the state changes, or after (the animal exists, its answer is lost).
            probability: the chance of each matching request to meet it, by ``random_seed``.
            off_contract: allow a status that the interface declares for other operations only (§7).

        Returns:
            A handle: ``.hits``, ``.cancel()``, and a context manager that ends the fault with its block.

        Raises:
            PetstoreMockError: an argument can't be right; says what would be.
        """
        with self._world.lock:
            return self._world.plan.add(
                fault,
                on=on,
                times=times,
                after=after,
                when=when,
                at=at,
                probability=probability,
                off_contract=off_contract,
            )

    # Looking back

    @property
    def journal(self) -> Journal:
        """Every request in order, with what was decided about it."""
        return self._world.journal

    def expect_violation(self, pattern: str | None = None) -> AbstractContextManager[None]:
        """Declare that the client breaks the contract in this block.

        Args:
            pattern: a regular expression that the violation's words must match; None for any violation.

        Raises:
            PetstoreMockError: ``pattern`` is no regular expression.
            VerificationError: no such violation came.
        """
        return expected_violation(self._world, pattern)

    def verify(self) -> None:
        """Raise for what a test must answer for.

        That is: errors inside the fake, faults planned with ``times=`` that never fired, expectations of ``httpserver``
        that were not met, and, if strict, violations by the client.

        Raises:
            VerificationError: names all of them.
        """
        __tracebackhide__ = True
        verify(self._world, self._host.problems() if self._outermost else [], strict=self._strict)

    # Behaviour and time

    @property
    def behaviour(self) -> Behaviour:
        """What the fake does where the interface shows nothing, as of now."""
        return self._world.rules.behaviour

    def configure(self, **gaps: str) -> None:
        """Choose alternatives for gaps, until the next reset: ``configure(status_when_omitted="sold")``.

        Raises:
            PetstoreMockError: there is no such gap or alternative; suggests the nearest.
        """
        self._world.set_behaviour(self.behaviour.replace(**gaps))

    @property
    def clock(self) -> Clock:
        """The fake's own time."""
        return self._world.clock

    # Going back

    def reset(self) -> None:
        """Return to the starting state: animals, keys, journal, faults, behaviour, clock. Held answers are let go."""
        self._renew_keys(self._key)
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
            PetstoreMockError: an option can't be right.
        """
        world = self._world
        chosen = self._base_behaviour if behaviour is None else as_behaviour(behaviour)
        world.start_behaviour = chosen.replace(**gaps) if gaps else chosen
        world.clock.start_at(self._base_at if at is None else at)
        self._strict = self._base_strict if strict is None else strict
        if isinstance(seed, Iterator):  # it would be used up by the first of several resets
            raise PetstoreMockError(
                "expected a list of animals as the seed of a test; got an iterator, which lasts once"
            )
        self._added = seed
        world.owner = owner
        self._key = self._fixed_key or self._worlds.new_key(owner)
        self.reset()

    def _renew_keys(self, kept: str) -> None:
        self._worlds.retire(self._world, but=(kept,))
        self._worlds.add_key(kept, self._world)

    def snapshot(self) -> Snapshot:
        """Return a copy of the state: animals, keys, behaviour, clock. Journal and faults are not part of it."""
        return self._world.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a copy of the state.

        Raises:
            PetstoreMockError: it is no snapshot.
        """
        if not isinstance(snapshot, Snapshot):
            raise PetstoreMockError(f"expected what snapshot() gave; got {type(snapshot).__name__}")
        self._world.restore(snapshot, self._key)

    @contextmanager
    def fresh(self, **options: Unpack[WorldOptions]) -> Generator[PetStoreMock]:
        """Give an empty, independent world behind the same listener, for the length of a block.

        Args:
            options: those of ``PetStoreMock`` but ``host``, ``port`` and ``schemas``.

        Raises:
            PetstoreMockError: an option can't be right.
            VerificationError: at the end, as :meth:`verify`.
        """
        __tracebackhide__ = True
        unknown = options.keys() - WorldOptions.__annotations__.keys()
        if unknown:
            known = ", ".join(WorldOptions.__annotations__)
            raise PetstoreMockError(f"expected options of a world, from {known}; got {', '.join(sorted(unknown))}")
        inner = object.__new__(type(self))
        inner._outermost = False  # httpserver's expectations are the outer mock's to verify and clear
        options.setdefault("self_check", self._world.self_check)
        options.setdefault("strict", self._strict)
        inner._open(self._host, self._world.schemas, **options)
        inner._is_guest = True
        inner._at_fresh_end = self._at_fresh_end
        inner._world.owner = self._world.owner
        try:
            yield inner
            inner.verify()
        finally:
            if self._at_fresh_end is not None:
                self._at_fresh_end(inner._world)
            self._worlds.remove(inner._world)
