"""Rows about failures: no value makes an operation fail, even if the interface leaves its response open."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from petstore_mock.interface.schemas import are_right, properties
from petstore_mock.verify import changes
from petstore_mock.verify.probes import OPEN, Phase, request, sends
from petstore_mock.verify.row import EVERY, SHOWING, SUCCESSES, About, Result
from petstore_mock.verify.rows.checks import cause_of, has_to_succeed

if TYPE_CHECKING:
    from petstore_mock.http.mutant import Turn
    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.row import Clause, Probes, Results, Rows
    from petstore_mock.verify.seen import History, Seen

# Integers at the edges of the types in which services keep them, and some that no int64 can hold.
_INTEGERS: Final = ("0", "-1", str(2**31), str(2**63), "9" * 30)


def rows() -> Rows:
    for operation in EVERY:
        if operation.body or any(parameter.gap for parameter in operation.parameters):
            yield _of_odd_values(operation)


def _of_odd_values(operation: Operation) -> Clause:
    row = About(operation).means("{section}-{prefix}-never-fails", "No value makes {operation} fail", _never_fails)
    row.operations = (operation,)
    if operation in SHOWING:
        row.send(*_odd_reads(operation))
    elif operation.does.adds and operation.body:
        row.send(sends(operation, {"deep": "{deep}"}, phase=Phase.ODD_CREATES, expected=OPEN))
    row.mistake(
        "odd-value-fails",
        "returns 500 for odd values that no section shows",
        changes.refuse_if(_has_odd_value, 500),
        (*SUCCESSES, 400, 404),
    )
    return row


def _odd_reads(operation: Operation) -> Probes:
    """Yield reads with integers at the edges, and with parameters that are empty or hard to decode."""
    if operation.identifier is not None:
        for text in (*_INTEGERS, "{beyond}"):
            yield request(operation, text, phase=Phase.ODD_READS, expected=OPEN)
    probe = request(operation, phase=Phase.LIST_EDGES, expected=OPEN)
    for parameter in operation.parameters_in("query"):
        # Bytes that are no UTF-8, a letter that databases refuse, and a sign that begins no byte.
        others = _INTEGERS[1:] if parameter is operation.limit else ("%FF", "%00", "%")
        for text in ("", *others):
            yield replace(probe, target=f"{probe.target}?{parameter.name}={text}")


def _has_odd_value(turn: Turn) -> bool:
    """Whether a parameter with a gap has a wrong text, or the body an unknown field."""
    given = {**turn.given, **turn.path}
    for parameter in turn.operation.parameters:
        if not parameter.gap:
            given.pop(parameter.name, None)
    if not are_right(turn.operation, given):
        return True
    body = turn.operation.body
    return body is not None and bool(turn.fields.keys() - properties(body))


def _never_fails(seen: Seen, history: History) -> Results:
    """Check requests whose response the interface leaves open. Other rows judge odd and delicate values of fields."""
    is_judged = has_to_succeed(seen) or seen.probe.is_delicate
    if seen.probe.is_open and not is_judged:
        cause = cause_of(seen, history) or _cause_of_failure(seen, history)
        yield Result(not seen.has_failed, "a status below 500", cause)


def _cause_of_failure(seen: Seen, history: History) -> str:
    for other in history.of(seen.operation):
        wanted = other.probe.expected.status
        # A service that fails instead of refusing is one finding.
        if wanted and other.status == seen.status:
            return f"{seen.status} for {wanted}"
    return f"{seen.operation.name} fails"
