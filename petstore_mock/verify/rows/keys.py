"""Rows about API keys: every operation refuses a missing and an unknown one, and accepts the right one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from petstore_mock.interface.kinds import wrong_text
from petstore_mock.interface.schemas import parameters
from petstore_mock.verify import changes
from petstore_mock.verify.probes import KEPT_OUT, OWN, UNKNOWN_KEY, Phase, limits_of, request
from petstore_mock.verify.row import EVERY, LISTS, OF_REQUESTS, READS, SUCCESSES, About, Result, prefix
from petstore_mock.verify.rows.checks import cache_of, is_refused

if TYPE_CHECKING:
    from petstore_mock.http.mutant import Turn
    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.probes import Probe
    from petstore_mock.verify.row import Clause, Probes, Results, Rows
    from petstore_mock.verify.seen import History, Seen

_UNKNOWN: Final = f"Bearer {UNKNOWN_KEY}"
# Keys that are nearly right, as templates. A space behind the key is left out: HTTP does not count it (RFC 9110 §5.5).
_NEARLY: Final = (
    "Bearer {key in another case}",
    "Bearer {key without its end}",
    "Bearer {key}x",
    "Bearer {key}\u00e9",
    "Bearer {key}{long}",
)
_WITHOUT_SCHEME: Final = ("{key}", "Basic {key}", "Bearer", f"Bearer {{key}}, {_UNKNOWN}")
_ANY_KEY: Final = ("unknown_key", "revoked_key", "rotated_key", "expired_key")


def rows() -> Rows:
    row = About(EVERY).every("5-key", "The API key is sent as Authorization: Bearer <API_KEY>", _accepts_key)
    row.send(request(LISTS[0], phase=Phase.KEYS, key=OWN.lower()))
    row.mistake("refuses-key", "refuses a valid key", changes.refuse(401), (*SUCCESSES, 404))
    yield row
    for operation in EVERY:
        yield from _of_operation(operation)
    yield _of_scheme()
    yield _of_exact_key()


def _without_access(operation: Operation, key: str, pet_id: str = "") -> Probe:
    """Return a request with another key. If the service executes it, it must do no harm."""
    usual = "{known}" if operation in READS else "{absent}"
    return request(operation, pet_id or usual, phase=Phase.KEYS, expected=KEPT_OUT, key=key)


def _of_operation(operation: Operation) -> Rows:
    is_first_list = operation is LISTS[0]
    suffix = "" if is_first_list else f"-{prefix(operation)}"
    about = About(operation, suffix=suffix)
    row = about.says(
        "5-missing-key{suffix}", "{operation} without a key gets 401, whatever else is wrong", _is_kept_out
    )
    without = _without_access(operation, "")
    row.send(without)
    if is_first_list:
        # A URL must never hold the user's own key.
        row.send(replace(without, target=f"{without.target}?api_key={UNKNOWN_KEY}"))
    row.mistake("without-key", "accepts a missing key", changes.let_in("missing_key"), OF_REQUESTS)
    wrong = [*_wrong_requests(operation, without)]
    row.send(*wrong)
    if wrong:
        row.mistake(
            "validates-first",
            "refuses a wrong request before it looks at the key",
            changes.refuse_if(changes.is_wrong),
            (401,),
        )
    yield row
    row = about.says("5-unknown-key{suffix}", "{operation} with an invalid key gets 401", _is_kept_out)
    row.send(_without_access(operation, _UNKNOWN))
    if operation in READS and operation.identifier is not None:
        row.send(_without_access(operation, _UNKNOWN, "{absent}"))
    row.mistake("any-key", "accepts any key", changes.let_in(*_ANY_KEY), OF_REQUESTS)
    yield row


def _is_kept_out(seen: Seen, history: History) -> Results:
    """Check that a request gets 401. Operations that accept the same wrong keys are one finding."""
    for result in is_refused(seen, history):
        # An operation that gives the same response to every request is a finding of its own.
        if result.holds or seen.status in history.unserved(seen.operation):
            yield result
            continue
        cache = cache_of(seen)
        accepted = _accepted(history, seen.operation)
        cause = result.cause
        if cache:
            cause = "a cache ignores keys"
        elif bool(seen.probe.key) in accepted:
            cause = f"keys accepted: {sorted(accepted)}"
        yield result._replace(expected=f"{result.expected}{cache}", cause=cause)


def _accepted(history: History, operation: Operation) -> set[bool]:
    """Return the sorts of wrong keys that an operation accepts: False for none, True for an unknown one."""
    # An operation that lets a request in may have no such animal. A service that has no list either hides everything.
    hides_all = any(seen.status == 404 and not seen.pet_id for seen in history.exchanges)
    accepted: set[bool] = set()
    for seen in history.of(operation):
        if seen.probe.key not in {"", _UNKNOWN, *_WITHOUT_SCHEME}:
            continue
        is_in = seen.is_success
        if seen.status == 404 and seen.pet_id:
            is_in = not hides_all
        if is_in:
            accepted.add(bool(seen.probe.key))
    return accepted


def _accepts_key(seen: Seen, _history: History) -> Results:
    is_told = seen.is_success or seen.is_refusal
    if is_told and seen.probe.has_key and seen.status != 403:
        words = f"no 401, because other requests have this key, too (or a cache may keep a 401){cache_of(seen)}"
        if seen.probe.key != OWN:
            words = "no 401, because the name of a scheme has no case (RFC 9110 §11.1)"
        yield Result(seen.status != 401, words)


# Keys that are nearly right


def _of_scheme() -> Clause:
    row = About(EVERY).says(
        "5-scheme", "Scheme: HTTP bearer, in the form Authorization: Bearer <API_KEY>", _is_kept_out
    )
    row.send(*[_without_access(LISTS[0], key) for key in _WITHOUT_SCHEME])
    row.mutant(
        "any-scheme",
        "the service accepts a key without Bearer",
        changes.let_in("malformed_credentials"),
        OF_REQUESTS,
    )
    return row


def _of_exact_key() -> Clause:
    row = About(EVERY, section=5).means(
        "5-exact-key", "A key that is nearly right is invalid, and gets 401", _is_kept_out
    )
    row.send(*[replace(_without_access(LISTS[0], key), phase=Phase.LAST_KEYS) for key in _NEARLY])
    let_in = changes.let_in("unknown_key")
    in_any_case = changes.when(_differs_in_case, let_in)
    by_start = changes.when(_has_same_start, let_in)
    row.mutant("any-case-of-key", "the service ignores the case of keys", in_any_case, OF_REQUESTS)
    row.mutant("start-of-key", "the service compares only the start of keys", by_start, OF_REQUESTS)
    return row


def _sent_key(turn: Turn) -> str:
    if turn.sent_keys:
        return turn.sent_keys[0].partition(" ")[2]
    return ""


def _differs_in_case(turn: Turn) -> bool:
    return _sent_key(turn).lower() in map(str.lower, turn.keys)


def _has_same_start(turn: Turn) -> bool:
    return any(map(_sent_key(turn).startswith, turn.keys))


# Requests that are wrong in two ways


def _wrong_requests(operation: Operation, without: Probe) -> Probes:
    """Yield requests without a key that are wrong in another way, too."""
    for parameter in operation.parameters:
        text = wrong_text(parameters(operation)[parameter.name])
        if parameter is operation.identifier:
            yield _without_access(operation, "", text)
            yield _without_access(operation, "", "{absent}")
        elif parameter.gap and parameter.where != "path":
            yield without.with_parameter(parameter, text)
        if parameter is operation.limit:
            yield without.with_parameter(parameter, limits_of(operation)[0] - 1)
    if operation.body is not None:
        for body in ("{}", "{", ""):
            yield replace(without, body=body)
        yield replace(without, media_type="text/plain")
