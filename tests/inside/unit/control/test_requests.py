"""The door: what came, waiting for it, asserting it, and the faults that it meets."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from petstore_mock import PetStoreMock
from petstore_mock.faults import KINDS
from tests.inside.unit.control.door import Door

REX = {"name": "Rex", "categoryId": 1}


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.fixture
def key(door: Door) -> str:
    return door.petstore.api_key


def test_request_is_told_with_all_that_was_decided(door: Door, key: str) -> None:
    door.call(key, "/v1/pets?limit=0&status=sold&status=x", None)
    (request,) = door.get("requests")["requests"]
    assert (request["number"], request["method"], request["path"]) == (1, "GET", "/v1/pets")
    assert request["query"] == {"limit": ["0"], "status": ["sold", "x"]}
    assert request["status"] == 400
    assert request["operation"] == "listPets"
    assert request["executed"] is False
    assert key not in json.dumps(request)
    assert {one["field"] for one in request["violations"]} == {"query.limit", "query.status"}
    assert {one["section"] for one in request["violations"]} == {"4.1"}
    assert request["response_body"]["status"] == 400
    assert request["at"].endswith("Z")


@pytest.mark.parametrize(
    ("sent", "member", "value"),
    [
        (json.dumps(REX).encode(), "body", REX),
        (b"{nonsense", "body_text", "{nonsense"),
        (b"\xff\xfe", "body_base64", "//4="),
        (b"NaN", "body_text", "NaN"),
        (b'"\\ud800"', "body_text", '"\\ud800"'),
    ],
)
def test_body_is_json_text_or_base64(door: Door, key: str, sent: bytes, member: str, value: object) -> None:
    from petstore_mock.messages.request import ApiRequest  # noqa: PLC0415  # for this one

    fields = [(b"Content-Type", b"application/json"), (b"Authorization", f"Bearer {key}".encode())]
    door.petstore.host.worlds.handle(ApiRequest("POST", "/v1/pets", fields, sent))
    (request,) = door.get("requests")["requests"]
    assert request[member] == value
    assert {"body", "body_text", "body_base64"} & set(request) == {member}


def test_refused_key_is_a_violation_of_a_request(door: Door) -> None:
    door.call("wrong", "/v1/pets")
    (request,) = door.get("requests")["requests"]
    assert [(one["section"], one["field"]) for one in request["violations"]] == [("5", "Authorization")]


def test_requests_are_chosen_by_query(door: Door, key: str) -> None:
    for target, body in (("/v1/pets", REX), ("/v1/pets", None), ("/v1/pets?limit=0", None), ("/v1/pets", None)):
        door.call(key, target, body)

    def numbers(query: str) -> list[int]:
        return [request["number"] for request in door.get(f"requests?{query}")["requests"]]

    assert numbers("operation=listPets") == [2, 3, 4]
    assert numbers("status=400") == numbers("violations=true") == [3]
    assert numbers("after=2") == [3, 4]
    assert numbers("limit=2") == [1, 2]
    assert numbers("last=1") == [4]
    assert numbers("operation=listPets&status=200&last=1") == [4]
    assert door.get("requests?limit=1")["total"] == 4


@pytest.mark.parametrize(
    "query", ["operation=listPet", "status=x", "limit=0", "limit=1001", "last=x", "nothing=1", "limit=1&limit=2"]
)
def test_query_that_can_not_be_right_is_422(door: Door, query: str) -> None:
    answer = door.ask("GET", f"requests?{query}")
    assert answer.status_code == 422
    assert answer.json["violations"][0]["field"].startswith("query.")


def test_evicted_requests_are_counted(key: str) -> None:
    door = Door(kept_requests=3)
    key = door.ask("PUT", "world", {"strict": True}, world="one").json["api_key"]
    door.call(key, "/w/one/v1/pets?limit=0")
    for number in range(5):
        door.call(key, "/w/one/v1/pets", {**REX, "name": str(number)})
    told = door.get("requests", world="one")
    assert (told["total"], told["evicted"], [one["number"] for one in told["requests"]]) == (6, 3, [4, 5, 6])
    assert door.get("world", world="one")["violations"] == 1
    assert door.ask("POST", "requests/assert", {"operation": "createPet", "times": 5}, world="one").json["passed"]
    assert [one["kind"] for one in door.get("world/verification", world="one")["problems"]] == ["violation"]
    asserted = door.ask("POST", "requests/assert", {"operation": "createPet", "where": {"name": "4"}}, world="one")
    assert asserted.status_code == 409


def test_forgotten_journal_is_answered_for_all_the_same(door: Door) -> None:
    key = door.ask("PUT", "world", {"strict": True}, world="one").json["api_key"]
    door.call(key, "/w/one/v1/pets?limit=0")
    assert door.ask("DELETE", "requests", world="one").status_code == 204
    assert door.get("requests", world="one") == {"requests": [], "total": 0, "evicted": 0}
    assert [one["kind"] for one in door.get("world/verification", world="one")["problems"]] == ["violation"]


def test_wait_ends_as_soon_as_enough_have_come(door: Door, key: str) -> None:
    door.call(key, "/v1/pets", REX)
    sender = threading.Timer(0.05, door.call, (key, "/v1/pets", REX))
    sender.start()
    answer = door.ask("POST", "requests/wait", {"operation": "createPet", "count": 2, "timeout": 20}).json
    sender.join()
    assert answer["met"] is True
    assert [request["number"] for request in answer["requests"]] == [1, 2]


def test_wait_ends_when_the_time_is_up(door: Door) -> None:
    assert door.ask("POST", "requests/wait", {"timeout": 0}).json == {"met": False, "requests": []}


@pytest.mark.parametrize("how", ["reset", "end", "anew"])
def test_wait_ends_with_its_world(door: Door, how: str) -> None:
    door.ask("PUT", "world", world="one")
    ask = {"reset": ("POST", "world/reset"), "end": ("DELETE", "world"), "anew": ("PUT", "world")}[how]
    ender = threading.Timer(0.05, lambda: door.ask(*ask, world="one"))
    ender.start()
    answer = door.ask("POST", "requests/wait", {"timeout": 25}, world="one")
    ender.join()
    assert answer.json["met"] is False


@pytest.mark.parametrize(
    "body", [{"timeout": 26}, {"count": 0}, {"operation": "listpets"}, {"where": {"nam": "x"}}, {"times": 1}]
)
def test_wait_that_can_not_be_right_is_422(door: Door, body: object) -> None:
    assert door.ask("POST", "requests/wait", body).status_code == 422


def test_assertion_tells_the_near_misses(door: Door, key: str) -> None:
    door.call(key, "/v1/pets", REX)
    passed = door.ask("POST", "requests/assert", {"operation": "createPet", "times": 1, "where": {"name": "Rex"}})
    assert passed.json == {"passed": True, "message": "expected createPet once with name='Rex'; it came once"}
    failed = door.ask("POST", "requests/assert", {"operation": "createPet", "where": {"name": "Tom"}}).json
    assert failed["passed"] is False
    assert "name is 'Rex'" in failed["message"] or "'Rex'" in failed["message"]
    assert door.ask("POST", "requests/assert", {}).json["passed"] is True


def test_archive_has_the_addresses_that_went_over_the_wire(door: Door) -> None:
    key = door.ask("PUT", "world", world="one").json["api_key"]
    door.call(key, "/w/one/v1/pets?limit=5")
    (entry,) = door.get("requests.har", world="one")["log"]["entries"]
    assert entry["request"]["url"] == "http://127.0.0.1:8080/w/one/v1/pets?limit=5"


def test_coverage_counts_what_was_shown(door: Door, key: str) -> None:
    door.call(key, "/v1/pets", REX)
    door.call("wrong", "/v1/pets", REX)
    coverage = door.get("coverage")
    shown = {(one["operation"], one["outcome"]): one["shown"] for one in coverage["outcomes"]}
    assert shown["createPet", "201 status absent"] == 1
    assert shown["createPet", "401"] == 1
    assert shown["createPet", "400"] == 0
    assert {one["fault"] for one in coverage["faults"]} == set(KINDS)


# Faults


def test_fault_is_planned_met_and_listed(door: Door, key: str) -> None:
    planned = door.ask(
        "POST", "faults", {"fault": {"kind": "server_error", "status": 503}, "on": "createPet", "times": 1}
    )
    assert planned.status_code == 201
    assert planned.json == {
        "id": 1,
        "fault": {"kind": "server_error", "status": 503},
        "on": "createPet",
        "times": 1,
        "after": 0,
        "at": "before_commit",
        "probability": 1,
        "off_contract": False,
        "where": None,
        "hits": 0,
        "spent": False,
    }
    assert [door.call(key, "/v1/pets", REX).status for _ in range(2)] == [503, 201]
    (listed,) = door.get("faults")["faults"]
    assert (listed["hits"], listed["spent"]) == (1, True)
    assert door.get("requests")["requests"][0]["fault"] is not None


def test_fault_meets_what_its_criteria_say(door: Door, key: str) -> None:
    door.ask("POST", "faults", {"fault": 503, "on": "createPet", "where": {"name": "Tom"}})
    assert [door.call(key, "/v1/pets", {**REX, "name": name}).status for name in ("Rex", "Tom")] == [201, 503]


def test_faults_are_cancelled(door: Door, key: str) -> None:
    ids = [door.ask("POST", "faults", {"fault": 503, "times": 1}).json["id"] for _ in range(3)]
    assert door.ask("DELETE", f"faults/{ids[1]}").status_code == 204
    assert [fault["id"] for fault in door.get("faults")["faults"]] == [ids[0], ids[2]]
    assert door.ask("DELETE", f"faults/{ids[1]}").status_code == 404
    assert door.ask("DELETE", "faults").status_code == 204
    assert door.get("faults") == {"faults": []}
    assert door.call(key, "/v1/pets").status == 200
    assert door.get("world/verification")["passed"] is True


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fault_can_be_planned(door: Door, kind: str) -> None:
    arguments: dict[str, dict[str, Any]] = {
        "respond": {"status": 418},
        "delay": {"seconds": 0.2},
        "dribble": {"bytes_per_second": 10},
    }
    body = {"fault": {"kind": kind, **arguments.get(kind, {})}, "off_contract": True}
    answer = door.ask("POST", "faults", body)
    assert answer.status_code == 201, answer.text
    assert answer.json["fault"] == body["fault"]


def test_sequence_is_planned(door: Door, key: str) -> None:
    sequence = {"kind": "sequence", "faults": [503, 429]}
    assert door.ask("POST", "faults", {"fault": sequence}).json["fault"] == sequence
    assert [door.call(key, "/v1/pets").status for _ in range(3)] == [503, 429, 200]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"fault": {"kind": "dely"}}, "delay"),
        ({"fault": 99}, "fault"),
        (
            {"fault": "reset"},
            'body.fault to be an HTTP status, or a kind of fault and its arguments, as {"kind": "delay"',
        ),
        ({"fault": [503]}, "got [503] (array of 1)"),
        ({"fault": 404, "on": "listPets"}, "off_contract"),
        ({"fault": 503, "on": "listPet"}, "listPets"),
        ({"fault": 503, "times": 0}, "times"),
        ({"fault": 503, "at": "later"}, "before_commit"),
        ({"fault": 503, "at": "after_commit", "on": "getPet"}, "createPet"),
        ({"fault": 503, "when": "x"}, "expected no member body.when: there is fault, on, times, after,"),
        ({"on": "createPet"}, "fault"),
        ({"fault": 503, "where": {"nam": 1}}, "name"),
        ({"fault": {"kind": "delay", "seconds": 1e9}}, "seconds"),
    ],
)
def test_fault_that_can_not_be_right_is_422(door: Door, body: object, words: str) -> None:
    answer = door.ask("POST", "faults", body)
    assert answer.status_code == 422
    assert words in answer.json["detail"]
    assert door.get("faults") == {"faults": []}


def test_faults_reach_no_other_world(door: Door) -> None:
    keys = [door.ask("PUT", "world", world=name).json["api_key"] for name in ("one", "two")]
    door.ask("POST", "faults", {"fault": 503}, world="one")
    assert [door.call(key, f"/w/{name}/v1/pets").status for key, name in zip(keys, ("one", "two"), strict=True)] == [
        503,
        200,
    ]


def test_door_is_in_no_journal() -> None:
    petstore = PetStoreMock()
    door = Door(petstore)
    door.ask("POST", "pets", {"count": 1})
    door.get("requests")
    assert len(petstore.journal) == 0
