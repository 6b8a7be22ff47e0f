"""Which choice a service makes where the interface shows nothing: one function for each gap that clients lean on.

A function reads exchanges, whether the tool sent them or a recording has them, and yields what each shows: the chosen
alternative, or None for a choice that is none of ours; and in both cases what was seen.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut
from petstore_mock.common.values import counted, is_integer
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.schemas import is_valid, parameters, properties, schema
from petstore_mock.verify.probes import LONG_NAME, UNKNOWN_FIELD
from petstore_mock.verify.seen import History, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from petstore_mock.verify.seen import Seen

_ENOUGH_FOR_ORDER: Final = 5  # animals of a list: four are in any given order once in 24 times
_ENOUGH_IDS: Final = 4  # created animals
_ENOUGH_REQUESTS: Final = 5  # to say that their number does not matter
_SURELY_SHOWN: Final = 50  # animals of a list of at most 100, below which no page is full
_LEAP: Final = 1_000_000  # between two ids: more than others create meanwhile


class Sighting(NamedTuple):
    """What one exchange, or some of them, show of a gap."""

    choice: str | None
    words: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of a gap.

    Attributes:
        gap: its name.
        choice: the alternative, or None.
        evidence: what showed it, or why it can't be told.
        kind: ``learned``; ``not_observable``; ``not_looked_at``; ``neither`` where the service chooses something else than
            our alternatives; ``contradictory`` where it chose one alternative, then another.
        answers: how many responses speak for it.
    """

    gap: str
    choice: str | None
    evidence: str
    kind: str
    answers: int = 0


Evidence = "Callable[[History], Iterable[Sighting]]"
EVIDENCE: Final[dict[str, tuple[str, Callable[[History], Iterable[Sighting]]]]] = {}  # what it takes, and the function
_CREATED: Final = "it takes creating an animal (--allow-create)"


def findings(history: History, keys: tuple[str, ...]) -> dict[str, Finding]:
    """Return what the exchanges show of every gap, by name; no evidence shows one of ``keys``."""
    return {name: _finding(name, history, keys) for name in GAPS}


def _finding(gap: str, history: History, keys: tuple[str, ...]) -> Finding:
    if gap not in EVIDENCE:
        return Finding(gap, None, "not looked at", "not_looked_at")
    needs, evidence = EVIDENCE[gap]
    sightings = list(evidence(history))
    if not sightings:
        return Finding(gap, None, needs, "not_observable")
    once = [sighting for sighting in sightings if sighting.choice == _ONCE_IS_ENOUGH.get(gap, "")]
    sightings = once or sightings
    count, choice = len(sightings), sightings[0].choice
    choices = Counter(sighting.choice for sighting in sightings)
    if len(choices) > 1:
        examples = {sighting.choice: sighting.words for sighting in reversed(sightings)}
        told = [f"{one or 'something else'} {times} times ({examples[one]})" for one, times in choices.most_common()]
        return Finding(gap, None, shown(f"contradictory: {', and '.join(told)}", keys), "contradictory", count)
    if choice is None:
        words = f"none of {', '.join(GAPS[gap].alternatives)}: {sightings[0].words}"
        return Finding(gap, None, shown(words, keys), "neither", count)
    return Finding(gap, choice, shown(f"{counted(count, 'answer')}: {sightings[0].words}", keys), "learned", count)


# These show in one response, whatever the others show.
_ONCE_IS_ENOUGH: Final[Mapping[str, str]] = {
    "extra_response_fields": "present",
    "deprecation_headers": "present",
    "page_fill": "short",
}


def _shows(gap: str, needs: str) -> Callable[[Callable[[History], Iterator[Sighting]]], None]:
    def enter(evidence: Callable[[History], Iterator[Sighting]]) -> None:
        EVIDENCE[gap] = needs, evidence

    return enter


# Selecting exchanges


def _answered(history: History) -> Iterator[Seen]:
    return (seen for seen in history.exchanges if seen.operation is not None and 200 <= seen.status < 500 and not seen.failure)


def _own(history: History, effect: str) -> Iterator[Seen]:
    for seen in _answered(history):
        is_let_in = seen.has_key and seen.status not in {401, 403, 429}
        if is_let_in and seen.operation is not None and seen.operation.effect == effect:
            yield seen


def _came(seen: Seen) -> str:
    return f"{seen.line} -> {seen.status}"


def _is_plain(seen: Seen) -> bool:
    """Whether a list was asked for as the interface shows it."""
    rules = parameters(seen.operation) if seen.operation is not None else {}
    names = [name for name, _ in seen.query]
    allowed = all(value in rules.get(name, {}).get("enum", [value]) for name, value in seen.query)
    return len({*names}) == len(names) and {*names} <= {*rules} and allowed and 1 <= (seen.limit or 0) <= 100


# What is accepted


@_shows("invalid_limit", "it takes two animals, or a refusal")
def _invalid_limit(history: History) -> Iterator[Sighting]:
    for seen in _own(history, "lists"):
        limit, there = seen.limit, len(history.standing(seen.number, seen.filters))
        if limit is None or 1 <= limit <= 100:
            continue
        count = len(seen.items or ())
        words = f"{_came(seen)} with {count} animals"
        if seen.is_refusal:
            yield Sighting("reject", _came(seen))
        elif limit < 1 and there > 1:
            yield Sighting({0: None, 1: "clamp"}.get(count, "ignore"), words)
        elif limit > 100 and there > 20:
            yield Sighting("clamp" if count > 20 else "ignore", words)


@_shows("invalid_status_filter", "it takes an animal, or a refusal")
def _invalid_status_filter(history: History) -> Iterator[Sighting]:
    for seen in _own(history, "lists"):
        allowed: Any = properties("Pet")["status"]["enum"]
        if seen.filters.get("status", allowed[0]) not in allowed:
            if seen.is_refusal:
                yield Sighting("reject", _came(seen))
            elif history.standing(seen.number, {}) and seen.items is not None:
                words = f"{_came(seen)} with {len(seen.items)} animals"
                yield Sighting("ignore" if seen.items else "empty", words)


@_shows("unknown_query", "no list with an unknown parameter was answered")
def _unknown_query(history: History) -> Iterator[Sighting]:
    for seen in _own(history, "lists"):
        if seen.operation and {name for name, _ in seen.query} - {*parameters(seen.operation)}:
            yield Sighting("reject" if seen.is_refusal else "ignore", _came(seen))


@_shows("repeated_query", "it takes two animals, or a refusal")
def _repeated_query(history: History) -> Iterator[Sighting]:
    for seen in _own(history, "lists"):
        limits = [value for name, value in seen.query if name == "limit" and value.isdecimal()]
        if len(limits) != 2 or len(seen.query) > 2 or limits[0] == limits[1]:
            continue
        there, sizes = len(history.standing(seen.number, {})), [int(limit) for limit in limits]
        if seen.is_refusal:
            yield Sighting("reject", _came(seen))
        elif there >= 2 and seen.items is not None:
            nearest = min((0, 1), key=lambda at: abs(min(sizes[at], there) - len(seen.items or ())))
            choice = None if not seen.items else ("first", "last")[nearest]
            yield Sighting(choice, f"{_came(seen)} with {len(seen.items)} animals")


def _creates(history: History) -> Iterator[tuple[Seen, Mapping[str, Any]]]:
    for seen in _own(history, "creates"):
        if is_object(seen.sent) and seen.exchange.request.fields.is_json and not seen.exchange.cut_request:
            yield seen, seen.sent


def _is_usual(sent: Mapping[str, Any], but: str = "") -> bool:
    """Whether no service would refuse a body, or only for the field ``but``."""
    pet = {name: value for name, value in sent.items() if name != but}
    usual = {"name": "x", "categoryId": 1} | {name: value for name, value in pet.items()}
    lengths = "name" in (but, *()) or 0 < len(str(usual["name"])) < LONG_NAME
    return is_valid("NewPet")(usual) and lengths and usual["categoryId"] > 0 and schema("NewPet")["required"] <= [*usual]


def _accepts(odd: str, is_it: Callable[[Any], bool], refused: str, created: str) -> Callable[[History], Iterator[Sighting]]:
    """Tell whether a body that is odd in one field is refused or creates an animal."""

    def evidence(history: History) -> Iterator[Sighting]:
        for seen, sent in _creates(history):
            if odd in sent and is_it(sent[odd]) and _is_usual(sent, odd):
                choice = refused if seen.is_refusal else created if seen.is_success else None
                yield Sighting(choice, f"{_came(seen)} for {cut(seen.exchange.body_text or '', 80)}")

    return evidence


def _is_float(value: object) -> bool:
    return isinstance(value, float) and value.is_integer() and value > 0


EVIDENCE["unknown_body_field"] = _CREATED, _accepts(UNKNOWN_FIELD, lambda _: True, "reject", "ignore")
EVIDENCE["null_status"] = _CREATED, _accepts("status", lambda value: value is None, "reject", "as_omitted")
EVIDENCE["integral_float"] = _CREATED, _accepts("categoryId", _is_float, "reject", "accept")
EVIDENCE["category_rule"] = (
    _CREATED,
    _accepts("categoryId", lambda value: is_integer(value) and value <= 0, "positive", "any"),
)


@_shows("name_rule", f"{_CREATED}: one without a name, one with a long one")
def _name_rule(history: History) -> Iterator[Sighting]:
    taken: dict[int, Seen] = {}
    for seen, sent in _creates(history):
        name = sent.get("name")
        if isinstance(name, str) and not 0 < len(name) < LONG_NAME and _is_usual(sent, "name"):
            taken[min(len(name), LONG_NAME)] = seen
    if len(taken) == 2:
        empty, long = taken[0], taken[LONG_NAME]
        choices = {(True, True): "any", (False, True): "non_empty", (True, False): "max_255"}
        words = f'{empty.status} for the name "", {long.status} for a name of 256 characters'
        yield Sighting(choices.get((empty.is_success, long.is_success)), words)


@_shows("malformed_pet_id", "no getPet with an id that is no integer was answered")
def _malformed_pet_id(history: History) -> Iterator[Sighting]:
    for seen in _own(history, "reads"):
        if not seen.pet_id.lstrip("-").isdecimal() and seen.status != 410:
            yield Sighting({404: "not_found", 400: "bad_request"}.get(seen.status), _came(seen))


@_shows("media_type", _CREATED)
def _media_type(history: History) -> Iterator[Sighting]:
    for seen in _own(history, "creates"):
        if is_object(seen.sent) and not seen.exchange.request.fields.is_json and _is_usual(seen.sent):
            choice = {415: "unsupported_415", 400: "bad_request", 201: "accept"}.get(seen.status)
            yield Sighting(choice, f"{_came(seen)} for Content-Type: {seen.exchange.headers.get('content-type', 'none')}")


# What a response says


@_shows("status_when_omitted", _CREATED)
def _status_when_omitted(history: History) -> Iterator[Sighting]:
    for seen, sent in _creates(history):
        if seen.is_success and "status" not in sent and is_object(seen.document):
            status = str(seen.document.get("status", "absent"))
            is_ours = status in GAPS["status_when_omitted"].alternatives
            yield Sighting(status if is_ours else None, f"{_came(seen)} with status {status}")


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
        yield from (Sighting(fitting[0], f"{_came(seen)} with {len(seen.pets)} animals") for seen in lists)
    if fitting:
        return
    latest: dict[str, list[int]] = {}
    same: list[bool] = []
    for seen, found in zip(lists, ids, strict=True):
        if seen.target in latest:
            same.append(_same_order(latest[seen.target], found))
        latest[seen.target] = found
    if not all(same):
        yield Sighting("arbitrary", f"the same list came in another order, {same.count(False)} times of {len(same)}")
    elif same:
        words = f"lists by neither id nor name, and the same again {len(same)} times"
        yield Sighting("arbitrary_stable", words)


def _same_order(first: list[int], second: list[int]) -> bool:
    common = {*first} & {*second}
    if len(common) < _ENOUGH_FOR_ORDER - 1:
        return False  # other animals each time
    return [one for one in first if one in common] == [one for one in second if one in common]


@_shows("page_fill", "it takes more animals than a limit")
def _page_fill(history: History) -> Iterator[Sighting]:
    for seen in _own(history, "lists"):
        limit, count = seen.limit, len(seen.items or ())
        if limit is None or seen.items is None or not _is_plain(seen):
            continue
        there = len(history.standing(seen.number, seen.filters) | {pet["id"] for pet in seen.pets})
        if count < min(limit, there):
            yield Sighting("short" if count else None, f"{_came(seen)} with {count} of at least {there} animals")
        elif limit >= 2 and count == limit:
            yield Sighting("full", f"{_came(seen)} with {count} animals")


@_shows("id_assignment", f"it takes creating {_ENOUGH_IDS} animals (--allow-create)")
def _id_assignment(history: History) -> Iterator[Sighting]:
    ids = [seen.pets[0]["id"] for seen in history.created]
    if len(ids) < _ENOUGH_IDS:
        return
    steps = [later - former for former, later in pairwise(ids)]
    choice = None
    if {*steps} == {1}:
        choice = "beyond_2_53" if min(ids) > 2**53 else "sequential"
    elif max(map(abs, steps)) >= _LEAP:
        choice = "random_int64" if min(ids) >= 0 else None
    elif min(steps) > 0:
        choice = "sparse"
    yield Sighting(choice, f"{len(ids)} ids: {', '.join(map(str, ids[:4]))}, ...")


@_shows("error_codes", "no error was answered")
def _error_codes(history: History) -> Iterator[Sighting]:
    errors = [seen for seen in _answered(history) if seen.is_refusal and is_object(seen.document)]
    codes = [(str(seen.document.get("code")), seen) for seen in errors if "code" in seen.document]
    fitting = [
        choice
        for choice, code_of in GAPS["error_codes"].alternatives.items()
        if callable(code_of)
        and all(code in {code_of(one.code, one.status) for one in CONDITIONS.values() if one.status == seen.status} for code, seen in codes)
    ]
    yield from (Sighting(fitting[0] if fitting else None, f"{_came(seen)} with code {code}") for code, seen in codes)


@_shows("extra_response_fields", "no animal and no error was answered")
def _extra_response_fields(history: History) -> Iterator[Sighting]:
    for seen in _answered(history):
        name = "Error" if seen.is_refusal else "Pet"
        for document in seen.document if is_array(seen.document) else [seen.document]:
            if is_object(document) and {*schema(name)["required"]} <= document.keys():
                # A service may keep the field that the tool itself has sent.
                further = document.keys() - properties(name).keys() - {UNKNOWN_FIELD}
                words = f"{_came(seen)} with {', '.join(sorted(further)) or 'no further field'}"
                yield Sighting("present" if further else "none", words)


@_shows("after_removal", "getPet's removal date has not come, by the service's own Date; or no list showed an animal")
def _after_removal(history: History) -> Iterator[Sighting]:
    for seen in _own(history, "reads"):
        if history.is_removed(seen) and seen.pet_id.isdecimal() and history.seen_before(int(seen.pet_id), seen.number):
            yield Sighting({410: "gone", 404: "not_found", 200: "still_served"}.get(seen.status), _came(seen))


# How a response looks


@_shows("paging_headers", "no list was answered")
def _paging_headers(history: History) -> Iterator[Sighting]:
    lists = [seen for seen in _own(history, "lists") if seen.is_success]
    has_next = any('rel="next"' in (seen.header("Link") or "") for seen in lists)  # which no short list has
    for seen in lists:
        link, total = seen.header("Link"), seen.header("X-Total-Count")
        others = [name for name in ("Content-Range", "X-Next-Page", "X-Total", "X-Pagination") if seen.header(name)]
        choice = ("next_link" if has_next else "link") if link else "total_count" if total else "none"
        words = f"{_came(seen)} with {', '.join(others) or link or total or 'no paging header'}"
        yield Sighting(None if others or (link and total) else choice, words)


@_shows("location_header", _CREATED)
def _location_header(history: History) -> Iterator[Sighting]:
    for seen in history.created:
        location = seen.header("Location")
        yield Sighting("present" if location else "absent", f"{_came(seen)} with Location: {location or 'none'}")


@_shows("deprecation_headers", "no getPet was answered")
def _deprecation_headers(history: History) -> Iterator[Sighting]:
    for seen in _own(history, "reads"):
        if seen.status in {200, 404, 410} and seen.pet_id.isdecimal():
            told = [name for name in ("Deprecation", "Sunset") if seen.header(name)]
            words = f"{_came(seen)} with {' and '.join(told) or 'neither Deprecation nor Sunset'}"
            yield Sighting("present" if told else "absent", words)


@_shows("content_type", "no JSON was answered")
def _content_type(history: History) -> Iterator[Sighting]:
    for seen in _answered(history):
        value = seen.header("Content-Type") or ""
        media, semicolon, rest = value.partition(";")
        if media.strip().lower() == "application/json":
            is_charset = rest.strip().lower().replace('"', "") == "charset=utf-8"
            yield Sighting("plain" if not semicolon else "with_charset" if is_charset else None, f"{_came(seen)}, {value}")


# What happens without the client's doing


@_shows("rate_limit", f"fewer than {_ENOUGH_REQUESTS} requests were answered")
def _rate_limit(history: History) -> Iterator[Sighting]:
    limited = [seen for seen in history.exchanges if seen.status == 429]
    for seen in limited:
        asked = seen.header("Retry-After") or ""
        choice = "retry_after_seconds" if asked.isdecimal() else "retry_after_date" if asked else None
        yield Sighting(choice, f"{_came(seen)} with Retry-After: {asked or 'none'}, at request {seen.number}")
    count = sum(1 for _ in _answered(history))
    if not limited and count >= _ENOUGH_REQUESTS:
        yield Sighting("none", f"no 429 in {count} answers")


@_shows("visibility", f"{_CREATED} and reading it at once; where getPet is removed, from a list that is not full")
def _visibility(history: History) -> Iterator[Sighting]:
    for made in history.created:
        pet = made.pets[0]
        seen = next((seen for seen in history.exchanges if seen.number == made.number + 1), made)
        if any(one["id"] == pet["id"] for one in seen.pets):
            yield Sighting("immediate", f"{_came(seen)}, right after it was created")
        elif history.viewed_after(pet["id"], seen.number) and _would_show(seen, pet):
            yield Sighting("delayed", f"{_came(seen)} without it, and later it was there")


def _would_show(seen: Seen, pet: Mapping[str, Any]) -> bool:
    """Whether a response shows the animal if that is visible."""
    if seen.items is None:
        return seen.status == 404 and not History.is_removed(seen) and seen.pet_id == str(pet["id"])
    return seen.limit == 100 and len(seen.items) < _SURELY_SHOWN and not seen.filters
