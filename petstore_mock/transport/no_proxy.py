"""Keeps proxies in the environment away from the fake: its host stands in ``NO_PROXY`` while it listens."""

from __future__ import annotations

from os import environ
from typing import Final

from petstore_mock.common.real import Lock

_NAMES: Final = ("NO_PROXY", "no_proxy")  # curl and libraries read the one or the other
_lock: Final = Lock()
_hosts: Final[list[str]] = []  # one entry a listener
_before: Final[dict[str, str | None]] = {}


def exempt(host: str) -> None:
    """Add ``host`` to the exceptions; each call needs one of :func:`unexempt`."""
    with _lock:
        if not _hosts:
            _before.update({name: environ.get(name) for name in _NAMES})
        _hosts.append(host)
        environ.update(written())


def unexempt(host: str) -> None:
    """Take ``host`` out again; after the last host the environment is as it was."""
    with _lock:
        _hosts.remove(host)
        environ.update(written())
        for name in () if _hosts else _NAMES:
            former = _before[name]
            if former is None:
                del environ[name]
            else:
                environ[name] = former


def written() -> dict[str, str]:
    """Return the variables as the fake sets them while it listens; empty while it does not."""
    values: dict[str, str] = {}
    for name, other in zip(_NAMES, reversed(_NAMES), strict=True):
        # Most libraries read `no_proxy` first: it must not hide the exceptions of the other, where only that is set.
        former = _before.get(name) or _before.get(other) or ""
        given = [item.strip() for item in former.split(",") if item.strip()]
        # A lone star exempts all. It also stands for IPv6, which libraries read in forms that exclude each other.
        everything = given == ["*"] or any(":" in host for host in _hosts)
        values[name] = "*" if everything else ",".join(dict.fromkeys([*given, *_hosts]))
    return values
