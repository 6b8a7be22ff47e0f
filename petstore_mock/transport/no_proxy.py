"""Keeps proxies in the environment away from the fake: its host stands in ``NO_PROXY`` while it listens."""

from __future__ import annotations

import os
import threading
from typing import Final

__all__ = ["exempt", "unexempt"]

_NAMES: Final = ("NO_PROXY", "no_proxy")  # curl and libraries read the one or the other

_lock = threading.Lock()
_users: dict[str, int] = {}
_before: dict[str, str | None] = {}


def _write(hosts: list[str]) -> None:
    for name, other in zip(_NAMES, reversed(_NAMES), strict=True):
        # Where only the one is set, the new other must not hide what it exempts: most libraries read `no_proxy` first.
        former = _before[name] if _before[name] is not None else _before[other]
        given = [item.strip() for item in (former or "").split(",") if item.strip()]
        # Everything is exempt already, and only a lone star says so. And of an IPv6 address urllib wants `[::1]` in the
        # list, by which each client of httpx raises InvalidURL; the star is all that every library reads.
        if given == ["*"] or any(":" in host for host in hosts):
            os.environ[name] = "*"
            continue
        os.environ[name] = ",".join([*given, *(host for host in hosts if host not in given)])


def exempt(host: str) -> None:
    """Add ``host`` to the environment's exceptions; every call wants one of :func:`unexempt`."""
    with _lock:
        if not _users:
            _before.update({name: os.environ.get(name) for name in _NAMES})
        _users[host] = _users.get(host, 0) + 1
        _write(list(_users))


def unexempt(host: str) -> None:
    """Take ``host`` out again; after the last one the environment is as it was."""
    with _lock:
        left = _users.get(host, 0) - 1
        if left > 0:
            _users[host] = left
            return
        _users.pop(host, None)
        if _users:
            _write(list(_users))
            return
        for name, former in _before.items():
            if former is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = former
        _before.clear()
