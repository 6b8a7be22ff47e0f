"""Rows about the bodies of requests: wrong bodies, fields that may be left out, and values that are allowed."""

from __future__ import annotations

from collections import Counter
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from petstore_mock.interface.bodies import plain, short, wrong_bodies
from petstore_mock.interface.kinds import quick
from petstore_mock.interface.schemas import properties, schema, violations
from petstore_mock.interface.strict_json import MalformedJsonError, decode_json, encode_json
from petstore_mock.interface.table import FIELDS
from petstore_mock.verify import changes
from petstore_mock.verify.probes import REFUSED, Phase, request, sends
from petstore_mock.verify.row import CREATES, OF_REQUESTS, WITH_BODY, Clause, Mutant, Result, each, lead
from petstore_mock.verify.rows.checks import is_refused
from petstore_mock.verify.rows.lists import is_refused_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.http.mutant import Turn
    from petstore_mock.interface.bodies import WrongBody
    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.probes import Probe
    from petstore_mock.verify.row import Change, Check
    from petstore_mock.verify.seen import History, Seen


def rows() -> Iterator[Clause]:
    for operation in WITH_BODY:
        for wrong in wrong_bodies(str(operation.body)):
            yield _of_wrong_body(operation, wrong)
    for operation in CREATES:
        if operation.body is not None:
            yield from _of_optional_fields(operation)


# Wrong bodies


def _of_wrong_body(operation: Operation, wrong: WrongBody) -> Clause:
    phase = Phase.WRONG_CREATES if operation.does.adds else Phase.WRONG_CHANGES
    words = f"{operation.name} accepts a wrong body ({wrong.words})"
    name = f"{lead(operation, WITH_BODY)}{wrong.end}-passes"
    return Clause(
        id=f"{operation.section}-{wrong.end}",
        words=f"{wrong.words} gets 400",
        probes=(request(operation, "{made}", phase=phase, expected=REFUSED, body=wrong.text),),
        check=is_refused,
        mutants=(Mutant(name, words, [operation], _accept(str(operation.body), wrong.text), OF_REQUESTS),),
    )


def _accept(body: str, wrong: str) -> Change:
    """Return a change that accepts bodies with the mistakes of ``wrong``.

    It replaces them with a valid body before the service validates them. So the journal has no violation.
    """
    text = wrong
    for field in FIELDS.values():
        if field.refers:
            text = text.replace(f"{{{field.name}}}", str(field.samples[0]))

    def accept(turn: Turn) -> None:
        if _mistakes(turn.sent, body) != _mistakes(text.encode(), body):
            return
        rules = properties(body)
        valid = {name: value for name, value in turn.fields.items() if quick(rules.get(name, {}))(value)}
        required = {name: FIELDS[name].samples[0] for name in schema(body).get("required", ())}
        turn.sent = encode_json({**required, **valid})

    return accept


def _mistakes(body: bytes, kind: str) -> object:
    """Return how a body is wrong: the broken rules with their places, and the forms of the values."""
    try:
        value, _ = decode_json(body)
    except MalformedJsonError:
        return "not JSON" if body else "no body", _has_json_syntax(body)
    rules = properties(kind)
    broken = violations(schema(kind), value, "body")
    return {(one.path, one.rule, _form(one.value, rules.get(one.path.removeprefix("body."), {}))) for one in broken}


def _has_json_syntax(body: bytes) -> bool:
    """Whether only our stricter rules refuse a body, such as those for half a surrogate pair."""
    try:
        loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _form(value: object, rules: Mapping[str, Any]) -> object:
    """Return the form of a wrong value: its type, and for a text whether it is a word or has digits and signs."""
    if not isinstance(value, str):
        return type(value)
    if value.lower() in map(str.lower, rules.get("enum", ())):
        return "the case of an allowed value"
    signs = ("a" if letter.isalpha() else "9" if letter.isdecimal() else letter for letter in value)
    form = ""
    for sign in signs:
        if not form.endswith(sign):
            form += sign
    return form if "format" in rules else str


# Fields of new animals


def _of_optional_fields(operation: Operation) -> Iterator[Clause]:
    body, start = str(operation.body), f"2-{lead(operation, CREATES)}"
    optional = [name for name in properties(body) if name not in plain(body)]
    samples = {name: dumps(FIELDS[name].samples[0]) for name in optional}
    for name in optional:
        rules = properties(body)[name]
        others = {other: text for other, text in samples.items() if other != name}
        for value in rules.get("enum", ()):
            refusing = _refuse_sent(name, value)
            yield Clause(
                id=f"{start}{short(name)}-{value}",
                words=f"{name}: {value} is allowed",
                probes=(sends(operation, {**others, name: dumps(value)}, phase=Phase.PLAIN_CREATES),),
                check=_accepts(name, value),
                mutants=each([operation], f"{value}-refused", f"refuses the {name} {value}", refusing),
            )
        left_out = sends(operation, others, phase=Phase.PLAIN_CREATES)
        yield Clause(
            id=f"{start}{short(name)}-optional",
            words=f"{body}: {name} is not required",
            probes=(left_out, *_with_all(operation, name, samples), *_with_none(operation, others)),
            check=_accepts(name, None),
            mutants=each([operation], f"needs-{short(name)}", f"requires {name}", _refuse_sent(name, None)),
        )


def _accepts(name: str, value: object) -> Check:
    """Return a check that a create may have a value of a field, or no value if it is None."""

    def check(seen: Seen, history: History) -> Iterator[Result]:
        if not history.accepts_plain:
            return
        if seen.is_success:
            yield Result(holds=True)
        elif is_refused_value(seen):
            reasons = _reasons(seen, history)
            # Another choice of this request may be the reason.
            if not reasons or (name, value) in reasons:
                yield Result(holds=False, expected="the value to be accepted", cause=_in_words(reasons))

    return check


def _choices(seen: Seen) -> set[tuple[str, object]]:
    """Return the choices of a plain create: values of enums, and None for fields that it leaves out."""
    rules = properties(str(seen.operation.body))
    return {(name, seen.sent.get(name)) for name in rules if "enum" in rules[name] or name not in seen.sent}


def _reasons(seen: Seen, history: History) -> set[tuple[str, object]]:
    """Return the choices of a refused create that explain most refusals, and that no accepted create has."""
    plain = [one for one in history.exchanges if one.operation is seen.operation and one.probe.is_valid]
    accepted = {choice for one in plain if one.is_success for choice in _choices(one)}
    refused = Counter(choice for one in plain if is_refused_value(one) for choice in _choices(one))
    candidates = _choices(seen) - accepted
    most = max((refused[choice] for choice in candidates), default=0)
    return {choice for choice in candidates if refused[choice] == most}


def _in_words(choices: set[tuple[str, object]]) -> str:
    return ", ".join(sorted(f"{name} {value}" for name, value in choices))


def _with_all(operation: Operation, name: str, samples: Mapping[str, str]) -> Iterator[Probe]:
    """Yield a create with all optional fields, unless the values of an enum are sent anyway."""
    if "enum" not in properties(str(operation.body))[name]:
        yield sends(operation, samples, phase=Phase.PLAIN_CREATES)


def _with_none(operation: Operation, others: Mapping[str, str]) -> Iterator[Probe]:
    """Yield a create without optional fields, so that the value of another field can't be the reason for a refusal."""
    if others:
        yield sends(operation, {}, phase=Phase.PLAIN_CREATES)


def _refuse_sent(name: str, value: object) -> Change:
    return changes.when(lambda turn: turn.fields.get(name) == value, changes.refuse())
