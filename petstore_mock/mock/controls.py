"""What a test does with one world: its animals, keys, faults, behaviour and time, and what it sees of the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from petstore_mock.core.starting_state import as_behaviour, check_count, seed_each
from petstore_mock.core.world import Key, Snapshot, World
from petstore_mock.errors import PetStoreMockError
from petstore_mock.mock.verification import expected_violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from datetime import date
    from os import PathLike

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.core.clock import Clock
    from petstore_mock.core.fault_plan import FaultHandle, Moment
    from petstore_mock.core.world_registry import Worlds
    from petstore_mock.faults import Fault
    from petstore_mock.journal.journal import Journal
    from petstore_mock.messages.request import ApiRequest

__all__ = ["Controls"]


class Controls:
    """The part of ``PetStoreMock`` that concerns its world, whatever carries the requests."""

    _world: World
    _worlds: Worlds
    _key: str

    # Animals

    def seed(self, pet: Mapping[str, Any] | None = None, /, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  # checked by the schema
        """Add one animal and return it.

        ``name``, ``categoryId`` and ``id`` get plausible, deterministic values when left out; ``status`` stays absent.

        Raises:
            PetStoreMockError: a field is not what Pet.json allows (§2), or the id is taken.
        """
        return self._world.seed(pet, fields)

    def seed_many(self, pets_or_count: int | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add several animals, or so many plausible ones of every status; return them.

        Raises:
            PetStoreMockError: one of them is wrong; says which.
        """
        if isinstance(pets_or_count, int):
            check_count("pets_or_count", pets_or_count)
            with self._world.lock:
                return [self._world.seed_plausible() for _ in range(pets_or_count)]
        return seed_each(self._world, pets_or_count, "seed_many")

    @property
    def pets(self) -> list[dict[str, Any]]:
        """Copies of the animals now in the store, in the order of their ids."""
        with self._world.lock:
            return self._world.store.documents()

    def update(self, pet_id: int, /, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  # checked by the schema
        """Change an animal as another actor would (§3), and return it; ``status=None`` takes the status away.

        Raises:
            PetStoreMockError: there is no such animal, or a field is wrong.
        """
        return self._world.update(pet_id, fields)

    def remove(self, pet_id: int, /) -> None:
        """Take an animal out as another actor would (§3).

        Raises:
            PetStoreMockError: there is no such animal.
        """
        self._world.remove(pet_id)

    # Keys (§5)

    def issue_key(self, *, expires: float | str | date | None = None) -> str:
        """Return another valid key.

        Args:
            expires: from when it is invalid by the fake's clock: seconds from now, a date, a datetime or ISO 8601 text.

        Raises:
            PetStoreMockError: ``expires`` is no moment.
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
            PetStoreMockError: this world never had such a key.
        """
        with self._world.lock:
            asked: object = self._key if key is None else key
            found = self._world.keys.get(asked) if isinstance(asked, str) else None
            if found is None:
                raise PetStoreMockError(
                    "expected a key of this mock, api_key or one that issue_key() returned; got one that it never had"
                )
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
            The handle, with ``.hits`` and ``.cancel()``; as a context manager it ends the fault with its block.

        Raises:
            PetStoreMockError: an argument can't be right; says what would be.
        """
        with self._world.lock:
            handle = self._world.plan.add(
                fault,
                on=on,
                times=times,
                after=after,
                when=when,
                at=at,
                probability=probability,
                off_contract=off_contract,
            )
            handle.since = self._world.journal.total
            return handle

    # Looking back

    @property
    def journal(self) -> Journal:
        """Every request in order, with what was decided about it."""
        return self._world.journal

    def expect_violation(self, pattern: str | None = None) -> AbstractContextManager[None]:
        """Declare that the client breaks the contract in this block; it may raise for the answer.

        Args:
            pattern: a regular expression that the violation's words must match; None for any violation.

        Raises:
            PetStoreMockError: ``pattern`` is no regular expression.
            VerificationError: no such violation came.
        """
        return expected_violation(self._world, pattern)

    # Behaviour and time

    @property
    def behaviour(self) -> Behaviour:
        """What the fake does where the interface shows nothing, as of now."""
        return self._world.rules.behaviour

    def configure(self, behaviour: Behaviour | str | PathLike[str] | None = None, /, **gaps: str) -> None:
        """Choose alternatives for gaps, until the next reset: ``configure(status_when_omitted="sold")``.

        Args:
            behaviour: a ``Behaviour``, the name of a preset or a TOML file, instead of the present one.
            gaps: alternatives that differ from it.

        Raises:
            PetStoreMockError: there is no such preset, gap or alternative; suggests the nearest.
        """
        chosen = self.behaviour if behaviour is None else as_behaviour(behaviour)
        self._world.set_behaviour(chosen.replace(**gaps))

    @property
    def clock(self) -> Clock:
        """The fake's own time."""
        return self._world.clock

    def snapshot(self) -> Snapshot:
        """Return a copy of the state: animals, keys, behaviour, clock. Journal and faults are not part of it."""
        return self._world.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a copy of the state. Its keys are valid as they were, unless they are another test's.

        One that was issued since is revoked; but :attr:`api_key` is valid, even if the copy is older.

        Raises:
            PetStoreMockError: it is no snapshot.
        """
        if not isinstance(snapshot, Snapshot):
            raise PetStoreMockError(f"expected a snapshot, as snapshot() returns it; got {type(snapshot).__name__}")
        self._world.restore(snapshot, self._key)
        with self._world.lock:
            self._worlds.take_back(self._world)
