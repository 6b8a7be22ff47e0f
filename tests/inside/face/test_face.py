"""What the object does for a test author, at home and from another process alike."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import (
    Behaviour,
    ContractViolationError,
    PetStoreMockError,
    VerificationError,
    faults,
)
from petstore_mock.journal.outcomes import outcomes
from petstore_mock.journal.rendering import render_journal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from petstore_mock import Entry

    Face = Any  # PetStoreMock or RemotePetStore: what the one has and the other has not is what is tested
    Ask = Callable[..., tuple[int, Any]]

REX = {"name": "Rex", "categoryId": 1}
WRONG = {"name": "Rex", "categoryId": "1"}


# Animals


def test_seed_fills_in_what_is_missing_and_pets_shows_it(petstore: Face, ask: Ask) -> None:
    first = petstore.seed(name="Rex")
    second = petstore.seed({"name": "Tom"}, status="sold")
    assert first["name"] == "Rex"
    assert second["status"] == "sold"
    assert petstore.pets == [first, second]
    assert ask(petstore) == (200, [first, second])


def test_seed_many_takes_a_count_or_animals_and_all_or_none(petstore: Face) -> None:
    assert len(petstore.seed_many(5)) == 5
    assert [pet["name"] for pet in petstore.seed_many({"name": name} for name in ("A", "B"))] == ["A", "B"]
    with pytest.raises(PetStoreMockError, match="animal 1"):
        petstore.seed_many([{"name": "C"}, {"name": 7}])
    assert len(petstore.pets) == 7


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": 7},
        {"colour": "red"},
        {"count": 2},
        {"status": "lost"},
        {"id": -(2**70)},
        {"name": "\ud800"},
        {"name": {1}},
        {"name": b"Rex"},
    ],
)
def test_seed_refuses_an_animal_that_can_t_be(petstore: Face, wrong: dict[str, Any]) -> None:
    rex = petstore.seed(name="Rex")
    with pytest.raises(PetStoreMockError) as refused:
        petstore.seed(**wrong)
    assert "seed_many" not in str(refused.value) or "count" in wrong
    with pytest.raises(PetStoreMockError):
        petstore.seed_many([wrong])
    with pytest.raises(PetStoreMockError):
        petstore.update(rex["id"], **wrong)
    assert petstore.pets == [rex]


@pytest.mark.parametrize("wrong", ["Rex", ["Rex"], 7])
def test_seed_refuses_what_is_no_mapping(petstore: Face, wrong: object) -> None:
    with pytest.raises(PetStoreMockError, match="mapping"):
        petstore.seed(wrong)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"name": "Tom"},\n{"name": "A", "name": "B"}]', r"json, item \[1\]: expected each field once; got 'name'"),
        ('[{"name": "Tom"},\n7]', r"json, item \[1\]: expected an animal as a JSON object"),
        ('{"name": "Tom"}', "a JSON array of animals"),
        ("[", "expected JSON in"),
    ],
)
def test_seed_from_a_file_says_which_animal_is_wrong(petstore: Face, tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "pets.json"
    file.write_text(text)
    with pytest.raises(PetStoreMockError, match=words), petstore.fresh(seed=file):
        pass


def test_an_iterator_is_no_seed(petstore: Face) -> None:
    seed = ({"name": name} for name in ("A", "B"))
    words = "expected a list of animals, or how many, for seed; got generator"
    with pytest.raises(PetStoreMockError, match=words), petstore.fresh(seed=seed):
        pass


@pytest.mark.parametrize("wrong", [-1, True, "Rex", {"name": "Rex"}, None])
def test_seed_many_refuses_what_is_no_list(petstore: Face, wrong: object) -> None:
    with pytest.raises(PetStoreMockError):
        petstore.seed_many(wrong)


def test_update_and_remove_are_another_actor_s_hand(petstore: Face, ask: Ask) -> None:
    pet = petstore.seed(name="Rex", status="available")
    assert petstore.update(pet["id"], status="sold")["status"] == "sold"
    assert "status" not in petstore.update(pet["id"], status=None)
    petstore.remove(pet["id"])
    assert ask(petstore) == (200, [])


@pytest.mark.parametrize("wrong", [99, "1", True, pytest.param(10**5000, id="huge")])
def test_update_and_remove_refuse_an_id_that_is_none(petstore: Face, wrong: object) -> None:
    with pytest.raises(PetStoreMockError, match="expected"):
        petstore.update(wrong, name="Rex")
    with pytest.raises(PetStoreMockError, match="expected"):
        petstore.remove(wrong)


# Keys


def test_headers_bear_the_key(petstore: Face, ask: Ask) -> None:
    assert petstore.headers == {"Authorization": f"Bearer {petstore.api_key}"}
    assert ask(petstore)[0] == 200


def test_issued_keys_are_valid_until_they_are_revoked_or_expire(petstore: Face, ask: Ask) -> None:
    further, short = petstore.issue_key(), petstore.issue_key(expires=60)
    assert ask(petstore, key=further)[0] == ask(petstore, key=short)[0] == 200
    petstore.revoke_key(further)
    petstore.clock.advance(seconds=61)
    assert ask(petstore, key=further)[0] == ask(petstore, key=short)[0] == 401
    petstore.revoke_key()
    assert ask(petstore)[0] == 401
    assert petstore.issue_key(expires=date(2090, 1, 1))
    with pytest.raises(PetStoreMockError, match="never had"):
        petstore.revoke_key("no-such-key")
    with pytest.raises(PetStoreMockError):
        petstore.issue_key(expires="soon")


# Faults


def test_a_status_meets_the_operation_so_many_times(petstore: Face, ask: Ask) -> None:
    handle = petstore.inject(503, on="listPets", times=2)
    assert (handle.hits, handle.spent, handle.times) == (0, False, 2)
    assert [ask(petstore)[0] for _ in range(3)] == [503, 503, 200]
    assert (handle.hits, handle.spent) == (2, True)
    assert str(handle) == "inject(server_error(503), on='listPets', times=2)"


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (faults.respond(418, json={"a": [1]}, headers={"X-A": "b"}), 418),
        (faults.respond(500, body=b"\xff"), 500),
        (faults.rate_limited(7), 429),
        (faults.delay(0.01), 201),
        (faults.delay((0, 0.01)), 201),
        (faults.reset(), 0),
        (faults.empty_reply(), 0),
        (faults.truncate(0.5), 0),
        (faults.sequence(503, faults.reset()), 503),
    ],
)
def test_every_kind_of_fault_crosses(petstore: Face, ask: Ask, fault: faults.Fault, status: int) -> None:
    handle = petstore.inject(fault, on="createPet")
    try:
        came = ask(petstore, "POST", body=REX)[0]
    except ValueError:  # a body that is no JSON
        came = 500
    assert came == status
    assert handle.hits == 1
    assert handle.fault == fault
    assert petstore.journal.last.fault == fault.parts[0]
    petstore.journal.assert_called("createPet", fault=fault.parts[0])
    petstore.journal.assert_called("createPet", fault=fault.parts[0].kind)


def test_where_names_the_request_that_is_meant(petstore: Face, ask: Ask) -> None:
    petstore.inject(503, on="createPet", where={"name": "Rex"})
    assert ask(petstore, "POST", body={**REX, "name": "Tom"})[0] == 201
    assert ask(petstore, "POST", body=REX)[0] == 503
    petstore.inject(500, where={"headers": {"X-Trace": "1"}})
    assert ask(petstore)[0] == 200
    assert ask(petstore, headers={"x-trace": "1"})[0] == 500


def test_after_commit_loses_the_answer_of_an_animal_that_exists(petstore: Face, ask: Ask) -> None:
    petstore.inject(faults.reset(), on="createPet", at="after_commit")
    assert ask(petstore, "POST", body=REX) == (0, None)
    assert [pet["name"] for pet in petstore.pets] == ["Rex"]
    assert petstore.journal.last.executed


@pytest.mark.parametrize(
    "wrong",
    [
        {"on": "listPet"},
        {"times": 0},
        {"after": -1},
        {"at": "later"},
        {"probability": 2},
        {"where": {"colour": "red"}},
        {"where": {"status": 503}},
        {"where": "Rex"},
        {"fault": 404, "on": "createPet"},
        {"fault": "reset"},
        {"fault": 99},
        {"time": 1},
    ],
)
def test_inject_refuses_what_can_t_be_right(petstore: Face, wrong: dict[str, Any]) -> None:
    with pytest.raises(PetStoreMockError, match=r"expected|declares"):
        petstore.inject(**{"fault": 503, **wrong})
    petstore.verify()


def test_a_cancelled_fault_meets_nobody_and_need_not_fire(petstore: Face, ask: Ask) -> None:
    handle = petstore.inject(503, times=1)
    handle.cancel()
    handle.cancel()
    petstore.inject(500, times=1)
    petstore.cancel_faults()
    assert ask(petstore)[0] == 200
    petstore.verify()


def test_a_block_ends_its_fault_and_asks_whether_it_fired(petstore: Face, ask: Ask) -> None:
    with petstore.inject(503, times=3) as handle:
        assert ask(petstore)[0] == 503
    assert handle.hits == 1
    assert ask(petstore)[0] == 200
    with (
        pytest.raises(VerificationError, match="never fired within its block: no request matched it"),
        petstore.inject(503, times=1),
    ):
        pass
    petstore.verify()


def test_a_fault_whose_block_ends_with_an_error_is_told_later(petstore: Face, ask: Ask) -> None:
    with pytest.raises(ZeroDivisionError), petstore.inject(503, times=1):
        raise ZeroDivisionError
    assert ask(petstore)[0] == 200
    with pytest.raises(VerificationError, match="never fired"):
        petstore.verify()
    petstore.cancel_faults()


def test_a_handle_of_before_a_reset_touches_nothing_that_came_after(petstore: Face, ask: Ask) -> None:
    old = petstore.inject(503, on="listPets")
    assert ask(petstore)[0] == 503
    petstore.reset()
    petstore.inject(500, on="listPets")
    assert old.hits == 1
    old.cancel()
    assert ask(petstore)[0] == 500


# The journal


def test_entries_say_the_same(petstore: Face, ask: Ask) -> None:
    petstore.inject(faults.delay(0.001), on="createPet", times=1)
    assert ask(petstore, "POST", "/pets?x=1&x=2", {**REX, "colour": "é"}, headers={"X-A": "ü"})[0] == 400
    assert ask(petstore, "POST", body=REX)[0] == 201
    broken, made = petstore.journal
    assert [broken.number, made.number] == [1, 2]
    assert (broken.method, broken.path, broken.target) == ("POST", "/v1/pets", "/v1/pets?x=1&x=2")
    assert broken.query == {"x": "2"}
    assert (broken.operation, broken.status, made.status) == ("createPet", 400, 201)
    assert broken.headers["x-a"] == "ü"
    assert broken.headers["authorization"] == f"Bearer ***{petstore.api_key[-4:]}"
    assert broken.json()["colour"] == "é"
    assert json.loads(made.response_body)["name"] == "Rex"
    assert made.response_headers["content-type"] == "application/json"
    assert "date" in made.response_headers
    assert (broken.is_violation, made.is_violation) == (True, False)
    assert broken.condition is not None
    assert broken.condition.name in {"invalid_body", "invalid_query"}
    assert {one.path for one in broken.violations} == {"query.x", "body.colour"}
    assert broken.section
    assert broken.reason
    assert str(made.fault) == "delay(0.001)"
    assert made.executed
    assert "delay(0.001)" in made.decision
    assert abs(made.moment.timestamp() - datetime.now(UTC).timestamp()) < 60
    assert made.duration > 0
    assert made.connection > 0
    assert made.exchange == 1
    assert "200 partial page" not in list(outcomes(made, (1, 100, 20)))
    assert "201 status absent" in list(outcomes(made, (1, 100, 20)))


def test_a_journal_is_a_sequence(petstore: Face, ask: Ask) -> None:
    assert len(petstore.journal) == 0
    with pytest.raises(PetStoreMockError, match="none came yet"):
        _ = petstore.journal.last
    for number in range(3):
        ask(petstore, path=f"/pets?limit={number + 1}")
    journal = petstore.journal
    assert len(journal) == 3
    assert [entry.query["limit"] for entry in journal] == ["1", "2", "3"]
    assert journal[0].number == 1
    assert journal[-1] is journal.last
    assert [entry.number for entry in journal[1:]] == [2, 3]
    with pytest.raises(IndexError):
        journal[3]
    assert [entry.number for entry in journal.for_operation("listPets")] == [1, 2, 3]
    assert journal.violations == []


def test_assertions_return_entries_or_tell_the_near_misses(petstore: Face, ask: Ask) -> None:
    ask(petstore, "POST", body=REX)
    (entry,) = petstore.journal.assert_called("createPet", times=1, name="Rex", status=201)
    assert entry.number == 1
    petstore.journal.assert_called(headers=petstore.headers, method="POST", path="/v1/pets")
    petstore.journal.assert_called(body=json.dumps(REX).encode(), json=REX)
    petstore.journal.assert_not_called("listPets")
    with pytest.raises(VerificationError, match="name was 'Rex', expected 'Tom'"):
        petstore.journal.assert_called("createPet", name="Tom")
    with pytest.raises(VerificationError, match="expected no createPet"):
        petstore.journal.assert_not_called("createPet")
    with pytest.raises(VerificationError, match="header Authorization"):
        petstore.journal.assert_called(headers={"Authorization": "Bearer another-key-of-mine"})
    with pytest.raises(PetStoreMockError, match="categoryId"):
        petstore.journal.assert_called("createPet", categoryID=1)
    with pytest.raises(PetStoreMockError, match="createPet"):
        petstore.journal.assert_called("createPets")


def test_a_wait_ends_as_soon_as_the_request_comes(petstore: Face, ask: Ask) -> None:
    thread = threading.Timer(0.05, ask, [petstore])
    thread.start()
    (entry,) = petstore.journal.wait_for("listPets", timeout=10)
    thread.join()
    assert entry.operation == "listPets"
    with pytest.raises(VerificationError, match=r"within 0\.05 s"):
        petstore.journal.wait_for("createPet", timeout=0.05)
    with pytest.raises(PetStoreMockError, match="timeout"):
        petstore.journal.wait_for(timeout=-1)


def test_an_event_loop_waits_without_being_blocked(petstore: Face, ask: Ask) -> None:
    async def wait() -> list[Entry]:
        with pytest.raises(PetStoreMockError, match="wait_for_async"):
            petstore.journal.wait_for("listPets")
        waiting = asyncio.create_task(petstore.journal.wait_for_async("listPets", timeout=10))
        await asyncio.sleep(0)
        await asyncio.to_thread(ask, petstore)
        found: list[Entry] = await waiting
        return found

    assert [entry.operation for entry in asyncio.run(wait())] == ["listPets"]


def test_an_answer_that_is_held_back_is_told_once_it_is_out(petstore: Face, ask: Ask) -> None:
    petstore.inject(faults.delay(1.0), on="createPet", times=1)
    thread = threading.Thread(target=ask, args=[petstore, "POST", "/pets", REX])
    thread.start()
    (entry,) = petstore.journal.wait_for("createPet", timeout=10)
    before = entry.status
    thread.join()
    assert petstore.journal.last is entry
    assert (before, entry.status) == (None, 201)
    assert petstore.journal.last.duration >= 1.0


def test_the_journal_goes_out_as_har_svg_and_report(petstore: Face, ask: Ask, tmp_path: Path) -> None:
    ask(petstore, "POST", body=WRONG)
    petstore.journal.to_har(tmp_path / "j.har")
    (entry,) = json.loads((tmp_path / "j.har").read_text())["log"]["entries"]
    assert entry["request"]["url"] == f"{petstore.url}/pets"
    assert entry["response"]["status"] == 400
    assert "createPet" in petstore.journal.to_svg()
    report = render_journal(petstore.journal)
    assert 'body.categoryId must be an integer, got "1" (string)' in report
    assert f"{petstore.url}/pets" in report
    assert petstore.api_key not in report


# What must be answered for


def test_verify_names_what_never_fired_once_and_again(petstore: Face) -> None:
    petstore.inject(503, times=1)
    for _ in range(2):
        with pytest.raises(VerificationError, match="never fired: no request matched it"):
            petstore.verify()
    petstore.cancel_faults()


def test_what_a_reset_leaves_is_told_once(petstore: Face) -> None:
    petstore.inject(503, times=1)
    petstore.reset()
    with pytest.raises(VerificationError, match="before a reset"):
        petstore.verify()
    petstore.verify()


def test_a_strict_world_answers_for_violations(petstore: Face, ask: Ask) -> None:
    with pytest.raises(ContractViolationError, match="categoryId"), petstore.fresh(strict=True) as strict:
        ask(strict, "POST", body=WRONG)


def test_a_failure_in_a_block_gets_the_journal_as_a_note(petstore: Face, ask: Ask) -> None:
    with pytest.raises(ZeroDivisionError) as caught, petstore.fresh() as inner:  # noqa: PT012  # the block is asked
        ask(inner)
        raise ZeroDivisionError
    (note,) = caught.value.__notes__
    assert "1  GET /v1/pets  200" in note


def test_expected_violations_are_excused(petstore: Face, ask: Ask) -> None:
    with petstore.fresh(strict=True) as strict:
        with strict.expect_violation("categoryId"):
            ask(strict, "POST", body=WRONG)
        assert strict.journal.last.expected
    with pytest.raises(VerificationError, match="none came"), petstore.expect_violation():
        ask(petstore)
    with pytest.raises(VerificationError, match="these came"), petstore.expect_violation("colour"):
        ask(petstore, "POST", body=WRONG)
    with pytest.raises(PetStoreMockError, match="regular expression"):
        petstore.expect_violation("(")


# Going back


def test_reset_returns_to_the_starting_state(petstore: Face, ask: Ask) -> None:
    with petstore.fresh(seed=2, at="2030-01-01", behaviour="helpful") as inner:
        start, key = inner.pets, inner.api_key
        inner.seed()
        issued = inner.issue_key()
        inner.configure(list_order="by_name")
        inner.clock.travel_to("2031-01-01")
        ask(inner)
        inner.reset()
        assert inner.pets == start
        assert inner.api_key == key
        assert len(inner.journal) == 0
        assert inner.behaviour == Behaviour.preset("helpful")
        assert inner.clock.moment.year == 2030
        assert ask(inner)[0] == 200
        assert len(inner.journal) == 1
        assert ask(inner, key=issued)[0] == 401


def test_restore_returns_to_a_snapshot(petstore: Face, ask: Ask) -> None:
    petstore.seed(name="Rex")
    snapshot = petstore.snapshot()
    petstore.seed(name="Tom")
    petstore.configure("lenient")
    ask(petstore)
    petstore.restore(snapshot)
    assert [pet["name"] for pet in petstore.pets] == ["Rex"]
    assert petstore.behaviour == Behaviour()
    assert len(petstore.journal) == 1
    with pytest.raises(PetStoreMockError, match="snapshot"):
        petstore.restore(object())


def test_a_fresh_world_is_empty_and_independent(petstore: Face, ask: Ask) -> None:
    petstore.seed(name="Rex")
    with petstore.fresh(seed=[{"name": "Tom"}]) as inner:
        assert [pet["name"] for pet in inner.pets] == ["Tom"]
        ask(inner)
        assert len(petstore.journal) == 0
    assert [pet["name"] for pet in petstore.pets] == ["Rex"]
    with pytest.raises(PetStoreMockError, match="seed"), petstore.fresh(seeds=1):
        pass


def test_a_fresh_world_begins_with_the_animals_of_a_file(petstore: Face, tmp_path: Path) -> None:
    (tmp_path / "pets.json").write_text('[{"name": "Rex", "categoryId": 3}]')
    with petstore.fresh(seed=tmp_path / "pets.json") as inner:
        assert [pet["name"] for pet in inner.pets] == ["Rex"]
    with pytest.raises(PetStoreMockError, match="no such file"), petstore.fresh(seed=tmp_path / "no.json"):
        pass


def test_a_fresh_world_may_be_a_mutant(petstore: Face, ask: Ask) -> None:
    with petstore.fresh(seed=[{"name": "Rex", "status": "sold"}], mutant="list-filter-ignored") as inner:
        assert [pet["name"] for pet in ask(inner, path="/pets?status=pending")[1]] == ["Rex"]
        assert ask(inner, path="/pets")[0] == 200
        assert [entry.mutant for entry in inner.journal] == ["list-filter-ignored", None]
        inner.reset()
        assert len(ask(inner, path="/pets?status=pending")[1]) == 1
        with inner.fresh(seed=[{"name": "Tom"}]) as same, inner.fresh(seed=1, mutant="list-wrapped") as other:
            assert len(ask(same, path="/pets?status=sold")[1]) == 1
            assert ask(other, path="/pets?status=sold")[1] == {"pets": []}
    assert ask(petstore, path="/pets?status=pending") == (200, [])
    with pytest.raises(PetStoreMockError, match="Did you mean 'list-wrapped'"), petstore.fresh(mutant="list-wraped"):
        pass


# Behaviour and time


def test_configure_chooses_alternatives(petstore: Face, ask: Ask, tmp_path: Path) -> None:
    petstore.configure(status_when_omitted="sold")
    petstore.configure(list_order="by_name")
    assert petstore.behaviour.differences() == {"status_when_omitted": "sold", "list_order": "by_name"}
    assert ask(petstore, "POST", body=REX)[1]["status"] == "sold"
    petstore.configure("helpful", list_order="by_name")
    assert petstore.behaviour == Behaviour.preset("helpful").replace(list_order="by_name")
    (tmp_path / "mine.toml").write_text('list_order = "by_name"\n')
    petstore.configure(tmp_path / "mine.toml")
    assert petstore.behaviour == Behaviour(list_order="by_name")
    for wrong in ({"list_ordr": "by_name"}, {"list_order": "by_nam"}):
        with pytest.raises(PetStoreMockError, match="Did you mean"):
            petstore.configure(**wrong)
    with pytest.raises(PetStoreMockError, match="preset"):
        petstore.configure("helpfull")


def test_the_clock_travels_advances_and_stands(petstore: Face, ask: Ask) -> None:
    clock = petstore.clock
    clock.travel_to(date(2030, 12, 4))
    assert clock.moment.date() == date(2030, 12, 4)
    petstore.seed(id=1)
    assert ask(petstore, path="/pets/1")[0] == 200
    clock.advance(days=2)
    assert ask(petstore, path="/pets/1")[0] == 410
    clock.freeze()
    assert clock.frozen
    assert clock.now() == petstore.clock.now()
    clock.unfreeze()
    assert not clock.frozen
    for wrong in ("soon", 5):
        with pytest.raises(PetStoreMockError):
            clock.travel_to(wrong)
    with pytest.raises(PetStoreMockError, match="days"):
        clock.advance(day=1)
    with pytest.raises(PetStoreMockError):
        clock.advance(days="2")


def test_idle_connections_can_be_closed(petstore: Face, ask: Ask) -> None:
    ask(petstore)
    petstore.close_connections()
    assert ask(petstore)[0] == 200


def test_its_interface_names_its_address(petstore: Face) -> None:
    assert petstore.openapi()["servers"][0]["url"] == petstore.url


# TLS


def test_a_service_without_tls_has_neither_handshakes_nor_an_authority(petstore: Face, ask: Ask) -> None:
    assert ask(petstore)[0] == 200
    assert petstore.journal.handshakes == ()
    with pytest.raises(PetStoreMockError, match="speaks TLS"):
        _ = petstore.tls
    with pytest.raises(PetStoreMockError, match=r"expected a mock that speaks TLS, .*for tls\.expired\(\)"):
        petstore.inject(faults.tls.expired())
