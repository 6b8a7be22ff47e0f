"""Who acts in an example: a client and the world that it talks to; and what its calls returned."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from petstore_mock.common.real_time import RealTime
from petstore_mock.stateful.model.oracle import Oracle

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.journal.entry import Entry
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.model.adapter import AdaptedClient
    from petstore_mock.stateful.model.call import Call
    from petstore_mock.stateful.model.reading import ResultReader

__all__ = ["Actor", "Result"]

_UNDER_WAY: Final = 0.05  # seconds that a request takes to arrive, with room for a busy machine
_HTTP: Final = 80  # the port that an address of http need not name


class Actor:
    """A client with the world that it talks to."""

    def __init__(
        self, name: str, world: str, petstore: PetStoreMock, client: AdaptedClient, behaviour: Behaviour
    ) -> None:
        self.name = name
        self.world = world
        self.petstore = petstore
        port = urlsplit(petstore.url).port
        self.port = b"" if port in {None, _HTTP} else b":%d" % port  # as Host is to end
        self.client = client
        chosen = behaviour.differences()
        self.oracle = Oracle(delayed="visibility" in chosen, short_pages="page_fill" in chosen)
        self.last: Call | None = None
        self.seen = len(petstore.journal)  # entries of its journal so far: a client may ask while it is made

    def await_request(self, is_of: Callable[[Entry], bool] | None = None) -> None:
        """Wait a moment for the request of a call that has failed, unless it is there: it may be under way still.

        Args:
            is_of: says whether a request is of that call; None where no other call is made, so that any is.
        """
        deadline = RealTime.monotonic() + _UNDER_WAY
        while RealTime.monotonic() < deadline:
            if any(is_of is None or is_of(entry) for entry in self.petstore.journal[self.seen :]):
                return
            time.sleep(0.001)


class Result:
    """What an earlier call returned, and how it was then."""

    def __init__(self, place: int, value: Any, call: Call, reader: ResultReader) -> None:  # noqa: ANN401
        self.place = place
        self.value = value
        self.call = call
        self._reader = reader
        self._copy = reader.copy(value)

    @property
    def is_changed(self) -> bool:
        """Whether it is another now."""
        try:
            return bool(self._reader.copy(self.value) != self._copy)
        except Exception:  # noqa: BLE001  # an object of the client's own may end with its client
            return False
