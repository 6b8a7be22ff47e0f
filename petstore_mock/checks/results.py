"""Checks of a call's outcome: the result or the exception must follow from the responses that the call received.

How this works: a call may send several requests. :func:`_choices` returns the lists of requests that may be those of
the call, and :func:`_deciding` the request of such a list whose response decides. :func:`_allowed` returns the outcomes
that this response allows: a result, a status, or a lost response. A check compares these with the outcome of the call.
"""

from __future__ import annotations

import json
from contextlib import suppress
from copy import copy
from itertools import filterfalse, pairwise
from operator import eq
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from werkzeug.http import parse_accept_header

from petstore_mock import faults as kinds
from petstore_mock.checks.check import RUNAWAY, Mistake, Source, check
from petstore_mock.checks.reading import (
    SUCCESSES,
    Kind,
    as_sequence,
    copied,
    is_list,
    is_own,
    own_place,
    pet_of,
    raised,
    shortened,
    type_name,
)
from petstore_mock.checks.requests import (
    ERROR,
    REDIRECTS,
    TELL_TO_WAIT,
    asks_for,
    came,
    commits,
    is_fine,
    is_lost,
    is_ping,
    may_pass,
    same,
    seconds_told,
    source_of,
    was_moved,
)
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.real import perf_counter
from petstore_mock.common.values import counted, is_integer
from petstore_mock.interface.schemas import schema
from petstore_mock.interface.table import FIELDS, MEMBERS, operations, sentence_about

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from petstore_mock.checks.check import Call, Exchanges, Observation, Outcome
    from petstore_mock.checks.reading import Fields
    from petstore_mock.common.values import JsonObject
    from petstore_mock.faults import Fault
    from petstore_mock.journal.exchange import Exchange

    Kinds = AbstractSet[Kind | None]
    Uses = Mapping[str, Callable[[Any], object]]

_LOST: Final[Kinds] = {"transport", "protocol", "timeout"}
# The kind of an outcome without an exception.
_RESULT: Final = 0
# Seconds. On a busy computer, a call that took longer may fail with a timeout at any time.
_LEAST_TIMEOUT: Final = 0.1
# Seconds that may pass between the clock readings of a client and of this check.
_LATE: Final = 0.2
# Seconds without another task, after which a call holds its event loop.
_HELD: Final = 0.27
# Characters of a text. For longer texts, a sentence shows where they begin to differ.
_LONG: Final = 20
# Failures in a row after which a circuit breaker may open.
_BREAKS: Final = 3
_LIST: Final = operations("lists")[0]
_MOST: Final = "a limited number of" if _LIST.limit is None else f"at most {_LIST.limit.name!r}"
_LIST_IS_PART: Final = f"a list has {_MOST} animals; the interface shows neither pages nor an order"
_INTERIM: Final = kinds.interim(100).kind
_UNKNOWN_CHARSET: Final = "x-unknown"
_READ_IT: Final = "raise the exception from the library's error, or pass classify= with a function that reads it"
_TELLING_FIELDS: Final = (
    "Retry-After",
    "Location",
    "WWW-Authenticate",
    "Content-Type",
    "Set-Cookie",
    "X-RateLimit-Remaining",
    "Link",
)
HELD: Final = "event loop held"
UNREAD: Final = "unknown exception"
"""The rule of a finding that is a bug, or an exception that ``classify`` must read."""


@check(
    section="4",
    words="every call sends a request, since other clients may change the animals",
    needs=("outcome",),
    rules={
        "no request": "sent no request and {outcome}",
        "other operations only": "{outcome} but sent only requests of other operations",
    },
)
def every_call_asks(seen: Observation) -> Mistake | None:
    if seen.done is None:
        return None
    call, outcome = seen.done
    if seen.exchanges:
        fits = _asks_enough(call, outcome, seen.exchanges)
        return None if fits else Mistake("other operations only", outcome=str(outcome))
    # A closed client sends nothing, nor does one after a failed handshake.
    may_fail = seen.closed or seen.flaw is not None
    if was_moved(seen) or (may_fail and outcome.error is not None):
        return None
    return _not_asked(seen, call, outcome)


def _not_asked(seen: Observation, call: Call, outcome: Outcome) -> Mistake | None:
    """Return the mistake of a call without a request, unless the client may refuse the call."""
    source: Source | None = None
    if outcome.error is None or isinstance(outcome.kind, int):
        is_right = _is_told_to_wait(outcome.kind, seen.earlier)
    else:
        is_right = _is_own_rule(seen, call, outcome)
        words = "the interface allows this call"
        if outcome.kind in _LOST:
            words += "; perhaps the client used a closed or busy connection, a proxy, or a wrong address"
        if outcome.kind == "timeout":
            words += "; or its timeout began before the call"
        source = Source(call.row.section, words)
    if is_right and not seen.is_same_error:
        return None
    place = "" if outcome.error is None else own_place(outcome.error.__traceback__)
    return Mistake("no request", source, outcome=str(outcome), cause=place)


def _asks_enough(call: Call, outcome: Outcome, exchanges: Exchanges) -> bool:
    """Whether a call sent a request of its operation, or of the operation that replaces it, or failed."""
    asked = [*filterfalse(is_ping, exchanges)]
    if outcome.error is not None:
        return True
    if asked and call.row.replacement:
        return True
    return call.operation in [exchange.operation for exchange in asked]


def _is_told_to_wait(status: Kind | None, earlier: Exchanges) -> bool:
    """Whether an earlier response with ``status`` told the client to wait, and the wait is not over."""
    told = [exchange for exchange in earlier if exchange.status == status]
    if not told:
        return False
    latest = told[-1]
    if status == 429 and "retry-after" not in latest.response_headers:
        # The client decides how long it waits.
        return True
    longest = max(seconds_told(latest) or (0.0,))
    passed: float = perf_counter() - latest.request.started
    return longest > max(0.0, passed - _LATE)


def _is_own_rule(seen: Observation, call: Call, outcome: Outcome) -> bool:
    """Whether a client rejects an odd animal, or sends nothing after several failures, by its own rule.

    §2 shows no limits, so a client may have such rules. A circuit breaker opens after failures in a row.
    """
    if outcome.kind not in {None, "argument"}:
        return False
    error = outcome.error
    is_value_error = isinstance(error, ValueError) and not isinstance(error, UnicodeError)
    is_refusal = is_value_error or type(error).__module__ != "builtins"
    body = call.body or {}
    is_odd = any(value not in MEMBERS[name].samples for name, value in body.items() if name in MEMBERS)
    is_open = sum(map(may_pass, seen.earlier[-_BREAKS:])) == _BREAKS
    is_breaker = is_open and is_own(type(error).__module__)
    return is_breaker or (is_odd and is_refusal)


def _cause(outcome: Outcome) -> str:
    """Return the line of the client that raised an exception, and how the response was lost."""
    if outcome.error is None:
        return ""
    # A line may raise errors of several classes, for example of a library that can't read a response.
    kind = outcome.kind if outcome.kind in _LOST else ""
    return f"{kind} {own_place(outcome.error.__traceback__)}".strip()


# The rule that a call breaks if it goes on, and why it should end.
_GOES_ON: Final = {
    "ran away": ("endless requests", "a call ends after a few requests"),
    "computed": ("endless loop", "a call ends when its connection or its response ends"),
    "paused": ("long pause", "a client pauses no longer than longest_wait says"),
    "stood still": ("endless wait", ""),  # the call itself shows why
}


@check(
    section="",
    words="a client has a timeout, so a service that hangs can't hang the client",
    needs=("outcome",),
    rules={
        "no timeout": "waited{where} for more than {patience:g} s for a response that never came",
        "endless requests": "sent more than {most} requests and did not end",
        "endless loop": "computed for {seconds:.1f} s{after} and did not end",
        "endless wait": "neither ended nor sent a request for {seconds:.1f} s{after}",
        "long pause": "paused for more than {longest:g} s{after}",
    },
)
def call_ends(seen: Observation) -> Mistake | None:
    outcome = seen.ending
    if outcome.ended is None or outcome.ended in {"left", "stopped"}:
        return None
    if outcome.ended == "hung":
        where = " in the TLS handshake" if seen.flaw is not None else ""
        return Mistake("no timeout", where=where, patience=seen.patience)
    rule, words = _GOES_ON[outcome.ended]
    source = Source("", words or _should_end(seen))
    after = f" after {came(seen.exchanges[-1])}" if seen.exchanges else ""
    return Mistake(rule, source, seconds=outcome.seconds, after=after, most=RUNAWAY, longest=seen.longest_wait)


def _should_end(seen: Observation) -> str:
    """Return why a call that stands still should end."""
    if seen.meanwhile is not None:
        return "each call waits for a lock that the other call holds: acquire locks in the same order everywhere"
    if seen.exchanges and is_fine(seen.exchanges[-1]):
        return "a call ends after its response, however long that is"
    return "a call releases its locks and connections, also if it fails"


@check(
    section="",
    words="a client that is asynchronous lets other tasks run while it waits",
    needs=("outcome",),
    rules={HELD: "held its event loop for {seconds:.1f} s"},
)
def event_loop_is_free(seen: Observation) -> Mistake | None:
    held = seen.ending.held
    return Mistake(HELD, seconds=held) if held >= _HELD else None


class _Allowed(NamedTuple):
    """The outcomes that a response allows, and the reason."""

    kinds: Kinds
    why: str
    source: Source = ERROR


@check(
    section=ERROR.section,
    words=ERROR.words,
    needs=("outcome",),
    rules={
        "followed as a read": "{outcome} although {request} received {status}, and the client followed it with {read}",
        "wrong outcome": "{outcome} although {why}",
        "wrong meaning": "{outcome}, classified as {kind!r}, although {why}",
        UNREAD: "{outcome}, classified as neither a status nor a lost response, although {why}; {advice}",
        "program error": "{outcome} although {why}",
        "interim response not skipped": "{outcome} although {why}",
    },
)
def outcome_fits_response(seen: Observation) -> Mistake | None:
    if seen.done is None:
        return None
    call, outcome = seen.done
    kind = _RESULT if outcome.error is None else outcome.kind
    first: Mistake | None = None
    for asked in _choices(seen, call):
        last = _deciding(call, outcome, asked)
        if _is_broken(last):
            continue
        allowed = _allowed(call, outcome, asked, last, seen)
        if kind in allowed.kinds:
            return None
        first = first or _stopped_at_interim(outcome, last, allowed) or _misfit(outcome, kind, allowed)
    followed = None if first is None else _followed_as_read(seen, outcome)
    return followed or first


def _stopped_at_interim(outcome: Outcome, last: Exchange, allowed: _Allowed) -> Mistake | None:
    """Return the mistake of a client that did not read past an interim response. Most of them can't help it."""
    fault = last.fault
    if outcome.error is None or fault is None or fault.kind != _INTERIM:
        return None
    cause = _cause(outcome)
    # Without a line of the client, other lost responses may have another cause.
    symptom = "" if cause in _LOST else cause
    source = Source("RFC 9110 §15.2", "a client reads past interim responses, even if it does not expect one")
    return Mistake("interim response not skipped", source, symptom, outcome=str(outcome), why=allowed.why)


def _followed_as_read(seen: Observation, outcome: Outcome) -> Mistake | None:
    """Return the mistake of a create whose redirection the client followed with a GET (RFC 9110 §15.4)."""
    for redirected, exchange in pairwise(seen.exchanges):
        is_redirected = commits(redirected) and redirected.status in REDIRECTS
        if is_redirected and exchange.method == "GET":
            lines = {"request": redirected.request_line, "read": exchange.request_line}
            source = Source("RFC 9110 §15.4", "a redirection that becomes a GET does not create anything")
            cause = "redirection"
            return Mistake(
                "followed as a read", source, outcome=str(outcome), status=redirected.status, cause=cause, **lines
            )
    return None


def _misfit(outcome: Outcome, kind: Kind | None, allowed: _Allowed) -> Mistake:
    data: JsonObject = {"outcome": str(outcome), "why": allowed.why}
    may_be_lost = not _LOST.isdisjoint(allowed.kinds)
    if kind == _RESULT:
        return Mistake("wrong outcome", allowed.source, _symptom(outcome, lost=allowed.kinds <= _LOST), **data)
    cause = data["cause"] = _cause(outcome)
    # Exceptions of Python itself are mistakes of the client.
    room = type(outcome.error).__module__.partition(".")[0]
    if kind is None and room in {"builtins", "asyncio", "concurrent"}:
        return Mistake("program error", _own_source(outcome) or allowed.source, cause, **data)
    is_unknown_loss = kind is None and may_be_lost
    if _RESULT in allowed.kinds and not is_unknown_loss:
        return Mistake("wrong outcome", allowed.source, cause, **data)
    if kind is None:
        return Mistake(UNREAD, allowed.source, **data, advice=_READ_IT)
    return Mistake("wrong meaning", allowed.source, **data, kind=kind)


def _symptom(outcome: Outcome, *, lost: bool = False) -> str:
    """Return the symptom of a wrong result. A client that returns None for each status has one bug, not many."""
    return f"returned {type_name(outcome.value)} (lost: {lost})"


def _own_source(outcome: Outcome) -> Source | None:
    """Return the rule about a cancellation, or the place that makes a field optional whose absence made a call fail."""
    error = outcome.error
    # asyncio and concurrent.futures have one each.
    if type(error).__name__ == "CancelledError":
        return Source("", "a call is cancelled by its caller only: a timeout raises an error of its own")
    name: object = None
    if isinstance(error, KeyError) and error.args:
        name = error.args[0]
    elif isinstance(error, AttributeError):
        name = error.name
    field = FIELDS.get(name) if isinstance(name, str) else None
    if field is None or name in schema("Pet")["required"]:
        return None
    return Source(field.sentence.section, f"{name} is not required")


def _choices(seen: Observation, call: Call) -> list[list[Exchange]]:
    """Return the lists of requests that may be those of the call.

    If other threads may have sent requests, each request that fits the call may be the call's only request.
    """
    asked = [*filterfalse(is_ping, seen.exchanges)]
    if not asked:
        return []
    choices = [asked]
    if seen.shared:
        choices += [[exchange] for exchange in asked if asks_for(call, exchange)]
    return choices


def _is_broken(exchange: Exchange) -> bool:
    """Whether a fault replaced the response with a success."""
    fault = exchange.fault
    if fault is None or not fault.row.responds:
        return False
    return fault.status in SUCCESSES


def _deciding(call: Call, outcome: Outcome, asked: Exchanges) -> Exchange:
    """Return the request whose response decides the outcome of the call."""
    own = [exchange for exchange in asked if exchange.operation == call.operation]
    is_own = call.row.commits
    if outcome.error is None:
        answered = _answered(own)
        if answered:
            return answered[-1]
        is_own = is_own or call.row.shows_many
    # For a read or a failed list, the last request of any operation decides. Reads may fetch a list.
    deciding = own if is_own else asked
    return (deciding or asked)[-1]


def _answered(own: Exchanges) -> Exchanges:
    """Return the requests that received a success, but only the broken ones if there are any.

    A thread of the client may have read the animal again, after the call received a broken response.
    """
    succeeded = [exchange for exchange in own if exchange.status in SUCCESSES]
    answered = [exchange for exchange in succeeded if not is_lost(exchange)]
    return list(filter(_is_broken, answered)) or answered


def _allowed(call: Call, outcome: Outcome, asked: Exchanges, last: Exchange, seen: Observation) -> _Allowed:
    decided = _by_request(call, last, seen)
    kinds = set(decided.kinds)
    # A client that gave up may report the failure of any of its requests. After a success, it may do so only if its
    # last request was of another operation.
    if decided.kinds != {_RESULT} or last.operation != call.operation:
        for exchange in asked:
            kinds |= _by_request(call, exchange, seen).kinds - {_RESULT}
    if outcome.kind == "timeout" and outcome.seconds >= _LEAST_TIMEOUT:
        kinds.add("timeout")
    return decided._replace(kinds=kinds)


def _by_request(call: Call, exchange: Exchange, seen: Observation) -> _Allowed:
    """Return the outcomes that the response to one request allows."""
    fault = exchange.fault
    expected = _by_response(call, exchange, seen)
    if fault is not None and is_lost(exchange):
        return _after_loss(call, fault, expected)
    may_fail = fault is not None and (fault.takes_time or _is_excuse(fault, exchange))
    is_late = may_fail or exchange.delayed_by is not None
    return expected._replace(kinds=expected.kinds | _LOST) if is_late else expected


def _is_excuse(fault: Fault, exchange: Exchange) -> bool:
    """Whether a client may fail to read a response with a fault. It reads a content coding that it asked for."""
    coding = str(fault.arguments.get("coding"))
    asked = parse_accept_header(exchange.headers.get("accept-encoding", "").lower())
    # A weight of 0 means "not acceptable" (RFC 9110 §12.4.2).
    is_asked_for = coding in [*asked.values()] and asked.quality(coding) > 0
    return fault.row.excuses and not is_asked_for


def _after_loss(call: Call, fault: Fault, expected: _Allowed) -> _Allowed:
    """Return the outcomes that a lost response allows. With some faults, the status arrives."""
    kinds = _LOST if fault.row.loses_response else _LOST | (expected.kinds - {_RESULT})
    words = "after a lost response, a client does not know whether the operation was executed"
    return _Allowed(kinds, fault.row.sentence, Source(call.row.section, words))


def _by_response(call: Call, exchange: Exchange, seen: Observation) -> _Allowed:
    """Return the outcomes that a response allows if it arrives whole."""
    fault = exchange.fault
    condition = exchange.condition
    row = call.row
    told = "" if fault is None else f" (fault {_shown(fault, exchange)})"
    if fault is not None and fault.row.responds:
        return _Allowed(_by_status(fault), f"the service returned {fault.status}{told}")
    if fault is None and exchange.status is None:
        # The request is under way, or the client gave up.
        return _Allowed(_LOST, "its response was lost")
    if condition is not None:
        why = f"the service returned {condition.status}: {condition.message}{told}"
        return _Allowed({condition.status}, why, source_of(exchange))
    is_own = exchange.operation == call.operation or row.commits
    if is_own or row.shows_many:
        why = f"the service returned {exchange.status}{told}"
        words = f"{row.success}: {row.response_words}"
        return _Allowed({_RESULT}, why, Source(row.section, words))
    return _looked_for(call, seen)


def _shown(fault: Fault, exchange: Exchange) -> str:
    """Return a fault in words, with what may be the reason of a bug: header fields, or a coding."""
    if fault.row.excuses and not _is_excuse(fault, exchange):
        return f"{fault}, which the request asked for by its Accept-Encoding"
    fields = [f"{name}: {value}" for name, value in fault.fields if name in _TELLING_FIELDS]
    return ", ".join(fields) or str(fault)


def _looked_for(call: Call, seen: Observation) -> _Allowed:
    """Return the outcomes of a client that looked for an animal in a list."""
    if call.row.identifier is None:
        # The request does not name the animal.
        source = Source(call.row.section, call.row.response_words)
        return _Allowed({_RESULT, 404}, "the client requested a list", source)
    if call.path_value not in seen.pets:
        return _Allowed({404}, "the service has no such animal", Source(*sentence_about("absent", call.operation)))
    kinds: Kinds = {_RESULT, 404} if seen.lags else {_RESULT}
    return _Allowed(kinds, "the service has the animal", Source(_LIST.section, _LIST_IS_PART))


def _by_status(fault: Fault) -> Kinds:
    """Return the outcomes that the response of a fault allows."""
    status = fault.status or 0
    fields = dict(fault.fields)
    kinds: set[Kind | None] = {status}
    if status in REDIRECTS:
        # A client that follows a redirection may get 401 without its key, not reach the other service, or loop.
        kinds.add("protocol")
        location = fields.get("Location", "")
        if location:
            kinds.add(401)
        if location.startswith(("http", "//")):
            kinds |= _LOST
    # A library may fail to decode a body with a content coding or an unknown charset.
    is_hard_to_decode = "Content-Encoding" in fields or _UNKNOWN_CHARSET in fields.get("Content-Type", "")
    # A library may reject a Retry-After that is no number of seconds.
    is_odd_hint = status in TELL_TO_WAIT and not fields.get("Retry-After", "0").isdecimal()
    if status in SUCCESSES or is_hard_to_decode or is_odd_hint:
        return kinds | _LOST
    return kinds


@check(
    section="4",
    words="a call returns a result only for the operation's success status with a valid body",
    needs=("outcome",),
    rules={
        "broken body accepted": "{outcome} although the service returned {status} {content}",
        **dict.fromkeys(
            [f"{status} is no success" for status in SUCCESSES],
            "{outcome} although the service returned {status} {content}",
        ),
    },
)
def no_result_from_broken_response(seen: Observation) -> Mistake | None:
    # A client may return other JSON from a response with the right status: the caller sees that it is no animal.
    if seen.done is None:
        return None
    call, outcome = seen.done
    if outcome.error is not None:
        return None
    choices = _choices(seen, call)
    last = _deciding(call, outcome, choices[0]) if choices else None
    if last is None or last.operation != call.operation or not _is_broken(last):
        return None
    body = last.response_body.decode(errors="replace")
    content = f"with {shortened(body)}" if body else "without a body"
    data: JsonObject = {"outcome": str(outcome), "status": last.status, "content": content}
    symptom = _symptom(outcome)
    if last.status != call.row.success:
        return Mistake(f"{last.status} is no success", symptom=symptom, **data)
    if call.row.response is None or not _is_made_up(seen, outcome.value, body):
        return None
    return Mistake("broken body accepted", symptom=symptom, **data)


def _is_made_up(seen: Observation, value: Any, body: str) -> bool:  # noqa: ANN401  # a client returns any object
    """Whether the response is not JSON, or the result has animals that the response does not contain."""
    try:
        document = json.loads(body)
    except ValueError:
        return True
    if value is None:
        return document is not None
    plain = copied(value, seen.read_pet)
    items = plain if is_list(plain) else [plain]
    if plain == document or items == as_sequence(document):
        return False
    if is_object(document) and items == list(document):
        # The client took the names of the members for animals.
        return True
    return all(_has_other_id(item, body) for item in items)


def _has_other_id(item: object, body: str) -> bool:
    """Whether a value is an animal with an id that a response does not contain."""
    pet_id = item.get("id") if is_object(item) else None
    return is_integer(pet_id) and str(pet_id) not in body


@check(
    section="2",
    words="a call returns the animals of its response",
    needs=("outcome",),
    rules={
        "unreadable result": "{outcome}, which raised {raised} when it was read",
        "no sequence": "returned {value} instead of a sequence",
        "wrong number of animals": "returned {returned} although the service sent {sent}",
        "no animal": "returned {value} instead of an animal (if its fields have other names, pass read_pet=)",
        "unknown animal": "returned an animal with id {pet_id}, {why}",
        "wrong field": "returned an animal {shown}; the service sent {sent}",
        "unusable animal": "returned {name}, which fails with {second} when {use}",
    },
)
def result_is_the_response(seen: Observation) -> Mistake | None:
    if seen.done is None:
        return None
    call, outcome = seen.done
    if outcome.error is not None:
        return None
    first: Mistake | None = None
    for asked in _choices(seen, call):
        last = _deciding(call, outcome, asked)
        if _is_broken(last):
            # no_result_from_broken_response judges these.
            return None
        wanted = _sent(seen, call, last)
        if wanted is None:
            continue
        mistake = _misread(seen, call, outcome, wanted)
        if mistake is None:
            return None
        first = first or mistake
    return first


def _sent(seen: Observation, call: Call, last: Exchange) -> Any:  # noqa: ANN401  # a JSON value
    """Return the animal or the list that the service sent; None if it is not known."""
    if last.operation != call.operation:
        is_known = not call.row.commits and not call.row.shows_many
        return seen.pets.get(call.path_value) if is_known else None
    is_whole = last.status in SUCCESSES and not last.cut_response
    if not is_whole or is_lost(last):
        return None
    return json.loads(last.response_body or b"null")


def _misread(seen: Observation, call: Call, outcome: Outcome, wanted: Any) -> Mistake | None:  # noqa: ANN401
    """Return how a result differs from the response. The client may change the order of a list."""
    try:
        if not is_array(wanted):
            return _of_items(seen, [outcome.value], [wanted])
        if not is_list(outcome.value):
            return Mistake("no sequence", symptom=_symptom(outcome), value=shortened(outcome.value))
        return _of_items(seen, outcome.value, wanted)
    except BaseException as error:  # the client's object may raise anything
        words = "reading a result raises no error; if your results need another reader, pass a function as read_pet="
        source = Source(call.row.section, words)
        cause = type(error).__name__
        return Mistake("unreadable result", source, outcome=str(outcome), raised=raised(error), cause=cause)


def _of_items(seen: Observation, items: Sequence[Any], sent: Sequence[Any]) -> Mistake | None:
    if len(items) != len(sent):
        return Mistake("wrong number of animals", returned=counted(len(items), "animal"), sent=len(sent))
    left = {animal["id"]: animal for animal in sent}
    known = set(left)
    for item in items:
        pet = pet_of(item, seen.read_pet)
        if pet is None:
            return Mistake("no animal", value=shortened(item))
        pet_id = pet.get("id")
        right = left.pop(pet_id, None) if is_integer(pet_id) else None
        mistake = _unknown(pet_id, known) if right is None else _wrong_field(pet, right)
        if mistake is None and is_own(type(item).__module__):
            mistake = _unusable(
                "unusable animal", item, _USES_OF_ANIMALS, Source("", "a caller can show, copy and compare a result")
            )
        if mistake is not None:
            return mistake
    return None


def _unknown(pet_id: Any, known: AbstractSet[int]) -> Mistake:  # noqa: ANN401
    is_twice = is_integer(pet_id) and pet_id in known
    why = "more than once" if is_twice else "which the service did not send"
    return Mistake("unknown animal", pet_id=shortened(pet_id), why=why, cause=why)


def _wrong_field(pet: Fields, right: Fields) -> Mistake | None:
    for name in FIELDS:
        if not same(pet.get(name), right.get(name)):
            return _difference(name, pet.get(name), right.get(name))
    return None


def _difference(name: str, found: Any, right: Any) -> Mistake:  # noqa: ANN401
    where = ""
    are_texts = isinstance(found, str) and isinstance(right, str)
    if are_texts and len(right) > _LONG:
        at = len(commonprefix([found, right]))  # noqa: RUF071  # characters are meant
        found = found[at:]
        right = right[at:]
        where = f" from character {at} on"
    shown = f"whose {name}{where} is {shortened(found)} ({type_name(found)})"
    if found is None:
        shown = f"without {name}"
    sent = f"no {name}" if right is None else shortened(right)
    return Mistake("wrong field", Source(*FIELDS[name].sentence), shown=shown, sent=sent, cause=name)


@check(
    section="4",
    words="a client does not change a result that it returned",
    needs=("outcome",),
    rules={"result changed": "changed the result of {call}"},
)
def results_stay(seen: Observation) -> Mistake | None:
    for kept in seen.earlier_results:
        if copied(kept.value, seen.read_pet) != kept.copy:
            return Mistake("result changed", call=str(kept.call))
    return None


@check(
    section="",
    words="a client can be closed after a failure, before its first call, and twice",
    needs=("outcome",),
    rules={"failed close": "{outcome}"},
)
def close_succeeds(seen: Observation) -> Mistake | None:
    outcome = seen.ending
    if seen.call is not None or outcome.error is None:
        return None
    if outcome.interrupt is not None:
        return None
    return Mistake("failed close", outcome=str(outcome), cause=_cause(outcome))


@check(
    section="",
    words="a call or a with block raises what interrupted it",
    needs=("outcome",),
    rules={"exception swallowed": "{outcome} after {interrupt} had interrupted it"},
)
def interrupts_come_out(seen: Observation) -> Mistake | None:
    outcome = seen.ending
    error: Any = outcome.error
    if outcome.interrupt is None or isinstance(error, outcome.interrupt):
        return None
    # A task group raises what interrupted its block in a group.
    if isinstance(outcome.error, BaseExceptionGroup) and error.subgroup(outcome.interrupt) is not None:
        return None
    return Mistake("exception swallowed", outcome=str(outcome), interrupt=outcome.interrupt.__name__)


@check(
    section="",
    words="a caller can show and raise an exception as any other one",
    needs=("outcome",),
    rules={
        "unusable exception": "raised {name}, which fails with {second} when {use}",
        "exception raised again": "raised {error}, the same object as an earlier call, so its traceback grows",
        "its own cause": "raised {error}, which is its own cause, so a reporter that follows its causes never ends",
    },
)
def exceptions_are_usable(seen: Observation) -> Mistake | None:
    error = seen.ending.error
    if error is None:
        return None
    if seen.is_same_error and seen.exchanges:
        return Mistake("exception raised again", error=raised(error))
    if error.__cause__ is error:
        return Mistake("its own cause", error=raised(error))
    return _unusable("unusable exception", error, _USES_OF_EXCEPTIONS)


def _unusable(rule: str, value: object, uses: Uses, source: Source | None = None) -> Mistake | None:
    """Return the mistake of a client that returned or raised an object for which a use fails."""
    for words, use in uses.items():
        try:
            use(value)
        except Exception as second:  # the client's object raises anything
            return Mistake(rule, source, name=type(value).__name__, second=raised(second), use=words)
    return None


def _raise_again(error: BaseException) -> None:
    """Do what ``contextlib`` does if an exception leaves a block."""
    error.__traceback__ = error.__traceback__


def _copy(animal: object) -> None:
    """Copy an animal, unless it refuses that. Its ``__getattr__`` may look for its own dict for ever."""
    try:
        copy(animal)
    except RecursionError:
        raise
    except Exception:  # an immutable animal raises anything
        return


def _compare(animal: object) -> None:
    """Compare an animal with another object. It may refuse that by a TypeError."""
    with suppress(TypeError):
        eq(animal, None)


_USES_OF_ANIMALS: Final[Uses] = {
    "str() shows it": str,
    "repr() shows it": repr,
    "copy.copy() copies it": _copy,
    "== compares it with None": _compare,
}
_USES_OF_EXCEPTIONS: Final[Uses] = {
    "str() shows it": str,
    "repr() shows it": repr,
    "a context manager raises it again": _raise_again,
}
