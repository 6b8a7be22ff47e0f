"""Checks of the requests of a call."""

from __future__ import annotations

import json
import time
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from petstore_mock.checks.check import Broken, check
from petstore_mock.checks.reading import shortened
from petstore_mock.common.dates import http_date, seconds_of
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.key_search import key_in
from petstore_mock.common.real import perf_counter
from petstore_mock.interface import schemas
from petstore_mock.interface.table import OPERATIONS, SENTENCES, operations, sentence_about

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.checks.check import Call, Observation
    from petstore_mock.interface.table import Operation, Parameter
    from petstore_mock.journal.exchange import Exchange

MOST_REQUESTS: Final = 10  # urllib3 sends 4 by default, and few libraries more than 5
MOST_REDIRECTIONS: Final = 151  # requests follows 30, curl 50, and a client may retry twice
_MOST_REFUSALS: Final = 2  # of the same request; a client may try a second key
_EARLY: Final = 0.05  # seconds by which clocks and schedulers differ

REDIRECTS: Final = range(300, 400)  # RFC 9110 §15.4
_PERMANENT: Final = frozenset({400, 401, 403, 404, 405, 410, 413, 415, 422})  # the same request is refused again
_NOT_EXECUTED: Final = frozenset({301, 302, 307, 308, *range(400, 500)})
TELL_TO_WAIT: Final = frozenset({429, 503})  # RFC 6585 §4, RFC 9110 §15.6.4


@check(section="5", words=SENTENCES["key"].text)
def key_only_in_authorization(seen: Observation) -> str | None:
    for one in seen.exchanges:
        elsewhere = [(name, value) for name, value in one.fields if name.lower() != "authorization"]
        for place, text in [("the target", one.target), ("the body", one.body.decode("latin-1")), *elsewhere]:
            form = key_in(text, seen.keys or one.keys())
            if form is not None:
                return f"sent the API key{form} in {place}"
    return None


@check(section="RFC 9110 §15.4", words="a client sends its own key to its own service only, even after a redirection")
def key_only_to_its_service(seen: Observation) -> str | None:
    redirected = any(one.status in REDIRECTS for one in seen.exchanges)
    for one in seen.foreign:
        parts = [one.target, one.body.decode("latin-1"), *(value for _, value in one.fields)]
        if key_in("\n".join(parts), seen.keys) is not None:
            return "sent the API key to another service"
        if one.operation is not None and not redirected and not seen.shared:  # others may probe the port
            whose = "without its key" if one.condition is not None else "with the key of another client"
            return f"sent {one.request_line} {whose}"
    return None


@check(section="4", words="a client sends only requests that the interface allows")
def requests_are_valid(seen: Observation) -> Broken | None:
    for place, one in enumerate(seen.exchanges):
        broken = _wrong_field(one, seen.url)
        if broken is not None:
            return broken
        row = OPERATIONS.get(one.operation or "")
        if row is not None and row.body is None and one.body:
            return Broken(f"sent a body with {one.request_line}", row.section, "Request body: none")
        if one.is_violation and not _is_excused(seen, place):
            words = "" if one.sentence is None else one.sentence.text
            return Broken(f"sent {one.request_line}: {one.reason}", one.section or "4", words)
    return None


def _wrong_field(exchange: Exchange, url: str) -> Broken | None:
    request = exchange.request
    port = urlsplit(url).port if exchange.connection else None  # a mock in the process has no port
    for host in request.values("host"):
        if port not in {None, 80} and not host.endswith(f":{port}"):
            return Broken(f"sent 'Host: {host}'", "RFC 9110 §7.2", "the Host field has the service's host and port")
    for date in request.values("date"):
        moment = seconds_of(date)
        if moment is None or http_date(moment) != date:
            return Broken(f"sent 'Date: {date}'", "RFC 9110 §5.6.7", "a date has English names and ends with GMT")
    accept = (request.header("accept") or "*/*").lower()
    if not any(media in accept for media in ("*/*", "application/*", "application/json")):  # RFC 9110 §12.5.1
        return Broken(f"sent 'Accept: {accept}'", SENTENCES["json"].section, SENTENCES["json"].text)
    return None


def _is_excused(seen: Observation, place: int) -> bool:
    """Whether a violation is expected, or due to a revoked key, a removed operation, a gap or a redirection."""
    exchange, call = seen.exchanges[place], seen.call
    name = "" if exchange.condition is None else exchange.condition.name
    is_redirected = name == "missing_key" and place > 0 and seen.exchanges[place - 1].status in REDIRECTS
    # A gap such as name_rule makes the service reject the very body that the caller passed.
    is_own = call is not None and name == "invalid_body" and _json(exchange) == call.body
    is_removed = name.startswith("operation_removed") and (seen.shared or call is not None)
    return exchange.expected or is_redirected or is_own or is_removed or name == "revoked_key"


@check(section="4", words="a call sends the request of its caller, and changes nothing else")
def requests_are_asked_for(seen: Observation) -> Broken | None:
    if seen.call is None:
        made = [one for one in seen.exchanges if _commits(one) and seen.doing != "the client"]
        return _unasked(made[0]) if made else None
    differences = [(one, _difference(seen.call, one)) for one in seen.exchanges]
    is_asked = any(found is None and one.operation == seen.call.operation for one, found in differences)
    excused = is_asked and seen.shared  # another thread may have sent the other reads
    return next((found for one, found in differences if found is not None and (_commits(one) or not excused)), None)


def is_ping(exchange: Exchange) -> bool:
    """Whether a request only asks whether the service is reachable."""
    return exchange.method in {"HEAD", "OPTIONS"}


def asks_for(call: Call, exchange: Exchange) -> bool:
    """Whether a request has the operation and the arguments of a call."""
    is_own = exchange.operation == call.operation and not is_ping(exchange)
    return is_own and _difference(call, exchange) is None


def _commits(exchange: Exchange) -> bool:
    return exchange.operation is not None and OPERATIONS[exchange.operation].commits


def _unasked(exchange: Exchange) -> Broken:
    row = OPERATIONS[exchange.operation or ""]
    words = f"{row.name}: {row.summary}"
    return Broken(f"sent {exchange.request_line}, which no caller requested", row.section, words)


def _difference(call: Call, exchange: Exchange) -> Broken | None:
    """Return how a request differs from the call. The client is free to send reads of another operation."""
    if is_ping(exchange):
        return None
    if exchange.operation != call.operation:
        return _unasked(exchange) if _commits(exchange) else None
    row, path = call.row, call.row.identifier
    in_path = row.path_values(exchange.target)
    if path is not None and in_path.get(path.name) != str(call.path_value):
        return Broken(f"sent {exchange.request_line}, which requests another animal", row.section, path.sentence.text)
    for parameter in row.parameters:
        if parameter is path:
            continue
        sent = _text_of(parameter, exchange, in_path)
        wanted = call.arguments.get(parameter.name)
        fits = [wanted] if wanted is not None else [None, schemas.parameters(row)[parameter.name].get("default")]
        if not any(_is_text_of(sent, value) for value in fits):
            name = parameter.name
            how = f"without {name}={wanted}" if sent is None else f"with {_shown(name, sent, wanted)}"
            return Broken(f"sent {exchange.request_line} {how}", row.section, parameter.sentence.text)
    # The service may reject a request that waits for "100 (Continue)" without reading its body (RFC 9110 §10.1.1).
    is_unread = not exchange.body and exchange.condition is not None
    if call.body is None or exchange.cut_request or is_unread:
        return None
    wrong = _wrong_members(_json(exchange), call.body)
    return Broken(f"sent {wrong}", row.section, sentence_about("body", row.name).text) if wrong else None


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


def _json(exchange: Exchange) -> Any:  # noqa: ANN401  # a JSON value
    try:
        return exchange.json()
    except ValueError:
        return None


def _wrong_members(sent: Any, wanted: dict[str, Any]) -> str:  # noqa: ANN401  # a JSON value
    if not is_object(sent):
        return f"the body {shortened(sent)}"
    pairs = {name: (sent.get(name), wanted.get(name)) for name in {**wanted, **sent}}  # None: the member is absent
    wrong = {
        name: [None if one is None else shortened(one) for one in pair]
        for name, pair in pairs.items()
        if not same(*pair)
    }
    return ", ".join(_shown(name, *pair) for name, pair in wrong.items())


def _shown(name: str, sent: object, wanted: object) -> str:
    found = f"no {name}" if sent is None else f"{name}={sent}"
    return f"{found}, which the caller did not pass" if wanted is None else f"{found} instead of {wanted}"


def same(found: Any, wanted: Any) -> bool:  # noqa: ANN401  # JSON values
    """Whether two values are equal and have the same types. In Python, ``1 == True`` and ``1 == 1.0``."""
    if is_array(wanted) and is_array(found):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    is_alike = isinstance(found, type(wanted)) or isinstance(wanted, type(found))  # a member of a str enumeration
    return is_alike and isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)


def _second_may(row: Operation) -> str:
    return f"a second {row.name} may {row.does.repeated} (RFC 9110 §9.2.2)"


_FIRST_CREATE: Final = operations("creates")[0]


@check(section=_FIRST_CREATE.section, words=_second_may(_FIRST_CREATE))
def no_repeated_create(seen: Observation) -> Broken | None:
    """Judge creates, and other operations that are not idempotent."""
    if seen.shared:
        return None
    by_operation: dict[str, list[Exchange]] = {}
    for one in seen.exchanges:
        row = OPERATIONS.get(one.operation or "")
        if row is not None and not row.may_be_repeated:
            by_operation.setdefault(row.name, []).append(one)
    for name, sent in by_operation.items():
        for first, second in pairwise(sent):
            if _is_repeated(first, second, is_one_call=seen.call is not None) and first.status not in _NOT_EXECUTED:
                row = OPERATIONS[name]
                return Broken(f"sent {second.request_line} again after {came(first)}", row.section, _second_may(row))
    return None


def _is_repeated(first: Exchange, second: Exchange, *, is_one_call: bool) -> bool:
    """Whether the second request repeats the first.

    A journal does not show which requests belong to one call. So in a journal, the same request counts as a repetition
    only if the first response was lost or was not a success.
    """
    if is_one_call:
        return True
    has_failed = first.fault is not None or first.status is None or first.status >= 300
    return has_failed and (first.target, first.body) == (second.target, second.body)


def came(exchange: Exchange) -> str:
    """Return the response to a request in words that follow "after"."""
    if exchange.status is None:
        return "its response was lost"
    return f"it received {exchange.status}" + (f" (fault {exchange.fault})" if exchange.fault is not None else "")


@check(section="8", words=f"rate limits are not shown; this check allows {MOST_REQUESTS} requests in a call")
def retries_are_bounded(seen: Observation) -> str | Broken | None:
    if seen.shared:
        return None
    followed = sum(one.status in REDIRECTS for one in seen.exchanges)
    if len(seen.exchanges) - followed > MOST_REQUESTS or followed > MOST_REDIRECTIONS:
        return f"sent {len(seen.exchanges)} requests"
    refused = Counter((one.method, one.target, one.body, one.status) for one in seen.exchanges if not is_lost(one))
    for (method, target, _, status), count in refused.items():
        if count > _MOST_REFUSALS and status in _PERMANENT:
            sentence = f"sent {method} {target[:80]} {count} times and received {status} each time"
            return Broken(sentence, "7", "the service rejects the same request again")
    return None


def is_lost(exchange: Exchange) -> bool:
    """Whether the client could not read the response."""
    row = None if exchange.fault is None else exchange.fault.row
    return row is not None and not (row.responds or row.readable)


@check(section="RFC 9110 §10.2.3", words="a client waits as long as Retry-After says, or does not retry")
def retry_after_is_honoured(seen: Observation) -> str | None:
    latest: dict[str | None, Exchange] = {}
    for second in () if seen.shared else seen.exchanges:
        first = latest.get(second.operation)
        told = None if first is None else seconds_told(first)
        if first is not None and told is not None:
            waited = second.request.started - first.request.started
            if waited < min(told) - _EARLY:
                hint = first.response_headers["retry-after"]
                return f"retried {waited:.2f} s after {first.status} with 'Retry-After: {hint}'"
        latest[second.operation] = second
    return None


def seconds_told(exchange: Exchange) -> tuple[float, float] | None:
    """Return how long a response tells the client to wait, by the service's clock and by the client's, in seconds.

    Both waits start at the time of the request. Returns None for a response without a valid ``Retry-After``.
    """
    hint = exchange.response_headers.get("retry-after") if exchange.status in TELL_TO_WAIT else None
    if hint is not None and hint.isdecimal():
        return float(hint), float(hint)
    until = None if hint is None else seconds_of(hint)
    asked_at = time.time() - (perf_counter() - exchange.request.started)
    return None if until is None else (until - exchange.timestamp, until - asked_at)


@check(section="RFC 9110 §4.3.4", words="a client verifies the certificate before it sends a request")
def certificate_is_verified(seen: Observation) -> str | None:
    if seen.flaw is not None and seen.exchanges:
        return f"sent a request with its key although {seen.flaw.row.sentence.partition(' (')[0]}"
    return None
