"""The console's files: who may have them, under which policy, and that they keep to it. Browsers are in tests/peers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

import petstore_mock.control
from petstore_mock.control.admission import Admission
from tests.inside.unit.control.door import HOST, PORT, Door

PAGE: Final = Path(petstore_mock.control.__file__).with_name("page")
FILES: Final = sorted(path.name for path in PAGE.iterdir() if path.name != "index.html")


@pytest.mark.parametrize("path", ["", "latest"])
@pytest.mark.parametrize("world", ["", "a-world"])
def test_page_stands_at_every_world(path: str, world: str) -> None:
    door = Door()
    door.ask("PUT", "world", {}, world="a-world")
    answer = door.ask("GET", path, world=world)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "<h1" in answer.text


def test_policy_lets_nothing_in_but_the_pages_own_scripts() -> None:
    first, second = (Door().ask("GET", "") for _ in range(2))
    policy = dict(part.split(" ", 1) for part in first.headers["Content-Security-Policy"].split("; "))
    (nonce,) = re.findall(r"'nonce-([\w-]{20,})'", policy["script-src"])
    assert policy == {
        "default-src": "'none'",
        "script-src": f"'nonce-{nonce}'",
        "style-src": f"'nonce-{nonce}'",
        "img-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert first.text.count(f'nonce="{nonce}"') == 2
    assert "{nonce}" not in first.text
    assert nonce not in second.text, "one that can be guessed guards nothing"


def test_address_without_a_slash_leads_to_the_page() -> None:
    answer = Door().client.get("/__petstore", headers={"Host": HOST})
    assert (answer.status_code, answer.headers["Location"]) == (308, "__petstore/")


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_served_under_its_media_type(name: str) -> None:
    answer = Door().ask("GET", name)
    assert answer.status_code == 200
    assert answer.text == (PAGE / name).read_text(encoding="utf-8")
    kind = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}[name.rpartition(".")[2]]
    assert answer.headers["Content-Type"] == f"{kind}; charset=utf-8"


@pytest.mark.parametrize("path", ["index.html", "../app.py", "%2e%2e/app.py", "page/main.js", "main.js/", "none.js"])
def test_no_request_names_another_file(path: str) -> None:
    assert Door().ask("GET", path).status_code == 404


def test_page_needs_no_token_and_what_it_asks_for_does() -> None:
    door = Door(admission=Admission(token="secret", port=PORT))
    assert door.ask("GET", "").status_code == 200
    assert door.ask("GET", "main.js").status_code == 200
    assert door.ask("GET", "requests.svg").status_code == 401


def test_page_of_a_world_that_is_not_there_is_not_there() -> None:
    assert Door().ask("GET", "", world="nobody").status_code == 404


def test_page_is_only_read() -> None:
    answer = Door().ask("POST", "main.js", {})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert Door().ask("HEAD", "").text == ""


def test_page_asks_nobody_else_and_never_parses_markup() -> None:
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[\w-]+\.\w+", text), path.name
        assert not re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|srcdoc", text)
        assert not re.findall(r"<[^>]+\s(?:on\w+|style)=", text), "the policy forbids it"


def test_every_operation_that_the_page_names_is_one_of_the_door() -> None:
    scripts = "\n".join(path.read_text(encoding="utf-8") for path in PAGE.glob("*.js"))
    asked = re.findall(r'ask\("([A-Z]+)", (?:"|`)([\w/.-]+)', scripts)
    assert len(asked) > 15
    door = Door()
    known = door.get("openapi.json")["paths"]
    for method, path in asked:
        found = [one for one in known if one.startswith(f"/__petstore/{path}") and method.lower() in known[one]]
        assert found, f"{method} {path}"


def test_picture_shows_the_latest_requests() -> None:
    door = Door()
    for limit in (1, 2, 3):
        door.call(door.petstore.api_key, f"/v1/pets?limit={limit}")
    answer = door.ask("GET", "requests.svg?last=2")
    assert answer.headers["Content-Type"] == "image/svg+xml"
    shown = "".join(ET.fromstring(answer.text).itertext())
    assert "limit=3" in shown
    assert "limit=1" not in shown
    assert "left out: 1 earlier request" in shown
    assert door.ask("GET", "requests.svg?last=0").status_code == 422
