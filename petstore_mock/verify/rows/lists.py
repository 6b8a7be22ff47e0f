"""Rows about lists: their limit, their filters, and that they show existing animals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from petstore_mock.verify.row import LISTS, OF_REQUESTS, Clause, Mutant, Result, each, meant, prefix
from petstore_mock.verify.seen import is_pet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.interface.table import Operation, Parameter
    from petstore_mock.verify.probes import Probe
    from petstore_mock.verify.row import Check
    from petstore_mock.verify.seen import History, Seen, Wanted

    Pet = dict[str, Any]


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
        if bool(seen.text(limit)) is not is_given:
            return
        # A store with fewer animals can't show the limit.
        if seen.count >= most or len(history.standing(seen)) > most:
            yield Result(seen.count <= most, f"a list of at most {most}, not {seen.count}")

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


def _uses(seen: Seen, parameter: Parameter) -> bool:
    return any(one.parameter is parameter for one in seen.filters)


def _finds_with(parameter: Parameter) -> Check:
    def check(seen: Seen, history: History) -> Iterator[Result]:
        if _uses(seen, parameter):
            yield from _finds(seen, history)

    return check


def _selects(parameter: Parameter) -> Check:
    words = parameter.says.words.format(parameter=parameter.name, field=parameter.filters_by)

    def check(seen: Seen, _history: History) -> Iterator[Result]:
        if not seen.items or not seen.probe.is_valid:
            return
        for wanted in seen.filters:
            if wanted.parameter is parameter:
                is_right = all(wanted.selects(pet) for pet in seen.items if is_pet(pet))
                yield Result(is_right, f"only animals {words}")

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
