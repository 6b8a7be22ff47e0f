"""The pipeline: route, authenticate, validate, choose the fault, execute, render. It does no I/O.

:func:`handle` responds to one request of one world. The world's lock covers every step from the key to the journal,
so the journal has the order of events. The adapters wait for delays, outside the lock.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from petstore_mock.common import refusing
from petstore_mock.common.real import perf_counter
from petstore_mock.core import mutation
from petstore_mock.core.operations import Call, execute, fault_response, refused, render
from petstore_mock.core.routing import Refusal, validate, validate_head
from petstore_mock.errors import PetStoreMockError
from petstore_mock.http.credentials import key_fault
from petstore_mock.http.handler import Deferred
from petstore_mock.http.response import Response
from petstore_mock.interface.table import METHODS
from petstore_mock.journal.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.core.routing import Body, Route
    from petstore_mock.core.world import World
    from petstore_mock.faults.fault import Fault
    from petstore_mock.http.request import ApiRequest

    Respond = Callable[[Exchange], "Response | Deferred"]


def handle(world: World, request: ApiRequest) -> Response | Deferred:
    """Respond to a request of this world. The caller holds its lock."""
    return _journalled(world, request, lambda exchange: _respond(world, exchange))


def refuse(world: World, refusal: Refusal, request: ApiRequest) -> Response:
    """Respond to an incomplete or malformed request with an error, and record it in the journal."""
    with world.lock:
        return cast("Response", _journalled(world, request, lambda exchange: refused(world, exchange, refusal)))


def refuse_leftover(world: World, refusal: Refusal, request: ApiRequest) -> Response:
    """Refuse a request of an earlier test or to an unknown world. The journal of ``world`` does not record it."""
    with world.lock:
        response = refused(world, Exchange(0, None, request, 0.0), refusal)
        world.host.cors.expose(response, request)
        return response


def failure(world: World, error: BaseException) -> Refusal:
    """Return the refusal for an exception inside the fake, which also fails the test."""
    world.errors.append(error)
    return Refusal("internal_error", detail=f"{type(error).__name__}: {error}")


def body_limit(world: World, request: ApiRequest) -> int | None:
    """Return the longest body to read, in bytes (gap body_limit), or 0 for a refused head. It changes no state."""
    with world.lock:
        limit: int | None = world.rules.policies.body_limit
        if world.mutant is not None:
            return limit  # a mutant may accept an invalid key or body
        route = world.rules.route(request.method, request.target)
        if route.operation is None or route.invalid is not None or world.refused_key(request):
            return 0
        return 0 if route.operation.body is not None and validate_head(world.rules, request) else limit


def _journalled(world: World, request: ApiRequest, respond: Respond) -> Response | Deferred:
    exchange = world.begin(request)
    response = _finished(world, exchange, respond)
    exchange.duration = perf_counter() - request.started
    world.journal.add(exchange)
    return response


def _finished(world: World, exchange: Exchange, respond: Respond) -> Response | Deferred:
    try:
        response = respond(exchange)
    except Exception as error:  # noqa: BLE001  # the client gets a response
        response = refused(world, exchange, failure(world, error))
    if isinstance(response, Response):
        _dress(world, exchange, response)
    return response


def _dress(world: World, exchange: Exchange, response: Response) -> None:
    """Let the mutant and CORS change a response, and record it in its exchange."""
    if world.mutant is not None:
        mutation.after(world, world.mutant, exchange, response)
    world.host.cors.expose(response, exchange.request)
    exchange.response = response


def _respond(world: World, exchange: Exchange) -> Response | Deferred:
    request, refused_key = exchange.request, world.refused_key(exchange.request)
    if world.mutant is not None:
        request, refused_key = mutation.before(world, world.mutant, exchange, refused_key)
    route = world.rules.route(request.method, request.target)
    operation = route.operation
    if operation is None:
        return _without_operation(world, route, exchange)
    exchange.request.operation = operation.name
    judged = _judge(world, request, route, refused_key)
    if isinstance(judged, Refusal):
        world.plan.pass_by(operation.name, "ended with a refusal")
        return refused(world, exchange, judged)
    call = Call(world, operation, route, judged, exchange, world.pending)
    if world.plan.in_force:
        return _meet_fault(call)
    cached = world.store.responses.get(route)
    if cached is not None and cached.date == world.time.date:
        exchange.executed = True
        return cached
    return _execute(call)


def _without_operation(world: World, route: Route, exchange: Exchange) -> Response:
    # A preflight succeeds on an unknown path too. Otherwise the browser would hide the 404 from its page.
    fields = world.host.cors.preflight(exchange.request, route.allow or METHODS)
    if fields is not None:
        return render(world, 204, None, fields)
    if route.refusal is not None:
        return refused(world, exchange, route.refusal)
    return render(world, 204, None, (("Allow", route.allow),))  # RFC 9110 §9.3.7


def _judge(world: World, request: ApiRequest, route: Route, refused_key: str) -> Body | Refusal | None:
    """Authenticate and validate a request. Return its body, None if the operation takes no body, or a refusal."""
    if refused_key:  # by the meaning of §5, an invalid key is refused first
        detail = key_fault(refused_key, request.values("authorization"), world.secrets())
        if refused_key == "revoked_key":
            detail = "it was revoked" if world.owner is None else f"the world of {world.owner} revoked it"
        return Refusal(refused_key, detail=detail)
    world.use_key(request)
    judged = validate(world.rules, request, route)
    if isinstance(judged, Refusal):
        return judged
    world.store.valid_requests += 1
    limit = world.rules.policies.rate_limit
    after = None if limit is None else limit(world.store.valid_requests, world.time.now())
    return judged if after is None else Refusal("rate_limited", fields=(("Retry-After", after),))


def _execute(call: Call) -> Response:
    """Execute an operation, and cache the response of a read-only one.

    The store drops cached responses when an animal changes, and a new behaviour has new routes. They last a second,
    because ``Date`` and the removal depend on the time. Mutants and CORS change responses later, and paging headers
    depend on the client's address.
    """
    world, commits = call.world, call.operation.commits
    drawn = world.store.drawn
    done = execute(call)
    if isinstance(done, Refusal):
        return refused(world, call.exchange, done)
    call.exchange.executed = call.commit or not commits
    is_plain = world.mutant is None and not world.host.cors.origins and world.rules.policies.paging_headers is None
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
    response = _commit(call)  # the client receives all of it, so it must be correct
    if isinstance(response, Deferred) or exchange.fault is not fault:  # another fault met it after the commit
        return response
    return _broken(call, fault, response)


def _commit(call: Call) -> Response | Deferred:
    """Execute the operation, then apply a fault that is planned after the commit."""
    world, exchange = call.world, call.exchange
    response = _execute(call)
    if not call.operation.commits or not exchange.executed:
        return response
    fault = world.plan.choose("after_commit", exchange, world.store.random)
    if fault is None:
        return response
    exchange.delayed_by = exchange.fault  # only a fault that slows a response gets here
    exchange.fault = fault
    exchange.response = response  # reports show the lost response
    return _broken(call, fault, response)


def _resume(call: Call) -> Response | Deferred:
    """Continue after a delay, unless a reset or a restore has replaced the state in the meantime."""
    world = call.world
    with world.lock:
        if world.pending is call.pending:
            return _finished(world, call.exchange, lambda _: _commit(call))
        return _finished(world, call.exchange, lambda exchange: refused(world, exchange, Refusal("released")))


def _broken(call: Call, fault: Fault, response: Response | None) -> Response | Deferred:
    """Return the response that the client receives under a fault. ``response`` is None if none was made."""
    world = call.world
    if fault.row.responds:
        broken = fault_response(world, fault, call.route)
    elif response is None or fault.row.loses_response:
        unsent = render(world, 503)
        return _deferred(call, fault, lambda: unsent)
    else:
        head, body = fault.corrupt(response.head, response.body) if response.body else (response.head, b"")
        broken = Response(head, body, response.date, response.wire_format)  # the store may cache the original
    if fault.delay is None and fault.delivery is None:
        return broken
    _dress(world, call.exchange, broken)
    return _deferred(call, fault, lambda: broken)


def _deferred(call: Call, fault: Fault, resume: Callable[[], Response | Deferred]) -> Deferred:
    exchange, world = call.exchange, call.world
    if fault.row.needs_socket and not exchange.request.connection:
        message = f"{exchange.request_line} met {fault}, which needs a socket: give the client petstore.url"
        world.errors.append(PetStoreMockError(message))  # a client may swallow the exception that this raises
        resume = partial(refusing.refuse, message)
    low, high = fault.delay or (0.0, 0.0)
    seconds = low if low == high else world.store.random().uniform(low, high)
    exchange.in_flight = True
    return Deferred(resume, exchange.complete, call.pending, delay=seconds, delivery=fault.delivery)
