"""Environments of the process: proxies, a netrc file, another time zone, another locale, an IPv6 address."""

from __future__ import annotations

import locale
import os
import socket
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

from petstore_mock.common.refusing import one_of, refuse

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

# The sentence of a report for a bug that needs the environment.
ENVIRONMENTS: Final[Mapping[str, str]] = {
    "ipv6": "The bug needs an IPv6 address: it has colons, and a URL puts it in brackets (RFC 3986 §3.2.2).",
    "locale": "The bug needs a locale other than English: HTTP dates do not depend on the locale (RFC 9110 §5.6.7).",
    "netrc": "The bug needs a netrc entry for the host: with trust_env, libraries send the entry instead of the key.",
    "proxies": "The bug needs HTTP_PROXY with a proxy, and NO_PROXY with the host of the service.",
    "time_zone": "The bug needs a time zone other than UTC: HTTP dates are in UTC (RFC 9110 §5.6.7).",
}
DEFAULT_ENVIRONMENTS: Final = ("ipv6", "locale", "proxies", "time_zone")
IPV6_HOST: Final = "::1"
_ANOTHER_ZONE: Final = "IST-5:30"  # POSIX notation: five and a half hours ahead of UTC
_LOCALES: Final = ("de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "pt_BR.UTF-8", "ru_RU.UTF-8", "de-DE")
_NO_PROXY_HERE: Final = "http://127.0.0.1:9"  # the port of the discard service


@cache
def is_there(name: str) -> bool:
    """Whether this computer offers an environment: it may lack IPv6 addresses or another locale."""
    with suppress(OSError):
        if name == "ipv6":
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind((IPV6_HOST, 0))
        return name != "locale" or bool(_other_locale())
    return False


@cache
def _other_locale() -> str:
    """Return the name of an installed locale with non-English day names and a decimal comma, or an empty text."""
    before = locale.setlocale(locale.LC_ALL)
    try:
        for name in _LOCALES:
            with suppress(locale.Error):
                locale.setlocale(locale.LC_ALL, name)
                return name
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return ""


@contextmanager
def environment(name: str) -> Generator[None]:
    """Change the environment of the process within a ``with`` block.

    Args:
        name: the environment. In ``"proxies"``, HTTP_PROXY names a proxy that does not work. In ``"netrc"``, NETRC
            names a file with an entry for 127.0.0.1. ``"locale"`` is an installed locale other than English.
            ``"time_zone"`` is a zone other than UTC; it changes nothing on Windows. ``"ipv6"`` changes nothing: use a
            mock with ``host="::1"``.

    Raises:
        PetStoreMockError: there is no such environment, or no other locale is installed.
    """
    with ExitStack() as stack:
        if one_of(name, ENVIRONMENTS, "environment") == "proxies":
            variables = [f"{scheme}_proxy" for scheme in ("http", "https", "all")]
            values = dict.fromkeys([*variables, *map(str.upper, variables)], _NO_PROXY_HERE)
            stack.enter_context(patch.dict(os.environ, values))
        elif name == "netrc":
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "netrc"
            path.write_text("machine 127.0.0.1 login somebody password else\n", encoding="ascii")
            path.chmod(0o600)
            stack.enter_context(patch.dict(os.environ, NETRC=str(path)))
        elif name == "locale":
            found = _other_locale()
            if not found:
                refuse("expected an installed locale other than English; got none: install one, such as de_DE.UTF-8")
            stack.callback(locale.setlocale, locale.LC_ALL, locale.setlocale(locale.LC_ALL))
            locale.setlocale(locale.LC_ALL, found)
        elif name == "time_zone" and hasattr(time, "tzset"):
            stack.callback(time.tzset)  # runs after TZ is restored
            stack.enter_context(patch.dict(os.environ, TZ=_ANOTHER_ZONE))
            time.tzset()
        yield
