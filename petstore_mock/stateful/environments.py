"""Environments of the process that a client may meet: proxies, a netrc file, another time zone, another locale."""

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

# Each with the reason why a client fails in it.
ENVIRONMENTS: Final[Mapping[str, str]] = {
    "ipv6": "It happens only at an IPv6 address: it has colons, and brackets around it (RFC 3986 §3.2.2).",
    "locale": "It happens only in another locale than English: HTTP does not depend on it (RFC 9110 §5.6.7).",
    "netrc": "It happens only with a netrc entry for the host: with trust_env, libraries send it instead of the key.",
    "proxies": "It happens only where HTTP_PROXY names a proxy, and NO_PROXY excepts the host of the service.",
    "time_zone": "It happens only in another time zone than UTC, which dates of HTTP are in (RFC 9110 §5.6.7).",
}
DEFAULT_ENVIRONMENTS: Final = ("ipv6", "locale", "proxies", "time_zone")
IPV6_HOST: Final = "::1"
_ANOTHER_ZONE: Final = "IST-5:30"  # as POSIX writes it: five and a half hours ahead of UTC
_LOCALES: Final = ("de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "pt_BR.UTF-8", "ru_RU.UTF-8", "de-DE")
_NO_PROXY_HERE: Final = "http://127.0.0.1:9"  # the port of the discard service


@cache
def is_there(name: str) -> bool:
    """Whether this machine has what an environment needs: addresses of IPv6, or another locale."""
    with suppress(OSError):
        if name == "ipv6":
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind((IPV6_HOST, 0))
        return name != "locale" or bool(_other_locale())
    return False


@cache
def _other_locale() -> str:
    """Return the name of an installed locale with other names of days and a decimal comma; "" for none."""
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
    """Put the process into an environment within a block.

    Args:
        name: ``"proxies"``, where HTTP_PROXY names a proxy that is out of order; ``"netrc"``, where NETRC names a file
            with an entry for 127.0.0.1; ``"locale"``, an installed locale other than English; ``"time_zone"``, another
            zone than UTC, where the system has zones; ``"ipv6"``, for which a mock with ``host="::1"`` is enough.

    Raises:
        PetStoreMockError: there is no such environment, or no such locale.
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
            found = _other_locale() or refuse("expected an installed locale other than English; got none")
            stack.callback(locale.setlocale, locale.LC_ALL, locale.setlocale(locale.LC_ALL))
            locale.setlocale(locale.LC_ALL, found)
        elif name == "time_zone" and hasattr(time, "tzset"):
            stack.callback(time.tzset)  # after TZ is what it was
            stack.enter_context(patch.dict(os.environ, TZ=_ANOTHER_ZONE))
            time.tzset()
        yield
