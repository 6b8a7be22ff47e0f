"""The HTTP Archive: valid by the words of its specification, complete, and without keys."""

from __future__ import annotations

import base64
import json
from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING, Any, Final

import jsonschema
import pytest

from petstore_mock import Behaviour, PetStoreMockError, faults
from petstore_mock.journal.har import har_document
from petstore_mock.messages.request import ApiRequest
from tests.inside.core import Core

if TYPE_CHECKING:
    from pathlib import Path


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of a HAR object: custom members begin with an underscore, and any object takes a comment."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {}), "comment": {"type": "string"}},
        "patternProperties": {"^_": {}},
        "additionalProperties": False,
    }


TEXT: Final = {"type": "string"}
SIZE: Final = {"type": "integer", "minimum": -1}
PAIRS: Final = {"type": "array", "items": _object({"name": TEXT, "value": TEXT})}
URL: Final = {"type": "string", "pattern": r"^https?://[^/\s]+/[!-~]*$"}

# http://www.softwareishard.com/blog/har-12-spec/, object by object.
HAR_1_2: Final = _object(
    {
        "log": _object(
            {
                "version": {"const": "1.2"},
                "creator": _object({"name": TEXT, "version": TEXT}),
                "entries": {
                    "type": "array",
                    "items": _object(
                        {
                            "startedDateTime": {
                                "type": "string",
                                "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$",
                            },
                            "time": {"type": "number", "minimum": 0},
                            "request": _object(
                                {
                                    "method": TEXT,
                                    "url": URL,
                                    "httpVersion": TEXT,
                                    "cookies": {"type": "array"},
                                    "headers": PAIRS,
                                    "queryString": PAIRS,
                                    "headersSize": SIZE,
                                    "bodySize": SIZE,
                                },
                                {"postData": _object({"mimeType": TEXT, "params": {"type": "array"}, "text": TEXT})},
                            ),
                            "response": _object(
                                {
                                    "status": {"type": "integer", "minimum": 0, "maximum": 599},
                                    "statusText": TEXT,
                                    "httpVersion": TEXT,
                                    "cookies": {"type": "array"},
                                    "headers": PAIRS,
                                    "content": _object(
                                        {"size": {"type": "integer", "minimum": 0}, "mimeType": TEXT},
                                        {
                                            "text": TEXT,
                                            "encoding": {"const": "base64"},
                                            "compression": {"type": "integer"},
                                        },
                                    ),
                                    "redirectURL": TEXT,
                                    "headersSize": SIZE,
                                    "bodySize": SIZE,
                                }
                            ),
                            "cache": {"type": "object"},
                            "timings": _object({name: {"type": "number"} for name in ("send", "wait", "receive")}),
                        },
                        {"connection": TEXT, "pageref": TEXT, "serverIPAddress": TEXT},
                    ),
                },
            },
            {"pages": {"type": "array"}, "browser": {"type": "object"}},
        )
    }
)


def exported(core: Core, base_url: str | None = None) -> list[dict[str, Any]]:
    """Return the exported entries, once the whole archive is found valid."""
    document = json.loads(json.dumps(har_document(core.journal, base_url=base_url)))
    jsonschema.Draft202012Validator(HAR_1_2).validate(document)
    entries: list[dict[str, Any]] = document["log"]["entries"]
    for entry in entries:
        assert entry["time"] == sum(entry["timings"].values())
    return entries


def test_exchange_stands_in_the_archive() -> None:
    core = Core(at="2030-01-02T03:04:05")
    core.world.owner = "test_a"
    core.world.clock.freeze()
    response = core.create(connection=3)
    (entry,) = exported(core)
    assert entry["startedDateTime"].startswith("2030-01-02T03:04:0")
    assert entry["connection"] == "3"
    request = entry["request"]
    assert (request["method"], request["url"]) == ("POST", "http://fake.test/v1/pets")
    assert request["postData"] == {
        "mimeType": "application/json",
        "params": [],
        "text": '{"name": "Rex", "categoryId": 1}',
    }
    assert request["bodySize"] == len(request["postData"]["text"])
    assert entry["response"]["status"] == 201
    assert entry["response"]["statusText"] == "Created"
    assert entry["response"]["content"] == {
        "size": len(response.body),
        "mimeType": "application/json",
        "text": response.body.decode(),
    }
    assert (entry["_operation"], entry["_decision"], entry["_owner"]) == ("createPet", "executed", "test_a")
    assert "_outcome" not in entry


def test_location_is_the_redirect_url() -> None:
    core = Core(behaviour=Behaviour(location_header="present"))
    core.create()
    core.list()
    assert [entry["response"]["redirectURL"] for entry in exported(core)] == ["/v1/pets/1", ""]


def test_query_stands_decoded_and_in_order() -> None:
    core = Core()
    core.list("?b=%C3%B6&a=1&a=2&c")
    (entry,) = exported(core)
    assert [(one["name"], one["value"]) for one in entry["request"]["queryString"]] == [
        ("b", "ö"),
        ("a", "1"),
        ("a", "2"),
        ("c", ""),
    ]


@pytest.mark.parametrize("fault", [faults.reset(), faults.empty_reply(), faults.hang()])
def test_request_without_an_answer_has_status_zero(fault: faults.Fault) -> None:
    core = Core()
    core.world.plan.add(fault)
    core.defer().completion.complete("reset", sent=False)
    (entry,) = exported(core)
    assert entry["response"]["status"] == 0
    assert entry["response"]["content"]["size"] == 0
    assert entry["response"]["bodySize"] == -1
    assert entry["_outcome"] == "reset"


def test_request_that_is_held_back_is_unanswered() -> None:
    core = Core()
    core.world.plan.add(faults.delay(10))
    core.defer()
    core.journal.last.outcome = None
    (entry,) = exported(core)
    assert (entry["response"]["status"], entry["_outcome"]) == (0, "unanswered")


def test_binary_bodies_are_base64() -> None:
    core = Core()
    core.create(b"\x00\xff")
    core.world.plan.add(faults.respond(502, body=b"\xfe"))
    core.list()
    first, second = exported(core)
    assert first["request"]["postData"]["_encoding"] == "base64"
    assert base64.b64decode(first["request"]["postData"]["text"]) == b"\x00\xff"
    assert second["response"]["content"]["encoding"] == "base64"
    assert base64.b64decode(second["response"]["content"]["text"]) == b"\xfe"


@pytest.mark.parametrize(
    ("asked", "answered"), [("HTTP/1.1", "HTTP/1.1"), ("HTTP/1.0", "HTTP/1.1"), ("HTTP/2", "HTTP/2")]
)
def test_version_is_that_which_was_spoken(asked: str, answered: str) -> None:
    """A server answers in its own version, not in the client's (RFC 9110 §6.2)."""
    core = Core()
    core.worlds.handle(ApiRequest("GET", "/v1/pets", [(b"Host", b"fake.test")], version=asked))
    (entry,) = exported(core)
    assert (entry["request"]["httpVersion"], entry["response"]["httpVersion"]) == (asked, answered)


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("/v1/pets?a=b c", "http://fake.test/v1/pets?a=b%20c"),
        ('/v1/"<>\\^`{|}', "http://fake.test/v1/%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("/v1/p%C3%A9ts/\xe9", "http://fake.test/v1/p%C3%A9ts/%C3%A9"),
        ("*", "http://fake.test/*"),
        ("-", "http://fake.test/-"),
        ("http://elsewhere.test/v1/pets", "http://elsewhere.test/v1/pets"),
    ],
)
def test_every_target_becomes_a_url(target: str, url: str) -> None:
    core = Core()
    core.send("GET", target)
    assert exported(core)[0]["request"]["url"] == url


def test_base_url_wins_over_the_host() -> None:
    core = Core()
    core.list()
    assert exported(core, base_url="https://pets.test:1/v1")[0]["request"]["url"] == "https://pets.test:1/v1/pets"


@pytest.mark.parametrize("host", ["", "[::1", "]", "[x]:80", "[v"])
def test_request_without_a_host_that_can_be_gets_the_default_one(host: str) -> None:
    core = Core()
    core.list(headers={"Host": host})
    assert exported(core)[0]["request"]["url"] == "http://127.0.0.1:8080/v1/pets"


@pytest.mark.parametrize("base_url", ["", "127.0.0.1:80", "ftp://a", "http://[::1", 80])
def test_impossible_base_url_raises(base_url: Any) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError, match="expected base_url with a scheme and a host"):
        har_document([], base_url=base_url)


def test_hostile_text_makes_a_valid_file(tmp_path: Path) -> None:
    core = Core()
    core.create('{"name": "\u202e\x00", "categoryId": "\\ud800"}'.encode())
    core.send("G\x1b\x00T", "/\xff\x00", headers={"X-\xff": "\x80"})
    path = tmp_path / "journal.har"
    core.journal.to_har(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(HAR_1_2).validate(document)
    assert len(document["log"]["entries"]) == 2


def test_empty_journal_makes_a_valid_file(tmp_path: Path) -> None:
    Core().journal.to_har(str(tmp_path / "journal.har"))
    document = json.loads((tmp_path / "journal.har").read_bytes())
    jsonschema.Draft202012Validator(HAR_1_2).validate(document)


def test_checkout_that_was_never_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    assert har_document([])["log"]["creator"] == {"name": "petstore-mock", "version": "0"}


@pytest.mark.parametrize("path", [None, 5, b"journal.har", "a\0b", "a\ud800b"])
def test_what_is_no_path_is_refused_by_its_value(path: Any) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError) as caught:
        Core().journal.to_har(path)
    assert str(caught.value).startswith(f"expected path to be a path, as text or a path object; got path={path!r} (")


def test_file_that_cannot_be_written_raises(tmp_path: Path) -> None:
    with pytest.raises(PetStoreMockError, match=r"expected a file that can be written; got path=.*missing"):
        Core().journal.to_har(tmp_path / "missing" / "journal.har")


@pytest.mark.parametrize("fixed", [None, "a-fixed-key-of-the-team"])
def test_key_stands_nowhere_in_the_file(tmp_path: Path, fixed: str | None) -> None:
    core = Core(key=fixed)
    key = core.key
    core.list(f"?api_key={key}")
    core.create({"name": key, "categoryId": key})
    core.create(b"\xff" + key.encode())
    core.list(headers={"X-Other": f"it is {key}", "Cookie": f"key={key}"})
    core.world.plan.add(faults.respond(503, body=f"no {key}", headers={"X-Echo": key}))
    core.list()
    path = tmp_path / "journal.har"
    core.journal.to_har(path)
    text = path.read_text()
    assert key not in text
    assert base64.b64encode(key.encode())[:16].decode() not in text
    binary = json.loads(text)["log"]["entries"][2]["request"]["postData"]["text"]
    assert key.encode() not in base64.b64decode(binary)
