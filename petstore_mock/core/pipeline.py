"""The pipeline: route, authenticate, validate, choose the fault, execute, render. It does no I/O.

:func:`handle` responds to one request of one world. The world's lock is held from the check of the key to the entry in
the journal, so the journal keeps the order of events. The adapters wait for delays, without the lock.

Each operation has one executor. Everything else about an operation follows from its row in the table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import filterfalse
from typing import TYPE_CHECKING, Final, cast

from petstore_mock.common import refusing
from petstore_mock.common.masking import mask_text
from petstore_mock.common.real import perf_counter
from petstore_mock.core import mutation
from petstore_mock.core.routing import SERVER, Refusal, validate
from petstore_mock.errors import PetStoreMockError
from petstore_mock.http.credentials import key_fault
from petstore_mock.http.handler import Deferred
from petstore_mock.http.response import BODILESS_STATUSES, Head, Response
from petstore_mock.interface.agreement import require_agreement
from petstore_mock.interface.conditions import CONDITIONS, condition_of_status, error_document
from petstore_mock.interface.gaps import OMITTED, ListPage
from petstore_mock.interface.policies import choice_of
from petstore_mock.interface.strict_json import encode_json
from petstore_mock.interface.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.core.routing import Body, Route
    from petstore_mock.core.store import Store
    from petstore_mock.core.world import World
    from petstore_mock.faults.fault import Fault
    from petstore_mock.http.handler import Pending
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.interface.conditions import Condition
    from petstore_mock.interface.gaps import ResponseFields
    from petstore_mock.interface.table import Operation
    from petstore_mock.journal.exchange import Exchange

    Respond = Callable[[World, Exchange], "Response | Deferred"]


_KEPT_RESPONSES: Final = 32  # clients repeat only a few requests; a fuzzer must not fill the memory
_KEPT_RESPONSE: Final = 64 * 1024  # bytes of the body of a response that is kept


@dataclass(slots=True, eq=False)
class Call:
    """A valid request on its way through faults, execution and rendering."""

    world: World  # its lock is held
    operation: Operation
    route: Route
    body: Body | None
    exchange: Exchange
    pending: Pending  # the world's ``pending`` at arrival; a reset gives the world a new one
    commit: bool = True  # False: a fault corrupts the response, and the store keeps nothing


def handle(world: World, request: ApiRequest, respond: Respond | None = None) -> Response | Deferred:
    """Respond to a request of this world, and record it in the journal. The caller holds the world's lock."""
    exchange = world.begin(request)
    response = _finished(world, exchange, respond or _respond)
    exchange.duration = perf_counter() - request.started
    world.journal.add(exchange)
    return response


def refuse(world: World, refusal: Refusal, request: ApiRequest) -> Response:
    """Respond to an incomplete or malformed request with an error, and record it in the journal."""
    with world.lock:
        return cast("Response", handle(world, request, lambda _, exchange: refused(world, exchange, refusal)))


def failure(world: World, error: BaseException) -> Refusal:
    """Return the refusal for an exception inside the fake, which also fails the test."""
    world.errors.append(error)
    return Refusal("internal_error", detail=f"{type(error).__name__}: {error}")


def _finished(world: World, exchange: Exchange, respond: Respond) -> Response | Deferred:
    try:
        response = respond(world, exchange)
    except Exception as error:  # the client gets a response
        response = refused(world, exchange, failure(world, error))
    if isinstance(response, Response):
        return _dress(world, exchange, response)
    return response


def _dress(world: World, exchange: Exchange, response: Response) -> Response:
    """Let the mutant change a response, open it to pages, and record it in its exchange."""
    if world.mutant is not None:
        mutation.after(world, world.mutant, exchange, response)
    exchange.response = world.host.cors.opened(exchange.request, response)
    return exchange.response


def _respond(world: World, exchange: Exchange) -> Response | Deferred:
    request = exchange.request
    refused_key = world.refused_key(request)
    if world.mutant is not None:
        request, refused_key = mutation.before(world, world.mutant, exchange, refused_key)
    route = world.store.rules.route(request.method, request.target, request.fields)
    operation = route.operation
    if world.host.cors.answers(request):
        return _render(world.store, 204)
    if operation is None:
        if route.refusal is not None:
            return refused(world, exchange, route.refusal)
        return _render(world.store, 204, None, (("Allow", route.allow),))  # RFC 9110 §9.3.7
    exchange.operation = operation.name
    judged = _judge(world, request, route, refused_key)
    if isinstance(judged, Refusal):
        world.plan.pass_by(operation.name)
        return refused(world, exchange, judged)
    call = Call(world, operation, route, judged, exchange, world.pending)
    if world.plan.every:
        return _meet_fault(call)
    return _execute(call)


def _judge(world: World, request: ApiRequest, route: Route, refused_key: str) -> Body | Refusal | None:
    """Authenticate and validate a request. Return its body, None if the operation takes no body, or a refusal."""
    if refused_key:  # by the meaning of §5, an invalid key is refused first
        detail = key_fault(refused_key, request.values("authorization"), world.secrets())
        if refused_key == "revoked_key":
            detail = "it was revoked" if world.owner is None else f"the world of {world.owner} revoked it"
        return Refusal(refused_key, detail=detail)
    world.use_key(request)
    store = world.store
    limit = store.rules.policies.rate_limit
    judged = validate(store.rules, request, route)
    if isinstance(judged, Refusal):
        return judged
    store.valid_requests += 1
    after = None if limit is None else limit(store.valid_requests, store.now())
    if after is None:
        return judged
    return Refusal("rate_limited", fields=(("Retry-After", after),))


# Operations


def _execute(call: Call) -> Response:
    """Execute an operation, and cache the response of a read-only one."""
    world = call.world
    store = world.store
    operation = call.operation
    cached = store.responses.get(call.route)
    if cached is not None and cached.date == store.date:
        call.exchange.executed = True
        return cached
    drawn = store.drawn
    done = _removal(call) or EXECUTORS[operation.name](call)
    if isinstance(done, Refusal):
        fields = store.rules.policies.deprecation_headers(operation.removed_at)
        return refused(world, call.exchange, replace(done, fields=fields))
    call.exchange.executed = call.commit or not operation.commits
    if drawn == store.drawn and _may_come_again(call, done):
        if len(store.responses) >= _KEPT_RESPONSES:  # cheaper than dropping the oldest entry each time
            store.responses.clear()
        store.responses[call.route] = done
    return done


def _removal(call: Call) -> Refusal | None:
    """Return the refusal of an operation that the service has removed by now (gap after_removal)."""
    operation = call.operation
    store = call.world.store
    condition = store.rules.policies.after_removal
    if condition is None or operation.removed_at is None or store.now() < operation.removed_at.timestamp():
        return None
    return Refusal(
        condition, detail=f"{operation.name} was removed on {operation.removal_day}: use {operation.replacement}"
    )


def _may_come_again(call: Call, response: Response) -> bool:
    """Return whether a cached response may be the response to the next equal request.

    The cache key is the route. The store clears the cache when an animal changes; a new behaviour has new routes. Each
    second needs a new response, because ``Date`` and the removal of getPet depend on the time. The store caches no
    response that a mutant may change later, and none with paging headers: a link depends on the client's base address.
    """
    world = call.world
    store = world.store
    has_variants = world.mutant is not None or store.rules.policies.paging_headers is not None
    if has_variants or store.hidden or call.operation.commits:
        return False
    return len(response.body) <= _KEPT_RESPONSE


def success(call: Call, content: bytes | None = None, fields: ResponseFields = ()) -> Response:
    """Return the response to a successful call, with canonical JSON or without a body."""
    operation = call.operation
    store = call.world.store
    deprecation = store.rules.policies.deprecation_headers(operation.removed_at)
    return _render(store, operation.success, content, (*deprecation, *fields))


def list_pets(call: Call) -> Response:
    """Return at most ``limit`` animals that match the filters (§4.1)."""
    route = call.route
    store = call.world.store
    policies = store.rules.policies
    limit = route.arguments["limit"]
    ids = store.ids(route.filters)
    if store.hidden:
        ids = [*filterfalse(store.hides, ids)]
    most = policies.page_fill(limit)
    page = policies.list_order(ids, most, store, store.random)
    fields: ResponseFields = ()
    if policies.paging_headers is not None:
        request = call.exchange.request
        path = request.base_path + request.target.partition("?")[0]
        given = {chosen.parameter.name: chosen.value for chosen in route.filters if chosen.parameter.where == "query"}
        page_facts = ListPage(path, limit, call.operation, given, most, len(ids))
        fields = policies.paging_headers(page_facts)
    return success(call, store.page(page), fields)


def create_pet(call: Call) -> Response:
    """Create an animal, and return it with its assigned id (§4.2)."""
    store = call.world.store
    policies = store.rules.policies
    pet_id = store.free_id()
    pet = {"id": pet_id, **(call.body or {})}
    for field, gap in OMITTED.items():
        instead = choice_of(policies, gap.name)
        if instead is not None:
            pet.setdefault(field, instead)
    if call.commit:
        content = store.put(pet)
        if policies.visibility:
            store.hide(pet_id, policies.visibility)
    else:
        content = encode_json(pet)
    fields: ResponseFields = ()
    if policies.location_header is not None:
        fields = policies.location_header(call.exchange.request.base_path, pet_id)
    return success(call, content, fields)


def get_pet(call: Call) -> Response | Refusal:
    """Return the animal (§4.3)."""
    store = call.world.store
    pet_id = call.route.pet_id
    content = store.get(pet_id)
    if content is None or store.hides(pet_id):
        return Refusal("absent_pet", detail=f"petId {pet_id}")
    return success(call, content)


EXECUTORS: Final[dict[str, Callable[[Call], Response | Refusal]]] = {
    "listPets": list_pets,
    "createPet": create_pet,
    "getPet": get_pet,
}
require_agreement()
if EXECUTORS.keys() != OPERATIONS.keys():
    unmatched = sorted(EXECUTORS.keys() ^ OPERATIONS.keys())
    refusing.refuse(f"expected an executor for each operation of the table; unmatched: {', '.join(unmatched)}")


# Responses


def _render(store: Store, status: int, canonical: bytes | None = None, fields: ResponseFields = ()) -> Response:
    """Return a response with a JSON body in the style of the behaviour, or without a body."""
    rules = store.rules
    head = (SERVER, *fields)
    if canonical is not None:
        head = (("Content-Type", rules.policies.content_type), *head)
        for rewrite in rules.rewrites:
            canonical = rewrite(canonical)
    return Response(_head(status, head), canonical or b"", store.date, rules.wire_format)


@lru_cache(maxsize=1024)
def _head(status: int, fields: ResponseFields) -> Head:
    return Head(status, fields)


def refused(world: World, exchange: Exchange, refusal: Refusal) -> Response:
    """Return the error response of a refusal (§7), and record it in the exchange. Its message masks keys."""
    condition = CONDITIONS[refusal.condition]
    exchange.condition = condition
    exchange.detail = refusal.detail
    exchange.violations = tuple(refusal.violations)
    exchange.omitted = refusal.violations.omitted
    message = condition.message
    words = refusal.violations.in_words() or refusal.detail
    if words:
        message += f": {words}"
    keys = (*world.secrets(), *exchange.request.fields.credentials)  # a client may send a key anywhere
    return _error(world.store, condition, mask_text(message, keys), refusal.fields)


def _error(store: Store, condition: Condition, message: str, fields: ResponseFields) -> Response:
    status = condition.status
    document = error_document(store.rules.policies.error_codes(condition.code, status), message, status)
    return _render(store, status, encode_json(document), (*condition.fields, *fields))


# Faults


def _meet_fault(call: Call) -> Response | Deferred:
    world = call.world
    exchange = call.exchange
    fault = world.plan.choose("before_commit", exchange, world.store.random)
    if fault is None:
        return _commit(call)
    exchange.fault = fault
    if fault.kind == "delay":
        exchange.outcome = "delayed"
        return _deferred(call, fault, lambda: _resume(call))
    if fault.row.loses_response:
        return _broken(call, fault, None)
    if not fault.row.is_whole:
        call.commit = False
        return _broken(call, fault, _execute(call))
    response = _commit(call)  # the client receives all of it, so it must be correct
    if isinstance(response, Deferred) or exchange.fault is not fault:  # another fault met it after the commit
        return response
    return _broken(call, fault, response)


def _commit(call: Call) -> Response | Deferred:
    """Execute the operation, then apply a fault that is planned with ``at="after_commit"``."""
    world = call.world
    exchange = call.exchange
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

    def respond(world: World, exchange: Exchange) -> Response | Deferred:
        if world.pending is call.pending:
            return _commit(call)
        return refused(world, exchange, Refusal("released"))

    with call.world.lock:
        return _finished(call.world, call.exchange, respond)


def _broken(call: Call, fault: Fault, response: Response | None) -> Response | Deferred:
    """Return the response that the client receives under a fault. ``response`` is None if none was made."""
    if fault.row.responds:
        broken = _fault_response(call, fault)
    elif response is None or fault.row.loses_response:
        unsent = _render(call.world.store, 503)
        return _deferred(call, fault, lambda: unsent)
    else:
        # The store may cache the original.
        broken = fault.changed(replace(response, wire=b""))
    broken.head = broken.head.with_fields(*fault.fields)
    if fault.delay is None and fault.delivery is None:
        return broken
    dressed = _dress(call.world, call.exchange, broken)
    return _deferred(call, fault, lambda: dressed)


def _deferred(call: Call, fault: Fault, resume: Callable[[], Response | Deferred]) -> Deferred:
    exchange = call.exchange
    world = call.world
    if fault.row.needs_socket and not exchange.request.connection:
        message = f"{exchange.request_line} met {fault}, which needs a socket: give the client petstore.url"
        world.errors.append(PetStoreMockError(message))  # a client may swallow the exception of ``resume``
        resume = partial(refusing.refuse, message)
    low, high = fault.delay or (0.0, 0.0)
    seconds = low if low == high else world.store.random().uniform(low, high)
    exchange.in_flight = True
    return Deferred(resume, exchange.complete, call.pending, delay=seconds, delivery=fault.delivery)


def _fault_response(call: Call, fault: Fault) -> Response:
    """Return the response of a fault, with the fault's own body or the interface's Error (§2)."""
    condition = condition_of_status(fault.status or 500)
    store = call.world.store
    fields: ResponseFields = ()
    if condition.status == 405:
        fields = (("Allow", call.route.allow),)  # RFC 9110 §15.5.6
    elif condition.status == 404:  # the operation's own 404 has these fields too
        fields = store.rules.policies.deprecation_headers(call.operation.removed_at)
    if fault.body is not None or condition.status in BODILESS_STATUSES:
        response = _render(store, condition.status, None, (*condition.fields, *fields))
        response.body = fault.body or b""
    else:
        response = _error(store, condition, f"{condition.message} (injected: {fault})", fields)
    return response
