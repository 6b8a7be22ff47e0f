"""Each verb of the control door, over HTTP."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, connect, faults
from tests.client import Client
from tests.control.conftest import Door
from tests.wire.raw import Raw, eventually

# Worlds


def test_a_world_is_made_and_replaced(door: Door) -> None:
    made = door("PUT", "world", {"seed": 2, "at": "2030-12-06", "api_key": "k" * 20}, world="a")
    assert made.status == 201
    assert made.json() == {
        "name": "a",
        "url": f"http://{door.address}/w/a/v1",
        "api_key": "k" * 20,
        "pets": 2,
        "requests": 0,
        "violations": 0,
        "faults": 0,
        "strict": False,
        "mutant": None,
    }
    door("POST", "faults", {"fault": 503, "times": 1}, world="a")
    again = door("PUT", "world", {}, world="a")
    assert (again.status, again.json()["pets"], again.json()["previous"]["passed"]) == (200, 0, False)
    assert [one["kind"] for one in again.json()["previous"]["problems"]] == ["unfired_fault"]
    assert again.json()["api_key"] != "k" * 20
    assert door("GET", "world", world="a").json()["url"] == again.json()["url"]


def test_gaps_override_a_preset(door: Door) -> None:
    body = {"behaviour": {"preset": "hostile", "list_order": "by_name"}}
    assert door("PUT", "world", body).status == 200
    chosen = door("GET", "behaviour").json()
    assert (chosen["list_order"], chosen["json_style"]) == ("by_name", "shuffled_members")
    door("PATCH", "behaviour", {"preset": "strict", "list_order": "id_descending"})
    chosen = door("GET", "behaviour").json()
    assert (chosen["list_order"], chosen["json_style"]) == ("id_descending", "compact")


def test_links_in_a_response_lead_to_the_address_of_its_world(door: Door) -> None:
    door("PUT", "world", {"behaviour": {"paging_headers": "link", "location_header": "present"}}, world="a")
    assert door.use(world="a").header("Link") == '</w/a/v1/pets?limit=20>; rel="first"'
    made = door.use("POST", body={"name": "Rex", "categoryId": 1}, world="a")
    assert made.header("Location") == "/w/a/v1/pets/1"


@pytest.mark.parametrize("name", ["..", "default", "a%20b", "x" * 101])
def test_an_invalid_name_of_a_world_is_refused(door: Door, name: str) -> None:
    assert door("PUT", f"/w/{name}/__petstore/world").status == 422
    assert len(door("GET", "worlds").json()["worlds"]) == 1


def test_requests_to_an_ended_world_are_leaks_until_they_are_cleared(door: Door) -> None:
    key = door("PUT", "world", world="a").json()["api_key"]
    assert door("DELETE", "world", world="a").json() == {"passed": True, "problems": []}
    assert door("GET", "/v1/pets", world="a").status == 404
    assert door("GET", "/v1/pets", Authorization=f"Bearer {key}").status == 401
    leaks = door("GET", "leaks").json()
    assert [(leak["world"], leak["status"], leak["by_key"]) for leak in leaks["leaks"]] == [
        ("a", 404, False),
        ("a", 401, True),
    ]
    assert leaks["total"] == 2
    assert door("DELETE", "leaks").status == 204
    assert door("GET", "leaks").json() == {"leaks": [], "total": 0}


def test_worlds_are_listed_and_ended_together(door: Door) -> None:
    door("PUT", "world", world="a")
    door("POST", "faults", {"fault": 503, "times": 1}, world="a")
    listed = {one["name"]: one["passed"] for one in door("GET", "worlds").json()["worlds"]}
    assert listed == {"default": True, "a": False}
    ended = door("DELETE", "worlds").json()
    assert (ended["ended"], [one["kind"] for one in ended["problems"]]) == (1, ["unfired_fault"])
    assert door("DELETE", "world").status == 409


def test_a_reset_restores_the_starting_state_and_keeps_the_problems(door: Door) -> None:
    door("PUT", "world", {"seed": 1, "strict": True}, world="a")
    door("DELETE", "pets/1", world="a")
    door.use(path="/v1/pets?limit=0", world="a")
    assert door("POST", "world/reset", world="a").json()["pets"] == 1
    problems = door("GET", "world/verification", world="a").json()["problems"]
    assert [one["kind"] for one in problems] == ["violation"]
    assert door("POST", "world/verification", {}, world="a").json()["passed"] is False
    assert door("POST", "world/verification", {}, world="a").json()["passed"] is True


def test_the_service_and_the_door_have_openapi_documents(door: Door) -> None:
    door("PUT", "world", world="a")
    for world, mount in (("", ""), ("a", "/w/a")):
        document = door("GET", "service/openapi.json", world=world).json()
        assert document["servers"][0]["url"] == f"http://{door.address}{mount}/v1"
        assert "/pets" in document["paths"]
    own = door("GET", "openapi.json").json()
    assert "control door" in own["info"]["title"]
    assert own["info"]["title"] != document["info"]["title"]


def test_if_none_match_makes_new_worlds_only(door: Door) -> None:
    made, refused = (door("PUT", "world", world="a", If_None_Match="*") for _ in range(2))
    assert (made.status, refused.status, "new world" in refused.json()["detail"]) == (201, 412, True)
    assert door("GET", "world", world="a").json()["api_key"] == made.json()["api_key"]


@pytest.mark.parametrize("way", ["reset", "revoked"])
def test_a_revoked_key_is_reported_as_revoked_and_not_as_a_leak(door: Door, way: str) -> None:
    door("PUT", "world", {"strict": True}, world="a")
    key = door("POST", "keys", {}, world="a").json()["api_key"]
    if way == "reset":
        door("POST", "world/reset", world="a")
    else:
        assert door("DELETE", f"keys/{key}", world="a").status == 204
    assert [one["revoked"] for one in door("GET", "keys", world="a").json()["keys"]] == [False, True]
    for world in ("a", ""):
        reply = door("GET", "/v1/pets", world=world, Authorization=f"Bearer {key}")
        assert (reply.status, "the world of a revoked it" in reply.json()["message"]) == (401, True)
    entries = door("GET", "requests", world="a").json()["requests"]
    told = [(one["condition"], [found["field"] for found in one["violations"]]) for one in entries]
    assert told == [("revoked_key", ["Authorization"])] * 2, "one violation each"
    assert (door("GET", "leaks").json()["total"], door("DELETE", "keys/never").status) == (0, 404)


@pytest.mark.parametrize(
    ("method", "path", "fields", "field"),
    [
        ("GET", "/v1/toys", {}, "path"),
        ("PATCH", "/v1/pets", {}, "method"),
        ("FOO", "/v1/pets", {}, "method"),
        ("POST", "/v1/pets", {"Content_Type": "text/plain"}, "Content-Type"),
        ("POST", "/v1/pets", {"Content_Encoding": "gzip"}, "Content-Encoding"),
        ("GET", "/v1/pets", {"Authorization": "Bearer nobodys"}, "Authorization"),
        ("GET", "/v1/pets%", {}, "request"),
    ],
)
def test_a_violation_without_rules_names_the_wrong_part(
    door: Door, method: str, path: str, fields: dict[str, str], field: str
) -> None:
    door(method, path, {}, **{"Authorization": f"Bearer {door.petstore.api_key}", **fields})
    [exchange] = door("GET", "requests").json()["requests"]
    assert [found["field"] for found in exchange["violations"]] == [field]


def test_dropped_leaks_and_requests_are_counted_and_queries_about_them_are_refused(door: Door) -> None:
    key = door("PUT", "world", world="a").json()["api_key"]
    for world in ("a", "b"):
        connection = http.client.HTTPConnection(door.address, timeout=30)
        for _ in range(1_003):
            connection.request("GET", f"/w/{world}/v1/pets?limit=5", headers={"Authorization": f"Bearer {key}"})
            connection.getresponse().read()
        connection.close()
        door("PUT", "world", world="b")
        door("DELETE", "world", world="b")
    leaks = door("GET", "leaks").json()
    assert (len(leaks["leaks"]), leaks["total"]) == (1_000, 1_003)
    for path, body in (("requests/wait", {"timeout": 0}), ("requests/assert", {})):
        reply = door("POST", path, {**body, "where": {"limit": 6}}, world="a")
        assert (reply.status, "--keep-requests" in reply.json()["detail"]) == (409, True)


# Animals


def test_animals_are_added_changed_and_removed(door: Door) -> None:
    assert door("POST", "pets", {"name": "Rex", "status": "sold"}).json()["pets"][0]["id"] == 1
    assert len(door("POST", "pets", [{}, {}]).json()["pets"]) == 2
    assert len(door("POST", "pets", {"count": 3}).json()["pets"]) == 3
    assert "status" not in door("PATCH", "pets/1", {"status": None}).json()
    assert door("DELETE", "pets/1").status == 204
    assert [door(method, f"pets/{pet}", body).status for method, pet, body in (
        ("DELETE", "1", None), ("DELETE", "x", None), ("PATCH", "1", {"name": "x"}), ("PATCH", "2", {"id": 9}),
        ("PATCH", "2", {"name": None}), ("POST", "2", None),
    )] == [404, 404, 404, 422, 422, 405]  # fmt: skip
    assert door("POST", "pets", {"id": 2}).status == 409
    assert door("POST", "pets", [{"id": 90}, {"id": 2}]).status == 409
    assert [pet["id"] for pet in door("GET", "pets").json()["pets"]] == [2, 3, 4, 5, 6]


# Faults


def test_a_planned_fault_is_shown_as_it_was_sent_and_can_be_cancelled(door: Door) -> None:
    plan = {"fault": {"kind": "delay", "seconds": 0.001}, "on": "listPets", "times": 1, "where": {"limit": 5}}
    made = door("POST", "faults", plan)
    assert (made.status, {name: made.json()[name] for name in plan}) == (201, plan)
    assert (made.json()["id"], made.json()["hits"], made.json()["spent"]) == (1, 0, False)
    door.use()
    door.use(path="/v1/pets?limit=5")
    (fault,) = door("GET", "faults").json()["faults"]
    assert (fault["hits"], fault["spent"]) == (1, True)
    assert door("DELETE", "faults/1").status == 204
    assert door("DELETE", "faults/1").status == 404
    door("POST", "faults", {"fault": 503})
    assert door("DELETE", "faults").status == 204
    assert door("GET", "faults").json() == {"faults": []}


def test_every_kind_of_fault_except_those_of_tls_can_be_planned(door: Door) -> None:
    schemas = door("GET", "openapi.json").json()["components"]["schemas"]
    mapping = schemas["Fault"]["anyOf"][1]["discriminator"]["mapping"]
    needed: dict[str, dict[str, Any]] = {
        "respond": {"status": 418},
        "delay": {"seconds": 0},
        "dribble": {"bytes_per_second": 9},
        "interim": {"status": 103},
        "encoded": {"coding": "x-gzip"},
        "extra_fields": {"headers": {"X-Served-By": "cache-3"}},
    }
    needed["sequence"] = {"faults": [503, {"kind": "reset"}]}
    for kind, name in mapping.items():
        assert set(schemas[name.rpartition("/")[2]]["required"]) == {"kind", *needed.get(kind, {})}
        reply = door("POST", "faults", {"fault": {"kind": kind, **needed.get(kind, {})}, "off_contract": True})
        assert reply.status == (422 if kind.startswith("tls.") else 201), reply.json()
    door("DELETE", "faults")


def test_a_door_on_the_port_of_tls_refuses_faults_of_the_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next connection to the door could meet the fault. A test in the fake's own process may plan such faults."""
    with PetStoreMock(tls=True, control=True) as petstore:
        monkeypatch.setenv("SSL_CERT_FILE", str(petstore.tls.ca_path))
        with pytest.raises(PetStoreMockError, match="--control-port"):
            connect(petstore.url, world="default").inject(faults.tls.expired(), times=1)
        petstore.inject(faults.tls.expired(), times=1).cancel()


# Requests


def test_a_request_is_listed_with_its_original_text_and_its_result(door: Door) -> None:
    door.use("POST", "/v1/pets?x=%41", b'{"name":  "Rex","categoryId":"1"}')
    (entry,) = door("GET", "requests").json()["requests"]
    assert (entry["number"], entry["state"], entry["method"], entry["operation"]) == (1, "done", "POST", "createPet")
    assert (entry["target"], entry["path"], entry["query"]) == ("/v1/pets?x=%41", "/v1/pets", {"x": ["A"]})
    assert entry["body_text"] == '{"name":  "Rex","categoryId":"1"}'
    assert (entry["body"], entry["body_base64"]) == ({"name": "Rex", "categoryId": "1"}, None)
    assert (entry["status"], entry["executed"]) == (400, False)
    assert {one["field"] for one in entry["violations"]} == {"query.x", "body.categoryId"}
    assert {"section", "field", "message", "sentence"} <= set(entry["violations"][0])


def test_query_parameters_select_requests(door: Door) -> None:
    for path in ("/v1/pets", "/v1/pets?limit=0", "/v1/pets/7", "/v1/pets"):
        door.use(path=path)

    def numbers(query: str) -> list[int]:
        return [one["number"] for one in door("GET", f"requests?{query}").json()["requests"]]

    assert numbers("operation=getPet") == [3]
    assert numbers("status=200") == [1, 4]
    assert numbers("violations=true") == [2]
    assert numbers("violations=false") == [1, 3, 4]
    assert (numbers("after=1&limit=2"), numbers("last=1")) == ([2, 3], [4])
    for query in ("limit=0", "limit=x", "status=99", "operation=getPets", "violations=maybe", "last=1&last=2"):
        assert door("GET", f"requests?{query}").status == 422, query
    assert door("DELETE", "requests").status == 204
    assert door("GET", "requests").json()["total"] == 0


def test_the_journal_is_available_as_text_page_and_archive(door: Door) -> None:
    door.use(path="/v1/pets?limit=0")
    text = door("GET", "requests.txt")
    assert (text.header("Content-Type"), b"GET /v1/pets?limit=0" in text.body) == ("text/plain; charset=utf-8", True)
    page = door("GET", "requests.html?last=1")
    assert (page.header("Content-Type"), b"<table" in page.body) == ("text/html; charset=utf-8", True)
    (entry,) = door("GET", "requests.har").json()["log"]["entries"]
    assert entry["request"]["url"] == f"http://{door.address}/v1/pets?limit=0"


def test_an_assertion_shows_near_misses(door: Door) -> None:
    door.use("POST", "/v1/pets", {"name": "Rex", "categoryId": 1})
    for times in ("times", "count"):
        assert door("POST", "requests/assert", {"operation": "createPet", times: 1}).json()["passed"] is True
        assert door("POST", "requests/assert", {"operation": "createPet", times: 2}).json()["passed"] is False
    missed = door("POST", "requests/assert", {"operation": "createPet", "where": {"name": "Tom"}}).json()
    assert (missed["passed"], "name was 'Rex'" in missed["message"]) == (False, True)
    assert door("POST", "requests/assert", {"where": {"nam": 1}}).status == 422
    refused = door("POST", "requests/assert", {"where": {"method": None}, "times": 0})
    assert (refused.status, refused.json()["detail"]) == (422, "body.where.method must be a string, got null")
    for where in ({"headers": "Bearer of-a-test"}, {"query": "of-a-test"}):  # a value that may be a key stays hidden
        refused = door("POST", "requests/assert", {"where": where, "times": 0})
        assert (refused.status, "of-a-test" in refused.json()["detail"]) == (422, False)


def test_a_wait_ends_on_a_response_a_timeout_or_its_worlds_end(door: Door) -> None:
    door("PUT", "world", world="a")
    assert door("POST", "requests/wait", {"timeout": 0}, world="a").json()["met"] is False
    door("POST", "faults", {"fault": {"kind": "delay", "seconds": 0.2}}, world="a")
    began = time.monotonic()
    thread = threading.Thread(target=door.use, kwargs={"world": "a"})
    thread.start()
    waited = door("POST", "requests/wait", {"where": {"status": 200}, "times": 1, "timeout": 20}, world="a").json()
    thread.join()
    assert (waited["met"], waited["requests"][0]["state"], time.monotonic() - began >= 0.2) == (True, "done", True)
    threading.Timer(0.1, lambda: door("DELETE", "world", world="a")).start()
    ended = door("POST", "requests/wait", {"times": 9, "timeout": 20}, world="a")
    assert (ended.status, ended.json()["met"], time.monotonic() - began < 15) == (200, False, True)
    assert [door("POST", "requests/wait", body).status for body in ({"timeout": 26}, {"times": 0})] == [422, 422]


def test_a_wait_ends_when_its_client_has_left(door: Door) -> None:
    """Each wait takes a thread."""

    def threads() -> int:
        return [thread.name for thread in threading.enumerate()].count("petstore-mock-call")

    host, _, port = door.address.rpartition(":")
    body = json.dumps({"times": 9, "timeout": 25})
    for _ in range(3):
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        connection.request("POST", "/__petstore/requests/wait", body, {"Content-Type": "application/json"})
        eventually(lambda: threads() == 1, "a wait begins")
        connection.close()
        eventually(lambda: threads() == 0, "the wait ends")


@pytest.mark.seconds
def test_a_list_has_a_bound_in_bytes(door: Door) -> None:
    for _ in range(150):
        door.use("POST", "/v1/pets", b"%062000d" % 1)
    page = door("GET", "requests").json()
    numbers = [one["number"] for one in page["requests"]]
    assert page["more"] is True
    assert numbers == [*range(1, len(numbers) + 1)]
    assert 100 < len(numbers) < 150
    rest = door("GET", f"requests?after={numbers[-1]}").json()
    assert (rest["requests"][0]["number"], rest["requests"][-1]["number"], rest["more"]) == (
        numbers[-1] + 1,
        150,
        False,
    )
    newest = [one["number"] for one in door("GET", "requests?last=150").json()["requests"]]
    assert (newest[-1], len(newest)) == (150, len(numbers))
    with connect(f"http://{door.address}", world="default") as petstore:
        assert [one.number for one in petstore.journal] == [*range(1, 151)]


def test_a_long_archive_arrives_in_parts(door: Door, tmp_path: Path) -> None:
    for number in range(3):
        door.use("POST", "/v1/pets", {"name": "é" * 40_000, "categoryId": str(number)})
    response = door("GET", "requests.har")
    assert (response.header("Transfer-Encoding"), response.header("Content-Length")) == ("chunked", None)
    door.petstore.journal.to_har(tmp_path / "journal.har")
    text = (tmp_path / "journal.har").read_text(encoding="utf-8")
    assert response.json() == json.loads(text)
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
    page = door("GET", "requests.html").body.decode()
    assert page.count('<tr class="refused"') == 3
    assert page.endswith("</main></body></html>\n")


def test_a_delayed_create_is_not_counted_after_the_journal_was_cleared(door: Door) -> None:
    door("PUT", "world", world="a")
    door("POST", "faults", {"fault": {"kind": "delay", "seconds": 0.3}, "times": 1}, world="a")
    with ThreadPoolExecutor() as pool:
        created = pool.submit(door.use, "POST", "/v1/pets", {"name": "Rex", "categoryId": 1}, world="a")
        assert door("POST", "requests/wait", {"operation": "createPet", "timeout": 9}, world="a").json()["met"] is True
        assert door("DELETE", "requests", world="a").status == 204
        assert created.result().status == 201
    assert len(door("GET", "pets", world="a").json()["pets"]) == 1
    assert door("GET", "requests", world="a").json()["total"] == 0
    assert door("POST", "requests/assert", {"operation": "createPet", "times": 0}, world="a").json()["passed"] is True
    door.use("POST", "/v1/pets", {"name": "Tom", "categoryId": 1}, world="a")
    assert door("POST", "requests/assert", {"operation": "createPet", "times": 1}, world="a").json()["passed"] is True


def test_violations_can_be_expected_by_number(door: Door) -> None:
    door("PUT", "world", {"strict": True}, world="a")
    door.use(path="/v1/pets?limit=0", world="a")
    assert door("POST", "requests/expect", {"numbers": [2]}, world="a").status == 422
    assert door("POST", "requests/expect", {"numbers": [1]}, world="a").status == 204
    assert door("GET", "world/verification", world="a").json()["passed"] is True


# Time and snapshots


def test_the_clock_changes_and_snapshots_restore_the_state(door: Door) -> None:
    body = {"travel_to": "2030-12-06", "freeze": True, "advance": {"minutes": 1.5}}
    assert door("PATCH", "clock", body).json() == {"now": "2030-12-06T00:01:30.000Z", "frozen": True}
    assert door("GET", "clock").json()["frozen"] is True
    for wrong in ({"travel_to": "soon"}, {"advance": {"days": 1e9}}, {"freeze": 1}):
        assert door("PATCH", "clock", wrong).status == 422
    assert door("POST", "snapshots").json() == {"id": 1}
    door("POST", "pets", {"count": 2})
    assert [door("POST", "snapshots/1/restore").json()["pets"] for _ in range(2)] == [0, 0]
    calls = [("DELETE", "snapshots/1"), ("DELETE", "snapshots/1"), ("POST", "snapshots/1/restore")]
    assert [door(*call).status for call in calls] == [204, 404, 404]


def test_a_world_closes_only_its_own_idle_connections(door: Door) -> None:
    door("PUT", "world", world="a")
    with Client(door.petstore) as own, Client(door.petstore) as other:
        assert (own.bare("GET", "/w/a/v1/pets").status, other.bare("GET", "/v1/pets").status) == (401, 401)
        assert door("POST", "connections/close", world="a").status == 204
        assert other.bare("GET", "/v1/pets").status == 401
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            own.bare("GET", "/w/a/v1/pets")


# Events


class Events:
    """Reads the stream of events."""

    def __init__(self, door: Door, world: str = "") -> None:
        self.connection = http.client.HTTPConnection(door.address, timeout=9)  # seconds, fewer than between heartbeats
        self.connection.request("GET", f"{f'/w/{world}' if world else ''}/__petstore/events")
        self.response = self.connection.getresponse()
        assert self.response.headers["Content-Type"] == "text/event-stream"
        assert self.response.readline().startswith(b":")

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for line in self.response:
            if line.startswith(b"event: "):
                yield line[7:].decode().strip(), json.loads(self.response.readline()[6:])


def test_the_stream_shows_a_request_on_arrival_and_when_it_ends(door: Door) -> None:
    door("PUT", "world", world="a")
    events = iter(Events(door, "a"))
    door("POST", "faults", {"fault": {"kind": "delay", "seconds": 0.05}}, world="a")
    door.use(world="a")
    shown = [next(events) for _ in range(2)]
    assert [(kind, data["state"], data["status"]) for kind, data in shown] == [
        ("request", "in flight", None),
        ("request", "done", 200),
    ]
    door("POST", "world/reset", world="a")
    door("DELETE", "world", world="a")
    assert list(events) == [("world", {"world": "a", "event": "reset"}), ("world", {"world": "a", "event": "ended"})]


def test_the_stream_at_the_root_shows_all_worlds(door: Door) -> None:
    events = iter(Events(door))
    door("PUT", "world", world="a")
    door.use(world="a")
    assert next(events) == ("world", {"world": "a", "event": "made"})
    kind, data = next(events)
    assert (kind, data["world"], data["status"]) == ("request", "a", 200)


def test_a_stream_ends_if_its_client_reads_too_slowly(door: Door) -> None:
    """If it went on, the client would miss events without a sign, and the stub would keep them all in memory."""
    name = "x" * 60_000
    size = 3 * len(name)  # bytes of an event, at least: the name stands in both bodies, as text and as a value
    body = json.dumps({"name": name, "categoryId": 1}).encode()
    fields = [("Authorization", f"Bearer {door.petstore.api_key}"), ("Content-Type", "application/json")]
    others = _calls()  # of streams that earlier tests left
    with Raw(door.petstore, receive_buffer=4096) as stalled, Client(door.petstore) as client:
        stalled.send(f"GET /__petstore/events HTTP/1.1\r\nHost: {door.address}\r\n\r\n".encode())
        assert stalled.head().status == 200
        for _ in range(150):
            assert client.bare("POST", "/v1/pets", fields, body).status == 201
        eventually(lambda: not _calls() - others, "the thread of the stream ended")
        assert len(stalled.rest()) < 100 * size
        assert client.bare("GET", "/v1/pets?limit=1", fields).status == 200


def _calls() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "petstore-mock-call"}


def test_a_stop_ends_streams_and_waits() -> None:
    with PetStoreMock(control=True) as petstore:
        door = Door(petstore)
        Events(door)
        waiting = ThreadPoolExecutor().submit(door, "POST", "requests/wait", {"timeout": 25})
        time.sleep(0.1)
        began = time.monotonic()
    assert time.monotonic() - began < 2
    assert isinstance(waiting.exception(20), OSError)


# The OpenAPI document


def test_the_document_declares_every_member_of_a_get_and_of_a_refusal(door: Door) -> None:
    door("PUT", "world", {"seed": 2}, world="a")
    door("POST", "faults", {"fault": 503, "times": 1}, world="a")
    door.use("POST", "/v1/pets", {"name": "Rex"}, world="a")
    document = door("GET", "openapi.json").json()
    components = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        if not path.startswith("/w/{world}") or "{" in path[10:] or "get" not in operations:
            continue
        schema = operations["get"]["responses"]["200"]["content"].get("application/json", {}).get("schema")
        if schema is not None:
            _hold(door("GET", path.replace("/w/{world}/__petstore/", ""), world="a").json(), schema, components, path)
    for body in (7, {"nam": "Rex"}):
        refusal = document["paths"]["/__petstore/pets"]["post"]["responses"]["default"]["content"]
        _hold(door("POST", "pets", body).json(), refusal["application/problem+json"]["schema"], components, "refusal")


def _hold(value: Any, schema: Any, components: Any, where: str) -> None:
    """Assert that a response has all required members of a schema and no undeclared ones."""
    schema = components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    assert schema.get("additionalProperties") is not False, where
    if isinstance(value, dict) and "properties" in schema:
        assert set(schema.get("required", ())) <= set(value) <= set(schema["properties"]), where
        for name, part in value.items():
            _hold(part, schema["properties"][name], components, f"{where}.{name}")
    if isinstance(value, list):
        for part in value:
            _hold(part, schema["items"], components, f"{where}[]")
