"""The faults that the machine sends, by subject, and the animals of broken successes."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from petstore_mock import faults as kinds
from petstore_mock.interface.schemas import schema
from petstore_mock.interface.table import ANIMAL, FIELDS, LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def _gateways() -> Faults:
    french = "<p>Passerelle défectueuse</p>".encode("latin-1")
    unknown = {"Content-Type": "text/html; charset=x-unknown"}
    return (
        kinds.respond(502, body=_GATEWAY),
        kinds.respond(502, body=""),
        kinds.respond(502, json={"error": "Bad gateway"}),
        kinds.respond(502, json=["Bad gateway"]),
        kinds.respond(502, body=french),
        kinds.respond(500, body="Fehler", headers=unknown),
        kinds.respond(500, body="", headers={"Content-Encoding": "gzip"}),
    )


def _error_bodies() -> Faults:
    bodies = [kinds.respond(500, json=document) for document in _ERROR_BODIES]
    refused = [kinds.respond(status, json=["refused"]) for status in (400, 404)]
    texts = [kinds.respond(500, body=text, headers=_AS_JSON) for text in ("null", "\ufeff{}")]
    return (*bodies, *refused, *texts)


def _challenges() -> Faults:
    return (
        # The realm is optional (RFC 6750 §3).
        kinds.respond(401, headers={"WWW-Authenticate": "Bearer"}),
        kinds.respond(401, headers={"WWW-Authenticate": _CHALLENGES}),
    )


def _hints() -> Faults:
    hints = [kinds.rate_limited(None), kinds.rate_limited(_IN_THE_PAST)]
    for status in _TELLING_STATUSES:
        hints += [kinds.respond(status, headers={"Retry-After": hint}) for hint in _HINTS]
    return tuple(hints)


def _no_successes() -> Faults:
    return (
        kinds.respond(200, body=""),
        kinds.respond(201, body=""),
        kinds.respond(202, json={"queued": True}),
        kinds.respond(203),
        kinds.respond(204),
        kinds.respond(206, json=[]),
        kinds.respond(200, body=_LOGIN),
        kinds.respond(200, body="null", headers=_AS_JSON),
        kinds.respond(200, json={"message": "Down for maintenance"}),
    )


def _animal() -> dict[str, Any]:
    """Return an animal with the required fields only."""
    animal: dict[str, Any] = {}
    for name in schema(ANIMAL)["required"]:
        field = FIELDS[name]
        animal[name] = 1 if field.is_assigned else field.samples[0]
    return animal


def _broken_successes() -> Faults:
    """Return successes that break the interface, each in one way that services really break it."""
    animal = _animal()
    renamed = {"title" if name == LABEL else name: value for name, value in animal.items()}
    optional = {name: field.samples[-1] for name, field in FIELDS.items() if name not in animal}
    lacking = {**animal}
    lacking.popitem()
    documents: list[Any] = [renamed, {**animal, LABEL: None, **optional}, [lacking], [], {}, {"pets": [animal]}]
    # A client that looks at the first animal only does not notice the second one.
    documents.append([animal, {"id": 2}])
    successes = [kinds.respond(200, json=document) for document in documents]
    return (*successes, kinds.respond(201, json={"id": 1}), kinds.respond(201, json=[]))


def _allowed_by_http() -> Faults:
    """Return faults that HTTP allows, and that the usual libraries survive."""
    whole = (kinds.interim(100), kinds.many_fields(), kinds.no_date(), kinds.until_close(), kinds.chunk_extras())
    phrases = [kinds.reason_phrase(phrase) for phrase in ("", "Voilà")]
    return (*whole, *phrases, *(kinds.encoded(coding) for coding in _CODINGS))


# Faults that take no time, except for the waits that some clients add. The simplest come first.
QUICK: Final[Mapping[str, Faults]] = MappingProxyType(
    {
        "failures": (
            *(kinds.server_error(500), kinds.server_error(503), kinds.respond(403)),
            *(kinds.bad_request(), kinds.unauthorized(), kinds.not_found()),
        ),
        "lost responses": (kinds.reset(), kinds.empty_reply()),
        "damaged responses": (
            *(kinds.truncate(0.5), kinds.truncate(0.0), kinds.malformed_chunk()),
            *(kinds.malformed_json(), kinds.wrong_content_type()),
        ),
        "successes that are none": _no_successes(),
        "successes that break the interface": _broken_successes(),
        "errors of gateways": _gateways(),
        "statuses": tuple(map(kinds.respond, _STATUSES)),
        "error bodies": _error_bodies(),
        "challenges": _challenges(),
        "hints when to send again": _hints(),
        "responses that HTTP allows": _allowed_by_http(),
    }
)
SLOW: Final[Mapping[str, Faults]] = MappingProxyType(
    {
        "late responses": (
            *(kinds.delay(0.05), kinds.dribble(10_000), kinds.server_error(503, delay=0.05)),
            *(kinds.hang(), kinds.stall_body(), kinds.sequence(503, kinds.hang())),
        ),
        "waits": (kinds.rate_limited(1), kinds.respond(503, headers={"Retry-After": "1"})),
    }
)
# Faults that usual libraries do not survive, so no client meets them by default.
UNUSUAL: Final = (kinds.interim(103), kinds.surplus(), kinds.idle_408(), kinds.endless_body())
