"""Which choice a service makes where the interface shows nothing: one observer for each gap that clients lean on.

An observer reads exchanges, whether the tool sent them or a recording has them, and yields what each shows: the
alternative that was chosen, or None for something that is none of ours, and in both cases what was seen.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.wording import counted
from petstore_mock.contract.error_conditions import CONDITIONS
from petstore_mock.contract.gap_policies import terse_code
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.interface import PET_STATUSES
from petstore_mock.verify.exchange import shown
from petstore_mock.verify.probes import UNKNOWN_FIELD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from petstore_mock.verify.exchange import Exchange
    from petstore_mock.verify.facts import Facts

    _Observer = Callable[[Facts], Iterable["Sighting"]]

__all__ = ["NEEDS", "NOT_LOOKED_AT", "Finding", "Sighting", "findings"]

_PET_FIELDS: Final = frozenset({"id", "name", "categoryId", "status"})
_ERROR_FIELDS: Final = frozenset({"code", "message", "status"})
_ENOUGH_FOR_ORDER: Final = 5  # animals of a list: four are in any given order once in 24 times
_ENOUGH_IDS: Final = 4  # created animals
_ENOUGH_REQUESTS: Final = 5  # valid ones, to say that their number does not matter
_LARGE: Final = 1024 * 1024
_SURELY_SHOWN: Final = 50  # animals of a list of at most 100, below which no page is full
_LEAP: Final = 1_000_000  # between two ids: more than other people create meanwhile


@dataclass(frozen=True, slots=True)
class Sighting:
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
        kind: ``learned``; ``not_observable``; ``not_looked_at`` where no observer exists; ``neither`` where the
            service does something else than our alternatives; ``contradictory`` where it did one thing, then another.
        answers: how many sightings speak for it.
    """

    gap: str
    choice: str | None
    evidence: str
    kind: str
    answers: int = 0


NOT_LOOKED_AT: Final = "not looked at"
NEEDS: Final[dict[str, str]] = {}  # what it takes to see each gap that has an observer
_OBSERVERS: Final[dict[str, _Observer]] = {}
_CREATED: Final = "it takes creating an animal (--allow-create)"


def _observes(gap: str, needs: str) -> Callable[[_Observer], _Observer]:
    """Enter the observer of a gap, and what it needs to see something."""

    def enter(observer: _Observer) -> _Observer:
        NEEDS[gap], _OBSERVERS[gap] = needs, observer
        return observer

    return enter


def findings(facts: Facts, keys: tuple[str, ...]) -> dict[str, Finding]:
    """Return what the exchanges show of every gap, by name.

    Args:
        facts: the exchanges.
        keys: what no evidence may show.
    """
    found = [_finding(name, facts) for name in GAPS]
    return {one.gap: replace(one, evidence=shown(one.evidence, keys)) for one in found}


def _finding(gap: str, facts: Facts) -> Finding:
    if gap not in _OBSERVERS:
        return Finding(gap, None, NOT_LOOKED_AT, "not_looked_at")
    sightings = list(_OBSERVERS[gap](facts))
    if not sightings:
        return Finding(gap, None, NEEDS[gap], "not_observable")
    choices = Counter(sighting.choice for sighting in sightings)
    if gap in _ONCE_IS_ENOUGH and choices.get(_ONCE_IS_ENOUGH[gap]):
        sightings = [sighting for sighting in sightings if sighting.choice == _ONCE_IS_ENOUGH[gap]]
        choices = Counter(sighting.choice for sighting in sightings)
    first = sightings[0]
    answers = counted(len(sightings), "answer")
    if len(choices) == 1:
        if first.choice is None:
            return Finding(
                gap, None, f"none of {', '.join(GAPS[gap].alternatives)}: {first.words}", "neither", len(sightings)
            )
        return Finding(gap, first.choice, f"{answers}: {first.words}", "learned", len(sightings))
    told = []
    for choice, count in choices.most_common():
        example = next(sighting for sighting in sightings if sighting.choice == choice)
        told.append(f"{choice or 'something else'} {count} times ({example.words})")
    return Finding(gap, None, f"contradictory: {', and '.join(told)}", "contradictory", len(sightings))


# What shows in one answer is chosen, whatever the others show.
_ONCE_IS_ENOUGH: Final[Mapping[str, str]] = {
    "extra_response_fields": "present",
    "deprecation_headers": "present",
}


# Selecting exchanges


def _own(facts: Facts, operation: str) -> Iterator[Exchange]:
    """Yield the answered exchanges of an operation that bore a valid key."""
    for exchange in _answered(facts):
        is_let_in = exchange.key is not None and exchange.key >= 0 and exchange.status not in {401, 429}
        if exchange.operation == operation and is_let_in:
            yield exchange


def _answered(facts: Facts) -> Iterator[Exchange]:
    for exchange in facts.exchanges:
        if exchange.operation is not None and 200 <= (exchange.status or 0) < 500:
            yield exchange


def _came(exchange: Exchange) -> str:
    return f"{exchange.line} -> {exchange.status}"


def _is_refusal(exchange: Exchange) -> bool:
    return exchange.status is not None and 400 <= exchange.status < 500


def _page(exchange: Exchange) -> list[Any] | None:
    return exchange.json if exchange.status == 200 and isinstance(exchange.json, list) else None


def _limit_of(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdecimal() and len(text) < 10 else None


def _is_plain(exchange: Exchange) -> bool:
    """Whether a list was asked for as the interface shows it."""
    names = [name for name, _ in exchange.query]
    limit = exchange.one("limit")
    status = exchange.one("status")
    return (
        len(names) == len(set(names))
        and set(names) <= {"limit", "status"}
        and ("limit" not in names or (_limit_of(limit) is not None and 1 <= (_limit_of(limit) or 0) <= 100))
        and ("status" not in names or status in PET_STATUSES)
    )


# What is accepted


@_observes("invalid_limit", "it takes two animals, or a refusal")
def _invalid_limit(facts: Facts) -> Iterator[Sighting]:
    for one in _own(facts, "listPets"):
        names = [name for name, _ in one.query]
        limit = _limit_of(one.one("limit"))
        if names.count("limit") != 1 or limit is None or 1 <= limit <= 100:
            continue
        page = _page(one)
        there = len(facts.standing(one.number, one.one("status")))
        if _is_refusal(one):
            yield Sighting("reject", _came(one))
        elif page is None:
            yield Sighting(None, _came(one))
        elif limit < 1:
            if len(page) >= 2:
                yield Sighting("ignore", f"{_came(one)} with {len(page)} animals")
            elif there >= 2:
                yield Sighting("clamp" if len(page) == 1 else None, f"{_came(one)} with {len(page)} of {there} animals")
        elif len(page) > 20:
            yield Sighting("clamp" if len(page) <= 100 else None, f"{_came(one)} with {len(page)} animals")
        elif there > 20:
            yield Sighting("ignore", f"{_came(one)} with {len(page)} of at least {there} animals")


@_observes("invalid_status_filter", "it takes an animal, or a refusal")
def _invalid_status_filter(facts: Facts) -> Iterator[Sighting]:
    for one in _own(facts, "listPets"):
        status = one.one("status")
        if status is None or status in PET_STATUSES or [name for name, _ in one.query] != ["status"]:
            continue
        page = _page(one)
        if _is_refusal(one):
            yield Sighting("reject", _came(one))
        elif page:
            yield Sighting("ignore", f"{_came(one)} with {len(page)} animals")
        elif page is not None and facts.standing(one.number):
            yield Sighting("empty", f"{_came(one)} with []")


@_observes("unknown_query", "no list with an unknown parameter was answered")
def _unknown_query(facts: Facts) -> Iterator[Sighting]:
    for one in _own(facts, "listPets"):
        names = {name for name, _ in one.query}
        if names and not names & {"limit", "status"}:
            yield Sighting("reject" if _is_refusal(one) else "ignore" if one.status == 200 else None, _came(one))


@_observes("repeated_query", "it takes two animals, or a refusal")
def _repeated_query(facts: Facts) -> Iterator[Sighting]:
    for one in _own(facts, "listPets"):
        if [name for name, _ in one.query] != ["limit", "limit"]:
            continue
        first, last = (_limit_of(value) or 0 for _, value in one.query)
        page = _page(one)
        if _is_refusal(one):
            yield Sighting("reject", _came(one))
        elif first == 1 and last >= 4 and page is not None and len(facts.standing(one.number)) >= 2:
            choice = {0: None, 1: "first"}.get(len(page), "last")
            yield Sighting(choice, f"{_came(one)} with {len(page)} animals")


def _creates(facts: Facts) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    """Yield what createPet was sent, as far as it was a JSON object of at most the usual size."""
    for one in _own(facts, "createPet"):
        if isinstance(one.sent, dict) and len(one.body or b"") < _LARGE and _media_type_of(one) == "application/json":
            yield one, one.sent


def _media_type_of(one: Exchange) -> str:
    found = [value for name, value in one.fields if name.lower() == "content-type"]
    return found[0].partition(";")[0].strip().lower() if found else ""


def _is_usual(sent: Mapping[str, Any], *but: str) -> bool:
    """Whether all fields but some are as no service would refuse them."""
    status = sent.get("status", "sold")
    return (
        ("name" in but or (isinstance(sent.get("name"), str) and 0 < len(sent["name"]) <= 255))
        and ("categoryId" in but or (type(sent.get("categoryId")) is int and sent["categoryId"] > 0))
        and ("status" in but or status in PET_STATUSES)
        and ("further" in but or not sent.keys() - {"name", "categoryId", "status"})
    )


def _accepts(
    facts: Facts, odd: str, is_it: Callable[[dict[str, Any]], bool], refused: str, created: str
) -> Iterator[Sighting]:
    """Tell whether what is odd at one field alone is refused or created."""
    for one, sent in _creates(facts):
        if is_it(sent) and _is_usual(sent, odd) and not _repeats(one):
            choice = refused if _is_refusal(one) else created if one.status == 201 else None
            yield Sighting(choice, f"{_came(one)} for {_short(one)}")


def _short(one: Exchange) -> str:
    text = (one.body or b"").decode("utf-8", "replace")
    return text if len(text) <= 80 else f"{text[:77]}..."


def _repeats(one: Exchange) -> bool:
    repeated = False

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        repeated = repeated or len(dict(found)) < len(found)
        return dict(found)

    json.loads(one.body or b"", object_pairs_hook=pairs)
    return repeated


@_observes("unknown_body_field", _CREATED)
def _unknown_body_field(facts: Facts) -> Iterable[Sighting]:
    def is_it(sent: dict[str, Any]) -> bool:
        return bool(sent.keys() - {"name", "categoryId", "status", "id"})

    return _accepts(facts, "further", is_it, "reject", "ignore")


@_observes("null_status", _CREATED)
def _null_status(facts: Facts) -> Iterable[Sighting]:
    return _accepts(facts, "status", lambda sent: sent.get("status", "absent") is None, "reject", "as_omitted")


@_observes("integral_float", _CREATED)
def _integral_float(facts: Facts) -> Iterable[Sighting]:
    def is_it(sent: dict[str, Any]) -> bool:
        number = sent.get("categoryId")
        return isinstance(number, float) and number.is_integer() and number > 0

    return _accepts(facts, "categoryId", is_it, "reject", "accept")


@_observes("name_rule", f"{_CREATED}: one without a name, one with a long one")
def _name_rule(facts: Facts) -> Iterator[Sighting]:
    took: dict[str, Exchange] = {}
    for one, sent in _creates(facts):
        name = sent.get("name")
        if isinstance(name, str) and _is_usual(sent, "name") and not _repeats(one):
            kind = "empty" if not name else "long" if len(name) > 255 else ""
            if kind and (_is_refusal(one) or one.status == 201):
                took[kind] = one
    if len(took) == 2:
        empty, long = (took[kind].status == 201 for kind in ("empty", "long"))
        words = ", ".join(
            f"{took[kind].status} for {what}"
            for kind, what in (("empty", 'the name ""'), ("long", "one of 256 characters"))
        )
        yield Sighting(
            {(True, True): "any", (False, True): "non_empty", (True, False): "max_255"}.get((empty, long)), words
        )


@_observes("category_rule", _CREATED)
def _category_rule(facts: Facts) -> Iterable[Sighting]:
    def is_it(sent: dict[str, Any]) -> bool:
        number = sent.get("categoryId")
        return type(number) is int and number <= 0

    return _accepts(facts, "categoryId", is_it, "positive", "any")


@_observes("malformed_pet_id", "no getPet with an id that is no integer was answered")
def _malformed_pet_id(facts: Facts) -> Iterator[Sighting]:
    for one in _own(facts, "getPet"):
        if not one.pet_id.lstrip("-").isdecimal() and one.status != 410:
            yield Sighting({404: "not_found", 400: "bad_request"}.get(one.status or 0), _came(one))


@_observes("media_type", _CREATED)
def _media_type(facts: Facts) -> Iterator[Sighting]:
    for one in _own(facts, "createPet"):
        if isinstance(one.sent, dict) and _is_usual(one.sent) and _media_type_of(one) != "application/json":
            choice = {415: "unsupported_415", 400: "bad_request", 201: "accept"}.get(one.status or 0)
            yield Sighting(choice, f"{_came(one)} for Content-Type: {_media_type_of(one) or 'none'}")


# What an answer says


@_observes("status_when_omitted", _CREATED)
def _status_when_omitted(facts: Facts) -> Iterator[Sighting]:
    for one, sent in _creates(facts):
        if one.status == 201 and "status" not in sent and isinstance(one.json, dict):
            status = one.json.get("status", "absent")
            is_ours = isinstance(status, str) and status in GAPS["status_when_omitted"].alternatives
            yield Sighting(status if is_ours else None, f"{_came(one)} with status {status!r}")


@_observes("list_order", f"it takes a list of {_ENOUGH_FOR_ORDER} animals whose ids and names are in different orders")
def _list_order(facts: Facts) -> Iterator[Sighting]:
    lists = [
        one for one in _own(facts, "listPets") if len(one.pets) >= _ENOUGH_FOR_ORDER and len(one.pets) == len(one.json)
    ]
    if not lists:
        return
    ids = [[pet["id"] for pet in one.pets] for one in lists]
    names = [[str(pet.get("name")) for pet in one.pets] for one in lists]
    fitting = [
        choice
        for choice, fits in (
            ("id_ascending", all(found == sorted(found) for found in ids)),
            ("id_descending", all(found == sorted(found, reverse=True) for found in ids)),
            ("by_name", all(found == sorted(found) for found in names)),
        )
        if fits
    ]
    count = f"lists of {min(map(len, ids))} to {max(map(len, ids))} animals"
    if len(fitting) == 1:
        yield from (Sighting(fitting[0], count) for _ in lists)
    if fitting:
        return
    by_target: dict[str, list[list[int]]] = defaultdict(list)
    for one, found in zip(lists, ids, strict=True):
        by_target[one.target].append(found)
    compared = [pair for found in by_target.values() for pair in pairwise(found)]
    same = [_same_order(*pair) for pair in compared]
    if not all(same):
        yield Sighting("arbitrary", f"the same list came in another order, {same.count(False)} times of {len(same)}")
    elif same:
        yield Sighting("arbitrary_stable", f"{count}, by neither id nor name, and the same again {len(same)} times")


def _same_order(first: list[int], second: list[int]) -> bool:
    common = {*first} & {*second}
    if len(common) < _ENOUGH_FOR_ORDER - 1 and len(first) >= _ENOUGH_FOR_ORDER:
        return False  # other animals each time
    return [one for one in first if one in common] == [one for one in second if one in common]


@_observes("page_fill", "it takes more animals than a limit")
def _page_fill(facts: Facts) -> Iterator[Sighting]:
    for one in _own(facts, "listPets"):
        page = _page(one)
        if page is None or not _is_plain(one):
            continue
        limit = _limit_of(one.one("limit")) or 20
        there = facts.standing(one.number, one.one("status")) | {pet["id"] for pet in one.pets}
        if len(page) < min(limit, len(there)):
            yield Sighting("short" if page else None, f"{_came(one)} with {len(page)} of at least {len(there)} animals")
        elif limit >= 2 and len(page) == limit:
            yield Sighting("full", f"{_came(one)} with {len(page)} animals")


@_observes("id_assignment", f"it takes creating {_ENOUGH_IDS} animals (--allow-create)")
def _id_assignment(facts: Facts) -> Iterator[Sighting]:
    ids = [one.pets[0]["id"] for one in facts.created]
    if len(ids) < _ENOUGH_IDS:
        return
    steps = [later - former for former, later in pairwise(ids)]
    choice = None
    if set(steps) == {1}:
        choice = "beyond_2_53" if min(ids) > 2**53 else "sequential"
    elif min(steps) > 0 and max(steps) < _LEAP:
        choice = "sparse"
    elif max(map(abs, steps)) >= _LEAP and min(ids) >= 0:
        choice = "random_int64"
    yield Sighting(choice, f"{len(ids)} ids: {', '.join(map(str, ids[:4]))}, ...")


@_observes("error_codes", "no error was answered")
def _error_codes(facts: Facts) -> Iterator[Sighting]:
    for one in _answered(facts):
        found = one.json
        if not _is_refusal(one) or not isinstance(found, dict) or not isinstance(found.get("code"), str):
            continue
        code, status = found["code"], one.status or 0
        choice = None
        if code == f"{status}01":
            choice = "numeric_strings"
        elif code == terse_code("", status):
            choice = "terse"
        elif code in {condition.code for condition in CONDITIONS.values() if condition.status == status}:
            choice = "standard"
        yield Sighting(choice, f"{_came(one)} with code {code!r}")


@_observes("extra_response_fields", "no animal and no error was answered")
def _extra_response_fields(facts: Facts) -> Iterator[Sighting]:
    for one in _answered(facts):
        for document in one.json if isinstance(one.json, list) else [one.json]:
            known = _ERROR_FIELDS if _is_refusal(one) else _PET_FIELDS
            if isinstance(document, dict) and known - {"status"} <= document.keys():
                further = document.keys() - known - {UNKNOWN_FIELD}  # a service may keep what the tool itself has sent
                words = f"{_came(one)} with {', '.join(sorted(further)) or 'no further field'}"
                yield Sighting("present" if further else "none", words)


@_observes(
    "after_removal", "getPet's removal date has not come, by the service's own Date; or no list showed an animal"
)
def _after_removal(facts: Facts) -> Iterator[Sighting]:
    for one in _own(facts, "getPet"):
        if facts.is_removed(one) and one.pet_id.isdecimal() and facts.seen_before(int(one.pet_id), one.number):
            yield Sighting({410: "gone", 404: "not_found", 200: "still_served"}.get(one.status or 0), _came(one))


# How an answer looks


@_observes("paging_headers", "no list was answered")
def _paging_headers(facts: Facts) -> Iterator[Sighting]:
    lists = [one for one in _own(facts, "listPets") if one.status == 200]
    has_next = any('rel="next"' in (one.header("Link") or "") for one in lists)  # which no short list has
    for one in lists:
        link, total = one.header("Link"), one.header("X-Total-Count")
        others = [name for name in ("Content-Range", "X-Next-Page", "X-Total", "X-Pagination") if one.header(name)]
        choice = ("next_link" if has_next else "link") if link else "total_count" if total else "none"
        words = f"{_came(one)} with {', '.join(others) or link or total or 'no paging header'}"
        yield Sighting(None if others or (link and total) else choice, words)


@_observes("location_header", _CREATED)
def _location_header(facts: Facts) -> Iterator[Sighting]:
    for one in facts.created:
        location = one.header("Location")
        yield Sighting("absent" if location is None else "present", f"{_came(one)} with Location: {location or 'none'}")


@_observes("deprecation_headers", "no getPet was answered")
def _deprecation_headers(facts: Facts) -> Iterator[Sighting]:
    for one in _own(facts, "getPet"):
        if one.status in {200, 404, 410} and one.pet_id.isdecimal():
            told = [name for name in ("Deprecation", "Sunset") if one.header(name)]
            words = f"{_came(one)} with {' and '.join(told) or 'neither Deprecation nor Sunset'}"
            yield Sighting("present" if told else "absent", words)


@_observes("content_type", "no JSON was answered")
def _content_type(facts: Facts) -> Iterator[Sighting]:
    for one in _answered(facts):
        value = one.header("Content-Type") or ""
        media, semicolon, rest = value.partition(";")
        if media.strip().lower() == "application/json":
            is_charset = rest.strip().lower().replace('"', "") == "charset=utf-8"
            choice = "plain" if not semicolon else "with_charset" if is_charset else None
            yield Sighting(choice, f"{_came(one)}, {value}")


# What happens without the client's doing


@_observes("rate_limit", f"fewer than {_ENOUGH_REQUESTS} requests were answered")
def _rate_limit(facts: Facts) -> Iterator[Sighting]:
    limited = [one for one in facts.exchanges if one.status == 429]
    for one in limited:
        asked = one.header("Retry-After")
        choice = None if asked is None else "retry_after_seconds" if asked.isdecimal() else "retry_after_date"
        yield Sighting(choice, f"{_came(one)} with Retry-After: {asked or 'none'}, at request {one.number}")
    count = sum(1 for _ in _answered(facts))
    if not limited and count >= _ENOUGH_REQUESTS:
        yield Sighting("none", f"no 429 in {count} answers")


@_observes("visibility", f"{_CREATED} and reading it at once; where getPet is removed, from a list that is not full")
def _visibility(facts: Facts) -> Iterator[Sighting]:
    """Look at what was asked right after a create: whether the animal was there, and came later."""
    for made in facts.created:
        pet_id = made.pets[0]["id"]
        after = [one for one in facts.exchanges if one.number == made.number + 1 and one.operation != "createPet"]
        if not after:
            continue
        one = after[0]
        if any(pet["id"] == pet_id for pet in one.pets):
            yield Sighting("immediate", f"{_came(one)}, right after it was created")
        elif facts.read_after(pet_id, one.number) and _would_show(one, made.pets[0]) and not facts.is_removed(one):
            yield Sighting("delayed", f"{_came(one)}, and later it was there")
        elif facts.read_after(pet_id, one.number) and one.operation == "listPets" and _would_show(one, made.pets[0]):
            yield Sighting("delayed", f"{_came(one)} without it, and later it was there")


def _would_show(one: Exchange, pet: Mapping[str, Any]) -> bool:
    """Whether an exchange shows the animal where it is visible."""
    if one.operation == "getPet":
        return one.pet_id == str(pet["id"]) and one.status == 404
    page = _page(one)
    is_roomy = page is not None and one.one("limit") == "100" and len(page) < _SURELY_SHOWN
    return is_roomy and one.one("status") in (None, pet.get("status"))  # it may be of any type
