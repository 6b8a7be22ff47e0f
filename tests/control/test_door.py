"""Routing, admission and refusals of the control door."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import socket
import time
from typing import Any

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError
from tests.control.conftest import Door, broken
from tests.wire.raw import KEY, Raw, post

PROBLEM = "application/problem+json"


def test_a_mock_has_a_door_only_with_control(door: Door) -> None:
    assert door.petstore.control_url == f"http://{door.address}/__petstore/"
    with PetStoreMock() as other, pytest.raises(PetStoreMockError, match="control=True"):
        assert other.control_url
    with pytest.raises(PetStoreMockError, match="127"):
        PetStoreMock(control=True, host="0.0.0.0")


def test_health_returns_only_status_version_and_uptime(door: Door) -> None:
    reply = door("GET", "health", Host="evil.example", Origin="http://evil.example")
    assert (reply.status, set(reply.json()), reply.json()["status"]) == (200, {"status", "version", "uptime"}, "ok")
    assert door("HEAD", "health").body == b""
    door("PUT", "world", world="a")
    assert "concerns all worlds" in door("GET", "health", world="a").json()["detail"]


# Methods and paths, with the status and the Allow field of the response.
ROUTES: tuple[tuple[str, str, int, str | None], ...] = (
    ("GET", "wrld", 404, None),
    ("GET", "world/", 404, None),
    ("GET", "World", 404, None),
    ("POST", "world", 405, "DELETE, GET, HEAD, OPTIONS, PUT"),
    ("DELETE", "health", 405, "GET, HEAD, OPTIONS"),
    ("PATCH", "pets", 405, "GET, HEAD, OPTIONS, POST"),
    ("GET", "requests/wait", 405, "OPTIONS, POST"),
    ("POST", "", 405, "GET, HEAD, OPTIONS"),
    ("BREW", "world", 501, None),
    ("OPTIONS", "world", 204, "DELETE, GET, HEAD, OPTIONS, PUT"),
    ("HEAD", "world", 200, None),
    ("HEAD", "events", 200, None),
    ("GET", "/w/nowhere/__petstore/world", 404, None),
    ("GET", "/w/nowhere/__petstore/", 404, None),
    ("GET", "/w/default/__petstore/world", 422, None),
    ("GET", "/__petstore", 308, None),
)


@pytest.mark.parametrize(("method", "path", "status", "allow"), ROUTES)
def test_each_method_and_path_gets_its_status(
    door: Door, method: str, path: str, status: int, allow: str | None
) -> None:
    reply = door(method, path)
    assert (reply.status, reply.header("Allow")) == (status, allow)
    if status >= 400:
        assert reply.header("Content-Type") == PROBLEM
        assert reply.json()["status"] == status
        assert {"title", "detail"} <= set(reply.json())
        assert status != 405 or f"got {method}" in reply.json()["detail"]


def test_the_nearest_path_is_suggested(door: Door) -> None:
    assert "did you mean 'world'?" in door("GET", "wrld").json()["detail"]


@pytest.mark.parametrize("path", ["health", "openapi.json", "worlds", "leaks"])
def test_paths_for_all_worlds_exist_only_at_the_root(door: Door, path: str) -> None:
    door("PUT", "world", world="a")
    refusal = door("GET", path, world="a")
    assert (refusal.status, refusal.json()["detail"].partition(":")[0]) == (404, "root only")
    assert door("GET", path).status == 200


def test_browsers_are_redirected_to_the_console(door: Door) -> None:
    reply = door("GET", "/", Accept="text/html,*/*")
    assert (reply.status, reply.header("Location")) == (303, "/__petstore/")
    assert door("POST", "/", Accept="text/html").status == 404
    assert [door("GET", path).status for path in ("/favicon.ico", "/robots.txt")] == [404, 404]
    assert len(door.petstore.journal) == 0
    assert door("GET", "/").status == 404
    assert len(door.petstore.journal) == 1


HEADERS: tuple[tuple[dict[str, str], int], ...] = (
    ({}, 200),
    ({"Origin": "http://ADDRESS"}, 200),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "https://ADDRESS"}, 403),
    ({"Origin": "http://127.0.0.1:1"}, 403),
    ({"Sec_Fetch_Site": "cross-site"}, 403),
    ({"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "navigate"}, 403),
    ({"Sec_Fetch_Site": "same-origin"}, 200),
    ({"Host": "localhost:PORT"}, 200),
    ({"Host": "[::1]:PORT"}, 200),
    ({"Host": "127.0.0.1"}, 403),
    ({"Host": "127.0.0.1.attacker.example:PORT"}, 403),
    ({"Host": "127.1:PORT"}, 403),
    ({"Host": "2130706433:PORT"}, 403),
    ({"Host": "x.localhost:PORT"}, 403),
)


@pytest.mark.parametrize(("fields", "status"), HEADERS)
def test_pages_of_other_sites_and_rebound_hosts_are_refused(door: Door, fields: dict[str, str], status: int) -> None:
    port = door.address.partition(":")[2]
    given = {name: value.replace("ADDRESS", door.address).replace("PORT", port) for name, value in fields.items()}
    assert door("GET", "world", **given).status == status
    assert door("GET", "health", **given).status == 200


def test_links_of_other_sites_may_open_the_console(door: Door) -> None:
    assert door("GET", "", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200
    assert door("GET", "console.css", Sec_Fetch_Site="cross-site").status == 403


def test_responses_other_than_the_console_allow_no_scripts_and_no_frames(door: Door) -> None:
    for path in ("world", "requests.html", "nowhere"):
        fields = dict(door("GET", path).fields)
        assert "frame-ancestors 'none'" in fields["Content-Security-Policy"]
        assert "script" not in fields["Content-Security-Policy"]
        assert (fields["X-Content-Type-Options"], fields["Cache-Control"]) == ("nosniff", "no-store")
        assert not any(name.startswith("Access-Control") for name in fields)


# Invalid bodies of POST pets, with the status and the fields in the problem.
BODIES: tuple[tuple[bytes, int, list[str]], ...] = (
    (b"{", 400, []),
    (b"\xff", 400, []),
    (b"NaN", 400, []),
    (b'{"name": "a", "name": "b"}', 400, ["body.name"]),
    (b'"Rex"', 422, ["body"]),
    (b'{"name": 5, "categoryId": "x"}', 422, ["body.categoryId", "body.name"]),
    (b'{"nam": "Rex"}', 422, ["body.nam"]),
    (b'[{"name": "a"}, {"name": 3}]', 422, ["body.1.name"]),
    (b'{"count": -1}', 422, ["body.count"]),
    (b'{"count": 1000001}', 422, ["body.count"]),
    (b'{"status": "gone"}', 422, ["body.status"]),
    (b'{"id": 1e400}', 422, ["body.id"]),
)


@pytest.mark.parametrize(("body", "status", "named"), BODIES)
def test_an_invalid_body_is_refused_and_changes_nothing(door: Door, body: bytes, status: int, named: list[str]) -> None:
    reply = door("POST", "pets", body)
    assert (reply.status, reply.header("Content-Type"), broken(reply)) == (status, PROBLEM, named)
    assert door.petstore.pets == []


@pytest.mark.parametrize(("count", "words"), [(-1, "at least 0"), (10_000_001, "at most 1000000"), ("x", "an integer")])
def test_an_invalid_count_is_refused_as_a_count(door: Door, count: object, words: str) -> None:
    assert door("POST", "pets", {"count": count}).json()["detail"].startswith(f"body.count must be {words}, got ")


def test_the_nearest_name_is_suggested_for_each_unknown_member(door: Door) -> None:
    cases: tuple[tuple[str, str, Any, str], ...] = (
        ("PUT", "world", {"sed": 1}, "seed"),
        ("PUT", "world", {"behaviour": {"list_ordr": "by_name"}}, "list_order"),
        ("POST", "faults", {"fault": 503, "tims": 1}, "times"),
        ("POST", "faults", {"fault": {"kind": "delay", "second": 1}}, "seconds"),
        ("POST", "faults", {"fault": {"kind": "resett"}}, "reset"),
        ("POST", "faults", {"fault": 503, "where": {"nam": "Rex"}}, "name"),
        ("PATCH", "behaviour", {"list_ordr": "by_name"}, "list_order"),
        ("PATCH", "clock", {"advance": {"minute": 1}}, "minutes"),
        ("POST", "requests/wait", {"operatoin": "listPets"}, "operation"),
        ("POST", "pets", [{"nam": "Rex"}], "name"),
    )
    for method, path, body, meant in cases:
        reply = door(method, path, body)
        detail = reply.json()["detail"].replace("'", "")
        assert (reply.status, f"did you mean {meant}?" in detail) == (422, True), reply.json()
    assert "did you mean last?" in door("GET", "requests?lst=1").json()["detail"]


def test_a_refusal_does_not_quote_megabytes(door: Door) -> None:
    reply = door("POST", "pets", json.dumps({"x" * 1_000_000: "y" * 1_000_000}).encode())
    assert (reply.status, len(reply.body) < 20_000) == (422, True)
    reply = door("POST", "pets", json.dumps([{"name": 5}] * 100_000).encode())
    assert (reply.status, len(reply.body) < 20_000) == (422, True)


@pytest.mark.parametrize(
    ("content_type", "status"), [("application/json; charset=utf-8", 201), ("text/plain", 415), ("", 415)]
)
def test_a_body_needs_a_json_content_type(door: Door, content_type: str, status: int) -> None:
    reply = door("POST", "pets", b"{}", Content_Type=content_type)
    assert reply.status == status
    assert reply.header("Accept") == ("application/json" if status == 415 else None)


def places_of(door: Door) -> list[tuple[str, str]]:
    """Return a method and a path for each verb, in both mounts, and for each kind of path without a verb."""
    paths: dict[str, dict[str, object]] = door("GET", "openapi.json").json()["paths"]
    verbs = [(method.upper(), path) for path, methods in paths.items() for method in methods]
    assert len(verbs) > 60
    named = [(method, re.sub(r"\{\w+\}", "1", path.replace("{world}", "a"))) for method, path in verbs]
    other = (
        "/",
        "/__petstore",
        "/__petstore/",
        "/__petstore/main.js",
        "/__petstore/nowhere",
        "/w/none/__petstore/world",
    )
    return [*named, *((method, path) for path in other for method in ("GET", "POST", "DELETE", "OPTIONS"))]


def test_a_body_of_another_type_is_refused_at_each_path_and_changes_nothing(door: Door) -> None:
    """A page of another site can send such a body without a preflight."""
    door("PUT", "world", {"seed": 2}, world="a")
    door("POST", "pets", {"count": 2})
    before = [door("GET", "worlds").json()["worlds"], door("GET", "keys", world="a").json()]
    statuses = {
        (method, path, body, content_type): door(
            method, path, body, Content_Type=content_type, Accept="text/html"
        ).status
        for method, path in places_of(door)
        for body in (b"{}", b'{"count": 1}')
        for content_type in ("text/plain", "application/x-www-form-urlencoded", "")
    }
    assert {place for place, status in statuses.items() if status != 415} == set()
    after = [door("GET", "worlds").json()["worlds"], door("GET", "keys", world="a").json()]
    assert [one | {"age": 0} for one in after[0]] == [one | {"age": 0} for one in before[0]]
    assert after[1] == before[1]


def test_a_body_for_a_verb_that_takes_none_must_be_empty(door: Door) -> None:
    """Otherwise arguments that belong into the query would be dropped without a word."""
    for method, path in (("POST", "world/reset"), ("DELETE", "requests"), ("GET", "requests"), ("POST", "snapshots")):
        refused = door(method, path, {"last": 1})
        assert (method, path, refused.status, broken(refused)) == (method, path, 422, ["body.last"])
        assert door(method, path, {}).status < 300


def test_a_body_with_a_content_coding_is_refused(door: Door) -> None:
    for body in (gzip.compress(b'{"name": "Rex"}'), b'{"name": "Rex"}'):
        for reply in (
            door("POST", "pets", body, Content_Encoding="gzip"),
            door("POST", "/v1/pets", body, Content_Encoding="gzip", Authorization=f"Bearer {door.petstore.api_key}"),
        ):
            assert (reply.status, reply.header("Accept-Encoding"), b"gzip" in reply.body) == (415, "identity", True)
    assert door("POST", "pets", {}, Content_Encoding="identity").status == 201
    assert [one.condition.name for one in door.petstore.journal if one.condition] == ["content_coding"] * 2
    assert all("gzip" in one.reason for one in door.petstore.journal.violations)


# Invalid faults, with the fields in the problem.
FAULTS: tuple[tuple[Any, list[str]], ...] = (
    (404, []),
    ("reset", ["body.fault"]),
    (None, ["body.fault"]),
    (True, ["body.fault"]),
    (99, ["body.fault"]),
    ([503], ["body.fault"]),
    ({"kind": "delay", "seconds": True}, ["body.fault.seconds"]),
    ({"kind": "delay", "seconds": None}, ["body.fault.seconds"]),
    ({"kind": "delay", "secs": 1}, ["body.fault.seconds", "body.fault.secs"]),
    ({"kind": "respond", "status": 9, "body": 4}, ["body.fault.body", "body.fault.status"]),
    ({"kind": "rate_limited", "retry_after": False}, ["body.fault.retry_after"]),
    ({"kind": "rate_limited", "retry_after": "soon"}, []),
    ({"kind": "sequence", "faults": []}, ["body.fault.faults"]),
    ({"kind": "sequence", "faults": [503, "reset"]}, ["body.fault.faults.1"]),
    ({"kind": "tls.expired"}, []),
)


@pytest.mark.parametrize(("fault", "named"), FAULTS)
def test_problems_contain_no_python_words(door: Door, fault: Any, named: list[str]) -> None:
    reply = door("POST", "faults", {"fault": fault})
    assert (reply.status, broken(reply), door("GET", "faults").json()) == (422, named, {"faults": []})
    words = r"faults\.\w+\(|petstore_mock|True|False|None|\(str\)|=True|datetime|seed_many|Python|PetStoreMock"
    assert re.search(words, reply.json()["detail"]) is None, reply.json()["detail"]


def test_an_invalid_rule_of_a_fault_is_refused(door: Door) -> None:
    rules: list[dict[str, Any]] = [{"on": "getPets"}, {"times": 0}, {"probability": 0}, {"at": "sometime"}]
    for rule in rules:
        reply = door("POST", "faults", {"fault": 503, **rule})
        assert (reply.status, broken(reply)) == (422, [f"body.{next(iter(rule))}"])


def test_a_request_without_a_body_needs_no_content_type(door: Door) -> None:
    assert door("POST", "snapshots", Content_Type="text/plain").status == 201
    assert door("POST", "pets").status == 422


def test_a_too_long_body_is_refused_before_it_arrives(door: Door) -> None:
    host, _, port = door.address.partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as sock:
        sock.sendall(
            f"POST /__petstore/pets HTTP/1.1\r\nHost: {door.address}\r\nContent-Type: application/json\r\n"
            "Content-Length: 70000000\r\n\r\n".encode()
        )
        response = http.client.HTTPResponse(sock)
        response.begin()
        assert (response.status, "70000000" in json.load(response)["detail"]) == (413, True)


MALFORMED = (
    "GET /__petstore/world HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "GET /__petstore/world HTTP/9.9\r\nHost: a\r\n\r\n",
    "GET /__petstore/wor ld HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /__petstore/w\xf6rld HTTP/1.1\r\nHost: a\r\n\r\n",
    f"GET /__petstore/{'x' * 20_000} HTTP/1.1\r\n",
    "G<T /w/a/__petstore/world HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET  /__petstore/world HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /__petstore/world?a=b\r\n\r\n",
    "/__petstore/world\r\n\r\n",
)


@pytest.mark.parametrize("line", MALFORMED)
def test_no_request_to_the_door_is_journalled(door: Door, line: str) -> None:
    host, _, port = door.address.partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as sock:
        sock.sendall(line.encode("latin-1"))
        response = http.client.HTTPResponse(sock)
        response.begin()
        assert (response.status in {400, 414, 505}, response.headers["Content-Type"]) == (True, PROBLEM)
    door("GET", "nowhere")
    door("POST", "pets", b"{")
    assert len(door.petstore.journal) == 0


@pytest.mark.parametrize(
    ("number", "shown"),
    [(b"1e400", None), (b"7" * 401, int("7" * 401)), (b"7" * 5_000, None)],
    ids=["exponent", "digits", "many digits"],
)
def test_a_body_is_shown_as_json_only_if_no_number_changes(door: Door, number: bytes, shown: int | None) -> None:
    body = b'{"name":"Rex","categoryId":%b}' % number
    door.use("POST", body=body)
    (one,) = door("GET", "requests").json()["requests"]
    assert one["body_text"] == body.decode()
    assert one["body"] == (None if shown is None else {"name": "Rex", "categoryId": shown})


def test_a_refused_request_that_waits_for_100_has_a_curl_command(door: Door) -> None:
    unknown = post(b"", "Expect: 100-continue", framing="Content-Length: 2")
    untyped = unknown.replace(KEY.encode(), door.petstore.api_key.encode()).replace(b"application/json", b"text/plain")
    for number, (request, status) in enumerate([(unknown, 401), (untyped, 415)], 1):
        with Raw(door.petstore) as client:
            assert client.call(request).status == status
        assert door("GET", f"requests/{number}/curl").body.startswith(b"curl -i -X POST")


def test_a_list_in_a_header_criterion_is_refused_and_not_shown(door: Door) -> None:
    refused = door("POST", "requests/assert", {"where": {"headers": {"X-Api-Key": ["hunter2hunter2"]}}})
    assert refused.status == 422
    assert b"hunter2" not in refused.body


def test_responses_of_the_door_mask_keys(door: Door) -> None:
    key = door.petstore.api_key
    door.use(path=f"/v1/pets?api_key={key}")
    for path in ("requests", "requests.har", "requests.html", "requests.txt", "faults"):
        assert key.encode() not in door("GET", path).body


@pytest.mark.untraced
def test_a_long_sequence_of_faults_is_validated_within_five_seconds(door: Door) -> None:
    began = time.process_time()
    parts = [503, {"kind": "delay", "seconds": 0}] * 5_000
    assert door("POST", "faults", {"fault": {"kind": "sequence", "faults": parts}}).status == 201
    assert time.process_time() - began < 5
    door("DELETE", "faults")


def test_every_world_has_the_console_which_loads_nothing_from_other_sites(door: Door) -> None:
    door("PUT", "world", world="a")
    for world in ("", "a"):
        for path in ("", "latest"):
            page = door("GET", path, world=world)
            nonce = str(page.header("Content-Security-Policy")).partition("'nonce-")[2].partition("'")[0]
            assert page.body.count(f'nonce="{nonce}"'.encode()) >= 2
            assert b"http" not in page.body.replace(b"http-equiv", b"")
    for name, media_type in (
        ("main.js", "text/javascript"),
        ("console.css", "text/css"),
        ("icon.svg", "image/svg+xml"),
    ):
        assert str(door("GET", name).header("Content-Type")).startswith(media_type)
    assert [door("GET", name).status for name in ("index.html", "../door.py", "%2e%2e/door.py")] == [404] * 3
