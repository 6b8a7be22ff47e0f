"""Keeps proxies in the environment away from the fake: its host stands in ``NO_PROXY`` while it listens."""

from __future__ import annotations

from os import environ
from typing import Final

from petstore_mock.common.real import Lock

_NAMES: Final = ("NO_PROXY", "no_proxy")  # curl and libraries read the one or the other, most the second first
_lock: Final = Lock()
_hosts: Final[dict[object, str]] = {}  # by listener
_before: Final[dict[str, str | None]] = {}


def exempt(listener: object, host: str) -> None:
    """Add the host of a listener to the exceptions."""
    with _lock:
        if not _hosts:
            _before.update({name: environ.get(name) for name in _NAMES})
        _hosts[listener] = host
        _write()


def unexempt(listener: object) -> None:
    """Take the host of a listener out again; after the last one the environment is as it was."""
    with _lock:
        if _hosts.pop(listener, None) is not None:
            _write()


def _write() -> None:
    given = [item.strip() for former in _before.values() for item in (former or "").split(",") if item.strip()]
    # A lone star exempts all. It also stands for IPv6, which libraries read in forms that exclude each other.
    everything = set(given) == {"*"} or any(":" in host for host in _hosts.values())
    for name, former in _before.items():
        if _hosts:
            environ[name] = "*" if everything else ",".join(dict.fromkeys([*given, *_hosts.values()]))
        elif former is None:
            environ.pop(name, None)
        else:
            environ[name] = former
