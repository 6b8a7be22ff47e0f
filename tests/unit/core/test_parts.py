"""Pure parts of the core: time, keys, options, rules of faults, randomness."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import pytest

from petstore_mock.common.real import RLock
from petstore_mock.core import options
from petstore_mock.core.clock import Time, moment_from, wall_clock
from petstore_mock.core.fault_plan import FaultHandle, FaultPlan, operations_of
from petstore_mock.core.host import NOBODY, Host
from petstore_mock.core.operations import EXECUTORS
from petstore_mock.core.registry import check_name
from petstore_mock.core.routing import rules_for
from petstore_mock.core.store import Store
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults.fault import coerce
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.table import OPERATIONS

DAY = 86_400.0


# Time


def test_time_travels_moves_and_stands_in_this_order() -> None:
    now = Time()
    now.change(moment=10 * DAY, step={"days": 1, "hours": 12}, freeze=True)
    assert (now.now(), now.begin_request(), now.date) == (11.5 * DAY, 11.5 * DAY, b"Mon, 12 Jan 1970 12:00:00 GMT")
    now.change(freeze=False)
    assert 0 <= now.now() - 11.5 * DAY < 5


def test_date_is_one_object_for_a_second() -> None:
    now = Time()
    now.change(moment=DAY, freeze=True)
    now.begin_request()
    first = now.date
    now.change(step={"seconds": 0.5})
    now.begin_request()
    assert now.date is first
    now.change(step={"seconds": 0.5})
    now.begin_request()
    assert now.date is not first


@pytest.mark.parametrize("step", [{"days": 1e9}, {"seconds": float("nan")}, {"days": "1"}, {"days": float("inf")}])
def test_step_out_of_the_years_of_http_changes_nothing(step: dict[str, Any]) -> None:
    now = Time()
    with pytest.raises(PetStoreMockError):
        now.change(moment=DAY, step=step)
    assert now.offset == 0.0


@pytest.mark.parametrize("replacement", [lambda: None, lambda: 1 / 0, lambda: 1e300], ids=["none", "raises", "late"])
def test_clock_survives_a_replaced_time(monkeypatch: pytest.MonkeyPatch, replacement: Any) -> None:  # noqa: ANN401
    real = time.time()
    monkeypatch.setattr(time, "time", replacement)
    assert abs(wall_clock() - real) < 60


def test_moment_is_relative_or_absolute() -> None:
    assert moment_from(100.0, 5, "expires") == 105.0
    assert moment_from(100.0, "1970-01-02", "expires") == DAY
    with pytest.raises(PetStoreMockError, match="expires"):
        moment_from(100.0, True, "expires")  # noqa: FBT003  # it is no number


# Keys


def test_key_leads_to_its_world_until_it_is_retired() -> None:
    host, world = Host(), object()
    key = host.new_key()
    host.hold(key, world)
    assert (host.by_key[key], host.retired.get(key)) == ([world], None)
    host.retire(key, world, None)
    assert (host.by_key.get(key), host.retired[key]) == (None, NOBODY)
    host.hold(key, world)
    assert key not in host.retired


def test_shared_key_stays_with_the_other_world() -> None:
    host, one, other = Host(), object(), object()
    host.hold("k", one)
    host.hold("k", other)
    host.retire("k", one, "one")
    assert (host.by_key["k"], "k" in host.retired) == ([other], False)


@pytest.mark.parametrize("key", ["", "a b", "ä", "=a", None, 5])
def test_key_that_no_client_can_send_is_refused_unseen(key: object) -> None:
    with pytest.raises(PetStoreMockError, match="expected an API key"):
        Host().check_key(key, None, shared=False)


@pytest.mark.parametrize("name", ["", ".", "..", "default", "a/b", "a b", "x" * 101])
def test_name_of_a_world_is_one_segment(name: str) -> None:
    with pytest.raises(PetStoreMockError):
        check_name(name)
    check_name("a.B_c~d-1")


# Options


def test_options_of_a_place_have_their_defaults() -> None:
    assert options.checked({}, "world") == {
        "api_key": None,
        "seed": None,
        "behaviour": Behaviour(),
        "at": None,
        "strict": False,
        "random_seed": 0,
        "mutant": None,
    }
    assert options.checked({"port": 1}, "listener")["port"] == 1


@pytest.mark.parametrize(
    ("place", "given", "words"),
    [
        ("world", {"stict": True}, "strict"),
        ("world", {"strict": "false"}, "strict='false'"),
        ("world", {"at": "soon"}, "at='soon'"),
        ("world", {"mutant": "list-filter-ignord"}, "list-filter-ignored"),
        ("listener", {"port": 70_000}, "port=70000"),
        ("serve", {"world_ttl": 0}, "world_ttl=0"),
    ],
)
def test_wrong_option_is_refused_by_its_name(place: Any, given: dict[str, Any], words: str) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError) as refused:
        options.checked(given, place)
    assert words in str(refused.value)


def test_own_options_of_a_test_win_over_those_of_the_session() -> None:
    base = options.start_of({"behaviour": "lenient", "strict": True, "seed": 3}, ("k",))
    start = options.own_start(base, {"gaps": {"list_order": "by_name"}, "seed": 1, "strict": None})
    assert (start.keys, start.seed, start.added, start.strict) == (("k",), 3, 1, True)
    assert start.behaviour == Behaviour.preset("lenient").replace(list_order="by_name")


# Faults


def plan(**rule: Any) -> tuple[FaultPlan, FaultHandle]:  # noqa: ANN401  # the arguments of inject()
    plan = FaultPlan(RLock(), deque())
    return plan, plan.add(FaultHandle(fault=coerce(rule.pop("fault", 503)), **rule), 0)


@pytest.mark.parametrize(("status", "one", "other"), [(404, "getPet", "listPets"), (400, "createPet", "getPet")])
def test_status_is_for_the_operations_that_declare_it(status: int, one: str, other: str) -> None:
    names = operations_of(coerce(status))
    assert (one in names, other in names) == (True, False)
    assert all((name in names) is (status in row.errors) for name, row in OPERATIONS.items())
    assert operations_of(coerce(503)) == [*OPERATIONS]


@pytest.mark.parametrize(
    "rule",
    [
        {"fault": 404},
        {"fault": 404, "on": "listPets"},
        {"on": "listPets", "at": "after_commit"},
        {"on": "listPet"},
        {"at": "later"},
        {"times": 0},
        {"after": -1},
        {"probability": 0},
        {"when": 5},
        {"where": {"nam": "Rex"}},
        {"where": {"status": 200}},
    ],
    ids=repr,
)
def test_rule_that_can_t_be_right_is_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(PetStoreMockError):
        plan(**rule)


def test_fault_that_never_fired_is_unfired() -> None:
    faults, handle = plan(times=2)
    assert handle.is_unfired
    assert faults.choose("before_commit", None, Store().random) is handle.fault
    assert (handle.is_unfired, handle.spent, "fired 1 of 2 times" in handle.shortfall()) == (True, False, True)
    assert faults.choose("before_commit", None, Store().random) is handle.fault
    assert (handle.is_unfired, handle.spent, faults.idle, faults.every) == (False, True, True, [handle])
    handle.cancel()
    assert faults.every == []


# Randomness and rules


def test_draws_repeat_from_a_copy_on() -> None:
    store = Store(7)
    store.random().random()
    copy = store.copy()
    assert store.random().random() == copy.random().random() != Store(7).random().random()
    assert (store.drawn, copy.drawn) == (2, 2)


def test_each_operation_has_an_executor() -> None:
    assert EXECUTORS.keys() == OPERATIONS.keys()


def test_route_is_worked_out_once() -> None:
    rules = rules_for(Behaviour())
    route = rules.route("GET", "/v1/pets?status=sold")
    assert route is rules.route("GET", "/v1/pets?status=sold")
    assert (route.arguments, route.filters) == ({"limit": 20, "status": "sold"}, (("status", "sold"),))
    assert rules.route("GET", "/v1/pets/7").pet_id == 7


@pytest.mark.parametrize(
    ("target", "section"),
    [("/v1/pets?status=x", "4.1"), ("/v1/pets?limit=1&limit=2", "4.1"), ("/v1/pets?x=1", "4.1"), ("/v1/pets/x", "4.3")],
)
def test_wrong_parameter_quotes_the_sentence_of_its_operation(target: str, section: str) -> None:
    refusal = rules_for(Behaviour()).route("GET", target).invalid
    assert refusal is not None
    assert [one.sentence.section for one in refusal.violations] == [section]
