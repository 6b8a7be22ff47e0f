"""The world of a test: verification, reset, snapshot, fresh, behaviour and clock."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from petstore_mock import Behaviour, ContractViolationError, PetStoreMockError, VerificationError, faults
from tests.client import Client
from tests.face.conftest import on_a_socket

Face = Any  # PetStoreMock or RemotePetStore: tests use only their common methods

WRONG = {"name": "Rex", "categoryId": "1"}


def problems(petstore: Face) -> list[str]:
    """Return the lines of the error that the verification raises."""
    with pytest.raises(VerificationError) as failure:
        petstore.verify()
    return str(failure.value).splitlines()


# Verification


def test_every_verify_reports_a_fault_that_never_fired(petstore: Face, client: Client) -> None:
    client.list("?x=1")  # a violation is a problem only in a strict world
    petstore.inject(500, times=1)
    client.status()
    petstore.inject(500)
    petstore.verify()
    petstore.cancel_faults()
    for fault in (503, faults.sequence(503, 500)):
        handle = petstore.inject(fault, on="createPet", **({"times": 1} if fault == 503 else {}))
        for _ in range(2):
            assert str(handle) in problems(petstore)[0]
        petstore.cancel_faults()


def test_each_cause_of_an_unfired_fault_has_its_own_message(petstore: Face, client: Client) -> None:
    def reason(query: str | None, *plans: dict[str, Any]) -> str:
        for plan in plans:
            petstore.inject(503, **{"on": "listPets", "times": 1, **plan})
        if query is not None:
            client.status(query=query)
        reported = problems(petstore)[0].partition("never fired")[2]
        petstore.cancel_faults()
        return reported

    nothing_came = reason(None, {})
    assert reason("", {"on": "getPet"}) == nothing_came
    reasons = reason("?limit=0", {}), reason("", {}, {}), reason("", {"after": 1}), reason("", {"where": {"limit": 9}})
    assert len({nothing_came, *reasons}) == 5


def test_a_strict_world_reports_violations(petstore: Face) -> None:
    with (
        pytest.raises(ContractViolationError, match=r"categoryId"),
        petstore.fresh(strict=True) as strict,
        Client(strict) as client,
    ):
        client.create(**WRONG)
    with petstore.fresh(strict=True) as strict, Client(strict) as client:
        assert client.get(9).status == 404, "an absent animal is no violation"
        client.list("?limit=0")
        strict.inject(500, times=1)
        with pytest.raises(VerificationError) as failure:
            strict.verify()
        assert type(failure.value) is VerificationError, "not every problem is a violation"
        strict.cancel_faults()
        with pytest.raises(ContractViolationError):
            strict.verify()
        strict.reset()
        strict.verify()


def test_expected_violations_pass_the_verification(petstore: Face) -> None:
    with petstore.fresh(strict=True) as strict, Client(strict) as client:
        client.list()
        with strict.expect_violation("categoryId"):
            client.create(**WRONG)
        with strict.expect_violation(r"query\.limit"):
            client.list("?limit=0")
        with strict.expect_violation("no such path"):
            client.authed("GET", "/v1/nowhere")
        assert [entry.expected for entry in strict.journal] == [False, True, True, True]
        with pytest.raises(ZeroDivisionError), strict.expect_violation("limit"):
            raise ZeroDivisionError(client.list("?limit=0"))
        strict.verify()


def test_an_expected_violation_that_never_happens_fails(petstore: Face, client: Client) -> None:
    client.list("?limit=0&x=0")  # this violation precedes the block, so it does not count
    for pattern, target in (
        (None, "/v1/pets"),
        (r"query\.limit", "/v1/pets?x=1"),
        ("x", "/v1/pets/9"),
        ("limit", "/v1/pets?foo=3"),  # the violation is about foo; the message only lists limit as known
    ):
        with pytest.raises(VerificationError), petstore.expect_violation(pattern):
            client.authed("GET", target)
    for wrong in ("(", b"limit", 5):
        with pytest.raises(PetStoreMockError, match="regular expression"):
            petstore.expect_violation(wrong)


def test_problems_before_a_reset_are_reported_once_and_show_no_key(petstore: Face) -> None:
    with petstore.fresh(strict=True) as strict, Client(strict) as client:
        handle = strict.inject(503, on="createPet", times=1)
        client.list(f"?limit=1000&q={strict.api_key}")
        with strict.expect_violation("limit"):
            client.list("?limit=1000")
        key = strict.api_key
        strict.reset()
        strict.reset()
        reported = problems(strict)
        assert (len(reported), str(handle) in reported[0], "/v1/pets?limit=1000" in reported[1]) == (2, True, True)
        assert key not in str(reported)
        strict.verify()
        for _ in range(2):
            client.list("?limit=1000")
            assert problems(strict) != []
        client.list("?limit=1000")
        strict.reset()
        assert len(problems(strict)) == 1, "a repeated violation is a new problem"
        for _ in range(120):
            client.list("?limit=1000")
            strict.reset()
        assert len(problems(strict)) == 100, "only the first problems are kept"


def test_a_failure_in_a_block_gets_the_journal_as_a_note(petstore: Face) -> None:
    def test() -> None:
        with petstore.fresh() as inner, Client(inner) as client:
            inner.inject(503, on="createPet", times=1)
            client.list("?limit=1000")
            raise ZeroDivisionError(inner.api_key)

    with pytest.raises(ZeroDivisionError) as caught:
        test()
    (note,) = caught.value.__notes__
    assert "GET /v1/pets?limit=1000" in note
    assert "inject(server_error(503)" in note
    assert str(caught.value) not in note


# Reset and snapshots


def test_reset_returns_to_the_starting_state(petstore: Face) -> None:
    options = {"seed": 12, "at": "2030-01-01", "behaviour": "helpful", "random_seed": 5}
    with petstore.fresh(**options) as inner, Client(inner) as client:
        start, key = inner.pets, inner.api_key
        made = [inner.seed() for _ in range(3)]
        for _ in range(2):
            inner.update(1, name="changed")
            inner.remove(2)
            issued = inner.issue_key()
            inner.configure(list_order="by_name")
            inner.clock.travel_to("2031-01-01")
            inner.inject(500)
            assert client.status() == 500
            inner.revoke_key()
            inner.reset()
            assert (inner.pets, inner.api_key, len(inner.journal)) == (start, key, 0)
            assert inner.behaviour == Behaviour.preset("helpful")
            assert inner.clock.moment.year == 2030
            assert (client.list().status, client.status(key=issued), client.refusal) == (200, 401, "revoked_key")
            assert [inner.seed() for _ in range(3)] == made
            inner.reset()


def test_restore_repeats_random_draws(petstore: Face) -> None:
    for assignment in ("sequential", "sparse", "random_int64", "beyond_2_53"):
        petstore.configure(id_assignment=assignment)
        petstore.seed()
        snapshot = petstore.snapshot()
        drawn = [petstore.seed()["id"] for _ in range(3)]
        for _ in range(2):
            petstore.restore(snapshot)
            assert [petstore.seed()["id"] for _ in range(3)] == drawn, "a snapshot can be restored twice"


def test_restore_returns_to_a_snapshot(petstore: Face, client: Client) -> None:
    petstore.seed(name="Rex")
    kept, revoked = petstore.issue_key(), petstore.issue_key()
    petstore.revoke_key(revoked)
    petstore.configure(list_order="id_descending", rate_limit="retry_after_seconds")
    petstore.clock.freeze()
    petstore.clock.travel_to("2029-01-01")
    assert [client.status() for _ in range(3)] == [200, 200, 200]
    snapshot = petstore.snapshot()
    assert [client.status() for _ in range(3)] == [200, 429, 200]
    petstore.seed(name="Tom")
    petstore.configure("lenient")
    petstore.clock.travel_to("2031-01-01")
    petstore.revoke_key(kept)
    later = petstore.issue_key()
    petstore.restore(snapshot)
    assert [pet["name"] for pet in petstore.pets] == ["Rex"]
    assert petstore.behaviour.list_order == "id_descending"
    assert (petstore.clock.moment.year, petstore.clock.frozen) == (2029, True)
    assert len(petstore.journal) == 6, "the journal stays"
    assert [client.status(key=kept) for _ in range(3)] == [200, 429, 200]
    petstore.configure(rate_limit="none")
    assert [client.status(key=key) for key in (revoked, later)] == [401, 401]
    petstore.reset()
    petstore.restore(snapshot)
    assert client.status(key=kept) == 200, "restore() revives the key that the reset revoked"
    for wrong in ({}, None, object()):
        with pytest.raises(PetStoreMockError, match="snapshot"):
            petstore.restore(wrong)


def test_a_fresh_world_is_empty_and_independent(petstore: Face, client: Client) -> None:
    petstore.seed(name="Rex")
    petstore.configure(list_order="id_descending")
    petstore.clock.travel_to("2031-01-01")
    with petstore.fresh() as inner, Client(inner) as other:
        assert (inner.pets, inner.behaviour, inner.clock.moment.year < 2031) == ([], Behaviour(), True)
        assert inner.api_key != petstore.api_key
        assert other.create(name="Tom", categoryId=1).status == 201
        inner.inject(503)
        assert (client.status(), other.status()) == (200, 503)
        assert (len(inner.journal), len(petstore.journal)) == (2, 1)
    assert [pet["name"] for pet in petstore.pets] == ["Rex"]


def test_a_fresh_world_takes_options_and_verifies_at_its_end(petstore: Face) -> None:
    options = {"seed": 1, "behaviour": "hostile", "at": "2030-12-06", "api_key": "own-key", "random_seed": 3}
    for _ in range(2):  # a fixed key is free again after its world has ended
        with petstore.fresh(**options) as inner:
            assert (inner.api_key, len(inner.pets), inner.behaviour.list_order) == ("own-key", 1, "arbitrary")
            assert inner.clock.moment.date() == date(2030, 12, 6)
    for wrong, named in (({"sed": 1}, "'seed'"), ({"port": 1}, "port"), ({"mutant": "list-wraped"}, "'list-wrapped'")):
        with pytest.raises(PetStoreMockError, match=named), petstore.fresh(**wrong):
            pass
    with pytest.raises(VerificationError), petstore.fresh() as inner:
        inner.inject(500, times=1)
    petstore.verify()


def test_a_fresh_world_may_be_a_mutant(petstore: Face) -> None:
    with petstore.fresh(seed=[{"name": "Rex", "status": "sold"}], mutant="list-filter-ignored") as inner:
        with Client(inner) as client:
            assert len(client.list("?status=pending").json()) == 1
            client.list()
            assert [entry.mutant for entry in inner.journal] == ["list-filter-ignored", None]
            inner.reset()
            assert len(client.list("?status=pending").json()) == 1
        with inner.fresh(seed=1) as same, Client(same) as client:
            assert client.list("?status=pending").json() == same.pets, "the inner world is a mutant, too"


# Behaviour


def test_configure_chooses_alternatives_until_a_reset(petstore: Face, client: Client, tmp_path: Path) -> None:
    petstore.configure(status_when_omitted="sold")
    petstore.configure(list_order="by_name")
    assert petstore.behaviour.differences() == {"status_when_omitted": "sold", "list_order": "by_name"}
    assert client.created(name="Rex", categoryId=1)["status"] == "sold"
    petstore.configure("helpful", list_order="by_name")
    assert petstore.behaviour == Behaviour.preset("helpful").replace(list_order="by_name")
    file = tmp_path / "mine.toml"
    file.write_text('list_order = "by_name"\n')
    for given in (file, str(file), Behaviour(list_order="by_name")):
        petstore.configure(given)
        assert petstore.behaviour == Behaviour(list_order="by_name")
    petstore.reset()
    assert petstore.behaviour == Behaviour()
    for presets, gaps, named in (
        ([], {"list_ordr": "by_name"}, "list_order"),
        ([], {"list_order": "by_nam"}, "by_name"),
        (["helpfull"], {}, "helpful"),
    ):
        with pytest.raises(PetStoreMockError, match=rf"you mean '?{named}"):
            petstore.configure(*presets, **gaps)
    assert petstore.behaviour == Behaviour()


# Clock

MIDNIGHT = datetime(2030, 12, 6, tzinfo=UTC)


MOMENTS: list[Any] = [
    *("2030-12-06", "2030-12-06T00:00:00", "2030-12-06T01:00:00+01:00", "2030-12-06T00:00:00Z", date(2030, 12, 6)),
    datetime(2030, 12, 6),  # noqa: DTZ001  # the case without a zone
    datetime(2030, 12, 6, 2, tzinfo=timezone(timedelta(hours=2))),
]


def test_a_frozen_clock_travels_and_advances(petstore: Face) -> None:
    clock = petstore.clock
    clock.freeze()
    for when in MOMENTS:
        clock.travel_to(when)
        assert (clock.frozen, clock.moment, clock.now()) == (True, MIDNIGHT, MIDNIGHT.timestamp())
        clock.advance(days=1, hours=2, minutes=3, seconds=4.5)
        assert clock.now() - MIDNIGHT.timestamp() == 86400 + 7200 + 180 + 4.5
    clock.advance(days=-1, hours=-2, minutes=-3, seconds=-4.5)
    assert clock.moment == MIDNIGHT


def test_travel_to_does_not_stop_a_running_clock(petstore: Face) -> None:
    petstore.clock.travel_to("2030-12-06")
    first = petstore.clock.now()
    while petstore.clock.now() == first:
        pass
    petstore.clock.freeze()
    stood = petstore.clock.now()
    assert petstore.clock.now() == stood
    petstore.clock.unfreeze()
    petstore.clock.unfreeze()
    assert (petstore.clock.frozen, stood <= petstore.clock.now() < stood + 30) == (False, True)


NO_MOMENTS: list[Any] = [
    *("tomorrow", "", "2030-13-01", "06.12.2030", 5, None, 1.5),
    *("1969-12-31", "9999-12-31T23:59:59-12:00", "9999-06-01", "9999-01-01"),  # not from 1970 to 9998 in UTC
]
NO_STEPS: list[dict[str, Any]] = [
    *({"days": days} for days in (10**9, -30_000)),
    *({"seconds": seconds} for seconds in (1e20, float("nan"), float("inf"), "1")),
]


def test_an_invalid_moment_or_step_is_refused(petstore: Face) -> None:
    before = petstore.clock.now()
    for moment in NO_MOMENTS:
        with pytest.raises(PetStoreMockError):
            petstore.clock.travel_to(moment)
    for step in NO_STEPS:
        with pytest.raises(PetStoreMockError):
            petstore.clock.advance(**step)
    assert 0 <= petstore.clock.now() - before < 30


# Other calls


@on_a_socket
def test_openapi_names_the_address_of_the_fake(petstore: Face) -> None:
    document = petstore.openapi()
    assert document["servers"][0]["url"] == petstore.url
    assert {"/pets", "/pets/{petId}"} <= document["paths"].keys()


def test_a_service_without_tls_has_no_certificate_authority(petstore: Face) -> None:
    with pytest.raises(PetStoreMockError, match=r"TLS|process"):
        _ = petstore.tls
    with pytest.raises(PetStoreMockError, match="TLS"):
        petstore.inject(faults.tls.expired())
