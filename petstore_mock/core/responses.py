"""Renders and dresses: makes the answers of the core, refusals included. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import mask_text
from petstore_mock.contract.error_conditions import CONDITIONS, REALM, error_document
from petstore_mock.contract.strict_json import encode_json
from petstore_mock.contract.violations import MOST_VIOLATIONS
from petstore_mock.core.routing import SERVER
from petstore_mock.core.self_check import check_error
from petstore_mock.messages.response import BODILESS_STATUSES, PLAIN, ApiResponse, Head, reason_phrase

if TYPE_CHECKING:
    from petstore_mock.contract.error_conditions import Condition
    from petstore_mock.contract.gaps import Fields
    from petstore_mock.core.routing import Refusal, Route
    from petstore_mock.core.world import World
    from petstore_mock.faults import Fault
    from petstore_mock.journal.entry import Entry

__all__ = ["dressed", "fault_answer", "garbled", "refused", "rendered"]

_SHOWN_VIOLATIONS: Final = 20  # of a body with thousands of wrong fields

# What a fault that answers by status alone says, beside the statuses of the table of conditions.
_FAULT_CONDITIONS: Final = {401: "unknown_key", 404: "absent_pet", 400: "invalid_body", 429: "rate_limited"}


def rendered(world: World, status: int, canonical: bytes, fields: Fields) -> ApiResponse:
    """Make an answer of canonical JSON, written as the behaviour writes it."""
    rules = world.rules
    if rules.rewrites:
        canonical = rules.policies.json_style(rules.policies.extra_response_fields(canonical))
    return dressed(world, rules.head(status, fields), canonical)


def dressed(world: World, head: Head, body: bytes) -> ApiResponse:
    """Make an answer that goes out as the behaviour sends it."""
    rules = world.rules
    response = ApiResponse(head, body, world.clock.http_date(world.now))
    if rules.dress is not PLAIN:
        response.dress = rules.dress
    return response


def _error(world: World, code: str, message: str, status: int, fields: Fields) -> ApiResponse:
    body = encode_json(error_document(world.rules.policies.error_codes(code, status), message, status))
    return rendered(world, status, body, fields)


def refused(world: World, entry: Entry, refusal: Refusal, fields: Fields = ()) -> ApiResponse:
    """Refuse a request: the one place where a condition becomes an error answer (§7)."""
    condition = CONDITIONS[refusal.condition]
    entry.condition = condition
    entry.violations = refusal.violations[:MOST_VIOLATIONS]
    entry.omitted = len(refusal.violations) - len(entry.violations) + refusal.omitted
    entry.detail = refusal.detail
    parts = [str(one) for one in refusal.violations[:_SHOWN_VIOLATIONS]]
    more = len(refusal.violations) + refusal.omitted - len(parts)
    if more > 0:
        parts.append(f"and {more} more")
    if refusal.detail:
        parts.append(refusal.detail)
    message = condition.message
    if parts:  # a client may have put a key anywhere, and its log shows what we say of it
        message = mask_text(f"{message}: {'; '.join(parts)}", (*world.keys, *entry.request.credentials))
    return _error(world, condition.code, message, condition.status, (*_challenge(condition), *fields))


def _challenge(condition: Condition) -> Fields:
    """Return the header fields that HTTP demands with a status."""
    if condition.status == 401:
        realm = f'Bearer realm="{REALM}"'
        if condition.name == "missing_key":  # RFC 6750 §3.1: no error code when no credentials were sent
            return (("WWW-Authenticate", realm),)
        return (("WWW-Authenticate", f'{realm}, error="invalid_token", error_description="The API key is not valid"'),)
    if condition.status == 415:
        return (("Accept", "application/json"),)  # RFC 9110 §12.5.1
    return ()


def fault_answer(world: World, fault: Fault, status: int, route: Route) -> ApiResponse:
    """Answer a request for ``route`` with the status of a fault: its own body, or the interface's error body (§2)."""
    demanded = _demanded(world, status, route)
    if fault.body is not None or status in BODILESS_STATUSES:
        head = Head(status, (SERVER, *demanded)).with_fields(*fault.fields)
        return dressed(world, head, b"" if status in BODILESS_STATUSES or fault.body is None else fault.body)
    name = _FAULT_CONDITIONS.get(status)
    if name is not None:
        condition = CONDITIONS[name]
        code, message = condition.code, condition.message
    else:
        phrase = reason_phrase(status) or "Error"
        code, message = phrase.lower().replace(" ", "_").replace("-", "_"), phrase
    response = _error(world, code, f"{message} (injected: {fault})", status, demanded)
    if world.self_check and not fault.breaks_contract:
        check_error(world, response)
    if fault.fields:
        response.head = response.head.with_fields(*fault.fields)
    return response


def _demanded(world: World, status: int, route: Route) -> Fields:
    """Return the header fields that HTTP, or the interface, demands with the status of a fault."""
    if status == 405:
        return (("Allow", route.allow),)  # RFC 9110 §15.5.6
    if status == 404 and route.operation is not None:  # as for an absent animal (§9)
        return world.rules.policies.deprecation_headers(route.operation.removed_at)
    return _challenge(CONDITIONS["unknown_key"]) if status == 401 else ()


def garbled(response: ApiResponse, fault: Fault, world: World) -> ApiResponse:
    """Garble an answer: its body, its type, or the way it goes out."""
    if fault.edit == "malformed_json":
        response.body = response.body[: max(1, len(response.body) // 2)] + b'"\\'
    elif fault.edit == "wrong_content_type":
        response.head = response.head.with_fields(("Content-Type", "text/html; charset=utf-8"))
    elif fault.delivery is not None:
        response.delivery = fault.delivery
        response.waits = world.waits
    return response
