"""What holds whatever the behaviour is (design.md, "Never varied"), for whole behaviours drawn over the register."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from petstore_mock import Behaviour, PetStoreMock
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.schemas import default_schemas
from tests.inside.contract.harness import Answer, Service, SocketTransport, WsgiTransport

pytestmark = pytest.mark.untraced

BEHAVIOURS = st.fixed_dictionaries({name: st.sampled_from(list(gap.alternatives)) for name, gap in GAPS.items()}).map(
    lambda gaps: Behaviour().replace(gaps)
)
INT64 = st.integers(-(2**63), 2**63 - 1)
STATUS = st.sampled_from(["available", "pending", "sold"])
NEW_PETS = st.fixed_dictionaries(
    {"name": st.text(max_size=20), "categoryId": INT64 | st.integers(1, 9)}, optional={"status": STATUS}
)
LISTS = st.fixed_dictionaries({}, optional={"limit": st.integers(1, 100), "status": STATUS})
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), NEW_PETS),
        st.tuples(st.just("list"), LISTS),
        st.tuples(st.just("get"), st.integers(0, 5)),
        st.tuples(st.just("absent"), INT64),
        st.tuples(st.just("no key"), st.sampled_from(["/v1/pets", "/v1/pets/1", "/v1/pets?limit=0"])),
        st.tuples(st.just("invalid"), st.sampled_from([{}, {"name": 1, "categoryId": 1}, {"name": "a"}])),
    ),
    max_size=12,
)


class Model:
    """What a client may rely on: nothing but the interface."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.behaviour = service.petstore.behaviour
        self.created: dict[int, dict[str, Any]] = {pet["id"]: pet for pet in service.petstore.pets}

    def step(self, action: str, argument: Any) -> None:  # noqa: ANN401
        getattr(self, action.replace(" ", "_"))(argument)

    def refused_by_event(self, answer: Answer) -> bool:
        """Say whether an event answered, as events may (§5, §8)."""
        if answer.status == 429:
            assert self.behaviour.rate_limit != "none"
            assert answer.header("Retry-After") is not None
        if answer.status == 401:
            assert self.behaviour.key_rotation != "never"
            key = self.service.petstore.tenant.world.keys.get(self.service.petstore.api_key)
            assert key is not None
            key.revoked = False
        return answer.status in {401, 429}

    def create(self, new_pet: dict[str, Any]) -> None:
        before = self.service.petstore.pets
        answer = self.service.create(**new_pet)
        if self.refused_by_event(answer):
            assert self.service.petstore.pets == before
            return
        if answer.status == 400:
            too_short = self.behaviour.name_rule == "non_empty" and not new_pet["name"]
            assert too_short or (self.behaviour.category_rule == "positive" and new_pet["categoryId"] <= 0)
            assert self.service.petstore.pets == before
            return
        assert answer.status == 201
        pet = answer.json()
        assert default_schemas().validate("Pet", pet, "answer") == []
        assert {name: pet[name] for name in new_pet} == new_pet, "what was sent comes back"
        assert pet["id"] not in self.created, "ids are unique"
        self.created[pet["id"]] = {name: pet[name] for name in ("id", "name", "categoryId", "status") if name in pet}
        assert self.service.petstore.pets == [self.created[pet_id] for pet_id in sorted(self.created)]

    def list(self, query: dict[str, Any]) -> None:
        text = "&".join(f"{name}={value}" for name, value in query.items())
        answer = self.service.list(f"?{text}" if text else "")
        if self.refused_by_event(answer):
            return
        assert answer.status == 200
        found = answer.json()
        assert default_schemas().validate("Pets", found, "answer") == [], "an array of animals"
        wanted = [pet for pet in self.created.values() if query.get("status") in (None, pet.get("status"))]
        limit = query.get("limit", 20)
        assert len(found) <= min(limit, len(wanted))
        if self.behaviour.visibility == "immediate":
            assert len(found) == min((limit + 1) // 2 if self.behaviour.page_fill == "short" else limit, len(wanted))
        assert max(Counter(pet["id"] for pet in found).values(), default=1) == 1
        for pet in found:
            known = self.created[pet["id"]]
            assert {name: pet[name] for name in known} == known
            assert "status" in known or "status" not in pet
            assert query.get("status") in (None, pet.get("status")), "the filter is right"

    def get(self, index: int) -> None:
        if self.created:
            pet_id = sorted(self.created)[index % len(self.created)]
            answer = self.service.get(pet_id)
            if not self.refused_by_event(answer) and not (
                answer.status == 404 and self.behaviour.visibility == "delayed"
            ):
                assert answer.status == 200
                assert {name: answer.json()[name] for name in self.created[pet_id]} == self.created[pet_id]

    def absent(self, pet_id: int) -> None:
        if pet_id not in self.created:
            answer = self.service.get(pet_id)
            assert self.refused_by_event(answer) or answer.status == 404

    def no_key(self, target: str) -> None:
        assert self.service.send("GET", target).status == 401

    def invalid(self, body: dict[str, Any]) -> None:
        answer = self.service.post(json.dumps(body).encode())
        assert self.refused_by_event(answer) or answer.status == 400


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60 if not os.environ.get("CI") else 200)
@given(behaviour=BEHAVIOURS, seed=st.integers(0, 3), steps=STEPS)
@example(  # what is drawn is mostly too short to meet the events, and rarely refused by these rules
    behaviour=Behaviour(name_rule="non_empty", category_rule="positive"),
    seed=0,
    steps=[("create", {"name": "", "categoryId": 1}), ("create", {"name": "Rex", "categoryId": 0})],
)
@example(
    behaviour=Behaviour(rate_limit="retry_after_seconds", key_rotation="mid_session"),
    seed=0,
    steps=[("create", {"name": "Rex", "categoryId": 1})] * 12,
)
def test_what_never_varies_holds_for_every_behaviour(
    behaviour: Behaviour, seed: int, steps: list[tuple[str, Any]]
) -> None:
    petstore = PetStoreMock(behaviour=behaviour, seed=seed, self_check=True)
    model = Model(Service(petstore, WsgiTransport(petstore)))
    for action, argument in steps:
        model.step(action, argument)
    petstore.verify()


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=15)
@given(behaviour=BEHAVIOURS, steps=STEPS)
def test_what_never_varies_holds_on_the_wire(behaviour: Behaviour, steps: list[tuple[str, Any]]) -> None:
    with PetStoreMock(behaviour=behaviour, self_check=True) as petstore:
        service = Service(petstore, SocketTransport(petstore))
        try:
            model = Model(service)
            for action, argument in steps:
                model.step(action, argument)
        finally:
            service.close()


@pytest.mark.parametrize("preset", ["strict", "lenient", "helpful", "hostile"])
def test_what_never_varies_holds_for_every_preset(preset: str) -> None:
    petstore = PetStoreMock(behaviour=preset, seed=25, self_check=True)
    model = Model(Service(petstore, WsgiTransport(petstore)))
    for action, argument in [
        ("create", {"name": "\N{DOG}\0", "categoryId": 2**63 - 1}),
        ("create", {"name": "a", "categoryId": -(2**63), "status": "sold"}),
        *[
            ("list", query)
            for query in ({}, {"limit": 1}, {"limit": 100}, {"status": "sold"}, {"limit": 3, "status": "sold"})
        ],
        *[("get", index) for index in range(3)],
        ("absent", 7777),
        ("no key", "/v1/pets"),
        ("invalid", {}),
    ]:
        model.step(action, argument)
    petstore.verify()
