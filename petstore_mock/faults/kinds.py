"""The table of kinds of faults: each row has all that JSON, ``repr``, documents, core and connection ask about one."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, Final

from petstore_mock.common.dates import iso, moment_of
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import refuse, require, shown
from petstore_mock.common.values import is_integer, is_number
from petstore_mock.http.response import BODILESS_STATUSES, Head, is_field

_LONGEST_DELAY: Final = 3600.0
_LARGEST_NUMBER: Final = 2.0**63
REQUIRED: Final = object()

Parse = Callable[[str, Any], Any]  # of a name and a value; returns the value as it is kept, or refuses it
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a kind."""

    name: str
    parse: Parse
    schema: Schema
    default: Any = REQUIRED
    positional: bool = False  # a call writes it without its name


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault."""

    sentence: str  # its effect on the client
    arguments: tuple[Argument, ...] = ()  # of its function
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


def _status(least: int, name: str, value: Any) -> int:  # noqa: ANN401  # parsers take whatever a test passes
    require(is_integer(value) and least <= value <= 599, f"an HTTP status from {least} to 599", **{name: value})
    return int(value)


def _is_float(value: object) -> bool:
    return is_number(value) and abs(value) < _LARGEST_NUMBER  # a larger integer is no float, and NaN is not less


def _plain(number: float) -> float:
    return int(number) if number == int(number) else float(number)


def _pair(value: object) -> tuple[Any, Any]:
    return (value[0], value[1]) if is_array(value) and len(value) == 2 else (value, value)


def _seconds(name: str, value: Any) -> float | tuple[float, float] | None:  # noqa: ANN401
    if value is None and name == "delay":
        return None
    low, high = _pair(value)
    in_range = _is_float(low) and _is_float(high) and 0 <= low <= high <= _LONGEST_DELAY
    require(in_range, f"seconds from 0 to {_LONGEST_DELAY:g}, or a pair (low, high) of them", **{name: value})
    return _plain(low) if low == high else (_plain(low), _plain(high))


def _retry_after(name: str, value: Any) -> int | str | None:  # noqa: ANN401
    if value is None:
        return None
    if isinstance(value, (str, date)):
        return iso(int(moment_of(value, name))).replace(".000", "")  # an HTTP date has whole seconds
    whole = _is_float(value) and value >= 0 and value == int(value)
    require(whole, "whole seconds, or a date, a datetime or ISO 8601 text", **{name: value})
    return int(value)


def _number(expected: str, holds: Callable[[float], bool], name: str, value: Any) -> float:  # noqa: ANN401
    require(_is_float(value) and holds(value), expected, **{name: value})
    return _plain(value)


_fraction: Final = partial(_number, "a fraction of at least 0 and below 1", lambda value: 0 <= value < 1)
_rate: Final = partial(_number, "a positive number of bytes per second", lambda value: value > 0)


def _faults(name: str, value: Any) -> tuple[Any, ...]:  # noqa: ANN401
    require(is_array(value) and value, "one or more faults", **{name: value})
    return tuple(value)


# The body and the header fields of `respond`


def json_bytes(value: object) -> bytes:
    """Return a JSON value as the body of a response."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def _json(name: str, value: Any) -> Any:  # noqa: ANN401
    try:
        return json.loads(json_bytes(value))  # a copy: a fault never changes
    except (TypeError, ValueError, RecursionError) as error:
        refuse(f"expected {name} to be a JSON value; {error}: pass other content as the body")


def _body(name: str, value: Any) -> str | bytes | None:  # noqa: ANN401
    require(value is None or isinstance(value, (str, bytes, bytearray)), "a body of bytes or text", **{name: value})
    return bytes(value) if isinstance(value, bytearray) else value


def _base64(name: str, value: Any) -> bytes | None:  # noqa: ANN401
    try:
        return None if value is None else b64decode(value, validate=True)
    except (TypeError, ValueError):
        refuse(f"expected {name} as base64 (RFC 4648 §4); got {name}={shown(value)}")


# The adapters set these. A wrong one is a fault or a gap of its own.
_FRAMING: Final = frozenset({"content-length", "transfer-encoding", "connection", "date"})


def _headers(name: str, value: Any) -> dict[str, str] | None:  # noqa: ANN401
    if value is None:
        return None
    is_mapping = is_object(value) and all(
        isinstance(field, str) and isinstance(text, (str, int)) for field, text in value.items()
    )
    require(is_mapping, "a mapping of text to text", **{name: value})
    fields = {field: str(text) for field, text in value.items()}
    for field, text in fields.items():
        if not is_field(field, text):
            refuse(f"expected a header field that HTTP allows (RFC 9110 §5); got {field!r}: {text!r}")
        if field.lower() in _FRAMING:
            refuse(f"expected no {field} in {name}, because the fake sets it")
    return fields


def check_content(arguments: Mapping[str, Any]) -> None:
    """Refuse content that contradicts itself or the status of ``respond``."""
    contents = [arguments[name] for name in ("json", "body") if arguments.get(name) is not None]
    if len(contents) > 1:
        refuse("expected json or body, as the body of a response; got both")
    status = arguments.get("status")
    if contents and contents[0] not in ("", b"") and status in BODILESS_STATUSES:
        refuse(f"expected no body with status {status}, which has none (RFC 9110 §6.4.1)")


# What a fault does to the operation's response


def _cut_json(head: Head, body: bytes) -> tuple[Head, bytes]:
    return head, body[: max(1, len(body) // 2)] + b'"\\'  # ends within a string


def _as_html(head: Head, body: bytes) -> tuple[Head, bytes]:
    return head.with_fields(("Content-Type", "text/html; charset=utf-8")), body


_NUMBER_OF_SECONDS: Final = {"type": "number", "minimum": 0, "maximum": _LONGEST_DELAY}
_SECONDS: Final = {
    "anyOf": [_NUMBER_OF_SECONDS, {"type": "array", "items": _NUMBER_OF_SECONDS, "minItems": 2, "maxItems": 2}]
}
_DELAY: Final = Argument("delay", _seconds, _SECONDS, default=None)


def _response(status: int, sentence: str, *arguments: Argument) -> Kind:
    return Kind(sentence, (*arguments, _DELAY), status=status, responds=True, loses_response=True)


def _lost(sentence: str, delivery: str, *, waits: bool = False) -> Kind:
    return Kind(sentence, loses_response=True, delivery=delivery, waits=waits)


def _handshake(sentence: str, *, waits: bool = False) -> Kind:
    return Kind(sentence, loses_response=True, waits=waits, meets_handshakes=True)


def _schema(kind: str, **bounds: object) -> Schema:
    return {"type": kind, **bounds}


KINDS: Final[Mapping[str, Kind]] = {
    "respond": _response(
        0,
        "the service responded as the test planned",
        Argument("status", partial(_status, 200), _schema("integer", minimum=200, maximum=599), positional=True),
        Argument("json", _json, {}, default=None),
        Argument("body", _body, _schema("string"), default=None),
        Argument("headers", _headers, _schema("object", additionalProperties={"type": "string"}), default=None),
    ),
    "unauthorized": _response(401, "the service refused the key (§5)"),
    "not_found": _response(404, "the service responded as for an absent animal (§7)"),
    "bad_request": _response(400, "the service responded as for an invalid body (§7)"),
    "server_error": _response(
        0,
        "the service failed",
        Argument("status", partial(_status, 500), _schema("integer", minimum=500, maximum=599), 500, positional=True),
    ),
    "rate_limited": _response(
        429,
        "the service refused one request too many (RFC 6585 §4)",
        Argument("retry_after", _retry_after, {"type": ["integer", "string", "null"], "minimum": 0}, default=1),
    ),
    "delay": Kind(
        "the service responded late",
        (Argument("seconds", _seconds, _SECONDS, positional=True),),
        readable=True,
        only_slows=True,
    ),
    "hang": _lost("the service never responded", "hang", waits=True),
    "reset": _lost("the service reset the connection instead of responding", "reset"),
    "empty_reply": _lost("the service closed the connection without a byte of a response", "empty_reply"),
    "truncate": Kind(
        "the connection ended within the response's body (RFC 9112 §8)",
        (Argument("fraction", _fraction, _schema("number", minimum=0, exclusiveMaximum=1), 0.5, positional=True),),
        delivery="truncate",
    ),
    "dribble": Kind(
        "the service responded slowly",
        (Argument("bytes_per_second", _rate, _schema("number", exclusiveMinimum=0), positional=True),),
        readable=True,
        only_slows=True,
        delivery="dribble",
    ),
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
        (Argument("faults", _faults, _schema("array", minItems=1, items={"$ref": "#/components/schemas/Fault"})),),
    ),
}

BODY_BASE64: Final = Argument("body_base64", _base64, _schema("string", contentEncoding="base64"), default=None)
REQUEST_KINDS: Final = tuple(name for name, kind in KINDS.items() if not kind.meets_handshakes and name != "sequence")
