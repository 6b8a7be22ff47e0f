"""Checks that rows of several subjects share, and the causes of breaches."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Final

from petstore_mock.common.guards import is_array
from petstore_mock.interface.bodies import short
from petstore_mock.interface.kinds import Edge, edges, kind_of
from petstore_mock.interface.schemas import is_valid, members_of, properties
from petstore_mock.interface.table import ANIMAL
from petstore_mock.verify.probes import ABSENT, ELSEWHERE, REFUSED
from petstore_mock.verify.row import Result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from petstore_mock.interface.kinds import Kind, Schema
    from petstore_mock.verify.row import Results
    from petstore_mock.verify.seen import History, Members, Seen

    # A parameter with its text, or a member of a body with its JSON text, which is empty if the body leaves it out.
    # An unusual value has the id of its clause instead.
    Choice = tuple[str, str]


# Causes: the same text for all breaches by one mistake of the service. The id of a clause names the broken clause.
OF_FORM: Final = "form of documents"


def cause_of(seen: Seen, history: History, wanted: int = 0) -> str:
    """Return the cause of a wrong status; empty if it is unknown."""
    if seen.status in history.unserved(seen.operation):
        return f"{seen.status} from {seen.operation.name}"
    by_value = _failing_choices(seen, history)
    if by_value:
        return by_value
    # A cache that ignores the method returns the list.
    if seen.operation.shows_one and is_array(seen.document):
        return OF_FORM
    if seen.is_disguised:
        return f"errors with {seen.status}"
    if _shows_others(seen, history):
        return f"{seen.operation.section}-asked-for"
    # Accepted keys and bodies have causes of their own, but all absent animals are alike.
    is_accepted = seen.is_success and wanted != ABSENT.status
    is_known = wanted and not is_accepted
    return f"{seen.status} for {wanted}" if is_known else ""


def _failing_choices(seen: Seen, history: History) -> str:
    """Return the cause of a failure of some values, by their clause or their names; else empty."""
    by_value = failing_value(seen, history)
    # A service that fails for one wrong request may fail for all wrong requests.
    if by_value or not seen.has_failed or not has_to_succeed(seen):
        return by_value
    return names_of(reasons_of(seen, history))


def _shows_others(seen: Seen, history: History) -> bool:
    """Whether a request shows another animal, or is 404 although valid requests show other animals."""
    if seen.status != 404:
        return seen.shows_another
    return any(one.shows_another for one in history.of(seen.operation))


def failing_value(seen: Seen, history: History) -> str:
    """Return the clause about the unusual values of a field, if only requests with these fail; else empty."""
    if not seen.has_failed or history.unserved(seen.operation):
        return ""
    failed = [one for one in history.of(seen.operation) if one.has_failed and has_to_succeed(one)]
    for name in properties(ANIMAL):
        if failed and all(has_unusual(name, one) for one in (seen, *failed)):
            return unusual_clause(name)
    return ""


def has_to_succeed(seen: Seen) -> bool:
    """Whether the request has to succeed. A service may refuse an odd animal with 4xx, but must not fail."""
    if not seen.has_failed or not seen.probe.is_open:
        return seen.probe.is_valid
    body = seen.operation.body
    if body is None or seen.probe.is_delicate or seen.is_of_other_type:
        return False
    return seen.has_right_texts and is_valid(body)(seen.sent)


def kind_of_field(name: str) -> Kind:
    return kind_of(properties(ANIMAL)[name])


def has_unusual(name: str, seen: Seen) -> bool:
    """Whether the body of a request sets a field to a value that services often change. It may be invalid."""
    value = seen.operation.fields_in(seen.sent, {}).get(name)
    kind = kind_of_field(name)
    if kind.beyond is None or type(value) is not type(kind.plain):
        return False
    return kind.beyond.holds(value)


def unusual_clause(name: str) -> str:
    """Return the id of the clause about such values; empty for a field without this clause."""
    beyond = kind_of_field(name).beyond
    return "" if beyond is None else f"2-{short(name)}-{beyond.id}"


# What may be the reason for a refusal or a failure


def edges_of(rules: Schema) -> list[Edge]:
    allowed = rules.get("enum", ())
    return [*(Edge(value, value, dumps(value)) for value in allowed), *edges(rules)]


def _choices(seen: Seen) -> set[Choice]:
    """Return the choices of a request: its parameters, edges, unusual values, and members that are left out."""
    choices = {*seen.chosen.items()}
    for name, rules in members_of(seen.operation).items():
        text = text_of_member(seen.sent, name)
        if text in {"", *(edge.text for edge in edges_of(rules))}:
            choices.add((name, text))
        if name in properties(ANIMAL) and has_unusual(name, seen):
            choices.add((name, unusual_clause(name)))
    return choices


def text_of_member(members: Members, name: str) -> str:
    """Return a member as JSON text; empty if it is left out."""
    return dumps(members[name]) if name in members else ""


def reasons_of(seen: Seen, history: History) -> set[Choice]:
    """Return the choices of a refused request that no accepted one has."""
    accepted = [one for one in history.of(seen.operation) if one.is_success]
    return _choices(seen).difference(*map(_choices, accepted))


def names_of(choices: Iterable[Choice]) -> str:
    """Return a cause: refused values of a member, and of a filter with its name, are one finding."""
    return ", ".join(sorted({name for name, _ in choices}))


def is_accepted(seen: Seen, history: History) -> Results:
    """Check that the service accepts the values of a request."""
    is_refused_value = seen.is_refusal and seen.status not in REFUSED.others
    if seen.is_success or is_refused_value:
        yield Result(seen.is_success, "the value to be accepted", names_of(reasons_of(seen, history)))


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
    age = seen.header("Age")
    cache = seen.header("X-Cache")
    fields = [f"Age: {age}"] if age.strip("0") else []
    if cache and "miss" not in cache.lower():
        fields.append(f"X-Cache: {cache}")
    if not fields:
        return ""
    return f" ({', '.join(fields)}: a cache may be the cause)"
