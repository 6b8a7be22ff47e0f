"""``PetStore``: animals, keys, faults, journal, behaviour and time of one world, as a test author asks for them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Generic, Never, Protocol, Self, TypeVar, Unpack

from petstore_mock.common.suggestions import refuse_unknown
from petstore_mock.core.starting_state import as_behaviour
from petstore_mock.journal.failure_note import leave

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from datetime import date
    from os import PathLike

    from petstore_mock.contract.behaviour import Behaviour, GapChoices
    from petstore_mock.contract.interface import OperationName, PetChanges, PetFields
    from petstore_mock.core.clock import Clock
    from petstore_mock.core.fault_rule import CommitPoint
    from petstore_mock.core.tenant import WorldOptions
    from petstore_mock.faults import Fault
    from petstore_mock.journal.entry import Entry
    from petstore_mock.journal.journal import Journal
    from petstore_mock.messages.request import ApiRequest

__all__ = ["PetStore"]

HandleT = TypeVar("HandleT")
HandleT_co = TypeVar("HandleT_co", covariant=True)
SnapshotT = TypeVar("SnapshotT")


class _World(Protocol[HandleT_co, SnapshotT]):
    """What is asked of the world behind the object, which says what each call means."""

    @property
    def key(self) -> str: ...
    @property
    def pets(self) -> list[dict[str, Any]]: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def entries(self) -> list[Entry]: ...
    @property
    def behaviour(self) -> Behaviour: ...
    @property
    def clock(self) -> Clock: ...
    def verify(self) -> None: ...
    def reset(self) -> None: ...
    def fresh(self, options: WorldOptions) -> Self: ...
    def end(self) -> None: ...
    def seed(self, pet: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> dict[str, Any]: ...
    def seed_many(self, pets_or_count: int | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]: ...
    def update(self, pet_id: int, fields: Mapping[str, Any]) -> dict[str, Any]: ...
    def remove(self, pet_id: int) -> None: ...
    def issue_key(self, expires: float | str | date | None) -> str: ...
    def revoke_key(self, key: str | None) -> None: ...
    def inject(self, fault: int | Fault, **rule: Any) -> HandleT_co: ...  # noqa: ANN401  # those of FaultRule
    def cancel_faults(self) -> None: ...
    def expect_violation(self, pattern: str | None) -> AbstractContextManager[None]: ...
    def configure(self, behaviour: Behaviour | None, gaps: Mapping[str, object]) -> None: ...
    def snapshot(self) -> SnapshotT: ...
    def restore(self, snapshot: SnapshotT) -> None: ...


class PetStore(Generic[HandleT, SnapshotT]):
    """What a test author holds of one world.

    Attributes:
        tenant: its world, as the package's own doors hold it; internal.
        adds_notes: whether an exception that leaves its block gets its journal as a note; internal.
    """

    tenant: _World[HandleT, SnapshotT]
    adds_notes = True

    @property
    def api_key(self) -> str:
        """A valid API key (§5)."""
        return self.tenant.key

    @property
    def headers(self) -> dict[str, str]:
        """The header that authenticates: ``{"Authorization": "Bearer ..."}`` (§5)."""
        return {"Authorization": f"Bearer {self.tenant.key}"}

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

    def fresh(self, **options: Unpack[WorldOptions]) -> AbstractContextManager[Self]:
        """Give an empty, independent world of the same service, for the length of a block.

        Args:
            options: ``api_key``, ``seed``, ``behaviour``, ``at``, ``strict``, ``self_check``, ``random_seed`` and
                ``mutant`` of ``PetStoreMock``.

        Raises:
            PetStoreMockError: an option can't be right.
            VerificationError: at the end, as :meth:`verify`.
        """
        return _Fresh(self, options)

    # Animals

    def seed(self, pet: Mapping[str, Any] | None = None, /, **fields: Unpack[PetFields]) -> dict[str, Any]:
        """Add one animal and return it.

        ``name``, ``categoryId`` and ``id`` get plausible, deterministic values when left out; ``status`` stays absent.

        Raises:
            PetStoreMockError: a field is not what Pet.json allows (§2), or the id is taken.
        """
        return self.tenant.seed(pet, fields)

    def seed_many(self, pets_or_count: int | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add several animals, or so many plausible ones of every status; return them.

        Raises:
            PetStoreMockError: one of them is wrong; says which.
        """
        return self.tenant.seed_many(pets_or_count)

    @property
    def pets(self) -> list[dict[str, Any]]:
        """Copies of the animals now in the store, in the order of their ids."""
        return self.tenant.pets

    def update(self, pet_id: int, /, **fields: Unpack[PetChanges]) -> dict[str, Any]:
        """Change an animal as another actor would (§3), and return it; ``status=None`` takes the status away.

        Raises:
            PetStoreMockError: there is no such animal, or a field is wrong.
        """
        return self.tenant.update(pet_id, fields)

    def remove(self, pet_id: int, /) -> None:
        """Take an animal out as another actor would (§3).

        Raises:
            PetStoreMockError: there is no such animal.
        """
        self.tenant.remove(pet_id)

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
    ) -> HandleT:
        """Plan a fault for valid requests; the first planned that fires wins.

        Those of ``faults.tls`` meet connections instead: kept ones are closed, ``times``, ``after`` and ``probability``
        count those that are opened from now on, and nothing else can be asked of them.

        Args:
            fault: an HTTP status, or a fault of ``petstore_mock.faults``.
            on: the operation that it meets; None for any.
            times: how often it fires; None for every time.
            after: how many matching requests pass first.
            when: a quick predicate on the request; a stub in another process refuses it, since it could not ask it.
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
        refuse_unknown(PetStore.inject, unknown)
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
        self.tenant.cancel_faults()

    # Looking back

    @property
    def journal(self) -> Journal:
        """Every request in order, with what was decided about it."""
        return self.tenant.journal

    def expect_violation(self, pattern: str | None = None) -> AbstractContextManager[None]:
        """Declare that the client breaks the contract in this block; it may raise for the answer.

        Args:
            pattern: a regular expression that the violation's words must match; None for any violation.

        Raises:
            PetStoreMockError: ``pattern`` is no regular expression.
            VerificationError: no such violation came.
        """
        return self.tenant.expect_violation(pattern)

    # Behaviour and time

    @property
    def behaviour(self) -> Behaviour:
        """What the fake does where the interface shows nothing, as of now."""
        return self.tenant.behaviour

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
        self.tenant.configure(None if behaviour is None else as_behaviour(behaviour), gaps)

    @property
    def clock(self) -> Clock:
        """The fake's own time."""
        return self.tenant.clock

    def snapshot(self) -> SnapshotT:
        """Return a copy of the state: animals, keys, behaviour, clock. Journal and faults are not part of it."""
        return self.tenant.snapshot()

    def restore(self, snapshot: SnapshotT) -> None:
        """Return to a copy of the state. Its keys are valid as they were, unless they are another test's.

        One that was issued since is revoked; but :attr:`api_key` is valid, even if the copy is older.

        Raises:
            PetStoreMockError: it is no snapshot; or, elsewhere than in this process, none of this world.
        """
        self.tenant.restore(snapshot)


_Held = TypeVar("_Held", bound=PetStore[Any, Any])


class _Fresh(Generic[_Held]):
    """The block of ``fresh()``; no generator, or a failing test would show the frames of contextlib."""

    def __init__(self, outer: _Held, options: WorldOptions) -> None:
        self._outer, self._options = outer, options

    def __enter__(self) -> _Held:
        self._inner = copy.copy(self._outer)  # of a subclass, too, with all that its __init__ has set
        self._inner.tenant = self._outer.tenant.fresh(self._options)
        return self._inner

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        __tracebackhide__ = True
        try:
            leave(self._inner, error, "a world of fresh()")
        finally:
            self._inner.tenant.end()
