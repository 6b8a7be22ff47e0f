"""The pipeline: route, authenticate, validate, choose the fault, execute, render. No I/O.

:func:`handle` responds to one request on one world. Everything from the key to the journal happens under the world's
lock, so that the order of the journal is the order of events; the adapters wait.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from json import loads
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

from petstore_mock.common.real import perf_counter
from petstore_mock.core.operations import Call, execute, fault_response, refusal_response, refused, render
from petstore_mock.core.routing import Refusal, Route, validate, validate_head
from petstore_mock.errors import PetStoreMockError
from petstore_mock.http.credentials import key_fault
from petstore_mock.http.handler import Deferred
from petstore_mock.http.response import Head, Response
from petstore_mock.interface.mutants import NO_BODY, NO_JSON, Mutant, Turn
from petstore_mock.interface.strict_json import encode_json
from petstore_mock.interface.table import METHODS
from petstore_mock.journal.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.core.host import Key
    from petstore_mock.core.store import Body
    from petstore_mock.core.world import World
    from petstore_mock.faults.fault import Fault
    from petstore_mock.http.request import ApiRequest


R = TypeVar("R", "Response", "Response | Deferred")


def handle(world: World, request: ApiRequest, key: Key | None, problem: str) -> Response | Deferred:
    """Respond to one request, with a key of this world, or with the condition that says why there is none."""
    return _journalled(world, request, lambda exchange: _respond(world, key, problem, exchange))


def _journalled(world: World, request: ApiRequest, respond: Callable[[Exchange], R]) -> R | Response:
    world.store.turn += 1
    exchange = Exchange(world.journal.total + 1, world.owner, request, world.time.begin_request())
    if world.host.tls:
        exchange.secure = True
    response = _finished(world, exchange, respond)
    exchange.duration = perf_counter() - request.started
    world.journal.add(exchange)
    return response


def _finished(world: World, exchange: Exchange, respond: Callable[[Exchange], R]) -> R | Response:
    try:
        response = respond(exchange)
    except Exception as error:  # noqa: BLE001  # a bug of the fake fails the test, and the client gets a response
        response = _failed(world, exchange, error)
    if isinstance(response, Response):
        _dress(world, exchange, response)
    return response


def _failed(world: World, exchange: Exchange, error: BaseException) -> Response:
    world.errors.append(error)
    return refused(world, exchange, Refusal("internal_error", detail=f"{type(error).__name__}: {error}"))


def _dress(world: World, exchange: Exchange, response: Response) -> None:
    """Finish a response as it goes out, and note it in its exchange."""
    if world.mutant is not None:
        _after(world, world.mutant, exchange, response)
    tell_browser(world, exchange.request, response)
    exchange.response = response


def tell_browser(world: World, request: ApiRequest, response: Response) -> None:
    """Let an allowed page of another origin read a response, errors and faults too."""
    if world.host.cors is not None:
        response.head = world.host.cors.with_fields(response.head, request)


def _respond(world: World, key: Key | None, problem: str, exchange: Exchange) -> Response | Deferred:
    request = exchange.request
    if world.mutant is not None:
        request, key, problem = _before(world, world.mutant, exchange, key, problem)
    route = world.rules.route(request.method, request.target)
    operation = route.operation
    if operation is None:
        return _without_operation(world, route, request, exchange)
    exchange.request.operation = operation.name
    judged = _judge(world, request, route, key, problem)
    if isinstance(judged, Refusal):
        return refused(world, exchange, judged)
    call = Call(world, operation, route, judged, exchange, world.pending)
    if not world.plan.idle:
        return _meet_fault(call)
    kept = world.store.responses.get(route)
    if kept is not None and kept.date is world.time.date:
        exchange.executed = True
        return kept
    return _execute(call)


def _without_operation(world: World, route: Route, request: ApiRequest, exchange: Exchange) -> Response:
    cors = world.host.cors
    if cors is not None and cors.permits_preflight(request):
        # On an unknown path too: if the fake refused there, the page would not learn the status of its request.
        return render(world, 204, None, cors.preflight_fields(route.allow or METHODS, request))
    allow = (("Allow", route.allow),) if route.allow else ()
    if route.refusal is not None:
        return refused(world, exchange, replace(route.refusal, fields=allow))
    return render(world, 204, None, allow)  # RFC 9110 §9.3.7


def _judge(world: World, request: ApiRequest, route: Route, key: Key | None, problem: str) -> Body | Refusal | None:
    """Authenticate and validate a request: return its body, None where its operation takes none, or the refusal."""
    if key is not None:
        problem = world.use_key(key)
    if problem:  # by the meaning of §5, it comes before everything else
        detail = key_fault(problem, request.values("authorization"), world.secrets())
        if problem == "revoked_key":
            detail = "it was revoked" if world.owner is None else f"the world of {world.owner} revoked it"
        return Refusal(problem, detail=detail)
    judged = validate(world.rules, request, route)
    if isinstance(judged, Refusal):
        return judged
    world.store.valid_requests += 1
    limit = world.rules.policies.rate_limit
    after = None if limit is None else limit(world.store.valid_requests, world.time.present)
    return judged if after is None else Refusal("rate_limited", fields=(("Retry-After", after),))


def _execute(call: Call) -> Response:
    """Execute an operation. The response of a read-only one is kept, if it is the same while nothing changes.

    The store forgets it when an animal changes; other rules have other routes; with the second ``Date`` ends, and so
    may the operation. Mutants and CORS change responses on their way out, and paging depends on the client's address.
    """
    world, commits = call.world, call.operation.commits
    drawn = world.store.drawn
    done = execute(call)
    if isinstance(done, Refusal):
        return refused(world, call.exchange, done)
    call.exchange.executed = call.commit or not commits
    is_plain = world.mutant is None and world.host.cors is None and world.rules.policies.paging_headers is None
    if is_plain and not commits and drawn == world.store.drawn and not world.store.hidden:
        world.store.responses[call.route] = done
    return done


# Faults


def _meet_fault(call: Call) -> Response | Deferred:
    world, exchange = call.world, call.exchange
    fault = world.plan.choose("before_commit", exchange, world.store.random)
    if fault is None:
        return _commit(call)
    exchange.fault = fault
    if fault.kind == "delay":
        exchange.outcome = "delayed"
        return _deferred(call, fault, lambda: _resume(call))
    if fault.row.loses_response:
        return _broken(call, fault, None)
    if not fault.row.only_slows:
        call.commit = False
        return _broken(call, fault, _execute(call))
    response = _commit(call)  # it arrives whole, so it must be true
    if isinstance(response, Deferred) or exchange.fault is not fault:  # it met another fault after the commit
        return response
    return _broken(call, fault, response)


def _commit(call: Call) -> Response | Deferred:
    """Execute, then let a fault after the commit have the response."""
    world, exchange = call.world, call.exchange
    response = _execute(call)
    if not call.operation.commits or not exchange.executed:
        return response
    fault = world.plan.choose("after_commit", exchange, world.store.random)
    if fault is None:
        return response
    exchange.delayed_by = exchange.fault  # every other fault before the commit ends the request
    exchange.fault = fault
    exchange.response = response  # reports tell what was lost
    return _broken(call, fault, response)


def _resume(call: Call) -> Response | Deferred:
    """Go on after a delay, unless a reset or a restore has ended the state that the request met."""
    world, exchange = call.world, call.exchange

    def respond(_: Exchange) -> Response | Deferred:
        ended = world.pending is not call.pending
        return refused(world, exchange, Refusal("released")) if ended else _commit(call)

    with world.lock:
        world.time.begin_request()
        return _finished(world, exchange, respond)


def _broken(call: Call, fault: Fault, response: Response | None) -> Response | Deferred:
    """Return what the client gets of a response under a fault; None for a response that was never made."""
    world = call.world
    if fault.row.responds:
        broken = fault_response(world, fault, call.route)
    elif response is None or fault.row.loses_response:
        unsent = render(world, 503)
        return _deferred(call, fault, lambda: unsent)
    else:
        head, body = fault.corrupt(response.head, response.body) if response.body else (response.head, b"")
        broken = Response(head, body, response.date, response.wire_format)  # the store may keep the other
    if fault.delay is None and fault.delivery is None:
        return broken
    _dress(world, call.exchange, broken)
    return _deferred(call, fault, lambda: broken)


def _deferred(call: Call, fault: Fault, resume: Callable[[], Response | Deferred]) -> Deferred:
    if (
        fault.row.needs_socket and not call.exchange.request.connection
    ):  # a client may take what it raises for a lost response
        told = f"{call.exchange.request_line} met {fault}, which needs a socket: give the client petstore.url"
        call.world.errors.append(PetStoreMockError(told))
    low, high = fault.delay or (0.0, 0.0)
    seconds = low if low == high else call.world.store.random().uniform(low, high)
    return Deferred(resume, call.exchange, call.pending, delay=seconds, delivery=fault.delivery)


# Mutants (:mod:`petstore_mock.interface.mutants`)


def _before(
    world: World, mutant: Mutant, exchange: Exchange, key: Key | None, problem: str
) -> tuple[ApiRequest, Key | None, str]:
    """Let a mutant change a request: return what the service sees, its key, and why it has none."""
    request = exchange.request
    turn = _turn(world, mutant, request)
    if turn is None or mutant.statuses:
        return request, key, problem
    refused = turn.refused_key = problem or (world.key_problem(key) if key is not None else "")
    query, sent = dict(turn.query), turn.sent
    mutant.change(turn)
    if turn.refused_key != refused:
        exchange.mutant = mutant.name
        return request, None, turn.refused_key
    if (turn.query == query and turn.sent is sent) or refused:
        return request, key, problem
    exchange.mutant = mutant.name
    changed = copy(request)
    if turn.sent is not sent:
        changed.body = encode_json(turn.sent)
    elif turn.query != query:
        changed.target = f"{request.target.partition('?')[0]}?{urlencode(turn.query)}"
    return changed, key, problem


def _after(world: World, mutant: Mutant, exchange: Exchange, response: Response) -> None:
    """Change a response as the mutant does, unless a fault of the test has broken it already."""
    fault = exchange.fault
    if not mutant.statuses or (fault is not None and fault.breaks_contract):
        return
    turn = _turn(world, mutant, exchange.request)
    if turn is None:
        return
    turn.status, turn.media_type = response.status, response.head.get("Content-Type")
    turn.document = loads(response.body) if response.body else None
    former, animals = (turn.status, turn.media_type, encode_json(turn.document)), len(world.store)
    mutant.change(turn)
    document = encode_json(turn.document)
    is_same = (turn.status, turn.media_type, document) == former and turn.body is None
    if is_same and len(world.store) == animals and not turn.has_updated:
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
    return Turn(route.operation, request.query, route.pet_id, sent, "", world.animals)


# For the adapters


def admits(world: World, key: Key | None, request: ApiRequest, length: int | None) -> bool:
    """Say from its head whether a request's body is worth reading; counts nothing (RFC 9110 §10.1.1)."""
    with world.lock:
        if world.mutant is not None:
            return True  # it may let the key in, or make an animal of an invalid body
        route = world.rules.route(request.method, request.target)
        if route.operation is None or route.invalid is not None or key is None or world.key_problem(key):
            return False
        return route.operation.body is None or validate_head(world.rules, request, length) is None


def refuse_leftover(world: World, refusal: Refusal, request: ApiRequest) -> Response:
    """Refuse a request of an earlier test, or to no world; the journal of ``world`` does not hear of it."""
    with world.lock:
        world.time.begin_request()
        response = refusal_response(world, refusal, request)
        tell_browser(world, request, response)
        return response


def refuse(world: World, refusal: Refusal, request: ApiRequest) -> Response:
    """Respond to bytes that never became a whole request, with an error body and an exchange in the journal."""
    with world.lock:
        return _journalled(world, request, lambda exchange: refused(world, exchange, refusal))


def failed(world: World, error: BaseException, request: ApiRequest) -> Response:
    with world.lock:
        return _journalled(world, request, lambda exchange: _failed(world, exchange, error))
