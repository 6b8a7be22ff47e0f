"""Whatever the fake chooses where the interface shows nothing, it keeps the contract; and the choice is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from petstore_mock import Behaviour, PetStoreMock, strategies
from petstore_mock.contract.behaviour import PRESETS
from petstore_mock.contract.gaps import GAPS
from petstore_mock.verify.gap_evidence import NEEDS
from tests.inside.verify.asking import ENOUGH, QUICK, REMOVED, Anything, ask, ask_fake, broken, result_of

if TYPE_CHECKING:
    from petstore_mock.verify import Verdict

ALTERNATIVES = [(name, alternative) for name, gap in GAPS.items() for alternative in gap.alternatives]


def check(verdict: Verdict, behaviour: Behaviour, *, removed: bool) -> None:
    assert broken(verdict) == {}
    assert verdict.exit_code == 0
    wanted = {name: getattr(behaviour, name) for name in NEEDS if removed or name != "after_removal"}
    assert {name: verdict.gaps[name].choice for name in wanted} == wanted, "what was served is what was learned"
    assert {verdict.gaps[name].evidence for name in GAPS if name not in NEEDS} == {"not looked at"}


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "alternative"), ALTERNATIVES)
def test_every_alternative_keeps_the_contract_and_is_learned(gap: str, alternative: str) -> None:
    behaviour = Behaviour(**{gap: alternative})  # type: ignore[arg-type]  # one of its alternatives
    check(ask_fake(behaviour, at=REMOVED), behaviour, removed=True)


@pytest.mark.untraced
@pytest.mark.parametrize("at", [None, REMOVED])
@pytest.mark.parametrize("number", range(max(len(gap.alternatives) for gap in GAPS.values())))
def test_every_alternative_beside_others_keeps_the_contract_and_is_learned(number: int, at: str | None) -> None:
    """As many services as the gap with the most alternatives needs: each alternative is in one at least."""
    chosen = {name: [*gap.alternatives][number % len(gap.alternatives)] for name, gap in GAPS.items()}
    behaviour = Behaviour().replace(chosen)
    check(ask_fake(behaviour, at=at), behaviour, removed=at is not None)


@pytest.mark.untraced
@pytest.mark.parametrize("at", [None, REMOVED])
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_keeps_the_contract_and_is_learned(preset: str, at: str | None) -> None:
    behaviour = Behaviour.preset(preset)
    check(ask_fake(behaviour, at=at), behaviour, removed=at is not None)


@pytest.mark.untraced
@given(behaviour=strategies.behaviours())
@settings(max_examples=15, deadline=None)
def test_drawn_combinations_keep_the_contract_and_are_learned(behaviour: Behaviour) -> None:
    check(ask_fake(behaviour, at=REMOVED), behaviour, removed=True)


def test_every_clause_holds_for_the_default_behaviour() -> None:
    verdict = ask_fake(Behaviour())
    assert {clause.result for clause in verdict.clauses} == {"holds"}
    assert verdict.passed


@pytest.mark.untraced
@pytest.mark.parametrize("seed", [0, 1, 300])
def test_stores_of_any_size_keep_the_contract(seed: int) -> None:
    verdict = ask_fake(Behaviour(), seed=seed)
    assert broken(verdict) == {}
    assert verdict.exit_code == 0


def test_without_leave_to_create_only_get_is_sent_and_the_rest_is_not_observable() -> None:
    with PetStoreMock(seed=30) as petstore:
        verdict = ask(petstore.url, petstore.api_key)
        assert {entry.method for entry in petstore.journal} == {"GET"}
    assert verdict.exit_code == 0
    assert result_of(verdict, "4.2-created") == "not_observable"
    assert verdict.gaps["name_rule"].choice is None


def test_one_key_that_is_retired_midway_leaves_the_rest_unseen_and_breaks_nothing() -> None:
    with PetStoreMock(seed=30, behaviour=Behaviour(key_rotation="mid_session")) as petstore:
        verdict = ask(petstore.url, petstore.api_key, allow_create=ENOUGH)
    assert verdict.exit_code == 0
    assert result_of(verdict, "5-unknown-key") == "holds", "what needs no key is asked all the same"
    assert result_of(verdict, "4.2-created") == "not_observable"


@pytest.mark.parametrize("allowed", [1, 2, 5])
def test_no_more_animals_are_left_behind_than_are_allowed(allowed: int) -> None:
    with PetStoreMock(seed=3) as petstore:
        verdict = ask(petstore.url, petstore.api_key, allow_create=allowed)
        made = petstore.pets[3:]
    assert len(made) == verdict.created == allowed
    assert all(pet["name"].startswith("petstore-mock verify 20") for pet in made)
    assert verdict.exit_code == 0


@pytest.mark.parametrize("most", [1, 5, 20])
def test_no_more_requests_are_sent_than_are_allowed(most: int) -> None:
    with PetStoreMock(seed=30) as petstore:
        verdict = ask(petstore.url, petstore.api_key, max_requests=most)
        assert len(petstore.journal) == verdict.requests == most
    assert verdict.exit_code == 0
    assert result_of(verdict, "4.3-absent") == ("holds" if most == 20 else "not_observable")


def test_requests_are_sent_at_the_rate_that_is_allowed_on_one_connection(waits: list[float]) -> None:
    with PetStoreMock(seed=5) as petstore:
        verdict = ask(petstore.url, petstore.api_key, rate=2.0, max_requests=9)
        assert petstore.httpserver.open_connections <= 1
        connections = {entry.connection for entry in petstore.journal}
    assert verdict.requests == 9
    assert len(connections) == 1
    assert sum(waits) > 8 * 0.5 * 8 / 2, "the clock stands still between the waits, so that each is longer"


def test_a_429_is_waited_for_as_long_as_it_says(waits: list[float]) -> None:
    verdict = ask_fake(Behaviour(rate_limit="retry_after_seconds"))
    assert verdict.exit_code == 0
    assert set(waits) >= {1.0}


def test_another_hand_may_change_the_store_meanwhile() -> None:
    """An animal that vanishes between a list and its get breaks nothing."""
    with PetStoreMock(seed=30) as petstore:

        def vanish(line: str) -> None:
            if "/pets/" in line:
                for pet in petstore.pets[-3:]:
                    petstore.remove(pet["id"])

        verdict = ask(petstore.url, petstore.api_key, progress=vanish, rate=QUICK)
    assert broken(verdict) == {}


def test_drift_is_told_as_the_gap_what_was_recorded_and_what_came(tmp_path: Anything) -> None:
    file = tmp_path / "service.toml"
    file.write_text('list_order = "by_name"\nname_rule = "max_255"\nerror_codes = "standard"\n', encoding="utf-8")
    with PetStoreMock(seed=30) as petstore:
        verdict = ask(petstore.url, petstore.api_key, behaviour=file)
    (drift,) = verdict.drift
    assert (drift.gap, drift.expected) == ("list_order", "by_name")
    assert drift.came.startswith("id_ascending (")
    assert verdict.exit_code == 1
    assert not verdict.passed


def test_what_was_learned_does_not_drift(tmp_path: Anything) -> None:
    behaviour = Behaviour.preset("hostile")
    with PetStoreMock(seed=30, behaviour=behaviour) as petstore:
        learned = ask(petstore.url, petstore.api_key, allow_create=ENOUGH)
        file = tmp_path / "service.toml"
        from petstore_mock.verify.learned import learned_from  # noqa: PLC0415

        file.write_text(learned_from(learned).to_toml(), encoding="utf-8")
        unlooked = {name: gap.default for name, gap in GAPS.items() if name not in NEEDS}
        assert Behaviour.from_toml(file) == behaviour.replace({"after_removal": "gone", **unlooked})
        again = ask(petstore.url, petstore.api_key, allow_create=ENOUGH, behaviour=file)
    assert again.drift == ()
    assert again.exit_code == 0
