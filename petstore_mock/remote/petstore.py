"""``connect()`` and ``RemotePetStore``, a world of a stub in another process."""

from __future__ import annotations

import secrets
from contextlib import suppress
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self, Unpack
from urllib.parse import urlsplit

from petstore_mock.common.dates import iso
from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.refusing import refuse, require, shown
from petstore_mock.common.suggesting import guided, helpful, no_attribute
from petstore_mock.common.values import shown_url, without_none
from petstore_mock.core.clock import Clock
from petstore_mock.core.fault_plan import FaultHandle
from petstore_mock.core.options import checked
from petstore_mock.core.refusals import NotFoundError, ProblemError
from petstore_mock.core.registry import DEFAULT_WORLD
from petstore_mock.core.store import AnimalsOfFile, read_seed
from petstore_mock.faults.fault import coerce
from petstore_mock.journal.criteria import Criteria
from petstore_mock.journal.exchange import is_base_url
from petstore_mock.journal.journal import Journal
from petstore_mock.journal.text import error_of
from petstore_mock.mock.face import PetStore
from petstore_mock.remote.door import RemoteDoor, printable_lines
from petstore_mock.remote.journal import RemoteJournal
from petstore_mock.transport import no_proxy
from petstore_mock.verbs import Verb, requests, state, worlds

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.core.options import WorldOptions
    from petstore_mock.remote.door import Arguments, Do

_SAME_PROCESS: Final = frozenset({"app", "httpserver", "requests_session", "tls"})


@guided
def connect(url: str, world: str | None = None, token: str | None = None) -> RemotePetStore:
    """Return a world of a stub in another process, with the same methods as ``PetStoreMock``.

    ``with connect(url) as petstore:`` makes a world with a generated name. At the end of the block, the world is
    verified and ended. If the stub uses TLS, set the environment variable ``SSL_CERT_FILE`` to the file that
    ``serve --tls-ca-out`` wrote.

    Args:
        url: the stub's root, its ``/v1`` or ``/w/NAME/v1``, or the address of its control door. An address with the
            name of a world selects that world, as ``world`` does.
        world: the name of a world to use; ``"default"`` is the world at the root. The world is made if it does not
            exist. The end of the block neither verifies nor ends it. None makes a new world.
        token: the stub's ``--control-token``, or the token that ``serve --control`` printed. None means no token.

    Raises:
        PetStoreMockError: the address or the name is invalid, no stub responds there, the token is wrong, or the
            certificate is not trusted.
    """
    door = RemoteDoor(url, token)
    if world is not None:
        require(world == str(world) and world, "the name of a world", world=world)
    if door.name is not None and world not in {None, door.name}:
        refuse(f"expected one world; got the address of world {door.name!r} and world={world!r}. Pass one of them")
    name = world or door.name
    return RemotePetStore(door, name, None if name else {})


class RemoteHandle(FaultHandle):
    """A planned fault in a world of a stub in another process; see :class:`FaultHandle`."""

    def __init__(self, do: Do, plan: Arguments) -> None:
        self._do = do
        self._plan = plan
        super().__init__(fault=coerce(plan["fault"]), **{name: plan[name] for name in state.Rule.__annotations__})
        self.id = plan["id"]

    def refresh(self) -> Arguments:
        """Return the current plan, or the last known one if the world has dropped it."""
        if not self.over:
            plans = {plan["id"]: plan for plan in self._do(state.list_faults, {})["faults"]}
            self.over = self.id not in plans
            self._plan = plans.get(self.id, self._plan)
        return self._plan

    @property
    def hits(self) -> int:
        """How often the fault fired."""
        return int(self.refresh()["hits"])

    @hits.setter
    def hits(self, _: int) -> None: ...  # pyright: ignore[reportIncompatibleVariableOverride]  # the base class sets 0

    @property
    def is_unfired(self) -> bool:
        return bool(self.refresh()["why_not"]) and not self.over

    def why_not(self) -> str:
        return str(self._plan["why_not"])

    def cancel(self, *, required: bool = False) -> None:
        """Cancel the fault. Does nothing if the world has dropped it already."""
        self.refresh()
        if not self.over:
            self.over = True
            self._do(state.cancel_fault, {"fault_id": self.id, "required": required})


@helpful()
class RemotePetStore(PetStore):
    """A world of a stub in another process. Call :func:`connect` to get one.

    A world without a given name belongs to this object: the end of the ``with`` block verifies it and ends it.

    Attributes:
        url: the base address, ending in ``/v1`` (§1).
        at_end: a function that is called with the world before its reset or end; internal.
        inner: the worlds of ``fresh()`` blocks that have not ended; internal.
    """

    url: str

    def __init__(self, door: RemoteDoor, name: str | None, options: Arguments | None) -> None:
        self._door = door
        self._is_own = name is None
        self.at_end: Callable[[Any], object] = lambda _: None
        self.inner: list[RemotePetStore] = []
        self._begin(name or f"py-{secrets.token_hex(8)}", options)

    def _begin(self, name: str, options: Arguments | None) -> None:
        """Use the world ``name``. With ``options``, make or replace it; without them, make it only if it is missing."""
        self._name = None if name == DEFAULT_WORLD else name
        world = None
        if options is None:
            with suppress(NotFoundError):
                world = self._do(worlds.show_world, {})
        if world is None:
            world = self._made(options or {})
        self._shared = {"strict": world["strict"], "mutant": world["mutant"]}
        self.url = world["url"]
        path = urlsplit(self._door.root).path
        is_below = is_base_url(self.url) and urlsplit(self.url).path.startswith(f"{path}/")
        if not is_below:
            got = f"got {shown_url(self.url)!r}. Run serve with --public-url"
            refuse(f"expected a world below {path}, the path of a proxy; {got}")
        self._key: str = world["api_key"]
        self._handles: list[RemoteHandle] = []
        self._journal = RemoteJournal(self._do, self.secrets, self._door.reading)
        no_proxy.exempt(self, self._door.host)  # the client under test must reach the stub directly

    def _made(self, options: Arguments) -> Json:
        carried = _carried_options(options)
        try:
            return self._do(worlds.make_world, carried)
        except ProblemError as error:
            # The door refused the animals, because all other options were checked here.
            seed = options.get("seed")
            path = seed.path if isinstance(seed, AnimalsOfFile) else seed
            where = f"{path}: " if isinstance(path, (str, PathLike)) else ""
            refuse(f"{where}{error}")

    def secrets(self) -> tuple[str, ...]:
        """Return the key that reports must mask; they recognise issued keys by their form. Internal."""
        return (self._key,)

    def __getattr__(self, name: str) -> NoReturn:
        if name in _SAME_PROCESS:
            refuse(
                f"expected a fake in this process for petstore.{name}; got a stub in another process. Give the client "
                "petstore.url, plan faults.respond(...) with where=, or use your own PetStoreMock()"
            )
        raise no_attribute(self, name, {"journal": Journal, "clock": Clock})

    # The block

    def stop(self) -> None:
        """End the world if it belongs to this object."""
        no_proxy.unexempt(self)
        if self._is_own and not self._journal.is_over:
            self.at_end(self)
            _ = self._journal.kept  # fetches the last requests before they are gone
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
            if self in self.inner:
                self.inner.remove(self)

    def fresh(self, **options: Unpack[WorldOptions]) -> Self:
        fresh = type(self)(self._door, None, {**self._shared, **options})
        fresh.at_end = self.at_end
        fresh.adds_notes = self.adds_notes
        fresh.inner = self.inner
        self.inner.append(fresh)
        return fresh

    @property
    def control_url(self) -> str:
        """The address of the world's control door, ending in ``/__petstore/``."""
        return self._door.url_of(self._name)

    def close_connections(self) -> None:
        """Close the idle connections whose latest request was to this world; at the root, all idle connections."""
        self._do(requests.close_connections, {})

    # Access to the world

    def _do(self, verb: Verb, arguments: Arguments) -> Json:
        where = arguments.get("where")
        if verb is state.plan_fault and is_object(where):
            # JSON would carry a set or a moment as another value, which the door could not refuse.
            Criteria(where, arguments["on"], before_response=True).require_json()
        return self._door.send(verb, self._name, arguments)

    @property
    def _address(self) -> str:
        return self.url

    def _handle(self, plan: Arguments) -> RemoteHandle:
        self._handles.append(RemoteHandle(self._do, plan))
        return self._handles[-1]

    def reset(self) -> None:
        self.at_end(self)
        for handle in self._handles:
            handle.refresh()
            handle.over = True  # after the reset, another fault may get this number
        super().reset()
        self._handles = []

    def verify(self, *, again: bool = True) -> None:
        __tracebackhide__ = True
        problems = self._do(worlds.report_problems, {"again": again})["problems"]
        if problems:
            raise error_of([(problem["kind"], printable_lines(problem["message"])) for problem in problems])

    @property
    def api_key(self) -> str:
        return self._key

    @property
    def journal(self) -> RemoteJournal:
        return self._journal

    def snapshot(self) -> tuple[str, int]:
        return self.url, self._do(state.take_snapshot, {})["id"]

    def restore(self, snapshot: object) -> None:
        if not is_array(snapshot) or [*snapshot][:1] != [self.url]:
            refuse(f"expected a snapshot of this world, as snapshot() returns it; got snapshot={shown(snapshot)}")
        self._do(state.restore_snapshot, {"snapshot_id": snapshot[1]})


def _carried_options(options: Arguments) -> JsonObject:
    """Return checked options of a world in the JSON form of the door, which reads no files."""
    sent = without_none(checked(options, "world"))
    if "at" in sent:
        sent["at"] = iso(sent["at"])
    if "seed" in sent:
        sent["seed"] = read_seed(sent["seed"])
    return sent
