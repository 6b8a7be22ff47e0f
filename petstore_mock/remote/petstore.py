"""``connect()``, and the object that it returns: the methods of ``PetStoreMock`` for a world of a stub elsewhere."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from petstore_mock.common.dates import iso, moment_of
from petstore_mock.common.refusing import refuse, require, shown
from petstore_mock.common.values import counted
from petstore_mock.core.animals import animals_of_file
from petstore_mock.core.clock import Clock
from petstore_mock.core.options import start_of
from petstore_mock.core.refusals import NotFoundError
from petstore_mock.core.registry import DEFAULT_WORLD
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.faults.fault import coerce
from petstore_mock.interface.behaviour import Behaviour, as_behaviour
from petstore_mock.journal.text import error_of
from petstore_mock.mock.face import PetStore
from petstore_mock.mock.tls import Trust
from petstore_mock.remote.door import RemoteDoor
from petstore_mock.remote.journal import RemoteExpectation, RemoteJournal
from petstore_mock.verbs import Verb, requests, state, worlds

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAME_PROCESS: Final = {
    "app": "give the client petstore.url, and use a PetStoreMock() of your own for WSGI",
    "asgi": "give the client petstore.url, and use a PetStoreMock() of your own for ASGI",
    "httpserver": "plan faults.respond(...) with where=, or use a PetStoreMock() of your own",
    "requests_session": "give the client petstore.url",
}


def connect(
    url: str, world: str | None = None, token: str | None = None, ca_path: str | PathLike[str] | None = None
) -> RemotePetStore:
    """Steer a stub that runs elsewhere, as ``PetStoreMock`` steers a fake in this process.

    ``with connect(url) as petstore:`` makes a world under a made-up name. Leaving the block raises for everything that
    a test must answer for, and ends the world.

    Args:
        url: the stub's root, its ``/v1`` or ``/w/NAME/v1``, or the address of its control door. An address that names
            a world steers that world, as ``world`` does.
        world: a name: steer that world, make it if it is not there, and leave it as it is; ``"default"`` is the world
            at the root.
        token: the stub's ``--control-token``, if it asks for one.
        ca_path: the file of the stub's authority, which ``serve --tls-ca-out`` writes; by default ``SSL_CERT_FILE``
            of the environment counts.

    Raises:
        PetStoreMockError: the address or the name can't be right, nothing responds there, the token is wrong, or the
            certificate is not trusted.
    """
    door = RemoteDoor(url, token, ca_path)
    require(world is None or (world == str(world) and world), "the name of a world", world=world)
    if door.name is not None and world not in {None, door.name}:
        refuse(f"expected one world; got the address of {door.name!r}, and world={world!r}")
    found = RemotePetStore(door, world or door.name)
    door.exempt()
    return found


Do = Callable[..., Any]  # of a verb and its arguments


@dataclass(frozen=True, slots=True)
class RemoteSnapshot:
    """A copy of the state of a world elsewhere, by its number there."""

    id: int
    world: str


class RemoteHandle:
    """A planned fault in a world elsewhere; see :class:`FaultHandle`. It is over when it was cancelled or reset."""

    def __init__(self, do: Do, plan: Mapping[str, Any]) -> None:
        self._do = do
        self._plan = plan
        self.id: int = plan["id"]
        self.fault = coerce(plan["fault"])
        self.is_over = False

    def __repr__(self) -> str:
        return f"<{self} hits={self.hits}>"

    def __str__(self) -> str:
        words: str = self._plan["words"]
        return words

    def refresh(self) -> Mapping[str, Any]:
        """Return the plan as it is now, or as it was when it left the world."""
        if not self.is_over:
            plans: list[Mapping[str, Any]] = self._do(state.list_faults, {})["faults"]
            self._plan = next((plan for plan in plans if plan["id"] == self.id), self._plan)
        return self._plan

    @property
    def hits(self) -> int:
        """How often it fired."""
        return int(self.refresh()["hits"])

    @property
    def spent(self) -> bool:
        """Whether it has fired as often as it may."""
        return bool(self.refresh()["spent"])

    def cancel(self, *, required: bool = False) -> None:
        """Take the fault away; harmless when it is gone already."""
        if not self.is_over:
            self.refresh()
            self.is_over = True
            with suppress(NotFoundError):
                self._do(state.cancel_fault, {"fault_id": self.id, "required": required})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        __tracebackhide__ = True
        why_not = None if self.is_over or self.hits else self._plan["why_not"]
        self.cancel(required=bool(why_not) and kind is not None)
        if why_not and kind is None:
            raise VerificationError(f"{self} {why_not.replace(':', ' within its block:', 1)}")


class RemoteClock(Clock):
    """The time of a world elsewhere."""

    def __init__(self, do: Do) -> None:
        self._do = do

    def now(self) -> float:
        return moment_of(self._do(state.show_clock, {})["now"])

    @property
    def frozen(self) -> bool:
        return bool(self._do(state.show_clock, {})["frozen"])

    def _change(self, **change: Any) -> None:  # noqa: ANN401  # moment, step and freeze
        names = {"moment": "travel_to", "step": "advance"}
        told = {names.get(name, name): value for name, value in change.items()}
        told |= {"travel_to": iso(change["moment"])} if "moment" in change else {}
        self._do(state.change_clock, told)


class RemotePetStore(PetStore):
    """A world of a stub in another process; :func:`connect` makes one. Without a name it is its own, and ends."""

    def __init__(self, door: RemoteDoor, name: str | None, options: Mapping[str, Any] | None = None) -> None:
        self._door = door
        self._is_own = name is None
        name = f"py-{secrets.token_hex(8)}" if name is None else name
        self._name = None if name == DEFAULT_WORLD else name
        self._further_keys: list[str] = []
        self._handles: list[RemoteHandle] = []
        self._lasting = {one: value for one, value in (options or {}).items() if one in {"strict", "mutant"}}
        world = self._adopted(options or {})
        self._url: str = world["url"]
        self._key: str = world["api_key"]
        self._clock = RemoteClock(self._do)
        self._journal = RemoteJournal(self._do, lambda: (self._key, *self._further_keys))

    def _adopted(self, options: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a JSON value
        """Take over the world as it is; make it if it is not there."""
        if not self._is_own:
            with suppress(NotFoundError):
                return self._do(worlds.show_world, {})
        try:
            return self._do(worlds.make_world, carried_options(options))
        except PetStoreMockError as error:
            if isinstance(seed := options.get("seed"), (str, PathLike)):
                refuse(f"{seed}: {error}")
            raise

    def __repr__(self) -> str:
        return f"<RemotePetStore {self.url}, {counted(self._do(worlds.show_world, {})['pets'], 'animal')}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name in _SAME_PROCESS:
            refuse(f"expected a stub in this process for petstore.{name}; got one elsewhere: {_SAME_PROCESS[name]}")
        message = f"{type(self).__name__!r} object has no attribute {name!r}"
        raise AttributeError(message)

    # The block

    def start(self) -> Self:
        """Return the object itself: the stub listens already."""
        return self

    def stop(self) -> None:
        """End the world if it was made for this object."""
        if self._is_own and not self._journal.is_over:
            self._journal.pull()
            self._journal.is_over = True
            with suppress(NotFoundError):
                self._do(worlds.end_world, {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        __tracebackhide__ = True
        try:
            if self._is_own:
                self._leave(error, self.url)
        finally:
            self.stop()
            self._door.unexempt()

    @property
    def url(self) -> str:
        """The base address, ending in ``/v1`` (§1)."""
        return self._url

    @property
    def control_url(self) -> str:
        """The address of the world's control door, ending in ``/__petstore/``."""
        return self._door.url_of(self._name)

    @property
    def tls(self) -> Trust:
        """What clients need in order to trust the stub: the authority that you passed to ``connect``.

        Raises:
            PetStoreMockError: the stub speaks plain HTTP, or its authority is not known.
        """
        ca_path = self._door.ca_path or os.environ.get("SSL_CERT_FILE")
        if not self.url.startswith("https:") or ca_path is None:
            refuse(f"expected a stub that speaks TLS, and connect(..., ca_path=FILE) or SSL_CERT_FILE; got {self.url}")
        return Trust(str(ca_path))

    def close_connections(self) -> None:
        """Close the idle kept connections that this world used last; at the root, all."""
        self._do(requests.close_connections, {})

    def openapi(self) -> dict[str, Any]:
        """Return the interface as an OpenAPI 3.1 document; this address comes first."""
        from petstore_mock.interface.openapi import openapi_document  # noqa: PLC0415  # few ask

        return openapi_document(self.url)

    # How the world is reached

    def _do(self, verb: Verb, arguments: Mapping[str, Any], patience: float = 0.0) -> Any:  # noqa: ANN401  # a JSON value
        result = self._door.send(verb, self._name, arguments, patience)
        if verb is state.issue_key:
            self._further_keys.append(result["api_key"])
        return result

    def _handle(self, plan: Mapping[str, Any]) -> RemoteHandle:
        self._handles.append(RemoteHandle(self._do, plan))
        return self._handles[-1]

    def _begin_fresh(self, options: Mapping[str, Any]) -> Self:
        return type(self)(self._door, None, {**self._lasting, **options})

    def _end_fresh(self) -> None:
        self.stop()

    def reset(self) -> None:
        for handle in self._handles:
            handle.refresh()
            handle.is_over = True
        super().reset()
        self._handles = []

    def _report(self) -> list[tuple[str, str]]:
        problems = self._do(worlds.report_problems, {})["problems"]
        return [(problem["kind"], problem["message"]) for problem in problems]

    def _problems(self) -> list[str]:
        return [words for _, words in self._report()]

    def verify(self) -> None:
        __tracebackhide__ = True
        if problems := self._report():
            raise error_of(problems)

    @property
    def api_key(self) -> str:
        return self._key

    @property
    def journal(self) -> RemoteJournal:
        return self._journal

    @property
    def behaviour(self) -> Behaviour:
        return Behaviour().replace(self._do(state.show_behaviour, {}))

    @property
    def clock(self) -> RemoteClock:
        return self._clock

    def snapshot(self) -> RemoteSnapshot:
        return RemoteSnapshot(self._do(state.take_snapshot, {})["id"], self.url)

    def restore(self, snapshot: RemoteSnapshot) -> None:
        if getattr(snapshot, "world", "") != self.url:
            refuse(f"expected a snapshot of this world, as snapshot() returns it; got {shown(snapshot)}")
        self._do(state.restore_snapshot, {"snapshot_id": snapshot.id})

    def expect_violation(self, pattern: str | None = None) -> AbstractContextManager[None]:
        return RemoteExpectation(self._journal, pattern, self._do)


def carried_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a world as the door takes them: this side reads files, and moments become text."""
    start_of(options)  # refuses here what can't be right
    key = options.get("api_key")
    require(key is None or isinstance(key, str), "an API key as text", type=type(key).__name__)
    told = {name: value for name, value in options.items() if value is not None}
    if "behaviour" in told:
        told["behaviour"] = dict(as_behaviour(told["behaviour"]))
    if "at" in told:
        told["at"] = iso(moment_of(told["at"], "at"))
    if isinstance(told.get("seed"), (str, PathLike)):
        told["seed"] = animals_of_file(told["seed"])
    return told
