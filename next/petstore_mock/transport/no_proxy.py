"""Keeps proxies in the environment away from the fake: its host stands in ``NO_PROXY`` while it listens."""

from __future__ import annotations

from os import environ
from typing import Final

from petstore_mock.common.real import Lock

_NAMES: Final = ("NO_PROXY", "no_proxy")  # curl and libraries read the one or the other
_lock: Final = Lock()
_users: Final[dict[str, int]] = {}
_before: Final[dict[str, str | None]] = {}
written: Final[dict[str, str]] = {}  # the variables as the fake has set them, while one listens


def exempt(host: str) -> None:
    """Add ``host`` to the exceptions; each call needs one of :func:`unexempt`."""
    with _lock:
        if not _users:
            _before.update({name: environ.get(name) for name in _NAMES})
        _users[host] = _users.get(host, 0) + 1
        _write()


def unexempt(host: str) -> None:
    """Take ``host`` out again; after the last host the environment is as it was."""
    with _lock:
        _users[host] = _users.get(host, 0) - 1
        if _users[host] <= 0:
            del _users[host]
        if _users:
            _write()
            return
        written.clear()
        for name, former in _before.items():
            if former is None:
                environ.pop(name, None)
            else:
                environ[name] = former


def _write() -> None:
    for name, other in zip(_NAMES, reversed(_NAMES), strict=True):
        # Most libraries read `no_proxy` first: it must not hide the exceptions of the other, where only that is set.
        former = _before[name] if _before[name] is not None else _before[other]
        given = [item.strip() for item in (former or "").split(",") if item.strip()]
        # A lone star exempts all. It also stands for IPv6 addresses, which libraries read in forms that exclude
        # each other.
        everything = given == ["*"] or any(":" in host for host in _users)
        written[name] = "*" if everything else ",".join([*given, *(host for host in _users if host not in given)])
    environ.update(written)
