"""Lets a mutant (:mod:`petstore_mock.interface.mutants`) change an incoming request or an outgoing response."""

from __future__ import annotations

from copy import copy
from json import loads
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from petstore_mock.http.response import Head
from petstore_mock.interface.mutants import Turn
from petstore_mock.interface.strict_json import encode_json

if TYPE_CHECKING:
    from petstore_mock.core.world import World
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Response
    from petstore_mock.interface.mutants import Mutant
    from petstore_mock.journal.exchange import Exchange


def before(world: World, mutant: Mutant, exchange: Exchange, refused_key: str) -> tuple[ApiRequest, str]:
    """Return the request and the condition that refuses its key, as the mutant changes them."""
    request = exchange.request
    turn = _turn(world, mutant, request, refused_key)
    if turn is None or mutant.statuses:
        return request, refused_key
    query = dict(turn.query)
    mutant.change(turn)
    changes = turn.query != query or turn.sent != request.body
    if turn.refused_key == refused_key and (refused_key or not changes):
        return request, refused_key
    exchange.mutant = mutant.name
    changed = copy(request)
    changed.body = turn.sent
    if turn.query != query:
        changed.target = f"{request.target.partition('?')[0]}?{urlencode(turn.query)}"
    return changed, turn.refused_key


def after(world: World, mutant: Mutant, exchange: Exchange, response: Response) -> None:
    """Change a response, unless a fault of the test has broken it already."""
    fault, turn = exchange.fault, _turn(world, mutant, exchange.request)
    if turn is None or not mutant.statuses or (fault is not None and fault.breaks_contract):
        return
    turn.status, turn.media_type = response.status, response.head.get("Content-Type")
    turn.document = loads(response.body) if response.body else None
    former, animals = (turn.status, turn.media_type, encode_json(turn.document)), world.store.bodies()
    mutant.change(turn)
    document = encode_json(turn.document)
    is_same = (turn.status, turn.media_type, document) == former and turn.body is None
    if is_same and world.store.bodies() == animals:
        return
    exchange.mutant = mutant.name
    response.head = Head(turn.status, response.head.fields).with_fields(("Content-Type", turn.media_type or ""))
    if turn.body is not None:
        response.body = turn.body
    elif document != former[2]:
        response.body = document


def _turn(world: World, mutant: Mutant, request: ApiRequest, refused_key: str = "") -> Turn | None:
    """Return a request in the form that a mutant changes; None if the mutant does not change its operation."""
    route = world.store.rules.route(request.method, request.target, request.fields)
    if route.operation is None or route.operation.name not in mutant.operations:
        return None
    return Turn(route.operation, request.query, route.pet_id, request.body, refused_key, world.store)
