"""The animals of a world, and what others than its clients do to them: tests seed, change and remove (§3)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from petstore_mock.common.numbers import is_integer
from petstore_mock.contract.strict_json import encode_json
from petstore_mock.contract.violations import member_path, no_such_name
from petstore_mock.core.sample_pets import sample_category, sample_name, sample_pet
from petstore_mock.core.store import Store, StoreSnapshot
from petstore_mock.core.visibility import HiddenAnimals
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from petstore_mock.core.world import World

__all__ = ["Animals", "AnimalsSnapshot", "as_id"]

_SHOWN_VIOLATIONS: Final = 20  # of an animal with thousands of wrong fields
_PET_ORDER: Final = ("id", "name", "categoryId", "status")


def as_id(pet_id: object) -> int:
    """Return an id as it is.

    Raises:
        PetStoreMockError: it is no whole number.
    """
    if not is_integer(pet_id):
        raise PetStoreMockError(f"expected an id as a whole number; got pet_id={pet_id!r} ({type(pet_id).__name__})")
    return pet_id


def _shown(pet_id: object) -> str:
    """Return an id for a sentence, into which Python writes no integer of thousands of digits."""
    return "a number of hundreds of digits" if isinstance(pet_id, int) and pet_id.bit_length() > 1000 else repr(pet_id)


class AnimalsSnapshot(NamedTuple):
    """A copy of a world's animals, for :meth:`Animals.restore`."""

    store: StoreSnapshot
    hidden: dict[int, int]
    seeded: int


class Animals:
    """The animals of one world: those in the store, those that can't be read yet, and how many tests have seeded.

    What clients read and create goes through the operations, which ask the parts. What is done here takes the world's
    lock.

    Args:
        world: whose animals they are: its rules, its randomness and its lock.

    Attributes:
        store: the animals themselves.
        hidden: those that can't be read yet.
    """

    __slots__ = ("_seeded", "_start_seeded", "_world", "hidden", "store")

    def __init__(self, world: World) -> None:
        self._world = world
        self.store = Store()
        self.hidden = HiddenAnimals()
        self._seeded = 0  # those that a test gave no name are named by their number
        self._start_seeded = 0

    def assign_id(self) -> int:
        """Return a free id, as the behaviour assigns them."""
        return self.store.free_id(self._world.rules.policies.id_assignment, self._world.random)

    # Going back

    def mark_start(self) -> None:
        """Make the animals now in the store those that :meth:`reset` returns to."""
        self.store.mark_start()
        self._start_seeded = self._seeded

    def reset(self) -> None:
        """Return to the starting state."""
        self.store.reset()
        self.hidden.clear()
        self._seeded = self._start_seeded

    def snapshot(self) -> AnimalsSnapshot:
        """Return a copy of the state."""
        return AnimalsSnapshot(self.store.snapshot(), self.hidden.snapshot(self._world.journal.total), self._seeded)

    def restore(self, snapshot: AnimalsSnapshot) -> None:
        """Return to a copy of the state."""
        self.store.restore(snapshot.store)
        self.hidden.restore(snapshot.hidden, self._world.journal.total)
        self.store.forget_answers()  # they may show an animal that is hidden again
        self._seeded = snapshot.seeded

    # What others than clients do

    def seed(self, pet: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Add one animal; validated by the schema alone. Returns it as a fresh dict.

        Raises:
            PetStoreMockError: a field is wrong, or the id is taken.
        """
        if pet is not None and not hasattr(pet, "keys"):
            raise PetStoreMockError(
                f"expected an animal as a mapping; got pet={pet!r} ({type(pet).__name__}); seed_many() adds several"
            )
        given = {**(pet or {}), **fields}
        with self._world.lock:
            number = self._seeded + 1
            document = {
                "id": given["id"] if "id" in given else self.assign_id(),
                "name": given["name"] if "name" in given else sample_name(number),
                "categoryId": given["categoryId"] if "categoryId" in given else sample_category(number),
                **{name: value for name, value in given.items() if name not in {"id", "name", "categoryId"}},
            }
            self._check_animal(document, "seed")
            if document["id"] in self.store:
                raise PetStoreMockError(f"expected an id that is free; got id={document['id']}, which is taken")
            self.store.put(document)
            self._seeded = number
        return document

    def seeding(self) -> tuple[int, int, tuple[Any, ...]]:
        """Return where seeding stands, for :meth:`take_back`."""
        return self.store.last, self._seeded, self._world.random.getstate()

    def take_back(self, ids: Iterable[int], seeding: tuple[int, int, tuple[Any, ...]]) -> None:
        """Take out again what was seeded since; as if it had never been."""
        for pet_id in ids:
            self.store.remove(pet_id)
        self.store.last, self._seeded, random = seeding
        self._world.random.setstate(random)

    def seed_sample(self) -> dict[str, Any]:
        """Add a plausible animal, the next of those of every status, and return it."""
        with self._world.lock:
            self._seeded += 1
            pet = {"id": self.assign_id(), **sample_pet(self._seeded)}
            if not self._world.schemas.fast_validator("Pet")(pet):  # those that ship do
                self._check_animal(pet, "seed_many")
            self.store.put(pet)
        return pet

    def _check_animal(self, document: dict[str, Any], call: str) -> None:
        try:
            validated = self._world.schemas.validate("Pet", document, call)
            violations = [str(one) for one in validated]
        except ValueError:  # Python writes no integer of thousands of digits into any sentence
            raise PetStoreMockError(
                f"expected an animal that Pet.json allows (§2); got a number of thousands of digits in {call}(): "
                "id and categoryId are int64, of 19 digits at most"
            ) from None
        known = self._world.schemas.properties("Pet")
        if not any(one.rule == "additionalProperties" for one in validated):  # Pet.json leaves them to the behaviour
            violations += [
                f"{member_path(call, str(name))} {no_such_name(str(name), known, 'field of Pet')}"
                for name in document
                if name not in known
            ]
        if not violations:
            violations += [
                f"{member_path(call, name)} {problem}" for name in document if (problem := _unwritable(document[name]))
            ]
        if violations:
            more = len(violations) + validated.omitted - _SHOWN_VIOLATIONS
            shown = [*violations[:_SHOWN_VIOLATIONS], *([f"and {more} more"] if more > 0 else [])]
            raise PetStoreMockError(f"expected an animal that Pet.json allows (§2): {'; '.join(shown)}")

    def update(self, pet_id: int, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Change an animal as another actor would (§3); ``status=None`` takes the status away.

        Raises:
            PetStoreMockError: there is no such animal, or a field is wrong.
        """
        with self._world.lock:
            body = self.store.get(as_id(pet_id))
            if body is None:
                raise PetStoreMockError(f"expected the id of an animal in the store; got pet_id={_shown(pet_id)}")
            if fields.get("id", pet_id) != pet_id:
                came = _shown(fields["id"])
                raise PetStoreMockError(f"expected the id to stay (§2: assigned on creation); got id={came}")
            document = {**json.loads(body), **fields}
            if document.get("status", "") is None:
                del document["status"]
            document = {name: document[name] for name in (*_PET_ORDER, *document) if name in document}
            self._check_animal(document, "update")
            self.store.put(document)
        return document

    def remove(self, pet_id: int) -> None:
        """Take an animal out as another actor would (§3).

        Raises:
            PetStoreMockError: there is no such animal.
        """
        with self._world.lock:
            if not self.store.remove(as_id(pet_id)):
                raise PetStoreMockError(f"expected the id of an animal in the store; got pet_id={_shown(pet_id)}")
            self.hidden.discard(pet_id)


def _unwritable(value: object) -> str:
    """Say why no JSON text can hold ``value``; empty when one can."""
    try:
        if type(value) is str:
            value.encode("utf-8")
        elif type(value) is not int or value.bit_length() > 64:
            encode_json(value)
    except UnicodeEncodeError:
        return "must not hold a lone surrogate, which UTF-8 can't carry"
    except (TypeError, ValueError, RecursionError) as error:
        return f"must be a JSON value; {error}"
    return ""
