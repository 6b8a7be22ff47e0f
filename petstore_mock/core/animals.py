"""What tests do to the animals of a world: they seed, change and remove them, as another actor would."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Final, cast

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import refuse, require, shown
from petstore_mock.common.values import as_path, is_integer
from petstore_mock.core.refusals import ConflictError, InvalidError, NotFoundError
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface import schemas
from petstore_mock.interface.strict_json import MalformedJsonError, decode_json, encode_json
from petstore_mock.interface.table import FIELDS
from petstore_mock.interface.violations import Violation, describe, no_such_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from petstore_mock.core.options import Seed
    from petstore_mock.core.store import Store

Pet = dict[str, Any]

MOST_ANIMALS: Final = 10_000_000  # some gigabytes; a larger number is an id by mistake
_REQUIRED: Final = frozenset[str](schemas.schema("Pet")["required"])
_SHOWN_VIOLATIONS: Final = 20  # of an animal with thousands of wrong fields


class Animals:
    """What tests do to the animals of a store. Not locked: the world's lock covers it."""

    def __init__(self, store: Store, assign: Callable[..., int]) -> None:  # as gap id_assignment says
        self._store = store
        self._assign = assign

    # Seeding

    def add(self, fields: object) -> Pet:
        """Add an animal and return it; the schema alone judges it. Samples stand for missing required fields."""
        if not is_object(fields):
            refuse(f"expected an animal as a mapping; got {shown(fields)}: seed_many() adds several")
        return self._add(fields, _REQUIRED)

    def seed_count(self, count: object, name: str) -> list[Pet]:
        in_range = is_integer(count) and 0 <= count <= MOST_ANIMALS
        require(in_range, f"a number of animals from 0 to {MOST_ANIMALS:,}", **{name: count})
        return [self._add({}, FIELDS) for _ in range(cast("int", count))]

    def seed_each(self, pets: object, where: str = "animal {}") -> list[Pet]:
        """Add all animals of an iterable or none, and return them; ``where`` names one of them in an error."""
        if not hasattr(pets, "__iter__") or is_object(pets) or isinstance(pets, (str, bytes)):
            refuse(f"expected a list of animals, or how many, as the seed; got {shown(pets)}")
        store = self._store
        last, seeded, added = store.last, store.seeded, list[Pet]()
        for index, pet in enumerate(cast("Iterable[object]", pets)):
            try:
                added.append(self.add(pet))
            except PetStoreMockError as error:
                for one in added:
                    store.remove(one["id"])
                store.last, store.seeded = last, seeded
                error.args = (f"{where.format(index)}: {error}; none of them was added", *error.args[1:])
                raise
        return added

    def fill(self, seed: Seed | None) -> None:
        """Add the animals of a starting state: how many, the animals, or a JSON file of them."""
        if isinstance(seed, (str, PathLike)):
            self.seed_each(animals_of_file(seed), f"{seed}, item [{{}}]")
        elif isinstance(seed, int):
            self.seed_count(seed, "seed")
        elif seed is not None:
            self.seed_each(seed, "animal {} of seed")

    def _add(self, given: Mapping[str, Any], filled: Iterable[str]) -> Pet:
        number = self._store.seeded + 1
        fillers = {name: sample(name, number) for name in filled if FIELDS[name].samples}
        assigned = {} if "id" in given else {"id": self._store.free_id(self._assign)}
        document = checked_animal({**assigned, **fillers, **given}, "seed")
        if document["id"] in self._store:
            raise ConflictError(f"expected an id that is free; got id={document['id']}, which is taken")
        self._store.put(document)
        self._store.seeded = number
        return document

    # Another actor's hand

    def update(self, pet_id: object, changes: Mapping[str, Any]) -> Pet:
        """Change an animal and return it; None takes a field away."""
        former = self._store.document(pet_id) if is_integer(pet_id) else None
        if former is None:
            raise _no_animal(pet_id)
        for name, value in changes.items():
            if name in FIELDS and FIELDS[name].assigned and value != former.get(name):
                refuse(f"expected {name} to stay (§2: assigned on creation); got {name}={shown(value)}")
        gone = {name for name, value in changes.items() if value is None and name in FIELDS} - _REQUIRED
        document = {name: value for name, value in {**former, **changes}.items() if name not in gone}
        document = checked_animal(document, "update")
        self._store.put(document)
        return document

    def remove(self, pet_id: object) -> None:
        if not is_integer(pet_id) or not self._store.remove(pet_id):
            raise _no_animal(pet_id)

    def other(self, pet_id: int) -> Pet | None:
        """Return the animal with the lowest id that is not ``pet_id``."""
        return next((self._store.document(other) for other in self._store.ids()[:2] if other != pet_id), None)


def _no_animal(pet_id: object) -> NotFoundError:
    return NotFoundError(f"expected the id of an animal in the store; got {shown(pet_id)}")


def sample(name: str, number: int) -> Any:  # noqa: ANN401  # a JSON value
    """Return the value that the ``number``-th plausible animal has in a field; free text is unique."""
    samples = FIELDS[name].samples
    turn, index = divmod(number - 1, len(samples))
    value = samples[index]
    is_free_text = isinstance(value, str) and "enum" not in schemas.properties("Pet")[name]
    return f"{value} {turn + 1}" if is_free_text and turn else value


def checked_animal(given: Mapping[str, Any], call: str) -> Pet:
    """Return an animal in the order of its fields; refuse one that Pet.json does not allow, or with other fields."""
    document = {name: given[name] for name in (*FIELDS, *given) if name in given}
    if schemas.is_valid("Pet")(document) and _is_utf_8(document):
        return document
    try:
        found = schemas.violations(schemas.schema("Pet"), document, call)
    except ValueError:  # Python writes no integer of thousands of digits
        raise InvalidError("expected an animal that Pet.json allows; got a number of thousands of digits") from None
    broken = list(found)
    for name, value in document.items():
        if name not in FIELDS:  # Pet.json leaves them to the behaviour
            words = no_such_name(str(name), FIELDS, "field of Pet")
            broken.append(Violation(f"{call}.{name}", "additionalProperties", words, value))
        elif not found and not _is_utf_8(value):
            words = "must not hold a lone surrogate, which UTF-8 can't carry"
            broken.append(Violation(f"{call}.{name}", "json", words, None))
    if not broken:
        return document
    more = len(broken) + found.omitted - _SHOWN_VIOLATIONS
    words = "; ".join([*map(str, broken[:_SHOWN_VIOLATIONS]), *([f"and {more} more"] if more > 0 else [])])
    raise InvalidError(f"expected an animal that Pet.json allows (§2): {words}", broken[:_SHOWN_VIOLATIONS])


def _is_utf_8(value: object) -> bool:
    try:
        encode_json(value)
    except UnicodeEncodeError:
        return False
    return True


def animals_of_file(path: str | PathLike[str]) -> list[Any]:
    try:
        content = as_path(path, "seed").read_bytes()
        animals, repeated = decode_json(content.removeprefix(b"\xef\xbb\xbf"))  # RFC 8259 §8.1: a mark may be ignored
    except OSError as error:
        refuse(f"expected a number of animals, or a JSON file of them; got {path}: {error.strerror}")
    except MalformedJsonError as error:
        refuse(f"expected JSON in {path}; {error}")
    if repeated:
        _, index, name = repeated[0].path.split(".", 2)
        refuse(f"{path}, item [{index}]: expected each member once; got {name!r} twice")
    if not is_array(animals):
        refuse(f"expected a JSON array of animals in {path}; got {describe(animals)}")
    return list(animals)
