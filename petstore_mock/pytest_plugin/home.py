"""The session's fake in this process, and the plugin's control of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.core.registry import Leak
    from petstore_mock.core.world import World
    from petstore_mock.mock.petstore import PetStoreMock


class Home:
    """Controls the fake of a session. ``petstore_mock.remote`` has a class with the same methods for a remote stub."""

    def __init__(self, petstore: PetStoreMock) -> None:
        # The report of the test shows the journal.
        petstore.adds_notes = False
        self.petstore = petstore
        self.world = petstore.world  # of the current test
        self._service = petstore.service

    @property
    def died(self) -> str:
        """The error that stopped the listener, or an empty text."""
        return self._service.server.died

    @property
    def worlds(self) -> list[World]:
        """The world of the current test, and the open worlds of ``fresh()``."""
        return self._service.worlds.at_root

    def begin(self, owner: str, at_end: Callable[[World], object], start: Mapping[str, object]) -> None:
        """Begin the world of a test or example, see ``World.renew``. ``at_end`` gets a world before it is cleared."""
        # The listener may be down: a test stopped it, it died, or this process is a fork.
        self._service.start()
        self.world.renew(owner, **start)
        self._service.host.at_end = at_end
        self._service.worlds.bring_forward(self.world)
        self._service.clear()

    def leaks_since(self, count: int) -> tuple[int, list[Leak]]:
        """Return how many leaks (requests of finished tests) there were, and the leaks after the first ``count``."""
        worlds = self._service.worlds
        total = worlds.leak_count
        new = total - count
        return total, list(worlds.leaks)[-new:] if new > 0 else []

    def stop(self) -> None:
        self.petstore.stop()
