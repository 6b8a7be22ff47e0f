"""The verb that streams requests and changes of worlds as text/event-stream.

Each event becomes text when it happens, in the thread that causes it, and waits in a queue until the client reads it.
If a client reads too slowly, the queue overflows and the stream ends. It could also leave out events, but then the
client would not know of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from json import dumps
from queue import Empty, SimpleQueue
from sys import getsizeof
from typing import Final

from petstore_mock.common.real import Event, Lock
from petstore_mock.core.registry import DEFAULT_WORLD, Worlds
from petstore_mock.core.world import World, WorldEvent
from petstore_mock.journal.exchange import Exchange
from petstore_mock.journal.record import to_data
from petstore_mock.verbs.verb import EVENT_STREAM, WorldName, verb

_HEARTBEAT: Final = 10.0  # seconds; a stream detects a closed client only when it sends an event or heartbeat
_LONGEST_QUEUE: Final = 8 * 1024 * 1024  # bytes of the events that wait for a client
_END: Final = b""  # in a queue: no event follows


class EventFeed:
    """The events of one world until it ends, or of all worlds, as the bytes of text/event-stream."""

    def __init__(self, worlds: Worlds, only: World | None) -> None:
        self.overflowed = Event()
        self._worlds = worlds
        self._only = only
        self._queue: SimpleQueue[bytes] = SimpleQueue()
        self._counting = Lock()
        self._waiting = 0  # bytes in the queue

    def __iter__(self) -> Iterator[bytes]:
        watchers = self._worlds.host.watchers
        watchers.append(self._add)
        visiting = nullcontext() if self._only is None else self._worlds.visiting(self._only)
        try:
            with visiting:
                yield b": the events of petstore-mock\n\n"
                yield from self._events()
        finally:
            watchers.remove(self._add)

    def _events(self) -> Iterator[bytes]:
        while not self.overflowed.is_set():
            try:
                event = self._queue.get(timeout=_HEARTBEAT)
            except Empty:
                yield b": heartbeat\n\n"
                continue
            if event == _END:
                return
            self._count(-getsizeof(event))
            yield event

    def _add(self, world: World, change: WorldEvent, exchange: Exchange | None) -> None:
        """Queue an event. Any thread calls this."""
        if self.overflowed.is_set() or not self._shows(world):
            return
        kind = "world"
        value = {"event": change}
        if exchange is not None:
            kind = "request"
            value = to_data(exchange)
        data = dumps({"world": world.name or DEFAULT_WORLD, **value})
        event = f"event: {kind}\ndata: {data}\n\n".encode()
        if self._count(getsizeof(event)) > _LONGEST_QUEUE:
            self.overflowed.set()
            return
        self._queue.put(event)
        if self._only is not None and change == "ended":
            self._queue.put(_END)

    def _count(self, size: int) -> int:
        """Add to the bytes that wait, and return them. Worlds have separate locks, so threads can meet here."""
        with self._counting:
            self._waiting += size
            return self._waiting

    def _shows(self, world: World) -> bool:
        if self._only is not None:
            return self._only is world
        # A world without a name at another address belongs to a test of this process.
        return world.name is not None or world is self._worlds.default


@verb("GET", "events", media_type=EVENT_STREAM)
def follow_events(worlds: Worlds, name: WorldName | None = None) -> EventFeed:
    """Stream the requests and changes of this world: made, reset, cleared, ended. At the root, those of all worlds."""
    only = None if name is None else worlds.find(name)
    return EventFeed(worlds, only)
