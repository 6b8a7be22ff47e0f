"""Whether what a client made of an answer is right: its value, or the exception that it raised."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.wording import counted
from petstore_mock.contract.interface import DEFAULT_LIMIT, OPERATIONS
from petstore_mock.stateful.model.call import Outcome, Problem, literal, shortened

if TYPE_CHECKING:
    from petstore_mock.stateful.model.call import Call
    from petstore_mock.stateful.model.error_classification import Kind
    from petstore_mock.stateful.model.reading import ResultReader

__all__ = ["Allowed", "list_problem", "outcome_problem", "pet_problem", "unreadable_problem"]

_LONG: Final = 20  # characters, from which on the first difference is shown
_ASKED_AGAIN: Final = frozenset({"429", "503"})  # statuses after which many a library asks again (Retry-After)
_SHOWN_IDS: Final = 6
_TYPES: Final = {"id": int, "name": str, "categoryId": int, "status": str}


@dataclass
class Allowed:
    """What may come of a call, given the answers that it got.

    Attributes:
        value: whether it may return.
        kinds: what its exception may mean.
        why: the answer, in words that follow "although".
        section: the section of the interface that says so.
        words: what that section says.
        asked_more: whether the client asked something else after the answer that matters.
    """

    value: bool
    kinds: frozenset[Kind]
    why: str
    section: str
    words: str
    asked_more: bool = False


def outcome_problem(call: Call, outcome: Outcome, allowed: Allowed) -> Problem | None:
    """Return what is wrong with how a call ended: it returned or raised, and what the exception says."""
    if outcome.error is None:
        if allowed.value:
            return None
        sentence = f"{call} {outcome} although {allowed.why}"
        return Problem(sentence, allowed.section, allowed.words, _raises(call, allowed))
    if outcome.kind in allowed.kinds:
        return None
    if allowed.value:
        check = _may_raise(call, allowed) if allowed.kinds else ("{call}",)
        return Problem(f"{call} {outcome} although {allowed.why}", allowed.section, allowed.words, check)
    sentence = f"{call} {outcome}, which says {_meaning(outcome)}, when {allowed.why}"
    return Problem(sentence, allowed.section, allowed.words, _raises(call, allowed))


def _meaning(outcome: Outcome) -> str:
    if outcome.kind is not None:
        return repr(outcome.kind)
    meaning = "neither a status nor what went wrong"
    if type(outcome.error).__module__ != "builtins":  # an error of the client's own, which may have a cause
        meaning += " (raise it from the library's error, or pass classify=)"
    return meaning


def _may_raise(call: Call, allowed: Allowed) -> list[str]:
    """Return the lines of a test in which the call raises what it may, or nothing."""
    last = _last(call, allowed)
    kinds = [repr(kind) for kind in sorted(allowed.kinds, key=str)]
    if not all(kind.isdecimal() and kind not in _ASKED_AGAIN for kind in kinds):
        kinds.append(f"{last}.status")  # of the next answer, if it asked again
    says = f"== {kinds[0]}" if len(kinds) == 1 else f"in {{{', '.join(kinds)}}}"
    return ["try:", "    {call}", "except Exception as error:", f"    assert classify(error) {says}"]


def _raises(call: Call, allowed: Allowed) -> list[str]:
    """Return the lines of a test in which the call raises what it may, or has asked again and got its answer."""
    last = _last(call, allowed)
    return [
        *_may_raise(call, allowed),
        "else:",
        f"    assert {last}.status == {OPERATIONS[call.operation].success}",
        f"    assert {last}.fault is None",
    ]


def _last(call: Call, allowed: Allowed) -> str:
    """Return the code of the request whose answer matters."""
    return f"{{journal}}.for_operation({call.operation!r})[-1]" if allowed.asked_more else "{journal}.last"


def pet_problem(call: Call, value: object, wanted: Mapping[str, Any], reader: ResultReader) -> Problem | None:
    """Return how a returned animal differs from the one that the service answered, or None."""
    section = OPERATIONS[call.operation].section
    pet = reader.pet(value)
    if pet is None:
        check = ("result = {call}", f"assert read_pet(result)['id'] == {wanted['id']}")
        sentence = f"{call} returned {_article(type(value).__name__)} instead of an animal"
        words = "the answer's body is a Pet; pass read_pet= for what has other names than id, name and category_id"
        return Problem(sentence, section, words, check)
    difference = _difference(pet, wanted)
    if difference is None:
        return None
    name, words = difference
    return Problem(
        f"{call} returned an animal whose {name} {words}",
        "2",
        _sentence(name),
        ("result = {call}", _assertion(reader.code(value, "result", name), name, wanted)),
    )


def list_problem(
    call: Call, value: object, wanted: Sequence[Mapping[str, Any]], reader: ResultReader
) -> Problem | None:
    """Return how a returned list differs from the one that the service answered, in whatever order, or None."""
    words = "200: body is Pets, the array of Pet objects"
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        check = ("result = {call}", f"assert len(result) == {len(wanted)} and result[:0] is not None")
        sentence = f"{call} returned {_article(type(value).__name__)} instead of a sequence"
        return Problem(sentence, "4.1", words, check)
    if len(value) != len(wanted):
        check = ("result = {call}", f"assert len(result) == {len(wanted)}")
        sentence = f"{call} returned {counted(len(value), 'animal')}, and the service answered {len(wanted)}"
        return Problem(sentence, "4.1", words, check)
    by_id = {animal["id"]: animal for animal in wanted}
    ids = set()
    for index, item in enumerate(value):
        pet = reader.pet(item)
        if pet is None:
            known = "in [pet['id'] for pet in {petstore}.pets]"
            check = ("result = {call}", f"assert read_pet(result[{index}])['id'] {known}")
            sentence = f"{call} returned {_article(type(item).__name__)} in the place of an animal"
            return Problem(sentence, "4.1", "Pets: a JSON array of Pet objects", check)
        problem = _item_problem(call, index, item, pet, by_id, reader=reader)
        if problem is not None:
            return problem
        ids.add(pet["id"])
    if len(ids) != len(by_id):
        check = (
            "result = {call}",
            f"assert len({{{reader.code(value[0], 'pet', 'id')} for pet in result}}) == {len(by_id)}",
        )
        return Problem(f"{call} returned an animal twice", "4.1", "Pets: a JSON array of Pet objects", check)
    return None


def unreadable_problem(call: Call, outcome: Outcome, error: Exception, reader: ResultReader) -> Problem:
    """Return what is wrong with a returned object that raised ``error`` when it was looked at."""
    is_list = call.operation == "listPets"
    item = outcome.value
    if is_list:
        with contextlib.suppress(Exception):
            item = outcome.value[0]
    place = "pet" if is_list else "result"
    names = f"[{', '.join(_code(reader, item, place, name) for name in _TYPES)}]"
    read = f"len(result), [{names} for pet in result]" if is_list else names
    operation = OPERATIONS[call.operation]
    raised = Outcome(error=error)
    sentence = f"{call} {outcome}, which {raised} when it was looked at"
    words = "what a call returns is read by its caller, who has no failure to expect of it"
    if reader.is_given:
        sentence = f"{call} {outcome}, of which read_pet= {raised}"
        words += ", unless it is read_pet= that reads it wrong"
    return Problem(sentence, operation.section, words, ("result = {call}", read))


def _code(reader: ResultReader, item: object, place: str, name: str) -> str:
    """Return the code that reads a field of what may fail when it is looked at."""
    try:
        return reader.code(item, place, name)
    except Exception:  # noqa: BLE001  # whatever an object of the client's own raises
        return f"{place}.get({name!r})"


def _item_problem(
    call: Call,
    index: int,
    item: object,
    pet: Mapping[str, Any],
    by_id: Mapping[int, Mapping[str, Any]],
    *,
    reader: ResultReader,
) -> Problem | None:
    came = pet.get("id")
    wanted = by_id.get(came) if isinstance(came, int) else None
    if wanted is None:
        read = reader.code(item, f"result[{index}]", "id")
        is_all = len(by_id) < min(call.arguments.get("limit", DEFAULT_LIMIT), _SHOWN_IDS)  # the same whoever asks
        known = str(sorted(by_id)) if is_all else "[pet['id'] for pet in {petstore}.pets]"
        check = ("result = {call}", f"assert {read} in {known}")
        sentence = f"{call} returned an animal with the id {literal(came)[:40]}, which the service did not answer"
        return Problem(sentence, "2", _sentence("id"), check)
    difference = _difference(pet, wanted)
    if difference is None:
        return None
    name, words = difference
    place = f"next(pet for pet in result if {reader.code(item, 'pet', 'id')} == {wanted['id']})"
    check = ("result = {call}", _assertion(reader.code(item, place, name), name, wanted))
    return Problem(f"{call} returned an animal whose {name} {words}", "2", _sentence(name), check)


def _difference(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the first field that differs, and how; a status of None is as good as none."""
    for name in _TYPES:
        came, right = value.get(name), wanted.get(name)
        if came == right and (right is None or (isinstance(came, _TYPES[name]) and not isinstance(came, bool))):
            continue  # an enumeration's member that is text is as good
        if right is None:
            return name, f"is {shortened(came)}, which the service did not answer"
        if name not in value:
            return name, f"is missing; the service answered {shortened(right)}"
        if isinstance(came, str) and isinstance(right, str) and min(len(came), len(right)) > _LONG:
            place = _first_difference(came, right)
            here, there = (literal(text[place : place + 5]) for text in (came, right))
            return name, f"differs from what the service answered from character {place} on: {here} instead of {there}"
        kind = "" if type(came) is type(right) else f" ({type(came).__name__})"
        return name, f"is {shortened(came)}{kind}; the service answered {shortened(right)}"
    return None


def _first_difference(one: str, other: str) -> int:
    """Return where two texts differ first, or where the shorter one ends."""
    return next(
        (place for place, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)),
    )


def _assertion(read: str, name: str, wanted: Mapping[str, Any]) -> str:
    """Return the line that fails for a wrong field; ``read`` is the code that reads it."""
    right = wanted.get(name)
    if right is None:
        return f"assert {read} is None"
    if isinstance(right, int):
        return f"assert repr({read}) == {str(right)!r}"
    return f"assert {read} == {literal(right)}"


def _sentence(name: str) -> str:
    return {
        "id": "Pet: id, integer, int64: assigned by the service on creation",
        "name": "NewPet: name, string: the animal's name",
        "categoryId": "NewPet: categoryId, integer, int64",
        "status": "NewPet: status, PetStatus, not required",
    }[name]


def _article(kind: str) -> str:
    if kind == "NoneType":
        return "None"
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"
