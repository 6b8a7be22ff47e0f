"""Verbs for worlds: make, show, reset, verify and end them.

The type of an argument says whether the caller adds it: see ``Added``. A verb that takes ``Worlds`` but no
``WorldName`` is only at the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict, Unpack

from petstore_mock.common.real import perf_counter
from petstore_mock.common.refusing import shown
from petstore_mock.common.values import JsonObject
from petstore_mock.core.options import WorldOptions
from petstore_mock.core.refusals import ProblemError
from petstore_mock.core.registry import DEFAULT_WORLD, Leak, Worlds
from petstore_mock.core.verification import Problem
from petstore_mock.core.world import World
from petstore_mock.interface.openapi import openapi_document
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.verbs.verb import Count, OnlyNew, Origin, WorldName, verb


class ProblemData(TypedDict):
    kind: Literal["unfired_fault", "violation", "error"]
    message: str


class VerificationData(TypedDict):
    passed: bool
    problems: list[ProblemData]


class WorldData(TypedDict):
    name: str
    url: str
    api_key: str
    pets: Count
    requests: Count
    violations: Count
    faults: Count
    strict: bool
    mutant: str | None
    passed: NotRequired[bool]
    age: NotRequired[float]  # seconds since the world was last made
    previous: NotRequired[VerificationData]


class EndedData(TypedDict):
    ended: Count
    problems: list[ProblemData]


class LeaksData(TypedDict):
    leaks: list[Leak]
    total: Count


def world_data(world: World, origin: str) -> WorldData:
    """Return the JSON form of a world."""
    mount = "" if world.name is None else f"/w/{world.name}"
    url = f"{origin}{mount}{BASE_PATH}"
    with world.lock:
        mutant = None if world.mutant is None else world.mutant.name
        return {
            "name": world.name or DEFAULT_WORLD,
            "url": url,
            "api_key": world.key,
            "pets": len(world.store),
            "requests": world.journal.total,
            "violations": world.journal.violation_count,
            "faults": len(world.plan.in_force),
            "strict": world.verification.strict,
            "mutant": mutant,
        }


def _verification(problems: Sequence[Problem]) -> VerificationData:
    shown: list[ProblemData] = [{"kind": problem.kind, "message": problem.text} for problem in problems]
    return {"passed": not problems, "problems": shown}


@verb("PUT", "world", 201)
def make_world(
    worlds: Worlds,
    name: WorldName = DEFAULT_WORLD,
    origin: Origin = "",
    *,
    new: OnlyNew = False,
    **options: Unpack[WorldOptions],
) -> WorldData:
    """Make the world, or replace the existing one for another test."""
    with worlds.lock:
        former = worlds.default if name == DEFAULT_WORLD else worlds.named.get(name)
        previous = None if former is None else _verification(former.verification.problems())
        if former is None:
            worlds.add(name, options)
        elif new:
            raise ProblemError(f"expected the name of a new world; got {shown(name)}, which exists", 412)
        else:
            former.remake(options)
    world = worlds.find(name)
    world.host.announce(world, "made")  # a watcher may send requests to it at once
    data = world_data(world, origin)
    return data if previous is None else {**data, "previous": previous}


@verb("GET", "world")
def show_world(world: World, origin: Origin = "") -> WorldData:
    """Return the world's address, API key and counts."""
    return world_data(world, origin)


@verb("GET", "service/openapi.json")
def describe_service(world: World, origin: Origin = "") -> JsonObject:
    """Describe the pet store service, not the door, as an OpenAPI 3.1 document."""
    return openapi_document(world_data(world, origin)["url"])


@verb("POST", "world/reset")
def reset_world(world: World, origin: Origin = "") -> WorldData:
    """Reset the world to its starting state. The next verification still reports earlier problems."""
    world.verification.keep()
    world.host.at_end(world)
    world.go_back()
    world.host.announce(world, "reset")
    return world_data(world, origin)


@verb("GET", "world/verification")
def verify_world(world: World) -> VerificationData:
    """List the problems that would fail a test."""
    return _verification(world.verification.problems())


@verb("POST", "world/verification")
def report_problems(world: World, *, again: bool = True) -> VerificationData:
    """List the problems that would fail a test, and mark them as reported."""
    return _verification(world.verification.report(again=again))  # with `again`, also those that were reported before


@verb("DELETE", "world")
def end_world(worlds: Worlds, name: WorldName = DEFAULT_WORLD) -> VerificationData:
    """End the world, and list the problems that would fail its test."""
    world = worlds.find(name)
    verification = _verification(world.verification.problems())
    worlds.end(world)
    return verification


@verb("GET", "worlds", member="worlds")
def list_worlds(worlds: Worlds, origin: Origin = "") -> list[WorldData]:
    """List all worlds."""
    return [
        {
            **world_data(world, origin),
            "passed": not world.verification.problems(),
            "age": round(perf_counter() - world.made, 3),
        }
        for world in worlds
    ]


@verb("DELETE", "worlds")
def end_worlds(worlds: Worlds) -> EndedData:
    """End every world except the default one, and list the problems that would fail their tests."""
    ended = list(worlds.named.values())
    problems: list[Problem] = []
    for world in ended:
        problems += world.verification.problems()
        worlds.end(world)
    return {"ended": len(ended), "problems": _verification(problems)["problems"]}


@verb("GET", "leaks")
def list_leaks(worlds: Worlds) -> LeaksData:
    """List the newest leaks, which are requests to ended worlds, and count all leaks."""
    return {"leaks": list(worlds.leaks), "total": worlds.leak_count}


@verb("DELETE", "leaks", 204)
def clear_leaks(worlds: Worlds) -> None:
    """Clear the leaks."""
    worlds.leaks.clear()
    worlds.leak_count = 0
