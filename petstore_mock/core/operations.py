"""What the operations do: one executor each. All else about an operation follows from its row in the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.core.responses import render
from petstore_mock.core.routing import Refusal, Route
from petstore_mock.core.store import Body
from petstore_mock.interface.gaps import ListPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.core.world import World
    from petstore_mock.http.deferred import Pending
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Response
    from petstore_mock.interface.table import Operation
    from petstore_mock.journal.exchange import Exchange


@dataclass(slots=True, eq=False)
class Call:
    """A valid request on its way through faults, execution and rendering."""

    world: World  # its lock is held
    request: ApiRequest
    operation: Operation
    route: Route
    body: Body | None
    exchange: Exchange
    pending: Pending  # of the world when the request came: a reset replaces it
    commit: bool = True  # whether its effect is kept; a fault may corrupt the response of an operation that is not


def execute(call: Call) -> Response | Refusal:
    removed_at = call.operation.removed_at
    if removed_at is not None and call.world.time.present >= removed_at.timestamp():
        condition = call.world.rules.policies.after_removal
        if condition is not None:
            return Refusal(condition, detail=call.operation.removal, fields=_deprecation(call))
    return EXECUTORS[call.operation.name](call)


def _deprecation(call: Call) -> Any:  # noqa: ANN401  # header fields
    """Return the fields that signal the deprecation of an operation (§9)."""
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
    page = chosen.list_order(ids, most, store, world.random)
    fields = _deprecation(call)
    if chosen.paging_headers is not None:
        told = ListPage(call.request.base_path, limit, route.filters, most, len(ids))
        fields = (*fields, *chosen.paging_headers(told))
    return render(world, call.operation.success, store.page(page), fields)


def create_pet(call: Call) -> Response:
    """§4.2: the created animal with the id that the service assigns."""
    world, body = call.world, call.body
    assert body is not None  # noqa: S101  # for the type checker: the operation has a body
    chosen, store = world.rules.policies, world.store
    status = chosen.status_when_omitted
    if status is not None and "status" not in body.document:
        body = Body({**body.document, "status": status})
    pet_id = world.assign_id()
    row = body.row(pet_id)
    if call.commit:
        store.write(pet_id, row)
        if chosen.visibility:
            store.hide(pet_id, chosen.visibility)
    location = chosen.location_header
    fields = () if location is None else location(call.request.base_path, pet_id)
    return render(world, call.operation.success, row.body, (*_deprecation(call), *fields))


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
