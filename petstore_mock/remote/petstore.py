"""``connect()``, and the object that it gives: ``PetStoreMock``, as far as it concerns a world, of a stub elsewhere."""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from datetime import date
from enum import Enum
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, Never, NoReturn, Self, Unpack
from urllib.parse import quote

from petstore_mock.common.paths import as_path
from petstore_mock.common.suggestions import did_you_mean, refuse_unknown
from petstore_mock.common.wording import counted
from petstore_mock.contract.behaviour import Behaviour
from petstore_mock.contract.gaps import GAPS
from petstore_mock.core.starting_state import Seed, as_behaviour, check_count
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults import Fault, coerce, to_data
from petstore_mock.journal.expectation import expected_violation
from petstore_mock.journal.failure_note import leave
from petstore_mock.remote.door import Door, DoorError
from petstore_mock.remote.handles import RemoteClock, RemoteFaultHandle, RemoteSnapshot, as_text
from petstore_mock.remote.world import RemoteWorld
from petstore_mock.transport.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import TracebackType

    from petstore_mock.contract.behaviour import GapChoices
    from petstore_mock.contract.interface import OperationName, PetChanges, PetFields
    from petstore_mock.remote.journal import RemoteJournal

__all__ = ["RemotePetStore", "connect", "world_options"]

_DEFAULT_WORLD: Final = "default"
_NOT_FOUND: Final = 404
_OPTIONS: Final = ("api_key", "seed", "behaviour", "at", "strict", "random_seed", "mutant")
_SAME_PROCESS: Final = {
    "app": "give the client petstore.url, and steer a PetStoreMock() of the test's own for WSGI",
    "asgi": "give the client petstore.url, and steer a PetStoreMock() of the test's own for ASGI",
    "httpserver": "plan faults.respond(...) with where=, or use a PetStoreMock() of the test's own",
    "requests_session": "give the client petstore.url",
    "httpx_client": "give the client petstore.url",
    "host": "it is the stub's own",
}


def connect(
    url: str, world: str | None = None, token: str | None = None, ca_path: str | PathLike[str] | None = None
) -> RemotePetStore:
    """Steer a stub that runs elsewhere, as ``PetStoreMock`` steers one in process.

    ``with connect(url) as petstore:`` makes a world of its own under a made-up name; leaving the block raises for what
    a test must answer for, and ends it.

    Args:
        url: the stub's root, its ``/v1`` or ``/w/NAME/v1``, or the address of its control door. One that names a world
            steers that one, as ``world`` does.
        world: a name: steer that world, make it if there is none, and leave it as it is at the end; ``"default"`` is
            the one at the root.
        token: the stub's ``--control-token``, where it asks for one.
        ca_path: where the stub speaks TLS, the file of its authority, which ``serve --tls-ca-out`` writes: this side
            trusts it, and ``petstore.tls`` hands it on. Without it the environment's ``SSL_CERT_FILE`` counts.

    Raises:
        PetStoreMockError: the address or the name can't be right, nobody answers there, the token is wrong, or the
            certificate of the stub is not trusted.
    """
    asked: object = world  # a test may pass anything
    if asked is not None and (not isinstance(asked, str) or not asked):
        raise PetStoreMockError(f"expected the name of a world; got world={world!r} ({type(world).__name__})")
    door = Door(url, token, ca_path)
    if door.name is not None and world not in {None, door.name}:
        raise PetStoreMockError(f"expected one world; got the address of {door.name!r}, and world={world!r}")
    name = world or door.name
    is_own = name is None
    steered = RemoteWorld(door, None if name in {None, _DEFAULT_WORLD} else name)
    try:
        if is_own:
            steered.make({}, f"py-{secrets.token_hex(8)}")
        else:
            steered.adopt()
    except BaseException:
        door.close()
        raise
    return RemotePetStore(steered, is_own=is_own)


def world_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a world as the door takes them: files are read on this side, moments become text.

    Raises:
        PetStoreMockError: there is no such option, or it can't be right.
    """
    if unknown := [name for name in options if name not in _OPTIONS]:
        raise PetStoreMockError(
            f"expected options of a world elsewhere, from {', '.join(_OPTIONS)}; "
            f"got {', '.join(unknown)}{did_you_mean(unknown[0], _OPTIONS)}"
        )
    told = {name: value for name, value in options.items() if value is not None}
    if "behaviour" in told:
        told["behaviour"] = dataclasses.asdict(as_behaviour(told["behaviour"]))
    if "at" in told:
        told["at"] = as_text(told["at"], "at")
    if "seed" in told:
        told["seed"] = _seed(told["seed"])
    return told


def _seed(seed: Seed) -> int | list[Any]:
    if isinstance(seed, int):
        check_count("seed", seed)
        return seed
    if not isinstance(seed, (str, PathLike)):
        return _animals(seed, "seed")
    path = as_path(seed, "seed")
    try:
        animals = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise PetStoreMockError(f"expected a readable JSON file of animals in {path}; {error}") from error
    if not isinstance(animals, list):
        raise PetStoreMockError(f"expected a JSON array of animals in {path}; got {type(animals).__name__}")
    return animals


def _animals(pets: object, source: str) -> list[Any]:
    if isinstance(pets, (Mapping, str, bytes)) or not isinstance(pets, Iterable):
        advice = ": put the one animal into a list" if isinstance(pets, Mapping) else ""
        raise PetStoreMockError(
            f"expected a list of animals, or how many, for {source}; got {type(pets).__name__}{advice}"
        )
    return [_as_json(pet) for pet in pets]


def _as_json(value: object) -> Any:  # noqa: ANN401  # a JSON value, as far as it is one
    """Return what a test wrote as JSON says it: faults, bytes of text, members of enumerations, any mapping."""
    if isinstance(value, Fault):
        return to_data(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {name: _as_json(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(one) for one in value]
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            raise PetStoreMockError(
                f"expected bytes that are text, for a stub in another process; got {value!r}"
            ) from None
    return value


class RemotePetStore:
    """A world of a stub in another process; :func:`connect` makes one.

    It has the face of ``PetStoreMock`` as far as it concerns a world. What needs the same process raises
    ``PetStoreMockError`` and says what to do instead.

    Args:
        tenant: the world.
        is_own: whether it was made for this object, which verifies and ends it.

    Attributes:
        tenant: the world, as the package's own doors hold it; internal.
        adds_notes: whether an exception that leaves its block gets its journal as a note; internal.
    """

    def __init__(self, tenant: RemoteWorld, *, is_own: bool) -> None:
        self.tenant = tenant
        self.adds_notes = True
        self._is_own = is_own

    def __repr__(self) -> str:
        return f"<RemotePetStore {self.url}, {counted(int(self.tenant.ask('GET', 'world')['pets']), 'animal')}>"

    if not TYPE_CHECKING:  # a type checker is to refuse what is not here

        def __getattr__(self, name: str) -> NoReturn:
            if name in _SAME_PROCESS:
                instead = _SAME_PROCESS[name]
                raise PetStoreMockError(
                    f"expected the process of the stub for petstore.{name}, and this one is another: {instead}"
                )
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message)

    # The block

    def start(self) -> Self:
        """Return the object itself: the stub listens already."""
        return self

    def stop(self) -> None:
        """End the world if it was made for this object, and close the connections to the door."""
        try:
            if self._is_own:
                self.tenant.end()
        finally:
            self.tenant.door.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        try:
            if self._is_own:
                leave(self, error, self.url)
        finally:
            self.stop()

    @property
    def url(self) -> str:
        """The base address, ending in ``/v1`` (§1)."""
        return self.tenant.url

    @property
    def control_url(self) -> str:
        """The address of the world's control door, ending in ``/__petstore/``."""
        return self.tenant.door.url_of(self.tenant.name)

    @property
    def api_key(self) -> str:
        """A valid API key (§5)."""
        return self.tenant.key

    @property
    def headers(self) -> dict[str, str]:
        """The header that authenticates: ``{"Authorization": "Bearer ..."}`` (§5)."""
        return {"Authorization": f"Bearer {self.tenant.key}"}

    @property
    def tls(self) -> Trust:
        """What clients need in order to trust the stub: the authority that ``connect`` was told of.

        Raises:
            PetStoreMockError: the stub speaks no TLS, or nobody named its authority.
        """
        if not self.url.startswith("https:"):
            raise PetStoreMockError(f"expected a stub that speaks TLS, serve --tls, for petstore.tls; got {self.url}")
        named = os.environ.get("SSL_CERT_FILE")
        trust = self.tenant.door.trust or (Trust(named) if named else None)
        if trust is None:
            raise PetStoreMockError(
                "expected the file of the authority of the stub, which serve --tls-ca-out writes, for petstore.tls: "
                "name it as connect(..., ca_path=FILE), petstore_remote_ca for the fixture, or in SSL_CERT_FILE"
            )
        return trust

    def close_connections(self) -> None:
        """Close the service's idle kept connections: those that this world used last; at the root, all."""
        self.tenant.ask("POST", "connections/close")

    def openapi(self) -> dict[str, Any]:
        """Return the interface as an OpenAPI 3.1 document, by the schemas that ship; this address comes first."""
        from petstore_mock.contract.openapi import openapi_document  # noqa: PLC0415  # only for those who ask
        from petstore_mock.contract.schemas import default_schemas  # noqa: PLC0415

        return openapi_document(default_schemas(), server=self.url)

    # What a test must answer for

    def verify(self) -> None:
        """Raise for what a test must answer for, as ``PetStoreMock.verify``.

        Raises:
            VerificationError: names all of it.
        """
        __tracebackhide__ = True
        self.tenant.verify()

    # Going back

    def reset(self) -> None:
        """Return to the starting state, as ``PetStoreMock.reset``; issued keys are revoked."""
        self.tenant.reset()

    def fresh(self, **options: Any) -> AbstractContextManager[RemotePetStore]:  # noqa: ANN401  # those of a world
        """Give an empty, independent world of the same stub, at an address of its own, for the length of a block.

        Args:
            options: ``api_key``, ``seed``, ``behaviour``, ``at``, ``strict``, ``random_seed`` and ``mutant`` of
                ``PetStoreMock``.

        Raises:
            PetStoreMockError: an option can't be right.
            VerificationError: at the end, as :meth:`verify`.
        """
        return _Fresh(self, options)

    # Animals

    def seed(self, pet: Mapping[str, Any] | None = None, /, **fields: Unpack[PetFields]) -> dict[str, Any]:
        """Add one animal and return it, as ``PetStoreMock.seed``.

        Raises:
            PetStoreMockError: a field is not what Pet.json allows (§2), or the id is taken.
        """
        if pet is not None and not isinstance(pet, Mapping):
            raise PetStoreMockError(f"expected an animal as a mapping; got pet={pet!r} ({type(pet).__name__})")
        added = self.tenant.ask("POST", "pets", [_as_json({**(pet or {}), **fields})])["pets"]
        document: dict[str, Any] = added[0]
        return document

    def seed_many(self, pets_or_count: int | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add several animals, or so many plausible ones of every status; return them.

        Raises:
            PetStoreMockError: one of them is wrong; says which.
        """
        if isinstance(pets_or_count, int):
            check_count("pets_or_count", pets_or_count)
            body: object = {"count": pets_or_count}
        else:
            body = _animals(pets_or_count, "seed_many")
        added: list[dict[str, Any]] = self.tenant.ask("POST", "pets", body)["pets"]
        return added

    @property
    def pets(self) -> list[dict[str, Any]]:
        """The animals now in the store, in the order of their ids."""
        found: list[dict[str, Any]] = self.tenant.ask("GET", "pets")["pets"]
        return found

    def update(self, pet_id: int, /, **fields: Unpack[PetChanges]) -> dict[str, Any]:
        """Change an animal as another actor would (§3), and return it; ``status=None`` takes the status away.

        Raises:
            PetStoreMockError: there is no such animal, or a field is wrong.
        """
        document: dict[str, Any] = self._ask_for_pet("PATCH", pet_id, _as_json(fields))
        return document

    def remove(self, pet_id: int, /) -> None:
        """Take an animal out as another actor would (§3).

        Raises:
            PetStoreMockError: there is no such animal.
        """
        self._ask_for_pet("DELETE", pet_id)

    def _ask_for_pet(self, method: str, pet_id: object, body: object = None) -> Any:  # noqa: ANN401  # a JSON value
        if isinstance(pet_id, bool) or not isinstance(pet_id, int):
            raise PetStoreMockError(
                f"expected an id as a whole number; got pet_id={pet_id!r} ({type(pet_id).__name__})"
            )
        try:
            return self.tenant.ask(method, f"pets/{pet_id}", body)
        except ValueError:  # Python writes no integer of thousands of digits
            raise PetStoreMockError(
                "expected the id of an animal in the store; got a number of thousands of digits"
            ) from None

    # Keys (§5)

    def issue_key(self, *, expires: float | str | date | None = None) -> str:
        """Return another valid key, as ``PetStoreMock.issue_key``.

        Args:
            expires: from when it is invalid by the fake's clock: seconds from now, a date, a datetime or ISO 8601 text.

        Raises:
            PetStoreMockError: ``expires`` is no moment.
        """
        until = as_text(expires, "expires") if isinstance(expires, date) else expires
        key: str = self.tenant.ask("POST", "keys", {} if until is None else {"expires": until})["api_key"]
        self.tenant.issued(key)
        return key

    def revoke_key(self, key: str | None = None) -> None:
        """Make ``key`` invalid from now on; without one, :attr:`api_key`.

        Raises:
            PetStoreMockError: this world never had such a key.
        """
        try:
            self.tenant.ask("DELETE", f"keys/{quote(self.api_key if key is None else str(key), safe='')}")
        except DoorError as error:
            if error.status != _NOT_FOUND:
                raise
            raise PetStoreMockError(
                "expected a key of this mock, api_key or one that issue_key() returned; got one that it never had"
            ) from None

    # Faults

    def inject(  # as PetStoreMock.inject
        self,
        fault: int | Fault,
        *,
        on: OperationName | None = None,
        times: int | None = None,
        after: int = 0,
        when: Callable[[Any], object] | None = None,
        where: Mapping[str, Any] | None = None,
        at: str = "before_commit",
        probability: float = 1.0,
        off_contract: bool = False,
        **unknown: Never,
    ) -> RemoteFaultHandle:
        """Plan a fault for valid requests; the first planned that fires wins. See ``PetStoreMock.inject``.

        Args:
            fault: an HTTP status, or a fault of ``petstore_mock.faults``.
            on: the operation that it meets; None for any.
            times: how often it fires; None for every time.
            after: how many matching requests pass first.
            when: refused: a function can't be asked by another process; ``where`` says most of what one would.
            where: what the request must be, by the criteria of ``journal.assert_called`` that concern no answer.
            at: before the state changes, or after (the animal exists, its answer is lost).
            probability: the chance of each matching request to meet it, by ``random_seed``.
            off_contract: allow a status that the interface declares for other operations only (§7).
            unknown: refused, with the nearest of the others.

        Returns:
            The handle, with ``.id``, ``.hits``, ``.spent`` and ``.cancel()``; as a context manager it ends the fault
            with its block.

        Raises:
            PetStoreMockError: an argument can't be right; says what would be.
        """
        refuse_unknown(RemotePetStore.inject, unknown)
        if when is not None:
            raise PetStoreMockError(
                "expected where= for a stub in another process, such as where={'name': 'Rex'}; "
                f"got when={when!r}, a function, which only its own process could call"
            )
        chosen = coerce(fault)
        plan = {
            "fault": to_data(chosen),
            "on": on,
            "times": times,
            "after": after,
            "where": _as_json(where),
            "at": at,
            "probability": probability,
            "off_contract": off_contract,
        }
        handle = RemoteFaultHandle(
            self.tenant, chosen, self.tenant.ask("POST", "faults", plan, query={"record": "true"})
        )
        self.tenant.planned(handle)
        return handle

    def cancel_faults(self) -> None:
        """Take every planned fault away, fired or not: none of them need fire any more."""
        self.tenant.ask("DELETE", "faults")

    # Looking back

    @property
    def journal(self) -> RemoteJournal:
        """Every request in order, with what was decided about it."""
        return self.tenant.journal

    def expect_violation(self, pattern: str | None = None) -> AbstractContextManager[None]:
        """Declare that the client breaks the contract in this block; it may raise for the answer.

        Args:
            pattern: a regular expression that the violation's words must match; None for any violation.

        Raises:
            PetStoreMockError: ``pattern`` is no regular expression.
            VerificationError: no such violation came.
        """
        return expected_violation(self.journal, pattern, tell=self.tenant.expect)

    # Behaviour and time

    @property
    def behaviour(self) -> Behaviour:
        """What the fake does where the interface shows nothing, as of now."""
        told = self.tenant.ask("GET", "behaviour")
        return Behaviour().replace({name: choice for name, choice in told.items() if name in GAPS})

    def configure(
        self, behaviour: Behaviour | str | PathLike[str] | None = None, /, **gaps: Unpack[GapChoices]
    ) -> None:
        """Choose alternatives for gaps, until the next reset: ``configure(status_when_omitted="sold")``.

        Args:
            behaviour: a ``Behaviour``, the name of a preset or a TOML file, instead of the present one.
            gaps: alternatives that differ from it.

        Raises:
            PetStoreMockError: there is no such preset, gap or alternative; suggests the nearest.
        """
        chosen = Behaviour() if behaviour is None else as_behaviour(behaviour)
        asked = chosen.replace(gaps)
        self.tenant.ask("PATCH", "behaviour", dict(gaps) if behaviour is None else dataclasses.asdict(asked))

    @property
    def clock(self) -> RemoteClock:
        """The fake's own time."""
        return RemoteClock(self.tenant)

    def snapshot(self) -> RemoteSnapshot:
        """Return a copy of the state: animals, keys, behaviour, clock. Journal and faults are not part of it."""
        return RemoteSnapshot(self.tenant.ask("POST", "snapshots")["id"], self.tenant, self.tenant.making)

    def restore(self, snapshot: RemoteSnapshot) -> None:
        """Return to a copy of the state. Its keys are valid as they were, unless they are another test's.

        Raises:
            PetStoreMockError: it is no snapshot of this world.
        """
        if not isinstance(snapshot, RemoteSnapshot):
            raise PetStoreMockError(f"expected a snapshot, as snapshot() returns it; got {type(snapshot).__name__}")
        if snapshot.world is not self.tenant or snapshot.making != self.tenant.making:
            raise PetStoreMockError(
                "expected a snapshot of this world; got one of another, or of before it was made anew"
            )
        self.tenant.ask("POST", f"snapshots/{snapshot.id}/restore")


class _Fresh:
    """The block of ``fresh()``."""

    def __init__(self, host: RemotePetStore, options: Mapping[str, Any]) -> None:
        self._host = host
        self._options = options

    def __enter__(self) -> RemotePetStore:
        host = self._host.tenant
        tenant = RemoteWorld(host.door, None)
        tenant.make(
            world_options({"strict": host.strict, "mutant": host.mutant, **self._options}), f"py-{secrets.token_hex(8)}"
        )
        tenant.owner, tenant.at_end = host.owner, host.at_end
        host.guests.append(tenant)
        self._petstore = RemotePetStore(tenant, is_own=True)
        self._petstore.adds_notes = self._host.adds_notes
        return self._petstore

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        tenant = self._petstore.tenant
        try:
            leave(self._petstore, error, "a world of fresh()")
        finally:
            self._host.tenant.guests.remove(tenant)
            tenant.end()
