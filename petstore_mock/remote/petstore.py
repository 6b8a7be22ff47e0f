"""``connect()``, and the object that it returns: the methods of ``PetStoreMock`` for a world of a stub elsewhere."""

from __future__ import annotations

import os
import secrets
from contextlib import AbstractContextManager, suppress
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Self
from urllib.parse import urlsplit

from petstore_mock.common.dates import iso, moment_of
from petstore_mock.common.real import RLock
from petstore_mock.common.refusing import refuse, require, shown
from petstore_mock.common.values import counted
from petstore_mock.core.animals import animals_of_file
from petstore_mock.core.clock import Clock
from petstore_mock.core.fault_plan import FaultHandle
from petstore_mock.core.options import checked
from petstore_mock.core.refusals import NotFoundError
from petstore_mock.core.registry import DEFAULT_WORLD
from petstore_mock.core.verification import ExpectedViolation
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults.fault import coerce
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.journal.text import error_of
from petstore_mock.mock.face import PetStore
from petstore_mock.mock.tls import Trust
from petstore_mock.remote.door import RemoteDoor
from petstore_mock.remote.journal import RemoteJournal
from petstore_mock.transport import no_proxy
from petstore_mock.verbs import Verb, requests, state, worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Do = Callable[[Verb, Mapping[str, Any]], Any]

_SAME_PROCESS: Final = frozenset({"app", "asgi", "httpserver"})


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
    no_proxy.exempt(door, door.host)  # for the client under test
    return found


class RemoteSnapshot(NamedTuple):
    """A copy of the state of a world elsewhere, by its number there."""

    id: int
    world: str


class RemoteHandle(FaultHandle):
    """A planned fault in a world elsewhere; see :class:`FaultHandle`."""

    def __init__(self, do: Do, plan: Mapping[str, Any]) -> None:
        self._do = do
        self._told = plan
        super().__init__(fault=coerce(plan["fault"]), **{name: plan[name] for name in state.Rule.__annotations__})
        self.id = plan["id"]

    def refresh(self) -> Mapping[str, Any]:
        """Return the plan as it is now, or as it was when it left the world."""
        if not self.over:
            plans: list[Mapping[str, Any]] = self._do(state.list_faults, {})["faults"]
            found = next((plan for plan in plans if plan["id"] == self.id), None)
            self._told, self.over = found or self._told, found is None
        return self._told

    @property
    def hits(self) -> int:
        """How often it fired."""
        return int(self.refresh()["hits"])

    @hits.setter
    def hits(self, _: int) -> None: ...  # pyright: ignore[reportIncompatibleVariableOverride]  # the base begins with 0

    @property
    def is_unfired(self) -> bool:
        return bool(self.refresh()["why_not"]) and not self.over

    def why_not(self, refused: int = 0) -> str:  # noqa: ARG002  # the door counts
        return str(self._told["why_not"])

    def cancel(self, *, required: bool = False) -> None:
        """Take the fault away; harmless when it is gone already."""
        if not self.over:
            self.refresh()
            self.over = True
            with suppress(NotFoundError):
                self._do(state.cancel_fault, {"fault_id": self.id, "required": required})


class RemoteClock(Clock):
    """The time of a world elsewhere."""

    def __init__(self, do: Do) -> None:
        self._do = do

    def now(self) -> float:
        return moment_of(self._do(state.show_clock, {})["now"])

    @property
    def frozen(self) -> bool:
        return bool(self._do(state.show_clock, {})["frozen"])

    def _change(self, **change: Any) -> None:  # noqa: ANN401  # a moment, a step, or whether to freeze
        told = {"advance" if name == "step" else name: value for name, value in change.items()}
        self._do(state.change_clock, {"travel_to": iso(told["moment"])} if "moment" in told else told)


class RemotePetStore(PetStore):
    """A world of a stub in another process; :func:`connect` makes one. Without a name it is its own, and ends.

    Attributes:
        url: the base address, ending in ``/v1`` (§1).
        at_end: called before a reset or the end clears the world; internal.
        inner: the worlds of ``fresh()`` that are not over; internal.
    """

    url: str

    def __init__(self, door: RemoteDoor, name: str | None, options: Mapping[str, Any] | None = None) -> None:
        self._door = door
        self._is_own = name is None
        self._name = None if name == DEFAULT_WORLD else name or f"py-{secrets.token_hex(8)}"
        self._clock = RemoteClock(self._do)
        self.at_end: Callable[[Any], object] = lambda _: None
        self.inner: list[RemotePetStore] = []
        world = None
        if not self._is_own:
            with suppress(NotFoundError):
                world = self._do(worlds.show_world, {})
        self._begin(self._name, options or {}, world)

    def _begin(self, name: str | None, options: Mapping[str, Any], world: Any = None) -> None:  # noqa: ANN401
        """Steer the world of a name: make it anew, unless its data are given."""
        self._name = name
        self._shared = {one: options[one] for one in ("strict", "mutant") if one in options}
        try:
            made = world or self._do(worlds.make_world, _carried_options(options))
        except PetStoreMockError as error:
            if isinstance(seed := options.get("seed"), (str, PathLike)):
                refuse(f"{seed}: {error}")
            raise
        self.url, path = made["url"], urlsplit(self._door.root).path
        if not urlsplit(self.url).path.startswith(f"{path}/"):
            refuse(f"expected a stub that knows {path}, which a proxy adds; got {self.url}: serve with --public-url")
        self._key: str = made["api_key"]
        self._handles: list[RemoteHandle] = []
        self._journal = RemoteJournal(self._do, self.secrets)

    def secrets(self) -> tuple[str, ...]:
        """Return its key, which must not show; keys that it issues are known by their shape: internal."""
        return (self._key,)

    def __repr__(self) -> str:
        return f"<RemotePetStore {self.url}, {counted(self._do(worlds.show_world, {})['pets'], 'animal')}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name in _SAME_PROCESS:
            refuse(
                f"expected a stub in this process for petstore.{name}; got one elsewhere: give the client "
                "petstore.url, plan faults.respond(...) with where=, or use a PetStoreMock() of your own"
            )
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
            no_proxy.unexempt(self._door)

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

    def _do(self, verb: Verb, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a JSON value
        return self._door.send(verb, self._name, arguments)

    def _handle(self, plan: Mapping[str, Any]) -> RemoteHandle:
        self._handles.append(RemoteHandle(self._do, plan))
        return self._handles[-1]

    def _begin_fresh(self, options: Mapping[str, Any]) -> Self:
        fresh = type(self)(self._door, None, {**self._shared, **options})
        fresh.at_end, fresh.adds_notes, fresh.inner = self.at_end, self.adds_notes, self.inner
        self.inner.append(fresh)
        return fresh

    def _end_fresh(self) -> None:
        self.at_end(self)
        self.inner.remove(self)
        self.stop()

    def reset(self) -> None:
        self.at_end(self)
        for handle in self._handles:
            handle.refresh()
            handle.over = True  # its number may be that of another fault by now
        super().reset()
        self._handles = []

    def _problems(self) -> list[str]:
        return [problem["message"] for problem in self._do(worlds.report_problems, {})["problems"]]

    def verify(self, *, again: bool = True) -> None:
        __tracebackhide__ = True
        problems = self._do(worlds.report_problems, {"again": again})["problems"]
        if problems:
            raise error_of([(problem["kind"], problem["message"]) for problem in problems])

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
        return ExpectedViolation(RLock(), self._journal, pattern)


def _carried_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a world, checked, as the door takes them: this side reads files."""
    told = {name: value for name, value in checked(options, "world").items() if value is not None}
    if "at" in told:
        told["at"] = iso(told["at"])
    if isinstance(told.get("seed"), (str, PathLike)):
        told["seed"] = animals_of_file(told["seed"])
    return told
