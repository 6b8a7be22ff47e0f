"""The door's security, as a table: who may come in, and who may not."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from petstore_mock import PetStoreMock
from petstore_mock.control.admission import Admission, is_loopback
from petstore_mock.control.mount import BODY_LIMIT, is_control_path
from tests.inside.unit.control.door import HOST, PORT, Door

OWN = f"http://{HOST}"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        # Origin: exactly the request's own, or none.
        ({}, 200),
        ({"Origin": OWN}, 200),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:8081"}, 403),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Origin": "https://127.0.0.1:8080"}, 403),
        ({"Origin": "http://localhost:8080"}, 403),
        ({"Origin": "https://attacker.example"}, 403),
        ({"Origin": f"{OWN}.attacker.example"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": "http://tool.example"}, 200),  # allowed below
        # Sec-Fetch-Site: what a browser says of a page.
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": OWN}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://tool.example"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),  # to data, not to the page
        # Host: none that another can own.
        ({"Host": "localhost:8080"}, 200),
        ({"Host": "LOCALHOST:8080"}, 200),
        ({"Host": "[::1]:8080"}, 200),
        ({"Host": "127.0.0.1"}, 403),
        ({"Host": "127.0.0.1:8081"}, 403),
        ({"Host": "127.1:8080"}, 403),
        ({"Host": "2130706433:8080"}, 403),
        ({"Host": "127.0.0.1.attacker.example:8080"}, 403),
        ({"Host": "x.localhost:8080"}, 403),
        ({"Host": "attacker.example:8080"}, 403),
        ({"Host": "0.0.0.0:8080"}, 403),
        ({"Host": "[::ffff:127.0.0.1]:8080"}, 403),
        ({"Host": "stub.internal:9000"}, 200),  # allowed below
        ({"Host": "gateway:7000"}, 200),
        ({"Host": "gateway:7001"}, 403),
        ({"User-Agent": "Mozilla/5.0"}, 200),
    ],
)
def test_foreign_pages_and_rebound_hosts_stay_out(headers: dict[str, str], status: int) -> None:
    admission = Admission(
        port=PORT, allowed_hosts=("stub.internal", "gateway:7000"), allowed_origins=("http://tool.example",)
    )
    door = Door(admission=admission)
    for method, path, body in (("GET", "requests", None), ("POST", "pets", {"count": 1})):
        answer = door.ask(method, path, body, headers=headers)
        assert answer.status_code == (201 if status == 200 and method == "POST" else status)
        assert not [name for name, _ in answer.headers if name.lower().startswith("access-control")]
    assert len(door.petstore.pets) == (1 if status == 200 else 0)
    assert door.ask("GET", "health", headers=headers).status_code == 200, "health is open"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ([], 401),
        (["wrong"], 401),
        ([""], 401),
        (["secret "], 200),
        (["Secret"], 401),
        (["secret"], 200),
        (["sécret"], 401),
    ],
)
def test_token_is_asked_for(given: list[str], status: int) -> None:
    door = Door(admission=Admission(port=PORT, token="secret"))
    headers = {"Petstore-Control-Token": given[0].strip()} if given else {}
    answer = door.ask("GET", "world", headers=headers)
    assert answer.status_code == status
    assert "secret" not in answer.text
    if status == 401:
        assert answer.headers["WWW-Authenticate"]
        assert answer.headers["Content-Type"] == "application/problem+json"
    assert door.ask("GET", "health").status_code == 200
    assert door.ask("GET", "nothing").status_code == 401, "what there is, is nobody's to know"


def test_host_is_anybody_s_where_the_stub_listens_further_out() -> None:
    door = Door(admission=Admission(port=PORT, token="secret", loopback=False))
    headers = {"Petstore-Control-Token": "secret", "Host": "stub.example:8080"}
    assert door.ask("GET", "world", headers=headers).json["url"] == "http://stub.example:8080/v1"
    assert door.ask("GET", "world", headers={**headers, "Origin": OWN}).status_code == 403


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 201),
        ("Application/JSON; charset=utf-8", 201),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/problem+json", 415),
        ("", 415),
    ],
)
def test_body_needs_its_type(content_type: str, status: int) -> None:
    door = Door()
    answer = door.ask("POST", "pets", {"count": 1}, headers={"Content-Type": content_type})
    assert answer.status_code == status


@pytest.mark.parametrize("content_type", ["text/plain", "application/json", ""])
def test_no_type_is_asked_for_without_a_body(content_type: str) -> None:
    assert Door().ask("POST", "world/reset", headers={"Content-Type": content_type}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"\xff", 400),
        (b'{"seed": 1, "seed": 2}', 400),
        (b'{"seed": NaN}', 400),
        (b'{"api_key": "\\ud800"}', 400),
        (b"\xef\xbb\xbf{}", 400),
        (b"[" * 100_000, 400),
        (b'{"seed": ' + b"[" * 99 + b"]" * 99 + b"}", 422),
        (b"[]", 422),
        (b"null", 422),
        (b'{"seed": 1.5}', 422),
        (b'{"seed": -1}', 422),
        (b'{"seed": 1000001}', 422),
        (b'{"seed": ' + b"9" * 5000 + b"}", 422),
        (b'{"seeds": 1}', 422),
        (b'{"api_key": "a b"}', 422),
        (b'{"behaviour": "hostil"}', 422),
        (b'{"behaviour": {"list_order": 1}}', 422),
        (b'{"at": "yesterday"}', 422),
        (b'{"strict": "yes"}', 422),
    ],
)
def test_body_that_can_not_be_right_is_refused_and_changes_nothing(body: bytes, status: int) -> None:
    door = Door(PetStoreMock(seed=2))
    before = door.get("world")
    answer = door.ask("PUT", "world", body)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"].startswith("expected")
    assert door.get("world") == before


def test_violations_name_each_field_with_the_nearest_name() -> None:
    problem = Door().ask("PUT", "world", {"sed": 1, "strict": 1, "random_seed": "x"}).json
    assert [one["field"] for one in problem["violations"]] == ["body.sed", "body.random_seed", "body.strict"]
    assert "Did you mean 'seed'?" in problem["violations"][0]["message"]


def test_key_that_can_not_be_right_does_not_show_in_the_refusal() -> None:
    answer = Door().ask("PUT", "world", {"api_key": "nearly a key"}, world="one")
    assert answer.status_code == 422
    detail = "expected body.api_key to match ^[A-Za-z0-9._~+/-]+=*$; got text that does not"
    assert answer.json["detail"] == detail
    assert "nearly" not in answer.text


@pytest.mark.parametrize("length", [BODY_LIMIT + 1, 10**12])
def test_announced_length_beyond_the_limit_is_refused_at_once(length: int) -> None:
    answer = Door().client.post(
        "/__petstore/pets",
        headers={"Host": HOST, "Content-Type": "application/json"},
        data=b"{}",
        environ_overrides={"CONTENT_LENGTH": str(length)},
    )
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("PUT", "pets", 405, "GET, HEAD, OPTIONS, POST"),
        ("POST", "world", 405, "DELETE, GET, HEAD, OPTIONS, PUT"),
        ("GET", "world/reset", 405, "OPTIONS, POST"),
        ("OPTIONS", "world", 204, "DELETE, GET, HEAD, OPTIONS, PUT"),
        ("HEAD", "world", 200, None),
        ("BREW", "world", 501, None),
        ("GET", "nothing", 404, None),
        ("GET", "world/", 404, None),
        ("GET", "pets/1", 405, "DELETE, OPTIONS, PATCH"),
    ],
)
def test_methods_are_told_apart(method: str, path: str, status: int, allow: str | None) -> None:
    answer = Door().ask(method, path)
    assert answer.status_code == status
    assert answer.headers.get("Allow") == allow
    if method == "HEAD":
        assert answer.text == ""


@pytest.mark.parametrize(
    ("target", "leads_there"),
    [
        ("/__petstore", True),
        ("/__petstore/", True),
        ("/__petstore/health?x=1", True),
        ("/w/one/__petstore/world", True),
        ("/%77/one/__petstore/world", True),
        ("/w//__petstore/world", True),
        ("/v1/pets?name=__petstore", False),
        ("/v1/__petstore/", False),
        ("/__petstores", False),
        ("/w/one/v1/__petstore", False),
        ("/w/a/b/__petstore/world", False),
        ("*", False),
    ],
)
def test_path_of_the_door_is_told_from_the_service_s(target: str, leads_there: bool) -> None:
    assert is_control_path(target) is leads_there


@pytest.mark.parametrize(
    ("address", "answer"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("x", False),
    ],
)
def test_loopback_is_told_by_address(address: str, answer: bool) -> None:
    assert is_loopback(address) is answer


def test_keys_show_in_no_entry_of_the_door() -> None:
    door = Door()
    secret = door.petstore.api_key
    door.call(secret, f"/v1/pets?key={secret}")
    door.call(secret, "/v1/pets", {"name": secret, "categoryId": 1})
    shown: list[Any] = [
        door.get("requests"),
        door.get("requests.har"),
        door.get("world/verification"),
        door.get("leaks"),
    ]
    shown.append(door.ask("POST", "requests/assert", {"operation": "getPet"}).json)
    assert secret not in json.dumps(shown)


def test_answers_are_nobody_else_s() -> None:
    headers = Door().ask("GET", "world").headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"


# What a request may cost


def test_a_body_of_wrong_items_costs_no_more_than_the_first_of_them() -> None:
    """An error of jsonschema's weighs kilobytes, and there would be one for each item."""
    door = Door()
    tracemalloc.start()
    try:
        for method, path, body in (("POST", "pets", b"[%b0]"), ("PUT", "world", b'{"seed": [%b0]}')):
            tracemalloc.reset_peak()
            answer = door.ask(method, path, body % (b"0," * 50_000))
            assert answer.status_code == 422
            assert tracemalloc.get_traced_memory()[1] < 10 * 1024 * 1024
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("faults", '{"fault": {"kind": "%s"}}'),
        ("faults", '{"fault": {"kind": "delay", "%s": 1}}'),
        ("faults", '{"fault": {"kind": "delay", "seconds": "%s"}}'),
        ("faults", '{"fault": 503, "where": {"%s": 1}}'),
        ("pets", '{"%s": 1}'),
    ],
)
def test_a_refusal_does_not_repeat_megabytes(path: str, body: str) -> None:
    answer = Door().ask("POST", path, (body % ("x" * 1_000_000)).encode())
    assert answer.status_code == 422
    assert len(answer.text) < 12_000


def test_the_default_world_has_no_door_by_address() -> None:
    door = Door()
    for method, path in (("GET", "world"), ("POST", "world/reset"), ("DELETE", "world"), ("GET", "pets")):
        assert door.ask(method, path, world="default").status_code == 404
    assert door.ask("PUT", "world", world="default").status_code == 422


@pytest.mark.parametrize("path", ["world", "exchange.svg", "health", "nothing"])
def test_no_answer_runs_scripts_or_is_framed(path: str) -> None:
    """A picture is a document, too, in which a browser would run what is in it."""
    answer = Door().ask("GET", path)
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
