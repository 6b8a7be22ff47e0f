"""CORS: lets pages of other origins use the service in a browser (https://fetch.spec.whatwg.org/#http-cors-protocol).

The interface does not mention it, so it is an option of the fake, and off by default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from petstore_mock.common.refusing import require
from petstore_mock.http.response import Response, is_field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Head

ANY: Final = "*"
ADDRESS: Final = r"(\[[0-9a-f:.]+\]|[a-z0-9._~-]+)(:[0-9]+)?"
# Browsers write an origin without a path, in lower case and without the default port.
_ORIGIN: Final = re.compile(rf"null|(?!http:.*:80$|https:.*:443$)[a-z][a-z0-9+.-]*://{ADDRESS}")
_PREFLIGHT: Final = "Access-Control-Request-Method"
_ALLOWED: Final = "Access-Control-Allow-Origin"
# The field of the response that allows what a preflight asks for.
_ALLOWING: Final = {
    "Method": "Access-Control-Allow-Methods",
    "Headers": "Access-Control-Allow-Headers",
    "Private-Network": "Access-Control-Allow-Private-Network",
}


def check_origin(name: str, origin: str) -> str:
    """Return the origin if a browser can send it (https://fetch.spec.whatwg.org/#origin-header)."""
    words = "an origin as browsers write it, such as http://localhost:5173"
    require(_ORIGIN.fullmatch(origin), words, **{name: origin})
    return origin


@dataclass(frozen=True, slots=True)
class Cors:
    """The origins whose pages may use the service; none, if the option is off."""

    origins: tuple[str, ...] = ()

    def answers(self, request: ApiRequest) -> bool:
        """Return whether a request is a preflight of a page that may use the service."""
        is_preflight = request.method == "OPTIONS" and request.header(_PREFLIGHT) is not None
        return is_preflight and self._admits(request)

    def opened(self, request: ApiRequest, response: Response) -> Response:
        """Return the response with the fields that let the page read it; the store may cache the original."""
        if not self.origins:
            return response
        return Response(self.open_head(request, response.head), response.body, response.date, response.wire_format)

    def open_head(self, request: ApiRequest, head: Head) -> Head:
        """Return the head of a response with the fields that let the page read it."""
        if not self.origins:
            return head
        fields: list[tuple[str, str]] = []
        if ANY not in self.origins:
            # A cache must not give one page the response for another one.
            former = head.get("Vary")
            fields.append(("Vary", "Origin" if former is None else f"{former}, Origin"))
        # A fault may set the field itself.
        if self._admits(request) and head.get(_ALLOWED) is None:
            origin = ANY if ANY in self.origins else request.header("Origin") or ""
            fields.append((_ALLOWED, origin))
            fields += _of_preflight(request) if self.answers(request) else _EXPOSED
        return head.with_fields(*fields)

    def _admits(self, request: ApiRequest) -> bool:
        origin = request.header("Origin")
        return origin is not None and not {ANY, origin}.isdisjoint(self.origins)


NO_PAGES: Final = Cors()
# Pages read all fields of a response, such as Retry-After.
_EXPOSED: Final = (("Access-Control-Expose-Headers", ANY),)


def _of_preflight(request: ApiRequest) -> Iterator[tuple[str, str]]:
    """Yield the fields that allow what a preflight asks for. A wrong method or field then gets its usual response."""
    for topic, allowing in _ALLOWING.items():
        value = request.header(f"Access-Control-Request-{topic}")
        if value is not None and is_field("X", value):
            yield allowing, value


def hidden_from(request: ApiRequest, head: Head) -> str | None:
    """Return the origin of the page from which a browser hides a response, or None."""
    origin = request.header("Origin")
    is_same = request.header("Sec-Fetch-Site") == "same-origin"
    # A request of the same origin came through the proxy of a page.
    if origin is None or is_same or head.get(_ALLOWED) in {ANY, origin}:
        return None
    return origin
