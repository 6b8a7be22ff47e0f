"""The worlds by address of one listener: made, found and ended by name, within bounds."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Unpack

from petstore_mock.common.real_time import RealTime
from petstore_mock.core.tenant import Tenant, WorldEvent, WorldOptions
from petstore_mock.core.world_registry import DEFAULT_WORLD, check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock.journal.entry import Entry
    from petstore_mock.journal.waiting import Announcer

__all__ = ["KEPT_REQUESTS", "MAX_WORLDS", "FullError", "Tenants"]

MAX_WORLDS: Final = 10_000
KEPT_REQUESTS: Final = 1_000  # of each world: a test looks back on its own few


class FullError(Exception):
    """There are as many worlds as there may be."""


class Tenants:
    """The worlds of one listener by name: the default one at the root, and those at ``/w/NAME``. Thread-safe.

    Args:
        default: the world at the root.
        max_worlds: how many others there may be.
        ttl: seconds after which one that nobody asked is over; None for never.
        kept_requests: how many requests the journal of each of the others keeps.
        listener: called with each request of the others; it must be quick.

    Attributes:
        default: the world at the root.
    """

    def __init__(
        self,
        default: Tenant,
        *,
        max_worlds: int = MAX_WORLDS,
        ttl: float | None = None,
        kept_requests: int = KEPT_REQUESTS,
        listener: Callable[[Entry], object] | None = None,
    ) -> None:
        self.default = default
        default.at_change = self._tell
        self._listener = listener
        self._max_worlds = max_worlds
        self._ttl = ttl
        self._kept_requests = kept_requests
        self._named: dict[str, Tenant] = {}
        self._lock = threading.RLock()
        self._watchers: tuple[Callable[[Tenant, WorldEvent], None], ...] = ()

    def __len__(self) -> int:
        return len(self._named) + 1

    def __iter__(self) -> Iterator[Tenant]:
        """Give every tenant, the default one first, as of one moment."""
        with self._lock:
            return iter((self.default, *self._named.values()))

    def find(self, name: str) -> Tenant | None:
        """Return the tenant of a name; to ask for it keeps it alive."""
        if name == DEFAULT_WORLD:
            return self.default
        tenant = self._named.get(name)
        if tenant is not None:
            tenant.world.asked = RealTime.perf_counter()
        return tenant

    def is_over(self, name: str) -> bool:
        """Say whether there was a world of that name by address, and is none any more."""
        return self.default.worlds.is_over(name)

    def make(self, name: str, **options: Unpack[WorldOptions]) -> tuple[Tenant, bool]:
        """Make the world of a name, or make it anew; say whether there was none.

        Raises:
            PetStoreMockError: the name or an option can't be right; nothing has changed then.
            FullError: there are as many as there may be.
        """
        with self._lock:
            tenant = self.default if name == DEFAULT_WORLD else self._named.get(check_name(name))
            made = tenant is None
            if tenant is not None:
                tenant.make_anew(**options)
            else:
                if len(self._named) >= self._max_worlds:
                    self.expire()  # not each time: it looks at every world, and who serves calls it now and then
                if len(self._named) >= self._max_worlds:
                    raise FullError(f"expected at most {self._max_worlds} worlds; end some, or raise --max-worlds")
                default = self.default
                options = {"self_check": default.world.self_check, **options}
                tenant = self._named[name] = Tenant(
                    default.worlds,
                    default.world.schemas,
                    name=name,
                    journal_limit=self._kept_requests,
                    ring=True,
                    listener=self._listener,
                    **options,
                )
                tenant.at_change = self._tell
                self._tell(tenant, "made")
            tenant.world.asked = RealTime.perf_counter()
            return tenant, made

    def end(self, tenant: Tenant) -> None:
        """End a world by address; harmless when it is over."""
        with self._lock:
            if tenant.name is None or self._named.get(tenant.name) is not tenant:
                return
            del self._named[tenant.name]
            tenant.end()

    def end_all(self) -> None:
        """End every world but the default one."""
        for tenant in tuple(self._named.values()):
            self.end(tenant)

    def expire(self) -> list[str]:
        """End the worlds that nobody asked for too long, and return their names."""
        if self._ttl is None:
            return []
        due = RealTime.perf_counter() - self._ttl
        with self._lock:
            over = [tenant for tenant in self._named.values() if tenant.world.asked < due and not tenant.visitors]
            for tenant in over:
                self.end(tenant)
        return [tenant.name for tenant in over if tenant.name is not None]

    @contextmanager
    def visiting(self, tenant: Tenant) -> Iterator[None]:
        """Keep a world alive for a block: a wait or a stream asks as long as it lasts."""
        with self._lock:
            tenant.visitors += 1
        try:
            yield
        finally:
            with self._lock:
                tenant.visitors -= 1
                tenant.world.asked = RealTime.perf_counter()

    # Who watches

    def watch(self, watcher: Callable[[Tenant, WorldEvent], None]) -> None:
        """Call ``watcher`` with each event of a world; it must be quick and must not raise."""
        with self._lock:
            self._watchers = (*self._watchers, watcher)

    def unwatch(self, watcher: Callable[[Tenant, WorldEvent], None]) -> None:
        """Call ``watcher`` no more."""
        with self._lock:
            self._watchers = tuple(other for other in self._watchers if other != watcher)

    def _tell(self, tenant: Tenant, event: WorldEvent) -> None:
        for watcher in self._watchers:
            watcher(tenant, event)

    def announcer(self, tenant: Tenant) -> Announcer:
        """Return what tells a wait of each request of a world, and of what becomes of the world."""
        return _Announcer(self, tenant)


class _Announcer:
    """Tells of the requests of one world, and of its resets and its end."""

    def __init__(self, tenants: Tenants, tenant: Tenant) -> None:
        self._tenants = tenants
        self._tenant = tenant
        self._journal = tenant.world.journal

    def listen(self, listener: Callable[[Any], object]) -> None:
        def changed(tenant: Tenant, _: WorldEvent) -> None:
            if tenant is self._tenant:
                listener(None)

        self._changed = changed
        self._journal.listen(listener)
        self._tenants.watch(changed)

    def unlisten(self, listener: Callable[[Any], object]) -> None:
        self._tenants.unwatch(self._changed)
        self._journal.unlisten(listener)
