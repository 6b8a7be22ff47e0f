"""The fake of a pytest session that uses a stub in another process."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from petstore_mock.common.masking import printable
from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import without_none
from petstore_mock.core.refusals import NotFoundError
from petstore_mock.core.store import read_seed
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.behaviour import as_behaviour
from petstore_mock.remote.door import RemoteDoor
from petstore_mock.remote.petstore import RemotePetStore
from petstore_mock.transport import no_proxy
from petstore_mock.verbs import worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.core.registry import Leak
    from petstore_mock.verbs.worlds import LeaksData


class Elsewhere:
    """Controls a stub in another process for the plugin, as ``Home`` controls a fake in this process.

    Each test has its own address, so the plugin can name the test of a leak. With a fixed key, all tests share one
    address, because clients of session scope keep the address. The plugin then replaces the world there for each test.
    """

    died = ""  # another process owns the listener

    def __init__(self, url: str, options: Mapping[str, Any], token: str | None) -> None:
        self._door = door = RemoteDoor(url, token)
        if door.name is not None:
            refuse(f"expected the root of a stub, not a world; got the address of world {door.name!r}")
        # The files are read once: a test may replace the file system.
        self._options = dict(options)
        self._options["behaviour"] = as_behaviour(options.get("behaviour"))
        self._options["seed"] = read_seed(options.get("seed"))
        self._prefix = f"pytest-{secrets.token_hex(6)}"  # differs between workers of pytest-xdist
        self._owners: dict[str, str] = {}  # the test of each world
        self._name = f"{self._prefix}-1"
        self.petstore = self.world = RemotePetStore(door, self._name, self._options)
        self.petstore.adds_notes = False  # the report of the plugin shows the journal

    @property
    def worlds(self) -> list[RemotePetStore]:
        return [self.world, *self.world.inner]

    def begin(self, owner: str, at_end: Callable[[Any], object], start: Mapping[str, Any]) -> None:
        """Make the world of a test, or replace it for the next example of the test."""
        options = self._options | without_none(start)
        options["behaviour"] = options["behaviour"].replace(options.pop("gaps", {}))
        options["seed"] = self._options.get("seed")
        name = self._name
        if self._owners.get(name, owner) != owner and "api_key" not in self._options:
            name = f"{self._prefix}-{len(self._owners) + 1}"
        self.world._begin(name, options)  # private to this package
        if start.get("seed") is not None:  # a reset must restore the animals of the session and of the test
            self.world.seed_many(start["seed"])
            self.world._begin(name, {**options, "seed": self.world.pets})
        former = self._name
        self._name = name
        self._owners[name] = owner
        self.world.at_end = at_end
        if former != name:
            self._end(former)

    def _end(self, name: str) -> None:
        with suppress(NotFoundError):
            self._door.send(worlds.end_world, name, {})

    def leaks_since(self, count: int) -> tuple[int, list[Leak]]:
        """Return the stub's number of leaks, and this session's leaks after the first ``count``."""
        data: LeaksData = self._door.send(worlds.list_leaks, None, {})
        shown: list[Leak] = []
        new = max(0, data["total"] - count)
        for leak in data["leaks"][-new:] if new else ():
            owner = self._owners.get(leak["world"])
            if owner is not None:
                shown.append({**leak, "world": owner, "request": printable(leak["request"])})
        return data["total"], shown

    def stop(self) -> None:
        no_proxy.unexempt(self.world)
        with suppress(PetStoreMockError):  # tests have reported that the stub is gone
            self._end(self._name)
