"""A second corpus: clients with bugs that were reported of real clients of HTTP APIs, each with its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.clients.shapes import AsyncPets
from tests.clients.trackers_kept import KEPT
from tests.clients.trackers_shown import SHOWN

if TYPE_CHECKING:
    from petstore_mock import PetStoreMock
    from tests.clients.correct import Json

__all__ = ["ASKED_FOR", "KEPT", "SHOWN", "make_reported"]

# What the machine has to be asked for to see a bug: the interface leaves it open whether it is one.
ASKED_FOR: dict[str, dict[str, Any]] = {
    "SleepsAsLongAsTold": {"longest_wait": 2},
    "WaitsByItsOwnClock": {"longest_wait": 2},
}


def make_reported(client: Any) -> Json:  # noqa: ANN401  # a class of either half
    """Return what makes a client of this corpus, for the machine."""

    def make_client(petstore: PetStoreMock) -> Json:
        return client(petstore) if issubclass(client, AsyncPets) else client(petstore.url, petstore.api_key)

    return make_client
