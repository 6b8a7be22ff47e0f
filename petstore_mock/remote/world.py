"""One world of a stub elsewhere: what its door is asked, and what is kept of it on this side."""

from __future__ import annotations

import dataclasses
import secrets
import weakref
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from petstore_mock.contract.behaviour import Behaviour
from petstore_mock.contract.gaps import GAPS
from petstore_mock.core.animals import as_id
from petstore_mock.core.fault_rule import FaultRule
from petstore_mock.core.starting_state import check_count
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults import coerce, to_data
from petstore_mock.journal.expectation import expected_violation
from petstore_mock.journal.failure_note import error_of
from petstore_mock.remote.door import NotThereError
from petstore_mock.remote.encoding import animals_of, as_json, as_text, criteria_of, world_options
from petstore_mock.remote.handles import RemoteClock, RemoteFaultHandle, RemoteHandshake, RemoteSnapshot
from petstore_mock.remote.journal import RemoteJournal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from petstore_mock.core.tenant import Ending, WorldOptions
    from petstore_mock.faults import Fault
    from petstore_mock.journal.entry import Entry
    from petstore_mock.messages.handshake import Handshake
    from petstore_mock.remote.door import Door

__all__ = ["RemoteWorld", "made_up_name"]


class RemoteWorld:
    """One world elsewhere.

    Args:
        door: the way there.
        name: of the world; None for the one at the root.
        is_own: whether it was made for the object that steers it, which verifies and ends it.

    Attributes:
        name: of the world; None for the one at the root.
        is_own: see above.
        url: its base address, ending in ``/v1``.
        key: a key that is valid from its start on.
        owner: who answers for it; None for nobody in particular.
        journal: what came to it.
        age: how often it began anew; what was planned before is gone.
        making: how often it was made here.
        at_end: told of it before it is cleared; None for nobody.
        guests: the worlds of ``fresh()`` that are not over.
        elders: the same, of earlier owners.
        strict: whether a contract violation by the client fails the verification, as far as it was told here.
        mutant: the mutant that answers in it, or None.
        clock: its time.
    """

    def __init__(self, door: Door, name: str | None, *, is_own: bool = False) -> None:
        self.door = door
        self.is_own = is_own
        self.name = name
        self.url = ""
        self.key = ""
        self.owner: str | None = None
        self.age = 0
        self.making = 0
        self.at_end: Callable[[Ending], None] | None = None
        self.guests: list[RemoteWorld] = []
        self.elders: list[RemoteWorld] = []
        self.strict = False
        self.mutant: str | None = None
        self._further_keys: list[str] = []
        self._handles: weakref.WeakSet[RemoteFaultHandle] = weakref.WeakSet()
        self._host: RemoteWorld | None = None  # whose fresh() it is of
        self.clock = RemoteClock(self)
        self.journal = RemoteJournal(self.ask, self.secrets, self._handshakes)

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

    def secrets(self) -> tuple[str, ...]:
        """Return the keys of it that are known here, which must not show."""
        return (self.key, *self._further_keys)

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
        except NotThereError:
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

    def fresh(self, options: WorldOptions) -> RemoteWorld:
        """Begin an empty world for the same owner, at an address of its own.

        Raises:
            PetStoreMockError: an option can't be right.
        """
        inner = RemoteWorld(self.door, None, is_own=True)
        told = world_options({"strict": self.strict, "mutant": self.mutant, **options})
        inner.make(told, made_up_name())
        inner.owner, inner.at_end = self.owner, self.at_end
        inner._host = self
        self.guests.append(inner)
        return inner

    def end(self) -> None:
        """End the world; harmless when it is over."""
        if self._host is not None:
            for worlds in (self._host.guests, self._host.elders):
                if self in worlds:
                    worlds.remove(self)
            self._host = None
        self.journal.pull()
        if self.at_end is not None:
            self.at_end(self)
        self.journal.end()
        self.age += 1
        with suppress(NotThereError):
            self.ask("DELETE", "world")

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

    def expect_violation(self, pattern: str | None) -> AbstractContextManager[None]:
        """Mark the violations of a block that match ``pattern`` as expected; see :func:`expected_violation`."""
        return expected_violation(self.journal, pattern, tell=self._expect)

    def _expect(self, entries: list[Entry]) -> None:
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

    # What a test author asks: PetStore says what each call means

    @property
    def pets(self) -> list[dict[str, Any]]:
        """The animals now in the store, in the order of their ids."""
        found: list[dict[str, Any]] = self.ask("GET", "pets")["pets"]
        return found

    def seed(self, pet: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Add one animal and return it."""
        if pet is not None and not isinstance(pet, Mapping):
            raise PetStoreMockError(
                f"expected an animal as a mapping; got pet={pet!r} ({type(pet).__name__}); seed_many() adds several"
            )
        asked = as_json({**(pet or {}), **fields})
        # An object that has this member asks for so many animals, so such a mistake goes in a list.
        added = self.ask("POST", "pets", [asked] if "count" in asked else asked)["pets"]
        document: dict[str, Any] = added[0]
        return document

    def seed_many(self, pets_or_count: int | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add several animals, or so many plausible ones; return them."""
        if isinstance(pets_or_count, int):
            check_count("pets_or_count", pets_or_count)
            body: object = {"count": pets_or_count}
        else:
            body = animals_of(pets_or_count, "seed_many")
        added: list[dict[str, Any]] = self.ask("POST", "pets", body)["pets"]
        return added

    def update(self, pet_id: int, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Change an animal, and return it."""
        document: dict[str, Any] = self._ask_for_pet("PATCH", pet_id, as_json(fields))
        return document

    def remove(self, pet_id: int) -> None:
        """Take an animal out."""
        self._ask_for_pet("DELETE", pet_id)

    def _ask_for_pet(self, method: str, pet_id: object, body: object = None) -> Any:  # noqa: ANN401  # a JSON value
        try:
            return self.ask(method, f"pets/{as_id(pet_id)}", body)
        except ValueError:  # Python writes no integer of thousands of digits
            raise PetStoreMockError(
                "expected the id of an animal in the store; got a number of thousands of digits"
            ) from None

    def issue_key(self, expires: float | str | date | None) -> str:
        """Return another valid key, which must not show."""
        until = as_text(expires, "expires") if isinstance(expires, date) else expires
        key: str = self.ask("POST", "keys", {} if until is None else {"expires": until})["api_key"]
        self._further_keys.append(key)
        return key

    def revoke_key(self, key: str | None) -> None:
        """Make ``key`` invalid from now on; without one, :attr:`key`."""
        try:
            self.ask("DELETE", f"keys/{quote(self.key if key is None else str(key), safe='')}")
        except NotThereError:
            raise PetStoreMockError(
                "expected a key of this mock, api_key or one that issue_key() returned; got one that it never had"
            ) from None

    def inject(self, fault: int | Fault, **rule: Any) -> RemoteFaultHandle:  # noqa: ANN401  # those of FaultRule
        """Plan a fault, to be looked at once more before a reset."""
        asked = FaultRule(fault=coerce(fault), **rule)
        if asked.when is not None:
            raise PetStoreMockError(
                "expected where= for a stub in another process, such as where={'name': 'Rex'}; "
                f"got when={asked.when!r}, a function, which only its own process could call"
            )
        plan = {**rule, "fault": to_data(asked.fault), "where": criteria_of(asked.where)}
        del plan["when"]
        handle = RemoteFaultHandle(self, asked.fault, self.ask("POST", "faults", plan, query={"record": "true"}))
        self._handles.add(handle)
        return handle

    def cancel_faults(self) -> None:
        """Take every planned fault away: none of them need fire any more."""
        self.ask("DELETE", "faults")

    @property
    def behaviour(self) -> Behaviour:
        """What the fake does where the interface shows nothing, as of now."""
        told = self.ask("GET", "behaviour")
        return Behaviour().replace({name: choice for name, choice in told.items() if name in GAPS})

    def configure(self, behaviour: Behaviour | None, gaps: Mapping[str, object]) -> None:
        """Behave otherwise until the next reset: as ``behaviour`` or else as now, but for ``gaps``."""
        asked = (behaviour or Behaviour()).replace(gaps)
        self.ask("PATCH", "behaviour", dict(gaps) if behaviour is None else dataclasses.asdict(asked))

    def snapshot(self) -> RemoteSnapshot:
        """Return a copy of the state."""
        return RemoteSnapshot(self.ask("POST", "snapshots")["id"], self, self.making)

    def restore(self, snapshot: RemoteSnapshot) -> None:
        """Return to a copy of the state."""
        if not isinstance(snapshot, RemoteSnapshot):
            raise PetStoreMockError(f"expected a snapshot, as snapshot() returns it; got {type(snapshot).__name__}")
        if snapshot.world is not self or snapshot.making != self.making:
            raise PetStoreMockError(
                "expected a snapshot of this world; got one of another, or of before it was made anew"
            )
        self.ask("POST", f"snapshots/{snapshot.id}/restore")


def made_up_name() -> str:
    """Return a name that no other world has."""
    return f"py-{secrets.token_hex(8)}"
