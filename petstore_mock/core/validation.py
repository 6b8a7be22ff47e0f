"""Decodes and validates the body of a request: functions of the request, its route and the rules."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

from petstore_mock.core.routing import Refusal, Route, Rules
from petstore_mock.core.store import Body
from petstore_mock.interface import schemas
from petstore_mock.interface.strict_json import MalformedJsonError, decode_json, integral_value
from petstore_mock.interface.violations import JsonNumber, Violation

if TYPE_CHECKING:
    from petstore_mock.http.request import ApiRequest

_KEPT_BODIES: Final = 256  # tests create the same few animals
_KEPT_BODY: Final = 512  # bytes


def validate_head(rules: Rules, request: ApiRequest, length: int | None) -> Refusal | None:
    """Validate what a head tells of a body: its media type, and its length in bytes if it is declared."""
    condition = rules.policies.media_type
    if condition is not None and not request.fields.is_json:
        given = request.header("content-type")
        came = "Content-Type is missing" if given is None else f"Content-Type came as {given[:80]!r}"
        return Refusal(condition, detail=came)
    limit = rules.policies.body_limit
    if request.oversized or (limit is not None and length is not None and length > limit):
        return Refusal("body_too_large", detail=f"at most {limit} bytes are read")
    return None


def validate(rules: Rules, request: ApiRequest, route: Route) -> Body | Refusal | None:
    """Return the valid body of a request, None where its operation takes none, or everything that is wrong.

    A refusal names the wrong parameters and the wrong fields of the body at once.
    """
    operation, invalid = route.operation, route.invalid
    if operation is None or operation.body is None:
        return invalid
    content = request.body
    decode = _decode if len(content) <= _KEPT_BODY else _decode.__wrapped__
    body = validate_head(rules, request, len(content)) or decode(rules, content, operation.body)
    if invalid is None:
        return body
    if isinstance(body, Refusal) and body.condition == "invalid_body":
        violations = (*invalid.violations, *body.violations)
        return replace(invalid, violations=violations, omitted=invalid.omitted + body.omitted)
    return invalid


@lru_cache(maxsize=_KEPT_BODIES)
def _decode(rules: Rules, content: bytes, schema: str) -> Body | Refusal:
    """Return a valid body with its members in the order of the schema, or every broken rule."""
    try:
        value, repeated = decode_json(content)
    except MalformedJsonError as error:
        return Refusal("malformed_json", (error.violation,))
    document = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    _let_pass(rules, document, schema)
    violations = list(repeated) if rules.policies.duplicate_member else []
    omitted = repeated.omitted if violations else 0
    if not schemas.is_valid(schema)(value):
        broken = schemas.violations(schemas.schema(schema), value, "body")
        violations += broken
        omitted += broken.omitted
    wrong = {one.path for one in violations}
    for name, find in rules.field_rules:
        told = find(document[name]) if name in document and f"body.{name}" not in wrong else None
        if told is not None:
            violations.append(Violation(f"body.{name}", told[0], told[1], document[name]))
    if violations:
        return Refusal("invalid_body", tuple(violations), omitted=omitted)
    return Body({name: document[name] for name in schemas.properties(schema) if name in document})


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
        elif isinstance(value, JsonNumber) and known[name].get("type") == "integer" and not chosen.integral_float:
            whole = integral_value(value)
            document[name] = value if whole is None else whole
