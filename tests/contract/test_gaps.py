"""Each alternative of a gap except the default: its effects, and the responses that it must not change.

The other modules of this folder test the defaults.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Any

import pytest

from petstore_mock import Behaviour, PetStoreMock
from tests.client import REX, Client
from tests.programs import alternatives

Check = Callable[[Client], None]

Gap = tuple[str, str]
MANY = "9" * 5000

# The expected response to a query: the number of animals, or the status code of an error. The store has 121 animals.
# One of them has no status.
QUERIES: dict[Gap, dict[str, int]] = {
    ("invalid_limit", "clamp"): {
        **dict.fromkeys(("limit=0", "limit=-5", "limit=-0", f"limit=-{MANY}"), 1),
        **dict.fromkeys(("limit=101", f"limit={'9' * 30}", f"limit={MANY}"), 100),
        **dict.fromkeys(("limit=ten", "limit=", "limit=1.0", "limit=+5", "limit=0&status=lost"), 400),
    },
    ("invalid_limit", "ignore"): dict.fromkeys(("limit=0", "limit=101", "limit=ten", "limit=", f"limit={MANY}"), 20),
    ("invalid_status_filter", "empty"): {
        **dict.fromkeys(("status=lost", "status=", "status=SOLD", "status=None"), 0),
        "status=sold&limit=3": 3,
    },
    ("invalid_status_filter", "ignore"): dict.fromkeys(
        ("status=lost&limit=100", "status=&limit=100", "status=SOLD&limit=100"), 100
    ),
    ("unknown_query", "ignore"): {"offset=1&limit=2&petId=1": 2, "offset=%": 400},
    ("repeated_query", "first"): {
        "limit=1&limit=2&limit=3": 1,
        "limit=0&limit=2": 400,
        "status=available&status=sold&limit=100": 60,
    },
    ("repeated_query", "last"): {
        "limit=1&limit=2&limit=3": 3,
        "limit=2&limit=0": 400,
        "status=available&status=sold&limit=100": 30,
    },
    ("page_fill", "short"): {"limit=1": 1, "limit=2": 1, "limit=5": 3, "limit=100": 50},
}
INTEGRAL = {"1.0": 1, "1e2": 100, "100e-2": 1, "-0.0": 0, "0e99999999999999999999": 0, f"1.{'0' * 500}1": 1}


def with_category(text: str) -> str:
    return f'{{"name":"a","categoryId":{text}}}'


# The result of a body: members of the created animal (all members if the id is among them), or the broken rules.
CREATED: dict[str, Any] = {}
NAME, CATEGORY = "body.name", "body.categoryId"
BODIES: dict[Gap, dict[str, Any]] = {
    ("unknown_body_field", "ignore"): {
        '{"name":"a","categoryId":1,"id":77,"tag":[1,{"x":null}]}': {"id": 1, "name": "a", "categoryId": 1},
        '{"name":1,"categoryId":1,"tag":1}': [(NAME, "type")],
    },
    ("null_status", "as_omitted"): {
        '{"name":"a","categoryId":1,"status":null}': {"id": 1, "name": "a", "categoryId": 1},
        '{"name":null,"categoryId":1}': [(NAME, "type")],
    },
    ("integral_float", "accept"): {
        **{with_category(text): {"categoryId": number} for text, number in INTEGRAL.items()},
        **{with_category(text): [(CATEGORY, "type")] for text in ("1.5", "1e-5", "9007199254740993.0", "1e400")},
    },
    ("duplicate_member", "last"): {
        '{"name":1,"name":"b","categoryId":1}': {"name": "b"},
        '{"name":"b","name":1,"categoryId":1}': [(NAME, "type")],
    },
    ("name_rule", "non_empty"): {
        '{"name":"","categoryId":1}': [(NAME, "minLength")],
        '{"name":" ","categoryId":1}': CREATED,
    },
    ("name_rule", "max_255"): {
        f'{{"name":"{"x" * 256}","categoryId":1}}': [(NAME, "maxLength")],
        f'{{"name":"{chr(0x1F415) * 255}","categoryId":1}}': CREATED,
        '{"name":"","categoryId":1}': CREATED,
    },
    ("category_rule", "positive"): {
        '{"name":"a","categoryId":0}': [(CATEGORY, "exclusiveMinimum")],
        '{"name":"a","categoryId":-1}': [(CATEGORY, "exclusiveMinimum")],
        '{"name":"a","categoryId":1}': CREATED,
        '{"name":"a","categoryId":false}': [(CATEGORY, "type")],
        '{"name":5,"categoryId":0}': [(NAME, "type"), (CATEGORY, "exclusiveMinimum")],
    },
    **{
        ("status_when_omitted", status): {
            '{"name":"a","categoryId":1}': {"status": status},
            '{"name":"a","categoryId":1,"status":"sold"}': {"status": "sold"},
        }
        for status in ("available", "pending", "sold")
    },
}
# The expected status and header fields of the response to a request. The store has the animals 1 to 30. A request may
# end with the media type of its body; "-" means no Content-Type.
LIST, ABSENT, PET, POST = "GET /v1/pets?limit=2", "GET /v1/pets/99", "GET /v1/pets/1", "POST /v1/pets"
GONE = {"Deprecation": "@1764892800", "Sunset": "Thu, 05 Dec 2030 00:00:00 GMT"}
RESPONSES: dict[Gap, Mapping[str, tuple[int, Mapping[str, str | None]]]] = {
    ("unknown_query", "ignore"): {"GET /v1/pets/1?x=1": (200, {}), "POST /v1/pets?limit=0": (201, {})},
    ("malformed_pet_id", "bad_request"): {
        **dict.fromkeys(("GET /v1/pets/x", "GET /v1/pets/1.0", f"GET /v1/pets/{MANY}"), (400, {})),
        ABSENT: (404, {}),
    },
    **{
        ("media_type", name): dict.fromkeys((f"{POST} text/plain", f"{POST} -"), (status, {}))
        for name, status in {"bad_request": 400, "accept": 201}.items()
    },
    ("unknown_route", "not_implemented"): {
        **dict.fromkeys(("GET /v1/store/orders", "GET /v1/pets/", "GET /nowhere"), (501, {})),
        ABSENT: (404, {}),
    },
    ("paging_headers", "none"): {LIST: (200, {"Link": None, "X-Total-Count": None})},
    ("paging_headers", "link"): {
        LIST: (200, {"Link": '</v1/pets?limit=2>; rel="first"', "X-Total-Count": None}),
        "GET /v1/pets": (200, {"Link": '</v1/pets?limit=20>; rel="first"'}),
        "GET /v1/pets?status=sold&limit=2": (200, {"Link": '</v1/pets?limit=2&status=sold>; rel="first"'}),
        PET: (200, {"Link": None}),
    },
    ("paging_headers", "next_link"): {
        LIST: (200, {"Link": '</v1/pets?limit=2>; rel="first", </v1/pets?limit=100>; rel="next"'}),
        "GET /v1/pets?limit=30": (200, {"Link": '</v1/pets?limit=30>; rel="first"'}),
        "GET /v1/pets?limit=1&status=sold": (
            200,
            {"Link": '</v1/pets?limit=1&status=sold>; rel="first", </v1/pets?limit=100&status=sold>; rel="next"'},
        ),
    },
    ("paging_headers", "total_count"): {
        LIST: (200, {"X-Total-Count": "30", "Link": None}),
        "GET /v1/pets?limit=2&status=sold": (200, {"X-Total-Count": "7"}),
    },
    ("location_header", "absent"): {POST: (201, {"Location": None})},
    ("location_header", "present"): {POST: (201, {"Location": "/v1/pets/31"}), LIST: (200, {"Location": None})},
    ("deprecation_headers", "present"): {  # RFC 9745 (we chose the date of Deprecation) and RFC 8594 (Sunset)
        **dict.fromkeys((PET, "HEAD /v1/pets/1"), (200, GONE)),
        ABSENT: (404, GONE),
        LIST: (200, dict.fromkeys(GONE)),
        POST: (201, dict.fromkeys(GONE)),
    },
    ("deprecation_headers", "absent"): {PET: (200, dict.fromkeys(GONE)), ABSENT: (404, dict.fromkeys(GONE))},
    **{
        ("content_type", name): {
            request: (status, {"Content-Type": value})
            for request, status in {LIST: 200, PET: 200, POST: 201, ABSENT: 404, "GET /nowhere": 404}.items()
        }
        for name, value in {"plain": "application/json", "with_charset": "application/json; charset=utf-8"}.items()
    },
}
CHECKS: dict[Gap, Check] = {}
# Checks that need a connection.
ON_THE_WIRE: dict[Gap, Check] = {}


def alternative(gap: str, name: str, checks: dict[Gap, Check] = CHECKS) -> Callable[[Check], Check]:
    """Register the check of an alternative."""

    def register(check: Check) -> Check:
        assert (gap, name) not in checks
        checks[gap, name] = check
        return check

    return register


def test_every_alternative_except_the_default_is_checked() -> None:
    others = {(gap, name) for gap, (_, *names) in alternatives().items() for name in names}
    checked = {*QUERIES, *BODIES, *RESPONSES, *CHECKS, *ON_THE_WIRE}
    assert others - checked == set()
    assert dict(Behaviour()) == {gap: names[0] for gap, names in alternatives().items()}


@pytest.mark.parametrize(("gap", "name"), QUERIES)
def test_alternative_decides_the_response_to_a_query(client: Client, gap: str, name: str) -> None:
    client.petstore.configure(Behaviour().replace({gap: name}))
    client.petstore.seed()
    client.petstore.seed_many(120)
    for query, expected in QUERIES[gap, name].items():
        response = client.list(f"?{query}")
        assert (len(response.json()) if response.status == 200 else response.status) == expected, query[:60]


@pytest.mark.parametrize(("gap", "name"), BODIES)
def test_alternative_decides_the_result_of_a_body(client: Client, gap: str, name: str) -> None:
    for body, expected in BODIES[gap, name].items():
        client.petstore.reset()
        client.petstore.configure(Behaviour().replace({gap: name}))
        response = client.post(body.encode())
        if isinstance(expected, list):
            assert (response.status, sorted(client.broken)) == (400, sorted(expected)), body[:60]
            assert len(response.message) < 400
        else:
            assert response.status == 201, body[:60]
            pet = response.json()
            assert pet == (expected if "id" in expected else {**pet, **expected})
            assert type(pet["categoryId"]) is int
    assert "status" not in client.petstore.seed(), "no gap applies to seeds"


@pytest.mark.parametrize(("gap", "name"), RESPONSES)
def test_alternative_decides_status_and_fields(client: Client, gap: str, name: str) -> None:
    client.petstore.configure(Behaviour().replace({gap: name}))
    client.petstore.seed_many(30)
    for request, (status, fields) in RESPONSES[gap, name].items():
        method, target, kind, *_ = f"{request} application/json".split()
        fields_sent = [("Content-Type", kind)] if kind != "-" else []
        response = client.authed(method, target, REX if method == "POST" else None, *fields_sent)
        assert (response.status, {field: response.header(field) for field in fields}) == (status, fields), request[:60]


@pytest.mark.parametrize(("gap", "name"), CHECKS)
def test_alternative_has_its_effects(client: Client, gap: str, name: str) -> None:
    client.petstore.configure(Behaviour().replace({gap: name}))
    CHECKS[gap, name](client)


@pytest.mark.parametrize(("gap", "name"), ON_THE_WIRE)
def test_alternative_has_its_effects_on_the_wire(gap: str, name: str) -> None:
    with PetStoreMock(behaviour=Behaviour().replace({gap: name})) as petstore, Client(petstore) as client:
        ON_THE_WIRE[gap, name](client)


def listed(client: Client, query: str = "?limit=100") -> list[int]:
    return [pet["id"] for pet in client.list(query).json()]


@alternative("body_limit", "none")
def _(client: Client) -> None:
    assert client.post(REX.ljust(2 * 1024 * 1024)).status == 201


@alternative("list_order", "id_descending")
def _(client: Client) -> None:
    client.petstore.seed_many([{"id": number, "status": "sold"} for number in (5, -3, 9, 1)])
    assert listed(client) == listed(client, "?status=sold") == [9, 5, 1, -3]
    assert listed(client, "?limit=2") == [9, 5]


@alternative("list_order", "by_name")
def _(client: Client) -> None:
    def names(query: str = "") -> list[str]:
        return [pet["name"] for pet in client.list(query).json()]

    given = ["Tom", "ann", "Bob", "Ann", "Zoë", "Élan", ""]
    client.petstore.seed_many([{"name": name, "status": "sold"} for name in given])
    assert (names(), names("?status=sold&limit=3")) == (sorted(given), sorted(given)[:3])
    client.petstore.update(1, name="!")
    client.created(name="#", categoryId=1)
    assert names("?limit=4") == ["", "!", "#", "Ann"]
    client.petstore.remove(1)
    assert names("?limit=2") == ["", "#"]


@alternative("list_order", "arbitrary_stable")
def _(client: Client) -> None:
    client.petstore.seed_many(60)
    ids = listed(client)
    assert sorted(ids) == list(range(1, 61))
    assert ids not in (list(range(1, 61)), list(range(60, 0, -1)))
    assert (listed(client), listed(client, "?limit=7")) == (ids, ids[:7])


@alternative("list_order", "arbitrary")
def _(client: Client) -> None:
    client.petstore.seed_many(60)
    first, second = listed(client), listed(client)
    assert sorted(first) == sorted(second) == list(range(1, 61))
    assert first != second
    assert len(set(listed(client, "?limit=7"))) == 7
    client.petstore.reset()
    client.petstore.configure(list_order="arbitrary")
    client.petstore.seed_many(60)
    assert listed(client) == first, "random_seed determines the order"


def new_ids(client: Client, count: int) -> list[int]:
    return [client.created(name="a", categoryId=1)["id"] for _ in range(count)]


@alternative("id_assignment", "sequential")
def _(client: Client) -> None:
    assert new_ids(client, 3) == [1, 2, 3]
    client.petstore.seed(id=2**63 - 1)
    ids = new_ids(client, 3)
    assert len(set(ids)) == 3
    assert all(0 < number < 2**63 for number in ids)


@alternative("id_assignment", "sparse")
def _(client: Client) -> None:
    ids = new_ids(client, 20)
    assert all(2 <= later - former <= 1000 for former, later in pairwise([0, *ids]))
    assert len({later - former for former, later in pairwise(ids)}) > 1
    client.petstore.seed(id=2**63 - 2)
    assert 0 < new_ids(client, 1)[0] < 2**63


@alternative("id_assignment", "random_int64")
def _(client: Client) -> None:
    ids = new_ids(client, 20)
    assert len(set(ids)) == 20
    assert ids != sorted(ids)
    assert 2**53 < max(ids) < 2**63
    assert min(ids) > 0


@alternative("id_assignment", "beyond_2_53")
def _(client: Client) -> None:
    assert new_ids(client, 3) == [2**53 + 1, 2**53 + 2, 2**53 + 3]
    assert client.get(2**53 + 1).json()["id"] == 2**53 + 1


def has_codes(codes: list[str]) -> Check:
    def check(client: Client) -> None:
        responses = client.post(b"{}"), client.send("GET", "/v1/pets"), client.get(7), client.authed("PUT", "/v1/pets")
        assert [response.json()["code"] for response in responses] == codes

    return check


for _name, _codes in {
    "terse": ["BAD", "AUTH", "NONE", "ERR"],
    "numeric_strings": ["40001", "40101", "40401", "40501"],
}.items():
    alternative("error_codes", _name)(has_codes(_codes))


def test_a_rate_limit_has_a_terse_code_of_its_own(client: Client) -> None:
    client.petstore.configure(error_codes="terse", rate_limit="retry_after_seconds")
    assert [client.list() for _ in range(5)][4].json()["code"] == "SLOW"


@alternative("extra_response_fields", "present")
def _(client: Client) -> None:
    pet = client.created(name="a", categoryId=2**63 - 1)
    assert pet == {"id": 1, "name": "a", "categoryId": 2**63 - 1, "tags": [], "_meta": {"revision": 1}}
    assert (client.list().json(), client.get(1).json()) == ([pet], pet)
    assert set(client.get(2).json()) == {"code", "message", "status", "tags", "_meta"}
    assert client.petstore.pets == [{"id": 1, "name": "a", "categoryId": 2**63 - 1}]


def after_removal(status: int) -> Check:
    def check(client: Client) -> None:
        client.petstore.seed()
        client.petstore.clock.travel_to("2030-12-05")
        response = client.get(1)
        assert response.status == status
        assert response.header("Sunset") == "Thu, 05 Dec 2030 00:00:00 GMT"
        assert client.send("GET", "/v1/pets/1").status == 401
        assert client.get(2).status == (404 if status == 200 else status)

    return check


for _name, _expected in {"not_found": 404, "still_served": 200}.items():
    alternative("after_removal", _name)(after_removal(_expected))


# Encoding

ODD = {"name": 'e\u0301 \N{DOG} "\\\u2028', "categoryId": -(2**63), "status": "sold"}


def bodies(client: Client) -> list[bytes]:
    created = client.create(**ODD)
    listed = client.list()
    assert (created.json(), listed.json()) == ({"id": 1, **ODD}, [{"id": 1, **ODD}])
    return [created.body, listed.body, client.get(1).body, client.get(2).body]


@alternative("json_style", "pretty")
def _(client: Client) -> None:
    for body in bodies(client):
        assert body == json.dumps(json.loads(body), ensure_ascii=False, indent=2).encode()


@alternative("json_style", "ascii")
def _(client: Client) -> None:
    assert all(body.isascii() and b" :" not in body for body in bodies(client))


@alternative("json_style", "shuffled_members")
def _(client: Client) -> None:
    created, whole, got, _ = map(json.loads, bodies(client))
    for pet in (created, whole[0], got):
        assert list(pet) != ["id", "name", "categoryId", "status"]
    client.petstore.seed_many(12)
    assert len({tuple(pet) for pet in client.list("?status=available").json()}) > 1, "the order varies"


def test_short_page_links_to_the_next_page(client: Client) -> None:
    client.petstore.configure(paging_headers="next_link", page_fill="short")
    client.petstore.seed_many(2)
    response = client.list("?limit=2")
    assert len(response.json()) == 1
    assert str(response.header("Link")).endswith('</v1/pets?limit=100>; rel="next"')
    assert client.list("?limit=3").header("Link") == '</v1/pets?limit=3>; rel="first"', "the page has all animals"
    client.petstore.seed_many(110)
    client.petstore.configure(page_fill="full")
    assert client.list("?limit=100").header("Link") == '</v1/pets?limit=100>; rel="first"', (
        "the next page would be the same page"
    )


# The wire


def framed(client: Client) -> None:
    for response in (client.list(), client.post(REX), client.get(9)):
        assert response.header("Content-Length") is None
        assert response.header("Transfer-Encoding") == "chunked"
    assert client.send("OPTIONS", "/v1/pets").status == 204


def in_lower_case(client: Client) -> None:
    for response in (client.list(), client.get(9), client.send("GET", "/v1/pets"), client.send("OPTIONS", "/v1/pets")):
        names = {name for name, _ in response.fields}
        assert "date" in names
        assert names == {name.lower() for name in names}


def closes(client: Client) -> None:
    assert [client.list().header("Connection") for _ in range(2)] == ["close"] * 2
    assert len({entry.connection for entry in client.petstore.journal}) == 2


alternative("answer_framing", "chunked", ON_THE_WIRE)(framed)
alternative("header_names", "lower_case", ON_THE_WIRE)(in_lower_case)
alternative("connection", "closed_after_answer", ON_THE_WIRE)(closes)


# Events


@alternative("rate_limit", "none")
def _(client: Client) -> None:
    assert {client.list().status for _ in range(14)} == {200}
    client.petstore.configure(rate_limit="retry_after_seconds")
    assert [client.list().status for _ in range(2)] == [429, 200], "earlier requests count as well"


@alternative("rate_limit", "retry_after_seconds")
def _(client: Client) -> None:
    responses = [client.list() for _ in range(10)]
    assert [response.status for response in responses] == [200, 200, 200, 200, 429] * 2
    assert responses[4].header("Retry-After") == "1"
    assert [client.post(b"{}").status for _ in range(3)] == [400, 400, 400], "invalid requests do not count"
    assert [client.post(REX).status for _ in range(5)] == [201, 201, 201, 201, 429]
    assert len(client.petstore.pets) == 4


@alternative("rate_limit", "retry_after_date")
def _(client: Client) -> None:
    client.petstore.clock.freeze()
    retry_after = [client.list() for _ in range(5)][4].header("Retry-After")
    assert retry_after is not None
    assert 0 < parsedate_to_datetime(retry_after).timestamp() - client.petstore.clock.now() <= 2


@alternative("key_rotation", "mid_session")
def _(client: Client) -> None:
    assert [client.list().status for _ in range(12)] == [200] * 10 + [401] * 2
    assert (client.refusal, client.petstore.journal.violations) == ("rotated_key", []), "a rotation is no violation"
    second = client.petstore.issue_key()
    assert {client.status(key=second) for _ in range(15)} == {200}, "only the key that was used first rotates"
    client.petstore.configure(Behaviour())
    assert (client.list().status, client.refusal) == (401, "rotated_key"), "the key stays invalid"


@alternative("visibility", "delayed")
def _(client: Client) -> None:
    reads: list[Callable[[], Any]] = [lambda: client.list().json(), lambda: client.get(3).status]
    for read in reads:
        client.petstore.reset()
        client.petstore.configure(visibility="delayed", paging_headers="total_count")
        seeded = client.petstore.seed_many(2)
        pet = client.created(name="a", categoryId=1)
        assert read() in (404, seeded)
        assert client.list("?limit=2").header("X-Total-Count") == "3"
        assert client.get(pet["id"]).json() == pet
        assert len(client.petstore.pets) == 3, "the test sees the new animal at once"


def test_list_fills_its_page_although_it_hides_new_animals_and_a_restore_hides_them_again(client: Client) -> None:
    client.petstore.configure(visibility="delayed", list_order="id_descending")
    client.petstore.seed_many(5)
    client.created(name="a", categoryId=1)
    hidden = client.petstore.snapshot()
    for _ in range(2):
        assert [listed(client, "?limit=3") for _ in range(3)] == [[5, 4, 3], [6, 5, 4], [6, 5, 4]]
        client.petstore.restore(hidden)
