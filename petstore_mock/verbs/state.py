"""Verbs for the state of a world: animals, faults, behaviour, clock, keys and snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from json import loads
from typing import Annotated, Any, Literal, TypedDict, Unpack

from petstore_mock.common.dates import LATEST, iso, moment_of
from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import refuse, require, shown
from petstore_mock.common.values import JsonObject, is_number
from petstore_mock.core.fault_plan import FaultHandle
from petstore_mock.core.refusals import NotFoundError
from petstore_mock.core.routing import rules_for
from petstore_mock.core.world import Snapshot, World
from petstore_mock.faults.fault import Fault, coerce
from petstore_mock.interface.behaviour import Behaviour, gap_register
from petstore_mock.verbs.verb import (
    Count,
    Criteria,
    Keywords,
    OperationName,
    Origin,
    Positive,
    Predicate,
    SharesPort,
    verb,
)
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
        animals = world.store.page(world.store.ids())
    return [*loads(animals)]


@verb("POST", "pets", 201, body="pets", member="pets")
def add_pets(world: World, pets: NewPet | list[NewPet] | PetCount) -> list[Pet]:
    """Add one animal, a list of animals, or a number of generated animals. Adds all or none."""
    if not is_object(pets):
        return [*world.store.seed_each(pets)]
    if {*pets} == {"count"}:
        return [*world.store.seed_count(pets["count"], "count")]
    return [world.store.add(pets)]


@verb("PATCH", "pets/{pet_id}", body="changes")
def change_pet(world: World, pet_id: int, changes: PetChanges) -> Pet:
    """Change an animal, as another actor of the store would. null removes an optional field."""
    return world.store.update(pet_id, changes)


@verb("DELETE", "pets/{pet_id}", 204)
def remove_pet(world: World, pet_id: int) -> None:
    """Remove an animal, as another actor of the store would."""
    world.store.remove(pet_id)


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
    world: World,
    fault: FaultForm,
    when: Predicate | None = None,
    *,
    shares_port: SharesPort = False,
    **rule: Unpack[Rule],
) -> PlannedFault:
    """Plan a fault."""
    handle = FaultHandle(fault=coerce(fault), sent_as=fault, when=when, **rule)
    if handle.at == "handshake":
        _check_handshakes(world, handle.fault, shares_port=shares_port)
    world.plan.add(handle)
    if handle.at == "handshake":
        world.host.close_connections(busy=True)  # clients must connect again
    planned: PlannedFault = handle.to_data()
    return planned


def _check_handshakes(world: World, fault: Fault, *, shares_port: bool) -> None:
    if not world.host.tls:
        refuse(f"expected a service with TLS for {fault}; got plain HTTP: switch on the option tls (serve --tls)")
    if world.name is not None:
        refuse(f"expected the world at the root for {fault}; got {world.name!r}, but a handshake names no world")
    if world.host.own_certificate and any(part.row.breaks_certificate for part in fault.parts):
        refuse(f"expected --tls without --tls-cert for {fault}; the fake can't make your own certificate invalid")
    if shares_port:  # the door of this request and the service listen on one port
        got = "one port for the door and the service, so connections to the door would meet the fault too"
        refuse(f"expected a door with its own port (serve --control-port) for {fault}; got {got}")


@verb("DELETE", "faults", 204)
def cancel_faults(world: World) -> None:
    """Cancel every fault. The verification no longer expects any of them to fire."""
    for handle in world.plan.every:
        handle.cancel()


@verb("DELETE", "faults/{fault_id}", 204)
def cancel_fault(world: World, fault_id: int, *, required: bool = False) -> None:
    """Cancel a fault."""
    # If required, a fault with fewer hits than ``times`` stays a problem.
    world.plan.find(fault_id).cancel(required=required)


# Behaviour and time


class ClockData(TypedDict):
    now: str
    frozen: bool


@verb("GET", "behaviour")
def show_behaviour(world: World) -> BehaviourData:
    """Return every gap with the chosen alternative."""
    return dict(world.store.rules.behaviour)


@verb("PATCH", "behaviour", body="gaps")
def change_behaviour(world: World, gaps: GapChoices) -> BehaviourData:
    """Choose alternatives for gaps, or a preset with alternatives that override it."""
    chosen = dict(gaps)
    preset = chosen.pop("preset", None)
    former = world.store.rules.behaviour if preset is None else Behaviour.preset(preset)
    world.store.rules = rules_for(former.replace(chosen))
    world.store.responses.clear()  # a delayed request keeps its old route, whose cached response is out of date
    return dict(world.store.rules.behaviour)


@verb("GET", "gaps")
def list_gaps(_: World) -> Annotated[JsonObject, Keywords("Gaps")]:
    """List the gaps, their alternatives and the presets."""
    return gap_register()


@verb("GET", "clock")
def show_clock(world: World) -> ClockData:
    """Return the fake's time."""
    return _clock_data(world)


@verb("PATCH", "clock")
def change_clock(
    world: World, travel_to: str | None = None, advance: Amounts | None = None, *, freeze: bool | None = None
) -> ClockData:
    """Change the clock: first travel to a moment, then advance, then freeze or run."""
    moment = None if travel_to is None else moment_of(travel_to, "travel_to")
    world.store.change_time(moment=moment, step=advance, freeze=freeze)
    return _clock_data(world)


def _clock_data(world: World) -> ClockData:
    return {"now": iso(world.store.now()), "frozen": world.store.frozen is not None}


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
    until = None
    if is_number(expires):
        require(abs(expires) < LATEST, "expires as a number of seconds, or a moment", expires=expires)
        until = world.store.now() + expires
    elif expires is not None:
        until = moment_of(expires, "expires")  # type: ignore[arg-type]  # a bool is refused there
    name = world.host.new_key()
    world.add_key(name, until)
    return name


@verb("DELETE", "keys/{api_key}", 204)
def revoke_key(world: World, api_key: str) -> None:
    """Revoke an API key."""
    if api_key not in [*world.keys]:
        raise NotFoundError("expected a key of this world; got an unknown key")
    world.keys[api_key] = world.keys[api_key]._replace(revoked="revoked_key")


@verb("POST", "snapshots", 201, member="id")
def take_snapshot(world: World) -> Positive:
    """Take a snapshot of the state."""
    return world.keep_snapshot()


@verb("POST", "snapshots/{snapshot_id}/restore")
def restore_snapshot(world: World, snapshot_id: int, origin: Origin = "") -> WorldData:
    """Restore the state of a snapshot."""
    world.restore(_snapshot(world, snapshot_id))
    return world_data(world, origin)


@verb("DELETE", "snapshots/{snapshot_id}", 204)
def drop_snapshot(world: World, snapshot_id: int) -> None:
    """Delete a snapshot."""
    _snapshot(world, snapshot_id)
    del world.snapshots[snapshot_id]


def _snapshot(world: World, number: int) -> Snapshot:
    snapshot = world.snapshots.get(number)
    if snapshot is None:
        raise NotFoundError(f"expected the id of a snapshot of this world; got {shown(number)}")
    return snapshot
