"""Detects which alternative of each gap a service chooses. Gaps on which hardly any client relies are left out.

``sightings`` reads one exchange and yields the alternatives that it shows, as pairs of gap and alternative. An empty
alternative stands for a choice that the register does not have.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut, hide
from petstore_mock.common.values import counted
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.schemas import properties, schema
from petstore_mock.verify.probes import UNKNOWN_FIELD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from petstore_mock.verify.seen import History, Seen

_ENOUGH_FOR_ORDER: Final = 5  # animals in a list; four have a given order by chance in 1 of 24 cases
_ENOUGH_IDS: Final = 4  # created animals
_ENOUGH_REQUESTS: Final = 5  # if none of them gets 429, there is no rate limit
_SURELY_SHOWN: Final = 50  # animals; a shorter list with limit=100 is not a full page
# A difference between two ids. Other clients do not create so many animals between two requests.
_LEAP: Final = 1_000_000
_NOT_LOOKED_AT: Final = (
    *("answer_framing", "body_limit", "connection", "duplicate_member"),
    *("header_names", "json_style", "key_rotation", "unknown_route"),
)
_CREATED: Final = "needs a created animal (--allow-create)"
# The conditions for detecting a gap. Gaps that every response shows have none.
_NEEDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(_NOT_LOOKED_AT, "not looked at"),
    **dict.fromkeys(("unknown_body_field", "null_status", "integral_float", "category_rule", "media_type"), _CREATED),
    **dict.fromkeys(("status_when_omitted", "location_header"), _CREATED),
    "name_rule": "needs two creates, with an empty name and with a long name (--allow-create)",
    "list_order": f"needs a list of {_ENOUGH_FOR_ORDER} animals whose ids and names are in different orders",
    "page_fill": "needs at least as many animals as the limit of a list",
    "id_assignment": f"needs {_ENOUGH_IDS} created animals (--allow-create)",
    "after_removal": "needs a listed animal, and a Date header after the removal date of getPet",
    "visibility": f"{_CREATED}, and right after the create a getPet or a list with fewer animals than its limit",
}
# The rule that the refused probes show. The probes are an empty and a long name, or the category 0.
_RULES: Final[Mapping[str, Mapping[tuple[bool, ...], str]]] = {
    "name_rule": {(False, False): "any", (True, False): "non_empty", (False, True): "max_255"},
    "category_rule": {(False,): "any", (True,): "positive"},
}
# One response is enough to detect these alternatives, whatever the others show.
_ONCE_IS_ENOUGH: Final = {"extra_response_fields": "present", "deprecation_headers": "present", "page_fill": "short"}
# For each header field of a list: the alternative that it shows, or an empty text.
_PAGING: Final = {
    "Link": "link",
    "X-Total-Count": "total_count",
    **dict.fromkeys(("Content-Range", "X-Next-Page", "X-Total", "X-Pagination"), ""),
}
# The header field that shows each gap.
_HEADERS: Final = {
    "paging_headers": "Link",
    "location_header": "Location",
    "deprecation_headers": "Deprecation",
    "content_type": "Content-Type",
    "rate_limit": "Retry-After",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The detected choice of a service for one gap."""

    gap: str  #: the name of the gap
    choice: str | None  #: the alternative that the service chooses, or None if it was not detected
    evidence: str  #: the responses that show the choice, or the reason why it was not detected
    #: ``learned``; ``not_observable``; ``neither`` if the choice is not in the gap register; ``contradictory`` if the
    #: responses show several choices
    kind: str
    answers: int = 0  #: the number of responses that show a choice


def findings(history: History, keys: tuple[str, ...]) -> dict[str, Finding]:
    """Return a finding for each gap, by name. The evidence masks ``keys``."""
    found: dict[str, list[tuple[str, Seen]]] = {name: [] for name in GAPS}
    for seen in history.exchanges:
        for gap, choice in sightings(seen, history) if seen.is_success or seen.is_refusal else ():
            found[gap].append((choice, seen))
    return {gap: _finding(gap, choices, keys) for gap, choices in found.items()}


def _finding(gap: str, choices: list[tuple[str, Seen]], keys: tuple[str, ...]) -> Finding:
    if not choices:
        return Finding(gap, None, _NEEDS.get(gap, "no response shows it"), "not_observable")
    choices = [one for one in choices if one[0] == _ONCE_IS_ENOUGH.get(gap)] or choices
    lines: list[str] = []
    counts = Counter(choice for choice, _ in choices)
    for choice, count in counts.most_common():
        seen = next(seen for one, seen in choices if one == choice)
        field = _HEADERS.get(gap)
        came = f"{seen.status} {field}: {seen.header(field) or 'none'}" if field else cut(seen.came, 80)
        name = choice or "a choice that the gap register does not have"
        lines.append(f"{name} ({counted(count, 'response')}: {seen.line} -> {came})")
    only = choices[0][0] if len(counts) == 1 else None
    kind = "learned" if only else "contradictory" if only is None else "neither"
    return Finding(gap, only or None, hide(", and ".join(lines), keys), kind, len(choices))


def sightings(seen: Seen, history: History) -> Iterator[tuple[str, str]]:
    """Yield each gap that an exchange shows, with its alternative."""
    is_looked_at = seen.probe.has_key and seen.status not in {401, 403, 410, 429}
    if is_looked_at and seen.probe.shows in GAPS and (seen.effect != "creates" or history.accepts_plain):
        yield from _of_probe(seen, seen.probe.shows, history)
    if seen.effect == "lists" and seen.items is not None:
        yield from _of_list(seen, history)
    if seen.effect == "reads" and seen.status in {200, 404, 410} and seen.pet_id.isdecimal():
        is_deprecated = seen.header("Deprecation") or seen.header("Sunset")
        yield "deprecation_headers", "present" if is_deprecated else "absent"
        if seen.is_removed and seen.probe.is_valid and history.is_known(int(seen.pet_id), seen.number):
            yield "after_removal", {410: "gone", 404: "not_found"}.get(seen.status, "still_served")
    if seen in history.created:
        yield from _of_create(seen, history)
    if seen.status == 429:
        asked = seen.header("Retry-After")
        yield "rate_limit", "retry_after_seconds" if asked.isdecimal() else "retry_after_date" if asked else ""
    elif len(history.exchanges) >= _ENOUGH_REQUESTS and all(one.status != 429 for one in history.exchanges):
        yield "rate_limit", "none"
    yield from _of_document(seen, history)
    yield from _of_visibility(seen, history)


# Requests that probe a gap


def _of_probe(seen: Seen, gap: str, history: History) -> Iterator[tuple[str, str]]:
    choices, count, there, choice = GAPS[gap].alternatives, seen.count, len(history.standing(seen)), None
    if gap in _RULES:
        same = [one for one in history.exchanges if one.probe.shows == gap and (one.is_success or one.is_refusal)]
        is_known = len(same) == len(next(iter(_RULES[gap])))
        choice = _RULES[gap].get(tuple(one.is_refusal for one in same), "") if is_known else None
    elif all(value is None or isinstance(value, str) for value in choices.values()):  # names of error conditions
        statuses = {
            CONDITIONS[str(one)].status if one else seen.operation.success: name for name, one in choices.items()
        }
        choice = statuses.get(seen.status, "")
    elif all(isinstance(value, bool) for value in choices.values()):  # whether the service refuses the request
        choice = next(name for name, is_refused in choices.items() if is_refused is seen.is_refusal)
    elif seen.is_refusal:
        choice = "reject"
    elif gap == "invalid_status_filter" and history.views:
        choice = "ignore" if count else "empty"
    elif gap == "repeated_query" and len(history.views) > 1:
        # The probe is limit=1&limit=4, and a page may be short.
        choice = {0: "", 1: "first"}.get(count, "last")
    elif gap == "invalid_limit" and (seen.limit or 0) > 100 and there > 20:
        choice = "clamp" if count > 20 else "ignore"
    elif gap == "invalid_limit" and (seen.limit or 0) < 1 and there > 1:
        choice = {0: "", 1: "clamp"}.get(count, "ignore")
    if choice is not None:
        yield gap, choice


# Lists, creates and documents


def _of_list(seen: Seen, history: History) -> Iterator[tuple[str, str]]:
    count, limit = seen.count, seen.limit or 0
    paging = [name for name in _PAGING if seen.header(name)]
    choice = _PAGING[paging[0]] if len(paging) == 1 else "" if paging else "none"
    # A last page has no link to a next page.
    has_next = any('rel="next"' in one.header("Link") for one in history.exchanges)
    yield "paging_headers", "next_link" if choice == "link" and has_next else choice
    if seen.probe.is_valid and count < min(limit, len(history.standing(seen))):
        yield "page_fill", "short" if count else ""
    elif seen.probe.is_valid and count == limit > 1:
        yield "page_fill", "full"
    order = _order(history) if len(seen.pets) >= _ENOUGH_FOR_ORDER else None
    if order is not None:
        yield "list_order", order


def _order(history: History) -> str | None:
    lists = [one for one in history.exchanges if one.effect == "lists" and len(one.pets) >= _ENOUGH_FOR_ORDER]
    ids = [[pet["id"] for pet in one.pets] for one in lists]
    names = [[str(pet.get("name")) for pet in one.pets] for one in lists]
    orders = {
        "id_ascending": all(found == sorted(found) for found in ids),
        "id_descending": all(found == sorted(found, reverse=True) for found in ids),
        "by_name": all(found == sorted(found) for found in names),
    }
    fitting = [choice for choice, fits in orders.items() if fits]
    if fitting:
        return fitting[0] if len(fitting) == 1 else None
    pairs = pairwise(sorted(lists, key=lambda one: one.probe.target))
    same = [_is_same_order(one, other) for one, other in pairs if one.probe.target == other.probe.target]
    return ("arbitrary_stable" if all(same) else "arbitrary") if same else None


def _is_same_order(one: Seen, other: Seen) -> bool:
    first, second = ([pet["id"] for pet in seen.pets] for seen in (one, other))
    common = {*first} & {*second}
    is_same = [one for one in first if one in common] == [one for one in second if one in common]
    return is_same and len(common) >= _ENOUGH_FOR_ORDER - 1  # too few common animals show no order


def _of_create(seen: Seen, history: History) -> Iterator[tuple[str, str]]:
    yield "location_header", "present" if seen.header("Location") else "absent"
    if seen.sent and "status" not in seen.sent:
        status = seen.document.get("status", "absent")
        yield "status_when_omitted", status if status in GAPS["status_when_omitted"].alternatives else ""
    ids: list[int] = [one.pets[0]["id"] for one in history.created]
    if len(ids) >= _ENOUGH_IDS:
        steps = [later - former for former, later in pairwise(ids)]
        choice = "sparse" if min(steps) > 0 else ""
        if {*steps} == {1}:
            choice = "beyond_2_53" if min(ids) > 2**53 else "sequential"
        elif max(map(abs, steps)) >= _LEAP:
            choice = "random_int64" if min(ids) >= 0 else ""
        yield "id_assignment", choice


def _of_document(seen: Seen, history: History) -> Iterator[tuple[str, str]]:
    called = "; ".join(part.strip() for part in seen.header("Content-Type").lower().replace('"', "").split(";"))
    if called.startswith("application/json"):
        types = {value: name for name, value in GAPS["content_type"].alternatives.items()}
        yield "content_type", types.get(called, "")
    if seen.is_refusal and is_object(seen.document) and "code" in seen.document:
        errors = [one for one in history.exchanges if one.is_refusal and is_object(one.document)]
        codes = {(one.status, str(one.document["code"])) for one in errors if "code" in one.document}
        functions: Mapping[str, Any] = GAPS["error_codes"].alternatives
        known = {
            name: {(one.status, code(one.code, one.status)) for one in CONDITIONS.values()}
            for name, code in functions.items()
        }
        yield "error_codes", next((name for name, pairs in known.items() if codes <= pairs), "")
    kind = "Error" if seen.is_refusal else "Pet"
    documents: list[Any] = [*seen.document] if is_array(seen.document) else [seen.document]
    found = [one.keys() for one in documents if is_object(one) and {*schema(kind)["required"]} <= one.keys()]
    # The service may return the unknown field that a probe sent.
    known_fields = {*properties(kind), UNKNOWN_FIELD}
    if found:
        yield "extra_response_fields", "present" if any(fields - known_fields for fields in found) else "none"


# Time


def _of_visibility(seen: Seen, history: History) -> Iterator[tuple[str, str]]:
    """Yield whether a request right after a create shows the animal."""
    for pet_id in [made.pets[0]["id"] for made in history.created if made.number == seen.number - 1]:
        would_show = seen.status == 404 and not seen.is_removed
        if seen.effect == "lists":
            would_show = seen.count < _SURELY_SHOWN
        if any(pet["id"] == pet_id for pet in seen.pets):
            yield "visibility", "immediate"
        elif would_show and history.around(pet_id, seen.number)[1]:
            yield "visibility", "delayed"
