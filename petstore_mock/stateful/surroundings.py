"""What a client meets in the environment of its process: proxies, a netrc file, an IPv6 address.

An example is in one of them at most, and the next one is not: what was there before is restored.
"""

from __future__ import annotations

import os
import socket
import tempfile
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.suggestions import did_you_mean
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = [
    "DEFAULT_ENVIRONMENTS",
    "ENVIRONMENTS",
    "IPV6_HOST",
    "check_environments",
    "environment",
    "in_environment",
    "variables",
]

# What may be drawn, and why it matters; a netrc file is for those who ask for it.
ENVIRONMENTS: Final[dict[str, str]] = {
    "ipv6": (
        "It happens only where the service has an IPv6 address: there brackets stand around the host, and colons in it "
        "(RFC 3986 §3.2.2)."
    ),
    "netrc": (
        "It happens only where a netrc file has an entry for the service's host: libraries that trust the environment "
        "(trust_env) put it in the place of an Authorization among the headers, or raise."
    ),
    "proxies": (
        "It happens only where HTTP_PROXY names a proxy, which is out of order, and NO_PROXY excepts the service's "
        "host: who heeds the one has to heed the other."
    ),
    "time_zone": "",  # Scenario.time_zone says which
}
DEFAULT_ENVIRONMENTS: Final = ("ipv6", "proxies", "time_zone")
IPV6_HOST: Final = "::1"
_OF_A_BLOCK: Final = ("netrc", "proxies")  # for the others there are PetStoreMock(host=...) and time_zone()
_PROXIED: Final = ("http", "https", "all")
_NO_PROXY_HERE: Final = "http://127.0.0.1:9"  # the port that discards what comes, where there is anything


def check_environments(given: Any, known: Collection[str] = ENVIRONMENTS) -> tuple[str, ...]:  # noqa: ANN401  # checks whatever a test author passes
    """Return the names that were given, of those that are known.

    Raises:
        PetStoreMockError: one of them is unknown.
    """
    names = tuple(given) if not isinstance(given, str) and hasattr(given, "__iter__") else (given,)
    for name in names:
        if name not in known:
            raise PetStoreMockError(
                f"expected environment to name some of {', '.join(known)}; got {name!r}{did_you_mean(name, known)}"
            )
    return names


@cache
def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind((IPV6_HOST, 0))
    except OSError:
        return False
    return True


def in_environment(number: int, allowed: Collection[str]) -> str | None:
    """Return where an example is, if it is anywhere in particular.

    Args:
        number: that of the example.
        allowed: where it may be.
    """
    place = dict(zip((9, 8, 7), ("ipv6", "proxies", "netrc"), strict=True)).get(number // 12 % 10)
    return place if place in allowed and (place != "ipv6" or _has_ipv6()) else None


@contextmanager
def environment(*names: str) -> Iterator[None]:
    """Let the process be in a certain environment within a block.

    Args:
        names: ``"proxies"``, where HTTP_PROXY names one that is out of order; ``"netrc"``, where NETRC names a file
            with an entry for 127.0.0.1.

    Raises:
        PetStoreMockError: there is no such environment.
    """
    values: dict[str, str] = {}
    with ExitStack() as stack:
        for name in check_environments(names, _OF_A_BLOCK):
            if name == "proxies":
                values |= {f"{scheme}_proxy": _NO_PROXY_HERE for scheme in _PROXIED}
                values |= {f"{scheme}_proxy".upper(): _NO_PROXY_HERE for scheme in _PROXIED}
            else:
                path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "netrc"
                path.write_text("machine 127.0.0.1 login somebody password else\n", encoding="ascii")
                path.chmod(0o600)
                values["NETRC"] = str(path)
        with variables(values):
            yield


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Let the environment have these values within a block; the others stay, since other threads may read them."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
