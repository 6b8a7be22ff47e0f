"""Who may come in: the token, and the signs of a web page that reaches the door through somebody's browser.

A page of any site can make a browser send requests to loopback, and with a name that it controls (DNS rebinding) even
read the answers. So the door asks for an Origin of its own, for a Host that nobody else can own, and answers no
preflight; it is no gate against programs of this machine, which need a token where the stub listens further out.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from petstore_mock.control.problems import ProblemError
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from werkzeug import Request

__all__ = ["TOKEN_HEADER", "Admission", "check_host", "check_token", "is_loopback"]

TOKEN_HEADER: Final = "Petstore-Control-Token"  # noqa: S105  # its name
_LOOPBACK_HOSTS: Final = ("127.0.0.1", "[::1]", "localhost")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._~-]+)(:[0-9]+)?", re.IGNORECASE | re.ASCII)
_FOREIGN_SITES: Final = frozenset({"cross-site", "same-site"})


def is_loopback(address: str) -> bool:
    """Say whether what listens at ``address``, as the system gives it, can be reached from this machine alone."""
    try:
        return ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def check_token(token: object) -> None:
    """Refuse a token that no header field can carry as it is (RFC 9110 §5.5).

    Raises:
        PetStoreMockError: it is none; the token itself is not told.
    """
    if (
        not isinstance(token, str)
        or not token
        or not (token.isascii() and token.isprintable())
        or token.strip() != token
    ):
        raise PetStoreMockError(
            "expected a control token of printable ASCII characters, without blanks around it; got another one "
            f"({type(token).__name__})"
        )


def check_host(host: str) -> None:
    """Refuse what no Host field says (RFC 9110 §7.2), and would never match.

    Raises:
        PetStoreMockError: it is none.
    """
    if not _HOST.fullmatch(host):
        raise PetStoreMockError(
            f"expected a host as the field Host has it, without scheme or path, such as proxy:8080; got {host!r}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What a request needs to come in.

    Attributes:
        token: the value of ``Petstore-Control-Token``; None where the door is open without one.
        loopback: whether the stub listens on loopback alone: then the Host must be one of loopback's.
        port: the port at which the door listens.
        allowed_hosts: further values of Host, with or without a port.
        allowed_origins: further values of Origin.
    """

    token: str | None = None
    loopback: bool = True
    port: int = 0
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()

    def check_source(self, request: Request, *, to_page: bool) -> None:
        """Refuse what a foreign web page may have sent.

        Args:
            request: the request.
            to_page: whether it asks for the page itself, to which people come by links.

        Raises:
            ProblemError: 403.
        """
        host = request.headers.get("Host", "")
        if self.loopback and not self._is_own_host(host, request.scheme):
            raise ProblemError(
                403,
                f"expected a Host of this machine, {', '.join(f'{name}:{self.port}' for name in _LOOPBACK_HOSTS)}; got "
                f"{host[:100]!r}: a proxy must hand on the one that it was asked by, named by --allowed-host",
            )
        origins = request.headers.getlist("Origin")
        is_allowed = bool(origins) and all(origin in self.allowed_origins for origin in origins)
        own = f"{request.scheme}://{host}".lower()
        for origin in origins:
            if origin.lower() != own and origin not in self.allowed_origins:
                raise ProblemError(
                    403,
                    f"expected no Origin, or {own[:200]!r}; got {origin[:200]!r}: a page of another origin may not "
                    "steer the stub, unless --allowed-origin names it",
                )
        if request.headers.get("Sec-Fetch-Site") in _FOREIGN_SITES and not is_allowed:
            navigates = request.headers.get("Sec-Fetch-Mode") == "navigate" and request.method in {"GET", "HEAD"}
            if not (to_page and navigates):
                raise ProblemError(403, "expected a request of this origin; got one that a page of another site made")

    def check_token(self, request: Request) -> None:
        """Refuse a request without the token, or with another; compared in constant time.

        Raises:
            ProblemError: 401.
        """
        if self.token is None:
            return
        given = request.headers.getlist(TOKEN_HEADER)
        if len(given) == 1 and hmac.compare_digest(given[0].encode("utf-8", "replace"), self.token.encode()):
            return
        came = "none" if not given else "another one" if len(given) == 1 else f"{len(given)} of them"
        raise ProblemError(
            401,
            f"expected the header {TOKEN_HEADER} with the token of --control-token, or the one that the greeting of "
            f"serve shows; got {came}",
            headers={"WWW-Authenticate": f'{TOKEN_HEADER} realm="petstore control"'},
        )

    def _is_own_host(self, host: str, scheme: str) -> bool:
        host = host.lower()
        suffixes = [f":{self.port}", *([""] if self.port == _DEFAULT_PORTS.get(scheme) else [])]
        if host in {f"{name}{suffix}" for name in _LOOPBACK_HOSTS for suffix in suffixes}:
            return True
        bare = host.rpartition(":")[0]
        return any(allowed.lower() in {host, bare} for allowed in self.allowed_hosts)
