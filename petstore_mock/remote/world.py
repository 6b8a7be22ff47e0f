"""One world of a stub elsewhere: what its door is asked, and what is kept of it on this side."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from petstore_mock.errors import PetStoreMockError
from petstore_mock.journal.failure_note import error_of
from petstore_mock.remote.door import DoorError
from petstore_mock.remote.handles import RemoteHandshake
from petstore_mock.remote.journal import RemoteJournal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from petstore_mock.core.tenant import Ending
    from petstore_mock.journal.entry import Entry
    from petstore_mock.messages.handshake import Handshake
    from petstore_mock.remote.door import Door
    from petstore_mock.remote.handles import RemoteFaultHandle

__all__ = ["RemoteWorld"]

_NOT_FOUND = 404


class RemoteWorld:
    """One world elsewhere.

    Args:
        door: the way there.
        name: of the world; None for the one at the root.

    Attributes:
        name: of the world; None for the one at the root.
        url: its base address, ending in ``/v1``.
        key: a key that is valid from its start on.
        owner: who answers for it; None for nobody in particular.
        journal: what came to it.
        age: how often it began anew; what was planned before is gone.
        making: how often it was made here.
        at_end: told of it before it is cleared; None for nobody.
        guests: the worlds of ``fresh()`` that are not over.
        strict: whether a contract violation by the client fails the verification, as far as it was told here.
        mutant: the mutant that answers in it, or None.
    """

    def __init__(self, door: Door, name: str | None) -> None:
        self.door = door
        self.name = name
        self.url = ""
        self.key = ""
        self.owner: str | None = None
        self.age = 0
        self.making = 0
        self.at_end: Callable[[Ending], None] | None = None
        self.guests: list[RemoteWorld] = []
        self.strict = False
        self.mutant: str | None = None
        self._further_keys: list[str] = []
        self._handles: weakref.WeakSet[RemoteFaultHandle] = weakref.WeakSet()
        self.journal = RemoteJournal(self.ask, lambda: self.keys, self._handshakes)

    def _handshakes(self) -> tuple[Handshake, ...]:
        """Return the TLS handshakes of the stub, which names no world and so has them at its root alone.

        Raises:
            PetStoreMockError: this is another world.
        """
        if not self.url.startswith("https:"):
            return ()
        if self.name is not None:
            raise PetStoreMockError(
                f"expected the default world for journal.handshakes, connect(url, world='default'); got {self.name!r}: "
                "a handshake names no world"
            )
        return tuple(RemoteHandshake(self.ask, one) for one in self.ask("GET", "handshakes")["handshakes"])

    def ask(self, method: str, path: str, body: object = None, **options: Any) -> Any:  # noqa: ANN401  # as Door.ask
        """Send a request to the door of this world; see :meth:`Door.ask`."""
        return self.door.ask(method, path, body, world=self.name, **options)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of it that are known here."""
        return (self.key, *self._further_keys)

    def secrets(self) -> tuple[str, ...]:
        """Return its keys, which must not show."""
        return self.keys

    # Beginning and ending

    def make(self, options: Mapping[str, Any], name: str | None = None) -> None:
        """Make the world, or make it anew.

        Args:
            options: the body of ``PUT world``.
            name: its name from now on; the present one unless given.

        Raises:
            PetStoreMockError: an option can't be right, or nobody answers; nothing has changed then.
        """
        name = name or self.name
        document = self.door.ask("PUT", "world", options, world=name)
        self.name = name
        self.strict = bool(options.get("strict", False))
        self.making += 1
        self._become(document)

    def adopt(self) -> None:
        """Take over the world as it is; make it if there is none.

        Raises:
            PetStoreMockError: the name can't be right, or nobody answers.
        """
        try:
            self._become(self.ask("GET", "world"))
        except DoorError as error:
            if error.status != _NOT_FOUND:
                raise
            self.make({})

    def _become(self, document: Mapping[str, Any]) -> None:
        self.url, self.key, self.mutant = document["url"], document["api_key"], document.get("mutant")
        self._further_keys = []
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.age += 1
        self._handles.clear()
        self.journal.begin_anew()

    def reset(self) -> None:
        """Return to the starting state; what must be answered for until then is kept for the next verification."""
        for handle in tuple(self._handles):
            handle.refresh()
        if self.at_end is not None:
            self.at_end(self)
        self.ask("POST", "world/reset")
        self._further_keys = []
        self._begin_anew()

    def end(self) -> None:
        """End the world; harmless when it is over."""
        self.journal.pull()
        if self.at_end is not None:
            self.at_end(self)
        self.journal.end()
        self.age += 1
        try:
            self.ask("DELETE", "world")
        except DoorError as error:
            if error.status != _NOT_FOUND:
                raise

    # What must be answered for

    def verify(self, *, again: bool = True) -> None:
        """Raise for what a test must answer for; see ``Tenant.verify``.

        Args:
            again: whether what was told already, and is still so, counts again.

        Raises:
            VerificationError: names all of it.
        """
        __tracebackhide__ = True
        problems = self.ask("POST", "world/verification", {"again": again})["problems"]
        if problems:
            raise error_of([(one["kind"], one["message"]) for one in problems])

    def excuse(self) -> None:
        """Let nobody answer for what came so far."""
        self.ask("POST", "world/verification", {"excuse": True})

    def expect(self, entries: list[Entry]) -> None:
        """Let nobody answer for these violations."""
        body = {"numbers": [entry.number for entry in entries]}
        clears = self.journal.their_clears
        self.ask("POST", "requests/expect", body if clears is None else {**body, "clears": clears})

    # What came

    @property
    def entries(self) -> list[Entry]:
        """What the journal still has, the oldest first, whatever is gone."""
        return self.journal.kept

    @property
    def is_used(self) -> bool:
        """Whether a request came, or a fault is planned."""
        return bool(self.journal.total) or any(not one["spent"] for one in self.ask("GET", "faults")["faults"])

    # What is kept on this side

    def issued(self, key: str) -> None:
        """Take note of a further key, which must not show."""
        self._further_keys.append(key)

    def planned(self, handle: RemoteFaultHandle) -> None:
        """Take note of a fault, to look at it once more before a reset."""
        self._handles.add(handle)
