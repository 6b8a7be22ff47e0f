"""What a run, or a recording, shows as a whole: which animals there were, and when."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from petstore_mock.common.dates import http_timestamp
from petstore_mock.contract.interface import REMOVAL_DATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.verify.exchange import Exchange

__all__ = ["Facts"]


class Facts:
    """What the exchanges show.

    Others use the service as well: an animal counts as being there at a request only if it was seen before and after.
    """

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self.exchanges = exchanges
        self._sightings: dict[int, list[tuple[int, Any]]] = defaultdict(list)
        self._read: dict[int, list[tuple[int, Any]]] = defaultdict(list)  # not from its creation alone (gap visibility)
        self.created: list[Exchange] = []
        for exchange in exchanges:
            for pet in exchange.pets:
                self._sightings[pet["id"]].append((exchange.number, pet.get("status")))
                if exchange.operation != "createPet":
                    self._read[pet["id"]].append((exchange.number, pet.get("status")))
            if exchange.operation == "createPet" and exchange.pets:
                self.created.append(exchange)

    @property
    def read(self) -> list[int]:
        """The ids of the animals that a list or a get showed, those that came last at the end."""
        return list(self._read)

    def seen_before(self, pet_id: int, number: int) -> bool:
        """Whether an answer to an earlier request showed the animal."""
        return any(at < number for at, _ in self._sightings.get(pet_id, ()))

    def seen_after(self, pet_id: int, number: int) -> bool:
        """Whether an answer to a later request shows the animal."""
        return any(at > number for at, _ in self._sightings.get(pet_id, ()))

    def read_after(self, pet_id: int, number: int) -> bool:
        """Whether a list or a get after request ``number`` shows the animal: a create says nothing of what is kept."""
        return any(at > number for at, _ in self._read.get(pet_id, ()))

    def standing(self, number: int, status: str | None = None) -> set[int]:
        """Return the ids of the animals that were there at request ``number``, of ``status`` if one is given."""
        found = set()
        for pet_id, sightings in self._read.items():
            before = [known for at, known in sightings if at <= number]
            after = [known for at, known in sightings if at >= number]
            if before and after and (status is None or before[-1] == after[0] == status):
                found.add(pet_id)
        return found

    @staticmethod
    def is_removed(exchange: Exchange) -> bool:
        """Whether getPet's removal date has come, by the service's own clock (§4.3)."""
        date = http_timestamp(exchange.header("Date") or "")
        return date is not None and date >= REMOVAL_DATE.timestamp()
