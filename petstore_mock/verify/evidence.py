"""Which choice a service makes where the interface shows nothing: one function for each gap that clients lean on.

A function reads exchanges, whether the tool sent them or a recording has them, and yields what each shows: the
exchange, the chosen alternative (None for a choice that is none of ours), and what was seen in it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut
from petstore_mock.common.values import counted, is_integer
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.schemas import parameters, properties, schema, violations
from petstore_mock.verify.probes import LONG_NAME, UNKNOWN_FIELD
from petstore_mock.verify.seen import History, Seen, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_ENOUGH_FOR_ORDER: Final = 5  # animals of a list: four are in any given order once in 24 times
_ENOUGH_IDS: Final = 4  # created animals
_ENOUGH_REQUESTS: Final = 5  # to say that their number does not matter
_SURELY_SHOWN: Final = 50  # animals of a list of at most 100, below which no page is full
_LEAP: Final = 1_000_000  # between two ids: more than others create meanwhile

Sighting: TypeAlias = tuple[Seen, "str | None", str]
Evidence: TypeAlias = "Callable[[History], Iterator[Sighting]]"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of a gap.

    Attributes:
        gap: its name.
        choice: the alternative, or None.
        evidence: what showed it, or why it can't be told.
        kind: ``learned``; ``not_observable``; ``not_looked_at``; ``neither`` where the service chooses something else
            than our alternatives; ``contradictory`` where it chose one alternative, then another.
        answers: how many responses speak for it.
    """

    gap: str
    choice: str | None
    evidence: str
    kind: str
    answers: int = 0


EVIDENCE: Final[dict[str, tuple[str, Evidence]]] = {}  # what it takes to see a gap, and the function
# These show in one response, whatever the others show.
_ONCE_IS_ENOUGH: Final = {"extra_response_fields": "present", "deprecation_headers": "present", "page_fill": "short"}
_CREATED: Final = "it takes creating an animal (--allow-create)"


def findings(history: History, keys: tuple[str, ...]) -> dict[str, Finding]:
    """Return what the exchanges show of every gap, by name; no evidence shows one of ``keys``."""
    return {name: _finding(name, history, keys) for name in GAPS}


def _finding(gap: str, history: History, keys: tuple[str, ...]) -> Finding:
    if gap not in EVIDENCE:
        return Finding(gap, None, "not looked at", "not_looked_at")
    needs, evidence = EVIDENCE[gap]
    found = [(choice, f"{seen.line} -> {seen.status} {words}".strip()) for seen, choice, words in evidence(history)]
    if not found:
        return Finding(gap, None, needs, "not_observable")
    found = [one for one in found if one[0] == _ONCE_IS_ENOUGH.get(gap, "")] or found
    choices, examples = Counter(choice for choice, _ in found), dict(reversed(found))
    choice, kind = next(iter(choices)), "learned"
    words = f"{counted(len(found), 'answer')}: {examples[choice]}"
    if len(choices) > 1:
        told = [f"{one or 'something else'} {count} times ({examples[one]})" for one, count in choices.most_common()]
        choice, kind, words = None, "contradictory", f"contradictory: {', and '.join(told)}"
    elif choice is None:
        kind, words = "neither", f"none of {', '.join(GAPS[gap].alternatives)}: {examples[None]}"
    return Finding(gap, choice, shown(words, keys), kind, len(found))


def _shows(gap: str, needs: str) -> Callable[[Evidence], Evidence]:
    def enter(evidence: Evidence) -> Evidence:
        EVIDENCE[gap] = needs, evidence
        return evidence

    return enter


# Selecting exchanges


def _answered(history: History) -> Iterator[Seen]:
    return (seen for seen in history.exchanges if seen.operation is not None and (seen.is_success or seen.is_refusal))


def _own(history: History, effect: str) -> Iterator[Seen]:
    own = (seen for seen in _answered(history) if seen.effect == effect and seen.has_key)
    return (seen for seen in own if seen.status not in {401, 403, 429})


def _lists(history: History) -> Iterator[tuple[Seen, int | None]]:
    """Yield lists with the number of their animals, None for a refusal."""
    return ((seen, None if seen.items is None else len(seen.items)) for seen in _own(history, "lists"))


def _is_plain(seen: Seen) -> bool:
    """Whether a list was asked for as the interface shows it."""
    rules: Mapping[str, Mapping[str, Any]] = parameters(seen.operation) if seen.operation is not None else {}
    names = [name for name, _ in seen.query]
    allowed = all(value in rules.get(name, {}).get("enum", [value]) for name, value in seen.query)
    return len({*names}) == len(names) and {*names} <= {*rules} and allowed and 1 <= (seen.limit or 0) <= 100


# What is accepted


@_shows("invalid_limit", "it takes two animals, or a refusal")
def _invalid_limit(history: History) -> Iterator[Sighting]:
    for seen, count in _lists(history):
        limit = seen.limit
        if limit is None or 1 <= limit <= 100:
            continue
        there = len(history.standing(seen))
        if seen.is_refusal:
            yield seen, "reject", ""
        elif limit < 1 and there > 1:
            yield seen, {0: None, 1: "clamp"}.get(count or 0, "ignore"), f"with {count} animals"
        elif limit > 100 and there > 20:
            yield seen, "clamp" if (count or 0) > 20 else "ignore", f"with {count} animals"


@_shows("invalid_status_filter", "it takes an animal, or a refusal")
def _invalid_status_filter(history: History) -> Iterator[Sighting]:
    allowed = properties("Pet")["status"]["enum"]
    for seen, count in _lists(history):
        if seen.filters.get("status", allowed[0]) in allowed:
            continue
        if seen.is_refusal:
            yield seen, "reject", ""
        elif seen.items or history.views:
            yield seen, "ignore" if count else "empty", f"with {count} animals"


@_shows("unknown_query", "no list with an unknown parameter was answered")
def _unknown_query(history: History) -> Iterator[Sighting]:
    for seen, _ in _lists(history):
        if seen.operation and {name for name, _ in seen.query} - {*parameters(seen.operation)}:
            yield seen, "reject" if seen.is_refusal else "ignore", ""


@_shows("repeated_query", "it takes two animals, or a refusal")
def _repeated_query(history: History) -> Iterator[Sighting]:
    for seen, count in _lists(history):
        limits = [int(value) for name, value in seen.query if name == "limit" and value.isdecimal()]
        if len(limits) != 2 or len(seen.query) > 2 or limits[0] == limits[1]:
            continue
        there = len(history.standing(seen) | {*history.views})
        if seen.is_refusal:
            yield seen, "reject", ""
        elif there >= 2 and count is not None:
            is_larger = count > min(limits)  # a page may be short, but never too long
            choice = "last" if is_larger is (limits[1] > limits[0]) else "first"
            yield seen, choice if count else None, f"with {count} animals"


def _creates(history: History, *, json: bool = True) -> Iterator[tuple[Seen, Mapping[str, Any]]]:
    for seen in _own(history, "creates"):
        if seen.sent and seen.exchange.request.fields.is_json is json:
            yield seen, seen.sent


def _is_usual(sent: Mapping[str, Any], but: str = "") -> bool:
    """Whether no service would refuse a body for another field than ``but``."""
    usual: dict[str, Any] = {"name": "x", "categoryId": 1, "status": "sold"}
    pet: dict[str, Any] = {name: usual.get(name, value) if name == but else value for name, value in sent.items()}
    pet.pop(but if but not in usual else "", None)
    is_right = not violations(schema("NewPet"), pet, "") and pet["categoryId"] > 0
    return is_right and 0 < len(pet["name"]) < LONG_NAME and not pet.keys() - properties("NewPet").keys()


def _accepts(field: str, is_it: Callable[[Any], bool], refused: str, created: str) -> tuple[str, Evidence]:
    """Tell whether a body that is odd in one field is refused or creates an animal."""

    def evidence(history: History) -> Iterator[Sighting]:
        for seen, sent in _creates(history):
            if field in sent and is_it(sent[field]) and _is_usual(sent, field):
                yield seen, refused if seen.is_refusal else created, f"for {cut(seen.exchange.body_text or '', 80)}"

    return _CREATED, evidence


EVIDENCE["unknown_body_field"] = _accepts(UNKNOWN_FIELD, lambda _: True, "reject", "ignore")
EVIDENCE["null_status"] = _accepts("status", lambda value: value is None, "reject", "as_omitted")
EVIDENCE["integral_float"] = _accepts(
    "categoryId", lambda value: isinstance(value, float) and value.is_integer(), "reject", "accept"
)
EVIDENCE["category_rule"] = _accepts("categoryId", lambda value: is_integer(value) and value <= 0, "positive", "any")


@_shows("name_rule", f"{_CREATED}: one without a name, one with a long one")
def _name_rule(history: History) -> Iterator[Sighting]:
    names = [(seen, sent["name"]) for seen, sent in _creates(history) if isinstance(sent.get("name"), str)]
    empty = [seen for seen, name in names if not name and _is_usual(seen.sent, "name")]
    long = [seen for seen, name in names if len(name) >= LONG_NAME and _is_usual(seen.sent, "name")]
    for one, other in zip(empty, long, strict=False):
        choices = {(True, True): "any", (False, True): "non_empty", (True, False): "max_255"}
        words = f'for the name "", {other.status} for a name of {LONG_NAME} characters'
        yield one, choices.get((one.is_success, other.is_success)), words


@_shows("malformed_pet_id", "no getPet with an id that is no integer was answered")
def _malformed_pet_id(history: History) -> Iterator[Sighting]:
    for seen in _own(history, "reads"):
        if not seen.pet_id.lstrip("-").isdecimal() and seen.status != 410:
            yield seen, {404: "not_found", 400: "bad_request"}.get(seen.status), ""


@_shows("media_type", _CREATED)
def _media_type(history: History) -> Iterator[Sighting]:
    for seen, sent in _creates(history, json=False):
        if _is_usual(sent):
            choice = {415: "unsupported_415", 400: "bad_request", 201: "accept"}.get(seen.status)
            yield seen, choice, f"for Content-Type: {seen.exchange.headers.get('content-type', 'none')}"


# What a response says


@_shows("status_when_omitted", _CREATED)
def _status_when_omitted(history: History) -> Iterator[Sighting]:
    for seen, sent in _creates(history):
        if seen.is_success and "status" not in sent and is_object(seen.document):
            status = str(seen.document.get("status", "absent"))
            yield seen, status if status in GAPS["status_when_omitted"].alternatives else None, f"with status {status}"


@_shows("list_order", f"it takes a list of {_ENOUGH_FOR_ORDER} animals whose ids and names are in different orders")
def _list_order(history: History) -> Iterator[Sighting]:
    lists = [seen for seen in _own(history, "lists") if len(seen.pets) >= _ENOUGH_FOR_ORDER]
    ids = [[pet["id"] for pet in seen.pets] for seen in lists]
    names = [[str(pet.get("name")) for pet in seen.pets] for seen in lists]
    orders = {
        "id_ascending": all(found == sorted(found) for found in ids),
        "id_descending": all(found == sorted(found, reverse=True) for found in ids),
        "by_name": all(found == sorted(found) for found in names),
    }
    fitting = [choice for choice, fits in orders.items() if fits]
    if len(fitting) == 1:
        yield from ((seen, fitting[0], f"with {len(seen.pets)} animals") for seen in lists)
    if fitting:
        return

    def group(seen: Seen) -> tuple[str, int]:
        """Return what lists of the same animals share: the target, and how many animals were created before."""
        return seen.target, sum(made.number < seen.number for made in history.created)

    pairs = pairwise(sorted(lists, key=group))
    same = [_is_same_order(one, other) for one, other in pairs if group(one) == group(other)]
    if same:
        words = f"by neither id nor name, and in the same order {same.count(True)} times of {len(same)}"
        yield lists[0], "arbitrary_stable" if all(same) else "arbitrary", words


def _is_same_order(one: Seen, other: Seen) -> bool:
    first, second = ([pet["id"] for pet in seen.pets] for seen in (one, other))
    common = {*first} & {*second}
    is_same = [one for one in first if one in common] == [one for one in second if one in common]
    return is_same and len(common) >= _ENOUGH_FOR_ORDER - 1  # else other animals come each time


@_shows("page_fill", "it takes more animals than a limit")
def _page_fill(history: History) -> Iterator[Sighting]:
    for seen, count in _lists(history):
        limit = seen.limit
        if limit is None or count is None or not _is_plain(seen):
            continue
        there = len(history.standing(seen))
        if count < min(limit, there):
            yield seen, "short" if count else None, f"with {count} of at least {there} animals"
        elif limit >= 2 and count == limit:
            yield seen, "full", f"with {count} animals"


@_shows("id_assignment", f"it takes creating {_ENOUGH_IDS} animals (--allow-create)")
def _id_assignment(history: History) -> Iterator[Sighting]:
    ids: list[int] = [seen.pets[0]["id"] for seen in history.created]
    if len(ids) < _ENOUGH_IDS:
        return
    steps = [later - former for former, later in pairwise(ids)]
    choice = "sparse" if min(steps) > 0 else None
    if {*steps} == {1}:
        choice = "beyond_2_53" if min(ids) > 2**53 else "sequential"
    elif max(map(abs, steps)) >= _LEAP:
        choice = "random_int64" if min(ids) >= 0 else None
    yield history.created[0], choice, f"and so on, ids: {', '.join(map(str, ids[:4]))}, ..."


@_shows("error_codes", "no error was answered")
def _error_codes(history: History) -> Iterator[Sighting]:
    errors = [seen for seen in _answered(history) if seen.is_refusal and is_object(seen.document)]
    codes = [(seen, seen.document["code"]) for seen in errors if "code" in seen.document]

    def fits(code_of: Any) -> bool:  # noqa: ANN401  # an alternative of any gap
        known = {(one.status, code_of(one.code, one.status)) for one in CONDITIONS.values()}
        return all((seen.status, str(code)) in known for seen, code in codes)

    fitting = [choice for choice, code_of in GAPS["error_codes"].alternatives.items() if fits(code_of)]
    yield from ((seen, fitting[0] if fitting else None, f"with code {code}") for seen, code in codes)


@_shows("extra_response_fields", "no animal and no error was answered")
def _extra_response_fields(history: History) -> Iterator[Sighting]:
    for seen in _answered(history):
        name = "Error" if seen.is_refusal else "Pet"
        documents: list[Any] = [*seen.document] if is_array(seen.document) else [seen.document]
        for document in documents:
            if is_object(document) and {*schema(name)["required"]} <= document.keys():
                # A service may keep the field that the tool itself has sent.
                further = sorted(document.keys() - properties(name).keys() - {UNKNOWN_FIELD})
                yield seen, "present" if further else "none", f"with {', '.join(further) or 'no further field'}"


@_shows("after_removal", "getPet's removal date has not come, by the service's own Date; or no list showed an animal")
def _after_removal(history: History) -> Iterator[Sighting]:
    for seen in _own(history, "reads"):
        if history.is_removed(seen) and seen.pet_id.isdecimal() and history.is_known(int(seen.pet_id), seen.number):
            yield seen, {410: "gone", 404: "not_found", 200: "still_served"}.get(seen.status), ""


# How a response looks


@_shows("paging_headers", "no list was answered")
def _paging_headers(history: History) -> Iterator[Sighting]:
    lists = [seen for seen in _own(history, "lists") if seen.is_success]
    has_next = any('rel="next"' in seen.header("Link") for seen in lists)  # which no short list has
    for seen in lists:
        link, total = seen.header("Link"), seen.header("X-Total-Count")
        others = [name for name in ("Content-Range", "X-Next-Page", "X-Total", "X-Pagination") if seen.header(name)]
        choice = ("next_link" if has_next else "link") if link else "total_count" if total else "none"
        words = f"with {', '.join(others) or link or total or 'no paging header'}"
        yield seen, None if others or (link and total) else choice, words


@_shows("location_header", _CREATED)
def _location_header(history: History) -> Iterator[Sighting]:
    for seen in history.created:
        location = seen.header("Location")
        yield seen, "present" if location else "absent", f"with Location: {location or 'none'}"


@_shows("deprecation_headers", "no getPet was answered")
def _deprecation_headers(history: History) -> Iterator[Sighting]:
    for seen in _own(history, "reads"):
        if seen.status in {200, 404, 410} and seen.pet_id.isdecimal():
            told = [name for name in ("Deprecation", "Sunset") if seen.header(name)]
            words = " and ".join(told) or "neither Deprecation nor Sunset"
            yield seen, "present" if told else "absent", f"with {words}"


@_shows("content_type", "no JSON was answered")
def _content_type(history: History) -> Iterator[Sighting]:
    for seen in _answered(history):
        media, semicolon, rest = seen.header("Content-Type").lower().partition(";")
        if media.strip() == "application/json":
            is_charset = rest.strip().replace('"', "") == "charset=utf-8"
            choice = "plain" if not semicolon else "with_charset" if is_charset else None
            yield seen, choice, seen.header("Content-Type")


# What happens without the client's doing


@_shows("rate_limit", f"fewer than {_ENOUGH_REQUESTS} requests were answered")
def _rate_limit(history: History) -> Iterator[Sighting]:
    limited = [seen for seen in history.exchanges if seen.status == 429]
    for seen in limited:
        asked = seen.header("Retry-After")
        choice = "retry_after_seconds" if asked.isdecimal() else "retry_after_date" if asked else None
        yield seen, choice, f"with Retry-After: {asked or 'none'}, at request {seen.number}"
    answered = [*_answered(history)]
    if not limited and len(answered) >= _ENOUGH_REQUESTS:
        yield answered[0], "none", f"and no 429 in {len(answered)} answers"


@_shows("visibility", f"{_CREATED} and reading it at once; where getPet is removed, from a list that is not full")
def _visibility(history: History) -> Iterator[Sighting]:
    for made in history.created:
        pet_id = made.pets[0]["id"]
        seen = next((seen for seen in history.exchanges if seen.number == made.number + 1), made)
        if seen is not made and any(pet["id"] == pet_id for pet in seen.pets):
            yield seen, "immediate", "right after it was created"
            continue
        would_show = seen.status == 404 and not history.is_removed(seen) and seen.pet_id == str(pet_id)
        if seen.items is not None and seen is not made:
            would_show = seen.limit == 100 and len(seen.items) < _SURELY_SHOWN and not seen.filters
        if would_show and history.around(pet_id, seen.number)[1]:
            yield seen, "delayed", "without it, and later it was there"
