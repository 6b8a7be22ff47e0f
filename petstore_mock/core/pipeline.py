"""The pipeline: route, authenticate, decode, validate, choose fault, execute, answer. No I/O.

:func:`handle` answers one request on one world. Everything from the key to the journal entry happens under the
world's lock, so that the journal's order is the order of what happened; waiting is left to the adapters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from petstore_mock.common.real_time import RealTime
from petstore_mock.core.operations import execute
from petstore_mock.core.responses import bare_response, corrupt, fault_response, hold_back, refusal_response
from petstore_mock.core.routing import METHODS, Refusal
from petstore_mock.core.self_check import check_error
from petstore_mock.core.validation import judge_body, judge_head, with_body_violations
from petstore_mock.faults.kinds import Answer, Delay
from petstore_mock.journal.entry import Entry
from petstore_mock.messages.bearer import key_fault

if TYPE_CHECKING:
    from petstore_mock.core.keys import Key
    from petstore_mock.core.routing import Route
    from petstore_mock.core.world import World
    from petstore_mock.faults import Fault
    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse

__all__ = ["admits", "answer_retired", "handle", "refuse", "refuse_leftover"]


def handle(world: World, request: ApiRequest, key: Key | None, problem: str) -> ApiResponse:
    """Answer one request. The world's lock is held.

    Args:
        world: whose state it meets.
        request: the request.
        key: the API key of this world that it bears, or None.
        problem: why ``key`` is None: a name of ``CONDITIONS``.
    """
    now = world.now = world.clock.now()
    entry = Entry(world.journal.total + 1, world.owner, request, now)
    try:
        response = _answer(world, request, key, problem, entry)
        if world.self_check and entry.condition is not None and entry.fault is None:  # else a fault may have spoilt it
            check_error(world, response)
    except Exception as error:  # noqa: BLE001  # a bug of ours must fail the test and still be an answer
        world.errors.append(error)
        response = refusal_response(world, entry, Refusal("internal_error", detail=f"{type(error).__name__}: {error}"))
    _tell_browser(world, request, response)
    entry.answered(response)
    entry.duration = RealTime.perf_counter() - request.started
    response.entry = entry
    world.journal.add(entry)
    return response


def _tell_browser(world: World, request: ApiRequest, response: ApiResponse) -> None:
    """Let a page of another origin see the answer, if it is allowed to: errors and faults as well."""
    if world.cors is not None:
        response.head = world.cors.dress(response.head, request)


def _answer(world: World, request: ApiRequest, key: Key | None, problem: str, entry: Entry) -> ApiResponse:
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
        return refusal_response(world, entry, Refusal(problem, detail=fault))  # §5: beats everything behind it
    if route.invalid is not None:
        invalid = route.invalid
        if operation.request_schema is not None:
            invalid = with_body_violations(rules, request, invalid)
        return refusal_response(world, entry, invalid)
    document: dict[str, Any] | None = None
    if operation.request_schema is not None:
        judged = judge_body(rules, request)
        if isinstance(judged, Refusal):
            return refusal_response(world, entry, judged)
        document = judged
    world.answered += 1
    retry_after = rules.policies.rate_limit(world.answered, world.now)
    if retry_after is not None:
        return refusal_response(world, entry, Refusal("rate_limited"), (("Retry-After", retry_after),))
    return (
        execute(world, route, document, entry, commit=True)
        if world.plan.idle
        else _Exchange(world, request, route, document, entry).run()
    )


def _without_operation(world: World, route: Route, request: ApiRequest, entry: Entry) -> ApiResponse:
    if world.cors is not None and world.cors.permits_preflight(request):
        # On an unknown path too: refused there, a page would be told of no status at all.
        fields = world.cors.preflight_fields(route.allow or METHODS)
        return bare_response(world, world.rules.head(204, fields, json=False), b"")
    allow = (("Allow", route.allow),) if route.allow else ()
    if route.refusal is not None:
        return refusal_response(world, entry, route.refusal, allow)
    return bare_response(world, world.rules.head(204, allow, json=False), b"")  # RFC 9110 §9.3.7


class _Exchange:
    """A valid request on its way through fault, execution and rendering."""

    __slots__ = ("document", "entry", "generation", "request", "route", "world")

    generation: int  # of a request whose answer is held

    def __init__(
        self, world: World, request: ApiRequest, route: Route, document: dict[str, Any] | None, entry: Entry
    ) -> None:
        self.world = world
        self.request = request
        self.route = route
        self.document = document
        self.entry = entry

    def run(self) -> ApiResponse:
        world = self.world
        fault = world.plan.choose("before_commit", self.entry, world.random)
        if fault is None:
            return self.proceed()
        self.entry.fault = fault
        if isinstance(fault, Delay):
            return self._held(fault)
        if fault.loses_answer:
            return self._instead(fault)
        if fault.only_slows:  # the answer arrives whole: what it says must be true
            response = self.proceed()
            return corrupt(response, fault, world) if self.entry.fault is fault else response
        # A corrupted answer is that of an operation which is then not carried out: nothing is kept.
        return corrupt(execute(world, self.route, self.document, self.entry, commit=False), fault, world)

    def proceed(self) -> ApiResponse:
        """Execute, then let a fault that waits for the commit have the answer."""
        world = self.world
        response = execute(world, self.route, self.document, self.entry, commit=True)
        if self.document is None or not self.entry.executed:
            return response
        fault = world.plan.choose("after_commit", self.entry, world.random)
        if fault is None:
            return response
        self.entry.delayed_by = self.entry.fault  # whatever else meets a request before the commit ends it
        self.entry.fault = fault
        if isinstance(fault, Delay):
            return hold_back(response, fault.seconds, world)
        return self._instead(fault) if fault.loses_answer else corrupt(response, fault, world)

    def _held(self, fault: Delay) -> ApiResponse:
        """Promise an answer for later: what is to be committed is committed then, if the client is still there."""
        world = self.world
        self.generation = world.generation
        response = hold_back(bare_response(world, world.rules.head(503, json=False), b""), fault.seconds, world)
        response.resume = self.resume
        self.entry.outcome = "delayed"
        return response

    def resume(self) -> ApiResponse:
        """Go on after a delay. A reset or a restore meanwhile has ended the state that the request was made for."""
        world = self.world
        with world.lock:
            world.now = world.clock.now()
            try:
                if world.generation == self.generation:
                    response = self.proceed()
                else:
                    response = refusal_response(world, self.entry, Refusal("released"))
            except Exception as error:  # noqa: BLE001  # as in handle()
                world.errors.append(error)
                response = refusal_response(
                    world, self.entry, Refusal("internal_error", detail=f"{type(error).__name__}: {error}")
                )
            _tell_browser(world, self.request, response)
            response.entry = self.entry
            self.entry.answered(response)
            world.journal.weigh_again(self.entry)
            return response

    def _instead(self, fault: Fault) -> ApiResponse:
        """Answer with the fault instead of the operation's answer."""
        if isinstance(fault, Answer):
            return fault_response(self.world, fault, self.route)
        return corrupt(bare_response(self.world, self.world.rules.head(503, json=False), b""), fault, self.world)


# For the adapters


def admits(world: World, request: ApiRequest, key: Key | None, length: int | None) -> bool:
    """Say from its head whether a request's body is worth reading; counts nothing (RFC 9110 §10.1.1)."""
    with world.lock:
        rules = world.rules
        route = rules.route(request.method, request.target)
        if route.operation is None or route.invalid is not None:
            return False
        if key is None or world.keys.problem(key):
            return False
        return route.operation.request_schema is None or judge_head(rules, request, length) is None


def answer_retired(world: World, detail: str, request: ApiRequest) -> ApiResponse:
    """Answer 401 to a request of a finished world; the journal of ``world`` does not hear of it."""
    return refuse_leftover(world, "retired_key", detail, request)


def refuse_leftover(world: World, condition: str, detail: str, request: ApiRequest) -> ApiResponse:
    """Refuse what began before the present test; the journal of ``world`` does not hear of it."""
    with world.lock:
        world.now = world.clock.now()
        response = refusal_response(world, Entry(0, None, request, world.now), Refusal(condition, detail=detail))
        _tell_browser(world, request, response)
        return response


def refuse(world: World, condition: str, detail: str, request: ApiRequest) -> ApiResponse:
    """Answer what never became a whole request, with an error body and a journal entry."""
    with world.lock:
        if condition == "internal_error":  # an adapter failed: like any failure of ours, it fails the test
            world.errors.append(RuntimeError(detail))
        world.now = world.clock.now()
        entry = Entry(world.journal.total + 1, world.owner, request, world.now)
        response = refusal_response(world, entry, Refusal(condition, detail=detail))
        _tell_browser(world, request, response)
        entry.answered(response)
        entry.duration = RealTime.perf_counter() - request.started
        response.entry = entry
        world.journal.add(entry)
        return response
