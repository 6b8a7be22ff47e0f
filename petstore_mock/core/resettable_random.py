"""Whatever the fake draws, in a way that repeats."""

from __future__ import annotations

from random import Random

__all__ = ["ResettableRandom"]


class ResettableRandom(Random):
    """Random numbers that go back to where they started; free of charge when nothing was drawn.

    Most tests draw nothing, and to set the state of a generator takes longer than all else in a reset.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._seed = seed
        self._start: tuple[object, ...] | None = None  # its 625 numbers are worth their memory once they differ
        self._has_moved = False

    def mark_start(self) -> None:
        """Make the present state the one that :meth:`reset` returns to."""
        if self._has_moved:
            self._start = self.getstate()
            self._has_moved = False

    def reset(self) -> None:
        """Return to the start."""
        if self._has_moved:
            if self._start is None:
                self.seed(self._seed)
            else:
                self.setstate(self._start)
            self._has_moved = False

    # What all other draws are made of

    def random(self) -> float:
        """Return a number from 0 to 1, without 1."""
        self._has_moved = True
        return super().random()

    def getrandbits(self, k: int, /) -> int:
        """Return ``k`` random bits."""
        self._has_moved = True
        return super().getrandbits(k)

    def setstate(self, state: tuple[object, ...]) -> None:
        """Go to a state that :meth:`getstate` gave."""
        self._has_moved = True
        super().setstate(state)
