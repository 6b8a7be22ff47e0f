"""The worlds behind one listener. Finds the world of each request, and records requests that leak from ended worlds.

A request to ``/w/NAME`` belongs to the world of that name. A request at the root belongs to the world of its key, or
else to the current world. So tests in any language can run in parallel.
"""

from __future__ import annotations

import re
from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict
from urllib.parse import unquote, urlsplit
from weakref import ref

from petstore_mock.common.masking import cut, request_line
from petstore_mock.common.real import RLock, perf_counter
from petstore_mock.common.refusing import require, shown
from petstore_mock.common.values import without
from petstore_mock.core import pipeline
from petstore_mock.core.refusals import NotFoundError, ProblemError
from petstore_mock.core.routing import CLOSED, DOOR_PATH, Refusal, validate_head
from petstore_mock.core.world import NOBODY, World
from petstore_mock.http.handler import TlsPlan
from petstore_mock.http.request import changed
from petstore_mock.journal.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from petstore_mock.http.handler import Deferred
    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Response

DEFAULT_WORLD: Final = "default"  # the name of the world at the root

_KEPT_LEAKS: Final = 1_000
_KEPT_NOTES: Final = 50
_ADDRESSES: Final = ("/w/", "/%77/")  # RFC 3986 §6.2.2.2: the second is the same path
_NAME: Final = re.compile(r"(?!(\.|\.\.|default)$)[A-Za-z0-9._~-]{1,100}")  # clients remove . and .. from paths

# The worlds whose ``fresh()`` block the context has entered, the innermost last. A world that ends in another context
# stays in the list, so the references are weak.
_entered: ContextVar[tuple[ref[World], ...]] = ContextVar("entered", default=())


def check_name(name: str) -> None:
    words = f"a name of 1 to 100 letters, digits, '.', '_', '~' and '-', other than '.', '..' and '{DEFAULT_WORLD}'"
    require(_NAME.fullmatch(name), words, name=name)


class Leak(TypedDict):
    """A request with the key or the address of an ended world, or an incomplete request that began in it."""

    world: str  # the world or the test that it belongs to
    request: str  # its method and target, keys masked
    status: int
    by_key: bool  # whether its key identified the owner


class Lost(NamedTuple):
    """The reason why a request belongs to no world, and the owner of its former world, if any."""

    refusal: Refusal
    owner: str | None
    note: str = ""


class _Generation(NamedTuple):
    """A state of a world, from one reset to the next."""

    world: World
    number: int
    owner: str | None


class Worlds:
    """The worlds behind one listener. Each request gets the response of its world."""

    def __init__(self, default: World) -> None:
        self.host = default.host
        self.default = default
        self.named: dict[str, World] = {}
        self.leaks: deque[Leak] = deque(maxlen=_KEPT_LEAKS)
        self.leak_count = 0
        self.leaked: Callable[[Leak], object] = lambda _: None  # called with each leak; must be quick
        self.noted: Callable[[str], object] = lambda _: None  # called with the reason of each failed handshake
        # Plus the open worlds of ``fresh()``, the newest last. The list is replaced, never changed.
        self.at_root = [default]
        self.lock = RLock()

    # The worlds at the root

    @property
    def current(self) -> World:
        """The world of a request that names no other world by its address or key.

        In a thread or task with an open ``fresh()`` block, it is the world of the innermost block. The listener has no
        such block, so requests over the wire belong to the world that was opened last, in any thread.
        """
        open_worlds = self.at_root
        newest = open_worlds[-1]
        for entry in reversed(_entered.get()):
            world = entry()
            if world in open_worlds and world.owner == newest.owner:
                return world
        return newest

    def push(self, world: World) -> None:
        with self.lock:
            self.at_root = [*self.at_root, world]
        _entered.set((*_entered.get(), ref(world)))

    def remove(self, world: World) -> None:
        """Close the world of a ``fresh()`` block. Blocks may end in any order, and in another thread or task."""
        with self.lock:
            self.at_root = without(self.at_root, world)
        # Worlds that ended in another context have gone, or are not at the root.
        _entered.set(tuple(entry for entry in _entered.get() if entry() not in {None, world}))
        world.close()

    def bring_forward(self, world: World) -> None:
        """Make a renewed world the current one. If its test has opened inner worlds, the last of them stays current.

        A fixture of wider scope may hold a world for an earlier owner. That world gets only requests with its keys.
        """
        with self.lock:
            self.at_root = sorted(self.at_root, key=lambda other: (other.owner == world.owner, other is not world))

    def release(self) -> None:
        for world in {*self.at_root, *self}:
            world.release()

    # Worlds at /w/NAME

    def __iter__(self) -> Iterator[World]:
        """Iterate over a copy: the default world and the worlds at /w/NAME."""
        with self.lock:
            return iter([self.default, *self.named.values()])

    def find(self, name: str) -> World:
        """Return the world of a name, or raise NotFoundError. The call restarts the timeout of the world."""
        world = self.default if name == DEFAULT_WORLD else self.named.get(name)
        if world is None:
            raise NotFoundError(f"expected the name of an existing world; got {shown(name)}: make it with PUT world")
        world.asked = perf_counter()
        return world

    def add(self, name: str, options: Mapping[str, object]) -> None:
        """Make a world at /w/NAME. The caller holds the lock."""
        check_name(name)
        most = self.host.max_worlds
        if len(self.named) >= most:
            self.expire()  # the server calls it only at intervals, because it checks every world
        if len(self.named) >= most:
            raise ProblemError(f"expected at most {most} worlds; got one more: end some, or raise --max-worlds", 507)
        self.named[name] = World(self.host, options, name=name)
        self.host.forget(f"/w/{name}")

    def end(self, world: World) -> None:
        """End a world at /w/NAME. A second call does nothing."""
        if world is self.default:
            words = "expected a world at /w/NAME; got the default world, which lasts as long as the stub"
            raise ProblemError(words, 409)
        name = world.name or ""
        with self.lock:
            if self.named.get(name) is world:
                self.host.remember(f"/w/{name}", name)
                del self.named[name]
                world.close()
                world.drop()

    def expire(self) -> list[str]:
        """End the worlds that got no request within the timeout, and return their names."""
        if self.host.ttl is None:
            return []
        due = perf_counter() - self.host.ttl
        ended: list[str] = []
        with self.lock:
            for name, world in tuple(self.named.items()):
                if world.asked < due and not world.visitors:
                    self.end(world)
                    ended.append(name)
        return ended

    @contextmanager
    def visiting(self, world: World) -> Generator[None]:
        """Keep a world alive for a block, such as a wait or a stream."""
        with self.lock:
            world.visitors += 1
        try:
            yield
        finally:
            with self.lock:
                world.visitors -= 1
                world.asked = perf_counter()

    # Requests

    def handle(self, request: ApiRequest) -> Response | Deferred:
        world, routed = self.resolve(request)
        if isinstance(world, Lost):
            return self._turn_away(routed, world)
        key = routed.fields.bearer[0]
        with world.lock:
            if key is not None and key not in world.keys:
                # Its world may have ended in the meantime.
                present_world, _ = self.resolve(request)
                if isinstance(present_world, Lost):
                    return self._turn_away(routed, present_world)
            return pipeline.handle(world, routed)

    def resolve(self, request: ApiRequest) -> tuple[World | Lost, ApiRequest]:
        """Return the world of a request, and the request as that world sees it.

        Its address decides, else its key; else it belongs to the current world. ``Lost`` says why there is no world.
        """
        host = self.host
        root_path = request.root_path
        if host.public_url:
            root_path = urlsplit(host.public_url).path
        if request.target.startswith(_ADDRESSES):
            routed = _below_address(request, root_path)
            return self._at_address(routed), routed
        routed = request
        if root_path != request.root_path:
            routed = changed(request, root_path=root_path)
        return self._at_root(request), routed

    def _at_root(self, request: ApiRequest) -> World | Lost:
        key = request.fields.bearer[0] or ""
        holders = self.host.by_key.get(key, [])
        if len(holders) == 1:
            return holders[0]
        owner = self.host.retired.get(key)
        if holders or owner is None:
            return self.current
        present = any(world.owner == owner for world in self.at_root)
        return Lost(Refusal("retired_key", detail=f"it was issued to {whose(owner, present=present)}"), owner)

    def _at_address(self, request: ApiRequest) -> World | Lost:
        """Return the world at the address ``/w/NAME`` of a request."""
        name = unquote(request.mount.rpartition("/")[2])
        world = self.named.get(name)
        if world is not None:
            world.asked = request.started
            return world
        called = cut(repr(name), 100)
        if f"/w/{name}" in self.host.retired:
            words = f"its client still sends requests; stop the client of {called} before its world ends"
            return Lost(Refusal("ended_world", detail=words), name)
        advice = f"the control door, which makes worlds, is {CLOSED}"
        if self.host.has_door:
            advice = f"make it with PUT {cut(request.mount, 100)}{DOOR_PATH}/world"
        return Lost(Refusal("unknown_world", detail=f"there is no world {called}: {advice}"), None)

    def _turn_away(self, request: ApiRequest, lost: Lost) -> Response:
        """Refuse a request that no journal records. If it has an owner, record it as a leak."""
        world = self.current
        with world.lock:
            response = pipeline.refused(world, Exchange(0, None, request, 0.0), lost.refusal)
        response = self.host.cors.opened(request, response)
        if lost.owner is not None:
            line = "a request without a readable head"
            if request.method != "-":
                line = request_line(request.method, request.target, request.credentials)
            by_key = lost.refusal.condition == "retired_key"
            leak = Leak(world=lost.owner, request=line + lost.note, status=response.status, by_key=by_key)
            self.leaks.append(leak)
            self.leak_count += 1
            self.leaked(leak)
        return response

    def world_of(self, request: ApiRequest) -> tuple[World, ApiRequest]:
        """Return the world that responds to a request, and the request as that world sees it."""
        world, routed = self.resolve(request)
        if isinstance(world, Lost):
            return self.current, routed
        return world, routed

    def body_limit(self, request: ApiRequest) -> int | None:
        """Return the body limit in bytes (gap body_limit), or 0 for a refused head. This does not count the request."""
        world, routed = self.world_of(request)
        with world.lock:
            rules = world.store.rules
            limit: int | None = rules.policies.body_limit
            if world.mutant is not None:
                return limit  # a mutant may accept an invalid key or body
            route = rules.route(routed.method, routed.target)
            if route.operation is None or world.refused_key(routed):
                return 0
            if route.refusal is not None and routed.header("expect") is not None:
                return 0  # other clients send the body anyway, and its violations belong to the same response
            if route.operation.body is not None and validate_head(rules, routed):
                return 0
            return limit

    def generation(self) -> _Generation:
        """Return a token for the state of the current world, which gets requests without a key."""
        world = self.current
        return _Generation(world, world.generation, world.owner)

    def refuse(self, condition: str, detail: str, request: ApiRequest, generation: object = None) -> Response:
        """Refuse an incomplete or malformed request. Without a key it belongs to the world in which it began."""
        refusal = Refusal(condition, detail=detail)
        world, routed = self.resolve(request)
        if isinstance(world, Lost):
            return self._turn_away(routed, world)
        has_own_world = routed.mount or routed.fields.bearer[0] in world.keys
        if isinstance(generation, _Generation) and not has_own_world:
            world = generation.world
            if world.generation != generation.number:
                return self._turn_away(routed, Lost(refusal, generation.owner, f" ({condition})"))
        return pipeline.refuse(world, refusal, routed)

    def failed(self, error: BaseException, request: ApiRequest) -> Response:
        world, routed = self.world_of(request)
        return pipeline.refuse(world, pipeline.failure(world, error), routed)

    def connection_opened(self) -> TlsPlan | None:
        """Return the TLS fault that a new connection meets. The connection belongs to the current world."""
        if not self.host.tls:
            return None
        world = self.current
        with world.lock:
            fault = world.plan.choose("handshake", None, world.store.random)
        if fault is None:
            return None
        return TlsPlan(fault.kind, world.pending)

    def handshake_failed(self, reason: str) -> None:
        world = self.current
        with world.lock:
            world.journal.notes = [*world.journal.notes, reason][-_KEPT_NOTES:]
        self.noted(reason)


def _below_address(request: ApiRequest, root_path: str) -> ApiRequest:
    """Return a request to ``/w/NAME`` as its world sees it: the prefix is its ``mount``."""
    path, mark, query = request.target.partition("?")
    _, prefix, segment, *rest = path.split("/", 3)
    target = f"/{''.join(rest)}{mark}{query}"
    return changed(request, root_path=root_path, mount=f"/{prefix}/{segment}", target=target)


def whose(owner: str, *, present: bool) -> str:
    """Return a text that names the owner of a retired key and says how to fix its client."""
    if present and owner != NOBODY:
        owner = "an earlier world of this test"
    return f"{owner}, which has ended; a client of wider scope needs a fixed key: set petstore_api_key"
