"""Validates a request: pure functions of the request, its route and the rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.contract.strict_json import MalformedJsonError, decode_json, integral_value, unrepresentable
from petstore_mock.contract.violations import JsonNumber, Violation
from petstore_mock.core.new_pet import NewPet
from petstore_mock.core.routing import Refusal

if TYPE_CHECKING:
    from petstore_mock.core.routing import Route, Rules
    from petstore_mock.messages.request import ApiRequest

__all__ = ["validate", "validate_body", "validate_head"]

_KEPT_BODIES: Final = 32  # a test creates the same few animals; each may be under hundreds of behaviours
_KEPT_BODY: Final = 512  # bytes


def validate_head(rules: Rules, request: ApiRequest, length: int | None) -> Refusal | None:
    """Validate what can be known of a body before it is read: its media type and its declared length in bytes."""
    if not request.fields.is_json:
        condition = rules.policies.media_type
        if condition is not None:
            given = request.header("content-type")
            came = "Content-Type is missing" if given is None else f"Content-Type came as {given[:80]!r}"
            return Refusal(condition, detail=came)
    limit = rules.policies.body_limit
    if limit is not None and length is not None and length > limit:
        return Refusal("body_too_large", detail=f"at most {limit} bytes are read")
    return None


def validate(rules: Rules, request: ApiRequest, route: Route) -> NewPet | Refusal | None:
    """Validate a request whose route is known: return its body, None where the operation has none, or what is wrong.

    What is wrong with the parameters and with the fields of the body is told at once.
    """
    invalid = route.invalid
    if route.operation is None or route.operation.request_schema is None:
        return invalid
    body = validate_body(rules, request)
    if invalid is None:
        return body
    if isinstance(body, Refusal) and body.condition == "invalid_body":
        return replace(
            invalid, violations=(*invalid.violations, *body.violations), omitted=invalid.omitted + body.omitted
        )
    return invalid


def validate_body(rules: Rules, request: ApiRequest) -> NewPet | Refusal:
    """Decode and validate the body of createPet (§4.2); return the NewPet, or every rule that it breaks.

    What a body means depends on nothing but its bytes and the rules: one that was valid before is so again.
    """
    body = request.body
    new_pet = rules.new_pets.get(body)
    if new_pet is not None and request.fields.is_json and not request.oversized:
        return new_pet  # by the same rules it isn't too long either
    refusal = validate_head(rules, request, len(body))
    if refusal is not None:
        return refusal
    if request.oversized:
        return Refusal("body_too_large", detail=f"at most {rules.policies.body_limit} bytes are read")
    if new_pet is None:
        sent = _decode(rules, body)
        if isinstance(sent, Refusal):
            return sent
        new_pet = NewPet(sent, rules.new_pet_fields)
        if len(body) <= _KEPT_BODY:
            if len(rules.new_pets) >= _KEPT_BODIES:
                rules.new_pets.clear()
            rules.new_pets[body] = new_pet
    return new_pet


def _decode(rules: Rules, body: bytes) -> dict[str, Any] | Refusal:
    """Return the members of a valid body, or every rule that it breaks."""
    try:
        value, repeated = decode_json(body)
    except MalformedJsonError as error:
        return Refusal("malformed_json", (error.violation,))
    if not repeated and rules.accepts_new_pet(value) and not (rules.limits_values and _by_gap_rules(rules, value)):
        # The usual case. What an open schema lets through beside the fields that it names, createPet does not read.
        accepted: dict[str, Any] = value
        return accepted
    if isinstance(value, dict):
        _let_pass(rules, value)
    violations = [one for one in repeated if rules.policies.duplicate_member]
    omitted = repeated.omitted if violations else 0  # the behaviour treats all of them alike
    broken = rules.schemas.validate("NewPet", value, "body")
    violations += broken
    omitted += broken.omitted
    if isinstance(value, dict):
        wrong = {one.path for one in violations}
        violations += [one for one in _by_gap_rules(rules, value) if one.path not in wrong]
        if not violations:
            kept = {name: member for name, member in value.items() if name in rules.new_pet_names}
            violations = unrepresentable(kept, "body")
            omitted = violations.omitted
    if violations:
        return Refusal("invalid_body", tuple(violations), omitted=omitted)
    document: dict[str, Any] = value
    return document


def _let_pass(rules: Rules, document: dict[str, Any]) -> None:
    """Take out of ``document`` what the behaviour overlooks, before the schema validates the rest."""
    chosen = rules.policies
    if "status" in document and document["status"] is None and not chosen.null_status:
        del document["status"]
    if not document.keys() <= rules.new_pet_names:
        for name in document.keys() - rules.new_pet_names:
            if not chosen.unknown_body_field:
                del document[name]
    for name in rules.integer_fields:
        number = document.get(name)
        if isinstance(number, JsonNumber) and not chosen.integral_float:
            whole = integral_value(number)
            if whole is not None:
                document[name] = whole


def _by_gap_rules(rules: Rules, document: dict[str, Any]) -> list[Violation]:
    found = []
    name, number = document.get("name"), document.get("categoryId")
    broken = rules.policies.name_rule(name) if isinstance(name, str) else None
    if broken is not None:
        found.append(Violation("body.name", *broken, name))
    broken = rules.policies.category_rule(number) if isinstance(number, int) else None
    if broken is not None:
        found.append(Violation("body.categoryId", *broken, number))
    return found
