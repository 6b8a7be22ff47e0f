"""Decodes and validates the body of a request: functions of the request, its route and the rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from petstore_mock.common.guards import is_object
from petstore_mock.core.routing import Refusal, Route, Rules
from petstore_mock.core.store import Body
from petstore_mock.interface import schemas
from petstore_mock.interface.strict_json import MalformedJsonError, decode_json

if TYPE_CHECKING:
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.interface.table import Operation
    from petstore_mock.interface.violations import Violation

_KEPT_BODY: Final = 512  # bytes


def validate_head(rules: Rules, request: ApiRequest, length: int | None) -> Refusal | None:
    """Validate what a head tells of a body: its media type, and its length in bytes if it is declared."""
    condition = rules.policies.media_type
    if condition is not None and not request.fields.is_json:
        given = request.header("content-type")
        came = "Content-Type is missing" if given is None else f"Content-Type came as {given[:80]!r}"
        return Refusal(condition, detail=came)
    limit = rules.policies.body_limit
    if limit is not None and length is not None and length > limit:
        return Refusal("body_too_large", detail=f"at most {limit} bytes are read")
    return None


def validate(rules: Rules, request: ApiRequest, route: Route) -> Body | Refusal | None:
    """Return the valid body of a request, None where its operation takes none, or everything that is wrong.

    A refusal names the wrong parameters and the wrong fields of the body at once.
    """
    operation, invalid = route.operation, route.invalid
    if operation is None or operation.body is None:
        return invalid
    body = validate_body(rules, request, operation)
    if invalid is None:
        return body
    if isinstance(body, Refusal) and body.condition == "invalid_body":
        violations = (*invalid.violations, *body.violations)
        return replace(invalid, violations=violations, omitted=invalid.omitted + body.omitted)
    return invalid


def validate_body(rules: Rules, request: ApiRequest, operation: Operation) -> Body | Refusal:
    """Decode and validate a body. It depends on nothing but its bytes and the rules, which keep valid ones."""
    content = request.body
    schema = operation.body or ""
    body = rules.bodies.get((schema, content))
    if body is not None and request.fields.is_json and not request.oversized:
        return body
    refusal = validate_head(rules, request, len(content))
    if refusal is not None:
        return refusal
    if request.oversized:
        return Refusal("body_too_large", detail=f"at most {rules.policies.body_limit} bytes are read")
    decoded = _decode(rules, content, schema)
    if isinstance(decoded, Refusal):
        return decoded
    body = Body(decoded)
    if len(content) <= _KEPT_BODY:
        rules.bodies[schema, content] = body
    return body


def _decode(rules: Rules, content: bytes, schema: str) -> dict[str, Any] | Refusal:
    """Return the members of a valid body in the order of the schema, or every broken rule."""
    try:
        value, repeated = decode_json(content)
    except MalformedJsonError as error:
        return Refusal("malformed_json", (error.violation,))
    if repeated or not schemas.is_valid(schema)(value) or _by_gap_rules(rules, value, schema):
        if isinstance(value, dict):
            _let_pass(rules, cast("dict[str, Any]", value), schema)
        violations = list(repeated) if rules.policies.duplicate_member else []
        omitted = repeated.omitted if violations else 0
        broken = schemas.violations(schemas.schema(schema), value, "body")
        violations += broken
        omitted += broken.omitted
        if isinstance(value, dict):
            wrong = {one.path for one in violations}
            violations += [one for one in _by_gap_rules(rules, value, schema) if one.path not in wrong]
        if violations:
            return Refusal("invalid_body", tuple(violations), omitted=omitted)
    return {name: value[name] for name in schemas.properties(schema) if name in value}


def _let_pass(rules: Rules, document: dict[str, Any], schema: str) -> None:
    """Take out of ``document`` what the behaviour overlooks, before the schema judges the rest."""
    chosen, known = rules.policies, schemas.properties(schema)
    required = schemas.schema(schema).get("required", ())
    for name, value in list(document.items()):
        if name not in known:
            if not chosen.unknown_body_field:
                del document[name]
        elif value is None and name not in required and not chosen.null_status:
            del document[name]
        elif isinstance(value, float) and known[name].get("type") == "integer" and not chosen.integral_float:
            # From 2**53 on a float has lost what the client wrote: it stays, and is refused as no integer.
            document[name] = int(value) if value.is_integer() and abs(value) < 2**53 else value


def _by_gap_rules(rules: Rules, document: Any, schema: str) -> list[Violation]:  # noqa: ANN401  # a JSON value
    """Return the broken rules that gaps put on single fields, such as name_rule."""
    found: list[Violation] = []
    for gap, keywords in rules.field_rules if is_object(document) else ():
        wanted, choice = schemas.properties(schema).get(gap.field, {}), rules.behaviour[gap.name]
        broken = schemas.violations({**wanted, **keywords}, document.get(gap.field), f"body.{gap.field}")
        found += [replace(one, expected=f"{one.expected} (gap {gap.name}={choice})") for one in broken]
    return found
