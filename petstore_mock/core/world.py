"""A world: the state that one test sees."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.real import RLock, perf_counter
from petstore_mock.common.refusing import Stays, refuse, shown
from petstore_mock.core.animals import Animals
from petstore_mock.core.clock import Time, moment_from
from petstore_mock.core.fault_plan import FaultHandle, FaultPlan
from petstore_mock.core.host import Key
from petstore_mock.core.options import own_start, start_of
from petstore_mock.core.refusals import NotFoundError
from petstore_mock.core.routing import Rules, rules_for
from petstore_mock.core.store import Store
from petstore_mock.core.verification import Verification
from petstore_mock.faults.fault import Fault, coerce
from petstore_mock.http.handler import Pending
from petstore_mock.interface.mutants import MUTANTS, Mutant
from petstore_mock.journal.journal import KEPT, Journal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from petstore_mock.core.host import Host
    from petstore_mock.interface.behaviour import Behaviour

_CERTIFICATES: Final = frozenset({"tls.expired", "tls.wrong_host", "tls.untrusted_root"})
_KEPT_ERRORS: Final = 100  # a `when=` may raise at each of a million requests
_KEPT_KEYS: Final = 1_000  # of one world; more of them retire the oldest revoked one


@dataclass(frozen=True, slots=True)
class Snapshot(Stays):
    """A copy of the state of a world: animals, randomness, behaviour, keys and clock."""

    store: Store
    rules: Rules
    keys: Mapping[str, Key]
    clock: tuple[float, float | None]  # how far ahead it is, and where it stands


class World:
    """The state that one test sees: animals, keys, journal, fault plan, behaviour and clock, behind one lock."""

    store: Store
    rules: Rules
    key: str  # the world's own, valid from the start on
    mutant: Mutant | None

    def __init__(
        self,
        host: Host,
        options: Mapping[str, Any],
        *,
        name: str | None = None,
        owner: str | None = None,
        keys: tuple[str, ...] = (),
        keep: int = KEPT,
    ) -> None:
        self.host = host
        self.name = name  # of its address /w/NAME; None at the root
        self.owner = owner or name  # the test that it belongs to
        self.lock = RLock()  # re-entrant: a `when=` of the test may read the store
        self.time = Time()
        self.keys: dict[str, Key] = {}  # revoked ones too
        self.journal = Journal(keep, self.secrets)
        self.journal.listen(lambda exchange: host.announce(self, "request", exchange))
        self.errors: deque[BaseException] = deque(maxlen=_KEPT_ERRORS)  # for the verification
        self.plan = FaultPlan(self.lock, self.errors)
        self.pending = Pending()  # the responses that are held back; a reset replaces it
        self.verification = Verification(self.lock, self.journal, self.plan, self.secrets, self.errors)
        self.snapshots: dict[int, Snapshot] = {}  # that a door keeps, by number
        self.snapshot_numbers = count(1)
        self.visitors = 0  # waits and streams
        self.generation = 0  # changes with each reset and at the end
        self.asked = 0.0  # when the last request came to its address, by perf_counter()
        self._lasting_keys: tuple[str, ...] = keys
        self._begin(options)
        if name is None:
            self._lasting_keys = self.start.keys

    # The starting state

    def _begin(self, options: Mapping[str, Any]) -> None:
        """Enter the starting state that ``options`` stand for. If they are wrong, nothing has changed."""
        start = start_of(options, self._lasting_keys)
        for number, key in enumerate(start.keys):
            self.host.check_key(key, self, shared=self.name is not None)
            if key in start.keys[:number]:
                refuse("expected each API key once; one of them came twice")
        self.made = perf_counter()
        store, rules = Store(start.random_seed), rules_for(start.behaviour)
        Animals(store, rules.policies.id_assignment).fill(start.seed)
        self._base = self.start = start
        self._origin = Snapshot(store, rules, {}, (0.0, None))
        self._give_keys()
        self._go_back()

    def remake(self, options: Mapping[str, Any]) -> None:
        """Become another test's world of ``options``. The world at the root keeps its first keys."""
        with self.lock:
            self._begin(options)
            self._begin_test()

    def renew(self, owner: str | None, **own: Any) -> None:  # noqa: ANN401  # those of own_start
        """Become the world of another test: the starting state with its ``own`` options, and a new or a fixed key."""
        start = own_start(self._base, own)
        with self.lock:
            self.start = start
            self._give_keys()
            self._go_back()
            self.owner = owner
            self._begin_test()

    def _begin_test(self) -> None:
        self.snapshots.clear()
        self.verification.forget()
        self.host.announce(self, "made")

    def reset(self) -> None:
        """Return to the starting state. Unreported problems are kept for the verification, issued keys are revoked."""
        with self.lock:  # a request that comes meanwhile meets the starting state
            self.verification.keep()
            self.host.at_end(self)
            self._go_back()
        self.host.announce(self, "reset")

    def _go_back(self) -> None:
        start = self.start
        self.generation += 1
        self._restore(self._origin)
        self.rules = rules_for(start.behaviour)
        self.time.restart(start.at)
        self.journal.clear()
        self.plan.clear()
        self.errors.clear()
        self.verification.strict = start.strict
        self.mutant = None if start.mutant is None else MUTANTS[start.mutant]
        self.animals.fill(start.added)

    def release(self) -> None:
        pending, self.pending = self.pending, Pending()
        pending.release()

    def close(self) -> None:
        """End the world: its keys are retired, and its held responses go out."""
        with self.lock:
            self.host.at_end(self)
            self.generation += 1
            for key in tuple(self.keys):
                self._retire(key)
            self.release()
        self.host.announce(self, "ended")

    # Copies

    def snapshot(self) -> Snapshot:
        """Return a copy of the state. Journal and faults are not part of it."""
        with self.lock:
            clock = self.time.offset, self.time.frozen
            return Snapshot(self.store.copy(), self.rules, self.keys.copy(), clock)

    def restore(self, snapshot: object) -> None:
        """Return to a copy of the state. Keys that were issued since are revoked; the world's own key is valid."""
        if not isinstance(snapshot, Snapshot):
            refuse(f"expected a snapshot, as snapshot() returns it; got {shown(snapshot)}")
        with self.lock:
            self._restore(snapshot)

    def _restore(self, snapshot: Snapshot) -> None:
        self.store, self.rules = snapshot.store.copy(), snapshot.rules
        self.time.offset, self.time.frozen = snapshot.clock
        for name in self.keys:
            former = Key(name, revoked="" if name in self._start_keys else "revoked_key")
            self.keys[name] = snapshot.keys.get(name, former)
        self.release()

    # Animals

    @property
    def animals(self) -> Animals:
        """What tests do to the animals. Hold the lock."""
        return Animals(self.store, self.rules.policies.id_assignment)

    # Keys (§5); hold the lock

    def secrets(self) -> tuple[str, ...]:
        return tuple(self.keys)

    def _give_keys(self) -> None:
        """Give the world the keys of its starting state, or a new one; those that it loses were its former owner's."""
        names = self.start.keys or (self.host.new_key(),)
        for name in [name for name in self.keys if name not in names]:
            self._retire(name)
        for name in names:
            if name not in self.keys:
                self._add_key(name)
        self._start_keys = names
        self.key = names[0]

    def _add_key(self, name: str, expires: float | None = None) -> None:
        self.keys[name] = Key(name, expires)
        self.host.hold(name, self)

    def _retire(self, name: str) -> None:
        del self.keys[name]
        self.host.retire(name, self, self.owner)

    def issue_key(self, expires: float | str | date | None = None) -> str:
        """Return a further valid key; ``expires`` is a number of seconds from now, or a moment."""
        until = None if expires is None else moment_from(self.time.now(), expires, "expires")
        name = self.host.new_key()
        self._add_key(name, until)
        if len(self.keys) > _KEPT_KEYS and (revoked := [key.name for key in self.keys.values() if key.revoked]):
            self._retire(revoked[0])
        return name

    def revoke_key(self, name: str) -> None:
        if name not in [*self.keys]:
            raise NotFoundError("expected a key of this world; got one that it never had")
        self.keys[name] = self.keys[name]._replace(revoked="revoked_key")

    def key_problem(self, key: Key) -> str:
        """Return the condition that refuses a key now; empty if it is valid."""
        if key.revoked:
            return key.revoked
        if key.expires is not None and self.time.now() >= key.expires:
            return "expired_key"
        rotates, store = self.rules.policies.key_rotation, self.store
        is_worn = rotates is not None and key.name == store.first_key and rotates(store.first_key_uses + 1)
        return "rotated_key" if is_worn else ""

    def use_key(self, key: Key) -> str:
        """Return the condition that refuses a key of a request; empty if it is valid. Counts the use."""
        problem, store = self.key_problem(key), self.store
        if not problem:
            store.first_key = store.first_key or key.name
            store.first_key_uses += key.name == store.first_key
        elif problem == "rotated_key":
            self.keys[key.name] = key._replace(revoked=problem)  # from the first use after its rotation on
        return problem

    # Faults, behaviour, requests

    def inject(self, fault: int | Fault, **rule: Any) -> FaultHandle:  # noqa: ANN401  # those of FaultHandle
        handle = FaultHandle(fault=coerce(fault), **rule)
        if handle.at == "handshake":
            self._check_handshakes(handle.fault)
        with self.lock:
            self.plan.add(handle, self.journal.total)
        if handle.at == "handshake":
            self.host.renew_connections()
        return handle

    def _check_handshakes(self, fault: Fault) -> None:
        if not self.host.tls:
            refuse(f"expected a service that speaks TLS for {fault}: turn its option tls on, as serve --tls does")
        if self.name is not None:
            refuse(
                f"expected the world at the root for {fault}; got {self.name!r}: a handshake names no world, so the "
                "fault would meet connections of other tests. Start a service of its own for this test"
            )
        if self.host.own_certificate and any(part.kind in _CERTIFICATES for part in fault.parts):
            refuse(f"expected --tls without a certificate of your own, which the fake can't spoil, for {fault}")

    @property
    def behaviour(self) -> Behaviour:
        return self.rules.behaviour

    def configure(self, behaviour: Behaviour | None, gaps: Mapping[str, Any]) -> None:
        """Behave otherwise until the next reset: as ``behaviour``, or as now, but for ``gaps``."""
        self.rules = rules_for((behaviour or self.behaviour).replace(**gaps))

    def clear_requests(self) -> None:
        """Forget the journal. The test still answers for its violations."""
        with self.lock:
            self.verification.keep_violations()
            self.journal.clear()  # numbers begin anew
            for handle in self.plan.in_force:
                handle.since = 0
        self.host.announce(self, "cleared")
