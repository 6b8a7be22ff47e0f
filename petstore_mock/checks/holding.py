"""What keeps a closed client in memory, and which of a client's containers grow.

How this works: :func:`_containers` walks from the client, its classes and their modules to the lists, dicts and sets
that these have. Objects of libraries are left out, because the author of a client can't change them.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections import deque
from types import FrameType, MethodType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from petstore_mock.checks.reading import is_own

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

Named: TypeAlias = "list[tuple[str, Any]]"
_CONTAINERS: Final = (dict, list, set, deque)
_MOST: Final = 300  # objects that one walk looks at
_MOST_ITEMS: Final = 20  # of a container
_FROM_CALL: Final = 5  # equal calls after which a client has filled its caches
_CALLS: Final = 20  # further equal calls


def holders(client: object, test: str) -> list[str]:
    """Return the containers that keep a client in memory. Variables of the module ``test`` do not count."""
    containers = _containers(_homes(type(client), test))
    return [name for name, held in containers if any(one is client for one in _items(held))]


def hidden_holders(client: object) -> list[str]:
    """Return the callbacks, such as those of ``atexit``, that keep a client in memory, in words."""
    found: list[str] = []
    referrers = gc.get_referrers(client)
    for referrer in referrers:
        # Only C code, such as that of atexit, has references that nobody sees.
        holders = [one for one in gc.get_referrers(referrer) if one is not referrers]
        is_hidden = all(isinstance(one, FrameType) for one in holders)
        if is_hidden and isinstance(referrer, MethodType):
            found.append("a callback, for example of atexit,")
    return found


class Growth:
    """Compares the sizes of a client's containers before and after many equal calls."""

    def __init__(self, client: object, test: str) -> None:
        self._client = client
        self._test = test
        self._latest: object = None
        self._count = 0
        self._sizes: Mapping[str, int] = {}

    def note(self, call: object) -> list[str]:
        """Note a successful call, and return the names of the containers that have grown with each equal call."""
        self._count = self._count + 1 if call == self._latest else 0
        self._latest = call
        if self._count == _FROM_CALL:
            self._sizes = self._measured()
        if self._count != _FROM_CALL + _CALLS:
            return []
        now = self._measured()
        return [name for name, size in now.items() if size >= self._sizes.get(name, 0) + _CALLS]

    def _measured(self) -> dict[str, int]:
        waiting = [("client", self._client), *_homes(type(self._client), self._test)]
        return {name: _size(held) for name, held in _containers(waiting)}


def _size(held: Collection[Any]) -> int:
    """Return the number of items without the threads and tasks that still run: these need their place."""
    if getattr(held, "maxlen", None):
        # It stops growing by itself.
        return 0
    return len(held) - sum(map(_runs, _items(held)))


def _runs(item: object) -> bool:
    if isinstance(item, threading.Thread):
        return item.is_alive()
    return isinstance(item, asyncio.Future) and not item.done()


def _homes(kind: type, test: str) -> Named:
    """Return the client's own classes and their modules."""
    homes: Named = []
    for one in kind.__mro__:
        if is_own(one.__module__):
            homes.append((one.__name__, one))
            if one.__module__ != test:
                homes.append((one.__module__, sys.modules.get(one.__module__)))
    return homes


def _containers(waiting: Named) -> Iterator[tuple[str, Collection[Any]]]:
    """Yield the containers that some objects have, with names."""
    known: dict[int, object] = {}
    while waiting and len(known) < _MOST:
        name, value = waiting.pop(0)
        if id(value) in known:
            continue
        known[id(value)] = value
        if isinstance(value, _CONTAINERS):
            yield name, value
            parts = [(f"{name}[...]", item) for item in _items(value)[:_MOST_ITEMS]]
        else:
            members = {**getattr(value, "__dict__", {})}
            parts = [(f"{name}.{part}", member) for part, member in members.items()]
        waiting += [part for part in parts if _is_followed(part[1])]


def _is_followed(value: object) -> bool:
    """Whether a value is a container, or an object of a class that no library has."""
    if isinstance(value, _CONTAINERS):
        return True
    if callable(value) or not hasattr(value, "__dict__"):
        return False
    return is_own(type(value).__module__)


def _items(held: Any) -> list[Any]:  # noqa: ANN401  # a container of any items
    return [*held, *held.values()] if isinstance(held, dict) else [*held]
