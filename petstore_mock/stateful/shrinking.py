"""Simpler forms of a scenario, from those that leave out the most to those that leave out the least.

How this works: a failed check ends a scenario, so the last step is the one that failed. A few steps before it are often
enough. So the machine first tries the last steps alone, then leaves out groups of steps, then simplifies single steps.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.checks.check import Call
from petstore_mock.checks.scenario import Act, Interrupt, Pick, PlannedFault, Scenario, Together
from petstore_mock.common.real import monotonic
from petstore_mock.interface import schemas
from petstore_mock.interface.gaps import GAPS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from petstore_mock.checks.scenario import Step
    from petstore_mock.stateful.report import Bug

_SEED: Final = Act("seed")
_FEW: Final = 2
_LAST: Final = (1, 2, 3, 4, 6, 8, 12)  # steps
_REPEATED: Final = (2, 4, 8, 12, 24)  # calls
_REPEATED_FAULTS: Final = 3
_LEAST_PLAYS: Final = 60  # of a quick scenario, however busy the computer is
_MOST_PLAYS: Final = 500
_SLOW: Final = 0.3  # seconds of one play, on average
_LEAST_SLOW_PLAYS: Final = 30
_LONGEST: Final = 5.0  # seconds
_LONGEST_SLOW: Final = 12.0


class Shrinker:
    """Looks for the simplest scenario that shows the same bug.

    Args:
        play: plays a scenario, and returns its bug if it is the same one.
        kept: the operations whose arguments stay, because the caller of ``check_client`` chose them.
    """

    def __init__(self, play: Callable[[Scenario], Bug | None], kept: Collection[str]) -> None:
        self._play = play
        self._kept = kept
        self._tried: list[Scenario] = []
        self._began = monotonic()

    def shrunk(self, bug: Bug) -> Bug:
        """Return the bug of the simplest scenario that was found in time."""
        self._tried.append(bug.scenario)
        left = _simpler(bug.scenario, self._kept)
        while not self._is_over():
            simpler = next(left, None)
            if simpler is None:
                break
            other = self._try(simpler)
            if other is not None:
                bug = other
                left = _simpler(other.scenario, self._kept)
        return self._without_gaps(bug)

    def _try(self, scenario: Scenario) -> Bug | None:
        if scenario in self._tried:
            return None
        self._tried.append(scenario)
        return self._play(scenario)

    def _is_over(self) -> bool:
        plays = len(self._tried)
        seconds = monotonic() - self._began
        is_slow = seconds > _SLOW * plays
        if is_slow:
            return plays >= _LEAST_SLOW_PLAYS or seconds > _LONGEST_SLOW
        return plays >= _MOST_PLAYS or (plays >= _LEAST_PLAYS and seconds > _LONGEST)

    def _without_gaps(self, bug: Bug) -> Bug:
        """Play the default of each gap that the bug seems to need, however long that takes."""
        for simpler in _with_defaults(bug.scenario):
            other = self._try(simpler)
            if other is not None:
                return self._without_gaps(other)
        return bug


def _simpler(scenario: Scenario, kept: Collection[str]) -> Iterator[Scenario]:
    if scenario.odd_key:
        yield replace(scenario, odd_key=False)
    if scenario.environment is not None:
        yield replace(scenario, environment=None)
    yield from _with_defaults(scenario)
    yield from _with_last_steps(scenario)
    yield from _with_one_fault(scenario)
    yield from _with_fewer_steps(scenario)
    for place, step in enumerate(scenario.steps):
        if isinstance(step, Call) and step.operation in kept:
            continue
        for other in _simpler_steps(step):
            yield replace(scenario, steps=(*scenario.steps[:place], other, *scenario.steps[place + 1 :]))


def _with_defaults(scenario: Scenario) -> Iterator[Scenario]:
    for name in scenario.behaviour.differences():
        yield replace(scenario, behaviour=scenario.behaviour.replace({name: GAPS[name].default}))


def _with_last_steps(scenario: Scenario) -> Iterator[Scenario]:
    steps = scenario.steps
    for count in _LAST:
        if count >= len(steps):
            return
        yield replace(scenario, steps=steps[-count:])
        if count + 1 < len(steps):
            yield replace(scenario, steps=(_SEED, *steps[-count:]))


def _with_one_fault(scenario: Scenario) -> Iterator[Scenario]:
    """Yield scenarios in which one call fails again and again: each failure may cost the client a connection."""
    steps = scenario.steps
    meetings = [(fault, ask) for fault, ask in pairwise(steps) if isinstance(fault, PlannedFault)]
    if len(meetings) < _FEW:
        return
    for fault, ask in reversed(meetings[-_REPEATED_FAULTS:]):
        for count in _REPEATED:
            if count + _FEW <= len(steps):
                yield replace(scenario, steps=(replace(fault, times=None), *[ask] * count))


def _with_fewer_steps(scenario: Scenario) -> Iterator[Scenario]:
    size = len(scenario.steps) // 2
    while size:
        for start in range(0, len(scenario.steps), size):
            yield replace(scenario, steps=scenario.steps[:start] + scenario.steps[start + size :])
        size //= 2


def _simpler_steps(step: Step) -> Iterator[Step]:
    if isinstance(step, Call):
        yield from _simpler_calls(step)
    elif isinstance(step, PlannedFault):
        # A sequence uses each fault once.
        times = 1 if len(step.fault.parts) == 1 else step.times
        yield from _with_usual(step, {"at": "before_commit", "after": 0, "times": times})
    elif isinstance(step, Together):
        yield from _with_usual(step, {"then": None})
    elif isinstance(step, Interrupt):
        yield from _with_usual(step, {"at": 1})
    elif step.kind == "seed_many":
        yield _SEED
        if step.arguments["count"] > _FEW:
            yield Act("seed_many", {"count": _FEW})


def _with_usual(step: Any, usual: Mapping[str, object]) -> Iterator[Any]:  # noqa: ANN401  # a step
    for name, value in usual.items():
        if getattr(step, name) != value:
            yield replace(step, **{name: value})


def _simpler_calls(call: Call) -> Iterator[Call]:
    required = schemas.required_arguments(call.row)
    for name, value in call.arguments.items():
        if name not in required:
            yield replace(call, arguments={other: call.arguments[other] for other in call.arguments if other != name})
        elif isinstance(value, Pick) and value.index:
            yield replace(call, arguments={**call.arguments, name: Pick(value.which)})
