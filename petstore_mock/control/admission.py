"""Who may use the door: the token, and the signs of a web page that reaches it through somebody's browser.

A page of any site can make a browser send requests to loopback and, with a name that the site controls (DNS rebinding),
read the responses. So the door demands an Origin of its own and a Host that no site can have, and answers no preflight.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import cut
from petstore_mock.common.refusing import require
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.http.request import ApiRequest
    from petstore_mock.interface.violations import Violation

PROBLEM_TYPE: Final = "application/problem+json"  # RFC 9457
TOKEN_HEADER: Final = "Petstore-Control-Token"  # noqa: S105  # its name
_LOOPBACK_HOSTS: Final = ("127.0.0.1", "[::1]", "localhost")
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._~-]+)(:[0-9]+)?", re.IGNORECASE | re.ASCII)


class ProblemError(PetStoreMockError):
    """A refusal with its status, the broken rules, and the header fields that HTTP demands for the status."""

    def __init__(self, status: int, detail: str, violations: Sequence[Violation] = (), **fields: str) -> None:
        super().__init__(detail)
        self.status = status
        self.violations = violations
        self.fields = {name.replace("_", "-"): value for name, value in fields.items()}


def is_loopback(address: str) -> bool:
    """Say whether only this machine reaches a listener at ``address``."""
    try:
        return ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def check_token(token: str) -> str:
    """Return a token that a header field can carry (RFC 9110 §5.5); the refusal does not show it."""
    fits = token and token.isascii() and token.isprintable() and token.strip() == token
    require(fits, "a control token of printable ASCII characters, without blanks around it", length=len(token))
    return token


def check_host(host: str) -> str:
    """Return a value that a Host field can have (RFC 9110 §7.2)."""
    require(_HOST.fullmatch(host), "a Host as its field has it, without scheme or path, such as proxy:8080", host=host)
    return host


@dataclass(frozen=True, slots=True)
class Admission:
    """What a request needs."""

    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()  # with or without a port
    allowed_origins: tuple[str, ...] = ()

    def check_source(self, request: ApiRequest, address: str, port: int, scheme: str, *, to_page: bool) -> None:
        """Refuse what a foreign web page may have sent; people come to the page itself by links."""
        host = (request.header("Host") or "").lower()
        own = [f"{name}:{port}" for name in _LOOPBACK_HOSTS]
        own += _LOOPBACK_HOSTS if port in {80, 443} else ()
        is_allowed = any(one.lower() in {host, host.rpartition(":")[0]} for one in self.allowed_hosts)
        if is_loopback(address) and host not in own and not is_allowed:
            raise ProblemError(
                403,
                f"expected a Host of this machine, {', '.join(own)}; got {cut(host, 100)!r}: a proxy must hand on the "
                "Host that it got, and --allowed-host must name it",
            )
        origins = request.values("Origin")
        for origin in origins:
            if origin.lower() != f"{scheme}://{host}" and origin not in self.allowed_origins:
                raise ProblemError(
                    403,
                    f"expected no Origin, or {scheme}://{cut(host, 100)}; got {cut(origin, 100)!r}: a page of another "
                    "origin may not steer the stub, unless --allowed-origin names it",
                )
        navigates = request.header("Sec-Fetch-Mode") == "navigate" and request.method in {"GET", "HEAD"}
        may_come = (to_page and navigates) or (origins and {*origins} <= {*self.allowed_origins})
        if request.header("Sec-Fetch-Site") in {"cross-site", "same-site"} and not may_come:
            raise ProblemError(403, "expected a request of this origin; got one that a page of another site made")

    def check_token(self, request: ApiRequest) -> None:
        """Refuse a request without the token or with another; compared in constant time."""
        given = request.header(TOKEN_HEADER) or ""
        if self.token is not None and not hmac.compare_digest(given.encode(), self.token.encode()):
            raise ProblemError(
                401,
                f"expected the header {TOKEN_HEADER} with the token of --control-token, or the one that the greeting "
                f"of serve shows; got {'another token' if given else 'none'}",
                WWW_Authenticate=f'{TOKEN_HEADER} realm="petstore control"',
            )
