"""The fake keeps the contract under every alternative. ``verify`` learns the alternative of each gap it looks at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from petstore_mock import Behaviour, PetStoreMock
from tests.programs import alternatives, register
from tests.verify.services import ENOUGH, ask, ask_fake, broken, removed_ids, result_of

REMOVED = "2030-12-06"


ALTERNATIVES = alternatives()
NOT_LOOKED_AT = {
    *("answer_framing", "body_limit", "connection", "duplicate_member"),
    *("header_names", "json_style", "key_rotation", "unknown_route"),
}

# Gaps that end the run early, or make it wait.
EVENTS = {"rate_limit", "key_rotation"}


def check(behaviour: Behaviour, at: str | None) -> None:
    is_limited = behaviour.rate_limit != "none"  # every fifth request then costs a second
    ends_early = behaviour.key_rotation != "never"
    limits = {"max_requests": 12} if is_limited else {}
    verdict = ask_fake(behaviour, at=at, **limits)
    assert (broken(verdict), verdict.exit_code) == ({}, 0)
    looked_at = ALTERNATIVES.keys() - NOT_LOOKED_AT - (set() if at else {"after_removal"})
    if ends_early:
        looked_at = {"error_codes"}
    wanted = {name: behaviour[name] for name in (["rate_limit"] if is_limited else looked_at)}
    assert {name: verdict.gaps[name].choice for name in wanted} == wanted
    assert {verdict.gaps[name].evidence for name in NOT_LOOKED_AT} == {"not looked at"}


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "alternative"), [(gap, one) for gap, some in ALTERNATIVES.items() for one in some])
def test_each_alternative_keeps_the_contract_and_is_learned(gap: str, alternative: str) -> None:
    check(Behaviour().replace({gap: alternative}), REMOVED)


@pytest.mark.untraced
@pytest.mark.parametrize("at", [None, REMOVED])
@pytest.mark.parametrize("number", range(max(map(len, ALTERNATIVES.values()))))
def test_combined_alternatives_keep_the_contract_and_are_learned(number: int, at: str | None) -> None:
    chosen = {name: some[number % len(some)] for name, some in ALTERNATIVES.items() if name not in EVENTS}
    check(Behaviour().replace(chosen), at)


@pytest.mark.parametrize("alternative", ALTERNATIVES["rate_limit"][1:])
def test_verify_waits_after_a_429_and_learns_the_rate_limit(alternative: str) -> None:
    check(Behaviour().replace({"rate_limit": alternative}), None)


@pytest.mark.untraced
@pytest.mark.parametrize("seed", [0, 1, 300])
@pytest.mark.parametrize("preset", register()["presets"])
def test_every_preset_keeps_the_contract_with_a_store_of_any_size(preset: str, seed: int) -> None:
    verdict = ask_fake(Behaviour.preset(preset), seed=seed)
    assert (broken(verdict), verdict.exit_code) == ({}, 0)


def test_every_clause_holds_for_the_default_behaviour() -> None:
    verdict = ask_fake()
    assert {clause.result for clause in verdict.clauses} == {"holds"}
    assert verdict.passed
    assert verdict.notes == ()


def test_verify_sends_the_key_only_in_authorization() -> None:
    with PetStoreMock(seed=30) as petstore:
        ask(petstore.url, petstore.api_key, allow_create=ENOUGH, headers={"X-Tenant": "tenant-4711"})
        for entry in petstore.journal:
            others = [value for name, value in entry.fields if name.lower() != "authorization"]
            assert petstore.api_key not in " ".join([entry.target, entry.body.decode(), *others])
        assert {entry.headers.get("x-tenant") for entry in petstore.journal} == {"tenant-4711"}
        assert any(petstore.api_key in entry.headers.get("authorization", "") for entry in petstore.journal)


def test_without_allow_create_verify_sends_only_get_over_one_connection() -> None:
    with PetStoreMock(seed=30) as petstore:
        verdict = ask(petstore.url, petstore.api_key)
        assert {entry.method for entry in petstore.journal} == {"GET"}
        assert len({entry.connection for entry in petstore.journal}) == 1
    assert verdict.exit_code == 0
    unseen = [clause for clause in verdict.clauses if clause.id == "4.2-created"]
    assert "--allow-create" in unseen[0].detail


@pytest.mark.parametrize("allowed", [1, 2, 5])
def test_verify_creates_at_most_as_many_animals_as_allowed(allowed: int, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.jsonl"
    with PetStoreMock(seed=3) as petstore:
        verdict = ask(petstore.url, petstore.api_key, allow_create=allowed, receipt=receipt)
        made, removed = petstore.pets[3:], removed_ids(petstore)
    entries = [json.loads(line) for line in receipt.read_text(encoding="utf-8").splitlines()]
    ids = [entry["id"] for entry in entries]
    assert len(ids) == allowed
    assert [one for one in ids if one not in removed] == [pet["id"] for pet in made] == [one for one, _ in verdict.left]
    assert len(made) == verdict.created == allowed - len(removed)
    assert all(pet["name"].isalnum() and len(pet["name"]) <= 20 for pet in made[:4])  # later animals have odd names
    for pet in made[:1]:
        assert f"at most {len(made)} animal" in str(verdict)
        assert pet["name"][:12] in str(verdict)
    assert verdict.exit_code == 0


@pytest.mark.parametrize("most", [1, 5, 20])
def test_verify_sends_at_most_as_many_requests_as_allowed(most: int) -> None:
    with PetStoreMock(seed=30) as petstore:
        verdict = ask(petstore.url, petstore.api_key, max_requests=most)
        assert len(petstore.journal) == verdict.requests == most
    assert verdict.exit_code == 0
    assert result_of(verdict, "4.3-absent") == ("holds" if most == 20 else "not_observable")


def test_verify_sends_at_the_given_rate_and_stops_at_the_deadline() -> None:
    with PetStoreMock(seed=5) as petstore:
        verdict = ask(petstore.url, petstore.api_key, rate=20.0, deadline=2.0)
        times = [entry.timestamp for entry in petstore.journal]
    assert 5 <= len(times) <= 41
    assert times[-1] - times[0] >= (len(times) - 1) / 25
    assert verdict.exit_code == 0
    assert "the limit --deadline 2 s is reached" in str(verdict)


def test_negative_ids_are_no_breach() -> None:
    with PetStoreMock() as petstore:
        for pet_id in (-25, -7, -5):
            petstore.seed(id=pet_id, name="Rex", categoryId=1)
        verdict = ask(petstore.url, petstore.api_key, allow_create=ENOUGH)
    assert broken(verdict) == {}


def test_verify_ends_after_the_service_retires_the_key() -> None:
    with PetStoreMock(seed=30, behaviour=Behaviour(key_rotation="mid_session")) as petstore:
        verdict = ask(petstore.url, petstore.api_key, allow_create=ENOUGH)
    assert verdict.exit_code == 0
    assert result_of(verdict, "5-unknown-key") == "holds"  # this clause needs no valid key
    assert result_of(verdict, "4.2-created") == "not_observable"
    assert "the service no longer accepts the key" in str(verdict)


def test_a_learned_behaviour_drifts_only_if_the_service_changes(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    with PetStoreMock(seed=30, behaviour=Behaviour.preset("hostile")) as petstore:
        verdict = ask(petstore.url, petstore.api_key, allow_create=ENOUGH)
        file.write_text(verdict.to_toml(), encoding="utf-8")
        assert ask(petstore.url, petstore.api_key, allow_create=ENOUGH, behaviour=file).drift == ()
        petstore.configure(list_order="by_name")
        verdict = ask(petstore.url, petstore.api_key, behaviour=file)
    (drift,) = verdict.drift
    assert (drift.gap, drift.expected, drift.came[:9]) == ("list_order", "arbitrary", "by_name (")
    assert (verdict.exit_code, verdict.passed) == (1, False)
