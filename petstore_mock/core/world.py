"""A world: the state that one test sees. Store, keys, journal, fault plan, behaviour and clock, behind one lock."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.contract.behaviour import Behaviour
from petstore_mock.contract.strict_json import encode_json
from petstore_mock.contract.violations import member_path, no_such_name
from petstore_mock.core.clock import Clock
from petstore_mock.core.fault_plan import FaultPlan
from petstore_mock.core.keys import KeyIndex, KeyRing
from petstore_mock.core.rate_limit import RateLimiter
from petstore_mock.core.resettable_random import ResettableRandom
from petstore_mock.core.routing import Rules, rules_for
from petstore_mock.core.sample_pets import sample_category, sample_name, sample_pet
from petstore_mock.core.store import LARGEST_ID, Store, StoreSnapshot
from petstore_mock.core.visibility import HiddenAnimals
from petstore_mock.errors import PetStoreMockError
from petstore_mock.journal.journal import FIXTURE_LIMIT, Journal
from petstore_mock.messages.deferred import DeferredResponses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date, datetime

    from petstore_mock.contract.schemas import Schemas
    from petstore_mock.core.cors import Cors
    from petstore_mock.core.mutation import Mutation

__all__ = ["Snapshot", "World"]

_SHOWN_VIOLATIONS: Final = 20  # of an animal with thousands of wrong fields
_KEPT_ERRORS: Final = 100  # a bug of ours may meet each of a million requests
_PET_ORDER: Final = ("id", "name", "categoryId", "status")


class Snapshot:
    """A copy of a world's state, for ``restore``."""

    __slots__ = ("answered", "behaviour", "clock", "hidden", "keys", "random", "seeded", "store")

    def __init__(self, world: World, seeded: int) -> None:
        self.store: StoreSnapshot = world.store.snapshot()
        self.keys = world.keys.snapshot()
        self.behaviour = world.rules.behaviour
        self.clock = world.clock.snapshot()
        self.random = world.random.getstate()
        self.hidden = world.hidden.snapshot(world.journal.total)
        self.answered = world.rate_limiter.count
        self.seeded = seeded


def _as_id(pet_id: Any) -> int:  # noqa: ANN401  # checks whatever a test passes
    if isinstance(pet_id, bool) or not isinstance(pet_id, int):
        raise PetStoreMockError(f"expected an id as a whole number; got pet_id={pet_id!r} ({type(pet_id).__name__})")
    return pet_id


def _shown(pet_id: object) -> str:
    """Return an id for a sentence, into which Python writes no integer of thousands of digits."""
    return "a number of hundreds of digits" if isinstance(pet_id, int) and pet_id.bit_length() > 1000 else repr(pet_id)


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
        self.schemas = schemas
        self.start_behaviour = behaviour or Behaviour()
        self.rules: Rules = rules_for(self.start_behaviour, schemas)
        self.self_check = self_check
        self.owner: str | None = None  # who answers for it: a test, or the name of its address
        self.mutation: Mutation | None = None  # the clause that this service breaks on purpose
        self.cors: Cors | None = None  # which pages of other origins may use the service; its listener's
        self.store = Store()
        self.clock = Clock(at)
        self.journal = Journal(journal_limit, ring=ring, keys=self.secrets, schemas=schemas)
        self.plan = FaultPlan(self.lock, schemas)
        self.deferred = DeferredResponses()  # other ones after each reset: what is held back then must not change it
        self.errors: list[BaseException] = []  # the fake's own failures, the first of them, for the verification
        self.hidden = HiddenAnimals()
        self.rate_limiter = RateLimiter()
        self.asked = 0.0  # when a request came to its address last, by RealTime.perf_counter()
        self.keys = KeyRing(self, index or KeyIndex())
        self.now = self.clock.now()  # the fake's time at the present request, asked for once
        self._seeded = 0
        self._start_seeded = 0
        self.random = ResettableRandom(random_seed)

    def secrets(self) -> tuple[str, ...]:
        """Return the keys, which are to be masked wherever they would show."""
        return tuple(self.keys)

    def note_error(self, error: BaseException) -> None:
        """Keep a failure of the fake itself for the verification; of many, the first."""
        if len(self.errors) < _KEPT_ERRORS:
            self.errors.append(error)

    # Going back

    def mark_start(self) -> None:
        """Make the animals now in the store those that :meth:`reset` returns to."""
        self.store.mark_start()
        self._start_seeded = self._seeded
        self.random.mark_start()

    def reset(self, keys: Iterable[str]) -> None:
        """Return to the starting state, with ``keys`` as the valid ones; held answers are let go."""
        with self.lock:
            self.store.reset()
            self._seeded = self._start_seeded
            self.rules = rules_for(self.start_behaviour, self.schemas)
            self.clock.reset()
            self.journal.clear()
            self.plan.clear()
            self.errors.clear()
            self.hidden.clear()
            self.keys.replace(keys)
            self.rate_limiter.count = 0
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
            return Snapshot(self, self._seeded)

    def restore(self, snapshot: Snapshot, current: str, lost: Iterable[str] = ()) -> None:
        """Return to a copy of the state. The journal and the faults stay; held answers are let go.

        Args:
            snapshot: the copy.
            current: the key that the world has by now; valid even if the copy is older than the key.
            lost: keys of the copy that are another world's by now.
        """
        with self.lock:
            self.store.restore(snapshot.store)
            self.rules = rules_for(snapshot.behaviour, self.schemas)
            self.clock.restore(snapshot.clock)
            self.random.setstate(snapshot.random)
            self.hidden.restore(snapshot.hidden, self.journal.total)
            self.rate_limiter.count = snapshot.answered
            self._seeded = snapshot.seeded
            self.keys.restore(snapshot.keys, current, lost)
            deferred, self.deferred = self.deferred, DeferredResponses()
        deferred.release()

    def set_behaviour(self, behaviour: Behaviour) -> None:
        """Behave otherwise from now on."""
        rules = rules_for(behaviour, self.schemas)
        with self.lock:
            self.rules = rules

    # Animals

    def seed(self, pet: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Add one animal; validated by the schema alone. Returns it as a fresh dict.

        Raises:
            PetStoreMockError: a field is wrong, or the id is taken.
        """
        if pet is not None and not hasattr(pet, "keys"):
            raise PetStoreMockError(f"expected an animal as a mapping; got pet={pet!r} ({type(pet).__name__})")
        given = {**(pet or {}), **fields}
        with self.lock:
            number = self._seeded + 1
            document = {
                "id": given["id"] if "id" in given else self.assign_id(),
                "name": given["name"] if "name" in given else sample_name(number),
                "categoryId": given["categoryId"] if "categoryId" in given else sample_category(number),
                **{name: value for name, value in given.items() if name not in {"id", "name", "categoryId"}},
            }
            self._check_animal(document, "seed")
            if document["id"] in self.store:
                raise PetStoreMockError(f"expected an id that is free; got id={document['id']}, which is taken")
            self.store.put(document)
            self._seeded = number
        return document

    def seeding(self) -> tuple[int, int, tuple[Any, ...]]:
        """Return where seeding stands, for :meth:`take_back`."""
        return self.store.last, self._seeded, self.random.getstate()

    def take_back(self, ids: Iterable[int], seeding: tuple[int, int, tuple[Any, ...]]) -> None:
        """Take out again what was seeded since; as if it had never been."""
        for pet_id in ids:
            self.store.remove(pet_id)
        self.store.last, self._seeded, random = seeding
        self.random.setstate(random)

    def seed_sample(self) -> dict[str, Any]:
        """Add a plausible animal, the next of those of every status, and return it."""
        with self.lock:
            self._seeded += 1
            pet = {"id": self.assign_id(), **sample_pet(self._seeded)}
            if not self.schemas.accepts("Pet", pet):  # those that ship do
                self._check_animal(pet, "seed_many")
            self.store.put(pet)
        return pet

    def _check_animal(self, document: dict[str, Any], call: str) -> None:
        try:
            validated = self.schemas.validate("Pet", document, call)
        except ValueError:  # Python writes no integer of thousands of digits into any sentence
            raise PetStoreMockError(
                f"expected an animal that Pet.json allows (§2); got a number of thousands of digits in {call}(): "
                "id and categoryId are int64, of 19 digits at most"
            ) from None
        violations = [str(one) for one in validated]
        known = self.schemas.properties("Pet")
        if not any(one.rule == "additionalProperties" for one in validated):  # Pet.json leaves them to the behaviour
            violations += [
                f"{member_path(call, str(name))} {no_such_name(str(name), known, 'field of Pet')}"
                for name in document
                if name not in known
            ]
        if not violations:
            violations += [
                f"{member_path(call, name)} {problem}" for name in document if (problem := _unwritable(document[name]))
            ]
        if violations:
            more = len(violations) + validated.omitted - _SHOWN_VIOLATIONS
            shown = [*violations[:_SHOWN_VIOLATIONS], *([f"and {more} more"] if more > 0 else [])]
            raise PetStoreMockError(f"expected an animal that Pet.json allows (§2): {'; '.join(shown)}")

    def update(self, pet_id: int, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Change an animal as another actor would (§3); ``status=None`` takes the status away.

        Raises:
            PetStoreMockError: there is no such animal, or a field is wrong.
        """
        with self.lock:
            body = self.store.get(_as_id(pet_id))
            if body is None:
                raise PetStoreMockError(f"expected the id of an animal in the store; got pet_id={_shown(pet_id)}")
            if fields.get("id", pet_id) != pet_id:
                came = _shown(fields["id"])
                raise PetStoreMockError(f"expected the id to stay (§2: assigned on creation); got id={came}")
            document = {**self.document(body), **fields}
            if document.get("status", "") is None:
                del document["status"]
            document = {name: document[name] for name in (*_PET_ORDER, *document) if name in document}
            self._check_animal(document, "update")
            self.store.put(document)
        return document

    def remove(self, pet_id: int) -> None:
        """Take an animal out as another actor would (§3).

        Raises:
            PetStoreMockError: there is no such animal.
        """
        with self.lock:
            if not self.store.remove(_as_id(pet_id)):
                raise PetStoreMockError(f"expected the id of an animal in the store; got pet_id={_shown(pet_id)}")
            self.hidden.discard(pet_id)

    @staticmethod
    def document(body: bytes) -> dict[str, Any]:
        """Return a fresh dict of an animal's bytes."""
        document: dict[str, Any] = json.loads(body)
        return document

    def assign_id(self) -> int:
        """Return a free id, as the behaviour assigns them (§2, gap id_assignment)."""
        store = self.store
        candidate = self.rules.policies.id_assignment(store.last, self.random)
        if candidate <= LARGEST_ID and candidate not in store:
            return candidate
        for _ in range(8):
            candidate = self.random.randint(1, LARGEST_ID)
            if candidate not in store:
                return candidate
        return store.lowest_free_id()


def _unwritable(value: object) -> str:
    """Say why no JSON text can hold ``value``; empty when one can."""
    try:
        if type(value) is str:
            value.encode("utf-8")
        elif type(value) is not int or value.bit_length() > 64:
            encode_json(value)
    except UnicodeEncodeError:
        return "must not hold a lone surrogate, which UTF-8 can't carry"
    except (TypeError, ValueError, RecursionError) as error:
        return f"must be a JSON value; {error}"
    return ""
