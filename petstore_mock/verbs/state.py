"""Verbs about the state of a world: animals, faults, behaviour, clock, keys and copies."""

from __future__ import annotations

from collections.abc import Callable
from json import loads
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from petstore_mock.common.dates import iso, moment_of
from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import shown
from petstore_mock.core.fault_plan import FaultHandle
from petstore_mock.core.options import MOST_PETS
from petstore_mock.core.refusals import NotFoundError
from petstore_mock.core.world import World
from petstore_mock.faults.fault import coerce
from petstore_mock.interface.behaviour import Behaviour, gap_register
from petstore_mock.verbs.verb import (
    BehaviourData,
    Count,
    Criteria,
    FaultForm,
    GapChoices,
    GapsData,
    Keywords,
    NewPet,
    Nothing,
    OperationName,
    Pet,
    PetChanges,
    Positive,
    Share,
    WithOrigin,
    verb,
)
from petstore_mock.verbs.worlds import WorldData, world_data


class PetCount(TypedDict):
    count: Annotated[int, Keywords(minimum=0, maximum=MOST_PETS)]


class PetsData(TypedDict):
    pets: list[Pet]


class AddPets(TypedDict):
    pets: NewPet | list[NewPet] | PetCount


class ChangePet(TypedDict):
    pet_id: int
    changes: PetChanges


class PetId(TypedDict):
    pet_id: int


class Rule(TypedDict, total=False):
    on: OperationName | None
    times: Positive | None
    after: Count
    at: Literal["before_commit", "after_commit"]
    probability: Share
    off_contract: bool
    where: Criteria | None


class PlanFault(Rule):
    fault: FaultForm


class PlanFaultAtHome(PlanFault, total=False):
    when: Callable[[Any], object] | None  # only within the process


class FaultData(Rule):
    id: Positive
    fault: FaultForm  # as it was sent
    hits: Count
    spent: bool
    words: str  # the call that plans it
    why_not: str | None  # why it has not fired as often as planned


class FaultsData(TypedDict):
    faults: list[FaultData]


class CancelFault(TypedDict):
    fault_id: int
    required: NotRequired[bool]  # whether an unfired fault stays a problem


class ChangeBehaviour(TypedDict):
    gaps: GapChoices


class ClockData(TypedDict):
    now: str
    frozen: bool


class Amounts(TypedDict, total=False):
    days: float
    hours: float
    minutes: float
    seconds: float


class ChangeClock(TypedDict, total=False):
    travel_to: str
    advance: Amounts
    freeze: bool


class IssueKey(TypedDict, total=False):
    expires: float | str | None


class KeyData(TypedDict):
    api_key: str
    expires: str | None
    revoked: bool


class KeysData(TypedDict):
    keys: list[KeyData]


class IssuedKey(TypedDict):
    api_key: str


class RevokeKey(TypedDict):
    api_key: str


class SnapshotId(TypedDict):
    id: Positive


class SnapshotPath(WithOrigin):
    snapshot_id: int


# Animals


@verb("GET", "pets", locks=False)
def list_pets(world: World, _: Nothing) -> PetsData:
    """Show the animals."""
    with world.lock:  # for the copy alone
        bodies = world.store.bodies()
    return {"pets": [loads(body) for body in bodies]}


@verb("POST", "pets", 201, body="pets")
def add_pets(world: World, arguments: AddPets) -> PetsData:
    """Add an animal, several, or so many; all or none."""
    pets: Any = arguments["pets"]
    if is_object(pets) and set(pets) == {"count"}:
        return {"pets": [*world.animals.seed_count(pets["count"], "count")]}
    return {"pets": [world.animals.add(pets)] if is_object(pets) else [*world.animals.seed_each(pets)]}


@verb("PATCH", "pets/{pet_id}", body="changes")
def change_pet(world: World, arguments: ChangePet) -> Pet:
    """Change an animal as another actor would (§3); null takes a field away."""
    return world.animals.update(arguments["pet_id"], arguments["changes"])


@verb("DELETE", "pets/{pet_id}", 204)
def remove_pet(world: World, arguments: PetId) -> None:
    """Remove an animal as another actor would (§3)."""
    world.animals.remove(arguments["pet_id"])


# Faults


def _fault_data(handle: FaultHandle) -> FaultData:
    why_not = f"never fired: {handle.why_not()}" if handle.is_unfired else None
    return cast("FaultData", {**handle.to_data(), "words": str(handle), "why_not": why_not})


@verb("GET", "faults")
def list_faults(world: World, _: Nothing) -> FaultsData:
    """Show the planned faults, spent ones too."""
    return {"faults": [_fault_data(handle) for handle in world.plan.every]}


@verb("POST", "faults", 201, locks=False)
def plan_fault(world: World, arguments: PlanFaultAtHome) -> FaultData:
    """Plan a fault."""
    rule: dict[str, Any] = dict(arguments)
    handle = world.inject(coerce(rule.pop("fault")), **rule)
    handle.sent_as = arguments["fault"]
    return _fault_data(handle)


@verb("DELETE", "faults", 204)
def cancel_faults(world: World, _: Nothing) -> None:
    """Cancel every fault. None need fire any more."""
    world.plan.cancel_all()


@verb("DELETE", "faults/{fault_id}", 204)
def cancel_fault(world: World, arguments: CancelFault) -> None:
    """Cancel a fault."""
    handle = world.plan.get(arguments["fault_id"])
    if handle is None:
        ids = ", ".join(str(one.id) for one in world.plan.every[-10:]) or "none"
        raise NotFoundError(f"expected the id of a planned fault ({ids}); got {shown(arguments['fault_id'])}")
    handle.cancel(required=arguments.get("required", False))


# Behaviour and time


@verb("GET", "behaviour")
def show_behaviour(world: World, _: Nothing) -> BehaviourData:
    """Show every gap with its choice."""
    return dict(world.behaviour)


@verb("PATCH", "behaviour", body="gaps")
def change_behaviour(world: World, arguments: ChangeBehaviour) -> BehaviourData:
    """Choose alternatives for gaps, or a preset and alternatives that differ from it."""
    gaps = dict(arguments["gaps"])
    preset = gaps.pop("preset", None)
    world.configure(None if preset is None else Behaviour.preset(preset), gaps)
    return dict(world.behaviour)


@verb("GET", "gaps")
def list_gaps(_: World, __: Nothing) -> GapsData:
    """Show the register of gaps."""
    return gap_register()


def _clock_data(world: World) -> ClockData:
    return {"now": iso(world.time.now()), "frozen": world.clock.frozen}


@verb("GET", "clock")
def show_clock(world: World, _: Nothing) -> ClockData:
    """Show the fake's time."""
    return _clock_data(world)


@verb("PATCH", "clock")
def change_clock(world: World, arguments: ChangeClock) -> ClockData:
    """Travel to a moment, then move by a step, then stop or run on."""
    moment = arguments.get("travel_to")
    world.time.change(
        moment=None if moment is None else moment_of(moment, "travel_to"),
        step=arguments.get("advance"),  # type: ignore[arg-type]  # a TypedDict of floats is a mapping of them
        freeze=arguments.get("freeze"),
    )
    return _clock_data(world)


# Keys and copies


@verb("GET", "keys")
def list_keys(world: World, _: Nothing) -> KeysData:
    """Show the API keys."""
    keys: list[KeyData] = [
        {
            "api_key": key.name,
            "expires": None if key.expires is None else iso(key.expires),
            "revoked": bool(world.key_problem(key)),
        }
        for key in world.keys.values()
    ]
    return {"keys": keys}


@verb("POST", "keys", 201)
def issue_key(world: World, arguments: IssueKey) -> IssuedKey:
    """Issue a further API key; it expires after so many seconds, at a moment, or never."""
    return {"api_key": world.issue_key(arguments.get("expires"))}


@verb("DELETE", "keys/{api_key}", 204)
def revoke_key(world: World, arguments: RevokeKey) -> None:
    """Revoke an API key."""
    world.revoke_key(arguments["api_key"])


@verb("POST", "snapshots", 201)
def take_snapshot(world: World, _: Nothing) -> SnapshotId:
    """Keep a copy of the state."""
    number = next(world.snapshot_numbers)
    world.snapshots[number] = world.snapshot()
    return {"id": number}


@verb("POST", "snapshots/{snapshot_id}/restore")
def restore_snapshot(world: World, arguments: SnapshotPath) -> WorldData:
    """Return to a copy of the state."""
    world.restore(world.snapshots[_snapshot(world, arguments)])
    return world_data(world, arguments.get("origin", ""))


@verb("DELETE", "snapshots/{snapshot_id}", 204)
def drop_snapshot(world: World, arguments: SnapshotPath) -> None:
    """Forget a copy of the state."""
    del world.snapshots[_snapshot(world, arguments)]


def _snapshot(world: World, arguments: SnapshotPath) -> int:
    number = arguments["snapshot_id"]
    if number not in world.snapshots:
        raise NotFoundError(f"expected the id of a snapshot of this world; got {shown(number)}")
    return number
