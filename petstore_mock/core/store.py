"""The animals of one world. Not locked: the world's lock covers the store."""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from petstore_mock.common.guards import is_array
from petstore_mock.interface.strict_json import encode_json
from petstore_mock.interface.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from random import Random

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


class Snapshot(NamedTuple):
    rows: dict[int, Row]
    ids: dict[Filter | None, list[int]]
    last: int
    seeded: int
    hidden: dict[int, int]


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

    __slots__ = ("_ids", "_rows", "_start", "hidden", "last", "responses", "seeded", "turn")

    def __init__(self) -> None:
        self._rows: dict[int, Row] = {}
        self._ids: dict[Filter | None, list[int]] = {_All: []}
        self.last = 0  # the highest id so far: no id is given twice
        self.seeded = 0  # animals that the test has seeded: plausible values follow from this number
        self.turn = 0  # requests that the world has received
        self.hidden: dict[int, int] = {}  # created animals that can't be read yet, and the first turn that can
        self.responses: dict[object, Response] = {}  # of routes that only read, until the next change
        self._start = _EMPTY

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, pet_id: int) -> bool:
        return pet_id in self._rows

    # Reading

    def get(self, pet_id: int) -> bytes | None:
        row = self._rows.get(pet_id)
        return None if row is None else row.body

    def document(self, pet_id: int) -> dict[str, Any] | None:
        row = self._rows.get(pet_id)
        return None if row is None else json.loads(row.body)

    def bodies(self) -> list[bytes]:
        return [self._rows[pet_id].body for pet_id in self._ids[_All]]

    def documents(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body in self.bodies()]

    def ids(self, filters: Sequence[Filter] = ()) -> Sequence[int]:
        """Return the ids that all ``filters`` select, ascending. The caller must not change the list."""
        if not filters:
            return self._ids[_All]
        lists = sorted((self._ids.get(one, []) for one in filters), key=len)
        if len(lists) == 1:
            return lists[0]
        others = [set(one) for one in lists[1:]]
        return [pet_id for pet_id in lists[0] if all(pet_id in other for other in others)]

    def page(self, ids: Iterable[int]) -> bytes:
        """Return the JSON array of animals, in the order of ``ids``."""
        rows = self._rows
        return b"[%b]" % b",".join([rows[pet_id].body for pet_id in ids])

    def free_id(self, assign: Callable[[int, Callable[[], Random]], int], draw: Callable[[], Random]) -> int:
        """Return a free id (§2), as the behaviour assigns them (gap id_assignment)."""
        candidate = assign(self.last, draw)
        if candidate <= _LARGEST_ID and candidate not in self._rows:
            return candidate
        for _ in range(8):
            candidate = draw().randint(1, _LARGEST_ID)
            if candidate not in self._rows:
                return candidate
        return next(number for number in count(1) if number not in self._rows)  # the highest id is the last of all

    # Visibility

    def hide(self, pet_id: int, requests: int) -> None:
        self.settle()
        self.hidden[pet_id] = self.turn + 1 + requests

    def hides(self, pet_id: int) -> bool:
        return self.hidden.get(pet_id, 0) > self.turn

    def settle(self) -> None:
        """Forget the hidden animals that are visible by now."""
        self.hidden = {pet_id: first for pet_id, first in self.hidden.items() if first > self.turn}

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

    def keep_response(self, route: object, response: Response) -> None:
        """Keep the response of a read-only request until the next change."""
        if len(self.responses) >= _MOST_RESPONSES:
            self.responses.clear()
        self.responses[route] = response

    # Going back

    def snapshot(self) -> Snapshot:
        ids = {key: found[:] for key, found in self._ids.items() if found or key is _All}
        return Snapshot(self._rows.copy(), ids, self.last, self.seeded, self._hidden_from(-self.turn, self.hidden))

    def restore(self, snapshot: Snapshot) -> None:
        self._rows = snapshot.rows.copy()
        self._ids = {key: found[:] for key, found in snapshot.ids.items()}
        self.last = snapshot.last
        self.seeded = snapshot.seeded
        self.hidden = self._hidden_from(self.turn, snapshot.hidden)
        self.responses.clear()

    @staticmethod
    def _hidden_from(turn: int, hidden: Mapping[int, int]) -> dict[int, int]:
        return {pet_id: first + turn for pet_id, first in hidden.items()}

    def mark_start(self) -> None:
        """Make the present animals those that :meth:`reset` returns to."""
        self._start = self.snapshot()

    def reset(self) -> None:
        self.restore(self._start)


_EMPTY: Final = Snapshot({}, {_All: []}, 0, 0, {})
