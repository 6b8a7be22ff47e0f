"""The session's fake of a pytest run over a stub elsewhere: each test has a world by address there."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from petstore_mock.common.real import time
from petstore_mock.common.refusing import refuse
from petstore_mock.core.refusals import NotFoundError
from petstore_mock.core.registry import Leak
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.behaviour import as_behaviour
from petstore_mock.journal.text import error_of
from petstore_mock.remote.door import RemoteDoor
from petstore_mock.remote.petstore import RemotePetStore, carried_options
from petstore_mock.verbs import state, worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


class FixtureWorld(RemotePetStore):
    """The world of the present test, or one of its ``fresh()``; the plugin sees the end of each."""

    adds_notes = False  # the report has the journal
    home: Elsewhere

    def secrets(self) -> tuple[str, ...]:
        """Return its keys, which must not show."""
        return (self._key, *self._further_keys)

    def reset(self) -> None:
        """Return to the starting state; see :meth:`PetStore.reset`."""
        self.home.at_end(self)
        super().reset()

    def _begin_fresh(self, options: Mapping[str, Any]) -> Self:
        inner = super()._begin_fresh(options)
        inner.home = self.home
        self.home.worlds.append(inner)
        return inner

    def _end_fresh(self) -> None:
        self.home.at_end(self)
        self.home.worlds.remove(self)
        super()._end_fresh()

    def begin(self, door: RemoteDoor, name: str, options: Mapping[str, Any]) -> None:
        """Become the world of a name, which is made anew."""
        door.send(worlds.make_world, name, carried_options(options))
        RemotePetStore.__init__(self, door, name)
        self._lasting = {one: options[one] for one in ("strict", "mutant") if one in options}


class Elsewhere:
    """Steers a stub elsewhere for the plugin, as its ``Home`` steers a fake in this process.

    Each test has an address of its own, so that a leak tells its owner. With a fixed key there is one address for all,
    made anew for each test, since clients of session scope hold on to it.
    """

    died = ""  # the listener is not ours

    def __init__(self, door: RemoteDoor, options: Mapping[str, Any]) -> None:
        self.petstore = self.world = FixtureWorld.__new__(FixtureWorld)  # the first test begins it
        self.petstore.home = self
        self.worlds = [self.world]
        self.at_end: Callable[[Any], object] = lambda _: None
        self._door = door
        self._options = {**options, "behaviour": as_behaviour(options.get("behaviour"))}
        self._prefix = f"pytest-{secrets.token_hex(6)}"  # another worker of xdist has another one
        self._owners: dict[str, str] = {}  # the test of each world
        self._name = ""

    @property
    def url(self) -> str:
        """The base address of the present world."""
        return self.world.url

    def begin(self, owner: str, at_end: Callable[[Any], object], start: Mapping[str, Any]) -> None:
        """Begin the world of a test, or anew for another example of it."""
        own = {name: value for name, value in start.items() if value is not None}
        gaps, more = own.pop("gaps", {}), own.pop("seed", None)
        options = {**self._options, **own}
        options["behaviour"] = as_behaviour(options["behaviour"]).replace(gaps)
        name = self._name
        if not name or (self._owners[name] != owner and "api_key" not in self._options):
            name = f"{self._prefix}-{len(self._owners) + 1}"
        self.world.begin(self._door, name, options)
        if more is not None:  # on top of the session's, and a reset returns to all of them
            self.world.seed_many(more)
            self.world.begin(self._door, name, {**options, "seed": self.world.pets})
        former, self._name = self._name, name
        self._owners[name] = owner
        self.at_end = at_end
        self._door.exempt()
        if former not in {"", name}:
            self._end(former)

    def _end(self, name: str) -> None:
        with suppress(NotFoundError):
            self._door.send(worlds.end_world, name, {})

    def verify(self, *, again: bool) -> None:
        """Raise for what the test must answer for."""
        __tracebackhide__ = True
        problems = self._door.send(worlds.report_problems, self._name, {"again": again})["problems"]
        if problems:
            raise error_of([(problem["kind"], problem["message"]) for problem in problems])

    def excuse(self) -> None:
        """Count all problems so far as reported."""
        self._door.send(worlds.report_problems, self._name, {"excuse": True})

    def leaks_since(self, count: int) -> tuple[int, list[Leak]]:
        """Return how many leaks the stub knows, and those of this session behind the first ``count``."""
        found: worlds.LeaksData = self._door.send(worlds.list_leaks, None, {})
        new = found["leaks"][count - found["total"] :] if found["total"] > count else []
        return found["total"], [
            Leak(self._owners[one["world"]], one["request"], one["status"], by_key=one["by_key"])
            for one in new
            if one["world"] in self._owners
        ]

    def state(self) -> dict[str, object]:
        """Return what a fixture may have set up, to compare it with a later state."""
        world = self.petstore
        return {
            "animals": world.pets,
            "faults": self._door.send(state.list_faults, self._name, {}),
            "a behaviour": world.behaviour,
            "a date": (world.clock.frozen, round((world.clock.now() - time()) / 60)),
        }

    def stop(self) -> None:
        """Do nothing yet: the last test is verified after its fixtures are gone, and its world must be there."""

    def close(self) -> None:
        """End the world of the last test."""
        self._door.unexempt()
        with suppress(PetStoreMockError):  # a stub that is gone was reported by the tests
            self._end(self._name)


def elsewhere(url: str, options: Mapping[str, Any], *, token: str | None, ca_path: Path | None) -> Elsewhere:
    """Return what steers the stub at an address for the tests of a session.

    Raises:
        PetStoreMockError: an option can't be right for a stub elsewhere, or nothing responds there.
    """
    door = RemoteDoor(url, token, ca_path)
    if door.name is not None:
        refuse(f"expected the root of a stub, since each test makes its own world; got the address of {door.name!r}")
    carried_options(options)
    door.send(worlds.show_world, None, {})
    return Elsewhere(door, options)
