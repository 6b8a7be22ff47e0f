"""An entry as a JSON value, and back: for those who look at a journal from another process.

Whatever is said of an entry here is said of the one that is made of its record: reports, pictures and assertions come
out the same. Keys are masked on the way, in its bodies too; of a value that broke a rule its description is left.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from petstore_mock import faults
from petstore_mock.common.masking import mask_field
from petstore_mock.contract.error_conditions import CONDITIONS, condition_of_status
from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.contract.violations import Described, Violation
from petstore_mock.errors import PetStoreMockError
from petstore_mock.journal.entry import Entry
from petstore_mock.messages.request import ApiRequest
from petstore_mock.messages.response import ApiResponse, Head

if TYPE_CHECKING:
    from petstore_mock.contract.error_conditions import Condition
    from petstore_mock.faults import Fault

__all__ = ["entry_of", "record_of", "update_entry"]


def record_of(entry: Entry) -> dict[str, Any]:
    """Return an entry as a JSON value; texts may hold lone surrogates."""
    request = entry.request
    return {
        "number": entry.number,
        "owner": entry.owner,
        "method": entry.method,
        "target": entry.target,
        "mount": request.base_path,
        "fields": [list(field) for field in entry.fields],
        "body": _as_base64(entry, entry.body),
        "connection": entry.connection,
        "exchange": entry.exchange,
        "started": request.started,
        "version": request.version,
        "oversized": request.oversized,
        "operation": entry.operation,
        "secure": entry.secure,
        "timestamp": entry.timestamp,
        "duration": entry.duration,
        "condition": None if entry.condition is None else entry.condition.name,
        "condition_status": None if entry.condition is None else entry.condition.status,
        "detail": entry.masked(entry.detail),
        "violations": [_violation_record(entry, one) for one in entry.violations],
        "omitted": entry.omitted,
        "fault": None if entry.fault is None else faults.to_data(entry.fault),
        "delayed_by": None if entry.delayed_by is None else faults.to_data(entry.delayed_by),
        "executed": entry.executed,
        "outcome": entry.outcome,
        "expected": entry.expected,
        "by_expectation": entry.by_expectation,
        "mutant": entry.mutant,
        "sent": entry.sent,
        "response": _response_record(entry),
    }


def _as_base64(entry: Entry, content: bytes) -> str:
    """Return bytes for JSON, keys masked."""
    return b64encode(entry.masked_bytes(content)).decode("ascii")


def _violation_record(entry: Entry, violation: Violation) -> dict[str, Any]:
    return {
        "path": entry.masked(violation.path),
        "rule": violation.rule,
        "expected": entry.masked(violation.expected),
        "came": entry.masked(violation.came) if violation.has_value else None,
        "subject": violation.subject,
    }


def _response_record(entry: Entry) -> dict[str, Any] | None:
    response = entry.response
    if response is None:
        return None
    keys = entry.secrets
    return {
        "status": response.status,
        "fields": [[name, mask_field(name, value, keys)] for name, value in response.head.fields],
        "body": _as_base64(entry, response.body),
        "date": response.date.decode("ascii"),
    }


def entry_of(record: dict[str, Any]) -> Entry:
    """Make an entry of what :func:`record_of` returned."""
    fields = [
        (name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in record["fields"]
    ]
    request = ApiRequest(
        record["method"],
        record["target"],
        fields,
        b64decode(record["body"]),
        record["connection"],
        record["exchange"],
        record["started"],
        record["version"],
    )
    request.mount = record["mount"]
    request.oversized = record["oversized"]
    operation = OPERATIONS.get(record["operation"])
    request.operation = None if operation is None else operation.name
    entry = Entry(record["number"], record["owner"], request, record["timestamp"])
    entry.secure = record["secure"]
    update_entry(entry, record)
    return entry


def update_entry(entry: Entry, record: dict[str, Any]) -> None:
    """Let an entry say what its record says by now: of an answer that was held back, and of the decision."""
    answer = record["response"]
    if answer is not None:
        head = Head(answer["status"], [(name, value) for name, value in answer["fields"]])
        entry.response = ApiResponse(head, b64decode(answer["body"]), answer["date"].encode("ascii"))
    entry.sent = record["sent"]
    entry.duration = record["duration"]
    entry.outcome = record["outcome"]
    entry.condition = _condition(record["condition"], record["condition_status"])
    entry.detail = record["detail"]
    entry.violations = tuple(_violation(one) for one in record["violations"])
    entry.omitted = record["omitted"]
    entry.fault = _fault(record["fault"])
    entry.delayed_by = _fault(record["delayed_by"])
    entry.executed = record["executed"]
    entry.expected = record["expected"]
    entry.by_expectation = record["by_expectation"]
    entry.mutant = record["mutant"]


def _condition(name: str | None, status: int | None) -> Condition | None:
    if name is None or status is None:
        return None
    return CONDITIONS.get(name) or condition_of_status(status)


def _violation(record: dict[str, Any]) -> Violation:
    value = {} if record["came"] is None else {"value": Described(record["came"])}
    return Violation(record["path"], record["rule"], record["expected"], subject=record["subject"], **value)


def _fault(data: object) -> Fault | None:
    try:
        return None if data is None else faults.from_data(data)
    except PetStoreMockError as error:  # of a stub that knows more kinds than this side does
        raise PetStoreMockError(f"expected a stub of the same version, whose faults are known here: {error}") from None
