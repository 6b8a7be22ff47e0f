"""Rules about the requests of a call, whatever it returns."""

from __future__ import annotations

import re
import time
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from petstore_mock.checks.check import Broken, check
from petstore_mock.checks.classify import CLIENT_ERRORS, REDIRECTS
from petstore_mock.checks.keys import key_in
from petstore_mock.checks.wording import shortened
from petstore_mock.common.dates import seconds_of
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.real import perf_counter
from petstore_mock.interface import schemas
from petstore_mock.interface.table import OPERATIONS, SENTENCES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.checks.observation import Call, Observation
    from petstore_mock.journal.exchange import Exchange

MOST_REQUESTS: Final = 10  # urllib3 sends 4 by default, and few libraries more than 5
MOST_REDIRECTIONS: Final = 151  # requests follows 30, curl 50, and a client may retry twice
_MOST_REFUSALS: Final = 2  # of the same request; a client may send it once more with another key
_EARLY: Final = 0.05  # seconds by which clocks and schedulers differ

_PERMANENT: Final = frozenset({400, 401, 403, 404, 405, 410, 413, 415, 422})  # the same request is refused again
_NOT_CARRIED_OUT: Final = frozenset({301, 302, 307, 308, *CLIENT_ERRORS})
TELL_TO_WAIT: Final = frozenset({429, 503})  # RFC 6585 §4, RFC 9110 §15.6.4

_DATE: Final = re.compile(
    "(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{4} .*"
)
_JSON_RANGES: Final = ("*/*", "application/*", "application/json")  # media ranges (RFC 9110 §12.5.1) with JSON in them


@check(section="5", words=SENTENCES["key"].text)
def key_only_in_authorization(seen: Observation) -> str | None:
    """Find the API key in a request anywhere but in the field Authorization."""
    for exchange in seen.exchanges:
        keys = seen.keys or tuple(exchange.keys())
        places = {"the target": exchange.target, "the body": exchange.body.decode("latin-1")}
        places |= {name: value for name, value in exchange.fields if name.lower() != "authorization"}
        for place, text in places.items():
            form = key_in(text, keys)
            if form is not None:
                return f"sent the API key{form} in {place}, beside Authorization"
    return None


@check(
    section="RFC 9110 §15.4",
    words="a client that follows a redirection to another origin leaves the key out, and has a key of its own",
)
def key_only_to_its_service(seen: Observation) -> str | None:
    """Find the API key in a request to another service, and a request with the key of another client."""
    for exchange in seen.foreign:
        parts = [exchange.target, exchange.body.decode("latin-1"), *(value for _, value in exchange.fields)]
        if key_in("\n".join(parts), seen.keys) is not None:
            return "sent the API key to another service"
        redirected = any(one.status in REDIRECTS for one in seen.exchanges)
        if not redirected and not seen.shared:
            whose = "without its key" if exchange.condition is not None else "with the key of another client"
            return f"sent {exchange.request_line} {whose}"
    return None


@check(section="4", words="a client sends requests that the interface allows")
def requests_are_valid(seen: Observation) -> Broken | None:
    """Find a request that the contract or HTTP forbids: violations, Host, Date, Accept, a body with GET."""
    for place, exchange in enumerate(seen.exchanges):
        broken = _wrong_field(exchange, seen.url)
        row = OPERATIONS.get(exchange.operation or "")
        if broken is None and row is not None and row.body is None and exchange.body:
            broken = Broken(
                f"sent a body with {exchange.request_line}", row.section, "the operation has no request body"
            )
        if broken is None and exchange.is_violation and not _is_excused(seen, place):
            words = "" if exchange.sentence is None else exchange.sentence.text
            broken = Broken(f"sent {exchange.request_line}: {exchange.reason}", exchange.section or "4", words)
        if broken is not None:
            return broken
    return None


def _wrong_field(exchange: Exchange, url: str) -> Broken | None:
    request = exchange.request
    port = urlsplit(url).port if exchange.connection else None  # in process there is no port
    for host in request.values("host"):
        if port not in {None, 80} and not host.endswith(f":{port}"):
            return Broken(f"sent 'Host: {host}'", "RFC 9110 §7.2", "Host names the host and the port of the service")
    for date in request.values("date"):
        if not _DATE.fullmatch(date):
            return Broken(f"sent 'Date: {date}'", "RFC 9110 §5.6.7", "a date has the English names of day and month")
    accept = request.header("accept", "*/*") or ""
    if not any(media in accept.lower() for media in _JSON_RANGES):
        return Broken(f"sent 'Accept: {accept}'", SENTENCES["json"].section, SENTENCES["json"].text)
    return None


def _is_excused(seen: Observation, place: int) -> bool:
    """Whether a violation is the test's will: expected, a removed operation, a gap, a redirection without the key."""
    exchange, call = seen.exchanges[place], seen.call
    name = "" if exchange.condition is None else exchange.condition.name
    if exchange.expected or (name.startswith("operation_removed") and (seen.shared or call is not None)):
        return True
    if name == "missing_key":
        return place > 0 and seen.exchanges[place - 1].status in REDIRECTS
    return name == "invalid_body" and call is not None and _json(exchange) == call.body  # such as the gap name_rule


@check(section="4", words="a call asks the service for what its caller asked, and for nothing else")
def requests_are_asked_for(seen: Observation) -> Broken | None:
    """Find a request that asks for something else than the caller did, or that changes animals unasked."""
    if seen.call is None:
        made = [one for one in seen.exchanges if _commits(one)] if seen.doing != "the client" else []
        return _unasked(made[0]) if made else None
    own = [one for one in seen.exchanges if asks_for(seen.call, one)]
    others = [one for one in seen.exchanges if one not in own]
    if seen.meanwhile is not None:
        others = [one for one in others if not asks_for(seen.meanwhile, one)]
        if seen.exchanges and not own and not others:
            sent = seen.exchanges[0].request_line
            return Broken(f"sent no request of its own, but {sent}", seen.call.row.section, "each call asks for itself")
    if own and seen.shared:
        others = [one for one in others if _commits(one)]
    return next((broken for one in others if (broken := _difference(seen.call, one)) is not None), None)


def is_ping(exchange: Exchange) -> bool:
    """Whether a request only looks whether the service is there."""
    return exchange.method in {"HEAD", "OPTIONS"}


def asks_for(call: Call, exchange: Exchange) -> bool:
    """Whether a request asks for what the caller asked."""
    is_own = exchange.operation == call.operation and not is_ping(exchange)
    return is_own and _difference(call, exchange) is None


def _commits(exchange: Exchange) -> bool:
    return exchange.operation is not None and OPERATIONS[exchange.operation].commits


def _unasked(exchange: Exchange) -> Broken:
    row = OPERATIONS[exchange.operation or ""]
    return Broken(f"sent {exchange.request_line}, which nobody asked for", row.section, f"{row.name}: {row.summary}")


def _difference(call: Call, exchange: Exchange) -> Broken | None:
    """Return how a request differs from what the caller asked; reads of another operation are the client's affair."""
    if is_ping(exchange):
        return None
    if exchange.operation != call.operation:
        return _unasked(exchange) if _commits(exchange) else None
    row, path = call.row, call.row.path_parameter
    if path is not None and exchange.path.rpartition("/")[2] != str(call.path_value):
        return Broken(f"sent {exchange.request_line}, for another animal", row.section, path.sentence.text)
    for parameter in row.query_parameters:
        wanted, sent = call.arguments.get(parameter.name), exchange.query.get(parameter.name)
        default = schemas.parameters(row)[parameter.name].get("default")
        if sent != _text(wanted) and (wanted is not None or sent != _text(default)):
            words = f"sent {exchange.request_line}, with {parameter.name}={sent} instead of {wanted}"
            return Broken(words, row.section, parameter.sentence.text)
    # The service may refuse a request that waits for "100 (Continue)" without reading its body (RFC 9110 §10.1.1).
    is_unread = not exchange.body and exchange.condition is not None and bool(exchange.request.values("expect"))
    if call.body is None or exchange.cut_request or is_unread or same(_json(exchange), call.body):
        return None
    return Broken(f"sent {_shown_body(_json(exchange), call.body)}", row.section, SENTENCES["body"].text)


def _text(value: Any) -> str | None:  # noqa: ANN401  # an argument of any type
    return None if value is None else str(value)


def _json(exchange: Exchange) -> Any:  # noqa: ANN401  # a JSON value
    try:
        return exchange.json()
    except ValueError:
        return None


def same(found: Any, wanted: Any) -> bool:  # noqa: ANN401  # JSON values
    """Whether two values are equal and of the same types: to Python alone, ``1 == True`` and ``1 == 1.0``."""
    if type(found) is type(wanted) and isinstance(found, (str, int)):
        return bool(found == wanted)
    if is_object(wanted) and is_object(found):
        return found.keys() == wanted.keys() and all(same(found[name], value) for name, value in wanted.items())
    if is_array(wanted) and is_array(found):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    return found == wanted and isinstance(found, type(wanted)) and isinstance(found, bool) == isinstance(wanted, bool)


def _shown_body(sent: Any, wanted: Mapping[str, Any]) -> str:  # noqa: ANN401  # a JSON value
    """Return how a body differs from the wanted one; None stands for an absent member."""
    if not is_object(sent):
        return f"the body {shortened(sent)}"
    pairs = {name: (sent.get(name), wanted.get(name)) for name in {**wanted, **sent}}
    wrong = [(name, found, right) for name, (found, right) in pairs.items() if not same(found, right)]
    return ", ".join(f"{name}={shortened(found)} instead of {shortened(right)}" for name, found, right in wrong)


@check(
    section="4.2",
    words="every createPet adds an animal: POST is not idempotent (RFC 9110 §9.2.2), and the first may have succeeded",
)
def no_repeated_create(seen: Observation) -> str | None:
    """Find a request that adds an animal again after one that may have added it.

    A journal alone does not say which requests belong to one call: there, a repetition is the same body sent again
    after a response that was lost or no success.
    """
    creates = [one for one in seen.exchanges if one.operation and OPERATIONS[one.operation].effect == "creates"]
    for first, second in () if seen.shared else pairwise(creates):
        has_failed = first.fault is not None or first.status is None or first.status >= 300
        is_repeated = seen.call is not None or (first.body == second.body and has_failed)
        if is_repeated and first.status not in _NOT_CARRIED_OUT:
            return f"sent {second.request_line} again when {came(first)}"
    return None


def came(exchange: Exchange) -> str:
    """Return how a request was responded to, in words that follow "when" or "after"."""
    if exchange.status is None:
        return "its response was lost"
    return f"it received {exchange.status}" + (f" (fault {exchange.fault})" if exchange.fault is not None else "")


@check(section="8", words=f"rate limits are not shown: a client sends at most {MOST_REQUESTS} requests for a call here")
def retries_are_bounded(seen: Observation) -> str | Broken | None:
    """Find a call with too many requests, redirections without an end, or the same refused request again and again."""
    if seen.shared:
        return None
    followed = sum(one.status in REDIRECTS for one in seen.exchanges)
    if len(seen.exchanges) - followed > MOST_REQUESTS:
        return f"sent {len(seen.exchanges)} requests"
    if followed > MOST_REDIRECTIONS:
        words = "a client ends redirections that lead in a circle"
        return Broken(f"sent {len(seen.exchanges)} requests", "RFC 9110 §15.4", words)
    refused = Counter((one.method, one.target, one.body, one.status) for one in seen.exchanges if _is_refused(one))
    for (method, target, _, status), count in refused.items():
        if count > _MOST_REFUSALS:
            words = "a refusal says what is wrong with a request, and the same request gets the same response"
            return Broken(f"sent {method} {target[:80]} {count} times, and received {status} each time", "7", words)
    return None


def _is_refused(exchange: Exchange) -> bool:
    is_whole = exchange.fault is None or exchange.fault.row.responds or exchange.fault.row.readable
    return is_whole and exchange.status in _PERMANENT


@check(
    section="RFC 9110 §10.2.3",
    words="Retry-After says how long to wait before another request; a client waits as long, or does not retry",
)
def retry_after_is_honoured(seen: Observation) -> str | None:
    """Find a retry that comes sooner than Retry-After says."""
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
    """Return for how long a response tells the client to wait, by the clock of the service and by that of the client.

    Both count from the request. None where it tells nothing, or nothing that a client understands.
    """
    hint = exchange.response_headers.get("retry-after") if exchange.status in TELL_TO_WAIT else None
    if hint is not None and hint.isdecimal():
        return float(hint), float(hint)
    until = None if hint is None else seconds_of(hint)
    asked_at = time.time() - (perf_counter() - exchange.request.started)
    return None if until is None else (until - exchange.timestamp, until - asked_at)


@check(
    section="RFC 9110 §4.3.4",
    words="a client verifies dates, chain and host name of a certificate before it sends anything, its key above all",
)
def certificate_is_verified(seen: Observation) -> str | None:
    """Find a request over a connection whose certificate has a flaw."""
    if seen.flaw is None or not seen.exchanges:
        return None
    return f"sent its request, with the key, although {seen.flaw.row.sentence.partition(' (')[0]}"
