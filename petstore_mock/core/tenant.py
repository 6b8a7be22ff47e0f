"""A tenant: one world with its keys and its starting state. What every door holds of the core.

``PetStoreMock``, the pytest plugin, the machine and the control door begin, renew, steer and end worlds here, and ask
here what a world must answer for; none of them reaches into a world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, Unpack

from petstore_mock.common.suggestions import did_you_mean
from petstore_mock.core.starting_state import (
    Seed,
    as_behaviour,
    check_count,
    check_type,
    fill,
    seed_each,
)
from petstore_mock.core.verification import Verification
from petstore_mock.core.world import Snapshot, World
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults import coerce
from petstore_mock.journal.expectation import expected_violation
from petstore_mock.journal.journal import FIXTURE_LIMIT
from petstore_mock.messages.handshake import CERTIFICATE_FLAWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import date, datetime
    from os import PathLike

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.contract.schemas import Schemas
    from petstore_mock.core.clock import Clock
    from petstore_mock.core.fault_plan import FaultHandle
    from petstore_mock.core.mutation import Mutation
    from petstore_mock.core.world_registry import Leak, Worlds
    from petstore_mock.faults import Fault
    from petstore_mock.journal.entry import Entry
    from petstore_mock.journal.journal import Journal

__all__ = ["Ending", "OwnStart", "Tenant", "WorldEvent", "WorldOptions"]

WorldEvent = Literal["made", "reset", "cleared", "ended"]


class Ending(Protocol):
    """A world that is about to be cleared, as those are told who look at it before."""

    @property
    def owner(self) -> str | None:
        """Who answers for it."""

    @property
    def journal(self) -> Journal:
        """What came to it."""

    def secrets(self) -> tuple[str, ...]:
        """Return its keys, which must not show."""


class WorldOptions(TypedDict, total=False):
    """The options of a world: those of ``PetStoreMock`` that are not its listener's."""

    api_key: str | None
    seed: Seed | None
    behaviour: Behaviour | str | PathLike[str] | None
    at: str | date | datetime | None
    strict: bool
    self_check: bool
    random_seed: int
    mutant: str | None


class OwnStart(TypedDict, total=False):
    """What the starting state of one test has of its own, where that of all of them says something else.

    Attributes:
        behaviour: instead of the behaviour of all.
        gaps: alternatives that differ from either.
        seed: animals beside those of all.
        at: the date at the start.
        strict: whether the test fails for contract violations.
        mutant: the mutant that answers.
    """

    behaviour: Behaviour | str | PathLike[str] | None
    gaps: Mapping[str, str] | None
    seed: Seed | None
    at: str | date | datetime | None
    strict: bool | None
    mutant: str | None


class Tenant:
    """One world behind a listener, with the starting state that it returns to.

    Args:
        worlds: the worlds behind the listener.
        schemas: the rules of bodies and parameters.
        name: the name of its address ``/w/NAME``; without one it becomes the current world at the root.
        api_keys: fixed valid keys, the first of them :attr:`key`; without any each world gets its own.
        journal_limit: how many requests its journal keeps.
        ring: whether older ones may go silently.
        listener: called with each entry of its journal, in the thread that adds it; it must be quick.
        options: its starting state.

    Attributes:
        worlds: the worlds behind the listener.
        world: its state.
        name: the name of its address, or None.
        key: a key that is valid from the start of the world on.
        strict: whether a contract violation by the client fails the verification.
        at_change: told when the world is made anew, reset or ended, or its journal cleared; None for nobody.
        snapshots: copies of the state that a door keeps for those who can hold no object, by number.
        visitors: how many waits and streams ask it now.
        at_end: told of each world before :meth:`reset`, or the end of one of :meth:`fresh`, clears it; None for nobody.
        expectation_problems: gives what went wrong with the expectations of ``httpserver``, if they are this tenant's.

    Raises:
        PetStoreMockError: an option can't be right.
    """

    def __init__(
        self,
        worlds: Worlds,
        schemas: Schemas,
        *,
        name: str | None = None,
        api_keys: Sequence[str] = (),
        journal_limit: int = FIXTURE_LIMIT,
        ring: bool = False,
        listener: Callable[[Entry], object] | None = None,
        **options: Unpack[WorldOptions],
    ) -> None:
        self.worlds = worlds
        self.name = name
        self.at_end: Callable[[Ending], None] | None = None
        self.expectation_problems: Callable[[], list[str]] = list
        self.visitors = 0
        self.snapshots: dict[int, Snapshot] = {}
        self._snapshot_number = 0
        self.at_change: Callable[[Tenant, WorldEvent], None] | None = None
        self._journal_limit, self._ring, self._listener = journal_limit, ring, listener
        self._fixed_keys: tuple[str, ...] = ()
        self._keys: tuple[str, ...] = ()
        self._lasting_keys: tuple[str, ...] = ()  # those that the root keeps when it is made anew
        self.world = self._begin(schemas, options, tuple(api_keys))
        if name is None:
            self._lasting_keys = self._fixed_keys
            worlds.push(self.world)
        else:
            worlds.add_named(name, self.world)

    def _begin(self, schemas: Schemas, options: WorldOptions, keys: tuple[str, ...]) -> World:
        """Make a world of ``options``, which nobody can reach yet; nothing of this object changes if they are wrong.

        Args:
            schemas: what its animals and requests are held against.
            options: its starting state.
            keys: the valid ones unless an option gives one; without any it gets its own.
        """
        strict, self_check = options.get("strict", False), options.get("self_check", False)
        random_seed, api_key, at = options.get("random_seed", 0), options.get("api_key"), options.get("at")
        check_type("strict", strict, bool, what="True or False")
        check_type("self_check", self_check, bool, what="True or False")
        check_type("random_seed", random_seed, int, what="a whole number")
        fixed = keys if api_key is None else (api_key,)
        for number, key in enumerate(fixed):
            self.worlds.check_key(key, shared=self.name is not None or key in self._keys + self._lasting_keys)
            if key in fixed[:number]:
                raise PetStoreMockError("expected each API key once; got one of them twice")
        behaviour, mutant = as_behaviour(options.get("behaviour")), options.get("mutant")
        world = World(
            schemas,
            behaviour=behaviour,
            at=at,
            random_seed=random_seed,
            self_check=self_check,
            journal_limit=self._journal_limit,
            ring=self._ring,
            index=self.worlds.keys,
        )
        world.mutation = _mutation(mutant)
        fill(world, options.get("seed"))
        if self._listener is not None:
            world.journal.listen(self._listener)
        self._verification = Verification(world)
        self.strict = self._base_strict = strict
        self._base_behaviour, self._base_at, self._base_mutant = behaviour, at, mutant
        self._added: Seed | None = None  # animals of the present test alone
        self._fixed_keys = fixed
        self._set_keys(world, self.name)
        return world

    def _set_keys(self, world: World, owner: str | None) -> None:
        """Give ``world`` the keys that are fixed, or else a new one."""
        self._keys = self._fixed_keys or (self.worlds.new_key(owner),)
        self.key = self._keys[0]
        for key in self._keys:
            world.keys.add(key)

    # Animals

    @property
    def pets(self) -> list[dict[str, Any]]:
        """Copies of the animals now in the store, in the order of their ids."""
        with self.world.lock:
            return self.world.animals.store.documents()

    def seed(self, pet: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Add one animal and return it; see :meth:`Animals.seed`."""
        return self.world.animals.seed(pet, fields)

    def update(self, pet_id: int, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Change an animal as another actor would (§3); see :meth:`Animals.update`."""
        return self.world.animals.update(pet_id, fields)

    def remove(self, pet_id: int) -> None:
        """Take an animal out as another actor would (§3); see :meth:`Animals.remove`."""
        self.world.animals.remove(pet_id)

    def seed_many(self, pets_or_count: int | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add several animals, or so many plausible ones of every status; return them.

        Raises:
            PetStoreMockError: one of them is wrong; says which.
        """
        if isinstance(pets_or_count, int):
            check_count("pets_or_count", pets_or_count)
            with self.world.lock:
                return [self.world.animals.seed_sample() for _ in range(pets_or_count)]
        return seed_each(self.world, pets_or_count, "seed_many")

    # Keys (§5)

    def issue_key(self, expires: float | str | date | None) -> str:
        """Return another valid key.

        Args:
            expires: from when it is invalid by the fake's clock: seconds from now, a date, a datetime or ISO 8601 text.

        Raises:
            PetStoreMockError: ``expires`` is no moment.
        """
        world = self.world
        until = None if expires is None else world.clock.moment_from(expires, "expires")
        with world.lock:
            return world.keys.add(self.worlds.new_key(world.owner), until).name

    def revoke_key(self, key: str | None) -> None:
        """Make ``key`` invalid from now on; without one, :attr:`key`.

        Raises:
            PetStoreMockError: this world never had such a key.
        """
        with self.world.lock:
            found = self.world.keys.get(self.key if key is None else key)
            if found is None:
                raise PetStoreMockError(
                    "expected a key of this mock, api_key or one that issue_key() returned; got one that it never had"
                )
            found.revoked = True

    # Faults

    def inject(self, fault: int | Fault, **rule: Any) -> FaultHandle:  # noqa: ANN401  # the keywords of PetStoreMock.inject
        """Plan a fault; see :meth:`petstore_mock.PetStoreMock.inject`.

        One of the TLS handshake closes the connections that are open, so that it meets those that clients have kept.

        Raises:
            PetStoreMockError: an argument can't be right, or there is no handshake that the fault could meet.
        """
        world = self.world
        chosen = coerce(fault)
        if chosen.meets_handshakes and not self.worlds.tls:
            raise PetStoreMockError(f"expected a mock that speaks TLS, PetStoreMock(tls=True), for {chosen}")
        if chosen.meets_handshakes and self.name is not None:
            raise PetStoreMockError(
                f"expected the default world, the one at the root, for {chosen}; got {self.name!r}: a handshake names "
                "no world, so that the fault would meet the connections of other tests. Give this test a service of "
                "its own: PetStoreMock(tls=True), or petstore-mock serve --tls --port 0 --control-port 0"
            )
        if self.worlds.own_certificate and any(
            getattr(part, "flaw", None) in CERTIFICATE_FLAWS for part in chosen.parts
        ):
            raise PetStoreMockError(
                f"expected --tls, without a certificate of your own, which can't be spoilt, for {chosen}"
            )
        with world.lock:
            handle = world.plan.add(chosen, **rule)
            handle.since = world.journal.total
        if chosen.meets_handshakes:
            self.worlds.renew_connections()
        return handle

    def cancel_faults(self) -> None:
        """Take every planned fault away: none of them need fire any more."""
        self.world.plan.cancel()

    # Behaviour and time

    @property
    def behaviour(self) -> Behaviour:
        """What the fake does where the interface shows nothing, as of now."""
        return self.world.rules.behaviour

    def configure(self, behaviour: Behaviour | None, gaps: Mapping[str, object]) -> None:
        """Behave otherwise until the next reset: as ``behaviour`` or else as now, but for ``gaps``.

        Raises:
            PetStoreMockError: there is no such gap or alternative.
        """
        self.world.set_behaviour((behaviour or self.behaviour).replace(gaps))

    @property
    def clock(self) -> Clock:
        """The fake's own time."""
        return self.world.clock

    # Going back

    def reset(self) -> None:
        """Return to the starting state: animals, keys, journal, faults, behaviour, clock. Held answers are let go.

        What must be answered for until then is kept for the next verification.
        """
        problems = self.expectation_problems()
        with self.world.lock:  # whatever comes meanwhile comes after it
            self._verification.keep(problems, strict=self.strict)
            if self.at_end is not None:
                self.at_end(self.world)
            self._go_back()
        self._changed("reset")

    def _changed(self, event: WorldEvent) -> None:
        if self.at_change is not None:
            self.at_change(self, event)

    def _go_back(self) -> None:
        with self.world.lock:  # no request may meet the state before all its animals are back
            self.world.reset(self._keys)
            if self._added is not None:
                fill(self.world, self._added, mark=False)

    def renew(self, owner: str | None, **start: Unpack[OwnStart]) -> None:
        """Begin the world of another test: the starting state under a new key, unless the key is fixed.

        Args:
            owner: who answers for the world.
            start: what this test's starting state has of its own.

        Raises:
            PetStoreMockError: an option can't be right.
        """
        world, behaviour, at = self.world, start.get("behaviour"), start.get("at")
        strict, mutant = start.get("strict"), start.get("mutant")
        chosen = self._base_behaviour if behaviour is None else as_behaviour(behaviour)
        world.start_behaviour = chosen.replace(start.get("gaps"))
        world.clock.start_at(self._base_at if at is None else at)
        self.strict = self._base_strict if strict is None else strict
        self._added = start.get("seed")
        world.owner = owner
        world.mutation = _mutation(self._base_mutant if mutant is None else mutant)
        self.worlds.begin_test(world)
        self._set_keys(world, owner)
        self._verification.forget()
        self._go_back()
        self._changed("made")

    def make_anew(self, **options: Unpack[WorldOptions]) -> None:
        """Begin another test's world at the same address: of ``options`` alone, but for the first keys of the root.

        Raises:
            PetStoreMockError: an option can't be right; nothing has changed then.
        """
        former = self.world
        options = {"self_check": former.self_check, **options}
        self.world = world = self._begin(former.schemas, options, self._lasting_keys)
        world.owner = former.owner
        if self.name is None:
            self.worlds.replace(former, world)
        else:
            self.worlds.add_named(self.name, world)
        self.snapshots.clear()
        with former.lock:
            former.reset(())
        self._changed("made")

    def snapshot(self) -> Snapshot:
        """Return a copy of the state."""
        return self.world.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a copy of the state. Its keys are valid as they were, unless they are another test's.

        Raises:
            PetStoreMockError: it is no snapshot.
        """
        if not isinstance(snapshot, Snapshot):
            raise PetStoreMockError(f"expected a snapshot, as snapshot() returns it; got {type(snapshot).__name__}")
        self.world.restore(snapshot, self.key, self.worlds.lost_keys(self.world, snapshot.keys.keys))

    def keep_snapshot(self) -> int:
        """Keep a copy of the state, and return its number."""
        number = self._snapshot_number = self._snapshot_number + 1
        self.snapshots[number] = self.world.snapshot()
        return number

    # Further worlds, and the end

    def fresh(self, options: WorldOptions) -> Tenant:
        """Begin an empty, independent world for the same owner, the current one until :meth:`end`.

        Raises:
            PetStoreMockError: an option can't be right.
        """
        known = WorldOptions.__annotations__
        if unknown := sorted(options.keys() - known.keys()):
            raise PetStoreMockError(
                f"expected options of a world, from {', '.join(known)}; "
                f"got {', '.join(unknown)}{did_you_mean(unknown[0], known)}"
            )
        options = {"self_check": self.world.self_check, "strict": self.strict, **options}
        inner = Tenant(self.worlds, self.world.schemas, **options)
        inner.at_end = self.at_end
        inner.world.owner = self.world.owner
        if "mutant" not in options:
            inner.world.mutation = self.world.mutation
        return inner

    def end(self) -> None:
        """End the world: its keys are retired, its held answers let go. What still asks it has leaked."""
        if self.name is not None:
            self.worlds.end_named(self.name)
            self._changed("ended")
            return
        if self.at_end is not None:
            self.at_end(self.world)
        self.worlds.remove(self.world)

    @property
    def guests(self) -> list[World]:
        """The worlds that :meth:`fresh` gave to this owner and that are not over."""
        return self.worlds.guests(self.world)

    @property
    def elders(self) -> list[World]:
        """The worlds that :meth:`fresh` gave to earlier owners and that are not over."""
        return self.worlds.elders(self.world)

    # What must be answered for

    def verify(self, *, again: bool = True) -> None:
        """Raise for what a test must answer for.

        Args:
            again: whether what was told already, and is still so, counts again.

        Raises:
            VerificationError: names all of it.
        """
        __tracebackhide__ = True
        self._verification.verify(self.expectation_problems(), strict=self.strict, again=again)

    def tell(self, *, again: bool = True) -> list[tuple[str, str]]:
        """Return what :meth:`verify` raises for, as kind and words; it counts as told by that."""
        return self._verification.tell(self.expectation_problems(), strict=self.strict, again=again)

    @property
    def problems(self) -> list[tuple[str, str]]:
        """What a test must answer for by now, as kind and words: ``unfired_fault``, ``violation`` or ``error``."""
        return self._verification.problems(self.expectation_problems(), strict=self.strict)

    def clear_requests(self) -> None:
        """Forget the journal; its violations are answered for all the same."""
        journal, hidden = self.world.journal, self.world.animals.hidden
        with self.world.lock:
            if self.strict:
                self._verification.keep_violations()
            still_hidden = hidden.snapshot(journal.total)
            journal.clear()  # numbers begin anew
            hidden.restore(still_hidden, journal.total)
            for handle in self.world.plan:
                handle.since = journal.total
        self._changed("cleared")

    def excuse(self) -> None:
        """Let nobody answer for what came so far."""
        self._verification.excuse(self.expectation_problems(), strict=self.strict)

    def expect_violation(self, pattern: str | None) -> AbstractContextManager[None]:
        """Mark the violations of a block that match ``pattern`` as expected; see :func:`expected_violation`."""
        return expected_violation(self.journal, pattern, lock=self.world.lock)

    # What came

    @property
    def journal(self) -> Journal:
        """Every request in order."""
        return self.world.journal

    def secrets(self) -> tuple[str, ...]:
        """Return its keys, which must not show."""
        return self.world.secrets()

    @property
    def leaks(self) -> list[Leak]:
        """The first requests to worlds behind this listener that were over."""
        return self.worlds.leaks

    @property
    def limit_bounds(self) -> tuple[int, int, int]:
        """The least, the largest and the default number of animals on a page."""
        return self.world.rules.limit_bounds

    @property
    def entries(self) -> list[Entry]:
        """What the journal still has, the oldest first, whatever is gone."""
        return self.world.journal.kept

    @property
    def is_used(self) -> bool:
        """Whether a request came, or a fault is planned."""
        return bool(self.world.journal.total) or any(self.world.plan)


def _mutation(name: str | None) -> Mutation | None:
    if name is None:
        return None
    from petstore_mock.core.mutation import mutation_of  # noqa: PLC0415  # most worlds have none

    return mutation_of(name)
