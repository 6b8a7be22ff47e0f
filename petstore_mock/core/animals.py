"""Lets a test seed, change and remove the animals of a world, as another actor would."""

from __future__ import annotations

from json import loads
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, cast

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import refuse, require, shown
from petstore_mock.common.values import as_path, is_integer
from petstore_mock.core.options import MOST_PETS
from petstore_mock.core.refusals import NotFoundError, ProblemError
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface import schemas
from petstore_mock.interface.strict_json import encode_json
from petstore_mock.interface.table import FIELDS
from petstore_mock.interface.violations import describe, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from petstore_mock.core.options import Seed
    from petstore_mock.core.store import Store

Pet = dict[str, Any]

_REQUIRED: Final = frozenset[str](schemas.schema("Pet")["required"])
# No field is required, because samples fill missing ones. Pet.json leaves unknown fields to the behaviour.
_RULES: Final[Mapping[str, Any]] = {**schemas.schema("Pet"), "required": [], "additionalProperties": False}
_is_allowed: Final = schemas.quick(_RULES)


class Animals:
    """The calls of a test that change the animals of a store. The caller holds the world's lock."""

    def __init__(self, store: Store, assign: Callable[..., int]) -> None:  # gap id_assignment
        self._store = store
        self._assign = assign

    # Seeding

    def add(self, fields: object) -> Pet:
        """Add an animal and return it. Samples fill missing required fields. The schema applies, and no gap."""
        if not is_object(fields):
            refuse(f"expected an animal as a mapping; got {shown(fields)}: seed_many() adds several")
        return self._add(fields, _REQUIRED)

    def seed_count(self, count: int, name: str) -> list[Pet]:
        in_range = is_integer(count) and 0 <= count <= MOST_PETS
        require(in_range, f"a number of animals from 0 to {MOST_PETS:,}", **{name: count})
        return [self._add({}, FIELDS) for _ in range(count)]

    def seed_each(self, pets: object, where: str = "") -> list[Pet]:
        """Add all animals of an iterable, or none if one is wrong. ``where`` is the prefix of an error."""
        if not hasattr(pets, "__iter__") or is_object(pets) or isinstance(pets, (str, bytes)):
            refuse(f"expected a list or a number of animals as the seed; got {shown(pets)}")
        former, added = self._store.copy(), list[Pet]()
        for index, pet in enumerate(cast("Iterable[object]", pets)):
            try:
                added.append(self.add(pet))
            except PetStoreMockError as error:
                vars(self._store).update(vars(former))
                error.args = (f"{where}animal {index}: {error}; no animal was added", *error.args[1:])
                raise
        return added

    def fill(self, seed: Seed | None) -> None:
        """Add the animals of a starting state: a number of them, a list, or a JSON file."""
        if isinstance(seed, (str, PathLike)):
            self.seed_each(animals_of_file(seed), f"{seed}: ")
        elif isinstance(seed, int):
            self.seed_count(seed, "seed")
        elif seed is not None:
            self.seed_each(seed, "seed: ")

    def _add(self, given: Mapping[str, Any], filled: Iterable[str]) -> Pet:
        _check(given, "seed")
        if "id" in given and given["id"] in self._store:
            raise ProblemError(f"expected a free id; got id={given['id']}, which is taken", 409)
        number = self._store.seeded + 1
        fillers = {name: _sample(name, number) for name in filled if FIELDS[name].samples}
        assigned = {} if "id" in given else {"id": self._store.free_id(self._assign)}
        self._store.seeded = number
        return self._put({**assigned, **fillers, **given})

    def _put(self, document: Mapping[str, Any]) -> Pet:
        ordered = {name: document[name] for name in FIELDS if name in document}
        self._store.put(ordered)
        return ordered

    # Changes by another actor

    def update(self, pet_id: int, changes: Mapping[str, Any]) -> Pet:
        """Change an animal and return it; None removes a field."""
        former = self._store.document(pet_id) if is_integer(pet_id) else None  # 1.0 and True are no identifiers
        if former is None:
            raise _no_animal(pet_id)
        for name, value in changes.items():
            if name in FIELDS and FIELDS[name].assigned and value != former.get(name):
                refuse(f"expected the {name} that was assigned on creation (§2); got {name}={shown(value)}")
        gone = {name for name, value in changes.items() if value is None and name in FIELDS} - _REQUIRED
        _check({name: value for name, value in changes.items() if name not in gone}, "update")
        return self._put({name: value for name, value in {**former, **changes}.items() if name not in gone})

    def remove(self, pet_id: int) -> None:
        if not is_integer(pet_id) or not self._store.remove(pet_id):
            raise _no_animal(pet_id)

    def other(self, pet_id: int) -> Pet | None:
        """Return the animal with the lowest id that is not ``pet_id``."""
        return next((self._store.document(other) for other in self._store.ids()[:2] if other != pet_id), None)


def _no_animal(pet_id: object) -> NotFoundError:
    return NotFoundError(f"expected the id of an animal in the store; got {shown(pet_id)}")


def _sample(name: str, number: int) -> Any:  # noqa: ANN401  # a JSON value
    """Return the sample value of a field for the ``number``-th seeded animal. Free text is unique."""
    samples = FIELDS[name].samples
    turn, index = divmod(number - 1, len(samples))
    value = samples[index]
    is_free_text = isinstance(value, str) and "enum" not in schemas.properties("Pet")[name]
    return f"{value} {turn + 1}" if is_free_text and turn else value


def _check(given: Mapping[str, Any], call: str) -> None:
    """Refuse unknown fields, and values that Pet.json does not allow."""
    if not _is_allowed(dict(given)):
        try:
            broken = schemas.violations(_RULES, dict(given), call)
        except ValueError:  # Python writes no integer of thousands of digits
            refuse("expected an animal that Pet.json allows (§2); got a number of thousands of digits")
        if broken:  # the quick check refuses a member of an enumeration, although it is text
            words = f"expected an animal that Pet.json allows (§2): {listed(broken, broken.omitted)}"
            raise ProblemError(words, 422, broken)
    try:
        encode_json(dict(given))
    except UnicodeEncodeError:
        refuse(f"expected text that UTF-8 can encode; got {shown(given)}")


def animals_of_file(path: str | PathLike[str]) -> list[Any]:
    words = f"a number of animals, or a JSON file with an array of them; got {path}"
    try:
        animals = loads(as_path(path, "seed").read_text(encoding="utf-8-sig"))
    except OSError as error:
        refuse(f"expected {words}: {error.strerror}")
    except (ValueError, RecursionError) as error:
        refuse(f"expected {words}: {error}")
    if not is_array(animals):
        refuse(f"expected {words}: {describe(animals)}")
    return list(animals)
