"""The table of kinds of faults: each row has all that JSON, ``repr``, documents, core and connection ask about one."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from json import dumps, loads
from typing import Any, Final, NamedTuple

from petstore_mock.common.dates import iso, moment_of
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import refuse, require, shown
from petstore_mock.common.values import is_number
from petstore_mock.http.response import Head, is_field
from petstore_mock.interface.schemas import quick

REQUIRED: Final = object()
_LARGEST_NUMBER: Final = 2**63
# The adapters set these. A wrong one is a fault or a gap of its own.
_FRAMING: Final = frozenset({"content-length", "transfer-encoding", "connection", "date"})

Schema = Mapping[str, Any]


class Argument(NamedTuple):
    """One argument of a kind."""

    schema: Schema  # of its JSON form; the description says what is expected
    default: Any = REQUIRED
    parse: Callable[[str, Any], Any] | None = None  # returns the value as it is kept, or refuses it


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault."""

    sentence: str  # its effect on the client
    arguments: Mapping[str, Argument] = field(default_factory=dict[str, Argument])  # of its function, by name
    status: int = 0  # of the response that it makes; 0 where it makes none, or an argument says it
    responds: bool = False  # instead of the operation
    loses_response: bool = False  # the client does not get the operation's response
    readable: bool = False  # a patient client can read the operation's response
    only_slows: bool = False  # the operation's response arrives whole and true
    waits: bool = False  # the client waits until it gives up
    delivery: str | None = None  # how the connection sends the response; None for whole
    corrupts: Callable[[Head, bytes], tuple[Head, bytes]] | None = None  # the operation's response
    meets_handshakes: bool = False  # connections in their TLS handshake, not requests

    @property
    def needs_socket(self) -> bool:
        """Whether only a real connection can show it."""
        return self.delivery is not None or self.meets_handshakes


# The arguments


def _status(least: int) -> Schema:
    words = f"an HTTP status from {least} to 599"
    return {"type": "integer", "minimum": least, "maximum": 599, "description": words}


def _number(description: str, **bounds: float) -> Schema:
    return {"type": "number", "maximum": _LARGEST_NUMBER, "description": description, **bounds}


_TIME: Final = _number("seconds from 0 to 3600, or a pair (low, high) of them", minimum=0, maximum=3600)
_TIMES: Final = {"anyOf": [_TIME, {"type": "array", "items": _TIME, "minItems": 2, "maxItems": 2}]}


def _seconds(name: str, value: Any) -> Any:  # noqa: ANN401  # parsers take whatever a test passes
    if value is None and name == "delay":
        return None
    pair: tuple[Any, Any] = tuple(value) if is_array(value) and len(value) == 2 else (value, value)
    low, high = pair
    in_range = all(map(quick(_TIME), pair)) and low <= high
    require(in_range, _TIME["description"], **{name: value})
    return low if low == high else (low, high)


def _retry_after(name: str, value: Any) -> int | str | None:  # noqa: ANN401
    if isinstance(value, (str, date)):
        return iso(int(moment_of(value, name))).replace(".000", "")  # an HTTP date has whole seconds
    whole = value is None or (is_number(value) and 0 <= value < _LARGEST_NUMBER and value == int(value))
    require(whole, "whole seconds, or a date, a datetime or ISO 8601 text", **{name: value})
    return None if value is None else int(value)


def json_bytes(value: object) -> bytes:
    """Return a JSON value as the body of a response."""
    return dumps(value, ensure_ascii=False, allow_nan=False).encode()


def _json(name: str, value: Any) -> Any:  # noqa: ANN401
    try:
        return loads(json_bytes(value))  # a copy: a fault never changes
    except (TypeError, ValueError, RecursionError) as error:
        refuse(f"expected {name} to be a JSON value; {error}: pass other content as the body")


def _body(name: str, value: Any) -> Any:  # noqa: ANN401
    require(value is None or isinstance(value, (str, bytes)), "a body of bytes or text", **{name: value})
    return value


def _base64(name: str, value: Any) -> bytes | None:  # noqa: ANN401
    try:
        return None if value is None else b64decode(value, validate=True)
    except (TypeError, ValueError):
        refuse(f"expected {name} as base64 (RFC 4648 §4); got {name}={shown(value)}")


def _headers(name: str, value: Any) -> dict[str, str | list[str]] | None:  # noqa: ANN401
    if value is None:
        return None
    require(is_object(value), "a mapping of text to text, or to a list of texts", **{name: value})
    for field_name, given in value.items():
        for text in given if is_array(given) else [given]:
            is_text = isinstance(field_name, str) and isinstance(text, (str, int))
            if not is_text or not is_field(field_name, str(text)):
                refuse(f"expected a header field that HTTP allows (RFC 9110 §5); got {field_name!r}: {text!r}")
        if field_name.lower() in _FRAMING:
            refuse(f"expected no {field_name} in {name}, because the fake sets it")
    return {one: [*map(str, text)] if is_array(text) else str(text) for one, text in value.items()}


_TEXTS: Final = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_DELAY: Final = {"delay": Argument(_TIMES, None, _seconds)}
_CONTENT: Final = {
    "json": Argument({}, None, _json),
    "body": Argument({"type": "string"}, None, _body),
    "headers": Argument({"type": "object", "additionalProperties": _TEXTS}, None, _headers),
    "body_base64": Argument({"type": "string", "contentEncoding": "base64"}, None, _base64),  # in JSON alone
}
_AFTER: Final = Argument({"type": ["integer", "string", "null"], "minimum": 0}, 1, _retry_after)
_FRACTION: Final = _number("a fraction of at least 0 and below 1", minimum=0, exclusiveMaximum=1)
_RATE: Final = _number("a positive number of bytes per second", exclusiveMinimum=0)
_PARTS: Final = {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Fault"}}


# What a fault does to the operation's response


def _cut_json(head: Head, body: bytes) -> tuple[Head, bytes]:
    return head, body[: max(1, len(body) // 2)] + b'"\\'  # ends within a string


def _as_html(head: Head, body: bytes) -> tuple[Head, bytes]:
    return head.with_fields(("Content-Type", "text/html; charset=utf-8")), body


def _response(status: int, sentence: str, /, **arguments: Argument) -> Kind:
    return Kind(sentence, {**arguments, **_DELAY}, status=status, responds=True, loses_response=True)


def _lost(sentence: str, delivery: str, *, waits: bool = False) -> Kind:
    return Kind(sentence, loses_response=True, delivery=delivery, waits=waits)


def _handshake(sentence: str, *, waits: bool = False) -> Kind:
    return Kind(sentence, loses_response=True, waits=waits, meets_handshakes=True)


def _slow(sentence: str, delivery: str | None = None, **arguments: Argument) -> Kind:
    return Kind(sentence, arguments, readable=True, only_slows=True, delivery=delivery)


KINDS: Final[Mapping[str, Kind]] = {
    "respond": _response(0, "the service responded as the test planned", status=Argument(_status(200)), **_CONTENT),
    "unauthorized": _response(401, "the service refused the key (§5)"),
    "not_found": _response(404, "the service responded as for an absent animal (§7)"),
    "bad_request": _response(400, "the service responded as for an invalid body (§7)"),
    "server_error": _response(0, "the service failed", status=Argument(_status(500), 500)),
    "rate_limited": _response(429, "the service refused one request too many (RFC 6585 §4)", retry_after=_AFTER),
    "delay": _slow("the service responded late", seconds=Argument(_TIMES, REQUIRED, _seconds)),
    "hang": _lost("the service never responded", "hang", waits=True),
    "reset": _lost("the service reset the connection instead of responding", "reset"),
    "empty_reply": _lost("the service closed the connection without a byte of a response", "empty_reply"),
    "truncate": Kind(
        "the connection ended within the response's body (RFC 9112 §8)",
        {"fraction": Argument(_FRACTION, 0.5)},
        delivery="truncate",
    ),
    "dribble": _slow("the service responded slowly", "dribble", bytes_per_second=Argument(_RATE)),
    "malformed_json": Kind("the response's body was not JSON (§1)", corrupts=_cut_json),
    "wrong_content_type": Kind(
        "the response's JSON had the media type text/html (§1)", readable=True, corrupts=_as_html
    ),
    "malformed_chunk": Kind("a chunk of the response had no valid size (RFC 9112 §7.1)", delivery="malformed_chunk"),
    "tls.expired": _handshake("the service's certificate had expired (RFC 5280 §4.1.2.5)"),
    "tls.wrong_host": _handshake("the service's certificate was for another host (RFC 9110 §4.3.4)"),
    "tls.untrusted_root": _handshake("the service's certificate led to an unknown root (RFC 5280 §6.1)"),
    "tls.handshake_reset": _handshake("the service reset the connection in the TLS handshake"),
    "tls.handshake_hang": _handshake("the service never responded in the TLS handshake", waits=True),
    "sequence": Kind(
        "the service misbehaved in another way for each request",
        {"faults": Argument(_PARTS)},
    ),
}
REQUEST_KINDS: Final = tuple(name for name, kind in KINDS.items() if not kind.meets_handshakes and name != "sequence")
