"""Lets a mutant (:mod:`petstore_mock.http.mutant`) change an incoming request or an outgoing response."""

from __future__ import annotations

from json import loads
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from petstore_mock.common.values import by_name, without_none
from petstore_mock.http.mutant import Turn
from petstore_mock.http.request import Fields, changed
from petstore_mock.http.response import Head
from petstore_mock.interface.strict_json import encode_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.core.world import World
    from petstore_mock.http.mutant import Mutant
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Response
    from petstore_mock.journal.exchange import Exchange


def before(world: World, mutant: Mutant, exchange: Exchange, refused_key: str) -> tuple[ApiRequest, str]:
    """Return the request and the condition that refuses its key, as the mutant changes them."""
    request = exchange.request
    turn = _turn(world, mutant, request, refused_key)
    if turn is None:
        return request, refused_key
    if turn.operation.commits and turn.pet_id:
        exchange.former = world.store.document(turn.pet_id)
    if mutant.statuses:
        return request, refused_key
    given = dict(turn.given)
    mutant.change(turn)
    if turn.refused_key == refused_key:
        # A request with a refused key stays as it is, unless the mutant accepts the key.
        is_same_request = turn.given == given and turn.sent == request.body
        if refused_key or is_same_request:
            return request, refused_key
    exchange.mutant = mutant.name
    return _with_parameters(changed(request, body=turn.sent), turn, given), turn.refused_key


def _with_parameters(request: ApiRequest, turn: Turn, former: Mapping[str, str]) -> ApiRequest:
    """Return a request with the parameters that the mutant has left."""
    if turn.given == former:
        return request
    in_header = by_name(turn.operation.parameters_in("header")).keys()
    query = {name: value for name, value in turn.given.items() if name not in in_header}
    dropped = {name.lower().encode() for name in in_header - turn.given.keys()}
    fields = Fields(field for field in request.fields if field[0].lower() not in dropped)
    target = f"{request.target.partition('?')[0]}?{urlencode(query)}"
    return changed(request, target=target, fields=fields)


def after(world: World, mutant: Mutant, exchange: Exchange, response: Response) -> None:
    """Change a response, unless a fault of the test has broken it already."""
    fault = exchange.fault
    is_broken = fault is not None and fault.breaks_contract
    if is_broken or response.status not in mutant.statuses:
        return
    turn = _turn(world, mutant, exchange.request)
    if turn is not None:
        _change_response(world, mutant, exchange, response, turn)


def _change_response(world: World, mutant: Mutant, exchange: Exchange, response: Response, turn: Turn) -> None:
    turn.former = exchange.former
    turn.status = response.status
    turn.media_type = response.head.get("Content-Type")
    turn.document = loads(response.body) if response.body else None
    former = _shown(turn)
    animals = world.store.bodies()
    mutant.change(turn)
    is_same = _shown(turn) == former and turn.body is None
    if is_same and world.store.bodies() == animals:
        return
    exchange.mutant = mutant.name
    response.head = Head(turn.status, response.head.fields).with_fields(("Content-Type", turn.media_type or ""))
    document = encode_json(turn.document)
    if turn.body is not None:
        response.body = turn.body
    elif document != former[2]:
        response.body = document


def _shown(turn: Turn) -> tuple[int, str | None, bytes]:
    """Return what a client sees of a response."""
    return turn.status, turn.media_type, encode_json(turn.document)


def _turn(world: World, mutant: Mutant, request: ApiRequest, refused_key: str = "") -> Turn | None:
    """Return a request in the form that a mutant changes; None if the mutant does not change its operation."""
    route = world.store.rules.route(request.method, request.target, request.fields)
    operation = route.operation
    if operation is None or operation.name not in mutant.operations:
        return None
    in_header = {parameter.name: request.header(parameter.name) for parameter in operation.parameters_in("header")}
    given = request.query | without_none(in_header)
    return Turn(
        operation,
        given,
        route.pet_id,
        request.body,
        refused_key,
        world.store,
        sent_keys=tuple(request.values("Authorization")),
        keys=frozenset(world.keys),
        path=operation.path_values(request.target),
    )
