"""Shrinking by what the steps mean: played by a function here, without a client or a service."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from petstore_mock import Behaviour, faults
from petstore_mock.stateful.bug_report import ClientBugError
from petstore_mock.stateful.scenario import Restrictions, Scenario, simplest
from petstore_mock.stateful.search import shrink
from petstore_mock.stateful.steps import AtOnce, CreatePet, GetUnknown, Inject


@pytest.mark.parametrize("limit", [2**31, 2**53 + 1, -(2**31) - 1, 255, 2])
def test_a_number_is_shrunk_to_the_limit_at_which_it_fails_without_a_walk(limit: int) -> None:
    played = 0

    def play(scenario: Scenario) -> ClientBugError | None:
        nonlocal played
        played += 1
        for step in scenario.steps:
            number = step.category_id if isinstance(step, CreatePet) else 0
            if (number >= limit) if limit > 0 else (number <= limit):
                return ClientBugError(str(number), "", "")
        return None

    far = 3 * limit + 7 if limit > 0 else 3 * limit - 7
    shrunk = simplest(Scenario(Behaviour(), (CreatePet("Rex", far),)), ClientBugError("", "", ""), play)
    assert shrunk.sentence == str(limit)
    assert played < 1000


def by_a_refusal(scenario: Scenario) -> ClientBugError | None:
    """Fail for a refused key: the one that is retired after ten requests, or one that is refused once."""
    refused = any(
        isinstance(step, Inject) and step.fault == faults.unauthorized() and step.operation == "createPet"
        for step in scenario.steps
    )
    retired = scenario.behaviour.key_rotation == "mid_session" and len(scenario.steps) > 10
    return (
        ClientBugError(f"{scenario.behaviour.differences()} {scenario.steps}", "", "") if refused or retired else None
    )


@pytest.mark.parametrize("any_fault", [True, False])
def test_what_the_service_does_after_many_requests_is_shrunk_to_one_fault(any_fault: bool) -> None:
    """Unless the faults are those that the test's author chose."""
    restrictions = Restrictions(faults=None if any_fault else (faults.unauthorized(),))
    scenario = Scenario(Behaviour(key_rotation="mid_session"), (CreatePet(),) * 15, restrictions=restrictions)
    shrunk = simplest(scenario, ClientBugError("", "", ""), by_a_refusal)
    once = Inject(faults.unauthorized(), "createPet")
    assert (shrunk.sentence == f"{{}} {(once,)}") is any_fault


@pytest.mark.parametrize(("lucky", "left"), [(0, 1), (3, 2), (5, 2)])
def test_a_race_that_was_lucky_while_it_was_shrunk_gives_way_to_a_longer_one_that_comes_again(
    lucky: int, left: int
) -> None:
    """Of one step it fails ``lucky`` times and never again, or always; of two always."""
    played = 0

    def replay(scenario: Scenario) -> ClientBugError | None:
        nonlocal played
        if not any(isinstance(step, AtOnce) for step in scenario.steps):
            return None
        if len(scenario.steps) == 1:
            played += 1
            if lucky and played > lucky:
                return None
        error = ClientBugError(f"{scenario.steps}", "", "")
        error.scenario = scenario
        return error

    machine: Any = SimpleNamespace(replay=replay, run=SimpleNamespace(watchdog=SimpleNamespace(never_times_out=set())))
    scenario = Scenario(Behaviour(), (GetUnknown(), GetUnknown(), AtOnce("getPet", "getPet", 7)))
    found = replay(scenario)
    assert found is not None
    shrunk = shrink(machine, scenario, found)
    assert shrunk.scenario is not None
    assert len(shrunk.scenario.steps) == left
    assert isinstance(shrunk.scenario.steps[-1], AtOnce)
