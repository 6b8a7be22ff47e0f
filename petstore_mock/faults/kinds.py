"""The table of kinds of faults, and the checks of their arguments. The public functions add the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, NamedTuple, TypeAlias

from petstore_mock.common.dates import iso, moment_of
from petstore_mock.common.guards import is_array, is_object, items_of
from petstore_mock.common.refusing import one_of, refuse, require, shown
from petstore_mock.common.values import Json, is_integer, is_number
from petstore_mock.faults.changes import CODINGS
from petstore_mock.http.response import FRAMING, Response, is_field
from petstore_mock.interface.kinds import quick
from petstore_mock.interface.strict_json import copy_json

Schema = Mapping[str, object]
Headers: TypeAlias = "dict[str, str | list[str]]"

_LARGEST_NUMBER: Final = 2**63


class Argument(NamedTuple):
    """An argument of a kind of fault."""

    schema: Schema  # of the JSON form; its description, if any, says what is expected
    parse: Callable[[str, object], object]  # returns the value in the form that a fault keeps, or refuses it


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The facts about one kind of fault, for JSON, ``repr``, documents, core and connections."""

    sentence: str  # the misbehaviour of the service, in words
    arguments: Mapping[str, Argument]  # the arguments of its function, by name
    defaults: Mapping[str, object]  # the defaults of arguments, by name
    status: int = 0  # the fixed status of its response; 0 if it has none
    responds: bool = False  # it responds instead of the operation
    loses_response: bool = False  # the client does not get the operation's response
    readable: bool = False  # a client with a long timeout can read the operation's response
    is_whole: bool = False  # the operation's response arrives whole and true
    is_slow: bool = False  # the operation's response takes time to arrive
    excuses: bool = False  # a client may fail although its service sent a response that it could read
    waits: bool = False  # the client waits until it gives up
    needs_socket: bool = False  # it changes the way in which the connection sends the response
    changes: Callable[..., Response] | None = None  # returns the response in another form, from it and the arguments
    meets_handshakes: bool = False  # TLS handshakes meet it, not requests
    breaks_certificate: bool = False  # a client that verifies certificates sends no request over the connection


KINDS: Final[dict[str, Kind]] = {}
REQUEST_KINDS: Final[list[str]] = []  # without sequences and faults of handshakes


# Arguments. A test may pass any value to a parser.


def _number(kind: Literal["integer", "number"], words: str, **bounds: float) -> Argument:
    rules = {"type": kind, "description": words, **bounds}
    accepts = quick(rules)

    def parse(name: str, value: object) -> Json:
        # A status may be a member of HTTPStatus.
        number = int(value) if is_integer(value) else value
        if not accepts(number):
            refuse(f"expected {words}; got {name}={shown(value)}")
        return number

    return Argument(rules, parse)


def status_from(least: int) -> Argument:
    """Return the argument ``status``."""
    return _number("integer", f"an HTTP status from {least} to 599", minimum=least, maximum=599)


_TIME: Final = {
    "type": "number",
    "minimum": 0,
    "maximum": 3600,
    "description": "seconds from 0 to 3600, or a pair (low, high) of them",
}
_TIMES: Final = {"anyOf": [_TIME, {"type": "array", "items": _TIME, "minItems": 2, "maxItems": 2}]}


def _seconds(name: str, value: object) -> object:
    pair: tuple[Json, ...] = tuple(value) if is_array(value) else (value, value)
    is_pair = len(pair) == 2 and all(map(is_number, pair))
    in_range = is_pair and 0 <= pair[0] <= pair[1] <= 3600
    require(in_range, "seconds from 0 to 3600, or a pair (low, high) of them", **{name: value})
    return pair[0] if pair[0] == pair[1] else pair


def _retry_after(name: str, value: object) -> int | str | None:
    if value is None:
        return None
    if isinstance(value, (str, date)):
        return iso(int(moment_of(value, name))).replace(".000", "")  # an HTTP date has whole seconds
    if not is_number(value) or not 0 <= value < _LARGEST_NUMBER or value != int(value):
        refuse(f"expected whole seconds, or a date, a datetime or ISO 8601 text; got {name}={shown(value)}")
    return int(value)


def _json(_: str, value: object) -> object:
    return copy_json(value, "pass other content as the body")


def _body(name: str, value: object) -> object:
    require(isinstance(value, (str, bytes)), "a body of bytes or text", **{name: value})
    return value


def _headers(name: str, value: object) -> Headers:
    if not is_object(value):
        refuse(f"expected a mapping of text to text, or to a list of texts; got {name}={shown(value)}")
    headers: Headers = {}
    for field, content in value.items():
        for text in items_of(content):
            are_texts = isinstance(field, str) and isinstance(text, (str, int))
            if not are_texts or not is_field(field, str(text)):
                refuse(f"expected a header field that HTTP allows (RFC 9110 §5); got {field!r}: {text!r}")
        if field.lower() in FRAMING:
            refuse(f"expected no {field} in {name}, because the fake sets it; {_INSTEAD[field.lower()]}")
        headers[field] = str(content)
        if is_array(content):
            headers[field] = [*map(str, content)]
    return headers


# What a test does instead of setting a header field that the fake sets.
_INSTEAD: Final = {
    "connection": "to end the connection, use faults.empty_reply() or the gap connection=closed_after_answer",
    "content-length": "to announce a longer body than arrives, use faults.truncate()",
    "date": "to change the date, use the clock: petstore.clock.travel_to()",
    "transfer-encoding": "for chunks, use faults.malformed_chunk(), or configure() a gap",
}


def _phrase(name: str, value: object) -> str:
    is_allowed = isinstance(value, str) and is_field("X", value)
    require(is_allowed, "a text that HTTP allows (RFC 9112 §4)", **{name: value})
    return str(value)


def _coding(name: str, value: object) -> str:
    return one_of(value, CODINGS, name)


_INTERIM: Final = (100, 102, 103)


def _interim_status(name: str, value: object) -> int:
    # 101 switches to another protocol.
    if not is_integer(value) or value not in _INTERIM:
        refuse(f"expected the status 100, 102 or 103; got {name}={shown(value)}")
    return int(value)


INTERIM_STATUS: Final = Argument({"enum": list(_INTERIM)}, _interim_status)
_DELAY: Final = Argument(_TIMES, _seconds)
_COUNT: Final = _number("integer", "a whole number from 1 to 1000", minimum=1, maximum=1000)
_TEXTS: Final = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
ARGUMENTS: Final = {
    "status": status_from(200),
    "json": Argument({}, _json),
    "body": Argument({"type": "string"}, _body),
    "headers": Argument({"type": "object", "additionalProperties": _TEXTS}, _headers),
    "delay": _DELAY,
    "seconds": _DELAY,
    "retry_after": Argument({"type": ["integer", "string", "null"], "minimum": 0}, _retry_after),
    "times": _COUNT,
    "after": _number("integer", "a whole number of bytes", minimum=0, maximum=_LARGEST_NUMBER),
    "coding": Argument({"enum": list(CODINGS)}, _coding),
    "n": _COUNT,
    "phrase": Argument({"type": "string"}, _phrase),
    "fraction": _number("number", "a fraction of at least 0 and below 1", minimum=0, exclusiveMaximum=1),
    "bytes_per_second": _number(
        "number", "a positive number of bytes per second", exclusiveMinimum=0, maximum=_LARGEST_NUMBER
    ),
}
