"""Rules about the outcome of a call: its result, or its exception, follows from the responses that it received."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from petstore_mock.checks.check import Broken, check
from petstore_mock.checks.reading import SUCCESSES, Kind, as_sequence, copied, is_list, pet_of, raised, shortened
from petstore_mock.checks.requests import REDIRECTS, TELL_TO_WAIT, asks_for, came, is_ping, same, seconds_told
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.real import perf_counter
from petstore_mock.common.values import counted, is_integer
from petstore_mock.interface.table import FIELDS, SENTENCES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from petstore_mock.checks.check import Call, Observation, Outcome
    from petstore_mock.faults import Fault
    from petstore_mock.journal.exchange import Exchange

_LOST: Final[AbstractSet[Kind | None]] = {"transport", "protocol", "timeout"}
_RESULT: Final = 0  # stands among the kinds of exceptions for no exception
_LEAST_TIMEOUT: Final = 0.1  # seconds; on a busy machine, a client with a longer timeout may meet it with any response
_LATE: Final = 0.2  # seconds between a client's look at its clock and ours
_LONG: Final = 20  # characters from which on a sentence shows the first difference of texts
_ERROR_WORDS: Final = "a response that is no success is an Error, and its HTTP status says which"
_UNKNOWN: Final = "neither a status nor what went wrong"
READ_IT: Final = " (raise it from the library's error, or pass classify= with a function that reads it)"


@check(section="4", words="every call asks the service: what others changed shows in the response", needs=("outcome",))
def every_call_asks(seen: Observation) -> str | Broken | None:
    call, outcome = seen.call, seen.outcome
    if call is None or outcome is None or outcome.ended is not None:
        return None
    asked = {one.operation for one in seen.exchanges if not is_ping(one)}
    if seen.exchanges:
        fits = call.operation in asked or (asked and call.row.replacement) or outcome.error is not None
        return None if fits else f"{outcome} without sending its own request"
    if seen.flaw is not None and outcome.error is not None:  # nothing is sent over a connection with a flaw
        return None
    sentence = f"sent no request and {outcome}"
    if outcome.error is None or isinstance(outcome.kind, int):
        return None if _is_told_to_wait(outcome.kind, seen.earlier) else sentence
    words = "the client refuses the call, fails at it, or uses a connection on which a response is still due"
    return None if _is_own_rule(call, outcome) else Broken(sentence, call.row.section, words)


def _is_told_to_wait(status: Kind | None, earlier: Sequence[Exchange]) -> bool:
    """Whether the service responded with ``status`` before, and the wait that it asked for goes on."""
    latest = next((one for one in reversed(earlier) if one.status == status and status in TELL_TO_WAIT), None)
    if latest is None:
        return False
    longest = max(seconds_told(latest) or (0.0,))
    has_no_hint = status == 429 and "retry-after" not in latest.response_headers  # the client decides for how long
    return has_no_hint or (longest > 0 and longest + _LATE > perf_counter() - latest.request.started)


def _is_own_rule(call: Call, outcome: Outcome) -> bool:
    """Whether a client refuses an odd animal by a rule of its own, as it may: §2 shows no limits."""
    error, is_own = outcome.error, type(outcome.error).__module__ != "builtins"
    is_refusal = is_own or (isinstance(error, ValueError) and not isinstance(error, UnicodeError))
    body = call.body or {}
    is_odd = any(value not in FIELDS[name].samples for name, value in body.items() if name in FIELDS)
    return is_odd and is_refusal and outcome.kind in {None, "argument"}


@check(section="", words="a service that hangs does not hang its clients", needs=("outcome",))
def call_ends(seen: Observation) -> str | Broken | None:
    outcome = seen.outcome
    if outcome is None or outcome.ended is None:
        return None
    if outcome.ended == "hung":
        where = " in the TLS handshake" if seen.flaw is not None else ""
        return f"waited{where} for more than {seen.patience:g} s for a response that never came"
    words = "a failed call gives back its locks and connections, and no pause is longer than longest_wait or seconds"
    if seen.meanwhile is not None:
        words = "each waits for a lock of the other: take locks in the same order everywhere"
    after = f" after {came(seen.exchanges[-1])}" if seen.exchanges else ""
    return Broken(f"neither ended nor sent a request for {outcome.seconds:.1f} s{after}", "", words)


class _Allowed(NamedTuple):
    """The outcomes that a response allows, and why."""

    kinds: AbstractSet[Kind | None]
    why: str
    section: str = "7"
    words: str = _ERROR_WORDS


@check(section="7", words=_ERROR_WORDS, needs=("outcome",))
def outcome_fits_response(seen: Observation) -> Broken | None:
    call, outcome = seen.call, seen.outcome
    if call is None or outcome is None or outcome.ended is not None:
        return None
    kind = _RESULT if outcome.error is None else outcome.kind
    allowed = [_allowed(call, outcome, asked, seen) for asked in _choices(seen, call) if not _is_broken(asked[-1])]
    if not allowed or any(kind in one.kinds for one in allowed):
        return None
    kinds, why, section, words = allowed[0]
    says = f", which says {_UNKNOWN if kind is None else repr(kind)}{READ_IT * _is_unread(outcome)}, when {why}"
    return Broken(f"{outcome}{f' although {why}' if _RESULT in (kind, *kinds) else says}", section, words)


def _is_unread(outcome: Outcome) -> bool:
    """Whether only its author knows the exception's meaning. A KeyError is a mistake of the client."""
    return outcome.error is not None and outcome.kind is None and type(outcome.error).__module__ != "builtins"


def _choices(seen: Observation, call: Call) -> list[list[Exchange]]:
    """Return the requests of a call; where threads may have sent some, also each that asks for the same, alone."""
    asked = [one for one in seen.exchanges if not is_ping(one)]
    single = [[one] for one in asked if asks_for(call, one)] if seen.shared else []
    return [asked, *single] if asked else []


def _is_broken(exchange: Exchange) -> bool:
    """Whether a fault responded with a success in place of the operation."""
    return exchange.fault is not None and exchange.fault.row.responds and exchange.fault.status in SUCCESSES


def _allowed(call: Call, outcome: Outcome, asked: Sequence[Exchange], seen: Observation) -> _Allowed:
    own = [one for one in asked if one.operation == call.operation]
    # Only a request that creates says whether an animal was created, and only a list says what it holds.
    is_told_by_own = call.row.effect == "creates" or (call.row.effect == "lists" and outcome.error is None)
    told = own if own and is_told_by_own else asked
    found = _by_request(call, told[-1], seen)
    # A client that gave up may tell of any failure; after a success there is none, unless it looked elsewhere.
    may_fail = found.kinds != {_RESULT} or told[-1].operation != call.operation
    failures = {kind for one in asked for kind in _by_request(call, one, seen).kinds if kind != _RESULT and may_fail}
    timed_out = outcome.kind == "timeout" and outcome.seconds >= _LEAST_TIMEOUT
    return found._replace(kinds=found.kinds | failures | ({"timeout"} if timed_out else set()))


def _by_request(call: Call, exchange: Exchange, seen: Observation) -> _Allowed:
    """Return the outcomes that the response to one request allows."""
    fault, condition, row = exchange.fault, exchange.condition, call.row
    told = "" if fault is None else f" (fault {fault})"
    if fault is not None and fault.row.responds:
        found = _Allowed(_by_status(fault), f"the service responded {fault.status}{told}")
    elif fault is None and exchange.status is None:  # under way, or given up by the client
        return _Allowed(_LOST, "its response was lost")
    elif condition is not None:
        words = _ERROR_WORDS if exchange.sentence is None else exchange.sentence.text
        why = f"the service responded {condition.status}: {condition.message}{told}"
        found = _Allowed({condition.status}, why, exchange.section or "7", words)
    elif exchange.operation == call.operation or row.effect != "reads":
        why, words = f"the service responded {exchange.status}{told}", f"{row.success}: {row.response_words}"
        found = _Allowed({_RESULT}, why, row.section, words)
    elif call.path_value in seen.pets:  # it looked for the animal in a list
        words = "a list holds as many animals as limit says: no paging and no order are shown"
        found = _Allowed({_RESULT, 404} if seen.lags else {_RESULT}, "the service has the animal", "4.1", words)
    else:
        found = _Allowed({404}, "there is no such animal", words=SENTENCES["absent"].text)
    if fault is None or fault.row.responds or fault.row.readable:
        is_hard = exchange.delayed_by is not None or (fault is not None and (fault.takes_time or fault.row.readable))
        return found._replace(kinds=found.kinds | _LOST) if is_hard else found
    kinds = _LOST if fault.row.loses_response else _LOST | (found.kinds - {_RESULT})  # its status has arrived
    words = "a client tells a lost response from a given one: it does not know whether the operation was executed"
    return _Allowed(kinds, fault.row.sentence, row.section, words)


def _by_status(fault: Fault) -> AbstractSet[Kind | None]:
    """Return what a response in place of the operation's allows."""
    status, fields = fault.status or 0, dict(fault.fields)
    kinds: set[Kind | None] = {status}
    if status in REDIRECTS:
        # A client that follows without the key is refused; another service is no pet store; a circle ends.
        location = fields.get("Location", "")
        kinds |= {401, "protocol"} if location else {"protocol"}
        kinds |= _LOST if location.startswith("http") else set()
    is_odd = status in TELL_TO_WAIT and not fields.get("Retry-After", "0").isdecimal()  # a library may refuse the date
    return kinds | _LOST if status in SUCCESSES or is_odd else kinds


@check(section="4", words="only a success of the operation, with its body, is a result", needs=("outcome",))
def no_result_from_broken_response(seen: Observation) -> str | None:
    # A client may hand on JSON that came with the right status: its caller sees that these are no animals.
    call, outcome = seen.call, seen.outcome
    if call is None or outcome is None or outcome.error is not None:
        return None
    last = next((asked[-1] for asked in _choices(seen, call)), None)
    if last is None or last.operation != call.operation or not _is_broken(last):
        return None
    body = last.response_body.decode(errors="replace")
    if last.status == call.row.success and not _is_made_up(seen, outcome.value, body):
        return None
    content = f"with {shortened(body)}" if body else "without a body"
    return f"{outcome} although the service responded {last.status} {content}"


def _is_made_up(seen: Observation, value: Any, body: str) -> bool:  # noqa: ANN401  # a client returns any object
    """Whether a response is no JSON, or its caller takes the result for animals that are nowhere in it."""
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


@check(section="2", words="the result of a call is what the service sent in the response to it", needs=("outcome",))
def result_is_the_response(seen: Observation) -> str | Broken | None:
    call, outcome = seen.call, seen.outcome
    if call is None or outcome is None or outcome.error is not None:
        return None
    wanted = [sent for asked in _choices(seen, call) if (sent := _sent(seen, call, asked)) is not None]
    try:
        found = [_misread(seen, outcome.value, one) for one in wanted]
    except Exception as error:  # noqa: BLE001  # an object of the client's own raises
        words = "a caller that reads a result has no failure to expect of it (unless read_pet= reads it wrong)"
        return Broken(f"{outcome}, which raised {raised(error)} when it was read", call.row.section, words)
    return None if None in found else next(iter(found), None)


def _sent(seen: Observation, call: Call, asked: Sequence[Exchange]) -> Any:  # noqa: ANN401  # a JSON value
    """Return the animal or the list that the service sent; None if the requests do not tell."""
    own = [one for one in asked if one.operation == call.operation]
    if call.row.effect == "reads" and asked[-1] not in own:
        return seen.pets.get(call.path_value)
    last = own[-1] if own else None
    if last is None or last.status not in SUCCESSES or last.cut_response or not last.response_body or _is_broken(last):
        return None
    return None if last.fault is not None and not last.fault.row.readable else json.loads(last.response_body)


def _misread(seen: Observation, value: Any, wanted: Any) -> str | Broken | None:  # noqa: ANN401
    """Return how a result differs from what the service sent; the order of a list is the client's affair."""
    if is_array(wanted) and not is_list(value):
        return f"returned {shortened(value)} instead of a sequence"
    items: Sequence[Any] = value if is_array(wanted) else [value]
    sent: Sequence[Any] = wanted if is_array(wanted) else [wanted]
    if len(items) != len(sent):
        return f"returned {counted(len(items), 'animal')}, and the service sent {len(sent)}"
    by_id = {animal["id"]: animal for animal in sent}
    for item in items:
        pet = pet_of(item, seen.read_pet)
        if pet is None:
            return f"returned {shortened(item)} instead of an animal (pass read_pet= for other names of fields)"
        pet_id = pet.get("id")
        right = by_id.pop(pet_id, None) if is_integer(pet_id) else None
        if right is None:
            return f"returned an animal with the id {shortened(pet_id)}, which the service did not send, or sent once"
        for name in FIELDS:
            if not same(pet.get(name), right.get(name)):
                return _difference(name, pet.get(name), right.get(name))
    return None


def _difference(name: str, found: Any, right: Any) -> Broken:  # noqa: ANN401
    where, sentence = "", FIELDS[name].sentence
    if isinstance(found, str) and isinstance(right, str) and len(right) > _LONG:
        at = next((at for at, pair in enumerate(zip(found, right, strict=False)) if pair[0] != pair[1]), len(right))
        found, right, where = found[at:], right[at:], f" from character {at} on"
    words = f"is {shortened(found)} ({type(found).__name__}){where}; the service sent {shortened(right)}"
    return Broken(f"returned an animal whose {name} {words}", sentence.section, sentence.text)


@check(section="4", words="the result of a call belongs to its caller", needs=("outcome",))
def results_stay(seen: Observation) -> str | None:
    changed = next((one for one in seen.earlier_results if copied(one.value, seen.read_pet) != one.copy), None)
    return None if changed is None else f"changed the result of {changed.call}"


@check(section="", words="closing a client that failed, or was never used, is no error", needs=("outcome",))
def close_succeeds(seen: Observation) -> str | None:
    fails = seen.call is None and seen.outcome is not None and seen.outcome.error is not None
    return f"{seen.outcome}" if fails else None
