"""Rows about stored animals: successes, reads, creates, changes and removes, and what they leave in the store."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from petstore_mock.common.guards import is_object
from petstore_mock.interface.bodies import short
from petstore_mock.interface.gaps import OMITTED
from petstore_mock.interface.schemas import is_valid, properties, schema
from petstore_mock.interface.table import ANIMAL, FIELDS, LABEL
from petstore_mock.verify import changes
from petstore_mock.verify.probes import (
    ABSENT,
    ABSENT_OR_THERE,
    ELSEWHERE,
    KEYS_AND_LIMITS,
    OPEN,
    SUCCESS,
    Phase,
    largest,
    request,
    sends,
)
from petstore_mock.verify.row import (
    BY_ID,
    CHANGES,
    CREATES,
    EVERY,
    LISTS,
    READS,
    READS_BY_ID,
    REMOVES,
    WHOLE_LISTS,
    WITH_BODY,
    Clause,
    Mutant,
    Result,
    each,
    lead,
    meant,
    success_clause,
)
from petstore_mock.verify.rows.checks import cause_of, is_refused, never_fails
from petstore_mock.verify.seen import has_sent, is_pet, is_same_value, matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.http.mutant import Turn
    from petstore_mock.interface.table import Operation, Parameter
    from petstore_mock.verify.probes import Expected, Probe
    from petstore_mock.verify.row import Change, Check
    from petstore_mock.verify.seen import History, Seen

    Pet = dict[str, Any]

_LARGEST: Final = 2**63 - 1
_EXACT: Final = 2**53
# Integers at the edges of the types in which services keep them, and some that no int64 can hold.
_INTEGERS: Final = ("0", "-1", str(2**31), str(2**53 + 1))
_HUGE: Final = (str(2**63), "-" + str(2**63 + 1), "9" * 30)
_MOST_DIGITS: Final = 25
_WITH_404: Final = tuple(operation for operation in BY_ID if 404 in operation.errors)
_LABELLED: Final = tuple(operation for operation in WITH_BODY if LABEL in properties(str(operation.body)))
_OPTIONAL: Final = tuple(name for name in properties(ANIMAL) if name not in schema(ANIMAL)["required"])


def rows() -> Iterator[Clause]:
    for operation in EVERY:
        yield Clause(
            id=success_clause(operation),
            words=f"{operation.method} {operation.path}: a success has status {operation.success}",
            operations=(operation,),
            probes=tuple(_plain_requests(operation)),
            check=_has_success_status,
            mutants=tuple(_with_wrong_status(operation)),
        )
    for operation in BY_ID:
        yield from _of_identifier(operation)
    for operation in CREATES:
        yield _listed(operation)
    for operation in (*CREATES, *CHANGES):
        yield from _of_keeping(operation)
    for operation in CHANGES:
        if operation.body is not None:
            yield from _of_left_out(operation)
    for operation in REMOVES:
        yield from _of_removing(operation)


# Successes


def _plain_requests(operation: Operation) -> Iterator[Probe]:
    if operation in READS:
        yield request(operation, phase=Phase.READS)
        if operation.identifier is not None:
            yield from (request(operation, f"{{odd{place}}}", phase=Phase.ODD_READS) for place in (1, 2, 3))
            yield request(operation, phase=Phase.LAST_READS)
    elif operation in CHANGES and operation.body is None:
        yield request(operation, "{made}", phase=Phase.CHANGES)
    elif operation in REMOVES:
        yield request(operation, "{made}", phase=Phase.REMOVES)


def _has_success_status(seen: Seen, history: History) -> Iterator[Result]:
    wanted = seen.operation.success
    if _has_to_succeed(seen) and (seen.is_success or _is_wrong(seen, history)):
        yield Result(seen.status == wanted, f"{wanted}", cause_of(seen, history, wanted))


def _has_to_succeed(seen: Seen) -> bool:
    """Whether the request has to succeed. A service may refuse an odd animal with 4xx, but must not fail."""
    if seen.probe.is_valid:
        return True
    body = seen.operation.body
    is_delicate = seen.probe.phase is Phase.DELICATE_CREATES
    is_failing = seen.has_failed and seen.probe.is_open and not is_delicate
    return is_failing and body is not None and is_valid(body)(seen.sent)


def _is_wrong(seen: Seen, history: History) -> bool:
    """Whether the status of a valid request breaks the success clause of its operation."""
    if seen.has_failed:
        return history.fails_again(seen)
    if seen.is_removed or seen.status in KEYS_AND_LIMITS:
        return False
    if seen.status in ELSEWHERE:
        return _was_there(seen, history)
    # A service may refuse values that the interface allows: it does not show all rules.
    has_values = "?" in seen.probe.target or seen.operation.body is not None
    if seen.is_refusal and has_values:
        return False
    return seen.is_about is None or _existed(seen, history)


def _existed(seen: Seen, history: History) -> bool:
    if seen.operation.commits:
        return history.was_last_there(int(seen.pet_id), seen.number)
    before, _ = history.around(int(seen.pet_id), seen.number)
    return bool(before)


def _was_there(seen: Seen, history: History) -> bool:
    """Whether the animal of the request surely existed, although the response says that it did not."""
    if seen.is_about is None or not _existed(seen, history):
        return False
    if seen.operation.commits:
        # The lost response of the first request may have removed the animal.
        return not seen.is_repeat
    _, after = history.around(seen.is_about, seen.number)
    return bool(after)


def _with_wrong_status(operation: Operation) -> Iterator[Mutant]:
    own = [operation]
    if operation.success != 200:
        yield from each(own, "answers-200", "returns 200", changes.becomes(status=200))
    if operation.response is not None:
        yield from each(own, "answers-204", "returns 204 without a body", changes.NO_CONTENT)
    if operation.identifier is not None:
        yield from each(own, "finds-nothing", "returns 404 for a stored animal", changes.refuse(404))


# Identifiers


def _of_identifier(operation: Operation) -> Iterator[Clause]:
    own, section = [operation], operation.section
    identifier = "" if operation.identifier is None else operation.identifier.name
    if operation.shows_one:
        another = changes.respond_another if operation in READS else changes.take_other_id
        yield Clause(
            id=f"{section}-asked-for",
            words=f"{identifier}: the identifier of the animal",
            operations=own,
            probes=tuple(_with_odd_texts(operation)),
            check=_is_asked_for,
            mutants=each(own, "another", "returns another animal", another),
        )
    if 404 in operation.errors:
        phase = Phase.KEYS if operation.commits else Phase.READS
        yield Clause(
            id=f"{section}-absent",
            words=f"404: no animal found for the given {identifier}",
            probes=(request(operation, "{absent}", phase=phase, expected=ABSENT),),
            check=is_refused,
            mutants=tuple(_with_wrong_absence(operation)),
        )
    if operation in READS and operation.identifier is not None:
        yield _of_integers(operation, operation.identifier)
        large = changes.when(_is_large, changes.refuse())
        name = f"{lead(operation, READS_BY_ID)}large-id-refused"
        statuses = (operation.success, 404)
        yield Clause(
            id=f"{section}-int64",
            words=f"{identifier}: integer, format int64",
            probes=(request(operation, str(_LARGEST), phase=Phase.ODD_READS, expected=ABSENT_OR_THERE),),
            check=is_refused,
            mutants=(Mutant(name, f"{operation.name} refuses ids beyond 2^53", own, large, statuses),),
        )


def _of_integers(operation: Operation, identifier: Parameter) -> Clause:
    huge = changes.when(lambda turn: len(turn.path[identifier.name]) > _MOST_DIGITS, changes.refuse(500))
    probes = [
        *(request(operation, text, phase=Phase.ODD_READS, expected=ABSENT_OR_THERE) for text in _INTEGERS),
        *(request(operation, text, phase=Phase.ODD_READS, expected=OPEN) for text in _HUGE),
    ]
    return Clause(
        id=f"{operation.section}-{short(identifier.name)}-integers",
        words=meant(f"{identifier.name}: no integer makes the service fail", operation),
        probes=tuple(probes),
        check=never_fails,
        mutants=each([operation], "huge-id-fails", "returns 500 for an id of 30 digits", huge, (404,)),
    )


def _is_large(turn: Turn) -> bool:
    return turn.pet_id > _EXACT


def _with_wrong_absence(operation: Operation) -> Iterator[Mutant]:
    start = f"{lead(operation, _WITH_404)}absent-is"
    for_absent = "for an absent animal"
    yield Mutant(f"{start}-null", f"{operation.name} returns null {for_absent}", [operation], changes.NULL, (404,))
    yield Mutant(f"{start}-400", f"{operation.name} returns 400 {for_absent}", [operation], changes.refuse(), (404,))


def _with_odd_texts(operation: Operation) -> Iterator[Probe]:
    """Yield requests whose text is no id, although a careless service reads one in it."""
    identifier = operation.identifier
    if operation in READS and identifier is not None:
        for text in ("+{known}", "%20{known}", "{known}.0", "{known}x"):
            yield request(operation, text, phase=Phase.ODD_READS, expected=OPEN, gap=str(identifier.gap))


def _is_asked_for(seen: Seen, _history: History) -> Iterator[Result]:
    document = seen.document
    is_judged = seen.probe.is_valid or seen.probe.is_open
    if not is_judged or not seen.is_success or not is_object(document) or "id" not in document:
        return
    words = f"the animal with id {seen.pet_id}" if seen.probe.is_valid else f"no animal for the text {seen.pet_id!r}"
    yield Result(str(document["id"]) == seen.pet_id, words.replace("'", '"'))


# What creates and changes keep


def _readings(expected: Expected = SUCCESS) -> Iterator[Probe]:
    """Yield requests that show an animal. A run sends the first whose operation still works."""
    for operation in READS_BY_ID:
        yield request(operation, "{made}", phase=Phase.READS, expected=expected)
    for operation in WHOLE_LISTS:
        yield largest(operation, phase=Phase.LISTS)


class _Words(NamedTuple):
    """What the rows of an operation that keeps the fields of a request say."""

    kept: str
    needs: str
    forgets: str
    refused: str
    needs_refusal: str
    keeps_refused: str


_OF_CREATES: Final = _Words(
    kept="A created animal stays in the catalogue",
    needs="a created animal",
    forgets="does not store the animal",
    refused="A refused create adds no animal",
    needs_refusal="a create that was refused with 400 or 401",
    keeps_refused="the store keeps the animal although the response is 400 or 401",
)
_OF_CHANGES: Final = _Words(
    kept="A changed animal has the fields of the request",
    needs="a changed animal",
    forgets="does not store the change",
    refused="A refused change changes nothing",
    needs_refusal="a change that was refused with 400 or 401",
    keeps_refused="the store keeps the change although the response is 400 or 401",
)


def _of_keeping(operation: Operation) -> Iterator[Clause]:
    own, section, adds = [operation], operation.section, operation.does.adds
    words = _OF_CREATES if adds else _OF_CHANGES
    if operation.body is not None:
        yield Clause(
            id=f"{section}-kept",
            words=meant(words.kept, operation),
            needs=words.needs,
            probes=tuple(_readings()),
            after=operation,
            check=_is_kept(operation) if adds else _has_changed(operation),
            mutants=each(own, "forgotten", words.forgets, changes.forget),
        )
    if operation in _LABELLED:
        name = f"{lead(operation, _LABELLED)}refused-is-kept"
        keep = changes.keep_refused(LABEL)
        yield Clause(
            id=f"{section}-refused-not-kept",
            words=meant(words.refused, operation),
            operations=LISTS if adds else (*LISTS, *READS_BY_ID),
            needs=words.needs_refusal,
            check=_has_no_refused(operation),
            probes=() if adds else _after_wrong_changes(),
            mutants=(Mutant(name, words.keeps_refused, own, keep, (400, 401)),),
        )


def _after_wrong_changes() -> tuple[Probe, ...]:
    return tuple(request(one, "{made}", phase=Phase.AFTER_WRONG_CHANGES) for one in READS_BY_ID[:1])


def _is_kept(operation: Operation) -> Check:
    """Return a check that the last created animal is found, possibly some requests later (gap visibility)."""

    def check(seen: Seen, history: History) -> Iterator[Result]:
        created = [one for one in history.created if one.number < seen.number and one.operation is operation]
        if not created:
            return
        pet_id = created[-1].pets[0]["id"]
        _, later = history.around(pet_id, seen.number)
        is_found = any(pet["id"] == pet_id for pet in seen.pets) or bool(later)
        if is_found or (_would_show(seen, history) and not history.is_late):
            yield Result(is_found, f"the created animal {pet_id}, in this response or later")

    return check


def _would_show(seen: Seen, history: History) -> bool:
    """Whether a response would show an animal that exists."""
    if seen.operation.shows_many:
        return is_whole(seen, history)
    return seen.is_success or seen.status == 404


def is_whole(seen: Seen, history: History) -> bool:
    """Whether a list shows every matching animal. It does if another page with the same limit is longer."""
    if history.once("short pages", _has_short_pages):
        return False
    pages = [one.count for one in history.lists if one.limit == seen.limit]
    return 0 < seen.count < max(pages, default=0) and seen.is_distinct


def _has_short_pages(history: History) -> bool:
    """Whether a page is shorter than its limit, although more animals match (gap page_fill)."""
    return any(_is_short(seen, history) for seen in history.lists)


def _is_short(seen: Seen, history: History) -> bool:
    if seen.limit is None or not seen.probe.is_valid:
        return False
    created = {one.pets[0]["id"] for one in history.created}
    return 0 < seen.count < min(seen.limit, len(history.standing(seen) - created))


def _listed(operation: Operation) -> Clause:
    return Clause(
        id=f"{operation.section}-listed",
        words=meant("Lists show a created animal", operation),
        operations=LISTS,
        needs="a created animal and a list that is not full",
        check=_is_listed(operation),
    )


def _is_listed(operation: Operation) -> Check:
    """Return a check that lists show the created animals that a read showed."""

    def check(seen: Seen, history: History) -> Iterator[Result]:
        if seen.items is None or not is_whole(seen, history):
            return
        ids = [one.pets[0]["id"] for one in history.created if one.operation is operation]
        views = [history.views[pet_id] for pet_id in ids if history.views.get(pet_id)]
        looked = [own for own in views if own[0].number < seen.number and matches(own[-1].pet, seen.filters)]
        if not looked:
            return
        # One animal is enough, because the others may appear later.
        is_shown = any(view.is_listed for own in looked for view in own)
        shown_ids = ", ".join(str(own[0].pet["id"]) for own in looked)
        yield Result(is_shown, f"the created animals {shown_ids} as well; no list shows any of them")

    return check


def _has_no_refused(operation: Operation) -> Check:
    """Return a check that no animal has the label of a refused request. Each request has its own label."""
    what = "create" if operation.does.adds else "change"

    def check(seen: Seen, history: History) -> Iterator[Result]:
        labels = history.refused_labels(operation, seen.number)
        if labels and seen.pets:
            kept = [pet["id"] for pet in seen.pets if isinstance(pet.get(LABEL), str) and pet[LABEL] in labels]
            words = f"no animal of a refused {what}; the animals {kept} have {LABEL}s of refused {what}s"
            yield Result(not kept, words)

    return check


# Changes


def _change_of(operation: Operation, seen: Seen, history: History) -> Seen | None:
    """Return the last change of an animal before a response, if it was by this operation."""
    pet_ids: set[int | None] = {seen.is_about, *(pet["id"] for pet in seen.pets)} - {None}
    done = [one for one in history.changed if one.number <= seen.number and one.is_about in pet_ids]
    return done[-1] if done and done[-1].operation is operation else None


def _shown_pet(seen: Seen, pet_id: int | None) -> Pet | None:
    return next((pet for pet in seen.pets if pet["id"] == pet_id), None)


def _has_changed(operation: Operation) -> Check:
    """Return a check that the last changed animal has the sent fields, possibly some responses later."""

    def check(seen: Seen, history: History) -> Iterator[Result]:
        done = [one for one in history.changed if one.number < seen.number and one.operation is operation]
        if not done or not seen.pets:
            return
        change = done[-1]
        pet = _shown_pet(seen, change.is_about)
        if pet is None or not is_pet(pet):
            return
        _, later = history.around(pet["id"], seen.number)
        views = [view for view in (pet, *later) if is_pet(view)]
        for name in change.sent.keys() & properties(ANIMAL).keys():
            value = change.sent[name]
            is_kept = any(is_same_value(name, view.get(name), value) for view in views)
            yield Result(is_kept, f"{name} to be {dumps(value)}, as {change.line} changed it", f"{name} differs")

    return check


def _of_left_out(operation: Operation) -> Iterator[Clause]:
    """Yield the row about fields that a change leaves out, with the changes themselves."""
    own, body = [operation], str(operation.body)
    required = schema(body).get("required", ())
    optional = [name for name in properties(body) if name not in required]
    # An optional field gets its last sample, which differs from that of a created animal.
    texts = {name: dumps(FIELDS[name].samples[-1]) for name in optional}
    whole = sends(operation, texts, phase=Phase.CHANGES)
    mutants: list[Mutant] = []
    if operation.replaces:
        end, words = "replaced", "An optional field that the request leaves out is absent afterwards"
        partial: list[dict[str, str]] = [{}]
        for name in optional:
            if name not in OMITTED:
                mutants += each(own, f"{short(name)}-merged", f"keeps {name}, which was left out", _merged(name))
    else:
        end, words = "others-stay", "A field that the request leaves out stays as it was"
        partial = [{name: texts[name]} for name in optional[:2]]
        for name in _OPTIONAL:
            mutants += each(own, f"{short(name)}-lost", f"drops {name}, which was left out", _dropped(name))
    yield Clause(
        id=f"{operation.section}-{end}",
        words=meant(words, operation),
        operations=(operation, *READS, *LISTS),
        needs="a changed animal",
        probes=(whole, *(sends(operation, members, phase=Phase.CHANGES) for members in partial)),
        check=_keeps_left_out(operation),
        mutants=tuple(mutants),
    )


def _merged(name: str) -> Change:
    """Return a change that keeps a field of the animal that the request left out."""

    def change(turn: Turn) -> None:
        former = turn.former or {}
        if name in former and name not in turn.fields:
            changes.store(turn, {name: former[name]})

    return change


def _dropped(name: str) -> Change:
    """Return a change that drops a field of the animal that the request left out."""

    def change(turn: Turn) -> None:
        former = turn.former or {}
        if name in former and name not in turn.fields:
            changes.store(turn, {}, without=name)

    return change


def _keeps_left_out(operation: Operation) -> Check:
    def check(seen: Seen, history: History) -> Iterator[Result]:
        change = _change_of(operation, seen, history)
        if change is None:
            return
        pet, former = _shown_pet(seen, change.is_about), history.before_change(change)
        # A response without the sent fields is older than the change.
        if pet is None or former is None or not has_sent(pet, change):
            return
        if not is_pet(pet) or not is_pet(former):
            return
        for name in former.keys() & properties(ANIMAL).keys() - change.sent.keys():
            yield from _of_one_left_out(operation, name, pet, former)

    return check


def _of_one_left_out(operation: Operation, name: str, pet: Pet, former: Pet) -> Iterator[Result]:
    if FIELDS[name].is_assigned:
        return
    if not operation.replaces:
        is_same = is_same_value(name, pet.get(name), former[name])
        words = f"{name} of the animal {pet['id']} to stay {dumps(former[name])}"
        yield Result(is_same, words, f"{name} differs")
    elif name in properties(str(operation.body)) and name not in OMITTED:
        yield Result(name not in pet, f"no {name} of the animal {pet['id']}, because the request left it out")


# Removes


def _of_removing(operation: Operation) -> Iterator[Clause]:
    own, section = [operation], operation.section
    yield Clause(
        id=f"{section}-gone",
        words=meant("A removed animal is gone", operation),
        needs="a removed animal",
        probes=tuple(_readings(ABSENT)),
        after=operation,
        check=_is_gone(operation),
        mutants=each(own, "not-gone", "does not remove the animal", changes.forget),
    )
    yield Clause(
        id=f"{section}-others-stay",
        words=meant("Only the animal of the request is gone", operation),
        needs="a removed animal, and another one",
        probes=tuple(request(one, "{known}", phase=Phase.READS) for one in READS_BY_ID[:1]),
        after=operation,
        check=_has_left_others(operation),
        mutants=each(own, "removes-all", "removes all animals", changes.remove_others),
    )


def _is_gone(operation: Operation) -> Check:
    def check(seen: Seen, history: History) -> Iterator[Result]:
        done = [one for one in history.changed if one.number < seen.number and one.operation is operation]
        if not done:
            return
        pet_id = done[-1].is_about
        is_there = _shown_pet(seen, pet_id) is not None
        if seen.operation.shows_one:
            is_there = seen.is_success and is_object(seen.document)
        # Another response may come from a cache. A later one counts as well.
        later = history.exchanges[seen.number :]
        is_gone_later = any(one.is_about == pet_id and one.status == 404 for one in later)
        if is_there or _would_show(seen, history):
            yield Result(not is_there or is_gone_later, f"no animal {pet_id}, which {done[-1].line} removed")

    return check


def _has_left_others(operation: Operation) -> Check:
    def check(seen: Seen, history: History) -> Iterator[Result]:
        done = [one for one in history.changed if one.number < seen.number and one.operation is operation]
        pet_id = seen.is_about
        if not done or pet_id is None or not history.was_last_there(pet_id, seen.number):
            return
        # The operation has to show the animal at all.
        was_read = any(one.is_success and one.operation is seen.operation for one in history.exchanges)
        if was_read and (seen.is_success or seen.status == 404):
            words = f"the animal {pet_id}, which {done[-1].line} did not name"
            yield Result(seen.is_success, words)

    return check
