"""Which pages of other origins may use the service (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from petstore_mock.common.refusing import require

if TYPE_CHECKING:
    from collections.abc import Iterable

    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Head

_SENT: Final = "authorization, content-type"  # unless the preflight asks for others
# The fields that a page may read beside the few that every page may read.
_EXPOSED: Final = "Retry-After, Link, Deprecation, Sunset, WWW-Authenticate, Location, X-Total-Count"
# As browsers write them: without a path, in lower case and without the default port.
_HOST: Final = r"(\[[0-9a-f:]+\]|[a-z0-9._~-]+)(:[0-9]+)?"
_ORIGIN: Final = re.compile(rf"\*|null|(?!http:.*:80$|https:.*:443$)[a-z][a-z0-9+.-]*://{_HOST}")


@dataclass(frozen=True, slots=True)
class Cors:
    """The origins whose pages may use the service, and the header fields that tell this to browsers."""

    origins: frozenset[str]  # "*" stands for any

    def permits_preflight(self, request: ApiRequest) -> bool:
        """Say whether a browser asks which requests an allowed page may send. It asks without a key."""
        asks = request.method == "OPTIONS" and b"access-control-request-method" in request.fields.by_name
        return asks and self._allowed(request) is not None

    def preflight_fields(self, methods: str, request: ApiRequest) -> tuple[tuple[str, str], ...]:
        """Allow what the page asks for: pages send fields of tracing, such as traceparent."""
        asked = request.header("Access-Control-Request-Headers") or _SENT
        return (("Access-Control-Allow-Methods", methods), ("Access-Control-Allow-Headers", asked))

    def with_fields(self, head: Head, request: ApiRequest) -> Head:
        origin = self._allowed(request)
        if head.get("Access-Control-Allow-Origin") is not None:  # a fault of the test sets it
            return head
        fields = [] if origin is None else [("Access-Control-Allow-Origin", origin)]
        if origin is not None and head.get("Access-Control-Allow-Methods") is None:
            fields.append(("Access-Control-Expose-Headers", _EXPOSED))
        if "*" not in self.origins:  # caches must keep the responses for different origins apart
            fields.append(("Vary", "Origin"))
        return head.with_fields(*fields)

    def _allowed(self, request: ApiRequest) -> str | None:
        origin = "*" if "*" in self.origins else ",".join(request.values("origin"))
        return origin if origin in self.origins else None


def cors_of(given: object) -> Cors | None:
    """Return the rules for "*" or a list of origins as browsers write them. None allows no page."""
    origins = [given] if given == "*" else [] if given is None else given
    is_list = hasattr(origins, "__iter__") and not isinstance(origins, (str, bytes))
    require(is_list, "cors as a list of origins, or '*' for any", cors=given)
    every = frozenset(map(str, cast("Iterable[object]", origins)))
    for one in every:
        words = "an origin as browsers write it, such as http://localhost:5173, or '*' or 'null'"
        require(_ORIGIN.fullmatch(one), words, cors=one)
    return Cors(every) if every else None
