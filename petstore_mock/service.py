"""The pipeline: route, authenticate, decode, validate, choose fault, execute, render, dress. No I/O.

:func:`handle` answers one request on one world. Everything from the key to the journal entry happens under the
world's lock, so that the journal's order is the order of what happened; waiting is left to the adapters.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.conditions import CONDITIONS, REALM, error_document
from petstore_mock.decoding import encode_flat, encode_json
from petstore_mock.entry import Entry
from petstore_mock.judging import judge_body, judge_head, with_body_violations
from petstore_mock.messages import ApiResponse, Head, reason_phrase
from petstore_mock.rules import SERVER, Refusal
from petstore_mock.self_check import check_answer, check_error
from petstore_mock.violations import MOST_VIOLATIONS

if TYPE_CHECKING:
    from petstore_mock.conditions import Condition
    from petstore_mock.contract import Operation
    from petstore_mock.faults import Fault
    from petstore_mock.messages import ApiRequest
    from petstore_mock.rules import Route
    from petstore_mock.world import World

__all__ = ["admits", "answer_retired", "handle", "refuse", "refuse_leftover"]

_SHOWN_VIOLATIONS: Final = 20  # of a body with thousands of wrong fields
_NO_CONTENT: Final = frozenset({204, 304})

# What a fault that answers by status alone says, beside the statuses of the table of conditions.
_FAULT_CONDITIONS: Final = {401: "unknown_key", 404: "absent_pet", 400: "invalid_body", 429: "rate_limited"}


def handle(world: World, request: ApiRequest, key: str | None, problem: str) -> ApiResponse:
    """Answer one request. The world's lock is held.

    Args:
        world: whose state it meets.
        request: the request.
        key: the API key that it bears, or None.
        problem: why ``key`` is None or no key of this world: a name of ``CONDITIONS``; empty when it may be valid.
    """
    now = world.now = world.clock.now()
    entry = Entry(world.journal.total + 1, world.owner, request, now)
    try:
        response = _answer(world, request, key, problem, entry)
        if world.self_check and entry.condition is not None:
            check_error(world, response)
    except Exception as error:  # noqa: BLE001  # a bug of ours must fail the test and still be an answer
        world.errors.append(error)
        response = _refusal(world, entry, Refusal("internal_error", detail=f"{type(error).__name__}: {error}"))
    entry.answered(response)
    entry.duration = perf_counter() - request.started
    response.entry = entry
    world.journal.add(entry)
    return response


def _answer(world: World, request: ApiRequest, key: str | None, problem: str, entry: Entry) -> ApiResponse:
    rules = world.rules
    route = rules.route(request.method, request.target)
    operation = route.operation
    if operation is None:
        return _without_operation(world, route, entry)
    request.operation = operation.name
    if key is not None and not problem:
        problem = world.key_problem(key)
    if problem:
        return _refusal(world, entry, Refusal(problem))  # §5: beats everything behind it
    if route.invalid is not None:
        invalid = route.invalid
        if operation.request_schema is not None:
            invalid = with_body_violations(rules, request, invalid)
        return _refusal(world, entry, invalid)
    document: dict[str, Any] | None = None
    if operation.request_schema is not None:
        judged = judge_body(rules, request)
        if isinstance(judged, Refusal):
            return _refusal(world, entry, judged)
        document = judged
    world.answered += 1
    retry_after = rules.policies.rate_limit(world.answered, world.now)
    if retry_after is not None:
        return _refusal(world, entry, Refusal("rate_limited"), (("Retry-After", retry_after),))
    exchange = _Exchange(world, request, route, operation, document, entry)
    return exchange.execute(commit=True) if world.plan.idle else exchange.run()


def _without_operation(world: World, route: Route, entry: Entry) -> ApiResponse:
    allow = (("Allow", route.allow),) if route.allow else ()
    if route.refusal is not None:
        return _refusal(world, entry, route.refusal, allow)
    return _response(world, world.rules.head(204, allow, json=False), b"")  # RFC 9110 §9.3.7


class _Exchange:
    """A valid request on its way through fault, execution and rendering."""

    __slots__ = ("document", "entry", "generation", "operation", "request", "route", "world")

    generation: int  # of a request whose answer is held

    def __init__(  # noqa: PLR0917  # once a request: keywords cost
        self,
        world: World,
        request: ApiRequest,
        route: Route,
        operation: Operation,
        document: dict[str, Any] | None,
        entry: Entry,
    ) -> None:
        self.world = world
        self.request = request
        self.route = route
        self.operation = operation
        self.document = document
        self.entry = entry

    def run(self) -> ApiResponse:
        world = self.world
        fault = world.plan.choose("before_commit", self.request, world.random)
        if fault is None:
            return self.proceed()
        self.entry.fault = fault
        if fault.delay is not None:
            return self._held(fault)
        if fault.loses_answer:
            return self._instead(fault)
        if fault.only_slows:  # the answer arrives whole: what it says must be true
            response = self.proceed()
            return _garbled(response, fault, world) if self.entry.fault is fault else response
        # A garbled answer is that of an operation which is then not carried out: nothing is kept.
        return _garbled(self.execute(commit=False), fault, world)

    def proceed(self) -> ApiResponse:
        """Execute, then let a fault that waits for the commit have the answer."""
        world = self.world
        response = self.execute(commit=True)
        if self.document is None or not self.entry.executed:
            return response
        fault = world.plan.choose("after_commit", self.request, world.random)
        if fault is None:
            return response
        self.entry.delayed_by = self.entry.fault  # whatever else meets a request before the commit ends it
        self.entry.fault = fault
        if fault.delay is not None:
            response.delay = world.random.uniform(*fault.delay)
            response.waits = world.waits
            return response
        return self._instead(fault) if fault.loses_answer else _garbled(response, fault, world)

    def _held(self, fault: Fault) -> ApiResponse:
        """Promise an answer for later: what is to be committed is committed then, if the client is still there."""
        assert fault.delay is not None  # noqa: S101  # for the type checker: the caller has looked
        world = self.world
        self.generation = world.generation
        response = _response(world, world.rules.head(503, json=False), b"")
        response.delay = world.random.uniform(*fault.delay)
        response.waits = world.waits
        response.resume = self.resume
        response.abandon = self.abandon
        self.entry.outcome = "delayed"
        return response

    def resume(self) -> ApiResponse:
        """Go on after a delay. A reset meanwhile has ended the world that the request was made in."""
        world = self.world
        with world.lock:
            world.now = world.clock.now()
            if world.generation != self.generation:
                return _refusal(world, self.entry, Refusal("released"))
            try:
                response = self.proceed()
            except Exception as error:  # noqa: BLE001  # as in handle()
                world.errors.append(error)
                response = _refusal(
                    world, self.entry, Refusal("internal_error", detail=f"{type(error).__name__}: {error}")
                )
            response.entry = self.entry
            self.entry.answered(response)
            world.journal.weigh_again(self.entry)
            return response

    def abandon(self) -> None:
        """Note that the client left before the commit."""
        self.entry.outcome = "client gone"

    def _instead(self, fault: Fault) -> ApiResponse:
        """Answer with the fault instead of the operation's answer."""
        world = self.world
        if fault.delivery is not None:
            response = _response(world, world.rules.head(503, json=False), b"")
            response.delivery = fault.delivery
            response.waits = world.waits
            return response
        assert fault.status is not None  # noqa: S101  # for the type checker: what loses an answer has one of the two
        return _fault_answer(world, fault, fault.status)

    def execute(self, *, commit: bool) -> ApiResponse:
        """Carry the operation out and render its answer; without ``commit`` nothing changes."""
        match self.operation.name:
            case "listPets":
                response = self._list()
            case "createPet":
                response = self._create(commit=commit)
            case "getPet":
                response = self._get()
        if self.world.self_check:
            check_answer(self.world, self.operation, response)
        return response

    @property
    def _number(self) -> int:
        """The number of the latest request: this one, unless others came while it was held."""
        return max(self.entry.number, self.world.journal.total)

    def _list(self) -> ApiResponse:
        """§4.1: at most ``limit`` animals, only those of the status."""
        world, route = self.world, self.route
        store, chosen = world.store, world.rules.policies
        limit, status = route.limit, route.status
        if world.hidden and world.hides(number := self._number):
            ids = chosen.list_order(store, status, limit + len(world.hidden), world.random)
            ids = world.visible(ids, number)[:limit]
            total = len(world.visible(store.every(status), number))
        else:
            ids = chosen.list_order(store, status, limit, world.random)
            total = store.count(status)
        self.entry.executed = True
        return _rendered(world, 200, store.page(ids), chosen.paging_headers(limit, status, total))

    def _create(self, *, commit: bool) -> ApiResponse:
        """§4.2: the created animal with the id that the service assigned."""
        world = self.world
        sent = self.document
        assert sent is not None  # noqa: S101  # for the type checker: createPet has a body
        pet_id = world.assign_id()
        document: dict[str, Any] = {"id": pet_id}
        for name in world.rules.new_pet_fields:
            if name in sent:
                document[name] = sent[name]
        if "status" not in sent:
            status = world.rules.policies.status_when_omitted()
            if status is not None:
                document["status"] = status
        if commit:
            body = world.store.put(document)
            delay = world.rules.policies.visibility()
            if delay:
                world.hides(self._number)  # forgets the others, lest they pile up where nobody lists
                world.hidden[pet_id] = self._number + 1 + delay
            self.entry.executed = True
        else:
            body = encode_flat(document)
        return _rendered(world, 201, body, world.rules.policies.location_header(pet_id))

    def _get(self) -> ApiResponse:
        """§4.3: the animal, with the signs of its operation's deprecation (§9)."""
        world, pet_id = self.world, self.route.pet_id
        chosen = world.rules.policies
        removed_at = self.operation.removed_at
        fields = chosen.deprecation_headers(removed_at)
        if removed_at is not None and world.now >= removed_at.timestamp():
            condition = chosen.after_removal()
            if condition is not None:
                return _refusal(world, self.entry, Refusal(condition), fields)
        body = world.store.get(pet_id)
        if body is not None and world.hidden and world.hidden.get(pet_id, 0) > self._number:
            body = None
        if body is None:
            return _refusal(world, self.entry, Refusal("absent_pet", detail=f"petId {pet_id}"), fields)
        self.entry.executed = True
        return _rendered(world, 200, body, fields)


# Rendering and dressing


def _rendered(world: World, status: int, canonical: bytes, fields: tuple[tuple[str, str], ...]) -> ApiResponse:
    chosen = world.rules.policies
    body = chosen.json_style(chosen.extra_response_fields(canonical))
    return _response(world, world.rules.head(status, fields), body)


def _response(world: World, head: Head, body: bytes) -> ApiResponse:
    rules = world.rules
    response = ApiResponse(head, body, world.clock.http_date(world.now))
    if rules.dresses_wire:
        response.chunked = rules.chunked
        response.close = rules.close
        response.lower_case = rules.lower_case
    return response


def _error(world: World, code: str, message: str, status: int, fields: tuple[tuple[str, str], ...]) -> ApiResponse:
    body = encode_json(error_document(world.rules.policies.error_codes(code, status), message, status))
    return _rendered(world, status, body, fields)


def _refusal(world: World, entry: Entry, refusal: Refusal, fields: tuple[tuple[str, str], ...] = ()) -> ApiResponse:
    """Refuse a request: the one place where a condition becomes an error answer (§7)."""
    condition = CONDITIONS[refusal.condition]
    entry.condition = condition
    entry.violations = refusal.violations[:MOST_VIOLATIONS]
    entry.omitted = len(refusal.violations) - len(entry.violations) + refusal.omitted
    entry.detail = refusal.detail
    parts = [str(one) for one in refusal.violations[:_SHOWN_VIOLATIONS]]
    more = len(refusal.violations) + refusal.omitted - len(parts)
    if more > 0:
        parts.append(f"and {more} more")
    if refusal.detail:
        parts.append(refusal.detail)
    message = f"{condition.message}: {'; '.join(parts)}" if parts else f"{condition.message}"
    return _error(world, condition.code, message, condition.status, (*_challenge(condition), *fields))


def _challenge(condition: Condition) -> tuple[tuple[str, str], ...]:
    """Return the header fields that HTTP demands with a status."""
    if condition.status == 401:
        realm = f'Bearer realm="{REALM}"'
        if condition.name == "missing_key":  # RFC 6750 §3.1: no error code when no credentials were sent
            return (("WWW-Authenticate", realm),)
        return (("WWW-Authenticate", f'{realm}, error="invalid_token", error_description="The API key is not valid"'),)
    if condition.status == 415:
        return (("Accept", "application/json"),)  # RFC 9110 §12.5.1
    return ()


def _fault_answer(world: World, fault: Fault, status: int) -> ApiResponse:
    """Answer with the status of a fault: its own body, or the interface's error body (§2)."""
    if fault.body is not None or status in _NO_CONTENT:
        head = Head(status, _overridden((SERVER,), fault.fields))
        return _response(world, head, b"" if status in _NO_CONTENT or fault.body is None else fault.body)
    name = _FAULT_CONDITIONS.get(status)
    if name is not None:
        condition = CONDITIONS[name]
        code, message, extra = condition.code, condition.message, _challenge(condition)
    else:
        phrase = reason_phrase(status) or "Error"
        code, message, extra = phrase.lower().replace(" ", "_").replace("-", "_"), phrase, ()
    response = _error(world, code, f"{message} (injected: {fault})", status, extra)
    if world.self_check and not fault.breaks_contract:
        check_error(world, response)
    if fault.fields:
        response.head = Head(status, _overridden(response.head.fields, fault.fields))
    return response


def _overridden(fields: tuple[tuple[str, str], ...], wins: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    names = {name.lower() for name, _ in wins}
    kept = tuple(field for field in fields if field[0].lower() not in names)
    return (*kept, *((name, value) for name, value in wins if value))


def _garbled(response: ApiResponse, fault: Fault, world: World) -> ApiResponse:
    """Garble an answer: its body, its type, or the way it goes out."""
    if fault.edit == "malformed_json":
        response.body = response.body[: max(1, len(response.body) // 2)] + b'"\\'
    elif fault.edit == "wrong_content_type":
        response.head = response.head.with_fields(("Content-Type", "text/html; charset=utf-8"))
    elif fault.delivery is not None:
        response.delivery = fault.delivery
        response.waits = world.waits
    return response


# For the adapters


def admits(world: World, request: ApiRequest, key: str | None, problem: str, length: int | None) -> bool:
    """Say from its head whether a request's body is worth reading; counts nothing (RFC 9110 §10.1.1)."""
    with world.lock:
        rules = world.rules
        route = rules.route(request.method, request.target)
        if route.operation is None or problem or key is None or key not in world.keys or world.keys[key].revoked:
            return False
        if route.invalid is not None:
            return False
        return route.operation.request_schema is None or judge_head(rules, request, length) is None


def answer_retired(world: World, request: ApiRequest) -> ApiResponse:
    """Answer 401 to a request of a finished world; the journal of ``world`` does not hear of it."""
    return refuse_leftover(world, "retired_key", "", request)


def refuse_leftover(world: World, condition: str, detail: str, request: ApiRequest) -> ApiResponse:
    """Refuse what began before the present test; the journal of ``world`` does not hear of it."""
    with world.lock:
        world.now = world.clock.now()
        return _refusal(world, Entry(0, None, request, world.now), Refusal(condition, detail=detail))


def refuse(world: World, condition: str, detail: str, request: ApiRequest) -> ApiResponse:
    """Answer what never became a whole request, with an error body and a journal entry."""
    with world.lock:
        if condition == "internal_error":  # an adapter failed: like any failure of ours, it fails the test
            world.errors.append(RuntimeError(detail))
        world.now = world.clock.now()
        entry = Entry(world.journal.total + 1, world.owner, request, world.now)
        response = _refusal(world, entry, Refusal(condition, detail=detail))
        entry.answered(response)
        entry.duration = perf_counter() - request.started
        response.entry = entry
        world.journal.add(entry)
        return response
