"""The state of one world that a reset restores: animals, behaviour, time, randomness and counts.

The caller holds the world's lock. The operations use the store. Tests also use it, to seed, change and remove animals
as another actor would.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left, insort
from copy import copy
from datetime import timedelta
from functools import lru_cache
from itertools import chain, repeat
from json import loads
from os import PathLike
from random import Random
from typing import TYPE_CHECKING, Final

from petstore_mock.common import real
from petstore_mock.common.dates import EARLIEST, LATEST, http_date
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import refuse, require, shown
from petstore_mock.common.values import is_integer, read_file
from petstore_mock.core.options import MOST_PETS, read_animals
from petstore_mock.core.refusals import NotFoundError, ProblemError
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface import schemas
from petstore_mock.interface.kinds import kind_of, quick
from petstore_mock.interface.strict_json import encode_json
from petstore_mock.interface.table import ANIMAL, ASSIGNED, FIELDS, OPERATIONS, in_words, known_part
from petstore_mock.interface.violations import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from petstore_mock.common.values import Json
    from petstore_mock.core.options import Seed
    from petstore_mock.core.routing import Filter, Rules
    from petstore_mock.http.response import Response
    from petstore_mock.interface.kinds import Schema

Pet = dict[str, object]

_REQUIRED: Final = frozenset[str](schemas.schema(ANIMAL)["required"])
# No field is required, because samples fill missing ones. Pet.json allows unknown fields; the store refuses them.
_RULES: Final[Schema] = {**schemas.schema(ANIMAL), "required": [], "additionalProperties": False}
_is_allowed: Final = quick(_RULES)
_OPTIONAL: Final = FIELDS.keys() - _REQUIRED
_EXAMPLES: Final = in_words(name for name in FIELDS if name in _REQUIRED - ASSIGNED)
_STORE_WEIGHT: Final = 2_000  # bytes of memory
_ANIMAL_WEIGHT: Final = 250  # bytes of memory besides its text
_LARGEST_ID: Final = 2**63 - 1
# The fields that a parameter of the interface filters by.
_FILTERED: Final = {parameter.filters_by: None for row in OPERATIONS.values() for parameter in row.filters}


class Store:
    """Animals as canonical bytes, an index of their ids by filter, the behaviour, time, randomness and counts."""

    def __init__(self, rules: Rules, random_seed: int = 0) -> None:
        self.rules = rules  # of the behaviour
        self.offset = 0.0  # seconds by which the fake's time is ahead of the real time
        self.frozen: float | None = None  # the moment at which the fake's time stands still
        self._animals: dict[int, bytes] = {}
        self._ids: list[int] = []  # ascending
        # The ids of the animals by field and value, ascending. An array has each of its items as a value.
        self._index: dict[str, dict[object, list[int]]] = {name: {} for name in _FILTERED}
        self.last = 0  # the highest id so far, because no id is assigned twice
        self.seeded = 0  # the number of seeded animals, which selects their samples
        self.turn = 0  # the number of requests that the world has received
        self.hidden: dict[int, int] = {}  # by id: the first turn in which clients see a new animal
        self.valid_requests = 0  # gap rate_limit
        self.first_key: str | None = None  # the key that a request used first (gap key_rotation)
        self.first_key_uses = 0
        self.drawn = 0  # the number of random draws
        self._random_seed = random_seed
        self._random: Random | None = None  # made at the first draw, because its copy would double the time of a reset
        # Cached responses of read-only operations, by route.
        self.responses: dict[object, Response] = {}

    def copy(self) -> Store:
        other = Store(self.rules)
        vars(other).update(vars(self))
        other._animals = self._animals.copy()
        other._ids = self._ids[:]
        other._index = {}
        for field, by_value in self._index.items():
            other._index[field] = {value: ids[:] for value, ids in by_value.items() if ids}
        other.hidden = self.hidden.copy()
        other._random = copy(self._random)
        other.responses = {}
        return other

    def weight(self) -> int:
        """Return about how many bytes of memory the animals take."""
        return _STORE_WEIGHT + _ANIMAL_WEIGHT * len(self._animals) + sum(map(len, self._animals.values()))

    def random(self) -> Random:
        self.drawn += 1
        if self._random is None:
            self._random = Random(self._random_seed)
        return self._random

    # Time

    def now(self) -> float:
        """Return the fake's time. ``Date``, the expiry of keys and the removal of operations follow it."""
        if self.frozen is not None:
            return self.frozen
        return wall_clock() + self.offset

    @property
    def date(self) -> bytes:
        """The value of the field ``Date``. Requests of the same second share it."""
        return _date_of(self.now() // 1)

    def change_time(
        self, *, moment: float | None, step: Mapping[str, float] | None = None, freeze: bool | None = None
    ) -> None:
        """Travel to a moment, then move by a step of days, hours, minutes and seconds, then freeze or unfreeze."""
        now = self.now() if moment is None else moment
        try:
            now += timedelta(**(step or {})).total_seconds()
        except (OverflowError, TypeError, ValueError):  # NaN raises ValueError
            now = math.inf
        require(EARLIEST <= now < LATEST, "numbers that lead to a moment in the years 1970 to 9998", advance=step)
        if freeze is None:
            freeze = self.frozen is not None
        self.frozen = now if freeze else None
        self.offset = now - wall_clock()

    # Reading

    def __len__(self) -> int:
        return len(self._animals)

    def get(self, pet_id: int) -> bytes | None:
        return self._animals.get(pet_id)

    def document(self, pet_id: int) -> Pet | None:
        body = self._animals.get(pet_id)
        return None if body is None else loads(body)

    def other(self, pet_id: int) -> Pet | None:
        """Return the animal with the lowest id that is not ``pet_id``."""
        for other in self._ids[:2]:
            if other != pet_id:
                return self.document(other)
        return None

    def bodies(self) -> list[bytes]:
        return [*map(self._animals.__getitem__, self._ids)]

    def documents(self) -> list[Pet]:
        return [*map(loads, self.bodies())]

    def ids(self, filters: Sequence[Filter] = ()) -> Sequence[int]:
        """Return the ids that all ``filters`` select, ascending. The caller must not change the list."""
        if not filters:
            return self._ids
        first, *others = map(self._selected, filters)
        if not others:
            return first
        return sorted(set(first).intersection(*others))

    def _selected(self, chosen: Filter) -> Sequence[int]:
        """Return the ids that a filter selects, ascending."""
        field = chosen.parameter.filters_by
        relation = chosen.parameter.says
        by_value = self._index[field]
        if not relation.is_ordered:
            return by_value.get(chosen.value, [])
        order = kind_of(schemas.properties(ANIMAL)[field]).order
        bound = order(chosen.value)
        fitting = [ids for value, ids in by_value.items() if relation.holds(order(value), bound)]
        return sorted(chain.from_iterable(fitting))

    def page(self, ids: Iterable[int]) -> bytes:
        return b"[%b]" % b",".join(map(self._animals.__getitem__, ids))

    # Visibility

    def hide(self, pet_id: int, requests: int) -> None:
        self.hidden = {other: self.hidden[other] for other in filter(self.hides, self.hidden)}
        self.hidden[pet_id] = self.turn + 1 + requests

    def hides(self, pet_id: int) -> bool:
        return self.hidden.get(pet_id, 0) > self.turn

    # Changing

    def free_id(self) -> int:
        """Return a free id (§2) that gap id_assignment chooses."""
        candidate: int = self.rules.policies.id_assignment(self.last, self.random)
        while candidate > _LARGEST_ID or candidate in self._animals:
            candidate = self.random().randint(1, _LARGEST_ID)
        return candidate

    def put(self, document: Mapping[str, Json]) -> bytes:
        """Add or replace an animal, and return its canonical JSON."""
        pet_id = document["id"]
        if pet_id in self._animals:
            self.remove(pet_id)
        self._animals[pet_id] = content = encode_json(document)
        _insert(self._ids, pet_id)
        for field, value in _indexed(document):
            _insert(self._index[field].setdefault(value, []), pet_id)
        self.last = max(self.last, pet_id)
        self.responses.clear()
        return content

    def remove(self, pet_id: int) -> None:
        self._require(pet_id)
        _delete(self._ids, pet_id)
        for field, value in _indexed(loads(self._animals.pop(pet_id))):
            _delete(self._index[field][value], pet_id)
        self.responses.clear()

    def update(self, pet_id: int, changes: Mapping[str, object]) -> Pet:
        """Change an animal as another actor would, and return it; None removes a field."""
        self._require(pet_id)
        animal: Pet = loads(self._animals[pet_id])
        for name in ASSIGNED & changes.keys():
            if changes[name] != animal.get(name):
                refuse(f"expected the {name} that was assigned on creation (§2); got {name}={shown(changes[name])}")
        set_fields = dict(changes)
        for name in _OPTIONAL & changes.keys():
            if changes[name] is None:
                del set_fields[name]
                animal.pop(name, None)
        check_animal(set_fields, "update")
        return self._put(animal | set_fields)

    def _require(self, pet_id: int) -> None:
        if not is_integer(pet_id) or pet_id not in self._animals:  # 1.0 and True are not identifiers
            raise NotFoundError(f"expected the id of an animal in the store; got {shown(pet_id)}")

    def _put(self, document: Mapping[str, object]) -> Pet:
        ordered = known_part(document)
        self.put(ordered)
        return ordered

    # Seeding

    def add(self, fields: object) -> Pet:
        """Add and return a valid animal. Samples fill missing required fields. Only gap id_assignment applies."""
        if not is_object(fields):
            refuse(f"expected the fields of an animal, such as {_EXAMPLES}; got {shown(fields)}")
        return self._add(fields, _REQUIRED)

    def seed_count(self, count: int, name: str) -> list[Pet]:
        in_range = is_integer(count) and 0 <= count <= MOST_PETS
        require(in_range, f"a number of animals from 0 to {MOST_PETS:,}", **{name: count})
        return [self._add({}, FIELDS) for _ in range(count)]

    def seed_each(self, pets: object, where: str = "") -> list[Pet]:
        """Add all animals of an iterable, or none if one is wrong. ``where`` is the prefix of an error."""
        animals = read_animals(pets)
        # The copy takes the animals first, so an error leaves this store as it is.
        draft = self.copy()
        added = list[Pet]()
        for index, animal in enumerate(animals):
            try:
                added.append(draft.add(animal))
            except PetStoreMockError as error:
                error.args = (f"{where}animal {index}: {error}; no animal was added", *error.args[1:])
                raise
        vars(self).update(vars(draft))
        return added

    def fill(self, seed: Seed | None) -> None:
        """Add the animals of a starting state: a number of them, a list, or a JSON file."""
        animals = read_seed(seed)
        if isinstance(animals, int):
            self.seed_count(animals, "seed")
        elif isinstance(animals, AnimalsOfFile):
            self.seed_each(animals, f"{animals.path}: ")
        elif animals is not None:
            self.seed_each(animals, "seed: ")

    def _add(self, fields: Mapping[str, object], filled: Iterable[str]) -> Pet:
        check_animal(fields, "seed")
        number = self.seeded + 1
        animal = {name: _sample(name, number) for name in filled if FIELDS[name].samples}
        if "id" not in fields:
            animal["id"] = self.free_id()
        elif fields["id"] in self._animals:
            raise ProblemError(f"expected a free id; got id={fields['id']}, which is taken", 409)
        self.seeded = number
        return self._put({**animal, **fields})


def wall_clock() -> float:
    """Return the time, as freezegun or time-machine sets it. The fake ignores a test's own patch of ``time.time``."""
    is_frozen = getattr(time.time, "__module__", "") == "freezegun.api"
    now: float = time.time() if is_frozen else real.time()
    if EARLIEST <= now < LATEST:
        return now
    return float(real.time())


@lru_cache(maxsize=8)
def _date_of(second: float) -> bytes:
    return http_date(second).encode("ascii")


def _indexed(document: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the fields of an animal that parameters filter by, with the value, or with each item of an array."""
    for name in _FILTERED:
        value = document.get(name)
        if is_array(value):
            yield from zip(repeat(name), dict.fromkeys(value))
        elif value is not None:
            yield name, value


def _insert(ids: list[int], pet_id: int) -> None:
    if not ids or pet_id > ids[-1]:
        ids.append(pet_id)
    else:
        insort(ids, pet_id)


def _delete(ids: list[int], pet_id: int) -> None:
    del ids[bisect_left(ids, pet_id)]


def _sample(name: str, number: int) -> Json:
    """Return the sample value of a field for the ``number``-th seeded animal. Free text is unique."""
    samples = FIELDS[name].samples
    turn, index = divmod(number - 1, len(samples))
    if not turn:
        return samples[index]
    return kind_of(schemas.properties(ANIMAL)[name]).numbered(samples[index], turn)


def check_animal(fields: Mapping[str, object], call: str) -> None:
    """Refuse unknown fields, and values that Pet.json does not allow."""
    animal = dict(fields)
    if not _is_allowed(animal):
        try:
            broken = schemas.violations(_RULES, animal, call)
        except ValueError:  # Python refuses to convert such an integer to text
            refuse("expected an animal that Pet.json allows (§2); got a number of thousands of digits")
        if broken:  # the quick check refuses even a valid ``StrEnum`` member
            words = f"expected an animal that Pet.json allows (§2): {broken.in_words()}"
            raise ProblemError(words, 422, broken)
    try:
        encode_json(animal)
    except UnicodeEncodeError:
        refuse(f"expected text that UTF-8 can encode; got {shown(fields)}")


class AnimalsOfFile(list["Json"]):
    """The animals of a seed file, read once. Errors show its path."""

    def __init__(self, animals: Iterable[object], path: str | PathLike[str]) -> None:
        super().__init__(animals)
        self.path = path


def read_seed(seed: Seed | None) -> int | Iterable[Mapping[str, object]] | None:
    """Return a seed that needs no file any more. A test may replace the file system before the next reset."""
    if not isinstance(seed, (str, PathLike)):
        return seed
    words = "a number of animals, or a JSON file with an array of them"
    animals = read_file(seed, "seed", loads, words)
    if not is_array(animals):
        refuse(f"expected {words}; got {seed}: {describe(animals)}")
    return AnimalsOfFile(animals, seed)
