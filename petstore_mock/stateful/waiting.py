"""How much real time a run may spend on waiting: for a hang to end, or as long as ``Retry-After`` says."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WaitingBudget"]

_EXAMPLE_BUDGET: Final = 1.0  # seconds after which an example begins no more of it
_QUICK_EXAMPLES: Final = 5  # come first: most bugs need no waiting
_EARNED: Final = 0.1  # seconds of real waiting that each example brings after them, shrinking left out ...
_SOON: Final = 2.0  # seconds ... until there were so many: then the client has shown what it does,
_EARNED_LATER: Final = 0.015  # and waits to show what it does in rare circumstances only: 5 seconds in 200 examples
_LEAST_RETRY_AFTER: Final = 0.5  # seconds: half of what the client is told to wait at least


class WaitingBudget:
    """Says what may take real time, and takes note of what has.

    Attributes:
        spent: seconds of waiting so far.
    """

    def __init__(self) -> None:
        self.spent = 0.0
        self._example = 0
        self._spent_in_example = 0.0
        self._clocks: object = None
        self._waits_when_told: set[object] = set()  # by which clocks the client is known to heed Retry-After
        self._is_limited = True
        self._answers: dict[object, bool] = {}

    def begin_example(self, clocks: object = None) -> None:
        """Count another example; ``clocks`` tells those that it goes by from others."""
        self._example += 1
        self._clocks = clocks
        self._spent_in_example = 0.0

    def allows(self, what: object, *, if_told: bool = False) -> bool:
        """Say whether an example may do ``what``, which takes real time.

        The same question gets the same answer throughout a run, so that a replayed example takes the same course.

        Args:
            what: tells one question from another.
            if_told: whether it takes time only if the client waits as long as ``Retry-After`` says.
        """
        if not self._is_limited:
            return True
        answer = self._answers.get(what)
        if answer is None:
            examples = self._example - _QUICK_EXAMPLES
            earned = min(examples * _EARNED, _SOON + examples * _EARNED_LATER)
            in_time = self._spent_in_example < _EXAMPLE_BUDGET and self.spent < earned
            answer = self._answers[what] = in_time or (if_told and self._clocks not in self._waits_when_told)
        return answer

    @contextmanager
    def unlimited(self) -> Iterator[None]:
        """Allow all waiting: shrinking has a time limit of its own, and does without what takes time if it can."""
        self._is_limited = False
        try:
            yield
        finally:
            self._is_limited = True

    def spend(self, seconds: float, *, if_told: bool) -> None:
        """Take ``seconds`` from the budget; they were waited because the client was told to, or had to be."""
        if if_told and seconds >= _LEAST_RETRY_AFTER:
            self._waits_when_told.add(self._clocks)
        self.spent += seconds
        self._spent_in_example += seconds
