"""The event stream of the door (``text/event-stream``): requests and worlds, as they come."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.control.documents import entry_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock.core.tenant import Tenant, WorldEvent
    from petstore_mock.core.tenants import Tenants

__all__ = ["event_stream"]

_HEARTBEAT: Final = 10.0  # seconds: by a comment the server learns that a client has gone, and proxies keep the stream


class _Followed:
    """How far a stream has told of one world's requests."""

    __slots__ = ("clears", "journal", "listener", "number")

    def __init__(self, tenant: Tenant, listener: Callable[[object], None]) -> None:
        self.journal = tenant.world.journal
        self.listener = listener
        self.number, self.clears = self.journal.total, self.journal.clears
        self.journal.listen(listener)

    def news(self) -> list[Any]:
        """Return the entries that nobody was told of."""
        journal = self.journal
        if journal.clears != self.clears:
            self.number, self.clears = 0, journal.clears
        entries = [entry for entry in journal.kept if entry.number > self.number]
        if entries:
            self.number = entries[-1].number
        return entries


class _Stream:
    """What one client of the stream is told."""

    def __init__(self, tenants: Tenants, only: Tenant | None, name_of: Callable[[Tenant], str]) -> None:
        self._tenants = tenants
        self._only = only
        self._name_of = name_of
        self._woken = threading.Event()
        self._lock = threading.Lock()
        self._followed: dict[Tenant, _Followed] = {}
        self._stirred: dict[Tenant, None] = {}
        self._worlds: list[tuple[Tenant, WorldEvent]] = []
        tenants.watch(self._changed)
        for tenant in tenants if only is None else (only,):
            self._follow(tenant)

    def _follow(self, tenant: Tenant) -> None:
        def stir(_: object) -> None:
            self._stirred[tenant] = None
            self._woken.set()

        former = self._followed.get(tenant)
        if former is not None:
            former.journal.unlisten(former.listener)
        self._followed[tenant] = _Followed(tenant, stir)

    def _changed(self, tenant: Tenant, event: WorldEvent) -> None:
        if self._only is not None and tenant is not self._only:
            return
        with self._lock:
            self._worlds.append((tenant, event))
            if event == "made":
                self._follow(tenant)  # its journal is another one
            elif event == "ended":
                self._followed.pop(tenant, None)
        self._woken.set()

    def close(self) -> None:
        self._tenants.unwatch(self._changed)
        for followed in self._followed.values():
            followed.journal.unlisten(followed.listener)

    def lines(self) -> Iterator[bytes]:
        yield b": the petstore's events\n\n"
        ended = False
        while not ended:
            if not self._woken.wait(_HEARTBEAT):
                yield b": still here\n\n"
                continue
            self._woken.clear()
            with self._lock:
                worlds, self._worlds = self._worlds, []
                stirred = [tenant for tenant in tuple(self._stirred) if self._stirred.pop(tenant, 0) is None]
                followed = [(tenant, self._followed[tenant]) for tenant in stirred if tenant in self._followed]
            for tenant, event in worlds:
                yield self._event("world", tenant, {"event": event})
                ended = event == "ended" and tenant is self._only
            for tenant, one in followed:
                for entry in one.news():
                    yield self._event("request", tenant, entry_document(entry))

    def _event(self, kind: str, tenant: Tenant, data: dict[str, Any]) -> bytes:
        if self._only is None or kind == "world":
            data = {"world": self._name_of(tenant), **data}
        return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def event_stream(tenants: Tenants, only: Tenant | None, name_of: Callable[[Tenant], str]) -> Iterator[bytes]:
    """Return the events from now on, until the client goes, or the one world that they are of ends.

    Args:
        tenants: the worlds.
        only: the world whose events they are; None for those of all.
        name_of: gives the name of a world.
    """
    stream = _Stream(tenants, only, name_of)  # now, not when the first line is asked for: nothing may slip between

    def lines() -> Iterator[bytes]:
        try:
            yield from stream.lines()
        finally:
            stream.close()

    return lines()
