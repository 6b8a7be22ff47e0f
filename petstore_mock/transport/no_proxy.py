"""Adds the fake's host to ``NO_PROXY`` while it listens, so that clients use no proxy for it.

How this works: each listener and each connected object has an entry, which holds it weakly. While there are entries,
both variables hold the values of the program plus the hosts of the entries. After the last one, they hold the values
of the program again.

An object can be dropped without a stop, for example one of ``connect()`` without ``with``. The garbage collector may
find it at any moment, also while this thread holds the lock. So its callback only queues the entry if the lock is
taken, and the holder of the lock removes it.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from itertools import chain
from os import environ
from typing import TYPE_CHECKING, Final
from weakref import ref

from petstore_mock.common.real import Lock

if TYPE_CHECKING:
    from collections.abc import Generator

PROXIES: Final = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
# curl and libraries read either; most prefer the second.
_NAMES: Final = ("NO_PROXY", "no_proxy")
_lock: Final = Lock()
# The host of each listener.
_hosts: Final[dict[ref[object], str]] = {}
# Listeners that no longer exist, whose entries must go.
_dropped: Final[deque[ref[object]]] = deque()
# For each variable: the value before, and the value that we wrote.
_written: Final[dict[str, tuple[str | None, str]]] = {}


def exempt(listener: object, host: str) -> None:
    """Add the host of a listener; a repeated call restores a host that ``patch.dict`` removed."""
    entry = ref(listener, _drop)
    with _locked():
        is_exempt = _hosts.get(entry) == host and all(environ.get(name) == _written[name][1] for name in _NAMES)
        if not is_exempt:
            _hosts[entry] = host
            _write()


def unexempt(listener: object) -> None:
    """Remove the host of a listener; keep the values that the program has set meanwhile."""
    with _locked():
        if _hosts.pop(ref(listener), None) is not None:
            _write()


def _drop(entry: ref[object]) -> None:
    """Remove the host of a listener that no longer exists."""
    _dropped.append(entry)
    _remove_dropped()


@contextmanager
def _locked() -> Generator[None]:
    with _lock:
        yield
    _remove_dropped()


def _remove_dropped() -> None:
    """Remove the entries of dropped listeners, unless another caller holds the lock and does it afterwards."""
    while _dropped and _lock.acquire(blocking=False):
        try:
            _hosts.pop(_dropped.popleft(), None)
            _write()
        finally:
            _lock.release()


def _write() -> None:
    former = {name: _without_ours(name) for name in _NAMES}
    own = [*chain.from_iterable(map(_items, former.values()))]
    ours = ",".join(dict.fromkeys([*own, *_hosts.values()]))
    # IPv6 needs it: urllib looks for [::1], and httpx 0.28 raises InvalidURL if it finds that. No entry suits both.
    has_ipv6 = any(":" in host for host in _hosts.values())
    if has_ipv6 or set(own) == {"*"}:
        ours = "*"
    for name, text in former.items():
        if _hosts:
            environ[name] = ours
            _written[name] = text, ours
        elif text is None:
            environ.pop(name, None)
        else:
            environ[name] = text


def _without_ours(name: str) -> str | None:
    """Return the value of a variable as the program set it."""
    text = environ.get(name)
    before, ours = _written.pop(name, (text, text))
    if text is None:
        return None
    if text == ours:
        return before
    added = {*_items(ours)} - {*_items(before)}
    return ",".join(item for item in _items(text) if item not in added)


def _items(text: str | None) -> list[str]:
    items = (text or "").split(",")
    return [*filter(None, map(str.strip, items))]
