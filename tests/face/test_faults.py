"""The requests that a fault meets, its effects, and its handle."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from petstore_mock import PetStoreMockError, VerificationError, faults
from tests.client import Client
from tests.face.conftest import on_a_socket

Face = Any  # PetStoreMock or RemotePetStore: tests use only their common methods


def statuses(client: Client, count: int, operation: str = "listPets") -> list[int | None]:
    return [client.status(operation) for _ in range(count)]


# Placement


PLANS: list[tuple[dict[str, Any], list[int]]] = [
    *((plan, [503, 503, 503, 503]) for plan in ({}, {"on": "listPets"}, {"probability": 1})),
    ({"on": "getPet"}, [200, 200, 200, 200]),
    ({"times": 2}, [503, 503, 200, 200]),
    ({"after": 2}, [200, 200, 503, 503]),
    ({"after": 1, "times": 2}, [200, 503, 503, 200]),
]


def test_options_of_a_fault_select_how_many_requests_it_meets(petstore: Face, client: Client) -> None:
    for plan, expected in PLANS:
        handle = petstore.inject(503, **plan)
        assert (handle.hits, handle.spent) == (0, False)
        assert statuses(client, 4) == expected
        assert (handle.hits, handle.spent) == (expected.count(503), expected.count(503) == plan.get("times"))
        petstore.cancel_faults()


def test_a_fault_without_an_operation_meets_all_declared_operations_only(petstore: Face, client: Client) -> None:
    handle = petstore.inject(503)
    assert [client.status(operation) for operation in ("listPets", "createPet", "getPet")] == [503, 503, 503]
    for method, target, status in (("GET", "/nowhere", 404), ("PUT", "/v1/pets", 405), ("OPTIONS", "/v1/pets", 204)):
        assert client.authed(method, target).status == status
    assert handle.hits == 3


def test_a_fault_never_hides_a_mistake_of_the_client(petstore: Face, client: Client) -> None:
    """Refused requests use up neither ``after`` nor ``times``."""
    handle = petstore.inject(503, after=1, times=1)
    assert client.status(key="wrong") == 401
    assert client.status(query="?limit=0") == 400
    assert client.status("createPet", body={"name": 1}) == 400
    assert client.get("x").status == 404
    assert handle.hits == 0
    assert statuses(client, 3) == [200, 503, 200]


def test_a_rate_limit_comes_before_faults_and_the_fault_planned_first_wins(petstore: Face, client: Client) -> None:
    petstore.configure(rate_limit="retry_after_seconds")
    first, second = petstore.inject(503, times=1), petstore.inject(500, times=1)
    petstore.inject(502, after=1)
    petstore.inject(500)
    assert statuses(client, 5) == [503, 500, 500, 502, 429], "a fault that waits for after= does not block a later one"
    assert (first.hits, second.hits) == (1, 1)


# The operation, the criteria, and which of six requests meet the fault.
WHERE: list[tuple[str | None, dict[str, Any], str]] = [
    *(("createPet", one, ".X....") for one in ({"name": "Rex"}, {"json": {"categoryId": 1, "name": "Rex"}})),
    ("createPet", {"name": "Rex", "categoryId": 2}, "......"),
    ("createPet", {"status": "sold"}, "..X..."),
    ("createPet", {"status": None, "categoryId": 1}, "XX...."),
    *(("listPets", one, "....X.") for one in ({"limit": 2}, {"query": {"limit": 2, "status": "sold"}})),
    ("getPet", {"petId": 99}, ".....X"),
    (None, {"status": "sold"}, "..X.X."),
    (None, {"method": "POST"}, "XXX..."),
    (None, {"path": "/v1/pets/99"}, ".....X"),
    (None, {"headers": {"x-trace": "t"}}, "..X..."),
    (None, {}, "XXXXXX"),
]


def test_where_selects_the_requests_that_meet_the_fault(petstore: Face, client: Client) -> None:
    for on, where, expected in WHERE:
        handle = petstore.inject(503, on=on, where=where)
        found = [
            client.status("createPet", body={"name": "Tom", "categoryId": 1}),
            client.status("createPet", body={"name": "Rex", "categoryId": 1}),
            client.status(
                "createPet", body={"name": "Ada", "categoryId": 1, "status": "sold"}, fields=[("X-Trace", "t")]
            ),
            client.status(),
            client.status(query="?limit=2&status=sold"),
            client.status("getPet", pet_id=99),
        ]
        assert "".join("X" if status == 503 else "." for status in found) == expected, (on, where)
        assert handle.hits == expected.count("X")
        petstore.cancel_faults()


def test_a_request_excluded_by_where_uses_up_nothing(petstore: Face, client: Client) -> None:
    petstore.inject(503, on="createPet", where={"name": "Rex"}, after=1, times=1)
    assert client.status("createPet", body={"name": "Tom", "categoryId": 1}) == 201
    assert statuses(client, 3, "createPet") == [201, 503, 201]


@on_a_socket
def test_a_sequence_uses_one_fault_a_request_and_is_spent(petstore: Face, client: Client) -> None:
    handle = petstore.inject(faults.sequence(503, faults.reset(), faults.respond(502, body="")), on="listPets", after=1)
    assert client.status("getPet") == 404
    assert statuses(client, 6) == [200, 503, None, 502, 200, 200]
    assert (handle.hits, handle.spent) == (3, True)


def test_the_random_seed_repeats_the_draws_of_a_probability(petstore: Face) -> None:
    def run(random_seed: int) -> list[int | None]:
        with petstore.fresh(random_seed=random_seed) as inner, Client(inner) as client:
            handle = inner.inject(503, probability=0.5)
            first = statuses(client, 48)
            assert handle.hits == first.count(503)
            inner.reset()
            inner.inject(503, probability=0.5)
            assert statuses(client, 48) == first
            return first

    assert run(1) == run(1) != run(2)
    assert 10 < run(1).count(503) < 38


# Effects


@on_a_socket
@pytest.mark.parametrize("at", ["before_commit", "after_commit"])
@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (faults.respond(418, json={"a": [1]}, headers={"X-A": "b"}), 418),
        (faults.respond(500, body=b"\xff"), 500),
        (faults.unauthorized(), 401),
        (faults.bad_request(), 400),
        (faults.rate_limited(7), 429),
        (faults.server_error(502), 502),
        *((one, 201) for one in (faults.delay(0.01), faults.delay((0, 0.01)), faults.dribble(100_000))),
        *((one, 201) for one in (faults.wrong_content_type(), faults.malformed_json())),
        *(
            (one, None)
            for one in (faults.reset(), faults.empty_reply(), faults.truncate(0.5), faults.malformed_chunk())
        ),
    ],
    ids=str,
)
def test_the_commit_point_decides_whether_the_animal_is_kept_unless_the_fault_only_slows_the_response(
    petstore: Face, client: Client, fault: faults.Fault, status: int | None, at: str
) -> None:
    handle = petstore.inject(fault, on="createPet", times=1, at=at)
    try:
        assert client.status("createPet") == status
    except ValueError:
        assert fault == faults.malformed_chunk(), "the body can't be read"
    entry = petstore.journal.last
    assert (handle.hits, handle.fault, str(entry.fault)) == (1, fault, str(fault))
    petstore.journal.assert_called("createPet", times=1, fault=fault.kind)
    kept = at == "after_commit" or fault.kind in {"delay", "dribble"}
    assert (len(petstore.pets), entry.executed) == (kept, kept)


STATUSES = (400, 401, 403, 404, 416, 422, 429, 500, 503, 599)
CODES = """
    invalid_body unauthorized forbidden not_found range_not_satisfiable unprocessable_content rate_limited
    internal_server_error service_unavailable error
"""


def test_a_fault_with_only_a_status_has_the_error_body_of_its_status(petstore: Face, client: Client) -> None:
    for status, code in zip(STATUSES, CODES.split(), strict=True):
        petstore.inject(status, on="listPets", off_contract=True, times=1)
        response = client.bare("GET", "/v1/pets", list(petstore.headers.items()))
        error = response.json()
        assert (response.status, error["status"], set(error)) == (status, status, {"code", "message", "status"})
        assert (error["code"], response.header("Content-Type")) == (code, "application/json")
        assert (response.header("WWW-Authenticate") is not None) is (status == 401)
        assert (response.header("Retry-After") == "1") is (status == 429)


OWN: list[tuple[faults.Fault, bytes | None, dict[str, str | None]]] = [
    (faults.respond(503, body="<p>"), b"<p>", {"Content-Type": "text/html; charset=utf-8", "Content-Length": "3"}),
    (faults.respond(503, body=b""), b"", {"Content-Type": None, "Content-Length": "0"}),
    (faults.respond(200, json={"a": "ö"}), '{"a":"ö"}'.encode(), {"Content-Type": "application/json"}),
    (faults.respond(204), b"", {"Content-Type": None}),
    (faults.respond(205), b"", {"Content-Type": None}),
    (faults.respond(304, headers={"ETag": '"1"'}), b"", {"ETag": '"1"', "Content-Type": None}),
    (faults.respond(503, body=b"", headers={"server": "nginx", "X-Cache": "MISS"}), b"", {"Server": "nginx"}),
    (faults.respond(503, body="x", headers={"Server": ""}), b"x", {"Server": None}),
    (faults.respond(307, body="", headers={"Location": "http://x.test/"}), b"", {"Location": "http://x.test/"}),
    (faults.rate_limited("2030-12-05"), None, {"Retry-After": "Thu, 05 Dec 2030 00:00:00 GMT"}),
    (faults.rate_limited(None), None, {"Retry-After": None}),
    (faults.respond(405), None, {"Allow": "GET, HEAD, OPTIONS, POST"}),
    (faults.respond(405, body=b"", headers={"Allow": "PATCH"}), b"", {"Allow": "PATCH"}),
    (faults.respond(401, body=b"", headers={"WWW-Authenticate": ""}), b"", {"WWW-Authenticate": None}),
    (faults.respond(407), None, {"Proxy-Authenticate": 'Basic realm="petstore"'}),
    (faults.respond(426, body=b""), b"", {"Upgrade": "HTTP/3.0"}),
]


@on_a_socket
def test_a_response_of_a_fault_has_its_own_body_and_fields(petstore: Face, client: Client) -> None:
    for fault, body, fields in OWN:
        petstore.inject(fault, off_contract=True, times=1)
        response = client.bare("GET", "/v1/pets", list(petstore.headers.items()))
        assert body is None or response.body == body
        assert {name: response.header(name) for name in fields} == fields
        assert "Server" in fields or response.header("Server") == "petstore-mock"


def test_an_injected_404_looks_like_a_real_one_and_head_has_no_body(petstore: Face, client: Client) -> None:
    """Without the fields of a deprecated operation (§9), a client could recognise the injected 404."""
    petstore.clock.freeze()
    real = client.get(9)
    petstore.inject(404, on="getPet")
    injected, head = client.get(9), client.authed("HEAD", "/v1/pets/9")
    assert injected.json()["code"] == real.json()["code"]
    names = [[name for name, _ in response.fields] for response in (real, injected, head)]
    assert names[0] == names[1] == names[2]
    assert (head.status, head.body, head.fields) == (404, b"", injected.fields)


# Before and after the commit


def test_a_fault_after_the_commit_ignores_requests_that_commit_nothing(petstore: Face, client: Client) -> None:
    handle = petstore.inject(503, at="after_commit", after=1, times=1)
    assert [client.status(), client.status("getPet"), client.status("createPet", body={"name": 1})] == [200, 404, 400]
    assert handle.hits == 0
    petstore.inject(500, on="createPet", after=1, times=1)
    assert statuses(client, 4, "createPet") == [201, 500, 503, 201], "an uncommitted request does not count"


def test_delays_before_and_after_the_commit_add_up(petstore: Face, client: Client) -> None:
    petstore.inject(faults.delay(0.05), on="createPet", times=1)
    petstore.inject(faults.server_error(503, delay=0.05), on="createPet", at="after_commit", times=1)
    assert client.status("createPet") == 503
    entry = petstore.journal.last
    assert (entry.status, entry.executed, entry.outcome, len(petstore.pets)) == (503, True, "delayed", 1)
    assert entry.duration >= 0.1
    assert str(entry.delayed_by) == "delay(0.05)"
    for fault in ("delay", "server_error"):
        petstore.journal.assert_called("createPet", times=1, fault=fault)


def test_a_behaviour_that_is_chosen_during_a_delay_applies_to_the_response(petstore: Face, client: Client) -> None:
    petstore.seed_many(2)
    petstore.clock.freeze()  # while the clock shows the same second, the fake may send a cached response
    client.list()
    petstore.inject(faults.delay(0.5), times=1)
    with ThreadPoolExecutor(1) as pool:
        delayed = pool.submit(client.list)
        petstore.journal.wait_for("listPets", times=2, timeout=20)
        petstore.configure(list_order="id_descending")
        assert [pet["id"] for pet in delayed.result().json()] == [2, 1]


# The handle


def test_a_cancelled_fault_meets_no_request_and_need_not_fire(petstore: Face, client: Client) -> None:
    handle = petstore.inject(503, times=1)
    handle.cancel()
    handle.cancel()
    petstore.inject(500, times=1)
    petstore.cancel_faults()
    assert client.status() == 200
    petstore.verify()


def test_a_block_cancels_its_fault_and_fails_if_it_never_fired(petstore: Face, client: Client) -> None:
    with petstore.inject(503) as handle:
        assert client.status() == 503
    assert (client.status(), handle.hits) == (200, 1)
    rarely = "fired 1 of 2 times within its block: no further request matched it"
    with pytest.raises(VerificationError, match=rarely), petstore.inject(503, times=2):
        client.status()
    with pytest.raises(VerificationError) as failure, petstore.inject(503, on="getPet", times=1) as handle:
        pass
    assert str(handle) in str(failure.value)
    for all_of_them in (False, True):
        with petstore.inject(503, times=1) as handle:
            petstore.cancel_faults() if all_of_them else handle.cancel()
        assert handle.hits == 0
    petstore.verify()
    with pytest.raises(ZeroDivisionError), petstore.inject(503, times=1) as handle:
        raise ZeroDivisionError
    assert client.status() == 200
    with pytest.raises(VerificationError) as failure:
        petstore.verify()
    assert str(handle) in str(failure.value), "the error of the block is not hidden, and the fault is reported later"
    petstore.cancel_faults()


def test_a_fault_that_fired_too_rarely_fails_the_verification(petstore: Face, client: Client) -> None:
    for fault, rule in ((503, {"times": 2}), (faults.sequence(503, 502), {})):
        petstore.inject(fault, on="listPets", **rule)
        client.status()
        with pytest.raises(VerificationError, match="fired 1 of 2 times: no further request matched it"):
            petstore.verify()
        petstore.cancel_faults()
    petstore.inject(503, times=9, probability=0.99)
    while client.status() != 503:
        pass
    petstore.verify()


def test_a_handle_from_before_a_reset_does_not_affect_later_faults(petstore: Face, client: Client) -> None:
    old = petstore.inject(503, on="listPets")
    assert client.status() == 503
    petstore.reset()
    new = petstore.inject(500, on="listPets")
    old.cancel()
    assert (client.status(), old.hits, new.id) == (500, 1, 1)


def test_the_text_of_a_handle_is_its_call_and_shows_no_key(petstore: Face) -> None:
    options = "on='createPet', times=2, after=1, where={'name': 'Rex'}, at='after_commit', probability=0.5"
    handle = petstore.inject(
        faults.reset(), on="createPet", times=2, after=1, where={"name": "Rex"}, at="after_commit", probability=0.5
    )
    assert str(handle) == f"inject(reset(), {options})"
    secret = petstore.inject(503, where={"headers": {"Authorization": "Bearer hunter2-hunter2-hunter2"}})
    assert "hunter2-hunter2" not in f"{secret}{secret!r}"
    petstore.cancel_faults()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"on": "listPet"}, "you mean listPets"),
    ({"on": "pets"}, "listPets, createPet, getPet"),
    ({"fault": 404, "on": "listPets"}, "off_contract"),
    ({"fault": 404}, "getPet"),
    ({"fault": 400, "on": "getPet"}, "createPet"),
    ({"fault": faults.sequence(503, 404), "on": "listPets"}, "getPet"),
    *(({"times": one}, "times") for one in (0, 1.5, 2.0, True, "1")),
    *(({"after": one}, "after") for one in (-1, 1.5, True, "1")),
    ({"at": "later"}, "before_commit"),
    ({"on": "listPets", "at": "after_commit"}, "createPet"),
    *(({"probability": one}, "probability") for one in (0, 1.5, True, "x")),
    ({"where": "Rex"}, "Rex"),
    ({"where": {"headers": {"X-Page": 1}}}, "headers"),
    ({"where": {1: 2}}, "criteria"),
    ({"where": {"nam": 1}}, "you mean name"),
    ({"on": "listPets", "where": {"name": 1}}, "limit"),
    *(({"where": one}, next(iter(one))) for one in ({"status": 503}, {"fault": "reset"}, {"query": 1})),
    ({"fault": faults.sequence(503), "times": 1}, "times"),
    *(({"fault": one}, "faults.reset()") for one in ("rest", faults.reset)),
    ({"fault": 99}, "99"),
]


@pytest.mark.parametrize(("wrong", "named"), WRONG, ids=range(len(WRONG)))
def test_inject_refuses_wrong_arguments(petstore: Face, client: Client, wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(PetStoreMockError) as refused:
        petstore.inject(**{"fault": 503, **wrong})
    assert named in str(refused.value).replace("'", "")
    assert client.status() == 200
