"""What happened in an example, as a value that can be played again; and shrinking, which makes it simpler.

Hypothesis shrinks choices, and knows nothing of what they mean: it plays a hang again and again that a scenario can do
without, and stops where two choices would have to change at once. A scenario is played without drawing anything, what
takes time goes first, and a gap that is left is one that matters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from petstore_mock.common.real_time import RealTime
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.faults import rate_limited, server_error, unauthorized
from petstore_mock.stateful.steps import PLAIN, SIMPLE_FAULTS, GetUnknown, Inject, Step, code_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.faults import Fault
    from petstore_mock.stateful.bug_report import ClientBugError

__all__ = ["LONGEST_SHRINKING", "UNRESTRICTED", "Play", "Restrictions", "Scenario", "necessary", "simplest"]

LONGEST_SHRINKING: Final = 7.0  # seconds, for what waits; a scenario of thirty steps takes one or two without
_LONGEST_CHECK: Final = 4.0  # seconds that it may take to see whether a gap is needed; 9 with what came before
_LONGEST: Final = 9.0
_PLAIN_CALLS: Final = dict(zip(("listPets", "getPet", "createPet"), PLAIN, strict=True))
_USUALLY: Final[Mapping[str, Any]] = {"odd_keys": False, "time_zone": None, "environment": None, "hours_ahead": 0}
_PROVOCATIONS: Final = 12  # failures in a row, which no client meets without a word
# The faults that happen to one request as these gaps do to one of many.
_EVENTS: Final = {"key_rotation": unauthorized(), "rate_limit": rate_limited(1)}


@dataclass(frozen=True)
class Restrictions:
    """What an example chooses from where the test's author says so; None for whatever the machine has.

    Attributes:
        faults: the faults that happen.
    """

    faults: tuple[Fault, ...] | None = None

    def __repr__(self) -> str:
        return f"Restrictions({'' if self.faults is None else f'faults={code_of(self.faults)}'})"


UNRESTRICTED: Final = Restrictions()


@dataclass(frozen=True)
class Scenario:
    """What happened in an example.

    Attributes:
        behaviour: what the service did where the interface shows nothing.
        steps: what happened.
        odd_keys: whether its keys were of every kind of character that may be in one.
        restrictions: what it may choose from, shrinking included.
        time_zone: that of the process, as ``TZ`` has it; None for the zone as it is.
        environment: what else is particular about it; see :mod:`petstore_mock.stateful.surroundings`.
        hours_ahead: by how much the service's clock is ahead of the client's; less than 0 where it is behind.
    """

    behaviour: Behaviour
    steps: tuple[Step, ...]
    odd_keys: bool = False
    restrictions: Restrictions = UNRESTRICTED
    time_zone: str | None = None
    environment: str | None = None
    hours_ahead: int = 0

    @property
    def has_races(self) -> bool:
        """Whether what comes of it may be a matter of moments."""
        return any(step.is_a_race for step in self.steps)

    @property
    def any_fault(self) -> bool:
        """Whether another fault may stand for one that it has: not when the test's author chose them."""
        return self.restrictions.faults is None

    def simpler(self) -> Iterator[Scenario]:
        """Yield simpler scenarios, the much simpler ones first."""
        if any(step.takes_time for step in self.steps):
            yield from self._quicker()
        for name, usual in _USUALLY.items():
            if getattr(self, name) != usual:
                yield replace(self, **{name: usual})
        yield from self._with_fewer_gaps()
        *before, last = self.steps or PLAIN[:1]
        if any(step != PLAIN[0] for step in before):  # one try instead of many, each of which may wait
            yield self._with(*PLAIN[:1] * len(before), last)
        size = len(self.steps) // 2
        while size:
            for start in range(0, len(self.steps), size):
                yield self._with(*self.steps[:start], *self.steps[start + size :])
            size //= 2
        for index, step in enumerate(self.steps):
            for other in step.simpler(any_fault=self.any_fault):
                yield self._with(*self.steps[:index], other, *self.steps[index + 1 :])

    def without(self, gap: str) -> Iterator[Scenario]:
        """Yield the scenario without a gap, and with failures before it or in it that need none."""
        plain = replace(self, behaviour=self.behaviour.replace({gap: GAPS[gap].default}))
        yield plain
        refused: Step = GetUnknown()
        yield replace(plain, steps=(*[refused] * 2 * _PROVOCATIONS, *self.steps))
        yield replace(plain, steps=(refused,) * 2 * _PROVOCATIONS)
        if self.any_fault:
            for operation in OPERATIONS:
                for fault in (unauthorized(), server_error(500), rate_limited(0)):
                    fails = Inject(fault, operation, _PROVOCATIONS)
                    calls = [_PLAIN_CALLS[operation]] * _PROVOCATIONS
                    yield replace(plain, steps=(fails, *calls, *self.steps))

    def _with(self, *steps: Step) -> Scenario:
        return replace(self, steps=steps)

    def _quicker(self) -> Iterator[Scenario]:
        """Yield scenarios that take less time; those that take none first, since each try of the others is a wait."""
        yield self._with(*(step for step in self.steps if not step.takes_time))
        simple_faults = SIMPLE_FAULTS if self.any_fault else ()
        for fault in simple_faults:
            yield self._with(*(replace(step, fault=fault) if _is_slow_fault(step) else step for step in self.steps))
        *before, last = self.steps
        yield from (self._with(step, last) for step in before if step.takes_time)
        if last.takes_time:
            yield from (self._with(*before, plain) for plain in PLAIN)
        if _is_slow_fault(last):
            yield from (self._with(*before, replace(last, fault=fault)) for fault in simple_faults)

    def _with_fewer_gaps(self) -> Iterator[Scenario]:
        differences = self.behaviour.differences()
        if len(differences) > 1:
            plain = type(self.behaviour)()
            yield replace(self, behaviour=plain)
            for name, value in differences.items():  # one alone: most bugs need no more, and each try may wait
                yield replace(self, behaviour=plain.replace({name: value}))
        for name in differences:
            fewer = replace(self, behaviour=self.behaviour.replace({name: GAPS[name].default}))
            yield fewer
            # What the service does of itself after many requests, a date by its clock apart.
            if name in _EVENTS and self.any_fault and not self.hours_ahead:
                for operation in OPERATIONS:
                    yield replace(fewer, steps=(*self.steps[:-1], Inject(_EVENTS[name], operation)))


def _is_slow_fault(step: Step) -> TypeGuard[Inject]:
    return isinstance(step, Inject) and step.takes_time


Play: TypeAlias = "Callable[[Scenario], ClientBugError | None]"  # plays a scenario; returns the bug that it shows


def simplest(scenario: Scenario, found: ClientBugError, play: Play, *, deadline: float | None = None) -> ClientBugError:
    """Play ever simpler scenarios, until ``deadline`` by the real clock; return how the simplest that fails is told."""
    deadline = RealTime.monotonic() + LONGEST_SHRINKING if deadline is None else deadline
    tried = {repr(scenario)}
    again = True
    while again:
        again = False
        for other in scenario.simpler():
            if RealTime.monotonic() > deadline:
                return found
            name = repr(other)
            if name in tried:
                continue
            tried.add(name)
            error = play(other)
            if error is not None:
                scenario, found, again = other, error, True
                break
    return found


def necessary(scenario: Scenario, found: ClientBugError, play: Play, *, began: float) -> ClientBugError:
    """Return how a scenario is told that has no gap but what it needs.

    A gap that shrinking can't take away need not be why the client fails: a key that is retired makes ten calls fail,
    and so do ten plain refusals. Before a gap is blamed, the client meets such failures without it.

    Args:
        scenario: one that failed, shrunk.
        found: how it is told.
        play: plays a scenario.
        began: when shrinking began, by the real clock.
    """
    deadline = min(RealTime.monotonic() + _LONGEST_CHECK, began + _LONGEST)
    for name in scenario.behaviour.differences():
        for other in scenario.without(name):
            if RealTime.monotonic() > deadline:
                return found
            error = play(other)
            if error is not None:
                told = simplest(other, error, play, deadline=deadline)
                return told if told.scenario is None else necessary(told.scenario, told, play, began=began)
    return found
