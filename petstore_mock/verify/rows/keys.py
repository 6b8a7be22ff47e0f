"""Rows about API keys: every operation refuses a missing and an unknown one, and accepts the right one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from petstore_mock.verify import changes
from petstore_mock.verify.probes import KEPT_OUT, UNKNOWN_KEY, Phase, request
from petstore_mock.verify.row import EVERY, LISTS, OF_REQUESTS, READS, SUCCESSES, Clause, Mutant, Result, each, prefix
from petstore_mock.verify.rows.animals import is_refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.probes import Probe
    from petstore_mock.verify.seen import History, Seen

_UNKNOWN: Final = f"Bearer {UNKNOWN_KEY}"
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
        check=is_refused,
        mutants=each(own, "without-key", "accepts a missing key", without, OF_REQUESTS),
    )
    yield Clause(
        id=f"5-unknown-key{suffix}",
        words=f"{name} with an invalid key gets 401",
        probes=tuple(unknown),
        check=is_refused,
        mutants=each(own, "any-key", "accepts any key", any_key, OF_REQUESTS),
    )


def _in_query(operation: Operation) -> Probe:
    """Return a request with a key in the query. A URL must never hold the user's own key."""
    target = f"{operation.path}?api_key={UNKNOWN_KEY}"
    return replace(request(operation, phase=Phase.KEYS, expected=KEPT_OUT, key=""), target=target)


def _of_scheme(operation: Operation) -> Clause:
    without_bearer = changes.let_in("malformed_credentials")
    return Clause(
        id="5-scheme",
        words="Scheme: HTTP bearer, in the form Authorization: Bearer <API_KEY>",
        probes=tuple(_without_access(operation, key) for key in ("{key}", "Basic {key}", "Bearer")),
        check=is_refused,
        mutants=(Mutant("any-scheme", "the service accepts a key without Bearer", EVERY, without_bearer, OF_REQUESTS),),
    )


def _accepts_key(seen: Seen, _history: History) -> Iterator[Result]:
    is_told = seen.is_success or seen.is_refusal
    if seen.probe.has_key and is_told and seen.status != 403:
        yield Result(seen.status != 401, "no 401, because other operations accept the key")
