"""Rows about every response: HTTP, JSON, media types, the base address, and the body of an error."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_object
from petstore_mock.common.masking import cut
from petstore_mock.interface.bodies import short
from petstore_mock.interface.kinds import quick
from petstore_mock.interface.schemas import properties, schema, violations
from petstore_mock.interface.table import ANIMAL, ERROR
from petstore_mock.verify import changes
from petstore_mock.verify.probes import ELSEWHERE, Phase, request
from petstore_mock.verify.row import EVERY, LISTS, SHOWS, SHOWS_ONE, Clause, Mutant, Result, each
from petstore_mock.verify.rows.checks import cause_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.verify.row import Check
    from petstore_mock.verify.seen import History, Seen

_ERRORS: Final = tuple(sorted({status for operation in EVERY for status in operation.errors}))


def rows() -> Iterator[Clause]:
    yield Clause(id="1-http", words="The service is an HTTP API", operations=EVERY, check=_is_whole)
    yield Clause(
        id="1-json-body",
        words="Response bodies are JSON",
        operations=EVERY,
        check=_has_json,
        mutants=each(SHOWS, "is-cut", "returns truncated JSON", changes.cut_short),
    )
    yield Clause(
        id="1-media-type",
        words="Response bodies are application/json",
        operations=EVERY,
        check=_has_media_type,
        mutants=each(SHOWS, "as-html", "returns JSON as text/html", changes.HTML),
    )
    yield Clause(
        id="1-base-address",
        words="The base address includes the version path segment /v1",
        operations=LISTS[:1],
        probes=tuple(request(one, phase=Phase.LISTS) for one in LISTS),
        check=_is_at_base_address,
        mutants=each(LISTS[:1], "not-there", "returns 404 for every valid request", changes.refuse(404)),
    )
    yield Clause(
        id="2-pets-array",
        words=f"{LISTS[0].response} is a JSON array",
        operations=LISTS,
        check=_is_array,
        mutants=each(LISTS, "wrapped", "returns the array in an object", changes.wrap),
    )
    yield Clause(
        id="2-pet-object",
        words=f"{LISTS[0].response} is an array of {ANIMAL} objects",
        operations=SHOWS,
        check=_has_objects,
        mutants=each(SHOWS_ONE, "in-array", "returns the animal in an array", changes.put_in_array),
    )
    for name in properties(ERROR):
        yield _of_error_field(name)
    other_status = changes.with_member("status", 500)
    yield Clause(
        id="7-status",
        words="The status field of the Error body carries the HTTP status",
        operations=EVERY,
        check=_has_own_status,
        mutants=(Mutant("error-status-other", "error bodies have the status 500", EVERY, other_status, _ERRORS),),
    )
    for status in _ERRORS:
        yield _of_error(status)


def _of_error_field(name: str) -> Clause:
    words = f"error bodies have no {name}"
    return Clause(
        id=f"2-error-{short(name)}",
        words=field_words(ERROR, name),
        operations=EVERY,
        check=_of_error_member(name),
        mutants=(Mutant(f"error-{short(name)}-missing", words, EVERY, changes.without(name), _ERRORS),),
    )


def _of_error(status: int) -> Clause:
    declaring = tuple(operation for operation in EVERY if status in operation.errors)
    words = f"responses with {status} have an HTML page as body"
    return Clause(
        id=f"7-{status}-error",
        words=f"{status}: Error body, as application/json",
        operations=EVERY,
        needs=f"a response with {status}",
        check=_is_error(status),
        mutants=(Mutant(f"{status}-as-html", words, declaring, changes.ERROR_PAGE, (status,)),),
    )


def field_words(kind: str, name: str) -> str:
    """Return the sentence about a property of an animal or of an error."""
    rules = properties(kind)[name]
    values = f"one of {', '.join(rules['enum'])}" if "enum" in rules else rules.get("format", rules["type"])
    required = ", required" if name in schema(kind)["required"] else ""
    return f"{kind}: {name}, {values}{required}"


def of_member(kind: str, name: str, item: Mapping[str, Any]) -> Iterator[Result]:
    """Check a property of an animal or of an error."""
    rules = properties(kind)[name]
    if name not in item:
        if name in schema(kind)["required"]:
            yield Result(holds=False, expected=f"each {kind} to have {name}; one has {', '.join(item)}")
    elif quick(rules)(item[name]):
        yield Result(holds=True)
    else:
        wrong = violations(rules, item[name], name)
        first = wrong[0] if wrong else ""
        yield Result(not wrong, f"a valid {kind} ({first})")


def _coding(seen: Seen) -> str:
    """Return the content coding of an unreadable body, although the request excludes codings."""
    return "" if seen.is_json else seen.header("Content-Encoding")


def _is_called_json(seen: Seen) -> bool:
    return seen.header("Content-Type").partition(";")[0].strip().lower() == "application/json"


# Checks


def _is_whole(_seen: Seen, _history: History) -> Iterator[Result]:
    yield Result(holds=True)


def _needs_body(seen: Seen) -> bool:
    has_schema = seen.operation.response is not None and seen.status != 204
    return seen.is_success and has_schema and not seen.probe.expected.status


def _has_json(seen: Seen, history: History) -> Iterator[Result]:
    if seen.prefix:
        before = cut(seen.prefix.decode("utf-8", "backslashreplace"), 60)
        yield Result(holds=False, expected=f"a JSON body without {dumps(before)} before it", cause="prefix")
        return
    if not _needs_body(seen):
        return
    coding = _coding(seen)
    if coding:
        yield Result(
            holds=False, expected=f"no content coding (Accept-Encoding is identity), not {coding}", cause="coding"
        )
    else:
        yield Result(seen.is_json, "a JSON body", cause_of(seen, history))


def _has_media_type(seen: Seen, history: History) -> Iterator[Result]:
    if not _needs_body(seen):
        return
    words = f"Content-Type application/json, not {seen.header('Content-Type') or 'a missing one'}"
    cause = "media type"
    if not seen.is_json:
        cause = "coding" if _coding(seen) else cause_of(seen, history)
    yield Result(_is_called_json(seen), words, cause)


def _is_at_base_address(seen: Seen, _history: History) -> Iterator[Result]:
    if seen.is_success or seen.status in ELSEWHERE:
        yield Result(seen.is_success, "a list at this base address")


def _is_array(seen: Seen, _history: History) -> Iterator[Result]:
    if seen.is_success and seen.probe.has_key and seen.is_json:
        yield Result(seen.items is not None, "a JSON array")


def _has_objects(seen: Seen, _history: History) -> Iterator[Result]:
    if seen.items:
        yield Result(len(seen.objects) == len(seen.items), "only Pet objects")


def _error_of(seen: Seen) -> Mapping[str, Any] | None:
    """Return the Error of a refusal that the interface declares; None for other bodies."""
    document = seen.document
    if seen.status not in seen.operation.errors or not is_object(document):
        return None
    return None if properties(ERROR).keys().isdisjoint(document) else document


def _of_error_member(name: str) -> Check:
    def check(seen: Seen, _history: History) -> Iterator[Result]:
        error = _error_of(seen)
        if error is not None:
            yield from of_member(ERROR, name, error)

    return check


def _has_own_status(seen: Seen, _history: History) -> Iterator[Result]:
    error = _error_of(seen)
    if error is not None and isinstance(error.get("status"), int):
        yield Result(error["status"] == seen.status, f"status {seen.status} in the Error body")


def _is_error(status: int) -> Check:
    def check(seen: Seen, _history: History) -> Iterator[Result]:
        if seen.status != status or status not in seen.operation.errors:
            return
        is_error = _error_of(seen) is not None
        cause = "media type" if is_error else "error body"
        is_right = _is_called_json(seen) and is_error
        yield Result(is_right, "an Error body, as application/json", "coding" if _coding(seen) else cause)

    return check
