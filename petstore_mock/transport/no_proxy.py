"""Keeps proxies in the environment away from the fake: its host stands in ``NO_PROXY`` while it listens."""

from __future__ import annotations

import os
import threading
from typing import Final

__all__ = ["exempt", "unexempt", "written"]

_NAMES: Final = ("NO_PROXY", "no_proxy")  # curl and libraries read the one or the other

_lock = threading.Lock()
users: dict[str, int] = {}
before: dict[str, str | None] = {}
written: dict[str, str] = {}  # the variables as they are for the mocks' sake, while one listens


def _write(hosts: list[str]) -> None:
    for name, other in zip(_NAMES, reversed(_NAMES), strict=True):
        # Where only the one is set, the new other must not hide what it exempts: most libraries read `no_proxy` first.
        former = before[name] if before[name] is not None else before[other]
        given = [item.strip() for item in (former or "").split(",") if item.strip()]
        # Everything is exempt already, and only a lone star says so. And of an IPv6 address urllib wants `[::1]` in the
        # list, by which each client of httpx raises InvalidURL; the star is all that every library reads.
        all_of_them = given == ["*"] or any(":" in host for host in hosts)
        written[name] = "*" if all_of_them else ",".join([*given, *(host for host in hosts if host not in given)])
    os.environ.update(written)


def exempt(host: str) -> None:
    """Add ``host`` to the environment's exceptions; every call wants one of :func:`unexempt`."""
    with _lock:
        if not users:
            before.update({name: os.environ.get(name) for name in _NAMES})
        users[host] = users.get(host, 0) + 1
        _write(list(users))


def unexempt(host: str) -> None:
    """Take ``host`` out again; after the last one the environment is as it was."""
    with _lock:
        left = users.get(host, 0) - 1
        if left > 0:
            users[host] = left
            return
        users.pop(host, None)
        if users:
            _write(list(users))
            return
        for name, former in before.items():
            if former is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = former
        before.clear()
        written.clear()
