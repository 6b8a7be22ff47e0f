"""Decides which requests may use the door, by the token and by the header fields that a browser adds.

A page of any site can make a browser send requests to loopback. With a host name that the site controls (DNS
rebinding), the page can also read the responses. So the door accepts only its own Origin and, on loopback, a Host that
no other site can have. ``Admission`` lists further hosts and origins to accept. A CORS preflight always fails.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import cut
from petstore_mock.common.refusing import require
from petstore_mock.core.refusals import ProblemError
from petstore_mock.http.cors import ADDRESS

if TYPE_CHECKING:
    from petstore_mock.http.request import ApiRequest

# RFC 9457
PROBLEM_TYPE: Final = "application/problem+json"
TOKEN_HEADER: Final = "Petstore-Control-Token"  # noqa: S105  # a name, no secret
_LOOPBACK_HOSTS: Final = ("127.0.0.1", "[::1]", "localhost")
_HOST: Final = re.compile(ADDRESS, re.IGNORECASE | re.ASCII)
_TOKEN: Final = re.compile(r"[!-~]([ -~]*[!-~])?")


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach a listener at an address or a name."""
    if address == "localhost":
        return True
    try:
        return ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def check_token(token: str) -> str:
    """Return the token if a header field can carry it (RFC 9110 §5.5)."""
    # The error must not show the token.
    words = "a control token of printable ASCII characters, without spaces around it"
    require(_TOKEN.fullmatch(token), words, length=len(token))
    return token


def check_host(host: str) -> str:
    """Return the host if it is a valid value of the Host field (RFC 9110 §7.2)."""
    require(_HOST.fullmatch(host), "a value of the header Host without scheme or path, such as proxy:8080", host=host)
    return host


@dataclass(frozen=True, slots=True)
class Admission:
    """The conditions that a request to the door must meet."""

    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()  # with or without a port
    allowed_origins: tuple[str, ...] = ()

    def check_source(self, request: ApiRequest, address: str, port: int, scheme: str, *, to_page: bool) -> None:
        """Refuse hosts of other sites, and requests from pages of other origins. Links to the console are accepted."""
        host = (request.header("Host") or "").lower()
        if is_loopback(address):
            self._check_host(host, port)
        origins = request.values("Origin")
        for origin in origins:
            self._check_origin(origin, f"{scheme}://{host}")
        if origins and {*origins}.issubset(self.allowed_origins):
            return
        # A page of another site may send a GET without an Origin.
        is_foreign = request.header("Sec-Fetch-Site") in {"cross-site", "same-site"}
        follows_link = to_page and _navigates(request)
        if is_foreign and not follows_link:
            raise ProblemError("expected a request from this origin; got one from a page of another origin", 403)

    def _check_host(self, host: str, port: int) -> None:
        """Refuse names of this machine that another site can have: it can make its own name lead to loopback."""
        own = [f"{name}:{port}" for name in _LOOPBACK_HOSTS]
        if port in {80, 443}:
            own += _LOOPBACK_HOSTS
        without_port = host.rpartition(":")[0]
        allowed = {name.lower() for name in self.allowed_hosts}
        if not {host, without_port} & allowed and host not in own:
            raise ProblemError(
                f"expected a Host of this machine, {', '.join(own)}; got {cut(host, 100)!r}. Behind a proxy, forward "
                "the Host of the client and name it with --allowed-host",
                403,
            )

    def _check_origin(self, origin: str, own: str) -> None:
        if origin.lower() != own and origin not in self.allowed_origins:
            raise ProblemError(
                f"expected no Origin, or {cut(own, 110)}; got {cut(origin, 100)!r}. If a proxy "
                "forwards requests of your own page, name the page's origin with --allowed-origin",
                403,
            )

    def check_token(self, request: ApiRequest) -> None:
        """Refuse a request without the right token. The comparison takes constant time."""
        if self.token is None:
            return
        sent = request.header(TOKEN_HEADER) or ""
        if not hmac.compare_digest(sent.encode(), self.token.encode()):
            got = "a wrong token" if sent else "no such header"
            raise ProblemError(
                f"expected the header {TOKEN_HEADER} with the token of --control-token, or with the token in the "
                f"greeting of serve; got {got}",
                401,
                WWW_Authenticate=f'{TOKEN_HEADER} realm="petstore control"',
            )


def _navigates(request: ApiRequest) -> bool:
    """Return whether a browser opens an address, as it does for a link."""
    if request.method not in {"GET", "HEAD"}:
        return False
    return request.header("Sec-Fetch-Mode") == "navigate"
