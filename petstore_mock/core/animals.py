"""What tests do to the animals of a world: they seed, change and remove them, as another actor would (§3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, cast

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import refuse, shown
from petstore_mock.common.values import as_path, is_integer
from petstore_mock.core.refusals import ConflictError, InvalidError, NotFoundError
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface import schemas
from petstore_mock.interface.strict_json import MalformedJsonError, decode_json
from petstore_mock.interface.table import FIELDS
from petstore_mock.interface.violations import Violation, describe, no_such_name

if TYPE_CHECKING:
    from petstore_mock.core.draws import Draws
    from petstore_mock.core.options import Seed
    from petstore_mock.core.store import Store

Pet = dict[str, Any]

MOST_ANIMALS: Final = 10_000_000  # some gigabytes; a larger number is an id by mistake
_SHOWN_VIOLATIONS: Final = 20  # of an animal with thousands of wrong fields


class Animals:
    """What tests do to the animals of a store. Not locked: the world's lock covers the store.

    ``assign`` returns a free id, as the behaviour assigns them; ``draws`` goes back where an animal is refused.
    """

    def __init__(self, store: Store, assign: Callable[[], int], draws: Draws) -> None:
        self._store = store
        self._assign = assign
        self._draws = draws

    # Seeding

    def seed(self, given: object) -> Pet:
        """Add an animal and return it; the schema alone judges it. Samples stand for missing required fields."""
        if not isinstance(given, Mapping):
            refuse(f"expected an animal as a mapping; got {shown(given)}: seed_many() adds several")
        number = self._store.seeded + 1
        fillers = {name: sample(name, number) for name in _required() if FIELDS[name].samples}
        assigned = {} if "id" in given else {"id": self._assign()}
        document = in_order({**assigned, **fillers, **given})
        check_animal(document, "seed")
        if document["id"] in self._store:
            raise ConflictError(f"expected an id that is free; got id={document['id']}, which is taken")
        self._store.put(document)
        self._store.seeded = number
        return document

    def seed_count(self, count: object, name: str) -> list[Pet]:
        """Add so many plausible animals of every status, and return them."""
        if not is_integer(count) or not 0 <= count <= MOST_ANIMALS:
            refuse(f"expected a number of animals from 0 to {MOST_ANIMALS:,}; got {name}={shown(count)}")
        return [self._seed_sample() for _ in range(count)]

    def _seed_sample(self) -> Pet:
        store = self._store
        number = store.seeded + 1
        samples = {name: sample(name, number) for name, field in FIELDS.items() if field.samples}
        document = in_order({"id": self._assign(), **samples})
        if not schemas.is_valid("Pet")(document):
            check_animal(document, "seed_many")
        store.put(document)
        store.seeded = number
        return document

    def seed_each(self, pets: object, where: str = "animal {}") -> list[Pet]:
        """Add all animals of an iterable or none, and return them; ``where`` names one of them in an error."""
        if not hasattr(pets, "__iter__") or is_object(pets) or isinstance(pets, (str, bytes)):
            advice = ": put the one animal into a list" if is_object(pets) else ""
            refuse(f"expected a list of animals, or how many, as the seed; got {shown(pets)}{advice}")
        before, state = self._store.snapshot(), self._draws.state()
        added: list[Pet] = []
        for index, pet in enumerate(cast("Iterable[object]", pets)):
            try:
                added.append(self.seed(pet))
            except PetStoreMockError as error:
                self._store.restore(before)
                self._draws.restore(state)
                error.args = (f"{where.format(index)}: {error}; none of them was added", *error.args[1:])
                raise
        return added

    def fill(self, seed: Seed | None) -> None:
        """Add the animals of a starting state: how many, the animals, or a JSON file of them."""
        if seed is None:
            return
        if isinstance(seed, (str, PathLike)):
            self.seed_each(animals_of_file(seed), f"{seed}, item [{{}}]")
        elif isinstance(seed, int):
            self.seed_count(seed, "seed")
        else:
            self.seed_each(seed, "animal {} of seed")

    # Another actor's hand

    def update(self, pet_id: object, changes: Mapping[str, Any]) -> Pet:
        """Change an animal and return it; None takes a field away."""
        former = self._store.document(pet_id) if is_integer(pet_id) else None
        if former is None:
            raise NotFoundError(f"expected the id of an animal in the store; got {shown(pet_id)}")
        for name, value in changes.items():
            field = FIELDS.get(name)
            if field is not None and field.assigned and value != former.get(name):
                refuse(f"expected {name} to stay (§2: assigned on creation); got {name}={shown(value)}")
        document = {**former, **changes}
        gone = [name for name in changes if document[name] is None and name in FIELDS and name not in _required()]
        document = in_order({name: value for name, value in document.items() if name not in gone})
        check_animal(document, "update")
        self._store.put(document)
        return document

    def remove(self, pet_id: object) -> None:
        if not is_integer(pet_id) or not self._store.remove(pet_id):
            raise NotFoundError(f"expected the id of an animal in the store; got {shown(pet_id)}")


def _required() -> list[str]:
    required: list[str] = schemas.schema("Pet").get("required", [])
    return required


def sample(name: str, number: int) -> Any:  # noqa: ANN401  # a JSON value
    """Return the value that the ``number``-th plausible animal has in a field; free text is unique."""
    samples = FIELDS[name].samples
    turn, index = divmod(number - 1, len(samples))
    value = samples[index]
    is_free_text = isinstance(value, str) and "enum" not in schemas.properties("Pet")[name]
    return f"{value} {turn + 1}" if is_free_text and turn else value


def in_order(document: Mapping[str, Any]) -> Pet:
    return {name: document[name] for name in (*FIELDS, *document) if name in document}


def check_animal(document: Mapping[str, Any], call: str) -> None:
    """Refuse an animal that Pet.json does not allow, or that has a field which the interface does not show."""
    try:
        found = schemas.violations(schemas.schema("Pet"), document, call)
    except ValueError:  # Python writes no integer of thousands of digits
        raise InvalidError("expected an animal that Pet.json allows; got a number of thousands of digits") from None
    broken = list(found)
    if not any(one.rule == "additionalProperties" for one in broken):  # Pet.json leaves them to the behaviour
        broken += [
            Violation(f"{call}.{name}", "additionalProperties", no_such_name(str(name), FIELDS, "field of Pet"), value)
            for name, value in document.items()
            if name not in FIELDS
        ]
    if not broken:
        broken += [
            Violation(f"{call}.{name}", "json", problem, None)
            for name, value in document.items()
            if (problem := _not_json(value))
        ]
    if broken:
        more = len(broken) + found.omitted - _SHOWN_VIOLATIONS
        words = [str(one) for one in broken[:_SHOWN_VIOLATIONS]] + ([f"and {more} more"] if more > 0 else [])
        message = f"expected an animal that Pet.json allows (§2): {'; '.join(words)}"
        raise InvalidError(message, broken[:_SHOWN_VIOLATIONS], max(more, 0))


def _not_json(value: object) -> str:
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "must not hold a lone surrogate, which UTF-8 can't carry"
    except (TypeError, ValueError, RecursionError) as error:
        return f"must be a JSON value; {error}"
    return ""


def animals_of_file(path: str | PathLike[str]) -> list[Any]:
    try:
        content = as_path(path, "seed").read_bytes()
    except FileNotFoundError:
        refuse(f"expected a number of animals, or a JSON file of them; got {path}, which does not exist")
    except OSError as error:
        refuse(f"expected a readable JSON file of animals in {path}; {error}")
    try:
        animals, repeated = decode_json(content.removeprefix(b"\xef\xbb\xbf"))  # RFC 8259 §8.1: a mark may be ignored
    except MalformedJsonError as error:
        refuse(f"expected JSON in {path}; {error}")
    for one in repeated:
        _, index, name = one.path.split(".", 2)
        refuse(f"{path}, item [{index}]: expected each member once; got {name!r} twice")
    if not is_array(animals):
        refuse(f"expected a JSON array of animals in {path}; got {describe(animals)}")
    return list(animals)
