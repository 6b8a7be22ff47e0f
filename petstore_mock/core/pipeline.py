"""The pipeline: route, authenticate, decode, validate, choose fault, execute, answer. No I/O.

:func:`handle` answers one request on one world. Everything from the key to the journal entry happens under the
world's lock, so that the journal's order is the order of what happened; waiting is left to the adapters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from petstore_mock.common.real_time import RealTime
from petstore_mock.contract.error_conditions import CONDITIONS
from petstore_mock.core.operations import execute, execute_again
from petstore_mock.core.responses import bare_response, fault_response, refusal_response, refused
from petstore_mock.core.routing import METHODS, Refusal
from petstore_mock.core.self_check import check_error
from petstore_mock.core.validation import validate, validate_head
from petstore_mock.faults.kinds import Answer, Delay
from petstore_mock.journal.entry import Entry
from petstore_mock.messages.bearer import key_fault
from petstore_mock.messages.deferred import DeferredResponse
from petstore_mock.messages.response import ApiResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.core.keys import Key
    from petstore_mock.core.new_pet import NewPet
    from petstore_mock.core.routing import Route
    from petstore_mock.core.world import World
    from petstore_mock.faults import Fault
    from petstore_mock.faults.kinds import Seconds
    from petstore_mock.messages.deferred import DeferredResponses
    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import Delivery

__all__ = ["admits", "handle", "refuse", "refuse_leftover", "tell_browser"]


def handle(world: World, request: ApiRequest, key: Key | None, problem: str) -> ApiResponse | DeferredResponse:
    """Answer one request. The world's lock is held.

    Args:
        world: whose state it meets.
        request: the request.
        key: the API key of this world that it bears, or None.
        problem: why ``key`` is None: a name of ``CONDITIONS``.
    """
    entry = Entry(world.journal.total + 1, world.owner, request, world.clock.begin_request())
    try:
        if world.mutation is None:
            answer = _answer(world, request, key, problem, entry)
        else:
            asked, key, problem = world.mutation.ask(world, entry, key, problem)
            answer = _answer(world, asked, key, problem, entry)
            request.operation = asked.operation
        if world.self_check and entry.condition is not None and isinstance(answer, ApiResponse) and entry.fault is None:
            check_error(world, answer)  # one that met a fault was checked before that spoilt it
    except Exception as error:  # noqa: BLE001  # a bug of ours must fail the test and still be an answer
        answer = _failed(world, entry, error)
    if type(answer) is ApiResponse:
        if world.mutation is None and world.cors is None:  # as nearly always: spared a call
            entry.response = answer
        else:
            _answered(world, entry, answer)
    entry.duration = RealTime.perf_counter() - request.started
    world.journal.add(entry)
    return answer


def _answered(world: World, entry: Entry, response: ApiResponse) -> None:
    """Take note of an answer as it goes out."""
    if world.mutation is not None:
        world.mutation.spoil(world, entry, response)
    if world.cors is not None:
        tell_browser(world, entry.request, response)
    entry.response = response


def tell_browser(world: World, request: ApiRequest, response: ApiResponse) -> None:
    """Let a page of another origin see the answer, if it is allowed to: errors and faults as well."""
    if world.cors is not None:
        response.head = world.cors.with_fields(response.head, request)


def _answer(
    world: World, request: ApiRequest, key: Key | None, problem: str, entry: Entry
) -> ApiResponse | DeferredResponse:
    rules = world.rules
    route = rules.route(request.method, request.target)
    operation = route.operation
    if operation is None:
        return _without_operation(world, route, request, entry)
    request.operation = operation.name
    if key is not None:
        problem = world.keys.use(key)
    if problem:
        fault = key_fault(problem, request.values("authorization"), world.keys)
        return refused(world, entry, Refusal(problem, detail=fault))  # §5: beats everything behind it
    new_pet = None
    # Nearly every request is without a body and right: spared the call that would find nothing.
    if operation.request_schema is not None or route.invalid is not None:
        judgement = validate(rules, request, route)
        if isinstance(judgement, Refusal):
            return refused(world, entry, judgement)
        new_pet = judgement
    world.valid_requests = valid = world.valid_requests + 1
    rate_limit = rules.policies.rate_limit
    if rate_limit is not None and (retry_after := rate_limit(valid, entry.timestamp)) is not None:
        return refused(world, entry, Refusal("rate_limited", fields=(("Retry-After", retry_after),)))
    if not world.plan.idle:
        return _Execution(world, request, route, new_pet, entry).run()
    return execute_again(world, route, entry) if new_pet is None else execute(world, route, new_pet, entry, commit=True)


def _without_operation(world: World, route: Route, request: ApiRequest, entry: Entry) -> ApiResponse:
    if world.cors is not None and world.cors.permits_preflight(request):
        # On an unknown path too: refused there, a page would be told of no status at all.
        fields = world.cors.preflight_fields(route.allow or METHODS)
        return bare_response(world, world.rules.head(204, fields, json=False), b"")
    allow = (("Allow", route.allow),) if route.allow else ()
    if route.refusal is not None:
        return refused(world, entry, replace(route.refusal, fields=allow))
    return bare_response(world, world.rules.head(204, allow, json=False), b"")  # RFC 9110 §9.3.7


def _failed(world: World, entry: Entry, error: Exception) -> ApiResponse:
    """Answer for a bug of the fake, which fails the test."""
    world.errors.note(error)
    refusal = Refusal("internal_error", detail=f"{type(error).__name__}: {error}")
    entry.condition, entry.violations, entry.omitted = CONDITIONS[refusal.condition], (), 0
    entry.detail = refusal.detail
    return refusal_response(world, refusal, entry.request)


class _Execution:
    """A valid request on its way through fault, execution and rendering."""

    __slots__ = ("entry", "new_pet", "pending", "request", "route", "world")

    pending: DeferredResponses  # those that it is one of, if its answer is

    def __init__(self, world: World, request: ApiRequest, route: Route, new_pet: NewPet | None, entry: Entry) -> None:
        self.world = world
        self.request = request
        self.route = route
        self.new_pet = new_pet
        self.entry = entry

    def run(self) -> ApiResponse | DeferredResponse:
        world = self.world
        fault = world.plan.choose("before_commit", self.entry, world.random)
        if fault is None:
            return self.proceed()
        self.entry.fault = fault
        if isinstance(fault, Delay):
            self.pending = world.deferred
            self.entry.outcome = "delayed"
            return self._deferred(self.resume, seconds=fault.seconds)
        if fault.loses_answer:
            return self._instead(fault)
        if fault.only_slows:  # the answer arrives whole: what it says must be true
            answer = self.proceed()
            met_another = self.entry.fault is not fault
            return answer if met_another or isinstance(answer, DeferredResponse) else self._corrupted(answer, fault)
        # A corrupted answer is that of an operation which is then not carried out: nothing is kept.
        return self._corrupted(self._execute(commit=False), fault)

    def _execute(self, *, commit: bool) -> ApiResponse:
        return execute(self.world, self.route, self.new_pet, self.entry, commit=commit)

    def proceed(self) -> ApiResponse | DeferredResponse:
        """Execute, then let a fault that waits for the commit have the answer."""
        world, entry = self.world, self.entry
        response = self._execute(commit=True)
        if self.new_pet is None or not entry.executed:
            return response
        fault = world.plan.choose("after_commit", entry, world.random)
        if fault is None:
            return response
        entry.delayed_by = entry.fault  # whatever else meets a request before the commit ends it
        entry.fault = fault
        if isinstance(fault, Delay):
            return self._late(response, fault.seconds)
        return self._instead(fault) if fault.loses_answer else self._corrupted(response, fault)

    def resume(self) -> ApiResponse | DeferredResponse:
        """Go on after a delay. A reset or a restore meanwhile has ended the state that the request was made for."""
        world, entry = self.world, self.entry
        with world.lock:
            world.clock.begin_request()
            try:
                ended = world.deferred is not self.pending
                answer = refused(world, entry, Refusal("released")) if ended else self.proceed()
            except Exception as error:  # noqa: BLE001  # as in handle()
                answer = _failed(world, entry, error)
            if isinstance(answer, ApiResponse):
                _answered(world, entry, answer)
            world.journal.weigh_again(entry)
            return answer

    def _instead(self, fault: Fault) -> ApiResponse | DeferredResponse:
        """Answer with the fault instead of the operation's answer."""
        world = self.world
        if isinstance(fault, Answer):
            response = fault_response(world, fault, self.route)
            return response if fault.delay is None else self._late(response, fault.delay)
        unread = bare_response(world, world.rules.head(503, json=False), b"")  # nothing of it goes out
        return self._deferred(lambda: unread, delivery=fault.delivery)

    def _corrupted(self, response: ApiResponse, fault: Fault) -> ApiResponse | DeferredResponse:
        """Corrupt the operation's answer, or the way it goes out."""
        response.head, response.body = fault.corrupt(response.head, response.body)
        if fault.delivery is None:
            return response
        _answered(self.world, self.entry, response)
        return self._deferred(lambda: response, delivery=fault.delivery)

    def _late(self, response: ApiResponse, seconds: Seconds) -> DeferredResponse:
        """Hold back an answer that is made already."""
        _answered(self.world, self.entry, response)
        return self._deferred(lambda: response, seconds=seconds)

    def _deferred(
        self,
        resume: Callable[[], ApiResponse | DeferredResponse],
        *,
        seconds: Seconds | None = None,
        delivery: Delivery | None = None,
    ) -> DeferredResponse:
        world = self.world
        delay = 0.0 if seconds is None else world.random.uniform(*seconds)
        return DeferredResponse(resume, self.entry, world.deferred, delay=delay, delivery=delivery)


# For the adapters


def admits(world: World, request: ApiRequest, key: Key | None, length: int | None) -> bool:
    """Say from its head whether a request's body is worth reading; counts nothing (RFC 9110 §10.1.1)."""
    with world.lock:
        if world.mutation is not None:
            return True  # it may let the key in, or make an animal of what is refused
        rules = world.rules
        route = rules.route(request.method, request.target)
        if route.operation is None or route.invalid is not None:
            return False
        if key is None or world.keys.problem(key):
            return False
        return route.operation.request_schema is None or validate_head(rules, request, length) is None


def refuse_leftover(world: World, condition: str, detail: str, request: ApiRequest) -> ApiResponse:
    """Refuse what began before the present test; the journal of ``world`` does not hear of it."""
    with world.lock:
        world.clock.begin_request()
        response = refusal_response(world, Refusal(condition, detail=detail), request)
        tell_browser(world, request, response)
        return response


def refuse(world: World, condition: str, detail: str, request: ApiRequest) -> ApiResponse:
    """Answer what never became a whole request, with an error body and a journal entry."""
    with world.lock:
        if condition == "internal_error":  # an adapter failed: like any failure of ours, it fails the test
            world.errors.note(RuntimeError(detail))
        now = world.clock.begin_request()
        entry = Entry(world.journal.total + 1, world.owner, request, now)
        response = refused(world, entry, Refusal(condition, detail=detail))
        _answered(world, entry, response)
        entry.duration = RealTime.perf_counter() - request.started
        world.journal.add(entry)
        return response
