"""What the strategies promise: the service accepts valid values, and refuses the others for the rule that they name."""

from __future__ import annotations

import json
import random
import unicodedata
from contextlib import suppress
from functools import partial
from operator import eq
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.errors import NoSuchExample

from petstore_mock import Behaviour, PetStoreMock, PetStoreMockError, faults, strategies
from tests.client import Client
from tests.property.test_invariants import ALTERNATIVES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.strategies import InvalidListQuery, InvalidNewPet, PlannedFault

pytestmark = pytest.mark.untraced


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(PetStoreMock(), "wsgi")


def missed(strategy: SearchStrategy[Any], wanted: Mapping[str, Callable[[Any], bool]]) -> list[str]:
    """Return what of ``wanted`` the strategy does not draw within a bounded search."""
    left = dict(wanted)

    def is_last(value: object) -> bool:
        for what in [what for what, holds in left.items() if holds(value)]:
            del left[what]
        return not left

    checks = list(HealthCheck)
    bounded = settings(max_examples=10_000, phases=[Phase.generate], database=None, derandomize=True)
    with suppress(NoSuchExample):
        find(strategy, is_last, settings=settings(bounded, suppress_health_check=checks))
    return list(left)


# Valid values


@given(pet=strategies.new_pets())
def test_new_pet_is_accepted_and_comes_back(client: Client, pet: dict[str, Any]) -> None:
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
def test_invalid_new_pet_is_refused_for_its_rule_alone(client: Client, drawn: InvalidNewPet) -> None:
    assert client.post(json.dumps(drawn.body).encode()).status == 400
    assert [rule for _, rule in client.broken] == [drawn.rule]


@given(drawn=strategies.invalid_list_queries())
def test_invalid_list_query_is_refused_for_its_rule_alone(client: Client, drawn: InvalidListQuery) -> None:
    assert client.list(f"?{urlencode(drawn.query, doseq=True)}").status == 400
    assert [rule for _, rule in client.broken] == [drawn.rule]


def breaks(rule: str, drawn: InvalidNewPet | InvalidListQuery) -> bool:
    return drawn.rule == rule


def has_status_of(kind: type, drawn: InvalidNewPet) -> bool:
    return isinstance(drawn.body, dict) and type(drawn.body.get("status", "")) is kind


def leaves_out(field: str, drawn: InvalidNewPet) -> bool:
    return drawn.rule == "required" and field not in drawn.body


def has_limit(limit: str, drawn: InvalidListQuery) -> bool:
    return drawn.query.get("limit") == limit


def test_each_rule_of_the_body_each_type_and_each_lack_is_drawn() -> None:
    rules = ("required", "type", "additionalProperties", "enum", "minimum", "maximum")
    wanted: dict[str, Callable[[Any], bool]] = {
        **{rule: partial(breaks, rule) for rule in rules},
        **{f"a status of {kind}": partial(has_status_of, kind) for kind in (type(None), bool, int, float, list, dict)},
        **{f"no {field}": partial(leaves_out, field) for field in ("name", "categoryId")},
        "a near miss": lambda drawn: isinstance(drawn.body, dict) and "category_id" in drawn.body,
    }
    assert missed(strategies.invalid_new_pets(), wanted) == []


def test_each_rule_of_the_query_and_each_odd_number_is_drawn() -> None:
    rules = ("type", "minimum", "maximum", "enum", "unique", "additionalProperties")
    limits = ("", "+5", "1_0", "1.0", "\u0665", "five", "-0")
    wanted = {
        **{rule: partial(breaks, rule) for rule in rules},
        **{f"limit={limit}": partial(has_limit, limit) for limit in limits},
    }
    assert missed(strategies.invalid_list_queries(), wanted) == []


# Edges

AWKWARD: dict[str, Callable[[str], bool]] = {
    "emoji": lambda text: any(0x1F300 <= ord(character) <= 0x1FAFF for character in text),
    "combining marks": lambda text: any(unicodedata.combining(character) for character in text),
    "right-to-left": lambda text: any(unicodedata.bidirectional(character) == "R" for character in text),
    "emptiness": lambda text: not text,
    "great length": lambda text: len(text) > 1000,
    "characters beyond 16 bits": lambda text: any(ord(character) > 0xFFFF for character in text),
    **{f"the character {one!r}": partial(lambda one, text: one in text, one) for one in ("\0", '"', "'", "\u2028")},
}
EDGES = (-(2**63), 2**63 - 1, 2**53 - 1, 2**53 + 1, -(2**53) - 1, 0, -1)


def test_names_and_category_ids_reach_their_edges() -> None:
    assert missed(strategies.names(), AWKWARD) == []
    assert missed(strategies.category_ids(), {str(edge): partial(eq, edge) for edge in EDGES}) == []


@pytest.mark.parametrize(
    ("drawn", "words"),
    [
        (strategies.invalid_new_pets().filter(lambda drawn: drawn.rule == "enum"), "InvalidNewPet("),
        (strategies.invalid_list_queries().filter(lambda drawn: drawn.rule == "enum"), "InvalidListQuery("),
        (strategies.faults().filter(lambda drawn: drawn.kind == "hang"), "faults.hang()"),
        (strategies.faults().filter(lambda drawn: drawn.kind == "respond"), "faults.respond(502, "),
    ],
)
def test_failing_example_shows_code_that_makes_it(drawn: SearchStrategy[Any], words: str) -> None:
    failed: list[object] = []

    @settings(database=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(value=drawn)
    def fail(value: object) -> None:
        failed.append(value)
        raise AssertionError

    with pytest.raises(AssertionError) as raised:
        fail()
    shown = raised.value.__notes__[0].partition("value=")[2].rpartition(",")[0]
    assert shown.startswith(words)
    names = {"InvalidNewPet": strategies.InvalidNewPet, "InvalidListQuery": strategies.InvalidListQuery}
    assert eval(shown, {"faults": faults, **names}) == failed[-1]  # what Hypothesis printed


# Arguments


WRONG: dict[str, Callable[[], SearchStrategy[Any]]] = {
    "vary='list_order'": lambda: strategies.behaviours(vary="list_order"),
    "'list_order'": lambda: strategies.behaviours(vary=["list_ordr"]),
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_argument_is_reported_when_drawn(words: str) -> None:
    strategy = WRONG[words]()  # not here: that would fail the import of a test module
    with pytest.raises(PetStoreMockError, match="expected") as caught:
        find(strategy, lambda _: True)
    assert words in str(caught.value)


# Behaviours and faults


def test_plans_and_behaviours_shrink_to_nothing_and_to_the_one_gap_that_matters() -> None:
    assert find(strategies.behaviours(), lambda _: True) == Behaviour()
    assert find(strategies.behaviours(vary=[]), lambda _: True) == Behaviour()
    assert find(strategies.fault_plans(), lambda _: True) == ()
    for seed in range(30):  # where each begins decides what is hard to take away
        found = find(
            strategies.behaviours(),
            lambda behaviour: behaviour.list_order != "id_ascending",
            random=random.Random(seed),
            settings=settings(max_examples=2000, derandomize=False, database=None),
        )
        assert list(found.differences()) == ["list_order"]


@given(behaviour=strategies.behaviours(vary=["list_order", "rate_limit"]))
def test_behaviours_vary_what_they_are_told(behaviour: Behaviour) -> None:
    assert behaviour.differences().keys() <= {"list_order", "rate_limit"}


@given(behaviour=strategies.behaviours(), pet=strategies.new_pets())
def test_no_behaviour_drawn_by_default_refuses_a_valid_animal(behaviour: Behaviour, pet: dict[str, Any]) -> None:
    assert Client(PetStoreMock(behaviour=behaviour)).create(**pet).status == 201


@pytest.mark.parametrize("gap", sorted(ALTERNATIVES))
def test_behaviours_reach_each_alternative(gap: str) -> None:
    wanted = {name: partial(behaves, gap, name) for name in ALTERNATIVES[gap]}
    assert missed(strategies.behaviours(vary=[gap]), wanted) == []


def behaves(gap: str, alternative: str, behaviour: Behaviour) -> bool:
    return behaviour.replace({gap: alternative}) == behaviour


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
    petstore.inject(fault, on="listPets")
    response = Client(petstore).bare("GET", "/v1/pets", list(petstore.headers.items()))
    assert (response.status, response.header("Content-Type"), response.body) != (200, "application/json", b"[]")


def is_of(kind: str, fault: faults.Fault) -> bool:
    return fault.kind == kind


WIRE = ("hang", "reset", "empty_reply", "truncate", "dribble", "malformed_chunk")


def test_faults_reach_each_kind() -> None:
    wanted = {kind: partial(is_of, kind) for kind in (*WIRE, "malformed_json", "delay", "rate_limited")}
    assert missed(strategies.faults(), wanted) == []
    assert missed(strategies.faults(allow_wire=False), wanted) == list(WIRE)
