"""Each alternative of each gap, over all doors (those of the wire over the socket only)."""

from __future__ import annotations

import json
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock.contract.gaps import GAPS
from tests.inside.contract.harness import check_error_body, condition_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.inside.contract.conftest import Serve
    from tests.inside.contract.harness import Service

REX = b'{"name":"Rex","categoryId":1}'
NAMES = ["Tom", "ann", "Bob", "Ann", "Zoë", "Élan", ""]

CHECKS: dict[tuple[str, str], Callable[[Service], None]] = {}


def alternative(gap: str, name: str) -> Callable[[Callable[[Service], None]], Callable[[Service], None]]:
    """Register the check of one alternative; it gets a service that behaves so and by default otherwise."""

    def register(check: Callable[[Service], None]) -> Callable[[Service], None]:
        assert (gap, name) not in CHECKS
        CHECKS[gap, name] = check
        return check

    return register


def in_question() -> list[tuple[str, str]]:
    return [(gap.name, name) for gap in GAPS.values() for name in gap.alternatives]


def test_every_alternative_is_checked() -> None:
    assert sorted(CHECKS) == sorted(in_question())


@pytest.mark.parametrize(("gap", "name"), [pair for pair in in_question() if GAPS[pair[0]].step != "wire"])
def test_alternative(serve: Serve, gap: str, name: str) -> None:
    CHECKS[gap, name](serve(behaviour=_behaviour(gap, name)))


@pytest.mark.parametrize(("gap", "name"), [pair for pair in in_question() if GAPS[pair[0]].step == "wire"])
def test_alternative_on_the_wire(serve_wire: Serve, gap: str, name: str) -> None:
    CHECKS[gap, name](serve_wire(behaviour=_behaviour(gap, name)))


def _behaviour(gap: str, name: str) -> Any:  # noqa: ANN401
    from petstore_mock import Behaviour  # noqa: PLC0415

    return Behaviour().replace({gap: name})


# judge


@alternative("invalid_limit", "reject")
def _(service: Service) -> None:
    for text in ("0", "101", "-5", "ten", "", "1.0", "9" * 5000):
        assert service.list(f"?limit={text}").status == 400


@alternative("invalid_limit", "clamp")
def _(service: Service) -> None:
    service.petstore.seed_many(120)
    clamped = {
        "0": 1,
        "-5": 1,
        "-0": 1,
        "-" + "9" * 30: 1,
        "-" + "9" * 5000: 1,
        "101": 100,
        "9" * 30: 100,
        "9" * 5000: 100,
    }
    for text, shown in clamped.items():
        assert len(service.list(f"?limit={text}").json()) == shown, text
    for text in ("ten", "", "1.0", "+5"):
        assert service.list(f"?limit={text}").status == 400, "text that is no integer can't be clamped"
    assert service.list("?limit=0&status=lost").status == 400


@alternative("invalid_limit", "ignore")
def _(service: Service) -> None:
    service.petstore.seed_many(120)
    for text in ("0", "-5", "101", "9" * 5000, "ten", "", "1.0"):
        assert len(service.list(f"?limit={text}").json()) == 20, text


@alternative("invalid_status_filter", "reject")
def _(service: Service) -> None:
    for text in ("lost", "", "SOLD"):
        assert service.list(f"?status={text}").status == 400


@alternative("invalid_status_filter", "empty")
def _(service: Service) -> None:
    service.petstore.seed_many(10)
    service.petstore.seed()
    for text in ("lost", "", "SOLD", "None"):
        assert service.list(f"?status={text}").json() == []
    assert len(service.list("?status=sold").json()) > 0


@alternative("invalid_status_filter", "ignore")
def _(service: Service) -> None:
    service.petstore.seed_many(10)
    service.petstore.seed()
    for text in ("lost", "", "SOLD"):
        assert len(service.list(f"?status={text}").json()) == 11


@alternative("unknown_query", "reject")
def _(service: Service) -> None:
    assert service.list("?offset=1").status == 400
    assert service.get("1?x=1").status == 400


@alternative("unknown_query", "ignore")
def _(service: Service) -> None:
    service.petstore.seed_many(3)
    assert len(service.list("?offset=1&limit=2&petId=1").json()) == 2
    assert service.get("1?x=1").status == 200
    assert service.authed("POST", "/v1/pets?limit=0", REX, ("Content-Type", "application/json")).status == 201
    assert service.list("?offset=%").status == 400, "what can't be decoded is no parameter"


@alternative("repeated_query", "reject")
def _(service: Service) -> None:
    assert service.list("?limit=1&limit=1").status == 400


@alternative("repeated_query", "first")
def _(service: Service) -> None:
    service.petstore.seed_many(9)
    assert len(service.list("?limit=1&limit=2&limit=3").json()) == 1
    assert service.list("?limit=0&limit=2").status == 400
    assert {pet["status"] for pet in service.list("?status=sold&status=pending").json()} == {"sold"}


@alternative("repeated_query", "last")
def _(service: Service) -> None:
    service.petstore.seed_many(9)
    assert len(service.list("?limit=1&limit=2&limit=3").json()) == 3
    assert service.list("?limit=2&limit=0").status == 400


@alternative("unknown_body_field", "reject")
def _(service: Service) -> None:
    assert service.create(name="a", categoryId=1, id=5).status == 400


@alternative("unknown_body_field", "ignore")
def _(service: Service) -> None:
    answer = service.create(name="a", categoryId=1, id=77, tag=[1, {"x": None}])
    assert answer.status == 201
    assert answer.json() == {"id": 1, "name": "a", "categoryId": 1}
    assert service.create(name=1, categoryId=1, tag=1).status == 400


@alternative("null_status", "reject")
def _(service: Service) -> None:
    assert service.create(name="a", categoryId=1, status=None).status == 400


@alternative("null_status", "as_omitted")
def _(service: Service) -> None:
    assert service.created(name="a", categoryId=1, status=None) == {"id": 1, "name": "a", "categoryId": 1}
    assert service.create(name=None, categoryId=1).status == 400


@alternative("integral_float", "reject")
def _(service: Service) -> None:
    assert service.post(b'{"name":"a","categoryId":1.0}').status == 400


@alternative("integral_float", "accept")
def _(service: Service) -> None:
    accepted = {
        b"1.0": 1,
        b"1e2": 100,
        b"100e-2": 1,
        b"-0.0": 0,
        b"0e99999999999999999999": 0,
        b"0.0e-99999999999999999999": 0,
        b"9223372036854775807.0": 2**63 - 1,
        b"-9223372036854775808.000": -(2**63),
        b"922337203685477580.7e1": 2**63 - 1,
        b"9007199254740993.0": 2**53 + 1,
        b"1." + b"0" * 5000: 1,
    }
    for text, number in accepted.items():
        answer = service.post(b'{"name":"a","categoryId":' + text + b"}")
        assert (answer.status, answer.json().get("categoryId")) == (201, number), text
        assert type(answer.json()["categoryId"]) is int
    refused = {
        b"1.5": "must be an integer, got 1.5 (number)",
        b"1e-5": "must be an integer, got 1e-5 (number)",
        b"9007199254740993.5": "must be an integer, got 9007199254740993.5 (number)",
        b"1e-99999999999999999999": "must be an integer, got 1e-99999999999999999999 (number)",
        b"1." + b"0" * 500 + b"1": "must be an integer, got 1.000",
        b"9223372036854775808.0": "must be at most 9223372036854775807, got 9223372036854775808 (integer)",
        b"1e400": "must be at most 9223372036854775807, got 1",
        b"1e1000000000": "must be at most 9223372036854775807, got 1e1000000000 (number)",
        b"-1e1000000000": "must be at least -9223372036854775808, got -1e1000000000 (number)",
        b"1e99999999999999999999": "must be at most 9223372036854775807, got 1e999999999999999999",
        b"-1e99999999999999999999": "must be at least -9223372036854775808, got -1e99999999999999999",
    }
    for text, words in refused.items():
        answer = service.post(b'{"name":"a","categoryId":' + text + b"}")
        assert answer.status == 400, text
        assert f"body.categoryId {words}" in answer.message


@alternative("duplicate_member", "reject")
def _(service: Service) -> None:
    assert service.post(b'{"name":"a","name":"b","categoryId":1}').status == 400


@alternative("duplicate_member", "last")
def _(service: Service) -> None:
    answer = service.post(b'{"name":1,"name":"b","categoryId":1}')
    assert (answer.status, answer.json()["name"]) == (201, "b")
    assert service.post(b'{"name":"b","name":1,"categoryId":1}').status == 400


@alternative("name_rule", "any")
def _(service: Service) -> None:
    for name in ("", "x" * 10_000):
        assert service.create(name=name, categoryId=1).status == 201


@alternative("name_rule", "non_empty")
def _(service: Service) -> None:
    answer = service.create(name="", categoryId=1)
    assert answer.status == 400
    assert "body.name must not be empty" in answer.message
    assert service.create(name=" ", categoryId=1).status == 201


@alternative("name_rule", "max_255")
def _(service: Service) -> None:
    answer = service.create(name="x" * 256, categoryId=1)
    assert answer.status == 400
    assert "body.name must have at most 255 characters" in answer.message
    for name in ("x" * 255, "\N{DOG}" * 255, ""):
        assert service.create(name=name, categoryId=1).status == 201


@alternative("category_rule", "any")
def _(service: Service) -> None:
    for number in (0, -1, -(2**63)):
        assert service.create(name="a", categoryId=number).status == 201


@alternative("category_rule", "positive")
def _(service: Service) -> None:
    for number in (0, -1):
        answer = service.create(name="a", categoryId=number)
        assert answer.status == 400
        assert (
            f"body.categoryId must be positive (gap category_rule=positive), got {number} (integer)" in answer.message
        )
    assert service.create(name="a", categoryId=1).status == 201
    message = service.create(name=5, categoryId=0).message
    assert "body.name" in message
    assert "body.categoryId must be positive" in message


@alternative("malformed_pet_id", "not_found")
def _(service: Service) -> None:
    for text in ("x", "1.0", "9" * 30):
        assert service.get(text).status == 404


@alternative("malformed_pet_id", "bad_request")
def _(service: Service) -> None:
    for text in ("x", "1.0", "9" * 30):
        answer = service.get(text)
        assert answer.status == 400
        assert "path.petId" in answer.message
        assert condition_of(service) == "invalid_pet_id"
    assert service.get(7).status == 404


@alternative("media_type", "unsupported_415")
def _(service: Service) -> None:
    assert service.post(REX, "text/plain").status == 415


@alternative("media_type", "bad_request")
def _(service: Service) -> None:
    answer = service.post(REX, "text/plain")
    assert (answer.status, condition_of(service)) == (400, "wrong_media_type")
    assert service.authed("POST", "/v1/pets", REX).status == 400


@alternative("media_type", "accept")
def _(service: Service) -> None:
    assert service.post(REX, "text/plain").status == 201
    assert service.authed("POST", "/v1/pets", REX).status == 201
    assert service.post(b"name=Rex", "application/x-www-form-urlencoded").status == 400


@alternative("body_limit", "one_mebibyte")
def _(service: Service) -> None:
    assert service.post(REX + b" " * (1024 * 1024 - len(REX))).status == 201
    assert service.post(REX + b" " * (1024 * 1024 - len(REX) + 1)).status == 413


@alternative("body_limit", "none")
def _(service: Service) -> None:
    assert service.post(REX + b" " * (2 * 1024 * 1024)).status == 201


@alternative("unknown_route", "not_found")
def _(service: Service) -> None:
    assert service.authed("GET", "/v1/store/orders").status == 404


@alternative("unknown_route", "not_implemented")
def _(service: Service) -> None:
    for target in ("/v1/store/orders", "/v1/pets/", "/nowhere"):
        assert service.authed("GET", target).status == 501
    assert service.get(1).status == 404


# content


@alternative("status_when_omitted", "absent")
def _(service: Service) -> None:
    assert "status" not in service.created(name="a", categoryId=1)


def _status_when_omitted(status: str) -> Callable[[Service], None]:
    def check(service: Service) -> None:
        pet = service.created(name="a", categoryId=1)
        assert pet["status"] == status
        assert service.list(f"?status={status}").json() == [pet]
        assert service.created(name="b", categoryId=1, status="sold")["status"] == "sold"
        assert "status" not in service.petstore.seed(), "no gap applies to seeds"

    return check


for _status in ("available", "pending", "sold"):
    alternative("status_when_omitted", _status)(_status_when_omitted(_status))


def _listed(service: Service, query: str = "?limit=100") -> list[int]:
    return [pet["id"] for pet in service.list(query).json()]


@alternative("list_order", "id_ascending")
def _(service: Service) -> None:
    service.petstore.seed_many([{"id": number} for number in (5, -3, 9, 1)])
    assert _listed(service) == [-3, 1, 5, 9]
    assert _listed(service, "?limit=2") == [-3, 1]


@alternative("list_order", "id_descending")
def _(service: Service) -> None:
    service.petstore.seed_many([{"id": number, "status": "sold"} for number in (5, -3, 9, 1)])
    assert _listed(service) == _listed(service, "?status=sold") == [9, 5, 1, -3]
    assert _listed(service, "?limit=2") == [9, 5]


@alternative("list_order", "by_name")
def _(service: Service) -> None:
    service.petstore.seed_many([{"name": name, "status": "sold"} for name in NAMES])
    assert [pet["name"] for pet in service.list().json()] == sorted(NAMES)
    assert [pet["name"] for pet in service.list("?status=sold&limit=3").json()] == sorted(NAMES)[:3]
    service.petstore.update(1, name="!")
    service.created(name="#", categoryId=1)
    assert [pet["name"] for pet in service.list("?limit=4").json()] == ["", "!", "#", "Ann"]
    service.petstore.remove(1)
    assert [pet["name"] for pet in service.list("?limit=2").json()] == ["", "#"]


@alternative("list_order", "arbitrary_stable")
def _(service: Service) -> None:
    service.petstore.seed_many(60)
    ids = _listed(service)
    assert sorted(ids) == list(range(1, 61))
    assert ids not in (list(range(1, 61)), list(range(60, 0, -1)))
    assert _listed(service) == ids
    assert _listed(service, "?limit=7") == ids[:7]


@alternative("list_order", "arbitrary")
def _(service: Service) -> None:
    service.petstore.seed_many(60)
    first, second = _listed(service), _listed(service)
    assert sorted(first) == sorted(second) == list(range(1, 61))
    assert first != second
    assert len(set(_listed(service, "?limit=7"))) == 7
    service.petstore.reset()
    service.petstore.seed_many(60)
    assert _listed(service) == first, "drawn by random_seed"


@alternative("page_fill", "full")
def _(service: Service) -> None:
    service.petstore.seed_many(5)
    assert [len(_listed(service, f"?limit={limit}")) for limit in (1, 2, 5, 6)] == [1, 2, 5, 5]


@alternative("page_fill", "short")
def _(service: Service) -> None:
    service.petstore.seed_many(5)
    assert [len(_listed(service, f"?limit={limit}")) for limit in (1, 2, 5, 6, 100)] == [1, 1, 3, 3, 5]


@alternative("id_assignment", "sequential")
def _(service: Service) -> None:
    assert [service.created(name="a", categoryId=1)["id"] for _ in range(3)] == [1, 2, 3]
    service.petstore.seed(id=2**63 - 1)
    ids = [service.created(name="a", categoryId=1)["id"] for _ in range(3)]
    assert len(set(ids)) == 3
    assert all(0 < number < 2**63 for number in ids)


@alternative("id_assignment", "sparse")
def _(service: Service) -> None:
    ids = [service.created(name="a", categoryId=1)["id"] for _ in range(20)]
    assert all(2 <= later - former <= 1000 for former, later in pairwise([0, *ids]))
    assert len({later - former for former, later in pairwise(ids)}) > 1
    service.petstore.seed(id=2**63 - 2)
    assert 0 < service.created(name="a", categoryId=1)["id"] < 2**63


@alternative("id_assignment", "random_int64")
def _(service: Service) -> None:
    ids = [service.created(name="a", categoryId=1)["id"] for _ in range(20)]
    assert len(set(ids)) == 20
    assert ids != sorted(ids)
    assert all(0 < number < 2**63 for number in ids)
    assert max(ids) > 2**53


@alternative("id_assignment", "beyond_2_53")
def _(service: Service) -> None:
    ids = [service.created(name="a", categoryId=1)["id"] for _ in range(3)]
    assert ids == [2**53 + 1, 2**53 + 2, 2**53 + 3]
    assert service.get(2**53 + 1).json()["id"] == 2**53 + 1


def _codes(service: Service) -> dict[int, str]:
    answers = [service.post(b"{}"), service.send("GET", "/v1/pets"), service.get(7), service.authed("PUT", "/v1/pets")]
    return {answer.status: answer.json()["code"] for answer in answers}


@alternative("error_codes", "standard")
def _(service: Service) -> None:
    assert _codes(service) == {400: "invalid_body", 401: "unauthorized", 404: "not_found", 405: "method_not_allowed"}


@alternative("error_codes", "terse")
def _(service: Service) -> None:
    assert _codes(service) == {400: "BAD", 401: "AUTH", 404: "NONE", 405: "ERR"}
    service.petstore.configure(rate_limit="retry_after_seconds")
    slow = next(answer for answer in (service.list() for _ in range(5)) if answer.status == 429)
    assert slow.json()["code"] == "SLOW"


@alternative("error_codes", "numeric_strings")
def _(service: Service) -> None:
    assert _codes(service) == {400: "40001", 401: "40101", 404: "40401", 405: "40501"}


@alternative("extra_response_fields", "none")
def _(service: Service) -> None:
    assert set(service.created(name="a", categoryId=1)) == {"id", "name", "categoryId"}


@alternative("extra_response_fields", "present")
def _(service: Service) -> None:
    pet = service.created(name="a", categoryId=2**63 - 1)
    assert pet == {"id": 1, "name": "a", "categoryId": 2**63 - 1, "tags": [], "_meta": {"revision": 1}}
    assert service.list().json() == [pet]
    assert service.get(1).json() == pet
    assert set(service.get(2).json()) == {"code", "message", "status", "tags", "_meta"}
    assert service.petstore.pets == [{"id": 1, "name": "a", "categoryId": 2**63 - 1}]


def _after_removal(status: int) -> Callable[[Service], None]:
    def check(service: Service) -> None:
        service.petstore.seed()
        service.petstore.clock.travel_to("2030-12-05")
        answer = service.get(1)
        assert answer.status == status
        assert answer.header("Sunset") == "Thu, 05 Dec 2030 00:00:00 GMT"
        assert service.send("GET", "/v1/pets/1").status == 401
        assert service.get(2).status == (404 if status == 200 else status)
        if status != 200:
            assert "use GET /pets with the status filter" in answer.message

    return check


for _name, _answered in {"gone": 410, "not_found": 404, "still_served": 200}.items():
    alternative("after_removal", _name)(_after_removal(_answered))


# dress

ODD = {"name": 'e\u0301 \N{DOG} "\\\u2028', "categoryId": -(2**63), "status": "sold"}


def _bodies(service: Service) -> list[bytes]:
    created = service.create(**ODD)
    assert created.json() == {"id": 1, **ODD}
    listed = service.list()
    assert listed.json() == [{"id": 1, **ODD}]
    return [created.body, listed.body, service.get(1).body, service.get(2).body]


@alternative("json_style", "compact")
def _(service: Service) -> None:
    for body in _bodies(service):
        assert body == json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":")).encode()


@alternative("json_style", "pretty")
def _(service: Service) -> None:
    for body in _bodies(service):
        assert b"\n  " in body
        assert body == json.dumps(json.loads(body), ensure_ascii=False, indent=2).encode()


@alternative("json_style", "ascii")
def _(service: Service) -> None:
    assert all(body.isascii() and b" :" not in body for body in _bodies(service))


@alternative("json_style", "shuffled_members")
def _(service: Service) -> None:
    for body in _bodies(service)[:3]:
        assert list(_first(json.loads(body))) != ["id", "name", "categoryId", "status"]
    service.petstore.seed_many(12)
    assert len({tuple(pet) for pet in service.list("?status=available").json()}) > 1, "one order is no order"


def _first(value: Any) -> Any:  # noqa: ANN401
    return value[0] if isinstance(value, list) else value


@alternative("paging_headers", "none")
def _(service: Service) -> None:
    answer = service.list()
    assert answer.header("Link") is None
    assert answer.header("X-Total-Count") is None


@alternative("paging_headers", "link")
def _(service: Service) -> None:
    service.petstore.seed_many(30)
    assert service.list().header("Link") == '</v1/pets?limit=20>; rel="first"'
    answer = service.list("?status=sold&limit=2")
    link = answer.header("Link")
    assert link == '</v1/pets?limit=2&status=sold>; rel="first"'
    assert service.authed("GET", link.partition(">")[0][1:]).json() == answer.json()
    assert service.get(1).header("Link") is None


@alternative("paging_headers", "next_link")
def _(service: Service) -> None:
    service.petstore.seed_many(30)
    assert (
        service.list("?limit=2").header("Link") == '</v1/pets?limit=2>; rel="first", </v1/pets?limit=100>; rel="next"'
    )
    assert service.list("?limit=30").header("Link") == '</v1/pets?limit=30>; rel="first"'
    assert service.list("?limit=100").header("Link") == '</v1/pets?limit=100>; rel="first"'
    service.petstore.seed_many(80)
    assert service.list("?limit=100").header("Link") == '</v1/pets?limit=100>; rel="first"', "it would lead to itself"
    link = str(service.list("?limit=1&status=sold").header("Link")).partition(", ")[2]
    assert link == '</v1/pets?limit=100&status=sold>; rel="next"'
    assert len(service.authed("GET", link.partition(">")[0][1:]).json()) > 1


def test_next_page_is_named_where_a_short_page_leaves_animals_out(service: Service) -> None:
    service.petstore.configure(paging_headers="next_link", page_fill="short")
    service.petstore.seed_many(2)
    answer = service.list("?limit=2")
    assert len(answer.json()) == 1
    assert str(answer.header("Link")).endswith('</v1/pets?limit=100>; rel="next"')
    assert service.list("?limit=3").header("Link") == '</v1/pets?limit=3>; rel="first"', "nothing is left out"


@alternative("paging_headers", "total_count")
def _(service: Service) -> None:
    service.petstore.seed_many(30)
    assert service.list("?limit=2").header("X-Total-Count") == "30"
    sold = sum(pet["status"] == "sold" for pet in service.petstore.pets)
    assert service.list("?limit=2&status=sold").header("X-Total-Count") == str(sold)


@alternative("location_header", "absent")
def _(service: Service) -> None:
    assert service.post(REX).header("Location") is None


@alternative("location_header", "present")
def _(service: Service) -> None:
    answer = service.post(REX)
    location = answer.header("Location")
    assert location == f"/v1/pets/{answer.json()['id']}"
    assert service.authed("GET", location).json() == answer.json()
    assert service.list().header("Location") is None
    assert service.post(b"{}").header("Location") is None


@alternative("deprecation_headers", "present")
def _(service: Service) -> None:
    service.petstore.seed()
    for pet_id in (1, 2):
        answer = service.get(pet_id)
        deprecated, sunset = answer.header("Deprecation"), answer.header("Sunset")
        assert deprecated is not None
        assert sunset is not None
        assert int(deprecated[1:]) <= parsedate_to_datetime(sunset).timestamp()  # RFC 9745 §4


@alternative("deprecation_headers", "absent")
def _(service: Service) -> None:
    service.petstore.seed()
    assert service.get(1).header("Deprecation") is None
    assert service.get(1).header("Sunset") is None


@alternative("content_type", "plain")
def _(service: Service) -> None:
    assert service.list().header("Content-Type") == "application/json"


@alternative("content_type", "with_charset")
def _(service: Service) -> None:
    for answer in (service.list(), service.post(REX), service.get(9), service.send("GET", "/nowhere")):
        assert answer.header("Content-Type") == "application/json; charset=utf-8"


# dress, on the wire


@alternative("answer_framing", "content_length")
def _(service: Service) -> None:
    for answer in (service.list(), service.post(REX), service.get(9)):
        assert answer.header("Content-Length") == str(len(answer.body))
        assert answer.header("Transfer-Encoding") is None


@alternative("answer_framing", "chunked")
def _(service: Service) -> None:
    for answer in (service.list(), service.post(REX), service.get(9)):
        assert answer.header("Transfer-Encoding") == "chunked"
        assert answer.header("Content-Length") is None
    assert service.authed("HEAD", "/v1/pets").status == 200
    assert service.send("OPTIONS", "/v1/pets").status == 204
    assert service.list().json()[0]["name"] == "Rex"


@alternative("header_names", "canonical")
def _(service: Service) -> None:
    assert {"Content-Type", "Date", "Content-Length"} <= {name for name, _ in service.list().fields}


@alternative("header_names", "lower_case")
def _(service: Service) -> None:
    for answer in (
        service.list(),
        service.get(9),
        service.send("GET", "/v1/pets"),
        service.send("OPTIONS", "/v1/pets"),
    ):
        assert all(name == name.lower() for name, _ in answer.fields)
    assert service.list().header("content-type") == "application/json"


@alternative("connection", "kept")
def _(service: Service) -> None:
    assert (service.list().header("Connection") or "").lower() != "close"
    service.list()
    assert service.petstore.journal.kept[-1].connection == service.petstore.journal.kept[0].connection


@alternative("connection", "closed_after_answer")
def _(service: Service) -> None:
    assert service.list().header("Connection") == "close"
    service.list()
    assert service.petstore.journal.kept[-1].connection != service.petstore.journal.kept[0].connection


# event


@alternative("rate_limit", "none")
def _(service: Service) -> None:
    assert {service.list().status for _ in range(12)} == {200}


@alternative("rate_limit", "retry_after_seconds")
def _(service: Service) -> None:
    answers = [service.list() for _ in range(10)]
    assert [answer.status for answer in answers] == [200, 200, 200, 200, 429] * 2
    assert answers[4].header("Retry-After") == "1"
    check_error_body(answers[4], service.petstore)
    for _ in range(3):
        assert service.post(b"{}").status == 400, "what is wrong is said first and not counted"
    assert [service.post(REX).status for _ in range(5)] == [201, 201, 201, 201, 429]
    assert len(service.petstore.pets) == 4


@alternative("rate_limit", "retry_after_date")
def _(service: Service) -> None:
    service.petstore.clock.freeze()
    answers = [service.list() for _ in range(5)]
    retry_after = answers[4].header("Retry-After")
    assert retry_after is not None
    seconds = parsedate_to_datetime(retry_after).timestamp() - service.petstore.clock.now()
    assert 0 < seconds <= 2, "not before it says"


@alternative("key_rotation", "never")
def _(service: Service) -> None:
    assert {service.list().status for _ in range(15)} == {200}


@alternative("key_rotation", "mid_session")
def _(service: Service) -> None:
    assert [service.list().status for _ in range(12)] == [200] * 10 + [401] * 2
    assert condition_of(service) == "revoked_key"
    second = service.petstore.issue_key()
    fields = [("Authorization", f"Bearer {second}")]
    assert {service.send("GET", "/v1/pets", fields).status for _ in range(15)} == {200}


@alternative("visibility", "immediate")
def _(service: Service) -> None:
    pet = service.created(name="a", categoryId=1)
    assert service.get(pet["id"]).status == 200
    assert service.list().json() == [pet]


@alternative("visibility", "delayed")
def _(service: Service) -> None:
    service.petstore.seed_many(2)
    for read in (lambda: service.list().json(), lambda: service.get(3).status):
        service.petstore.reset()
        service.petstore.configure(visibility="delayed", paging_headers="total_count")
        service.petstore.seed_many(2)
        pet = service.created(name="a", categoryId=1)
        assert read() in (404, service.petstore.pets[:2])
        answer = service.list("?limit=2")
        assert answer.header("X-Total-Count") == "3"
        assert service.get(pet["id"]).json() == pet
    assert len(service.petstore.pets) == 3, "the test's author sees it at once"
