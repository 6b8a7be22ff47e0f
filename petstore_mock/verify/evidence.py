"""Detects which alternative of each gap a service chooses. Gaps on which hardly any client relies are left out.

How this works. A row names a gap, its probes, and a function that reads one exchange and yields the alternatives that
it shows. An empty alternative stands for a choice that the register does not have. The rows of gaps about a parameter
or a field are derived from the gap: its own functions predict what each alternative would respond.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import cut, hide
from petstore_mock.common.values import counted
from petstore_mock.interface.bodies import plain_text
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.kinds import kind_of
from petstore_mock.interface.schemas import parameters, properties, schema, violations
from petstore_mock.interface.table import ANIMAL, ERROR, LABEL
from petstore_mock.verify.probes import OPEN, Phase, Probe, request, sends
from petstore_mock.verify.row import CREATES, EVERY, LISTS
from petstore_mock.verify.seen import NO_JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from petstore_mock.interface.gaps import Gap
    from petstore_mock.interface.table import Operation, Parameter
    from petstore_mock.verify.seen import History, Seen

    Pet = dict[str, Any]
    Sights = Callable[[Seen, History], Iterator[str]]

_UNKNOWN_FIELD: Final = "noSuchField"
_ENOUGH_FOR_ORDER: Final = 5  # animals in a list; four have a given order by chance in 1 of 24 cases
_ENOUGH_IDS: Final = 4  # created animals
_ENOUGH_REQUESTS: Final = 5  # if none of them gets 429, there is no rate limit
_SURELY_SHOWN: Final = 50  # animals; a shorter list with limit=100 is not a full page
# A difference between two ids. Other clients do not create so many animals between two requests.
_LEAP: Final = 1_000_000
_NOT_JUDGED: Final = frozenset({401, 403, 410, 429})
_CREATED: Final = "needs a created animal (--allow-create)"


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
    sights: Sights
    needs: str = "no response shows it"  # the condition for detecting the choice
    probes: tuple[Probe, ...] = ()
    header: str = ""  # the header field that shows the choice
    once: str = ""  # one response is enough to detect this alternative, whatever the others show


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
    counts = Counter(choice for choice, _ in sighted)
    first = dict(reversed(sighted))
    lines = [_line(row, choice, count, first[choice]) for choice, count in counts.most_common()]
    evidence = hide(", and ".join(lines), keys)
    if len(counts) > 1:
        return Finding(gap, None, evidence, "contradictory", len(sighted))
    (only,) = counts
    return Finding(gap, only or None, evidence, "learned" if only else "neither", len(sighted))


def _sighted(row: Evidence, history: History) -> list[tuple[str, Seen]]:
    """Return the choices that the responses show; only those that one response decides, if there are any."""
    told = [seen for seen in history.exchanges if seen.is_success or seen.is_refusal]
    sighted = [(choice, seen) for seen in told for choice in row.sights(seen, history)]
    decisive = [(choice, seen) for choice, seen in sighted if row.once and choice == row.once]
    return decisive or sighted


def _line(row: Evidence, choice: str, count: int, seen: Seen) -> str:
    name = choice or "a choice that the gap register does not have"
    came = f"{seen.status} {cut(_shape(seen.document), 80)}"
    if row.header:
        came = f"{seen.status} {row.header}: {seen.header(row.header) or 'none'}"
    return f"{name} ({counted(count, 'response')}: {seen.line} -> {came})"


def _shape(value: object) -> str:
    """Return the shape of a JSON value. A learned file must not hold animals of a staging system."""
    if is_object(value):
        members = ", ".join(f'"{name}": {_shape(member)}' for name, member in value.items())
        return f"{{{members}}}"
    if is_array(value):
        first = _shape(value[0]) if value else ""
        return f"[{first}, ...{len(value)}]" if len(value) > 1 else f"[{first}]"
    if value is None:
        return "null"
    return "no JSON" if value is NO_JSON else type(value).__name__


# Requests that probe a gap


def _probed(gap: str, sights: Sights) -> Sights:
    """Return a function that reads only the responses to the probes of a gap."""

    def read(seen: Seen, history: History) -> Iterator[str]:
        is_judged = seen.probe.has_key and seen.status not in _NOT_JUDGED
        # A service that refuses every plain animal shows nothing about odd ones.
        is_evidence = not seen.operation.does.adds or history.accepts_plain
        if seen.probe.gap == gap and is_judged and is_evidence:
            yield from sights(seen, history)

    return read


def _by_refusal(gap: Gap) -> Sights:
    """Return a function for alternatives that are True if the service refuses the request, and False if not."""

    def read(seen: Seen, _: History) -> Iterator[str]:
        yield from (name for name, is_refused in gap.alternatives.items() if is_refused is seen.is_refusal)

    return _probed(gap.name, read)


def _by_status(gap: Gap) -> Sights:
    """Return a function for alternatives that are names of conditions, or None for a success."""

    def read(seen: Seen, _: History) -> Iterator[str]:
        statuses = {
            CONDITIONS[str(condition)].status if condition else seen.operation.success: name
            for name, condition in gap.alternatives.items()
        }
        yield statuses.get(seen.status, "")

    return _probed(gap.name, read)


def _of_parameter(gap: Gap) -> Evidence:
    """Return the row of a gap about an invalid value of a parameter."""
    # The clause about the bounds of a limit has the probes for a limit.
    probes = [
        _with_wrong_text(operation, parameter)
        for operation in EVERY
        for parameter in operation.parameters
        if parameter.gap == gap.name and parameter is not operation.limit
    ]
    is_of_path = all(value is None or isinstance(value, str) for value in gap.alternatives.values())
    sights = _by_status(gap) if is_of_path else _probed(gap.name, _by_prediction(gap))
    return Evidence(gap=gap.name, sights=sights, probes=tuple(probes))


def _with_wrong_text(operation: Operation, parameter: Parameter) -> Probe:
    if parameter.where == "path":
        target = operation.path.replace(f"{{{parameter.name}}}", "no-number")
        phase = Phase.KEYS if operation.commits else Phase.ODD_READS
        return replace(request(operation, phase=phase, expected=OPEN, gap=str(parameter.gap)), target=target)
    plain = request(operation, phase=Phase.LISTS, expected=OPEN, gap=str(parameter.gap))
    return plain.with_parameter(parameter, "no-such-value")


def _by_prediction(gap: Gap) -> Sights:
    """Return a function that compares a response with what each alternative makes of the invalid value."""
    alternatives: Mapping[str, Any] = gap.alternatives

    def read(seen: Seen, history: History) -> Iterator[str]:
        parameter = next(one for one in seen.operation.parameters if one.gap == gap.name)
        rules = parameters(seen.operation)[parameter.name]
        instead = {name: function(seen.text(parameter), rules) for name, function in alternatives.items()}
        refusing = [name for name, value in instead.items() if value is None]
        if seen.is_refusal:
            yield from refusing
            return
        others = {name: value for name, value in instead.items() if value is not None}
        choose = _of_limit if parameter is seen.operation.limit else _of_filter
        yield from choose(others, seen, history)

    return read


def _of_limit(limits: Mapping[str, Any], seen: Seen, history: History) -> Iterator[str]:
    # With fewer animals, all alternatives give the same list.
    if len(history.standing(seen)) <= min(limits.values()):
        return
    fitting = sorted((limit, name) for name, limit in limits.items() if 0 < seen.count <= limit)
    yield fitting[0][1] if fitting else ""


def _of_filter(values: Mapping[str, Any], seen: Seen, history: History) -> Iterator[str]:
    if not history.views:
        return
    ignoring = [name for name, value in values.items() if value == ""]
    selecting = [name for name in values if name not in ignoring]
    yield from (ignoring if seen.count else selecting) or [""]


def _of_values(gap: Gap) -> Evidence:
    """Return the row of a gap about the values of a field that a service accepts: keywords of JSON Schema."""
    alternatives: Mapping[str, Any] = gap.alternatives

    def read(_: Seen, history: History) -> Iterator[str]:
        tried = [one for one in history.exchanges if one.probe.gap == gap.name and (one.is_success or one.is_refusal)]
        if len(tried) < len(gap.texts):
            return
        came = [one.is_refusal for one in tried]
        predicted = {
            name: [bool(violations(keywords or {}, one.sent.get(gap.field), "")) for one in tried]
            for name, keywords in alternatives.items()
        }
        yield next((name for name, refused in predicted.items() if refused == came), "")

    needs = f"needs {counted(len(gap.texts), 'create')} with an unusual {gap.field} (--allow-create)"
    probes = tuple(_odd_creates(gap.field, gap.texts, gap.name))
    return Evidence(gap=gap.name, sights=_probed(gap.name, read), needs=needs, probes=probes)


def _odd_creates(field: str, texts: Iterable[str], gap: str) -> Iterator[Probe]:
    """Yield creates with odd values of a field. They have all enums, so that no other gap decides."""
    for operation in _creating(field)[:1]:
        rules = properties(str(operation.body))
        enums = {name: f'"{rules[name]["enum"][0]}"' for name in rules if "enum" in rules[name]}
        for text in texts:
            yield sends(operation, {**enums, field: text}, phase=Phase.ODD_CREATES, expected=OPEN, gap=gap)


def _creating(field: str) -> list[Operation]:
    return [one for one in CREATES if one.body is not None and field in properties(one.body)]


def _of_null(gap: Gap) -> Evidence:
    probes = tuple(_odd_creates(gap.field, gap.texts, gap.name))
    return Evidence(gap=gap.name, sights=_by_refusal(gap), needs=_CREATED, probes=probes)


def _of_omitted(gap: Gap) -> Evidence:
    def read(seen: Seen, history: History) -> Iterator[str]:
        if seen in history.created and seen.sent and gap.field not in seen.sent:
            value = seen.pets[0].get(gap.field, "absent")
            yield value if value in gap.alternatives else ""

    return Evidence(gap=gap.name, sights=read, needs=_CREATED)


# Lists


def _first_repeated(seen: Seen, history: History) -> Iterator[str]:
    """Read the response to limit=1&limit=4. A page may be short."""
    if seen.is_refusal:
        yield "reject"
    elif len(history.views) > 1:
        yield {0: "", 1: "first"}.get(seen.count, "last")


# For each header field of a list: the alternative that it shows, or an empty text.
_PAGING: Final = {
    "Link": "link",
    "X-Total-Count": "total_count",
    **dict.fromkeys(("Content-Range", "X-Next-Page", "X-Total", "X-Pagination"), ""),
}


def _paging(seen: Seen, history: History) -> Iterator[str]:
    if not _is_list(seen):
        return
    paging = [name for name in _PAGING if seen.header(name)]
    if not paging:
        yield "none"
        return
    choice = _PAGING[paging[0]] if len(paging) == 1 else ""
    # A last page has no link to a next page.
    has_next = any('rel="next"' in one.header("Link") for one in history.exchanges)
    yield "next_link" if choice == "link" and has_next else choice


def _is_list(seen: Seen) -> bool:
    return seen.operation.shows_many and seen.items is not None


def _fill(seen: Seen, history: History) -> Iterator[str]:
    limit = seen.limit
    if not _is_list(seen) or not seen.probe.is_valid or limit is None:
        return
    if seen.count < min(limit, len(history.standing(seen))):
        yield "short" if seen.count else ""
    elif seen.count == limit > 1:
        yield "full"


def _order(seen: Seen, history: History) -> Iterator[str]:
    if _is_list(seen) and len(seen.pets) >= _ENOUGH_FOR_ORDER:
        order = history.once("order", _order_of_lists)
        if order is not None:
            yield order


def _order_of_lists(history: History) -> str | None:
    lists = [seen for seen in history.lists if len(seen.pets) >= _ENOUGH_FOR_ORDER]
    fitting = [choice for choice, fits in _ORDERS.items() if all(fits(seen.pets) for seen in lists)]
    if len(fitting) == 1:
        return fitting[0]
    same = list(_repeated_orders(lists, history)) if not fitting else []
    if not same:
        return None
    return "arbitrary_stable" if all(same) else "arbitrary"


def _by_id(pets: list[Pet]) -> bool:
    ids = [pet["id"] for pet in pets]
    return ids == sorted(ids)


def _by_id_descending(pets: list[Pet]) -> bool:
    return _by_id(pets[::-1])


def _by_label(pets: list[Pet]) -> bool:
    labels = [str(pet.get(LABEL)) for pet in pets]
    return labels == sorted(labels)


_ORDERS: Final = {"id_ascending": _by_id, "id_descending": _by_id_descending, "by_name": _by_label}


def _repeated_orders(lists: list[Seen], history: History) -> Iterator[bool]:
    """Yield for each list that was sent twice whether both pages have the same order."""
    created = [seen.number for seen in history.created]
    for former, later in pairwise(sorted(lists, key=lambda seen: seen.probe.target)):
        if former.probe.target != later.probe.target:
            continue
        # Creates between two pages may leave few common animals, whatever the order.
        is_disturbed = any(former.number < number < later.number for number in created)
        if _has_common(former, later) or not is_disturbed:
            yield _is_same_order(former, later)


def _is_same_order(one: Seen, other: Seen) -> bool:
    first, second = ([pet["id"] for pet in seen.pets] for seen in (one, other))
    common = {*first} & {*second}
    is_same = _only(first, common) == _only(second, common)
    return is_same and len(common) >= _ENOUGH_FOR_ORDER - 1  # too few common animals show no order


def _has_common(one: Seen, other: Seen) -> bool:
    common = {pet["id"] for pet in one.pets} & {pet["id"] for pet in other.pets}
    return len(common) >= _ENOUGH_FOR_ORDER - 1


def _only(ids: Sequence[int], common: set[int]) -> list[int]:
    return [pet_id for pet_id in ids if pet_id in common]


# Creates


def _location(seen: Seen, history: History) -> Iterator[str]:
    if seen in history.created:
        yield "present" if seen.header("Location") else "absent"


def _assignment(seen: Seen, history: History) -> Iterator[str]:
    if seen in history.created:
        yield from history.once("assignment", _assigned)


def _assigned(history: History) -> list[str]:
    ids: list[int] = [one.pets[0]["id"] for one in history.created]
    if len(ids) < _ENOUGH_IDS:
        return []
    steps = [later - former for former, later in pairwise(ids)]
    if {*steps} == {1}:
        return ["beyond_2_53" if min(ids) > 2**53 else "sequential"]
    if max(map(abs, steps)) >= _LEAP:
        return ["random_int64" if min(ids) >= 0 else ""]
    return ["sparse" if min(steps) > 0 else ""]


def _visible(seen: Seen, history: History) -> Iterator[str]:
    """Yield whether a request right after a create shows the animal."""
    for pet_id in [made.pets[0]["id"] for made in history.created if made.number == seen.number - 1]:
        is_shown = any(pet["id"] == pet_id for pet in seen.pets)
        would_show = seen.status == 404 and not seen.is_removed
        if seen.operation.shows_many:
            would_show = seen.count < _SURELY_SHOWN and not seen.filters
        _, later = history.around(pet_id, seen.number)
        if is_shown:
            yield "immediate"
        elif would_show and later:
            yield "delayed"


# Documents and header fields


def _content_type(seen: Seen, _: History) -> Iterator[str]:
    parts = seen.header("Content-Type").lower().replace('"', "").split(";")
    called = "; ".join(part.strip() for part in parts)
    if called.startswith("application/json"):
        types = {value: name for name, value in GAPS["content_type"].alternatives.items()}
        yield types.get(called, "")


def _codes(seen: Seen, history: History) -> Iterator[str]:
    if seen.is_refusal and _has_code(seen):
        yield history.once("codes", _known_codes)


def _has_code(seen: Seen) -> bool:
    return is_object(seen.document) and "code" in seen.document


def _code(seen: Seen) -> str:
    return str(seen.document["code"]) if is_object(seen.document) else ""


def _known_codes(history: History) -> str:
    """Return the alternative whose codes all errors have, or an empty text."""
    codes = {(one.status, _code(one)) for one in history.exchanges if one.is_refusal and _has_code(one)}
    functions: Mapping[str, Any] = GAPS["error_codes"].alternatives
    for name, code_of in functions.items():
        if codes <= {(one.status, code_of(one.code, one.status)) for one in CONDITIONS.values()}:
            return name
    return ""


def _extra_fields(seen: Seen, _: History) -> Iterator[str]:
    kind = ERROR if seen.is_refusal else ANIMAL
    documents: list[Any] = [*seen.document] if is_array(seen.document) else [seen.document]
    required = {*schema(kind)["required"]}
    objects = [one.keys() for one in documents if is_object(one) and required <= one.keys()]
    # The service may return the unknown field that a probe sent.
    known = {*properties(kind), _UNKNOWN_FIELD}
    if objects:
        yield "present" if any(fields - known for fields in objects) else "none"


def _deprecation(seen: Seen, _: History) -> Iterator[str]:
    is_about_one = seen.operation.removed_at is not None and seen.is_about is not None
    if is_about_one and seen.status in {200, 404, 410}:
        is_deprecated = seen.header("Deprecation") or seen.header("Sunset")
        yield "present" if is_deprecated else "absent"


def _removal(seen: Seen, history: History) -> Iterator[str]:
    pet_id = seen.is_about
    if pet_id is None or not seen.is_removed or not seen.probe.is_valid:
        return
    if seen.status in {200, 404, 410} and history.is_known(pet_id, seen.number):
        yield {410: "gone", 404: "not_found"}.get(seen.status, "still_served")


def _rate(seen: Seen, history: History) -> Iterator[str]:
    if seen.status == 429:
        wait = seen.header("Retry-After")
        kind = "retry_after_date" if wait else ""
        yield "retry_after_seconds" if wait.isdecimal() else kind
    elif len(history.exchanges) >= _ENOUGH_REQUESTS and not history.once("limited", _is_limited):
        yield "none"


def _is_limited(history: History) -> bool:
    return any(one.status == 429 for one in history.exchanges)


# The rows


def _list_probe(query: str, gap: str) -> tuple[Probe, ...]:
    return tuple(
        replace(request(one, phase=Phase.LISTS, expected=OPEN, gap=gap), target=f"{one.path}?{query}")
        for one in LISTS[:1]
    )


def _create_probe(gap: str, texts: Mapping[str, str], **attributes: Any) -> tuple[Probe, ...]:  # noqa: ANN401
    creating = [one for one in CREATES if one.body is not None]
    return tuple(
        sends(one, texts, phase=Phase.ODD_CREATES, expected=OPEN, gap=gap, **attributes) for one in creating[:1]
    )


def _with_fraction() -> Iterator[Probe]:
    """Yield creates with an integer such as 1.0."""
    for field, rules in properties(ANIMAL).items():
        if kind_of(rules).type == "integer" and _creating(field):
            yield from _odd_creates(field, [f"{plain_text(field)}.0"], "integral_float")


def _derived() -> Iterator[Evidence]:
    of = {"parameter": _of_parameter, "values": _of_values, "null": _of_null, "omitted": _of_omitted}
    for gap in GAPS.values():
        if gap.decides:
            yield of[gap.decides](gap)


_ROWS: Final = (
    *_derived(),
    Evidence(
        gap="unknown_query",
        sights=_by_refusal(GAPS["unknown_query"]),
        probes=_list_probe("no-such-parameter=1", "unknown_query"),
    ),
    Evidence(
        gap="repeated_query",
        sights=_probed("repeated_query", _first_repeated),
        probes=_list_probe("limit=1&limit=4", "repeated_query"),
    ),
    Evidence(
        gap="integral_float",
        sights=_by_refusal(GAPS["integral_float"]),
        needs=_CREATED,
        probes=tuple(_with_fraction()),
    ),
    Evidence(
        gap="unknown_body_field",
        sights=_by_refusal(GAPS["unknown_body_field"]),
        needs=_CREATED,
        probes=_create_probe("unknown_body_field", {_UNKNOWN_FIELD: "1"}),
    ),
    Evidence(
        gap="media_type",
        sights=_by_status(GAPS["media_type"]),
        needs=_CREATED,
        probes=_create_probe("media_type", {}, media_type="text/plain"),
    ),
    Evidence(
        gap="list_order",
        sights=_order,
        needs=f"needs a list of {_ENOUGH_FOR_ORDER} animals whose ids and names are in different orders",
    ),
    Evidence(
        gap="page_fill",
        sights=_fill,
        needs="needs at least as many animals as the limit of a list",
        once="short",
    ),
    Evidence(gap="id_assignment", sights=_assignment, needs=f"needs {_ENOUGH_IDS} created animals (--allow-create)"),
    Evidence(gap="error_codes", sights=_codes),
    Evidence(gap="extra_response_fields", sights=_extra_fields, once="present"),
    Evidence(
        gap="after_removal",
        sights=_removal,
        needs="needs a listed animal, and a Date header after the removal date of getPet",
    ),
    Evidence(gap="paging_headers", sights=_paging, header="Link"),
    Evidence(gap="location_header", sights=_location, needs=_CREATED, header="Location"),
    Evidence(gap="deprecation_headers", sights=_deprecation, header="Deprecation", once="present"),
    Evidence(gap="content_type", sights=_content_type, header="Content-Type"),
    Evidence(gap="rate_limit", sights=_rate, header="Retry-After"),
    Evidence(
        gap="visibility",
        sights=_visible,
        needs=f"{_CREATED}, and right after the create a getPet or a list with fewer animals than its limit",
    ),
)
_BY_GAP: Final = {row.gap: row for row in _ROWS}
GAP_PROBES: Final = tuple(probe for row in _ROWS for probe in row.probes)
