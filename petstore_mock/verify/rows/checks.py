"""Checks that rows of several subjects share, and the causes of breaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.interface.bodies import short
from petstore_mock.interface.kinds import kind_of
from petstore_mock.interface.schemas import properties
from petstore_mock.interface.table import ANIMAL
from petstore_mock.verify.probes import ABSENT, ELSEWHERE
from petstore_mock.verify.row import Result

if TYPE_CHECKING:
    from petstore_mock.interface.kinds import Kind
    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.row import Results
    from petstore_mock.verify.seen import History, Seen


# Causes: the same text for all breaches by one mistake of the service. The id of a clause names the broken clause.


def cause_of(seen: Seen, history: History, wanted: int = 0) -> str:
    """Return the cause of a wrong status; empty if it is unknown."""
    if seen.status in history.unserved(seen.operation):
        return f"{seen.status} from {seen.operation.name}"
    by_value = failing_value(seen, history)
    if by_value:
        return by_value
    if seen.is_disguised:
        return f"errors with {seen.status}"
    if seen.shows_another:
        return "another animal"
    # Accepted keys and bodies have causes of their own, but all absent animals are alike.
    is_accepted = seen.is_success and wanted != ABSENT.status
    if wanted and not is_accepted:
        return f"{seen.status} for {wanted}"
    return ""


def failing_value(seen: Seen, history: History) -> str:
    """Return the clause about the unusual values of a field, if the operation fails for each of them; else empty."""
    if not seen.has_failed or history.unserved(seen.operation):
        return ""
    for name in properties(ANIMAL):
        if has_unusual(name, seen) and _always_fails(name, seen.operation, history):
            return unusual_clause(name)
    return ""


def kind_of_field(name: str) -> Kind:
    return kind_of(properties(ANIMAL)[name])


def has_unusual(name: str, seen: Seen) -> bool:
    """Whether a request sends a value of a field that services often change. It may be invalid."""
    value, kind = seen.sent.get(name), kind_of_field(name)
    if kind.beyond is None or type(value) is not type(kind.plain):
        return False
    return kind.beyond.holds(value)


def unusual_clause(name: str) -> str:
    """Return the id of the clause about such values; empty for a field without this clause."""
    beyond = kind_of_field(name).beyond
    return "" if beyond is None else f"2-{short(name)}-{beyond.id}"


def _always_fails(name: str, operation: Operation, history: History) -> bool:
    tried = [one for one in history.of(operation) if one.probe.has_key and has_unusual(name, one)]
    return all(one.has_failed for one in tried)


def is_refused(seen: Seen, history: History) -> Results:
    """Check that the service refuses a request with the status that its probe expects."""
    wanted = seen.probe.expected.status
    # A service that refuses every plain animal shows nothing about wrong ones.
    if wanted == 400 and not history.accepts_plain:
        return
    if wanted and not _has_other_reason(seen, history):
        words = f"{wanted}, because the body is an error" if seen.is_disguised else f"{wanted}"
        yield Result(seen.status == wanted, words, cause_of(seen, history, wanted))


def _has_other_reason(seen: Seen, history: History) -> bool:
    """Whether a status says nothing about the clause, because it has another reason."""
    if seen.status in seen.probe.expected.others:
        return True
    # If no list is found at the base address, only the clause 1-base-address is broken.
    if seen.operation.shows_many and seen.status in ELSEWHERE and not history.listed:
        return True
    if not seen.is_refusal:
        return False
    if seen.is_removed and seen.status != 401:
        return True
    # An operation that refuses every request shows nothing about wrong ones.
    return seen.status != seen.probe.expected.status and seen.status in history.unserved(seen.operation)


def cache_of(seen: Seen) -> str:
    """Return the header fields that show a cached response, in words; empty for a response of the service itself."""
    age, cache = seen.header("Age"), seen.header("X-Cache")
    fields = [f"Age: {age}"] if age.strip("0") else []
    if cache and "miss" not in cache.lower():
        fields.append(f"X-Cache: {cache}")
    if not fields:
        return ""
    return f" ({', '.join(fields)}: a cache may be the cause)"
