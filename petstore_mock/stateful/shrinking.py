"""Shrinking: leaves out of a failing course whatever does not matter, and makes the rest as simple as it can be.

Hypothesis shrinks choices, and knows nothing of what they mean: it plays a hang again and again that a course can do
without, and stops where two choices would have to change at once. A course is a behaviour and a list of steps; it is
played without drawing anything, what takes time goes first, and a gap that is left is one that matters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.real_time import RealTime
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.faults import Fault, rate_limited, reset, server_error, unauthorized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.stateful.bug_report import ClientBugError

__all__ = ["Course", "Step", "simplest", "takes_time", "tells_to_wait"]

Step = tuple[Any, ...]  # the name of a method of the machine, and its arguments

_LONGEST: Final = 15.0  # seconds, for what waits; a course of thirty steps takes one or two without
_NAME: Final = "Rex"
# What a step may be instead, for those that do something and then make a plain call.
_PLAIN: Final[tuple[Step, ...]] = (("list_some", (None, None)), ("get_known", 0), ("create", _NAME, 1, None))
_SHORT: Final = 100  # characters, up to which text is looked at one by one
_TAKES_TIME: Final = frozenset({"hang", "delay", "dribble"})  # kinds of faults


@dataclass(frozen=True)
class Course:
    """What happened in an example.

    Attributes:
        behaviour: what the service did where the interface shows nothing.
        steps: what happened.
        odd_keys: whether its keys were of every kind of character that may be in one.
        any_fault: whether another fault may stand for one that it has: not when the test's author chose them.
    """

    behaviour: Behaviour
    steps: tuple[Step, ...]
    odd_keys: bool = False
    any_fault: bool = True

    @property
    def _simple_faults(self) -> tuple[Fault, ...]:
        return _SIMPLE_FAULTS if self.any_fault else ()

    def simpler(self) -> Iterator[Course]:
        """Yield simpler courses, the much simpler ones first."""
        quick = tuple(step for step in self.steps if not _is_slow(step))
        if len(quick) < len(self.steps):
            yield from self._quicker(quick)
        if self.odd_keys:
            yield replace(self, odd_keys=False)
        yield from self._with_fewer_gaps()
        size = len(self.steps) // 2
        while size:
            for start in range(0, len(self.steps), size):
                yield replace(self, steps=self.steps[:start] + self.steps[start + size :])
            size //= 2
        for index, step in enumerate(self.steps):
            for other in _simpler_steps(step, self._simple_faults):
                yield replace(self, steps=(*self.steps[:index], other, *self.steps[index + 1 :]))

    def _quicker(self, quick: tuple[Step, ...]) -> Iterator[Course]:
        """Yield courses that take less time; those that take none first, since each try of the others is a wait."""
        yield replace(self, steps=quick)
        for fault in self._simple_faults:
            yield replace(self, steps=tuple(_with_fault(step, fault) for step in self.steps))
        for step in self.steps[:-1]:
            if _is_slow(step):
                yield replace(self, steps=(step, self.steps[-1]))
        if _is_slow(self.steps[-1]):
            for last in (*_PLAIN, *(_with_fault(self.steps[-1], fault) for fault in self._simple_faults)):
                yield replace(self, steps=(*self.steps[:-1], last))

    def _with_fewer_gaps(self) -> Iterator[Course]:
        names = list(self.behaviour.differences())
        if len(names) > 1:
            yield replace(self, behaviour=type(self.behaviour)())
        for name in names:
            fewer = self.behaviour.replace(**{name: GAPS[name].default})
            yield replace(self, behaviour=fewer)
            if name in _EVENTS and self.any_fault:  # what the service does of itself after many requests
                for operation in OPERATIONS:
                    once = ("inject", _EVENTS[name], (operation, 1, 0, False))
                    yield replace(self, behaviour=fewer, steps=(*self.steps[:-1], once))


def takes_time(fault: Fault) -> bool:
    """Say whether a request that meets ``fault`` takes real time."""
    return any(part.kind in _TAKES_TIME for part in fault.parts or (fault,))


def tells_to_wait(fault: Fault) -> bool:
    """Say whether a request that meets ``fault`` is told to wait by ``Retry-After``."""
    return any(
        name == "Retry-After"
        and value != "0"
        and (value.isdecimal() or parsedate_to_datetime(value) > datetime.now(UTC))
        for part in fault.parts or (fault,)
        for name, value in part.fields
    )


def _is_slow(step: Step) -> bool:
    return any(isinstance(part, Fault) and takes_time(part) for part in step)


def _with_fault(step: Step, fault: Fault) -> Step:
    """Return a step that takes time with another fault, and any other step as it is."""
    return tuple(fault if isinstance(part, Fault) else part for part in step) if _is_slow(step) else step


def _simpler_steps(step: Step, simple_faults: tuple[Fault, ...]) -> Iterator[Step]:
    """Yield steps that are simpler than ``step`` and as valid; its fault may become one of ``simple_faults``."""
    name, *arguments = step
    if step not in _PLAIN:
        yield from (plain for plain in _PLAIN if plain[0] != name)
    match step:
        case ("create", str() as text, int() as category_id, status):
            if status is not None:
                yield (name, text, category_id, None)
            yield from ((name, other, category_id, status) for other in _simpler_texts(text))
            yield from ((name, text, other, status) for other in _simpler_integers(category_id))
        case (_, Fault() as fault, (operation, times, after, lost)):
            yield from ((name, other, arguments[1]) for other in simple_faults if fault not in simple_faults)
            yield from ((name, fault, (operation, *plan)) for plan in _simpler_plans(times, after, lost=lost))
        case (str(), *_) if name in _SIMPLEST:
            for index, simple in enumerate(_SIMPLEST[name]):
                if arguments[index] != simple:
                    others = [simple, *(_mixed(arguments[index], simple) if isinstance(simple, tuple) else ())]
                    yield from ((name, *arguments[:index], other, *arguments[index + 1 :]) for other in others)


# The faults that happen to one request as these gaps do to one of many.
_EVENTS: Final = {"key_rotation": unauthorized(), "rate_limit": rate_limited(1)}
# The faults that stand for others, and the simplest arguments of the steps that are not told of above.
_SIMPLE_FAULTS: Final = (server_error(500), reset())
_SIMPLEST: Final[dict[str, tuple[Any, ...]]] = {
    "list_some": ((None, None),),
    "get_known": (0,),
    "get_unknown": (None,),
    "seed": ({"name": "Rex", "categoryId": 1}, None),
    "seed_many": (3, False),
    "seed_long": (("x", 1_000), False),
    "update": ((0, "available", False),),
    "remove": ((0, False),),
    "revoke_key": (0,),
    "travel": (0,),
    "close_connections": ("listPets",),
    "switch": ("listPets",),
    "redirect": ((307, "listPets", "here"),),
}


def _mixed(value: tuple[Any, ...], simple: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield ``value`` with one of its parts as simple as can be."""
    for index, part in enumerate(simple):
        if value[index] != part:
            yield (*value[:index], part, *value[index + 1 :])


def _simpler_plans(times: int, after: int, *, lost: bool) -> Iterator[tuple[int, int, bool]]:
    if times > 1:
        yield (1, after, lost)
    if after:
        yield (times, 0, lost)
    if lost:
        yield (times, after, False)


def _simpler_integers(value: int) -> Iterator[int]:
    """Yield integers that are nearer to 1, or 0: by half of it, a quarter and so on, so that a limit is soon met."""
    if value not in {0, 1}:
        yield from dict.fromkeys((1, 0, abs(value)))
        step = abs(value) // 2
        while step:
            yield value - step if value > 0 else value + step
            step //= 2
    elif value == 0:
        yield 1


def _simpler_texts(text: str) -> Iterator[str]:
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


def simplest(course: Course, found: ClientBugError, play: Callable[[Course], ClientBugError | None]) -> ClientBugError:
    """Play ever simpler courses, and return how the simplest that fails is told.

    Args:
        course: one that failed.
        found: how it is told.
        play: plays a course and returns the bug that it shows.
    """
    deadline = RealTime.monotonic() + _LONGEST
    tried = {repr(course)}
    again = True
    while again:
        again = False
        for other in course.simpler():
            if RealTime.monotonic() > deadline:
                return found
            name = repr(other)
            if name in tried:
                continue
            tried.add(name)
            error = play(other)
            if error is not None:
                course, found, again = other, error, True
                break
    return found
