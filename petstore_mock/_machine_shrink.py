"""The last of shrinking: leaves out of a failing course each gap and each step that does not matter.

Hypothesis shrinks what was drawn, and at times stops where two draws would have to change at once. A course is a
behaviour and a list of steps, and can be played again without anything being drawn.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.gaps import GAPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock._machine_explain import ClientBugError
    from petstore_mock.behaviour import Behaviour

__all__ = ["Course", "simplest"]

_LONGEST: Final = 5.0  # seconds


@dataclass(frozen=True)
class Course:
    """What happened in an example: a behaviour, and steps."""

    behaviour: Behaviour
    steps: tuple[tuple[Any, ...], ...]

    def simpler(self) -> Iterator[Course]:
        """Yield the courses that lack one thing: a gap, or a step."""
        for name in self.behaviour.differences():
            yield replace(self, behaviour=self.behaviour.replace(**{name: GAPS[name].default}))
        for index in range(len(self.steps) - 1):
            yield replace(self, steps=self.steps[:index] + self.steps[index + 1 :])


def simplest(course: Course, found: ClientBugError, play: Callable[[Course], ClientBugError | None]) -> ClientBugError:
    """Play ever simpler courses, and return how the simplest that fails is told."""
    deadline = time.monotonic() + _LONGEST
    again = True
    while again:
        again = False
        for other in course.simpler():
            if time.monotonic() > deadline:
                return found
            error = play(other)
            if error is not None:
                course, found, again = other, error, True
                break
    return found
