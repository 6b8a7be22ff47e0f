"""What may be true of the service: a dict of animals, and those that may exist since an answer was lost.

Built from what was asked and what was answered; it knows nothing of the fake's store. After a lost answer it stands for
a set of possible worlds: the animal was created, or it was not, until it is seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from petstore_mock.stateful.model.reading import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Contradiction", "Oracle"]

Animal = dict[str, Any]
_SETTLED: Final = 2  # a created animal can be read from the second request after its creation (gap visibility)


class Contradiction(Exception):  # noqa: N818  # what it says, not what went wrong
    """An answer of the fake that no possible world explains: a bug in the fake, or in the oracle."""


def known_fields(document: Mapping[str, Any]) -> Animal:
    """Return the part of an animal that the interface names; further fields say nothing (gap extra_response_fields)."""
    return {name: document[name] for name in FIELDS if name in document}


class Oracle:
    """The possible worlds of one example.

    Attributes:
        pets: the animals that exist for certain, by id.
        maybes: bodies of createPet whose answer was lost, each of which may have been carried out.
        vanished: ids of animals that another actor removed.
    """

    def __init__(self, *, delayed: bool, short_pages: bool = False) -> None:
        self.pets: dict[int, Animal] = {}
        self.maybes: list[Animal] = []
        self.vanished: list[int] = []
        self._delayed = delayed
        self._short_pages = short_pages
        self._visible_from: dict[int, int] = {}

    # What happens

    def exists(self, animal: Mapping[str, Any]) -> None:
        """Note an animal that is there: another actor's, or one that has changed."""
        self.pets[animal["id"]] = known_fields(animal)

    def removed(self, pet_id: int) -> None:
        """Note that another actor removed an animal."""
        del self.pets[pet_id]
        self._visible_from.pop(pet_id, None)
        self.vanished.append(pet_id)

    def created(self, animal: Mapping[str, Any], sent: Mapping[str, Any], number: int) -> None:
        """Note the answer of createPet to request ``number``.

        Raises:
            Contradiction: it is not what was sent, or its id is taken.
        """
        made = known_fields(animal)
        if not _is_made_from(made, sent):
            raise Contradiction(f"createPet was sent {sent!r} and answered {made!r}")
        if made["id"] in self.pets:
            raise Contradiction(f"createPet gave the id {made['id']} twice")
        self.pets[made["id"]] = made
        if self._delayed:
            self._visible_from[made["id"]] = number + _SETTLED

    def may_have_created(self, sent: Mapping[str, Any]) -> None:
        """Note that an answer to createPet was lost: from here on two worlds are possible."""
        self.maybes.append(dict(sent))

    def catch_up(self, pets: Iterable[Mapping[str, Any]], number: int) -> None:
        """Start anew from the animals that there are after so many requests: somebody's acts are not known."""
        now = {pet["id"]: known_fields(pet) for pet in pets}
        if self._delayed:
            self._visible_from |= {pet_id: number + _SETTLED for pet_id in now if pet_id not in self.pets}
        self.vanished += [pet_id for pet_id in self.pets if pet_id not in now]
        self.pets = now
        self.maybes.clear()

    # What is seen

    def is_settled(self, pet_id: int, number: int) -> bool:
        """Say whether a created animal must show in the answer to request ``number``."""
        return self._visible_from.get(pet_id, 0) <= number

    def saw_list(self, page: Sequence[Mapping[str, Any]], limit: int, status: str | None, number: int) -> None:
        """Hold the answer of listPets to request ``number`` against every possible world, and rule some out.

        Raises:
            Contradiction: no possible world gives this answer.
        """
        seen = [known_fields(animal) for animal in page]
        for animal in seen:
            self._meet(animal)
            if status is not None and animal.get("status") != status:
                raise Contradiction(f"a list of {status} held {animal!r}")
        ids = {animal["id"] for animal in seen}
        if len(ids) != len(seen) or len(seen) > limit:
            raise Contradiction(f"a list of at most {limit} had {len(seen)} animals with {len(ids)} ids")
        matching = {pet_id for pet_id, pet in self.pets.items() if status is None or pet.get("status") == status}
        if len(seen) < limit:
            missing = [pet_id for pet_id in matching - ids if self.is_settled(pet_id, number)]
            if missing and not (self._short_pages and seen):
                raise Contradiction(f"a list with room for {limit} lacked {missing[:3]}")

    def saw_pet(self, pet_id: int, animal: Mapping[str, Any] | None, number: int) -> None:
        """Hold the answer of getPet against every possible world; None stands for 404.

        Raises:
            Contradiction: no possible world gives this answer.
        """
        if animal is None:
            if pet_id in self.pets and self.is_settled(pet_id, number):
                raise Contradiction(f"animal {pet_id} exists and was answered 404")
            return
        found = known_fields(animal)
        if found["id"] != pet_id:
            raise Contradiction(f"animal {pet_id} was asked for and {found['id']} answered")
        self._meet(found)

    def _meet(self, animal: Animal) -> None:
        """Recognise an animal: a certain one, or one that may exist and from now on does."""
        known = self.pets.get(animal["id"])
        if known == animal:
            return
        if known is not None:
            raise Contradiction(f"animal {animal['id']} is {known!r} and was answered as {animal!r}")
        found = [sent for sent in self.maybes if _is_made_from(animal, sent)]
        if not found:
            raise Contradiction(f"nobody created {animal!r}")
        # One without a status may be what became of many; one that was sent with it only of this.
        self.maybes.remove(max(found, key=len))
        self.pets[animal["id"]] = animal

    # What may be asked

    def free_id(self) -> int:
        """Return a small id that no known animal has."""
        return next(number for number in range(1, len(self.pets) + 2) if number not in self.pets)


def _is_made_from(animal: Mapping[str, Any], sent: Mapping[str, Any]) -> bool:
    """Whether an animal is what came of ``sent``; its status is the service's to choose when none was sent (§3)."""
    given: Iterable[str] = ("name", "categoryId", *(("status",) if "status" in sent else ()))
    return all(name in animal and animal[name] == sent[name] for name in given)
