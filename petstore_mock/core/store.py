"""The in-memory store: one dict of canonical bytes, the order of ids by status, and undo to the starting state."""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from petstore_mock.common.wording import counted
from petstore_mock.contract.interface import LARGEST_INT64
from petstore_mock.contract.strict_json import encode_flat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from random import Random

    from petstore_mock.core.routing import Route
    from petstore_mock.messages.response import ApiResponse

__all__ = ["SortedIds", "Store", "StoreSnapshot"]


# Ids are kept in sorted runs: an insert moves at most one run, so its cost hardly grows with the store. 1,000 is the
# load of the sortedcontainers package, measured there as the optimum for lists of pointers.
RUN: Final = 1000
_MOST_UNSORTED: Final = 256  # new animals that wait for the index: a list has no more than these to put in
_KEPT_PAGES: Final = 32  # a client asks for a few; an arbitrary order makes new ones for ever


class SortedIds:
    """A sorted set of ids in short runs; the lowest and highest pages cost their length only."""

    __slots__ = ("_size", "highest", "runs")

    def __init__(self) -> None:
        self.runs: list[list[int]] = []
        self.highest: list[int] = []  # the last id of each run
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self.runs)

    def __reversed__(self) -> Iterator[int]:
        return chain.from_iterable(reversed(run) for run in reversed(self.runs))

    def add(self, number: int) -> None:
        """Insert ``number``, which must not be in yet."""
        self._size += 1
        runs, highest = self.runs, self.highest
        if not runs:
            runs.append([number])
            highest.append(number)
            return
        if number > highest[-1]:  # the usual case: ids grow
            at = len(runs) - 1
            runs[at].append(number)
            highest[at] = number
        else:
            at = bisect_left(highest, number)
            insort(runs[at], number)
        run = runs[at]
        if len(run) > 2 * RUN:
            runs[at : at + 1] = [run[:RUN], run[RUN:]]
            highest[at : at + 1] = [run[RUN - 1], run[-1]]

    def update(self, numbers: Iterable[int]) -> None:
        """Insert ``numbers``, none of which may be in yet."""
        new = sorted(numbers)
        if self.runs and new[0] > self.highest[-1] and len(self.runs[-1]) + len(new) <= 2 * RUN:  # the usual case
            self.runs[-1].extend(new)
            self.highest[-1] = new[-1]
            self._size += len(new)
        else:
            for number in new:
                self.add(number)

    def discard(self, number: int) -> None:
        """Take ``number`` out, if it is in."""
        at = bisect_left(self.highest, number)
        if at == len(self.runs):
            return
        run = self.runs[at]
        index = bisect_left(run, number)
        if index == len(run) or run[index] != number:
            return
        del run[index]
        self._size -= 1
        if run:
            self.highest[at] = run[-1]
        else:
            del self.runs[at], self.highest[at]

    def first(self, limit: int) -> list[int]:
        """Return the ``limit`` lowest ids."""
        if self.runs and limit <= len(self.runs[0]):
            return self.runs[0][:limit]
        return list(islice(self, limit))

    def last(self, limit: int) -> list[int]:
        """Return the ``limit`` highest ids, highest first."""
        return list(islice(reversed(self), limit))


class StoreSnapshot(NamedTuple):
    """A copy of a store's animals, for :meth:`Store.restore`."""

    pets: dict[int, bytes]
    last: int


class Store:
    """The animals of one world. Not locked: the world's lock covers it.

    Every animal is kept as its canonical bytes, made once; whoever reads one as a dict gets a fresh copy.
    """

    __slots__ = (
        "_index",
        "_pets",
        "_start_last",
        "_start_size",
        "_unsorted",
        "answers",
        "last",
        "orders",
        "pages",
        "undo",
    )

    def __init__(self) -> None:
        self._pets: dict[int, bytes] = {}
        self._index: dict[str | None, SortedIds] = {None: SortedIds()}
        # Statuses of the new animals that the index lacks, by id: who creates many lists them but now and then, and
        # many at once are put in for a fraction of what each takes by itself.
        self._unsorted: dict[int, str | None] = {}
        # Kept until the next change. The journal then holds one page, not a copy of it for each time it was asked for.
        # By their ids, and the first page of a status by that and its length: the one that nearly everybody asks for.
        self.pages: dict[tuple[int | str | None, ...], bytes] = {}
        self.orders: dict[str | None, list[int]] = {}
        self.answers: dict[Route, ApiResponse] = {}  # see operations.execute_again; the world holds it too
        # What each changed animal was at the starting state, so that a reset costs what changed.
        self.undo: dict[int, bytes | None] = {}
        self._start_last = 0
        self._start_size = 0
        self.last = 0  # the highest id ever given: an id is never given twice

    def __len__(self) -> int:
        return len(self._pets)

    def __contains__(self, pet_id: int) -> bool:
        return pet_id in self._pets

    def __repr__(self) -> str:
        return f"<Store of {counted(len(self._pets), 'animal')}>"

    # Reading

    def get(self, pet_id: int) -> bytes | None:
        """Return the bytes of one animal, or None."""
        return self._pets.get(pet_id)

    def page(self, ids: Iterable[int]) -> bytes:
        """Return the JSON array of the animals ``ids``, in that order."""
        wanted = tuple(ids)
        page = self.pages.get(wanted)
        if page is None:
            if len(self.pages) >= _KEPT_PAGES:
                self.pages.clear()
            page = self.pages[wanted] = b"[%b]" % b",".join(map(self._pets.__getitem__, wanted))
        return page

    def first_page(self, status: str | None, limit: int) -> bytes:
        """Return the JSON array of the ``limit`` animals of that status (None: of all) with the lowest ids."""
        page = self.pages.get((status, limit))
        if page is None:
            page = self.page(self.ascending(status, limit))
            if len(self.pages) >= _KEPT_PAGES:
                self.pages.clear()
            self.pages[status, limit] = page
        return page

    def bodies(self) -> list[bytes]:
        """Return the JSON of every animal in the order of their ids."""
        return [self._pets[pet_id] for pet_id in self.every(None)]

    def documents(self, ids: Iterable[int] | None = None) -> list[dict[str, Any]]:
        """Return copies of the animals ``ids``; without them, of all in the order of their ids."""
        pets = self._pets
        return [json.loads(pets[pet_id]) for pet_id in (self.every(None) if ids is None else ids)]

    def ascending(self, status: str | None, limit: int) -> list[int]:
        """Return the ``limit`` lowest ids of that status (None: of all)."""
        ids = self._sorted().get(status)
        return ids.first(limit) if ids is not None else []

    def descending(self, status: str | None, limit: int) -> list[int]:
        """Return the ``limit`` highest ids of that status, highest first."""
        ids = self._sorted().get(status)
        return ids.last(limit) if ids is not None else []

    def by_name(self, status: str | None, limit: int) -> list[int]:
        """Return the ``limit`` first ids in the order of name, then id. Sorts once after each change."""
        order = self.orders.get(status)
        if order is None:
            order = sorted(self.every(status), key=lambda pet_id: (self._name(pet_id), pet_id))
            if status in self._index:  # of any other text a client might send, nothing is kept
                self.orders[status] = order
        return order[:limit]

    def _name(self, pet_id: int) -> str:
        name = json.loads(self._pets[pet_id]).get("name")
        return name if isinstance(name, str) else ""  # a changed schema may require none, or no text

    def every(self, status: str | None) -> Iterable[int]:
        """Return all ids of that status, ascending."""
        return self._sorted().get(status, ())

    def count(self, status: str | None) -> int:
        """Return how many animals have that status."""
        ids = self._sorted().get(status)
        return len(ids) if ids is not None else 0

    def _sorted(self) -> dict[str | None, SortedIds]:
        """Return the ids by status, in order; those of all animals under None."""
        index, unsorted = self._index, self._unsorted
        if unsorted:
            index[None].update(unsorted)
            for status in {*unsorted.values()} - {None}:
                ids = index.setdefault(status, SortedIds())
                ids.update([pet_id for pet_id, its_own in unsorted.items() if its_own == status])
            unsorted.clear()
        return index

    def free_id(self, assign: Callable[[int, Random], int], random: Random) -> int:
        """Return an id that is free (§2).

        Args:
            assign: the behaviour's choice, of the highest id so far and of ``random`` (gap id_assignment).
            random: what is drawn from.
        """
        pets = self._pets
        candidate = assign(self.last, random)
        if candidate <= LARGEST_INT64 and candidate not in pets:
            return candidate
        for _ in range(8):
            candidate = random.randint(1, LARGEST_INT64)
            if candidate not in pets:
                return candidate
        return self.lowest_free_id()

    def lowest_free_id(self) -> int:
        """Return the lowest positive id that is not taken: for a store whose highest id is the last of all."""
        candidate = 1
        for taken in self.every(None):
            if taken > candidate:
                break
            candidate = max(candidate, taken + 1)
        return candidate

    # Changing

    def put(self, document: Mapping[str, Any]) -> bytes:
        """Store an animal, a new one or one in place of its former self; return its canonical bytes."""
        body = encode_flat(document)
        self.write(document["id"], body, document.get("status"))
        return body

    def remove(self, pet_id: int) -> bool:
        """Take an animal out; return whether there was one."""
        if pet_id not in self._pets:
            return False
        self.write(pet_id, None, None)
        return True

    def write(self, pet_id: int, body: bytes | None, status: str | None) -> None:
        """Put the bytes of an animal there, or take it away (None), and remember what was there."""
        pets = self._pets
        former = pets.get(pet_id)
        self.undo.setdefault(pet_id, former)
        if former is not None:
            self._take_out(pet_id, former)
        if body is None:
            del pets[pet_id]
        else:
            pets[pet_id] = body
            self._unsorted[pet_id] = status
            if len(self._unsorted) > _MOST_UNSORTED:
                self._sorted()
            if pet_id > self.last:  # noqa: PLR1730  # max() takes a call, for each animal created
                self.last = pet_id
        if self.answers or self.pages or self.orders:
            self.forget_answers()

    def _take_out(self, pet_id: int, former: bytes) -> None:
        """Take an animal out of the index."""
        index = self._sorted()
        index[None].discard(pet_id)
        status = json.loads(former).get("status")
        if status is not None:
            index[status].discard(pet_id)

    def keep_answer(self, route: Route, answer: ApiResponse) -> None:
        """Keep what ``route`` was answered until the next change."""
        if len(self.answers) >= _KEPT_PAGES:
            self.answers.clear()
        self.answers[route] = answer

    def forget_answers(self) -> None:
        """Keep nothing of what was answered: it would be another answer now."""
        self.answers.clear()
        self.pages.clear()
        self.orders.clear()

    # Going back

    def mark_start(self) -> None:
        """Make the present state the one that :meth:`reset` returns to."""
        self.undo = {}
        self._start_last = self.last
        self._start_size = len(self._pets)

    def reset(self) -> None:
        """Return to the starting state, at the cost of what changed since."""
        if not self._start_size:  # as in most tests, where one step does instead of one for each animal
            self._pets.clear()
            self._index = {None: SortedIds()}
            self._unsorted.clear()
            self.forget_answers()
        else:
            self._put_back(self.undo)
        self.undo = {}
        self.last = self._start_last

    def _put_back(self, former: Mapping[int, bytes | None]) -> None:
        for pet_id, body in list(former.items()):
            if self._pets.get(pet_id) != body:
                self.write(pet_id, body, json.loads(body).get("status") if body is not None else None)

    def snapshot(self) -> StoreSnapshot:
        """Return a copy of the state."""
        return StoreSnapshot(dict(self._pets), self.last)

    def restore(self, snapshot: StoreSnapshot) -> None:
        """Return to a copy of the state."""
        gone = {pet_id: None for pet_id in self._pets if pet_id not in snapshot.pets}
        self._put_back({**gone, **snapshot.pets})
        self.last = snapshot.last
