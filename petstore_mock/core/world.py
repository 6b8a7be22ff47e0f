"""A world: the state that one test sees. Animals, keys, journal, fault plan, behaviour and clock, behind one lock."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from petstore_mock.common.bounded import Firsts
from petstore_mock.contract.behaviour import Behaviour
from petstore_mock.core.animals import Animals
from petstore_mock.core.clock import Clock
from petstore_mock.core.fault_plan import FaultPlan
from petstore_mock.core.keys import KeyIndex, KeyRing
from petstore_mock.core.resettable_random import ResettableRandom
from petstore_mock.core.routing import Rules, rules_for
from petstore_mock.journal.journal import FIXTURE_LIMIT, Journal
from petstore_mock.messages.deferred import DeferredResponses

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime

    from petstore_mock.contract.schemas import Schemas
    from petstore_mock.core.cors import Cors
    from petstore_mock.core.mutation import Mutation

__all__ = ["Snapshot", "World"]

_KEPT_ERRORS: Final = 100  # a bug of ours may meet each of a million requests


class Snapshot:
    """A copy of a world's state, for ``restore``."""

    __slots__ = ("animals", "behaviour", "clock", "keys", "random", "valid_requests")

    def __init__(self, world: World) -> None:
        self.animals = world.animals.snapshot()
        self.keys = world.keys.snapshot()
        self.behaviour = world.rules.behaviour
        self.clock = world.clock.snapshot()
        self.random = world.random.getstate()
        self.valid_requests = world.valid_requests


class World:
    """The state that one test sees.

    Args:
        schemas: the rules of bodies and parameters.
        behaviour: what the fake does where the interface shows nothing.
        at: the fake's date at the start.
        random_seed: seeds everything that is drawn.
        self_check: hold the fake's own answers against the schemas.
        journal_limit: how many requests the journal keeps.
        ring: whether older ones may go silently.
        index: the keys of all worlds behind the same listener.
    """

    # There may be ten thousand, asked in turn: each object more that a request comes by is a wait for the memory.
    __slots__ = (
        "animals",
        "answers",
        "asked",
        "clock",
        "cors",
        "deferred",
        "errors",
        "journal",
        "keys",
        "lock",
        "mutation",
        "owner",
        "plan",
        "random",
        "rules",
        "self_check",
        "start_behaviour",
        "valid_requests",
    )

    def __init__(  # the starting state, each part by its name
        self,
        schemas: Schemas,
        *,
        behaviour: Behaviour | None = None,
        at: str | date | datetime | None = None,
        random_seed: int = 0,
        self_check: bool = False,
        journal_limit: int = FIXTURE_LIMIT,
        ring: bool = False,
        index: KeyIndex | None = None,
    ) -> None:
        self.lock = threading.RLock()  # re-entrant: a `when` predicate may look at the store
        self.start_behaviour = behaviour or Behaviour()
        self.rules: Rules = rules_for(self.start_behaviour, schemas)
        self.self_check = self_check
        self.owner: str | None = None  # who answers for it: a test, or the name of its address
        self.mutation: Mutation | None = None  # the clause that this service breaks on purpose
        self.cors: Cors | None = None  # which pages of other origins may use the service; its listener's
        self.clock = Clock(at)
        self.journal = Journal(journal_limit, ring=ring, keys=self.secrets, schemas=schemas)
        self.plan = FaultPlan(self.lock, schemas)
        self.deferred = DeferredResponses()  # other ones after each reset: what is held back then must not change it
        self.errors: Firsts[BaseException] = Firsts(_KEPT_ERRORS)  # the fake's own failures, for the verification
        self.animals = Animals(self)
        self.answers = self.animals.store.answers  # nearly every request asks for one of them, and for no animal
        self.valid_requests = 0  # so far (gap rate_limit)
        self.asked = 0.0  # when a request came to its address last, by RealTime.perf_counter()
        self.keys = KeyRing(self, index or KeyIndex())
        self.random = ResettableRandom(random_seed)

    @property
    def schemas(self) -> Schemas:
        """The rules of bodies and parameters."""
        return self.rules.schemas

    def secrets(self) -> tuple[str, ...]:
        """Return the keys, which are to be masked wherever they would show."""
        return self.keys.names

    def limits_rate_within(self, requests: int) -> bool:
        """Say whether one of the next ``requests`` is refused for its number (gap ``rate_limit``); counts nothing."""
        limit, now = self.rules.policies.rate_limit, self.clock.present
        ahead = range(self.valid_requests + 1, self.valid_requests + requests + 1)
        return limit is not None and any(limit(number, now) is not None for number in ahead)

    # Going back

    def mark_start(self) -> None:
        """Make the animals now in the store those that :meth:`reset` returns to."""
        self.animals.mark_start()
        self.random.mark_start()

    def reset(self, keys: Iterable[str]) -> None:
        """Return to the starting state, with ``keys`` as the valid ones; held answers are let go."""
        with self.lock:
            self.animals.reset()
            if self.rules.behaviour is not self.start_behaviour:  # to look rules up takes the hash of every gap
                self.rules = rules_for(self.start_behaviour, self.schemas)
            self.clock.reset()
            self.journal.clear()
            self.plan.clear()
            self.errors.clear()
            self.keys.replace(keys)
            self.valid_requests = 0
            self.random.reset()
            deferred, self.deferred = self.deferred, DeferredResponses()
        deferred.release()

    def let_go(self) -> None:
        """Let every held answer go; the state stays, and what they were to commit is not."""
        with self.lock:
            deferred, self.deferred = self.deferred, DeferredResponses()
        deferred.release()

    def snapshot(self) -> Snapshot:
        """Return a copy of the state: animals, keys, behaviour, clock and randomness."""
        with self.lock:
            return Snapshot(self)

    def restore(self, snapshot: Snapshot, current: str, lost: Iterable[str] = ()) -> None:
        """Return to a copy of the state. The journal and the faults stay; held answers are let go.

        Args:
            snapshot: the copy.
            current: the key that the world has by now; valid even if the copy is older than the key.
            lost: keys of the copy that are another world's by now.
        """
        with self.lock:
            self.animals.restore(snapshot.animals)
            self.rules = rules_for(snapshot.behaviour, self.schemas)
            self.clock.restore(snapshot.clock)
            self.random.setstate(snapshot.random)
            self.valid_requests = snapshot.valid_requests
            self.keys.restore(snapshot.keys, current, lost)
            deferred, self.deferred = self.deferred, DeferredResponses()
        deferred.release()

    def set_behaviour(self, behaviour: Behaviour) -> None:
        """Behave otherwise from now on."""
        rules = rules_for(behaviour, self.schemas)
        with self.lock:
            self.rules = rules
