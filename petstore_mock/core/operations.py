"""Executes the operations, and makes responses: results, refusals, and those of faults.

Each operation has one executor. Everything else about an operation follows from its row in the table.
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
from petstore_mock.interface.violations import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.core.world import World
    from petstore_mock.faults.fault import Fault
    from petstore_mock.http.handler import Pending
    from petstore_mock.interface.table import Operation
    from petstore_mock.journal.exchange import Exchange


@dataclass(slots=True, eq=False)
class Call:
    """A valid request on its way through faults, execution and rendering."""

    world: World  # its lock is held
    operation: Operation
    route: Route
    body: Mapping[str, Any] | None  # validated
    exchange: Exchange
    pending: Pending  # the held responses when the request arrived; a reset replaces the world's object
    commit: bool = True  # False: a fault corrupts the response, and the store keeps nothing


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
    """Return at most ``limit`` animals that match the filters (§4.1)."""
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
        listed = ListPage(call.exchange.request.base_path, limit, route.filters, most, len(ids))
        fields = (*fields, *chosen.paging_headers(listed))
    return render(world, call.operation.success, store.page(page), fields)


def create_pet(call: Call) -> Response:
    """Create an animal, and return it with its assigned id (§4.2)."""
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
    """Return the animal (§4.3)."""
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
    """Return a response with a JSON body in the style of the behaviour, or without a body."""
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
    """Return the error response of a refusal (§7), and record it in the exchange. Its message masks keys."""
    condition, request = CONDITIONS[refusal.condition], exchange.request
    exchange.condition, exchange.detail = condition, refusal.detail
    exchange.violations, exchange.omitted = refusal.violations, refusal.omitted
    why = "; ".join(filter(None, [listed(refusal.violations, refusal.omitted), refusal.detail]))
    message = f"{condition.message}: {why}" if why else condition.message
    message = mask_text(message, (*world.secrets(), *request.credentials))  # a client may send a key anywhere
    return _error(world, condition, message, refusal.fields)


def fault_response(world: World, fault: Fault, route: Route) -> Response:
    """Return the response of a fault, with the fault's own body or the interface's Error (§2)."""
    condition = condition_of_status(fault.status or 500)
    fields: ResponseFields = (("Allow", route.allow),) if condition.status == 405 else ()  # RFC 9110 §15.5.6
    if condition.status == 404 and route.operation is not None:  # a real 404 has these fields too (§9)
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
