"""The event stream of the door (``text/event-stream``): requests and worlds, as they come."""

from __future__ import annotations

import json
import threading
from contextlib import closing, nullcontext
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.control.documents import entry_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock.core.tenant import Tenant, WorldEvent
    from petstore_mock.core.tenants import Tenants
    from petstore_mock.journal.entry import Entry
    from petstore_mock.journal.journal import Journal

__all__ = ["event_stream"]

HEARTBEAT: Final = 10.0  # seconds: by a comment the server learns that a client has gone, and proxies keep the stream
LONGEST_QUEUE: Final = 10_000  # events that a client has not read; what comes then is counted
HEAVIEST_QUEUE: Final = 64 * 1024 * 1024  # bytes of their requests: the journal may have let them go long ago


class _Stream:
    """What one client of the stream is told, in the order in which it happened."""

    def __init__(self, tenants: Tenants, only: Tenant | None, name_of: Callable[[Tenant], str]) -> None:
        self._tenants = tenants
        self._only = only
        self._name_of = name_of
        self._queue: SimpleQueue[tuple[str, Entry | WorldEvent, int]] = SimpleQueue()  # names: worlds end
        self._weight = 0  # of what is in the queue
        self._weighing = threading.Lock()
        self._left_out = 0
        self._is_over = False  # the one world of the stream has ended
        self._followed: dict[Tenant, tuple[Journal, Callable[[Entry], object]]] = {}
        tenants.watch(self._changed)
        for tenant in tenants if only is None else (only,):
            self._follow(tenant)

    def _follow(self, tenant: Tenant) -> None:
        """Hear of each request of a world; made anew, it has another journal."""
        name = self._name_of(tenant)

        def came(entry: Entry) -> None:
            self._put(name, entry, entry.weight)

        self._forget(tenant)
        journal = tenant.world.journal
        journal.listen(came)
        self._followed[tenant] = (journal, came)

    def _put(self, name: str, event: Entry | WorldEvent, weight: int = 0) -> None:
        with self._weighing:
            if self._queue.qsize() >= LONGEST_QUEUE or self._weight > HEAVIEST_QUEUE:
                self._left_out += 1
                return
            self._weight += weight
        self._queue.put((name, event, weight))

    def _forget(self, tenant: Tenant) -> None:
        journal, listener = self._followed.pop(tenant, (None, None))
        if journal is not None and listener is not None:
            journal.unlisten(listener)

    def _changed(self, tenant: Tenant, event: WorldEvent) -> None:
        if self._only is not None and tenant is not self._only:
            return
        if event == "made":
            self._follow(tenant)
        elif event == "ended":
            self._forget(tenant)
        self._put(self._name_of(tenant), event)
        self._is_over = event == "ended" and tenant is self._only

    def close(self) -> None:
        self._tenants.unwatch(self._changed)
        for tenant in tuple(self._followed):
            self._forget(tenant)

    def lines(self) -> Iterator[bytes]:
        yield b": the events of petstore-mock\n\n"
        while True:
            try:
                name, event, weight = self._queue.get(timeout=HEARTBEAT)
            except Empty:
                if self._is_over:
                    return
                yield b": still here\n\n"
                continue
            with self._weighing:
                self._weight -= weight
            if isinstance(event, str):
                yield self._told("world", name, {"event": event})
                if event == "ended" and self._only is not None:
                    return
            else:
                yield self._told("request", name, entry_document(event))
            if self._left_out:
                left_out, self._left_out = self._left_out, 0
                yield f": {left_out} events are left out: they came faster than they were read\n\n".encode()

    def _told(self, kind: str, name: str, data: dict[str, Any]) -> bytes:
        if self._only is None or kind == "world":
            data = {"world": name, **data}
        return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def event_stream(tenants: Tenants, only: Tenant | None, name_of: Callable[[Tenant], str]) -> Iterator[bytes]:
    """Return the events from now on, until the client goes, or the one world that they are of ends.

    Args:
        tenants: the worlds.
        only: the world whose events they are; None for those of all.
        name_of: gives the name of a world.
    """
    stream = _events(tenants, only, name_of)
    next(stream)  # nothing may slip between; and one that has not begun, of which no line is read, could not be closed
    return stream


def _events(tenants: Tenants, only: Tenant | None, name_of: Callable[[Tenant], str]) -> Iterator[bytes]:
    with nullcontext() if only is None else tenants.visiting(only), closing(_Stream(tenants, only, name_of)) as stream:
        yield b""
        yield from stream.lines()
