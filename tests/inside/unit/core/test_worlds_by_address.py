"""Worlds by address: ``/w/NAME/v1`` is a service of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError
from petstore_mock.core.tenant import Tenant
from petstore_mock.messages.request import ApiRequest
from tests.inside.core import whole

if TYPE_CHECKING:
    from petstore_mock.messages.response import ApiResponse

JSON = (b"Content-Type", b"application/json")
REX = {"name": "Rex", "categoryId": 1}


@pytest.fixture
def petstore() -> PetStoreMock:
    return PetStoreMock(self_check=True)


def world(petstore: PetStoreMock, name: str, **options: Any) -> Tenant:  # noqa: ANN401  # those of a world
    return Tenant(petstore.host.worlds, petstore.tenant.world.schemas, name=name, **options)


def call(petstore: PetStoreMock, target: str, key: str | None, body: object = None) -> ApiResponse:
    fields = [JSON] if key is None else [JSON, (b"Authorization", f"Bearer {key}".encode())]
    content = b"" if body is None else json.dumps(body).encode()
    return whole(petstore.host.worlds.handle(ApiRequest("GET" if body is None else "POST", target, fields, content)))


def names(answer: ApiResponse) -> list[str]:
    assert answer.status == 200
    return [pet["name"] for pet in json.loads(answer.body)]


def test_worlds_share_nothing(petstore: PetStoreMock) -> None:
    one, two = world(petstore, "one"), world(petstore, "two")
    petstore.seed(name="Root")
    one.world.animals.seed(None, {"name": "One"})
    assert call(petstore, "/w/two/v1/pets", two.key, {"name": "Two", "categoryId": 1}).status == 201
    assert names(call(petstore, "/w/one/v1/pets", one.key)) == ["One"]
    assert names(call(petstore, "/w/two/v1/pets?limit=5", two.key)) == ["Two"]
    assert names(call(petstore, "/v1/pets", petstore.api_key)) == ["Root"]
    assert [entry.target for entry in two.entries] == ["/v1/pets", "/v1/pets?limit=5"]
    assert len(petstore.journal) == 1


@pytest.mark.parametrize("target", ["/w/a%2Db/v1/pets", "/%77/a-b/v1/pets", "/w/a-b/%76%31/pets"])
def test_address_is_compared_decoded(petstore: PetStoreMock, target: str) -> None:
    one = world(petstore, "a-b", seed=[{"name": "Rex", "categoryId": 1}])
    assert names(call(petstore, target, one.key)) == ["Rex"]


@pytest.mark.parametrize("control", [True, False])
@pytest.mark.parametrize(
    ("target", "hint"),
    [
        ("/w/A-B/v1/pets", "PUT /w/A-B/__petstore/world"),
        ("/w//v1/pets", "a name of 1 to 100 letters, digits"),
        ("/w/a-b%2Fv1/pets", "a name of 1 to 100 letters, digits"),
        ("/w/..%2Fv1/pets", "a name of 1 to 100 letters, digits"),
        (f"/w/{'x' * 101}/v1/pets", "got name=one of 101 characters"),
        ("/w/default/v1", "the default world is at /v1"),
    ],
)
def test_address_of_no_world_is_404_and_nobody_s_request(target: str, hint: str, control: bool) -> None:
    petstore = PetStoreMock(self_check=True, control=control)
    one = world(petstore, "a-b")
    answer = call(petstore, target, one.key)
    assert answer.status == 404
    error = json.loads(answer.body)
    assert error["status"] == 404
    assert "there is no world" in error["message"]
    possible = control or "default" in target
    assert (hint in error["message"]) is possible, "nobody is told to make a world that can't be made"
    assert ("the control door, which is closed" in error["message"]) is not possible
    assert error["message"].count("control door") <= 1
    assert petstore.host.worlds.leaks == []
    assert one.entries == petstore.tenant.entries == []


def test_request_without_or_with_a_wrong_key_belongs_to_the_world_of_its_address(petstore: PetStoreMock) -> None:
    one = world(petstore, "one")
    assert call(petstore, "/w/one/v1/pets", None).status == 401
    assert call(petstore, "/w/one/v1/pets", "wrong").status == 401
    assert call(petstore, "/w/one/v1/pets", petstore.api_key).status == 401, "another world's is a plain 401"
    assert [entry.condition.name for entry in one.entries if entry.condition] == [
        *("missing_key", "unknown_key", "unknown_key")
    ]
    assert len(petstore.journal) == 0
    assert petstore.host.worlds.leaks == []


def test_named_world_is_found_by_its_key_at_the_root(petstore: PetStoreMock) -> None:
    one = world(petstore, "one", seed=3)
    assert len(names(call(petstore, "/v1/pets", one.key))) == 3
    assert len(one.entries) == 1


def test_key_of_several_worlds_leads_to_the_default_one_at_the_root(petstore: PetStoreMock) -> None:
    one, two = world(petstore, "one", api_key="team", seed=1), world(petstore, "two", api_key="team", seed=2)
    assert len(names(call(petstore, "/w/one/v1/pets", "team"))) == 1
    assert len(names(call(petstore, "/w/two/v1/pets", "team"))) == 2
    assert call(petstore, "/v1/pets", "team").status == 401
    one.end()
    assert len(names(call(petstore, "/v1/pets", "team"))) == 2, "one world has it now"
    two.end()
    assert call(petstore, "/v1/pets", "team").status == 401


def test_ended_world_leaks_by_address_and_by_key(petstore: PetStoreMock) -> None:
    one, two = world(petstore, "one"), world(petstore, "two", api_key="given")
    keys = one.key, two.key
    one.end()
    two.end()
    assert call(petstore, "/w/one/v1/pets", keys[0]).status == 404
    assert "'one' is over" in json.loads(call(petstore, "/w/one/v1/pets", None).body)["message"]
    assert [call(petstore, "/v1/pets", key).status for key in keys] == [401, 401]
    assert [leak.owner for leak in petstore.host.worlds.leaks] == ["one", "one", "one", "two"]
    assert len(petstore.journal) == 0, "no other world's problem"


def test_name_and_key_that_are_taken_again_leak_no_longer(petstore: PetStoreMock) -> None:
    world(petstore, "one", api_key="given").end()
    again = world(petstore, "one", api_key="given", seed=2)
    assert len(names(call(petstore, "/w/one/v1/pets", "given"))) == 2
    assert len(names(call(petstore, "/v1/pets", again.key))) == 2
    assert petstore.host.worlds.leaks == []


def test_links_stay_within_the_world(petstore: PetStoreMock) -> None:
    one = world(petstore, "one", behaviour="helpful")
    created = call(petstore, "/w/one/v1/pets", one.key, REX)
    assert created.head.get("Location") == "/w/one/v1/pets/1"
    one.world.set_behaviour(one.world.rules.behaviour.replace(paging_headers="link"))
    assert call(petstore, "/w/one/v1/pets", one.key).head.get("Link") == '</w/one/v1/pets?limit=20>; rel="first"'
    assert one.entries[-1].target == "/v1/pets"


def test_body_is_refused_by_the_rules_of_its_world(petstore: PetStoreMock) -> None:
    one = world(petstore, "one")
    head = ApiRequest("POST", "/w/one/v1/pets", [JSON, (b"Authorization", f"Bearer {one.key}".encode())])
    assert petstore.host.worlds.admits(head, 10)
    assert not petstore.host.worlds.admits(head, 2**21)
    assert petstore.host.worlds.body_limit(head) == 2**20
    one.world.set_behaviour(one.world.rules.behaviour.replace(body_limit="none"))
    assert petstore.host.worlds.admits(head, 2**21)
    assert petstore.host.worlds.refuse("malformed_request", "odd", head).status == 400
    assert len(one.entries) == 1


def test_address_needs_a_key_that_can_be_sent(petstore: PetStoreMock) -> None:
    with pytest.raises(PetStoreMockError, match="expected an API key"):
        world(petstore, "one", api_key="a key")
    assert petstore.host.worlds.named.get("one") is None
