"""Rows about the fields of animals: their form, whether a response has what was sent, and whether responses agree."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final
from unicodedata import normalize
from urllib.parse import unquote_plus

from petstore_mock.interface.bodies import odd_texts, short
from petstore_mock.interface.gaps import RULES
from petstore_mock.interface.kinds import phrase, wrong_parameters
from petstore_mock.interface.schemas import fields_of, members_of, parameters, properties, required_arguments
from petstore_mock.interface.table import ANIMAL, FIELDS, known_part
from petstore_mock.interface.violations import describe
from petstore_mock.verify import changes
from petstore_mock.verify.probes import OPEN, REFUSED, REQUIRED, Phase, odd, request, sends
from petstore_mock.verify.row import (
    CHANGES,
    CREATES,
    CREATES_WITH_BODY,
    HELD,
    LISTS,
    OF_REQUESTS,
    READS,
    SHOWS,
    SHOWS_ONE,
    About,
    Result,
    breach,
)
from petstore_mock.verify.rows.checks import (
    cache_of,
    failing_value,
    has_to_succeed,
    has_unusual,
    is_refused,
    kind_of_field,
    unusual_clause,
)
from petstore_mock.verify.rows.messages import field_words, of_member, other_type
from petstore_mock.verify.seen import has_sent, is_pet, is_same_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.interface.kinds import Delicate
    from petstore_mock.interface.table import Operation, Parameter
    from petstore_mock.verify.row import Clause, Probes, Results, Rows
    from petstore_mock.verify.seen import History, Pet, Seen


# The fields that a client sends.
_SENT: Final = tuple(name for name in properties(ANIMAL) if not FIELDS[name].is_assigned)


def rows() -> Rows:
    for name in properties(ANIMAL):
        yield _of_form(name)
    yield from _of_identity()
    for name in _SENT:
        if _echoing(name):
            yield from _of_echo(name)
    for operation in SHOWS_ONE:
        for parameter in operation.setting:
            yield _of_set_field(operation, parameter)
            # Otherwise the interface leaves the response to a wrong text open.
            if 400 in operation.errors and not parameter.gap:
                yield from _of_wrong_texts(operation, parameter)
    for operation in SHOWS:
        # Other clauses say what an animal is after a change.
        if operation not in CHANGES:
            yield _of_same_animal(operation)


# The form of a field


def _of_form(name: str) -> Clause:
    about = About(SHOWS, name, words=field_words(ANIMAL, name))
    row = about.every("2-pet-{short}", "{words}", partial(_has_form, name))
    # Responses without an optional field are valid.
    if name in REQUIRED:
        row.mistake("{short}-missing", "returns no {name}", changes.drop_field(name))
        row.mistake("{short}-renamed", "renames {name}", changes.rename_field(name))
    showing = [operation for operation in SHOWS if _may_show(operation, name)]
    for mistake in kind_of_field(name).misshapen:
        wrong = changes.set_field(name, mistake.change)
        row.mistake(f"{{short}}-{mistake.end}", mistake.words, wrong, of=showing)
    return row


def _has_form(name: str, seen: Seen, history: History) -> Results:
    for item in seen.objects:
        made_by = history.wrongly_made.get(str(item.get("id")))
        for result in of_member(ANIMAL, name, item):
            yield result._replace(cause=made_by or result.cause)


def _may_show(operation: Operation, name: str) -> bool:
    """Whether the response of an operation can have a field. A new animal has no optional field that was not sent."""
    if not operation.does.adds or operation.body is None:
        return True
    return name in {*REQUIRED, *fields_of(operation)}


# Identifiers


def _of_identity() -> Rows:
    identity = next(field.name for field in FIELDS.values() if field.is_assigned)
    row = About(LISTS, identity).every("2-{name}-unique", "{name}: unique identifier", _has_unique_ids)
    row.needs = "two animals"
    row.mistake("one-id", "returns one id for all animals", changes.take_first_id)
    yield row
    row = About(CREATES, identity).every(
        "2-{name}-assigned", "{name}: unique identifier, assigned by the service on creation", _has_new_id
    )
    row.send(*[sends(one, {identity: "{absent}"}, phase=Phase.ODD_CREATES, expected=OPEN) for one in CREATES_WITH_BODY])
    row.mistake("id-taken", "returns the id of another animal", changes.take_other_id)
    yield row


def _has_unique_ids(seen: Seen, _history: History) -> Results:
    if len(seen.pets) > 1:
        yield Result(len({*seen.ids}) == len(seen.pets), "each id once")


def _has_new_id(seen: Seen, history: History) -> Results:
    for pet in seen.pets:
        is_known = history.is_known(pet["id"], seen.number)
        # Ids that lose digits are the same ids in lists.
        yield Result(not is_known, f"a new id; another animal has {pet['id']}", "2-id-unique")
        yield Result(pet["id"] != seen.sent.get("id"), f"another id than {pet['id']}, which the client chose")


# Fields that the client has sent


def _echoing(name: str) -> list[Operation]:
    """Return the operations that keep a sent field, and whose response shows it."""
    return [operation for operation in SHOWS_ONE if operation.does.keeps and name in fields_of(operation)]


def _of_echo(name: str) -> Rows:
    about = About(_echoing(name), name, body=CREATES[0].body)
    words = f"{ANIMAL} has all fields of {{body}}, including {{name}}"
    beyond = kind_of_field(name).beyond
    row = about.every("2-{short}-echoed", words, partial(_has_sent, name, is_beyond=False))
    _add_slips(row, name, is_beyond=False)
    row.mistake("{short}-changed", "returns another {name}", changes.set_field(name, changes.to_another(name)))
    # Without a required field, a response is invalid.
    if name not in REQUIRED:
        row.mistake("{short}-dropped", "drops the sent {name}", changes.drop_field(name))
    if beyond is not None:
        yield row
        row = about.every(unusual_clause(name), f"{{name}}: {beyond.words}", partial(_has_sent, name, is_beyond=True))
        row.needs = f"a created animal with such a {name}"
        _add_slips(row, name, is_beyond=True)
    # If there is a row about unusual values, it has the creates with odd ones.
    row.send(*_odd_bodies(name))
    yield row
    # One field is enough: a service reads and stores all texts alike.
    if FIELDS[name].is_label:
        for delicate in kind_of_field(name).delicate:
            yield _of_delicate(name, delicate)


def _add_slips(row: Clause, name: str, *, is_beyond: bool) -> None:
    for slip in kind_of_field(name).slips:
        if slip.responds and slip.is_beyond is is_beyond:
            row.mistake(f"{{short}}-{slip.responds}", slip.responds_words, changes.set_field(name, slip.change))


def _odd_bodies(name: str) -> Probes:
    """Yield creates and changes with values that a service may refuse, but must not change."""
    for operation in _echoing(name):
        for member, rules in members_of(operation).items():
            if name in operation.fields_in({member: rules}, {}):
                yield from odd(operation, member, odd_texts(rules))


def _has_sent(name: str, seen: Seen, history: History, *, is_beyond: bool) -> Results:
    """Check that a response has the sent value of a field; ``is_beyond`` selects values that often change."""
    value = seen.sets.get(name)
    if value is None or not seen.has_right_texts:
        return
    # Another clause says that a create returns a new animal.
    if seen.probe.expected.status != 0 or history.returns_former(seen):
        return
    if seen.probe.is_delicate:
        return
    if has_unusual(name, seen) is not is_beyond:
        return
    if is_beyond and failing_value(seen, history) == unusual_clause(name):
        yield breach(f"400, or {name} to be {describe(value)}")
    for pet in filter(is_pet, seen.pets[:1]):
        yield from _same_as_sent(name, pet, value, history)


def _same_as_sent(
    name: str,
    pet: Pet,
    value: object,
    history: History,
    *,
    context: str = "",
    cause: str = "",
    shown_by: Seen | None = None,
) -> Results:
    """Compare a field with the value that it should have. The report says in which way a service changed a text."""
    came = pet.get(name)
    words = ", ".join([f"{name} to be {describe(value)}{context}", *_ways(value, came)[:1]])
    is_other = name in pet and not isinstance(came, str)
    if not history.is_utf8:
        cause = "1-json-body"
    if is_other and isinstance(value, str):
        cause = other_type(ANIMAL, name, came)
    yield Result(is_same_value(name, came, value), words, cause or f"{name} differs", shown_by)


def _of_set_field(operation: Operation, parameter: Parameter) -> Clause:
    """Return the row about a field whose value is that of a parameter, or its default."""
    about = About(operation, parameter.name, field=parameter.sets)
    row = about.every(
        "{section}-{short}-set",
        "{name}: the animal has this {field}",
        partial(_has_sent, parameter.sets, is_beyond=False),
    )
    if parameter.name not in required_arguments(operation):
        phase = Phase.PLAIN_CREATES if operation.does.adds else Phase.CHANGES
        row.send(request(operation, "{made}", without=parameter, phase=phase))
    row.mistake(
        "{short}-not-set",
        "returns another {field}",
        changes.set_field(parameter.sets, changes.to_another(parameter.sets)),
    )
    if "default" in parameters(operation)[parameter.name]:
        row.mistake(
            "{short}-default-ignored",
            "keeps {field} if the request has no {name}",
            changes.of_left_out(parameter.sets, is_kept=True),
        )
    return row


def _of_wrong_texts(operation: Operation, parameter: Parameter) -> Rows:
    """Yield a row for each text of a parameter that a service refuses."""
    rules = parameters(operation)[parameter.name]
    phase = Phase.WRONG_CREATES if operation.does.adds else Phase.WRONG_CHANGES
    probe = request(operation, "{made}", without=parameter, phase=phase, expected=REFUSED)
    for end, text in wrong_parameters(rules).items():
        about = About(operation, parameter.name, end=end, text=text, phrase=phrase(rules))
        row = about.says("{section}-{short}-{end}", "{name} is {phrase}: {text} gets 400", is_refused)
        row.send(probe.with_parameter(parameter, text))
        row.mistake(
            "{short}-{end}-passes",
            "accepts {name}={text}",
            changes.when(changes.has_value(parameter, text), changes.ignore(parameter)),
            OF_REQUESTS,
        )
        yield row


# Delicate values


def _of_delicate(name: str, delicate: Delicate) -> Clause:
    """Return the row about one delicate value: a service keeps it exactly, or refuses it."""
    create = next(operation for operation in _echoing(name) if operation in CREATES)
    about = About(create, name, end=delicate.id, words=delicate.words)
    row = about.says(
        "2-{short}-{end}",
        "{name}: {words} is kept exactly, or refused with 400",
        partial(_keeps_exactly, name),
    )
    row.needs = f"a created animal with such a {name}"
    row.send(sends(create, {name: delicate.text}, phase=Phase.DELICATE_CREATES, expected=OPEN))
    if delicate.change is not None:
        in_store = changes.keep_field(name, delicate.change)
        in_response = changes.set_field(name, delicate.change)
        row.mistake("{short}-{end}-changed", "changes {words} in {name}", changes.both(in_store, in_response))
    return row


def _keeps_exactly(name: str, seen: Seen, history: History) -> Results:
    value = seen.sent.get(name)
    if seen.has_failed:
        plain = filter(has_to_succeed, history.of(seen.operation))
        # Another clause says that the operation fails for requests that have nothing unusual.
        if not any(one.has_failed for one in plain):
            yield breach(f"400, or {name} to be {describe(value)}")
    elif seen.status == 400:
        yield HELD
    elif not history.returns_former(seen):
        for pet in seen.pets[:1]:
            # Another clause is about a missing field.
            if name in pet:
                yield from _same_as_sent(name, pet, value, history, cause=_cause_of_change(name, seen, history))


def _cause_of_change(name: str, seen: Seen, history: History) -> str:
    """Return the cause of a changed delicate value: the clause of the value that shows the mistake best."""
    alike = [create for create in history.created if _is_changed_alike(name, create, seen)]
    if not all(create.probe.is_delicate for create in alike):
        return f"{name} differs"
    # A value that fewer ways explain shows the mistake better.
    best = min(alike, key=lambda create: len(_ways_of(name, create)), default=seen)
    return best.probe.shows


def _is_changed_alike(name: str, create: Seen, seen: Seen) -> bool:
    if not {*_ways_of(name, create)}.isdisjoint(_ways_of(name, seen)):
        return True
    if create.probe.is_delicate or create.sent.get(name) == create.pets[0].get(name):
        return False
    # A service that changes plain texts, or plain letters beyond ASCII, changes such delicate ones, too.
    both_unusual = has_unusual(name, create) and has_unusual(name, seen)
    return create.probe.is_valid or both_unusual


def _ways_of(name: str, create: Seen) -> list[str]:
    return _ways(create.sent.get(name), create.pets[0].get(name))


# The same animal in several responses


def _of_same_animal(operation: Operation) -> Clause:
    row = About(operation).means("{section}-same-animal", "An animal is the same in every response", _is_same)
    row.operations = (operation,)
    row.needs = "another response with the same animal"
    for name in _SENT:
        if operation in CREATES and operation in _echoing(name):
            _add_other_stored(row, operation, name)
        if operation in READS:
            stale = changes.set_field(name, changes.to_another(name))
            row.mistake(f"{short(name)}-stale", f"and the list differ in {name}", stale)
    return row


def _add_other_stored(row: Clause, operation: Operation, name: str) -> None:
    """Add the mutants that keep another value than they return."""
    start = f"{{lead}}keeps-{short(name)}"
    # The first create sends a long text if a gap leaves its length open.
    has_long = operation is CREATES[0] and name in [gap.field for gap in RULES]
    is_other = True
    for slip in kind_of_field(name).slips:
        is_shown = has_long or not slip.is_of_long
        if slip.keeps and is_shown:
            is_other = False
            words = f"the store {slip.keeps_words.format(name=name)}"
            row.mutant(f"{start}-{slip.keeps}", words, changes.keep_field(name, slip.change))
    if is_other:
        change = changes.keep_field(name, changes.to_another(name))
        row.mutant(f"{start}-other", f"the store keeps another {name}", change)


def _is_same(seen: Seen, history: History) -> Results:
    """Compare each animal with earlier and later responses, and a created animal with later responses."""
    if not seen.is_distinct:
        return
    # Another clause says which animal the response should show.
    for pet in filter(is_pet, seen.own_pets):
        other = _other(seen, history, pet["id"])
        if is_pet(other) and pet["id"] not in history.shared:
            yield from _compared(pet, other, seen, history)


def _other(seen: Seen, history: History, pet_id: int) -> Pet | None:
    """Return an animal as an earlier and a later response show it."""
    _, after = history.around(pet_id, seen.number, lists=True)
    if seen.operation.commits:
        # Nothing before the change counts, so one later response has to do.
        _, later = history.around(pet_id, seen.number)
        return next(iter(after or later), None)
    before = history.former(pet_id, seen.number, lists=True)
    if before is None or not after:
        return None
    # If they differ, another client may have changed the animal.
    return before if known_part(before) == known_part(after[0]) else None


def _compared(pet: Pet, other: Pet, seen: Seen, history: History) -> Results:
    if seen.sets and has_sent(pet, seen):
        # The response shows what its request sent, so a later one is wrong.
        pet, other = other, pet
        seen = next((one for one in history.exchanges[seen.number :] if one.pet(pet["id"]) == pet), seen)
    context = f" for the id {pet['id']}, as in other responses{cache_of(seen)}"
    # If creates return wrong ids, these are the ids of other animals.
    cause = "2-id-assigned" if history.shared else ""
    for name in properties(ANIMAL):
        yield from _same_as_sent(name, pet, other.get(name), history, context=context, cause=cause, shown_by=seen)


# How services change texts: in the words of a report, with a function that makes the two texts equal


def _number_in(text: str) -> str:
    try:
        return str(float(text))
    except ValueError:
        return text


def _undone_latin_1(text: str) -> str:
    try:
        return text.encode("latin-1").decode("utf-8")
    except ValueError:
        return text


_WAYS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("in the same case", str.lower),
    ("without normalization", partial(normalize, "NFKC")),
    ("with the same blanks", partial(re.sub, r"\s", "")),
    # Services write a question mark for a letter that they can't write.
    ("with the same letters", partial(re.sub, r"[^\x00-\x7f]|\?", "")),
    ("with the same backslashes", partial(re.sub, r"\\", "")),
    ("read as UTF-8", _undone_latin_1),
    ("not decoded as a part of a URL", unquote_plus),
    ("not read as a number", _number_in),
    # Of a text that begins with a date, only the date.
    ("not read as a date", partial(re.sub, r"(?s)\A(\d{4}-\d\d-\d\d).*", r"\1")),
)


def _ways(text: object, came: object) -> list[str]:
    """Return what a service should not have changed in a text; empty if the way is unknown, or another type came."""
    if text == came:
        return []
    if not isinstance(text, str) or not isinstance(came, str):
        return []
    if came and text.startswith(came):
        return ["in its whole length"]
    return [words for words, leveled in _WAYS if leveled(text) == leveled(came)]
