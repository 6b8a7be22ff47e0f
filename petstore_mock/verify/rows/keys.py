"""Rows about API keys: every operation refuses a missing and an unknown one, and accepts the right one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from petstore_mock.verify import changes
from petstore_mock.verify.probes import KEPT_OUT, UNKNOWN_KEY, Phase, request
from petstore_mock.verify.row import (
    EVERY,
    LISTS,
    OF_REQUESTS,
    READS,
    SUCCESSES,
    Clause,
    Mutant,
    Result,
    each,
    meant,
    prefix,
)
from petstore_mock.verify.rows.checks import is_refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.http.mutant import Turn
    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.probes import Probe
    from petstore_mock.verify.seen import History, Seen

_UNKNOWN: Final = f"Bearer {UNKNOWN_KEY}"
# Keys that are nearly right, as templates. A space behind the key is left out: HTTP does not count it (RFC 9110 §5.5).
_NEARLY: Final = (
    *("Bearer {key in another case}", "Bearer {key without its end}", "Bearer {key}x", "Bearer {key}\u00e9"),
    "Bearer {key}{long}",
)
_WITHOUT_SCHEME: Final = ("{key}", "Basic {key}", "Bearer", f"Bearer {{key}}, {_UNKNOWN}")
_ANY_KEY: Final = ("unknown_key", "revoked_key", "rotated_key", "expired_key")


def rows() -> Iterator[Clause]:
    yield Clause(
        id="5-key",
        words="The API key is sent as Authorization: Bearer <API_KEY>",
        operations=EVERY,
        check=_accepts_key,
        mutants=each(EVERY, "refuses-key", "refuses a valid key", changes.refuse(401), (*SUCCESSES, 404)),
    )
    for operation in EVERY:
        yield from _of_operation(operation)
    yield _of_scheme(LISTS[0])
    yield _of_exact_key(LISTS[0])
    for operation in EVERY:
        yield from _of_two_mistakes(operation)


def _without_access(operation: Operation, key: str, pet_id: str = "") -> Probe:
    """Return a request with another key. If the service executes it, it must do no harm."""
    usual = "{known}" if operation in READS else "{absent}"
    return request(operation, pet_id or usual, phase=Phase.KEYS, expected=KEPT_OUT, key=key)


def _of_operation(operation: Operation) -> Iterator[Clause]:
    name, own = operation.name, [operation]
    is_first_list = operation is LISTS[0]
    suffix = "" if is_first_list else f"-{prefix(operation)}"
    missing = [_without_access(operation, "")]
    unknown = [_without_access(operation, _UNKNOWN)]
    if operation in READS and operation.identifier is not None:
        unknown.append(_without_access(operation, _UNKNOWN, "{absent}"))
    if is_first_list:
        missing.append(_in_query(operation))
    without, any_key = changes.let_in("missing_key"), changes.let_in(*_ANY_KEY)
    yield Clause(
        id=f"5-missing-key{suffix}",
        words=f"{name} without a key gets 401",
        probes=tuple(missing),
        check=_is_kept_out,
        mutants=each(own, "without-key", "accepts a missing key", without, OF_REQUESTS),
    )
    yield Clause(
        id=f"5-unknown-key{suffix}",
        words=f"{name} with an invalid key gets 401",
        probes=tuple(unknown),
        check=_is_kept_out,
        mutants=each(own, "any-key", "accepts any key", any_key, OF_REQUESTS),
    )


def _in_query(operation: Operation) -> Probe:
    """Return a request with a key in the query. A URL must never hold the user's own key."""
    target = f"{operation.path}?api_key={UNKNOWN_KEY}"
    return replace(request(operation, phase=Phase.KEYS, expected=KEPT_OUT, key=""), target=target)


def _is_kept_out(seen: Seen, history: History) -> Iterator[Result]:
    """Check that a request gets 401. An operation that accepts a missing or any key is one finding."""
    for result in is_refused(seen, history):
        # An operation that gives the same response to every request is a finding of its own.
        is_constant = seen.status in history.unserved(seen.operation)
        is_breach = not result.holds and not is_constant
        is_let_in = is_breach and any(_is_let_in(seen, other) for other in history.exchanges)
        sort = "unknown" if seen.probe.key else "missing"
        yield result._replace(cause=f"{seen.operation.name} accepts a {sort} key") if is_let_in else result


def _is_let_in(seen: Seen, other: Seen) -> bool:
    """Whether an operation accepts another request without a key, or with an unknown one."""
    is_like = other.operation is seen.operation and bool(other.probe.key) is bool(seen.probe.key)
    return is_like and other.is_success and other.probe.key in {"", _UNKNOWN, *_WITHOUT_SCHEME}


def _of_scheme(operation: Operation) -> Clause:
    without_bearer = changes.let_in("malformed_credentials")
    return Clause(
        id="5-scheme",
        words="Scheme: HTTP bearer, in the form Authorization: Bearer <API_KEY>",
        probes=tuple(_without_access(operation, key) for key in _WITHOUT_SCHEME),
        check=_is_kept_out,
        mutants=(Mutant("any-scheme", "the service accepts a key without Bearer", EVERY, without_bearer, OF_REQUESTS),),
    )


def _accepts_key(seen: Seen, _history: History) -> Iterator[Result]:
    is_told = seen.is_success or seen.is_refusal
    if seen.probe.has_key and is_told and seen.status != 403:
        yield Result(seen.status != 401, "no 401, because other operations accept the key")


def _of_exact_key(operation: Operation) -> Clause:
    in_any_case = changes.when(_differs_in_case, changes.let_in("unknown_key"))
    by_start = changes.when(_has_same_start, changes.let_in("unknown_key"))
    return Clause(
        id="5-exact-key",
        words=meant("A key that is nearly right is invalid, and gets 401", operation),
        probes=tuple(_without_access(operation, key) for key in _NEARLY),
        check=_is_kept_out,
        mutants=(
            Mutant("any-case-of-key", "the service ignores the case of keys", EVERY, in_any_case, OF_REQUESTS),
            Mutant("start-of-key", "the service compares only the start of keys", EVERY, by_start, OF_REQUESTS),
        ),
    )


def _sent_key(turn: Turn) -> str:
    return turn.sent_keys[0].partition(" ")[2] if turn.sent_keys else ""


def _differs_in_case(turn: Turn) -> bool:
    return _sent_key(turn).lower() in {key.lower() for key in turn.keys}


def _has_same_start(turn: Turn) -> bool:
    return any(_sent_key(turn).startswith(key) for key in turn.keys)


# Requests that are wrong in two ways


def _of_two_mistakes(operation: Operation) -> Iterator[Clause]:
    probes = tuple(_wrong_requests(operation))
    if not probes:
        return
    first = changes.when(changes.is_wrong, changes.refuse())
    yield Clause(
        id=f"5-key-first-{prefix(operation)}",
        words=meant(f"{operation.name} without a valid key gets 401, whatever else is wrong", operation),
        probes=probes,
        check=_is_kept_out,
        mutants=each(
            [operation], "validates-first", "refuses a wrong request before it looks at the key", first, (401,)
        ),
    )


def _wrong_requests(operation: Operation) -> Iterator[Probe]:
    """Yield requests without a key that are wrong in another way, too."""
    without = _without_access(operation, "")
    for parameter in operation.query_parameters:
        if parameter.gap is not None:
            text = "0" if parameter is operation.limit else "no-such-value"
            yield without.with_parameter(parameter, text)
    if operation.identifier is not None:
        yield _without_access(operation, "", "no-number")
    if operation.body is not None:
        yield replace(without, body="{}")
        yield replace(without, body="{")
        yield replace(without, media_type="text/plain")
