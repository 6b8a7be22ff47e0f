"""The pipeline: route, authenticate, validate, choose the fault, execute, render. No I/O.

:func:`handle` responds to one request on one world. Everything from the key to the journal happens under the world's
lock, so that the order of the journal is the order of events; the adapters wait.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from petstore_mock.common.real import perf_counter
from petstore_mock.core import mutation
from petstore_mock.core.operations import Call, execute
from petstore_mock.core.responses import bare, fault_response, refusal_response, refused
from petstore_mock.core.routing import Refusal, Route
from petstore_mock.core.validation import validate, validate_head
from petstore_mock.http.credentials import key_fault
from petstore_mock.http.deferred import Deferred, Delivery
from petstore_mock.http.response import Response
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.table import METHODS, Operation
from petstore_mock.journal.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.core.keys import Key
    from petstore_mock.core.store import Body
    from petstore_mock.core.world import World
    from petstore_mock.faults.fault import Fault
    from petstore_mock.http.request import ApiRequest


def handle(world: World, request: ApiRequest, key: Key | None, problem: str) -> Response | Deferred:
    """Respond to one request, with a key of this world, or with the condition that says why there is none."""
    exchange = _begin(world, request)
    try:
        if world.mutant is None:
            response = _respond(world, request, key, problem, exchange)
        else:
            asked, key, problem = mutation.before(world, world.mutant, exchange, key, problem)
            response = _respond(world, asked, key, problem, exchange)
            request.operation = asked.operation
    except Exception as error:  # noqa: BLE001  # a bug of the fake fails the test, and the client gets a response
        response = _failed(world, exchange, error)
    if isinstance(response, Response):
        _dress(world, exchange, response)
    exchange.duration = perf_counter() - request.started
    world.journal.add(exchange)
    return response


def _begin(world: World, request: ApiRequest) -> Exchange:
    world.store.turn += 1
    exchange = Exchange(world.journal.total + 1, world.owner, request, world.time.begin_request())
    if world.host.tls:
        exchange.secure = True
    return exchange


def _respond(
    world: World, request: ApiRequest, key: Key | None, problem: str, exchange: Exchange
) -> Response | Deferred:
    route = world.rules.route(request.method, request.target)
    operation = route.operation
    if operation is None:
        return _without_operation(world, route, request, exchange)
    request.operation = operation.name
    judged = _judge(world, request, route, key, problem)
    if isinstance(judged, Refusal):
        return refused(world, exchange, judged)
    if not world.plan.idle:
        return _Execution(world, request, operation, route, judged, exchange).meet_fault()
    kept = world.store.responses.get(route)
    if kept is not None and kept.date is world.time.date:
        exchange.executed = True
        return kept
    return _Execution(world, request, operation, route, judged, exchange).execute(commit=True)


def _judge(world: World, request: ApiRequest, route: Route, key: Key | None, problem: str) -> Body | Refusal | None:
    """Authenticate and validate a request: return its body, None where its operation takes none, or the refusal."""
    if key is not None:
        problem = world.use_key(key)
    if problem:  # §5: it comes before everything else
        detail = key_fault(problem, request.values("authorization"), world.secrets())
        if problem == "revoked_key" and world.owner is not None:
            detail = f"the world of {world.owner} revoked it"
        return Refusal(problem, detail=detail)
    judged = validate(world.rules, request, route)
    if isinstance(judged, Refusal):
        return judged
    world.valid_requests += 1
    limit = world.rules.policies.rate_limit
    after = None if limit is None else limit(world.valid_requests, world.time.present)
    return judged if after is None else Refusal("rate_limited", fields=(("Retry-After", after),))


def _keeps_responses(world: World, operation: Operation) -> bool:
    """Say whether the response of a read-only operation can be repeated while nothing changes.

    The store forgets it when an animal changes; other rules have other routes; with the second ``Date`` ends, and so
    may the operation. Mutants and CORS change responses on their way out, and paging depends on the client's address.
    """
    chosen = world.rules.policies
    return not operation.commits and world.mutant is None and world.host.cors is None and chosen.paging_headers is None


def _without_operation(world: World, route: Route, request: ApiRequest, exchange: Exchange) -> Response:
    cors = world.host.cors
    if cors is not None and cors.permits_preflight(request):
        # On an unknown path too: if the fake refused there, the page would not learn the status of its request.
        return bare(world, world.rules.head(204, cors.preflight_fields(route.allow or METHODS), json=False))
    allow = (("Allow", route.allow),) if route.allow else ()
    if route.refusal is not None:
        return refused(world, exchange, replace(route.refusal, fields=allow))
    return bare(world, world.rules.head(204, allow, json=False))  # RFC 9110 §9.3.7


def _dress(world: World, exchange: Exchange, response: Response) -> None:
    """Finish a response as it goes out, and note it in its exchange."""
    if world.mutant is not None:
        mutation.after(world, world.mutant, exchange, response)
    tell_browser(world, exchange.request, response)
    exchange.response = response


def tell_browser(world: World, request: ApiRequest, response: Response) -> None:
    """Let an allowed page of another origin read a response, errors and faults too."""
    if world.host.cors is not None:
        response.head = world.host.cors.with_fields(response.head, request)


def _failed(world: World, exchange: Exchange, error: BaseException) -> Response:
    """Respond to a bug of the fake, which fails the test."""
    world.verification.note(error)
    refusal = Refusal("internal_error", detail=f"{type(error).__name__}: {error}")
    exchange.condition, exchange.violations, exchange.omitted = CONDITIONS[refusal.condition], (), 0
    exchange.detail = refusal.detail
    return refusal_response(world, refusal, exchange.request)


class _Execution:
    """A valid request on its way through faults, execution and rendering."""

    __slots__ = ("_body", "_exchange", "_operation", "_pending", "_request", "_route", "_world")

    def __init__(  # noqa: PLR0917  # made for every request: keywords cost time
        self,
        world: World,
        request: ApiRequest,
        operation: Operation,
        route: Route,
        body: Body | None,
        exchange: Exchange,
    ) -> None:
        self._world = world
        self._request = request
        self._operation = operation
        self._route = route
        self._body = body
        self._exchange = exchange
        self._pending = world.pending  # a reset replaces it

    def execute(self, *, commit: bool) -> Response:
        world, exchange = self._world, self._exchange
        drawn = world.random.drawn
        done = execute(Call(world, self._operation, self._route, self._request.base_path, self._body, commit))
        if isinstance(done, Refusal):
            return refused(world, exchange, done)
        exchange.executed = commit or not self._operation.commits
        if _keeps_responses(world, self._operation) and drawn == world.random.drawn and not world.store.hidden:
            world.store.keep_response(self._route, done)
        return done

    def meet_fault(self) -> Response | Deferred:
        """Choose the fault before the commit, and respond."""
        fault = self._world.plan.choose("before_commit", self._exchange, self._world.random)
        if fault is None:
            return self._commit()
        self._exchange.fault = fault
        row = fault.row
        if fault.kind == "delay":
            self._exchange.outcome = "delayed"
            return self._deferred(self._resume, delay=fault.delay)
        if row.loses_response:
            return self._instead(fault)
        if row.only_slows:  # the response arrives whole, so it must be true
            response = self._commit()
            met_another = self._exchange.fault is not fault
            return response if met_another or isinstance(response, Deferred) else self._corrupted(response, fault)
        return self._corrupted(self.execute(commit=False), fault)

    def _commit(self) -> Response | Deferred:
        """Execute, then let a fault after the commit have the response."""
        world, exchange = self._world, self._exchange
        response = self.execute(commit=True)
        if not self._operation.commits or not exchange.executed:
            return response
        fault = world.plan.choose("after_commit", exchange, world.random)
        if fault is None:
            return response
        exchange.delayed_by = exchange.fault  # every other fault before the commit ends the request
        exchange.fault = fault
        exchange.response = response  # reports tell what was lost
        if fault.kind == "delay":
            return self._late(response, fault)
        return self._instead(fault) if fault.row.loses_response else self._corrupted(response, fault)

    def _resume(self) -> Response | Deferred:
        """Go on after a delay, unless a reset or a restore has ended the state that the request met."""
        world, exchange = self._world, self._exchange
        with world.lock:
            world.time.begin_request()
            try:
                ended = world.pending is not self._pending
                response = refused(world, exchange, Refusal("released")) if ended else self._commit()
            except Exception as error:  # noqa: BLE001  # as in handle()
                response = _failed(world, exchange, error)
            if isinstance(response, Response):
                _dress(world, exchange, response)
            return response

    def _instead(self, fault: Fault) -> Response | Deferred:
        world = self._world
        if fault.row.responds:
            response = fault_response(world, fault, self._route)
            return response if fault.delay is None else self._late(response, fault)
        unsent = bare(world, world.rules.head(503, json=False))
        return self._deferred(lambda: unsent, delivery=fault.delivery)

    def _corrupted(self, response: Response, fault: Fault) -> Response | Deferred:
        head, body = response.head, response.body
        if body:
            head, body = fault.corrupt(head, body)
        changed = Response(head, body, response.date, response.wire_format)  # the store may keep the other
        if fault.delivery is None:
            return changed
        _dress(self._world, self._exchange, changed)
        return self._deferred(lambda: changed, delivery=fault.delivery)

    def _late(self, response: Response, fault: Fault) -> Deferred:
        _dress(self._world, self._exchange, response)
        return self._deferred(lambda: response, delay=fault.delay)

    def _deferred(
        self,
        resume: Callable[[], Response | Deferred],
        *,
        delay: tuple[float, float] | None = None,
        delivery: Delivery | None = None,
    ) -> Deferred:
        self._exchange.in_flight = True
        low, high = delay or (0.0, 0.0)
        seconds = low if low == high else self._world.random().uniform(low, high)
        return Deferred(resume, self._exchange, self._world.pending, delay=seconds, delivery=delivery)


# For the adapters


def admits(world: World, request: ApiRequest, key: Key | None, length: int | None) -> bool:
    """Say from its head whether a request's body is worth reading; counts nothing (RFC 9110 §10.1.1)."""
    with world.lock:
        if world.mutant is not None:
            return True  # it may let the key in, or make an animal of an invalid body
        route = world.rules.route(request.method, request.target)
        if route.operation is None or route.invalid is not None:
            return False
        if key is None or world.key_problem(key):
            return False
        return route.operation.body is None or validate_head(world.rules, request, length) is None


def refuse_leftover(world: World, refusal: Refusal, request: ApiRequest) -> Response:
    """Refuse a request of an earlier test, or to no world; the journal of ``world`` does not hear of it."""
    with world.lock:
        world.time.begin_request()
        response = refusal_response(world, refusal, request)
        tell_browser(world, request, response)
        return response


def refuse(world: World, refusal: Refusal, request: ApiRequest, error: BaseException | None = None) -> Response:
    """Respond to bytes that never became a whole request, with an error body and an exchange in the journal."""
    with world.lock:
        exchange = _begin(world, request)
        response = refused(world, exchange, refusal) if error is None else _failed(world, exchange, error)
        _dress(world, exchange, response)
        exchange.duration = perf_counter() - request.started
        world.journal.add(exchange)
        return response
