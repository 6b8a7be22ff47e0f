"""The world, which is the state that one test sees, and the host, which holds the shared state of a listener."""

from __future__ import annotations

import secrets
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from petstore_mock.common.real import RLock, perf_counter
from petstore_mock.common.refusing import Stays, refuse, shown
from petstore_mock.common.values import without
from petstore_mock.core.fault_plan import FaultPlan
from petstore_mock.core.mutants import mutants
from petstore_mock.core.options import KEPT_REQUESTS, MAX_WORLDS, Start, checked_keys, own_start, start_of
from petstore_mock.core.refusals import ProblemError
from petstore_mock.core.routing import rules_for
from petstore_mock.core.store import Store, read_seed
from petstore_mock.core.verification import Verification
from petstore_mock.http.cors import NO_PAGES, Cors
from petstore_mock.http.handler import Pending
from petstore_mock.journal.exchange import Exchange
from petstore_mock.journal.journal import KEPT, Journal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from petstore_mock.http.request import ApiRequest

NOBODY: Final = "an earlier world"  # the owner of a key that was issued to no test
_REMEMBERED: Final = 4 * 1024 * 1024  # bytes of names and keys of ended worlds; a stub may run for months
_REMEMBERED_WEIGHT: Final = 200  # bytes that an entry takes besides its texts
_KEPT_SNAPSHOTS: Final = 256 * 1024 * 1024  # bytes of the snapshots that the door keeps of one world
_KEPT_ERRORS: Final = 100  # a `when=` may raise at each of a million requests
_KEY_WEIGHT: Final = 200  # bytes
_KEPT_KEYS: Final = 1_000  # of one world; a further key retires the oldest revoked one

WorldEvent = Literal["made", "reset", "cleared", "ended", "request"]


class Key(NamedTuple):
    """A key of a world (§5), kept from its issue until another test gets the world."""

    name: str
    expires: float | None = None  # when it becomes invalid, in seconds since 1970 by the fake's clock
    revoked: str = ""  # the condition that refuses it after its revocation


@dataclass(eq=False)
class Host:
    """The state that worlds share: facts about the listener, the index of keys, and watchers.

    Several worlds may have the same key. Then only an address identifies the world.
    """

    tls: bool = False
    cors: Cors = NO_PAGES  # the origins whose pages may use the service
    own_certificate: bool = False  # whether the user passed a certificate, which the fake can't make invalid
    public_url: str = ""  # the address of the service behind a proxy; empty: use the request's address
    has_door: bool = False  # whether a control door makes worlds
    max_worlds: int = MAX_WORLDS  # at /w/NAME
    ttl: float | None = None  # seconds without a request after which a world at /w/NAME ends
    keep: int | None = None  # requests that each journal keeps; None for the default
    # Closes all idle connections, or those with given numbers. With ``busy=True``, also busy ones after their response.
    close_connections: Callable[..., object] = lambda *_, **__: None
    at_end: Callable[[World], object] = lambda _: None  # called with a world before its reset or end
    # Called in the thread of each event, with the exchange of a new or a finished request.
    # A watcher must be quick and must not raise.
    watchers: list[Callable[[World, WorldEvent, Exchange | None], object]] = field(default_factory=list[Any])
    by_key: dict[str, list[World]] = field(default_factory=dict[str, Any])
    # The owners of retired keys, and of addresses such as /w/NAME.
    retired: dict[str, str] = field(default_factory=dict[str, str])
    retired_bytes: int = 0
    # Two processes must not issue the same key.
    _prefix: str = field(default_factory=lambda: f"petstore-{secrets.token_hex(4)}-")
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    # For the index of keys. The callers hold locks of different worlds. The code behind this lock takes no other.
    _lock: RLock = field(default_factory=RLock)

    def announce(self, world: World, event: WorldEvent, exchange: Exchange | None = None) -> None:
        for watcher in tuple(self.watchers):
            watcher(world, event, exchange)

    def new_key(self) -> str:
        return f"{self._prefix}{next(self._numbers):06d}"

    def hold(self, key: str, world: World) -> None:
        with self._lock:
            self.by_key[key] = [*self.by_key.get(key, ()), world]
            self.forget(key)

    def retire(self, key: str, world: World) -> None:
        with self._lock:
            others = without(self.by_key[key], world)
            if others:
                self.by_key[key] = others
            else:
                # In this order, because requests look up a key without the lock: first its worlds, then its owner.
                self.remember(key, world.owner)
                del self.by_key[key]

    def remember(self, what: str, owner: str | None) -> None:
        """Store the owner of a key or an address as the newest entry."""
        with self._lock:
            self.forget(what)
            owner = owner or NOBODY
            self.retired[what] = owner
            self.retired_bytes += _weight_of(what, owner)
            while self.retired_bytes > _REMEMBERED:
                self.forget(next(iter(self.retired)))

    def forget(self, what: str) -> None:
        """Forget the owner of a key or an address, which has a new one."""
        with self._lock:
            owner = self.retired.pop(what, None)
            if owner is not None:
                self.retired_bytes -= _weight_of(what, owner)


def _weight_of(what: str, owner: str) -> int:
    return len(what) + len(owner) + _REMEMBERED_WEIGHT


@dataclass(frozen=True, slots=True)
class Snapshot(Stays):
    """A copy of the state of a world: animals, randomness, behaviour, clock and keys."""

    store: Store
    keys: Mapping[str, Key]
    weight: int = 0  # about how many bytes of memory it takes, if the door keeps it


class World:
    """The state that one test sees: animals, keys, journal, fault plan, behaviour and clock, behind one lock."""

    store: Store

    def __init__(
        self,
        host: Host,
        options: Mapping[str, object],
        *,
        name: str | None = None,
        owner: str | None = None,
        keys: tuple[str, ...] = (),
    ) -> None:
        self.host = host
        self.name = name  # of its address /w/NAME; None at the root
        self.owner = owner or name  # the test that it belongs to
        self.lock = RLock()  # re-entrant: a `when=` of the test may read the store
        self.keys: dict[str, Key] = {}  # revoked ones too
        usual_limit = KEPT if name is None else KEPT_REQUESTS
        self.journal = Journal(host.keep or usual_limit, self.secrets)
        self.journal.listen(lambda exchange: host.announce(self, "request", exchange))
        self.errors: deque[BaseException] = deque(maxlen=_KEPT_ERRORS)  # for the verification
        self.plan = FaultPlan(self.lock, self.errors)
        self.pending = Pending()  # the held responses; a reset replaces the object
        self.verification = Verification(self.lock, self.journal, self.plan, self.secrets, self.errors)
        self.snapshots: dict[int, Snapshot] = {}  # those that the door keeps, by number
        self.snapshot_numbers = count(1)
        self.visitors = 0  # open waits and streams
        self.generation = 0  # changes with each reset and at the end
        self.asked = perf_counter()  # when the last request to its address arrived
        self._lasting_keys: tuple[str, ...] = keys
        self.remake(options)
        if name is None:
            self._lasting_keys = self._base.keys

    # The starting state

    def remake(self, options: Mapping[str, object]) -> None:
        """Begin a test with ``options``; wrong ones change nothing. By default, the root world keeps its fixed keys."""
        with self.lock:
            start = start_of(options, self._lasting_keys)
            for key in checked_keys("api_key", start.keys):
                self._require_own(key)
            origin = Snapshot(Store(rules_for(start.behaviour), start.random_seed), {})
            origin.store.fill(start.seed)
            self.made = perf_counter()
            self._base = start
            self._origin = origin
            self._begin(start)

    def renew(self, owner: str | None, **own: Any) -> None:  # the options of own_start
        """Begin another test: the starting state with its ``own`` options, and a new or a fixed key."""
        start = own_start(self._base, own)
        start = start._replace(added=read_seed(start.added))
        with self.lock:
            self._begin(start)
            self.owner = owner
        self.host.announce(self, "made")

    def _begin(self, start: Start) -> None:
        self.start = start
        self._give_keys()
        self.go_back()
        self.snapshots.clear()
        self.verification.forget()

    def _require_own(self, key: str) -> None:
        """At the root, refuse a key of another world. The error hides the key."""
        others = {*self.host.by_key.get(key, ())} - {self}
        if self.name is None and others:
            refuse("expected an API key that no other world behind this listener has; got one that is taken")

    def go_back(self) -> None:
        """Return to the starting state, and revoke issued keys. The caller holds the lock."""
        start = self.start
        self.generation += 1
        self._restore(self._origin)
        self.store.rules = rules_for(start.behaviour)
        if start.at is not None:
            self.store.change_time(moment=start.at)
        self.journal.clear()
        self.plan.clear()
        self.errors.clear()
        self.verification.strict = start.strict
        self.mutant = None if start.mutant is None else mutants()[start.mutant]
        self.store.fill(start.added)

    def release(self) -> None:
        pending = self.pending
        self.pending = Pending()
        pending.release()

    def close(self) -> None:
        """End the world: retire its keys, and release its held responses."""
        with self.lock:
            self.host.at_end(self)
            self.generation += 1
            for key in tuple(self.keys):
                self._retire(key)
            self.release()
            self.journal.wake()
        self.host.announce(self, "ended")

    def drop(self) -> None:
        """Drop the contents of an ended world. Its reference cycles would keep them until a garbage collection."""
        with self.lock:
            self.start = self._base = self._base._replace(seed=None, added=None)
            self.store = Store(self.store.rules)
            self._origin = Snapshot(self.store, {})
            self.snapshots.clear()
            self.journal.clear()

    # Copies

    def snapshot(self) -> Snapshot:
        """Return a copy of the state. Journal and faults are not part of it."""
        with self.lock:
            return Snapshot(self.store.copy(), self.keys.copy())

    def keep_snapshot(self) -> int:
        """Take a snapshot for the door, and return its number. The caller holds the lock."""
        weight = self.store.weight() + _KEY_WEIGHT * len(self.keys)
        if sum(other.weight for other in self.snapshots.values()) + weight > _KEPT_SNAPSHOTS:
            most = _KEPT_SNAPSHOTS >> 20
            raise ProblemError(f"expected snapshots of together at most {most} MiB; got one more: delete some", 507)
        number = next(self.snapshot_numbers)
        self.snapshots[number] = replace(self.snapshot(), weight=weight)
        return number

    def restore(self, snapshot: object) -> None:
        """Return to a copy of the state. Revoke keys that were issued later, except the world's own keys."""
        if not isinstance(snapshot, Snapshot):
            refuse(f"expected a snapshot from snapshot(); got {shown(snapshot)}")
        with self.lock:
            self._restore(snapshot)

    def _restore(self, snapshot: Snapshot) -> None:
        self.store = snapshot.store.copy()
        for name in self.keys:
            revoked = "" if name in self._start_keys else "revoked_key"
            self.keys[name] = snapshot.keys.get(name, Key(name, revoked=revoked))
        self.release()

    # Keys (§5). The caller holds the lock.

    def secrets(self) -> tuple[str, ...]:
        return tuple(self.keys)

    def _give_keys(self) -> None:
        """Give the world the keys of its starting state, or a new key. Retire the keys of its former owner."""
        names = self.start.keys or (self.host.new_key(),)
        for name in tuple(self.keys):
            if name not in names:
                self._retire(name)
        for name in names:
            if name not in self.keys:
                self.add_key(name)
        self._start_keys = names
        self.key = names[0]  # the world's own, valid from the start on

    def add_key(self, name: str, expires: float | None = None) -> None:
        self.keys[name] = Key(name, expires)
        self.host.hold(name, self)
        if len(self.keys) > _KEPT_KEYS:
            revoked = [key.name for key in self.keys.values() if key.revoked]
            for oldest in revoked[:1]:
                self._retire(oldest)

    def _retire(self, name: str) -> None:
        del self.keys[name]
        self.host.retire(name, self)

    def key_problem(self, key: Key) -> str:
        """Return the condition that refuses a key now; empty if it is valid."""
        has_expired = key.expires is not None and self.store.now() >= key.expires
        if has_expired and not key.revoked:
            return "expired_key"
        return key.revoked

    def refused_key(self, request: ApiRequest) -> str:
        """Return the condition that refuses the key of a request; empty if the key is valid."""
        name, problem = request.fields.bearer
        key = self.keys.get(name or "")
        if key is not None:
            return self.key_problem(key)
        return problem or "unknown_key"

    def use_key(self, request: ApiRequest) -> None:
        """Count the use of a key. The key that was used first may rotate (gap key_rotation)."""
        name = request.fields.bearer[0]
        store = self.store
        rotates = store.rules.policies.key_rotation
        if name is None or name not in self.keys:  # a mutant accepted it
            return
        store.first_key = store.first_key or name
        if name != store.first_key:
            return
        store.first_key_uses += 1
        if rotates is not None and rotates(store.first_key_uses + 1):
            self.keys[name] = self.keys[name]._replace(revoked="rotated_key")

    def begin(self, request: ApiRequest) -> Exchange:
        """Return the exchange of a request that has arrived. The caller holds the lock."""
        self.store.turn += 1
        exchange = Exchange(self.journal.total + 1, self.owner, request, self.store.now())
        exchange.secure = self.host.tls
        return exchange
