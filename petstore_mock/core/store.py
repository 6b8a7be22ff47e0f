"""The plain state of one world: animals, randomness and counts. Not locked: the world's lock covers it."""

from __future__ import annotations

from bisect import bisect_left, insort
from copy import copy
from json import loads
from random import Random
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_array
from petstore_mock.common.values import Bounded
from petstore_mock.interface.strict_json import encode_json
from petstore_mock.interface.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from petstore_mock.http.response import Response

Filter = tuple[str, Any]  # a field and the value that it must have, or hold
_All = None  # the key of all ids in the index

# The fields that a parameter of the interface filters by.
_FILTERED: Final = tuple(
    dict.fromkeys(one.filters for operation in OPERATIONS.values() for one in operation.parameters if one.filters)
)
_LARGEST_ID: Final = 2**63 - 1
_MOST_RESPONSES: Final = 32  # clients repeat a few requests; an eager one must not fill the memory


def _filters_of(document: Mapping[str, Any]) -> list[Filter]:
    """Return the filters that select an animal; an array is selected by each of its items."""
    found: list[Filter] = []
    for name in _FILTERED:
        value = document.get(name)
        if value is not None:
            found += [(name, one) for one in dict.fromkeys(value if is_array(value) else [value])]
    return found


class Store:
    """Animals as canonical bytes, an index of their ids by filter, and all else that a reset takes back."""

    def __init__(self, random_seed: int = 0) -> None:
        self._animals: dict[int, bytes] = {}
        self._ids: dict[Filter | None, list[int]] = {_All: []}
        self.last = 0  # the highest id so far: no id is given twice
        self.seeded = 0  # animals that the test has seeded: plausible values follow from this number
        self.turn = 0  # requests that the world has received
        self.hidden: dict[int, int] = {}  # created animals that can't be read yet, and the first turn that can
        self.valid_requests = 0  # gap rate_limit
        self.first_key: str | None = None  # the key that a request used first (gap key_rotation)
        self.first_key_uses = 0
        self.drawn = 0  # how often something was drawn
        self._random_seed = random_seed
        self._random: Random | None = None  # made at the first draw: a copy of one takes as long as a reset
        # Of routes that only read, until the next change.
        self.responses: Bounded[object, Response] = Bounded(_MOST_RESPONSES)

    def copy(self) -> Store:
        other = Store()
        vars(other).update(vars(self))
        other._animals = self._animals.copy()
        other._ids = {key: ids[:] for key, ids in self._ids.items() if ids or key is _All}
        other.hidden = self.hidden.copy()
        other._random = copy(self._random)
        other.responses = Bounded(_MOST_RESPONSES)
        return other

    def random(self) -> Random:
        self.drawn += 1
        if self._random is None:
            self._random = Random(self._random_seed)  # noqa: S311  # nothing here is a secret
        return self._random

    # Reading

    def __len__(self) -> int:
        return len(self._animals)

    def __contains__(self, pet_id: int) -> bool:
        return pet_id in self._animals

    def get(self, pet_id: int) -> bytes | None:
        return self._animals.get(pet_id)

    def document(self, pet_id: int) -> dict[str, Any] | None:
        return loads(self._animals[pet_id]) if pet_id in self._animals else None

    def bodies(self) -> list[bytes]:
        return [self._animals[pet_id] for pet_id in self._ids[_All]]

    def ids(self, filters: Sequence[Filter] = ()) -> Sequence[int]:
        """Return the ids that all ``filters`` select, ascending. The caller must not change the list."""
        first, *others = (self._ids.get(one, []) for one in filters or (_All,))
        return first if not others else sorted(set(first).intersection(*others))

    def page(self, ids: Iterable[int]) -> bytes:
        animals = self._animals
        return b"[%b]" % b",".join([animals[pet_id] for pet_id in ids])

    def free_id(self, assign: Callable[[int, Callable[[], Random]], int]) -> int:
        """Return a free id (§2), as the behaviour assigns them (gap id_assignment)."""
        candidate = assign(self.last, self.random)
        while candidate > _LARGEST_ID or candidate in self._animals:
            candidate = self.random().randint(1, _LARGEST_ID)
        return candidate

    # Visibility

    def hide(self, pet_id: int, requests: int) -> None:
        self.hidden = {one: first for one, first in self.hidden.items() if first > self.turn}
        self.hidden[pet_id] = self.turn + 1 + requests

    def hides(self, pet_id: int) -> bool:
        return self.hidden.get(pet_id, 0) > self.turn

    # Changing

    def put(self, document: Mapping[str, Any]) -> bytes:
        """Store an animal, in place of its former self where there is one; return its canonical JSON."""
        pet_id = document["id"]
        self.remove(pet_id)
        self._animals[pet_id] = content = encode_json(document)
        for key in (_All, *_filters_of(document)):
            ids = self._ids.setdefault(key, [])
            if not ids or pet_id > ids[-1]:
                ids.append(pet_id)
            else:
                insort(ids, pet_id)
        self.last = max(self.last, pet_id)
        self.responses.clear()
        return content

    def remove(self, pet_id: int) -> bool:
        if pet_id not in self._animals:
            return False
        for key in (_All, *_filters_of(loads(self._animals.pop(pet_id)))):
            ids = self._ids[key]
            del ids[bisect_left(ids, pet_id)]
        self.responses.clear()
        return True
