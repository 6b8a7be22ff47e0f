"""Shrinking by what the steps mean: played by a function here, without a client or a service."""

from __future__ import annotations

import pytest

from petstore_mock import Behaviour, faults
from petstore_mock.stateful.bug_report import ClientBugError
from petstore_mock.stateful.scenario import Restrictions, Scenario, simplest
from petstore_mock.stateful.steps import CreatePet, Inject


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
