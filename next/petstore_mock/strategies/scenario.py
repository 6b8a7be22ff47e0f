"""A scenario: what a client does and meets, as a value that is whole before anything runs, and that is JSON too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from petstore_mock.common.refusing import one_of, refuse, require, shown
from petstore_mock.faults.fault import from_data
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.table import require_operation
from petstore_mock.strategies.plans import PlannedFault

ENVIRONMENTS: Final = ("ipv6", "locale", "netrc", "proxies", "time_zone")
ACTS: Final = (
    *("seed", "seed_many", "update", "remove", "revoke_key", "travel_to", "close_connections"),
    "spoil",  # the caller changes the result of the latest call
)


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
            ``close_connections`` and ``spoil``.
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
        data: dict[str, Any] = {"gaps": self.behaviour.differences(), "steps": [_data(step) for step in self.steps]}
        data |= {"environment": self.environment, "hours_ahead": self.hours_ahead, "odd_key": self.odd_key}
        return data

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Scenario:
        """Return the scenario of a JSON value.

        Raises:
            PetStoreMockError: a part of it can't be right.
        """
        environment = data.get("environment")
        return Scenario(
            Behaviour(**data.get("gaps", {})),
            tuple(map(_step, data.get("steps", ()))),
            None if environment is None else one_of(environment, ENVIRONMENTS, "environment"),
            data.get("hours_ahead", 0),
            data.get("odd_key", True),
        )


def _data(step: Step) -> dict[str, Any]:
    if isinstance(step, Ask):
        return {"ask": step.operation, "arguments": _written(step.arguments)}
    if isinstance(step, Act):
        return {"act": step.kind, "arguments": _written(step.arguments)}
    if isinstance(step, PlannedFault):
        return {"fault": step.fault.to_data(), "on": step.on, "times": step.times, "after": step.after, "at": step.at}
    if isinstance(step, Together):
        return {"together": [_data(step.first), _data(step.second)], "hold": step.hold, "then": step.then}
    return {"own": step.name} if isinstance(step, Own) else {"switch": True}


def _step(data: Mapping[str, Any]) -> Step:
    if "ask" in data:
        return Ask(require_operation(data["ask"]).name, _read(data.get("arguments", {})))
    if "act" in data:
        return Act(one_of(data["act"], ACTS, "act"), _read(data.get("arguments", {})))
    if "fault" in data:
        return PlannedFault(**{**data, "fault": from_data(data["fault"])})
    if "together" in data:
        first, second = map(_step, data["together"])
        if isinstance(first, Ask) and isinstance(second, Ask):
            return Together(first, second, data.get("hold", 1), data.get("then"))
    if "own" in data:
        return Own(data["own"])
    require(data.get("switch"), "a step with ask, act, fault, together, own or switch", step=data)
    return Switch()


def _written(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: {one.which: one.index} if isinstance(one, Pick) else one for name, one in arguments.items()}


def _read(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _pick(value) if isinstance(value, Mapping) else value for name, value in arguments.items()}


def _pick(data: Mapping[str, Any]) -> Pick:
    for which in ("known", "vanished"):
        if set(data) == {which}:
            return Pick(which, data[which])
    return refuse(f'expected an id, {{"known": 0}} or {{"vanished": 0}}; got {shown(data)}')
