"""Carries the three operations out on one world, and has their answers rendered. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.contract.gap_policies import ListPage
from petstore_mock.core.responses import json_response, refused
from petstore_mock.core.routing import Refusal
from petstore_mock.core.self_check import check_answer, check_error

if TYPE_CHECKING:
    from petstore_mock.contract.interface import Operation
    from petstore_mock.core.new_pet import NewPet
    from petstore_mock.core.routing import Route
    from petstore_mock.core.world import World
    from petstore_mock.journal.entry import Entry
    from petstore_mock.messages.response import ApiResponse

__all__ = ["execute", "execute_again"]


def execute_again(world: World, route: Route, entry: Entry) -> ApiResponse:
    """Carry an operation that changes nothing out as :func:`execute` does, with its last answer if that still holds.

    Clients ask the same again and again, and a list or a get is answered with the same bytes until an animal changes
    (the store forgets the answers then), the rules do (they have routes of their own) or the second is over (``Date``,
    and the removal of getPet, which comes with a second). So it is made once for all of them, and goes out as it is. It
    is nobody's to change: where answers are changed on their way out, none is kept.
    """
    may_keep = world.mutation is None and world.cors is None
    answer = world.answers.get(route) if may_keep else None
    if answer is not None and answer.date is world.clock.date_field:
        if answer.wire is None:
            answer.wire = b""  # worth keeping: it is given more than once
        entry.executed = True
        return answer
    answer = execute(world, route, None, entry, commit=True)
    if may_keep and entry.executed and world.rules.repeats_itself and not world.animals.hidden.first_seen:
        world.animals.store.keep_answer(route, answer)
    return answer


def execute(world: World, route: Route, new_pet: NewPet | None, entry: Entry, *, commit: bool) -> ApiResponse:
    """Carry an operation out and render its answer, or refuse what can't be carried out; the entry says which.

    Args:
        world: whose state it meets; its lock is held.
        route: which operation it is, with its parameters.
        new_pet: what a valid body asks for; None when the operation has none.
        entry: the request's.
        commit: whether what it changes is kept.
    """
    operation = route.operation
    assert operation is not None  # noqa: S101  # for the type checker: the caller has looked
    answer: ApiResponse | Refusal
    match operation.name:
        case "listPets":
            answer = _list(world, route, entry)
        case "createPet":
            assert new_pet is not None  # noqa: S101  # for the type checker: createPet has a body
            answer = _create(world, new_pet, entry, commit=commit)
        case "getPet":
            answer = _get(world, operation, route.pet_id, entry)
    if isinstance(answer, Refusal):
        refusal = refused(world, entry, answer)
        if world.self_check:
            check_error(world, refusal)
        return refusal
    if world.self_check:
        check_answer(world, operation, answer)
    entry.executed = commit or new_pet is None
    return answer


def _latest(world: World, entry: Entry) -> int:
    """Return the number of the latest request: this one, unless it was deferred and is counted already.

    By its own number it can't be told: the numbers may have begun anew meanwhile.
    """
    return world.journal.total + (not entry.weight)


def _list(world: World, route: Route, entry: Entry) -> ApiResponse:
    """§4.1: at most ``limit`` animals, only those of the status."""
    store, chosen = world.animals.store, world.rules.policies
    limit, status = route.limit, route.status
    most = chosen.page_fill(limit)
    hidden = world.animals.hidden
    if hidden.first_seen and hidden.settle(number := _latest(world, entry)):
        ids = chosen.list_order(store, status, most + len(hidden.first_seen), world.random)
        ids = hidden.visible(ids, number)[:most]
        page = store.page(ids)
        total = len(hidden.visible(store.every(status), number))
    else:
        if world.rules.lists_lowest_first:
            page = store.first_page(status, most)
        else:
            page = store.page(chosen.list_order(store, status, most, world.random))
        total = store.count(status)
    paging = chosen.paging_headers
    if paging is None:
        return json_response(world, 200, page, ())
    told = ListPage(entry.request.base_path, limit, status, most, total, world.rules.limit_bounds[1])
    return json_response(world, 200, page, paging(told))


def _create(world: World, new_pet: NewPet, entry: Entry, *, commit: bool) -> ApiResponse:
    """§4.2: the created animal with the id that the service assigned."""
    chosen = world.rules.policies
    store = world.animals.store
    pet_id = store.free_id(chosen.id_assignment, world.random)
    body, status = new_pet.animal(pet_id, chosen.status_when_omitted)
    if commit:
        store.write(pet_id, body, status)
        delay = chosen.visibility
        if delay:
            world.animals.hidden.hide(pet_id, _latest(world, entry), delay)
    location = chosen.location_header
    return json_response(world, 201, body, () if location is None else location(entry.request.base_path, pet_id))


def _get(world: World, operation: Operation, pet_id: int, entry: Entry) -> ApiResponse | Refusal:
    """§4.3: the animal, with the signs of its operation's deprecation (§9)."""
    chosen = world.rules.policies
    removed_at = operation.removed_at
    fields = chosen.deprecation_headers(removed_at)
    if removed_at is not None and world.clock.present >= removed_at.timestamp():
        condition = chosen.after_removal
        if condition is not None:
            return Refusal(condition, fields=fields)
    body = world.animals.store.get(pet_id)
    if body is None or (world.animals.hidden.first_seen and world.animals.hidden.hides(pet_id, _latest(world, entry))):
        return Refusal("absent_pet", detail=f"petId {pet_id}", fields=fields)
    return json_response(world, 200, body, fields)
