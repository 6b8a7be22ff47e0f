"""The invariants of every behaviour and every request."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from petstore_mock import Behaviour, PetStoreMock
from tests.client import JSON, Client, Response
from tests.programs import alternatives

pytestmark = pytest.mark.untraced

ALTERNATIVES = alternatives()
BEHAVIOURS = st.fixed_dictionaries({gap: st.sampled_from(found) for gap, found in ALTERNATIVES.items()}).map(
    lambda gaps: Behaviour().replace(gaps)
)
INT64 = st.integers(-(2**63), 2**63 - 1)
STATUS = st.sampled_from(["available", "pending", "sold"])
NEW_PETS = st.fixed_dictionaries(
    {"name": st.text(max_size=20), "categoryId": INT64 | st.integers(1, 9)}, optional={"status": STATUS}
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), NEW_PETS),
        st.tuples(
            st.just("list"), st.fixed_dictionaries({}, optional={"limit": st.integers(1, 100), "status": STATUS})
        ),
        st.tuples(st.just("get"), st.integers(0, 5)),
        st.tuples(st.just("absent"), INT64),
        st.tuples(st.just("no_key"), st.sampled_from(["/v1/pets", "/v1/pets/1", "/v1/pets?limit=0"])),
        st.tuples(st.just("invalid"), st.sampled_from([{}, {"name": 1, "categoryId": 1}, {"name": "a"}])),
    ),
    max_size=12,
)


class Model:
    """A model of the store. It assumes only the rules of the interface, as a client may."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.petstore = client.petstore
        self.behaviour = client.petstore.behaviour
        self.created: dict[int, dict[str, Any]] = {pet["id"]: pet for pet in client.petstore.pets}
        self.key = client.petstore.api_key

    def authed(self, method: str, target: str, body: bytes | None = None) -> Response | None:
        """Return the response to a request with the key, or None if a key rotation or a rate limit refused it."""
        head = [("Authorization", f"Bearer {self.key}"), *([JSON] if body is not None else [])]
        response = self.client.send(method, target, head, body)
        if response.status == 429:
            assert self.behaviour.rate_limit != "none"
            assert response.header("Retry-After") is not None
            return None
        if response.status == 401:
            assert self.behaviour.key_rotation != "never"
            self.key = self.petstore.issue_key()
            return None
        return response

    def play(self, steps: list[tuple[str, Any]]) -> None:
        for action, argument in steps:
            getattr(self, action)(argument)
        self.petstore.verify()

    def create(self, new_pet: dict[str, Any]) -> None:
        before = self.petstore.pets
        response = self.authed("POST", "/v1/pets", json.dumps(new_pet).encode())
        if response is None or response.status == 400:
            assert response is None or self._may_refuse(new_pet)
            assert self.petstore.pets == before
            return
        assert response.status == 201
        pet = response.json()
        assert {name: pet[name] for name in new_pet} == new_pet, "the response has the sent fields"
        assert pet["id"] not in self.created, "ids are unique"
        self.created[pet["id"]] = {name: pet[name] for name in ("id", "name", "categoryId", "status") if name in pet}
        assert self.petstore.pets == [self.created[pet_id] for pet_id in sorted(self.created)]

    def _may_refuse(self, new_pet: dict[str, Any]) -> bool:
        too_short = self.behaviour.name_rule == "non_empty" and not new_pet["name"]
        return too_short or (self.behaviour.category_rule == "positive" and new_pet["categoryId"] <= 0)

    def list(self, query: dict[str, Any]) -> None:
        response = self.authed("GET", "/v1/pets?" + "&".join(f"{name}={value}" for name, value in query.items()))
        if response is None:
            return
        assert response.status == 200
        found = response.json()
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
            assert query.get("status") in (None, pet.get("status")), "the filter selects by status"

    def get(self, index: int) -> None:
        if not self.created:
            return
        pet_id = sorted(self.created)[index % len(self.created)]
        response = self.authed("GET", f"/v1/pets/{pet_id}")
        if response is None or (response.status == 404 and self.behaviour.visibility == "delayed"):
            return
        assert response.status == 200
        assert {name: response.json()[name] for name in self.created[pet_id]} == self.created[pet_id]

    def absent(self, pet_id: int) -> None:
        if pet_id not in self.created:
            response = self.authed("GET", f"/v1/pets/{pet_id}")
            assert response is None or response.status == 404

    def no_key(self, target: str) -> None:
        assert self.client.send("GET", target).status == 401

    def invalid(self, body: dict[str, Any]) -> None:
        response = self.authed("POST", "/v1/pets", json.dumps(body).encode())
        assert response is None or response.status == 400


# Examples send each action to each preset.
ACTIONS: list[tuple[str, Any]] = [
    ("create", {"name": "\N{DOG FACE}\0", "categoryId": 2**63 - 1}),
    ("create", {"name": "a", "categoryId": -(2**63), "status": "sold"}),
    *(
        ("list", query)
        for query in ({}, {"limit": 1}, {"limit": 100}, {"status": "sold"}, {"limit": 3, "status": "sold"})
    ),
    *(("get", index) for index in range(3)),
    *(("absent", 7777), ("no_key", "/v1/pets"), ("invalid", {})),
]


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=200 if os.environ.get("CI") else 60)
@given(behaviour=BEHAVIOURS, seed=st.integers(0, 3), steps=STEPS)
@example(  # drawn steps rarely break these rules, and are usually too few for the gaps of the next example
    behaviour=Behaviour(name_rule="non_empty", category_rule="positive"),
    seed=0,
    steps=[("create", {"name": "", "categoryId": 1}), ("create", {"name": "Rex", "categoryId": 0})],
)
@example(
    behaviour=Behaviour(rate_limit="retry_after_seconds", key_rotation="mid_session"),
    seed=0,
    steps=[("create", {"name": "Rex", "categoryId": 1})] * 12,
)
@example(behaviour=Behaviour.preset("strict"), seed=25, steps=ACTIONS)
@example(behaviour=Behaviour.preset("lenient"), seed=25, steps=ACTIONS)
@example(behaviour=Behaviour.preset("helpful"), seed=25, steps=ACTIONS)
@example(behaviour=Behaviour.preset("hostile"), seed=25, steps=ACTIONS)
def test_invariants_hold_for_every_behaviour(behaviour: Behaviour, seed: int, steps: list[tuple[str, Any]]) -> None:
    Model(Client(PetStoreMock(behaviour=behaviour, seed=seed), "wsgi")).play(steps)


# Any request at all

METHODS = st.sampled_from(["GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE", "QUERY", "get"])
PIECES = st.sampled_from(
    [
        *("/", "//", "v1", "pets", "1", "-1", "9" * 25, "%", "%3", "%31", "%ff", "%00", "%2F", "%c3%a4", "?", "&", "="),
        *("+", "#", "limit", "status", "petId", "sold", "0", "100", "101", ";", "\xe4", " ", "*", ".."),
    ]
)
TARGETS = st.one_of(
    st.sampled_from(["/v1/pets", "/v1/pets/1", "/v1/pets?limit=5", "*"]),
    st.builds(
        lambda start, rest: start + "".join(rest),
        st.sampled_from(["/v1/pets", "/v1/pets/", "/v1/pets?", "/"]),
        st.lists(PIECES, max_size=8),
    ),
    st.text(st.characters(max_codepoint=255), max_size=30),
)
FIELDS = st.lists(
    st.tuples(
        st.sampled_from(["Content-Type", "Authorization", "Origin", "Expect", "X"]),
        st.sampled_from(["application/json", "Bearer x", "", "\xff\xfe", "a,b", "application/json;\xe4"]),
    ),
    max_size=3,
)
BODIES = st.one_of(st.none(), st.binary(max_size=30), NEW_PETS.map(lambda pet: json.dumps(pet).encode()))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    behaviour=BEHAVIOURS,
    requests=st.lists(st.tuples(METHODS, TARGETS, FIELDS, BODIES, st.booleans()), min_size=1, max_size=8),
)
@example(behaviour=Behaviour(), requests=[("POST", "/v1/pets", [], rb'{"x":{"\ud800":1,"\ud800":2},"x":1}', True)])
def test_no_request_breaks_the_service(behaviour: Behaviour, requests: list[tuple[Any, ...]]) -> None:
    """``Client.send`` checks the form of each response, and the journal can show each request."""
    petstore = PetStoreMock(behaviour=behaviour, seed=3)
    client = Client(petstore, "wsgi")
    for method, target, fields, body, right in requests:
        head = [*fields, *([*petstore.headers.items(), JSON] if right else [])]
        response = client.send(method, target, head, body)
        assert response.status in {200, 201, 204, 400, 401, 404, 405, 413, 415, 417, 429, 501}
    petstore.verify()
    for entry in petstore.journal:
        json.dumps([entry.reason, entry.target, entry.path, entry.query, entry.headers, str(entry)]).encode("ascii")
        f"{entry.reason}{entry.path}".encode()
