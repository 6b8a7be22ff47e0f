"""What the door shows of a world: its requests, its choices and its time as JSON values. Keys are masked."""

from __future__ import annotations

import dataclasses
import json
from base64 import b64encode
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.faults import KINDS
from petstore_mock.journal.outcomes import DOCUMENTED, outcomes
from petstore_mock.journal.record import record_of

if TYPE_CHECKING:
    from petstore_mock.core.clock import Clock
    from petstore_mock.core.keys import Key
    from petstore_mock.core.tenant import Tenant
    from petstore_mock.core.world_registry import Leak
    from petstore_mock.journal.entry import Entry
    from petstore_mock.messages.handshake import Handshake

__all__ = [
    "behaviour_document",
    "clock_document",
    "coverage_document",
    "entry_document",
    "handshake_document",
    "key_document",
    "leak_document",
]


def moment(when: datetime) -> str:
    """Return a moment as ISO 8601 text in UTC."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _json_of(content: bytes) -> Any:  # noqa: ANN401  # a JSON value
    """Decode JSON that JSON can carry on: no NaN, and no lone surrogate.

    Raises:
        ValueError: ``content`` is no such text.
    """
    try:
        value = json.loads(content)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("nests too deep") from error
    return value


def _body_members(entry: Entry) -> dict[str, Any]:
    """Return the request's body: as the JSON value that it is, as text, or, if it is neither, in base64."""
    content = entry.body
    if not content:
        return {"body": None}
    try:
        text = entry.masked(content.decode("utf-8"))
    except UnicodeDecodeError:
        return {"body_base64": b64encode(entry.masked_bytes(content)).decode("ascii")}
    try:
        return {"body": _json_of(text.encode())}
    except ValueError:
        return {"body_text": text}


def _response_body(entry: Entry) -> Any:  # noqa: ANN401  # a JSON value
    content = entry.response_body
    if not content:
        return None
    text = entry.masked(content.decode("utf-8", "replace"))
    try:
        return _json_of(text.encode())
    except ValueError:
        return text


def _violations(entry: Entry) -> list[dict[str, str]]:
    """Return each rule of the contract that a request broke; a refused key is one."""
    if entry.violations:
        return [
            {
                "section": one.sentence.section,
                "field": one.path,
                "message": entry.masked(str(one)),
                "sentence": one.sentence.text,
            }
            for one in entry.violations
        ]
    if not entry.is_violation:
        return []
    sentence = entry.sentence
    field = "Authorization" if entry.status == 401 else entry.condition.subject if entry.condition is not None else ""
    return [
        {
            "section": entry.section or "",
            "field": field,
            "message": entry.reason,
            "sentence": sentence.text if sentence is not None else "",
        }
    ]


def entry_document(entry: Entry, *, with_record: bool = False) -> dict[str, Any]:
    """Return one request with its answer and what was decided.

    Args:
        entry: the request.
        with_record: whether to add all that is known of it, for those who make reports.
    """
    query: dict[str, list[str]] = {}
    for name, value in parse_qsl(entry.target.partition("?")[2], keep_blank_values=True):
        query.setdefault(name, []).append(value)
    fault = entry.fault
    document: dict[str, Any] = {
        "number": entry.number,
        "at": moment(entry.moment),
        "method": entry.method,
        "path": entry.path,
        "query": query,
        "headers": entry.headers,
        **_body_members(entry),
        "status": entry.status,
        "response_headers": entry.response_headers,
        "response_body": _response_body(entry),
        "operation": entry.operation,
        "fault": None if fault is None else str(fault),
        "executed": entry.executed,
        "duration_ms": round(entry.duration * 1000, 3),
        "violations": _violations(entry),
        "decision": entry.decision,
        "reason": entry.reason,
        "outcome": entry.outcome,
        "connection": entry.connection,
        **({} if entry.mutant is None else {"mutant": entry.mutant}),
    }
    if with_record:
        document["record"] = record_of(entry)
    carried: dict[str, Any] = _carried(document)
    return carried


def _carried(value: Any) -> Any:  # noqa: ANN401  # a JSON value
    """Return ``value`` as UTF-8 can carry it: a lone surrogate becomes a question mark."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_carried(name): _carried(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_carried(part) for part in value]
    return value


def behaviour_document(tenant: Tenant) -> dict[str, str]:
    """Return every gap with its choice."""
    return dataclasses.asdict(tenant.world.rules.behaviour)


def clock_document(clock: Clock) -> dict[str, Any]:
    """Return the time of a world."""
    return {"now": moment(clock.moment), "frozen": clock.frozen}


def key_document(key: Key, *, revoked: bool) -> dict[str, Any]:
    """Return a key, and until when it is valid."""
    expires = None if key.expires is None else moment(datetime.fromtimestamp(key.expires, UTC))
    return {"api_key": key.name, "expires": expires, "revoked": revoked}


def leak_document(leak: Leak) -> dict[str, Any]:
    """Return a request that a finished world still got."""
    return {"world": leak.owner, "request": leak.request, "status": leak.status, "by_key": leak.bore_key}


def handshake_document(handshake: Handshake) -> dict[str, Any]:
    """Return what came of a TLS handshake."""
    document: dict[str, Any] = _carried(
        {
            "connection": handshake.connection,
            "outcome": handshake.outcome,
            "fault": None if handshake.flaw is None else f"tls.{handshake.flaw}",
            "alert": handshake.alert,
            "server_name": handshake.server_name,
            "version": handshake.version,
            "cipher": handshake.cipher,
        }
    )
    return document


def coverage_document(tenant: Tenant) -> dict[str, Any]:
    """Return how many of the kept requests showed each documented outcome, and each kind of fault, to a client."""
    bounds = tenant.limit_bounds
    counts = Counter((entry.operation, outcome) for entry in tenant.entries for outcome in outcomes(entry, bounds))
    return {
        "outcomes": [
            {"operation": operation, "outcome": outcome, "shown": counts[operation, outcome]}
            for outcome, operation in DOCUMENTED
        ],
        "faults": [
            {
                "fault": kind,
                "shown": sum(counts[operation, f"fault {kind}"] for operation in OPERATIONS),
                "operations": {operation: counts[operation, f"fault {kind}"] for operation in OPERATIONS},
            }
            for kind in KINDS
        ],
    }
