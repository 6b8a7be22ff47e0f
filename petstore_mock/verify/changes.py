"""What mutants do: changes of a request or of a response, as functions that take a turn."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.interface.kinds import another, quick
from petstore_mock.interface.schemas import are_right, is_valid, properties
from petstore_mock.interface.strict_json import read_integer
from petstore_mock.interface.table import ANIMAL, LABEL, known_part
from petstore_mock.verify.seen import limit_of, matches, read_values, wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.common.values import JsonObject
    from petstore_mock.http.mutant import Turn
    from petstore_mock.interface.kinds import Schema
    from petstore_mock.interface.table import Parameter
    from petstore_mock.verify.row import Change
    from petstore_mock.verify.seen import Members, Pet, Wanted

    Holds = Callable[[Turn], object]
    # Returns the wrong value of a field.
    NewValue = Callable[[Any], Any]


def becomes(**attributes: object) -> Change:
    """Return a change that sets attributes of the turn."""

    def change(turn: Turn) -> None:
        for name, value in attributes.items():
            setattr(turn, name, value)

    return change


def when(holds: Holds, change: Change) -> Change:
    def change_if(turn: Turn) -> None:
        if holds(turn):
            change(turn)

    return change_if


def both(first: Change, second: Change) -> Change:
    def change(turn: Turn) -> None:
        first(turn)
        second(turn)

    return change


def refuse(status: int = 400) -> Change:
    return lambda turn: turn.refuse(status)


def refuse_if(holds: Holds, status: int = 400) -> Change:
    return when(holds, refuse(status))


def let_in(*conditions: str) -> Change:
    return when(lambda turn: turn.refused_key in conditions, becomes(refused_key=""))


def is_wrong(turn: Turn) -> bool:
    """Whether a request is wrong apart from its key."""
    if not are_right(turn.operation, {**turn.given, **turn.path}):
        return True
    return turn.operation.body is not None and not is_valid(turn.operation.body)(turn.fields)


def valid_part(members: Members, rules: Mapping[str, Schema]) -> JsonObject:
    """Return the members without those that their schemas forbid."""
    return {name: value for name, value in members.items() if quick(rules.get(name, {}))(value)}


def values_of(turn: Turn) -> JsonObject:
    """Return the values of the parameters of a request, by name."""
    return read_values(turn.operation, {**turn.path, **turn.given})


# Whole responses

EMPTY: Final = becomes(document=[])
HTML: Final = becomes(media_type="text/html")
ERROR_PAGE: Final = becomes(media_type="text/html", body=b"<h1>Error</h1>")
NULL: Final = becomes(status=200, document=None)
NO_CONTENT: Final = becomes(status=204, document=None, media_type=None, body=b"")


def cut_short(turn: Turn) -> None:
    turn.body = dumps(turn.document).encode()[:-1]


def wrap(turn: Turn) -> None:
    turn.document = {"pets": turn.document}


def put_in_array(turn: Turn) -> None:
    turn.document = [turn.document]


# Animals


def forget(turn: Turn) -> None:
    """Respond as if the request succeeded, although the store keeps nothing of it."""
    turn.undo()


def respond_another(turn: Turn) -> None:
    other = turn.animals.other(turn.pet_id)
    if other is not None:
        turn.status = 200
        turn.document = other


def take_first_id(turn: Turn) -> None:
    for pet in turn.pets:
        pet["id"] = turn.pets[0]["id"]


def take_other_id(turn: Turn) -> None:
    other = turn.animals.other(turn.document["id"]) or turn.document
    turn.document["id"] = other["id"]


def keep_refused(turn: Turn) -> None:
    """Keep the valid fields of a refused request: on its animal, or on a new one with its label."""
    kept = valid_part(_given_fields(turn), properties(ANIMAL))
    if turn.former is not None:
        turn.animals.update(turn.former["id"], kept)
    elif turn.operation.does.adds and LABEL in kept:
        turn.animals.add(kept)


def _given_fields(turn: Turn) -> Pet:
    """Return the fields that a request gives an animal, in its body or by a parameter."""
    return turn.operation.fields_in(turn.fields, values_of(turn))


def of_left_out(name: str, *, is_kept: bool) -> Change:
    """Return a change that keeps or drops a field of the animal that the request left out."""

    def change(turn: Turn) -> None:
        former = turn.former or {}
        if name not in former or name in _given_fields(turn):
            return
        pet = {**(turn.animals.document(turn.pet_id) or {}), name: former[name]}
        if not is_kept:
            del pet[name]
        ordered = known_part(pet)
        turn.animals.put(ordered)
        if turn.operation.shows_one:
            turn.document = ordered

    return change


def remove_others(turn: Turn) -> None:
    for pet in turn.animals.documents():
        turn.animals.remove(pet["id"])


# Fields of animals, and members of an Error


def in_pets(name: str, change: Callable[[Pet], object]) -> Change:
    """Return a change to each animal in the response that has a field. An Error changes like an animal."""

    def change_each(turn: Turn) -> None:
        for pet in turn.pets:
            if name in pet:
                change(pet)

    return change_each


def set_field(name: str, change: NewValue) -> Change:
    return in_pets(name, lambda pet: pet.update({name: change(pet[name])}))


def to_another(name: str) -> NewValue:
    """Return a function from a value of a field to another valid one."""
    rules = properties(ANIMAL)[name]
    return lambda value: another(value, rules)


def drop_field(name: str) -> Change:
    return in_pets(name, lambda pet: pet.pop(name))


def rename_field(name: str) -> Change:
    return in_pets(name, lambda pet: pet.update({f"pet_{name}": pet.pop(name)}))


def keep_field(name: str, change: NewValue) -> Change:
    """Return a change to the stored animal; the response to its creation stays correct."""

    def change_stored(turn: Turn) -> None:
        pet = turn.document
        if name in pet and change(pet[name]) != pet[name]:
            turn.animals.update(pet["id"], {name: change(pet[name])})

    return change_stored


# Parameters


def has(*parameters: Parameter) -> Holds:
    """Return whether a request has all of some parameters."""
    names = {parameter.name for parameter in parameters}
    return lambda turn: names <= turn.given.keys()


def has_value(parameter: Parameter, value: object) -> Holds:
    """Return whether a request has a parameter with a value."""
    return lambda turn: turn.given.get(parameter.name) == str(value)


def select_after_limit(turn: Turn) -> None:
    """Take the first animals of the store, as many as the request allows, and select from these."""
    filters = wanted(turn.operation, values_of(turn))
    page_of(turn, turn.animals.documents())
    turn.document = [pet for pet in turn.document if matches(pet, filters)]


def ignore(parameter: Parameter) -> Change:
    return lambda turn: turn.given.pop(parameter.name, None)


def set_default(parameter: Parameter, value: str) -> Change:
    return lambda turn: turn.given.setdefault(parameter.name, value)


def one_more(parameter: Parameter, least: int, most: int) -> Change:
    def change(turn: Turn) -> None:
        number = read_integer(turn.given.get(parameter.name, ""))
        if isinstance(number, int) and number in range(least, most):
            turn.given[parameter.name] = str(number + 1)

    return change


def page_of(turn: Turn, pets: list[Pet]) -> None:
    """Respond with as many animals as the request allows."""
    turn.document = pets[: limit_of(turn.operation, values_of(turn))]


def select(parameter: Parameter, chooses: Callable[[Pet, Wanted], bool]) -> Change:
    """Return a change to a list: ``chooses`` decides about a parameter, if the request has it."""

    def change(turn: Turn) -> None:
        pets = turn.animals.documents()
        is_given = False
        for one in wanted(turn.operation, values_of(turn)):
            if one.parameter is parameter:
                is_given = True
                pets = [pet for pet in pets if chooses(pet, one)]
            else:
                pets = [*filter(one.selects, pets)]
        if is_given:
            page_of(turn, pets)

    return change
