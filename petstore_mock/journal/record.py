"""Converts an exchange to a JSON value and back, for the door and remote journals.

Keys are masked, in bodies too. A description replaces each value that broke a rule.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from dataclasses import replace
from json import dumps, loads
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypedDict

from petstore_mock.common.dates import iso, moment_of
from petstore_mock.faults.fault import Fault, coerce
from petstore_mock.http.request import ApiRequest, Fields, query_of
from petstore_mock.http.response import Head, Response
from petstore_mock.interface.conditions import CONDITIONS, condition_of_status
from petstore_mock.interface.strict_json import MalformedJsonError, decode_json
from petstore_mock.interface.table import topic_of
from petstore_mock.interface.violations import Described, Violation
from petstore_mock.journal.exchange import Exchange, masked, text_of

# For each member: its type, which the door documents, and the attribute or function that returns its value.
Members = dict[str, tuple[object, str | Callable[[Any], object]]]


def _received(violation: Violation) -> str | None:
    if violation.has_value:
        return violation.received
    return None


_OF_VIOLATION: Final[Members] = {
    "section": (str, "sentence.section"),
    "field": (str, "path"),  # such as body.name, query.limit, Authorization or path
    "message": (str, str),
    "sentence": (str, "sentence.text"),  # the sentence of the interface
    "rule": (str | None, "rule"),  # a keyword of JSON Schema or our own; None for other violations, such as a wrong key
    "expected": (str, "expected"),
    "value": (str | None, _received),  # a description; None without a value
    "subject": (str, "subject"),
}
if TYPE_CHECKING:
    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.conditions import Condition

    ViolationData = JsonObject
    ExchangeData = JsonObject
else:
    ViolationData = TypedDict("ViolationData", {name: kind for name, (kind, _) in _OF_VIOLATION.items()})


def _data(members: Members, original: object) -> JsonObject:
    data: JsonObject = {}
    for name, (_, source) in members.items():
        read = attrgetter(source) if isinstance(source, str) else source
        data[name] = read(original)
    return data


def _converted(name: str, convert: Callable[[Any], Json]) -> Callable[[Exchange], Json]:
    """Return a function that converts an attribute of an exchange, unless it is None."""

    def read(exchange: Exchange) -> Json:
        value = getattr(exchange, name)
        return None if value is None else convert(value)

    return read


# The ``field`` of a violation that breaks no rule, by the name or subject of its condition; else "request".
_FIELD_OF: Final = {
    "content_coding": "Content-Encoding", "unsupported_media_type": "Content-Type", "wrong_media_type": "Content-Type",
    "method_not_allowed": "method", "unknown_method": "method",
    "key": "Authorization", "json": "Content-Type", "limits": "body",
    "path": "path", "paths": "path", "removed": "path",
}  # fmt: skip


def _state(exchange: Exchange) -> str:
    return "in flight" if exchange.in_flight else "done"


def _base64(content: bytes) -> str | None:
    if text_of(content) is None:
        return b64encode(content).decode("ascii")
    return None


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _json_of(content: bytes) -> Json:
    try:
        decode_json(content)  # refuses lone surrogates and deep nesting
        value = loads(content)
        dumps(value, allow_nan=False)  # 1e400 is valid JSON, but becomes infinity
    except (MalformedJsonError, ValueError):
        return None
    return value


def _json_or_text(content: bytes) -> Json:
    value = _json_of(content)
    if value is None:
        return text_of(content) or None
    return value


def _violations(exchange: Exchange) -> list[JsonObject]:
    condition = exchange.condition
    if exchange.violations or condition is None or not condition.violation:
        return [_data(_OF_VIOLATION, violation) for violation in exchange.violations]
    # The request broke the contract, but no rule of a schema.
    field = _FIELD_OF.get(condition.name) or _FIELD_OF.get(condition.subject, "request")
    violation = Violation(field, "", "", subject=topic_of(condition.subject, exchange.operation))
    own = {"section": exchange.section, "message": exchange.reason, "rule": None}
    return [_data(_OF_VIOLATION, violation) | own]


# Each function gets an exchange whose keys are masked.
_OF_EXCHANGE: Final[Members] = {
    "number": (int, "number"),
    "at": (str, _converted("timestamp", iso)),  # by the fake's clock
    "state": (str, _state),
    "method": (str, "method"),
    "target": (str, "target"),  # as sent
    "path": (str, "path"),  # from /v1 on
    "query": (dict[str, list[str]], _converted("target", query_of)),
    "headers": (dict[str, str], "headers"),
    "fields": (list[list[str]], "fields"),  # as sent, in order
    "body": (Any, _converted("body", _json_of)),
    "body_text": (str | None, _converted("body", text_of)),  # as sent
    "body_base64": (str | None, _converted("body", _base64)),  # if it is not UTF-8
    "body_size": (int, "body_size"),
    "body_cut": (int, "cut_request"),  # bytes of the body that the journal does not keep
    "status": (int | None, "status"),
    "response_headers": (dict[str, str], "response_headers"),
    "response_fields": (list[list[str]], "response_fields"),
    "response_body": (Any, _converted("response_body", _json_or_text)),  # the JSON value, or text
    "response_body_text": (str | None, _converted("response_body", text_of)),
    "response_body_base64": (str | None, _converted("response_body", _base64)),
    "response_size": (int, "response_size"),
    "response_body_cut": (int, "cut_response"),  # bytes of the body that the journal does not keep
    "operation": (str | None, "operation"),
    "fault": (str | None, _converted("fault", str)),
    "fault_data": (Any, _converted("fault", Fault.to_data)),  # as planned
    "delayed_by": (Any, _converted("delayed_by", Fault.to_data)),
    "executed": (bool, "executed"),
    "outcome": (str | None, "outcome"),
    "duration_ms": (float, _converted("duration", _milliseconds)),
    "violations": (list[ViolationData], _violations),
    "omitted": (int, "omitted"),
    "expected": (bool, "expected"),
    "condition": (str | None, _converted("condition", attrgetter("name"))),
    "condition_status": (int | None, _converted("condition", attrgetter("status"))),
    "detail": (str, "detail"),
    "decision": (str, "decision"),
    "reason": (str, "reason"),
    "hidden": (str, "hidden"),  # why a browser hides the response from the page that sent the request (CORS)
    "owner": (str | None, "owner"),
    "base_path": (str, "request.base_path"),  # precedes the target in the client's URL
    "connection": (int, "connection"),
    "exchange": (int, "exchange"),
    "started": (float, "request.started"),  # seconds by a real clock
    "version": (str, "request.version"),
    "oversized": (bool, "request.oversized"),
    "secure": (bool, "secure"),
    "sent": (bool, "sent"),
    "by_expectation": (bool, "by_expectation"),
    "mutant": (str | None, "mutant"),
}
# Attributes that from_data() copies by name.
_KEPT: Final = (
    "operation", "detail", "omitted", "executed", "outcome", "expected", "by_expectation", "mutant",
    "secure", "sent",
)  # fmt: skip

if not TYPE_CHECKING:
    ExchangeData = TypedDict("ExchangeData", {name: kind for name, (kind, _) in _OF_EXCHANGE.items()})


def to_data(exchange: Exchange) -> ExchangeData:
    """Return an exchange as a JSON value that UTF-8 can encode."""
    text = dumps(_data(_OF_EXCHANGE, masked(exchange)), ensure_ascii=False)
    data: ExchangeData = loads(text.encode("utf-8", "replace"))  # replaces lone surrogates
    return data


def from_data(data: ExchangeData) -> Exchange:
    """Return the exchange that :func:`to_data` converted. Its reports equal those of the original."""
    request = ApiRequest(
        data["method"],
        data["target"],
        Fields.of(data["fields"]),
        _bytes(data, "body"),
        mount=data["base_path"],
        **{name: data[name] for name in ("connection", "exchange", "started", "version", "oversized")},
    )
    exchange = Exchange(data["number"], data["owner"], request, moment_of(data["at"]))
    exchange.cut_request = data["body_cut"]
    exchange.cut_response = data["response_body_cut"]
    exchange.response = _response_of(data)
    exchange.in_flight = data["state"] == "in flight"
    exchange.duration = data["duration_ms"] / 1000
    exchange.condition = _condition_of(data)
    broken_rules = [violation for violation in data["violations"] if violation["rule"] is not None]
    exchange.violations = tuple(map(_violation_of, broken_rules))
    exchange.fault = _fault_of(data["fault_data"])
    exchange.delayed_by = _fault_of(data["delayed_by"])
    for name in _KEPT:
        setattr(exchange, name, data[name])
    return exchange


def _response_of(data: ExchangeData) -> Response | None:
    if data["status"] is None:
        return None
    *fields, (_, date) = data["response_fields"]
    head = Head(data["status"], [(name, text) for name, text in fields])
    return Response(head, _bytes(data, "response_body"), date.encode())


def _condition_of(data: ExchangeData) -> Condition | None:
    name = data["condition"]
    if name is None:
        return None
    return CONDITIONS.get(name) or condition_of_status(data["condition_status"])


def _fault_of(data: object) -> Fault | None:
    return None if data is None else coerce(data)


def part_of(exchange: Exchange, names: Iterable[str]) -> JsonObject:
    """Return some members of the JSON value of an exchange, none of them from its bodies."""
    return _data({name: _OF_EXCHANGE[name] for name in names}, masked(exchange, with_bodies=False))


def _bytes(data: ExchangeData, name: str) -> bytes:
    text: str | None = data[f"{name}_text"]
    if text is None:
        return b64decode(data[f"{name}_base64"])
    return text.encode()


def _violation_of(data: ViolationData) -> Violation:
    violation = Violation(data["field"], data["rule"], data["expected"], subject=data["subject"])
    if data["value"] is None:
        return violation
    return replace(violation, value=Described(data["value"]))
