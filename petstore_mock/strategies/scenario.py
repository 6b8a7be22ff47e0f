"""A scenario: what a client does and meets, as a value that is whole before anything runs, and that is JSON too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal

from petstore_mock.common.refusing import refuse, shown
from petstore_mock.faults.fault import Fault, coerce
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.strategies.plans import PlannedFault


@dataclass(frozen=True)
class Pick:
    """The id of an animal that is chosen when the scenario runs.

    Attributes:
        which: ``known`` for an animal that is there, ``vanished`` for one that was removed.
        index: 0 for the newest, 1 for the one before.
    """

    which: Literal["known", "vanished"] = "known"
    index: int = 0


@dataclass(frozen=True)
class Ask:
    """A call of the client.

    Attributes:
        operation: the name of the operation.
        arguments: the arguments by the interface's names; an id may be a :class:`Pick`.
    """

    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Act:
    """Something that another actor, the service or the caller does, named like the method of the mock.

    Attributes:
        kind: one of ``seed``, ``seed_many``, ``update``, ``remove``, ``revoke_key``, ``travel_to``,
            ``close_connections`` and ``spoil`` (the caller changes the result of the latest call).
        arguments: its arguments: the fields of an animal; ``count``; ``pet`` (a :class:`Pick`); ``at``.
    """

    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Switch:
    """The scenario goes on with the other of two clients, which has a world and a key of its own."""


@dataclass(frozen=True)
class Together:
    """Two calls at once.

    Attributes:
        first: the call that begins first.
        second: the call that begins while the first is under way.
        hold: the line of the client's own code before which the first call is held.
        then: the line before which the second is held in its turn; None for none.
    """

    first: Ask
    second: Ask
    hold: int = 1
    then: int | None = None


@dataclass(frozen=True)
class Own:
    """A step of ``check_client(steps=[...])``, by its name."""

    name: str


Step = Ask | Act | PlannedFault | Switch | Together | Own
_KINDS: Final[Mapping[str, Any]] = {
    one.__name__.lower(): one for one in (Ask, Act, PlannedFault, Switch, Together, Own, Pick)
}


@dataclass(frozen=True)
class Scenario:
    """What happens in one example.

    Attributes:
        behaviour: what the service does where the interface shows nothing.
        steps: what happens, in order.
        environment: what is particular about the process: ``ipv6``, ``locale``, ``netrc``, ``proxies``, ``time_zone``.
        hours_ahead: by how much the clock of the service is ahead of the client's.
        odd_key: whether the keys have characters of every kind that RFC 6750 allows.
    """

    behaviour: Behaviour = field(default_factory=Behaviour)
    steps: tuple[Step, ...] = ()
    environment: str | None = None
    hours_ahead: int = 0
    odd_key: bool = True

    def to_data(self) -> dict[str, Any]:
        """Return it as a JSON value."""
        return {**vars(self), "behaviour": self.behaviour.differences(), "steps": [_data(step) for step in self.steps]}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Scenario:
        """Return the scenario of a JSON value; the reverse of :meth:`to_data`.

        Raises:
            PetStoreMockError: a step can't be right.
        """
        steps = tuple(_value(step) for step in data["steps"])
        return Scenario(**{**data, "behaviour": Behaviour(**data["behaviour"]), "steps": steps})


def _data(value: Any) -> Any:  # noqa: ANN401  # a step, or the value of a field
    if isinstance(value, Fault):
        return value.to_data()
    if isinstance(value, Mapping):
        members: Mapping[str, Any] = value
        return {name: _data(member) for name, member in members.items()}
    if type(value) not in _KINDS.values():
        return value
    return {type(value).__name__.lower(): {one.name: _data(getattr(value, one.name)) for one in fields(value)}}


def _value(data: Any) -> Any:  # noqa: ANN401  # a JSON value
    if not isinstance(data, Mapping):
        return data
    members: Mapping[str, Any] = data
    if len(members) != 1 or next(iter(members)) not in _KINDS:
        return {name: _value(member) for name, member in members.items()}
    ((kind, given),) = members.items()
    read = {name: coerce(member) if name == "fault" else _value(member) for name, member in given.items()}
    try:
        return _KINDS[kind](**read)
    except TypeError as error:
        return refuse(f"expected the fields of a step; got {kind} with {shown(given)}: {error}")
