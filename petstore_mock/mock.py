"""``PetStoreMock``: the one object that people hold."""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from petstore_mock import no_proxy
from petstore_mock.contract import BASE_PATH
from petstore_mock.errors import ContractViolationError, PetstoreMockError, VerificationError
from petstore_mock.schemas import Schemas, default_schemas
from petstore_mock.start import Seed, as_behaviour, fill, seed_each
from petstore_mock.world import Key, Snapshot, World
from petstore_mock.worlds import Worlds
from petstore_mock.wsgi import WsgiApp

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
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

__all__ = ["PetStoreMock"]


class _Host:
    """What the worlds of one mock share: the registry of keys and the listener."""

    def __init__(self, host: str, port: int) -> None:
        self.address = host
        self.port = port
        self.worlds = Worlds()
        self.app = WsgiApp(self.worlds)
        self._listener: Listener | None = None

    @property
    def listener(self) -> Listener:
        """The listener, made on first use: its imports are the heaviest of the package."""
        if self._listener is None:
            from petstore_mock.server import Listener  # noqa: PLC0415

            self._listener = Listener(self.worlds, host=self.address, port=self.port)
        return self._listener

    @property
    def made(self) -> Listener | None:
        """The listener if it was ever asked for."""
        return self._listener


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
        rules = default_schemas() if schemas is None else Schemas(Path(schemas))
        self._open(
            _Host(host, port),
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
        host: _Host,
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
        listener = self._host.made
        where = self.url if listener is not None and listener.is_running() else "not listening"
        return f"<PetStoreMock {where}, {len(self._world.store)} animals>"

    # Listening

    def start(self) -> Self:
        """Listen. Returns the mock itself; harmless when it listens already.

        Raises:
            PetstoreMockError: the address is taken.
        """
        listener = self._host.listener
        if not listener.is_running():
            listener.start()
            no_proxy.exempt(self._host.address)
        return self

    def stop(self) -> None:
        """Stop listening: connections are closed and held answers let go. Harmless when it does not listen."""
        self._world.let_go()
        listener = self._host.made
        if listener is not None and listener.is_running():
            listener.stop()
            no_proxy.unexempt(self._host.address)

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
        listener = self._host.made
        if listener is None or not listener.is_running():
            raise PetstoreMockError(
                "expected a mock that listens: use 'with PetStoreMock() as petstore:' or start(); .app needs neither"
            )
        return str(listener.url_for(BASE_PATH))

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

        listener = self._host.made
        listening = listener is not None and listener.is_running()
        return openapi_document(self._world.schemas, server=self.url if listening else None)

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
            return self._world.seed_plausible(pets_or_count)
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
        from petstore_mock.clock import as_moment  # noqa: PLC0415

        world = self._world
        until = expires
        if isinstance(expires, (int, float)) and not isinstance(expires, bool) and not math.isnan(expires):
            until = world.clock.now() + expires
        elif expires is not None:
            until = as_moment(expires).timestamp()  # type: ignore[arg-type]  # refuses what it can't read
        with world.lock:
            key = self._worlds.new_key(world.owner)
            world.keys[key] = Key(until)  # type: ignore[arg-type]  # a number or None by now
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

    @contextmanager
    def expect_violation(self, pattern: str | None = None) -> Generator[None]:
        """Declare that the client breaks the contract in this block.

        Args:
            pattern: a regular expression that the violation's words must match; None for any violation.

        Raises:
            VerificationError: no such violation came.
        """
        __tracebackhide__ = True
        before = self.journal.total
        yield
        with self._world.lock:
            found = [entry for entry in self.journal.violations if entry.number > before]
            matching = [entry for entry in found if pattern is None or re.search(pattern, entry.reason)]
            for entry in matching:
                entry.expected = True
        if not matching:
            wanted = "a contract violation" if pattern is None else f"a contract violation that matches {pattern!r}"
            came = "; ".join(f"{entry.method} {entry.target}: {entry.reason}" for entry in found)
            raise VerificationError(
                f"expected {wanted} in this block; {f'these came: {came}' if came else 'none came'}"
            )

    def verify(self) -> None:
        """Raise for what a test must answer for.

        That is: errors inside the fake, faults planned with ``times=`` that never fired, expectations of ``httpserver``
        that were not met, and, if strict, violations by the client.

        Raises:
            VerificationError: names all of them.
        """
        __tracebackhide__ = True
        world = self._world
        with world.lock:
            errors = [*world.errors, *world.plan.errors]
            problems = [f"an exception inside the fake: {type(error).__name__}: {error}" for error in world.errors]
            problems += [str(error) for error in world.plan.errors]
            problems += [f"{handle} never fired: no request matched it" for handle in world.plan.never_fired()]
            broken = [entry for entry in self.journal.violations if not entry.expected] if self._strict else []
        problems += self._neighbour_problems()
        problems += [
            f"{entry.method} {entry.target} broke the contract (§{entry.section}): {entry.reason}" for entry in broken
        ]
        if not problems:
            return
        text = "\n".join(problems)
        error = ContractViolationError(text) if len(problems) == len(broken) else VerificationError(text)
        raise error from (errors[0] if errors else None)

    def _neighbour_problems(self) -> list[str]:
        listener = self._host.made
        if listener is None:
            return []
        problems = []
        while True:
            try:
                listener.check()
            except Exception as error:  # noqa: BLE001  # a handler may raise anything
                problems.append(f"httpserver: {type(error).__name__}: {error}")
            else:
                break
        if listener.ordered_handlers:
            problems.append(f"httpserver: {len(listener.ordered_handlers)} ordered expectations were not met")
        return problems

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
        if self._host.made is not None:
            self._host.made.clear()

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
    def fresh(self, **options: Any) -> Generator[PetStoreMock]:  # noqa: ANN401  # the options of PetStoreMock
        """Give an empty, independent world behind the same listener, for the length of a block.

        Args:
            options: those of ``PetStoreMock`` but ``host``, ``port`` and ``schemas``.

        Raises:
            PetstoreMockError: an option can't be right.
            VerificationError: at the end, as :meth:`verify`.
        """
        __tracebackhide__ = True
        unknown = options.keys() - {"api_key", "seed", "behaviour", "at", "strict", "self_check", "random_seed"}
        if unknown:
            raise PetstoreMockError(f"expected options of a world; got {', '.join(sorted(unknown))}")
        inner = object.__new__(type(self))
        options = {"self_check": self._world.self_check, "strict": self._strict, **options}
        inner._open(self._host, self._world.schemas, **options)  # the same class
        inner._world.owner = self._world.owner
        try:
            yield inner
            inner.verify()
        finally:
            self._worlds.remove(inner._world)
