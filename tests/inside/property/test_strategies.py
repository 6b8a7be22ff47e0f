"""What the strategies promise: the service accepts what is drawn as valid, and refuses the rest for the rule named."""

from __future__ import annotations

import json
import operator
import random
import unicodedata
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from werkzeug.test import Client

from petstore_mock import Behaviour, PetStoreMock, PetStoreMockError, faults, strategies
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.schemas import default_schemas
from petstore_mock.strategies import from_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.strategies import InvalidListQuery, InvalidNewPet, PlannedFault


@pytest.fixture(scope="module")
def service() -> PetStoreMock:
    """One mock in process; each example that needs emptiness takes a fresh world of it."""
    return PetStoreMock(self_check=True)


def post(service: PetStoreMock, body: object) -> tuple[int, Any]:
    answer = Client(service.app).post(
        "/v1/pets", data=json.dumps(body).encode(), content_type="application/json", headers=service.headers
    )
    return answer.status_code, json.loads(answer.data)


def rules_broken(service: PetStoreMock) -> list[str]:
    return [violation.rule for violation in service.journal.violations[-1].violations]


def missed(strategy: SearchStrategy[Any], wanted: Mapping[str, Callable[[Any], bool]]) -> list[str]:
    """Return what of ``wanted`` the strategy does not draw within a bounded search; no shrinking, no database."""
    left = dict(wanted)

    def is_last(value: object) -> bool:
        for what in [what for what, is_it in left.items() if is_it(value)]:
            del left[what]
        return not left

    bounded = settings(
        max_examples=10_000,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    with suppress(NoSuchExample):
        find(strategy, is_last, settings=bounded)
    return list(left)


# Valid ones


@given(pet=strategies.new_pets())
def test_every_new_pet_is_accepted_and_comes_back(service: PetStoreMock, pet: dict[str, Any]) -> None:
    status, body = post(service, pet)
    assert status == 201
    assert {name: value for name, value in body.items() if name != "id"} == pet


@pytest.mark.untraced
@given(pet=strategies.pets())
def test_every_pet_can_be_seeded(service: PetStoreMock, pet: dict[str, Any]) -> None:
    with service.fresh() as world:
        assert world.seed(pet) == pet
        assert world.pets == [pet]


@pytest.mark.untraced
@given(query=strategies.list_queries())
def test_every_list_query_is_accepted(service: PetStoreMock, query: dict[str, Any]) -> None:
    answer = Client(service.app).get("/v1/pets", query_string=urlencode(query), headers=service.headers)
    assert answer.status_code == 200


@given(name=strategies.names(), category=strategies.category_ids(), status=strategies.pet_statuses())
def test_fields_drawn_alone_make_a_valid_animal(service: PetStoreMock, name: str, category: int, status: str) -> None:
    assert post(service, {"name": name, "categoryId": category, "status": status})[0] == 201


# Invalid ones


@pytest.mark.untraced
@given(drawn=strategies.invalid_new_pets())
def test_every_invalid_new_pet_is_refused_for_its_rule_alone(service: PetStoreMock, drawn: InvalidNewPet) -> None:
    status, body = post(service, drawn.body)
    assert status == 400, body
    assert rules_broken(service) == [drawn.rule]


@given(drawn=strategies.invalid_list_queries())
def test_every_invalid_list_query_is_refused_for_its_rule_alone(service: PetStoreMock, drawn: InvalidListQuery) -> None:
    query = urlencode(drawn.query, doseq=True)
    answer = Client(service.app).get("/v1/pets", query_string=query, headers=service.headers)
    assert answer.status_code == 400, query
    assert rules_broken(service) == [drawn.rule]


def keywords(schema: dict[str, Any]) -> set[str]:
    """The asserting keywords of an object schema and its properties, by their own names."""
    found: set[str] = {name for name in ("required", "type") if name in schema}
    if schema.get("additionalProperties") is False:
        found.add("additionalProperties")
    for part in schema.get("properties", {}).values():
        found |= part.keys() & {"type", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "multipleOf"}
    return found


def breaks(rule: str, drawn: InvalidNewPet | InvalidListQuery) -> bool:
    return drawn.rule == rule


def has_status_of(kind: type, drawn: InvalidNewPet) -> bool:
    return isinstance(drawn.body, dict) and type(drawn.body.get("status", "")) is kind


def leaves_out(field: str, drawn: InvalidNewPet) -> bool:
    return drawn.rule == "required" and field not in drawn.body


@pytest.mark.untraced
def test_every_rule_of_the_schema_every_type_and_every_lack_is_drawn() -> None:
    wanted: dict[str, Callable[[Any], bool]] = {
        **{rule: partial(breaks, rule) for rule in keywords(default_schemas().resolved["NewPet"])},
        **{f"a status of {kind}": partial(has_status_of, kind) for kind in (type(None), bool, int, float, list, dict)},
        **{f"no {field}": partial(leaves_out, field) for field in ("name", "categoryId")},
        "a near miss": lambda drawn: isinstance(drawn.body, dict) and "category_id" in drawn.body,
    }
    assert missed(strategies.invalid_new_pets(), wanted) == []


def has_limit(limit: str, drawn: InvalidListQuery) -> bool:
    return drawn.query.get("limit") == limit


@pytest.mark.untraced
def test_every_rule_of_the_query_and_every_odd_number_is_drawn() -> None:
    rules = ("type", "minimum", "maximum", "enum", "unique", "additionalProperties")
    limits = ("", "+5", "1_0", "1.0", "\u0665", "five", "-0")
    wanted = {
        **{rule: partial(breaks, rule) for rule in rules},
        **{f"limit={limit}": partial(has_limit, limit) for limit in limits},
    }
    assert missed(strategies.invalid_list_queries(), wanted) == []


# What the awkward ones reach

AWKWARD: dict[str, Callable[[str], bool]] = {
    "emoji": lambda text: any(0x1F300 <= ord(character) <= 0x1FAFF for character in text),
    "combining marks": lambda text: any(unicodedata.combining(character) for character in text),
    "right-to-left": lambda text: any(unicodedata.bidirectional(character) == "R" for character in text),
    "NUL": lambda text: "\0" in text,
    "double quotes": lambda text: '"' in text,
    "single quotes": lambda text: "'" in text,
    "line separators": lambda text: "\u2028" in text,
    "emptiness": lambda text: not text,
    "great length": lambda text: len(text) > 1000,
    "characters beyond 16 bits": lambda text: any(ord(character) > 0xFFFF for character in text),
}


@pytest.mark.parametrize(
    ("drawn", "words"),
    [
        (strategies.invalid_new_pets().filter(lambda drawn: drawn.rule == "enum"), "InvalidNewPet(body={"),
        (strategies.invalid_list_queries().filter(lambda drawn: drawn.rule == "enum"), "InvalidListQuery(query={"),
        (strategies.faults().filter(lambda drawn: drawn.kind == "hang"), "faults.hang()"),
        (strategies.faults().filter(lambda drawn: drawn.kind == "respond"), "faults.respond(403)"),
    ],
)
def test_a_failing_example_shows_what_was_drawn(drawn: SearchStrategy[Any], words: str) -> None:
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


def test_names_reach_all_that_is_awkward() -> None:
    assert missed(strategies.names(), AWKWARD) == []


def test_category_ids_reach_every_edge() -> None:
    edges = (-(2**63), 2**63 - 1, 2**53 - 1, 2**53 + 1, -(2**53) - 1, 0, -1)
    assert missed(strategies.category_ids(), {str(edge): partial(operator.eq, edge) for edge in edges}) == []


@given(name=strategies.names())
def test_no_name_holds_a_lone_surrogate(name: str) -> None:
    name.encode("utf-8")


def test_integers_are_drawn_where_the_bounds_leave_none_of_the_edges() -> None:
    assert find(from_schema.integers({"minimum": 9, "maximum": 15, "multipleOf": 7}), lambda _: True) == 14


# Arguments


@given(pet=strategies.new_pets(names=st.just("Rex"), category_ids=st.just(7), statuses=st.just("sold")))
def test_new_pets_take_strategies_for_their_fields(pet: dict[str, Any]) -> None:
    assert pet["name"] == "Rex"
    assert pet["categoryId"] == 7
    assert pet.get("status", "sold") == "sold"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: strategies.new_pets(names="Rex"), "names='Rex'"),  # type: ignore[arg-type]
        (lambda: strategies.pets(ids=3), "ids=3"),  # type: ignore[arg-type]
        (lambda: strategies.list_queries(limits=3), "limits=3"),  # type: ignore[arg-type]
        (lambda: strategies.behaviours(vary="list_order"), "vary='list_order'"),
        (lambda: strategies.behaviours(vary=3), "vary=3 (int)"),  # type: ignore[arg-type]
        (lambda: strategies.behaviours(vary=["list_ordr"]), "Did you mean 'list_order'"),
        (lambda: strategies.fault_plans(faults=503), "faults=503"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_argument_is_reported_when_drawn(make: Callable[[], SearchStrategy[Any]], words: str) -> None:
    strategy = make()  # not here: that would fail the import of a test module
    with pytest.raises(PetStoreMockError, match="expected") as caught:
        find(strategy, lambda _: True)
    assert words in str(caught.value)


# Behaviours and faults


def test_behaviours_shrink_to_the_default() -> None:
    assert find(strategies.behaviours(), lambda _: True) == Behaviour()


@pytest.mark.untraced
def test_behaviours_shrink_to_the_one_gap_that_matters() -> None:
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


@pytest.mark.untraced
@given(behaviour=strategies.behaviours(), pet=strategies.new_pets())
def test_no_behaviour_drawn_by_default_refuses_a_valid_animal(behaviour: Behaviour, pet: dict[str, Any]) -> None:
    status, _ = post(PetStoreMock(behaviour=behaviour, self_check=True), pet)
    assert status == 201


@pytest.mark.parametrize("gap", sorted(GAPS))
def test_behaviours_reach_every_alternative(gap: str) -> None:
    wanted = {alternative: partial(behaves, gap, alternative) for alternative in GAPS[gap].alternatives}
    assert missed(strategies.behaviours(vary=[gap]), wanted) == []


def behaves(gap: str, alternative: str, behaviour: Behaviour) -> bool:
    return bool(getattr(behaviour, gap) == alternative)


@pytest.mark.untraced
def test_fault_plans_shrink_to_none() -> None:
    assert find(strategies.fault_plans(), lambda _: True) == ()


@pytest.mark.untraced
@given(plan=strategies.fault_plans(faults=strategies.faults()))
def test_every_fault_plan_can_be_injected(plan: tuple[PlannedFault, ...]) -> None:
    petstore = PetStoreMock()
    handles = [fault.inject(petstore) for fault in plan]
    assert [handle.fault for handle in handles] == [fault.fault for fault in plan]


@given(plan=strategies.fault_plans())
def test_a_fault_that_was_drawn_need_not_fire(plan: tuple[PlannedFault, ...]) -> None:
    petstore = PetStoreMock()
    for fault in plan:
        fault.inject(petstore)
    petstore.verify()
    for fault in plan:
        with fault.inject(petstore):
            pass


def test_a_plan_has_another_fault_where_the_interface_declares_no_such_status() -> None:
    """404 is no answer of listPets (§7)."""
    plans = strategies.fault_plans(faults=st.just(faults.not_found()))
    (planned,) = find(plans, lambda plan: len(plan) == 1 and plan[0].on == "listPets")
    assert planned.fault == faults.server_error()


def test_faults_without_wire_may_take_time() -> None:
    drawn = strategies.faults(allow_wire=False)
    kinds: dict[str, Callable[[Any], bool]] = {
        "delay": partial(is_of, "delay"),
        "on a socket": lambda fault: fault.needs_socket,
    }
    assert missed(drawn, kinds) == ["on a socket"]


def test_behaviours_that_may_vary_nothing_are_the_default() -> None:
    assert find(strategies.behaviours(vary=[]), lambda _: True) == Behaviour()


@given(fault=strategies.faults(allow_wire=False, allow_waits=False))
def test_faults_without_wire_work_in_process(fault: faults.Fault) -> None:
    petstore = PetStoreMock()
    petstore.inject(fault, on="listPets")
    answer = Client(petstore.app).get("/v1/pets", headers=petstore.headers)
    assert (answer.status_code, answer.content_type, answer.data) != (200, "application/json", b"[]")
    assert not fault.takes_time


def is_of(kind: str, fault: faults.Fault) -> bool:
    return fault.kind == kind


def test_faults_reach_every_kind() -> None:
    of_the_wire = ("hang", "reset", "empty_reply", "truncate", "dribble", "malformed_chunk")
    kinds = (*of_the_wire, "malformed_json", "delay", "rate_limited")
    wanted: dict[str, Callable[[faults.Fault], bool]] = {kind: partial(is_of, kind) for kind in kinds}
    wanted["late error"] = lambda fault: fault.loses_answer and fault.arrives_late
    assert missed(strategies.faults(), wanted) == []
