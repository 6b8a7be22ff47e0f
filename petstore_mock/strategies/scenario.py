"""A scenario: what a client does and meets, as a value that is whole before anything runs, and that is JSON too."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal

from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import refuse, shown
from petstore_mock.faults.fault import Fault, coerce
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.strategies.plans import PlannedFault

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Pick:
    """The id of an animal that is chosen when the scenario runs: one that is there or was removed, 0 the newest."""

    which: Literal["known", "vanished"] = "known"
    index: int = 0


@dataclass(frozen=True)
class Ask:
    """A call of the client. Its arguments have the interface's names; an id may be a :class:`Pick`."""

    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Act:
    """Something that another actor or the service does: a method of the mock with its arguments, by name.

    ``pet`` is a :class:`Pick`. The kind ``spoil`` means that the caller changes the result of the latest call.
    """

    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Switch:
    """The scenario goes on with the other of two clients, which has a world and a key of its own."""


@dataclass(frozen=True)
class Together:
    """Two calls at once: each is held before a line of the client's own code, the second perhaps nowhere."""

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
        given: dict[str, Any] = {**data, "behaviour": Behaviour(**data["behaviour"]), "steps": steps}
        return Scenario(**given)


def _data(value: Any) -> Any:  # noqa: ANN401  # a step, or the value of a field
    if isinstance(value, Fault):
        return value.to_data()
    if is_object(value):
        return {name: _data(member) for name, member in value.items()}
    if type(value) not in _KINDS.values():
        return value
    return {type(value).__name__.lower(): {one.name: _data(getattr(value, one.name)) for one in fields(value)}}


def _value(data: Any) -> Any:  # noqa: ANN401  # a JSON value
    if not is_object(data):
        return data
    given: dict[str, Any] = {name: coerce(one) if name == "fault" else _value(one) for name, one in data.items()}
    kind = next(iter(given), "")
    if kind not in _KINDS:
        return given
    try:
        return _KINDS[kind](**given[kind])
    except TypeError as error:
        return refuse(f"expected the fields of a step; got {kind} with {shown(given[kind])}: {error}")
