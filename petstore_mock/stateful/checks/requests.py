"""Rules that hold on the wire, whatever a client returns: checked in the journal, not by the client's word."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.contract.interface import OPERATIONS, SENTENCES
from petstore_mock.stateful.checks.no_request import no_request_problem
from petstore_mock.stateful.model.call import QUIETLY, Problem, literal, shortened
from petstore_mock.stateful.model.error_classification import CLIENT_ERRORS, REDIRECTS
from petstore_mock.stateful.model.key_forms import PLAIN, forms
from petstore_mock.stateful.model.retry_after import hint_of, seconds_told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.journal.entry import Entry
    from petstore_mock.stateful.model.actor import Actor
    from petstore_mock.stateful.model.call import Call, Outcome

__all__ = [
    "MOST_REDIRECTIONS",
    "MOST_REQUESTS",
    "TOO_MANY",
    "asks_for",
    "is_ping",
    "left_out_the_key",
    "wire_problem",
]

_PINGS: Final = frozenset({"HEAD", "OPTIONS"})

# A call that is repeated in vain: urllib3 asks 4 times by itself, and few libraries more than 5 times. Twice that is
# a client that does not know when to stop.
MOST_REQUESTS: Final = 10

# What leads in a circle has to end as well; requests follows 30, and curl 50, and a client may try again twice.
MOST_REDIRECTIONS: Final = 150

_EARLY: Final = 0.05  # seconds: clocks and schedulers differ by this much, and a service does not mind
# Refusals that hold until the request is another one; a client may ask once more, with another key say.
_PERMANENT: Final = frozenset({400, 401, 403, 404, 405, 410, 413, 415, 422})
_MOST_REFUSALS: Final = 2
# What says that a request was not carried out; after any other failure of createPet nobody knows.
_NOT_CARRIED_OUT: Final = frozenset({301, 302, 307, 308, *CLIENT_ERRORS})


def wire_problem(
    call: Call, outcome: Outcome, entries: Sequence[Entry], actor: Actor, *, shared: bool = False
) -> Problem | None:
    """Return the first rule that the requests of one call break, or None.

    Args:
        call: what was asked of the client.
        outcome: what came of it.
        entries: its requests.
        actor: the client, with the world whose key they are to bear.
        shared: whether some of the requests may be of a thread that asks by itself, and so of no call.
    """
    if not entries:
        return no_request_problem(call, outcome, actor.petstore.journal)
    if len(entries) > MOST_REQUESTS and not shared:
        problem = _too_many(call, entries)
        if problem is not None:
            return problem
    asked = shared and any(asks_for(call, entry) for entry in entries)
    for index, entry in enumerate(entries):
        problem = (
            _misplaced_key(call, entry, actor.petstore.api_key)
            or _wrong_header(call, entry, actor.port)
            or (None if left_out_the_key(entry, entries[:index]) else _violation(call, entry, shared=shared))
            or (None if asked and entry.operation != "createPet" else _other_question(call, entry))
            or _body_of_a_get(call, entry)
        )
        if problem is not None:
            return problem
    return None if len(entries) == 1 or shared else _repeated(call, entries)


def is_ping(entry: Entry) -> bool:
    """Whether a request asks whether the service is there, and for no animal: the client's own affair."""
    return entry.method in _PINGS


def asks_for(call: Call, entry: Entry) -> bool:
    """Whether a request asks for just what the caller did."""
    is_of_it = entry.operation == call.operation and not is_ping(entry)
    return is_of_it and _other_question(call, entry) is None


def left_out_the_key(entry: Entry, before: Sequence[Entry]) -> bool:
    """Whether a request follows a redirection without the key, as a client may to be safe (RFC 9110 §15.4)."""
    is_without = entry.condition is not None and entry.condition.name == "missing_key"
    return is_without and bool(before) and before[-1].status in REDIRECTS


def _repeated(call: Call, entries: Sequence[Entry]) -> Problem | None:
    """Judge what was asked more than once, whatever was asked in between."""
    latest: dict[str | None, Entry] = {}
    refused: Counter[tuple[str, str, bytes]] = Counter()
    for second in entries:
        is_whole = second.fault is None or second.fault.loses_answer or second.fault.readable
        if second.status in _PERMANENT and is_whole:  # a library asks again for what was cut off
            request = (second.method, second.target, second.body)
            refused[request] += 1
            if refused[request] > _MOST_REFUSALS:
                return _insistence(call, second)
        first = latest.get(second.operation)
        if first is not None:
            problem = _created_again(call, first, second) or _impatience(call, first, second)
            if problem is not None:
                return problem
        latest[second.operation] = second
    return None


def _insistence(call: Call, entry: Entry) -> Problem:
    """Return what is wrong with a request that was sent again though it was refused for good."""
    check = (
        "before = len({journal})",
        *QUIETLY,
        f"refused = [(entry.method, entry.target) for entry in {{journal}}[before:] if entry.status == {entry.status}]",
        f"assert all(refused.count(request) <= {_MOST_REFUSALS} for request in refused)",
    )
    sentence = (
        f"{call} sent {entry.method} {entry.target[:80]} again and again, and was answered {entry.status} each time"
    )
    words = "a refusal says what is wrong with a request, and the same request gets the same answer"
    return Problem(sentence, "7", words, check)


TOO_MANY: Final = (
    f"rate limits are not shown: a client makes do with a few requests for each call, at most {MOST_REQUESTS} here"
)


def _too_many(call: Call, entries: Sequence[Entry]) -> Problem | None:
    """Judge more requests than a call may need: but a redirection is followed, and not asked again."""
    followed = sum(1 for entry in entries if entry.status in REDIRECTS)
    section, words, most = "8", TOO_MANY, MOST_REQUESTS
    if len(entries) - followed <= MOST_REQUESTS:
        most = MOST_REDIRECTIONS + 1  # requests: the first one is no redirection that was followed
        if followed <= most:
            return None
        section, words = "RFC 9110 §15.4", "a client ends redirections that lead in a circle"
    check = (
        "before = len({journal})",
        *QUIETLY,
        f"assert len({{journal}}) - before <= {most}",
    )
    return Problem(f"{call} sent {len(entries)} requests", section, words, check)


_DATE_PATTERN: Final = (
    "(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{4} .*"
)
_DATE: Final = re.compile(_DATE_PATTERN)
_JSON_RANGES: Final = ("*/*", "application/*", "application/json")  # media ranges (RFC 9110 §12.5.1) with JSON in them
_PLACES: Final = {"target": "the query", "body": "the body"}


def _misplaced_key(call: Call, entry: Entry, key: str) -> Problem | None:
    request = entry.request
    others = [value for name, value in request.fields if name.lower() != b"authorization"]
    found = None
    for form, name in forms(key).items():
        secret = form.encode()
        if secret in request.body or form in request.target or any(secret in value for value in others):
            found = name
            break
    if found is None:
        return None
    sentence = SENTENCES["key"]
    where, check = "beside Authorization", ["assert not {journal}.last.misplaced_keys"]
    places = " and ".join(_PLACES.get(place, place) for place in entry.misplaced_keys) or "another place"
    if found != PLAIN:
        where = f"{found}, {where}"
        check = [
            "last = {journal}.last",
            "others = [value for name, value in last.request.fields if name.lower() != b'authorization']",
            "assert not holds_key(str([last.target, last.body, *others]), {petstore}.api_key)",
        ]
    told = f"{call} sent the API key in {places}, {where}"
    lines = (*QUIETLY, *check)
    return Problem(told, sentence.section, sentence.text, lines)


def _wrong_header(call: Call, entry: Entry, port: bytes) -> Problem | None:
    """Return a request whose Host names another port, or whose Accept rules out what the interface answers."""
    given = entry.request.fields.by_name
    for host in given.get(b"host", ()):
        if not host.endswith(port) and entry.connection:  # in process there is no port
            named: Sequence[str] = (
                *QUIETLY,
                "assert '/' + {journal}.last.headers['host'] + '/' in {petstore}.url",
            )
            words = "Host is the target's authority: its host, and its port unless that is 80"
            return Problem(f"{call} sent 'Host: {host.decode('latin-1')}'", "RFC 9110 §7.2", words, named)
    for date in entry.request.values("date"):
        if not _DATE.fullmatch(date):
            dated: Sequence[str] = (
                *QUIETLY,
                "for date in {journal}.last.request.values('date'):",
                f"    assert re.fullmatch({_DATE_PATTERN!r}, date)",
            )
            told = f"{call} sent 'Date: {date}'"
            return Problem(told, "RFC 9110 §5.6.7", "a date has the English names of day and month", dated)
    if b"accept" not in given:
        return None
    accept = b", ".join(given[b"accept"]).decode("latin-1")
    if any(media in accept.lower() for media in _JSON_RANGES):
        return None
    check = (
        *QUIETLY,
        "accept = {journal}.last.headers.get('accept', '*/*')",
        f"assert any(media in accept.lower() for media in {_JSON_RANGES!r})",
    )
    sentence = SENTENCES["json"]
    return Problem(f"{call} sent 'Accept: {accept}'", sentence.section, sentence.text, check)


def _violation(call: Call, entry: Entry, *, shared: bool) -> Problem | None:
    """Return a request that the contract forbids."""
    if not entry.is_violation or _is_refused_by_a_gap(call, entry) or _is_removed(call, entry, shared=shared):
        return None
    sentence = entry.sentence
    words = sentence.text if sentence is not None else ""
    check = [
        "before = len({journal})",  # what is permitted may be a violation too: getPet after its removal
        *QUIETLY,
        "assert not any(entry.is_violation for entry in {journal}[before:])",
    ]
    if entry.condition is not None and entry.condition.name == "malformed_request":
        # What never became whole is known as such a moment after the client has given it up.
        check.insert(-1, "{journal}.wait_for(times=before + 1)")
    sent = f"{entry.method} {entry.target[:80]}"
    return Problem(f"{call} sent {sent}: {entry.reason}", entry.section or "4", words, check)


def _is_refused_by_a_gap(call: Call, entry: Entry) -> bool:
    """Whether a faithful createPet was refused for what the interface does not show: name_rule or category_rule."""
    condition = entry.condition
    if condition is None or condition.name != "invalid_body" or call.operation != "createPet":
        return False
    return bool(_json(entry.body) == call.body)


def _is_removed(call: Call, entry: Entry, *, shared: bool) -> bool:
    """Whether getPet was called after its removal because the machine asked for it, or made the date pass."""
    condition = entry.condition
    is_removed = condition is not None and condition.name.startswith("operation_removed")
    return is_removed and (shared or call.operation == "getPet")


def _json(body: bytes) -> Any:  # noqa: ANN401  # a JSON value, or None
    try:
        return json.loads(body)
    except ValueError:
        return None


def _other_question(call: Call, entry: Entry) -> Problem | None:
    """Return a valid request that asks for something else than the caller did."""
    if is_ping(entry):
        return None
    if entry.operation == call.operation:
        return {"createPet": _other_animal, "getPet": _other_id, "listPets": _other_list}[call.operation](call, entry)
    if entry.operation != "createPet":
        return None  # asking more than one operation is the client's own affair
    check = (
        *QUIETLY,
        "assert not {journal}.for_operation('createPet')",
    )
    return Problem(f"{call} sent POST {entry.target}", "4.2", "createPet adds an animal", check)


def _other_animal(call: Call, entry: Entry) -> Problem | None:
    sent = _json(entry.body)
    if _same(sent, call.body) or _was_not_asked_for_its_body(entry):
        return None
    wanted = f"{{journal}}.last.json() == {literal(call.body)}"
    shown = _shown_body(sent, call.body)
    if not entry.body:  # as of an iterator that was used up when the request was sent first
        wanted, shown = f"{{journal}}.last.body and {wanted}", "no body"
    check = (*QUIETLY, f"assert {wanted}")
    return Problem(f"{call} sent {shown}", "4.2", SENTENCES["body"].text, check)


def _was_not_asked_for_its_body(entry: Entry) -> bool:
    """Whether a request waited for ``100 (Continue)``, and was refused instead, its body unread (RFC 9110 §10.1.1)."""
    return not entry.body and entry.condition is not None and b"expect" in entry.request.fields.by_name


def _shown_body(sent: Any, wanted: dict[str, Any]) -> str:  # noqa: ANN401  # a JSON value
    """Say how a body differs from the wanted one."""
    if not isinstance(sent, dict):
        return shortened(sent)
    words = [
        f"{name}={shortened(sent[name])} instead of {shortened(value)}"
        for name, value in wanted.items()
        if name in sent and not _same({name: sent[name]}, {name: value})
    ]
    words += [f"no {name}" for name in wanted if name not in sent]
    words += [f"{name}={shortened(value)}, which was not given" for name, value in sent.items() if name not in wanted]
    return ", ".join(words)


def _other_id(call: Call, entry: Entry) -> Problem | None:
    wanted = call.arguments["pet_id"]
    if entry.path.rpartition("/")[2] == str(wanted):
        return None
    check = (
        *QUIETLY,
        f"assert {{journal}}.last.path.endswith('/{wanted}')",
    )
    return Problem(f"{call} sent GET {entry.target}, for another animal", "4.3", SENTENCES["petId"].text, check)


def _other_list(call: Call, entry: Entry) -> Problem | None:
    query, given = entry.query, call.arguments
    limit, status = given.get("limit"), given.get("status")
    right_limit = query.get("limit") == str(limit) if limit is not None else query.get("limit", "20") == "20"  # §8
    if right_limit and query.get("status") == status:
        return None
    subject = "limit" if not right_limit else "statusFilter"
    name, wanted = ("limit", limit) if not right_limit else ("status", status)
    expected = None if wanted is None else str(wanted)
    check = (
        *QUIETLY,
        f"assert {{journal}}.last.query.get({name!r}) == {expected!r}",
    )
    sentence = f"{call} sent GET {entry.target}, {_instead(name, wanted, query.get(name))}"
    return Problem(sentence, "4.1", SENTENCES[subject].text, check)


def _instead(name: str, wanted: object, sent: str | None) -> str:
    """Say how a parameter differs from the wanted one."""
    if sent is None:
        return f"without {name}={wanted!r}"
    return f"with {name}={sent}, which was not given" if wanted is None else f"with {name}={sent} instead of {wanted!r}"


def _same(sent: object, wanted: dict[str, Any]) -> bool:
    """Whether the values are equal and of the same types: ``1 == True`` and ``1 == 1.0`` in Python alone."""
    return (
        isinstance(sent, dict)
        and sent == wanted
        and all(type(sent[name]) is type(value) for name, value in wanted.items())
    )


def _body_of_a_get(call: Call, entry: Entry) -> Problem | None:
    if entry.method != "GET" or not entry.body:
        return None
    check = (*QUIETLY, "assert not {journal}.last.body")
    section = OPERATIONS[call.operation].section
    return Problem(f"{call} sent a body of {len(entry.body)} bytes with GET", section, "Request body: none", check)


def _created_again(call: Call, first: Entry, second: Entry) -> Problem | None:
    """Return a second createPet after one that may have been carried out."""
    if first.operation != "createPet" or second.operation != "createPet" or first.status in _NOT_CARRIED_OUT:
        return None
    came = f"it was answered {first.status}" if first.status is not None else "its answer was lost"
    if first.status is not None and first.fault is not None:
        came += f" (fault {first.fault})"
    check = (
        "before = len({journal}.for_operation('createPet'))",
        *QUIETLY,
        "assert len({journal}.for_operation('createPet')) == before + 1",
    )
    words = (
        "every createPet adds an animal: POST is not idempotent (RFC 9110 §9.2.2), "
        "and the first may have been carried out"
    )
    return Problem(f"{call} sent POST /pets again when {came}", "4.2", words, check)


def _impatience(call: Call, first: Entry, second: Entry) -> Problem | None:
    """Return a repeated request that came before the time that ``Retry-After`` gave (RFC 9110 §10.2.3)."""
    asked, wanted = hint_of(first), seconds_told(first)
    if asked is None or wanted is None:
        return None
    waited = second.request.started - first.request.started
    if waited >= min(wanted) - _EARLY:  # one whose clock is ahead of the service's may go by its own
        return None
    check = [
        "before = len({journal})",
        *QUIETLY,
        f"sent = [entry for entry in {{journal}}[before:] if entry.operation == {second.operation!r}]",
    ]
    if asked.isdecimal():
        wait = f"{wanted.by_service - _EARLY:.2f}"
        check.append(f"assert len(sent) < 2 or sent[1].request.started - sent[0].request.started >= {wait}")
    else:  # a date has whole seconds: how far it is away is for the test to find out when it runs
        check.insert(0, "time.sleep(1 - time.time() % 1)  # most of a second before the next date")
        check += [
            "date = sent[0].response_headers.get('retry-after') if len(sent) > 1 else None",
            "until = 0 if date is None else email.utils.parsedate_to_datetime(date).timestamp()",
            f"assert len(sent) < 2 or sent[1].timestamp >= until - {_EARLY}",
        ]
    words = "Retry-After says how long to wait before another request; a client waits as long, or does not ask again"
    sentence = f"{call} asked again {waited:.2f} s after {first.status} with 'Retry-After: {asked}'"
    return Problem(sentence, "RFC 9110 §10.2.3", words, check)
