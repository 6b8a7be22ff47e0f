"""The session's fake in this process, as the plugin steers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.core.registry import Leak
    from petstore_mock.core.world import World
    from petstore_mock.mock.petstore import PetStoreMock


class Home:
    """Steers the fake of a session. ``petstore_mock.remote`` has an object with the same names for a stub elsewhere."""

    def __init__(self, petstore: PetStoreMock) -> None:
        petstore.adds_notes = False  # the report has the journal
        self.petstore = petstore
        self.world = petstore.world  # of the present test
        self._service = petstore.service

    @property
    def url(self) -> str | None:
        return self.petstore.url if self._service.server.is_alive else None

    @property
    def died(self) -> str:
        """Why the listener ended although nothing stopped it; empty unless it did."""
        return self._service.server.died

    @property
    def worlds(self) -> list[World]:
        """The world of the present test, and those of ``fresh()`` that are not over."""
        return self._service.worlds.at_root

    def begin(self, owner: str, at_end: Callable[[World], object], start: Mapping[str, Any]) -> None:
        """Begin the world of a test, or anew for another example of it; see ``World.renew``.

        ``at_end`` is called with each world that a reset, or its end, is about to clear.
        """
        self._service.start()  # a test may have stopped it; its thread may have died; this may be the child of a fork
        self.world.renew(owner, **start)
        self._service.host.at_end = at_end
        self._service.worlds.bring_forward(self.world)
        self._service.clear()

    def verify(self, *, again: bool) -> None:
        __tracebackhide__ = True
        self.world.verification.verify(again=again)

    def excuse(self) -> None:
        self.world.verification.report()

    def leaks_since(self, count: int) -> tuple[int, list[Leak]]:
        """Return how many requests of finished tests there were, and those behind the first ``count``."""
        worlds = self._service.worlds
        total = worlds.leak_count
        return total, list(worlds.leaks)[count - total :] if total > count else []

    def state(self) -> dict[str, object]:
        """Return what a fixture may have set up, to compare it with a later state."""
        world = self.world
        return {
            "animals": world.store.bodies(),
            "faults": world.plan.in_force,
            "a behaviour": world.behaviour,
            "a date": (world.time.offset, world.time.frozen),
            "expectations of httpserver": self._service.expects,
        }

    def stop(self) -> None:
        self.petstore.stop()
