"""The state machine: draws what happens in an example, and lets it happen."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final

from hypothesis.stateful import RuleBasedStateMachine

from petstore_mock.core.fault_plan import operations_of
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults import Fault
from petstore_mock.stateful.bug_report import ClientBugError
from petstore_mock.stateful.example import Example
from petstore_mock.stateful.shrinking import Course, Step
from petstore_mock.stateful.step_table import OPERATION_NAMES, STEPS, Chance, Plan

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.contract.interface import OperationName
    from petstore_mock.core.fault_plan import Moment
    from petstore_mock.stateful.run import Run

__all__ = ["ClientMachine"]

_ODD_KEYS: Final = 3  # one of so many examples has keys of every kind of character


class ClientMachine(RuleBasedStateMachine):
    """Checks a client against every world that the interface allows. Made by ``client_machine``."""

    run: ClassVar[Run]
    differences: ClassVar[Sequence[tuple[str, str]]]
    drawn_faults: ClassVar[SearchStrategy[list[Fault] | None]]
    any_fault: ClassVar[bool]  # the machine's own, and not those that it was given

    def __init__(self) -> None:
        super().__init__()
        self.example: Example | None = None
        self._chance = Chance(0)
        self._faults: Sequence[Fault] | None = None
        self._course: list[Step] = []

    def story(self, number: int, faults: Sequence[Fault] | None) -> None:
        """Play an example.

        Args:
            number: all that happens comes of it.
            faults: the faults that happen; the machine's own without it.
        """
        for fault in faults or ():
            if not isinstance(fault, Fault):
                raise PetStoreMockError(
                    f"expected faults to draw objects of petstore_mock.faults; got {fault!r} ({type(fault).__name__})"
                )
        self._chance = Chance(number)
        self._faults = faults
        self.begin(self._chance.behaviour(self.differences), odd_keys=number % _ODD_KEYS == 1)
        self.go_on()

    def go_on(self) -> None:
        """Let more happen in the same world."""
        for _ in range(STEPS):
            self.take(self._chance.step(self._faults))

    def begin(self, behaviour: Behaviour, *, odd_keys: bool = False) -> None:
        """Begin an example in a world of this behaviour."""
        self.run.examples += 1
        self.example = Example(self.run, behaviour, odd_keys=odd_keys)

    def teardown(self) -> None:
        """End the example."""
        example = self.example
        if example is not None:
            try:
                example.end()
            except ClientBugError:
                self.run.latest_course = self._played(example)
                raise
            finally:
                self.example = None

    def _played(self, example: Example) -> Course:
        return Course(example.behaviour, tuple(self._course), example.odd_keys, any_fault=self.any_fault)

    @property
    def _now(self) -> Example:
        assert self.example is not None  # noqa: S101  # initialize rules come first
        return self.example

    def take(self, step: Step) -> None:
        """Let one thing happen: the name of a method, and its arguments."""
        self._course.append(step)
        before = self._now.script.course
        name, *arguments = step
        try:
            getattr(self, name)(*arguments)
            if self._now.script.course == before:  # there was nothing to change, or no time to wait
                self._course.pop()
        except ClientBugError:
            self.run.latest_course = self._played(self._now)
            raise

    @classmethod
    def play(cls, number: int, faults: Sequence[Fault] | None, *, stories: int = 1) -> None:
        """Play an example from its beginning to its end.

        Args:
            number: as for :meth:`story`.
            faults: as for :meth:`story`.
            stories: how many times as much happens in it.

        Raises:
            ClientBugError: the client has a bug.
        """
        with cls._playing() as machine:
            ClientMachine.story(machine, number, faults)  # not the rule that a subclass makes of it
            for _ in range(1, stories):
                ClientMachine.go_on(machine)

    @classmethod
    def replay(cls, course: Course) -> ClientBugError | None:
        """Play a course without drawing anything; return the bug that it shows."""
        try:
            with cls._playing() as machine:
                machine.begin(course.behaviour, odd_keys=course.odd_keys)
                for step in course.steps:
                    machine.take(step)
        except ClientBugError as error:
            return error
        return None

    @classmethod
    @contextmanager
    def _playing(cls) -> Generator[ClientMachine]:
        """Yield a machine for one example, and end the example."""
        machine = cls()
        try:
            yield machine
        finally:
            machine.teardown()

    # Calls

    def create(self, name: str, category_id: int, status: str | None) -> None:
        """Add an animal."""
        self._now.call("createPet", name=name, category_id=category_id, status=status)

    def list_some(self, query: tuple[int | None, str | None]) -> None:
        """List animals, with every combination of the parameters."""
        limit, status = query
        self._now.call("listPets", limit=limit, status=status)

    def get_known(self, which: int) -> None:
        """Get an animal that is there."""
        ids = self._now.actor.oracle.ids()
        self._now.call("getPet", pet_id=ids[-1 - which % len(ids)] if ids else 1)

    def get_unknown(self, pet_id: int | None) -> None:
        """Get an animal that was never there, or one that has vanished."""
        vanished = self._now.actor.oracle.vanished
        self._now.call("getPet", pet_id=(vanished[-1] if vanished else 404) if pet_id is None else pet_id)

    def repeat(self) -> None:
        """Make the latest call again."""
        self._now.repeat()

    def spoil_and_repeat(self) -> None:
        """Change what the latest call returned, and make it again."""
        self._now.spoil()
        self._now.repeat()

    # Other actors

    def seed(self, pet: dict[str, Any], edge: int | None) -> None:
        """Let another actor add an animal, with an id from the edge of int64 at times."""
        oracle = self._now.actor.oracle
        pet_id = oracle.free_id() if edge is None or edge in oracle.pets else edge
        if pet_id not in {pet["id"] for pet in self._now.actor.petstore.pets}:
            self._now.seed({"id": pet_id, **pet})

    def seed_long(self, name: tuple[str, int], by_list: bool) -> None:  # noqa: FBT001  # as it stands in the table
        """Let another actor add an animal whose answer is larger than one read, look at it, and let it go again."""
        unit, count = name
        oracle = self._now.actor.oracle
        pet_id = oracle.free_id()
        if pet_id not in {pet["id"] for pet in self._now.actor.petstore.pets}:
            self._now.seed({"id": pet_id, "name": unit * count, "categoryId": 1})
            self._look(pet_id, by_list=by_list)
            self._now.remove(pet_id)

    def seed_many(self, count: int, look: bool) -> None:  # noqa: FBT001  # as it stands in the table
        """Let another actor add animals, more than a page of them at times, and look at them or not."""
        if len(self._now.actor.oracle.pets) < 120:
            self._now.seed_many(count)
        if look:
            self._now.call("listPets")

    def update(self, change: tuple[int, str | None, bool]) -> None:
        """Let another actor change an animal, or take its status away, and look at it."""
        which, status, by_list = change
        ids = self._now.actor.oracle.ids()
        if ids:
            pet_id = ids[-1 - which % len(ids)]
            if status is None:  # only who has seen a status can keep it
                self._look(pet_id, by_list=by_list)
            self._now.update(pet_id, {"name": f"{status or 'nothing'} now", "status": status})
            self._look(pet_id, by_list=by_list)

    def remove(self, removal: tuple[int, bool]) -> None:
        """Let another actor remove an animal, and look for it."""
        which, by_list = removal
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

    def close_connections(self, operation: OperationName) -> None:
        """Let the service close its idle connections, and make a call."""
        self._now.close_connections()
        self._call(operation)

    def revoke_key(self, number: int) -> None:
        """Let the key become invalid."""
        if number < len(OPERATION_NAMES):
            self._now.revoke_key()
        self._call(OPERATION_NAMES[number % len(OPERATION_NAMES)])

    def travel(self, number: int) -> None:
        """Let the day after getPet's removal come."""
        if (
            number < len(OPERATION_NAMES) and "rate_limit" not in self._now.behaviour.differences()
        ):  # a date to wait for means nothing then
            self._now.travel_past_the_removal()
        self._call("getPet")

    def switch(self, operation: OperationName) -> None:
        """Go on with another client, which has another key and sees another world."""
        self._now.switch()
        self._call(operation)

    def redirect(self, redirection: tuple[int, OperationName, str]) -> None:
        """Let a call be redirected, to another service or to the same."""
        status, operation, where = redirection
        self._now.redirect(status, operation, where)
        self._call(operation)
        self._now.stop_redirecting()

    def inject(self, fault: Fault, plan: Plan) -> None:
        """Let a call meet a fault."""
        operation, count, after, lost = plan
        operations = operations_of(fault)
        if operations and operation not in operations:
            operation = operations[0]
        times = None if fault.parts else count  # a sequence is used once
        # What can still be read must be true: before the commit, this one would tell of an animal that is not kept.
        lost = lost or any(part.kind == "wrong_content_type" for part in fault.parts or (fault,))
        at: Moment = "after_commit" if lost and operation == "createPet" else "before_commit"
        if self._now.inject(fault, on=operation, times=times, after=after, at=at):
            self._call(operation)
