"""Which pages of other origins may use the service (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from petstore_mock.common.refusing import require

if TYPE_CHECKING:
    from collections.abc import Iterable

    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Response

_SENT: Final = "authorization, content-type"  # unless the preflight asks for others
# The fields that a page may read beside the few that every page may read.
_EXPOSED: Final = (
    "Access-Control-Expose-Headers",
    "Retry-After, Link, Deprecation, Sunset, WWW-Authenticate, Location, X-Total-Count",
)
# As browsers write them: without a path, in lower case and without the default port.
_HOST: Final = r"(\[[0-9a-f:]+\]|[a-z0-9._~-]+)(:[0-9]+)?"
_ORIGIN: Final = re.compile(rf"\*|null|(?!http:.*:80$|https:.*:443$)[a-z][a-z0-9+.-]*://{_HOST}")


@dataclass(frozen=True, slots=True)
class Cors:
    """The origins whose pages may use the service, and the header fields that tell this to browsers."""

    origins: frozenset[str] = frozenset()  # "*" stands for any

    def preflight(self, request: ApiRequest, methods: str = "") -> tuple[tuple[str, str], ...] | None:
        """Return what a browser asks before an allowed page may send a request; it asks without a key.

        Every header field that the page asks for is allowed: pages send fields of tracing, such as traceparent.
        """
        asks = request.method == "OPTIONS" and b"access-control-request-method" in request.fields.by_name
        if not asks or self._allowed(request) is None:
            return None
        asked = request.header("Access-Control-Request-Headers") or _SENT
        return (("Access-Control-Allow-Methods", methods), ("Access-Control-Allow-Headers", asked))

    def tell(self, response: Response, request: ApiRequest) -> None:
        """Let an allowed page of another origin read a response, errors and faults too."""
        if not self.origins or response.head.get("Access-Control-Allow-Origin") is not None:  # a fault may set it
            return
        origin = self._allowed(request)
        fields = () if origin is None else (("Access-Control-Allow-Origin", origin), _EXPOSED)
        if "*" not in self.origins:  # caches must keep the responses for different origins apart
            fields = (*fields, ("Vary", "Origin"))
        response.head = response.head.with_fields(*fields)

    def _allowed(self, request: ApiRequest) -> str | None:
        origin = "*" if "*" in self.origins else ",".join(request.values("origin"))
        return origin if origin in self.origins else None


def cors_of(name: str, given: object) -> Cors:
    """Return the rules for "*" or a list of origins as browsers write them. None allows no page."""
    is_list = hasattr(given, "__iter__") and not isinstance(given, (str, bytes))
    require(is_list or given in ("*", None), "a list of origins, or '*' for any", **{name: given})
    origins = frozenset(map(str, cast("Iterable[object]", given or ())))
    for one in origins:
        words = "an origin as browsers write it, such as http://localhost:5173, or '*' or 'null'"
        require(_ORIGIN.fullmatch(one), words, **{name: one})
    return Cors(origins)
