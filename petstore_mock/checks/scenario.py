"""Scenarios: lists of steps that are complete before the first step runs. A scenario can be written as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from petstore_mock.checks.check import Call
from petstore_mock.common.guards import is_object
from petstore_mock.core.fault_plan import FaultHandle
from petstore_mock.faults.fault import Fault, coerce
from petstore_mock.interface.behaviour import Behaviour

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.mock.face import PetStore


@dataclass(frozen=True)
class Pick:
    """The id of a known or a removed animal, which the running scenario chooses. The index 0 is the newest animal."""

    which: Literal["known", "vanished"] = "known"
    index: int = 0


@dataclass(frozen=True)
class Act:
    """An act of another actor or of the service: a method of the mock with its arguments, by name.

    The argument ``pet`` is a :class:`Pick`. There are three more kinds. ``spoil``: the caller changes the latest
    result. ``switch``: the scenario continues with a second client, which has its own world and key. ``own``: a step of
    ``check_client(steps=[...])``, by its name.
    """

    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Together:
    """Two calls at once. The first stops before the line ``hold`` of the client, the second before ``then``, if any."""

    first: Call
    second: Call
    hold: int = 1
    then: int | None = None


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
Step = Call | Act | PlannedFault | Together
_KINDS: Final[Mapping[str, Any]] = {
    "ask": Call,
    **{one.__name__.lower(): one for one in (Act, PlannedFault, Together, Pick)},
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

    def replaced(self, arguments: Callable[[Call], Mapping[str, Any]]) -> Scenario:
        """Return the scenario with the arguments that a function returns for each call."""

        def other(step: Any) -> Any:  # noqa: ANN401  # a step
            if isinstance(step, Together):
                return replace(step, first=other(step.first), second=other(step.second))
            return replace(step, arguments=arguments(step)) if isinstance(step, Call) else step

        return replace(self, steps=tuple(map(other, self.steps)))

    def to_data(self) -> dict[str, Any]:
        """Return the scenario as a JSON value."""
        return {**vars(self), "behaviour": self.behaviour.differences(), "steps": [_data(step) for step in self.steps]}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Scenario:
        """Return the scenario for a JSON value of :meth:`to_data`."""
        steps = tuple(_value(step) for step in data["steps"])
        given: dict[str, Any] = {**data, "behaviour": Behaviour(**data["behaviour"]), "steps": steps}
        return Scenario(**given)


def _data(value: Any) -> Any:  # noqa: ANN401  # a step, or the value of a field
    if isinstance(value, Fault):
        return value.to_data()
    if is_object(value):
        return {name: _data(member) for name, member in value.items()}
    kind = next((name for name, kind in _KINDS.items() if type(value) is kind), None)
    return value if kind is None else {kind: {one.name: _data(getattr(value, one.name)) for one in fields(value)}}


def _value(data: Any) -> Any:  # noqa: ANN401  # a JSON value
    if not is_object(data):
        return data
    given: dict[str, Any] = {name: coerce(one) if name == "fault" else _value(one) for name, one in data.items()}
    kind = next(iter(given), "")
    return _KINDS[kind](**given[kind]) if kind in _KINDS else given
