"""What a client meets in the environment of its process: proxies, a netrc file, an IPv6 address, a locale.

An example is in one of them at most, and the next one is not: what was there before is restored.
"""

from __future__ import annotations

import locale
import os
import socket
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
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
    "is_there",
    "variables",
]

# What may be drawn, and why it matters; a netrc file is for those who ask for it.
ENVIRONMENTS: Final[dict[str, str]] = {
    "ipv6": (
        "It happens only where the service has an IPv6 address: there brackets stand around the host, and colons in it "
        "(RFC 3986 §3.2.2)."
    ),
    "locale": (
        "It happens only in a locale that has other names of days than English and writes numbers otherwise: what goes "
        "over the wire does not depend on the locale of the process (RFC 9110 §5.6.7)."
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
DEFAULT_ENVIRONMENTS: Final = ("ipv6", "locale", "proxies", "time_zone")
IPV6_HOST: Final = "::1"
_OF_A_BLOCK: Final = ("locale", "netrc", "proxies")  # for the others there are PetStoreMock(host=...) and time_zone()
_IN_ENVIRONMENT: Final = {9: "ipv6", 8: "proxies", 7: "netrc", 6: "locale", 5: "locale"}  # by a digit of the number
# With other names of days, decimal commas and points between thousands; whichever is installed.
_LOCALES: Final = tuple(
    f"{name}{coding}"
    for coding in (".UTF-8", "")
    for name in ("de_DE", "es_ES", "fr_FR", "it_IT", "nl_NL", "pl_PL", "pt_BR", "ru_RU", "sv_SE", "tr_TR", "de-DE")
)
_IN_ENGLISH: Final = "Thu Jan"  # of 1 January 1970
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
    """Return where an example is, if it is anywhere in particular."""
    place = _IN_ENVIRONMENT.get(number // 12 % 10)
    return place if place is not None and place in allowed and is_there(place) else None


def is_there(place: str) -> bool:
    """Say whether this machine has what an environment takes: addresses of IPv6, or another locale."""
    return _has_ipv6() if place == "ipv6" else place != "locale" or bool(_other_locale())


def _other_locale() -> str:
    """Return the name of an installed locale in which days and numbers are written otherwise; "" for none."""
    before = locale.setlocale(locale.LC_ALL)
    try:
        for name in _LOCALES:
            with suppress(locale.Error):
                locale.setlocale(locale.LC_ALL, name)
                if (
                    locale.localeconv()["decimal_point"] == ","
                    and time.strftime("%a %b", time.gmtime(0)) != _IN_ENGLISH
                ):
                    return name
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return ""


@contextmanager
def _locale() -> Iterator[None]:
    name = _other_locale()
    if not name:
        raise PetStoreMockError(
            f"expected a locale with other names of days and a decimal comma, such as {', '.join(_LOCALES[:3])}; "
            "got none that is installed ('locale -a' lists them; on Debian, 'apt-get install locales-all' brings them)"
        )
    before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, name)
    try:
        yield
    finally:
        locale.setlocale(locale.LC_ALL, before)


@contextmanager
def environment(*names: str) -> Iterator[None]:
    """Let the process be in a certain environment within a block.

    Args:
        names: ``"proxies"``, where HTTP_PROXY names one that is out of order; ``"netrc"``, where NETRC names a file
            with an entry for 127.0.0.1; ``"locale"``, one that is installed and not English.

    Raises:
        PetStoreMockError: there is no such environment, or no such locale.
    """
    values: dict[str, str] = {}
    with ExitStack() as stack:
        for name in check_environments(names, _OF_A_BLOCK):
            if name == "proxies":
                values |= {f"{scheme}_proxy": _NO_PROXY_HERE for scheme in _PROXIED}
                values |= {f"{scheme}_proxy".upper(): _NO_PROXY_HERE for scheme in _PROXIED}
            elif name == "locale":
                stack.enter_context(_locale())
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
