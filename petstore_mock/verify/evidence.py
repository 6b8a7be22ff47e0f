"""Detects which alternative of each gap a service chooses. Gaps on which hardly any client relies are left out.

How this works. A row names a gap, its probes, and a function that reads one exchange and returns the alternative that
it shows. An empty alternative stands for a choice that the register does not have. The rows of gaps about a parameter
or a field are derived from the gap: its own functions predict what each alternative would respond.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_array, is_object, items_of
from petstore_mock.common.masking import cut, hide
from petstore_mock.common.values import counted, without_none
from petstore_mock.interface.bodies import plain_text
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.gaps import GAPS, NULLS
from petstore_mock.interface.kinds import kind_of, wrong_text
from petstore_mock.interface.schemas import allows, members_of, parameters, properties, required_names
from petstore_mock.interface.table import ANIMAL, ERROR, FIELDS, LABEL
from petstore_mock.verify.probes import OPEN, Phase, Probe, odd, request, sends
from petstore_mock.verify.row import CHANGES, CREATES, CREATES_WITH_BODY, EVERY, LISTS
from petstore_mock.verify.seen import NO_JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from petstore_mock.interface.gaps import Gap
    from petstore_mock.verify.row import Probes
    from petstore_mock.verify.seen import History, Members, Seen

    # A choice: empty if the register does not have it, None if the exchange shows none.
    Choice = str | None
    Read = Callable[[Seen, History], Choice]

_UNKNOWN_FIELD: Final = "noSuchField"
_ENOUGH_FOR_ORDER: Final = 5  # animals in a list; four have a given order by chance in 1 of 24 cases
_ENOUGH_IDS: Final = 4  # created animals
_ENOUGH_REQUESTS: Final = 5  # if none of them gets 429, there is no rate limit
_SURELY_SHOWN: Final = 50  # animals; a shorter list with limit=100 is not a full page
# A difference between two ids. Other clients do not create so many animals between two requests.
_LEAP: Final = 1_000_000
# Statuses of an operation that shows an animal, or says that it is gone.
_WITH_ANIMAL: Final = frozenset({200, 404, 410})
_NOT_JUDGED: Final = frozenset({401, 403, 410, 429})
_CREATED: Final = "needs a created animal (--allow-create)"
# Header fields whose value is an address, which may name an animal.
_WITH_ADDRESS: Final = frozenset({"Link", "Location"})


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How the choice for a gap shows."""

    gap: str
    # Returns the alternative that an exchange shows: empty if the register does not have it, None if it shows none.
    read: Read
    of_probes: bool = False  # whether only the responses to the probes of the gap show it
    needs: str = "no response shows it"  # the condition for detecting the choice
    probes: tuple[Probe, ...] = ()
    header: str = ""  # the header field that shows the choice
    usual: str = ""  # an alternative that counts only if no response shows another one


def findings(history: History, keys: tuple[str, ...]) -> dict[str, Finding]:
    """Return a finding for each gap, by name. The evidence masks ``keys``."""
    return {name: _finding(name, history, keys) for name in GAPS}


def _finding(gap: str, history: History, keys: tuple[str, ...]) -> Finding:
    row = _BY_GAP.get(gap)
    if row is None:
        return Finding(gap, None, "not looked at", "not_observable")
    sighted = _sighted(row, history)
    if not sighted:
        return Finding(gap, None, row.needs, "not_observable")
    most_frequent_first = sorted(sighted, key=lambda choice: -len(sighted[choice]))
    evidence = ", and ".join(_line(row, choice, sighted[choice]) for choice in most_frequent_first)
    choice = most_frequent_first[0] or None
    kind = "learned"
    if choice is None:
        kind = "neither"
    if len(sighted) > 1:
        choice = None
        kind = "contradictory"
    return Finding(gap, choice, hide(evidence, keys), kind, sum(map(len, sighted.values())))


def _sighted(row: Evidence, history: History) -> dict[str, list[Seen]]:
    """Return the exchanges that show each choice. A single one outweighs the usual choice."""
    sighted: dict[str, list[Seen]] = defaultdict(list)
    for seen in history.answered:
        if row.of_probes and not _is_judged(seen, row.gap, history):
            continue
        choice = row.read(seen, history)
        if choice is not None:
            sighted[choice].append(seen)
    if len(sighted) > 1:
        sighted.pop(row.usual, None)
    return sighted


def _is_judged(seen: Seen, gap: str, history: History) -> bool:
    """Whether a response to a probe of a gap shows its choice."""
    if seen.probe.gap != gap or seen.status in _NOT_JUDGED:
        return False
    # A service that refuses every plain animal, or every plain change, shows nothing about odd ones.
    if seen.operation.does.adds:
        return history.accepts_plain
    return not seen.operation.commits or history.last(seen.operation, seen.number) is not None


def _line(row: Evidence, choice: str, shown_by: list[Seen]) -> str:
    name = choice or "a choice that the gap register does not have"
    first = shown_by[0]
    came = cut(_shape(first.document), 80)
    if row.header:
        value = first.header(row.header)
        if value and row.header in _WITH_ADDRESS:
            value = "an address"
        came = f"{row.header}: {value or 'none'}"
    return f"{name} ({counted(len(shown_by), 'response')}: {first.template.line} -> {first.status} {came})"


def _shape(value: object) -> str:
    """Return the shape of a JSON value. A learned file must not hold animals of a staging system."""
    if is_object(value):
        members = ", ".join(f'"{name}": {_shape(member)}' for name, member in value.items())
        return f"{{{members}}}"
    if is_array(value):
        first = _shape(value[0]) if value else ""
        if len(value) > 1:
            return f"[{first}, ...{len(value)}]"
        return f"[{first}]"
    if value is None:
        return "null"
    if value is NO_JSON:
        return "no JSON"
    return type(value).__name__


# Requests that probe a gap


def _of_request(gap: str, read: Callable[[Gap, Seen, History], Choice], *probes: Probe, **attributes: Any) -> Evidence:
    """Return the row of a gap that the responses to its probes show."""
    return Evidence(gap=gap, read=partial(read, GAPS[gap]), of_probes=True, probes=probes, **attributes)


def _named(alternatives: Mapping[str, object], *shown: object) -> str:
    """Return the first alternative with one of the values; empty if none has one."""
    for name, value in alternatives.items():
        if value in shown:
            return name
    return ""


def _by_refusal(gap: Gap, seen: Seen, _history: History) -> Choice:
    """Read alternatives that are True if the service refuses the request, and False if not."""
    return _named(gap.alternatives, seen.is_refusal)


def _by_status(gap: Gap, seen: Seen, _history: History) -> str:
    """Read alternatives that are names of conditions, or None for a success."""
    for name, condition in gap.alternatives.items():
        wanted = seen.operation.success
        if condition is not None:
            wanted = CONDITIONS[str(condition)].status
        if seen.status == wanted:
            return name
    return ""


def _of_parameter(gap: Gap) -> Evidence:
    """Return the row of a gap about an invalid value of a parameter."""
    is_of_path = not any(map(callable, gap.alternatives.values()))
    read = _by_status if is_of_path else _by_prediction
    return _of_request(gap.name, read, *_with_wrong_texts(gap))


def _with_wrong_texts(gap: Gap) -> Probes:
    for operation in EVERY:
        pet_id = "{known}"
        phase = Phase.ODD_READS
        if operation.commits:
            # A service that accepts the text must not change an animal of somebody else.
            pet_id = "{made}"
            phase = Phase.ODD_CHANGES
        request_of = partial(request, operation, pet_id, phase=phase, expected=OPEN)
        for parameter in operation.parameters:
            # The clause about the bounds of a limit has the probes for a limit.
            if parameter.gap != gap.name or parameter is operation.limit:
                continue
            text = wrong_text(parameters(operation)[parameter.name])
            if parameter.where == "path":
                yield request_of(in_path={parameter.name: text})
            else:
                yield request_of(without=parameter).with_parameter(parameter, text)


def _by_prediction(gap: Gap, seen: Seen, history: History) -> Choice:
    """Compare a response with what each alternative makes of the invalid value of a parameter."""
    parameter = next(one for one in seen.operation.parameters if one.gap == gap.name)
    rules = parameters(seen.operation)[parameter.name]
    instead = {name: use(seen.text(parameter), rules) for name, use in gap.alternatives.items()}
    if seen.is_refusal:
        return _named(instead, None)
    others = without_none(instead)
    if parameter is seen.operation.limit:
        return _of_limit(others, seen, history)
    if parameter.filters_by:
        return _of_filter(others, seen, history)
    if not seen.pets:
        return None
    return _named(others, "", seen.pets[0].get(parameter.sets))


def _of_filter(values: Members, seen: Seen, history: History) -> Choice:
    if not history.views:
        return None
    # A filter without a value selects all animals.
    ignores = {name: value == "" for name, value in values.items()}
    return _named(ignores, bool(seen.count))


def _of_limit(limits: Members, seen: Seen, history: History) -> Choice:
    # With fewer animals, all alternatives give the same list.
    if len(history.standing(seen)) <= min(limits.values()):
        return None
    fitting = [(limit, name) for name, limit in limits.items() if 0 < seen.count <= limit]
    if not fitting:
        return ""
    return min(fitting)[1]


def _of_values(gap: Gap) -> Evidence:
    """Return the row of a gap about the values of a field that a service accepts."""
    needs = f"needs {counted(len(gap.texts), 'create')} with an unusual {gap.field} (--allow-create)"
    return _of_request(gap.name, _by_keywords, *_odd_bodies(gap.field, gap.texts), needs=needs)


def _by_keywords(gap: Gap, _seen: Seen, history: History) -> Choice:
    """Read alternatives that are keywords of JSON Schema: which of them refuse the same values as the service?"""
    tried = [seen for seen in history.answered if seen.probe.gap == gap.name]
    if len(tried) < len(gap.texts):
        return None
    accepted = [not seen.is_refusal for seen in tried]
    for name, keywords in gap.alternatives.items():
        if accepted == [allows(keywords or {}, seen.sent.get(gap.field)) for seen in tried]:
            return name
    return ""


def _of_null(gap: Gap) -> Evidence:
    probes: list[Probe] = []
    for field, decides in NULLS.items():
        if decides is gap:
            probes += _odd_bodies(field, gap.texts)
    return _of_request(gap.name, _by_refusal, *probes, needs=_CREATED)


def _odd_bodies(field: str, texts: Iterable[str]) -> Probes:
    """Yield creates or changes with odd values of a member."""
    for operation in (*CREATES, *CHANGES):
        if field in members_of(operation):
            yield from odd(operation, field, texts)
            # One operation is enough.
            return


def _of_omitted(gap: Gap) -> Evidence:
    return Evidence(gap=gap.name, read=partial(_by_omission, gap), needs=_CREATED)


def _by_omission(gap: Gap, seen: Seen, history: History) -> Choice:
    if seen not in history.created:
        return None
    if not seen.sent or gap.field in seen.sent:
        return None
    value = seen.pets[0].get(gap.field, "absent")
    return str(value) if value in gap.alternatives else ""


# Lists


def _first_repeated(_gap: Gap, seen: Seen, history: History) -> Choice:
    """Read the response to limit=1&limit=4. A page may be short."""
    if seen.is_refusal:
        return "reject"
    if len(history.views) < 2:
        return None
    return {0: "", 1: "first"}.get(seen.count, "last")


# Header fields with which services page lists. The register has alternatives for the first two.
_PAGING: Final = ("Link", "X-Total-Count", "Content-Range", "X-Next-Page", "X-Total", "X-Pagination")


def _paging(seen: Seen, history: History) -> Choice:
    if not seen.operation.shows_many or seen.items is None:
        return None
    paging = [*filter(seen.header, _PAGING)]
    if not paging:
        return "none"
    if paging == ["X-Total-Count"]:
        return "total_count"
    if paging != ["Link"]:
        return ""
    # A last page has no link to a next page.
    has_next = any('rel="next"' in one.header("Link") for one in history.exchanges)
    return "next_link" if has_next else "link"


def _fill(seen: Seen, history: History) -> Choice:
    if not seen.probe.is_valid:
        return None
    # Only lists have a limit.
    if seen.count == seen.limit and seen.count > 1:
        return "full"
    return "short" if history.is_short(seen) else None


def _order(seen: Seen, history: History) -> Choice:
    lists = [one for one in history.lists if len(one.pets) >= _ENOUGH_FOR_ORDER]
    if seen not in lists:
        return None
    fitting = _orders_of(lists[0]).intersection(*map(_orders_of, lists))
    if len(fitting) == 1:
        return fitting.pop()
    same = [*_repeated_orders(lists)]
    if fitting or not same:
        return None
    return "arbitrary_stable" if all(same) else "arbitrary"


def _orders_of(seen: Seen) -> set[str]:
    """Return the alternatives whose order a list has."""
    labels = [str(pet.get(LABEL)) for pet in seen.pets]
    ids = sorted(seen.ids)
    orders = {
        "id_ascending": seen.ids == ids,
        "id_descending": seen.ids == ids[::-1],
        "by_name": labels == sorted(labels),
    }
    return {name for name, is_right in orders.items() if is_right}


def _repeated_orders(lists: list[Seen]) -> Iterator[bool]:
    """Yield for each list that was sent twice whether both pages have the same order."""
    for former, later in pairwise(sorted(lists, key=attrgetter("line"))):
        first = _common_ids(former, later)
        second = _common_ids(later, former)
        # Too few common animals show no order.
        if former.line == later.line and len(first) >= _ENOUGH_FOR_ORDER - 1:
            yield first == second


def _common_ids(seen: Seen, other: Seen) -> list[int]:
    """Return the ids of a list that another one has as well, in its order."""
    others = {*other.ids}
    return [pet_id for pet_id in seen.ids if pet_id in others]


# Creates


def _location(seen: Seen, history: History) -> Choice:
    return _presence(seen, "Location") if seen in history.created else None


def _presence(seen: Seen, *names: str) -> str:
    return "present" if any(map(seen.header, names)) else "absent"


def _assignment(seen: Seen, history: History) -> Choice:
    ids = [one.ids[0] for one in history.created]
    if seen not in history.created or len(ids) < _ENOUGH_IDS:
        return None
    steps = [later - former for former, later in pairwise(ids)]
    if {*steps} == {1}:
        return "beyond_2_53" if min(ids) > 2**53 else "sequential"
    if max(map(abs, steps)) >= _LEAP:
        return "random_int64" if min(ids) >= 0 else ""
    return "sparse" if min(steps) > 0 else ""


def _visible(seen: Seen, history: History) -> Choice:
    """Return whether a request right after a create shows the animal."""
    # Numbers begin with 1.
    create = history.exchanges[seen.number - 2]
    if create not in history.created or seen.number == 1:
        return None
    pet_id = create.ids[0]
    if seen.pet(pet_id) is not None:
        return "immediate"
    would_show = seen.status == 404 and not seen.is_removed
    if seen.operation.shows_many:
        would_show = seen.count < _SURELY_SHOWN and not seen.filters
    _, later = history.around(pet_id, seen.number)
    if would_show and later:
        return "delayed"
    return None


# Documents and header fields


def _content_type(seen: Seen, _history: History) -> Choice:
    parts = seen.header("Content-Type").lower().replace('"', "").split(";")
    called = "; ".join(map(str.strip, parts))
    if not called.startswith("application/json"):
        return None
    return _named(GAPS["content_type"].alternatives, called)


def _codes(seen: Seen, history: History) -> Choice:
    """Return the alternative whose codes all errors have, or an empty text."""
    if _code(seen) is None:
        return None
    codes = {(one.status, _code(one)) for one in history.answered if _code(one) is not None}
    for name, code_of in GAPS["error_codes"].alternatives.items():
        if codes <= {(one.status, code_of(one.code, one.status)) for one in CONDITIONS.values()}:
            return name
    return ""


def _code(seen: Seen) -> str | None:
    """Return the code of an error."""
    document = seen.document
    if seen.is_refusal and is_object(document) and "code" in document:
        return str(document["code"])
    return None


def _extra_fields(seen: Seen, _history: History) -> Choice:
    kind = ERROR if seen.is_refusal else ANIMAL
    # The service may return the unknown field that a probe sent.
    known = {*properties(kind), _UNKNOWN_FIELD}
    choice = None
    for document in items_of(seen.document):
        if not is_object(document) or not document.keys() >= {*required_names(kind)}:
            continue
        if document.keys() - known:
            return "present"
        choice = "none"
    return choice


def _deprecation(seen: Seen, _history: History) -> Choice:
    is_about_one = seen.operation.removed_at is not None and seen.is_about is not None
    if is_about_one and seen.status in _WITH_ANIMAL:
        return _presence(seen, "Deprecation", "Sunset")
    return None


def _removal(seen: Seen, history: History) -> Choice:
    if seen.is_about is None or seen.status not in _WITH_ANIMAL:
        return None
    is_judged = seen.is_removed and seen.probe.is_valid
    if is_judged and history.is_known(seen.is_about, seen.number):
        return {410: "gone", 404: "not_found"}.get(seen.status, "still_served")
    return None


def _rate(seen: Seen, history: History) -> Choice:
    if seen.status == 429:
        wait = seen.header("Retry-After")
        if wait.isdecimal():
            return "retry_after_seconds"
        return "retry_after_date" if wait else ""
    if len(history.exchanges) < _ENOUGH_REQUESTS:
        return None
    return "none"


# The rows


def _list_probe(query: str) -> Probe:
    probe = request(LISTS[0], phase=Phase.LISTS, expected=OPEN)
    return replace(probe, target=f"{probe.target}?{query}")


def _create_probe(texts: Mapping[str, str], **attributes: Any) -> Probes:
    for operation in CREATES_WITH_BODY[:1]:
        yield sends(operation, texts, phase=Phase.ODD_CREATES, expected=OPEN, **attributes)


def _with_fraction() -> Probes:
    """Yield creates with an integer such as 1.0."""
    for field, rules in properties(ANIMAL).items():
        if kind_of(rules).type == "integer" and not FIELDS[field].is_assigned:
            yield from _odd_bodies(field, [f"{plain_text(field)}.0"])


_OF_FIELDS_AND_PARAMETERS: Final = {
    "parameter": _of_parameter,
    "values": _of_values,
    "null": _of_null,
    "omitted": _of_omitted,
}


_ROWS: Final = (
    *(_OF_FIELDS_AND_PARAMETERS[gap.decides](gap) for gap in GAPS.values() if gap.decides),
    _of_request("unknown_query", _by_refusal, _list_probe("no-such-parameter=1")),
    _of_request("repeated_query", _first_repeated, _list_probe("limit=1&limit=4")),
    _of_request("integral_float", _by_refusal, *_with_fraction(), needs=_CREATED),
    _of_request("unknown_body_field", _by_refusal, *_create_probe({_UNKNOWN_FIELD: "1"}), needs=_CREATED),
    _of_request("media_type", _by_status, *_create_probe({}, media_type="text/plain"), needs=_CREATED),
    Evidence(
        gap="list_order",
        read=_order,
        needs=f"needs a list of {_ENOUGH_FOR_ORDER} animals whose ids and names are in different orders",
    ),
    Evidence(
        gap="page_fill",
        read=_fill,
        needs="needs at least as many animals as the limit of a list",
        usual="full",
    ),
    Evidence(gap="id_assignment", read=_assignment, needs=f"needs {_ENOUGH_IDS} created animals (--allow-create)"),
    Evidence(gap="error_codes", read=_codes),
    Evidence(gap="extra_response_fields", read=_extra_fields, usual="none"),
    Evidence(
        gap="after_removal",
        read=_removal,
        needs="needs a listed animal, and a Date header after the removal date of an operation",
    ),
    Evidence(gap="paging_headers", read=_paging, header="Link"),
    Evidence(gap="location_header", read=_location, needs=_CREATED, header="Location"),
    Evidence(gap="deprecation_headers", read=_deprecation, header="Deprecation", usual="absent"),
    Evidence(gap="content_type", read=_content_type, header="Content-Type"),
    Evidence(gap="rate_limit", read=_rate, header="Retry-After", usual="none"),
    Evidence(
        gap="visibility",
        read=_visible,
        needs=f"{_CREATED}, and right after the create a request that shows the animal, or a list that is not full",
    ),
)
_BY_GAP: Final = {row.gap: row for row in _ROWS}
GAP_PROBES: Final = tuple(replace(probe, gap=row.gap) for row in _ROWS for probe in row.probes)
