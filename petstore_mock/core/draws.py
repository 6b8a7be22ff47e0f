"""The randomness of a world: ids, orders, probabilities and delays, in a way that repeats."""

from __future__ import annotations

from random import Random
from typing import Any

State = tuple[Any, ...]


class Draws:
    """Random numbers by a seed. The generator is made at the first draw: a copy of one takes as long as a reset."""

    __slots__ = ("_random", "_seed", "_state", "drawn")

    def __init__(self, seed: int) -> None:
        self.drawn = 0  # how often something was drawn
        self._seed = seed
        self._state: State | None = None
        self._random: Random | None = None

    def __call__(self) -> Random:
        self.drawn += 1
        if self._random is None:
            self._random = Random(self._seed)  # noqa: S311  # nothing here is a secret
            if self._state is not None:
                self._random.setstate(self._state)
        return self._random

    def state(self) -> State | None:
        """Return the state for :meth:`restore`; None where nothing was drawn."""
        return self._state if self._random is None else self._random.getstate()

    def restore(self, state: State | None) -> None:
        self._state = state
        self._random = None
