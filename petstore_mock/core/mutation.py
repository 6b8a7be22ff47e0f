"""Lets a mutant (:mod:`petstore_mock.interface.mutants`) change the requests and responses of one world."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from petstore_mock.http.response import Head
from petstore_mock.interface.strict_json import encode_json
from petstore_mock.interface.turn import NO_BODY, NO_JSON, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.core.keys import Key
    from petstore_mock.core.world import World
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Response
    from petstore_mock.interface.mutants import Mutant
    from petstore_mock.journal.exchange import Exchange


class _Animals:
    """The animals of a world, as a mutant may change them; ``changed`` tells whether it has."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.changed = False

    def other(self, pet_id: int) -> dict[str, Any] | None:
        store = self._world.store
        found = next((other for other in store.ids()[:2] if other != pet_id), None)
        return None if found is None else store.document(found)

    def add(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        self.changed = True
        document = fields if "id" in fields else {"id": self._world.assign_id(), **fields}
        self._world.store.put(document)
        return dict(document)

    def remove(self, pet_id: int) -> None:
        self.changed = self._world.store.remove(pet_id) or self.changed


def before(
    world: World, mutant: Mutant, exchange: Exchange, key: Key | None, problem: str
) -> tuple[ApiRequest, Key | None, str]:
    """Return the request that the service sees, its key, and why it has none."""
    request = exchange.request
    turn = _turn(world, mutant, request)
    if turn is None or mutant.before is None:
        return request, key, problem
    refused = turn.refused_key = problem or (world.key_problem(key) if key is not None else "")
    asked = dict(turn.query)
    mutant.before(turn)
    if turn.refused_key != refused:
        exchange.mutant = mutant.name
        return request, None, turn.refused_key
    if turn.query == asked or refused:
        return request, key, problem
    exchange.mutant = mutant.name
    changed = copy.copy(request)
    changed.target = f"{request.target.partition('?')[0]}?{urlencode(turn.query)}"
    return changed, key, problem


def after(world: World, mutant: Mutant, exchange: Exchange, response: Response) -> None:
    """Change a response as the mutant does, unless a fault of the test has broken it already."""
    fault, change = exchange.fault, mutant.after
    if change is None or (fault is not None and fault.breaks_contract):
        return
    turn = _turn(world, mutant, exchange.request)
    if turn is None:
        return
    turn.status, turn.media_type = response.status, response.head.get("Content-Type")
    turn.document = json.loads(response.body) if response.body else None
    animals = turn.animals = _Animals(world)
    former = turn.status, turn.media_type, encode_json(turn.document)
    change(turn)
    document = encode_json(turn.document)
    if (turn.status, turn.media_type, document) == former and turn.body is None and not animals.changed:
        return
    exchange.mutant = mutant.name
    response.head = Head(turn.status, response.head.fields).with_fields(("Content-Type", turn.media_type or ""))
    if turn.body is not None:
        response.body = turn.body
    elif document != former[2]:
        response.body = document


def _turn(world: World, mutant: Mutant, request: ApiRequest) -> Turn | None:
    """Return a request as a mutant meets it; None where its operation is none of the mutant's."""
    route = world.rules.route(request.method, request.target)
    if route.operation is None or route.operation.name not in mutant.operations:
        return None
    try:
        sent = request.json() if request.body else NO_BODY
    except ValueError:
        sent = NO_JSON
    return Turn(route.operation, request.query, route.pet_id, sent, "", _Animals(world))
