"""Rows about lists: their limit, their filters, and that they show existing animals."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.interface.bodies import short
from petstore_mock.interface.schemas import parameters
from petstore_mock.verify import changes
from petstore_mock.verify.probes import (
    ELSEWHERE,
    KEYS_AND_LIMITS,
    OPEN,
    Phase,
    largest,
    limits_of,
    request,
)
from petstore_mock.verify.row import LISTS, OF_REQUESTS, SUCCESSES, Clause, Mutant, Result, each, meant, prefix
from petstore_mock.verify.rows.checks import never_fails
from petstore_mock.verify.seen import is_pet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.interface.table import Operation, Parameter
    from petstore_mock.verify.probes import Probe
    from petstore_mock.verify.row import Check
    from petstore_mock.verify.seen import History, Seen, Wanted

    Pet = dict[str, Any]

# A limit that shows whether pages are full.
_FEW: Final = "4"
_MOST_DIGITS: Final = 25
_TOO_LONG: Final = "a list is too long"


def rows() -> Iterator[Clause]:
    for operation in LISTS:
        if operation.limit is not None:
            yield from _of_limit(operation, operation.limit)
        yield Clause(
            id=f"{operation.section}-list-finds",
            words=meant("A list shows existing animals", operation),
            operations=(operation,),
            needs="an animal",
            probes=(largest(operation, phase=Phase.LAST_LISTS), largest(operation, phase=Phase.LAST_LISTS)),
            check=_finds_any,
            mutants=each([operation], "always-empty", "returns an empty list", changes.EMPTY),
        )
        for parameter in operation.filters:
            yield from _of_filter(operation, parameter)
        yield from _of_pairs(operation)


# The limit


def _of_limit(operation: Operation, limit: Parameter) -> Iterator[Clause]:
    own, name, short_name = [operation], limit.name, short(limit.name)
    least, most, default = limits_of(operation)
    start = f"{operation.section}-{short_name}"

    def page(*numbers: int, **attributes: Any) -> tuple[Probe, ...]:  # noqa: ANN401
        probe = request(operation, phase=Phase.LISTS, **attributes)
        return tuple(probe.with_parameter(limit, str(number)) for number in numbers)

    def refused(end: str, value: int) -> tuple[Mutant, ...]:
        change = changes.when(changes.has(limit, str(value)), changes.refuse())
        return each(own, f"{end}-refused", f"refuses {name}={value}", change)

    yield Clause(
        id=f"{start}-maximum",
        words=f"{name}: maximum {most}",
        probes=page(most),
        check=is_accepted,
        mutants=refused("maximum", most),
    )
    yield Clause(
        id=f"{start}-minimum",
        words=f"{name}: minimum {least}",
        probes=page(least),
        check=is_accepted,
        mutants=refused("minimum", least),
    )
    between = changes.when(changes.is_between(limit, least, most), changes.refuse())
    yield Clause(
        id=f"{start}-within",
        words=f"{name}: from {least} to {most}",
        probes=page(4, default),
        check=is_accepted,
        mutants=each(own, f"{short_name}-refused", f"refuses each {name} between the bounds", between),
    )
    longer = changes.one_more(limit, least, most)
    yield Clause(
        id=f"{start}-counts",
        words=f"{name}: maximum number of animals to return",
        operations=own,
        needs="an animal",
        check=_is_at_most(limit, is_given=True),
        mutants=each(own, f"{short_name}-and-one", "returns one animal too many", longer, OF_REQUESTS),
    )
    longest = changes.set_default(limit, str(most))
    by_default = f"{prefix(operation)}-default-{most}"
    yield Clause(
        id=f"{start}-default",
        words=f"{name}: default {default}",
        operations=(operation,),
        needs=f"{default} animals",
        check=_is_at_most(limit, is_given=False),
        mutants=(Mutant(by_default, f"the default {name} is {most}", own, longest, OF_REQUESTS),),
    )
    numbers = ("", "-1", str(2**31), str(2**63), "9" * 30)
    huge = changes.when(lambda turn: len(turn.given.get(name, "")) > _MOST_DIGITS, changes.refuse(500))
    probe = request(operation, phase=Phase.LIST_EDGES, expected=OPEN)
    yield Clause(
        id=f"{start}-integers",
        words=meant(f"{name}: no integer makes the service fail", operation),
        probes=tuple(probe.with_parameter(limit, number) for number in numbers),
        check=never_fails,
        mutants=each(
            own, f"huge-{short_name}-fails", f"returns 500 for a {name} of 30 digits", huge, (*SUCCESSES, 400)
        ),
    )
    yield Clause(
        id=f"{start}-bound",
        words=meant(f"A page has at most {most} animals for any {name}", operation),
        operations=(operation,),
        needs=f"more than {most} animals",
        probes=page(least - 1, most + 1, 1000, expected=OPEN, gap=limit.gap or ""),
        check=_is_bounded(limit),
    )


def is_accepted(seen: Seen, _history: History) -> Iterator[Result]:
    """Check that the service accepts a value of a parameter."""
    if seen.is_success or is_refused_value(seen):
        yield Result(seen.is_success, "the value to be accepted")


def is_refused_value(seen: Seen) -> bool:
    """Whether the service refuses a request because of a value."""
    return seen.is_refusal and seen.status not in KEYS_AND_LIMITS | ELSEWHERE


def _is_at_most(limit: Parameter, *, is_given: bool) -> Check:
    def check(seen: Seen, history: History) -> Iterator[Result]:
        most = seen.limit
        if most is None or seen.items is None or not seen.probe.is_valid:
            return
        if bool(seen.text(limit)) is not is_given or len(seen.chosen) > 1:
            return
        # A store with fewer animals can't show the limit.
        if seen.count >= most or len(history.standing(seen)) > most:
            yield Result(seen.count <= most, f"a list of at most {most}, not {seen.count}", _TOO_LONG)

    return check


def _is_bounded(limit: Parameter) -> Check:
    def check(seen: Seen, history: History) -> Iterator[Result]:
        most = limits_of(seen.operation)[1]
        is_out_of_bounds = bool(limit.gap) and seen.probe.gap == limit.gap
        if is_out_of_bounds and seen.is_refusal:
            yield Result(holds=True)
        if seen.items is None or seen.probe.is_valid:
            return
        would_show = is_out_of_bounds and len(history.views) > most
        if seen.count > most or would_show:
            yield Result(seen.count <= most, f"at most {most} animals on any page, not {seen.count}")

    return check


# Filters


def _finds(seen: Seen, history: History) -> Iterator[Result]:
    """Check that a list is not empty although animals match its filters."""
    there = history.standing(seen)
    if seen.items is None or not seen.probe.is_valid or not (seen.items or there):
        return
    words = f"an animal such as id {min(there, default=0)}, which earlier and later responses show"
    yield Result(bool(seen.items), words, "empty")


def _finds_any(seen: Seen, history: History) -> Iterator[Result]:
    if all(one.parameter.where == "path" for one in seen.filters):
        yield from _finds(seen, history)


def is_alone(seen: Seen, parameter: Parameter) -> bool:
    """Whether a request has one parameter, beside those in its path. Other rows are about pairs."""
    others = [name for name in seen.chosen if name != parameter.name]
    return not others and bool(seen.text(parameter))


def _finds_with(parameter: Parameter) -> Check:
    def check(seen: Seen, history: History) -> Iterator[Result]:
        if is_alone(seen, parameter):
            yield from _finds(seen, history)

    return check


def _selects(parameter: Parameter) -> Check:
    words = parameter.says.words.format(parameter=parameter.name, field=parameter.filters_by)

    def check(seen: Seen, _history: History) -> Iterator[Result]:
        if not seen.items or not seen.probe.is_valid or not is_alone(seen, parameter):
            return
        for wanted in seen.filters:
            if wanted.parameter is parameter:
                is_right = all(wanted.selects(pet) for pet in seen.items if is_pet(pet))
                yield Result(is_right, f"only animals {words}", f"{parameter.name} selects others")

    return check


def _of_filter(operation: Operation, parameter: Parameter) -> Iterator[Clause]:
    name, short_name = parameter.name, short(parameter.name)
    rules = parameters(operation)[name]
    words = parameter.says.words.format(parameter=name, field=parameter.filters_by)
    allowed: list[str] = rules.get("enum", [])
    plain = request(operation, phase=Phase.LISTS)
    sample = "edge" if parameter.says.is_ordered else "any"
    probes: tuple[Probe, ...] = ()
    if not allowed and parameter.where != "path":
        probes = (plain.with_parameter(parameter, f"{{{sample}:{parameter.filters_by}}}"),)
    yield Clause(
        id=f"{operation.section}-{short_name}-filter",
        words=f"{name}: returns only animals {words}",
        operations=(operation,),
        probes=probes,
        check=_selects(parameter),
        mutants=tuple(_with_wrong_filter(operation, parameter, allowed)),
    )
    yield Clause(
        id=f"{operation.section}-{short_name}-finds",
        words=meant(f"{name}: a list shows existing animals {words}", operation),
        operations=(operation,),
        check=_finds_with(parameter),
        mutants=tuple(_with_empty_filter(operation, parameter, allowed)),
    )
    for value in allowed:
        change = changes.when(changes.has(parameter, value), changes.refuse())
        yield Clause(
            id=f"{operation.section}-{short_name}-{value}",
            words=f"{name}={value} is allowed",
            probes=(plain.with_parameter(parameter, value),) if parameter.where != "path" else (),
            check=is_accepted,
            mutants=each([operation], f"{value}-refused", f"refuses {name}={value}", change),
        )


def _word(operation: Operation, parameter: Parameter) -> str:
    """Return a filter in names of mutants. The first filter of an operation has the plain word."""
    return "filter" if parameter is operation.filters[0] else f"{short(parameter.name)}-filter"


def _with_wrong_filter(operation: Operation, parameter: Parameter, allowed: list[str]) -> Iterator[Mutant]:
    own, name, word = [operation], parameter.name, _word(operation, parameter)
    ignores = f"ignores the {name} filter"
    if parameter.where == "path":
        yield from each(own, f"{word}-ignored", ignores, changes.select(_by_others(parameter)))
        return
    ignore, is_given = changes.ignore(parameter), changes.has(parameter)
    yield from each(own, f"{word}-ignored", ignores, ignore, OF_REQUESTS)
    for value in allowed:
        ignore_value = changes.when(changes.has(parameter, value), ignore)
        yield from each(own, f"{value}-ignored", f"ignores the {name} {value}", ignore_value, OF_REQUESTS)
    if parameter.says.is_ordered:
        inclusive = changes.when(is_given, changes.select(_with_bound(parameter)))
        yield from each(own, f"{word}-inclusive", f"includes the bound of {name}", inclusive)
        opposite = changes.when(is_given, changes.select(_on_other_side(parameter)))
        yield from each(own, f"{word}-opposite", f"selects the animals on the other side of {name}", opposite)


def _by_others(parameter: Parameter) -> changes.Selection:
    return lambda pet, filters: changes.matches_others(pet, filters, parameter)


def _with_bound(parameter: Parameter) -> changes.Selection:
    def holds(pet: Pet, filters: list[Wanted]) -> bool:
        own = [one for one in filters if one.parameter is parameter]
        is_inside = all(one.selects(pet) or one.is_bound(pet) for one in own)
        return is_inside and changes.matches_others(pet, filters, parameter)

    return holds


def _on_other_side(parameter: Parameter) -> changes.Selection:
    def holds(pet: Pet, filters: list[Wanted]) -> bool:
        own = [one for one in filters if one.parameter is parameter]
        is_outside = all(not one.selects(pet) and not one.is_bound(pet) for one in own)
        has_field = parameter.filters_by in pet
        return is_outside and has_field and changes.matches_others(pet, filters, parameter)

    return holds


def _with_empty_filter(operation: Operation, parameter: Parameter, allowed: list[str]) -> Iterator[Mutant]:
    if parameter.where == "path":
        return
    own, does = [operation], f"finds nothing for the {parameter.name}"
    empty = changes.when(changes.has(parameter), changes.EMPTY)
    yield from each(own, f"{_word(operation, parameter)}-finds-nothing", f"{does} filter", empty)
    for value in allowed:
        empty = changes.when(changes.has(parameter, value), changes.EMPTY)
        yield from each(own, f"{value}-finds-nothing", f"{does} {value}", empty)


# Two parameters at once


def _of_pairs(operation: Operation) -> Iterator[Clause]:
    """Yield a row for each pair of parameters. A service may forget one where the other is given."""
    filters = [parameter for parameter in operation.filters if parameter.where != "path"]
    for parameter in filters:
        if operation.limit is not None:
            yield _of_limit_with(operation, operation.limit, parameter)
    for first, second in combinations(filters, 2):
        yield _of_two_filters(operation, first, second)


def _texts(operation: Operation, parameter: Parameter) -> list[str]:
    """Return values of a filter: all of an enum, or a placeholder for one that a listed animal has."""
    sample = "edge" if parameter.says.is_ordered else "any"
    allowed: list[str] = parameters(operation)[parameter.name].get("enum", [])
    return allowed or [f"{{{sample}:{parameter.filters_by}}}"]


def _of_limit_with(operation: Operation, limit: Parameter, parameter: Parameter) -> Clause:
    """Return the row about a limit together with a filter."""
    own, name = [operation], parameter.name
    plain = request(operation, phase=Phase.LIST_EDGES)
    texts = _texts(operation, parameter)
    # One animal: a service that applies the filter after the limit then finds none for most values.
    least = str(limits_of(operation)[0])
    pages = [plain.with_parameter(limit, least).with_parameter(parameter, text) for text in texts]
    pages.append(plain.with_parameter(limit, _FEW).with_parameter(parameter, texts[0]))
    start = f"{short(limit.name)}-and-{short(name)}"
    both = changes.when_both(limit, parameter)
    without_limit = changes.when(both, changes.ignore(limit))
    after_limit = changes.when(both, changes.select_after_limit)
    return Clause(
        id=f"{operation.section}-{start}",
        words=meant(f"{limit.name} counts the animals that {name} selects", operation),
        needs=f"several animals, of which {name} selects some",
        probes=tuple(pages),
        check=_has_both,
        mutants=(
            *each(own, f"{start}-unlimited", f"ignores {limit.name} if {name} is given", without_limit, OF_REQUESTS),
            *each(own, f"{start}-cut-first", f"applies {name} after {limit.name}", after_limit),
        ),
    )


def _of_two_filters(operation: Operation, first: Parameter, second: Parameter) -> Clause:
    own = [operation]
    plain = request(operation, phase=Phase.LIST_EDGES)
    probe = plain.with_parameter(first, _texts(operation, first)[0])
    probe = probe.with_parameter(second, _texts(operation, second)[0])
    start = f"{short(first.name)}-and-{short(second.name)}"
    only_first = changes.when(changes.when_both(first, second), changes.ignore(second))
    return Clause(
        id=f"{operation.section}-{start}",
        words=meant(f"A list shows only animals that both {first.name} and {second.name} select", operation),
        needs=f"an animal that {first.name} selects, and {second.name} does not",
        probes=(probe,),
        check=_has_both,
        mutants=each(own, start, f"ignores {second.name} if {first.name} is given", only_first, OF_REQUESTS),
    )


def _has_both(seen: Seen, history: History) -> Iterator[Result]:
    """Check a list with two parameters. A short page is no breach (gap page_fill), but an empty one is."""
    if seen.items is None:
        if is_refused_value(seen) and _accepts_each(seen, history):
            yield Result(holds=False, expected="a list, because the service accepts each parameter alone")
        return
    limit, there = seen.limit, len(history.standing(seen))
    for wanted in seen.filters:
        is_right = all(wanted.selects(pet) for pet in seen.items if is_pet(pet))
        name = wanted.parameter.name
        yield Result(is_right, f"only animals that {name} selects", f"{name} selects others")
    if limit is not None and there:
        yield Result(seen.count <= limit, f"at most {limit} animals, not {seen.count}", _TOO_LONG)
        yield Result(seen.count > 0, f"some of the {there} animals that other responses show", "empty")


def _accepts_each(seen: Seen, history: History) -> bool:
    """Whether the service accepts each parameter of a request alone, with the same value."""
    accepted = [one.chosen for one in history.lists if one.is_success and one.operation is seen.operation]
    return all({name: text} in accepted for name, text in seen.chosen.items())
