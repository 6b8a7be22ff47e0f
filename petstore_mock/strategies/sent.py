"""The faults that the machine sends, by subject, and the animals of broken successes."""

from __future__ import annotations

from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from petstore_mock import faults as kinds
from petstore_mock.faults.changes import CODINGS
from petstore_mock.interface.schemas import schema
from petstore_mock.interface.table import ANIMAL, FIELDS, LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.faults import Fault

    Faults = tuple[Fault, ...]

_AS_JSON: Final = {"Content-Type": "application/json"}
# RFC 9110 §15 requires that a client treats a status that it does not know like the first of its class.
_STATUSES: Final = (
    300, 304, 305, 306, 399, 408, 409, 410, 412, 418, 421, 422, 425, 426, 431, 440, 451, 460, 494, 499,
    501, 504, 505, 507, 508, 511, 520, 521, 522, 524, 527, 529, 530, 561, 598,
)  # fmt: skip
# Forms of Retry-After. None of them tells a client to wait: they are no numbers, or the wait is over.
_HINTS: Final = (
    "", "0.5", "nan", "1e0", "-0", "-1", "0", "0, 0", "soon", "Thu, 32 Foo 2026 25:61:61 GMT",
    # The obsolete forms of dates, which a client must accept (RFC 9110 §5.6.7).
    "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
)  # fmt: skip
_GATEWAY: Final = "<html><body>Bad gateway</body></html>"

# Fields that a right response may have, in forms that real services send: cookies, and values that are no numbers.
_FURTHER: Final[Sequence[Mapping[str, str | list[str]]]] = (
    {"Set-Cookie": ["sid=a=b;; Path=/; HttpOnly", "seen=; Max-Age=soon; Expires=Wed, 21 Oct 2026 07:28:00 GMT"]},
    {"X-RateLimit-Limit": "100, 100;w=60", "X-RateLimit-Remaining": "991, 98", "X-RateLimit-Reset": "soon"},
    {"Link": '</v1/pets?a=b,c>; rel="help"; title="a;b", <>'},
    {"Content-Type": 'Application/JSON; Charset="UTF-8"'},
    {"X-Request-Id": "é", "Age": "soon"},
)

# Responses by subject: the status, and the arguments of ``faults.respond()``.
_Rows: TypeAlias = "list[tuple[int, JsonObject]]"
_NO_SUCCESSES: Final[_Rows] = [
    (200, {"body": ""}),
    (201, {"body": ""}),
    (202, {"json": {"queued": True}}),
    (203, {}),
    (204, {}),
    (206, {"json": []}),
    (200, {"body": "<html><body>Please log in</body></html>"}),
    (200, {"body": "null", "headers": _AS_JSON}),
    (200, {"json": {"message": "Down for maintenance"}}),
]
_GATEWAYS: Final[_Rows] = [
    (502, {"body": _GATEWAY}),
    (502, {"body": ""}),
    (502, {"json": {"error": "Bad gateway"}}),
    (502, {"json": ["Bad gateway"]}),
    (502, {"body": b"<p>Passerelle d\xe9fectueuse</p>"}),  # Latin-1
    (500, {"body": "Fehler", "headers": {"Content-Type": "text/html; charset=x-unknown"}}),
    (502, {"body": _GATEWAY, "headers": {"Content-Type": 'text/html; charset="utf-8"'}}),
    (500, {"body": "", "headers": {"Content-Encoding": "gzip"}}),
]
_ERRORS: Final[tuple[Json, ...]] = (True, 5, "Internal error", [], {}, {"errors": [{"detail": "none"}]})
_ERROR_BODIES: Final[_Rows] = [
    *((500, {"json": document}) for document in _ERRORS),
    (400, {"json": ["refused"]}),
    (404, {"json": ["refused"]}),
    (500, {"body": "null", "headers": _AS_JSON}),
    (500, {"body": "\ufeff{}", "headers": _AS_JSON}),
]
_CHALLENGES: Final[_Rows] = [
    (401, {"headers": {"WWW-Authenticate": "Bearer"}}),  # the realm is optional (RFC 6750 §3)
    (401, {"headers": {"WWW-Authenticate": ['Basic realm="a, b"', 'Bearer realm="pets", error="invalid_token"']}}),
]


def _responses(rows: _Rows) -> Faults:
    return tuple(kinds.respond(status, **given) for status, given in rows)


def _animal() -> JsonObject:
    """Return an animal with the required fields only."""
    animal: JsonObject = {}
    for name in schema(ANIMAL)["required"]:
        field = FIELDS[name]
        animal[name] = 1 if field.is_assigned else field.samples[0]
    return animal


def _broken_documents() -> list[Json]:
    """Return documents that break the interface, each in one way that services really break it."""
    animal = _animal()
    renamed = {**animal}
    renamed["title"] = renamed.pop(LABEL)
    nameless: JsonObject = {**animal, LABEL: None}
    for name, field in FIELDS.items():
        if name not in animal:
            nameless[name] = field.samples[-1]
    lacking = {**animal}
    lacking.popitem()
    # A client that looks at the first animal only does not notice the second one.
    return [renamed, nameless, [lacking], [], {}, {"pets": [animal]}, [animal, {"id": 2}]]


REFUSALS: Final = (kinds.bad_request(), kinds.unauthorized(), kinds.not_found())
# Faults that take no time, except for the waits that some clients add. The simplest come first.
QUICK: Final[Mapping[str, Faults]] = MappingProxyType(
    {
        "failures": (
            kinds.server_error(500),
            kinds.server_error(503),
            kinds.respond(403),
            *REFUSALS,
        ),
        "lost responses": (kinds.reset(), kinds.empty_reply()),
        "damaged responses": (
            kinds.truncate(0.5),
            kinds.truncate(0.0),
            kinds.malformed_chunk(),
            kinds.malformed_json(),
            kinds.wrong_content_type(),
        ),
        "successes that are none": _responses(_NO_SUCCESSES),
        "successes that break the interface": (
            *(kinds.respond(200, json=document) for document in _broken_documents()),
            kinds.respond(201, json={"id": 1}),
            kinds.respond(201, json=[]),
        ),
        "errors of gateways": _responses(_GATEWAYS),
        "statuses": tuple(map(kinds.respond, _STATUSES)),
        "error bodies": _responses(_ERROR_BODIES),
        "challenges": _responses(_CHALLENGES),
        "hints when to send again": (
            kinds.rate_limited(None),
            kinds.rate_limited("2020-01-01"),
            *(kinds.respond(status, headers={"Retry-After": hint}) for status, hint in product((429, 503), _HINTS)),
        ),
        # The usual libraries survive these.
        "responses that HTTP allows": (
            kinds.interim(100),
            kinds.many_fields(),
            kinds.no_date(),
            kinds.until_close(),
            kinds.chunk_extras(),
            kinds.no_spaces(),
            *map(kinds.extra_fields, _FURTHER),
            kinds.reason_phrase(""),
            kinds.reason_phrase("Voilà"),
            *map(kinds.encoded, CODINGS),
        ),
    }
)
# Drawn scenarios do not send the further responses. The first is longer than what some clients read of an error.
DIRECTED: Final = {
    **QUICK,
    "further responses": _responses([(502, {"body": _GATEWAY * 100}), (429, {"body": ""})]),
}
SLOW: Final[Mapping[str, Faults]] = MappingProxyType(
    {
        "late responses": (
            kinds.delay(0.05),
            kinds.dribble(10_000),
            kinds.server_error(503, delay=0.05),
            kinds.hang(),
            kinds.stall_body(),
            kinds.sequence(503, kinds.hang()),
        ),
        "waits": (kinds.rate_limited(1), kinds.respond(503, headers={"Retry-After": "1"})),
    }
)
# Faults that usual libraries do not survive, so no client meets them by default.
UNUSUAL: Final = (kinds.interim(103), kinds.surplus(), kinds.idle_408(), kinds.endless_body())
