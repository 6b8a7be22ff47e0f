"""Verbs about worlds: make, show, reset, verify and end them.

The carrier adds the arguments ``name``, the world in the address, and ``origin``, with which it begins each ``url``.
A verb of all worlds without a ``name`` stands at the root alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, TypedDict, Unpack

from petstore_mock.common.real import perf_counter
from petstore_mock.core.options import WorldOptions
from petstore_mock.core.registry import DEFAULT_WORLD, Worlds
from petstore_mock.core.verification import Problem
from petstore_mock.core.world import World
from petstore_mock.interface.openapi import openapi_document
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.verbs.verb import Count, verb


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
    mutant: str | None
    passed: NotRequired[bool]
    age: NotRequired[float]  # seconds since it was made, or made anew
    previous: NotRequired[VerificationData]


class EndedData(TypedDict):
    ended: Count
    problems: list[ProblemData]


class LeakData(TypedDict):
    world: str
    request: str
    status: int
    by_key: bool


class LeaksData(TypedDict):
    leaks: list[LeakData]
    total: Count


def world_data(world: World, origin: str) -> WorldData:
    """Return a world as the door shows it."""
    mount = "" if world.name is None else f"/w/{world.name}"
    with world.lock:
        return {
            "name": world.name or DEFAULT_WORLD,
            "url": f"{origin}{mount}{BASE_PATH}",
            "api_key": world.key,
            "pets": len(world.store),
            "requests": world.journal.total,
            "violations": world.journal.violation_count,
            "faults": len(world.plan.in_force),
            "mutant": None if world.mutant is None else world.mutant.name,
        }


def _verification(problems: Sequence[Problem]) -> VerificationData:
    told: list[ProblemData] = [{"kind": problem.kind, "message": problem.text} for problem in problems]
    return {"passed": not problems, "problems": told}


@verb("PUT", "world", 201)
def make_world(
    worlds: Worlds, name: str = DEFAULT_WORLD, origin: str = "", *, new: bool = False, **options: Unpack[WorldOptions]
) -> WorldData:
    """Make the world, or make it anew for another test."""
    former = worlds.default if name == DEFAULT_WORLD else worlds.named.get(name)
    previous = None if former is None else _verification(former.verification.problems())
    worlds.make(name, options, new=new)
    data = world_data(worlds.find(name), origin)
    return data if previous is None else {**data, "previous": previous}


@verb("GET", "world")
def show_world(world: World, origin: str = "") -> WorldData:
    """Show the world."""
    return world_data(world, origin)


@verb("GET", "service/openapi.json")
def describe_service(world: World, origin: str = "") -> dict[str, Any]:
    """Describe the service, which clients use, as an OpenAPI 3.1 document."""
    return openapi_document(world_data(world, origin)["url"])


@verb("POST", "world/reset")
def reset_world(world: World, origin: str = "") -> WorldData:
    """Return to the starting state. The verification keeps the problems so far."""
    world.reset()
    return world_data(world, origin)


@verb("GET", "world/verification")
def verify_world(world: World) -> VerificationData:
    """Show what would fail a test."""
    return _verification(world.verification.problems())


@verb("POST", "world/verification")
def report_problems(world: World, *, again: bool = True) -> VerificationData:
    """Show what would fail a test, and count it as reported."""
    return _verification(world.verification.report(again=again))  # else only what was not reported before


@verb("DELETE", "world")
def end_world(worlds: Worlds, name: str = DEFAULT_WORLD) -> VerificationData:
    """End the world, and show what would fail its test."""
    world = worlds.find(name)
    verification = _verification(world.verification.problems())
    worlds.end(world)
    return verification


@verb("GET", "worlds", member="worlds")
def list_worlds(worlds: Worlds, origin: str = "") -> list[WorldData]:
    """Show every world."""
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
    """End every world but the default one, and show what would fail their tests."""
    ended = list(worlds.named.values())
    problems = [problem for world in ended for problem in world.verification.problems()]
    for world in ended:
        worlds.end(world)
    return {"ended": len(ended), "problems": _verification(problems)["problems"]}


@verb("GET", "leaks")
def list_leaks(worlds: Worlds) -> LeaksData:
    """Show the newest requests to worlds that are over, and count all."""
    leaks: list[LeakData] = [
        {"world": leak.owner, "request": leak.request, "status": leak.status, "by_key": leak.by_key}
        for leak in tuple(worlds.leaks)
    ]
    return {"leaks": leaks, "total": worlds.leak_count}


@verb("DELETE", "leaks", 204)
def clear_leaks(worlds: Worlds) -> None:
    """Forget the leaks."""
    worlds.clear_leaks()
