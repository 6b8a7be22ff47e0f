"""An exchange as a JSON value, and back: for the door, for journals of other processes, for copies and pickles.

Here keys are masked, in bodies too: HAR, curl and HTML are made from a masked copy. Of a value that broke a rule, its
description stays.
"""

from __future__ import annotations

import copyreg
import json
from base64 import b64decode, b64encode
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast
from urllib.parse import parse_qs, unquote

from petstore_mock.common.dates import iso, moment_of
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import mask_field
from petstore_mock.faults.fault import from_data as fault_of
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.http.response import Head, Response
from petstore_mock.interface.conditions import CONDITIONS, condition_of_status
from petstore_mock.interface.violations import Described, Violation
from petstore_mock.journal.exchange import Exchange, FieldPairs, joined, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping


class ViolationData(TypedDict):
    """A broken rule. A refused key is one without a rule."""

    section: str
    field: str  # such as body.name, query.limit or Authorization
    message: str
    sentence: str  # of the interface
    rule: str | None  # a keyword of JSON Schema, or a rule that no schema can say
    expected: str
    value: str | None  # described; None where it is missing
    subject: str


class ExchangeData(TypedDict):
    """A request, its response and the decision; keys are masked."""

    number: int
    at: str  # the fake's time
    state: str  # "in flight" or "done"
    method: str
    target: str  # as sent
    path: str  # from /v1 on, percent-decoded
    query: dict[str, list[str]]
    headers: dict[str, str]
    fields: list[list[str]]  # the same as sent
    body: Any  # the JSON value
    body_text: str | None  # as sent
    body_base64: str | None  # where it is not text
    body_size: int
    status: int | None
    response_headers: dict[str, str]
    response_fields: list[list[str]]
    response_body: Any  # the JSON value, or text
    response_body_text: str | None
    response_body_base64: str | None
    response_size: int
    operation: str | None
    fault: str | None
    fault_data: Any  # as it is planned
    delayed_by: Any
    executed: bool
    outcome: str | None
    duration_ms: float
    violations: list[ViolationData]
    omitted: int
    expected: bool
    condition: str | None
    condition_status: int | None
    detail: str
    decision: str
    reason: str
    owner: str | None
    base_path: str  # before the target in the client's address
    connection: int
    exchange: int
    started: float  # seconds by a real clock
    version: str
    oversized: bool
    secure: bool
    sent: bool
    by_expectation: bool
    mutant: str | None


# Members with the name and the value of an attribute. Those of the first line make the exchange again.
_KEPT: Final = ("omitted", "executed", "outcome", "expected", "by_expectation", "mutant", "secure", "sent")
_DERIVED: Final = (
    *("number", "body_size", "status", "response_size", "operation", "decision", "reason", "owner"),
    *("connection", "exchange"),
)
_OF_REQUEST: Final = ("base_path", "started", "version", "oversized")
_DEEPEST: Final = 100  # arrays and objects in each other; a JSON library may fail on more


def to_data(exchange: Exchange) -> ExchangeData:
    """Return an exchange as a JSON value that UTF-8 can carry."""
    condition, fault, delay = exchange.condition, exchange.fault, exchange.delayed_by
    path, _, query = exchange.masked_target.partition("?")
    fields = _masked_fields(exchange, exchange.fields)
    response_fields = _masked_fields(exchange, exchange.response_fields)
    data: dict[str, Any] = {
        **{name: getattr(exchange, name) for name in (*_KEPT, *_DERIVED)},
        **{name: getattr(exchange.request, name) for name in _OF_REQUEST},
        "at": iso(exchange.timestamp),
        "state": "in flight" if exchange.in_flight else "done",
        "method": exchange.masked(exchange.method),
        "target": exchange.masked_target,
        "path": unquote(path),
        "query": parse_qs(query, keep_blank_values=True),
        "headers": joined(fields),
        "fields": fields,
        **_content(exchange, "body", exchange.body),
        "response_headers": joined(response_fields),
        "response_fields": response_fields,
        **_content(exchange, "response_body", exchange.response_body),
        "fault": None if fault is None else exchange.masked(str(fault)),
        "fault_data": None if fault is None else fault.to_data(),
        "delayed_by": None if delay is None else delay.to_data(),
        "duration_ms": round(exchange.duration * 1000, 3),
        "violations": _violations(exchange),
        "condition": None if condition is None else condition.name,
        "condition_status": None if condition is None else condition.status,
        "detail": exchange.masked(exchange.detail),
    }
    if data["response_body"] is None:
        data["response_body"] = data["response_body_text"] or None
    text = json.dumps(data, ensure_ascii=False)
    return cast("ExchangeData", json.loads(text.encode("utf-8", "replace")))  # without lone surrogates


def masked_copy(exchange: Exchange) -> Exchange:
    """Return a copy that may be shown: what was sent, with every key masked."""
    return from_data(to_data(exchange))


def _masked_fields(exchange: Exchange, fields: FieldPairs) -> FieldPairs:
    keys = exchange.secrets
    return [(exchange.masked(name), mask_field(name, value, keys)) for name, value in fields]


def _content(exchange: Exchange, name: str, content: bytes) -> dict[str, Any]:
    """Return a body as the JSON value that it is, as text, and in base64 where it is not text."""
    text = text_of(content)
    if text is None:  # Latin-1 maps bytes one to one, and keys are ASCII
        shown = exchange.masked(content.decode("latin-1")).encode("latin-1")
        return {name: None, f"{name}_text": None, f"{name}_base64": b64encode(shown).decode("ascii")}
    text = exchange.masked(text)
    return {name: _json_of(text), f"{name}_text": text, f"{name}_base64": None}


def _json_of(text: str) -> Any:  # noqa: ANN401  # a JSON value
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()  # no NaN and no lone surrogate
        return value if _depth(value) <= _DEEPEST else None
    except (ValueError, RecursionError):
        return None


def _depth(value: Any) -> int:  # noqa: ANN401  # a JSON value
    parts = value.values() if is_object(value) else value if is_array(value) else None
    return 0 if parts is None else 1 + max(map(_depth, parts), default=0)


def _violations(exchange: Exchange) -> list[ViolationData]:
    condition = exchange.condition
    if exchange.violations or condition is None or not condition.violation:
        return [_violation(exchange, violation) for violation in exchange.violations]
    field = "Authorization" if condition.status == 401 else condition.subject
    found = _violation(exchange, Violation(field, "", "", subject=condition.subject))
    return [{**found, "section": condition.section, "message": exchange.reason, "rule": None}]


def _violation(exchange: Exchange, violation: Violation) -> ViolationData:
    return {
        "section": violation.sentence.section,
        "field": exchange.masked(violation.path),
        "message": exchange.masked(str(violation)),
        "sentence": violation.sentence.text,
        "rule": violation.rule,
        "expected": exchange.masked(violation.expected),
        "value": exchange.masked(violation.came) if violation.has_value else None,
        "subject": violation.subject,
    }


def from_data(data: Mapping[str, Any]) -> Exchange:
    """Make an exchange of the value that :func:`to_data` returned. Reports of both are the same."""
    request = ApiRequest(
        data["method"],
        data["target"],
        Fields.of(data["fields"]),
        _bytes(data, "body"),
        data["connection"],
        data["exchange"],
        data["started"],
        data["version"],
    )
    request.mount = data["base_path"]
    request.oversized = data["oversized"]
    request.operation = data["operation"]
    exchange = Exchange(data["number"], data["owner"], request, moment_of(data["at"]))
    exchange.cut_request = data["body_size"] - len(request.body)
    if data["status"] is not None:
        *fields, (_, date) = data["response_fields"]
        body = _bytes(data, "response_body")
        exchange.response = Response(Head(data["status"], [(name, text) for name, text in fields]), body, date.encode())
        exchange.cut_response = max(0, data["response_size"] - len(body))
    exchange.in_flight = data["state"] == "in flight"
    exchange.duration = data["duration_ms"] / 1000
    if name := data["condition"]:
        exchange.condition = CONDITIONS.get(name) or condition_of_status(data["condition_status"])
    exchange.detail = data["detail"]
    exchange.violations = tuple(_violation_of(one) for one in data["violations"] if one["rule"] is not None)
    exchange.fault = None if data["fault_data"] is None else fault_of(data["fault_data"])
    exchange.delayed_by = None if data["delayed_by"] is None else fault_of(data["delayed_by"])
    for name in _KEPT:
        setattr(exchange, name, data[name])
    return exchange


def _bytes(data: Mapping[str, Any], name: str) -> bytes:
    text = data[f"{name}_text"]
    return b64decode(data[f"{name}_base64"]) if text is None else text.encode()


def _violation_of(data: ViolationData) -> Violation:
    found = Violation(data["field"], data["rule"] or "", data["expected"], subject=data["subject"])
    return found if data["value"] is None else replace(found, value=Described(data["value"]))


copyreg.pickle(Exchange, lambda exchange: (from_data, (to_data(exchange),)))
