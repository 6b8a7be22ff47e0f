"""Rows about the bodies of requests: wrong bodies, fields that may be left out, and values that are allowed."""

from __future__ import annotations

import re
from functools import partial
from json import JSONDecoder, dumps
from typing import TYPE_CHECKING

from petstore_mock.interface.bodies import plain, short, wrong_bodies
from petstore_mock.interface.schemas import members_of, properties, schema, violations
from petstore_mock.interface.strict_json import MalformedJsonError, decode_json, encode_json
from petstore_mock.interface.table import FIELDS, MEMBERS
from petstore_mock.verify import changes
from petstore_mock.verify.probes import REFUSED, Phase, request, sends
from petstore_mock.verify.row import OF_REQUESTS, WITH_BODY, About, breach, lead
from petstore_mock.verify.rows.checks import (
    OF_FORM,
    edges_of,
    is_accepted,
    is_refused,
    names_of,
    reasons_of,
    text_of_member,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from petstore_mock.http.mutant import Turn
    from petstore_mock.interface.bodies import WrongBody
    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.row import Change, Clause, Results, Rows
    from petstore_mock.verify.rows.checks import Choice
    from petstore_mock.verify.seen import History, Seen


def rows() -> Rows:
    for operation in WITH_BODY:
        body = str(operation.body)
        for wrong in wrong_bodies(body):
            yield _of_wrong_body(operation, wrong)
        names = [member.name for member in operation.members]
        # A create shows which values the fields of animals may have.
        if operation.does.adds:
            names = [*properties(body)]
        yield from _of_values(operation, body, names)


# Wrong bodies


def _of_wrong_body(operation: Operation, wrong: WrongBody) -> Clause:
    about = About(operation, end=wrong.end, wrong=wrong.words)
    row = about.says("{section}-{end}", "{wrong} gets 400", partial(_is_refused, wrong.member))
    phase = Phase.WRONG_CREATES if operation.does.adds else Phase.WRONG_CHANGES
    for text in (wrong.text, *wrong.others):
        row.send(request(operation, "{made}", phase=phase, expected=REFUSED, body=text))
    accept = partial(_accept, str(operation.body), _with_samples(wrong.text))
    row.mutant("{lead}{end}-passes", "{operation} accepts a wrong body ({wrong})", accept, OF_REQUESTS)
    return row


def _is_refused(member: str, seen: Seen, history: History) -> Results:
    """Check that the service refuses a wrong body. A service that does not check a member is one finding."""
    # Another clause is about unknown names.
    if seen.has_failed and seen.sent.keys() - members_of(seen.operation).keys():
        return
    for result in is_refused(seen, history):
        cause = result.cause
        if seen.is_success and cause != OF_FORM:
            cause = _unchecked(member, seen, history)
        yield result._replace(cause=cause)


def _unchecked(member: str, seen: Seen, history: History) -> str:
    """Return the cause of an accepted wrong body: the service checks no body, converts values, or skips the member."""
    operation = seen.operation
    tried = [one for one in history.of(operation) if one.probe.expected is REFUSED and one.sent]
    if all(one.is_success for one in tried):
        return f"{operation.name} checks no body"
    if _converts(member, seen):
        return f"{operation.name} converts values"
    return f"{operation.name} checks no {member}"


def _converts(member: str, seen: Seen) -> bool:
    """Whether a response has a value of another type than the request."""
    for pet in seen.pets:
        # Null may mean that the member is absent.
        is_shown = seen.sent.get(member) is not None and member in pet
        if is_shown and type(pet[member]) is not type(seen.sent[member]):
            return True
    return False


def _with_samples(text: str) -> bytes:
    """Return a body with samples for its placeholders of records."""
    for field in MEMBERS.values():
        if field.refers:
            text = text.replace(f"{{{field.name}}}", str(field.samples[0]))
    return text.encode()


def _accept(body: str, wrong: bytes, turn: Turn) -> None:
    """Accept bodies with the mistakes of ``wrong``.

    A valid body replaces them before the service validates them. So the journal has no violation.
    """
    if _mistakes(turn.sent, body) != _mistakes(wrong, body):
        return
    valid = changes.valid_part(turn.fields, properties(body))
    required = {name: MEMBERS[name].samples[0] for name in plain(body)}
    turn.sent = encode_json({**required, **valid})


def _mistakes(body: bytes, kind: str) -> object:
    """Return how a body is wrong: the broken rules with their places, and the forms of the values."""
    try:
        value, _ = decode_json(body)
    except MalformedJsonError:
        return "not JSON" if body else "no body", _is_whole_json(body)
    return {(one.path, one.rule, _form(one.value, one.rule)) for one in violations(schema(kind), value, "body")}


def _is_whole_json(body: bytes) -> bool | None:
    """Whether only our stricter rules refuse a body, and not text behind its JSON. None if no JSON stands first."""
    text = body.decode("utf-8", "replace").strip()
    try:
        _, end = JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return end == len(text)


def _form(value: object, rule: str) -> object:
    """Return the form of a wrong value: its type, and for some texts their case, and where they have signs."""
    if not isinstance(value, str):
        return type(value)
    if rule in {"enum", "format"}:
        return value.isupper(), re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", value))
    return str


# Values of members


def _of_values(operation: Operation, body: str, names: Iterable[str]) -> Rows:
    """Yield rows about the values that a schema just allows, and about members that a body may leave out."""
    rules = properties(body)
    samples = {name: dumps(MEMBERS[name].samples[0]) for name in rules if name not in plain(body)}
    phase = Phase.PLAIN_CREATES if operation.does.adds else Phase.CHANGES
    send = partial(sends, operation, phase=phase)
    for name in names:
        about = partial(About, operation, name, body=body, start=_start(operation, name))
        is_enum = "enum" in rules[name]
        mutant = "{end}" if is_enum else "{short}-{end}"
        others = dict(samples)
        others.pop(name, None)
        for edge in edges_of(rules[name]):
            accepts = partial(_accepts, (name, edge.text))
            row = about(end=edge.end, value=edge.words).says("{start}-{end}", "{name}: {value} is allowed", accepts)
            row.mistake(f"{mutant}-refused", "refuses the {name} {value}", _refuse_sent(name, edge.text))
            row.send(send({**others, name: edge.text}))
            yield row
        if name not in samples:
            continue
        row = about().says("{start}-optional", "{body}: {name} is not required", partial(_accepts, (name, "")))
        row.send(send(others))
        # The values of an enum are sent anyway.
        if not is_enum:
            row.send(send(samples))
        # Without other fields, their values can't be the reason for a refusal.
        if others:
            row.send(send({}))
        row.mistake("needs-{short}", "requires {name}", _refuse_sent(name, ""))
        yield row


def _start(operation: Operation, name: str) -> str:
    """Return the start of the ids of clauses about a member. Fields stand in the section of animals."""
    first = f"2-{lead(operation)}" if name in FIELDS else f"{operation.section}-"
    return f"{first}{short(name)}"


def _accepts(wanted: Choice, seen: Seen, history: History) -> Results:
    """Check that a body may have a value of a member, or none if its text is empty."""
    if not history.accepts_plain:
        return
    reasons = reasons_of(seen, history)
    if seen.has_failed and wanted in reasons:
        yield breach("the value to be accepted", names_of(reasons))
    # Another choice of this request may be the reason.
    elif not reasons or wanted in reasons:
        yield from is_accepted(seen, history)


def _refuse_sent(name: str, text: str) -> Change:
    return changes.refuse_if(lambda turn: text_of_member(turn.fields, name) == text)
