"""Rows about lists: their limit, their filters, and that they show existing animals."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from petstore_mock.interface.bodies import short
from petstore_mock.interface.schemas import parameters
from petstore_mock.verify import changes
from petstore_mock.verify.probes import OPEN, Phase, largest, limits_of, request
from petstore_mock.verify.row import HELD, LISTS, OF_REQUESTS, About, Result
from petstore_mock.verify.rows.checks import is_accepted
from petstore_mock.verify.seen import is_pet, is_same_value

if TYPE_CHECKING:
    from petstore_mock.interface.table import Operation, Parameter
    from petstore_mock.verify.row import Clause, Probes, Results, Rows
    from petstore_mock.verify.seen import History, Pet, Seen, Wanted


# A limit that shows whether pages are full.
_FEW: Final = 4
# The cause of too long lists, and of all lists of a service that ignores the query.
_TOO_LONG: Final = "a list is too long"


def rows() -> Rows:
    for operation in LISTS:
        if operation.limit is not None:
            yield _of_values(operation, operation.limit)
            yield from _of_limit(operation, operation.limit)
        yield _of_finding(operation)
        for parameter in operation.filters:
            yield from _of_filter(operation, parameter)


# The limit


def _of_values(operation: Operation, limit: Parameter) -> Clause:
    """Return the row about the values of a limit that a service accepts."""
    least, most, default = limits_of(operation)
    about = About(operation, limit.name, least=least, most=most)
    row = about.says("{section}-{short}-accepted", "{name}: from {least} to {most}", is_accepted)
    page = request(operation, phase=Phase.LISTS)
    row.send(*[page.with_parameter(limit, number) for number in (most, least, _FEW, default)])
    for end, bound in (("maximum", most), ("minimum", least)):
        row.mistake(f"{end}-refused", f"refuses {{name}}={bound}", changes.refuse_if(changes.has_value(limit, bound)))
    return row


def _of_limit(operation: Operation, limit: Parameter) -> Rows:
    """Yield the rows about the length of a page."""
    least, most, default = limits_of(operation)
    about = About(operation, limit.name, most=most, default=default)
    at_most = partial(_is_at_most, limit)
    row = about.every(
        "{section}-{short}-counts",
        "{name}: maximum number of animals to return",
        partial(at_most, is_given=True),
    )
    row.mistake("{short}-and-one", "returns one animal too many", changes.one_more(limit, least, most), OF_REQUESTS)
    for other in _queries(operation):
        without_limit = changes.when(changes.has(limit, other), changes.ignore(limit))
        end = f"{{short}}-and-{short(other.name)}-unlimited"
        row.mistake(end, f"ignores {{name}} if {other.name} is given", without_limit, OF_REQUESTS)
    yield row
    row = about.every("{section}-{short}-default", "{name}: default {default}", partial(at_most, is_given=False))
    row.needs = f"{default} animals"
    row.mutant(
        "{prefix}-default-{most}",
        "the default {name} is {most}",
        changes.set_default(limit, str(most)),
        OF_REQUESTS,
    )
    yield row
    bounded = partial(_is_bounded, limit.gap)
    row = about.means("{section}-{short}-bound", "A page has at most {most} animals for any {name}", bounded)
    row.operations = (operation,)
    row.needs = f"more than {most} animals"
    page = request(operation, phase=Phase.LISTS, expected=OPEN, gap=limit.gap)
    for number in (least - 1, most + 1, 1000):
        row.send(page.with_parameter(limit, number))
    yield row


def _is_at_most(limit: Parameter, seen: Seen, history: History, *, is_given: bool) -> Results:
    most = seen.limit
    if most is None or seen.items is None:
        return
    if not seen.probe.is_valid:
        return
    if bool(seen.text(limit)) is not is_given:
        return
    # A store with fewer animals can't show the limit.
    if seen.count >= most or len(history.standing(seen)) > most:
        words = f"a list of at most {most}, not {seen.count}"
        if history.ignores_queries:
            words += ", because the service, or a cache in front of it, ignores the query or a part of it"
        yield Result(seen.count <= most, words, _TOO_LONG)


def _is_bounded(gap: str, seen: Seen, history: History) -> Results:
    most = limits_of(seen.operation)[1]
    would_show = False
    if seen.probe.gap == gap:
        would_show = len(history.views) > most
        if seen.is_refusal:
            yield HELD
    if seen.items is None or seen.probe.is_valid:
        return
    if seen.count > most or would_show:
        yield Result(seen.count <= most, f"at most {most} animals on any page, not {seen.count}")


# Lists that find animals


def _of_finding(operation: Operation) -> Clause:
    row = About(operation).means(
        "{section}-list-finds", "A list shows existing animals that its filter selects", _finds
    )
    row.operations = (operation,)
    row.send(*[largest(operation, phase=Phase.LAST_LISTS)] * 2)
    row.mistake("always-empty", "returns an empty list", changes.EMPTY)
    limit = operation.limit
    for parameter in _queries(operation):
        name = parameter.name
        word = _word(operation, parameter)
        row.mistake(
            f"{word}-finds-nothing",
            f"finds nothing for the {name} filter",
            changes.when(changes.has(parameter), changes.EMPTY),
        )
        if limit is not None:
            after = changes.when(changes.has(limit, parameter), changes.select_after_limit)
            end = f"{short(limit.name)}-and-{short(name)}-cut-first"
            row.mistake(end, f"applies {name} after {limit.name}", after)
    return row


def _finds(seen: Seen, history: History) -> Results:
    """Check that a list is not empty although animals match its filters. A short page is no breach (gap page_fill)."""
    if seen.items is None or not seen.probe.is_valid:
        return
    there = history.standing(seen)
    if seen.items or there:
        words = f"an animal such as id {min(there, default=0)}, which earlier and later responses show"
        cause = _TOO_LONG if history.ignores_queries else "empty"
        yield Result(bool(seen.items), words, cause)


# Filters


def _of_filter(operation: Operation, parameter: Parameter) -> Rows:
    words = _selected(parameter)
    about = About(operation, parameter.name, words=words, word=_word(operation, parameter))
    allowed = _allowed(operation, parameter)
    row = about.every("{section}-{short}-filter", "{name}: returns only animals {words}", partial(_selects, parameter))
    _add_wrong_filters(row, operation, parameter)
    if allowed:
        yield row
        row = about.says("{section}-{short}-accepted", "{name}: each value is allowed", is_accepted)
        for value in allowed:
            row.mistake(
                f"{value}-refused",
                f"refuses {{name}}={value}",
                changes.refuse_if(changes.has_value(parameter, value)),
            )
    # If there is a row about the allowed values, it has the requests.
    row.send(*_probes(operation, parameter))
    yield row


def _word(operation: Operation, parameter: Parameter) -> str:
    """Return the parameter in names of mutants: the first filter of an operation has the plain word."""
    return "filter" if parameter is operation.filters[0] else f"{short(parameter.name)}-filter"


def _selected(parameter: Parameter) -> str:
    return parameter.says.words.format(parameter=parameter.name, field=parameter.filters_by)


def _allowed(operation: Operation, parameter: Parameter) -> list[str]:
    return [*parameters(operation)[parameter.name].get("enum", ())]


def _texts(operation: Operation, parameter: Parameter) -> list[str]:
    """Return the texts of a filter: each allowed one, or a placeholder for a value that a listed animal has."""
    return _allowed(operation, parameter) or [f"{{any:{parameter.filters_by}}}"]


def _selects(parameter: Parameter, seen: Seen, history: History) -> Results:
    if not seen.items or not seen.probe.is_valid:
        return
    words = f"only animals {_selected(parameter)}"
    for wanted in seen.filters:
        if wanted.parameter is parameter:
            is_right = all(map(wanted.selects, filter(is_pet, seen.items)))
            yield Result(is_right, words, _cause_of_others(wanted, seen, history))


def _cause_of_others(wanted: Wanted, seen: Seen, history: History) -> str:
    """Return the cause of animals that a filter should not have selected."""
    if history.ignores_queries:
        return _TOO_LONG
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


def _add_wrong_filters(row: Clause, operation: Operation, parameter: Parameter) -> None:
    if parameter.where == "path":
        row.mistake(
            "{word}-ignored", "ignores the {name} filter", changes.select(parameter, lambda _pet, _wanted: True)
        )
        return
    ignore = changes.ignore(parameter)
    row.mistake("{word}-ignored", "ignores the {name} filter", ignore, OF_REQUESTS)
    for other in _queries_before(operation, parameter):
        only_first = changes.when(changes.has(other, parameter), ignore)
        end = f"{short(other.name)}-and-{{short}}"
        row.mistake(end, f"ignores {{name}} if {other.name} is given", only_first, OF_REQUESTS)
    if parameter.says.is_ordered:
        row.mistake("{word}-inclusive", "includes the bound of {name}", changes.select(parameter, _with_bound))
        row.mistake(
            "{word}-opposite",
            "selects the animals on the other side of {name}",
            changes.select(parameter, _on_other_side),
        )


def _with_bound(pet: Pet, wanted: Wanted) -> bool:
    field = wanted.parameter.filters_by
    return wanted.selects(pet) or is_same_value(field, pet.get(field), wanted.value)


def _on_other_side(pet: Pet, wanted: Wanted) -> bool:
    return wanted.parameter.filters_by in pet and not _with_bound(pet, wanted)


# Requests with a filter


def _probes(operation: Operation, parameter: Parameter) -> Probes:
    """Yield requests with a filter, and with another parameter as well. A service may forget one of the two."""
    # Every request of the operation has the parameters in its path.
    if parameter.where == "path":
        return
    limit = operation.limit
    texts = _allowed(operation, parameter)
    plain = request(operation, phase=Phase.LISTS)
    for text in _texts(operation, parameter):
        yield plain.with_parameter(parameter, text)
    request_of = request(operation, phase=Phase.LIST_EDGES)
    if limit is not None:
        # One animal: a service that applies the filter after the limit then finds none for most values.
        page = request_of.with_parameter(limit, limits_of(operation)[0])
        later = f"{{later:{operation.name}:{parameter.name}}}"
        for text in texts or [later]:
            yield page.with_parameter(parameter, text)
        if not texts:
            # Among the animals of the service, the first one may be in each list. A created animal has unusual values.
            yield replace(page, phase=Phase.LAST_LISTS).with_parameter(parameter, later)
        # A service may look for the limit only behind the question mark.
        yield request_of.with_parameter(parameter, [*texts, later][0]).with_parameter(limit, _FEW)
    for other in _queries_before(operation, parameter):
        with_other = request_of.with_parameter(other, _texts(operation, other)[0])
        yield with_other.with_parameter(parameter, _texts(operation, parameter)[0])


def _queries(operation: Operation) -> list[Parameter]:
    return [parameter for parameter in operation.filters if parameter.where != "path"]


def _queries_before(operation: Operation, parameter: Parameter) -> list[Parameter]:
    queries = _queries(operation)
    return queries[: queries.index(parameter)]
