"""Checks of the requests of a call."""

from __future__ import annotations

import json
import time
from collections import Counter
from itertools import chain, filterfalse, pairwise
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag, urljoin, urlsplit

from petstore_mock.checks.check import Mistake, Source, check
from petstore_mock.checks.reading import SUCCESSES, shortened
from petstore_mock.common.dates import http_date, seconds_of
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.key_search import key_in
from petstore_mock.common.real import perf_counter
from petstore_mock.interface import schemas
from petstore_mock.interface.table import OPERATIONS, SENTENCES, operations, sentence_about
from petstore_mock.journal.exchange import row_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.checks.check import Call, Exchanges, Observation
    from petstore_mock.checks.reading import Fields
    from petstore_mock.common.values import Json
    from petstore_mock.interface.conditions import Condition
    from petstore_mock.interface.table import Operation, Parameter
    from petstore_mock.journal.exchange import Exchange

MOST_REQUESTS: Final = 10  # urllib3 sends 4 by default, and few libraries more than 5
MOST_REDIRECTIONS: Final = 151  # requests follows 30, curl 50, and a client may retry twice
_MOST_REFUSALS: Final = 2  # of the same request; a client may try a second key
_EARLY: Final = 0.05  # seconds by which clocks and schedulers differ

_LATEST: Final = 20  # earlier requests with which a check compares
_WAITS: Final = 0.3  # seconds before the first request of a call
ERROR: Final = Source("7", "an error response makes the call fail with its HTTP status")
_HOST: Final = Source("RFC 9110 §7.2", "the Host field has the service's host and port")
# Header fields that may differ between two calls. requests_are_valid judges the key.
_OF_CONNECTIONS: Final = frozenset(
    {"authorization", "connection", "content-length", "cookie", "if-none-match", "if-modified-since", "keep-alive"}
)

REDIRECTS: Final = range(300, 400)  # RFC 9110 §15.4
_MOVED: Final = frozenset({301, 308})  # RFC 9110 §15.4.2, §15.4.9: a client may store these
_PERMANENT: Final = frozenset({400, 401, 403, 404, 405, 410, 413, 415, 422})  # the same request is refused again
_NOT_EXECUTED: Final = frozenset({301, 302, 307, 308, *range(400, 500)})
_MAY_PASS: Final = frozenset({408, 425, 429, *REDIRECTS, *range(500, 600)})  # a retry may succeed
TELL_TO_WAIT: Final = frozenset({429, 503})  # RFC 6585 §4, RFC 9110 §15.6.4


@check(
    section="5",
    words=SENTENCES["key"].text,
    rules={"key outside Authorization": "sent the API key{form} in {place}"},
)
def key_only_in_authorization(seen: Observation) -> Mistake | None:
    for exchange in seen.exchanges:
        keys = seen.keys or exchange.keys()
        places = [(place, text) for place, text in _places(exchange) if place.lower() != "authorization"]
        # One search of all texts takes less time than a search of each.
        if key_in("\n".join(text for _, text in places), keys) is None:
            continue
        for place, text in places:
            form = key_in(text, keys)
            if form is not None:
                return Mistake("key outside Authorization", form=form, place=place)
    return None


def was_moved(seen: Observation) -> bool:
    """Whether an earlier response moved the resource of a call for good. A client may store it (RFC 9111 §3)."""
    call = seen.call
    if call is None or call.row.method != "GET":
        return False
    for exchange in seen.earlier:
        is_moved = exchange.operation == call.operation and exchange.status in _MOVED
        if is_moved and "no-store" not in exchange.response_headers.get("cache-control", ""):
            return True
    return False


def _places(exchange: Exchange) -> Iterator[tuple[str, str]]:
    """Yield each place of a request where a key may be, with its text."""
    yield "the target", exchange.target
    yield "the body", exchange.body.decode("latin-1")
    yield from exchange.fields


@check(
    section="RFC 9110 §15.4",
    words="a client sends its own key to its own service only, even after a redirection",
    needs=("call",),
    rules={
        "key to another service": "sent the API key to another service",
        "request to another service": "sent {request} {whose}",
        "Host of the first service": "sent {request} to another service with the Host of the first one",
    },
)
def key_only_to_its_service(seen: Observation) -> Mistake | None:
    for exchange in seen.foreign:
        if key_in("\n".join(text for _, text in _places(exchange)), seen.keys) is not None:
            return Mistake("key to another service")
        # Other programs may probe the port.
        if exchange.operation is not None and not _may_be_elsewhere(seen):
            whose = "with the key of another client" if exchange.condition is None else "without its key"
            return Mistake("request to another service", request=exchange.request_line, whose=whose)
        # Without a key, a request that has this Host and went to the same service would count as one of the call.
        is_misnamed = bool(seen.url) and exchange.url.startswith(seen.url)
        if is_misnamed and not exchange.request.credentials:
            return Mistake("Host of the first service", _HOST, request=exchange.request_line)
    return None


def _may_be_elsewhere(seen: Observation) -> bool:
    """Whether a request to another service is a redirected one, or perhaps not of this call."""
    if seen.shared or seen.others_work:
        return True
    return was_moved(seen) or any(exchange.status in REDIRECTS for exchange in seen.exchanges)


@check(
    section="4",
    words="a client sends only requests that the interface allows",
    rules={
        "invalid Host": "sent 'Host: {host}'",
        "invalid Date": "sent 'Date: {date}'",
        "JSON not accepted": "sent 'Accept: {accept}'",
        "body without need": "sent a body with {request}",
        "invalid request": "sent {request}: {reason}",
    },
)
def requests_are_valid(seen: Observation) -> Mistake | None:
    for place, exchange in enumerate(seen.exchanges):
        in_head = _wrong_host(exchange, seen.url) or _wrong_field(exchange)
        mistake = in_head or _needless_body(exchange)
        if mistake is not None:
            return mistake
        refusal = _refusal(seen.call, exchange)
        if refusal is not None and not _is_excused(seen, place):
            source = source_of(exchange)
            line = exchange.request_line
            cause = refusal.message
            if not exchange.operation:
                # The service may refuse a path that it does not have in several ways.
                cause = source.words
            return Mistake("invalid request", source, request=line, reason=exchange.reason, cause=cause)
    return None


def _refusal(call: Call | None, exchange: Exchange) -> Condition | None:
    """Return why the service refused an invalid request. Another check judges a change that a read sent."""
    is_judged = exchange.is_violation and not _is_change(call, exchange)
    return exchange.condition if is_judged else None


def source_of(exchange: Exchange) -> Source:
    """Return the place that has the rule behind a refusal."""
    if exchange.sentence is None:
        return ERROR
    return Source(exchange.section or ERROR.section, exchange.sentence.text)


def _wrong_host(exchange: Exchange, url: str) -> Mistake | None:
    # A mock in the process has no port.
    port = urlsplit(url).port if exchange.connection else None
    end = "" if port in {None, 80} else f":{port}"
    for host in exchange.request.values("host"):
        if not host.endswith(end):
            return Mistake("invalid Host", _HOST, host=host)
    return None


def _wrong_field(exchange: Exchange) -> Mistake | None:
    request = exchange.request
    for date in request.values("date"):
        moment = seconds_of(date)
        if moment is None or http_date(moment) != date:
            words = "a date has English names and ends with GMT"
            return Mistake("invalid Date", Source("RFC 9110 §5.6.7", words), date=date)
    accept = (request.header("accept") or "*/*").lower()
    # RFC 9110 §12.5.1
    if not any(media in accept for media in ("*/*", "application/*", "application/json")):
        return Mistake("JSON not accepted", Source(*SENTENCES["json"]), accept=accept)
    return None


def _needless_body(exchange: Exchange) -> Mistake | None:
    row = row_of(exchange) if exchange.body else None
    if row is None or row.body is not None:
        return None
    source = Source(row.section, "Request body: none")
    return Mistake("body without need", source, request=exchange.request_line)


def _is_excused(seen: Observation, place: int) -> bool:
    """Whether a violation is expected, or due to a revoked key, a removed operation, a gap or a redirection."""
    exchange = seen.exchanges[place]
    call = seen.call
    if exchange.expected or exchange.condition is None:
        return exchange.expected
    name = exchange.condition.name
    if name == "missing_key":
        return place > 0 and seen.exchanges[place - 1].status in REDIRECTS
    if name == "invalid_body":
        # A gap such as name_rule makes the service reject the very body that the caller passed.
        return call is not None and _json(exchange) == call.body
    if _is_refused_by_gap(call, exchange):
        return True
    if name.startswith("operation_removed"):
        return seen.shared or call is not None
    return name == "revoked_key"


def _is_refused_by_gap(call: Call | None, exchange: Exchange) -> bool:
    """Whether a gap may refuse the very parameters that the caller passed, because they set a field."""
    if call is None or not call.row.setting:
        return False
    known = schemas.parameters(call.row).keys()
    return exchange.query.keys() <= known and asks_for(call, exchange)


@check(
    section="4",
    words="a call sends the request of its caller, and changes nothing else",
    needs=("call",),
    rules={
        "unrequested change": "sent {request}, which no caller requested",
        "another animal requested": "sent {request}, which requests another animal",
        "wrong parameter": "sent {request} {how}",
        "wrong body": "sent {wrong}",
    },
)
def requests_are_asked_for(seen: Observation) -> Mistake | None:
    if seen.call is None:
        return _unasked_without_call(seen)
    # Another thread may have sent the other reads.
    are_excused = seen.shared and any(asks_for(seen.call, exchange) for exchange in seen.exchanges)
    location = ""
    for exchange in seen.exchanges:
        if _refusal(seen.call, exchange) is not None:
            # requests_are_valid judges it.
            continue
        mistake = _difference(seen.call, exchange)
        # The response before named the address, as a redirection does (RFC 9110 §10.2.2).
        is_excused = exchange.method == "GET" and (are_excused or exchange.url == location)
        if mistake is not None and not is_excused:
            return mistake
        # A request has no fragment, so its address has none either.
        location = urldefrag(urljoin(exchange.url, exchange.response_headers.get("Location", ""))).url
    return None


def _unasked_without_call(seen: Observation) -> Mistake | None:
    for exchange in seen.exchanges:
        if seen.doing and commits(exchange):
            return Mistake("unrequested change", request=exchange.request_line)
    return None


def is_ping(exchange: Exchange) -> bool:
    """Whether a request only asks whether the service is reachable."""
    return exchange.method in {"HEAD", "OPTIONS"}


def asks_for(call: Call, exchange: Exchange) -> bool:
    """Whether a request has the operation and the arguments of a call."""
    is_own = exchange.operation == call.operation and not is_ping(exchange)
    return is_own and _difference(call, exchange) is None


def commits(exchange: Exchange) -> bool:
    """Whether the operation of a request changes something."""
    return exchange.operation is not None and OPERATIONS[exchange.operation].commits


def _is_change(call: Call | None, exchange: Exchange) -> bool:
    """Whether a request may change something, although its call only reads."""
    if call is None or call.row.commits:
        return False
    return exchange.method != "GET" and not is_ping(exchange)


def _difference(call: Call, exchange: Exchange) -> Mistake | None:
    """Return how a request differs from the call. The client is free to send reads of another operation."""
    if is_ping(exchange):
        return None
    if exchange.operation != call.operation:
        may_change = commits(exchange) or _is_change(call, exchange)
        return Mistake("unrequested change", request=exchange.request_line) if may_change else None
    in_path = call.row.path_values(exchange.target)
    path = call.row.identifier
    if path is not None and in_path.get(path.name) != str(call.path_value):
        source = Source(call.row.section, path.sentence.text)
        return Mistake("another animal requested", source, request=exchange.request_line)
    return _wrong_parameter(call, exchange, in_path) or _wrong_body(call, exchange)


def _wrong_parameter(call: Call, exchange: Exchange, in_path: Mapping[str, str]) -> Mistake | None:
    for parameter in call.row.parameters:
        if parameter is call.row.identifier:
            continue
        name = parameter.name
        wanted = call.arguments.get(name)
        sent = _text_of(parameter, exchange, in_path)
        default = schemas.parameters(call.row)[name].get("default")
        is_default = wanted is None and _is_text_of(sent, default)
        if is_default or _is_text_of(sent, wanted):
            continue
        how = f"without {name}={wanted}" if sent is None else f"with {_shown(name, sent, wanted)}"
        source = Source(call.row.section, parameter.sentence.text)
        return Mistake("wrong parameter", source, request=exchange.request_line, how=how, cause=name)
    return None


def _text_of(parameter: Parameter, exchange: Exchange, in_path: Mapping[str, str]) -> str | None:
    """Return the text of a parameter in a request, or None if it has none."""
    if parameter.where == "path":
        return in_path.get(parameter.name)
    if parameter.where == "header":
        return exchange.headers.get(parameter.name.lower())
    return exchange.query.get(parameter.name)


def _is_text_of(text: str | None, value: object) -> bool:
    """Whether a parameter has a value. Languages write numbers in several ways: ``4``, ``4.0`` and ``4e0`` are one."""
    if text is None or value is None:
        return text is value
    if isinstance(value, str):
        return text == value
    try:
        return bool(json.loads(text) == value)
    except ValueError:
        return False


def _wrong_body(call: Call, exchange: Exchange) -> Mistake | None:
    # The service may reject a request that waits for "100 (Continue)" without reading its body (RFC 9110 §10.1.1).
    is_unread = not exchange.body and exchange.condition is not None
    if exchange.cut_request or is_unread or call.body is None:
        return None
    sent = _json(exchange)
    source = Source(call.row.section, sentence_about("body", call.operation).text)
    if not is_object(sent):
        return Mistake("wrong body", source, wrong=f"the body {shortened(sent)}")
    wrong = _wrong_members(sent, call.body)
    if not wrong:
        return None
    return Mistake("wrong body", source, wrong=", ".join(wrong.values()), cause=", ".join(wrong))


def _json(exchange: Exchange) -> Json:
    try:
        return exchange.json()
    except ValueError:
        return None


def _wrong_members(sent: Fields, wanted: Fields) -> dict[str, str]:
    """Return the differences of two bodies in words, by member. None stands for an absent member."""
    wrong: dict[str, str] = {}
    for name in {**wanted, **sent}:
        pair = sent.get(name), wanted.get(name)
        if not same(*pair):
            found, right = (None if value is None else shortened(value) for value in pair)
            wrong[name] = _shown(name, found, right)
    return wrong


def _shown(name: str, sent: object, wanted: object) -> str:
    found = f"no {name}" if sent is None else f"{name}={sent}"
    return f"{found}, which the caller did not pass" if wanted is None else f"{found} instead of {wanted}"


def same(found: Json, wanted: Json) -> bool:
    """Whether two values are equal and have the same types. In Python, ``1 == True`` and ``1 == 1.0``."""
    if is_array(wanted) and is_array(found):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    # A client may return a member of an enumeration of texts.
    is_alike = isinstance(found, type(wanted)) or isinstance(wanted, type(found))
    is_alike = is_alike and isinstance(found, bool) == isinstance(wanted, bool)
    return is_alike and bool(found == wanted)


def chains(seen: Observation) -> list[list[Exchange]]:
    """Return the requests of each call, as far as they are known.

    If the observation is of one call, this is all of them. A journal does not show which requests belong to one call.
    So there, only the same request counts as a retry, and only if the one before it failed.
    """
    if seen.call is not None or seen.doing:
        return [[*seen.exchanges]]
    found: dict[tuple[str, str, bytes], list[list[Exchange]]] = {}
    for exchange in seen.exchanges:
        of_request = found.setdefault((exchange.method, exchange.target, exchange.body), [])
        if of_request and may_pass(of_request[-1][-1]):
            of_request[-1].append(exchange)
        else:
            of_request.append([exchange])
    return list(chain.from_iterable(found.values()))


def may_pass(exchange: Exchange) -> bool:
    """Whether a response is a failure that may pass, or was lost."""
    fault = exchange.fault
    if exchange.status is None:
        return True
    if fault is not None and not fault.row.responds:
        return not fault.row.is_whole or fault.row.excuses
    is_broken_success = fault is not None and exchange.status in SUCCESSES
    return is_broken_success or exchange.status in _MAY_PASS


def _second_may(row: Operation) -> str:
    return f"a second {row.name} may {row.does.repeated} (RFC 9110 §9.2.2)"


_FIRST_CREATE: Final = operations("creates")[0]


@check(
    section=_FIRST_CREATE.section,
    words=_second_may(_FIRST_CREATE),
    rules={"create sent again": "sent {request} again after {response}"},
)
def no_repeated_create(seen: Observation) -> Mistake | None:
    """Judge creates, and other operations that are not idempotent."""
    for asked in chains(seen):
        latest: dict[str, Exchange] = {}
        for exchange in asked:
            row = row_of(exchange)
            # Threads of the client may send other creates.
            is_other = seen.call is not None and not asks_for(seen.call, exchange)
            if row is None or row.may_be_repeated or is_other:
                continue
            former = latest.get(row.name)
            if former is not None and former.status not in _NOT_EXECUTED:
                source = Source(row.section, _second_may(row))
                line = exchange.request_line
                return Mistake("create sent again", source, request=line, response=came(former))
            latest[row.name] = exchange
    return None


def came(exchange: Exchange) -> str:
    """Return the response to a request in words that follow "after"."""
    if exchange.status is None:
        return "its response was lost"
    hint = exchange.response_headers.get("retry-after")
    told = ""
    if hint is not None:
        told = f" with 'Retry-After: {hint}'"
    elif exchange.fault is not None:
        told = f" (fault {exchange.fault})"
    return f"it received {exchange.status}{told}"


@check(
    section="8",
    words=f"rate limits are not shown; this check allows {MOST_REQUESTS} requests in a call",
    rules={
        "too many requests": "sent {count} requests",
        "refused request sent again": "sent {request} {count} times and received {status} each time",
    },
)
def retries_are_bounded(seen: Observation) -> Mistake | None:
    if seen.shared:
        return None
    for asked in chains(seen):
        followed = sum(exchange.status in REDIRECTS for exchange in asked)
        if len(asked) - followed > MOST_REQUESTS or followed > MOST_REDIRECTIONS:
            return Mistake("too many requests", count=len(asked))
        mistake = _refused_again(asked)
        if mistake is not None:
            return mistake
    return None


def _refused_again(asked: Exchanges) -> Mistake | None:
    answered = filterfalse(is_lost, asked)
    refused = Counter((one.method, one.target, one.body, one.status) for one in answered)
    for (method, target, _, status), count in refused.items():
        if count > _MOST_REFUSALS and status in _PERMANENT:
            source = Source("7", "the service rejects the same request again")
            line = f"{method} {target[:80]}"
            return Mistake("refused request sent again", source, request=line, count=count, status=status)
    return None


def is_lost(exchange: Exchange) -> bool:
    """Whether the client could not read the response."""
    if exchange.fault is None:
        return False
    row = exchange.fault.row
    return not row.responds and not row.readable


@check(
    section="RFC 9110 §10.2.3",
    words="a client waits as long as Retry-After says, or does not retry",
    needs=("call",),
    rules={"retry before Retry-After": "retried {waited:.2f} s after {status} with 'Retry-After: {hint}'"},
)
def retry_after_is_honoured(seen: Observation) -> Mistake | None:
    if seen.shared:
        return None
    latest: dict[str | None, Exchange] = {}
    for exchange in seen.exchanges:
        former = latest.get(exchange.operation)
        mistake = None if former is None else _too_early(former, exchange)
        if mistake is not None:
            return mistake
        latest[exchange.operation] = exchange
    return None


def _too_early(first: Exchange, second: Exchange) -> Mistake | None:
    told = seconds_told(first)
    waited = second.request.started - first.request.started
    if told is None or waited >= min(told) - _EARLY:
        return None
    hint = first.response_headers["retry-after"]
    return Mistake("retry before Retry-After", waited=waited, status=first.status, hint=hint)


def seconds_told(exchange: Exchange) -> tuple[float, float] | None:
    """Return how long a response tells the client to wait, by the service's clock and by the client's, in seconds.

    Both waits start at the time of the request. Returns None for a response without a valid ``Retry-After``.
    """
    hint = exchange.response_headers.get("retry-after") if exchange.status in TELL_TO_WAIT else None
    if hint is None:
        return None
    if hint.isdecimal():
        return float(hint), float(hint)
    until = seconds_of(hint)
    if until is None:
        return None
    asked_at = time.time() - (perf_counter() - exchange.request.started)
    return until - exchange.timestamp, until - asked_at


LATE: Final = "back-off carries over"


@check(
    section="",
    words="a call does not depend on the calls before it",
    needs=("call",),
    rules={
        "header of another call": "sent the header {name} of {other}",
        "header grows": "sent the header {name}, which repeats a part of its value more often than the request before",
        "idempotency key sent again": "sent the {name} of an earlier call, so a service takes both calls for one",
        LATE: "waited {waited:.1f} s before its first request, although the call before it succeeded",
    },
)
def calls_are_independent(seen: Observation) -> Mistake | None:
    if seen.call is None or not seen.exchanges:
        return None
    if seen.shared:
        return None
    first = seen.exchanges[0]
    earlier = seen.earlier[-_LATEST:]
    grown = _grown([*earlier[-1:], *seen.exchanges])
    sent = grown or _header_of_another(first, earlier) or _sent_again(first, earlier)
    return sent or _waited_before(first, earlier, seen)


def _grown(exchanges: Exchanges) -> Mistake | None:
    """Return the header whose value has the same words in two requests, but more of them in the latter."""
    for former, latter in pairwise(exchanges):
        for name, value in latter.headers.items():
            # A header of another kind may list what happened so far.
            if not name.lower().endswith(("user-agent", "id")):
                continue
            before = former.headers.get(name, "").split()
            now = value.split()
            if len(now) > len(before) and {*now} == {*before}:
                return Mistake("header grows", name=name, cause=name)
    return None


def _header_of_another(first: Exchange, earlier: Exchanges) -> Mistake | None:
    """Return the header that a request has only since another operation has sent it."""
    others: list[Exchange] = []
    for former in reversed(earlier):
        if former.operation == first.operation:
            added = dict(first.headers)
            for name in former.headers.keys() | _OF_CONNECTIONS:
                added.pop(name, None)
            for other in others:
                for name, _ in added.items() & other.headers.items():
                    return Mistake("header of another call", name=name, other=other.operation, cause=name)
            return None
        others.append(former)
    return None


def _sent_again(first: Exchange, earlier: Exchanges) -> Mistake | None:
    row = row_of(first)
    if row is None or row.may_be_repeated:
        return None
    for former in earlier:
        equal = first.headers.items() & former.headers.items()
        names = [name for name, _ in equal if "idempotency" in name]
        if names and former.operation == first.operation:
            return Mistake("idempotency key sent again", name=names[0])
    return None


def _waited_before(first: Exchange, earlier: Exchanges, seen: Observation) -> Mistake | None:
    # It is not known when a call began that did not end.
    waited = 0.0 if seen.done is None else first.request.started - seen.done[1].began
    if waited < _WAITS or all(map(is_fine, earlier)):
        return None
    is_told = any(exchange.response_headers.get("retry-after") for exchange in earlier)
    return None if is_told or not is_fine(earlier[-1]) else Mistake(LATE, waited=waited)


def is_fine(exchange: Exchange) -> bool:
    """Whether a request received the success of its operation, and no fault changed that."""
    return exchange.fault is None and exchange.status in SUCCESSES


@check(
    section="RFC 9110 §4.3.4",
    words="a client verifies the certificate before it sends a request",
    needs=("call",),
    rules={"certificate not verified": "sent a request with its key although {flaw}"},
)
def certificate_is_verified(seen: Observation) -> Mistake | None:
    if seen.flaw is None or not seen.exchanges:
        return None
    return Mistake("certificate not verified", flaw=seen.flaw.row.sentence.partition(" (")[0])
