"""Which fault meets which request: the rules of matching, one by one."""

from __future__ import annotations

import inspect
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, VerificationError, faults
from petstore_mock.core.fault_rule import FaultRule
from petstore_mock.faults.kinds import Answer
from tests.inside.core import Core, deferred, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.core.fault_plan import FaultHandle


@pytest.fixture
def core() -> Core:
    core = Core()
    core.world.animals.seed({"id": 1}, {})
    return core


def inject(core: Core, fault: int | faults.Fault, **options: Any) -> FaultHandle:  # noqa: ANN401  # those of inject()
    return core.world.plan.add(fault, **options)


def statuses(core: Core, count: int) -> list[int]:
    return [core.list().status for _ in range(count)]


# Placement


def test_fault_without_limits_fires_every_time(core: Core) -> None:
    handle = inject(core, 503)
    assert statuses(core, 3) == [503, 503, 503]
    assert handle.hits == 3


def test_fault_meets_its_operation_only(core: Core) -> None:
    handle = inject(core, 503, on="getPet")
    assert core.list().status == 200
    assert core.create().status == 201
    assert core.get().status == 503
    assert handle.hits == 1


def test_fault_without_operation_meets_every_declared_one(core: Core) -> None:
    inject(core, 503)
    assert [core.list().status, core.create().status, core.get().status] == [503, 503, 503]


@pytest.mark.parametrize(("method", "target"), [("GET", "/nowhere"), ("PUT", "/v1/pets"), ("OPTIONS", "/v1/pets")])
def test_fault_does_not_meet_what_is_no_operation(core: Core, method: str, target: str) -> None:
    handle = inject(core, 503)
    assert core.send(method, target).status != 503
    assert handle.hits == 0


def test_fault_never_hides_what_the_client_did_wrong(core: Core) -> None:
    """Refused requests use up neither `after` nor `times`."""
    handle = inject(core, 503, after=1, times=1)
    assert core.list(key=None).status == 401
    assert core.list("?limit=0").status == 400
    assert core.create({"name": 1}).status == 400
    assert (handle.passed, handle.hits) == (0, 0)
    assert statuses(core, 3) == [200, 503, 200]


def test_after_lets_matching_requests_pass_first(core: Core) -> None:
    inject(core, 401, on="listPets", after=2)
    core.get()
    assert statuses(core, 4) == [200, 200, 401, 401]


def test_times_ends_the_fault(core: Core) -> None:
    handle = inject(core, 503, times=2)
    assert statuses(core, 4) == [503, 503, 200, 200]
    assert (handle.hits, handle.spent) == (2, True)


def test_after_and_times_combine(core: Core) -> None:
    inject(core, 503, after=1, times=2)
    assert statuses(core, 5) == [200, 503, 503, 200, 200]


def test_when_gets_the_request(core: Core) -> None:
    seen = []

    def wanted(request: Any) -> bool:  # noqa: ANN401  # an ApiRequest
        seen.append((request.operation, request.query, request.header("x-trace")))
        return bool(request.query.get("limit") == "2")

    inject(core, 503, when=wanted)
    assert core.list("?limit=1", headers={"X-Trace": "t"}).status == 200
    assert core.list("?limit=2").status == 503
    assert seen == [("listPets", {"limit": "1"}, "t"), ("listPets", {"limit": "2"}, None)]


def test_when_that_says_no_uses_up_nothing(core: Core) -> None:
    handle = inject(core, 503, when=lambda request: request.query.get("limit") == "2", after=1, times=1)
    answers = [core.list(query).status for query in ("", "?limit=2", "", "?limit=2", "?limit=2")]
    assert answers == [200, 200, 200, 503, 200]
    assert (handle.passed, handle.hits) == (1, 1)


def test_when_may_look_at_the_state(core: Core) -> None:
    """It is called under the world's lock, which is re-entrant."""
    inject(core, 503, when=lambda _: len(core.journal) == 1 and core.world.animals.store.count(None) == 1)
    assert statuses(core, 3) == [200, 503, 200]


@pytest.mark.parametrize("leave", [pytest.fail, sys.exit])
def test_when_that_fails_the_test_is_told_and_the_request_answered(core: Core, leave: Callable[[str], object]) -> None:
    """What these raise is no ``Exception``, and would end the listener's thread."""
    inject(core, 503, when=lambda _: leave("unwanted"))
    assert core.list().status == 200
    assert [str(error.__cause__) for error in core.world.plan.errors] == ["unwanted"]


def test_when_may_be_interrupted(core: Core) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    inject(core, 503, when=interrupted)
    with pytest.raises(KeyboardInterrupt):
        core.list()


@pytest.mark.parametrize(
    ("fault", "options"),
    [(faults.sequence(503, 500), {}), (503, {"times": 2}), (503, {"times": 2, "probability": 1})],
)
def test_when_that_asks_the_fake_itself_is_not_blamed(
    core: Core, fault: int | faults.Fault, options: dict[str, Any]
) -> None:
    """What it asks may meet the same fault, and use it up before the request that it was asked about."""
    asked: list[int] = []

    def asks(_: object) -> bool:
        if len(asked) < 2:
            asked.append(0)  # so that what it asks does not ask again
            asked[asked.index(0)] = core.list().status
        return True

    handle = inject(core, fault, when=asks, **options)
    core.list()
    assert core.world.plan.errors == []
    assert (handle.hits, handle.spent) == (2, True)
    assert core.list().status == 200


def test_when_that_takes_its_fault_away_answers_for_no_further_request(core: Core) -> None:
    def cancels(_: object) -> bool:
        handles[0].cancel()
        core.world.plan.cancel()
        return True

    handles = [inject(core, 503, when=cancels), inject(core, 500)]
    assert core.list().status == 200
    assert [handle.hits for handle in handles] == [0, 0]


def test_errors_of_a_when_are_bounded(core: Core) -> None:
    """It may be asked about a million requests."""
    inject(core, 503, when=lambda _: 1 / 0)
    statuses(core, 200)
    assert len(core.world.plan.errors) == 100


# Criteria


@pytest.mark.parametrize(
    ("on", "where", "expected"),
    [
        ("createPet", {"name": "Rex"}, [201, 503, 201, 200, 200, 200]),
        ("createPet", {"name": "Rex", "categoryId": 2}, [201, 201, 201, 200, 200, 200]),
        ("createPet", {"status": "sold"}, [201, 201, 503, 200, 200, 200]),
        ("createPet", {"status": None, "categoryId": 1}, [503, 503, 201, 200, 200, 200]),
        ("createPet", {"json": {"name": "Rex", "categoryId": 1}}, [201, 503, 201, 200, 200, 200]),
        ("listPets", {"limit": 2}, [201, 201, 201, 200, 503, 200]),
        ("listPets", {"query": {"limit": 2, "status": "sold"}}, [201, 201, 201, 200, 503, 200]),
        ("getPet", {"petId": 1}, [201, 201, 201, 200, 200, 503]),
        (None, {"status": "sold"}, [201, 201, 503, 200, 503, 200]),
        (None, {"method": "POST"}, [503, 503, 503, 200, 200, 200]),
        (None, {"path": "/v1/pets/1"}, [201, 201, 201, 200, 200, 503]),
        (None, {"headers": {"x-trace": "t"}}, [201, 201, 503, 200, 200, 200]),
        (None, {}, [503] * 6),
    ],
)
def test_where_says_which_requests_meet_the_fault(
    core: Core, on: str | None, where: dict[str, Any], expected: list[int]
) -> None:
    inject(core, 503, on=on, where=where)
    answers = [
        core.create({"name": "Tom", "categoryId": 1}),
        core.create({"name": "Rex", "categoryId": 1}),
        core.create({"name": "Ada", "categoryId": 1, "status": "sold"}, headers={"X-Trace": "t"}),
        core.list(),
        core.list("?limit=2&status=sold"),
        core.get(1),
    ]
    assert [answer.status for answer in answers] == expected


def test_where_that_says_no_uses_up_nothing_and_the_report_says_in_what_it_differed(core: Core) -> None:
    handle = inject(core, 503, on="createPet", where={"name": "Rex"}, after=1, times=1)
    assert core.create({"name": "Tom", "categoryId": 1}).status == 201
    assert (handle.passed, handle.differing) == (0, 1)
    assert handle.why_not() == "1 request differed from where=, the last in that name was 'Tom', expected 'Rex'"
    assert [core.create({"name": "Rex", "categoryId": 1}).status for _ in range(3)] == [201, 503, 201]


def test_where_and_when_must_both_hold(core: Core) -> None:
    inject(core, 503, where={"limit": 2}, when=lambda request: request.header("x-trace") == "t")
    traced = {"X-Trace": "t"}
    assert core.list("?limit=2").status == core.list("?limit=1", headers=traced).status == 200
    assert core.list("?limit=2", headers=traced).status == 503


def test_where_holds_after_the_commit_too(core: Core) -> None:
    inject(core, 503, at="after_commit", where={"name": "Rex"})
    assert core.create({"name": "Tom", "categoryId": 1}).status == 201
    assert core.create({"name": "Rex", "categoryId": 1}).status == 503
    assert core.world.animals.store.count(None) == 3


def test_where_reads_as_it_was_written_without_the_key(core: Core) -> None:
    handle = inject(core, 503, on="createPet", where={"name": "Rex"})
    assert str(handle) == "inject(server_error(503), on='createPet', where={'name': 'Rex'})"
    secret = inject(core, 503, where={"headers": {"Authorization": "Bearer hunter2-hunter2-hunter2"}})
    assert "hunter2-hunter2" not in f"{secret}{secret.to_data()}"


# Probability


def test_probability_is_drawn_by_the_random_seed() -> None:
    def run(random_seed: int) -> list[int]:
        core = Core(random_seed=random_seed)
        inject(core, 503, probability=0.5)
        return statuses(core, 64)

    assert run(1) == run(1) != run(2)
    assert 16 < run(1).count(503) < 48


def test_probability_is_the_chance_to_meet_the_fault(core: Core) -> None:
    inject(core, 503, probability=0.1)
    assert 0 < statuses(core, 200).count(503) < 60


def test_reset_begins_the_draws_anew(core: Core) -> None:
    def run() -> list[int]:
        inject(core, 503, probability=0.5)
        return statuses(core, 32)

    first = run()
    core.world.reset([core.key])
    assert run() == first


def test_request_that_was_spared_is_no_hit(core: Core) -> None:
    handle = inject(core, 503, probability=0.3, times=5)
    answers = statuses(core, 64)
    assert answers.count(503) == 5
    assert handle.hits == 5


def test_ranged_delay_stays_in_its_range_and_follows_the_seed() -> None:
    def delays(random_seed: int) -> list[float]:
        core = Core(random_seed=random_seed)
        inject(core, faults.delay((1, 2)))
        return [core.defer().delay for _ in range(8)]

    first = delays(1)
    assert first == delays(1) != delays(2)
    assert len(set(first)) > 1
    assert all(1 <= delay <= 2 for delay in first)


# Several faults


def test_first_planned_wins(core: Core) -> None:
    first, second = inject(core, 503), inject(core, 500)
    assert statuses(core, 2) == [503, 503]
    assert (first.hits, second.hits, second.passed) == (2, 0, 0)


def test_second_is_met_when_the_first_is_spent(core: Core) -> None:
    inject(core, 503, times=1)
    inject(core, 500, times=1)
    assert statuses(core, 3) == [503, 500, 200]


def test_request_that_one_lets_pass_goes_on_to_the_next(core: Core) -> None:
    """`after` of the first does not shield from the second."""
    inject(core, 503, after=1)
    inject(core, 500)
    assert statuses(core, 3) == [500, 503, 503]


def test_sequence_uses_one_a_request_and_is_spent(core: Core) -> None:
    handle = inject(core, faults.sequence(503, 429, faults.respond(502, body="")), on="listPets")
    core.get()
    assert statuses(core, 5) == [503, 429, 502, 200, 200]
    assert (handle.hits, handle.spent) == (3, True)


def test_sequence_waits_for_after(core: Core) -> None:
    inject(core, faults.sequence(503, 500), after=1)
    assert statuses(core, 4) == [200, 503, 500, 200]


# After the commit


def test_after_commit_creates_and_loses_the_answer(core: Core) -> None:
    handle = inject(core, 503, on="createPet", at="after_commit", times=1)
    assert core.create().status == 503
    assert core.world.animals.store.count(None) == 2
    assert core.journal.last.executed
    assert handle.hits == 1


def test_before_commit_creates_nothing(core: Core) -> None:
    inject(core, 503, on="createPet")
    assert core.create().status == 503
    assert core.world.animals.store.count(None) == 1
    assert not core.journal.last.executed


@pytest.mark.parametrize("fault", [faults.malformed_json(), faults.wrong_content_type(), faults.truncate()], ids=str)
def test_corrupted_answer_keeps_the_animal_only_after_the_commit(core: Core, fault: faults.Fault) -> None:
    create = core.defer_create if fault.needs_socket else core.create
    with inject(core, fault, on="createPet"):
        create()
    assert core.world.animals.store.count(None) == 1
    with inject(core, fault, on="createPet", at="after_commit"):
        create()
    assert core.world.animals.store.count(None) == 2


def test_after_commit_uses_up_nothing_where_nothing_is_committed(core: Core) -> None:
    handle = inject(core, 503, at="after_commit", after=1, times=1)
    core.list()
    core.get()
    core.create({"name": 1})
    assert (handle.passed, handle.hits) == (0, 0)
    assert [core.create().status for _ in range(3)] == [201, 503, 201]


def test_fault_before_the_commit_keeps_the_one_after_it_waiting(core: Core) -> None:
    before = inject(core, 500, on="createPet", times=1)
    after = inject(core, 503, on="createPet", at="after_commit", times=1)
    assert [core.create().status for _ in range(3)] == [500, 503, 201]
    assert (before.hits, after.hits) == (1, 1)


@pytest.mark.parametrize("on", ["listPets", "getPet"])
def test_after_commit_where_nothing_is_ever_committed_raises(core: Core, on: str) -> None:
    with pytest.raises(PetStoreMockError, match=f"on='createPet' with at='after_commit'; {on} commits nothing"):
        inject(core, 503, on=on, at="after_commit")


# The handle


def test_cancel_takes_the_fault_away(core: Core) -> None:
    handle = inject(core, 503)
    assert core.list().status == 503
    handle.cancel()
    handle.cancel()
    assert core.list().status == 200
    assert handle.hits == 1


def test_cancelled_fault_need_not_fire(core: Core) -> None:
    inject(core, 503, times=1).cancel()
    assert core.world.plan.never_fired() == []


def test_with_block_ends_the_fault(core: Core) -> None:
    with inject(core, 503) as handle:
        assert core.list().status == 503
    assert core.list().status == 200
    assert handle.hits == 1


def test_with_block_raises_for_a_counted_fault_that_never_fired(core: Core) -> None:
    with (
        pytest.raises(VerificationError, match=r"inject\(server_error\(503\), on='getPet', times=1\) never fired"),
        inject(core, 503, on="getPet", times=1),
    ):
        core.list()
    assert core.world.plan.never_fired() == []


def test_with_block_asks_nothing_of_a_fault_that_was_taken_away_within_it(core: Core) -> None:
    with inject(core, 503, times=1) as handle:
        handle.cancel()
    with inject(core, 503, times=1):
        core.world.reset([core.key])
    assert core.list().status == 200


def test_with_block_does_not_cover_the_error_that_ended_it(core: Core) -> None:
    with pytest.raises(ZeroDivisionError), inject(core, 503, times=1):
        _ = 1 / 0


def test_cancel_waits_for_the_request_that_is_being_decided(core: Core) -> None:
    """Two threads that change the plan at once could put a fault back that the other has taken away."""
    first = inject(core, 503)
    canceller = threading.Thread(target=first.cancel)
    with core.world.lock:
        canceller.start()
        canceller.join(0.05)
        assert canceller.is_alive()
    canceller.join()
    assert core.world.plan.idle


def test_handle_of_a_reset_world_is_harmless(core: Core) -> None:
    handle = inject(core, 503)
    core.world.reset([core.key])
    handle.cancel()
    assert core.list().status == 200


def test_handle_reads_as_the_call(core: Core) -> None:
    handle = inject(core, faults.reset(), on="createPet", times=2, after=1, at="after_commit", probability=0.5)
    assert str(handle) == ("inject(reset(), on='createPet', times=2, after=1, at='after_commit', probability=0.5)")
    assert repr(handle) == f"<{handle} hits=0>"
    assert str(inject(core, 503, when=lambda _: True)) == "inject(server_error(503), when=...)"


def test_faults_are_numbered_and_stay_listed_when_they_are_spent_but_not_when_they_are_cancelled(core: Core) -> None:
    plan = core.world.plan
    spent, cancelled, kept = inject(core, 503, times=1), inject(core, 500), inject(core, 502, at="after_commit")
    assert [handle.id for handle in (spent, cancelled, kept)] == [1, 2, 3]
    core.list()
    cancelled.cancel()
    assert [(handle.id, handle.spent) for handle in plan.every()] == [(1, True), (3, False)]
    spent.cancel()
    assert plan.every() == list(plan) == [kept]
    inject(core, 503, times=1)
    core.list()
    plan.cancel()
    assert plan.every() == []
    assert plan.idle
    assert inject(core, 503).id == 5
    core.world.reset([core.key])
    assert plan.every() == []
    assert inject(core, 503).id == 1


def test_list_of_spent_faults_does_not_grow_for_ever(core: Core) -> None:
    for _ in range(1_001):
        inject(core, 503, times=1)
        core.list()
    assert [core.world.plan.every()[place].id for place in (0, -1)] == [2, 1_001]


def test_handle_is_written_as_data(core: Core) -> None:
    first = inject(core, 503)
    assert first.to_data() == {
        "id": 1,
        "fault": 503,
        "on": None,
        "times": None,
        "after": 0,
        "at": "before_commit",
        "probability": 1.0,
        "off_contract": False,
        "where": None,
        "hits": 0,
        "spent": False,
    }
    first.cancel()
    options = {"on": "createPet", "after": 1, "at": "after_commit", "off_contract": True, "where": {"body": b"{}"}}
    assert inject(core, 404, times=2, probability=0.5, **options).to_data() == {
        "id": 2,
        "fault": 404,
        **options,
        "times": 2,
        "probability": 0.5,
        "where": {"body": "{}"},
        "hits": 0,
        "spent": False,
    }
    sequence = inject(core, faults.sequence(503, faults.delay(0)))
    core.list()
    core.defer()
    told = sequence.to_data()
    assert told["fault"] == {"kind": "sequence", "faults": [503, {"kind": "delay", "seconds": 0}]}
    assert (told["times"], told["hits"], told["spent"]) == (None, 2, True)


# Late answers


@pytest.mark.parametrize(
    ("fault", "on"),
    [
        (faults.respond(418, body="x", delay=(1, 2)), None),
        (faults.respond(204, delay=(1, 2)), "createPet"),
        (faults.unauthorized(delay=(1, 2)), None),
        (faults.not_found(delay=(1, 2)), "getPet"),
        (faults.bad_request(delay=(1, 2)), "createPet"),
        (faults.server_error(503, delay=(1, 2)), None),
        (faults.rate_limited(delay=(1, 2)), None),
    ],
    ids=str,
)
def test_answer_of_a_fault_can_be_late(core: Core, fault: faults.Fault, on: str | None) -> None:
    inject(core, fault, on=on)
    late = core.defer("GET", "/v1/pets/1") if on == "getPet" else core.defer_create()
    assert isinstance(fault, Answer)
    assert whole(late.resume()).status == fault.status
    assert 1 <= late.delay <= 2
    assert late.pending is core.world.deferred
    assert core.world.animals.store.count(None) == 1


def test_late_answer_after_the_commit_follows_a_delay_before_it(core: Core) -> None:
    inject(core, faults.delay(1), on="createPet")
    inject(core, faults.server_error(503, delay=2), on="createPet", at="after_commit")
    late = deferred(core.defer_create().resume())
    assert (whole(late.resume()).status, late.delay, core.world.animals.store.count(None)) == (503, 2.0, 2)
    assert core.journal.last.decision == "fault delay(1), executed, fault server_error(503, delay=2)"


# Misuse


def test_inject_has_the_options_and_defaults_of_the_plan_behind_it() -> None:
    face, behind = (inspect.signature(takes).parameters.values() for takes in (PetStoreMock.inject, FaultRule))
    told = {one.name: one.default for one in face if one.name not in {"self", "unknown"}}  # which is refused
    assert told == {one.name: one.default for one in behind}


def test_inject_hands_all_that_it_is_told_to_the_plan() -> None:
    handle = PetStoreMock().inject(
        faults.reset(),
        on="createPet",
        times=2,
        after=1,
        when=bool,
        where={"name": "Rex"},
        at="after_commit",
        probability=0.5,
    )
    options = "on='createPet', times=2, after=1, when=..., where={'name': 'Rex'}, at='after_commit', probability=0.5"
    assert str(handle) == f"inject(reset(), {options})"


def test_status_of_another_operation_is_refused_by_inject_unless_it_is_meant() -> None:
    petstore = PetStoreMock()
    with pytest.raises(PetStoreMockError, match="off_contract=True if you mean it"):
        petstore.inject(404, on="listPets")
    assert str(petstore.inject(404, on="listPets", off_contract=True)) == "inject(not_found(), on='listPets')"


@pytest.mark.parametrize(
    ("fault", "options", "words"),
    [
        (503, {"on": "listPet"}, r"got 'listPet'\. Did you mean 'listPets'\?"),
        (503, {"on": "pets"}, "expected an operation, one of listPets, createPet, getPet; got 'pets'"),
        (404, {"on": "listPets"}, r"declares 404 for getPet only \(§7\), not for listPets: pass on='getPet', or off"),
        (404, {}, r"declares 404 for getPet only \(§7\), not for every operation"),
        (400, {"on": "getPet"}, "declares 400 for createPet only"),
        (201, {"on": "getPet"}, "declares 201 for createPet only"),
        (faults.sequence(503, 404), {"on": "listPets"}, "declares 404 for getPet only"),
        (503, {"times": 0}, "times to be a whole number of at least 1, or None; got times=0"),
        (503, {"times": 1.0}, r"got times=1\.0"),
        (503, {"times": True}, "got times=True"),
        (503, {"after": -1}, "after to be a whole number of at least 0; got after=-1"),
        (503, {"when": 1}, "when to be a function of an ApiRequest; got when=1"),
        (503, {"where": "Rex"}, r"where to be a mapping of criteria, such as {'name': 'Rex'}; got where='Rex' \(str\)"),
        (503, {"where": {1: 2}}, r"got where={1: 2} \(dict\)"),
        (503, {"where": {"nam": 1}}, r"expected criteria of a request: .*; got nam=1 \(int\)\. Did you mean 'name'\?"),
        (503, {"on": "listPets", "where": {"name": 1}}, "criteria of listPets: limit, status, json, "),
        (503, {"where": {"times": 1}}, r"got times=1 \(int\)"),
        (
            503,
            {"where": {"status": 503}},
            "of the request alone: it has no answer yet when this is asked; got status=503",
        ),
        (503, {"where": {"fault": "reset"}}, "of the request alone: .*; got fault='reset'"),
        (503, {"where": {"condition": None}}, "of the request alone: .*; got condition=None"),
        (503, {"where": {"query": 1}}, "expected query as a mapping; got query=1"),
        (503, {"at": "after"}, "at to be 'before_commit' or 'after_commit'; got at='after'"),
        (503, {"probability": 0}, "probability above 0 and at most 1; got probability=0"),
        (503, {"probability": 1.5}, r"got probability=1\.5"),
        (503, {"probability": True}, "got probability=True"),
        (faults.sequence(503), {"times": 1}, "no times= with a sequence"),
        (faults.reset, {}, r"Did you mean faults\.reset\(\)\?"),
        ("reset", {}, r"got fault='reset' \(str\)\. Did you mean faults\.reset\(\)\?"),
        (lambda: 404, {}, r"\(function\)$"),
        ("rest", {}, r"got fault='rest' \(str\)\. Did you mean faults\.reset\(\)\?"),
        ("503", {}, r"got fault='503' \(str\)"),
    ],
)
def test_misuse_raises_at_the_call(core: Core, fault: Any, options: dict[str, Any], words: str) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError, match=words):
        inject(core, fault, **options)
    assert list(core.world.plan) == []


def test_faults_that_are_spent_or_cancelled_are_in_force_no_longer() -> None:
    core = Core()
    for _ in range(3):
        core.world.plan.add(503, times=1)
        core.list()
        core.world.plan.add(503, times=1).cancel()
    add = core.world.plan.add
    kept = [add(503, times=1, at="before_commit"), add(503, times=1, at="after_commit")]
    assert list(core.world.plan) == core.world.plan.never_fired() == kept


@pytest.mark.parametrize("status", [403, 429, 500, 503, 302, 418])
def test_status_that_the_interface_declares_nowhere_is_allowed_anywhere(core: Core, status: int) -> None:
    inject(core, status, on="listPets")
    assert core.list().status == status


def test_off_contract_allows_any_status(core: Core) -> None:
    inject(core, 404, on="listPets", off_contract=True)
    assert core.list().status == 404


def test_status_of_create_pet_needs_no_operation_after_the_commit(core: Core) -> None:
    """Nothing else commits, so nothing else can be meant."""
    inject(core, 400, at="after_commit")
    assert core.create().status == 400


# Verification


def test_counted_fault_that_never_fired_fails_the_test() -> None:
    petstore = PetStoreMock()
    petstore.inject(503, on="getPet", times=2)
    petstore.inject(503, on="getPet")
    with pytest.raises(VerificationError, match=r"^inject\(server_error\(503\), on='getPet', times=2\) never fired"):
        petstore.verify()
    petstore.reset()
    petstore.verify()


def test_fault_that_never_fired_in_a_block_that_raises_is_told_by_the_verification() -> None:
    """An exception that the test expects must not excuse the fault that was to cause it."""
    petstore = PetStoreMock()
    with pytest.raises(ZeroDivisionError), petstore.inject(503, on="createPet", times=1) as fault:
        raise ZeroDivisionError
    with pytest.raises(VerificationError, match=r"inject\(server_error\(503\), on='createPet', times=1\) never fired"):
        petstore.verify()
    fault.cancel()
    petstore.verify()
    with pytest.raises(ZeroDivisionError), petstore.inject(503, times=1):
        raise ZeroDivisionError
    petstore.cancel_faults()
    petstore.verify()
    with pytest.raises(ZeroDivisionError), petstore.inject(503, times=1):
        raise ZeroDivisionError
    petstore.reset()
    with pytest.raises(VerificationError, match="before a reset"):
        petstore.verify()
