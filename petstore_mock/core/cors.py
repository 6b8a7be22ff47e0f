"""What a page of another origin may see (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol). No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from petstore_mock.contract.gap_policies import ResponseFields
    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import Head

__all__ = ["ANY_ORIGIN", "Cors", "check_origin", "cors_of"]

ANY_ORIGIN: Final = "*"

_HEADERS: Final = "authorization, content-type"  # by name: `*` does not cover the first
# What a page reads of an answer beyond the few fields that any page may (Cache-Control, Content-Type and their like).
_EXPOSED: Final = "Retry-After, Link, Deprecation, Sunset, WWW-Authenticate, Location, X-Total-Count"
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Cors:
    """The origins whose pages may use the service, and the header fields that tell their browsers so.

    Args:
        origins: those that are allowed, or ``"*"`` for any.
    """

    def __init__(self, origins: Iterable[str]) -> None:
        self._origins = frozenset(origins)
        self._any = ANY_ORIGIN in self._origins
        # The same heads go out again and again: each is made once.
        self._dressed = lru_cache(maxsize=256)(self._dress)

    def __repr__(self) -> str:
        return f"<Cors {', '.join(sorted(self._origins))}>"

    def permits_preflight(self, request: ApiRequest) -> bool:
        """Say whether a browser asks, on behalf of a page that is allowed, what the page may send.

        It asks without a key, which the Fetch Standard forbids it to send, and about paths and methods alike.
        """
        asks = request.method == "OPTIONS" and b"access-control-request-method" in request.fields.by_name
        return asks and self._allowed(request) is not None

    def preflight_fields(self, methods: str) -> ResponseFields:
        """Return what such a question is answered with; ``methods`` are those of the path."""
        return (("Access-Control-Allow-Methods", methods), ("Access-Control-Allow-Headers", _HEADERS))

    def with_fields(self, head: Head, request: ApiRequest) -> Head:
        """Return ``head`` as it goes out to the page that made ``request``, if a page did."""
        return self._dressed(head, self._allowed(request))

    def _allowed(self, request: ApiRequest) -> str | None:
        """Return the origin to be named as allowed, None for none."""
        if self._any:
            return ANY_ORIGIN
        origin = ",".join(request.values("origin"))
        return origin if origin in self._origins else None

    def _dress(self, head: Head, origin: str | None) -> Head:
        fields: ResponseFields = ()
        if head.get("Access-Control-Allow-Origin") is not None:  # of the test author's own answer, who means it
            return head
        if origin is not None:
            fields = (("Access-Control-Allow-Origin", origin),)
            if head.get("Access-Control-Allow-Methods") is None:
                fields = (*fields, ("Access-Control-Expose-Headers", _EXPOSED))
        if not self._any:  # the answer depends on who asks, also where nobody is allowed or none is named
            fields = (*fields, ("Vary", "Origin"))
        return head.with_fields(*fields)


def cors_of(origins: Any) -> Cors | None:  # noqa: ANN401  # checks whatever a test author passes
    """Return the rules for ``origins``, None for none: then no answer says a word to browsers.

    Args:
        origins: ``"*"``, or origins as browsers write them, such as ``http://localhost:5173``.

    Raises:
        PetStoreMockError: it is neither; says how a browser would write the origin.
    """
    if origins is None:
        return None
    if origins == ANY_ORIGIN:
        return Cors([ANY_ORIGIN])
    if isinstance(origins, (str, bytes)) or not isinstance(origins, Iterable):
        raise PetStoreMockError(f"expected cors as a list of origins, or '*' for any; got cors={origins!r}")
    every = list(origins)
    for origin in every:
        if origin not in {ANY_ORIGIN, "null"}:  # the latter is that of a page in a sandbox, or from a file
            check_origin(origin, ", '*' or 'null'")
    return Cors(every) if every else None


def check_origin(origin: object, otherwise: str = "") -> None:
    """Refuse what no browser sends as the Origin of a page of one site, and would never match.

    Args:
        origin: what was given.
        otherwise: what else might have been given, to end a sentence with.

    Raises:
        PetStoreMockError: it is none; says how a browser would write it.
    """
    try:
        parts = urlsplit(origin if isinstance(origin, str) else "")
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:  # of a port, or of brackets
        scheme, host, port = "", None, None
    if not scheme or not host:
        raise PetStoreMockError(f"expected an origin such as http://localhost:5173{otherwise}; got {origin!r}")
    shown_port = "" if port is None or port == _DEFAULT_PORTS.get(scheme) else f":{port}"
    written = f"{scheme}://{f'[{host}]' if ':' in host else host}{shown_port}"
    if origin != written:
        raise PetStoreMockError(
            f"expected an origin as browsers write it, without a path, in lower case and without the scheme's own "
            f"port: {written!r}; got {origin!r}"
        )
