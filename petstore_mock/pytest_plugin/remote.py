"""The fixture over a stub that runs elsewhere (``--petstore-remote``): a world by address for each test."""

from __future__ import annotations

import dataclasses
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Unpack

from petstore_mock.contract.behaviour import Behaviour
from petstore_mock.core.starting_state import as_behaviour
from petstore_mock.core.world_registry import Leak
from petstore_mock.errors import PetStoreMockError
from petstore_mock.remote.door import Door, NotThereError
from petstore_mock.remote.encoding import world_options
from petstore_mock.remote.petstore import RemotePetStore
from petstore_mock.remote.world import RemoteWorld

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from petstore_mock.core.tenant import OwnStart

__all__ = ["RemoteFixture", "connect_fixture"]


def connect_fixture(
    url: str, token: str | None, options: Mapping[str, Any], *, ca_path: Path | None = None
) -> RemoteFixture:
    """Return what the fixture gives over a stub elsewhere; the first test makes its world.

    Args:
        url: the stub's address.
        token: its control token, if it asks for one.
        options: of the starting state of every test.
        ca_path: the file of the stub's authority, where it speaks TLS.

    Raises:
        PetStoreMockError: an option can't be right for a stub elsewhere, or nobody answers there.
    """
    base = world_options(options)
    door = Door(url, token, ca_path)
    if door.name is not None:
        raise PetStoreMockError(
            f"expected the root of a stub, since each test makes a world of its own; got the address of {door.name!r}"
        )
    door.ask("GET", "world")
    return RemoteFixture(_SessionWorld(door, base))


class _SessionWorld(RemoteWorld):
    """The worlds of a session's tests, one after the other.

    Each test has an address of its own, so that what it leaves behind is known for a leak. With a fixed key there is
    one address for all of them, made anew for each: clients of session scope hold on to it.

    Args:
        door: the way to the stub.
        base: the starting state of every test, as the door takes it.
    """

    def __init__(self, door: Door, base: dict[str, Any]) -> None:
        super().__init__(door, None)
        self._base = base
        self._prefix = f"pytest-{secrets.token_hex(6)}"  # another process, another worker of xdist: another name
        self._count = 0
        self._owners: dict[str, str] = {}  # the test of each world

    def renew(self, owner: str | None, **start: Unpack[OwnStart]) -> None:
        """Begin the world of another test, or anew for another example of it; see ``Tenant.renew``.

        Raises:
            PetStoreMockError: an option can't be right, or the stub is gone.
        """
        behaviour, seed = start.get("behaviour"), start.get("seed")
        told = {**self._base, **world_options({name: start.get(name) for name in ("seed", "at", "strict", "mutant")})}
        chosen = Behaviour(**self._base.get("behaviour", {})) if behaviour is None else as_behaviour(behaviour)
        told["behaviour"] = dataclasses.asdict(chosen.replace(start.get("gaps")))
        name, former = self.name, self.name
        if name is None or (owner != self.owner and "api_key" not in self._base):
            self._count += 1
            name = f"{self._prefix}-{self._count}"
        both = seed is not None and "seed" in self._base
        self.make({**told, "seed": self._base["seed"]} if both else told, name)
        if both:  # beside the session's, and a reset returns to all of them
            more = told["seed"]
            self.ask("POST", "pets", {"count": more} if isinstance(more, int) else more)
            self.make({**told, "seed": self.ask("GET", "pets")["pets"]})
        if owner != self.owner:
            # Those of an earlier test are ended by whoever holds them.
            self.guests, self.elders = [], [*self.elders, *self.guests]
        self.owner = owner
        self._owners[name] = owner or name
        if former is not None and former != name:
            self._end(former)

    def end_last(self) -> None:
        """End the world of the last test."""
        if self.name is not None:
            self._end(self.name)

    def _end(self, name: str) -> None:
        with suppress(NotThereError):
            self.door.ask("DELETE", "world", world=name)

    @property
    def leaks(self) -> list[Leak]:
        """The requests so far to worlds of this session that were over."""
        return [
            Leak(self._owners[one["world"]], one["request"], one["status"], bore_key=one["by_key"])
            for one in self.door.ask("GET", "leaks")["leaks"]
            if one["world"] in self._owners
        ]

    @property
    def limit_bounds(self) -> tuple[int, int, int]:
        """The least, the largest and the default number of animals on a page, by the schemas that ship."""
        from petstore_mock.contract.schemas import default_schemas  # noqa: PLC0415  # for coverage alone
        from petstore_mock.core.routing import rules_for  # noqa: PLC0415  # as above

        return rules_for(Behaviour(), default_schemas()).limit_bounds


class _Elsewhere:
    """Where a stub listens that nobody here has started."""

    is_listening = True

    def __init__(self, tenant: RemoteWorld) -> None:
        self._tenant = tenant

    @property
    def url(self) -> str:
        """The base address of the present world."""
        return self._tenant.url

    def clear(self) -> None:
        """Do nothing: ``httpserver`` needs the same process."""

    def expectations(self) -> list[str]:
        """Return none, as above."""
        return []


class RemoteFixture(RemotePetStore):
    """What the fixture ``petstore`` gives over a stub elsewhere.

    Attributes:
        tenant: the same.
        host: where the stub listens.
    """

    tenant: _SessionWorld

    def __init__(self, tenant: _SessionWorld) -> None:
        super().__init__(tenant)
        self.host = _Elsewhere(tenant)

    def stop(self) -> None:
        """Do nothing yet: the last test is verified after its fixtures are gone, and its world must be there."""

    def close(self) -> None:
        """End the world of the last test, and close the connections to the door."""
        with suppress(PetStoreMockError):  # a stub that is gone was told by the tests
            self.tenant.end_last()
        self.tenant.door.close()
