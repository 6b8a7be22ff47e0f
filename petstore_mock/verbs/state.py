"""Verbs for the state of a world: animals, faults, behaviour, clock, keys and snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from json import loads
from typing import Annotated, Any, Literal, TypedDict, Unpack

from petstore_mock.common.dates import iso, moment_of
from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import shown
from petstore_mock.core.refusals import NotFoundError
from petstore_mock.core.world import Snapshot, World
from petstore_mock.interface.behaviour import gap_register
from petstore_mock.verbs.verb import Count, Criteria, Keywords, OperationName, Positive, verb
from petstore_mock.verbs.worlds import WorldData, world_data

Pet = Annotated[Mapping[str, Any], Keywords("Animal")]
NewPet = Annotated[Mapping[str, Any], Keywords("NewAnimal")]
PetCount = Annotated[Mapping[str, int], Keywords("PetCount")]
PetChanges = Annotated[Mapping[str, Any], Keywords("AnimalChanges")]
FaultForm = Annotated[Any, Keywords("Fault")]  # a status, or a kind and its arguments
BehaviourData = Annotated[dict[str, str], Keywords("Behaviour")]
GapChoices = Annotated[Mapping[str, str], Keywords("GapChoices")]  # the alternative of each gap, and `preset`
Amounts = Annotated[Mapping[str, float], Keywords("Amounts")]  # for example {"minutes": 5}

# Animals


@verb("GET", "pets", member="pets", locks=False)
def list_pets(world: World) -> list[Pet]:
    """List the animals."""
    with world.lock:  # only the copy needs the lock
        bodies = world.store.bodies()
    return [loads(body) for body in bodies]


@verb("POST", "pets", 201, body="pets", member="pets")
def add_pets(world: World, pets: NewPet | list[NewPet] | PetCount) -> list[Pet]:
    """Add one animal, a list of animals, or a number of generated animals. Adds all or none."""
    if not is_object(pets):
        return [*world.animals.seed_each(pets)]
    return [*world.animals.seed_count(pets["count"], "count")] if {*pets} == {"count"} else [world.animals.add(pets)]


@verb("PATCH", "pets/{pet_id}", body="changes")
def change_pet(world: World, pet_id: int, changes: PetChanges) -> Pet:
    """Change an animal, as another actor of the store would. null removes a field."""
    return world.animals.update(pet_id, changes)


@verb("DELETE", "pets/{pet_id}", 204)
def remove_pet(world: World, pet_id: int) -> None:
    """Remove an animal, as another actor of the store would."""
    world.animals.remove(pet_id)


# Faults


class Rule(TypedDict, total=False):
    on: OperationName | None
    times: Positive | None
    after: Count
    at: Literal["before_commit", "after_commit"]
    probability: Annotated[float, Keywords(exclusiveMinimum=0, maximum=1)]
    off_contract: bool
    where: Criteria | None


class PlannedFault(Rule):
    id: Positive
    fault: FaultForm  # as it was sent
    hits: Count
    spent: bool
    why_not: str | None  # why the fault fired less often than planned


@verb("GET", "faults", member="faults")
def list_faults(world: World) -> list[PlannedFault]:
    """List the planned faults, including spent ones."""
    return [handle.to_data() for handle in world.plan.every]


@verb("POST", "faults", 201, locks=False)
def plan_fault(
    world: World, fault: FaultForm, when: Callable[[Any], object] | None = None, **rule: Unpack[Rule]
) -> PlannedFault:
    """Plan a fault."""
    planned: PlannedFault = world.inject(fault, when=when, **rule).to_data()
    return planned


@verb("DELETE", "faults", 204)
def cancel_faults(world: World) -> None:
    """Cancel every fault. The verification no longer expects any of them to fire."""
    world.plan.cancel_all()


@verb("DELETE", "faults/{fault_id}", 204)
def cancel_fault(world: World, fault_id: int, *, required: bool = False) -> None:
    """Cancel a fault."""
    handle = world.plan.get(fault_id)
    if handle is None:
        raise NotFoundError(f"expected the id of a planned fault; got {shown(fault_id)}")
    handle.cancel(required=required)  # if required, a fault that never fired remains a problem


# Behaviour and time


class ClockData(TypedDict):
    now: str
    frozen: bool


@verb("GET", "behaviour")
def show_behaviour(world: World) -> BehaviourData:
    """Return every gap with the chosen alternative."""
    return dict(world.behaviour)


@verb("PATCH", "behaviour", body="gaps")
def change_behaviour(world: World, gaps: GapChoices) -> BehaviourData:
    """Choose alternatives for gaps, or a preset with alternatives that override it."""
    world.configure(gaps)
    return dict(world.behaviour)


@verb("GET", "gaps")
def list_gaps(_: World) -> Annotated[dict[str, Any], Keywords("Gaps")]:
    """List the gaps, their alternatives and the presets."""
    return gap_register()


@verb("GET", "clock")
def show_clock(world: World) -> ClockData:
    """Return the fake's time."""
    return {"now": iso(world.time.now()), "frozen": world.time.frozen is not None}


@verb("PATCH", "clock")
def change_clock(
    world: World, travel_to: str | None = None, advance: Amounts | None = None, *, freeze: bool | None = None
) -> ClockData:
    """Change the clock: first travel to a moment, then advance, then freeze or run."""
    moment = None if travel_to is None else moment_of(travel_to, "travel_to")
    world.time.change(moment=moment, step=advance, freeze=freeze)
    return {"now": iso(world.time.now()), "frozen": world.time.frozen is not None}


# Keys and snapshots


class KeyData(TypedDict):
    api_key: str
    expires: str | None
    revoked: bool


@verb("GET", "keys", member="keys")
def list_keys(world: World) -> list[KeyData]:
    """List the API keys."""
    return [
        {
            "api_key": key.name,
            "expires": None if key.expires is None else iso(key.expires),
            "revoked": bool(world.key_problem(key)),
        }
        for key in world.keys.values()
    ]


@verb("POST", "keys", 201, member="api_key")
def issue_key(world: World, expires: float | str | None = None) -> str:
    """Issue another API key. It expires after a number of seconds, at a moment, or never."""
    return world.issue_key(expires)


@verb("DELETE", "keys/{api_key}", 204)
def revoke_key(world: World, api_key: str) -> None:
    """Revoke an API key."""
    world.revoke_key(api_key)


@verb("POST", "snapshots", 201, member="id")
def take_snapshot(world: World) -> Positive:
    """Take a snapshot of the state."""
    number = next(world.snapshot_numbers)
    world.snapshots[number] = world.snapshot()
    return number


@verb("POST", "snapshots/{snapshot_id}/restore")
def restore_snapshot(world: World, snapshot_id: int, origin: str = "") -> WorldData:
    """Restore the state of a snapshot."""
    world.restore(_snapshot(world, snapshot_id))
    return world_data(world, origin)


@verb("DELETE", "snapshots/{snapshot_id}", 204)
def drop_snapshot(world: World, snapshot_id: int) -> None:
    """Delete a snapshot."""
    _snapshot(world, snapshot_id)
    del world.snapshots[snapshot_id]


def _snapshot(world: World, number: int) -> Snapshot:
    found = world.snapshots.get(number)
    if found is None:
        raise NotFoundError(f"expected the id of a snapshot of this world; got {shown(number)}")
    return found
