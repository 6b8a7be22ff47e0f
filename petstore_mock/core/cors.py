"""Which pages of other origins may use the service (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

from petstore_mock.common.refusing import refuse, require, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Head

ANY_ORIGIN: Final = "*"

_SENT: Final = "authorization, content-type"  # by name: `*` does not cover the first
# The fields that a page may read beside the few that every page may read.
_EXPOSED: Final = "Retry-After, Link, Deprecation, Sunset, WWW-Authenticate, Location, X-Total-Count"
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Cors:
    """The origins whose pages may use the service, and the header fields that tell this to browsers."""

    def __init__(self, origins: Iterable[str]) -> None:
        self._origins = frozenset(origins)
        self._any = ANY_ORIGIN in self._origins
        self._dressed = lru_cache(maxsize=256)(self._dress)

    def __repr__(self) -> str:
        return f"<Cors {', '.join(sorted(self._origins))}>"

    def permits_preflight(self, request: ApiRequest) -> bool:
        """Say whether a browser asks for an allowed page which requests the page may send.

        The browser asks without a key, because the Fetch standard forbids to send one.
        """
        asks = request.method == "OPTIONS" and b"access-control-request-method" in request.fields.by_name
        return asks and self._allowed(request) is not None

    def preflight_fields(self, methods: str) -> tuple[tuple[str, str], ...]:
        return (("Access-Control-Allow-Methods", methods), ("Access-Control-Allow-Headers", _SENT))

    def with_fields(self, head: Head, request: ApiRequest) -> Head:
        """Return ``head`` with the fields that let the page of ``request`` read the response."""
        return self._dressed(head, self._allowed(request))

    def _allowed(self, request: ApiRequest) -> str | None:
        if self._any:
            return ANY_ORIGIN
        origin = ",".join(request.values("origin"))
        return origin if origin in self._origins else None

    def _dress(self, head: Head, origin: str | None) -> Head:
        if head.get("Access-Control-Allow-Origin") is not None:  # a fault of the test sets it
            return head
        fields: list[tuple[str, str]] = []
        if origin is not None:
            fields.append(("Access-Control-Allow-Origin", origin))
            if head.get("Access-Control-Allow-Methods") is None:
                fields.append(("Access-Control-Expose-Headers", _EXPOSED))
        if not self._any:  # caches must keep the responses for different origins apart
            fields.append(("Vary", "Origin"))
        return head.with_fields(*fields)


def cors_of(origins: object) -> Cors | None:
    """Return the rules for ``origins``: "*", or origins as browsers write them. None allows no page."""
    if origins is None:
        return None
    if origins == ANY_ORIGIN:
        return Cors([ANY_ORIGIN])
    is_list = hasattr(origins, "__iter__") and not isinstance(origins, (str, bytes))
    require(is_list, "cors as a list of origins, or '*' for any", cors=origins)
    given = cast("Iterable[object]", origins)
    every = [str(one) if one in {ANY_ORIGIN, "null"} else check_origin(one, ", '*' or 'null'") for one in given]
    return Cors(every) if every else None


def check_origin(origin: object, otherwise: str = "") -> str:
    """Return the origin of a page as browsers write it, or refuse it.

    Args:
        origin: what the author passed.
        otherwise: what else is right, to end a sentence with.
    """
    try:
        parts = urlsplit(origin if isinstance(origin, str) else "")
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:  # a wrong port, or wrong brackets
        scheme, host, port = "", None, None
    if not isinstance(origin, str) or not scheme or not host:
        refuse(f"expected an origin such as http://localhost:5173{otherwise}; got {shown(origin)}")
    shown_port = "" if port is None or port == _DEFAULT_PORTS.get(scheme) else f":{port}"
    written = f"{scheme}://{f'[{host}]' if ':' in host else host}{shown_port}"
    if origin != written:
        refuse(
            f"expected an origin as browsers write it, without a path, in lower case and without the default port: "
            f"{written!r}; got {origin!r}"
        )
    return origin
