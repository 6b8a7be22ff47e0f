"""``PetStore``: animals, keys, faults, journal, behaviour and time of one world, as a test author asks for them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self, Unpack

from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import Stays, require
from petstore_mock.common.values import counted
from petstore_mock.core.clock import Clock
from petstore_mock.core.verification import ExpectedViolation
from petstore_mock.errors import VerificationError
from petstore_mock.faults.fault import coerce
from petstore_mock.interface.behaviour import Behaviour, as_behaviour
from petstore_mock.journal.text import add_note, journal_text
from petstore_mock.verbs import state, worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from datetime import date
    from os import PathLike

    from petstore_mock.core.fault_plan import CommitPoint, FaultHandle
    from petstore_mock.core.options import WorldOptions
    from petstore_mock.core.world import World
    from petstore_mock.faults.fault import Fault
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.interface.static import GapChoices, OperationName, PetChanges, PetFields
    from petstore_mock.journal.journal import Journal
    from petstore_mock.verbs.verb import Verb


class PetStore(Stays):
    """The methods that ``PetStoreMock`` and a world elsewhere share. The latter overrides how its world is reached.

    Attributes:
        world: its world in this process; internal.
        adds_notes: whether an exception that leaves its block gets the journal as a note; internal.
    """

    world: World
    adds_notes = True

    # How the world is reached

    def _do(self, verb: Verb, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a JSON value
        with self.world.lock if verb.locks else nullcontext():
            return verb(self.world, arguments)

    def _handle(self, plan: Mapping[str, Any]) -> FaultHandle:
        return next(handle for handle in self.world.plan.every if handle.id == plan["id"])

    @property
    def _address(self) -> str | None:
        """The base address; None where nothing listens."""
        raise NotImplementedError

    def __repr__(self) -> str:
        animals = counted(self._do(worlds.show_world, {})["pets"], "animal")
        return f"<{type(self).__name__} {self._address or 'not listening'}, {animals}>"

    def verify(self) -> None:
        """Raise for everything that a test must answer for, problems from before a :meth:`reset` included, once.

        That is: errors inside the fake; faults planned with ``times=`` and sequences that fired less often than
        planned; expectations of ``httpserver`` that failed or were not met; and, if strict, violations by the client.

        Raises:
            VerificationError: names all of them.
        """
        __tracebackhide__ = True
        self.world.verification.verify()

    @property
    def api_key(self) -> str:
        """A valid API key (§5)."""
        return self.world.key

    @property
    def headers(self) -> dict[str, str]:
        """The header that authenticates: ``{"Authorization": "Bearer ..."}`` (§5)."""
        return {"Authorization": f"Bearer {self.api_key}"}

    @property
    def journal(self) -> Journal:
        """Every request in order, with the decision about it."""
        return self.world.journal

    @property
    def behaviour(self) -> Behaviour:
        """What the fake does where the interface shows nothing, as of now."""
        return Behaviour().replace(self._do(state.show_behaviour, {}))

    @property
    def clock(self) -> Clock:
        """The fake's own time."""

        def change(**change: Any) -> Any:  # noqa: ANN401  # JSON values
            return self._do(state.change_clock if change else state.show_clock, change)

        return Clock(change)

    def expect_violation(self, pattern: str | None = None) -> AbstractContextManager[None]:
        """Return a block in which the client breaks the contract on purpose, and may raise for the response.

        The words of the violation must match ``pattern``, a regular expression; None takes any violation.

        Raises:
            PetStoreMockError: ``pattern`` is no regular expression.
            VerificationError: at the end of the block, if no such violation came.
        """
        return ExpectedViolation(self.world.lock, self.world.journal, pattern)

    # Going back

    def snapshot(self) -> Any:  # noqa: ANN401  # opaque
        """Return a copy of the state: animals, keys, behaviour, clock. Journal and faults are not part of it."""
        return self.world.snapshot()

    def restore(self, snapshot: Any) -> None:  # noqa: ANN401  # what snapshot() returned
        """Return to a copy of the state. Its keys are valid as they were, unless they belong to another test by now.

        Keys that were issued since are revoked. :attr:`api_key` is valid, even if the copy is older than the key.

        Raises:
            PetStoreMockError: it is no snapshot of this service.
        """
        self.world.restore(snapshot)

    def reset(self) -> None:
        """Return to the starting state: animals, keys, journal, faults, behaviour, clock. Held responses go out.

        Problems that a test must answer for stay, for the next verification; call :meth:`verify` before the reset to
        see them at once. A fault that need not fire any more is taken away by its ``cancel()`` or
        :meth:`cancel_faults`.
        """
        self._do(worlds.reset_world, {})

    def fresh(self, **options: Unpack[WorldOptions]) -> Self:
        """Return an empty, independent world of the same service, for a ``with`` block.

        ``options`` are ``api_key``, ``seed``, ``behaviour``, ``at``, ``strict``, ``random_seed`` and ``mutant`` of
        ``PetStoreMock``.

        Raises:
            PetStoreMockError: an option can't be right.
            VerificationError: at the end of the block, as :meth:`verify`.
        """
        raise NotImplementedError

    # Animals

    def seed(self, pet: Mapping[str, Any] | None = None, /, **fields: Unpack[PetFields]) -> dict[str, Any]:
        """Add one animal, as a mapping ``pet`` or by its ``fields``, and return it.

        A missing name, category or id gets a plausible, deterministic value; ``status`` stays absent.

        Raises:
            PetStoreMockError: Pet.json does not allow a field (§2), or the id is taken.
        """
        require(pet is None or is_object(pet), "an animal as a mapping", pet=pet)
        given = fields if pet is None else {**pet, **fields}
        return dict(self._do(state.add_pets, {"pets": given})["pets"][0])

    def seed_many(self, pets_or_count: int | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add several animals, all or none: mappings, or how many plausible ones of every status. Return them.

        Raises:
            PetStoreMockError: one of them is wrong; the message says which.
        """
        require(not is_object(pets_or_count), "a list of animals, or how many", pets_or_count=pets_or_count)
        pets = {"count": pets_or_count} if isinstance(pets_or_count, int) else pets_or_count
        return list(self._do(state.add_pets, {"pets": pets})["pets"])

    @property
    def pets(self) -> list[dict[str, Any]]:
        """Copies of the animals in the store, in the order of their ids."""
        return list(self._do(state.list_pets, {})["pets"])

    def update(self, pet_id: int, /, **fields: Unpack[PetChanges]) -> dict[str, Any]:
        """Change ``fields`` of the animal ``pet_id`` as another actor would, and return it.

        ``status=None`` takes the status away.

        Raises:
            PetStoreMockError: there is no such animal, or a field is wrong.
        """
        return dict(self._do(state.change_pet, {"pet_id": pet_id, "changes": fields}))

    def remove(self, pet_id: int, /) -> None:
        """Remove the animal ``pet_id`` as another actor would.

        Raises:
            PetStoreMockError: there is no such animal.
        """
        self._do(state.remove_pet, {"pet_id": pet_id})

    # Keys (§5)

    def issue_key(self, *, expires: float | str | date | None = None) -> str:
        """Return another valid key, which ``expires`` by the fake's clock.

        That is a number of seconds from now, a date, a datetime or ISO 8601 text; None for never.

        Raises:
            PetStoreMockError: ``expires`` is no moment.
        """
        return str(self._do(state.issue_key, {"expires": expires})["api_key"])

    def revoke_key(self, key: str | None = None) -> None:
        """Make ``key`` invalid from now on; None for :attr:`api_key`.

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
    ) -> FaultHandle:
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
        rule = {"on": on, "times": times, "after": after, "where": where, "at": at, "probability": probability}
        own = {} if when is None else {"when": when}  # which does not travel
        arguments = {"fault": coerce(fault).to_data(), **rule, "off_contract": off_contract, **own}
        return self._handle(self._do(state.plan_fault, arguments))

    def cancel_faults(self) -> None:
        """Take every planned fault away, fired or not. None of them need fire any more."""
        self._do(state.cancel_faults, {})

    # Behaviour

    def configure(
        self, behaviour: Behaviour | str | PathLike[str] | None = None, /, **gaps: Unpack[GapChoices]
    ) -> None:
        """Choose alternatives for ``gaps`` until the next reset: ``configure(status_when_omitted="sold")``.

        ``behaviour`` is a ``Behaviour``, the name of a preset or a TOML file; the others stay as they are without it.

        Raises:
            PetStoreMockError: there is no such preset, gap or alternative; the message suggests the nearest.
        """
        chosen = {} if behaviour is None else dict(as_behaviour(behaviour))
        self._do(state.change_behaviour, {"gaps": {**chosen, **gaps}})

    def openapi(self) -> dict[str, Any]:
        """Return the interface as an OpenAPI 3.1 document; the world's own address comes first."""
        from petstore_mock.interface.openapi import openapi_document  # noqa: PLC0415  # only for those who ask

        return openapi_document(self._address)

    # The end of a block

    def _leave(self, error: BaseException | None, whose: str) -> None:
        """Verify at the end of a block, unless an exception leaves it; add the journal to what does."""
        __tracebackhide__ = True
        problems: list[Any] = [] if error is None else self._do(worlds.report_problems, {})["problems"]
        try:
            if error is None:
                self.verify()
        except VerificationError as problem:
            error = problem
            raise
        finally:
            if error is not None and self.adds_notes:
                texts = [problem["message"] for problem in problems]
                add_note(error, whose, lambda: journal_text(self.journal.kept, self.journal.notes), texts)
