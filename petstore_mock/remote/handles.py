"""What a test holds of a world elsewhere: its clock, a planned fault, a copy of its state."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from petstore_mock.core.clock import Clock
from petstore_mock.errors import VerificationError
from petstore_mock.faults.kinds import FaultSequence
from petstore_mock.messages.handshake import Handshake
from petstore_mock.remote.door import NotThereError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.faults import Fault
    from petstore_mock.messages.handshake import Flaw
    from petstore_mock.remote.world import RemoteWorld

__all__ = ["RemoteClock", "RemoteFaultHandle", "RemoteHandshake", "RemoteSnapshot"]

_LONGEST_WAIT = 25.0  # seconds: as long as the door waits


class RemoteClock(Clock):
    """The fake's time in a world elsewhere."""

    __slots__ = ("_world",)

    def __init__(self, world: RemoteWorld) -> None:
        self._world = world

    def now(self) -> float:
        """Return the fake's time in seconds since 1970, to the millisecond."""
        return datetime.fromisoformat(self._world.ask("GET", "clock")["now"]).timestamp()

    @property
    def frozen(self) -> bool:
        """Whether the fake's time stands still."""
        return bool(self._world.ask("GET", "clock")["frozen"])

    def _go_to(self, moment: datetime) -> None:
        self._world.ask("PATCH", "clock", {"travel_to": moment.isoformat()})

    def _move(self, seconds: float) -> None:
        self._world.ask("PATCH", "clock", {"advance": {"seconds": seconds}})

    def freeze(self) -> None:
        """Let the fake's time stand still until :meth:`unfreeze` or a reset."""
        self._world.ask("PATCH", "clock", {"freeze": True})

    def unfreeze(self) -> None:
        """Let the fake's time run on from where it stands."""
        self._world.ask("PATCH", "clock", {"freeze": False})


class RemoteHandshake(Handshake):
    """A TLS handshake with a stub elsewhere, as of when it was asked for; :meth:`wait` asks again.

    Args:
        ask: sends a request to the door of the default world.
        document: what the door says of it.
    """

    __slots__ = ("_ask",)

    def __init__(self, ask: Callable[..., Any], document: Mapping[str, Any]) -> None:
        super().__init__(document["connection"])
        self._ask = ask
        self._take(document)

    def _take(self, document: Mapping[str, Any]) -> None:
        fault: str | None = document["fault"]
        flaw: Any = None if fault is None else fault.removeprefix("tls.")
        self.flaw: Flaw | None = flaw
        self.alert, self.server_name = document["alert"], document["server_name"]
        self.version, self.cipher = document["version"], document["cipher"]
        if document["outcome"] != self.outcome:
            self.settle(document["outcome"])

    def has_settled(self, timeout: float) -> bool:
        """Say whether it has come to something; the door waits ``timeout`` seconds for that."""
        if not super().has_settled(0):
            seconds = min(max(timeout, 0.0), _LONGEST_WAIT)
            told = self._ask("GET", "handshakes", query={"wait": f"{seconds:.3f}"}, patience=seconds)["handshakes"]
            for one in told:
                if one["connection"] == self.connection:
                    self._take(one)
        return super().has_settled(0)


class RemoteFaultHandle:
    """A planned fault in a world elsewhere; see ``FaultHandle``.

    Args:
        world: where it is planned.
        fault: the fault.
        document: what the door answered to the plan.

    Attributes:
        fault: the fault.
        id: its number in its world, from 1.
        on: the operation that it meets; None for any.
        times: how often it fires; None for every time.
        after: how many matching requests pass first.
        where: the criteria that a request has to meet, if any.
        at: before or after the commit.
        probability: the chance of each matching request to meet it.
        off_contract: whether it may leave the interface.
    """

    def __init__(self, world: RemoteWorld, fault: Fault, document: Mapping[str, Any]) -> None:
        self._world = world
        self._age = world.age
        self.fault = fault
        self.id: int = document["id"]
        self.on: str | None = document["on"]
        self.times: int | None = len(fault.parts) if isinstance(fault, FaultSequence) else document["times"]
        self.after: int = document["after"]
        self.where: dict[str, Any] | None = document["where"]
        self.at: str = document["at"]
        self.probability: float = document["probability"]
        self.off_contract: bool = document["off_contract"]
        self._words: str = document["words"]
        self._document = document
        self._cancelled = False

    def __repr__(self) -> str:
        return f"<{self} hits={self.hits}>"

    def __str__(self) -> str:
        return self._words

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        why_not = self.refresh()["why_not"] if self._is_there else None
        self._cancel(required=kind is not None)
        if why_not and kind is None:
            __tracebackhide__ = True
            raise VerificationError(f"{self} never fired within its block: {why_not}")

    @property
    def _is_there(self) -> bool:
        return not self._cancelled and self._age == self._world.age

    def refresh(self) -> Mapping[str, Any]:
        """Return what has come of it; the last that is known, once it is gone."""
        if self._is_there:
            listed = self._world.ask("GET", "faults", query={"record": "true"})["faults"]
            gone = {**self._document, "why_not": None}
            self._document = next((one for one in listed if one["id"] == self.id), gone)
        return self._document

    @property
    def hits(self) -> int:
        """How often it fired."""
        return int(self.refresh()["hits"])

    @property
    def spent(self) -> bool:
        """Whether it has fired as often as it may."""
        return bool(self.refresh()["spent"])

    def cancel(self) -> None:
        """Take the fault away; harmless when it is gone already."""
        if self._is_there:
            self.refresh()
        self._cancel(required=False)

    def _cancel(self, *, required: bool) -> None:
        """Take it away; if ``required``, the next verification tells that it has not fired."""
        if not self._is_there:
            return
        self._cancelled = True
        with suppress(NotThereError):
            self._world.ask("DELETE", f"faults/{self.id}", query={"required": "true"} if required else None)


@dataclass(frozen=True, slots=True)
class RemoteSnapshot:
    """A copy of the state of a world elsewhere, for ``restore``.

    Attributes:
        id: its number there.
        world: whose it is.
        making: which making of that world; made anew, it has no copies of before.
    """

    id: int
    world: RemoteWorld
    making: int
