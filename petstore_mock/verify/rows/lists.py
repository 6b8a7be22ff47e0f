"""Rows about lists: their limit, their filters, and that they show existing animals."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Final

from petstore_mock.interface.bodies import short
from petstore_mock.interface.schemas import parameters
from petstore_mock.verify import changes
from petstore_mock.verify.probes import ELSEWHERE, KEYS_AND_LIMITS, OPEN, Phase, largest, limits_of, request
from petstore_mock.verify.row import LISTS, OF_REQUESTS, SUCCESSES, About, Result
from petstore_mock.verify.rows.checks import never_fails
from petstore_mock.verify.seen import is_pet

if TYPE_CHECKING:
    from petstore_mock.common.values import JsonObject
    from petstore_mock.interface.table import Operation, Parameter
    from petstore_mock.verify.row import Clause, Results, Rows
    from petstore_mock.verify.seen import History, Seen, Wanted

    Pet = JsonObject

# A limit that shows whether pages are full.
_FEW: Final = 4
_TOO_LONG: Final = "a list is too long"


def rows() -> Rows:
    for operation in LISTS:
        if operation.limit is not None:
            yield from _of_bounds(operation, operation.limit)
            yield from _of_limit(operation, operation.limit)
        yield _of_finding(operation)
        for parameter in operation.filters:
            yield from _of_filter(operation, parameter)
        yield from _of_pairs(operation)


# The limit


def _of_bounds(operation: Operation, limit: Parameter) -> Rows:
    """Yield the rows about the values of a limit that a service accepts."""
    least, most, default = limits_of(operation)
    about = About(operation, limit.name, least=least, most=most)
    page = request(operation, phase=Phase.LISTS)
    for end, bound in (("maximum", most), ("minimum", least)):
        row = about.says("{section}-{short}-{end}", "{name}: {end} {bound}", is_accepted, end=end, bound=bound)
        row.send(page.with_parameter(limit, bound))
        row.mistake("{end}-refused", "refuses {name}={bound}", changes.refuse_if(changes.has(limit, bound)))
        yield row
    row = about.says("{section}-{short}-within", "{name}: from {least} to {most}", is_accepted)
    row.send(page.with_parameter(limit, _FEW), page.with_parameter(limit, default))
    between = changes.is_between(limit, least, most)
    row.mistake("{short}-refused", "refuses each {name} between the bounds", changes.refuse_if(between))
    yield row


def _of_limit(operation: Operation, limit: Parameter) -> Rows:
    """Yield the rows about the length of a page."""
    least, most, default = limits_of(operation)
    about, at_most = About(operation, limit.name, most=most, default=default), partial(_is_at_most, limit)
    row = about.every(
        "{section}-{short}-counts",
        "{name}: maximum number of animals to return",
        partial(at_most, is_given=True),
    )
    longer = changes.one_more(limit, least, most)
    row.mistake("{short}-and-one", "returns one animal too many", longer, OF_REQUESTS)
    yield row
    row = about.every("{section}-{short}-default", "{name}: default {default}", partial(at_most, is_given=False))
    row.needs = f"{default} animals"
    longest = changes.set_default(limit, str(most))
    row.mutant("{prefix}-default-{most}", "the default {name} is {most}", longest, OF_REQUESTS)
    yield row
    row = about.means("{section}-{short}-integers", "{name}: no integer makes the service fail", never_fails)
    page = request(operation, phase=Phase.LIST_EDGES, expected=OPEN)
    for number in ("", -1, 2**31, 2**63, "9" * 30):
        row.send(page.with_parameter(limit, number))
    huge = changes.refuse_if(changes.is_huge(limit), 500)
    row.mistake("huge-{short}-fails", "returns 500 for a {name} of 30 digits", huge, (*SUCCESSES, 400))
    yield row
    bounded = partial(_is_bounded, limit.gap)
    row = about.means("{section}-{short}-bound", "A page has at most {most} animals for any {name}", bounded)
    row.operations = (operation,)
    row.needs = f"more than {most} animals"
    page = request(operation, phase=Phase.LISTS, expected=OPEN, gap=limit.gap)
    for number in (least - 1, most + 1, 1000):
        row.send(page.with_parameter(limit, number))
    yield row


def is_accepted(seen: Seen, _history: History) -> Results:
    """Check that the service accepts a value of a parameter."""
    if seen.is_success or is_refused_value(seen):
        yield Result(seen.is_success, "the value to be accepted")


def is_refused_value(seen: Seen) -> bool:
    """Whether the service refuses a request because of a value."""
    return seen.is_refusal and seen.status not in KEYS_AND_LIMITS | ELSEWHERE


def _is_at_most(limit: Parameter, seen: Seen, history: History, *, is_given: bool) -> Results:
    most = seen.limit
    if most is None or seen.items is None:
        return
    # Other rows are about a limit together with a filter.
    if len(seen.chosen) > 1 or not seen.probe.is_valid:
        return
    if bool(seen.text(limit)) is not is_given:
        return
    # A store with fewer animals can't show the limit.
    if seen.count >= most or len(history.standing(seen)) > most:
        yield Result(seen.count <= most, f"a list of at most {most}, not {seen.count}", _TOO_LONG)


def _is_bounded(gap: str, seen: Seen, history: History) -> Results:
    most = limits_of(seen.operation)[1]
    would_show = False
    if seen.probe.gap == gap:
        would_show = len(history.views) > most
        if seen.is_refusal:
            yield Result(holds=True)
    if seen.items is None or seen.probe.is_valid:
        return
    if seen.count > most or would_show:
        yield Result(seen.count <= most, f"at most {most} animals on any page, not {seen.count}")


# Lists that find animals


def _of_finding(operation: Operation) -> Clause:
    row = About(operation).means("{section}-list-finds", "A list shows existing animals", _finds_any)
    row.operations = (operation,)
    row.send(*[largest(operation, phase=Phase.LAST_LISTS)] * 2)
    row.mistake("always-empty", "returns an empty list", changes.EMPTY)
    return row


def _finds_any(seen: Seen, history: History) -> Results:
    if all(one.parameter.where == "path" for one in seen.filters):
        yield from _finds(seen, history)


def _finds(seen: Seen, history: History) -> Results:
    """Check that a list is not empty although animals match its filters."""
    if seen.items is None or not seen.probe.is_valid:
        return
    there = history.standing(seen)
    if seen.items or there:
        words = f"an animal such as id {min(there, default=0)}, which earlier and later responses show"
        yield Result(bool(seen.items), words, "empty")


# Filters


def _of_filter(operation: Operation, parameter: Parameter) -> Rows:
    words = _selected(parameter)
    # In names of mutants, the first filter of an operation has the plain word.
    word = "filter" if parameter is operation.filters[0] else f"{short(parameter.name)}-filter"
    about = About(operation, parameter.name, words=words, word=word)
    allowed = _allowed(operation, parameter)
    is_in_path = parameter.where == "path"
    plain = request(operation, phase=Phase.LISTS)
    row = about.every("{section}-{short}-filter", "{name}: returns only animals {words}", partial(_selects, parameter))
    if not allowed and not is_in_path:
        row.send(plain.with_parameter(parameter, _sample(parameter)))
    _add_wrong_filters(row, parameter, allowed)
    yield row
    row = about.means(
        "{section}-{short}-finds", "{name}: a list shows existing animals {words}", partial(_finds_with, parameter)
    )
    row.operations = (operation,)
    if not is_in_path:
        _add_empty_filters(row, parameter, allowed)
    yield row
    for value in allowed:
        row = about.says("{section}-{short}-{value}", "{name}={value} is allowed", is_accepted, value=value)
        if not is_in_path:
            row.send(plain.with_parameter(parameter, value))
        is_sent = changes.has(parameter, value)
        row.mistake("{value}-refused", "refuses {name}={value}", changes.refuse_if(is_sent))
        yield row


def _selected(parameter: Parameter) -> str:
    return parameter.says.words.format(parameter=parameter.name, field=parameter.filters_by)


def _allowed(operation: Operation, parameter: Parameter) -> list[str]:
    allowed: list[str] = parameters(operation)[parameter.name].get("enum", [])
    return allowed


def _sample(parameter: Parameter) -> str:
    """Return a placeholder for a value that a listed animal has."""
    kind = "edge" if parameter.says.is_ordered else "any"
    return f"{{{kind}:{parameter.filters_by}}}"


def _finds_with(parameter: Parameter, seen: Seen, history: History) -> Results:
    if _is_alone(seen, parameter):
        yield from _finds(seen, history)


def _selects(parameter: Parameter, seen: Seen, history: History) -> Results:
    if not seen.items or not seen.probe.is_valid:
        return
    if not _is_alone(seen, parameter):
        return
    words = f"only animals {_selected(parameter)}"
    for wanted in seen.filters:
        if wanted.parameter is parameter:
            yield Result(_selects_all(wanted, seen), words, _cause_of_others(wanted, seen, history))


def _cause_of_others(wanted: Wanted, seen: Seen, history: History) -> str:
    """Return the cause of animals that a filter should not have selected."""
    field = wanted.parameter.filters_by
    # A list that leaves out the field is wrong without a filter, too.
    if all(field not in pet for pet in seen.pets):
        return f"{field} differs"
    for one in history.of(seen.operation):
        others = {pet["id"] for pet in one.pets if not wanted.selects(pet)}
        # Other responses show another value.
        if wanted in one.filters and not others.isdisjoint(history.standing(one)):
            return f"{field} differs"
    return f"{wanted.parameter.name} selects others"


def _is_alone(seen: Seen, parameter: Parameter) -> bool:
    """Whether a request has one parameter, beside those in its path. Other rows are about pairs."""
    return bool(seen.text(parameter)) and seen.chosen.keys() <= {parameter.name}


def _selects_all(wanted: Wanted, seen: Seen) -> bool:
    return all(map(wanted.selects, filter(is_pet, seen.items or ())))


def _add_wrong_filters(row: Clause, parameter: Parameter, allowed: list[str]) -> None:
    if parameter.where == "path":
        row.mistake("{word}-ignored", "ignores the {name} filter", changes.select(parameter, _all))
        return
    ignore = changes.ignore(parameter)
    row.mistake("{word}-ignored", "ignores the {name} filter", ignore, OF_REQUESTS)
    for value in allowed:
        ignore_value = changes.when(changes.has(parameter, value), ignore)
        row.mistake(f"{value}-ignored", f"ignores the {{name}} {value}", ignore_value, OF_REQUESTS)
    if parameter.says.is_ordered:
        row.mistake("{word}-inclusive", "includes the bound of {name}", changes.select(parameter, _with_bound))
        opposite = changes.select(parameter, _on_other_side)
        row.mistake("{word}-opposite", "selects the animals on the other side of {name}", opposite)


def _all(_pet: Pet, _wanted: Wanted) -> bool:
    return True


def _with_bound(pet: Pet, wanted: Wanted) -> bool:
    return wanted.selects(pet) or wanted.is_bound(pet)


def _on_other_side(pet: Pet, wanted: Wanted) -> bool:
    return wanted.parameter.filters_by in pet and not _with_bound(pet, wanted)


def _add_empty_filters(row: Clause, parameter: Parameter, allowed: list[str]) -> None:
    empty = changes.when(changes.has(parameter), changes.EMPTY)
    row.mistake("{word}-finds-nothing", "finds nothing for the {name} filter", empty)
    for value in allowed:
        empty = changes.when(changes.has(parameter, value), changes.EMPTY)
        row.mistake(f"{value}-finds-nothing", f"finds nothing for the {{name}} {value}", empty)


# Two parameters at once


def _of_pairs(operation: Operation) -> Rows:
    """Yield a row for each pair of parameters. A service may forget one where the other is given."""
    filters = [parameter for parameter in operation.filters if parameter.where != "path"]
    for parameter in filters:
        if operation.limit is not None:
            yield _of_limit_with(operation, operation.limit, parameter)
    for first, second in combinations(filters, 2):
        yield _of_two_filters(operation, first, second)


def _of_limit_with(operation: Operation, limit: Parameter, parameter: Parameter) -> Clause:
    """Return the row about a limit together with a filter."""
    about = About(operation, limit.name, other=parameter.name, second=short(parameter.name))
    row = about.means("{section}-{short}-and-{second}", "{name} counts the animals that {other} selects", _has_both)
    row.needs = f"several animals, of which {parameter.name} selects some"
    # One animal: a service that applies the filter after the limit then finds none for most values.
    least, _, _ = limits_of(operation)
    request_of = request(operation, phase=Phase.LIST_EDGES)
    page = request_of.with_parameter(limit, least)
    allowed = _allowed(operation, parameter)
    texts = allowed or [f"{{later:{operation.name}:{parameter.name}}}"]
    row.send(*[page.with_parameter(parameter, text) for text in texts])
    if not allowed:
        # Among the animals of the service, the first one may be in each list. A created animal has unusual values.
        row.send(replace(page, phase=Phase.LAST_LISTS).with_parameter(parameter, texts[0]))
    row.send(request_of.with_parameter(limit, _FEW).with_parameter(parameter, texts[0]))
    are_given = changes.has_both(limit, parameter)
    without_limit = changes.when(are_given, changes.ignore(limit))
    row.mistake("{short}-and-{second}-unlimited", "ignores {name} if {other} is given", without_limit, OF_REQUESTS)
    after_limit = changes.when(are_given, changes.select_after_limit)
    row.mistake("{short}-and-{second}-cut-first", "applies {other} after {name}", after_limit)
    return row


def _of_two_filters(operation: Operation, first: Parameter, second: Parameter) -> Clause:
    about = About(operation, first.name, other=second.name, second=short(second.name))
    row = about.means(
        "{section}-{short}-and-{second}", "A list shows only animals that both {name} and {other} select", _has_both
    )
    row.needs = f"an animal that {first.name} selects, and {second.name} does not"
    probe = request(operation, phase=Phase.LIST_EDGES)
    for parameter in (first, second):
        texts = _allowed(operation, parameter) or [_sample(parameter)]
        probe = probe.with_parameter(parameter, texts[0])
    row.send(probe)
    only_first = changes.when(changes.has_both(first, second), changes.ignore(second))
    row.mistake("{short}-and-{second}", "ignores {other} if {name} is given", only_first, OF_REQUESTS)
    return row


def _has_both(seen: Seen, history: History) -> Results:
    """Check a list with two parameters. A short page is no breach (gap page_fill), but an empty one is."""
    if seen.items is None:
        if is_refused_value(seen) and _accepts_each(seen, history):
            yield Result(holds=False, expected="a list, because the service accepts each parameter alone")
        return
    for wanted in seen.filters:
        words = f"only animals that {wanted.parameter.name} selects"
        yield Result(_selects_all(wanted, seen), words, _cause_of_others(wanted, seen, history))
    limit, there = seen.limit, len(history.standing(seen))
    if limit is not None and there:
        yield Result(seen.count <= limit, f"at most {limit} animals, not {seen.count}", _TOO_LONG)
        yield Result(seen.count > 0, f"some of the {there} animals that other responses show", "empty")


def _accepts_each(seen: Seen, history: History) -> bool:
    """Whether the service accepts each parameter of a request alone, with the same value."""
    accepted = [one.chosen for one in history.of(seen.operation) if one.is_success]
    return all({name: text} in accepted for name, text in seen.chosen.items())
