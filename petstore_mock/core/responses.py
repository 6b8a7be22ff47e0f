"""Makes the answers of the core: renders, encodes, refuses, and answers as a fault says. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import mask_text
from petstore_mock.contract.error_conditions import CONDITIONS, condition_of_status, error_document
from petstore_mock.contract.strict_json import encode_json
from petstore_mock.contract.violations import MOST_VIOLATIONS
from petstore_mock.core.routing import SERVER
from petstore_mock.core.self_check import check_error
from petstore_mock.messages.response import BODILESS_STATUSES, ApiResponse, Head

if TYPE_CHECKING:
    from petstore_mock.contract.error_conditions import Condition
    from petstore_mock.contract.gap_policies import ResponseFields
    from petstore_mock.core.routing import Refusal, Route
    from petstore_mock.core.world import World
    from petstore_mock.faults.kinds import Answer
    from petstore_mock.journal.entry import Entry
    from petstore_mock.messages.request import ApiRequest

__all__ = ["bare_response", "fault_response", "json_response", "refusal_response", "refused"]

_SHOWN_VIOLATIONS: Final = 20  # of a body with thousands of wrong fields


def json_response(world: World, status: int, canonical: bytes, fields: ResponseFields) -> ApiResponse:
    """Make an answer of canonical JSON, rendered as the behaviour writes it."""
    rules = world.rules
    if rules.rewrites:
        canonical = rules.policies.json_style(rules.policies.extra_response_fields(canonical))
    return bare_response(world, rules.head(status, fields), canonical)


def bare_response(world: World, head: Head, body: bytes) -> ApiResponse:
    """Make an answer of a head and a body, to be encoded as the behaviour sends it."""
    return ApiResponse(head, body, world.clock.date_field, world.rules.wire_format)


def refused(world: World, entry: Entry, refusal: Refusal) -> ApiResponse:
    """Refuse a request, and have its entry say why."""
    kept = refusal.violations[:MOST_VIOLATIONS]
    entry.condition = CONDITIONS[refusal.condition]
    entry.violations = kept
    entry.omitted = len(refusal.violations) - len(kept) + refusal.omitted
    entry.detail = refusal.detail
    return refusal_response(world, refusal, entry.request)


def refusal_response(world: World, refusal: Refusal, request: ApiRequest) -> ApiResponse:
    """Refuse a request (§7).

    Args:
        world: whose behaviour writes the answer.
        refusal: why.
        request: whose credentials are to be masked.
    """
    condition = CONDITIONS[refusal.condition]
    parts = [str(one) for one in refusal.violations[:_SHOWN_VIOLATIONS]]
    more = len(refusal.violations) + refusal.omitted - len(parts)
    if more > 0:
        parts.append(f"and {more} more")
    if refusal.detail:
        parts.append(refusal.detail)
    message = condition.message
    if parts:  # a client may have put a key anywhere, and its log shows what we say of it
        message = mask_text(f"{message}: {'; '.join(parts)}", (*world.keys, *request.credentials))
    return _error_response(world, condition, message, refusal.fields)


def fault_response(world: World, fault: Answer, route: Route) -> ApiResponse:
    """Answer a request for ``route`` as a fault says: with its own body, or with the interface's error body (§2)."""
    condition = condition_of_status(fault.status)
    fields: ResponseFields = ()
    if fault.status == 405:
        fields = (("Allow", route.allow),)  # RFC 9110 §15.5.6
    elif fault.status == 404 and route.operation is not None:  # as for an absent animal (§9)
        fields = world.rules.policies.deprecation_headers(route.operation.removed_at)
    if fault.body is not None or fault.status in BODILESS_STATUSES:
        response = bare_response(world, Head(fault.status, (SERVER, *condition.fields, *fields)), fault.body or b"")
    else:
        response = _error_response(world, condition, f"{condition.message} (injected: {fault})", fields)
        if world.self_check:
            check_error(world, response)
    if fault.fields:
        response.head = response.head.with_fields(*fault.fields)
    return response


def _error_response(world: World, condition: Condition, message: str, fields: ResponseFields) -> ApiResponse:
    """Make an error answer: the one place where a condition becomes one, whoever refuses."""
    status = condition.status
    document = error_document(world.rules.policies.error_codes(condition.code, status), message, status)
    return json_response(world, status, encode_json(document), (*condition.fields, *fields))
