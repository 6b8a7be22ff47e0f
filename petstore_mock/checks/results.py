"""Checks of a call's outcome: the result or the exception must follow from the responses that the call received."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from petstore_mock.checks.check import RUNAWAY, Broken, check
from petstore_mock.checks.reading import SUCCESSES, Kind, as_sequence, copied, is_list, pet_of, raised, shortened
from petstore_mock.checks.requests import REDIRECTS, TELL_TO_WAIT, asks_for, came, is_lost, is_ping, same, seconds_told
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.real import perf_counter
from petstore_mock.common.values import counted, is_integer
from petstore_mock.interface.table import FIELDS, operations, sentence_about

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from petstore_mock.checks.check import Call, Observation, Outcome
    from petstore_mock.faults import Fault
    from petstore_mock.journal.exchange import Exchange

_LOST: Final[AbstractSet[Kind | None]] = {"transport", "protocol", "timeout"}
_RESULT: Final = 0  # the kind of an outcome without an exception
_LEAST_TIMEOUT: Final = 0.1  # seconds; on a busy computer, a call that took longer may fail with a timeout at any time
_LATE: Final = 0.2  # seconds that may pass between the clock readings of a client and of this check
_LONG: Final = 20  # characters of a text; for longer texts, a sentence shows where they begin to differ
_ERROR: Final = ("7", "an error response makes the call fail with its HTTP status")
_LIST: Final = operations("lists")[0]
_MOST: Final = "a limited number of" if _LIST.limit is None else f"at most {_LIST.limit.name!r}"
_LIST_IS_PART: Final = f"a list has {_MOST} animals; the interface shows neither pages nor an order"
_UNKNOWN: Final = "neither a status nor a lost response"
READ_IT: Final = "; raise the exception from the library's error, or pass classify= with a function that reads it"


@check(
    section="4",
    words="every call sends a request, since other clients may change the animals",
    needs=("outcome",),
)
def every_call_asks(seen: Observation) -> str | Broken | None:
    call, outcome = seen.call, seen.outcome
    if call is None or outcome is None or outcome.ended is not None:
        return None
    asked = {one.operation for one in seen.exchanges if not is_ping(one)}
    if seen.exchanges:
        fits = call.operation in asked or (asked and call.row.replacement) or outcome.error is not None
        return None if fits else f"{outcome} but sent only requests of other operations"
    if seen.flaw is not None and outcome.error is not None:  # a client sends nothing after a failed handshake
        return None
    sentence = f"sent no request and {outcome}"
    if outcome.error is None or isinstance(outcome.kind, int):
        return None if _is_told_to_wait(outcome.kind, seen.earlier) else sentence
    words = "the interface allows this call"
    if outcome.kind in _LOST:
        words += "; perhaps the client used a closed or busy connection, a proxy, or a wrong address"
    return None if _is_own_rule(call, outcome) else Broken(sentence, call.row.section, words)


def _is_told_to_wait(status: Kind | None, earlier: Sequence[Exchange]) -> bool:
    """Whether an earlier response with ``status`` told the client to wait, and the wait is not over."""
    latest = next((one for one in reversed(earlier) if one.status == status and status in TELL_TO_WAIT), None)
    if latest is None:
        return False
    longest = max(seconds_told(latest) or (0.0,))
    has_no_hint = status == 429 and "retry-after" not in latest.response_headers  # the client decides how long it waits
    return has_no_hint or (longest > 0 and longest + _LATE > perf_counter() - latest.request.started)


def _is_own_rule(call: Call, outcome: Outcome) -> bool:
    """Whether a client rejects an odd animal by its own rule. §2 shows no limits, so a client may have such rules."""
    error, is_own = outcome.error, type(outcome.error).__module__ != "builtins"
    is_refusal = is_own or (isinstance(error, ValueError) and not isinstance(error, UnicodeError))
    body = call.body or {}
    is_odd = any(value not in FIELDS[name].samples for name, value in body.items() if name in FIELDS)
    return is_odd and is_refusal and outcome.kind in {None, "argument"}


@check(
    section="",
    words="a client has a timeout, so a service that hangs can't hang the client",
    needs=("outcome",),
)
def call_ends(seen: Observation) -> str | Broken | None:
    outcome = seen.outcome
    if outcome is None or outcome.ended is None:
        return None
    if outcome.ended == "hung":
        where = " in the TLS handshake" if seen.flaw is not None else ""
        return f"waited{where} for more than {seen.patience:g} s for a response that never came"
    if outcome.ended == "ran away":
        return Broken(f"sent more than {RUNAWAY} requests and did not end", "", "a call ends after a few requests")
    words = "a failed call releases its locks and connections, and pauses no longer than longest_wait"
    if seen.meanwhile is not None:
        words = "each call waits for a lock that the other call holds: acquire locks in the same order everywhere"
    after = f" after {came(seen.exchanges[-1])}" if seen.exchanges else ""
    return Broken(f"neither ended nor sent a request for {outcome.seconds:.1f} s{after}", "", words)


class _Allowed(NamedTuple):
    """The outcomes that a response allows, and the reason."""

    kinds: AbstractSet[Kind | None]
    why: str
    section: str = _ERROR[0]
    words: str = _ERROR[1]


@check(section=_ERROR[0], words=_ERROR[1], needs=("outcome",))
def outcome_fits_response(seen: Observation) -> Broken | None:
    call, outcome = seen.call, seen.outcome
    if call is None or outcome is None or outcome.ended is not None:
        return None
    kind = _RESULT if outcome.error is None else outcome.kind
    choices = [(asked, _deciding(call, outcome, asked)) for asked in _choices(seen, call)]
    allowed = [_allowed(call, outcome, asked, last, seen) for asked, last in choices if not _is_broken(last)]
    if not allowed or any(kind in one.kinds for one in allowed):
        return None
    kinds, why, section, words = allowed[0]
    says = f", classified as {_UNKNOWN if kind is None else repr(kind)}, although {why}{READ_IT * _is_unread(outcome)}"
    return Broken(f"{outcome}{f' although {why}' if _RESULT in (kind, *kinds) else says}", section, words)


def _is_unread(outcome: Outcome) -> bool:
    """Whether only the client's author knows the error's meaning. Built-in exceptions are mistakes of the client."""
    return outcome.error is not None and outcome.kind is None and type(outcome.error).__module__ != "builtins"


def _choices(seen: Observation, call: Call) -> list[list[Exchange]]:
    """Return the lists of requests that may be those of the call.

    If other threads may have sent requests, each request that fits the call may be the call's only request.
    """
    asked = [one for one in seen.exchanges if not is_ping(one)]
    single = [[one] for one in asked if asks_for(call, one)] if seen.shared else []
    return [asked, *single] if asked else []


def _is_broken(exchange: Exchange) -> bool:
    """Whether a fault replaced the response with a success."""
    return exchange.fault is not None and exchange.fault.row.responds and exchange.fault.status in SUCCESSES


def _deciding(call: Call, outcome: Outcome, asked: Sequence[Exchange]) -> Exchange:
    """Return the request whose response decides the outcome of the call."""
    own = [one for one in asked if one.operation == call.operation]
    is_result = outcome.error is None
    given = [one for one in own if one.status in SUCCESSES and is_result and not is_lost(one)]
    # A thread of the client may have read the animal again, after the call received a broken response.
    given = [one for one in given if _is_broken(one)] or given
    # Otherwise, for a read or a failed list, the last request of any operation decides. Reads may fetch a list.
    is_own = call.row.commits or (call.row.shows_many and is_result)
    return given[-1] if given else own[-1] if own and is_own else asked[-1]


def _allowed(call: Call, outcome: Outcome, asked: Sequence[Exchange], last: Exchange, seen: Observation) -> _Allowed:
    found = _by_request(call, last, seen)
    # A client that gave up may report the failure of any of its requests. After a success, it may do so only if its
    # last request was of another operation.
    may_fail = found.kinds != {_RESULT} or last.operation != call.operation
    failures = {kind for one in asked for kind in _by_request(call, one, seen).kinds if kind != _RESULT and may_fail}
    timed_out = outcome.kind == "timeout" and outcome.seconds >= _LEAST_TIMEOUT
    return found._replace(kinds=found.kinds | failures | ({"timeout"} if timed_out else set()))


def _by_request(call: Call, exchange: Exchange, seen: Observation) -> _Allowed:
    """Return the outcomes that the response to one request allows."""
    fault, condition, row = exchange.fault, exchange.condition, call.row
    told = "" if fault is None else f" (fault {fault})"
    if fault is not None and fault.row.responds:
        found = _Allowed(_by_status(fault), f"the service returned {fault.status}{told}")
    elif fault is None and exchange.status is None:  # under way, or given up by the client
        return _Allowed(_LOST, "its response was lost")
    elif condition is not None:
        section, words = _ERROR if exchange.sentence is None else (exchange.section or "7", exchange.sentence.text)
        why = f"the service returned {condition.status}: {condition.message}{told}"
        found = _Allowed({condition.status}, why, section, words)
    elif exchange.operation == call.operation or row.commits or row.shows_many:
        why, words = f"the service returned {exchange.status}{told}", f"{row.success}: {row.response_words}"
        found = _Allowed({_RESULT}, why, row.section, words)
    elif row.identifier is None:  # the client looked in a list for an animal that its request does not name
        found = _Allowed({_RESULT, 404}, "the client requested a list", row.section, row.response_words)
    elif call.path_value in seen.pets:  # the client looked for the animal in a list
        lagging: set[Kind | None] = {404} if seen.lags else set()
        found = _Allowed({_RESULT} | lagging, "the service has the animal", _LIST.section, _LIST_IS_PART)
    else:
        found = _Allowed({404}, "the service has no such animal", *sentence_about("absent", call.operation))
    if fault is None or not is_lost(exchange):
        is_hard = exchange.delayed_by is not None or (fault is not None and (fault.takes_time or fault.row.readable))
        return found._replace(kinds=found.kinds | _LOST) if is_hard else found
    kinds = _LOST if fault.row.loses_response else _LOST | (found.kinds - {_RESULT})  # else: status arrived
    words = "after a lost response, a client does not know whether the operation was executed"
    return _Allowed(kinds, fault.row.sentence, row.section, words)


def _by_status(fault: Fault) -> AbstractSet[Kind | None]:
    """Return the outcomes that the response of a fault allows."""
    status, fields = fault.status or 0, dict(fault.fields)
    kinds: set[Kind | None] = {status}
    if status in REDIRECTS:
        # A client that follows a redirection may get 401 without its key, not reach the other service, or loop.
        location = fields.get("Location", "")
        kinds |= {401, "protocol"} if location else {"protocol"}
        kinds |= _LOST if location.startswith("http") else set()
    is_odd = status in TELL_TO_WAIT and not fields.get("Retry-After", "0").isdecimal()  # a library may reject the date
    return kinds | _LOST if status in SUCCESSES or is_odd else kinds


@check(
    section="4",
    words="a call returns a result only for the operation's success status with a valid body",
    needs=("outcome",),
)
def no_result_from_broken_response(seen: Observation) -> str | None:
    # A client may return other JSON from a response with the right status: the caller sees that it is no animal.
    call, outcome = seen.call, seen.outcome
    if call is None or outcome is None or outcome.error is not None:
        return None
    last = next((_deciding(call, outcome, asked) for asked in _choices(seen, call)), None)
    if last is None or last.operation != call.operation or not _is_broken(last):
        return None
    body = last.response_body.decode(errors="replace")
    shows_no_animal = call.row.response is None
    if last.status == call.row.success and (shows_no_animal or not _is_made_up(seen, outcome.value, body)):
        return None
    content = f"with {shortened(body)}" if body else "without a body"
    return f"{outcome} although the service returned {last.status} {content}"


def _is_made_up(seen: Observation, value: Any, body: str) -> bool:  # noqa: ANN401  # a client returns any object
    """Whether the response is not JSON, or the result has animals that the response does not contain."""
    try:
        document = json.loads(body)
    except ValueError:
        return True
    plain = copied(value, seen.read_pet)
    items = plain if is_list(plain) else [plain]
    if value is None or plain == document or items == as_sequence(document):
        return value is None and document is not None
    ids = [item.get("id") if is_object(item) else None for item in items]
    names_of_members = is_object(document) and items == list(document)
    return names_of_members or all(is_integer(one) and str(one) not in body for one in ids)


@check(section="2", words="a call returns the animals of its response", needs=("outcome",))
def result_is_the_response(seen: Observation) -> str | Broken | None:
    call, outcome = seen.call, seen.outcome
    if call is None or outcome is None or outcome.error is not None:
        return None
    decided = [_deciding(call, outcome, asked) for asked in _choices(seen, call)]
    if any(map(_is_broken, decided)):  # no_result_from_broken_response judges these
        return None
    wanted = [sent for last in decided if (sent := _sent(seen, call, last)) is not None]
    try:
        found = [_misread(seen, outcome.value, one) for one in wanted]
    except Exception as error:  # noqa: BLE001  # the client's object may raise anything
        words = "reading a result raises no error; if your results need another reader, pass a function as read_pet="
        section = call.row.section
        return Broken(f"{outcome}, which raised {raised(error)} when it was read", section, words)
    return None if None in found else next(iter(found), None)


def _sent(seen: Observation, call: Call, last: Exchange) -> Any:  # noqa: ANN401  # a JSON value
    """Return the animal or the list that the service sent; None if it is not known."""
    if last.operation != call.operation:
        return None if call.row.commits or call.row.shows_many else seen.pets.get(call.path_value)
    if last.status not in SUCCESSES or last.cut_response or not last.response_body:
        return None
    return None if last.fault is not None and not last.fault.row.readable else json.loads(last.response_body)


def _misread(seen: Observation, value: Any, wanted: Any) -> str | Broken | None:  # noqa: ANN401
    """Return how a result differs from the response. The client may change the order of a list."""
    if is_array(wanted) and not is_list(value):
        return f"returned {shortened(value)} instead of a sequence"
    items: Sequence[Any] = value if is_array(wanted) else [value]
    sent: Sequence[Any] = wanted if is_array(wanted) else [wanted]
    if len(items) != len(sent):
        return f"returned {counted(len(items), 'animal')} although the service sent {len(sent)}"
    by_id = {animal["id"]: animal for animal in sent}
    for item in items:
        pet = pet_of(item, seen.read_pet)
        if pet is None:
            return f"returned {shortened(item)} instead of an animal (if its fields have other names, pass read_pet=)"
        pet_id = pet.get("id")
        right = by_id.pop(pet_id, None) if is_integer(pet_id) else None
        if right is None:
            is_twice = is_integer(pet_id) and pet_id in [animal["id"] for animal in sent]
            why = "more than once" if is_twice else "which the service did not send"
            return f"returned an animal with id {shortened(pet_id)}, {why}"
        for name in FIELDS:
            if not same(pet.get(name), right.get(name)):
                return _difference(name, pet.get(name), right.get(name))
    return None


def _difference(name: str, found: Any, right: Any) -> Broken:  # noqa: ANN401
    where, sentence = "", FIELDS[name].sentence
    if isinstance(found, str) and isinstance(right, str) and len(right) > _LONG:
        at = next((at for at, pair in enumerate(zip(found, right, strict=False)) if pair[0] != pair[1]), len(right))
        found, right, where = found[at:], right[at:], f" from character {at} on"
    shown = (
        f"without {name}" if found is None else f"whose {name}{where} is {shortened(found)} ({type(found).__name__})"
    )
    sent = f"no {name}" if right is None else shortened(right)
    return Broken(f"returned an animal {shown}; the service sent {sent}", sentence.section, sentence.text)


@check(section="4", words="a client does not change a result that it returned", needs=("outcome",))
def results_stay(seen: Observation) -> str | None:
    changed = next((one for one in seen.earlier_results if copied(one.value, seen.read_pet) != one.copy), None)
    return None if changed is None else f"changed the result of {changed.call}"


@check(
    section="",
    words="a client can be closed after a failure, and before its first call",
    needs=("outcome",),
)
def close_succeeds(seen: Observation) -> str | None:
    fails = seen.call is None and seen.outcome is not None and seen.outcome.error is not None
    return f"{seen.outcome}" if fails else None
