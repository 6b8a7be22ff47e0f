"""Rows about the fields of animals: their form, whether a response has what was sent, and whether responses agree."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.interface.bodies import odd_texts, short
from petstore_mock.interface.gaps import RULES
from petstore_mock.interface.kinds import kind_of
from petstore_mock.interface.schemas import properties, schema
from petstore_mock.interface.table import ANIMAL, FIELDS
from petstore_mock.interface.violations import describe
from petstore_mock.verify import changes
from petstore_mock.verify.probes import OPEN, Phase, sends
from petstore_mock.verify.row import (
    CHANGES,
    CREATES,
    LISTS,
    READS,
    SHOWS,
    SHOWS_ONE,
    Clause,
    Mutant,
    Result,
    each,
    lead,
    meant,
)
from petstore_mock.verify.rows.messages import field_words, of_member
from petstore_mock.verify.seen import is_pet, is_same_value, known_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from petstore_mock.http.mutant import Turn
    from petstore_mock.interface.kinds import Delicate
    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.probes import Probe
    from petstore_mock.verify.row import Change, Check
    from petstore_mock.verify.seen import History, Seen

# Operations whose response shows the fields of the request.
_ECHOES: Final = tuple(operation for operation in SHOWS_ONE if operation.does.keeps and operation.body is not None)


def rows() -> Iterator[Clause]:
    for name in properties(ANIMAL):
        yield Clause(
            id=f"2-pet-{short(name)}",
            words=field_words(ANIMAL, name),
            operations=SHOWS,
            check=_of_field(name),
            mutants=tuple(_with_wrong_field(name)),
        )
    yield from _of_identity()
    for name in properties(ANIMAL):
        if not FIELDS[name].is_assigned and _echoing(name):
            yield from _of_echo(name)
    # Other clauses say what an animal is after a change.
    for operation in [one for one in SHOWS if one not in CHANGES]:
        yield Clause(
            id=f"{operation.section}-same-animal",
            words=meant("An animal is the same in every response", operation),
            operations=(operation,),
            needs="another response with the same animal",
            check=_is_same,
            mutants=tuple(_with_differing_animal(operation)),
        )


# The form of a field


def _of_field(name: str) -> Check:
    def check(seen: Seen, _history: History) -> Iterator[Result]:
        for item in seen.objects:
            yield from of_member(ANIMAL, name, item)

    return check


def _with_wrong_field(name: str) -> Iterator[Mutant]:
    start = short(name)
    # Responses without an optional field are valid.
    if name in schema(ANIMAL)["required"]:
        yield from each(SHOWS, f"{start}-missing", f"returns no {name}", changes.drop_field(name))
        yield from each(SHOWS, f"{start}-renamed", f"renames {name}", changes.rename_field(name))
    showing = [operation for operation in SHOWS if _may_show(operation, name)]
    for mistake in kind_of(properties(ANIMAL)[name]).misshapen:
        wrong = changes.set_field(name, mistake.change)
        yield from each(showing, f"{start}-{mistake.end}", mistake.words.format(name=name), wrong)


def _may_show(operation: Operation, name: str) -> bool:
    """Whether the response of an operation can have a field. A new animal has no optional field that was not sent."""
    if not operation.does.adds or operation.body is None or name in schema(ANIMAL)["required"]:
        return True
    return name in properties(operation.body)


# Identifiers


def _of_identity() -> Iterator[Clause]:
    identity = next(field.name for field in FIELDS.values() if field.is_assigned)
    yield Clause(
        id=f"2-{identity}-unique",
        words=f"{identity}: unique identifier",
        operations=LISTS,
        needs="two animals",
        check=_has_unique_ids,
        mutants=each(LISTS, "one-id", "returns one id for all animals", changes.take_first_id),
    )
    yield Clause(
        id=f"2-{identity}-assigned",
        words=f"{identity}: unique identifier, assigned by the service on creation",
        operations=CREATES,
        check=_has_new_id,
        mutants=each(CREATES, "id-taken", "returns the id of another animal", changes.take_other_id),
    )


def _has_unique_ids(seen: Seen, _history: History) -> Iterator[Result]:
    if len(seen.pets) > 1:
        yield Result(len({pet["id"] for pet in seen.pets}) == len(seen.pets), "each id once")


def _has_new_id(seen: Seen, history: History) -> Iterator[Result]:
    for pet in seen.pets:
        is_known = history.is_known(pet["id"], seen.number)
        yield Result(not is_known, f"a new id; another animal has {pet['id']}")


# Fields that the client has sent


def _echoing(name: str) -> tuple[Operation, ...]:
    """Return the operations whose response shows a sent field."""
    return tuple(operation for operation in _ECHOES if name in properties(str(operation.body)))


def _of_echo(name: str) -> Iterator[Clause]:
    operations = _echoing(name)
    beyond = kind_of(properties(ANIMAL)[name]).beyond
    odd = tuple(_odd_creates(name))
    yield Clause(
        id=f"2-{short(name)}-echoed",
        words=f"{ANIMAL} has all fields of {CREATES[0].body}, including {name}",
        operations=operations,
        probes=() if beyond else odd,
        check=_has_sent(name, is_beyond=False),
        mutants=tuple(_with_wrong_echo(name)),
    )
    if beyond is not None:
        yield Clause(
            id=f"2-{short(name)}-{beyond.id}",
            words=f"{name}: {beyond.words}",
            operations=operations,
            needs=f"a created animal with such a {name}",
            probes=odd,
            check=_has_sent(name, is_beyond=True),
            mutants=tuple(_with_slips(name, is_beyond=True)),
        )
    # One field is enough: a service reads and stores all texts alike.
    delicates = kind_of(properties(ANIMAL)[name]).delicate if FIELDS[name].is_label else ()
    for delicate in delicates:
        yield _of_delicate(name, delicate)


def _of_delicate(name: str, delicate: Delicate) -> Clause:
    """Return the row about one delicate value: a service keeps it exactly, or refuses it."""
    creates = [operation for operation in _echoing(name) if operation in CREATES][:1]
    end = f"{short(name)}-{delicate.id}"
    texts = {name: delicate.text}
    mutants: tuple[Mutant, ...] = ()
    if delicate.change is not None:
        stored = _set_stored(name, delicate.change)
        mutants = each(creates, f"{end}-changed", f"changes {delicate.words} in {name}", stored)
    return Clause(
        id=f"2-{end}",
        words=f"{name}: {delicate.words} is kept exactly, or refused with 400",
        needs=f"a created animal with such a {name}",
        probes=tuple(sends(one, texts, phase=Phase.DELICATE_CREATES, expected=OPEN) for one in creates),
        check=_keeps_exactly(name),
        mutants=mutants,
    )


def _set_stored(name: str, mistake: Callable[[Any], Any]) -> Change:
    """Return a change of a created animal in the response and in the store."""
    in_store, in_response = changes.keep_field(name, mistake), changes.set_field(name, mistake)

    def change(turn: Turn) -> None:
        in_store(turn)
        in_response(turn)

    return change


def _keeps_exactly(name: str) -> Check:
    def check(seen: Seen, history: History) -> Iterator[Result]:
        value = seen.sent.get(name)
        creates = [one for one in history.exchanges if one.operation is seen.operation and one.has_failed]
        fails_always = any(one.probe.phase is not Phase.DELICATE_CREATES for one in creates)
        if seen.has_failed and not fails_always:
            yield Result(holds=False, expected=f"400, or {name} to be {describe(value)}")
        elif seen.status == 400:
            yield Result(holds=True)
        elif seen.pets and history.echoes_plain(name):
            came = seen.pets[0].get(name)
            yield Result(came == value, f"{name} to be {describe(value)}")

    return check


def _with_wrong_echo(name: str) -> Iterator[Mutant]:
    operations = _echoing(name)
    yield from _with_slips(name, is_beyond=False)
    yield from each(operations, f"{short(name)}-changed", f"returns another {name}", _to_another(name))
    # Without a required field, a response is invalid.
    if name not in schema(ANIMAL)["required"]:
        yield from each(operations, f"{short(name)}-dropped", f"drops the sent {name}", changes.drop_field(name))


def _with_slips(name: str, *, is_beyond: bool) -> Iterator[Mutant]:
    for slip in kind_of(properties(ANIMAL)[name]).slips:
        if slip.responds and slip.is_beyond is is_beyond:
            does = slip.responds_words.format(name=name)
            change = changes.set_field(name, slip.change)
            yield from each(_echoing(name), f"{short(name)}-{slip.responds}", does, change)


def _odd_creates(name: str) -> Iterator[Probe]:
    """Yield creates with values that a service may refuse, but must not change."""
    for operation in _echoing(name):
        body = str(operation.body)
        phase = Phase.ODD_CREATES if operation.does.adds else Phase.ODD_CHANGES
        # With all enums, a service that fills them in can't be mistaken for one that changes them.
        extra = {
            other: dumps(rules["enum"][0])
            for other, rules in properties(body).items()
            if "enum" in rules and other not in schema(body).get("required", ())
        }
        for text in odd_texts(properties(body)[name]):
            yield sends(operation, {**extra, name: text}, phase=phase, expected=OPEN)


def _to_another(name: str) -> Change:
    rules = properties(ANIMAL)[name]
    return changes.set_field(name, lambda value: kind_of(rules).another(value, rules))


def _has_sent(name: str, *, is_beyond: bool) -> Check:
    """Return a check that a response has the sent value of a field; ``is_beyond`` selects values that often change."""
    beyond = kind_of(properties(ANIMAL)[name]).beyond

    def check(seen: Seen, _history: History) -> Iterator[Result]:
        value = seen.sent.get(name)
        is_refusable = seen.probe.expected.status != 0
        is_delicate = seen.probe.phase is Phase.DELICATE_CREATES
        if value is None or is_refusable or is_delicate or not seen.pets or not is_pet(seen.document):
            return
        is_special = beyond is not None and beyond.holds(value)
        if is_special is is_beyond:
            is_same = is_same_value(name, seen.pets[0].get(name), value)
            yield Result(is_same, f"{name} to be {describe(value)}", f"{name} differs")

    return check


# The same animal in several responses


def _with_differing_animal(operation: Operation) -> Iterator[Mutant]:
    names = [name for name in properties(ANIMAL) if not FIELDS[name].is_assigned]
    for name in names:
        if operation in CREATES and operation in _echoing(name):
            yield from _with_other_stored(operation, name)
    for name in names:
        if operation in READS:
            does = f"and the list differ in {name}"
            yield from each([operation], f"{short(name)}-stale", does, _to_another(name))


def _with_other_stored(operation: Operation, name: str) -> Iterator[Mutant]:
    rules = properties(ANIMAL)[name]
    kind = kind_of(rules)
    start = f"{lead(operation, CREATES)}keeps-{short(name)}"
    # The first create sends a long text if a gap leaves its length open.
    has_long = operation is CREATES[0] and any(gap.field == name for gap in RULES)
    slips = [slip for slip in kind.slips if slip.keeps and (has_long or not slip.is_of_long)]
    for slip in slips:
        words = f"the store {slip.keeps_words.format(name=name)}"
        yield Mutant(f"{start}-{slip.keeps}", words, [operation], changes.keep_field(name, slip.change))
    if not slips:
        words = f"the store keeps another {name}"
        other = changes.keep_field(name, lambda value: kind.another(value, rules))
        yield Mutant(f"{start}-other", words, [operation], other)


def _is_same(seen: Seen, history: History) -> Iterator[Result]:
    """Compare each animal with earlier and later responses, and a created animal with later responses."""
    if not seen.is_distinct:
        return
    for pet in filter(is_pet, seen.pets):
        pair = _others(seen, history, pet)
        if len(pair) == 2 and known_part(pair[0]) == known_part(pair[1]) and is_pet(pair[0]):
            yield from _compared(pet, pair[0], _cache_of(seen))


def _others(seen: Seen, history: History, pet: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return an animal as two other responses show it. If they differ, another client may have changed the animal."""
    pet_id = pet["id"]
    before, after = history.around(pet_id, seen.number, lists=True)
    if seen.operation.commits:
        # Nothing before the change counts, so one later response has to do.
        is_taken = seen.operation.does.adds and history.is_known(pet_id, seen.number)
        _, later = history.around(pet_id, seen.number)
        return [] if is_taken else [*(after or later)[:1]] * 2
    made = [] if history.was_changed(pet_id, seen.number) else history.made(pet_id, seen.number)
    return [*(before or made)[-1:], *after[:1]]


def _cache_of(seen: Seen) -> str:
    """Return the header fields of a cache, which may have a former response."""
    fields = [f"{name}: {seen.header(name)}" for name in ("Age", "X-Cache") if seen.header(name)]
    return f" ({', '.join(fields)}: a cache may be the cause)" if fields else ""


def _compared(pet: Mapping[str, Any], other: Mapping[str, Any], cache: str) -> Iterator[Result]:
    for name in properties(ANIMAL):
        value = other.get(name)
        words = f"{name} to be {describe(value)} for the id {pet['id']}, as in other responses{cache}"
        yield Result(is_same_value(name, pet.get(name), value), words, f"{name} differs")
