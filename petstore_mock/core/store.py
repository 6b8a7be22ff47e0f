"""The animals of one world, and its randomness. Not locked: the world's lock covers both."""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from copy import copy
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from petstore_mock.common.bounded import Bounded
from petstore_mock.common.guards import is_array
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


class Row(NamedTuple):
    """An animal: its canonical JSON, and the filters that select it."""

    body: bytes
    filters: tuple[Filter, ...]


class Body:
    """A valid body of a request that creates an animal. Requests with the same body share it."""

    __slots__ = ("_filters", "_members", "document")

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self._members = b"," + encode_json(document)[1:-1] if document else b""
        self._filters = filters_of(document)

    def row(self, pet_id: int) -> Row:
        return Row(b'{"id":%d%b}' % (pet_id, self._members), self._filters)


def filters_of(document: Mapping[str, Any]) -> tuple[Filter, ...]:
    """Return the filters that select an animal; an array is selected by each of its items."""
    found: list[Filter] = []
    for name in _FILTERED:
        value = document.get(name)
        if value is not None:
            found += [(name, one) for one in dict.fromkeys(value if is_array(value) else [value])]
    return tuple(found)


class Store:
    """Animals as canonical bytes, and an index of their ids by filter."""

    __slots__ = ("_ids", "_rows", "hidden", "last", "responses", "seeded", "turn")

    def __init__(self) -> None:
        self._rows: dict[int, Row] = {}
        self._ids: dict[Filter | None, list[int]] = {_All: []}
        self.last = 0  # the highest id so far: no id is given twice
        self.seeded = 0  # animals that the test has seeded: plausible values follow from this number
        self.turn = 0  # requests that the world has received
        self.hidden: dict[int, int] = {}  # created animals that can't be read yet, and the first turn that can
        # Of routes that only read, until the next change.
        self.responses: Bounded[object, Response] = Bounded(_MOST_RESPONSES)

    def copy(self) -> Store:
        other = Store()
        other._rows = self._rows.copy()
        other._ids = {key: ids[:] for key, ids in self._ids.items() if ids or key is _All}
        other.last, other.seeded, other.turn = self.last, self.seeded, self.turn
        other.hidden = self.hidden.copy()
        return other

    # Reading

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, pet_id: int) -> bool:
        return pet_id in self._rows

    def get(self, pet_id: int) -> bytes | None:
        row = self._rows.get(pet_id)
        return None if row is None else row.body

    def document(self, pet_id: int) -> dict[str, Any] | None:
        row = self._rows.get(pet_id)
        return None if row is None else json.loads(row.body)

    def bodies(self) -> list[bytes]:
        return [self._rows[pet_id].body for pet_id in self._ids[_All]]

    def ids(self, filters: Sequence[Filter] = ()) -> Sequence[int]:
        """Return the ids that all ``filters`` select, ascending. The caller must not change the list."""
        first, *others = (self._ids.get(one, []) for one in filters or (_All,))
        return first if not others else sorted(set(first).intersection(*others))

    def page(self, ids: Iterable[int]) -> bytes:
        """Return the JSON array of animals, in the order of ``ids``."""
        rows = self._rows
        return b"[%b]" % b",".join([rows[pet_id].body for pet_id in ids])

    def free_id(self, assign: Callable[[int, Callable[[], Random]], int], draw: Callable[[], Random]) -> int:
        """Return a free id (§2), as the behaviour assigns them (gap id_assignment)."""
        candidate = assign(self.last, draw)
        while candidate > _LARGEST_ID or candidate in self._rows:
            candidate = draw().randint(1, _LARGEST_ID)
        return candidate

    # Visibility

    def hide(self, pet_id: int, requests: int) -> None:
        visible = [one for one, first in self.hidden.items() if first <= self.turn]
        for one in visible:
            del self.hidden[one]
        self.hidden[pet_id] = self.turn + 1 + requests

    def hides(self, pet_id: int) -> bool:
        return self.hidden.get(pet_id, 0) > self.turn

    # Changing

    def put(self, document: Mapping[str, Any]) -> None:
        """Store an animal, in place of its former self where there is one."""
        self.write(document["id"], Row(encode_json(document), filters_of(document)))

    def write(self, pet_id: int, row: Row) -> None:
        """Store the row of an animal, in place of its former row where there is one."""
        if pet_id in self._rows:
            self._drop(pet_id)
        self._rows[pet_id] = row
        index = self._ids
        for key in (_All, *row.filters):
            ids = index.get(key)
            if ids is None:
                index[key] = [pet_id]
            elif not ids or pet_id > ids[-1]:
                ids.append(pet_id)
            else:
                insort(ids, pet_id)
        if pet_id > self.last:  # noqa: PLR1730  # max() takes a call, for each animal created
            self.last = pet_id
        self.responses.clear()

    def remove(self, pet_id: int) -> bool:
        if pet_id not in self._rows:
            return False
        self._drop(pet_id)
        self.hidden.pop(pet_id, None)
        self.responses.clear()
        return True

    def _drop(self, pet_id: int) -> None:
        for key in (_All, *self._rows.pop(pet_id).filters):
            ids = self._ids[key]
            del ids[bisect_left(ids, pet_id)]


class Draws:
    """Random numbers by a seed. The generator is made at the first draw: a copy of one takes as long as a reset."""

    def __init__(self, seed: int) -> None:
        self.drawn = 0  # how often something was drawn
        self._seed = seed
        self._random: Random | None = None

    def __call__(self) -> Random:
        self.drawn += 1
        if self._random is None:
            self._random = Random(self._seed)  # noqa: S311  # nothing here is a secret
        return self._random

    def copy(self) -> Draws:
        other = Draws(self._seed)
        other._random = copy(self._random)
        return other
