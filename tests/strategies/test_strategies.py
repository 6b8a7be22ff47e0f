"""Strategies draw what the service accepts, refuses or does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from hypothesis import find, given, settings
from werkzeug.test import Client

from petstore_mock import Behaviour, PetStoreMock, PetStoreMockError, faults, strategies

if TYPE_CHECKING:
    from collections.abc import Callable

    from werkzeug.test import TestResponse


@pytest.fixture(scope="module")
def send() -> Callable[..., TestResponse]:
    """Send a request to a strict service in process."""
    petstore = PetStoreMock()
    client = Client(petstore.app)

    def sent(method: str, query: dict[str, Any] | None = None, body: Any = None) -> TestResponse:  # noqa: ANN401
        content = {} if method == "GET" else {"data": json.dumps(body), "content_type": "application/json"}
        text = urlencode(query or {}, doseq=True)
        return client.open("/v1/pets", method=method, query_string=text, headers=petstore.headers, **content)  # type: ignore[arg-type]

    return sent


@given(strategies.new_pets())
def test_new_pets_are_created(send: Callable[..., TestResponse], pet: dict[str, Any]) -> None:
    response = send("POST", body=pet)
    assert response.status_code == 201
    assert json.loads(response.data).items() >= pet.items()


@given(strategies.invalid_new_pets())
def test_invalid_new_pets_break_one_rule(send: Callable[..., TestResponse], pet: strategies.InvalidNewPet) -> None:
    assert send("POST", body=pet.body).status_code == 400


@given(strategies.list_queries())
def test_queries_are_accepted(send: Callable[..., TestResponse], query: dict[str, Any]) -> None:
    assert send("GET", query).status_code == 200


@given(strategies.invalid_list_queries())
def test_invalid_queries_are_refused(send: Callable[..., TestResponse], query: strategies.InvalidListQuery) -> None:
    assert send("GET", query.query).status_code == 400


@given(strategies.pets())
def test_pets_are_seeded(pet: dict[str, Any]) -> None:
    petstore = PetStoreMock()
    assert petstore.seed(pet) == pet
    assert petstore.pets == [pet]


@pytest.mark.parametrize("rule", ["required", "type", "minimum", "maximum", "enum", "additionalProperties"])
def test_every_rule_is_broken(rule: str) -> None:
    options = settings(max_examples=2000, database=None)
    find(strategies.invalid_new_pets(), lambda pet: pet.rule == rule, settings=options)
    find(strategies.invalid_list_queries(), lambda query: query.rule in {rule, "unique"}, settings=options)


@pytest.mark.parametrize(
    ("strategy", "wanted"),
    [
        (strategies.names(), lambda name: len(name) > 300),
        (strategies.names(), lambda name: name == "</script>"),
        (strategies.category_ids(), lambda number: abs(number) == 2**53 + 1),
        (strategies.category_ids(), lambda number: number == -(2**63)),
        (strategies.pet_statuses(), lambda status: status == "sold"),
    ],
)
def test_edges_are_drawn(strategy: Any, wanted: Callable[[Any], bool]) -> None:  # noqa: ANN401
    find(strategy, wanted, settings=settings(max_examples=3000, database=None))


def test_behaviours_shrink_to_the_default() -> None:
    assert find(strategies.behaviours(), lambda _: True) == Behaviour()
    found = find(strategies.behaviours(vary=["list_order"]), lambda one: one != Behaviour())
    assert found.differences().keys() == {"list_order"}
    with pytest.raises(PetStoreMockError, match="did you mean 'list_order'"):
        find(strategies.behaviours(vary=["list_ordr"]), lambda _: True)


@given(strategies.faults(allow_wire=False, allow_waits=False))
def test_faults_need_no_socket_and_no_time(fault: faults.Fault) -> None:
    PetStoreMock().inject(fault, off_contract=True)
    assert fault.kind not in {"hang", "reset", "delay", "dribble"}


@given(strategies.fault_plans())
def test_plans_are_planned(plan: tuple[strategies.PlannedFault, ...]) -> None:
    petstore = PetStoreMock()
    assert [fault.inject(petstore).hits for fault in plan] == [0] * len(plan)
