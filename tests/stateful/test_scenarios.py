"""Scenarios are values: complete when they are drawn, convertible to JSON, and simple after shrinking."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from petstore_mock import Behaviour, PetStoreMockError, faults
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


@pytest.mark.seconds
def test_the_simplest_scenario_is_one_plain_call() -> None:
    simplest = find(DRAWN, lambda _: True, settings=QUICKLY)
    assert simplest.to_data()["steps"] == [{"ask": {"operation": "listPets", "arguments": {}}}]
    assert simplest.behaviour == Behaviour()


@pytest.mark.seconds
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


# A scenario may come from anywhere, so nothing of it is executed.

ASK = {"ask": {"operation": "listPets", "arguments": {}}}


def act(kind: str, **arguments: Any) -> dict[str, Any]:
    return {"act": {"kind": kind, "arguments": arguments}}


def fault(**members: Any) -> dict[str, Any]:
    return {"plannedfault": {"fault": 503, **members}}


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("listPets", "expected steps as a list"),
        ([1], "expected a step as an object; got 1"),
        ([{}], "expected a step as an object with one member"),
        ([ASK | act("spoil")], "expected a step as an object with one member"),
        ([{"asks": {}}], "did you mean 'ask'?"),
        ([{"pick": {}}], "expected a member of a step"),
        ([{"ask": {"operation": "listPet"}}], "did you mean 'listPets'?"),
        ([{"ask": {"operation": "listPets", "arguments": {"limits": 1}}}], "did you mean 'limit'?"),
        ([{"ask": {"operation": "getPet", "arguments": {}}}], "expected the argument petId of getPet"),
        ([{"ask": {"operation": "getPet", "arguments": {"petId": {"pick": {"which": "all"}}}}}], "expected a pick"),
        ([{"ask": {"operation": "getPet", "arguments": {"petId": {"pick": {"index": -1}}}}}], "expected index as"),
        ([{"ask": {"operation": "getPet", "arguments": {"petId": {"act": {}}}}}], "expected a member of an argument"),
        ([act("__class__")], "expected an act, one of"),
        ([act("app")], "expected an act, one of"),
        ([act("reset() or print('executed')  #")], "expected an act, one of"),
        ([act("clock.advance", weeks=1)], "expected a member of arguments of clock.advance"),
        ([act("remove")], "expected the argument pet of remove"),
        ([act("seed", nam="Rex")], "did you mean 'name'?"),
        ([{"plannedfault": {"on": "listPets"}}], "expected a planned fault with a fault"),
        ([fault(on="listPet")], "did you mean 'listPets'?"),
        ([fault(at="later")], "expected a point of a fault"),
        ([fault(times=0)], "expected times as"),
        ([fault(after=-1)], "expected after as"),
        ([fault(when="1")], "expected a member of a planned fault"),
        ([{"together": {"first": ASK, "second": ASK, "hold": 0}}], "expected hold as"),
        ([{"together": {"first": ASK, "second": act("spoil")}}], "expected a member of a call"),
    ],
)
def test_a_scenario_of_another_form_is_refused(steps: Any, message: str) -> None:
    with pytest.raises(PetStoreMockError) as caught:
        Scenario.from_data({"steps": steps})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "expected a scenario as an object"),
        ({"step": []}, "did you mean 'steps'?"),
        ({"behaviour": []}, "expected behaviour as an object"),
        ({"behaviour": {"list_ordr": "by_name"}}, "did you mean 'list_order'?"),
        ({"environment": 1}, "expected environment as a name or null"),
        ({"odd_key": "no"}, "expected odd_key as true or false"),
    ],
)
def test_a_scenario_with_other_members_is_refused(data: Any, message: str) -> None:
    with pytest.raises(PetStoreMockError) as caught:
        Scenario.from_data(data)
    assert message in str(caught.value)


def test_the_least_scenario_has_the_defaults() -> None:
    assert Scenario.from_data({}) == Scenario()
