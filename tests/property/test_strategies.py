"""The strategies: the service accepts valid values, and refuses each invalid value for its own ``rule``."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import chain
from operator import eq
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

from petstore_mock import Behaviour, PetStoreMock, PetStoreMockError, faults, strategies
from petstore_mock.strategies import InvalidListQuery, InvalidNewPet, PlannedFault
from tests.client import Client
from tests.property.test_invariants import ALTERNATIVES

Wanted = dict[str, Callable[[Any], bool]]

pytestmark = pytest.mark.untraced


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(PetStoreMock(), "wsgi")


def missed(strategy: SearchStrategy[Any], wanted: Wanted) -> list[str]:
    """Return the names in ``wanted`` that a bounded search does not draw from the strategy."""
    left = dict(wanted)

    def is_last(value: object) -> bool:
        for name in [name for name, holds in left.items() if holds(value)]:
            del left[name]
        return not left

    checks = list(HealthCheck)
    bounded = settings(max_examples=10_000, phases=[Phase.generate], database=None, derandomize=True)
    with suppress(NoSuchExample):
        find(strategy, is_last, settings=settings(bounded, suppress_health_check=checks))
    return list(left)


# Valid values


@given(pet=strategies.new_pets())
def test_new_pet_is_accepted_and_returned(client: Client, pet: dict[str, Any]) -> None:
    created = client.created(**pet)
    assert {name: value for name, value in created.items() if name != "id"} == pet


@given(pet=strategies.pets())
def test_pet_can_be_seeded(client: Client, pet: dict[str, Any]) -> None:
    with client.petstore.fresh() as world:
        assert world.seed(pet) == pet
        assert world.pets == [pet]


@given(query=strategies.list_queries())
def test_list_query_is_accepted(client: Client, query: dict[str, Any]) -> None:
    assert client.list(f"?{urlencode(query)}").status == 200


# Invalid values


@given(drawn=strategies.invalid_new_pets())
def test_invalid_new_pet_breaks_only_its_rule(client: Client, drawn: InvalidNewPet) -> None:
    assert client.post(json.dumps(drawn.body).encode()).status == 400
    assert [rule for _, rule in client.broken] == [drawn.rule]


@given(drawn=strategies.invalid_list_queries())
def test_invalid_list_query_breaks_only_its_rule(client: Client, drawn: InvalidListQuery) -> None:
    assert client.list(f"?{urlencode(drawn.query, doseq=True)}").status == 400
    assert [rule for _, rule in client.broken] == [drawn.rule]


def each(values: Iterable[Any], holds: Callable[[Any, Any], bool]) -> Wanted:
    """Return a predicate for each value: ``holds(value, drawn)``."""
    return {str(value): partial(holds, value) for value in values}


def has_rule(rule: str, drawn: InvalidNewPet | InvalidListQuery) -> bool:
    return drawn.rule == rule


def has_status_of(kind: type, drawn: InvalidNewPet) -> bool:
    return isinstance(drawn.body, dict) and type(drawn.body.get("status", "")) is kind


OF_BODIES: Wanted = {
    **each(("required", "type", "additionalProperties", "enum", "minimum", "maximum"), has_rule),
    **each((type(None), bool, int, float, list, dict), has_status_of),
    **each(("name", "categoryId"), lambda field, drawn: drawn.rule == "required" and field not in drawn.body),
    "a near miss": lambda drawn: isinstance(drawn.body, dict) and "category_id" in drawn.body,
}
OF_QUERIES: Wanted = {
    **each(("type", "minimum", "maximum", "enum", "unique", "additionalProperties"), has_rule),
    **each(("", "+5", "1_0", "1.0", "\u0665", "five", "-0"), lambda limit, drawn: drawn.query.get("limit") == limit),
}
AWKWARD: Wanted = {
    "emoji": lambda text: any(0x1F300 <= ord(character) <= 0x1FAFF for character in text),
    "combining marks": lambda text: any(unicodedata.combining(character) for character in text),
    "right-to-left": lambda text: any(unicodedata.bidirectional(character) == "R" for character in text),
    "empty": lambda text: not text,
    "long": lambda text: len(text) > 1000,
    "end of a script": lambda text: text == "</script>",
    "characters beyond 16 bits": lambda text: any(ord(character) > 0xFFFF for character in text),
    **each(("\0", '"', "'", "\u2028"), lambda one, text: one in text),
}
EDGES = (-(2**63), 2**63 - 1, 2**53 - 1, 2**53 + 1, -(2**53) - 1, 0, -1)
WIRE = ("hang", "reset", "empty_reply", "truncate", "dribble", "malformed_chunk")
FAULTS = each((*WIRE, "malformed_json", "delay", "rate_limited"), lambda kind, fault: fault.kind == kind)
DRAWN: list[tuple[SearchStrategy[Any], Wanted, tuple[str, ...]]] = [
    (strategies.invalid_new_pets(), OF_BODIES, ()),
    (strategies.invalid_list_queries(), OF_QUERIES, ()),
    (strategies.names(), AWKWARD, ()),
    (strategies.category_ids(), each(EDGES, eq), ()),
    (strategies.pet_statuses(), each(("available", "pending", "sold"), eq), ()),
    (strategies.faults(), FAULTS, ()),
    (strategies.faults(allow_wire=False), FAULTS, WIRE),
    *(
        (strategies.behaviours(vary=[gap]), each((Behaviour().replace({gap: name}) for name in names), eq), ())
        for gap, names in ALTERNATIVES.items()
    ),
]


@pytest.mark.seconds
@pytest.mark.parametrize(("strategy", "wanted", "never"), DRAWN, ids=range(len(DRAWN)))
def test_each_rule_edge_kind_and_alternative_is_drawn(
    strategy: SearchStrategy[Any], wanted: Wanted, never: tuple[str, ...]
) -> None:
    assert missed(strategy, wanted) == list(never)


@pytest.mark.parametrize(("vary", "words"), [("list_order", "vary='list_order'"), (["list_ordr"], "'list_order'")])
def test_wrong_argument_is_reported_at_the_first_draw(vary: Any, words: str) -> None:
    strategy = strategies.behaviours(vary=vary)
    with pytest.raises(PetStoreMockError, match="expected") as caught:
        find(strategy, lambda _: True)
    assert words in str(caught.value)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"operations": {"listPet": ["limit"]}}, "did you mean 'listPets'?"),
    ({"operations": {"listPets": ["limt"]}}, "did you mean 'limit'?"),
    ({"operations": {}}, "one or more operations"),
    ({"arguments": {"getPet": 5}}, "expected a strategy for the arguments of getPet"),
    ({"arguments": {"createPets": strategies.new_pets()}}, "did you mean 'createPet'?"),
    ({"faults": ["reset"]}, "did you mean faults.reset()?"),
]


@pytest.mark.parametrize(("given", "words"), WRONG)
def test_wrong_argument_of_scenarios_is_refused_at_the_call(given: dict[str, Any], words: str) -> None:
    with pytest.raises(PetStoreMockError) as caught:
        strategies.scenarios(**given)
    assert words in str(caught.value)


def calls_of(step: dict[str, Any]) -> list[dict[str, Any]]:
    pair = step.get("together", {})
    return [one["ask"] for one in (step, pair.get("first", {}), pair.get("second", {})) if "ask" in one]


@settings(max_examples=10)
@given(data=st.data())
def test_scenarios_with_arguments_can_be_drawn_within_a_test(data: st.DataObject) -> None:
    own = {"createPet": st.fixed_dictionaries({"name": st.text(), "categoryId": st.integers(1, 9)})}
    scenario = data.draw(strategies.scenarios(arguments=own, concurrent=True))
    for call in chain.from_iterable(map(calls_of, scenario.to_data()["steps"])):
        if call["operation"] == "createPet":
            assert (set(call["arguments"]), 1 <= call["arguments"]["categoryId"] <= 9) == ({"name", "categoryId"}, True)


@pytest.mark.seconds
def test_a_status_is_a_fault_of_scenarios() -> None:
    drawn = strategies.scenarios(faults=[503])
    is_met = find(drawn, lambda scenario: "503" in repr(scenario.to_data()))
    assert {"plannedfault"} <= {name for step in is_met.to_data()["steps"] for name in step}


# Behaviours and faults


@pytest.mark.seconds
def test_plans_and_behaviours_shrink_to_nothing_or_to_the_relevant_gap() -> None:
    assert find(strategies.behaviours(), lambda _: True) == Behaviour()
    assert find(strategies.behaviours(vary=[]), lambda _: True) == Behaviour()
    assert find(strategies.fault_plans(), lambda _: True) == ()
    for seed in range(30):  # the first example decides how hard shrinking is
        found = find(
            strategies.behaviours(),
            lambda behaviour: behaviour.list_order != "id_ascending",
            random=random.Random(seed),
            settings=settings(max_examples=2000, derandomize=False, database=None),
        )
        assert list(found.differences()) == ["list_order"]


@given(behaviour=strategies.behaviours(vary=["list_order", "rate_limit"]))
def test_behaviours_vary_only_the_given_gaps(behaviour: Behaviour) -> None:
    assert behaviour.differences().keys() <= {"list_order", "rate_limit"}


@given(behaviour=strategies.behaviours(), pet=strategies.new_pets())
def test_no_behaviour_drawn_by_default_refuses_a_valid_animal(behaviour: Behaviour, pet: dict[str, Any]) -> None:
    assert Client(PetStoreMock(behaviour=behaviour)).create(**pet).status == 201


@given(plan=strategies.fault_plans())
def test_fault_plan_can_be_injected_and_need_not_fire(plan: tuple[PlannedFault, ...]) -> None:
    petstore = PetStoreMock()
    handles = [fault.inject(petstore) for fault in plan]
    assert [handle.fault for handle in handles] == [fault.fault for fault in plan]
    petstore.verify()
    for fault in plan:
        with fault.inject(petstore):
            pass


@given(fault=strategies.faults(allow_wire=False, allow_waits=False))
def test_faults_without_wire_work_in_process(fault: faults.Fault) -> None:
    petstore = PetStoreMock()
    client = Client(petstore)
    usual = client.bare("GET", "/v1/pets", list(petstore.headers.items()))
    petstore.inject(fault, on="listPets")
    broken = client.bare("GET", "/v1/pets", list(petstore.headers.items()))
    without_date = [[field for field in one.fields if field[0] != "Date"] for one in (usual, broken)]
    assert (usual.status, without_date[0], usual.body) != (broken.status, without_date[1], broken.body)
