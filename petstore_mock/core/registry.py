"""The worlds behind one listener: to which one a request belongs, and which requests leak from worlds that are over.

A request to ``/w/NAME`` belongs to the world of that name; at the root, to the world whose key it bears, else to the
current one. So tests of any language can run side by side.
"""

from __future__ import annotations

import re
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import unquote

from petstore_mock.common.masking import cut, request_line
from petstore_mock.common.real import RLock, perf_counter
from petstore_mock.common.refusing import refuse, shown
from petstore_mock.core import pipeline
from petstore_mock.core.keys import NOBODY
from petstore_mock.core.options import KEPT_REQUESTS, MAX_WORLDS
from petstore_mock.core.refusals import ConflictError, FullError, NotFoundError
from petstore_mock.core.routing import CLOSED, DOOR_PATH, Refusal, door_hint
from petstore_mock.core.world import World
from petstore_mock.errors import PetStoreMockError
from petstore_mock.http.handler import TlsFlaw, TlsPlan
from petstore_mock.interface.table import BASE_PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from petstore_mock.core.host import Host
    from petstore_mock.core.keys import Key
    from petstore_mock.http.deferred import Deferred
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Response
    from petstore_mock.journal.exchange import Exchange

DEFAULT_WORLD: Final = "default"  # the name of the world at the root

_KEPT_LEAKS: Final = 1_000
_ADDRESSES: Final = ("/w/", "/%77/")  # RFC 3986 §6.2.2.2: the second is the same path
_LONGEST_NAME: Final = 100
_NAME: Final = re.compile(r"[A-Za-z0-9._~-]{1,100}", re.ASCII)  # RFC 3986 §2.3: a path needs no encoding of these
_REFUSED_NAMES: Final = (".", "..", DEFAULT_WORLD)  # a client takes the first two out of a path (§5.2.4)
_KEPT_TARGET: Final = 512  # characters


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name in _REFUSED_NAMES:
        came = shown(name) if len(name) <= _LONGEST_NAME else f"{len(name)} characters"
        refuse(
            f"expected a name of 1 to {_LONGEST_NAME} letters, digits, '.', '_', '~' and '-', other than '.', '..' and "
            f"'{DEFAULT_WORLD}'; got {came}"
        )
    return name


@dataclass(frozen=True, slots=True)
class Leak:
    """A request with the key or the address of a finished world, or one that began in it and never became whole."""

    owner: str  # the test or the world that it belongs to
    request: str  # its method and target, keys masked
    status: int
    by_key: bool = True  # whether the key told its owner


class _Generation(NamedTuple):
    world: World
    number: int
    owner: str | None


class Worlds:
    """The worlds behind one listener, and the part of a ``Handler`` that the core has."""

    def __init__(
        self,
        host: Host,
        *,
        max_worlds: int = MAX_WORLDS,
        ttl: float | None = None,
        keep: int = KEPT_REQUESTS,
        listener: Callable[[Exchange], object] | None = None,
    ) -> None:
        self.host = host
        self.named: dict[str, World] = {}
        self.leaks: deque[Leak] = deque(maxlen=_KEPT_LEAKS)
        self.leak_count = 0
        self.leaked: Callable[[Leak], object] = lambda _: None  # it must be quick
        self._max_worlds = max_worlds  # by address
        self._ttl = ttl  # seconds after which a world by address that got no request ends
        self._keep = keep  # requests of each of them
        self._listener = listener  # called with their exchanges; it must be quick
        self._lock = RLock()
        self._stack: list[World] = []  # replaced, never changed

    # The worlds at the root

    @property
    def default(self) -> World:
        """The first world at the root; those of ``fresh()`` come later."""
        return self._default

    @property
    def current(self) -> World:
        """The world of requests that have no address and no key of another."""
        return self._stack[-1]

    @property
    def at_root(self) -> list[World]:
        """The worlds at the root, the current one last."""
        return self._stack

    def push(self, world: World) -> None:
        if not self._stack:
            self._default = world
        self._stack = [*self._stack, world]

    def remove(self, world: World) -> None:
        self._stack = [one for one in self._stack if one is not world]
        world.close()

    def bring_forward(self, world: World) -> None:
        """Make a renewed world the current one, except for the worlds that its own test has inside it.

        A world of an earlier owner, which a fixture of wider scope holds, gets only requests with its keys.
        """
        inner = [one for one in self._stack if one is not world and one.owner == world.owner]
        others = [one for one in self._stack if one is not world and one not in inner]
        self._stack = [*others, world, *inner]

    def release(self) -> None:
        """End the waiting of every response that a world at the root holds back."""
        for world in self._stack:
            world.release()

    # Worlds by address

    def __iter__(self) -> Iterator[World]:
        """Return the default world and those by address, as of now."""
        with self._lock:
            return iter([self.default, *self.named.values()])

    def __len__(self) -> int:
        return len(self.named) + 1

    def find(self, name: str) -> World:
        """Return the world of a name; raise NotFoundError where there is none. To ask keeps the world alive."""
        world = self.default if name == DEFAULT_WORLD else self.named.get(name)
        if world is None:
            over = ", which is over" if f"/w/{name}" in self.host.keys.retired else ""
            raise NotFoundError(f"expected the name of a world; got {shown(name)}{over}: PUT world makes it")
        world.asked = perf_counter()
        return world

    def make(self, name: str, options: Mapping[str, Any]) -> tuple[World, bool]:
        """Make the world of a name, or make it anew; return it, and whether there was none."""
        with self._lock:
            world = self.default if name == DEFAULT_WORLD else self.named.get(check_name(name))
            if world is not None:
                world.remake(options)
                world.asked = perf_counter()
                return world, False
            if len(self.named) >= self._max_worlds:
                self.expire()  # it looks at every world, so a server calls it only now and then
            if len(self.named) >= self._max_worlds:
                raise FullError(f"expected at most {self._max_worlds} worlds: end some, or raise --max-worlds")
            world = World(self.host, options, name=name, keep=self._keep)
            if self._listener is not None:
                world.journal.listen(self._listener)
            world.asked = perf_counter()
            self.host.keys.retired.pop(f"/w/{name}", None)
            self.named[name] = world
        self.host.announce(world, "made")
        return world, True

    def end(self, world: World) -> None:
        """End a world by address; harmless when it is over."""
        if world is self.default:
            raise ConflictError("expected a world by address, /w/NAME; the default world lasts as long as the stub")
        with self._lock:
            if world.name is None or self.named.get(world.name) is not world:
                return
            del self.named[world.name]
            self.host.keys.remember(f"/w/{world.name}", world.name)
            world.close()

    def expire(self) -> list[str]:
        """End the worlds that got no request for too long, and return their names."""
        if self._ttl is None:
            return []
        due = perf_counter() - self._ttl
        with self._lock:
            over = [world for world in self.named.values() if world.asked < due and not world.visitors]
            for world in over:
                self.end(world)
        return [world.name for world in over if world.name is not None]

    @contextmanager
    def visiting(self, world: World) -> Generator[None]:
        """Keep a world alive for a block, such as a wait or a stream."""
        with self._lock:
            world.visitors += 1
        try:
            yield
        finally:
            with self._lock:
                world.visitors -= 1
                world.asked = perf_counter()

    # The part of http.handler.Handler that the core has

    def handle(self, request: ApiRequest) -> Response | Deferred:
        """Respond to a whole request on the world of its address or its key, else on the current one."""
        if request.mount or request.target.startswith(_ADDRESSES):
            world = self._at_address(request)
            if isinstance(world, Refusal):
                return self._nowhere(request, world)
            name, problem = request.fields.bearer
        else:
            name, problem = request.fields.bearer
            world, owner = self._of_key(name)
            if owner is not None:
                return self._leaked(world, request, owner)
        world.lock.acquire()  # a `with` takes twice as long, and every request comes here
        try:
            key = None if name is None else world.keys.get(name)
            if name is not None and key is None:
                owner = None if request.mount else self.host.keys.retired.get(name)
                if owner is not None:  # retired since the look-up above
                    return self._leaked(world, request, owner)
                problem = "unknown_key"
            return pipeline.handle(world, request, key, problem)
        finally:
            world.lock.release()

    def _of_key(self, name: str | None) -> tuple[World, str | None]:
        """Return the world of a key, and the owner of a key that leads to no world any more."""
        if name is None:
            return self._stack[-1], None
        holders = self.host.keys.worlds.get(name)
        if holders is None:
            return self._stack[-1], self.host.keys.retired.get(name)
        world: World = holders[0] if len(holders) == 1 else self._stack[-1]
        return world, None

    def _at_address(self, request: ApiRequest) -> World | Refusal:
        """Return the world of a request to ``/w/NAME``, whose target becomes the rest of the path."""
        if not request.mount:
            target = request.target
            request.mount, request.target = (_parts if len(target) <= _KEPT_TARGET else _parts.__wrapped__)(target)
        name = unquote(request.mount.rpartition("/")[2])
        world = self.named.get(name)
        if world is not None:
            world.asked = request.started
            return world
        called = cut(repr(name), _LONGEST_NAME)
        if f"/w/{name}" in self.host.keys.retired:
            return Refusal("ended_world", detail=f"the world {called} is over, and its client still sends requests")
        return Refusal("unknown_world", detail=f"there is no world {called}: {self._way_to(name, request.target)}")

    def _way_to(self, name: str, target: str) -> str:
        """Return what to do for a world that was never made."""
        if hint := door_hint(target):
            return hint
        if name == DEFAULT_WORLD:
            return f"the default world is at {BASE_PATH}"
        if not self.host.has_door:
            return f"worlds are made by the control door, which is {CLOSED}"
        try:
            return f"PUT /w/{check_name(name)}{DOOR_PATH}/world to the control door makes one"
        except PetStoreMockError as error:
            return str(error)

    def _nowhere(self, request: ApiRequest, refusal: Refusal) -> Response:
        response = pipeline.refuse_leftover(self.default, refusal, request)
        if refusal.condition == "ended_world":
            name = unquote(request.mount.rpartition("/")[2])
            self._note(Leak(name, _line(request), response.status, by_key=False))
        return response

    def _leaked(self, world: World, request: ApiRequest, owner: str) -> Response:
        present = any(one.owner == owner for one in self._stack)
        refusal = Refusal("retired_key", detail=f"it was issued to {whose(owner, present=present)}")
        response = pipeline.refuse_leftover(world, refusal, request)
        self._note(Leak(owner, _line(request), response.status))
        return response

    def _note(self, leak: Leak) -> None:
        self.leaks.append(leak)
        self.leak_count += 1
        self.leaked(leak)

    def clear_leaks(self) -> None:
        self.leaks.clear()
        self.leak_count = 0

    def world_of(self, request: ApiRequest) -> tuple[World, Key | None]:
        """Return the world of a request that is not to be carried out yet, and its key there."""
        name, _ = request.fields.bearer
        if request.mount or request.target.startswith(_ADDRESSES):
            found = self._at_address(request)
            world = self.default if isinstance(found, Refusal) else found
        else:
            world, _ = self._of_key(name)
        return world, None if name is None else world.keys.get(name)

    def admits(self, request: ApiRequest, length: int | None) -> bool:
        world, key = self.world_of(request)
        return pipeline.admits(world, request, key, length)

    def body_limit(self, request: ApiRequest) -> int | None:
        """Return the longest body that a request may have, in bytes (gap body_limit)."""
        limit: int | None = self.world_of(request)[0].rules.policies.body_limit
        return limit

    def generation(self) -> object:
        """Return a token of the state of the current world, to which a request without a key belongs."""
        world = self.current
        return _Generation(world, world.generation, world.owner)

    def refuse(self, condition: str, detail: str, request: ApiRequest, generation: object = None) -> Response:
        """Respond to bytes that never became a request; without a key they belong to the world where they began."""
        refusal = Refusal(condition, detail=detail)
        name, _ = request.fields.bearer
        if request.mount or request.target.startswith(_ADDRESSES):
            found = self._at_address(request)
            if isinstance(found, Refusal):
                return self._nowhere(request, found)
            return pipeline.refuse(found, refusal, request)
        world, owner = self._of_key(name)
        if owner is not None:
            return self._leaked(world, request, owner)
        if isinstance(generation, _Generation) and (name is None or name not in world.keys):
            if generation.world.generation != generation.number:
                return self._left_over(world, refusal, request, generation.owner)
            world = generation.world
        return pipeline.refuse(world, refusal, request)

    def _left_over(self, world: World, refusal: Refusal, request: ApiRequest, owner: str | None) -> Response:
        """Respond to bytes of an earlier test, which the journal of the present one does not show."""
        response = pipeline.refuse_leftover(world, refusal, request)
        if owner is not None:
            line = _line(request) if request.method != "-" else "a request without a readable head"
            self._note(Leak(owner, f"{line} ({refusal.condition})", response.status, by_key=False))
        return response

    def failed(self, error: BaseException, request: ApiRequest) -> Response:
        return pipeline.refuse(self.world_of(request)[0], Refusal("internal_error"), request, error)

    def connection_opened(self) -> TlsPlan | None:
        """Return the TLS fault that a new connection meets; the connection belongs to the current world."""
        world = self.current
        if not self.host.tls:
            return None
        with world.lock:
            fault = world.plan.choose("handshake", None, world.random)
        return None if fault is None else TlsPlan(cast("TlsFlaw", fault.kind.removeprefix("tls.")), world.pending)

    def handshake_failed(self, reason: str) -> None:
        world = self.current
        with world.lock:
            world.journal.notes.append(reason)


@lru_cache(maxsize=4096)
def _parts(target: str) -> tuple[str, str]:
    """Return the mount ``/w/NAME`` of a target, and the rest."""
    path, mark, query = target.partition("?")
    _, prefix, segment, *rest = path.split("/", 3)
    return f"/{prefix}/{segment}", f"/{rest[0] if rest else ''}{mark}{query}"


def _line(request: ApiRequest) -> str:
    return request_line(request.method, request.target, request.credentials)


def whose(owner: str, *, present: bool) -> str:
    """Return the owner of a retired key in words, with what its client needs."""
    needs = "needs a fixed key: set petstore_api_key"
    if present:  # then a world of the test is over, and the test is not
        ended = "which ended with its Hypothesis example or its fresh()"
        return f"an earlier world of this test, {ended}; a client of several worlds {needs}"
    return f"{owner}, which is over" + ("" if owner == NOBODY else f"; a client of wider scope than the test {needs}")
