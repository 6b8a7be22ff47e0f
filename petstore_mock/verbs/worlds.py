"""Verbs about worlds: make, show, reset, verify and end them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from petstore_mock.core.options import WorldOptions
from petstore_mock.core.registry import DEFAULT_WORLD, Worlds
from petstore_mock.core.verification import Problem
from petstore_mock.core.world import World
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.verbs.verb import Count, Nothing, Origin, WithOrigin, WorldName, verb

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    mutant: NotRequired[str]
    passed: NotRequired[bool]
    previous: NotRequired[VerificationData]


class WorldsData(TypedDict):
    worlds: list[WorldData]


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


class MakeWorld(WorldOptions, total=False):
    name: WorldName
    origin: Origin


class EndWorld(TypedDict, total=False):
    name: WorldName


class Report(TypedDict, total=False):
    again: bool  # whether problems that were reported before come again; true by default
    excuse: bool  # whether all problems so far count as reported


def world_data(world: World, origin: str = "") -> WorldData:
    """Return a world as the door shows it."""
    mount = "" if world.name is None else f"/w/{world.name}"
    with world.lock:
        data: WorldData = {
            "name": world.name or DEFAULT_WORLD,
            "url": f"{origin}{mount}{BASE_PATH}",
            "api_key": world.key,
            "pets": len(world.store),
            "requests": world.journal.total,
            "violations": world.journal.violation_count,
            "faults": len(world.plan.in_force),
        }
        if world.mutant is not None:
            data["mutant"] = world.mutant.name
    return data


def _problems(problems: Sequence[Problem]) -> list[ProblemData]:
    return [{"kind": problem.kind, "message": problem.text} for problem in problems]


def _verification(problems: Sequence[Problem]) -> VerificationData:
    return {"passed": not problems, "problems": _problems(problems)}


@verb("PUT", "world", 201, of="worlds", locks=False, replaced=200)
def make_world(worlds: Worlds, arguments: MakeWorld) -> WorldData:
    """Make the world, or make it anew for another test."""
    options: dict[str, Any] = dict(arguments)
    name, origin = options.pop("name", DEFAULT_WORLD), options.pop("origin", "")
    former = worlds.default if name == DEFAULT_WORLD else worlds.named.get(name)
    previous = None if former is None else _verification(former.verification.problems())
    worlds.make(name, options)
    data = world_data(worlds.find(name), origin)
    if previous is not None:
        data["previous"] = previous
    return data


@verb("GET", "world")
def show_world(world: World, arguments: WithOrigin) -> WorldData:
    """Show the world."""
    return world_data(world, arguments.get("origin", ""))


@verb("POST", "world/reset")
def reset_world(world: World, arguments: WithOrigin) -> WorldData:
    """Return to the starting state. The verification keeps the problems so far."""
    world.reset()
    return world_data(world, arguments.get("origin", ""))


@verb("GET", "world/verification")
def verify_world(world: World, _: Nothing) -> VerificationData:
    """Show what would fail a test."""
    return _verification(world.verification.problems())


@verb("POST", "world/verification")
def report_problems(world: World, arguments: Report) -> VerificationData:
    """Show what would fail a test, and count it as reported."""
    if arguments.get("excuse", False):
        world.verification.report()
        return _verification([])
    return _verification(world.verification.report(again=arguments.get("again", True)))


@verb("DELETE", "world", of="worlds", locks=False)
def end_world(worlds: Worlds, arguments: EndWorld) -> VerificationData:
    """End the world, and show what would fail its test."""
    world = worlds.find(arguments.get("name", DEFAULT_WORLD))
    verification = _verification(world.verification.problems())
    worlds.end(world)
    return verification


@verb("GET", "worlds", of="worlds", root_only=True, locks=False)
def list_worlds(worlds: Worlds, arguments: WithOrigin) -> WorldsData:
    """Show every world."""
    origin = arguments.get("origin", "")
    return {"worlds": [{**world_data(world, origin), "passed": not world.verification.problems()} for world in worlds]}


@verb("DELETE", "worlds", of="worlds", root_only=True, locks=False)
def end_worlds(worlds: Worlds, _: Nothing) -> EndedData:
    """End every world but the default one, and show what would fail their tests."""
    ended = list(worlds.named.values())
    problems = [problem for world in ended for problem in world.verification.problems()]
    for world in ended:
        worlds.end(world)
    return {"ended": len(ended), "problems": _problems(problems)}


@verb("GET", "leaks", of="worlds", root_only=True, locks=False)
def list_leaks(worlds: Worlds, _: Nothing) -> LeaksData:
    """Show the newest requests to worlds that are over, and count all."""
    leaks: list[LeakData] = [
        {"world": leak.owner, "request": leak.request, "status": leak.status, "by_key": leak.by_key}
        for leak in tuple(worlds.leaks)
    ]
    return {"leaks": leaks, "total": worlds.leak_count}


@verb("DELETE", "leaks", 204, of="worlds", root_only=True, locks=False)
def clear_leaks(worlds: Worlds, _: Nothing) -> None:
    """Forget the leaks."""
    worlds.clear_leaks()
