"""Makes the responses of the core: renders JSON, refuses, and responds as a fault says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from petstore_mock.common.masking import mask_text
from petstore_mock.core.routing import SERVER, Refusal, ResponseFields, Route
from petstore_mock.http.response import BODILESS_STATUSES, Head, Response
from petstore_mock.interface.conditions import CONDITIONS, Condition, condition_of_status, error_document
from petstore_mock.interface.strict_json import encode_json
from petstore_mock.interface.violations import MOST_VIOLATIONS

if TYPE_CHECKING:
    from petstore_mock.core.world import World
    from petstore_mock.faults.fault import Fault
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.journal.exchange import Exchange

_SHOWN_VIOLATIONS: Final = 20  # of a body with thousands of wrong fields


def render(world: World, status: int, canonical: bytes, fields: ResponseFields = ()) -> Response:
    """Return a response with a JSON body, written as the behaviour writes it."""
    rules = world.rules
    chosen = rules.policies
    body = chosen.json_style(chosen.extra_response_fields(canonical))
    return Response(rules.head(status, fields), body, world.time.date, rules.wire_format)


def bare(world: World, head: Head, body: bytes = b"") -> Response:
    return Response(head, body, world.time.date, world.rules.wire_format)


def refused(world: World, exchange: Exchange, refusal: Refusal) -> Response:
    """Refuse a request, and note the reason in its exchange."""
    exchange.condition = CONDITIONS[refusal.condition]
    exchange.violations = refusal.violations[:MOST_VIOLATIONS]
    exchange.omitted = len(refusal.violations[MOST_VIOLATIONS:]) + refusal.omitted
    exchange.detail = refusal.detail
    return refusal_response(world, refusal, exchange.request)


def refusal_response(world: World, refusal: Refusal, request: ApiRequest) -> Response:
    """Return the response of a refusal (§7); the credentials of ``request`` are masked in it."""
    condition = CONDITIONS[refusal.condition]
    parts = [str(one) for one in refusal.violations[:_SHOWN_VIOLATIONS]]
    more = len(refusal.violations) + refusal.omitted - len(parts)
    if more > 0:
        parts.append(f"and {more} more")
    if refusal.detail:
        parts.append(refusal.detail)
    message = condition.message
    if parts:  # a client may have put a key anywhere, and its log shows our message
        message = mask_text(f"{message}: {'; '.join(parts)}", (*world.secrets(), *request.credentials))
    return _error(world, condition, message, refusal.fields)


def fault_response(world: World, fault: Fault, route: Route) -> Response:
    """Respond to a request for ``route`` as a fault says, with its own body or the interface's Error (§2)."""
    condition = condition_of_status(fault.status or 500)
    fields: ResponseFields = ()
    if condition.status == 405:
        fields = (("Allow", route.allow),)  # RFC 9110 §15.5.6
    elif condition.status == 404 and route.operation is not None:  # as for an absent animal (§9)
        fields = world.rules.policies.deprecation_headers(route.operation.removed_at)
    if fault.body is not None or condition.status in BODILESS_STATUSES:
        head = Head(condition.status, (SERVER, *condition.fields, *fields))
        response = bare(world, head, fault.body or b"")
    else:
        response = _error(world, condition, f"{condition.message} (injected: {fault})", fields)
    if fault.fields:
        response.head = response.head.with_fields(*fault.fields)
    return response


def _error(world: World, condition: Condition, message: str, fields: ResponseFields) -> Response:
    status = condition.status
    document = error_document(world.rules.policies.error_codes(condition.code, status), message, status)
    return render(world, status, encode_json(document), (*condition.fields, *fields))
