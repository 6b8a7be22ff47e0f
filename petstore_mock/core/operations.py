"""What the operations do, one executor each, and how responses are made: renders JSON, refuses, responds as a fault.

All else about an operation follows from its row in the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.masking import mask_text
from petstore_mock.core.routing import SERVER, Refusal, ResponseFields, Route
from petstore_mock.http.response import BODILESS_STATUSES, Head, Response
from petstore_mock.interface.conditions import CONDITIONS, Condition, condition_of_status, error_document
from petstore_mock.interface.gaps import ListPage
from petstore_mock.interface.strict_json import encode_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.core.world import World
    from petstore_mock.faults.fault import Fault
    from petstore_mock.http.handler import Pending
    from petstore_mock.interface.table import Operation
    from petstore_mock.journal.exchange import Exchange

_SHOWN_VIOLATIONS: Final = 20  # of a body with thousands of wrong fields


@dataclass(slots=True, eq=False)
class Call:
    """A valid request on its way through faults, execution and rendering."""

    world: World  # its lock is held
    operation: Operation
    route: Route
    body: Mapping[str, Any] | None  # valid
    exchange: Exchange
    pending: Pending  # of the world when the request came: a reset replaces it
    commit: bool = True  # whether its effect is kept; a fault may corrupt the response of an operation that is not


def execute(call: Call) -> Response | Refusal:
    removed_at, world = call.operation.removed_at, call.world
    is_removed = removed_at is not None and world.time.now() >= removed_at.timestamp()
    condition = world.rules.policies.after_removal if is_removed else None
    if condition is not None:
        return Refusal(condition, detail=call.operation.removal, fields=_deprecation(call))
    return EXECUTORS[call.operation.name](call)


def _deprecation(call: Call) -> Any:  # noqa: ANN401  # header fields
    return call.world.rules.policies.deprecation_headers(call.operation.removed_at)


def list_pets(call: Call) -> Response:
    """§4.1: at most ``limit`` animals, only those of the filters."""
    world, route = call.world, call.route
    store, chosen = world.store, world.rules.policies
    limit = route.arguments["limit"]
    ids = store.ids(route.filters)
    if store.hidden:
        ids = [pet_id for pet_id in ids if not store.hides(pet_id)]
    most = chosen.page_fill(limit)
    page = chosen.list_order(ids, most, store, store.random)
    fields = _deprecation(call)
    if chosen.paging_headers is not None:
        told = ListPage(call.exchange.request.base_path, limit, route.filters, most, len(ids))
        fields = (*fields, *chosen.paging_headers(told))
    return render(world, call.operation.success, store.page(page), fields)


def create_pet(call: Call) -> Response:
    """§4.2: the created animal with the id that the service assigns."""
    world, body = call.world, call.body
    assert body is not None  # noqa: S101  # for the type checker: the operation has a body
    chosen, store = world.rules.policies, world.store
    status = chosen.status_when_omitted
    pet_id = store.free_id(chosen.id_assignment)
    pet = {"id": pet_id, **body}
    if status is not None:
        pet.setdefault("status", status)
    content = store.put(pet) if call.commit else encode_json(pet)
    if call.commit and chosen.visibility:
        store.hide(pet_id, chosen.visibility)
    location = chosen.location_header
    fields = () if location is None else location(call.exchange.request.base_path, pet_id)
    return render(world, call.operation.success, content, (*_deprecation(call), *fields))


def get_pet(call: Call) -> Response | Refusal:
    """§4.3: the animal."""
    store, pet_id = call.world.store, call.route.pet_id
    content = store.get(pet_id)
    if content is None or store.hides(pet_id):
        return Refusal("absent_pet", detail=f"petId {pet_id}", fields=_deprecation(call))
    return render(call.world, call.operation.success, content, _deprecation(call))


EXECUTORS: Final[dict[str, Callable[[Call], Response | Refusal]]] = {
    "listPets": list_pets,
    "createPet": create_pet,
    "getPet": get_pet,
}


# Responses


def render(world: World, status: int, canonical: bytes | None = None, fields: ResponseFields = ()) -> Response:
    """Return a response with a JSON body, written as the behaviour writes it, or with none."""
    rules, chosen, body = world.rules, world.rules.policies, b""
    head = (SERVER, *fields)
    if canonical is not None:
        body = chosen.json_style(chosen.extra_response_fields(canonical))
        head = (("Content-Type", chosen.content_type), *head)
    return Response(_head(status, head), body, world.time.date, rules.wire_format)


@lru_cache(maxsize=1024)
def _head(status: int, fields: ResponseFields) -> Head:
    return Head(status, fields)


def refused(world: World, exchange: Exchange, refusal: Refusal) -> Response:
    """Return the response of a refusal (§7), and note it in the exchange; keys are masked in its message."""
    condition, request = CONDITIONS[refusal.condition], exchange.request
    exchange.condition, exchange.detail = condition, refusal.detail
    exchange.violations, exchange.omitted = refusal.violations, refusal.omitted
    parts = [str(one) for one in refusal.violations[:_SHOWN_VIOLATIONS]]
    more = len(refusal.violations) + refusal.omitted - len(parts)
    parts += [f"and {more} more"] if more > 0 else []
    parts += [refusal.detail] if refusal.detail else []
    message = f"{condition.message}: {'; '.join(parts)}" if parts else condition.message
    message = mask_text(message, (*world.secrets(), *request.credentials))  # a client may have put a key anywhere
    return _error(world, condition, message, refusal.fields)


def fault_response(world: World, fault: Fault, route: Route) -> Response:
    """Respond to a request for ``route`` as a fault says, with its own body or the interface's Error (§2)."""
    condition = condition_of_status(fault.status or 500)
    fields: ResponseFields = (("Allow", route.allow),) if condition.status == 405 else ()  # RFC 9110 §15.5.6
    if condition.status == 404 and route.operation is not None:  # as for an absent animal (§9)
        fields = world.rules.policies.deprecation_headers(route.operation.removed_at)
    if fault.body is not None or condition.status in BODILESS_STATUSES:
        response = render(world, condition.status, None, (*condition.fields, *fields))
        response.body = fault.body or b""
    else:
        response = _error(world, condition, f"{condition.message} (injected: {fault})", fields)
    if fault.fields:
        response.head = response.head.with_fields(*fault.fields)
    return response


def _error(world: World, condition: Condition, message: str, fields: ResponseFields) -> Response:
    status = condition.status
    document = error_document(world.rules.policies.error_codes(condition.code, status), message, status)
    return render(world, status, encode_json(document), (*condition.fields, *fields))
