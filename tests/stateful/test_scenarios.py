"""Scenarios are values: complete when they are drawn, convertible to JSON, and simple after shrinking."""

from __future__ import annotations

import json

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from petstore_mock import Behaviour, faults
from petstore_mock.strategies import PlannedFault, Scenario, scenarios

DRAWN = scenarios()
QUICKLY = settings(max_examples=500, database=None)


@settings(max_examples=50)
@given(scenario=DRAWN)
def test_a_scenario_survives_a_round_trip_through_json(scenario: Scenario) -> None:
    data = scenario.to_data()
    again = Scenario.from_data(json.loads(json.dumps(data)))
    assert again.to_data() == data
    assert again.behaviour == scenario.behaviour
    assert len(again.steps) == len(scenario.steps)


def kinds(scenario: Scenario) -> list[str]:
    steps = [one for step in scenario.to_data()["steps"] for one in step.items()]
    return [value["kind"] if name == "act" else name for name, value in steps]


def test_the_simplest_scenario_is_one_plain_call() -> None:
    simplest = find(DRAWN, lambda _: True, settings=QUICKLY)
    assert simplest.to_data()["steps"] == [{"ask": {"operation": "listPets", "arguments": {}}}]
    assert simplest.behaviour == Behaviour()


@pytest.mark.parametrize("kind", ["seed", "plannedfault", "switch", "spoil", "together"])
def test_each_kind_of_step_is_drawn(kind: str) -> None:
    drawn = scenarios(concurrent=kind == "together")
    assert find(drawn, lambda scenario: kind in kinds(scenario), settings=QUICKLY) is not None


@settings(max_examples=50)
@given(scenario=scenarios(faults=(), vary=["list_order"], operations={"getPet": ["petId"]}))
def test_operations_gaps_and_faults_can_be_chosen(scenario: Scenario) -> None:
    steps = scenario.to_data()["steps"]
    assert {step["ask"]["operation"] for step in steps if "ask" in step} <= {"getPet"}
    assert "plannedfault" not in kinds(scenario)
    assert set(scenario.behaviour.differences()) <= {"list_order"}


@settings(max_examples=50)
@given(scenario=DRAWN)
def test_no_drawn_fault_takes_real_time(scenario: Scenario) -> None:
    for step in scenario.steps:
        if isinstance(step, PlannedFault):
            assert not step.fault.takes_time


@settings(max_examples=30)
@given(scenario=scenarios(arguments={"createPet": st.just({"name": "Only", "categoryId": 7})}, faults=[faults.reset()]))
def test_scenarios_have_only_the_given_arguments_and_faults(scenario: Scenario) -> None:
    for step in scenario.to_data()["steps"]:
        if "plannedfault" in step:
            assert step["plannedfault"]["fault"] == {"kind": "reset"}
        if step.get("ask", {}).get("operation") == "createPet":
            assert step["ask"]["arguments"] == {"name": "Only", "categoryId": 7}
