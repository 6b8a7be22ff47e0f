"""Rows about what creates, changes and removes leave in the store."""

from __future__ import annotations

from functools import partial
from json import dumps
from typing import TYPE_CHECKING, Final

from petstore_mock.common.guards import is_object
from petstore_mock.interface.bodies import short
from petstore_mock.interface.gaps import OMITTED
from petstore_mock.interface.schemas import (
    arguments,
    fields_of,
    members_of,
    required_arguments,
    required_names,
)
from petstore_mock.interface.table import ASSIGNED, FIELDS, LABEL, MEMBERS
from petstore_mock.verify import changes
from petstore_mock.verify.probes import ABSENT, REQUIRED, SUCCESS, Phase, largest, request, sends
from petstore_mock.verify.row import (
    CHANGES,
    CREATES,
    LISTS,
    READS,
    READS_BY_ID,
    REMOVES,
    WHOLE_LISTS,
    About,
    Result,
    breach,
    success_clause,
)
from petstore_mock.verify.rows.checks import cache_of
from petstore_mock.verify.seen import has_sent, is_pet, is_same_value

if TYPE_CHECKING:
    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.probes import Expected
    from petstore_mock.verify.row import Clause, Probes, Results, Rows
    from petstore_mock.verify.seen import History, Pet, Seen


def rows() -> Rows:
    for operation in CREATES:
        row = About(operation).means(
            "{section}-listed", "Lists show a created animal, once", partial(_is_listed, operation)
        )
        row.operations = LISTS
        row.needs = "a created animal and a list that is not full"
        yield row
    for operation in (*CREATES, *CHANGES):
        if operation.body is not None or operation.setting:
            yield from _of_keeping(operation)
            if operation in CHANGES:
                yield _of_left_out(operation)
    for operation in REMOVES:
        yield from _of_removing(operation)


def _readings(expected: Expected = SUCCESS) -> Probes:
    """Yield requests that show an animal. A run sends the first whose operation still works."""
    for operation in READS_BY_ID:
        yield request(operation, "{made}", phase=Phase.READS, expected=expected)
    for operation in WHOLE_LISTS:
        yield largest(operation, phase=Phase.LISTS)


# What creates and changes keep

_OF_CREATES: Final = {
    "what": "create",
    "done": "created",
    "object": "animal",
    "kept": "A created animal stays in the catalogue",
    "refused": "A refused create adds no animal",
}
_OF_CHANGES: Final = {
    "what": "change",
    "done": "changed",
    "object": "change",
    "kept": "A changed animal has the fields of the request",
    "refused": "A refused change changes nothing",
}


def _of_keeping(operation: Operation) -> Rows:
    adds = operation.does.adds
    words = _OF_CREATES if adds else _OF_CHANGES
    about = About(operation, **words)
    check = _is_kept if adds else _has_changed
    row = about.means("{section}-kept", "{kept}", partial(check, operation))
    row.needs = f"a {words['done']} animal"
    row.after = operation
    row.send(*_readings())
    row.mistake("forgotten", "does not store the {object}", changes.forget)
    yield row
    shows_none = _has_no_refused if LABEL in arguments(operation) else _has_no_refused_field
    row = about.means("{section}-refused-not-kept", "{refused}", partial(shows_none, operation, words["what"]))
    row.needs = f"a {words['what']} that was refused with 400 or 401"
    row.operations = LISTS
    if not adds:
        row.operations = (*LISTS, *READS_BY_ID)
        row.send(*[request(one, "{made}", phase=Phase.AFTER_WRONG_CHANGES) for one in READS_BY_ID[:1]])
    row.mutant(
        "{lead}refused-is-kept",
        "the store keeps the {object} although the response is 400 or 401",
        changes.keep_refused,
        (400, 401),
    )
    yield row


def _is_kept(operation: Operation, seen: Seen, history: History) -> Results:
    """Check that the last created animal is found, possibly some requests later (gap visibility)."""
    create = history.last(operation, seen.number)
    if create is None:
        return
    pet_id = create.ids[0]
    _, later = history.around(pet_id, seen.number)
    is_found = bool(later or seen.pet(pet_id))
    if not is_found and history.is_late:
        return
    if is_found or _would_show(seen, history):
        words = f"the created animal {pet_id}, in this response or later{cache_of(seen)}"
        # If creates return wrong ids, no request can find their animals.
        yield Result(is_found, words, "2-id-assigned")


def _would_show(seen: Seen, history: History) -> bool:
    """Whether a response would show an animal that exists."""
    if seen.operation.shows_many:
        return _is_whole(seen, history)
    return seen.is_success or seen.status == 404


def _is_whole(seen: Seen, history: History) -> bool:
    """Whether a list shows every matching animal. It does if another page with the same limit is longer."""
    if history.has_short_pages or not seen.is_distinct:
        return False
    longest = max(one.count for one in history.lists if one.limit == seen.limit)
    return 0 < seen.count < longest


def _is_listed(operation: Operation, seen: Seen, history: History) -> Results:
    """Check that lists show the created animals that a read showed, and that no create added two."""
    if not seen.is_distinct:
        return
    twins = _twins(operation, seen, history)
    if twins:
        yield breach(f"one animal for each create; the animals {twins} share a {LABEL}")
    if not _is_whole(seen, history):
        return
    own = [create.ids[0] for create in history.created if create.operation is operation]
    looked = [pet_id for pet_id in own if history.should_show(seen, pet_id)]
    if looked:
        # One animal is enough, because the others may appear later.
        is_shown = not history.listed.isdisjoint(looked)
        words = f"the created animals {looked} as well; no list shows any of them{cache_of(seen)}"
        # If lists have other ids than reads, no listed animal can be read.
        cause = "".join(map(success_clause, READS_BY_ID[:1]))
        if history.shared:
            cause = "2-id-assigned"
        yield Result(is_shown, words, cause)


def _twins(operation: Operation, seen: Seen, history: History) -> list[int]:
    """Return the animals of a list that have the label of one create, if the label was made for it."""
    sent = [one.label for one in history.exchanges]
    for create in history.of(operation):
        alike = seen.with_label(create.label)
        # An earlier run may have used the label.
        new = [pet_id for pet_id in alike if not history.is_known(pet_id, create.number)]
        is_own = "{label}" in create.template.body
        if is_own and len(new) > sent.count(create.label):
            return new
    return []


def _has_no_refused(operation: Operation, what: str, seen: Seen, history: History) -> Results:
    """Check that no animal has the label of a refused request. Each request has its own label."""
    labels = {one.label for one in history.refused(operation, seen.number)}
    # Another request may have created an animal with the same label.
    labels -= {"", *(one.label for one in history.created)}
    if labels and seen.pets:
        kept = seen.with_label(*labels)
        words = f"no animal of a refused {what}; the animals {kept} have {LABEL}s of refused {what}s"
        yield Result(not kept, words)


def _has_no_refused_field(operation: Operation, what: str, seen: Seen, history: History) -> Results:
    """Check that an animal has no field of a refused request."""
    pet = seen.pet(seen.is_about)
    refused = _refused(operation, seen, history)
    if not refused or not is_pet(pet):
        return
    former = history.former(pet["id"], refused[0].number) or pet
    # Another clause is about the form of an animal.
    if not is_pet(former):
        return
    for one in refused:
        for name, value in one.sets.items():
            was_there = is_same_value(name, former.get(name), value)
            is_kept = is_same_value(name, pet.get(name), value) and not was_there
            words = f"{name} not to be {dumps(value)}, that of a refused {what}"
            yield Result(not is_kept, words, f"{name} differs")


def _refused(operation: Operation, seen: Seen, history: History) -> list[Seen]:
    """Return the refused requests about the animal of a request; none if another one succeeded, and changed it."""
    for one in history.exchanges[: seen.number - 1]:
        if one.operation in CHANGES and one.target_id == seen.is_about:
            return []
    return [one for one in history.refused(operation, seen.number) if one.is_about == seen.is_about]


def _has_changed(operation: Operation, seen: Seen, history: History) -> Results:
    """Check that the last changed animal has the sent fields, possibly some responses later."""
    change = history.last(operation, seen.number)
    if change is None:
        return
    pet = seen.pet(change.is_about)
    if not is_pet(pet):
        return
    _, later = history.around(pet["id"], seen.number)
    views = [pet, *filter(is_pet, later)]
    for name, value in change.sets.items():
        is_kept = any(is_same_value(name, view.get(name), value) for view in views)
        yield Result(is_kept, f"{name} to be {dumps(value)}, as {change.line} changed it", f"{name} differs")


# Fields that a change leaves out


_STAYS: Final = ("others-stay", "A field that the request leaves out stays as it was", "lost", "drops")
_GOES: Final = ("replaced", "An optional field that the request leaves out is absent afterwards", "merged", "keeps")


def _of_left_out(operation: Operation) -> Clause:
    """Return the row about fields that a change leaves out, with the changes themselves."""
    replaces = operation.does.replaces
    end, words, mutant, does = _GOES if replaces else _STAYS
    names = _may_be_left_out(operation)
    row = About(operation).means(f"{{section}}-{end}", words, partial(_keeps_left_out, operation, names))
    row.operations = (operation, *READS, *LISTS)
    row.needs = "a changed animal"
    row.send(*_changes(operation))
    for name in names:
        # Without a required field, an animal is invalid.
        if name not in REQUIRED:
            change = changes.of_left_out(name, is_kept=replaces)
            row.mistake(f"{short(name)}-{mutant}", f"{does} {name}, which was left out", change)
    return row


def _may_be_left_out(operation: Operation) -> list[str]:
    """Return the fields that a change may leave out, if the interface says what follows from that."""
    required = required_arguments(operation)
    given = {name: rules for name, rules in arguments(operation).items() if name in required or "default" in rules}
    names = FIELDS.keys() - ASSIGNED - operation.fields_in(given, given).keys()
    if operation.does.replaces:
        names &= fields_of(operation).keys() - OMITTED.keys()
    return sorted(names)


def _changes(operation: Operation) -> Probes:
    """Yield a change with all members, and changes with some."""
    if operation.body is None:
        return
    texts: dict[str, str] = {}
    for name in members_of(operation):
        # An optional member gets its last sample, which differs from that of a created animal.
        if name not in required_names(operation.body):
            texts[name] = dumps(MEMBERS[name].samples[-1])
    send = partial(sends, operation, phase=Phase.CHANGES)
    yield send(texts)
    # With its only optional member, a request leaves nothing out.
    if operation.does.replaces or len(texts) < 2:
        yield send({})
        return
    for name in [*texts][:2]:
        yield send({name: texts[name]})


def _keeps_left_out(operation: Operation, names: list[str], seen: Seen, history: History) -> Results:
    change = _change_of(seen, history)
    if change is None or change.operation is not operation:
        return
    pet = seen.pet(change.is_about)
    former = history.former(change.target_id or 0, change.number)
    if not is_pet(pet) or not is_pet(former):
        return
    # A response without the sent fields is older than the change.
    if not has_sent(pet, change):
        return
    for name in names:
        if name in former and name not in change.named_fields:
            yield _of_one_left_out(operation, name, pet, former)


def _change_of(seen: Seen, history: History) -> Seen | None:
    """Return the last change of an animal in a response."""
    pet_ids = {seen.is_about, *seen.ids}
    for change in reversed(history.changed):
        if change.number <= seen.number and change.is_about in pet_ids:
            return change
    return None


def _of_one_left_out(operation: Operation, name: str, pet: Pet, former: Pet) -> Result:
    if operation.does.replaces:
        return Result(name not in pet, f"no {name} of the animal {pet['id']}, because the request left it out")
    is_same = is_same_value(name, pet.get(name), former[name])
    return Result(is_same, f"{name} of the animal {pet['id']} to stay {dumps(former[name])}", f"{name} differs")


# Removes


def _of_removing(operation: Operation) -> Rows:
    about = About(operation)
    row = about.means("{section}-gone", "A removed animal is gone", partial(_is_gone, operation))
    row.needs = "a removed animal"
    row.after = operation
    row.send(*_readings(ABSENT))
    row.mistake("not-gone", "does not remove the animal", changes.forget)
    yield row
    row = about.means(
        "{section}-others-stay", "Only the animal of the request is gone", partial(_has_left_others, operation)
    )
    row.needs = "a removed animal, and another one"
    row.after = operation
    row.send(*[request(one, "{known}", phase=Phase.READS) for one in READS_BY_ID[:1]])
    row.mistake("removes-all", "removes all animals", changes.remove_others)
    yield row


def _is_gone(operation: Operation, seen: Seen, history: History) -> Results:
    removal = history.last(operation, seen.number)
    if removal is None:
        return
    pet_id = removal.is_about
    is_there = seen.pet(pet_id) is not None
    if seen.operation.shows_one:
        is_there = seen.is_success and is_object(seen.document)
    if not is_there and not _would_show(seen, history):
        return
    is_gone = not is_there
    # This response may come from a cache, so a later 404 counts as well.
    for later in history.exchanges[seen.number :]:
        if later.status == 404 and later.is_about == pet_id:
            is_gone = True
    yield Result(is_gone, f"no animal {pet_id}, which {removal.line} removed{cache_of(seen)}")


def _has_left_others(operation: Operation, seen: Seen, history: History) -> Results:
    removal = history.last(operation, seen.number)
    pet_id = seen.is_about
    if removal is None or pet_id is None:
        return
    # The operation has to show the animal at all.
    was_read = any(one.is_success for one in history.of(seen.operation))
    if not was_read or not history.was_last_there(pet_id, seen.number):
        return
    if _would_show(seen, history):
        yield Result(seen.is_success, f"the animal {pet_id}, which {removal.line} did not name")
