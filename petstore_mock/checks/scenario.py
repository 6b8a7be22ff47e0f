"""Scenarios: lists of steps that are complete before the first step runs. A scenario can be written as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from petstore_mock.checks.check import Call
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import one_of, refuse, require, shown
from petstore_mock.common.values import is_integer
from petstore_mock.core.fault_plan import CommitPoint, FaultHandle
from petstore_mock.faults.fault import Fault, coerce
from petstore_mock.interface import schemas
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.table import ASSIGNED, FIELDS, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from petstore_mock.checks.reading import Fields
    from petstore_mock.common.values import JsonObject
    from petstore_mock.mock.face import PetStore


@dataclass(frozen=True)
class Pick:
    """The id of a known or a removed animal, which the running scenario chooses. The index 0 is the newest animal."""

    which: Literal["known", "vanished"] = "known"
    index: int = 0


@dataclass(frozen=True)
class Act:
    """An act of another actor or of the service: a method of the mock with its arguments, by name.

    The argument ``pet`` is a :class:`Pick`. There are more kinds. ``spoil``: the caller changes the latest result.
    ``leave``: an error ends the client's ``with`` block. ``reuse``: the caller closes the client, makes a call, and
    closes it again. ``switch``: the scenario continues with a second client, which has its own world and key. ``own``:
    a step of ``check_client(steps=[...])``, by its name.
    """

    kind: str
    arguments: Fields = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Together:
    """Two calls at once. The first stops before the line ``hold`` of the client, the second before ``then``, if any."""

    first: Call
    second: Call
    hold: int = 1
    then: int | None = None


IN_A_PAUSE: Final = 99  # the place of an interrupt that comes in a pause only, which a call has after a failure


@dataclass(frozen=True)
class Interrupt:
    """A call that is interrupted again and again, each time at the same read or await."""

    call: Call
    at: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFault:
    """A fault and its plan: the arguments of ``petstore.inject()``.

    Attributes:
        fault: the fault.
        on: the operation whose requests meet the fault; None for all.
        times: how often the fault fires; None for always.
        after: the number of matching requests that pass first.
        at: ``"before_commit"`` or ``"after_commit"``.
    """

    fault: Fault
    on: Any = None
    times: int | None = 1
    after: int = 0
    at: Any = "before_commit"

    def inject(self, petstore: PetStore) -> FaultHandle:
        """Plan the fault in the current world of ``petstore``, and return its handle.

        The fault is not required to fire. For a mock in another process, call ``cancel_faults()`` before the test ends.
        """
        handle = petstore.inject(self.fault, on=self.on, times=self.times, after=self.after, at=self.at)
        if isinstance(handle, FaultHandle):
            handle.required = False
        return handle


# In a call, an id may be a pick.
Step = Call | Act | PlannedFault | Together | Interrupt


class Form(NamedTuple):
    """The arguments of an act: some by position, others by name."""

    positional: tuple[str, ...] = ()
    keywords: frozenset[str] = frozenset()


# Every act, by its kind. A scenario calls no other method of the mock.
ACTS: Final[Mapping[str, Form]] = {
    "seed": Form(keywords=frozenset(FIELDS)),
    "seed_many": Form(("count",)),
    "update": Form(("pet",), frozenset(FIELDS) - ASSIGNED),
    "remove": Form(("pet",)),
    "close_connections": Form(),
    "cancel_faults": Form(),
    "revoke_key": Form(),
    "clock.travel_to": Form(("at",)),
    "clock.advance": Form(keywords=frozenset({"days", "hours", "minutes", "seconds"})),
    "spoil": Form(),
    "leave": Form(),
    "reuse": Form(),
    "switch": Form(),
    "own": Form(("step",)),
}


@dataclass(frozen=True)
class Scenario:
    """The steps and the surroundings of one example.

    Attributes:
        behaviour: the behaviour of the service in the gaps of the interface.
        steps: the steps in order.
        environment: ``ipv6``, ``locale``, ``netrc``, ``proxies`` or ``time_zone``; None for no change.
        odd_key: whether the keys have all kinds of characters that RFC 6750 §2.1 allows.
    """

    behaviour: Behaviour = field(default_factory=Behaviour)
    steps: tuple[Step, ...] = ()
    environment: str | None = None
    odd_key: bool = True

    @property
    def has_races(self) -> bool:
        """Whether the scenario makes two calls at once. Their results depend on the scheduling of threads."""
        return any(isinstance(step, Together) for step in self.steps)

    def replaced(self, arguments: Callable[[Call], Fields]) -> Scenario:
        """Return the scenario with the arguments that a function returns for each call."""

        def other(step: Any) -> Any:  # noqa: ANN401  # a step
            if isinstance(step, Together):
                return replace(step, first=other(step.first), second=other(step.second))
            if isinstance(step, Interrupt):
                return replace(step, call=other(step.call))
            return replace(step, arguments=arguments(step)) if isinstance(step, Call) else step

        return replace(self, steps=tuple(map(other, self.steps)))

    def to_data(self) -> JsonObject:
        """Return the scenario as a JSON value."""
        return {**vars(self), "behaviour": self.behaviour.differences(), "steps": [_data(step) for step in self.steps]}

    @staticmethod
    def from_data(data: Fields) -> Scenario:
        """Return the scenario for a JSON value of :meth:`to_data`.

        Raises:
            PetStoreMockError: the value has another form. Nothing of a refused value is played.
        """
        members = _fields_of(Scenario, data, "a scenario")
        steps = members.get("steps", ())
        require(is_array(steps), "steps as a list", steps=steps)
        behaviour = members.get("behaviour", {})
        place = members.get("environment")
        require(is_object(behaviour), "behaviour as an object", behaviour=behaviour)
        require(place is None or isinstance(place, str), "environment as a name or null", environment=place)
        odd_key = members.get("odd_key", True)
        require(isinstance(odd_key, bool), "odd_key as true or false", odd_key=odd_key)
        return Scenario(Behaviour().replace(behaviour), tuple(map(_step, steps)), place, odd_key)


def _data(value: Any) -> Any:  # noqa: ANN401  # a step, or the value of a field
    if isinstance(value, Fault):
        return value.to_data()
    if is_object(value):
        return {name: _data(member) for name, member in value.items()}
    for name, kind in _KINDS.items():
        if type(value) is kind:
            return {name: {one.name: _data(getattr(value, one.name)) for one in fields(value)}}
    return value


_KINDS: Final[Mapping[str, type[Any]]] = {
    "ask": Call,
    "act": Act,
    "plannedfault": PlannedFault,
    "together": Together,
    "interrupt": Interrupt,
    "pick": Pick,
}


# Reading. Each function refuses what it does not know, because the value may come from anywhere.


def _members(data: object, words: str, known: Collection[str]) -> JsonObject:
    if not is_object(data):
        refuse(f"expected {words} as an object; got {shown(data)}")
    return {one_of(name, known, f"member of {words}"): value for name, value in data.items()}


def _fields_of(kind: Any, data: object, words: str) -> JsonObject:  # noqa: ANN401  # a dataclass
    return _members(data, words, {one.name for one in fields(kind)})


def _tagged(data: object, words: str, kinds: Collection[str]) -> tuple[str, Any]:
    """Return the tag and the value of an object with one member."""
    members = _members(data, words, kinds)
    require(len(members) == 1, f"{words} as an object with one member", got=data)
    return next(iter(members.items()))


def _step(data: object) -> Step:
    kind, value = _tagged(data, "a step", _STEPS)
    return _STEPS[kind](value)


def _ask(data: object) -> Call:
    members = _fields_of(Call, data, "a call")
    operation = one_of(members.get("operation"), OPERATIONS, "operation")
    known = schemas.arguments(OPERATIONS[operation])
    arguments = _members(members.get("arguments", {}), "arguments", known)
    return Call(operation, _read(arguments, schemas.required_arguments(OPERATIONS[operation]), operation))


def _act(data: object) -> Act:
    members = _fields_of(Act, data, "an act")
    kind = one_of(members.get("kind"), ACTS, "act")
    form = ACTS[kind]
    arguments = _members(members.get("arguments", {}), f"arguments of {kind}", {*form.positional, *form.keywords})
    return Act(kind, _read(arguments, form.positional, kind))


def _read(arguments: JsonObject, required: Iterable[str], owner: str) -> JsonObject:
    """Return the arguments of a call or of an act; refuse them if one is missing."""
    missing = [name for name in required if name not in arguments]
    require(not missing, f"the argument {', '.join(missing)} of {owner}", arguments=arguments)
    return {name: _value(value) for name, value in arguments.items()}


def _fault(data: object) -> PlannedFault:
    members = _fields_of(PlannedFault, data, "a planned fault")
    require("fault" in members, "a planned fault with a fault", got=data)
    on = members.get("on")
    at = members.get("at", "before_commit")
    if on is not None:
        one_of(on, OPERATIONS, "operation")
    one_of(at, get_args(CommitPoint), "point of a fault")
    times = _number_or_null(members, "times", 1)
    return PlannedFault(fault=coerce(members["fault"]), on=on, times=times, after=_number(members, "after", 0), at=at)


def _together(data: object) -> Together:
    members = _fields_of(Together, data, "two calls")
    then = _number_or_null({"then": None, **members}, "then", 1)
    return Together(_call_in(members, "first"), _call_in(members, "second"), _number(members, "hold", 1), then)


def _interrupt(data: object) -> Interrupt:
    members = _fields_of(Interrupt, data, "an interrupted call")
    return Interrupt(_call_in(members, "call"), _number(members, "at", 1))


def _call_in(members: Fields, name: str) -> Call:
    return _ask(_tagged(members.get(name), "a call", {"ask"})[1])


def _number_or_null(members: Fields, name: str, least: int) -> int | None:
    return None if members.get(name, least) is None else _number(members, name, least)


def _number(members: Fields, name: str, least: int) -> int:
    """Return a whole number of at least ``least``, which is the default too."""
    number = members.get(name, least)
    if not is_integer(number) or number < least:
        refuse(f"expected {name} as a whole number of at least {least}; got {shown(number)}")
    return number


def _value(data: object) -> Any:  # noqa: ANN401  # a JSON value, or a pick
    if not is_object(data):
        return data
    _, value = _tagged(data, "an argument", {"pick"})
    members = _fields_of(Pick, value, "a pick")
    which = members.get("which", "known")
    one_of(which, ("known", "vanished"), "pick")
    return Pick(which, _number(members, "index", 0))


_STEPS: Final[Mapping[str, Callable[[object], Step]]] = {
    "ask": _ask,
    "act": _act,
    "plannedfault": _fault,
    "together": _together,
    "interrupt": _interrupt,
}
