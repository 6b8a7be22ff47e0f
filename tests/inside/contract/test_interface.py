"""Every sentence of the interface, over all doors. A test's name is the claim."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from petstore_mock.contract.interface import OPERATIONS
from tests import data_cases
from tests.inside.contract.harness import condition_of, last_entry

if TYPE_CHECKING:
    from tests.inside.contract.conftest import Serve
    from tests.inside.contract.harness import Answer, Service

pytestmark = pytest.mark.untraced

REX = b'{"name":"Rex","categoryId":1}'
REQUESTS = {"listPets": ("GET", "/v1/pets"), "createPet": ("POST", "/v1/pets"), "getPet": ("GET", "/v1/pets/1")}


# §1


def test_url_ends_in_v1(serve_wire: Serve) -> None:
    assert serve_wire().petstore.url.endswith("/v1")


def test_bodies_are_application_json(service: Service) -> None:
    service.created(name="Rex", categoryId=1)
    for answer in (
        service.list(),
        service.get(1),
        service.get(2),
        service.post(b"{}"),
        service.post(REX),
    ):
        assert answer.header("Content-Type") == "application/json"
        json.loads(answer.body.decode("utf-8"))


def test_json_is_sent_without_a_byte_order_mark(service: Service) -> None:
    assert not service.list().body.startswith(b"\xef\xbb\xbf")


# §2: what a NewPet and a Pet are


@pytest.mark.parametrize("case", data_cases.valid("NewPet"), ids=str)
def test_valid_new_pet_is_created_and_comes_back_as_sent(service: Service, case: data_cases.Case) -> None:
    answer = service.post(json.dumps(case.value).encode())
    assert answer.status == 201
    pet = answer.json()
    assert pet == {"id": pet["id"], **case.value}
    assert type(pet["categoryId"]) is int
    assert service.get(pet["id"]).json() == pet
    assert service.list().json() == [pet]


@pytest.mark.parametrize("case", data_cases.valid("NewPet"), ids=str)
def test_raw_utf8_is_kept_as_well_as_escapes(service: Service, case: data_cases.Case) -> None:
    answer = service.post(json.dumps(case.value, ensure_ascii=False).encode("utf-8"))
    assert answer.status == 201
    assert answer.json()["name"] == case.value["name"]


@pytest.mark.parametrize("case", data_cases.invalid("NewPet"), ids=str)
def test_invalid_new_pet_is_refused_with_every_rule_it_breaks(service: Service, case: data_cases.Case) -> None:
    answer = service.post(json.dumps(case.value).encode())
    assert answer.status == 400
    entry = last_entry(service)
    assert {(one.path, one.rule) for one in entry.violations} == case.broken_at("body")
    for path, rule in case.broken_at("body"):
        assert path in answer.message
        assert not (rule == "required" and f"{path} is required and missing" not in answer.message)
    assert service.petstore.pets == []


@pytest.mark.parametrize("status", ["available", "pending", "sold"])
def test_each_status_is_kept(service: Service, status: str) -> None:
    assert service.created(name="Rex", categoryId=1, status=status)["status"] == status


def test_status_may_be_left_out(service: Service) -> None:
    assert "status" not in service.created(name="Rex", categoryId=1)  # gap status_when_omitted: absent


def test_ids_are_unique_integers_assigned_by_the_service(service: Service) -> None:
    ids = [service.created(name="Rex", categoryId=1)["id"] for _ in range(20)]
    assert len(set(ids)) == 20
    assert all(type(number) is int for number in ids)


def test_id_of_a_removed_animal_is_not_given_again(service: Service) -> None:
    first = service.created(name="Rex", categoryId=1)["id"]
    service.petstore.remove(first)
    assert service.created(name="Tom", categoryId=1)["id"] != first


def test_integers_keep_all_64_bits(service: Service) -> None:
    service.petstore.seed(id=2**63 - 1, name="Rex", categoryId=-(2**63))
    service.petstore.seed(id=-(2**63), name="Tom", categoryId=2**53 + 1)
    assert b'"id":9223372036854775807' in service.get(2**63 - 1).body
    assert b'"categoryId":9007199254740993' in service.get(-(2**63)).body
    assert [pet["id"] for pet in service.list().json()] == [-(2**63), 2**63 - 1]


# §4: every operation requires authentication


def test_list_answers_200_with_an_array(service: Service) -> None:
    assert (service.list().status, service.list().json()) == (200, [])
    rex = service.created(name="Rex", categoryId=1)
    assert service.list().json() == [rex]


# §4.1


def test_list_shows_20_animals_by_default(service: Service) -> None:
    service.petstore.seed_many(21)
    assert len(service.list().json()) == 20


@pytest.mark.parametrize("limit", [1, 2, 20, 21, 99, 100])
def test_list_shows_at_most_limit_animals(service: Service, limit: int) -> None:
    service.petstore.seed_many(150)
    assert len(service.list(f"?limit={limit}").json()) == limit


def test_list_shows_all_when_there_are_fewer_than_limit(service: Service) -> None:
    service.petstore.seed_many(3)
    assert service.list("?limit=100").json() == service.petstore.pets


@pytest.mark.parametrize("status", ["available", "pending", "sold"])
def test_status_filter_returns_only_animals_with_this_status(service: Service, status: str) -> None:
    service.petstore.seed_many(40)
    service.petstore.seed(name="without")
    expected = [pet for pet in service.petstore.pets if pet.get("status") == status]
    assert expected
    assert service.list(f"?status={status}&limit=100").json() == expected


def test_status_filter_and_limit_combine(service: Service) -> None:
    service.petstore.seed_many(40)
    found = service.list("?limit=3&status=pending").json()
    assert [pet["status"] for pet in found] == ["pending"] * 3


def test_status_filter_leaves_out_animals_without_a_status(service: Service) -> None:
    service.created(name="Rex", categoryId=1)
    for status in ("available", "pending", "sold"):
        assert service.list(f"?status={status}").json() == []


def test_list_follows_what_another_actor_changes(service: Service) -> None:
    rex = service.created(name="Rex", categoryId=1, status="available")
    service.petstore.update(rex["id"], status="sold", name="Max")
    assert service.list("?status=available").json() == []
    assert service.list("?status=sold").json() == [{**rex, "status": "sold", "name": "Max"}]
    service.petstore.update(rex["id"], status=None)
    assert service.list("?status=sold").json() == []
    service.petstore.remove(rex["id"])
    assert service.list().json() == []
    assert service.get(rex["id"]).status == 404


@pytest.mark.parametrize(
    ("query", "path", "rule"),
    [
        ("limit=0", "query.limit", "minimum"),
        ("limit=-1", "query.limit", "minimum"),
        ("limit=101", "query.limit", "maximum"),
        ("limit=99999999999999999999999", "query.limit", "maximum"),
        ("status=lost", "query.status", "enum"),
    ],
)
def test_invalid_query_is_refused_by_default(service: Service, query: str, path: str, rule: str) -> None:
    answer = service.list(f"?{query}")  # §7: not shown; gaps invalid_limit and invalid_status_filter: reject
    assert answer.status == 400
    assert path in answer.message
    assert [(one.path, one.rule) for one in last_entry(service).violations] == [(path, rule)]


# §4.2


def test_create_answers_201_with_the_created_animal(service: Service) -> None:
    answer = service.create(name="Rex", categoryId=1, status="sold")
    assert answer.status == 201
    assert answer.json() == {"id": answer.json()["id"], "name": "Rex", "categoryId": 1, "status": "sold"}
    assert service.petstore.pets == [answer.json()]


def test_create_requires_a_body(service: Service) -> None:
    answer = service.authed("POST", "/v1/pets", None, ("Content-Type", "application/json"))
    assert answer.status == 400


def test_every_offending_field_is_named_at_once(service: Service) -> None:
    answer = service.post(b'{"name":5,"categoryId":"x","status":"lost","colour":"red"}')
    assert answer.status == 400
    for part in (
        "body.name must be a string, got 5 (integer)",
        'body.categoryId must be an integer, got "x" (string)',
        'body.status must be one of available, pending, sold, got "lost" (string)',
        'body.colour is not a field here; the fields are name, categoryId, status, got "red" (string)',
    ):
        assert part in answer.message


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (
            b'{"name":"Rex","category_id":1}',
            "body.category_id is not a field here; ... (did you mean categoryId?), got 1",
        ),
        (b'{"Name":"Rex","categoryId":1}', "body.Name is not a field here; ... (did you mean name?), got"),
        (b'{"name":"Rex","categoryId":1,"category_id":1}', "body.category_id is not a field here; ..., got 1"),
    ],
)
def test_unknown_field_is_answered_with_the_one_that_may_be_meant(service: Service, body: bytes, hint: str) -> None:
    assert hint.replace("...", "the fields are name, categoryId, status") in service.post(body).message


def test_unknown_parameter_is_answered_with_the_one_that_may_be_meant(service: Service) -> None:
    message = service.list("?state=sold&Limit=1").message
    assert "query.state is not a parameter here; the parameters are limit, status (did you mean status?)" in message
    assert "query.Limit is not a parameter here; the parameters are limit, status (did you mean limit?)" in message


def test_query_and_body_are_named_at_once(service: Service) -> None:
    answer = service.authed("POST", "/v1/pets?limit=1", b'{"name":5}', ("Content-Type", "application/json"))
    assert answer.status == 400
    for path in ("query.limit", "body.name", "body.categoryId"):
        assert path in answer.message


# §4.3


def test_get_answers_200_with_the_animal(service: Service) -> None:
    rex = service.created(name="Rex", categoryId=1)
    answer = service.get(rex["id"])
    assert (answer.status, answer.json()) == (200, rex)


@pytest.mark.parametrize("pet_id", [1, 0, -1, 2**63 - 1, -(2**63)])
def test_get_answers_404_for_an_absent_id(service: Service, pet_id: int) -> None:
    answer = service.get(pet_id)
    assert answer.status == 404
    assert str(pet_id) in answer.message


def test_get_signals_its_deprecation_and_removal_date(service: Service) -> None:
    service.created(name="Rex", categoryId=1)
    answer = service.get(1)
    assert answer.header("Deprecation") == "@1764892800"  # RFC 9745: a structured-field date, ours
    assert answer.header("Sunset") == "Thu, 05 Dec 2030 00:00:00 GMT"  # RFC 8594


@pytest.mark.parametrize("operation", ["listPets", "createPet"])
def test_other_operations_signal_no_deprecation(service: Service, operation: str) -> None:
    answer = service.list() if operation == "listPets" else service.create(name="Rex", categoryId=1)
    assert answer.header("Deprecation") is None
    assert answer.header("Sunset") is None


def test_get_is_served_until_the_last_second_before_its_removal(serve: Serve) -> None:
    service = serve(seed=1)
    service.petstore.clock.freeze()
    service.petstore.clock.travel_to("2030-12-04T23:59:59")
    assert service.get(1).status == 200
    service.petstore.clock.advance(seconds=1)
    assert service.get(1).status == 410  # gap after_removal: gone
    assert service.get(99).status == 410
    assert service.list().status == 200


# §4.4


def test_store_orders_is_no_path_of_the_fake(service: Service) -> None:
    assert service.authed("GET", "/v1/store/orders").status == 404  # gap unknown_route


# §5


@pytest.mark.parametrize("operation", list(OPERATIONS))
@pytest.mark.parametrize("credentials", [None, "Bearer wrong", "Bearer", "Basic eDp5", "bearer\t{key}", "{key}"])
def test_every_operation_answers_401_without_a_valid_key(
    service: Service, operation: str, credentials: str | None
) -> None:
    service.petstore.seed()
    method, target = REQUESTS[operation]
    fields = [("Content-Type", "application/json")]
    if credentials is not None:
        fields.append(("Authorization", credentials.format(key=service.petstore.api_key)))
    answer = service.send(method, target, fields, REX if method == "POST" else None)
    assert answer.status == 401
    assert len(service.petstore.pets) == 1


def test_kinds_of_wrong_keys_are_told_apart_in_the_journal(service: Service) -> None:
    extra = service.petstore.issue_key()
    brief = service.petstore.issue_key(expires=60)
    service.petstore.revoke_key(extra)
    service.petstore.clock.advance(seconds=60)
    for value, condition in [
        (None, "missing_key"),
        ("Basic eDp5", "malformed_credentials"),
        ("Bearer nobodys", "unknown_key"),
        (f"Bearer {extra}", "revoked_key"),
        (f"Bearer {brief}", "expired_key"),
    ]:
        answer = service.send("GET", "/v1/pets", [] if value is None else [("Authorization", value)])
        assert answer.status == 401
        assert condition_of(service) == condition


# §7


def error_answers(service: Service) -> dict[int, Answer]:
    return {
        400: service.post(b"{}"),
        401: service.send("GET", "/v1/pets"),
        404: service.get(1),
        405: service.authed("DELETE", "/v1/pets"),
        413: service.post(b" " * (1024 * 1024 + 1)),
        415: service.post(REX, "text/plain"),
    }


def test_error_body_carries_the_http_status(service: Service) -> None:
    for status, answer in error_answers(service).items():
        assert answer.status == status
        assert set(answer.json()) == {"code", "message", "status"}
        assert answer.json()["status"] == status


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid_body"),
        (401, "unauthorized"),
        (404, "not_found"),
        (405, "method_not_allowed"),
        (413, "body_too_large"),
        (415, "unsupported_media_type"),
    ],
)
def test_code_is_a_readable_word(service: Service, status: int, code: str) -> None:
    assert error_answers(service)[status].json()["code"] == code


# §8


def test_no_rate_limit_by_default(service: Service) -> None:
    assert {service.list().status for _ in range(50)} == {200}
