"""Rows about every response: HTTP, JSON, media types, the base address, and the body of an error."""

from __future__ import annotations

from functools import partial
from itertools import chain
from json import dumps
from typing import TYPE_CHECKING, Final

from petstore_mock.common.guards import is_object
from petstore_mock.common.masking import cut
from petstore_mock.interface.kinds import quick, type_of
from petstore_mock.interface.schemas import properties, required_names, violations
from petstore_mock.interface.table import ANIMAL, ERROR
from petstore_mock.verify import changes
from petstore_mock.verify.probes import ELSEWHERE, Phase, request
from petstore_mock.verify.row import EVERY, HELD, LISTS, SHOWS, SHOWS_ONE, About, Result, breach
from petstore_mock.verify.rows.checks import OF_FORM, cause_of

if TYPE_CHECKING:
    from petstore_mock.verify.row import Clause, Results, Rows
    from petstore_mock.verify.seen import History, Members, Seen

_INCOMPLETE: Final = "{} without members"  # a cause
_ERRORS: Final = tuple(sorted({*chain.from_iterable(operation.errors for operation in EVERY)}))


def rows() -> Rows:
    every = About(EVERY)
    yield every.every("1-http", "The service is an HTTP API", _is_whole)
    row = every.every("1-json-body", "Response bodies are JSON", _has_json)
    row.mistake("is-cut", "returns truncated JSON", changes.cut_short, of=SHOWS)
    yield row
    row = every.every("1-media-type", "Response bodies are application/json", _has_media_type)
    # Many clients accept any media type.
    row.send(request(LISTS[0], phase=Phase.LAST_LISTS, fields=(("Accept", "*/*"),)))
    row.mistake("as-html", "returns JSON as text/html", changes.HTML, of=SHOWS)
    yield row
    yield _of_base_address()
    yield from _of_animals()
    for name in properties(ERROR):
        about = About(EVERY, name)
        row = about.every("2-error-{short}", field_words(ERROR, name), partial(_is_error_member, name))
        row.mutant("error-{short}-missing", "error bodies have no {name}", changes.drop_field(name), _ERRORS)
        yield row
    row = every.every("7-status", "The status field of the Error body carries the HTTP status", _has_own_status)
    row.mutant(
        "error-status-other", "error bodies have the status 500", changes.set_field("status", lambda _: 500), _ERRORS
    )
    yield row
    for status in _ERRORS:
        yield _of_error(status)


def _of_base_address() -> Clause:
    row = About(LISTS).every(
        "1-base-address", "The base address includes the version path segment /v1", _is_at_base_address
    )
    row.send(*[request(one, phase=Phase.LISTS) for one in LISTS])
    row.mutant("{prefix}-not-there", "{operation} returns 404 for every valid request", changes.refuse(404))
    return row


def _of_animals() -> Rows:
    about = About(LISTS, str(LISTS[0].response))
    row = about.every("2-pets-array", "{name} is a JSON array", _is_array)
    row.mistake("wrapped", "returns the array in an object", changes.wrap)
    yield row
    row = about.says("2-pet-object", f"{{name}} is an array of {ANIMAL} objects", _has_objects)
    row.operations = SHOWS
    row.mistake("in-array", "returns the animal in an array", changes.put_in_array, of=SHOWS_ONE)
    yield row


def _of_error(status: int) -> Clause:
    declaring = [operation for operation in EVERY if status in operation.errors]
    about = About(declaring, status=status)
    row = about.says("7-{status}-error", "{status}: Error body, as application/json", partial(_is_error, status))
    row.operations = EVERY
    row.needs = f"a response with {status}"
    row.mutant("{status}-as-html", "responses with {status} have an HTML page as body", changes.ERROR_PAGE, (status,))
    return row


def field_words(kind: str, name: str) -> str:
    """Return the sentence about a property of an animal or of an error."""
    rules = properties(kind)[name]
    values = rules.get("format", rules["type"])
    if "enum" in rules:
        values = f"one of {', '.join(rules['enum'])}"
    required = ", required" if name in required_names(kind) else ""
    return f"{kind}: {name}, {values}{required}"


def of_member(kind: str, name: str, item: Members) -> Results:
    """Check a property of an animal or of an error."""
    rules = properties(kind)[name]
    if name not in item:
        missing = _missing(kind, item)
        if name in missing:
            words = f"each {kind} to have {' and '.join(missing)}; one has {', '.join(item)}"
            yield breach(words, _INCOMPLETE.format(kind))
        return
    if quick(rules)(item[name]):
        yield HELD
        return
    wrong = violations(rules, item[name], name)
    cause = other_type(kind, name, item[name])
    # The Error of a framework has members of other types, and lacks some.
    if kind == ERROR and _missing(kind, item):
        cause = _INCOMPLETE.format(kind)
    yield Result(not wrong, f"a valid {kind} ({next(iter(wrong), '')})", cause)


def _missing(kind: str, item: Members) -> list[str]:
    return [name for name in required_names(kind) if name not in item]


def other_type(kind: str, name: str, value: object) -> str:
    """Return the cause of breaches by properties of another type: numbers as texts are one mistake."""
    return f"{kind}: {type(value)} for {type_of(properties(kind)[name])}"


# Checks


def _is_called_json(seen: Seen) -> bool:
    return seen.header("Content-Type").partition(";")[0].strip().lower() == "application/json"


def _is_whole(seen: Seen, _history: History) -> Results:
    codings = seen.header("Transfer-Encoding").lower()
    yield Result(codings.count("chunked") < 2, "Transfer-Encoding: chunked only once (RFC 9112 §6.1)")


def _needs_body(seen: Seen) -> bool:
    has_schema = seen.operation.response is not None and seen.status != 204
    return seen.is_success and has_schema and not seen.shows_none


def _has_json(seen: Seen, history: History) -> Results:
    if seen.prefix:
        before = dumps(cut(seen.prefix.decode("utf-8", "backslashreplace"), 60))
        yield breach(f"a JSON body without {before} before it", "prefix")
        return
    if not _needs_body(seen):
        return
    yield Result(seen.is_json, f"a JSON body{_unlike(seen)}", cause_of(seen, history))


def _unlike(seen: Seen) -> str:
    """Return in which way a body is no JSON; empty if it is JSON, or another text."""
    coding = seen.header("Content-Encoding")
    if coding and not seen.is_json:
        return f" without a content coding (Accept-Encoding is identity), not {coding}"
    if seen.beyond_utf8:
        return f" in UTF-8, unlike `{seen.beyond_utf8}`"
    if seen.broken_at:
        return f"; its JSON breaks at {seen.broken_at}"
    return ""


def _has_media_type(seen: Seen, history: History) -> Results:
    if not _needs_body(seen):
        return
    came = seen.header("Content-Type") or "a missing one"
    cause = "media type"
    if not seen.is_json:
        cause = cause_of(seen, history) or "1-json-body"
    yield Result(_is_called_json(seen), f"Content-Type application/json, not {came}", cause)


def _is_at_base_address(seen: Seen, history: History) -> Results:
    # If another list is there, the row about successes is broken.
    is_elsewhere = seen.probe.has_key and seen.status in ELSEWHERE and not history.listed
    if seen.is_success or is_elsewhere:
        yield Result(seen.is_success, "a list at this base address")


def _is_array(seen: Seen, history: History) -> Results:
    if seen.is_readable:
        # Of several JSON values, one a line, only a list of one animal is JSON.
        is_json = all(one.is_json for one in history.lists if one.is_success)
        cause = OF_FORM if is_json else "1-json-body"
        yield Result(seen.items is not None, "a JSON array", cause)


def _has_objects(seen: Seen, _history: History) -> Results:
    if seen.items:
        cause = OF_FORM
        # The response to an accepted wrong body may have its form.
        if seen.probe.expected.status:
            cause = seen.probe.shows
        yield Result(len(seen.objects) == len(seen.items), "only Pet objects", cause)


def _error_of(seen: Seen) -> Members:
    """Return the Error of a refusal that the interface declares; empty for other bodies."""
    document = seen.document
    if not is_object(document) or seen.status not in seen.operation.errors:
        return {}
    return {} if properties(ERROR).keys().isdisjoint(document) else document


def _is_error_member(name: str, seen: Seen, _history: History) -> Results:
    error = _error_of(seen)
    if error:
        yield from of_member(ERROR, name, error)


def _has_own_status(seen: Seen, _history: History) -> Results:
    status = _error_of(seen).get("status")
    if isinstance(status, int):
        yield Result(status == seen.status, f"status {seen.status} in the Error body")


def _is_error(status: int, seen: Seen, _history: History) -> Results:
    if seen.status != status:
        return
    if status not in seen.operation.errors:
        return
    error = _error_of(seen)
    # A problem document of RFC 9457, say, has other members and another media type.
    cause = _INCOMPLETE.format(ERROR) if _missing(ERROR, error) else "media type"
    if not seen.is_json:
        cause = "1-json-body"
    words = f"an Error body, as application/json{_unlike(seen)}"
    yield Result(bool(error) and _is_called_json(seen), words, cause)
