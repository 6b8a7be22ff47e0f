"""Hooks a mutant (:mod:`petstore_mock.contract.mutants`) into the pipeline of one world. No I/O."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from petstore_mock.common.suggestions import did_you_mean
from petstore_mock.contract.mutant_changes import NO_BODY, NO_JSON, Turn
from petstore_mock.contract.mutants import MUTANTS
from petstore_mock.contract.strict_json import encode_json
from petstore_mock.errors import PetStoreMockError
from petstore_mock.messages.response import Head

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.contract.mutants import Mutant
    from petstore_mock.core.animals import Animals
    from petstore_mock.core.keys import Key
    from petstore_mock.core.world import World
    from petstore_mock.journal.entry import Entry
    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse

__all__ = ["Mutation", "mutation_of"]


class _MutantsAnimals:
    """The animals of a world, as a mutant may change them; says whether it has."""

    def __init__(self, animals: Animals) -> None:
        self._animals = animals
        self.changed = False

    def other(self, pet_id: int) -> dict[str, Any] | None:
        store = self._animals.store
        found = next((other for other in store.ascending(None, 2) if other != pet_id), None)
        return None if found is None else store.documents([found])[0]

    def add(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        self.changed = True
        document = {"id": self._animals.assign_id(), **fields}
        self._animals.store.put(document)
        return document

    def remove(self, pet_id: int) -> None:
        self.changed = self._animals.store.remove(pet_id) or self.changed
        self._animals.hidden.discard(pet_id)


def mutation_of(name: str) -> Mutation:
    """Return the mutant of that name at work.

    Raises:
        PetStoreMockError: there is no such mutant.
    """
    asked: object = name  # a test may pass anything
    mutant = MUTANTS.get(asked) if isinstance(asked, str) else None
    if mutant is None:
        raise PetStoreMockError(
            f"expected the name of one of the {len(MUTANTS)} mutants, such as 'list-filter-ignored'; "
            f"got mutant={name!r} ({type(name).__name__}){did_you_mean(name, MUTANTS)}"
        )
    return Mutation(mutant)


class Mutation:
    """A mutant at work.

    Attributes:
        mutant: what it does.
    """

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def ask(self, world: World, entry: Entry, key: Key | None, problem: str) -> tuple[ApiRequest, Key | None, str]:
        """Return what the service takes a request for, its key, and why it has none."""
        request = entry.request
        turn = self._turn(world, request)
        if turn is None or self.mutant.before is None:
            return request, key, problem
        refused = turn.refused_key = problem or (world.keys.problem(key) if key is not None else "")
        asked = dict(turn.query)
        self.mutant.before(turn)
        if turn.refused_key != refused:
            entry.mutant = self.mutant.name
            return request, None, turn.refused_key
        if turn.query == asked or refused:
            return request, key, problem
        entry.mutant = self.mutant.name
        changed = copy.copy(request)
        changed.target = f"{request.target.partition('?')[0]}?{urlencode(turn.query)}"
        return changed, key, problem

    def spoil(self, world: World, entry: Entry, response: ApiResponse) -> None:
        """Make of the service's answer what the mutant answers; of a fault's that is none of the interface, nothing."""
        fault, change = entry.fault, self.mutant.after
        if change is None or entry.status is not None:  # of one that is deferred, this was done when it was made
            return
        if fault is not None and fault.breaks_contract:
            return  # what such a fault answers is spoilt already
        turn = self._turn(world, entry.request)
        if turn is None:
            return
        turn.status, turn.media_type = response.status, response.head.get("Content-Type")
        turn.document = json.loads(response.body) if response.body else None
        animals = turn.animals = _MutantsAnimals(world.animals)
        before = turn.status, turn.media_type, encode_json(turn.document)
        change(turn)
        document = encode_json(turn.document)
        if (turn.status, turn.media_type, document) == before and turn.body is None and not animals.changed:
            return
        entry.mutant = self.mutant.name
        response.head = Head(turn.status, response.head.fields).with_fields(("Content-Type", turn.media_type or ""))
        if turn.body is not None:
            response.body = turn.body
        elif document != before[2]:
            response.body = document

    def _turn(self, world: World, request: ApiRequest) -> Turn | None:
        """Return a request as a mutant meets it; None where it has no business with it."""
        route = world.rules.route(request.method, request.target)
        if route.operation is None or route.operation.name not in self.mutant.operations:
            return None
        try:
            sent = request.json() if request.body else NO_BODY
        except ValueError:
            sent = NO_JSON
        return Turn(route.operation.name, request.query, route.pet_id, sent, "", _MutantsAnimals(world.animals))
