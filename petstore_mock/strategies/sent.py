"""The faults that the machine sends, by subject, and the animals of broken successes."""

from __future__ import annotations

from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from petstore_mock import faults as kinds
from petstore_mock.interface.schemas import schema
from petstore_mock.interface.table import ANIMAL, FIELDS, LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.common.values import JsonObject
    from petstore_mock.faults import Fault

    Faults = tuple[Fault, ...]

_AS_JSON: Final = {"Content-Type": "application/json"}
# RFC 9110 §15 requires that a client treats a status that it does not know like the first of its class.
_STATUSES: Final = (
    *(300, 304, 305, 306, 399, 408, 409, 410, 412, 418, 421, 422, 425, 426, 431, 440, 451, 460, 494, 499),
    *(501, 504, 505, 507, 508, 511, 520, 521, 522, 524, 527, 529, 530, 561, 598),
)
_ERROR_BODIES: Final[tuple[Any, ...]] = (True, 5, "Internal error", [], {}, {"errors": [{"detail": "none"}]})
# Forms of Retry-After. None of them tells a client to wait: they are no numbers, or the wait is over.
_HINTS: Final = ("", "0.5", "nan", "1e0", "-0", "-1", "0", "0, 0", "soon", "Thu, 32 Foo 2026 25:61:61 GMT")
_IN_THE_PAST: Final = "2020-01-01"
_TELLING_STATUSES: Final = (429, 503)
_CHALLENGES: Final = ['Basic realm="a, b"', 'Bearer realm="pets", error="invalid_token"']
_CODINGS: Final = ("gzip-multi", "x-gzip", "deflate-zlib", "deflate-raw", "double", "gzip-cut")
_GATEWAY: Final = "<html><body>Bad gateway</body></html>"
_LOGIN: Final = "<html><body>Please log in</body></html>"


def _gateways() -> Iterator[Fault]:
    yield kinds.respond(502, body=_GATEWAY)
    yield kinds.respond(502, body="")
    yield kinds.respond(502, json={"error": "Bad gateway"})
    yield kinds.respond(502, json=["Bad gateway"])
    french = "<p>Passerelle défectueuse</p>"
    yield kinds.respond(502, body=french.encode("latin-1"))
    unknown = {"Content-Type": "text/html; charset=x-unknown"}
    yield kinds.respond(500, body="Fehler", headers=unknown)
    coded = {"Content-Encoding": "gzip"}
    yield kinds.respond(500, body="", headers=coded)


def _error_bodies() -> Iterator[Fault]:
    for document in _ERROR_BODIES:
        yield kinds.respond(500, json=document)
    for status in (400, 404):
        yield kinds.respond(status, json=["refused"])
    for text in ("null", "\ufeff{}"):
        yield kinds.respond(500, body=text, headers=_AS_JSON)


def _challenges() -> Iterator[Fault]:
    # The realm is optional (RFC 6750 §3).
    yield kinds.respond(401, headers={"WWW-Authenticate": "Bearer"})
    several = {"WWW-Authenticate": _CHALLENGES}
    yield kinds.respond(401, headers=several)


def _hints() -> Iterator[Fault]:
    yield kinds.rate_limited(None)
    yield kinds.rate_limited(_IN_THE_PAST)
    for status, hint in product(_TELLING_STATUSES, _HINTS):
        headers = {"Retry-After": hint}
        yield kinds.respond(status, headers=headers)


def _no_successes() -> Iterator[Fault]:
    yield kinds.respond(200, body="")
    yield kinds.respond(201, body="")
    yield kinds.respond(202, json={"queued": True})
    yield kinds.respond(203)
    yield kinds.respond(204)
    yield kinds.respond(206, json=[])
    yield kinds.respond(200, body=_LOGIN)
    yield kinds.respond(200, body="null", headers=_AS_JSON)
    yield kinds.respond(200, json={"message": "Down for maintenance"})


def _animal() -> JsonObject:
    """Return an animal with the required fields only."""
    animal: JsonObject = {}
    for name in schema(ANIMAL)["required"]:
        field = FIELDS[name]
        animal[name] = 1 if field.is_assigned else field.samples[0]
    return animal


def _broken_documents() -> Iterator[Any]:
    """Yield documents that break the interface, each in one way that services really break it."""
    animal = _animal()
    renamed = {**animal}
    renamed["title"] = renamed.pop(LABEL)
    yield renamed
    nameless: JsonObject = {**animal, LABEL: None}
    for name, field in FIELDS.items():
        if name not in animal:
            nameless[name] = field.samples[-1]
    yield nameless
    lacking = {**animal}
    lacking.popitem()
    yield [lacking]
    yield []
    yield {}
    yield {"pets": [animal]}
    # A client that looks at the first animal only does not notice the second one.
    yield [animal, {"id": 2}]


def _broken_successes() -> Iterator[Fault]:
    for document in _broken_documents():
        yield kinds.respond(200, json=document)
    yield kinds.respond(201, json={"id": 1})
    yield kinds.respond(201, json=[])


def _allowed_by_http() -> Iterator[Fault]:
    """Yield faults that HTTP allows, and that the usual libraries survive."""
    yield kinds.interim(100)
    yield kinds.many_fields()
    yield kinds.no_date()
    yield kinds.until_close()
    yield kinds.chunk_extras()
    yield kinds.reason_phrase("")
    yield kinds.reason_phrase("Voilà")
    yield from map(kinds.encoded, _CODINGS)


# Faults that take no time, except for the waits that some clients add. The simplest come first.
_QUICK: Final[dict[str, Faults]] = {}
_QUICK["failures"] = (
    *(kinds.server_error(500), kinds.server_error(503), kinds.respond(403)),
    *(kinds.bad_request(), kinds.unauthorized(), kinds.not_found()),
)
_QUICK["lost responses"] = (kinds.reset(), kinds.empty_reply())
_QUICK["damaged responses"] = (
    *(kinds.truncate(0.5), kinds.truncate(0.0), kinds.malformed_chunk()),
    *(kinds.malformed_json(), kinds.wrong_content_type()),
)
_QUICK["successes that are none"] = tuple(_no_successes())
_QUICK["successes that break the interface"] = tuple(_broken_successes())
_QUICK["errors of gateways"] = tuple(_gateways())
_QUICK["statuses"] = tuple(map(kinds.respond, _STATUSES))
_QUICK["error bodies"] = tuple(_error_bodies())
_QUICK["challenges"] = tuple(_challenges())
_QUICK["hints when to send again"] = tuple(_hints())
_QUICK["responses that HTTP allows"] = tuple(_allowed_by_http())
QUICK: Final[Mapping[str, Faults]] = MappingProxyType(_QUICK)
_SLOW: Final[dict[str, Faults]] = {}
_SLOW["late responses"] = (
    *(kinds.delay(0.05), kinds.dribble(10_000), kinds.server_error(503, delay=0.05)),
    *(kinds.hang(), kinds.stall_body(), kinds.sequence(503, kinds.hang())),
)
_SLOW["waits"] = (kinds.rate_limited(1), kinds.respond(503, headers={"Retry-After": "1"}))
SLOW: Final[Mapping[str, Faults]] = MappingProxyType(_SLOW)
# Faults that usual libraries do not survive, so no client meets them by default.
UNUSUAL: Final = (kinds.interim(103), kinds.surplus(), kinds.idle_408(), kinds.endless_body())
