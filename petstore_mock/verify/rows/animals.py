"""Rows about requests for stored animals: their successes, and the animal that they identify."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.interface.schemas import members_of
from petstore_mock.interface.table import FIELDS, LABEL
from petstore_mock.verify import changes
from petstore_mock.verify.probes import (
    ABSENT,
    ABSENT_OR_THERE,
    ELSEWHERE,
    KEYS_AND_LIMITS,
    OPEN,
    SUCCESS,
    USED_LABEL,
    WITH_CHARSET,
    Phase,
    request,
    sends,
)
from petstore_mock.verify.row import (
    CHANGES,
    CREATES,
    EVERY,
    READS,
    REMOVES,
    About,
    Result,
    breach,
    success_clause,
)
from petstore_mock.verify.rows.checks import cause_of, has_to_succeed, is_refused, reasons_of

if TYPE_CHECKING:
    from petstore_mock.interface.table import Operation, Parameter
    from petstore_mock.verify.row import Clause, Probes, Results, Rows
    from petstore_mock.verify.seen import History, Seen

_LARGEST: Final = 2**63 - 1
_EXACT: Final = 2**53
_SHOWING_ONE: Final = frozenset({SUCCESS, OPEN, ABSENT_OR_THERE})
# Texts that are no id, although a careless service reads one in it.
_ODD_TEXTS: Final = ("+{known}", "%20{known}", "{known}.0", "{known}x", "0_{known}", "{known}%0A")


def rows() -> Rows:
    for operation in EVERY:
        yield _of_success(operation)
        if operation.identifier is not None:
            yield from _of_identifier(operation, operation.identifier)


# Successes


def _of_success(operation: Operation) -> Clause:
    about = About(operation, method=operation.method, path=operation.path, success=operation.success)
    row = about.every(success_clause(operation), "{method} {path}: a success has status {success}", _has_success_status)
    row.send(*_plain_requests(operation))
    if operation.success != 200:
        row.mistake("answers-200", "returns 200", changes.becomes(status=200))
    if operation.response is not None:
        row.mistake("answers-204", "returns 204 without a body", changes.NO_CONTENT)
    if operation.identifier is not None:
        row.mistake("finds-nothing", "returns 404 for a stored animal", changes.refuse(404))
    return row


def _plain_requests(operation: Operation) -> Probes:
    if operation in READS:
        yield request(operation, phase=Phase.READS)
        if operation.identifier is not None:
            for unusual in ("{odd1}", "{odd2}", "{odd3}"):
                yield request(operation, unusual, phase=Phase.ODD_READS)
            # The first character may be percent-encoded (RFC 3986 §6.2.2.2). The status says what a service misses.
            yield request(operation, "%{hex}{rest}", phase=Phase.LAST_READS, has_lower_names=True)
    elif operation in CREATES and LABEL in members_of(operation):
        # The interface says of no field but the identifier that it is unique.
        yield sends(operation, {LABEL: f'"{USED_LABEL}"'}, phase=Phase.ODD_CREATES, expected=OPEN)
        yield request(operation, phase=Phase.PLAIN_CREATES, media_type=WITH_CHARSET)
        # For a service that refuses every plain one.
        label = dumps(FIELDS[LABEL].samples[0])
        yield sends(operation, {LABEL: label}, phase=Phase.SIMPLEST_CREATE, expected=OPEN)
    elif operation in CHANGES and operation.body is None:
        yield request(operation, "{made}", phase=Phase.CHANGES)
    elif operation in REMOVES:
        yield request(operation, "{made}", phase=Phase.REMOVES)


def _has_success_status(seen: Seen, history: History) -> Results:
    wanted = seen.operation.success
    is_shown = seen.is_success or _is_wrong(seen, history)
    if is_shown and has_to_succeed(seen):
        words = f"{wanted}"
        if seen.probe.media_type == WITH_CHARSET:
            words = f"{wanted}, because a charset is no other media type (RFC 8259 §11)"
        yield Result(seen.status == wanted, words, cause_of(seen, history, wanted))


def _is_wrong(seen: Seen, history: History) -> bool:
    """Whether the status of a valid request breaks the success clause of its operation."""
    if seen.has_failed:
        return True
    if seen.is_removed:
        return False
    if seen.status in ELSEWHERE:
        return _was_there(seen, history)
    # A service may refuse values that the interface allows: it does not show all rules.
    has_values = any([seen.chosen, seen.operation.body])
    if seen.probe.media_type == WITH_CHARSET:
        # Another status may mean a quota. If no accepted create leaves out the same fields, that may be the reason.
        has_values = seen.status != 415 or bool(reasons_of(seen, history))
    is_rule = seen.is_refusal and has_values
    if is_rule or seen.status in KEYS_AND_LIMITS:
        return False
    return seen.is_about is None or _was_there(seen, history)


def _was_there(seen: Seen, history: History) -> bool:
    """Whether the list or the animal of the request surely existed, although the response says that it did not."""
    pet_id = seen.is_about
    if pet_id is None:
        return seen.operation.shows_many and bool(history.listed)
    # The lost response of the first request may have removed the animal.
    if seen.operation.commits:
        return history.was_last_there(pet_id, seen.number) and not seen.is_repeat
    return all(history.around(pet_id, seen.number))


# Identifiers


def _of_identifier(operation: Operation, identifier: Parameter) -> Rows:
    about = About(operation, identifier.name)
    is_read = operation in READS
    if operation.shows_one:
        row = about.every("{section}-asked-for", "{name}: the identifier of the animal", _is_asked_for)
        if is_read:
            for text in _ODD_TEXTS:
                row.send(request(operation, text, phase=Phase.ODD_READS, expected=OPEN, gap=identifier.gap))
        another = changes.respond_another if is_read else changes.take_other_id
        row.mistake("another", "returns another animal", another)
        yield row
    if 404 in operation.errors:
        row = about.says("{section}-absent", "404: no animal found for the given {name}", is_refused)
        phase = Phase.KEYS if operation.commits else Phase.READS
        row.send(request(operation, "{absent}", phase=phase, expected=ABSENT))
        row.mutant("{lead}absent-is-null", "{operation} returns null for an absent animal", changes.NULL, (404,))
        row.mutant("{lead}absent-is-400", "{operation} returns 400 for an absent animal", changes.refuse(), (404,))
        yield row
    if is_read:
        row = about.says("{section}-int64", "{name}: integer, format int64", is_refused)
        row.send(request(operation, str(_LARGEST), phase=Phase.ODD_READS, expected=ABSENT_OR_THERE))
        large = changes.refuse_if(lambda turn: turn.pet_id > _EXACT)
        row.mutant("{lead}large-id-refused", "{operation} refuses ids beyond 2^53", large, (operation.success, 404))
        yield row


def _is_asked_for(seen: Seen, _history: History) -> Results:
    expected = seen.probe.expected
    document = seen.document
    if not seen.is_success or expected not in _SHOWING_ONE:
        return
    words = f'no animal for the text "{seen.pet_id}"'
    if seen.probe.is_valid:
        words = f"the animal with id {seen.pet_id}"
    if is_object(document) and "id" in document:
        yield Result(not seen.shows_another, words)
    elif seen.operation in READS and expected == OPEN and is_array(document) and document:
        yield breach(words)
