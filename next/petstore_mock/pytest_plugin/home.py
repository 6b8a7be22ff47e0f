"""The session's fake in this process, as the plugin steers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from petstore_mock.core.registry import Leak
    from petstore_mock.core.world import World
    from petstore_mock.mock.petstore import PetStoreMock

_SHOWN: Final = 10  # expectations


class Home:
    """Steers the fake of a session. A stub elsewhere has an object with the same methods, in ``petstore_mock.remote``.

    Attributes:
        petstore: what tests get.
        world: its world, the one of the present test.
    """

    def __init__(self, petstore: PetStoreMock) -> None:
        petstore.adds_notes = False  # the report has the journal
        self.petstore = petstore
        self.world = petstore.world
        self._service = petstore.service

    @property
    def url(self) -> str | None:
        """The base address; None when it does not listen."""
        return self._service.url if self._service.is_listening else None

    @property
    def worlds(self) -> list[World]:
        """The world of the present test and those of ``fresh()`` that are not over, older ones included."""
        return self._service.worlds.at_root

    @property
    def end_of_listener(self) -> str:
        """Why the thread of the listener ended although nothing stopped it; empty unless it did."""
        return self._service.died

    def begin(self, owner: str, at_end: Callable[[World], object], start: Mapping[str, Any]) -> None:
        """Begin the world of a test, or anew for another example of it.

        Args:
            owner: the id of the test.
            at_end: called with each world that a reset, or its end, is about to clear.
            start: what the test has of its own; see ``World.renew``.
        """
        self._service.start()  # a test may have stopped it; this may be the child of a fork
        self.world.renew(owner, **start)
        self.world.at_end = at_end
        self._service.worlds.bring_forward(self.world)
        self._service.clear()

    def leaks_since(self, count: int) -> tuple[int, Sequence[Leak]]:
        """Return how many requests of finished worlds there were, and those behind the first ``count``."""
        worlds = self._service.worlds
        total = worlds.leak_count
        return total, list(worlds.leaks)[-(total - count) :] if total > count else []

    def expectations(self) -> list[str]:
        """Return what requests ``httpserver`` expects, in words; of many, the first."""
        return self._service.expectations()[:_SHOWN]

    def state(self) -> dict[str, object]:
        """Return what a fixture may have set up, to compare it with a later state."""
        world = self.world
        return {
            "animals": world.store.snapshot().rows,
            "faults": world.plan.in_force,
            "a behaviour": world.behaviour,
            "a date": (world.time.offset, world.time.frozen),
        }

    def stop(self) -> None:
        """Stop it: the session is over."""
        self.petstore.stop()
