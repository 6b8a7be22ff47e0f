"""Claims of §2, §4 and §5 of the interface, over each carrier. The name of each test states its claim."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests import data_cases
from tests.client import JSON, Client, Response
from tests.contract.conftest import Serve

STATUSES = ("available", "pending", "sold")
LARGEST, SMALLEST = 2**63 - 1, -(2**63)


# §2: NewPet and Pet


@pytest.mark.parametrize("case", data_cases.valid("NewPet"), ids=str)
def test_valid_new_pet_is_returned_unchanged(client: Client, case: data_cases.Case) -> None:
    pet = client.created(**case.value)
    assert pet == {"id": pet["id"], **case.value}
    assert client.get(pet["id"]).json() == pet
    assert client.list().json() == client.petstore.pets == [pet]
    unescaped = client.post(json.dumps(case.value, ensure_ascii=False).encode("utf-8"))
    assert unescaped.json() == {"id": unescaped.json()["id"], **case.value}


@pytest.mark.parametrize("case", data_cases.invalid("NewPet"), ids=str)
def test_refusal_of_an_invalid_new_pet_shows_every_rule_that_it_breaks(client: Client, case: data_cases.Case) -> None:
    response = client.post(json.dumps(case.value).encode())
    assert (response.status, client.refusal) == (400, "invalid_body")
    assert set(client.broken) == case.broken_at("body")
    assert all(path in response.message for path, _ in client.broken)
    assert client.petstore.pets == []


def test_ids_are_unique_and_not_assigned_again(client: Client) -> None:
    ids = [client.created(name="Rex", categoryId=1)["id"] for _ in range(20)]
    client.petstore.remove(ids[-1])
    ids.append(client.created(name="Rex", categoryId=1)["id"])
    assert len(set(ids)) == 21


def test_integers_keep_all_64_bits(client: Client) -> None:
    client.petstore.seed(id=LARGEST, name="Rex", categoryId=SMALLEST)
    client.petstore.seed(id=SMALLEST, name="Tom", categoryId=2**53 + 1)
    assert b'"id":9223372036854775807' in client.get(LARGEST).body
    assert b'"categoryId":9007199254740993' in client.get(SMALLEST).body
    assert [pet["id"] for pet in client.list().json()] == [SMALLEST, LARGEST]


# §4.1


def test_list_has_20_animals_by_default_and_at_most_limit(client: Client) -> None:
    assert client.list().json() == []
    client.petstore.seed_many(3)
    assert client.list("?limit=100").json() == client.petstore.pets
    client.petstore.seed_many(150)
    assert len(client.list().json()) == 20
    assert [len(client.list(f"?limit={limit}").json()) for limit in (1, 2, 20, 99, 100)] == [1, 2, 20, 99, 100]


@pytest.mark.parametrize("status", STATUSES)
def test_status_filter_returns_only_animals_with_this_status(client: Client, status: str) -> None:
    client.petstore.seed_many(40)
    assert "status" not in client.created(name="Rex", categoryId=1)  # gap status_when_omitted
    expected = [pet for pet in client.petstore.pets if pet.get("status") == status]
    assert client.list(f"?status={status}&limit=100").json() == expected != []
    assert client.list(f"?limit=3&status={status}").json() == expected[:3]


def test_list_shows_the_changes_of_another_actor(client: Client) -> None:
    rex = client.created(name="Rex", categoryId=1, status="available")
    client.petstore.update(rex["id"], status="sold", name="Max")
    assert client.list("?status=available").json() == []
    assert client.list("?status=sold").json() == [{**rex, "status": "sold", "name": "Max"}]
    assert client.get(rex["id"]).json()["name"] == "Max"
    client.petstore.update(rex["id"], status=None)
    assert client.list("?status=sold").json() == []
    client.petstore.remove(rex["id"])
    assert client.list().json() == []
    assert client.get(rex["id"]).status == 404


def test_a_repeated_request_sees_each_change(client: Client) -> None:
    """The fake may cache a response, but must never send a stale one."""

    def twice(act: Callable[[], object]) -> Response:
        act()
        first, second = client.list(), client.list()
        assert (first.status, first.fields, first.body) == (second.status, second.fields, second.body)
        return second

    petstore = client.petstore
    petstore.clock.freeze()
    petstore.clock.travel_to("2026-03-04T00:00:00")
    rex = petstore.seed(name="Rex")
    assert twice(lambda: client.get(7)).json() == [rex]
    assert [pet["name"] for pet in twice(lambda: client.create(name="Tom", categoryId=1)).json()] == ["Rex", "Tom"]
    assert twice(lambda: petstore.update(1, name="Max")).json()[0]["name"] == "Max"
    assert len(twice(lambda: petstore.remove(1)).json()) == 1
    assert b"\n" in twice(lambda: petstore.configure(json_style="pretty")).body
    assert twice(lambda: petstore.clock.advance(seconds=1)).header("Date") == "Wed, 04 Mar 2026 00:00:01 GMT"
    snapshot = petstore.snapshot()
    assert twice(lambda: petstore.seed_many(3)).json() != []
    assert len(twice(lambda: petstore.restore(snapshot)).json()) == 1
    with petstore.inject(503):
        assert client.status() == 503
    assert client.list().status == 200
    assert twice(petstore.revoke_key).status == 401
    petstore.reset()
    assert client.list().json() == []


# §4.2


def test_one_response_names_every_wrong_part(client: Client) -> None:
    body = b'{"name":5,"categoryId":"x","status":"lost","colour":"red"}'
    response = client.authed("POST", "/v1/pets?limit=1", body, JSON)
    assert response.status == 400
    violations = {one.path: (one.rule, one.value) for one in client.last.violations}
    assert violations == {
        "query.limit": ("additionalProperties", "1"),
        "body.name": ("type", 5),
        "body.categoryId": ("type", "x"),
        "body.status": ("enum", "lost"),
        "body.colour": ("additionalProperties", "red"),
    }
    assert all(path in response.message for path in violations)


def test_message_suggests_the_nearest_name(client: Client) -> None:
    assert "did you mean categoryId?" in client.post(b'{"name":"Rex","category_id":1}').message
    assert "did you mean name?" in client.post(b'{"Name":"Rex","categoryId":1}').message
    assert "did you mean" not in client.post(b'{"name":"Rex","categoryId":1,"category_id":1}').message
    message = client.list("?state=sold&Limit=1").message
    assert "did you mean status?" in message
    assert "did you mean limit?" in message


# §4.3


def test_absent_animal_is_404_and_no_violation(client: Client) -> None:
    for pet_id in (1, 0, -1, LARGEST, SMALLEST):
        response = client.get(pet_id)
        assert (response.status, client.refusal, client.last.is_violation) == (404, "absent_pet", False)
        assert str(pet_id) in response.message


def test_get_is_served_until_the_last_second_before_its_removal(client: Client) -> None:
    client.petstore.seed()
    client.petstore.clock.freeze()
    client.petstore.clock.travel_to("2030-12-04T23:59:59")
    assert client.get(1).status == 200
    client.petstore.clock.advance(seconds=1)
    assert (client.get(1).status, client.get(99).status) == (410, 410)  # gap after_removal
    assert "getPet was removed on 5 December 2030: use GET /pets" in client.get(1).json()["message"]
    assert client.refusal == "operation_removed"
    assert client.list().status == 200


# §5


def test_fakes_share_nothing(serve: Serve) -> None:
    one, other = serve(seed=1), serve()
    assert one.petstore.api_key != other.petstore.api_key
    assert (len(one.list().json()), other.list().json()) == (1, [])
    assert other.send("GET", "/v1/pets", list(one.petstore.headers.items())).status == 401
    assert other.refusal == "unknown_key"
