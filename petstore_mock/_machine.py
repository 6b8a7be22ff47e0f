"""The state machine: draws what happens in an example, and lets it happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from petstore_mock import strategies
from petstore_mock._machine_example import Example

if TYPE_CHECKING:
    from petstore_mock._machine_run import Run
    from petstore_mock.behaviour import Behaviour
    from petstore_mock.contract import OperationName
    from petstore_mock.faults import Fault
    from petstore_mock.plan import Moment

__all__ = ["OPERATION_NAMES", "ClientMachine"]

OPERATION_NAMES: Final[tuple[OperationName, ...]] = ("listPets", "createPet", "getPet")

_STATUSES = st.none() | strategies.pet_statuses()
_LIMITS = st.none() | st.sampled_from([1, 2, 3, 20, 21, 100]) | st.integers(1, 100)
_EDGE_IDS = st.sampled_from([0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)])
_LONG_NAMES = st.sampled_from(
    [("x", 1_000), ("x", 70_000), ("\u00e9", 70_000), ("\U0001f415", 70_000), ("ab", 150_000)]
)
_RARELY = st.integers(0, 7).map(lambda number: number == 0)  # shrinks to yes: what is in the way must be worth it


class ClientMachine(RuleBasedStateMachine):
    """Checks a client against every world that the interface allows. Made by ``client_machine``."""

    run: ClassVar[Run]

    def __init__(self) -> None:
        super().__init__()
        self.example: Example | None = None
        self.run.examples += 1

    def begin(self, behaviour: Behaviour) -> None:
        """Begin the example: the first thing that is drawn."""
        self.example = Example(self.run, behaviour)

    def teardown(self) -> None:
        """End the example."""
        example, self.example = self.example, None
        if example is not None:
            example.end()

    @property
    def _now(self) -> Example:
        assert self.example is not None  # noqa: S101  # initialize rules come first
        return self.example

    # Calls

    @rule(name=strategies.names(), category_id=strategies.category_ids(), status=_STATUSES)
    def create(self, name: str, category_id: int, status: str | None) -> None:
        """Add an animal."""
        self._now.call("createPet", name=name, category_id=category_id, status=status)

    @rule(limit=_LIMITS, status=_STATUSES)
    def list_some(self, limit: int | None, status: str | None) -> None:
        """List animals, with every combination of the parameters."""
        self._now.call("listPets", limit=limit, status=status)

    @rule(which=st.integers(0, 7))
    def get_known(self, which: int) -> None:
        """Get an animal that is there."""
        ids = self._now.actor.oracle.ids()
        self._now.call("getPet", pet_id=ids[-1 - which % len(ids)] if ids else 1)

    @rule(which=st.integers(0, 3), edge=_EDGE_IDS)
    def get_unknown(self, which: int, edge: int) -> None:
        """Get an animal that has vanished, or one that was never there."""
        vanished = self._now.actor.oracle.vanished
        self._now.call("getPet", pet_id=vanished[-1 - which % len(vanished)] if vanished and which else edge)

    @rule()
    def repeat(self) -> None:
        """Make the latest call again."""
        self._now.repeat()

    @rule()
    def spoil_and_repeat(self) -> None:
        """Change what the latest call returned, and make it again."""
        self._now.spoil()
        self._now.repeat()

    # Other actors

    @rule(pet=strategies.new_pets(), edge=st.none() | _EDGE_IDS)
    def seed(self, pet: dict[str, Any], edge: int | None) -> None:
        """Let another actor add an animal, with an id from the edge of int64 at times."""
        oracle = self._now.actor.oracle
        pet_id = oracle.free_id() if edge is None or edge in oracle.pets else edge
        if pet_id not in {pet["id"] for pet in self._now.actor.petstore.pets}:
            self._now.seed({"id": pet_id, **pet})

    @rule(name=_LONG_NAMES)
    def seed_long(self, name: tuple[str, int]) -> None:
        """Let another actor add an animal whose answer is larger than one read, and list it."""
        unit, count = name
        oracle = self._now.actor.oracle
        pet_id = oracle.free_id()
        if len(oracle.pets) > 30 or pet_id in {pet["id"] for pet in self._now.actor.petstore.pets}:
            return
        self._now.seed({"id": pet_id, "name": unit * count, "categoryId": 1})
        self._now.call("getPet", pet_id=pet_id)

    @rule(count=st.sampled_from([3, 25, 101]))
    def seed_many(self, count: int) -> None:
        """Let another actor add more than a page of animals."""
        if len(self._now.actor.oracle.pets) < 120:
            self._now.seed_many(count)

    @rule(which=st.integers(0, 7), status=strategies.pet_statuses(), by_list=st.booleans())
    def update(self, which: int, status: str, by_list: bool) -> None:  # noqa: FBT001  # Hypothesis passes it by name
        """Let another actor change an animal, and look at it."""
        ids = self._now.actor.oracle.ids()
        if ids:
            pet_id = ids[-1 - which % len(ids)]
            self._now.update(pet_id, {"name": f"{status} now", "status": status})
            self._look(pet_id, by_list=by_list)

    @rule(which=st.integers(0, 7), by_list=st.booleans())
    def remove(self, which: int, by_list: bool) -> None:  # noqa: FBT001
        """Let another actor remove an animal, and look for it."""
        ids = self._now.actor.oracle.ids()
        if ids:
            pet_id = ids[-1 - which % len(ids)]
            self._now.remove(pet_id)
            self._look(pet_id, by_list=by_list)

    def _look(self, pet_id: int, *, by_list: bool) -> None:
        if by_list:
            self._now.call("listPets")
        else:
            self._now.call("getPet", pet_id=pet_id)

    def _call(self, operation: OperationName) -> None:
        """Make a plain call of an operation."""
        if operation == "listPets":
            self._now.call("listPets")
        elif operation == "createPet":
            self._now.call("createPet", name="Rex", category_id=1)
        else:
            self._now.call("getPet", pet_id=next(iter(self._now.actor.oracle.pets), 1))

    # The service

    @rule(operation=st.sampled_from(OPERATION_NAMES))
    def close_connections(self, operation: OperationName) -> None:
        """Let the service close its idle connections, and make a call."""
        self._now.close_connections()
        self._call(operation)

    @rule(now=_RARELY, operation=st.sampled_from(OPERATION_NAMES))
    def revoke_key(self, now: bool, operation: OperationName) -> None:  # noqa: FBT001
        """Let the key become invalid."""
        if now:
            self._now.revoke_key()
        self._call(operation)

    @rule(now=_RARELY)
    def travel(self, now: bool) -> None:  # noqa: FBT001
        """Let the day after getPet's removal come."""
        if now and self._now.behaviour.rate_limit == "none":  # a date to wait for means nothing then
            self._now.travel_past_the_removal()
        self._call("getPet")

    @rule(operation=st.sampled_from(OPERATION_NAMES))
    def switch(self, operation: OperationName) -> None:
        """Go on with another client, which has another key and sees another world."""
        self._now.switch()
        self._call(operation)

    @rule(status=st.sampled_from([307, 302, 301, 303, 308]), operation=st.sampled_from(OPERATION_NAMES))
    def redirect(self, status: int, operation: OperationName) -> None:
        """Let a call be redirected to another host."""
        self._now.redirect(status, operation)
        self._call(operation)

    def inject(self, fault: Fault, operation: OperationName, times: int, after: int, lost: bool) -> None:  # noqa: FBT001
        """Let a call meet a fault; a rule of the class that ``client_machine`` makes, which knows the faults."""
        at: Moment = "after_commit" if lost and operation == "createPet" else "before_commit"
        if self._now.inject(fault, on=operation, times=times, after=after, at=at):
            self._call(operation)
