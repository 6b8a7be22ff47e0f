"""``PetStore``: the methods with which a test steers one world."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self, Unpack

from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import Stays, require
from petstore_mock.common.suggesting import helpful
from petstore_mock.common.values import counted
from petstore_mock.core.clock import Clock
from petstore_mock.core.options import read_animals
from petstore_mock.core.store import check_animal
from petstore_mock.core.verification import ExpectedViolation
from petstore_mock.errors import VerificationError
from petstore_mock.faults.fault import coerce
from petstore_mock.interface.behaviour import Behaviour, as_behaviour
from petstore_mock.journal.journal import Journal
from petstore_mock.journal.text import add_note, journal_text
from petstore_mock.verbs import state, worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from datetime import date
    from os import PathLike

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.core.fault_plan import CommitPoint, FaultHandle
    from petstore_mock.core.options import WorldOptions
    from petstore_mock.core.world import World
    from petstore_mock.faults.fault import Fault
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.interface.static import GapChoices, OperationName, PetChanges, PetFields
    from petstore_mock.verbs.verb import Verb


@helpful(journal=Journal, clock=Clock)
class PetStore(Stays):
    """The methods that ``PetStoreMock`` and ``RemotePetStore`` share.

    Attributes:
        world: the world in this process; internal.
        adds_notes: whether an exception that leaves the block gets the journal as a note; internal.
    """

    world: World
    adds_notes = True

    # Access to the world

    def _do(self, verb: Verb, arguments: Mapping[str, Any]) -> Json:
        with self.world.lock if verb.locks else nullcontext():
            return verb(self.world, arguments)

    def _handle(self, plan: Mapping[str, Any]) -> FaultHandle:
        return self.world.plan.find(plan["id"])

    @property
    def _address(self) -> str | None:
        """The base address; None while nothing listens."""
        raise NotImplementedError

    def __repr__(self) -> str:
        animals = counted(self._do(worlds.show_world, {})["pets"], "animal")
        return f"<{type(self).__name__} {self._address or 'not listening'}, {animals}>"

    def verify(self, *, again: bool = True) -> None:
        """Raise an error if the world has problems. Problems from before a :meth:`reset` are raised once.

        These are problems:

        - an error inside the fake, or in a function of ``inject(when=...)``
        - a fault that fired less often than planned: one with ``times=``, a sequence, or a fault of ``faults.tls``
        - an expectation of ``httpserver`` that failed or was not met
        - if the fake is strict, a violation of the contract by the client

        Args:
            again: whether to raise problems again that an earlier call has raised.

        Raises:
            VerificationError: there are problems. The message lists the first 120, and counts the others.
        """
        __tracebackhide__ = True
        self.world.verification.verify(again=again)

    @property
    def api_key(self) -> str:
        """A valid API key (§5)."""
        return self.world.key

    @property
    def headers(self) -> dict[str, str]:
        """The header that authenticates a request: ``{"Authorization": "Bearer ..."}`` (§5)."""
        return {"Authorization": f"Bearer {self.api_key}"}

    @property
    def journal(self) -> Journal:
        """The journal: every request in order, with the decision of the fake."""
        return self.world.journal

    @property
    def behaviour(self) -> Behaviour:
        """The current behaviour: the alternative that the fake uses for each gap."""
        return Behaviour(**self._do(state.show_behaviour, {}))

    @property
    def clock(self) -> Clock:
        """The clock of the fake."""

        def change(**change: Json) -> Json:
            verb = state.change_clock if change else state.show_clock
            return self._do(verb, change)

        return Clock(change)

    def expect_violation(self, pattern: str | None = None) -> AbstractContextManager[None]:
        """Return a context manager for a block in which the client breaks the contract on purpose.

        If the client raises an exception for the error response, the exception leaves the block.

        Args:
            pattern: a regular expression that the message of the violation must match. None matches any violation.

        Raises:
            PetStoreMockError: ``pattern`` is not a valid regular expression.
            VerificationError: at the end of the block, if no such violation occurred.
        """
        return ExpectedViolation(self.journal, pattern)

    # Going back

    def snapshot(self) -> object:
        """Return a copy of the state: animals, keys, behaviour and clock. It contains no journal and no faults."""
        return self.world.snapshot()

    def restore(self, snapshot: object) -> None:
        """Restore the state of a ``snapshot``, which :meth:`snapshot` returned.

        The keys that were valid in the snapshot are valid again, unless they were issued to an earlier test. Keys that
        were issued after the snapshot are revoked. :attr:`api_key` stays valid, even if it is newer than the snapshot.

        Raises:
            PetStoreMockError: ``snapshot`` is not a snapshot of this service.
        """
        self.world.restore(snapshot)

    def reset(self) -> None:
        """Reset animals, keys, journal, faults, behaviour and clock to the starting state.

        The reset ends responses that a fault holds back. The next verification still reports earlier problems; call
        :meth:`verify` before the reset to see them at once. If a planned fault no longer needs to fire, cancel it
        before the reset, with its ``cancel()`` or with :meth:`cancel_faults`.
        """
        self._do(worlds.reset_world, {})

    def fresh(self, **options: Unpack[WorldOptions]) -> Self:
        """Return an empty, independent world of the same service, for a ``with`` block.

        Args:
            options: ``api_key``, ``seed``, ``behaviour``, ``at``, ``strict``, ``random_seed`` and ``mutant``, with the
                same meaning as for ``PetStoreMock``. ``strict`` and ``mutant`` default to those of this world.

        Raises:
            PetStoreMockError: an option is invalid.
            VerificationError: at the end of the block, as for :meth:`verify`.
        """
        raise NotImplementedError

    # Animals

    def seed(self, pet: Mapping[str, Any] | None = None, /, **fields: Unpack[PetFields]) -> JsonObject:
        """Add one animal and return it.

        A missing name, category or id gets a plausible, deterministic value. A missing ``status`` stays absent.

        Args:
            pet: the animal as a mapping. None means that ``fields`` are the whole animal.
            fields: fields of the animal, which override those of ``pet``.

        Raises:
            PetStoreMockError: ``Pet.json`` does not allow a field (§2), or another animal has the id.
        """
        require(pet is None or is_object(pet), "an animal as a mapping (seed_many() takes a list or a number)", pet=pet)
        animal = {**(pet or {}), **fields}
        # The verb takes {"count": 3} as a number of animals. As an animal, it has an unknown field.
        check_animal(animal, "seed")
        return dict(self._do(state.add_pets, {"pets": animal})["pets"][0])

    def seed_many(self, pets_or_count: int | Iterable[Mapping[str, Any]]) -> list[JsonObject]:
        """Add several animals, all or none, and return them.

        Args:
            pets_or_count: the animals as mappings, or their number. With a number of 4 or more, every status occurs.
                A generator is read to its end before the first animal is added, so it may use the fake.

        Raises:
            PetStoreMockError: an animal is invalid. The message says which one.
        """
        require(not is_object(pets_or_count), "a list of animals, or their number", pets_or_count=pets_or_count)
        pets = {"count": pets_or_count} if isinstance(pets_or_count, int) else read_animals(pets_or_count)
        return list(self._do(state.add_pets, {"pets": pets})["pets"])

    @property
    def pets(self) -> list[JsonObject]:
        """Copies of the animals in the store, ordered by id."""
        return list(self._do(state.list_pets, {})["pets"])

    def update(self, pet_id: int, /, **fields: Unpack[PetChanges]) -> JsonObject:
        """Change ``fields`` of the animal ``pet_id``, as another actor of the store would, and return it.

        ``status=None`` removes the status.

        Raises:
            PetStoreMockError: there is no such animal, or a field is invalid.
        """
        return dict(self._do(state.change_pet, {"pet_id": pet_id, "changes": fields}))

    def remove(self, pet_id: int, /) -> None:
        """Remove the animal ``pet_id``, as another actor of the store would.

        Raises:
            PetStoreMockError: there is no such animal.
        """
        self._do(state.remove_pet, {"pet_id": pet_id})

    # Keys (§5)

    def issue_key(self, *, expires: float | str | date | None = None) -> str:
        """Issue another API key and return it.

        Args:
            expires: when the key expires, by the clock of the fake: a number of seconds from now, a date, a datetime
                or ISO 8601 text. None means never.

        Raises:
            PetStoreMockError: ``expires`` is none of these.
        """
        return str(self._do(state.issue_key, {"expires": expires})["api_key"])

    def revoke_key(self, key: str | None = None) -> None:
        """Revoke ``key``, so that requests with it get 401 (§5). None means :attr:`api_key`.

        Raises:
            PetStoreMockError: this world never had the key.
        """
        self._do(state.revoke_key, {"api_key": self.api_key if key is None else key})

    # Faults

    def inject(
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
        """Plan a fault for valid requests.

        If several faults match a request, the fake tries them in the order of planning until one fires.
        Faults of ``faults.tls`` break connections instead of requests. The fake closes open connections, busy ones
        after their response, so that clients connect again. ``times``, ``after`` and ``probability`` apply to these new
        connections. The fake refuses ``on``, ``when``, ``where`` and ``at`` for such a fault.

        Args:
            fault: an HTTP status, or a fault of ``petstore_mock.faults``.
            on: the operation that the fault breaks. None means every operation.
            times: how often the fault fires. None means every time that a request matches.
            after: how many matching requests pass before the fault fires.
            when: a quick function that takes the request and returns whether the request matches. Only a fake in this
                process supports it.
            where: criteria of the request: ``{"name": "Rex"}``, ``{"limit": 5}``, ``{"headers": {"X-Trace": "1"}}``.
                They are the criteria of ``journal.assert_called`` that do not concern the response.
            at: whether the fault fires before the state changes, or after. If after, the animal exists, although
                the response is lost, damaged or late.
            probability: the chance, above 0 and up to 1, that the fault fires for a matching request. ``random_seed``
                makes the chance repeatable. Below 1, one hit is enough for :meth:`verify`.
            off_contract: whether to allow a status that the interface declares only for other operations (§7).

        Returns:
            The handle, with ``.id``, ``.hits``, ``.spent`` and ``.cancel()``. As a context manager, it cancels the
            fault at the end of the block.

        Raises:
            PetStoreMockError: an argument is invalid. The message says which values are valid.
        """
        arguments = {
            "fault": coerce(fault).to_data(),
            "on": on,
            "times": times,
            "after": after,
            "where": where,
            "at": at,
            "probability": probability,
            "off_contract": off_contract,
        }
        # JSON can't carry a function.
        if when is not None:
            arguments["when"] = when
        return self._handle(self._do(state.plan_fault, arguments))

    def cancel_faults(self) -> None:
        """Cancel every planned fault. The verification no longer expects any of them to fire."""
        self._do(state.cancel_faults, {})

    # Behaviour

    def configure(
        self, behaviour: Behaviour | str | PathLike[str] | None = None, /, **gaps: Unpack[GapChoices]
    ) -> None:
        """Choose alternatives for gaps until the next reset: ``configure(status_when_omitted="sold")``.

        Args:
            behaviour: a ``Behaviour``, the name of a preset, or a TOML file. None keeps the other gaps as they are.
            gaps: the alternative for each gap by its name. They override ``behaviour``.

        Raises:
            PetStoreMockError: there is no such preset, gap or alternative. The message suggests a similar name, if any.
        """
        chosen = {} if behaviour is None else dict(as_behaviour(behaviour))
        self._do(state.change_behaviour, {"gaps": {**chosen, **gaps}})

    def openapi(self) -> JsonObject:
        """Return the interface as an OpenAPI 3.1 document. Its first server is this world, if the fake listens."""
        from petstore_mock.interface.openapi import openapi_document  # rarely used

        return openapi_document(self._address)

    # The end of a block

    def _leave(self, error: BaseException | None, where: str) -> None:
        """Verify at the end of a block. Add the journal to an exception that leaves the block."""
        __tracebackhide__ = True
        if error is not None:
            problems = self._do(worlds.report_problems, {})["problems"]
            self._add_note(error, where, [problem["message"] for problem in problems])
            return
        try:
            self.verify()
        except VerificationError as problem:
            self._add_note(problem, where)
            raise

    def _add_note(self, error: BaseException, where: str, problems: Iterable[str] = ()) -> None:
        if self.adds_notes:
            add_note(error, where, lambda: journal_text(self.journal.kept, self.journal.notes), problems)
