"""What may happen in an example: one class a kind of step, which can perform it and knows what would be simpler.

The default of each field is its simplest value: what a step is shrunk to, field by field.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.core.fault_rule import operations_of
from petstore_mock.faults import Fault, reset, server_error
from petstore_mock.faults.kinds import FaultSequence
from petstore_mock.stateful.model.call import Call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.contract.interface import OperationName
    from petstore_mock.core.fault_rule import CommitPoint
    from petstore_mock.stateful.example import Example

__all__ = [
    "SIMPLE_FAULTS",
    "AtOnce",
    "CloseConnections",
    "CreatePet",
    "GetKnown",
    "GetUnknown",
    "Inject",
    "ListPets",
    "Redirect",
    "Remove",
    "Repeat",
    "RevokeKey",
    "Seed",
    "SeedLong",
    "SeedMany",
    "SpoilAndRepeat",
    "Step",
    "Switch",
    "TravelPastRemoval",
    "Update",
    "code_of",
]

_NAME: Final = "Rex"
_SHORT: Final = 100  # characters, up to which text is looked at one by one
_MOST_PETS: Final = 120  # from which on no other actor adds many more
_TO_TELL_APART: Final = 2  # animals
SIMPLE_FAULTS: Final = (server_error(500), reset())  # the faults that may stand for others


def code_of(value: object) -> str:
    """Return the code that makes a value that is drawn: a fault's repr leaves out what it sends."""
    if isinstance(value, Fault):
        return value.code()
    if isinstance(value, tuple):
        return f"({', '.join(map(code_of, value))}{',' * (len(value) == 1)})"
    return repr(value)


class Step(ABC):
    """Something that happens in an example."""

    def __repr__(self) -> str:
        simplest = type(self)()
        names = (field.name for field in fields(self))  # type: ignore[arg-type]  # every kind is a dataclass
        given = (name for name in names if getattr(self, name) != getattr(simplest, name))
        return f"{type(self).__name__}({', '.join(f'{name}={code_of(getattr(self, name))}' for name in given)})"

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:  # noqa: ANN401, FBT001  # as Hypothesis prints
        printer.text(repr(self))

    @property
    def takes_time(self) -> bool:
        """Whether it takes real time, whatever the client does."""
        return False

    @property
    def is_a_race(self) -> bool:
        """Whether what comes of it may be a matter of moments."""
        return False

    @abstractmethod
    def perform(self, example: Example) -> None:
        """Let it happen.

        Raises:
            ClientBugError: a client did wrong.
        """

    def simpler(self, *, any_fault: bool) -> Iterator[Step]:
        """Yield steps that are simpler and as valid.

        Args:
            any_fault: whether another fault may stand for its own.
        """
        del any_fault
        if self not in PLAIN:
            yield from (plain for plain in PLAIN if type(plain) is not type(self))
        yield from self._with_simpler_fields()

    def _with_simpler_fields(self) -> Iterator[Step]:
        """Yield the step with one field as simple as can be, or with all of them."""
        simplest = type(self)()
        if self == simplest:
            return
        yield simplest
        for field in fields(self):  # type: ignore[arg-type]  # every kind is a dataclass
            simple = getattr(simplest, field.name)
            if getattr(self, field.name) != simple:
                yield replace(self, **{field.name: simple})  # type: ignore[type-var]  # the same


# Calls


@dataclass(frozen=True, repr=False)
class ListPets(Step):
    """The client lists animals."""

    limit: int | None = None
    status: str | None = None

    def perform(self, example: Example) -> None:
        example.call("listPets", limit=self.limit, status=self.status)


@dataclass(frozen=True, repr=False)
class GetKnown(Step):
    """The client gets an animal that is there: the newest, or one of those before."""

    which: int = 0

    def perform(self, example: Example) -> None:
        pet_id = _known_id(example, self.which)
        example.call("getPet", pet_id=1 if pet_id is None else pet_id)


@dataclass(frozen=True, repr=False)
class GetUnknown(Step):
    """The client gets an animal that was never there, or one that has vanished."""

    pet_id: int | None = None

    def perform(self, example: Example) -> None:
        vanished = example.oracle.vanished
        pet_id = (vanished[-1] if vanished else 404) if self.pet_id is None else self.pet_id
        example.call("getPet", pet_id=pet_id)


@dataclass(frozen=True, repr=False)
class CreatePet(Step):
    """The client adds an animal."""

    name: str = _NAME
    category_id: int = 1
    status: str | None = None

    def perform(self, example: Example) -> None:
        example.create(self.name, self.category_id, self.status)

    def _with_simpler_fields(self) -> Iterator[Step]:
        if self.status is not None:
            yield replace(self, status=None)
        yield from (replace(self, name=name) for name in simpler_texts(self.name))
        yield from (replace(self, category_id=number) for number in simpler_integers(self.category_id))


@dataclass(frozen=True, repr=False)
class Repeat(Step):
    """The client makes its latest call again."""

    def perform(self, example: Example) -> None:
        example.repeat()


@dataclass(frozen=True, repr=False)
class SpoilAndRepeat(Step):
    """The caller changes what the latest call returned, and makes it again."""

    def perform(self, example: Example) -> None:
        example.spoil()
        example.repeat()


@dataclass(frozen=True, repr=False)
class AtOnce(Step):
    """Two calls are made at once, each for something else, so that it can be told whose answer is whose.

    Attributes:
        first: the operation of the call that is held.
        second: that of the call that is made meanwhile.
        hold: before which of the client's own lines the first is held.
        then: before which of them the second is held in its turn.
    """

    first: OperationName = "listPets"
    second: OperationName = "listPets"
    hold: int = 1
    then: int | None = None

    @property
    def is_a_race(self) -> bool:
        """Whether what comes of it may be a matter of moments: where the service is asked meanwhile."""
        return True

    def perform(self, example: Example) -> None:
        for name, status in (("Rex", "available"), ("Tom", "sold")):
            if len(example.oracle.pets) < _TO_TELL_APART:
                pet_id = example.oracle.free_id()
                if not example.scene.has_pet(pet_id):
                    example.scene.seed({"id": pet_id, "name": name, "categoryId": 1, "status": status})
        calls = self._call(example, self.first, 0), self._call(example, self.second, 1)
        example.call_at_once(calls, self.hold, self.then)

    def _with_simpler_fields(self) -> Iterator[Step]:
        """Yield it without the second place; the first is where the bug shows, and no simpler than another."""
        if self.then is not None:
            yield replace(self, then=None)

    @staticmethod
    def _call(example: Example, operation: OperationName, which: int) -> Call:
        if operation == "getPet":
            return Call(operation, {"pet_id": _known_id(example, which) or which + 1})
        if operation == "listPets":
            return Call(operation, {"status": ("available", "sold")[which]})
        return Call(operation, {"name": ("Rex", "Tom")[which], "category_id": which + 1})


# In the order in which they are tried for a step that does something and then makes a plain call.
PLAIN: Final[tuple[Step, ...]] = (ListPets(), GetKnown(), CreatePet())


# Other actors


@dataclass(frozen=True, repr=False)
class Seed(Step):
    """Another actor adds an animal, at times with an id from the edge of int64."""

    name: str = _NAME
    category_id: int = 1
    status: str | None = None
    pet_id: int | None = None

    def perform(self, example: Example) -> None:
        oracle = example.oracle
        pet_id = oracle.free_id() if self.pet_id is None or self.pet_id in oracle.pets else self.pet_id
        if not example.scene.has_pet(pet_id):
            status = {} if self.status is None else {"status": self.status}
            example.scene.seed({"id": pet_id, "name": self.name, "categoryId": self.category_id, **status})


@dataclass(frozen=True, repr=False)
class SeedLong(Step):
    """Another actor adds an animal whose answer is larger than one read; the client looks at it, and it goes again."""

    unit: str = "x"
    count: int = 1_000
    by_list: bool = False

    def perform(self, example: Example) -> None:
        pet_id = example.oracle.free_id()
        if not example.scene.has_pet(pet_id):
            example.scene.seed({"id": pet_id, "name": self.unit * self.count, "categoryId": 1})
            _look(example, pet_id, by_list=self.by_list)
            example.scene.remove(pet_id)


@dataclass(frozen=True, repr=False)
class SeedMany(Step):
    """Another actor adds animals, more than a page of them at times, and the client looks at them or not."""

    count: int = 3
    look: bool = False

    def perform(self, example: Example) -> None:
        if len(example.oracle.pets) < _MOST_PETS:
            example.scene.seed_many(self.count)
        if self.look:
            example.call("listPets")


@dataclass(frozen=True, repr=False)
class Update(Step):
    """Another actor changes an animal, or takes its status away, and the client looks at it."""

    which: int = 0
    status: str | None = "available"
    by_list: bool = False

    def perform(self, example: Example) -> None:
        pet_id = _known_id(example, self.which)
        if pet_id is not None:
            if self.status is None:  # only who has seen a status can keep it
                _look(example, pet_id, by_list=self.by_list)
            example.scene.update(pet_id, {"name": f"{self.status or 'nothing'} now", "status": self.status})
            _look(example, pet_id, by_list=self.by_list)


@dataclass(frozen=True, repr=False)
class Remove(Step):
    """Another actor removes an animal, and the client looks for it."""

    which: int = 0
    by_list: bool = False

    def perform(self, example: Example) -> None:
        pet_id = _known_id(example, self.which)
        if pet_id is not None:
            example.scene.remove(pet_id)
            _look(example, pet_id, by_list=self.by_list)


def _known_id(example: Example, which: int) -> int | None:
    """Return the id of an animal that is there, 0 for the newest; None when there is none."""
    ids = list(example.oracle.pets)
    return ids[-1 - which % len(ids)] if ids else None


def _look(example: Example, pet_id: int, *, by_list: bool) -> None:
    if by_list:
        example.call("listPets")
    else:
        example.call("getPet", pet_id=pet_id)


# The service


@dataclass(frozen=True, repr=False)
class CloseConnections(Step):
    """The service closes its idle connections, and the client makes a call."""

    operation: OperationName = "listPets"

    def perform(self, example: Example) -> None:
        example.scene.close_connections()
        example.plain_call(self.operation)


@dataclass(frozen=True, repr=False)
class RevokeKey(Step):
    """The key becomes invalid, and the client makes a call."""

    operation: OperationName = "listPets"

    def perform(self, example: Example) -> None:
        example.scene.revoke_key()
        example.plain_call(self.operation)


@dataclass(frozen=True, repr=False)
class TravelPastRemoval(Step):
    """The day after getPet's removal comes, and the client calls it."""

    def perform(self, example: Example) -> None:
        if "rate_limit" not in example.scene.behaviour.differences():  # a date to wait for would mean nothing
            example.scene.travel_past_the_removal()
        example.plain_call("getPet")


@dataclass(frozen=True, repr=False)
class Switch(Step):
    """The example goes on with another client, which has another key and sees another world."""

    operation: OperationName = "listPets"

    def perform(self, example: Example) -> None:
        example.scene.switch()
        example.plain_call(self.operation)


@dataclass(frozen=True, repr=False)
class Redirect(Step):
    """A call is redirected, to another service or to the same (:meth:`Scene.redirect`)."""

    status: int = 307
    operation: OperationName = "listPets"
    where: str = "here"

    def perform(self, example: Example) -> None:
        example.scene.redirect(self.status, self.operation, self.where)
        example.plain_call(self.operation)
        example.scene.stop_redirecting()


@dataclass(frozen=True, repr=False)
class Inject(Step):
    """A call meets a fault.

    Attributes:
        fault: the fault.
        operation: what it meets; one that the fault may meet is taken instead of one that it may not.
        times: how often; a sequence is used once.
        after: how many requests pass before.
        committed: whether createPet is carried out before.
    """

    fault: Fault = SIMPLE_FAULTS[0]
    operation: OperationName = "listPets"
    times: int = 1
    after: int = 0
    committed: bool = False

    @property
    def takes_time(self) -> bool:
        """Whether a request that meets the fault takes real time."""
        return self.fault.takes_time

    def perform(self, example: Example) -> None:
        fault, operation = self.fault, self.operation
        operations = operations_of(fault)
        if operations and operation not in operations:
            operation = operations[0]
        times = None if isinstance(fault, FaultSequence) else self.times
        # What can still be read must be true: before the commit, it would tell of an animal that is not kept.
        committed = self.committed or any(part.readable and not part.only_slows for part in fault.parts)
        at: CommitPoint = "after_commit" if committed and operation == "createPet" else "before_commit"
        if example.inject(fault, on=operation, times=times, after=self.after, at=at):
            example.plain_call(operation)

    def simpler(self, *, any_fault: bool) -> Iterator[Step]:
        yield from (*PLAIN, GetUnknown())
        if any_fault and self.fault not in SIMPLE_FAULTS:
            yield from (replace(self, fault=fault) for fault in SIMPLE_FAULTS)
        simple: Mapping[str, Any] = {"times": 1, "after": 0, "committed": False}
        for name, value in simple.items():
            if getattr(self, name) != value:
                yield replace(self, **{name: value})


# Simpler values


def simpler_integers(value: int) -> Iterator[int]:
    """Yield integers that are nearer to 1, or 0: by half of it, a quarter and so on, so that a limit is soon met."""
    if value not in {0, 1}:
        yield from dict.fromkeys((1, 0, abs(value)))
        step = abs(value) // 2
        while step:
            yield value - step if value > 0 else value + step
            step //= 2
    elif value == 0:
        yield 1


def simpler_texts(text: str) -> Iterator[str]:
    """Yield texts that are shorter, and at last of one character; an ordinary name is simpler than none."""
    if text == _NAME:
        return
    yield _NAME
    if text:
        yield ""
    size = len(text) // 2
    least = 1 if len(text) <= _SHORT else len(text) // 16
    while size >= max(least, 1):
        for start in range(0, len(text), size):
            yield text[:start] + text[start + size :]
        size //= 2
    if set(text) - {"0"}:
        yield "0" * len(text)
        if len(text) <= _SHORT:  # a longer one is made shorter, or of one character
            for index, character in enumerate(text):
                if character != "0":
                    yield f"{text[:index]}0{text[index + 1 :]}"
