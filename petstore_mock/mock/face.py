"""``PetStore``: animals, keys, faults, journal, behaviour and time of one world, as a test author asks for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, Self, Unpack

from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import require
from petstore_mock.errors import VerificationError
from petstore_mock.faults.fault import coerce
from petstore_mock.journal.text import add_note, journal_text
from petstore_mock.verbs import state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from datetime import date
    from os import PathLike

    from petstore_mock.core.clock import Clock
    from petstore_mock.core.fault_plan import CommitPoint
    from petstore_mock.core.options import WorldOptions
    from petstore_mock.faults.fault import Fault
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.interface.behaviour import Behaviour
    from petstore_mock.interface.static import GapChoices, OperationName, PetChanges, PetFields
    from petstore_mock.journal.journal import Journal
    from petstore_mock.verbs.verb import Verb


class Handle(Protocol):
    """A planned fault: how often it fired, and how to take it away."""

    @property
    def fault(self) -> Fault:
        """The fault."""
        ...

    @property
    def id(self) -> int:
        """Its number in its world."""
        ...

    @property
    def hits(self) -> int:
        """How often it fired."""
        ...

    @property
    def spent(self) -> bool:
        """Whether it has fired as often as it may."""
        ...

    def cancel(self) -> None:
        """Take the fault away. It need not fire any more."""

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: object, *_: object) -> None: ...


class PetStore(ABC):
    """The methods that ``PetStoreMock`` and a world elsewhere share.

    Attributes:
        adds_notes: whether an exception that leaves its block gets the journal as a note; internal.
    """

    adds_notes = True

    # How the world is reached

    @abstractmethod
    def _do(self, verb: Verb, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a JSON value
        """Let the world do a verb, and return the result."""

    @abstractmethod
    def _handle(self, plan: Mapping[str, Any]) -> Handle:
        """Return the handle of a fault that was just planned."""

    @abstractmethod
    def _begin_fresh(self, options: Mapping[str, Any]) -> Self:
        """Return the face of an empty world."""

    @abstractmethod
    def _end_fresh(self) -> None:
        """End the world that :meth:`_begin_fresh` made."""

    @abstractmethod
    def verify(self) -> None:
        """Raise for everything that a test must answer for.

        That is: errors inside the fake; faults planned with ``times=`` and sequences that fired less often than
        planned; expectations of ``httpserver`` that failed or were not met; and, if strict, violations by the client.
        Problems from before a :meth:`reset` that were not reported yet count too, once.

        Raises:
            VerificationError: names all of them.
        """

    @property
    @abstractmethod
    def api_key(self) -> str:
        """A valid API key (§5)."""

    @property
    def headers(self) -> dict[str, str]:
        """The header that authenticates: ``{"Authorization": "Bearer ..."}`` (§5)."""
        return {"Authorization": f"Bearer {self.api_key}"}

    @property
    @abstractmethod
    def journal(self) -> Journal:
        """Every request in order, with the decision about it."""

    @property
    @abstractmethod
    def behaviour(self) -> Behaviour:
        """What the fake does where the interface shows nothing, as of now."""

    @property
    @abstractmethod
    def clock(self) -> Clock:
        """The fake's own time."""

    @abstractmethod
    def snapshot(self) -> Any:  # noqa: ANN401  # opaque
        """Return a copy of the state: animals, keys, behaviour, clock. Journal and faults are not part of it."""

    @abstractmethod
    def restore(self, snapshot: Any) -> None:  # noqa: ANN401  # what snapshot() returned
        """Return to a copy of the state. Its keys are valid as they were, unless they belong to another test by now.

        Keys that were issued since are revoked. :attr:`api_key` is valid, even if the copy is older than the key.

        Raises:
            PetStoreMockError: it is no snapshot of this service.
        """

    @abstractmethod
    def expect_violation(self, pattern: str | None = None) -> AbstractContextManager[None]:
        """Return a block in which the client breaks the contract on purpose; the client may raise for the response.

        Args:
            pattern: a regular expression that the words of the violation must match; None for any violation.

        Raises:
            PetStoreMockError: ``pattern`` is no regular expression.
            VerificationError: at the end of the block, if no such violation came.
        """

    # Going back

    def reset(self) -> None:
        """Return to the starting state: animals, keys, journal, faults, behaviour, clock. Held responses go out.

        Problems that a test must answer for stay, for the next verification; call :meth:`verify` before the reset to
        see them at once. If a fault need not fire any more, take it away with its ``cancel()`` or with
        :meth:`cancel_faults`.
        """
        from petstore_mock.verbs.worlds import reset_world  # noqa: PLC0415

        self._do(reset_world, {})

    def fresh(self, **options: Unpack[WorldOptions]) -> AbstractContextManager[Self]:
        """Return a block with an empty, independent world of the same service.

        Args:
            options: ``api_key``, ``seed``, ``behaviour``, ``at``, ``strict``, ``random_seed`` and ``mutant`` of
                ``PetStoreMock``.

        Raises:
            PetStoreMockError: an option can't be right.
            VerificationError: at the end of the block, as :meth:`verify`.
        """
        return _Fresh(self, options)

    # Animals

    def seed(self, pet: Mapping[str, Any] | None = None, /, **fields: Unpack[PetFields]) -> dict[str, Any]:
        """Add one animal and return it.

        Args:
            pet: the animal as a mapping, instead of keywords.
            fields: its fields. A missing name, category or id gets a plausible, deterministic value; ``status`` stays
                absent unless you pass it.

        Raises:
            PetStoreMockError: Pet.json does not allow a field (§2), or the id is taken.
        """
        require(pet is None or is_object(pet), "an animal as a mapping", pet=pet)
        given = fields if pet is None else {**pet, **fields}
        added: dict[str, Any] = self._do(state.add_pets, {"pets": given})["pets"][0]
        return added

    def seed_many(self, pets_or_count: int | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add several animals, all or none, and return them.

        Args:
            pets_or_count: the animals, or how many plausible ones of every status.

        Raises:
            PetStoreMockError: one of them is wrong; the message says which.
        """
        require(not is_object(pets_or_count), "a list of animals, or how many", pets_or_count=pets_or_count)
        pets = {"count": pets_or_count} if isinstance(pets_or_count, int) else pets_or_count
        added: list[dict[str, Any]] = self._do(state.add_pets, {"pets": pets})["pets"]
        return added

    @property
    def pets(self) -> list[dict[str, Any]]:
        """Copies of the animals in the store, in the order of their ids."""
        pets: list[dict[str, Any]] = self._do(state.list_pets, {})["pets"]
        return pets

    def update(self, pet_id: int, /, **fields: Unpack[PetChanges]) -> dict[str, Any]:
        """Change an animal as another actor would (§3), and return it.

        Args:
            pet_id: its id.
            fields: the fields that change; ``status=None`` takes the status away.

        Raises:
            PetStoreMockError: there is no such animal, or a field is wrong.
        """
        changed: dict[str, Any] = self._do(state.change_pet, {"pet_id": pet_id, "changes": fields})
        return changed

    def remove(self, pet_id: int, /) -> None:
        """Remove an animal as another actor would (§3).

        Args:
            pet_id: its id.

        Raises:
            PetStoreMockError: there is no such animal.
        """
        self._do(state.remove_pet, {"pet_id": pet_id})

    # Keys (§5)

    def issue_key(self, *, expires: float | str | date | None = None) -> str:
        """Return another valid key.

        Args:
            expires: when the key becomes invalid by the fake's clock: seconds from now, a date, a datetime or ISO 8601
                text; None for never.

        Raises:
            PetStoreMockError: ``expires`` is no moment.
        """
        return str(self._do(state.issue_key, {"expires": expires})["api_key"])

    def revoke_key(self, key: str | None = None) -> None:
        """Make a key invalid from now on.

        Args:
            key: the key; None for :attr:`api_key`.

        Raises:
            PetStoreMockError: this world never had such a key.
        """
        self._do(state.revoke_key, {"api_key": self.api_key if key is None else key})

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
    ) -> Handle:
        """Plan a fault for valid requests; the first planned that fires wins.

        Faults of ``faults.tls`` meet connections instead. The fake closes kept connections; ``times``, ``after`` and
        ``probability`` count the connections that open from now on, and the other arguments have no meaning.

        Args:
            fault: an HTTP status, or a fault of ``petstore_mock.faults``.
            on: the operation that it meets; None for any.
            times: how often it fires; None for every time.
            after: how many matching requests pass first.
            when: a quick function of the request; a world in another process refuses it.
            where: criteria of the request, those of ``journal.assert_called`` that concern no response:
                ``{"name": "Rex"}``, ``{"limit": 5}``, ``{"headers": {"X-Trace": "1"}}``.
            at: before the state changes, or after (the animal exists, the response is lost).
            probability: the chance that a matching request meets it, by ``random_seed``.
            off_contract: whether to allow a status that the interface declares for other operations only (§7).

        Returns:
            The handle, with ``.id``, ``.hits``, ``.spent`` and ``.cancel()``. As a context manager it takes the fault
            away at the end of the block.

        Raises:
            PetStoreMockError: an argument can't be right; the message says what is.
        """
        rule: dict[str, Any] = {
            "on": on,
            "times": times,
            "after": after,
            "where": where,
            "at": at,
            "probability": probability,
            "off_contract": off_contract,
        }
        rule |= {} if when is None else {"when": when}
        return self._handle(self._do(state.plan_fault, {"fault": coerce(fault).to_data(), **rule}))

    def cancel_faults(self) -> None:
        """Take every planned fault away, fired or not. None of them need fire any more."""
        self._do(state.cancel_faults, {})

    # Behaviour

    def configure(
        self, behaviour: Behaviour | str | PathLike[str] | None = None, /, **gaps: Unpack[GapChoices]
    ) -> None:
        """Choose alternatives for gaps until the next reset: ``configure(status_when_omitted="sold")``.

        Args:
            behaviour: a ``Behaviour``, the name of a preset or a TOML file, instead of the present one.
            gaps: alternatives that differ from it.

        Raises:
            PetStoreMockError: there is no such preset, gap or alternative; the message suggests the nearest.
        """
        from petstore_mock.interface.behaviour import as_behaviour  # noqa: PLC0415

        chosen = {} if behaviour is None else dict(as_behaviour(behaviour))
        self._do(state.change_behaviour, {"gaps": {**chosen, **gaps}})

    # The end of a block

    def _leave(self, error: BaseException | None, whose: str) -> None:
        """Verify at the end of a block, unless an exception leaves it; add the journal to what does."""
        __tracebackhide__ = True
        if error is None:
            try:
                self.verify()
            except VerificationError as problem:
                self._add_note(problem, whose, [])
                raise
        else:
            self._add_note(error, whose, self._problems())

    @abstractmethod
    def _problems(self) -> list[str]:
        """Return what a test must answer for, and count it as reported."""

    def _add_note(self, error: BaseException, whose: str, problems: list[str]) -> None:
        if self.adds_notes:
            add_note(error, whose, lambda: journal_text(self.journal.kept, self.journal.notes), problems)


class _Fresh:
    """The block of ``fresh()``; a class and no generator, so that a failing test does not show frames of contextlib."""

    def __init__(self, outer: Any, options: Mapping[str, Any]) -> None:  # noqa: ANN401  # a face, returned as its type
        self._outer, self._options = outer, options

    def __enter__(self) -> Any:  # noqa: ANN401
        self._inner = self._outer._begin_fresh(self._options)  # noqa: SLF001
        return self._inner

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        __tracebackhide__ = True
        try:
            self._inner._leave(error, "a world of fresh()")  # noqa: SLF001
        finally:
            self._inner._end_fresh()  # noqa: SLF001
