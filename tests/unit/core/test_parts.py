"""Parts of the core: time, options, faults, randomness, executors, routes. tests/face covers them together."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import pytest

from petstore_mock.common.real import RLock
from petstore_mock.core import options
from petstore_mock.core.fault_plan import FaultHandle, FaultPlan, operations_of
from petstore_mock.core.pipeline import EXECUTORS
from petstore_mock.core.routing import rules_for
from petstore_mock.core.store import Store, wall_clock
from petstore_mock.faults.fault import coerce
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.table import OPERATIONS

DAY = 86_400.0


def empty(random_seed: int = 0) -> Store:
    return Store(rules_for(Behaviour()), random_seed)


@pytest.mark.parametrize("replacement", [lambda: None, lambda: 1 / 0, lambda: 1e300], ids=["none", "raises", "late"])
def test_clock_survives_a_replaced_time(monkeypatch: pytest.MonkeyPatch, replacement: Any) -> None:
    real = time.time()
    monkeypatch.setattr(time, "time", replacement)
    assert abs(wall_clock() - real) < 60


def test_own_options_of_a_test_win_over_those_of_the_session() -> None:
    base = options.start_of({"behaviour": "lenient", "strict": True, "seed": 3}, ("k",))
    start = options.own_start(base, {"gaps": {"list_order": "by_name"}, "seed": 1, "strict": None})
    assert (start.keys, start.seed, start.added, start.strict) == (("k",), 3, 1, True)
    assert start.behaviour == Behaviour.preset("lenient").replace(list_order="by_name")


@pytest.mark.parametrize(("status", "one", "other"), [(404, "getPet", "listPets"), (400, "createPet", "getPet")])
def test_status_is_allowed_on_the_operations_that_declare_it(status: int, one: str, other: str) -> None:
    names = operations_of(coerce(status))
    assert (one in names, other in names) == (True, False)
    assert all((name in names) is (status in row.errors) for name, row in OPERATIONS.items())
    assert operations_of(coerce(503)) == [*OPERATIONS]


def test_plan_drops_spent_faults_before_others() -> None:
    plan = FaultPlan(RLock(), deque())
    first = plan.add(FaultHandle(fault=coerce(503), times=1))
    assert plan.choose("before_commit", None, empty().random) is first.fault
    lasting = [plan.add(FaultHandle(fault=coerce(503))) for _ in range(1_000)]
    assert plan.every == plan.in_force == lasting


def test_copy_repeats_random_draws() -> None:
    store = empty(7)
    store.random().random()
    copy = store.copy()
    assert store.random().random() == copy.random().random() != empty(7).random().random()
    assert (store.drawn, copy.drawn) == (2, 2)


def test_each_operation_has_an_executor() -> None:
    assert EXECUTORS.keys() == OPERATIONS.keys()


def test_route_is_cached() -> None:
    rules = rules_for(Behaviour())
    route = rules.route("GET", "/v1/pets?status=sold")
    assert route is rules.route("GET", "/v1/pets?status=sold")
    assert route.arguments == {"limit": 20, "status": "sold"}
    assert [(one.parameter.name, one.value) for one in route.filters] == [("status", "sold")]
    assert rules.route("GET", "/v1/pets/7").pet_id == 7
